// @ts-check
// Live events of the host. One stream for the whole page; the browser resumes it after a disconnect.

import { signal } from './signal.js';
import { useEffect, useRef } from './view.js';

/** @typedef {{ seq: number, source: string, at: string, action: string, outcome: string, [member: string]: any }} ActivityEvent */

export const liveState = signal(/** @type {'closed' | 'connecting' | 'open' | 'lost'} */ ('closed'));

/** Incremented when events were lost, so the page may show old data. */
export const missed = signal(0);

/** @type {Set<(event: ActivityEvent) => void>} */
const listeners = new Set();
/** @type {EventSource | null} */
let source = null;

function open() {
  if (source) return;
  liveState.set('connecting');
  source = new EventSource('/api/activity');
  source.addEventListener('open', () => liveState.set('open'));
  source.addEventListener('error', () => liveState.set('lost'));
  source.addEventListener('audit', (event) => notify(JSON.parse(event.data)));
  source.addEventListener('missed', () => missed.set(missed.value + 1));
}

/** @param {ActivityEvent} event */
function notify(event) {
  for (const listener of [...listeners]) listener(event);
}

export function closeLive() {
  source?.close();
  source = null;
  liveState.set('closed');
}

/**
 * Calls `listener` for each event while the component is mounted.
 * @param {(event: ActivityEvent) => void} listener
 */
export function useLive(listener) {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => {
    const forward = (/** @type {ActivityEvent} */ event) => latest.current(event);
    listeners.add(forward);
    open();
    return () => {
      listeners.delete(forward);
    };
  }, []);
}
