// Sending an answer, and what became of it. The first answer counts: whoever comes second is told.

import { ApiError, api, once, threadPath } from '../api.js';
import { refreshWaiting } from '../inbox.js';
import { signal } from '../ui.js';

/** By question: what became of this page's own answer where it was not taken: `late` or `expired`. */
export const outcomes = signal(new Map());

/** The key of a question in `outcomes`. */
export const outcomeKey = (threadId, id) => `${threadId}\u0000${id}`;

/**
 * Answers a question.
 * @param {string} threadId
 * @param {{id: string, kind: 'input'|'auth'}} question
 * @param {object} body `{value, reason?}`, or `{credential?, userId}` for credentials
 * @returns {Promise<'sent'|'late'|'expired'>} throws an ApiError where something else is wrong
 */
export async function send(threadId, { id, kind }, body) {
  const path = threadPath(threadId, `/${kind === 'auth' ? 'auths' : 'inputs'}/${encodeURIComponent(id)}`);
  try {
    await api(path, { method: 'POST', body, headers: once() });
    return 'sent';
  } catch (error) {
    const outcome = error instanceof ApiError ? { 409: 'late', 410: 'expired' }[error.status] : undefined;
    if (!outcome) throw error;
    outcomes.value = new Map(outcomes.value).set(outcomeKey(threadId, id), outcome);
    return outcome;
  } finally {
    refreshWaiting();
  }
}
