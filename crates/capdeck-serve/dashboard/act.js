// @ts-check
// An action of a button: busy while it runs, then a message with its outcome.

import { complain, say } from './feedback.js';
import { useState } from './view.js';

/**
 * @returns {[boolean, (work: () => Promise<any>, done?: string | ((answer: any) => string)) => Promise<any>]}
 */
export function useAct() {
  const [busy, setBusy] = useState(false);
  const act = async (/** @type {() => Promise<any>} */ work, /** @type {string | ((answer: any) => string) | undefined} */ done) => {
    setBusy(true);
    try {
      const answer = await work();
      if (done) say(typeof done === 'function' ? done(answer) : done);
      return answer ?? true;
    } catch (error) {
      complain(error);
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  return [busy, act];
}
