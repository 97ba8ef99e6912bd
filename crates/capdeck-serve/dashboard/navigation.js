// @ts-check
// The pages of the dashboard.

/**
 * @typedef {object} Page
 * @property {string} id the first path segment
 * @property {string} title
 * @property {string} icon
 * @property {string} group
 * @property {string} keys after `g`
 * @property {'member' | 'approver' | 'admin'} [role] minimum role; every role when absent
 * @property {'approvals' | 'pins' | 'grants'} [pending] the pending counter shown beside it
 * @property {() => Promise<{ default: any }>} load
 */

/** @type {Page[]} */
export const PAGES = [
  { id: 'overview', title: 'Overview', icon: 'overview', group: '', keys: 'o', load: () => import('./pages/overview.js') },
  { id: 'capabilities', title: 'Capabilities', icon: 'capabilities', group: 'Deck', keys: 'c', role: 'admin', load: () => import('./pages/capabilities.js') },
  { id: 'activity', title: 'Activity', icon: 'activity', group: 'Deck', keys: 'a', load: () => import('./pages/activity.js') },
  { id: 'runs', title: 'Runs', icon: 'runs', group: 'Deck', keys: 'r', role: 'admin', load: () => import('./pages/runs.js') },
  { id: 'approvals', title: 'Approvals', icon: 'approvals', group: 'Deck', keys: 'p', role: 'admin', pending: 'approvals', load: () => import('./pages/approvals.js') },
  { id: 'pins', title: 'Pins', icon: 'pins', group: 'Deck', keys: 'i', role: 'admin', pending: 'pins', load: () => import('./pages/pins.js') },
  { id: 'capsules', title: 'Capsules', icon: 'capsules', group: 'Context', keys: 'k', load: () => import('./pages/capsules.js') },
  { id: 'library', title: 'Library', icon: 'library', group: 'Context', keys: 'l', load: () => import('./pages/library.js') },
  { id: 'access', title: 'Access', icon: 'access', group: 'People and agents', keys: 'x', pending: 'grants', load: () => import('./pages/access.js') },
  { id: 'clients', title: 'Clients', icon: 'clients', group: 'People and agents', keys: 'n', role: 'admin', load: () => import('./pages/clients.js') },
  { id: 'operators', title: 'Operators', icon: 'operators', group: 'People and agents', keys: 'u', role: 'admin', load: () => import('./pages/operators.js') },
  { id: 'connect', title: 'Connect', icon: 'connect', group: 'Host', keys: 't', load: () => import('./pages/connect.js') },
  { id: 'settings', title: 'Settings', icon: 'settings', group: 'Host', keys: 's', role: 'admin', load: () => import('./pages/settings.js') },
  { id: 'help', title: 'Help', icon: 'help', group: 'Host', keys: 'h', load: () => import('./pages/help.js') },
];
