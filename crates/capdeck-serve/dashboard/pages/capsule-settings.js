// @ts-check
// Settings of a capsule: name, visibility, schemes, export and delete.

import { path as address, patch, post, remove } from '../api.js';
import { useAct } from '../act.js';
import { confirm } from '../feedback.js';
import { useList } from '../resource.js';
import { go, to } from '../router.js';
import { Load } from '../states.js';
import { html, useState } from '../view.js';
import { VISIBILITIES } from '../visibility.js';

/** @param {{ capsule: any, onChange: () => void }} props */
export function CapsuleSettings({ capsule, onChange }) {
  return html`<div class="stack loose"><${General} capsule=${capsule} onChange=${onChange} /><${Schemes} capsule=${capsule} /><${TakeAlong} capsule=${capsule} /></div>`;
}

/** @param {{ capsule: any, onChange: () => void }} props */
function General({ capsule, onChange }) {
  const [fields, setFields] = useState({ name: capsule.name, description: capsule.description ?? '', visibility: capsule.visibility });
  const [busy, act] = useAct();
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setFields((old) => ({ ...old, [name]: event.target.value }));
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (await act(() => patch(address`/v1/capsules/${capsule.id}`, fields), 'Saved the settings')) onChange();
  };
  return html`<section class="card" aria-labelledby="general"><h2 id="general">General</h2><form class="stack" onSubmit=${submit}>
    <div class="field"><label for="capsule-name">Name</label><input id="capsule-name" required value=${fields.name} onInput=${set('name')} /></div>
    <div class="field"><label for="capsule-description">Description</label><textarea id="capsule-description" value=${fields.description} onInput=${set('description')} /></div>
    <fieldset class="stack tight"><legend>Visibility</legend>${VISIBILITIES.map(([id, title]) => html`<label class="check"><input type="radio" name="visibility" value=${id} checked=${fields.visibility === id} onChange=${set('visibility')} /><span>${title}</span></label>`)}</fieldset>
    <div class="row end"><button class="button main" type="submit" disabled=${busy}>Save</button></div>
  </form></section>`;
}

/** @param {{ capsule: any }} props */
function Schemes({ capsule }) {
  const list = useList(address`/v1/capsules/${capsule.id}/schemes`);
  const [name, setName] = useState('');
  const [busy, act] = useAct();
  const add = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!(await act(() => post(address`/v1/capsules/${capsule.id}/schemes`, { name: name.trim() }), `Added ${name.trim()}://`))) return;
    setName('');
    list.reload();
  };
  const takeAway = async (/** @type {string} */ scheme) => {
    if (!(await confirm({ title: `Remove ${scheme}://?`, text: 'Only an empty scheme can be removed.', action: 'Remove', danger: true }))) return;
    if (await act(() => remove(address`/v1/capsules/${capsule.id}/schemes/${scheme}`), `Removed ${scheme}://`)) list.reload();
  };
  return html`<section class="card" aria-labelledby="schemes"><h2 id="schemes">Schemes</h2>
    <${Load} of=${list}>${(/** @type {any} */ data) => html`<ul class="plain rows inner">${data.items.map((/** @type {any} */ scheme) => html`<li key=${scheme.name} class="row-plain row spread"><span><code class="strong">${scheme.name}://</code> <span class="soft">${scheme.description ?? scheme.title ?? ''}</span></span><span class="row small soft">${scheme.format}${scheme.prompt_source ? ' · prompts' : ''}${scheme.origin === 'capsule' && html`<button class="button small danger" type="button" onClick=${() => takeAway(scheme.name)}>Remove</button>`}</span></li>`)}</ul>`}<//>
    <form class="row" onSubmit=${add}><div class="field grow"><label for="new-scheme">Add scheme</label><input id="new-scheme" class="code" required pattern="[a-z][a-z0-9\\-]*" placeholder="runbooks" value=${name} onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></div><button class="button align-end" type="submit" disabled=${busy}>Add</button></form>
  </section>`;
}

/** @param {{ capsule: any }} props */
function TakeAlong({ capsule }) {
  const [busy, act] = useAct();
  const destroy = async () => {
    if (!(await confirm({ title: `Delete ${capsule.name}?`, text: 'Its connections end immediately. Its files are moved aside in the data folder and can be restored by hand.', action: 'Delete capsule', danger: true }))) return;
    if (await act(() => remove(address`/v1/capsules/${capsule.id}`), `Deleted ${capsule.name}`)) go(to('capsules'));
  };
  const purge = async () => {
    if (!(await confirm({ title: `Delete ${capsule.name} permanently?`, text: 'All entries, versions, memory, signals and logs are removed from the disk. This cannot be undone.', action: 'Delete permanently', danger: true, typed: capsule.name }))) return;
    if (await act(() => remove(`${address`/v1/capsules/${capsule.id}`}?purge=1`), `Deleted ${capsule.name} permanently`)) go(to('capsules'));
  };
  return html`<section class="card" aria-labelledby="export-delete"><h2 id="export-delete">Export or delete</h2>
    <ul class="plain rows inner">
      <li class="row-plain row spread"><span>Download all entries as an archive that can be imported again.</span><a class="button" href=${address`/v1/capsules/${capsule.id}/export`} download=${`${capsule.id}.tar.gz`}>Export archive</a></li>
      <li class="row-plain row spread"><span>Remove it from the list and end its connections. Its files are moved aside in the data folder.</span><button class="button danger" type="button" disabled=${busy} onClick=${destroy}>Delete capsule</button></li>
      <li class="row-plain row spread"><span>Remove all entries, versions, signals and logs from the disk.</span><button class="button danger" type="button" disabled=${busy} onClick=${purge}>Delete permanently</button></li>
    </ul>
  </section>`;
}
