// @ts-check
// Operators: people who sign in to the dashboard.

import { path as address, patch, post, remove } from '../api.js';
import { useAct } from '../act.js';
import { CopyBlock } from '../copy.js';
import { confirm, Dialog } from '../feedback.js';
import { PageHead } from '../page-head.js';
import { useList } from '../resource.js';
import { Empty, Failed, LoadList, Time } from '../states.js';
import { TableFrame } from '../table-frame.js';
import { html, useState } from '../view.js';
import { AccountDialog, AddressField, useProvider, signInMethods } from './operator-account.js';

const ROLES = /** @type {[string, string][]} */ ([['member', 'creates capsules and decides requests for them'], ['approver', 'decides every request'], ['admin', 'everything: operators, policy, settings']]);

export default function Operators() {
  const list = useList('/v1/operators');
  const [adding, setAdding] = useState(false);
  const [shown, setShown] = useState(/** @type {null | { name: string, key: string }} */ (null));
  const [binding, setBinding] = useState(/** @type {any} */ (null));
  const provider = useProvider();
  const [, act] = useAct();
  const setRole = async (/** @type {any} */ operator, /** @type {string} */ role) => {
    await act(() => patch(address`/v1/operators/${operator.id}`, { role }), `Changed the role of ${operator.name} to ${role}`);
    list.reload();
  };
  const takeAway = async (/** @type {any} */ operator) => {
    if (!(await confirm({ title: `Remove ${operator.name}?`, text: 'Their key and sessions end immediately. Their capsules remain.', action: 'Remove', danger: true }))) return;
    if (await act(() => remove(address`/v1/operators/${operator.id}`), `Removed ${operator.name}`)) list.reload();
  };
  const renew = async (/** @type {any} */ operator) => {
    if (!(await confirm({ title: `Create a new key for ${operator.name}?`, text: 'The old key is revoked.', action: 'Create key', danger: true }))) return;
    const made = await act(() => post(address`/v1/operators/${operator.id}/key`));
    if (made) setShown({ name: operator.name, key: made.key });
  };
  const add = html`<button class="button main" type="button" onClick=${() => setAdding(true)}>Add operator</button>`;
  return html`<${PageHead} title="Operators" lede="People who sign in to this dashboard, and their roles.">${(list.items ?? []).length > 0 && add}<//>
    <${LoadList} of=${list} empty=${html`<${Empty} icon="operators" title="Only the admin key" action=${add}>Give each person their own key, so that their decisions are recorded under their name.<//>`}>
      ${(/** @type {any[]} */ items) => html`<${TableFrame} label="Operators"><table><thead><tr><th scope="col">Name</th><th scope="col">Role</th><th scope="col">Signs in with</th><th scope="col">Last used</th><th scope="col"><span class="unseen">Actions</span></th></tr></thead>
        <tbody>${items.map((operator) => html`<tr key=${operator.id}><th scope="row" class="anywhere">${operator.name}<br /><span class="small soft"><code>${operator.id}</code></span></th><td><select aria-label=${`Role of ${operator.name}`} value=${operator.role} onChange=${(/** @type {any} */ event) => setRole(operator, event.target.value)}>${ROLES.map(([role]) => html`<option value=${role}>${role}</option>`)}</select></td><td class="anywhere">${signInMethods(operator)}</td><td><${Time} at=${operator.last_used_at} never="never" /></td><td class="end"><span class="row end">${provider && html`<button class="button small" type="button" onClick=${() => setBinding(operator)}>Account</button>`}<button class="button small" type="button" onClick=${() => renew(operator)}>New key</button><button class="button small danger" type="button" onClick=${() => takeAway(operator)}>Remove</button></span></td></tr>`)}</tbody></table><//>`}
    <//>
    ${shown && html`<${KeyDialog} name=${shown.name} secret=${shown.key} onClose=${() => setShown(null)} />`}
    ${binding && provider && html`<${AccountDialog} operator=${binding} provider=${provider} onClose=${() => { setBinding(null); list.reload(); }} />`}
    ${adding && html`<${AddOperator} provider=${provider} onClose=${() => { setAdding(false); list.reload(); }} />`}`;
}

/** @param {{ provider: import('./operator-account.js').Provider | null, onClose: () => void }} props */
function AddOperator({ provider, onClose }) {
  const [fields, setFields] = useState({ name: '', role: 'member', email: '' });
  const [error, setError] = useState(/** @type {any} */ (null));
  const [made, setMade] = useState(/** @type {any} */ (null));
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const email = fields.email.trim();
    try {
      const made = await post('/v1/operators', { name: fields.name.trim(), role: fields.role, ...(email && { subject: { account: { email } } }) });
      // An operator with an account at the provider has no key.
      if (made.key) setMade(made);
      else onClose();
    } catch (problem) {
      setError(problem);
    }
  };
  if (made) return html`<${KeyDialog} name=${fields.name} secret=${made.key} onClose=${onClose} />`;
  return html`<${Dialog} title="Add operator" onClose=${onClose}><form class="stack" onSubmit=${submit}>
    ${error && html`<${Failed} error=${error} />`}
    <div class="field"><label for="operator-name">Name</label><input id="operator-name" required autofocus autocomplete="off" value=${fields.name} onInput=${(/** @type {any} */ event) => setFields((old) => ({ ...old, name: event.target.value }))} /></div>
    <fieldset class="stack tight"><legend>Role</legend>${ROLES.map(([role, about]) => html`<label class="check"><input type="radio" name="operator-role" value=${role} checked=${fields.role === role} onChange=${() => setFields((old) => ({ ...old, role }))} /><span><strong>${role}</strong> <span class="soft">${about}</span></span></label>`)}</fieldset>
    ${provider && html`<${AddressField} provider=${provider} value=${fields.email} onInput=${(/** @type {string} */ email) => setFields((old) => ({ ...old, email }))} /><p class="small soft">Without an address, they get a key.</p>`}
    <div class="row end"><button class="button" type="button" onClick=${onClose}>Cancel</button><button class="button main" type="submit">Add</button></div>
  </form><//>`;
}

/** @param {{ name: string, secret: string, onClose: () => void }} props */
function KeyDialog({ name, secret, onClose }) {
  return html`<${Dialog} title=${`Key of ${name}`} onClose=${onClose}><p>Copy it now; it is not shown again. It signs in to this dashboard.</p><${CopyBlock} text=${secret} label="the key" /><div class="row end"><button class="button main" type="button" onClick=${onClose}>Done</button></div><//>`;
}
