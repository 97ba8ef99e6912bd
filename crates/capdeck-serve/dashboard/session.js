// @ts-check
// The session of the signed-in person.

import { get, post, refusals, setCsrf } from './api.js';
import { closeLive } from './live.js';
import { signal } from './signal.js';

/** @typedef {{ id: string, name: string, role: 'member' | 'approver' | 'admin', local: boolean, registry: { available: boolean, reason?: string, served_at?: string } }} Person */
/** @typedef {{ state: 'unknown' } | { state: 'in', person: Person } | { state: 'out' } | { state: 'failed', error: Error }} Session */

export const session = signal(/** @type {Session} */ ({ state: 'unknown' }));

// A 401 response of any page ends the session here, too.
refusals.watch(() => session.value.state === 'in' && leave());

function leave() {
  closeLive();
  setCsrf(null);
  session.set({ state: 'out' });
}

export async function recognise() {
  try {
    const me = await get('/api/me');
    setCsrf(me.csrf);
    session.set({ state: 'in', person: personOf(me) });
  } catch (error) {
    const problem = /** @type {any} */ (error);
    session.set(problem.status === 401 ? { state: 'out' } : { state: 'failed', error: problem });
  }
}

/** @param {any} me @returns {Person} */
function personOf({ operator, role, mode, csrf, registry }) {
  // In local mode there is no session to end.
  return { id: operator.id, name: operator.name, role, local: mode === 'local' && !csrf, registry: registry ?? { available: true } };
}

/** @param {string} key */
export async function signIn(key) {
  await post('/api/login', { key });
  await recognise();
}

export async function signOut() {
  await post('/api/logout');
  leave();
}

const RANKS = { member: 0, approver: 1, admin: 2 };

/**
 * True when the person has at least this role.
 * @param {keyof typeof RANKS} role
 */
export function may(role) {
  const now = session.value;
  return now.state === 'in' && RANKS[now.person.role] >= RANKS[role];
}
