// @ts-check
// A table that scrolls inside its frame and shows rows as cards on a phone.

import { html, useLayoutEffect, useRef } from './view.js';

/** Explicit ARIA roles: browsers drop the implicit ones when CSS changes the display of table parts. */
const PARTS = /** @type {[string, string][]} */ ([['table', 'table'], ['thead, tbody', 'rowgroup'], ['tr', 'row'], ['thead th', 'columnheader'], ['tbody th', 'rowheader'], ['td', 'cell']]);

/** @param {{ label: string, children?: any }} props */
export function TableFrame({ label, children }) {
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    if (!frame.current) return;
    for (const [selector, role] of PARTS) for (const part of frame.current.querySelectorAll(selector)) part.setAttribute('role', role);
    const names = [...frame.current.querySelectorAll('thead th')].map((head) => (head.querySelector('.unseen') ? '' : head.textContent ?? ''));
    for (const row of frame.current.querySelectorAll('tbody tr')) {
      [...row.children].forEach((cell, at) => cell.setAttribute('data-column', names[at] ?? ''));
    }
  });
  return html`<div ref=${frame} class="table-frame stacks" tabindex="0" role="group" aria-label=${label}>${children}</div>`;
}
