// @ts-check
// The differences of two texts, in one or two columns.

import { changesOnly, sideBySide } from './line-diff.js';
import { html, useState } from './view.js';

/** @typedef {import('./line-diff.js').DiffLine} DiffLine */

const MARKS = { same: ' ', old: '−', new: '+', gap: '⋯' };
const SPOKEN = { same: '', old: 'removed: ', new: 'added: ', gap: '' };

/**
 * @param {{ lines: DiffLine[], before: string, after: string }} props
 */
export function DiffView({ lines, before, after }) {
  const [split, setSplit] = useState(false);
  const changed = lines.filter((line) => line.kind === 'old' || line.kind === 'new').length;
  const shown = changesOnly(lines);
  if (changed === 0) return html`<p class="soft">No differences.</p>`;
  return html`<div class="stack tight">
    <div class="row spread">
      <span class="small soft">${before} → ${after}</span>
      <button class="button small" type="button" aria-pressed=${split} onClick=${() => setSplit(!split)}>${split ? 'One column' : 'Side by side'}</button>
    </div>
    <div class="diff" tabindex="0" role="group" aria-label=${`Differences between ${before} and ${after}`}>
      ${split ? html`<${Split} lines=${shown} />` : html`<${Unified} lines=${shown} />`}
    </div>
  </div>`;
}

/** @param {{ lines: DiffLine[] }} props */
function Unified({ lines }) {
  return html`<table class="diff-table"><tbody>${lines.map((line) => html`<tr class=${line.kind}>
    <td class="line-number">${line.old ?? ''}</td><td class="line-number">${line.new ?? ''}</td><td class="line-text"><${Text} line=${line} /></td>
  </tr>`)}</tbody></table>`;
}

/** @param {{ lines: DiffLine[] }} props */
function Split({ lines }) {
  return html`<table class="diff-table split"><tbody>${sideBySide(lines).map(({ left, right }) => html`<tr>
    <td class=${`line-number ${left?.kind ?? 'none'}`}>${left?.old ?? ''}</td><td class=${`line-text ${left?.kind ?? 'none'}`}><${Text} line=${left} /></td>
    <td class=${`line-number ${right?.kind ?? 'none'}`}>${right?.new ?? ''}</td><td class=${`line-text ${right?.kind ?? 'none'}`}><${Text} line=${right} /></td>
  </tr>`)}</tbody></table>`;
}

/** @param {{ line: DiffLine | null }} props */
function Text({ line }) {
  if (!line) return null;
  return html`<span class="unseen">${SPOKEN[line.kind]}</span><span class="diff-mark" aria-hidden="true">${MARKS[line.kind]}</span>${line.text}`;
}
