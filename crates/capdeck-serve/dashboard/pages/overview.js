// @ts-check
// The overview: figures, pending decisions and recent activity.

import { Sparkline } from '../charts.js';
import { asField, compact, counted, number, uptime } from '../format.js';
import { ActivityRow } from '../activity-row.js';
import { missed, useLive } from '../live.js';
import { PageHead } from '../page-head.js';
import { useResource } from '../resource.js';
import { to } from '../router.js';
import { HostMessage } from '../host-message.js';
import { may } from '../session.js';
import { Badge, Empty, Load, SkeletonCards, stateOf } from '../states.js';
import { html, useEffect, useState } from '../view.js';

const DAY = 86_400_000;
const LATEST = 8;

export default function Overview() {
  const overview = useResource('/v1/overview');
  const health = useResource(may('admin') ? '/v1/deck/health' : null);
  return html`<${PageHead} title="Overview" lede="The status of this host and what agents do with it." />
    <${Load} of=${overview} skeleton=${html`<${SkeletonCards} count=${4} />`}>${(/** @type {any} */ data) => html`<div class="stack loose">
      ${data.calls && html`<${Figures} data=${data} />`}
      <${Attention} data=${data} health=${health.data} />
      <div class=${data.calls?.by_hour ? 'columns wide-left' : 'stack'}>${data.calls?.by_hour && html`<${CallsChart} hours=${data.calls.by_hour} />`}<${HostFacts} data=${data} /></div>
      <${Latest} />
    </div>`}<//>`;
}

/** @param {{ data: any }} props */
function Figures({ data }) {
  const { capabilities, connected, tokens, calls } = data;
  const since = asField(Date.now() - DAY);
  const share = tokens.direct > 0 ? Math.round((tokens.saved / tokens.direct) * 100) : 0;
  return html`<ul class="plain figures" aria-label="Figures">
    <li><a href=${to('capabilities')}><span class="figure number">${number(capabilities.usable)}</span><span class="what">${capabilities.usable === 1 ? 'capability' : 'capabilities'} ready</span>
      <span class="soft small">of ${number(capabilities.all + capabilities.quarantined)}, ${counted(connected.sessions, 'client')} connected</span></a></li>
    <li><a href=${to('capabilities', { tab: 'tokens' })}><span class="figure number">${compact(tokens.saved)}</span><span class="what">tokens saved per client</span>
      <span class="soft small">${share} % of ${compact(tokens.direct)} for listing every tool</span></a></li>
    <li><a href=${to('activity', 'audit', { action: 'tools/call', since })}><span class="figure number">${compact(calls.last_24_hours)}</span><span class="what">calls in 24 hours</span><span class="soft small">from all clients</span></a></li>
    <li><a href=${to('activity', 'audit', { action: 'tools/call', outcome: 'failed', since })}><span class=${`figure number ${calls.errors_last_24_hours > 0 ? 'is-bad' : ''}`}>${compact(calls.errors_last_24_hours)}</span><span class="what">failed in 24 hours</span><span class="soft small">including denied calls</span></a></li>
  </ul>`;
}

/** @param {{ data: any, health: any }} props */
function Attention({ data, health }) {
  const { grants = 0, approvals, pins } = data.pending;
  const failing = (health?.capabilities ?? []).filter((/** @type {any} */ one) => one.health?.state === 'failing' || one.status === 'quarantined' || one.status === 'untrusted');
  const items = [
    grants > 0 && { link: to('access'), word: 'waiting', title: `${counted(grants, 'request')} for access`, about: 'Access requests wait for your decision.' },
    approvals > 0 && { link: to('approvals'), word: 'waiting', title: `${counted(approvals, 'call')} to approve`, about: 'Calls require approval.' },
    pins > 0 && { link: to('pins'), word: 'changed', title: `${counted(pins, 'definition')} to review`, about: 'Tool definition changed.' },
    ...failing.slice(0, 5).map((/** @type {any} */ one) => ({ link: to('capabilities', one.id), word: stateOf(one), title: one.id, about: one.reason ?? one.health?.reason ?? `Status: ${one.status}.` })),
  ].filter(Boolean);
  return html`<section class="stack tight" aria-labelledby="attention">
    <h2 id="attention">Needs attention</h2>
    ${items.length === 0
      ? html`<p class="notice good"><span>No pending decisions and no failures.</span></p>`
      : html`<ul class="plain rows attention">${items.map((item) => html`<li><a class="row-link" href=${item.link}><${Badge} value=${item.word} /><strong>${item.title}</strong><span class="grow soft"><${HostMessage} text=${item.about} /></span></a></li>`)}</ul>`}
  </section>`;
}

/** @param {{ hours: { calls: number, errors: number }[] }} props */
function CallsChart({ hours }) {
  const bars = hours.map((/** @type {any} */ hour) => ({ all: hour.calls, failed: hour.errors }));
  const most = Math.max(0, ...bars.map((/** @type {any} */ bar) => bar.all));
  return html`<section class="card" aria-labelledby="calls-chart">
    <h2 id="calls-chart">Calls by hour</h2>
    <${Sparkline} bars=${bars} label=${`Calls in each of the last 24 hours: ${bars.map((/** @type {any} */ bar) => bar.all).join(', ')}`} />
    <div class="row spread small soft"><span>24 hours ago</span><span>${most === 0 ? 'No calls yet' : `Peak: ${number(most)}/h`}</span><span>now</span></div>
  </section>`;
}

/** @param {{ data: any }} props */
function HostFacts({ data }) {
  return html`<section class="card" aria-labelledby="host-facts"><h2 id="host-facts">This host</h2>
    <dl class="facts">
      <dt>Version</dt><dd>${data.version}</dd>
      <dt>Uptime</dt><dd>${uptime(data.uptime_seconds)}</dd>
      ${data.connected && html`<dt>Clients</dt><dd>${counted(data.connected.sessions, 'session')}, ${counted(data.connected.streams, 'stream')}</dd>`}
      <dt>Capsules</dt><dd><a href=${to('capsules')}>${counted(data.capsules, 'capsule')}</a></dd>
      <dt>MCP address</dt><dd><code>${`${location.origin}/mcp`}</code></dd>
    </dl>
    <p class="more-link"><a href=${to('connect')}>Connect an agent</a></p>
  </section>`;
}

function Latest() {
  const past = useResource(may('admin') ? '/v1/audit' : null, { source: 'deck', limit: LATEST });
  const [fresh, setFresh] = useState(/** @type {any[]} */ ([]));
  useLive((event) => setFresh((old) => [event, ...old].slice(0, LATEST)));
  // The reloaded list contains the live events received so far.
  useEffect(() => missed.watch(() => setFresh([])), []);
  const rows = [...fresh, ...(past.data?.items ?? [])].slice(0, LATEST);
  return html`<section class="stack tight" aria-labelledby="latest">
    <div class="row spread"><h2 id="latest">Recent activity</h2><a href=${to('activity')}>All activity</a></div>
    <${Load} of=${may('admin') ? past : { data: rows }}>${() => (rows.length === 0
      ? html`<${Empty} icon="activity" title="No activity yet" action=${html`<a class="button" href=${to('connect')}>Connect an agent</a>`}>Calls, writes and decisions appear here as they happen.<//>`
      : html`<ol class="plain activity-list">${rows.map((row, at) => html`<${ActivityRow} key=${row.seq ? `${row.source}-${row.seq}` : at} of=${row} />`)}</ol>`)}<//>
  </section>`;
}
