// @ts-check
// Icons: SVG paths on a grid of 20, in the text colour.

import { html } from './view.js';

/** @type {Record<string, string>} */
const PATHS = {
  overview: 'M3 10.5 10 4l7 6.5M5 9v7h4v-4h2v4h4V9',
  capabilities: 'M4 4h5v5H4zM11 4h5v5h-5zM4 11h5v5H4zM13.5 11v5M11 13.5h5',
  activity: 'M2.5 10.5h3l2.2-6 4 11 2.3-5h3.5',
  runs: 'M6.5 4.5v11l9-5.5z',
  approvals: 'M10 3 4.5 5v4.5c0 3.6 2.3 6.2 5.5 7.5 3.2-1.3 5.5-3.9 5.5-7.5V5zM7.5 10l1.8 1.8L12.8 8',
  pins: 'M7 3h6l-1 5 2.5 2.5v1h-9v-1L8 8zM10 11.5V17',
  capsules: 'M4 6c0-1.4 2.7-2.5 6-2.5s6 1.1 6 2.5-2.7 2.5-6 2.5S4 7.4 4 6zM4 6v8c0 1.4 2.7 2.5 6 2.5s6-1.1 6-2.5V6M4 10c0 1.4 2.7 2.5 6 2.5s6-1.1 6-2.5',
  library: 'M4 4h3v12H4zM8.5 4h3v12h-3zM13 4.6l2.7-.7 2 11.5-2.7.7z',
  access: 'M7 9.5a3 3 0 1 1 0-6 3 3 0 0 1 0 6zM9.2 8.7 16.5 16M13.5 13l2-2',
  clients: 'M3 5h14v9H3zM7 17h6M10 14v3',
  operators: 'M10 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM4 16.5c.5-3 2.9-4.5 6-4.5s5.5 1.5 6 4.5',
  connect: 'M8 6 4.5 9.5a3 3 0 0 0 4.2 4.2l1.5-1.4M12 14l3.5-3.5a3 3 0 0 0-4.2-4.2L9.8 7.7M8 12l4-4',
  settings: 'M3 6h8M15 6h2M3 14h2M9 14h8M11 4v4h3V4zM5.5 12v4h3v-4z',
  help: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM7.9 8a2.1 2.1 0 1 1 3.2 1.8c-.8.5-1.1.9-1.1 1.7M10 14h.01',
  menu: 'M3.5 6h13M3.5 10h13M3.5 14h13',
  close: 'M5 5l10 10M15 5 5 15',
  sun: 'M10 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM10 2.5v2M10 15.5v2M2.5 10h2M15.5 10h2M4.7 4.7l1.4 1.4M13.9 13.9l1.4 1.4M4.7 15.3l1.4-1.4M13.9 6.1l1.4-1.4',
  moon: 'M15.5 12.5A6.5 6.5 0 0 1 7.5 4.5a6.5 6.5 0 1 0 8 8z',
  search: 'M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM13 13l4 4',
  copy: 'M7 7h9v9H7zM13 7V4H4v9h3',
  check: 'M4.5 10.5 8.5 14.5 15.5 6',
  refresh: 'M16 10a6 6 0 1 1-1.8-4.3M16 3v3.5h-3.5',
  plus: 'M10 4v12M4 10h12',
  pause: 'M7 5v10M13 5v10',
  lock: 'M5.5 9h9v7.5h-9zM7.5 9V6.5a2.5 2.5 0 0 1 5 0V9',
};

/** @param {{ name: string }} props */
export function Icon({ name }) {
  return html`<svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false"><path d=${PATHS[name] ?? PATHS.help} /></svg>`;
}

/** The logo: a deck of cards, the top one with a C. */
export function Mark() {
  return html`<svg viewBox="0 0 32 32" aria-hidden="true" focusable="false" fill="currentColor">
    <rect x="3" y="9" width="18" height="20" rx="4" opacity=".3" /><rect x="7" y="6" width="18" height="20" rx="4" opacity=".6" /><rect x="11" y="3" width="18" height="20" rx="4" />
    <path class="mark-letter" d="M24 10a5.2 5.2 0 1 0 0 6" fill="none" stroke-width="2.4" stroke-linecap="round" />
  </svg>`;
}
