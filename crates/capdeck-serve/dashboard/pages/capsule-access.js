// @ts-check
// Access to a capsule: pending requests, connections and share tokens.

import { path as address, post, remove } from '../api.js';
import { useAct } from '../act.js';
import { CopyBlock } from '../copy.js';
import { confirm, Dialog } from '../feedback.js';
import { words } from '../format.js';
import { useLive } from '../live.js';
import { useList } from '../resource.js';
import { Empty, Failed, LoadList, Time } from '../states.js';
import { TableFrame } from '../table-frame.js';
import { ROLES } from '../target.js';
import { html, useState } from '../view.js';
import { Request } from './access-requests.js';

/** @param {{ capsule: any }} props */
export function CapsuleAccess({ capsule }) {
  const requests = useList('/v1/grants', { status: 'pending', capsule: capsule.id });
  const connections = useList(address`/v1/capsules/${capsule.id}/connections`);
  const [sharing, setSharing] = useState(false);
  const [, act] = useAct();
  const reload = () => {
    requests.reload();
    connections.reload();
  };
  useLive((event) => /^(grant|share|credential|enrollment)/.test(event.action) && reload());
  const disconnect = async (/** @type {any} */ connection) => {
    if (!(await confirm({ title: `Disconnect ${connection.name || connection.id}?`, text: 'Its access ends with the next call.', action: 'Disconnect', danger: true }))) return;
    if (await act(() => remove(address`/v1/capsules/${capsule.id}/connections/${connection.id}`), `Disconnected ${connection.name || connection.id}`)) connections.reload();
  };
  const isOwner = capsule.role === 'owner';
  return html`<div class="stack loose">
    ${(requests.items ?? []).length > 0 && html`<section class="stack" aria-labelledby="waiting"><h2 id="waiting">Pending requests</h2><ul class="plain stack">${requests.items?.map((request) => html`<li key=${request.id}><${Request} request=${request} onDone=${reload} /></li>`)}</ul></section>`}
    <section class="stack" aria-labelledby="connections"><div class="row spread"><h2 id="connections">Connections</h2>${isOwner && html`<button class="button" type="button" onClick=${() => setSharing(true)}>Share with a token</button>`}</div>
      <${LoadList} of=${connections} empty=${html`<${Empty} icon="connect" title="No connections">Agents that sign in or enroll, and share tokens, are listed here.<//>`}>
        ${(/** @type {any[]} */ items) => html`<${TableFrame} label="Connections"><table><thead><tr><th scope="col">Name</th><th scope="col">Kind</th><th scope="col">Role</th><th scope="col">Entries</th><th scope="col">Created</th><th scope="col">Expires</th><th scope="col">Last used</th><th scope="col"><span class="unseen">Actions</span></th></tr></thead>
          <tbody>${items.map((one) => html`<tr key=${one.id}><th scope="row" class="anywhere">${one.name || one.client_name || one.id}</th><td>${one.kind}</td><td>${one.role}</td><td class="anywhere">${(one.uri_prefixes ?? []).join(', ') || 'all'}${(one.denied_prefixes ?? []).length > 0 ? ` except ${one.denied_prefixes.join(', ')}` : ''}</td><td class="anywhere"><${Time} at=${one.created_at} />${one.created_by && html` <span class="soft">by ${one.created_by}</span>`}</td><td>${one.is_over ? html`<span class="badge warn">expired</span>` : one.expires_at ? html`<${Time} at=${one.expires_at} />` : 'never'}</td><td>${one.last_used_at ? html`<${Time} at=${one.last_used_at} />` : '–'}</td><td class="end">${isOwner && html`<button class="button small danger" type="button" onClick=${() => disconnect(one)}>Disconnect</button>`}</td></tr>`)}</tbody></table><//>`}
      <//>
    </section>
    ${sharing && html`<${ShareDialog} capsule=${capsule} onClose=${() => { setSharing(false); connections.reload(); }} />`}
  </div>`;
}

/** @param {{ capsule: any, onClose: () => void }} props */
function ShareDialog({ capsule, onClose }) {
  const [fields, setFields] = useState({ name: '', role: 'reader', only: '', not: '', days: '90' });
  const [error, setError] = useState(/** @type {any} */ (null));
  const [share, setShare] = useState(/** @type {any} */ (null));
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setFields((old) => ({ ...old, [name]: event.target.value }));
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const until = fields.days ? new Date(Date.now() + Number(fields.days) * 86_400_000).toISOString() : 'never';
    try {
      setShare(await post(address`/v1/capsules/${capsule.id}/connections`, { name: fields.name.trim(), role: fields.role, uri_prefixes: words(fields.only), denied_prefixes: words(fields.not), expires_at: until }));
    } catch (problem) {
      setError(problem);
    }
  };
  if (share) {
    return html`<${Dialog} title="New token" onClose=${onClose}><p>Copy it now; it is not shown again. An agent sends it as <code>Authorization: Bearer …</code> to <code>${`${location.origin}${capsule.mcp_path}`}</code>.</p><${CopyBlock} text=${share.token} label="the token" /><div class="row end"><button class="button main" type="button" onClick=${onClose}>Done</button></div><//>`;
  }
  return html`<${Dialog} title=${`Share ${capsule.name}`} onClose=${onClose}><form class="stack" onSubmit=${submit}>
    ${error && html`<${Failed} error=${error} />`}
    <div class="field"><label for="share-name">Name</label><input id="share-name" required autofocus placeholder="build server" value=${fields.name} onInput=${set('name')} /></div>
    <div class="field"><label for="share-role">Role</label><select id="share-role" value=${fields.role} onChange=${set('role')}>${ROLES.map((role) => html`<option value=${role}>${role}</option>`)}</select></div>
    <div class="field"><label for="share-only">Only these prefixes</label><textarea id="share-only" class="code" placeholder="all" value=${fields.only} onInput=${set('only')} /></div>
    <div class="field"><label for="share-not">Excluded prefixes</label><textarea id="share-not" class="code" value=${fields.not} onInput=${set('not')} /></div>
    <div class="field"><label for="share-days">Expires after (days)</label><input id="share-days" type="number" min="1" placeholder="never" value=${fields.days} onInput=${set('days')} /></div>
    <div class="row end"><button class="button" type="button" onClick=${onClose}>Cancel</button><button class="button main" type="submit">Create token</button></div>
  </form><//>`;
}
