// @ts-check
// Capsules of other owners, and access requests for them.

import { path as address, post } from '../api.js';
import { Dialog, say } from '../feedback.js';
import { PageHead } from '../page-head.js';
import { useList, useResource } from '../resource.js';
import { refine, to } from '../router.js';
import { may } from '../session.js';
import { Badge, Empty, Failed, LoadList, SkeletonCards } from '../states.js';
import { html, useState } from '../view.js';

/** @param {{ query: Record<string, string> }} props */
export default function Library({ query }) {
  const list = useList('/v1/library', { q: query.q });
  const [asking, setAsking] = useState(/** @type {any} */ (null));
  return html`<${PageHead} title="Library" lede="Capsules shared by their owners. Request access for one of your agents; the owner or an approver decides." />
    <form class="filters" role="search" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}><div class="field wide"><label for="filter">Filter</label><input id="filter" data-search type="search" placeholder="Name or description" value=${query.q ?? ''} onInput=${(/** @type {any} */ event) => refine({ q: event.target.value })} /></div></form>
    <${LoadList} of=${list} skeleton=${html`<${SkeletonCards} />`} empty=${html`<${Empty} icon="library" title=${query.q ? 'No results' : 'The library is empty'}>${query.q ? 'Change the filter.' : 'A capsule appears here when its owner sets its visibility to team or discoverable.'}<//>`}>
      ${(/** @type {any[]} */ items) => html`<ul class="plain cards">${items.map((capsule) => html`<li key=${capsule.id} class="card-link">
        <span class="row spread"><span class="name">${capsule.name}</span><${Badge} value=${capsule.visibility} kind="info" /></span>
        <span class="about">${capsule.description}</span>
        <span class="foot row spread"><span>${capsule.owner ? `owner: ${capsule.owner}` : ''}</span><span class="row">${capsule.role && html`<a class="button small" href=${to('capsules', capsule.id)}>Open</a>`}${capsule.pending ? html`<${Badge} value="pending" />` : html`<button class="button small" type="button" onClick=${() => setAsking(capsule)}>Request access</button>`}</span></span>
      </li>`)}</ul>`}
    <//>
    ${asking && html`<${AskDialog} capsule=${asking} onClose=${() => setAsking(null)} onDone=${() => { setAsking(null); list.reload(); }} />`}`;
}

/** @param {{ capsule: any, onClose: () => void, onDone: () => void }} props */
function AskDialog({ capsule, onClose, onDone }) {
  const [fields, setFields] = useState({ role: 'reader', reason: '', client_id: '' });
  const [error, setError] = useState(/** @type {any} */ (null));
  const clients = useResource(may('admin') ? '/v1/oauth-clients' : null);
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setFields((old) => ({ ...old, [name]: event.target.value }));
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      await post(address`/v1/capsules/${capsule.id}/access-requests`, { role: fields.role, reason: fields.reason.trim() || undefined, client_id: fields.client_id.trim() || undefined });
      say(`Requested access to ${capsule.name}`);
      onDone();
    } catch (problem) {
      setError(problem);
    }
  };
  return html`<${Dialog} title=${`Request access to ${capsule.name}`} onClose=${onClose}><form class="stack" onSubmit=${submit}>
    ${error && html`<${Failed} error=${error} />`}
    <div class="field"><label for="ask-role">Role</label><select id="ask-role" value=${fields.role} onChange=${set('role')}><option value="reader">reader</option><option value="appender">appender</option><option value="writer">writer</option></select></div>
    <div class="field"><label for="ask-client">Client <span class="soft small">optional</span></label><input id="ask-client" class="code" list="ask-clients" placeholder="client id" value=${fields.client_id} onInput=${set('client_id')} /><datalist id="ask-clients">${(clients.data?.items ?? []).map((/** @type {any} */ client) => html`<option value=${client.id}>${client.name}</option>`)}</datalist></div>
    <div class="field"><label for="ask-reason">Reason</label><textarea id="ask-reason" value=${fields.reason} onInput=${set('reason')} /></div>
    <div class="row end"><button class="button" type="button" onClick=${onClose}>Cancel</button><button class="button main" type="submit">Request</button></div>
  </form><//>`;
}
