// @ts-check
// Registered OAuth clients and principals.

import { path as address, remove } from '../api.js';
import { useAct } from '../act.js';
import { confirm } from '../feedback.js';
import { counted } from '../format.js';
import { PageHead } from '../page-head.js';
import { useList } from '../resource.js';
import { to } from '../router.js';
import { Empty, LoadList, Time } from '../states.js';
import { TableFrame } from '../table-frame.js';
import { html } from '../view.js';

export default function Clients() {
  const clients = useList('/v1/oauth-clients');
  const principals = useList('/v1/principals');
  const [, act] = useAct();
  const takeAway = async (/** @type {any} */ client) => {
    const name = client.name;
    if (!(await confirm({ title: `Remove ${name}?`, text: 'Its registration and its grants end with its next request.', action: 'Remove', danger: true }))) return;
    if (await act(() => remove(address`/v1/oauth-clients/${client.id}`), `Removed ${name}`)) clients.reload();
  };
  return html`<${PageHead} title="Clients" lede="Registered OAuth clients, and the principals that hold grants." />
    <div class="stack loose">
      <section class="stack tight" aria-labelledby="registered"><h2 id="registered">Registered</h2><${LoadList} of=${clients} empty=${html`<${Empty} icon="clients" title="No clients" action=${html`<a class="button" href=${to('connect')}>Connect an agent</a>`}>MCP clients register automatically at their first sign-in.<//>`}>
        ${(/** @type {any[]} */ items) => html`<${TableFrame} label="Clients"><table><thead><tr><th scope="col">Name</th><th scope="col">Id</th><th scope="col">Redirect URIs</th><th scope="col">Registered</th><th scope="col"><span class="unseen">Actions</span></th></tr></thead>
          <tbody>${items.map((client) => html`<tr key=${client.id}><th scope="row" class="anywhere">${client.name}</th><td><code>${client.id}</code></td><td class="anywhere">${(client.redirect_uris ?? []).join(', ')}</td><td><${Time} at=${client.created_at} /></td><td class="end"><button class="button small danger" type="button" onClick=${() => takeAway(client)}>Remove</button></td></tr>`)}</tbody></table><//>`}
      <//></section>
      <section class="stack tight" aria-labelledby="principals"><h2 id="principals">Principals</h2><${LoadList} of=${principals} empty=${html`<p class="soft">No principals.</p>`}>
        ${(/** @type {any[]} */ items) => html`<${TableFrame} label="Principals"><table><thead><tr><th scope="col">Name</th><th scope="col">Id</th><th scope="col">Client</th><th scope="col">Grants</th><th scope="col"><span class="unseen">Links</span></th></tr></thead>
          <tbody>${items.map((one) => html`<tr key=${one.id}><th scope="row" class="anywhere">${one.name ?? one.id}</th><td><code>${one.id}</code></td><td class="anywhere">${one.client_id ?? '–'}</td><td class="number">${counted(one.grants.length, 'grant')}</td><td class="end"><a class="button small" href=${to('access', 'grants', { principal: one.id })}>Grants</a></td></tr>`)}</tbody></table><//>`}
      <//></section>
    </div>`;
}
