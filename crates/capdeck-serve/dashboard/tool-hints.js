// @ts-check
// Badges for tool annotations.

import { html } from './view.js';

/** @param {{ of: any }} props */
export function Hints({ of: annotations }) {
  return html`${annotations?.readOnlyHint && html`<span class="badge bare good">read-only</span>`}${annotations?.destructiveHint && !annotations?.readOnlyHint && html`<span class="badge bare bad">destructive</span>`}${annotations?.openWorldHint && html`<span class="badge bare info">open world</span>`}`;
}
