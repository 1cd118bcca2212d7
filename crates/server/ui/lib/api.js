// Requests to the server, with the key if one is needed. The only module that asks the network,
// together with journal.js, which follows threads.

import { signal } from './ui.js';

const KEPT = 'selvedge-key';
let key = sessionStorage.getItem(KEPT);

/** Whether the server asked for a key: the shell shows a prompt. `'wrong'` after a key that was refused. */
export const keyWanted = signal(null);
let given = null;

/** What went wrong: `status` (0: not reached), `code`, `message`, and the whole `body`. */
export class ApiError extends Error {
  constructor(status, body) {
    super(body?.error?.message ?? (status ? `the server answered ${status}` : 'the server cannot be reached'));
    this.status = status;
    this.code = body?.error?.code ?? (status ? 'unknown' : 'unreachable');
    this.body = body;
  }
}

/** Headers that every request has. */
export const authorization = () => (key ? { authorization: `Bearer ${key}` } : {});

/** What `curl` is to be given for the same; the key itself is not written out. */
export const curlKey = () => (key ? ' -H "authorization: Bearer $SELVEDGE_KEY"' : '');

/** Takes the key that someone typed; whoever waits for one tries again. */
export function giveKey(text) {
  key = text.trim();
  sessionStorage.setItem(KEPT, key);
  keyWanted.value = null;
  given?.resolve();
  given = null;
}

/** Waits for a key. */
export function needKey() {
  keyWanted.value = key ? 'wrong' : 'none';
  if (!given) {
    given = {};
    given.promise = new Promise((resolve) => (given.resolve = resolve));
  }
  return given.promise;
}

/**
 * A request; gives the answer's JSON. Throws an ApiError.
 * @param {string} path with its query
 * @param {{method?: string, body?: any, headers?: object, signal?: AbortSignal, raw?: boolean}} [options]
 *   `body` is sent as JSON; `raw` gives the Response itself
 */
export async function api(path, { method = 'GET', body, headers = {}, signal: ended, raw = false } = {}) {
  for (;;) {
    const used = key;
    let response;
    try {
      response = await fetch(path, {
        method,
        headers: { ...authorization(), ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: ended,
      });
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new ApiError(0);
    }
    if (response.status === 401) {
      // Another request may have got a key meanwhile.
      if (used === key) await needKey();
      continue;
    }
    if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => null));
    return raw ? response : response.status === 204 ? null : response.json();
  }
}

/** A path below /api/threads/{id}. */
export const threadPath = (id, rest = '') => `/api/threads/${encodeURIComponent(id)}${rest}`;

/** A key that makes a second try harmless. */
export const once = () => ({ 'idempotency-key': crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` });
