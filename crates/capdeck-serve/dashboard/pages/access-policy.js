// @ts-check
// The approval policy: who approves access requests, and the rules.

import { put } from '../api.js';
import { useAct } from '../act.js';
import { APPROVAL_MODES } from '../approval-modes.js';
import { useResource } from '../resource.js';
import { Load } from '../states.js';
import { ROLES } from '../target.js';
import { html, useState } from '../view.js';

const SOURCES = ['oauth', 'dashboard', 'enrollment', 'library', 'manage'];

export function Policy() {
  const policy = useResource('/v1/approval-policy');
  return html`<${Load} of=${policy}>${(/** @type {any} */ data) => html`<${Editor} policy=${data} onSaved=${policy.replace} />`}<//>`;
}

/** @param {{ policy: any, onSaved: (policy: any) => void }} props */
function Editor({ policy, onSaved }) {
  const [draft, setDraft] = useState(() => ({ mode: policy.mode, rules: policy.rules ?? [], shared_address: policy.shared_address ?? false }));
  const [busy, act] = useAct();
  const setRule = (/** @type {number} */ at, /** @type {any} */ rule) => setDraft((old) => ({ ...old, rules: old.rules.map((/** @type {any} */ one, /** @type {number} */ index) => (index === at ? rule : one)) }));
  const move = (/** @type {number} */ at, /** @type {number} */ by) => setDraft((old) => {
    const rules = [...old.rules];
    [rules[at], rules[at + by]] = [rules[at + by], rules[at]];
    return { ...old, rules };
  });
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const saved = await act(() => put('/v1/approval-policy', draft), 'Saved the policy');
    if (saved) onSaved(saved);
  };
  return html`<form class="stack" onSubmit=${submit}>
    <fieldset class="stack tight"><legend>Approval mode</legend>${APPROVAL_MODES.map(([mode, title]) => html`<label class="check"><input type="radio" name="mode" value=${mode} checked=${draft.mode === mode} onChange=${() => setDraft((old) => ({ ...old, mode }))} /><span>${title}</span></label>`)}</fieldset>
    <fieldset class="stack tight"><legend>Self-approval</legend><p class="soft small">Only an admin can approve a request from their own browser, address or program.</p><label class="check"><input type="checkbox" checked=${draft.shared_address} onChange=${(/** @type {any} */ event) => setDraft((old) => ({ ...old, shared_address: event.target.checked }))} /><span>Ignore addresses (everyone shares one address)</span></label></fieldset>
    <section class="stack" aria-labelledby="rules"><div class="row spread"><h2 id="rules">Rules</h2><button class="button small" type="button" onClick=${() => setDraft((old) => ({ ...old, rules: [...old.rules, { match: {}, action: 'human' }] }))}>Add rule</button></div>
      <p class="soft small">The first matching rule decides. A rule cannot approve the owner role or registry management.</p>
      ${draft.rules.length === 0 && html`<p class="soft">No rules: every request waits for a person.</p>`}
      <ol class="plain stack">${draft.rules.map((/** @type {any} */ rule, /** @type {number} */ at) => html`<li key=${at}><${Rule} number=${at + 1} rule=${rule} onChange=${(/** @type {any} */ next) => setRule(at, next)}
        onUp=${at > 0 ? () => move(at, -1) : null} onDown=${at < draft.rules.length - 1 ? () => move(at, 1) : null} onRemove=${() => setDraft((old) => ({ ...old, rules: old.rules.filter((/** @type {any} */ _, /** @type {number} */ index) => index !== at) }))} /></li>`)}</ol>
    </section>
    <div class="row end"><button class="button main" type="submit" disabled=${busy}>Save policy</button></div>
  </form>`;
}

/** @param {{ number: number, rule: any, onChange: (rule: any) => void, onUp: null | (() => void), onDown: null | (() => void), onRemove: () => void }} props */
function Rule({ number, rule, onChange, onUp, onDown, onRemove }) {
  const match = rule.match ?? {};
  const setMatch = (/** @type {string} */ name) => (/** @type {any} */ event) => {
    const { [name]: _old, ...others } = match;
    onChange({ ...rule, match: event.target.value === '' ? others : { ...others, [name]: event.target.value } });
  };
  const setMember = (/** @type {string} */ name, /** @type {any} */ value) => {
    const { [name]: _old, ...others } = rule;
    onChange(value === '' || value === undefined ? others : { ...others, [name]: value });
  };
  const id = (/** @type {string} */ name) => `rule-${number}-${name}`;
  const roles = (/** @type {string[]} */ names) => html`<option value="">any</option>${names.map((role) => html`<option value=${role}>${role}</option>`)}`;
  return html`<fieldset class="card flat rule"><legend class="unseen">Rule ${number}</legend>
    <div class="row spread"><strong>Rule ${number}</strong><span class="row"><button class="button small quiet" type="button" disabled=${!onUp} aria-label=${`Move rule ${number} up`} onClick=${onUp}>↑</button><button class="button small quiet" type="button" disabled=${!onDown} aria-label=${`Move rule ${number} down`} onClick=${onDown}>↓</button><button class="button small danger" type="button" aria-label=${`Remove rule ${number}`} onClick=${onRemove}>Remove</button></span></div>
    <div class="filters">
      <div class="field"><label for=${id('client')}>Client id</label><input id=${id('client')} class="code" placeholder="any; wildcards: * and ?" value=${match.client_id ?? ''} onInput=${setMatch('client_id')} /></div>
      <div class="field"><label for=${id('capsule')}>Capsule</label><input id=${id('capsule')} class="code" placeholder="any" value=${match.capsule ?? ''} onInput=${setMatch('capsule')} /></div>
      <div class="field"><label for=${id('role')}>Requested role at most</label><select id=${id('role')} value=${match['role<='] ?? ''} onChange=${setMatch('role<=')}>${roles(ROLES)}</select></div>
      <div class="field"><label for=${id('source')}>Source</label><select id=${id('source')} value=${match.source ?? ''} onChange=${setMatch('source')}>${roles(SOURCES)}</select></div>
      <div class="field"><label for=${id('network')}>Network</label><input id=${id('network')} class="code" placeholder="any, or 10.0.0.0/8" value=${match.ip_cidr ?? ''} onInput=${setMatch('ip_cidr')} /></div>
    </div>
    <div class="filters">
      <div class="field"><label for=${id('action')}>Then</label><select id=${id('action')} value=${rule.action} onChange=${(/** @type {any} */ event) => setMember('action', event.target.value)}><option value="approve">approve</option><option value="deny">deny</option><option value="human">ask a person</option></select></div>
      <div class="field"><label for=${id('ceiling')}>Maximum role</label><select id=${id('ceiling')} value=${rule.ceiling_role ?? ''} onChange=${(/** @type {any} */ event) => setMember('ceiling_role', event.target.value)}>${roles(ROLES.slice(0, 3))}</select></div>
      <div class="field"><label for=${id('ttl')}>Days</label><input id=${id('ttl')} type="number" min="1" placeholder="no limit" value=${rule.ttl ? rule.ttl / 86_400 : ''} onInput=${(/** @type {any} */ event) => setMember('ttl', event.target.value === '' ? undefined : Math.round(Number(event.target.value) * 86_400))} /></div>
    </div></fieldset>`;
}
