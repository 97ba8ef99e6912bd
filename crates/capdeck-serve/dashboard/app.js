// @ts-check
// Starts the dashboard: session, current page and error boundary.

import './keyboard.js';
import { PAGES } from './navigation.js';
import { place, to } from './router.js';
import { recognise, session } from './session.js';
import { Shell } from './shell.js';
import { SignIn } from './sign-in.js';
import { useSignal } from './signal.js';
import { Failed, SkeletonLines } from './states.js';
import { html, render, useEffect, useErrorBoundary, useState } from './view.js';

/** @type {Map<string, any>} */
const loaded = new Map();

function App() {
  const now = useSignal(session);
  switch (now.state) {
    case 'in':
      return html`<${Shell} person=${now.person}><${CurrentPage} /><//>`;
    case 'out':
      return html`<${SignIn} />`;
    case 'failed':
      return html`<main class="sign-in" id="main"><h1>Capdeck</h1><${Failed} error=${now.error} retry=${recognise} /></main>`;
    default:
      return html`<p class="boot" role="status">Loading the dashboard…</p>`;
  }
}

function CurrentPage() {
  const { path, query } = useSignal(place);
  const id = path[0] ?? 'overview';
  const page = PAGES.find((one) => one.id === id);
  const [component, setComponent] = useState(() => loaded.get(id) ?? null);
  const [failure, setFailure] = useState(/** @type {Error | null} */ (null));
  const address = path.join('/');
  useEffect(() => {
    let isCurrent = true;
    setFailure(null);
    setComponent(() => loaded.get(id) ?? null);
    page?.load().then(({ default: found }) => {
      loaded.set(id, found);
      if (isCurrent) setComponent(() => found);
    }, () => isCurrent && setFailure(new Error('could not load this part of the dashboard; the host may have been updated. Reload the page')));
    return () => {
      isCurrent = false;
    };
  }, [id]);
  useArrival(address, component);
  if (!page) return html`<h1 tabindex="-1">Page not found</h1><p><a href=${to('overview')}>Open the overview</a></p>`;
  if (failure) return html`<h1 tabindex="-1">${page.title}</h1><${Failed} error=${failure} retry=${() => location.reload()} />`;
  if (!component || loaded.get(id) !== component) return html`<div role="status"><span class="unseen">Loading…</span><${SkeletonLines} lines=${8} /></div>`;
  // The key excludes deeper segments, so a page keeps its state when the path inside one item changes.
  return html`<${Guarded} key=${`${id}/${path[1] ?? ''}`} page=${component} path=${path.slice(1)} query=${query} />`;
}

/** Keeps an error of one page from breaking the dashboard. @param {{ page: any, path: string[], query: any }} props */
function Guarded({ page: Page, path, query }) {
  const [error, reset] = useErrorBoundary((broken) => console.error(broken));
  if (error) return html`<h1 tabindex="-1">This page failed to render</h1><${Failed} error=${error} retry=${reset} />`;
  return html`<${Page} path=${path} query=${query} />`;
}

/**
 * Moves the focus to the heading of a new page. The first page keeps the browser's focus.
 * @param {string} address
 * @param {any} component
 */
function useArrival(address, component) {
  useEffect(() => {
    if (!component) return;
    const heading = /** @type {HTMLElement | null} */ (document.querySelector('#main h1'));
    if (!heading) return;
    if (arrivals > 0 && arrivedAt !== address) {
      heading.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    arrivals += 1;
    arrivedAt = address;
  }, [address, component]);
}

let arrivals = 0;
let arrivedAt = '';

const root = /** @type {HTMLElement} */ (document.querySelector('#app'));
root.replaceChildren();
render(html`<${App} />`, root);
recognise();
