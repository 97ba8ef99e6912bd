// @ts-check
// The signed-in person's own access requests, and tokens for approved ones.

import { path as address, post } from '../api.js';
import { useAct } from '../act.js';
import { CopyBlock } from '../copy.js';
import { Dialog } from '../feedback.js';
import { useList } from '../resource.js';
import { to } from '../router.js';
import { Badge, Empty, LoadList, Time } from '../states.js';
import { TableFrame } from '../table-frame.js';
import { Target } from '../target.js';
import { html, useState } from '../view.js';

export function Mine() {
  const list = useList('/v1/grants', { mine: true });
  const [made, setMade] = useState(/** @type {any} */ (null));
  const [busy, act] = useAct();
  const open = async (/** @type {any} */ request) => {
    const token = await act(() => post(address`/v1/grants/${request.id}/connection`));
    if (token) setMade(token);
  };
  return html`<${LoadList} of=${list} empty=${html`<${Empty} icon="library" title="No requests" action=${html`<a class="button" href=${to('library')}>Open the library</a>`}>Request access to a capsule in the library; the request is listed here with its status.<//>`}>
      ${(/** @type {any[]} */ items) => html`<${TableFrame} label="My requests"><table><thead><tr><th scope="col">Access</th><th scope="col">Status</th><th scope="col">Requested</th><th scope="col"><span class="unseen">Actions</span></th></tr></thead>
        <tbody>${items.map((request) => html`<tr key=${request.id}><th scope="row"><${Target} of=${request.grant?.target ?? request.target} /></th><td><${Badge} value=${request.grant?.revoked_at ? 'revoked' : request.status} />${request.decision_note && html`<br /><span class="small soft">${request.decision_note}</span>`}</td><td><${Time} at=${request.created_at} /></td>
          <td class="end">${request.status === 'approved' && !request.grant?.revoked_at && html`<button class="button small" type="button" disabled=${busy} onClick=${() => open(request)}>Get a token</button>`}</td></tr>`)}</tbody></table><//>`}
    <//>
    ${made && html`<${Dialog} title="New token" onClose=${() => setMade(null)}><p>Copy it now; it is not shown again. The agent sends it as <code>Authorization: Bearer …</code> to <code>${`${location.origin}/mcp`}</code>.</p><${CopyBlock} text=${made.token} label="the token" /><div class="row end"><button class="button main" type="button" onClick=${() => setMade(null)}>Done</button></div><//>`}`;
}
