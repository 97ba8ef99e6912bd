// @ts-check
// Pending and standing approvals of calls.

import { path as address, post, remove } from '../api.js';
import { complain, confirm, say } from '../feedback.js';
import { readable } from '../format.js';
import { useLive } from '../live.js';
import { PageHead } from '../page-head.js';
import { useList } from '../resource.js';
import { to } from '../router.js';
import { may } from '../session.js';
import { Badge, Empty, LoadList, Time } from '../states.js';
import { html, useState } from '../view.js';

export default function Approvals() {
  const list = useList('/v1/deck/approvals');
  useLive((event) => event.source === 'deck' && list.reload());
  return html`<${PageHead} title="Approvals" lede="Destructive calls, and calls your policy asks about, require approval." />
    <${LoadList} of=${list} empty=${html`<${Empty} icon="approvals" title="No pending or standing approvals">Calls that require approval appear here with their arguments.<//>`}>
      ${(/** @type {any[]} */ items) => html`<ul class="plain stack">${items.map((item) => html`<li key=${item.id}><${Approval} item=${item} onDone=${list.reload} /></li>`)}</ul>`}
    <//>`;
}

/** @param {{ item: any, onDone: () => void }} props */
function Approval({ item, onDone }) {
  const [busy, setBusy] = useState(false);
  const act = async (/** @type {() => Promise<any>} */ work, /** @type {string} */ done) => {
    setBusy(true);
    try {
      await work();
      say(done);
      onDone();
    } catch (error) {
      complain(error);
    }
    setBusy(false);
  };
  const name = `${item.capability}.${item.tool}`;
  const approve = (/** @type {boolean} */ always) => act(() => post(address`/v1/deck/approvals/${item.id}/approve`, always ? { always } : {}), always ? `Approved ${name} until its definition changes` : `Approved ${name} once`);
  const takeAway = async () => {
    if (item.state !== 'waiting' && !(await confirm({ title: `Withdraw the approval of ${name}?`, text: 'The next call requires approval again.', action: 'Withdraw', danger: true }))) return;
    await act(() => remove(address`/v1/deck/approvals/${item.id}`), item.state === 'waiting' ? `Denied ${name}` : `Withdrew the approval of ${name}`);
  };
  return html`<article class="card" aria-label=${`${name}, ${item.state}`}>
    <div class="row spread"><span class="row"><a class="mono strong" href=${to('capabilities', item.capability, 'tools', item.tool)}>${name}</a><${Badge} value=${item.state} /></span><span class="small soft">${item.client} · <${Time} at=${item.requestedAt} /></span></div>
    ${item.arguments !== undefined && html`<pre class="wrap tall" tabindex="0">${readable(item.arguments)}</pre>`}
    <div class="row spread actions">
      <span class="small soft">${item.expiresAt ? html`Expires <${Time} at=${item.expiresAt} />` : item.state === 'standing' ? 'Valid until the definition changes' : ''}</span>
      ${may('approver') && html`<span class="row">
        ${item.state === 'waiting' && html`<button class="button main" type="button" disabled=${busy} onClick=${() => approve(false)}>Approve once</button><button class="button" type="button" disabled=${busy} onClick=${() => approve(true)}>Always approve</button>`}
        <button class="button danger" type="button" disabled=${busy} onClick=${takeAway}>${item.state === 'waiting' ? 'Deny' : 'Withdraw'}</button></span>`}
    </div>
  </article>`;
}
