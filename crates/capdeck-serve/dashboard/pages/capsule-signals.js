// @ts-check
// Signals between the agents of a capsule.

import { path as address, post } from '../api.js';
import { useAct } from '../act.js';
import { useLive } from '../live.js';
import { useList } from '../resource.js';
import { to } from '../router.js';
import { Empty, LoadList, Time } from '../states.js';
import { html, useState } from '../view.js';

/** @param {{ capsule: any }} props */
export function Signals({ capsule }) {
  const list = useList(address`/v1/capsules/${capsule.id}/signals`, { limit: 200 });
  const [text, setText] = useState('');
  const [busy, act] = useAct();
  useLive((event) => event.capsule === capsule.id && list.reload());
  const send = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!(await act(() => post(address`/v1/capsules/${capsule.id}/signals`, { kind: 'note', text: text.trim() }), 'Sent the signal'))) return;
    setText('');
    list.reload();
  };
  return html`<div class="stack">
    ${capsule.role !== 'reader' && html`<form class="row" onSubmit=${send}><div class="field grow"><label for="signal">Send a signal to the agents of this capsule</label><input id="signal" required maxlength="4000" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></div><button class="button align-end" type="submit" disabled=${busy || !text.trim()}>Send</button></form>`}
    <${LoadList} of=${list} empty=${html`<${Empty} icon="activity" title="No signals">Every write is a signal, and agents send their own with <code>capsol_signal</code>.<//>`}>
      ${(/** @type {any[]} */ items) => html`<ul class="plain rows">${[...items].reverse().map((signal) => html`<li key=${signal.id} class="row-plain"><div class="row spread"><span class="row"><span class="badge bare info">${signal.kind}</span><span class="small soft anywhere">${signal.from?.principal_name ?? signal.from?.principal ?? 'local'}${signal.from?.client && `, client: ${signal.from.client} (claimed)`}</span></span><span class="small soft"><${Time} at=${signal.ts} /></span></div>
        ${signal.text && html`<p class="anywhere">${signal.text}</p>`}${signal.uri && html`<a class="small" href=${to('capsules', capsule.id, 'entry', { uri: signal.uri })}>${signal.uri}</a>`}</li>`)}</ul>`}
    <//>
  </div>`;
}
