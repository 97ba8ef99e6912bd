// @ts-check
// The configuration of the host, and the approval mode.

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
  return html`<${PageHead} title="Settings" lede="Current configuration. Files, environment variables and flags are read at startup." />
    <${Load} of=${settings}>${(/** @type {any} */ data) => html`<div class="stack">
      <section class="card" aria-labelledby="host"><h2 id="host">This host</h2><dl class="facts">
        <dt>Version</dt><dd>${data.version}</dd>
        <dt>Address</dt><dd><code>${data.public_url}</code></dd>
        <dt>Sign-in</dt><dd>${data.auth === 'local' ? 'not required on this machine' : 'required for every request'} <span class="soft">(<code>${data.auth}</code>)</span></dd>
        <dt>Registry</dt><dd>${data.registry.available ? 'available' : data.registry.reason}${data.registry.served_at && html`, served at <code>${data.registry.served_at}</code>`}</dd>
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
    const saved = await act(() => patch('/v1/settings', { approval_mode: chosen }), 'Saved the settings');
    if (saved) onSaved(saved);
  };
  return html`<form class="card stack" onSubmit=${submit}>
    <fieldset class="stack tight"><legend>Approval mode for access requests</legend>${APPROVAL_MODES.map(([id, title]) => html`<label class="check"><input type="radio" name="approval-mode" value=${id} checked=${chosen === id} onChange=${() => setChosen(id)} /><span>${title}</span></label>`)}</fieldset>
    <div class="row spread"><a href=${to('access', 'policy')}>Approval rules</a><button class="button main" type="submit" disabled=${busy || chosen === mode}>Save</button></div>
  </form>`;
}
