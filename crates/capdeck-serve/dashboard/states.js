// @ts-check
// Loading, empty and error states.

import { Icon } from './icons.js';
import { ago, exact } from './format.js';
import { HostMessage } from './host-message.js';
import { html } from './view.js';

/** @param {{ lines?: number }} props */
export function SkeletonLines({ lines = 5 }) {
  const widths = ['skeleton line w90', 'skeleton line w70', 'skeleton line w80', 'skeleton line w60'];
  return html`<div aria-hidden="true">${Array.from({ length: lines }, (_, at) => html`<span class=${widths[at % widths.length]} />`)}</div>`;
}

/** @param {{ count?: number }} props */
export function SkeletonCards({ count = 6 }) {
  return html`<div class="cards" aria-hidden="true">${Array.from({ length: count }, () => html`<span class="skeleton card-shape" />`)}</div>`;
}

/** @param {{ icon?: string, title: string, children?: any, action?: any }} props */
export function Empty({ icon = 'capsules', title, children, action }) {
  return html`<div class="empty"><${Icon} name=${icon} /><h2>${title}</h2>${children && html`<p>${children}</p>`}${action}</div>`;
}

/** @param {{ error: any, retry?: () => void }} props */
export function Failed({ error, retry }) {
  const title = error.status === 403 ? 'Access denied' : error.status === 404 ? 'Not found' : 'Request failed';
  return html`<div class="notice bad failed" role="alert">
    <div class="stack tight grow">
      <strong>${title}</strong>
      <span><${HostMessage} text=${error.message} />${error.hint ? html`. <span class="soft"><${HostMessage} text=${error.hint} /></span>` : ''}</span>
      ${error.requestId && html`<span class="small soft">Request <code>${error.requestId}</code></span>`}
    </div>
    ${retry && error.status !== 403 && html`<div><button class="button small" type="button" onClick=${retry}>Try again</button></div>`}
  </div>`;
}

/**
 * Shows a resource or its error. Old data stays visible while it reloads.
 * @param {{ of: any, skeleton?: any, children: (data: any) => any }} props
 */
export function Load({ of: resource, skeleton, children }) {
  if (resource.data) {
    return html`${resource.error && html`<${Failed} error=${resource.error} retry=${resource.reload} />`}${children(resource.data)}`;
  }
  if (resource.error) return html`<${Failed} error=${resource.error} retry=${resource.reload} />`;
  return html`<div role="status"><span class="unseen">Loading…</span>${skeleton ?? html`<${SkeletonLines} />`}</div>`;
}

/**
 * @param {{ of: any, skeleton?: any, empty: any, children: (items: any[]) => any }} props
 */
export function LoadList({ of: list, skeleton, empty, children }) {
  return html`<${Load} of=${list} skeleton=${skeleton}>
    ${() => (list.items.length === 0 ? empty : html`${children(list.items)}<${More} of=${list} />`)}
  <//>`;
}

/** @param {{ of: any }} props */
export function More({ of: list }) {
  if (list.moreError) return html`<${Failed} error=${list.moreError} retry=${list.more} />`;
  if (!list.hasMore) return null;
  return html`<p class="more"><button class="button" type="button" disabled=${list.loadingMore} onClick=${list.more}>${list.loadingMore ? 'Loading…' : 'Show more'}</button></p>`;
}

/** @param {{ at: string | number | null | undefined, never?: string }} props */
export function Time({ at, never = '–' }) {
  if (at === null || at === undefined) return html`<span>${never}</span>`;
  return html`<time datetime=${String(at)} title=${exact(at)} class="nowrap">${ago(at)}</time>`;
}

/** @type {Record<string, string>} */
const KINDS = {
  ready: 'good', available: 'good', ok: 'good', done: 'good', approved: 'good', pinned: 'good', active: 'good', standing: 'good', success: 'good',
  stale: 'warn', pending: 'warn', starting: 'info', waiting: 'warn', paused: 'warn', changed: 'warn', renamed: 'warn', added: 'info', untrusted: 'warn', degraded: 'warn',
  quarantined: 'bad', denied: 'bad', error: 'bad', failed: 'bad', failing: 'bad', unavailable: 'bad', removed: 'bad', held: 'bad', revoked: 'bad', tool_error: 'bad',
};

/** The health of a usable capability, else its status. @param {any} item */
export const stateOf = (item) => (item.status === 'ready' ? item.health?.state ?? item.status : item.status);

/** @param {{ value: string, kind?: string }} props */
export function Badge({ value, kind }) {
  return html`<span class=${`badge ${kind ?? KINDS[value] ?? ''}`}>${value.replaceAll('_', ' ')}</span>`;
}
