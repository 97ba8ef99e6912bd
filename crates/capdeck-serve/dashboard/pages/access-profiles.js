// @ts-check
// Access profiles: named terms that narrow an approval.

import { path as address, post, patch, remove } from '../api.js';
import { useAct } from '../act.js';
import { confirm, Dialog, say } from '../feedback.js';
import { words } from '../format.js';
import { useList } from '../resource.js';
import { Empty, Failed, LoadList } from '../states.js';
import { ROLES } from '../target.js';
import { html, useState } from '../view.js';

/** @typedef {{ id?: string, name: string, role?: string, scopes?: string[], uri_prefixes?: string[], denied_prefixes?: string[], ttl?: number }} Profile */

const SCOPES = ['deck:read', 'deck:call', 'capsule:read', 'capsule:append', 'capsule:write', 'capsule:admin'];

export function Profiles() {
  const list = useList('/v1/access-profiles');
  const [editing, setEditing] = useState(/** @type {Profile | null} */ (null));
  const [, act] = useAct();
  const create = html`<button class="button main" type="button" onClick=${() => setEditing({ name: '' })}>New profile</button>`;
  const takeAway = async (/** @type {Profile} */ profile) => {
    if (!(await confirm({ title: `Delete profile ${profile.name}?`, text: 'Existing grants keep their terms.', action: 'Delete', danger: true }))) return;
    if (await act(() => remove(address`/v1/access-profiles/${profile.id ?? ''}`), `Deleted profile ${profile.name}`)) list.reload();
  };
  return html`<div class="stack"><div class="row end">${(list.items ?? []).length > 0 && create}</div>
    <${LoadList} of=${list} empty=${html`<${Empty} icon="access" title="No profiles" action=${create}>A profile is a named set of terms, such as “readers of the docs for a month”. Select it when you approve a request to narrow the grant.<//>`}>
      ${(/** @type {Profile[]} */ items) => html`<ul class="plain rows">${items.map((profile) => html`<li key=${profile.id} class="row-plain"><div class="row spread"><strong>${profile.name}</strong><span class="row"><button class="button small" type="button" onClick=${() => setEditing(profile)}>Edit</button><button class="button small danger" type="button" onClick=${() => takeAway(profile)}>Delete</button></span></div>
        <span class="small soft">${[profile.role && `role up to ${profile.role}`, (profile.scopes ?? []).join(' '), (profile.uri_prefixes ?? []).length > 0 && `only ${profile.uri_prefixes?.join(', ')}`, (profile.denied_prefixes ?? []).length > 0 && `not ${profile.denied_prefixes?.join(', ')}`, profile.ttl && `for ${Math.round(profile.ttl / 86_400)} days`].filter(Boolean).join(' · ') || 'No limits'}</span></li>`)}</ul>`}
    <//>
    ${editing && html`<${ProfileDialog} profile=${editing} onClose=${() => setEditing(null)} onSaved=${() => { setEditing(null); list.reload(); }} />`}</div>`;
}

/** @param {{ profile: Profile, onClose: () => void, onSaved: () => void }} props */
function ProfileDialog({ profile, onClose, onSaved }) {
  const [fields, setFields] = useState({ name: profile.name, role: profile.role ?? '', scopes: profile.scopes ?? [], only: (profile.uri_prefixes ?? []).join('\n'), not: (profile.denied_prefixes ?? []).join('\n'), days: profile.ttl ? String(profile.ttl / 86_400) : '' });
  const [error, setError] = useState(/** @type {any} */ (null));
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setFields((old) => ({ ...old, [name]: event.target.value }));
  const flip = (/** @type {string} */ scope) => setFields((old) => ({ ...old, scopes: old.scopes.includes(scope) ? old.scopes.filter((one) => one !== scope) : [...old.scopes, scope] }));
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const body = { name: fields.name.trim(), role: fields.role || undefined, scopes: fields.scopes.length > 0 ? fields.scopes : undefined, uri_prefixes: words(fields.only), denied_prefixes: words(fields.not), ttl: fields.days ? Math.round(Number(fields.days) * 86_400) : undefined };
    try {
      await (profile.id ? patch(address`/v1/access-profiles/${profile.id}`, body) : post('/v1/access-profiles', body));
      say(`Saved profile ${body.name}`);
      onSaved();
    } catch (problem) {
      setError(problem);
    }
  };
  return html`<${Dialog} title=${profile.id ? `Edit ${profile.name}` : 'New profile'} onClose=${onClose}><form class="stack" onSubmit=${submit}>
    ${error && html`<${Failed} error=${error} />`}
    <div class="field"><label for="profile-name">Name</label><input id="profile-name" required autofocus value=${fields.name} onInput=${set('name')} /></div>
    <div class="field"><label for="profile-role">Maximum role</label><select id="profile-role" value=${fields.role} onChange=${set('role')}><option value="">as requested</option>${ROLES.map((role) => html`<option value=${role}>${role}</option>`)}</select></div>
    <fieldset class="stack tight"><legend>Only these scopes</legend>${SCOPES.map((scope) => html`<label class="check"><input type="checkbox" checked=${fields.scopes.includes(scope)} onChange=${() => flip(scope)} /><code>${scope}</code></label>`)}</fieldset>
    <div class="field"><label for="profile-only">Only these prefixes</label><textarea id="profile-only" class="code" value=${fields.only} onInput=${set('only')} /></div>
    <div class="field"><label for="profile-not">Excluded prefixes</label><textarea id="profile-not" class="code" value=${fields.not} onInput=${set('not')} /></div>
    <div class="field"><label for="profile-days">Days</label><input id="profile-days" type="number" min="1" placeholder="no limit" value=${fields.days} onInput=${set('days')} /></div>
    <div class="row end"><button class="button" type="button" onClick=${onClose}>Cancel</button><button class="button main" type="submit">Save</button></div>
  </form><//>`;
}
