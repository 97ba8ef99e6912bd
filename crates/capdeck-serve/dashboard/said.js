// @ts-check
// What the host says in words: names and commands stand in backticks there, and look like code here.

import { html } from './view.js';

/** @param {{ text: string | null | undefined }} props */
export function Said({ text }) {
  const parts = String(text ?? '').split('`');
  // An odd backtick belongs to the text.
  if (parts.length % 2 === 0) return html`<span>${text}</span>`;
  return html`<span>${parts.map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part))}</span>`;
}
