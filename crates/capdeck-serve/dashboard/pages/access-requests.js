// @ts-check
// Pending requests, grants and past decisions.

import { path as address, post } from '../api.js';
import { useAct } from '../act.js';
import { confirm } from '../feedback.js';
import { useLive } from '../live.js';
import { useList, useResource } from '../resource.js';
import { to } from '../router.js';
import { Badge, Empty, Load, LoadList, Time } from '../states.js';
import { TableFrame } from '../table-frame.js';
import { Target, requestedAction } from '../target.js';
import { html, useState } from '../view.js';
import { ApproveDialog } from './approve-dialog.js';

/** @param {any} event */
const movesGrants = (event) => /^(grant|enrollment|credential)/.test(event.action);

/** @param {{ query: Record<string, string> }} props */
export function Requests({ query }) {
  const list = useList('/v1/grants', { status: 'pending', capsule: query.capsule });
  useLive((event) => movesGrants(event) && list.reload());
  return html`<${LoadList} of=${list} empty=${html`<${Empty} icon="access" title="No requests" action=${html`<a class="button" href=${to('connect')}>Connect an agent</a>`}>Sign-ins, enrollments and requests for capsules are listed here until you decide.<//>`}>
    ${(/** @type {any[]} */ items) => html`<ul class="plain stack">${items.map((request) => html`<li key=${request.id}><${Request} request=${request} onDone=${list.reload} /></li>`)}</ul>`}
  <//>`;
}

/** The request of an `approval_url`, pending or decided. @param {{ id: string }} props */
export function OneRequest({ id }) {
  const request = useResource(address`/v1/grants/${id}`);
  useLive((event) => movesGrants(event) && request.reload());
  return html`<div class="stack"><p><a href=${to('access')}>All requests</a></p>
    <${Load} of=${request}>${(/** @type {any} */ data) => html`<${Request} request=${data} onDone=${request.reload} />`}<//></div>`;
}

/** @param {{ request: any, onDone: () => void }} props */
export function Request({ request, onDone }) {
  const [approving, setApproving] = useState(false);
  const [busy, act] = useAct();
  const name = request.client_name || request.client_id || request.principal;
  const deny = async () => {
    if (!(await confirm({ title: `Deny ${name}?`, text: 'The agent gets an error and can request access again.', action: 'Deny', danger: true }))) return;
    if (await act(() => post(address`/v1/grants/${request.id}/deny`), `Denied ${name}`)) onDone();
  };
  const origin = request.enrollment?.address;
  const denyAll = async () => {
    if (!(await confirm({ title: `Deny all enrollments from ${origin}?`, text: 'Every pending enrollment from this address is denied.', action: 'Deny all', danger: true }))) return;
    if (await act(() => post('/v1/grants/deny', { source: 'enrollment', address: origin }), `Denied all enrollments from ${origin}`)) onDone();
  };
  return html`<article class="card stack" aria-label=${`Request of ${name}`}>
    <div class="row spread"><span class="row"><strong class="anywhere">${name}</strong><span class="badge bare info">${request.source}</span></span><span class="small soft">requested <${Time} at=${request.created_at} />, expires <${Time} at=${request.expires_at} /></span></div>
    <p>${requestedAction(request.target)} <${Target} of=${request.target} /></p>
    <div class="row">${(request.scopes ?? []).map((/** @type {string} */ scope) => html`<code class="badge bare">${scope}</code>`)}</div>
    ${request.reason && html`<blockquote class="reason anywhere">${request.reason}</blockquote>`}
    ${request.enrollment && request.status === 'pending' && html`<p class="code-check"><span>Approve only if the agent shows this code</span><code class="user-code">${request.enrollment.user_code}</code></p>`}
    <dl class="facts small">${request.client_id && html`<dt>Client</dt><dd><code>${request.client_id}</code></dd>`}<dt>For</dt><dd><code>${request.principal}</code></dd>${request.enrollment?.contact && html`<dt>Contact</dt><dd class="anywhere">${request.enrollment.contact}</dd>`}${request.requested_by && html`<dt>Requested by</dt><dd><code>${request.requested_by}</code></dd>`}${request.from_address && html`<dt>From</dt><dd><code>${request.from_address}</code></dd>`}</dl>
    ${request.cannot_approve && html`<p class="small soft" role="note">${request.cannot_approve}.</p>`}
    ${request.status !== 'pending' ? html`<p class="row"><${Badge} value=${request.grant?.revoked_at ? 'revoked' : request.status} />${request.decided_by && html`<span class="small soft">${request.decided_by} <${Time} at=${request.decided_at} /></span>`}</p>`
      : request.may_decide !== false
      ? html`<div class="row end">${origin && html`<button class="button danger" type="button" disabled=${busy} onClick=${denyAll}>Deny all from this address</button>`}<button class="button danger" type="button" disabled=${busy} onClick=${deny}>Deny</button><button class="button main" type="button" disabled=${busy || Boolean(request.cannot_approve)} onClick=${() => setApproving(true)}>Review and approve</button></div>`
      : html`<p class="small soft">Only the owner of the capsule or an approver can decide.</p>`}
    ${approving && html`<${ApproveDialog} request=${request} name=${name} onClose=${() => setApproving(false)} onDone=${() => { setApproving(false); onDone(); }} />`}
  </article>`;
}

