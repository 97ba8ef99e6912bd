// @ts-check
// Keyboard shortcuts of every page; inactive while a field has the focus.

import { PAGES } from './navigation.js';
import { go, to } from './router.js';
import { may } from './session.js';
import { signal } from './signal.js';

export const overlay = signal(/** @type {null | 'keys' | 'finder'} */ (null));

/** Milliseconds between `g` and the next key. */
const KEY_TIMEOUT = 1500;

let sinceG = -Infinity;

/** @param {EventTarget | null} target */
function isWriting(target) {
  return target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName));
}

addEventListener('keydown', (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    overlay.set('finder');
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target) || document.querySelector('dialog[open]')) return;
  if (event.timeStamp - sinceG < KEY_TIMEOUT) {
    sinceG = -Infinity;
    const page = PAGES.find(({ keys, role }) => keys === event.key && (!role || may(role)));
    if (page) {
      event.preventDefault();
      go(to(page.id));
    }
  } else if (event.key === 'g') {
    sinceG = event.timeStamp;
  } else if (event.key === '?') {
    overlay.set('keys');
  } else if (event.key === '/') {
    event.preventDefault();
    const filter = /** @type {HTMLInputElement | null} */ (document.querySelector('[data-search]'));
    if (filter) filter.select();
    else overlay.set('finder');
  }
});
