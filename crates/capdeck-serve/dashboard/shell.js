// @ts-check
// The frame of every page: navigation, session and messages.

import { changes } from './api.js';
import { Toasts, Questions, complain } from './feedback.js';
import { Overlays } from './finder.js';
import { Icon, Mark } from './icons.js';
import { overlay } from './keyboard.js';
import { liveState, useLive } from './live.js';
import { PAGES } from './navigation.js';
import { useResource } from './resource.js';
import { place, to } from './router.js';
import { may, signOut } from './session.js';
import { useSignal } from './signal.js';
import { ThemeToggle } from './theme.js';
import { html, useEffect, useRef, useState } from './view.js';

/** @param {{ person: any, children: any }} props */
export function Shell({ person, children }) {
  const { path } = useSignal(place);
  const [open, setOpen] = useState(false);
  const pending = usePending();
  useEffect(() => setOpen(false), [path.join('/')]);
  const skip = (/** @type {Event} */ event) => {
    event.preventDefault();
    /** @type {HTMLElement | null} */ (document.querySelector('#main'))?.focus();
  };
  return html`<div class="shell" onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === 'Escape' && setOpen(false)}>
    <a class="skip" href="#main" onClick=${skip}>Skip to content</a>
    <div class="bar">
      <button class="button quiet icon" type="button" aria-label=${open ? 'Close navigation' : 'Open navigation'} aria-expanded=${open} aria-controls="side" onClick=${() => setOpen(!open)}><${Icon} name=${open ? 'close' : 'menu'} /></button>
      <a class="brand" href=${to('overview')}><${Mark} />Capdeck</a>
      <button class="button quiet icon" type="button" aria-label="Go to a page, capability or capsule" onClick=${() => overlay.set('finder')}><${Icon} name="search" /></button>
    </div>
    <header class=${open ? 'side open' : 'side'} id="side">
      <a class="brand" href=${to('overview')}><${Mark} />Capdeck</a>
      <${Navigation} current=${path[0] ?? 'overview'} pending=${pending} />
      <${Foot} person=${person} />
    </header>
    <main class="page" id="main" tabindex="-1"><div class="page-inner"><${NoRegistry} registry=${person.registry} />${children}</div></main>
    <${Toasts} /><${Questions} /><${Overlays} />
  </div>`;
}

/** @param {{ registry: { available: boolean, reason?: string, served_at?: string } }} props */
function NoRegistry({ registry }) {
  if (registry.available) return null;
  return html`<div class="notice warn shell-notice"><span>Grants, operators and clients are not available here: ${registry.reason ?? 'another process holds the registry'}.${registry.served_at ? html` Use <code>${registry.served_at}</code>.` : ''}</span></div>`;
}

/** Milliseconds to group successive events before a reload. */
const GATHER = 400;

/** The pending counters, reloaded after events that may change them. */
function usePending() {
  const overview = useResource('/v1/overview');
  const waiting = useRef(0);
  const countSoon = () => {
    clearTimeout(waiting.current);
    waiting.current = setTimeout(overview.reload, GATHER);
  };
  // Only calls that did not succeed can require approval.
  useLive((event) => (event.source === 'registry' || event.outcome !== 'ok') && countSoon());
  useEffect(() => changes.watch(countSoon), [overview.reload]);
  return overview.data?.pending ?? {};
}

/** @param {{ current: string, pending: Record<string, number> }} props */
function Navigation({ current, pending }) {
  const allowed = PAGES.filter((page) => !page.role || may(page.role));
  const groups = [...new Set(allowed.map((page) => page.group))];
  return html`<nav aria-label="Pages">
    ${groups.map((group) => html`<div class="side-group" key=${group}>
      ${group && html`<h2>${group}</h2>`}
      ${allowed.filter((page) => page.group === group).map((page) => {
        const count = page.pending ? pending[page.pending] ?? 0 : 0;
        return html`<a class="side-link" key=${page.id} href=${to(page.id)} aria-current=${page.id === current ? 'page' : undefined}>
          <${Icon} name=${page.icon} />${page.title}${count > 0 && html`<span class="count number"><span class="unseen">, pending: </span>${count}</span>`}
        </a>`;
      })}
    </div>`)}
  </nav>`;
}

const LIVE_WORDS = { closed: 'not live', connecting: 'connecting', open: 'live', lost: 'reconnecting' };

/** @param {{ person: any }} props */
function Foot({ person }) {
  const live = useSignal(liveState);
  return html`<div class="side-foot">
    <div class="row"><span class=${`badge ${live === 'open' ? 'good' : live === 'lost' ? 'warn' : ''}`}>${LIVE_WORDS[live]}</span><${ThemeToggle} /></div>
    <div class="row">
      <span class="anywhere"><strong>${person.local ? 'This machine' : person.name}</strong><br /><span class="soft">${person.role}</span></span>
      ${!person.local && html`<button class="button small" type="button" onClick=${() => signOut().catch(complain)}>Sign out</button>`}
    </div>
  </div>`;
}
