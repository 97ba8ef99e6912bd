// @ts-check
// Toasts and confirmation dialogs.

import { signal, useSignal } from './signal.js';
import { html, useEffect, useId, useRef, useState } from './view.js';

/** @typedef {{ id: number, text: string, kind: 'good' | 'bad' }} Toast */

const toasts = signal(/** @type {Toast[]} */ ([]));
const question = signal(/** @type {null | (Question & { answer: (yes: boolean) => void })} */ (null));
let lastId = 0;

/** Milliseconds; errors stay until dismissed. */
const SHOWN_FOR = 5000;

/** @param {string} text */
export function say(text) {
  const id = add(text, 'good');
  setTimeout(() => dismiss(id), SHOWN_FOR);
}

/** @param {unknown} error */
export function complain(error) {
  const problem = /** @type {any} */ (error);
  add([problem?.message ?? String(error), problem?.hint].filter(Boolean).join('. '), 'bad');
}

/** @param {string} text @param {'good' | 'bad'} kind */
function add(text, kind) {
  lastId += 1;
  toasts.set([...toasts.value.slice(-3), { id: lastId, text, kind }]);
  return lastId;
}

/** @param {number} id */
function dismiss(id) {
  toasts.set(toasts.value.filter((toast) => toast.id !== id));
}

export function Toasts() {
  const shown = useSignal(toasts);
  return html`<div class="toasts" role="status" aria-live="polite" aria-label="Messages">
    ${shown.map((toast) => html`<div class=${`toast ${toast.kind}`} key=${toast.id} role=${toast.kind === 'bad' ? 'alert' : undefined}>
      <span>${toast.text}</span><button type="button" aria-label="Dismiss" onClick=${() => dismiss(toast.id)}>✕</button>
    </div>`)}
  </div>`;
}

/**
 * A modal dialog. Escape and the backdrop close it; the focus then returns to the element that had it.
 * @param {{ title: string, onClose: () => void, wide?: boolean, children?: any }} props
 */
export function Dialog({ title, onClose, wide, children }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const heading = useId();
  useEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    element.current?.showModal();
    return () => before?.focus?.();
  }, []);
  const closeOnBackdrop = (/** @type {MouseEvent} */ event) => event.target === element.current && onClose();
  const cancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    onClose();
  };
  return html`<dialog ref=${element} class=${wide ? 'wide' : ''} aria-labelledby=${heading} onCancel=${cancel} onMouseDown=${closeOnBackdrop}>
    <div class="dialog-inner"><h2 id=${heading}>${title}</h2>${children}</div>
  </dialog>`;
}

/** @typedef {{ title: string, text: string, action: string, danger?: boolean, typed?: string }} Question `typed` is the text to type before the action is enabled */

/**
 * Asks for confirmation.
 * @param {Question} asked
 * @returns {Promise<boolean>}
 */
export function confirm(asked) {
  question.value?.answer(false);
  return new Promise((resolve) => {
    question.set({
      ...asked,
      answer: (yes) => {
        question.set(null);
        resolve(yes);
      },
    });
  });
}

export function Questions() {
  const asked = useSignal(question);
  return asked && html`<${Asked} key=${asked.title} asked=${asked} />`;
}

/** @param {{ asked: Question & { answer: (yes: boolean) => void } }} props */
function Asked({ asked }) {
  const [text, setText] = useState('');
  const field = useId();
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    asked.answer(true);
  };
  return html`<${Dialog} title=${asked.title} onClose=${() => asked.answer(false)}><form class="stack" onSubmit=${submit}>
    <p class="anywhere">${asked.text}</p>
    ${asked.typed !== undefined && html`<div class="field"><label for=${field}>Type <code>${asked.typed}</code> to confirm</label><input id=${field} autocomplete="off" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></div>`}
    <div class="row end">
      <button class="button" type="button" onClick=${() => asked.answer(false)}>Cancel</button>
      <button class=${`button main ${asked.danger ? 'danger' : ''}`} type="submit" disabled=${asked.typed !== undefined && text.trim() !== asked.typed}>${asked.action}</button>
    </div>
  </form><//>`;
}
