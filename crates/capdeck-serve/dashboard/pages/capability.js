// @ts-check
// One capability: tools, source, visibility and token cost.

import { CopyBlock } from '../copy.js';
import { complain, say } from '../feedback.js';
import { elapsed, pretty } from '../format.js';
import { Markdown } from '../markdown.js';
import { ModeBars } from '../mode-bars.js';
import { PageHead, Tabs } from '../page-head.js';
import { path as address, post } from '../api.js';
import { useList, useResource } from '../resource.js';
import { to } from '../router.js';
import { HostMessage } from '../host-message.js';
import { Badge, Empty, Load, LoadList, Time, stateOf } from '../states.js';
import { Hints } from '../tool-hints.js';
import { html, useState } from '../view.js';
import { ToolPage } from './tool.js';

/** @param {{ id: string, path: string[] }} props */
export function Capability({ id, path }) {
  const card = useResource(address`/v1/deck/capabilities/${id}`);
  const [part = 'tools', tool] = path;
  if (part === 'tools' && tool) return html`<${ToolPage} capability=${id} name=${tool} />`;
  const tabs = [{ id: 'tools', title: 'Tools', link: to('capabilities', id) }, { id: 'about', title: 'About', link: to('capabilities', id, 'about') }, { id: 'tokens', title: 'Tokens', link: to('capabilities', id, 'tokens') }];
  // A file that does not load has only an explanation.
  const whole = card.data && { ...card.data.why, ...card.data };
  const isLoaded = whole?.status !== 'quarantined';
  return html`<${PageHead} title=${whole?.name || id} lede=${whole?.description} trail=${[{ title: 'Capabilities', link: to('capabilities') }]} badge=${whole?.status && html`<${Badge} value=${stateOf(whole)} />`}>
      ${isLoaded && html`<${CheckButton} id=${id} onDone=${card.reload} />`}
    <//>
    ${isLoaded && html`<${Tabs} label=${id} current=${part} tabs=${tabs} />`}
    <${Load} of=${{ ...card, data: whole }}>${(/** @type {any} */ data) => (isLoaded ? html`<div class="stack">
      <${Standing} data=${data} />
      ${part === 'about' && html`<${About} data=${data} />`}
      ${part === 'tokens' && html`<${Tokens} id=${id} />`}
      ${part === 'tools' && html`<${Tools} id=${id} />`}
    </div>` : html`<${NotLoaded} data=${data} />`)}<//>`;
}

/** @param {{ data: any }} props */
function NotLoaded({ data }) {
  return html`<div class="stack">
    <div class="notice bad"><span>Not loaded: <${HostMessage} text=${data.reason} /></span></div>
    <p>Other capabilities are not affected. Fix the file; it reloads on save.</p>
    <dl class="facts"><dt>File</dt><dd><code class="anywhere">${data.source?.path ?? '–'}</code></dd>${(data.shadows ?? []).length > 0 && html`<dt>Shadows</dt><dd>${data.shadows.map((/** @type {any} */ one) => one.path ?? pretty(one)).join(', ')}</dd>`}</dl>
    ${data.nextStep && html`<section class="stack tight"><h2>Show all problems with their locations</h2><${CopyBlock} text=${data.nextStep} label="the command" /></section>`}
  </div>`;
}

/** @param {{ id: string, onDone: () => void }} props */
function CheckButton({ id, onDone }) {
  const [busy, setBusy] = useState(false);
  const check = async () => {
    setBusy(true);
    try {
      const answer = await post(address`/v1/deck/capabilities/${id}/check`);
      if (answer.status === 'available') say(`${id} responded in ${elapsed(answer.elapsedMs)}`);
      else complain(new Error(`${id} is not available: ${answer.error?.message ?? answer.error ?? answer.status}`));
      onDone();
    } catch (error) {
      complain(error);
    }
    setBusy(false);
  };
  return html`<button class="button" type="button" disabled=${busy} onClick=${check}>${busy ? 'Checking…' : 'Check now'}</button>`;
}

/** @param {{ data: any }} props */
function Standing({ data }) {
  const why = data.why ?? {};
  const health = data.health ?? {};
  return html`<div class="stack tight">
    ${data.reason && html`<div class="notice warn"><span><strong>${data.status}</strong>: <${HostMessage} text=${data.reason} />${why.nextStep ? html`. Next: <code>${why.nextStep}</code>` : ''}</span></div>`}
    ${!data.reason && why.visible === false && html`<div class="notice warn"><span>Hidden from agents${data.exposure === 'none' ? ' (exposure: none)' : ''}.</span></div>`}
    ${why.visible && why.seen && html`<p class="soft">Visible to agents: <${HostMessage} text=${why.seen} />.</p>`}
    ${health.state === 'failing' && html`<div class="notice bad"><span>Failing since <${Time} at=${health.since} /> (${health.times === 1 ? 'once' : `${health.times} times`}), last <${Time} at=${health.lastAt} />: <${HostMessage} text=${health.reason} /></span></div>`}
    ${health.state === 'ok' && html`<p class="soft">Last response: <${Time} at=${health.at} />.</p>`}
    ${health.state === 'unchecked' && html`<p class="soft">Not checked yet. Use “Check now”.</p>`}
    ${(why.pins ?? []).length > 0 && html`<div class="notice warn"><span>${why.pins.join('; ')}. <a href=${to('pins', data.id)}>Show changes</a></span></div>`}
  </div>`;
}

