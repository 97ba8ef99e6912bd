// @ts-check
// The capabilities of the deck, with their status and token costs.

import { compact, number } from '../format.js';
import { Icon } from '../icons.js';
import { Bars } from '../charts.js';
import { MODES } from '../mode-bars.js';
import { PageHead, Tabs } from '../page-head.js';
import { useList, useResource } from '../resource.js';
import { refine, to } from '../router.js';
import { HostMessage } from '../host-message.js';
import { Badge, Empty, Load, LoadList, SkeletonCards, stateOf } from '../states.js';
import { html } from '../view.js';
import { Capability } from './capability.js';

const STATUSES = ['ready', 'stale', 'hidden', 'quarantined', 'untrusted', 'disabled'];

/** @param {{ path: string[], query: Record<string, string> }} props */
export default function Capabilities({ path, query }) {
  if (path[0]) return html`<${Capability} id=${path[0]} path=${path.slice(1)} />`;
  const tab = query.tab === 'tokens' ? 'tokens' : 'cards';
  return html`<${PageHead} title="Capabilities" lede="Everything agents can use, from your definition files and projects.">
      <a class="button" href=${to('connect')}><${Icon} name="connect" />Connect an agent</a>
    <//>
    <${Tabs} label="Capabilities" current=${tab} tabs=${[{ id: 'cards', title: 'Cards', link: to('capabilities') }, { id: 'tokens', title: 'Tokens', link: to('capabilities', { tab: 'tokens' }) }]} />
    ${tab === 'tokens' ? html`<${Tokens} />` : html`<${Cards} query=${query} />`}`;
}

/** @param {{ query: Record<string, string> }} props */
function Cards({ query }) {
  const list = useList('/v1/deck/capabilities', { q: query.q, status: query.status });
  const isFiltered = Boolean(query.q || query.status);
  return html`<form class="filters" role="search" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <div class="field wide"><label for="filter">Filter</label><input id="filter" data-search type="search" placeholder="Name or description" value=${query.q ?? ''} onInput=${(/** @type {any} */ event) => refine({ q: event.target.value })} /></div>
      <div class="field"><label for="status">Status</label><select id="status" value=${query.status ?? ''} onChange=${(/** @type {any} */ event) => refine({ status: event.target.value })}><option value="">any</option>${STATUSES.map((status) => html`<option value=${status}>${status}</option>`)}</select></div>
    </form>
    <${LoadList} of=${list} skeleton=${html`<${SkeletonCards} />`} empty=${isFiltered ? html`<${Empty} icon="search" title="No results" action=${html`<button class="button" type="button" onClick=${() => refine({ q: '', status: '' })}>Clear filters</button>`} />` : html`<${NoDeck} />`}>
      ${(/** @type {any[]} */ items) => html`<ul class="plain cards">${items.map((item) => html`<li key=${item.id}><${Card} item=${item} /></li>`)}</ul>`}
    <//>`;
}

function NoDeck() {
  return html`<${Empty} icon="capabilities" title="The deck is empty" action=${html`<code>capdeck add NAME -- COMMAND</code>`}>Add an MCP server, an API or a command, or import the MCP servers of an agent with <code>capdeck import</code>.<//>`;
}

/** @param {{ item: any }} props */
function Card({ item }) {
  return html`<a class="card-link" href=${to('capabilities', item.id)}>
    <span class="row spread"><span class="name">${item.name || item.id}</span><${Badge} value=${stateOf(item)} /></span>
    <span class="about">${item.reason ?? item.health?.reason ? html`<${HostMessage} text=${item.reason ?? item.health.reason} />` : item.description}</span>
    <span class="foot row"><code>${item.id}</code>${item.backend && html`<span>${item.backend}</span>`}${item.exposure && html`<span>${item.exposure.replaceAll('_', ' ')}</span>`}${item.tokens !== null && item.tokens !== undefined && html`<span>${compact(item.tokens)} tokens</span>`}</span>
  </a>`;
}

function Tokens() {
  const budget = useResource('/v1/deck/budget');
  return html`<${Load} of=${budget}>${(/** @type {any} */ data) => html`<div class="stack">
    <p class="soft">The token cost of listing the deck for each client, by exposure. ${data.limit ? `The budget is ${compact(data.limit)} tokens.` : ''} Counts are upper bounds.</p>
    <section class="card" aria-labelledby="whole"><h2 id="whole">Whole deck</h2><${Bars} label="Tokens of the whole deck by mode" unit="tokens" rows=${[...MODES.map(([mode, title]) => ({ name: title, value: wholeDeck(data.items, mode) })), { name: 'Current', value: data.total, strong: true }]} /></section>
    <div class="table-frame" tabindex="0" role="group" aria-label="Tokens by capability"><table><thead><tr><th scope="col">Capability</th><th scope="col" class="end">Tools</th>${MODES.map(([, title]) => html`<th scope="col" class="end">${title}</th>`)}</tr></thead>
      <tbody>${data.items.map((/** @type {any} */ item) => html`<tr key=${item.id}><th scope="row"><a href=${to('capabilities', item.id)}>${item.id}</a></th><td class="end number">${number(item.tools)}</td>${MODES.map(([mode]) => html`<td class="end number">${compact(item[mode])}</td>`)}</tr>`)}</tbody></table></div>
  </div>`}<//>`;
}

/**
 * The cost of all capabilities. Search, on-demand and code mode cost the same for any number of them.
 * @param {any[]} items
 * @param {string} mode
 */
function wholeDeck(items, mode) {
  const amounts = items.map((item) => item[mode] ?? 0);
  return mode === 'direct' || mode === 'progressive' ? amounts.reduce((sum, amount) => sum + amount, 0) : Math.max(0, ...amounts);
}
