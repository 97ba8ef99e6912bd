// @ts-check
// The entry editor. A save names the version it is based on; on a conflict both changes and a merge are shown.

import { entryPath, get, request } from '../api.js';
import { DiffView } from '../diff-view.js';
import { confirm, say } from '../feedback.js';
import { words } from '../format.js';
import { compareLines } from '../line-diff.js';
import { Markdown } from '../markdown.js';
import { guardLeaving } from '../router.js';
import { Failed } from '../states.js';
import { html, useEffect, useRef, useState } from '../view.js';

/** @typedef {{ theirs: any, merged: string, conflicts: number }} Conflict */

/**
 * @param {{ capsule: string, entry?: any, schemes?: string[], scheme?: string, onSaved: (written: any) => void }} props
 */
export function EntryEditor({ capsule, entry, schemes = [], scheme = 'docs', onSaved }) {
  const [fields, setFields] = useState(() => ({ scheme, path: '', title: entry?.title ?? '', tags: (entry?.tags ?? []).join(', '), body: entry?.body ?? '' }));
  // The version this change is based on; after a conflict, the other writer's version.
  const [base, setBase] = useState({ version: entry?.version ?? 0, body: entry?.body ?? '' });
  const [conflict, setConflict] = useState(/** @type {Conflict | null} */ (null));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [preview, setPreview] = useState(false);
  const [busy, setBusy] = useState(false);
  const isChanged = fields.body !== base.body;
  useLeaveGuard(isChanged && !busy);
  const uri = entry ? entry.uri : `${fields.scheme}://${fields.path.replace(/^\/+/, '')}`;
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setFields((old) => ({ ...old, [name]: event.target.value }));
  const save = async (/** @type {string} */ body, /** @type {number} */ version) => {
    setBusy(true);
    setError(null);
    const json = { content: body, title: fields.title.trim() || undefined, tags: words(fields.tags) };
    /** @type {Record<string, string>} */
    const headers = version > 0 ? { 'if-match': `"${version}"` } : { 'if-none-match': '*' };
    try {
      const { data } = await request('PUT', entryPath(capsule, 'entries', uri), { json, headers });
      say(`Saved version ${data.version} of ${data.uri}`);
      onSaved(data);
    } catch (problem) {
      await settle(/** @type {any} */ (problem), body);
    }
    setBusy(false);
  };
  /** On a version conflict, loads the other version and shows both. */
  const settle = async (/** @type {any} */ problem, /** @type {string} */ mine) => {
    if (problem.code !== 'version_conflict') return setError(problem);
    try {
      const theirs = await get(entryPath(capsule, 'entries', uri));
      const proposal = problem.data?.proposal;
      setFields((old) => ({ ...old, body: mine }));
      setConflict({ theirs, merged: proposal?.text ?? mine, conflicts: proposal?.conflicts ?? 1 });
    } catch (failure) {
      setError(failure);
    }
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    save(fields.body, base.version);
  };
  if (conflict) {
    return html`<${ResolveConflict} conflict=${conflict} base=${base} mine=${fields.body} busy=${busy} error=${error}
      onSave=${(/** @type {string} */ text) => save(text, conflict.theirs.version)}
      onBack=${(/** @type {string} */ text) => { setBase({ version: conflict.theirs.version, body: conflict.theirs.body }); setFields((old) => ({ ...old, body: text })); setConflict(null); }} />`;
  }
  return html`<form class="stack" onSubmit=${submit}>
    ${error && html`<${Failed} error=${error} />`}
    ${!entry && html`<div class="row address-fields"><div class="field"><label for="entry-scheme">Scheme</label><select id="entry-scheme" value=${fields.scheme} onChange=${set('scheme')}>${schemes.map((name) => html`<option value=${name}>${name}://</option>`)}</select></div>
      <div class="field grow"><label for="entry-path">Path</label><input id="entry-path" class="code" required autocomplete="off" placeholder="architecture/overview" value=${fields.path} onInput=${set('path')} /></div></div>`}
    <div class="columns">
      <div class="field"><label for="entry-title">Title <span class="soft small">optional</span></label><input id="entry-title" value=${fields.title} onInput=${set('title')} /></div>
      <div class="field"><label for="entry-tags">Tags <span class="soft small">separated by commas</span></label><input id="entry-tags" value=${fields.tags} onInput=${set('tags')} /></div>
    </div>
    <div class="field"><div class="row spread"><label class="label" for="entry-body">Content</label><button class="button small quiet" type="button" aria-pressed=${preview} onClick=${() => setPreview(!preview)}>${preview ? 'Write' : 'Preview'}</button></div>
      ${preview ? html`<div class="card"><${Markdown} text=${fields.body} /></div>` : html`<textarea id="entry-body" class="code tall-editor" required spellcheck="true" value=${fields.body} onInput=${set('body')} />`}</div>
    <div class="row spread"><span class="small soft">${entry ? `Changes version ${base.version}.` : html`Creates <code>${uri}</code>.`} On a conflict, you see both versions.</span>
      <button class="button main" type="submit" disabled=${busy || (Boolean(entry) && !isChanged && fields.title === (entry?.title ?? '') && fields.tags === (entry?.tags ?? []).join(', '))}>${busy ? 'Saving…' : 'Save'}</button></div>
  </form>`;
}

