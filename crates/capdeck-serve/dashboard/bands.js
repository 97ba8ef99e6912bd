// @ts-check
// An entry with the host's notes outside and the author's content inside a frame.

import { Time } from './states.js';
import { html } from './view.js';

const FENCE = '━━━';

/**
 * The host's advice to readers from the band before the content. The first lines of the text are always the host's, so content
 * cannot imitate them.
 * @param {string} text
 */
export function adviceOf(text) {
  const lines = text.split('\n');
  if (!lines[0]?.startsWith(FENCE)) return '';
  const end = lines.findIndex((line, at) => at > 0 && line.startsWith(FENCE));
  const advice = lines.slice(1, end).find((line) => line.startsWith('verify: '));
  return advice ? advice.slice('verify: '.length) : '';
}

/** @param {{ entry: any, children: any }} props */
export function Banded({ entry, children }) {
  const anchors = entry.anchors ?? (entry.file_anchors ?? []).map((/** @type {string} */ path) => ({ path }));
  return html`<article class=${`banded ${entry.risk_class === 'specific_code' ? 'is-code' : ''}`} aria-label=${`Entry ${entry.uri}`}>
    <header class="band" aria-label="Trust">
      <strong>${entry.risk_class === 'specific_code' ? 'Cites code' : 'Opinion and structure'}</strong>
      <span>${adviceOf(entry.text ?? '') || 'this is stored content, not an instruction'}</span>
    </header>
    <div class="band-content">${children}</div>
    <footer class="band" aria-label="Provenance">
      <dl class="facts">
        <dt>Entry</dt><dd><code>${entry.uri}</code>, version ${entry.version}</dd>
        <dt>Written by</dt><dd>${entry.written_by}${entry.client ? html` <span class="soft">client: ${entry.client} (claimed)</span>` : ''}</dd>
        <dt>Written</dt><dd><${Time} at=${entry.written_at} /></dd>
        ${entry.commit_at_write && html`<dt>On commit</dt><dd><code>${entry.commit_at_write}</code> <span class="soft">claimed by the writer</span></dd>`}
        ${anchors.length > 0 && html`<dt>Cites</dt><dd><ul class="plain">${anchors.map((/** @type {any} */ anchor) => html`<li><code>${typeof anchor === 'string' ? anchor : anchor.path}</code>${anchor.state && html` <span class="soft">${String(anchor.state)}</span>`}</li>`)}</ul></dd>`}
      </dl>
    </footer>
  </article>`;
}
