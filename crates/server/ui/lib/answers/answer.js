// A question that waits for a person, with whatever answers it: approve, choose, fill in, write, or
// hand over a credential. Used by the conversation and by the inbox; its style is in
// style/answers.css.

import { duration } from '../format.js';
import { icon } from '../icons.js';
import { markdown } from '../markdown.js';
import { now } from '../parts.js';
import { cls, html, useMemo, useState } from '../ui.js';
import { Approve } from './approve.js';
import { Auth } from './auth.js';
import { Form } from './form.js';
import { Select } from './select.js';
import { outcomeKey, outcomes, send } from './send.js';
import { Write } from './write.js';

/**
 * @param {object} props
 * @param {string} props.threadId
 * @param {{id: string, kind: 'input'|'auth', event: object}} props.question as in lib/fold.js; an item
 *   of `/api/threads/{id}/inputs` is one with `event: item.question`
 * @param {(outcome: 'sent'|'late'|'expired') => void} [props.onDone]
 * @param {boolean} [props.focus] whether its first control gets the focus
 */
export function Answer({ threadId, question, onDone, focus = false }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const [sent, setSent] = useState(false);
  const submit = async (body) => {
    setBusy(true);
    setError(null);
    try {
      const outcome = await send(threadId, question, body);
      if (outcome === 'sent') setSent(true);
      onDone?.(outcome);
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const { event } = question;
  const prompt = useMemo(() => markdown(event.prompt ?? ''), [event.prompt]);
  const Kind = kindOf(question);
  const late = outcomes.value.get(outcomeKey(threadId, question.id));
  return html`<div class=${cls('answer', busy && 'busy')} aria-busy=${busy}>
    <div class="prose prompt">${prompt}</div>
    <${Expiry} at=${event.expiresAt} />
    ${late ? html`<p class="late" role="alert">${late === 'late' ? 'Someone else answered first. Your answer was not taken.' : 'The time to answer is over.'}</p>`
      : sent ? html`<p class="sent" role="status">${icon('check')}Sent.</p>`
      : html`<${Kind} question=${question} submit=${submit} busy=${busy} error=${error} focus=${focus} />`}
    ${error && html`<p class="wrong" role="alert">${error.status === 0 ? 'The server cannot be reached. Nothing was sent: try again.' : `${error.message}.`}</p>`}
  </div>`;
}

function kindOf({ kind, event }) {
  if (kind === 'auth') return Auth;
  const { inputType, schema, options } = event;
  if (inputType === 'selection' && Array.isArray(options) && options.length) return Select;
  if (schema && typeof schema === 'object' && !isYesNo(schema)) return Form;
  if (inputType === 'confirmation' || inputType === 'tool-execution' || isYesNo(schema)) return Approve;
  if (Array.isArray(options) && options.length) return Select;
  return Write;
}

const isYesNo = (schema) => schema?.type === 'boolean';

/** How long there is time. */
export function Expiry({ at }) {
  const end = typeof at === 'string' ? Date.parse(at) : NaN;
  if (Number.isNaN(end)) return null;
  const left = end - now.value;
  return html`<p class=${cls('expiry', left < 60_000 && 'soon')}>${left <= 0 ? 'The time to answer is over.' : `${duration(Math.ceil(left / 1000) * 1000)} left to answer`}</p>`;
}

/** What was answered, in a line. */
export function Settled({ threadId, question, nameOf = (id) => id }) {
  const lost = outcomes.value.get(outcomeKey(threadId, question.id));
  const by = question.answeredBy ? nameOf(question.answeredBy) : null;
  const said = {
    answered: question.kind === 'auth' ? `Authenticated${by ? ` by ${by}` : ''}`
      : `${summary(question.value)}${by ? ` · ${by}` : ''}`,
    expired: 'Nobody answered in time', closed: 'No longer asked: the task is over',
  }[question.status];
  const no = question.value === false || question.value?.approved === false;
  return html`<div class="settled" data-status=${question.status}>
    ${icon(question.status !== 'answered' || no ? 'close' : 'check')}<span>${said}</span>
    ${lost && html`<p class="late" role="alert">${lost === 'late' ? 'Someone else answered first. Your answer was not taken.' : 'Your answer came too late.'}</p>`}
  </div>`;
}

/** A value in a few words. */
export function summary(value) {
  if (value === true || value?.approved === true) return 'Approved';
  if (value === false || value?.approved === false) return 'Rejected';
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return 'Answered';
  if (Array.isArray(value)) return value.map((one) => (typeof one === 'object' ? one?.name ?? one?.label ?? one?.id ?? JSON.stringify(one) : String(one))).join(', ');
  if (typeof value === 'object') return Object.entries(value).map(([name, own]) => `${name}: ${typeof own === 'object' ? JSON.stringify(own) : own}`).join(', ');
  return String(value);
}
