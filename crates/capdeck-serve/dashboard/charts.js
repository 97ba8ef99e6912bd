// @ts-check
// Small charts with text alternatives.

import { compact, number } from './format.js';
import { html } from './view.js';

/**
 * Bars over time, failures on top.
 * @param {{ bars: { all: number, failed: number }[], label: string, height?: number }} props
 */
export function Sparkline({ bars, label, height = 150 }) {
  const [width, gap] = [6, 2];
  const most = Math.max(1, ...bars.map((bar) => bar.all));
  const total = bars.length * (width + gap) - gap;
  const tall = (/** @type {number} */ value) => (value === 0 ? 0 : Math.max(2, (value / most) * (height - 2)));
  return html`<svg class="sparkline" viewBox=${`0 0 ${total} ${height}`} preserveAspectRatio="none" role="img" aria-label=${label}>
    <line class="base" x1="0" x2=${total} y1=${height - 0.5} y2=${height - 0.5} />
    ${bars.map((bar, at) => {
      const [good, bad] = [tall(bar.all - bar.failed), tall(bar.failed)];
      const x = at * (width + gap);
      return html`<g><rect class="good" x=${x} width=${width} y=${height - good} height=${good} /><rect class="bad" x=${x} width=${width} y=${height - good - bad} height=${bad} /></g>`;
    })}
  </svg>`;
}

/**
 * @param {{ rows: { name: string, value: number | null, note?: string, strong?: boolean }[], unit: string, label: string }} props
 */
export function Bars({ rows, unit, label }) {
  const most = Math.max(1, ...rows.map((row) => row.value ?? 0));
  return html`<dl class="bars" aria-label=${label}>
    ${rows.map((row) => html`<div class=${row.strong ? 'bar-row strong' : 'bar-row'}>
      <dt>${row.name}${row.note && html` <span class="soft">${row.note}</span>`}</dt>
      <dd><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="rail" width="100" height="8" rx="1" /><rect class="amount" width=${row.value === null ? 0 : Math.max(0.6, (row.value / most) * 100)} height="8" rx="1" /></svg>
      <span class="number" title=${row.value === null ? '' : `${number(row.value)} ${unit}`}>${row.value === null ? 'unknown' : `${compact(row.value)} ${unit}`}</span></dd>
    </div>`)}
  </dl>`;
}