/** @param {{ id: string }} props */
function Tools({ id }) {
  const list = useList(address`/v1/deck/capabilities/${id}/tools`, { limit: 200 });
  const [filter, setFilter] = useState('');
  const isMatch = (/** @type {any} */ tool) => `${tool.name} ${tool.description ?? ''}`.toLowerCase().includes(filter.toLowerCase());
  return html`<${LoadList} of=${list} empty=${html`<${Empty} icon="capabilities" title="No tools">Use “Check now” to list its tools.<//>`}>${(/** @type {any[]} */ items) => html`<div class="stack">
    ${items.length > 5 && html`<div class="field"><label for="tools">Filter the ${items.length} tools</label><input id="tools" data-search type="search" value=${filter} onInput=${(/** @type {any} */ event) => setFilter(event.target.value)} /></div>`}
    <ul class="plain rows">${items.filter(isMatch).map((tool) => html`<li key=${tool.name}><a class="row-link" href=${to('capabilities', id, 'tools', tool.name)}>
      <span class="row"><code class="strong">${tool.name}</code><${Hints} of=${tool.annotations} /></span>
      <span class="about soft">${tool.description ?? ''}</span></a></li>`)}</ul>
  </div>`}<//>`;
}

/** @param {{ data: any }} props */
function About({ data }) {
  const backend = typeof data.backend === 'string' ? { type: data.backend } : data.backend ?? {};
  const why = data.why ?? {};
  return html`<div class="columns">
    <section class="card" aria-labelledby="from"><h2 id="from">Source</h2><dl class="facts">
      <dt>Id</dt><dd><code>${data.id}</code></dd>
      <dt>File</dt><dd><code>${data.source?.path ?? '–'}</code></dd>
      <dt>Layer</dt><dd>${data.source?.layer ?? '–'}</dd>
      <dt>Backend</dt><dd>${backend.type ?? '–'}</dd>
      <dt>Exposure</dt><dd>${data.exposure ?? '–'}${why.exposureFrom ? html` <span class="soft">(${why.exposureFrom})</span>` : ''}</dd>
      <dt>Pins</dt><dd>${typeof data.pins === 'string' ? data.pins : pretty(data.pins ?? '–')}</dd>
      ${(data.tags ?? []).length > 0 && html`<dt>Tags</dt><dd>${data.tags.join(', ')}</dd>`}
      ${(data.shadows ?? []).length > 0 && html`<dt>Shadows</dt><dd>${data.shadows.map((/** @type {any} */ one) => (typeof one === 'string' ? one : one.path ?? pretty(one))).join(', ')}</dd>`}
    </dl></section>
    <div class="stack">
      ${data.useWhen && html`<section class="card"><h2>Use when</h2><${Markdown} text=${String(data.useWhen)} /></section>`}
      ${data.avoidWhen && html`<section class="card"><h2>Avoid when</h2><${Markdown} text=${String(data.avoidWhen)} /></section>`}
      ${data.instructions && html`<section class="card"><h2>Server instructions</h2><p class="notice small"><span>Written by the server for agents.</span></p><${Markdown} text=${String(data.instructions)} /></section>`}
      ${(why.problems ?? []).length > 0 && html`<section class="card"><h2>Not imported</h2><ul>${why.problems.map((/** @type {any} */ problem) => html`<li class="anywhere">${problem.at ?? problem.place ?? ''} ${problem.message ?? problem.reason ?? pretty(problem)}</li>`)}</ul></section>`}
      <details class="card"><summary>JSON</summary><${CopyBlock} text=${pretty(data)} label="the card" /></details>
    </div>
  </div>`;
}

/** @param {{ id: string }} props */
function Tokens({ id }) {
  const budget = useResource('/v1/deck/budget');
  return html`<${Load} of=${budget}>${(/** @type {any} */ data) => {
    const mine = data.items.find((/** @type {any} */ item) => item.id === id);
    if (!mine) return html`<${Empty} icon="capabilities" title="Not counted yet">Its tools are not listed yet.<//>`;
    return html`<section class="card" aria-labelledby="cost"><h2 id="cost">Token cost of listing it</h2><${ModeBars} of=${mine} label=${`Tokens of ${id} by mode`} /></section>`;
  }}<//>`;
}
