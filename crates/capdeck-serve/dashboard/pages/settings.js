// @ts-check
// How the host is set up, and who decides about access.

import { patch } from '../api.js';
import { useAct } from '../act.js';
import { APPROVAL_MODES } from '../approval-modes.js';
import { PageHead } from '../page-head.js';
import { useResource } from '../resource.js';
import { to } from '../router.js';
import { Load } from '../states.js';
import { html, useState } from '../view.js';

export default function Settings() {
  const settings = useResource('/v1/settings');
  return html`<${PageHead} title="Settings" lede="What holds on this host now. What its files, environment and flags say is read when it starts." />
    <${Load} of=${settings}>${(/** @type {any} */ data) => html`<div class="stack">
      <section class="card" aria-labelledby="host"><h2 id="host">This host</h2><dl class="facts">
        <dt>Version</dt><dd>${data.version}</dd>
        <dt>Address</dt><dd><code>${data.public_url}</code></dd>
        <dt>Sign-in</dt><dd>${data.auth === 'local' ? 'not needed on this machine' : 'needed for every request'} <span class="soft">(<code>${data.auth}</code>)</span></dd>
        <dt>Registry</dt><dd>${data.registry.available ? 'here' : data.registry.reason}${data.registry.served_at && html`, served at <code>${data.registry.served_at}</code>`}</dd>
      </dl></section>
      ${data.approval_mode && html`<${Decides} key=${data.approval_mode} mode=${data.approval_mode} onSaved=${settings.replace} />`}
    </div>`}<//>`;
}

/** @param {{ mode: string, onSaved: (settings: any) => void }} props */
function Decides({ mode, onSaved }) {
  const [chosen, setChosen] = useState(mode);
  const [busy, act] = useAct();
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const saved = await act(() => patch('/v1/settings', { approval_mode: chosen }), 'saved the settings');
    if (saved) onSaved(saved);
  };
  return html`<form class="card stack" onSubmit=${submit}>
    <fieldset class="stack tight"><legend>Who decides about access</legend>${APPROVAL_MODES.map(([id, title]) => html`<label class="check"><input type="radio" name="approval-mode" value=${id} checked=${chosen === id} onChange=${() => setChosen(id)} /><span>${title}</span></label>`)}</fieldset>
    <div class="row spread"><a href=${to('access', 'policy')}>The rules</a><button class="button main" type="submit" disabled=${busy || chosen === mode}>Save</button></div>
  </form>`;
}
