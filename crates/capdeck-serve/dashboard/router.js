// @ts-check
// Which page is shown. The address behind # says it, so every page can be linked to and the host serves one page only.

import { signal } from './signal.js';

/**
 * @typedef {{ path: string[], query: Record<string, string> }} Place
 */

/** @type {import('./signal.js').Signal<Place>} */
export const place = signal(parse(location.hash));

/** The address of what is shown. */
let shown = location.hash;

/** Asks before the page is left, while there is something to lose on it. @type {null | (() => Promise<boolean>)} */
let guard = null;

addEventListener('hashchange', async () => {
  const wanted = location.hash;
  if (!guard || wanted === shown) return arrive();
  // The page stays until somebody said that it may go.
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
 * Asks before the page is left, in whatever way. What comes back takes the question away again.
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
 * A link to a page: `to('capsules', 'team')`, or with a query as the last value.
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

/** @param {string} link as `to` makes them */
export function go(link) {
  location.hash = link;
}

/**
 * Changes the query of the present page without a new step in the history, as filters do.
 * @param {Record<string, any>} changes
 */
export function refine(changes) {
  const { path, query } = place.value;
  history.replaceState(null, '', to(...path, { ...query, ...changes }));
  arrive();
}
