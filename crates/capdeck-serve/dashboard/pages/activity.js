// @ts-check
// Live activity and the audit trail.

import { Icon } from '../icons.js';
import { ActivityRow } from '../activity-row.js';
import { liveState, missed, useLive } from '../live.js';
import { PageHead, Tabs } from '../page-head.js';
import { useList, useResource } from '../resource.js';
import { refine, to } from '../router.js';
import { may } from '../session.js';
import { useSignal } from '../signal.js';
import { Empty, LoadList } from '../states.js';
import { html, useRef, useState } from '../view.js';

const MAX_ROWS = 500;
const EARLIER = 30;
const SOURCES = /** @type {[string, string][]} */ ([['deck', 'Deck'], ['capsules', 'Capsules'], ['registry', 'Access']]);

/** @param {{ path: string[], query: Record<string, string> }} props */
export default function Activity({ path, query }) {
  const tab = path[0] === 'audit' && may('admin') ? 'audit' : 'live';
  return html`<${PageHead} title="Activity" lede="Every call, read, write and decision. Arguments and contents are not recorded." />
    <${Tabs} label="Activity" current=${tab} tabs=${[{ id: 'live', title: 'Live', link: to('activity') }, ...(may('admin') ? [{ id: 'audit', title: 'Audit trail', link: to('activity', 'audit') }] : [])]} />
    ${tab === 'live' ? html`<${Live} />` : html`<${Audit} query=${query} />`}`;
}

