// @ts-check
// One row of the activity.

import { elapsed, exact, timeOfDay } from './format.js';
import { to } from './router.js';
import { Badge } from './states.js';
import { html } from './view.js';

/** The error code of a call that requires approval. */
const WAITS = 'APPROVAL_REQUIRED';

/** @param {{ of: any, dated?: boolean }} props */
export function ActivityRow({ of: row, dated }) {
  const at = row.at ?? row.ts;
  const who = row.client ?? row.agent ?? row.actor ?? row.principal ?? '';
  const took = row.elapsed_ms ?? row.elapsedMs;
  const failure = row.error_code ?? (['ok', 'denied', 'error', 'tool_error'].includes(row.outcome) ? null : row.outcome);
  return html`<li class="activity-row">
    <time class="number soft" datetime=${at} title=${exact(at)}>${dated ? exact(at) : timeOfDay(at)}</time>
    <${Badge} value=${failure === WAITS ? 'waiting' : failure && row.outcome !== 'denied' ? 'error' : String(row.outcome)} />
    <span class="grow anywhere"><strong>${String(row.action ?? row.method ?? '')}</strong> <${About} of=${row} />${failure && html` <span class="soft">${failure.toLowerCase().replaceAll('_', ' ')}</span>`}</span>
    <span class="soft small anywhere who">${who}${took !== undefined && took !== null ? ` · ${elapsed(took)}` : ''}</span>
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
  return html`<span>${row.uri ?? row.id ?? row.metadata?.id ?? ''}</span>`;
}
