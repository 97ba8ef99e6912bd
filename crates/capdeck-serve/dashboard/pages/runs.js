// @ts-check
// Recorded code mode runs.

import { path as address } from '../api.js';
import { CopyBlock } from '../copy.js';
import { elapsed, pretty } from '../format.js';
import { PageHead } from '../page-head.js';
import { useList, useResource } from '../resource.js';
import { refine, to } from '../router.js';
import { Badge, Empty, Load, LoadList, Time } from '../states.js';
import { TableFrame } from '../table-frame.js';
import { html } from '../view.js';

const STATES = ['running', 'paused', 'done', 'failed'];

/** @param {{ path: string[], query: Record<string, string> }} props */
export default function Runs({ path, query }) {
  return path[0] ? html`<${Run} id=${path[0]} />` : html`<${AllRuns} query=${query} />`;
}

/** @param {{ query: Record<string, string> }} props */
function AllRuns({ query }) {
  const list = useList('/v1/deck/runs', { state: query.state });
  return html`<${PageHead} title="Runs" lede="Code mode runs with their calls and outcomes." />
    <form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}><div class="field"><label for="state">State</label><select id="state" value=${query.state ?? ''} onChange=${(/** @type {any} */ event) => refine({ state: event.target.value })}><option value="">any</option>${STATES.map((state) => html`<option value=${state}>${state}</option>`)}</select></div></form>
    <${LoadList} of=${list} empty=${html`<${Empty} icon="runs" title="No runs">Runs of <code>code_mode</code> and <code>capdeck run</code> are recorded here.<//>`}>
      ${(/** @type {any[]} */ items) => html`<${TableFrame} label="Runs"><table><thead><tr><th scope="col">Code</th><th scope="col">State</th><th scope="col" class="end">Calls</th><th scope="col" class="end">Duration</th><th scope="col">Client</th><th scope="col">When</th></tr></thead>
        <tbody>${items.map((run) => html`<tr key=${run.id}><th scope="row"><a class="mono anywhere" href=${to('runs', run.id)}>${run.headline || run.id}</a></th><td><${Badge} value=${run.state} /></td><td class="end number">${run.calls}</td><td class="end number nowrap">${elapsed(run.durationMs)}</td><td class="anywhere">${run.client}</td><td><${Time} at=${run.at} /></td></tr>`)}</tbody></table><//>`}
    <//>`;
}

/** @param {{ id: string }} props */
function Run({ id }) {
  const run = useResource(address`/v1/deck/runs/${id}`);
  return html`<${PageHead} title="Run" trail=${[{ title: 'Runs', link: to('runs') }]} badge=${run.data && html`<${Badge} value=${run.data.state} />`} lede=${html`<code>${id}</code>`} />
    <${Load} of=${run}>${(/** @type {any} */ data) => html`<div class="stack">
      ${data.state === 'paused' && html`<div class="notice warn"><span>Paused: calls of this run require approval. Decide them under <a href=${to('approvals')}>Approvals</a>; then the agent resumes the run, or run <code>capdeck runs resume ${id}</code>.</span></div>`}
      <dl class="facts"><dt>When</dt><dd><${Time} at=${data.at} /></dd><dt>Client</dt><dd>${data.client ?? '–'}</dd>${data.durationMs !== undefined && html`<dt>Duration</dt><dd>${elapsed(data.durationMs)}</dd>`}</dl>
      <section class="stack tight"><h2>Code</h2><${CopyBlock} text=${String(data.code ?? '')} label="the code" /></section>
      <section class="stack tight"><h2>Calls</h2>${(data.calls ?? []).length === 0 ? html`<p class="soft">No calls.</p>` : html`<${TableFrame} label="Calls"><table><thead><tr><th scope="col">Call</th><th scope="col">Outcome</th><th scope="col">Arguments</th></tr></thead>
        <tbody>${data.calls.map((/** @type {any} */ call, /** @type {number} */ at) => html`<tr key=${at}><th scope="row"><code>${call.call}</code></th><td><${Badge} value=${String(call.outcome)} /></td><td><code>${JSON.stringify(call.args?.args ?? call.args ?? {})}</code></td></tr>`)}</tbody></table><//>`}</section>
      ${data.value !== undefined && html`<section class="stack tight"><h2>Value</h2><${CopyBlock} text=${typeof data.value === 'string' ? data.value : pretty(data.value)} label="the value" /></section>`}
      ${data.error && html`<section class="stack tight"><h2>Error</h2><div class="notice bad"><span><strong>${data.error.code}</strong> ${data.error.message}${data.error.hint ? `. ${data.error.hint}` : ''}</span></div></section>`}
    </div>`}<//>`;
}
