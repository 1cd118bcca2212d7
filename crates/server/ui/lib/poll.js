// What the server has no stream for: asked again every so often, while someone looks.
//
// The store wakes those who follow a thread; nothing wakes for all threads at once, as every append of
// every thread would pay for it. A page of an inbox or of connections is an indexed read of some
// hundred rows, asked for by the few who look at it.

import { api } from './api.js';
import { useEffect, useRef, useState } from './ui.js';

/**
 * The answer at a path, asked again every so many milliseconds. What was known stays while an error
 * lasts.
 * @param {string} path
 * @param {number} every
 * @returns {{data: any, error: Error|null, again: () => Promise<void>}} `data` is null until it is there
 */
export function usePolled(path, every) {
  const [state, setState] = useState({ path, data: null, error: null });
  const own = useRef({});
  useEffect(() => {
    const me = { ended: false, timer: null, busy: null };
    own.current = me;
    const ask = async () => {
      try {
        const data = await api(path);
        if (!me.ended) setState({ path, data, error: null });
      } catch (error) {
        if (!me.ended) setState((before) => ({ path, data: before.path === path ? before.data : null, error }));
      }
    };
    // One at a time: a slow answer never comes after a newer one.
    me.again = () => (me.busy ??= ask().finally(() => (me.busy = null)));
    const tick = async () => {
      if (!document.hidden) await me.again();
      if (!me.ended) me.timer = setTimeout(tick, every);
    };
    const seen = () => !document.hidden && me.again();
    document.addEventListener('visibilitychange', seen);
    me.again().then(() => { if (!me.ended) me.timer = setTimeout(tick, every); });
    return () => {
      me.ended = true;
      clearTimeout(me.timer);
      document.removeEventListener('visibilitychange', seen);
    };
  }, [path, every]);
  return { data: state.path === path ? state.data : null, error: state.error, again: () => own.current.again() };
}
