// @ts-check
// The entries of a capsule, by scheme or by search.

import { entryPath, path as address, post } from '../api.js';
import { complain, say } from '../feedback.js';
import { bytes } from '../format.js';
import { useLive } from '../live.js';
import { useList } from '../resource.js';
import { refine, to } from '../router.js';
import { Empty, LoadList, Time } from '../states.js';
import { TableFrame } from '../table-frame.js';
import { html } from '../view.js';

/** @param {{ capsule: any, query: Record<string, string> }} props */
export function Entries({ capsule, query }) {
  const isSearch = Boolean(query.q);
  const filters = { scheme: query.scheme, tag: query.tag };
  const list = useList(isSearch ? address`/v1/capsules/${capsule.id}/search` : address`/v1/capsules/${capsule.id}/entries`, isSearch ? { ...filters, q: query.q } : { ...filters, latest_first: true });
  useLive((event) => event.source === 'capsules' && event.capsule === capsule.id && list.reload());
  const schemes = (capsule.schemes ?? []).filter((/** @type {any} */ scheme) => scheme.entries > 0 || scheme.scheme === query.scheme);
  return html`<form class="filters" role="search" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <div class="field wide"><label for="search">Search</label><input id="search" data-search type="search" placeholder="Words in titles, addresses and texts" value=${query.q ?? ''} onInput=${(/** @type {any} */ event) => refine({ q: event.target.value })} /></div>
      <div class="field"><label for="scheme">Scheme</label><select id="scheme" value=${query.scheme ?? ''} onChange=${(/** @type {any} */ event) => refine({ scheme: event.target.value })}><option value="">all</option>${schemes.map((/** @type {any} */ scheme) => html`<option value=${scheme.scheme}>${scheme.scheme} (${scheme.entries})</option>`)}</select></div>
    </form>
    ${query.tag && html`<p class="row"><span class="badge bare">tag ${query.tag}</span><button class="button small quiet" type="button" onClick=${() => refine({ tag: '' })}>Remove</button></p>`}
    <${LoadList} of=${list} empty=${html`<${NoEntries} capsule=${capsule} isFiltered=${isSearch || query.scheme || query.tag} />`}>
      ${(/** @type {any[]} */ items) => html`<ul class="plain rows">${items.map((entry) => html`<li key=${entry.uri}><a class="row-link" href=${to('capsules', capsule.id, 'entry', { uri: entry.uri })}>
        <span class="row spread"><span class="grow anywhere"><strong>${entry.title || entry.uri}</strong></span><span class="small soft"><${Time} at=${entry.written_at} /></span></span>
        ${entry.snippet && html`<span class="about">${entry.snippet}</span>`}
        <span class="small soft row"><code>${entry.uri}</code><span>version ${entry.version}</span><span>${entry.written_by}</span><span>${bytes(entry.bytes)}</span>${entry.stale && html`<span class="badge warn">stale</span>`}${(entry.tags ?? []).map((/** @type {string} */ tag) => html`<span class="badge bare">${tag}</span>`)}</span>
      </a></li>`)}</ul>`}
    <//>
    <p class="more-link small"><a href=${to('capsules', capsule.id, 'deleted')}>Deleted entries</a></p>`;
}

/** @param {{ capsule: any, isFiltered: any }} props */
function NoEntries({ capsule, isFiltered }) {
  if (isFiltered) return html`<${Empty} icon="search" title="No results" action=${html`<button class="button" type="button" onClick=${() => refine({ q: '', scheme: '', tag: '' })}>Clear filters</button>`} />`;
  return html`<${Empty} icon="capsules" title="No entries yet" action=${capsule.role !== 'reader' && html`<a class="button main" href=${to('capsules', capsule.id, 'new')}>Write the first entry</a>`}>Agents write with <code>capsol_write</code>. You write here or with <code>capdeck capsule write</code>.<//>`;
}

/** @param {{ capsule: any }} props */
export function Deleted({ capsule }) {
  const list = useList(address`/v1/capsules/${capsule.id}/deleted`);
  const restore = async (/** @type {any} */ entry) => {
    try {
      await post(entryPath(capsule.id, 'restore', entry.uri), { version: entry.version });
      say(`Restored ${entry.uri}`);
      list.reload();
    } catch (error) {
      complain(error);
    }
  };
  return html`<${LoadList} of=${list} empty=${html`<${Empty} icon="capsules" title="No deleted entries">Deleted entries can be restored here until they are purged.<//>`}>
    ${(/** @type {any[]} */ items) => html`<${TableFrame} label="Deleted entries"><table><thead><tr><th scope="col">Entry</th><th scope="col">Version</th><th scope="col">Deleted</th><th scope="col"><span class="unseen">Actions</span></th></tr></thead>
      <tbody>${items.map((entry) => html`<tr key=${entry.uri}><th scope="row"><code>${entry.uri}</code></th><td class="number">${entry.version}</td><td><${Time} at=${entry.deleted_at ?? entry.written_at} /></td><td class="end">${capsule.role !== 'reader' && html`<button class="button small" type="button" onClick=${() => restore(entry)}>Restore</button>`}</td></tr>`)}</tbody></table><//>`}
  <//>`;
}