function Live() {
  const [shown, setShown] = useState(/** @type {any[]} */ ([]));
  const [missedBefore] = useState(missed.value);
  const hasMissed = useSignal(missed) > missedBefore;
  const [paused, setPaused] = useState(false);
  const [source, setSource] = useState('');
  const [text, setText] = useState('');
  const held = useRef(/** @type {any[]} */ ([]));
  const [waiting, setWaiting] = useState(0);
  const state = useSignal(liveState);
  useLive((event) => {
    if (paused) {
      held.current = [event, ...held.current].slice(0, MAX_ROWS);
      setWaiting(held.current.length);
    } else {
      setShown((old) => [event, ...old].slice(0, MAX_ROWS));
    }
  });
  const resume = () => {
    const late = held.current;
    held.current = [];
    setWaiting(0);
    setShown((old) => [...late, ...old].slice(0, MAX_ROWS));
    setPaused(false);
  };
  const isMatch = (/** @type {any} */ row) => (!source || row.source === source) && JSON.stringify(Object.values(row)).toLowerCase().includes(text.toLowerCase());
  const rows = shown.filter(isMatch);
  // Loaded once; the live stream delivers later events.
  const before = useEarlier().filter(isMatch);
  return html`<form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <div class="field wide"><label for="live-text">Filter</label><input id="live-text" data-search type="search" placeholder="Action, tool, client, entry" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></div>
      <div class="field"><label for="live-source">Source</label><select id="live-source" value=${source} onChange=${(/** @type {any} */ event) => setSource(event.target.value)}><option value="">all</option>${SOURCES.map(([id, title]) => html`<option value=${id}>${title}</option>`)}</select></div>
      <button class="button" type="button" aria-pressed=${paused} onClick=${() => (paused ? resume() : setPaused(true))}><${Icon} name=${paused ? 'runs' : 'pause'} />${paused ? `Resume${waiting > 0 ? ` (${waiting} new)` : ''}` : 'Pause'}</button>
    </form>
    ${hasMissed && html`<div class="notice warn"><span>Some events were not received. ${may('admin') && html`<a href=${to('activity', 'audit')}>The audit trail is complete.</a>`}</span></div>`}
    <div class="stack">${rows.length === 0
      ? before.length > 0 ? html`<p class="soft" role="status">${state === 'open' ? 'Waiting for new events.' : 'Connecting…'}</p>` : html`<${Empty} icon="activity" title=${shown.length > 0 ? 'No results' : state === 'open' ? 'No events yet' : 'Connecting…'}>${shown.length > 0 ? 'Change the filter.' : 'Calls, writes and decisions appear here as they happen.'}<//>`
      : html`<ol class="plain activity-list" aria-label="Live activity" aria-live=${paused ? 'off' : 'polite'} aria-relevant="additions">${rows.map((row) => html`<${ActivityRow} key=${row.seq} of=${row} />`)}</ol>`}
    ${before.length > 0 && html`<section class="stack tight" aria-labelledby="before"><h2 id="before">Earlier</h2><ol class="plain activity-list dated">${before.map((row, at) => html`<${ActivityRow} key=${at} of=${row} dated />`)}</ol></section>`}</div>`;
}

/** The last events of the audit trail from before the page was opened. */
function useEarlier() {
  const query = { limit: EARLIER };
  const deck = useResource(may('admin') ? '/v1/audit' : null, { source: 'deck', ...query });
  const registry = useResource(may('admin') ? '/v1/audit' : null, { source: 'registry', ...query });
  const rows = (/** @type {any} */ list, /** @type {string} */ source) => (list.data?.items ?? []).map((/** @type {any} */ row) => ({ ...row, source, at: row.at ?? row.ts }));
  return [...rows(deck, 'deck'), ...rows(registry, 'registry')].sort((one, other) => other.at.localeCompare(one.at)).slice(0, EARLIER);
}

/** @param {{ query: Record<string, string> }} props */
function Audit({ query }) {
  const source = query.source === 'registry' ? 'registry' : 'deck';
  const list = useList('/v1/audit', { source, action: query.action, client: query.client, outcome: query.outcome, since: asTime(query.since), until: asTime(query.until) });
  const field = (/** @type {string} */ name) => (/** @type {any} */ event) => refine({ [name]: event.target.value });
  const outcomes = ['ok', 'failed', ...(source === 'deck' ? ['tool_error'] : ['denied', 'error'])];
  return html`<form class="filters" role="search" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <div class="field"><label for="audit-source">Source</label><select id="audit-source" value=${source} onChange=${(/** @type {any} */ event) => refine({ source: event.target.value, outcome: '' })}><option value="deck">Deck</option><option value="registry">Access and capsules</option></select></div>
      <div class="field"><label for="audit-outcome">Outcome</label><select id="audit-outcome" value=${query.outcome ?? ''} onChange=${field('outcome')}><option value="">any</option>${outcomes.map((outcome) => html`<option value=${outcome}>${outcome.replaceAll('_', ' ')}</option>`)}</select></div>
      <div class="field"><label for="audit-action">Action</label><input id="audit-action" data-search type="search" placeholder=${source === 'deck' ? 'tools/call' : 'grant.approve'} value=${query.action ?? ''} onChange=${field('action')} /></div>
      <div class="field"><label for="audit-client">Client</label><input id="audit-client" type="search" placeholder="name" value=${query.client ?? ''} onChange=${field('client')} /></div>
      <div class="field"><label for="audit-since">From</label><input id="audit-since" type="datetime-local" value=${query.since ?? ''} onChange=${field('since')} /></div>
      <div class="field"><label for="audit-until">Until</label><input id="audit-until" type="datetime-local" value=${query.until ?? ''} onChange=${field('until')} /></div>
    </form>
    <${LoadList} of=${list} empty=${html`<${Empty} icon="search" title="No results">Change the filters or the time range.<//>`}>
      ${(/** @type {any[]} */ items) => html`<ol class="plain activity-list dated" aria-label="Audit trail">${items.map((row, at) => html`<${ActivityRow} key=${at} of=${row} dated />`)}</ol>`}
    <//>`;
}

/** @param {string | undefined} local the value of a datetime-local field, without a time zone */
function asTime(local) {
  const date = local ? new Date(local) : null;
  return date && !Number.isNaN(date.getTime()) ? date.toISOString() : undefined;
}
