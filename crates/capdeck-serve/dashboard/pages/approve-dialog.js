// @ts-check
// Approves a request as it is, or with narrower terms.

import { path as address, post } from '../api.js';
import { Dialog, say } from '../feedback.js';
import { words } from '../format.js';
import { useResource } from '../resource.js';
import { Failed } from '../states.js';
import { isCapsule, ROLES } from '../target.js';
import { html, useState } from '../view.js';

const LIFETIMES = /** @type {[string, string][]} */ ([['', 'as requested'], ['1', '1 day'], ['7', '7 days'], ['30', '30 days'], ['90', '90 days']]);

/** @param {{ request: any, name: string, onClose: () => void, onDone: () => void }} props */
export function ApproveDialog({ request, name, onClose, onDone }) {
  const { target } = request;
  const profiles = useResource('/v1/access-profiles');
  const [terms, setTerms] = useState({ role: target.role ?? '', scopes: /** @type {string[]} */ (request.scopes ?? []), only: '', not: '', capabilities: '', days: '', profile: '', note: '' });
  const [error, setError] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const set = (/** @type {string} */ member) => (/** @type {any} */ event) => setTerms((old) => ({ ...old, [member]: event.target.value }));
  const flip = (/** @type {string} */ scope) => setTerms((old) => ({ ...old, scopes: old.scopes.includes(scope) ? old.scopes.filter((one) => one !== scope) : [...old.scopes, scope] }));
  const roles = ROLES.slice(0, ROLES.indexOf(target.role) + 1);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await post(address`/v1/grants/${request.id}/approve`, toBody(terms, request));
      say(`Approved ${name}`);
      onDone();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${`Approve ${name}`} onClose=${onClose}><form class="stack" onSubmit=${submit}>
    ${error && html`<${Failed} error=${error} />`}
    ${request.enrollment && html`<p class="code-check"><span>Compare with the code of the agent</span><code class="user-code">${request.enrollment.user_code}</code></p>`}
    ${isCapsule(target) && html`<div class="field"><label for="approve-role">Role in ${target.capsule}</label><select id="approve-role" value=${terms.role} onChange=${set('role')}>${roles.map((role) => html`<option value=${role}>${role}</option>`)}</select></div>`}
    <fieldset class="stack tight"><legend>Scopes</legend>${(request.scopes ?? []).map((/** @type {string} */ scope) => html`<label class="check"><input type="checkbox" checked=${terms.scopes.includes(scope)} onChange=${() => flip(scope)} /><code>${scope}</code></label>`)}</fieldset>
    ${isCapsule(target) && html`<div class="field"><label for="approve-only">Only these prefixes</label><textarea id="approve-only" class="code" placeholder=${(target.uri_prefixes ?? []).join('\n') || 'everything requested'} value=${terms.only} onInput=${set('only')} /><span class="hint">One per line, such as <code>docs://team</code>.</span></div>
      <div class="field"><label for="approve-not">Excluded prefixes</label><textarea id="approve-not" class="code" value=${terms.not} onInput=${set('not')} /></div>`}
    ${!isCapsule(target) && html`<div class="field"><label for="approve-capabilities">Only these capabilities</label><textarea id="approve-capabilities" class="code" placeholder=${target.capabilities.join('\n')} value=${terms.capabilities} onInput=${set('capabilities')} /><span class="hint">One per line; <code>*</code> and <code>?</code> are wildcards.</span></div>
      <div class="field"><label for="approve-not">Excluded tools</label><textarea id="approve-not" class="code" placeholder="files/remove_*" value=${terms.not} onInput=${set('not')} /></div>`}
    <div class="field"><label for="approve-days">For</label><select id="approve-days" value=${terms.days} onChange=${set('days')}>${LIFETIMES.map(([days, title]) => html`<option value=${days}>${title}</option>`)}</select></div>
    ${(profiles.data?.items ?? []).length > 0 && html`<div class="field"><label for="approve-profile">Profile</label><select id="approve-profile" value=${terms.profile} onChange=${set('profile')}><option value="">none</option>${profiles.data.items.map((/** @type {any} */ profile) => html`<option value=${profile.id}>${profile.name}</option>`)}</select></div>`}
    <div class="field"><label for="approve-note">Note <span class="soft small">optional</span></label><input id="approve-note" value=${terms.note} onInput=${set('note')} /></div>
    <div class="row end"><button class="button" type="button" onClick=${onClose}>Cancel</button><button class="button main" type="submit" disabled=${busy || terms.scopes.length === 0}>${busy ? 'Approving…' : 'Approve'}</button></div>
  </form><//>`;
}

/**
 * Sends only the terms that differ from the request.
 * @param {{ role: string, scopes: string[], only: string, not: string, capabilities: string, days: string, profile: string, note: string }} terms
 * @param {any} request
 */
function toBody(terms, request) {
  const body = /** @type {Record<string, any>} */ ({});
  if (terms.role && terms.role !== request.target.role) body.role = terms.role;
  if (terms.scopes.length !== (request.scopes ?? []).length) body.scopes = terms.scopes;
  if (words(terms.only).length > 0) body.uri_prefixes = words(terms.only);
  if (words(terms.capabilities).length > 0) body.capabilities = words(terms.capabilities);
  // The approval replaces the list, so it repeats what the request already excludes.
  const denied = isCapsule(request.target) ? 'denied_prefixes' : 'denied_tools';
  if (words(terms.not).length > 0) body[denied] = [...(request.target[denied] ?? []), ...words(terms.not)];
  if (terms.days) body.expires_at = new Date(Date.now() + Number(terms.days) * 86_400_000).toISOString();
  if (terms.profile) body.profile = terms.profile;
  if (terms.note.trim()) body.note = terms.note.trim();
  return body;
}
