// @ts-check
// The list of capsules, and the dialog to create one.

import { post } from '../api.js';
import { Dialog, say } from '../feedback.js';
import { counted } from '../format.js';
import { Icon } from '../icons.js';
import { PageHead } from '../page-head.js';
import { useList } from '../resource.js';
import { go, refine, to } from '../router.js';
import { Badge, Empty, Failed, LoadList, SkeletonCards } from '../states.js';
import { html, useState } from '../view.js';
import { VISIBILITIES } from '../visibility.js';
import { Capsule } from './capsule.js';

/** @param {{ path: string[], query: Record<string, string> }} props */
export default function Capsules({ path, query }) {
  return path[0] ? html`<${Capsule} id=${path[0]} path=${path.slice(1)} query=${query} />` : html`<${AllCapsules} query=${query} />`;
}

/** @param {{ query: Record<string, string> }} props */
function AllCapsules({ query }) {
  const list = useList('/v1/capsules', { q: query.q, counts: true });
  const [creating, setCreating] = useState(false);
  const create = html`<button class="button main" type="button" onClick=${() => setCreating(true)}><${Icon} name="plus" />Create capsule</button>`;
  const hasAny = (list.items?.length ?? 0) > 0 || Boolean(query.q);
  return html`<${PageHead} title="Capsules" lede="Context that agents share: decisions, documentation, findings.">${hasAny && create}<//>
    ${hasAny && html`<form class="filters" role="search" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}><div class="field wide"><label for="filter">Filter</label><input id="filter" data-search type="search" placeholder="Name or description" value=${query.q ?? ''} onInput=${(/** @type {any} */ event) => refine({ q: event.target.value })} /></div></form>`}
    <${LoadList} of=${list} skeleton=${html`<${SkeletonCards} />`} empty=${query.q ? html`<${Empty} icon="search" title="No results" />` : html`<${Empty} icon="capsules" title="No capsules yet" action=${create}>A capsule holds entries with addresses such as <code>docs://architecture</code>: versioned, searchable, shared by role.<//>`}>
      ${(/** @type {any[]} */ items) => html`<ul class="plain cards">${items.map((capsule) => html`<li key=${capsule.id}><a class="card-link" href=${to('capsules', capsule.id)}>
        <span class="row spread"><span class="name">${capsule.name}</span><${Badge} value=${capsule.visibility} kind=${capsule.visibility === 'private' ? '' : 'info'} /></span>
        <span class="about">${capsule.description}</span>
        ${capsule.problem && html`<span class="row"><${Badge} value="cannot be opened" kind="bad" /><span class="soft small">${capsule.problem}</span></span>`}
        <span class="foot">${capsule.entries !== undefined && `${counted(capsule.entries, 'entry', 'entries')} · `}your role: ${capsule.role}</span></a></li>`)}</ul>`}
    <//>
    ${creating && html`<${CreateCapsule} onClose=${() => setCreating(false)} />`}`;
}

/** @param {{ onClose: () => void }} props */
function CreateCapsule({ onClose }) {
  const [fields, setFields] = useState({ name: '', description: '', visibility: 'private' });
  const [error, setError] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setFields((old) => ({ ...old, [name]: event.target.value }));
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const capsule = await post('/v1/capsules', { name: fields.name.trim(), description: fields.description.trim(), visibility: fields.visibility });
      say(`Created capsule ${capsule.name}`);
      onClose();
      go(to('capsules', capsule.id));
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="Create capsule" onClose=${onClose}><form class="stack" onSubmit=${submit}>
    ${error && html`<${Failed} error=${error} />`}
    <div class="field"><label for="new-name">Name</label><input id="new-name" required autofocus maxlength="64" autocomplete="off" value=${fields.name} onInput=${set('name')} /><span class="hint">Short, such as <code>team</code>. It is part of the MCP address.</span></div>
    <div class="field"><label for="new-description">Description</label><textarea id="new-description" value=${fields.description} onInput=${set('description')} /></div>
    <div class="field"><label for="new-visibility">Visibility</label><select id="new-visibility" value=${fields.visibility} onChange=${set('visibility')}>${VISIBILITIES.map(([id, title]) => html`<option value=${id}>${title}</option>`)}</select></div>
    <div class="row end"><button class="button" type="button" onClick=${onClose}>Cancel</button><button class="button main" type="submit" disabled=${busy}>Create</button></div>
  </form><//>`;
}
