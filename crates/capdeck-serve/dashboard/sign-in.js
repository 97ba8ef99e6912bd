// @ts-check
// The sign-in page.

import { get, withQuery } from './api.js';
import { Mark } from './icons.js';
import { signIn } from './session.js';
import { ThemeToggle } from './theme.js';
import { html, useEffect, useState } from './view.js';

export function SignIn() {
  const [key, setKey] = useState('');
  const [wrong, setWrong] = useState('');
  const [busy, setBusy] = useState(false);
  const [provider, setProvider] = useState(/** @type {null | { label: string }} */ (null));
  useEffect(() => {
    document.title = 'Sign in · Capdeck';
    // On an error the key still works.
    get('/api/sign-in').then((ways) => setProvider(ways.provider), () => {});
  }, []);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setWrong('');
    try {
      await signIn(key.trim());
    } catch (error) {
      const problem = /** @type {any} */ (error);
      setWrong([problem.status === 401 ? 'invalid key' : problem.message, problem.hint].filter(Boolean).join('. '));
      setBusy(false);
    }
  };
  return html`<main class="sign-in" id="main">
    <div class="row spread"><span class="brand"><${Mark} />Capdeck</span><${ThemeToggle} /></div>
    <h1>Sign in</h1>
    <form class="stack" onSubmit=${submit}>
      <div class="field">
        <label for="key">Operator key</label>
        <input id="key" class="code" type="password" autocomplete="current-password" required autofocus value=${key} aria-invalid=${wrong !== ''} aria-describedby="key-hint key-wrong" onInput=${(/** @type {any} */ event) => setKey(event.target.value)} />
        <span class="hint" id="key-hint">Your operator key, or the admin key shown at the first start of the host.</span>
        <span class="wrong" id="key-wrong" role="alert">${wrong}</span>
      </div>
      <button class="button main" type="submit" disabled=${busy || key.trim() === ''}>${busy ? 'Signing in…' : 'Sign in'}</button>
    </form>
    ${provider && html`<div class="stack"><p class="or">or</p><a class="button" href=${withQuery('/api/oidc/begin', { then: `/${location.hash}` })}>Sign in with ${provider.label}</a></div>`}
  </main>`;
}
