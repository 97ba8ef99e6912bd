// @ts-check
// The log of a capsule, including denied calls.

import { path as address } from '../api.js';
import { ActivityRow } from '../activity-row.js';
import { useList } from '../resource.js';
import { Empty, LoadList } from '../states.js';
import { html, useState } from '../view.js';

/** @param {{ capsule: any }} props */
export function CapsuleLog({ capsule }) {
  const [outcome, setOutcome] = useState('');
  const [action, setAction] = useState('');
  const list = useList(address`/v1/capsules/${capsule.id}/logs`, { outcome, action });
  return html`<form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <div class="field"><label for="log-action">Action</label><input id="log-action" data-search type="search" placeholder="write, read, …" value=${action} onChange=${(/** @type {any} */ event) => setAction(event.target.value.trim())} /></div>
      <div class="field"><label for="log-outcome">Outcome</label><select id="log-outcome" value=${outcome} onChange=${(/** @type {any} */ event) => setOutcome(event.target.value)}><option value="">any</option><option value="ok">ok</option><option value="denied">denied</option><option value="error">error</option></select></div>
    </form>
    <${LoadList} of=${list} empty=${html`<${Empty} icon="activity" title="No results" />`}>
      ${(/** @type {any[]} */ items) => html`<ol class="plain activity-list dated" aria-label="Log">${items.map((row) => html`<${ActivityRow} key=${row.seq} of=${{ ...row, capsule: capsule.id }} dated />`)}</ol>`}
    <//>`;
}
