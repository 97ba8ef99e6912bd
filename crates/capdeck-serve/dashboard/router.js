// @ts-check
// Routing by the URL fragment, so every page has a link and the host serves a single page.

import { signal } from './signal.js';

/**
 * @typedef {{ path: string[], query: Record<string, string> }} Place
 */

/** @type {import('./signal.js').Signal<Place>} */
export const place = signal(parse(location.hash));

let shown = location.hash;

/** Confirms leaving a page with unsaved changes. @type {null | (() => Promise<boolean>)} */
let guard = null;

addEventListener('hashchange', async () => {
  const wanted = location.hash;
  if (!guard || wanted === shown) return arrive();
  // Stay on the page until the person confirms.
  history.pushState(null, '', shown || '#/');
  if (!(await guard())) return undefined;
  guard = null;
  location.hash = wanted;
  return undefined;
});

function arrive() {
  shown = location.hash;
  place.set(parse(shown));
}

/**
 * Calls `ask` before the page is left. The returned function removes the guard.
 * @param {() => Promise<boolean>} ask
 */
export function guardLeaving(ask) {
  guard = ask;
  return () => {
    if (guard === ask) guard = null;
  };
}

/**
 * @param {string} hash
 * @returns {Place}
 */
export function parse(hash) {
  const text = hash.replace(/^#\/?/, '');
  const [path, query = ''] = text.split('?', 2);
  const segments = path.split('/').filter(Boolean).map(decode);
  return { path: segments, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** @param {string} segment */
function decode(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * Builds a link: `to('capsules', 'team')`; an object as the last argument is the query.
 * @param {...(string | Record<string, any>)} parts
 */
export function to(...parts) {
  const last = parts[parts.length - 1];
  const query = typeof last === 'object' ? last : {};
  const segments = parts.filter((part) => typeof part === 'string').map((part) => encodeURIComponent(/** @type {string} */ (part)));
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const tail = pairs.length > 0 ? `?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}` : '';
  return `#/${segments.join('/')}${tail}`;
}

/** @param {string} link from `to` */
export function go(link) {
  location.hash = link;
}

/**
 * Changes the query of the current page without a new history entry.
 * @param {Record<string, any>} changes
 */
export function refine(changes) {
  const { path, query } = place.value;
  history.replaceState(null, '', to(...path, { ...query, ...changes }));
  arrive();
}
