// @ts-check
// Configuration snippets that connect an agent.

import { path as address } from '../api.js';
import { CopyBlock } from '../copy.js';
import { PageHead } from '../page-head.js';
import { useResource } from '../resource.js';
import { refine } from '../router.js';
import { Load } from '../states.js';
import { html } from '../view.js';

/** @param {{ query: Record<string, string> }} props */
export default function Connect({ query }) {
  const clients = useResource('/v1/connect');
  const capsules = useResource('/v1/capsules', { limit: 200 });
  return html`<${PageHead} title="Connect" lede="Every MCP client uses the deck at one address. Select your agent to see its configuration." />
    <${Load} of=${clients}>${(/** @type {any} */ data) => {
      const chosen = data.items.find((/** @type {any} */ one) => one.client === query.client) ?? data.items[0];
      return html`<div class="stack">
        <div class="filters">
          <div class="field wide"><label for="client">Agent</label><select id="client" value=${chosen?.client} onChange=${(/** @type {any} */ event) => refine({ client: event.target.value })}>${data.items.map((/** @type {any} */ one) => html`<option value=${one.client}>${one.name}</option>`)}</select></div>
          <div class="field wide"><label for="what">Access to</label><select id="what" value=${query.capsule ?? ''} onChange=${(/** @type {any} */ event) => refine({ capsule: event.target.value })}><option value="">the deck</option>${(capsules.data?.items ?? []).map((/** @type {any} */ one) => html`<option value=${one.id}>only the capsule ${one.name}</option>`)}</select></div>
        </div>
        ${chosen && html`<${Snippet} client=${chosen.client} capsule=${query.capsule} />`}
      </div>`;
    }}<//>`;
}

/** @param {{ client: string, capsule?: string }} props */
function Snippet({ client, capsule }) {
  const snippet = useResource(address`/v1/connect/${client}`, { capsule });
  return html`<${Load} of=${snippet}>${(/** @type {any} */ data) => html`<section class="card stack" aria-labelledby="put"><h2 id="put">${data.name}</h2>
    <p>Add this to its configuration (${data.format.toUpperCase()}, below <code>${data.key}</code>):</p>
    <${CopyBlock} text=${data.text} label="the configuration" />
    <p class="soft">MCP address: <code>${data.url}</code>.</p>
    ${data.notes.length > 0 && html`<ul class="soft">${data.notes.map((/** @type {string} */ note) => html`<li>${note}</li>`)}</ul>`}
    <p class="soft">Or run <code>capdeck connect ${client} --url ${data.url}</code></p>
  </section>`}<//>`;
}
