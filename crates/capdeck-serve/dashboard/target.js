// @ts-check
// The target of a grant as text.

import { to } from './router.js';
import { html } from './view.js';

export const ROLES = ['reader', 'appender', 'writer', 'owner'];

/** @param {any} target */
export const isCapsule = (target) => target?.capsule !== undefined;

/** @param {any} target */
export const requestedAction = (target) => (isCapsule(target) ? 'requests the role' : 'requests access to');

/** @param {{ of: any }} props */
export function Target({ of: target }) {
  if (isCapsule(target)) {
    return html`<span class="anywhere"><strong>${target.role}</strong> of <a href=${to('capsules', target.capsule)}>${target.capsule}</a><${Limits} allowed=${target.uri_prefixes} denied=${target.denied_prefixes} /></span>`;
  }
  const whole = (target?.capabilities ?? []).includes('*') && (target.tools ?? []).length === 0;
  return html`<span class="anywhere"><strong>the deck</strong>${whole ? ', all capabilities' : html`: <code>${(target?.capabilities ?? []).join(', ')}</code>`}
    <${Limits} allowed=${target?.tools} denied=${target?.denied_tools} />${(target?.modes ?? []).length > 0 ? `, as ${target.modes.join(', ')}` : ''}</span>`;
}

/** @param {{ allowed?: string[], denied?: string[] }} props */
function Limits({ allowed = [], denied = [] }) {
  return html`${allowed.length > 0 && html`, only <code>${allowed.join(', ')}</code>`}${denied.length > 0 && html`, not <code>${denied.join(', ')}</code>`}`;
}
