// @ts-check
// The versions of an entry: list, compare, restore.

import { entryPath, request } from '../api.js';
import { DiffView } from '../diff-view.js';
import { complain, confirm, say } from '../feedback.js';
import { bytes } from '../format.js';
import { readUnified } from '../line-diff.js';
import { useList, useResource } from '../resource.js';
import { refine, to } from '../router.js';
import { Load, LoadList, Time } from '../states.js';
import { TableFrame } from '../table-frame.js';
import { html } from '../view.js';

/** @param {{ capsule: string, uri: string, current: number, query: Record<string, string>, mayWrite: boolean, onRestored: () => void }} props */
export function EntryHistory({ capsule, uri, current, query, mayWrite, onRestored }) {
  const list = useList(entryPath(capsule, 'history', uri));
  const restore = async (/** @type {number} */ version) => {
    if (!(await confirm({ title: `Restore version ${version}?`, text: `Its text becomes version ${current + 1}. All versions remain.`, action: 'Restore' }))) return;
    try {
      const { data } = await request('POST', entryPath(capsule, 'restore', uri), { json: { version }, headers: { 'if-match': `"${current}"` } });
      say(`Restored as version ${data.version}`);
      list.reload();
      onRestored();
    } catch (error) {
      complain(error);
    }
  };
  return html`<${LoadList} of=${list} empty=${html`<p class="soft">No versions.</p>`}>${(/** @type {any[]} */ items) => {
    const versions = [...items].sort((one, other) => other.version - one.version);
    const [from, until] = [Number(query.from) || Math.max(1, current - 1), Number(query.to) || current];
    return html`<div class="stack loose">
      <${TableFrame} label="Versions"><table><thead><tr><th scope="col">Version</th><th scope="col">Written</th><th scope="col">By</th><th scope="col">Class</th><th scope="col" class="end">Size</th><th scope="col"><span class="unseen">Actions</span></th></tr></thead>
        <tbody>${versions.map((version) => html`<tr key=${version.version}><th scope="row"><a href=${to('capsules', capsule, 'entry', { uri, version: version.version === current ? '' : version.version })}>${version.version}</a></th><td><${Time} at=${version.written_at} /></td><td class="anywhere">${version.written_by}</td><td>${String(version.risk_class ?? '–').replaceAll('_', ' ')}</td><td class="end number nowrap">${bytes(version.bytes)}</td>
          <td class="end"><span class="row end">${version.version > 1 && html`<button class="button small" type="button" onClick=${() => refine({ from: version.version - 1, to: version.version })}>Changes</button>`}${mayWrite && version.version !== current && html`<button class="button small" type="button" onClick=${() => restore(version.version)}>Restore</button>`}</span></td></tr>`)}</tbody></table><//>
      ${versions.length > 1 && html`<${Between} capsule=${capsule} uri=${uri} from=${from} to=${until} versions=${versions.map((version) => version.version)} />`}
    </div>`;
  }}<//>`;
}

/** @param {{ capsule: string, uri: string, from: number, to: number, versions: number[] }} props */
function Between({ capsule, uri, from, to: until, versions }) {
  const diff = useResource(entryPath(capsule, 'diff', uri), { from, to: until });
  const choose = (/** @type {string} */ name, /** @type {number} */ value, /** @type {string} */ label) => html`<div class="field"><label for=${`diff-${name}`}>${label}</label><select id=${`diff-${name}`} value=${String(value)} onChange=${(/** @type {any} */ event) => refine({ [name]: event.target.value })}>${versions.map((version) => html`<option value=${String(version)}>version ${version}</option>`)}</select></div>`;
  return html`<section class="stack" aria-labelledby="between"><h2 id="between">Changes</h2>
    <div class="filters">${choose('from', from, 'From')}${choose('to', until, 'To')}</div>
    <${Load} of=${diff}>${(/** @type {any} */ data) => html`<${DiffView} before=${`version ${data.from}`} after=${`version ${data.to}`} lines=${readUnified(data.diff)} />`}<//>
  </section>`;
}
