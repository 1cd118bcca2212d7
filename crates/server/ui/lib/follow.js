// One connection to a stream, followed to its end: with a key if one is needed, not longer than
// it is silent, and not where nobody looks: over HTTP/1.1 a browser has six connections for all of its
// tabs, and pages that nobody sees would leave none for the one that is looked at.

import { ApiError, authorization, needKey } from './api.js';
import { parser } from './sse.js';

/** The server says something every ten seconds; a connection that is silent for longer is dead. */
const SILENCE = 25_000;
/** A page that is hidden for so long lets its connection go, and goes on where it was when it is seen. */
const HIDDEN = 15_000;

/**
 * Follows a stream; gives how it ended: `again` to come again at once (after a rest, when the page is seen
 * again), `broken` to come again later, `end` for good, or what `frame` gave.
 * @param {string} path
 * @param {object} options
 * @param {string | null} options.last the last id that was seen
 * @param {AbortSignal} options.ending nobody wants it any more
 * @param {(frame: {id: string | null, event: string, data: string | null}) => string | null} options.frame
 *   takes a frame; what it gives ends the connection
 * @param {() => void} options.heard after each piece of it
 * @param {(problem: ApiError, forGood: boolean) => void} options.refused
 */
export async function follow(path, { last, ending, frame, heard, refused }) {
  const own = new AbortController();
  const end = () => own.abort();
  ending.addEventListener('abort', end);
  let rests = false;
  let hidden;
  const look = () => {
    clearTimeout(hidden);
    if (document.hidden) hidden = setTimeout(() => { rests = true; end(); }, HIDDEN);
  };
  document.addEventListener('visibilitychange', look);
  look();
  let watchdog;
  const watch = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(end, SILENCE);
  };
  try {
    watch();
    const headers = { accept: 'text/event-stream', ...authorization() };
    if (last) headers['last-event-id'] = last;
    const response = await fetch(path, { headers, signal: own.signal, cache: 'no-store' });
    if (response.status === 401) {
      await needKey();
      return 'again';
    }
    if (!response.ok) {
      const forGood = response.status < 500 && response.status !== 429;
      refused(new ApiError(response.status, await response.json().catch(() => null)), forGood);
      return forGood ? 'end' : 'broken';
    }
    let over = null;
    const parse = parser((found) => {
      over ??= frame(found);
    });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      watch();
      parse(value);
      heard();
      if (over) break;
    }
    own.abort();
    return over ?? 'broken';
  } catch {
    if (ending.aborted) return 'end';
    if (!rests) return 'broken';
    await seen(ending);
    return ending.aborted ? 'end' : 'again';
  } finally {
    clearTimeout(watchdog);
    clearTimeout(hidden);
    document.removeEventListener('visibilitychange', look);
    ending.removeEventListener('abort', end);
  }
}

/** When the page is looked at again, or nobody wants the stream any more. */
const seen = (ending) => new Promise((resolve) => {
  const look = () => {
    if (document.hidden && !ending.aborted) return;
    document.removeEventListener('visibilitychange', look);
    ending.removeEventListener('abort', look);
    resolve();
  };
  document.addEventListener('visibilitychange', look);
  ending.addEventListener('abort', look);
  look();
});
