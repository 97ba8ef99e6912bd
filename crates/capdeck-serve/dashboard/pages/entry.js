// @ts-check
// One entry: read, edit, history.

import { entryPath, path as address, remove } from '../api.js';
import { Banded } from '../bands.js';
import { CopyBlock } from '../copy.js';
import { complain, confirm, say } from '../feedback.js';
import { readable } from '../format.js';
import { Markdown } from '../markdown.js';
import { PageHead, Tabs } from '../page-head.js';
import { useResource } from '../resource.js';
import { go, to } from '../router.js';
import { Load } from '../states.js';
import { html, useState } from '../view.js';
import { EntryEditor } from './entry-editor.js';
import { EntryHistory } from './entry-history.js';

/** @param {{ capsule: string, role: string | undefined, uri: string, view: string, query: Record<string, string> }} props */
export function EntryPage({ capsule, role, uri, view, query }) {
  const entry = useResource(entryPath(capsule, 'entries', uri), { version: view === 'read' ? query.version : undefined }, { held: view === 'edit' });
  const mayWrite = role === 'writer' || role === 'owner';
  const link = (/** @type {string} */ name) => to('capsules', capsule, 'entry', { uri, view: name === 'read' ? '' : name });
  const tabs = [{ id: 'read', title: 'Read', link: link('read') }, ...(mayWrite ? [{ id: 'edit', title: 'Edit', link: link('edit') }] : []), { id: 'history', title: 'History', link: link('history') }];
  const takeAway = async () => {
    if (!(await confirm({ title: `Delete ${uri}?`, text: 'You can restore it from the deleted entries of the capsule.', action: 'Delete', danger: true }))) return;
    try {
      await remove(entryPath(capsule, 'entries', uri));
      say(`Deleted ${uri}`);
      go(to('capsules', capsule));
    } catch (error) {
      complain(error);
    }
  };
  return html`<${PageHead} title=${entry.data?.title || uri} trail=${[{ title: 'Capsules', link: to('capsules') }, { title: capsule, link: to('capsules', capsule) }]} lede=${html`<code>${uri}</code>`}>
      ${role === 'owner' || role === 'writer' ? html`<button class="button danger" type="button" onClick=${takeAway}>Delete</button>` : null}
    <//>
    <${Tabs} label=${uri} current=${view} tabs=${tabs} />
    <${Load} of=${entry}>${(/** @type {any} */ data) => html`
      ${view === 'read' && html`<${Reader} entry=${data} wanted=${query.version} link=${link} />`}
      ${view === 'edit' && html`<${EntryEditor} key=${data.version} capsule=${capsule} entry=${data} onSaved=${() => { entry.reload(); go(link('read')); }} />`}
      ${view === 'history' && html`<${EntryHistory} capsule=${capsule} uri=${uri} current=${data.version} query=${query} mayWrite=${mayWrite} onRestored=${entry.reload} />`}
    `}<//>`;
}

/** @param {{ entry: any, wanted?: string, link: (name: string) => string }} props */
function Reader({ entry, wanted, link }) {
  const [shape, setShape] = useState('rendered');
  const shapes = [['rendered', 'Rendered'], ['source', 'Source'], ['banded', 'As agents read it']];
  return html`<div class="stack">
    ${wanted && html`<div class="notice"><span>This is version ${entry.version}. <a href=${link('read')}>Show the current version</a></span></div>`}
    ${entry.stale && html`<div class="notice warn"><span>Files it cites have changed or are missing.</span></div>`}
    <div class="row choices" role="group" aria-label="Format">${shapes.map(([id, title]) => html`<button class="button small" type="button" aria-pressed=${shape === id} onClick=${() => setShape(id)}>${title}</button>`)}</div>
    ${shape === 'banded' ? html`<${CopyBlock} text=${entry.text} label="the text" />` : html`<${Banded} entry=${entry}><${Content} entry=${entry} isSource=${shape === 'source'} /><//>`}
  </div>`;
}

/** @param {{ entry: any, isSource: boolean }} props */
function Content({ entry, isSource }) {
  if (isSource) return html`<${CopyBlock} text=${entry.body} label="the source" />`;
  if ((entry.mime_type ?? '').includes('json')) return html`<${CopyBlock} text=${readable(entry.body)} label="the content" />`;
  if ((entry.mime_type ?? 'text/markdown').includes('markdown')) return html`<${Markdown} text=${entry.body} />`;
  return html`<pre class="wrap" tabindex="0">${entry.body}</pre>`;
}

/** @param {{ capsule: string, scheme: string }} props */
export function NewEntry({ capsule, scheme }) {
  const schemes = useResource(address`/v1/capsules/${capsule}/schemes`);
  return html`<${PageHead} title="New entry" trail=${[{ title: 'Capsules', link: to('capsules') }, { title: capsule, link: to('capsules', capsule) }]} />
    <${Load} of=${schemes}>${(/** @type {any} */ data) => html`<${EntryEditor} capsule=${capsule} schemes=${data.items.map((/** @type {any} */ one) => one.name)} scheme=${scheme} onSaved=${(/** @type {any} */ written) => go(to('capsules', capsule, 'entry', { uri: written.uri }))} />`}<//>`;
}
