// @ts-check
// Search over pages, capabilities, tools and capsules.

import { Dialog } from './feedback.js';
import { overlay } from './keyboard.js';
import { PAGES } from './navigation.js';
import { useResource } from './resource.js';
import { go, to } from './router.js';
import { may } from './session.js';
import { useSignal } from './signal.js';
import { html, useState } from './view.js';

/** @typedef {{ kind: string, title: string, about: string, link: string }} Found */

export function Overlays() {
  const shown = useSignal(overlay);
  const close = () => overlay.set(null);
  if (shown === 'keys') return html`<${Dialog} title="Keys" onClose=${close}><${Keys} /><div class="row end"><button class="button" type="button" onClick=${close}>Close</button></div><//>`;
  if (shown === 'finder') return html`<${Dialog} title="Go to" onClose=${close}><${Finder} onDone=${close} /><//>`;
  return null;
}

export function Keys() {
  const rows = [['/', 'search this page, or everywhere'], ['Ctrl K', 'go to a page, a capability, a tool or a capsule'], ['?', 'show the shortcuts'], ['Esc', 'close the dialog']];
  return html`<dl class="keys">
    ${rows.map(([keys, what]) => html`<div><dt>${keys.split(' ').map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${what}</dd></div>`)}
    ${PAGES.map((page) => html`<div><dt><kbd>g</kbd> <kbd>${page.keys}</kbd></dt><dd>${page.title}</dd></div>`)}
  </dl>`;
}

/** @param {{ onDone: () => void }} props */
function Finder({ onDone }) {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const capabilities = useResource(may('admin') ? '/v1/deck/capabilities' : null, { limit: 200 });
  const capsules = useResource('/v1/capsules', { limit: 200 });
  const tools = useResource(may('admin') && text.trim().length > 2 ? '/v1/deck/tools/search' : null, { q: text.trim(), limit: 5 });
  const found = matches(text, capabilities.data?.items ?? [], capsules.data?.items ?? [], tools.data?.items ?? []);
  const at = Math.min(chosen, found.length - 1);
  const open = (/** @type {Found | undefined} */ one) => {
    if (!one) return;
    onDone();
    go(one.link);
  };
  const steer = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'ArrowDown') setChosen(Math.min(at + 1, found.length - 1));
    else if (event.key === 'ArrowUp') setChosen(Math.max(at - 1, 0));
    else if (event.key === 'Enter') open(found[at]);
    else return;
    event.preventDefault();
  };
  return html`<div class="stack tight">
    <input type="search" role="combobox" aria-label="Go to" aria-expanded="true" aria-controls="found" aria-activedescendant=${found[at] ? `found-${at}` : undefined} autofocus autocomplete="off" placeholder="A page, capability, tool or capsule" value=${text}
      onInput=${(/** @type {any} */ event) => { setText(event.target.value); setChosen(0); }} onKeyDown=${steer} />
    <ul class="plain found" id="found" role="listbox" aria-label="Results">
      ${found.map((one, index) => html`<li id=${`found-${index}`} role="option" aria-selected=${index === at} onClick=${() => open(one)}><span class="small soft">${one.kind}</span><span class="grow anywhere">${one.title}</span></li>`)}
    </ul>
    ${found.length === 0 && html`<p class="soft" role="status">No results.</p>`}
  </div>`;
}

/**
 * @param {string} text
 * @param {any[]} capabilities
 * @param {any[]} capsules
 * @param {any[]} tools
 * @returns {Found[]}
 */
function matches(text, capabilities, capsules, tools) {
  const wanted = text.trim().toLowerCase();
  /** @type {Found[]} */
  const all = [
    ...PAGES.filter((page) => !page.role || may(page.role)).map((page) => ({ kind: 'page', title: page.title, about: '', link: to(page.id) })),
    ...capabilities.map((one) => ({ kind: 'capability', title: one.name || one.id, about: one.id, link: to('capabilities', one.id) })),
    ...capsules.map((one) => ({ kind: 'capsule', title: one.name, about: one.id, link: to('capsules', one.id) })),
  ];
  const isMatch = (/** @type {Found} */ one) => `${one.title} ${one.about}`.toLowerCase().includes(wanted);
  const named = wanted ? all.filter(isMatch) : all;
  const called = tools.map((tool) => ({ kind: 'tool', title: `${tool.capability}.${tool.name}`, about: '', link: to('capabilities', tool.capability, 'tools', tool.name) }));
  return [...named, ...called].slice(0, 12);
}
