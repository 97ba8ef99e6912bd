// @ts-check
// Data of a page: loading, reloading and paging.

import { request } from './api.js';
import { missed } from './live.js';
import { useCallback, useEffect, useRef, useState } from './view.js';

/**
 * @typedef {object} Resource
 * @property {any} data the last response; remains while reloading
 * @property {string | null} etag
 * @property {Error | null} error
 * @property {boolean} loading
 * @property {() => Promise<void>} reload
 * @property {(data: any) => void} replace
 */

/**
 * Loads a path, and again when the path or the query changes or events were missed. `null` loads nothing; `held` disables the
 * reload after missed events, so that it does not replace data being edited.
 * @param {string | null} path
 * @param {Record<string, any>} [query]
 * @param {{ held?: boolean }} [how]
 * @returns {Resource}
 */
export function useResource(path, query, { held = false } = {}) {
  const key = path === null ? null : JSON.stringify([path, query]);
  const [state, setState] = useState({ key, data: null, etag: null, error: null, loading: path !== null });
  const running = useRef(/** @type {AbortController | null} */ (null));
  const reload = useCallback(async () => {
    if (path === null) return;
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    setState((old) => (old.key === key ? { ...old, loading: true } : { key, data: null, etag: null, error: null, loading: true }));
    try {
      const { data, etag } = await request('GET', path, { query, signal: controller.signal });
      if (!controller.signal.aborted) setState({ key, data, etag, error: null, loading: false });
    } catch (error) {
      if (!controller.signal.aborted) setState((old) => ({ ...old, key, error, loading: false }));
    }
  }, [key]);
  useEffect(() => {
    reload();
    return () => running.current?.abort();
  }, [reload]);
  useEffect(() => (held ? undefined : missed.watch(reload)), [reload, held]);
  const replace = useCallback((data) => setState((old) => ({ ...old, data })), []);
  // Never render data of the previous path under the new one.
  const current = state.key === key ? state : { data: null, etag: null, error: null, loading: key !== null };
  return { ...current, reload, replace };
}

/**
 * A list with cursor paging.
 * @param {string | null} path
 * @param {Record<string, any>} [query]
 */
export function useList(path, query) {
  const first = useResource(path, query);
  const [rest, setRest] = useState({ of: null, items: [], cursor: null, error: null, loading: false });
  const mine = rest.of === first.data ? rest : { of: first.data, items: [], cursor: null, error: null, loading: false };
  const cursor = mine.of && mine.items.length > 0 ? mine.cursor : first.data?.next_cursor ?? null;
  const more = async () => {
    if (!cursor || path === null || mine.loading) return;
    setRest({ ...mine, of: first.data, loading: true });
    try {
      const { data } = await request('GET', path, { query: { ...query, cursor } });
      setRest({ of: first.data, items: [...mine.items, ...data.items], cursor: data.next_cursor, error: null, loading: false });
    } catch (error) {
      setRest({ ...mine, of: first.data, error, loading: false });
    }
  };
  const items = first.data ? [...(first.data.items ?? []), ...mine.items] : null;
  return { ...first, items, hasMore: Boolean(cursor), more, loadingMore: mine.loading, moreError: mine.error };
}
