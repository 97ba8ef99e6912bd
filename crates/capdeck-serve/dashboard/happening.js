// @ts-check
// One line of what happened: who did what to what, and how it ended.

import { elapsed, exact, timeOfDay } from './format.js';
import { to } from './router.js';
import { Badge } from './states.js';
import { html } from './view.js';

/** @param {{ of: any, dated?: boolean }} props */
export function Happening({ of: row, dated }) {
  const at = row.at ?? row.ts;
  const who = row.client ?? row.agent ?? row.principal ?? row.decided_by ?? '';
  const code = row.error_code ?? row.errorCode;
  return html`<li class="happening">
    <time class="number soft" datetime=${at} title=${exact(at)}>${dated ? exact(at) : timeOfDay(at)}</time>
    <${Badge} value=${String(row.outcome ?? 'ok')} />
    <span class="grow anywhere"><strong>${String(row.action ?? '')}</strong> <${About} of=${row} />${code && html` <span class="soft">${code}</span>`}</span>
    <span class="soft small anywhere who">${who}${row.elapsed_ms !== undefined && row.elapsed_ms !== null ? ` · ${elapsed(row.elapsed_ms)}` : ''}</span>
  </li>`;
}

/** @param {{ of: any }} props */
function About({ of: row }) {
  if (row.capability) {
    const link = row.tool ? to('capabilities', row.capability, 'tools', row.tool) : to('capabilities', row.capability);
    return html`<a href=${link}>${row.capability}${row.tool ? `.${row.tool}` : ''}</a>`;
  }
  if (row.capsule && row.uri) return html`<a href=${to('capsules', row.capsule, 'entry', { uri: row.uri })}>${row.uri}</a> in ${row.capsule}`;
  if (row.capsule) return html`<a href=${to('capsules', row.capsule)}>${row.capsule}</a>`;
  return row.uri ? html`<span>${row.uri}</span>` : null;
}
