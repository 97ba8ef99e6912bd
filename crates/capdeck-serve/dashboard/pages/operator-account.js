// @ts-check
// How an operator signs in: with a key, or with an account of the OpenID provider.

import { get, path as address, patch } from '../api.js';
import { Dialog } from '../feedback.js';
import { Failed } from '../states.js';
import { html, useEffect, useState } from '../view.js';

/** @typedef {{ label: string }} Provider */

/** The OpenID provider of this host; null without one and until it is loaded. */
export function useProvider() {
  const [provider, setProvider] = useState(/** @type {Provider | null} */ (null));
  useEffect(() => {
    get('/api/sign-in').then((ways) => setProvider(ways.provider), () => {});
  }, []);
  return provider;
}

/** @param {any} operator */
export function signInMethods({ subject, key_hint: hint }) {
  const account = subject && (subject.account.email ?? `account ${subject.account.subject}`);
  return [account, hint && `key ${hint}…`].filter(Boolean).join(', ') || 'no sign-in';
}

/** @param {{ provider: Provider, value: string, onInput: (value: string) => void, required?: boolean }} props */
export function AddressField({ provider, value, onInput, required = false }) {
  return html`<div class="field"><label for="operator-email">E-mail at ${provider.label}</label>
    <input id="operator-email" type="email" required=${required} autocomplete="off" aria-describedby="operator-email-hint" value=${value} onInput=${(/** @type {any} */ event) => onInput(event.target.value)} />
    <span class="hint" id="operator-email-hint">The first account that signs in with this address is bound to this operator.</span></div>`;
}

/** @param {{ operator: any, provider: Provider, onClose: () => void }} props */
export function AccountDialog({ operator, provider, onClose }) {
  const [email, setEmail] = useState(operator.subject?.account.email ?? '');
  const [error, setError] = useState(/** @type {any} */ (null));
  const save = async (/** @type {any} */ subject) => {
    try {
      await patch(address`/v1/operators/${operator.id}`, { subject });
      onClose();
    } catch (problem) {
      setError(problem);
    }
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    save({ account: { email: email.trim() } });
  };
  return html`<${Dialog} title=${`Account of ${operator.name}`} onClose=${onClose}><form class="stack" onSubmit=${submit}>
    ${error && html`<${Failed} error=${error} />`}
    <p>Current: ${signInMethods(operator)}. Changing the account ends their sessions.</p>
    <${AddressField} provider=${provider} value=${email} onInput=${setEmail} required=${true} />
    <div class="row end">${operator.subject && html`<button class="button danger" type="button" onClick=${() => save(null)}>Remove account</button>`}<button class="button" type="button" onClick=${onClose}>Cancel</button><button class="button main" type="submit">Save</button></div>
  </form><//>`;
}
