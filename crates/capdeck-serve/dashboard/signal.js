// @ts-check
// Observable values.

import { useEffect, useState } from './view.js';

/**
 * @template T
 * @typedef {{ value: T, set: (next: T) => void, watch: (watcher: (value: T) => void) => () => void }} Signal
 */

/**
 * @template T
 * @param {T} first
 * @returns {Signal<T>}
 */
export function signal(first) {
  /** @type {Set<(value: T) => void>} */
  const watchers = new Set();
  return {
    value: first,
    set(next) {
      if (Object.is(next, this.value)) return;
      this.value = next;
      for (const watcher of [...watchers]) watcher(next);
    },
    watch(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}

/**
 * The signal's value; the component renders again when it changes.
 * @template T
 * @param {Signal<T>} source
 * @returns {T}
 */
export function useSignal(source) {
  const [value, setValue] = useState(source.value);
  useEffect(() => {
    setValue(source.value);
    return source.watch((next) => setValue(() => next));
  }, [source]);
  return value;
}
