// @ts-check
// Messages of the host; text in backticks becomes code.

import { html } from './view.js';

/** @param {{ text: string | null | undefined }} props */
export function HostMessage({ text }) {
  const parts = String(text ?? '').split('`');
  // An unpaired backtick is literal text.
  if (parts.length % 2 === 0) return html`<span>${text}</span>`;
  return html`<span>${parts.map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part))}</span>`;
}
