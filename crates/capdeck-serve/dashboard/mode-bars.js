// @ts-check
// Token cost by exposure.

import { Bars } from './charts.js';
import { html } from './view.js';

/** The exposures: name in responses, label on pages. */
export const MODES = /** @type {[string, string][]} */ ([['direct', 'Direct'], ['progressive', 'Progressive'], ['search', 'Search'], ['onDemand', 'On demand'], ['codeMode', 'Code mode']]);

/** @param {{ of: any, label: string }} props */
export function ModeBars({ of: amounts, label }) {
  return html`<${Bars} label=${label} unit="tokens" rows=${MODES.map(([mode, title]) => ({ name: title, value: amounts?.[mode] ?? null }))} />`;
}