/**
 * @param {{ conflict: Conflict, base: { version: number, body: string }, mine: string, busy: boolean, error: any, onSave: (text: string) => void, onBack: (text: string) => void }} props
 */
function ResolveConflict({ conflict, base, mine, busy, error, onSave, onBack }) {
  const { theirs } = conflict;
  const [text, setText] = useState(conflict.merged);
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => heading.current?.focus(), []);
  const left = (text.match(/^<<<<<<< /gm) ?? []).length;
  return html`<section class="stack" aria-labelledby="conflict">
    <div class="notice warn"><div class="stack tight"><h2 id="conflict" tabindex="-1" ref=${heading}>Version conflict</h2>
      <span>Your change is based on version ${base.version}; ${theirs.written_by} has written version ${theirs.version}. ${conflict.conflicts === 0 ? 'The changes do not overlap; the merge below has both.' : 'Both changed the same lines; resolve them in the merge below.'} Nothing is saved yet.</span></div></div>
    ${error && html`<${Failed} error=${error} />`}
    <div class="columns">
      <section class="card flat" aria-labelledby="their-change"><h3 id="their-change">Their change</h3><${DiffView} before=${`version ${base.version}`} after=${`version ${theirs.version}`} lines=${compareLines(base.body, theirs.body)} /></section>
      <section class="card flat" aria-labelledby="your-change"><h3 id="your-change">Your change</h3><${DiffView} before=${`version ${base.version}`} after="yours" lines=${compareLines(base.body, mine)} /></section>
    </div>
    <div class="row choices" role="group" aria-label="Start from"><span class="small soft">Start from</span>
      <button class="button small" type="button" aria-pressed=${text === conflict.merged} onClick=${() => setText(conflict.merged)}>Merged</button>
      <button class="button small" type="button" aria-pressed=${text === mine && mine !== conflict.merged} onClick=${() => setText(mine)}>Yours</button>
      <button class="button small" type="button" aria-pressed=${text === theirs.body} onClick=${() => setText(theirs.body)}>Theirs</button></div>
    <div class="field"><label for="merged">Result</label><textarea id="merged" class="code tall-editor" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></div>
    ${left > 0 && html`<p class="wrong-line">${left === 1 ? '1 conflict' : `${left} conflicts`} left: look for <code>${'<<<<<<<'}</code>.</p>`}
    <div class="row end"><button class="button" type="button" onClick=${() => onBack(text)}>Back to editor</button><button class="button main" type="button" disabled=${busy || left > 0} onClick=${() => onSave(text)}>${busy ? 'Saving…' : `Save over version ${theirs.version}`}</button></div>
  </section>`;
}

/** Asks for confirmation before leaving a page with unsaved text. @param {boolean} isChanged */
function useLeaveGuard(isChanged) {
  useEffect(() => {
    if (!isChanged) return undefined;
    const guard = (/** @type {BeforeUnloadEvent} */ event) => event.preventDefault();
    addEventListener('beforeunload', guard);
    const release = guardLeaving(() => confirm({ title: 'Leave without saving?', text: 'Your changes are not saved and will be lost.', action: 'Leave', danger: true }));
    return () => {
      removeEventListener('beforeunload', guard);
      release();
    };
  }, [isChanged]);
}
