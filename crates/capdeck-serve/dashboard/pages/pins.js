// @ts-check
// Pinned tool definitions and their changes.

import { path as address, post } from '../api.js';
import { DiffView } from '../diff-view.js';
import { complain, confirm, say } from '../feedback.js';
import { pretty } from '../format.js';
import { compareLines } from '../line-diff.js';
import { PageHead } from '../page-head.js';
import { useList, useResource } from '../resource.js';
import { to } from '../router.js';
import { may } from '../session.js';
import { Badge, Empty, Load, LoadList } from '../states.js';
import { TableFrame } from '../table-frame.js';
import { html } from '../view.js';

/** @param {{ path: string[] }} props */
export default function Pins({ path }) {
  return path[0] ? html`<${PinsOf} id=${path[0]} />` : html`<${AllPins} />`;
}

function AllPins() {
  const list = useList('/v1/deck/pins', { limit: 200 });
  return html`<${PageHead} title="Pins" lede="Tool definitions are pinned when first seen. Review later changes here and approve them." />
    <${LoadList} of=${list} empty=${html`<${Empty} icon="pins" title="No pins">A tool is pinned when a client first sees it.<//>`}>${(/** @type {any[]} */ items) => {
      const groups = Object.entries(Object.groupBy(items, (pin) => pin.capability));
      const needs = (/** @type {any[]} */ pins) => pins.filter((pin) => !['pinned', 'unpinned'].includes(pin.status) || pin.held || pin.hiddenText);
      groups.sort(([, one], [, other]) => needs(other ?? []).length - needs(one ?? []).length);
      const isNeverPinned = items.some((pin) => pin.status === 'unpinned');
      return html`<div class="stack"><ul class="plain rows">${groups.map(([id, pins = []]) => html`<li key=${id}><a class="row-link" href=${to('pins', id)}>
        <span class="row spread"><span class="strong">${id}</span><span class="row">${Object.entries(Object.groupBy(pins, (pin) => (pin.held ? 'held' : pin.status))).map(([status, some = []]) => html`<span class="row"><${Badge} value=${status} /><span class="number soft small">${some.length}</span></span>`)}</span></span></a></li>`)}</ul>
        ${isNeverPinned && html`<p class="small soft">Tools defined in your own files are not pinned: only you can change them.</p>`}</div>`;
    }}<//>`;
}

/** @param {{ id: string }} props */
function PinsOf({ id }) {
  const pins = useList('/v1/deck/pins', { capability: id, limit: 200 });
  const changes = useResource(address`/v1/deck/pins/${id}/diff`);
  const approve = async (/** @type {string | undefined} */ tool) => {
    const what = tool ?? 'all tools';
    if (!(await confirm({ title: `Approve the current definition of ${what}?`, text: `It becomes the pinned definition of ${id}, and agents can use it.`, action: 'Approve' }))) return;
    try {
      await post(address`/v1/deck/pins/${id}/approve`, tool ? { tool } : {});
      say(tool ? `Pinned ${id}.${tool} again` : `Pinned all tools of ${id} again`);
      pins.reload();
      changes.reload();
    } catch (error) {
      complain(error);
    }
  };
  return html`<${PageHead} title=${`Pins of ${id}`} trail=${[{ title: 'Pins', link: to('pins') }]}>
      ${may('approver') && (changes.data?.items ?? []).length > 1 && html`<button class="button main" type="button" onClick=${() => approve(undefined)}>Approve all</button>`}
    <//>
    <div class="stack">
      <${Load} of=${changes}>${(/** @type {any} */ data) => (data.items.length === 0
        ? html`<p class="notice good"><span>No changes since the tools were pinned.</span></p>`
        : html`<ul class="plain stack">${data.items.map((/** @type {any} */ change, /** @type {number} */ at) => html`<li key=${at}><${Change} change=${change} onApprove=${approve} /></li>`)}</ul>`)}<//>
      <section class="stack tight"><h2>All tools</h2><${LoadList} of=${pins} empty=${html`<p class="soft">No pinned tools.</p>`}>${(/** @type {any[]} */ items) => html`<${TableFrame} label="Pinned tools"><table><thead><tr><th scope="col">Tool</th><th scope="col">Status</th><th scope="col">Mode</th><th scope="col">Digest</th></tr></thead>
        <tbody>${items.map((pin) => html`<tr key=${pin.tool}><th scope="row"><a class="mono" href=${to('capabilities', id, 'tools', pin.tool)}>${pin.tool}</a></th><td><span class="row"><${Badge} value=${pin.status} />${pin.held && html`<${Badge} value="held" />`}</span></td><td>${pin.mode}</td><td><code class="soft" title=${pin.digest}>${(pin.digest ?? '–').slice(0, 12)}</code></td></tr>`)}</tbody></table><//>`}<//></section>
    </div>`;
}

/** @type {Record<string, string>} */
const SAID = { added: 'added', removed: 'removed', renamed: 'renamed', changed: 'changed', repointed: 'endpoint changed', hiddenText: 'contains text that is hidden from people but not from models' };

/** @param {{ change: any, onApprove: (tool: string | undefined) => void }} props */
function Change({ change, onApprove }) {
  const isAboutTool = change.tool && change.change !== 'removed';
  return html`<article class="card stack">
    <div class="row spread"><span><strong class="mono">${change.tool ?? change.capability}</strong> ${SAID[change.change] ?? change.change}${change.from && html` (was <code>${change.from}</code>)`}</span>
      ${may('approver') && isAboutTool && change.change !== 'hiddenText' && html`<button class="button" type="button" onClick=${() => onApprove(change.tool)}>Approve</button>`}</div>
    ${(change.changes ?? []).map((/** @type {any} */ part, /** @type {number} */ at) => html`<${PartChange} key=${at} part=${part} />`)}
    ${(change.places ?? []).map((/** @type {any} */ place) => html`<div class="notice bad"><span><code>${place.at}</code>: ${place.revealed}</span></div>`)}
  </article>`;
}

/** @param {{ part: any }} props */
function PartChange({ part }) {
  const text = (/** @type {any} */ value) => (value === undefined || value === null ? '' : typeof value === 'string' ? value : pretty(value));
  if (part.members) {
    return html`<div class="stack tight"><h3>${part.part}</h3>${part.members.map((/** @type {any} */ member) => html`<div class="stack tight"><code class="small">${member.path || 'whole definition'} <span class="soft">${member.kind}</span></code><${DiffView} before="pinned" after="now" lines=${compareLines(text(member.before), text(member.after))} /></div>`)}</div>`;
  }
  return html`<div class="stack tight"><h3>${part.part}</h3><${DiffView} before="pinned" after="now" lines=${compareLines(text(part.before), text(part.after))} /></div>`;
}