/** @param {{ query: Record<string, string>, decided?: boolean }} props */
export function Grants({ query, decided }) {
  const list = useList('/v1/grants', { status: decided ? undefined : 'approved', capsule: query.capsule, principal: query.principal });
  const [, act] = useAct();
  useLive((event) => movesGrants(event) && list.reload());
  const revoke = async (/** @type {any} */ request) => {
    const name = request.client_name || request.principal;
    if (!(await confirm({ title: `Revoke access of ${name}?`, text: 'Every credential of this grant stops working with the next call.', action: 'Revoke', danger: true }))) return;
    if (await act(() => post(address`/v1/grants/${request.id}/revoke`), `Revoked access of ${name}`)) list.reload();
  };
  const isLive = (/** @type {any} */ request) => request.status === 'approved' && !request.grant?.revoked_at;
  return html`<${LoadList} of=${list} empty=${html`<${Empty} icon="access" title=${decided ? 'No decisions' : 'No grants'}>${decided ? 'Decided requests are listed here.' : 'Approved requests are listed here; you can revoke them at any time.'}<//>`}>
    ${(/** @type {any[]} */ items) => {
      const shown = decided ? items.filter((request) => request.status !== 'pending') : items.filter(isLive);
      return html`<${TableFrame} label="Grants"><table><thead><tr><th scope="col">Client</th><th scope="col">Access</th><th scope="col">Decision</th><th scope="col">Expires</th><th scope="col"><span class="unseen">Actions</span></th></tr></thead>
      <tbody>${shown.map((request) => html`<tr key=${request.id}><th scope="row" class="anywhere">${request.client_name || request.principal}<br /><span class="small soft">${request.source}</span></th>
        <td><${Target} of=${request.grant?.target ?? request.target} /></td>
        <td><${Badge} value=${request.grant?.revoked_at ? 'revoked' : request.status} /><br /><span class="small soft">${request.decided_by ?? ''} <${Time} at=${request.grant?.revoked_at ?? request.decided_at} /></span>${request.grant?.self_approved && html`<br /><span class="badge bare warn">self-approved (${request.grant.self_approved})</span>`}</td>
        <td>${request.grant?.expires_at ? html`<${Time} at=${request.grant.expires_at} />` : 'never'}</td>
        <td class="end">${isLive(request) && request.may_decide !== false && html`<button class="button small danger" type="button" onClick=${() => revoke(request)}>Revoke</button>`}</td></tr>`)}
        ${shown.length === 0 && html`<tr><td colspan="5" class="soft">No grants.</td></tr>`}</tbody></table><//>`;
    }}
  <//>`;
}
