// Small parts that several views show: people, states, buttons that copy, times, empty and error states.

import { ago, clock } from './format.js';
import { icon } from './icons.js';
import { cls, html, signal, useEffect, useRef, useState } from './ui.js';

/** The time, ticking each second while someone looks at it. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);

/**
 * Someone by name, with their thread colour.
 * @param {{who: import('./fold.js').Participant|{id: string, name?: string, colour?: number|null, role?: string}}} props
 */
export function Who({ who, quiet = false }) {
  if (!who) return html`<span class="who">someone</span>`;
  const colour = who.colour ?? null;
  return html`<span class=${cls('who', quiet && 'quiet')} data-colour=${colour}><span class="spool" aria-hidden="true"></span>${who.name ?? who.id}</span>`;
}

const STATUS = {
  working: 'working', waiting: 'waits for you', failed: 'failed', idle: 'idle', empty: 'empty',
  created: 'begins', 'waiting-input': 'waits for an answer', 'waiting-auth': 'waits for credentials',
  'waiting-subtask': 'waits for another agent', completed: 'done', canceled: 'stopped',
};

/** Where a thread or task stands: a dot and a word. */
export const Status = ({ status }) =>
  html`<span class="status" data-status=${status}><span class="dot" aria-hidden="true"></span>${STATUS[status] ?? status}</span>`;

/** How the connection stands. */
const CONNECTION = {
  connecting: 'connecting', live: 'live', reconnecting: 'reconnecting', offline: 'offline', gone: 'gone', failed: 'not available',
};
export const Connection = ({ state }) =>
  html`<span class="connection" data-state=${state} role="status"><span class="dot" aria-hidden="true"></span>${CONNECTION[state]}</span>`;

/** A time in ms: how long ago, with the exact one as a title. */
export const When = ({ at }) => (at === null || at === undefined ? null
  : html`<time datetime=${new Date(at).toISOString()} title=${clock(at)}>${ago(at, now.value)}</time>`);

/** A button that copies a text, and says whether it did. */
export function Copy({ text, label = 'Copy', children }) {
  const [done, setDone] = useState(null);
  const timer = useRef();
  const own = useRef();
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    const value = typeof text === 'function' ? await text() : text;
    setDone((await copied(value, own.current)) ? 'Copied' : 'This browser does not let pages copy: select the text instead');
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setDone(null), 1500);
  };
  return html`<button type="button" class="copy" ref=${own} onClick=${copy} aria-label=${done ?? label} title=${done ?? label}>
    ${icon(done === null ? 'copy' : done === 'Copied' ? 'check' : 'close', 14)}${children}</button>`;
}

/** Copies a text. Pages that came over plain HTTP from another machine have no clipboard but the old one. */
async function copied(text, beside) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement('textarea');
    field.value = text;
    field.className = 'unseen';
    // Within a dialog nothing outside of it can be selected.
    (beside?.closest('dialog') ?? document.body).append(field);
    field.select();
    const done = document.execCommand('copy');
    field.remove();
    beside?.focus();
    return done;
  }
}

/** A command that can be copied. */
export const Command = ({ text }) => html`<div class="command"><code>${text}</code><${Copy} text=${text} label="Copy the command" /></div>`;

/** Nothing here, and what to do about it. `level` 1 where the page has no other heading. */
export const Empty = ({ title, level = 2, children }) => html`<div class="empty"><${`h${level}`}>${title}</>${children}</div>`;

/** What went wrong and what to do. */
export function Problem({ error, retry, title = 'This could not be loaded' }) {
  const what = error.status === 0 ? 'The server cannot be reached. Is it running? This page tries again by itself.'
    : error.status === 403 ? 'Your key does not allow this. Ask whoever runs this server for one that does.' : null;
  return html`<div class="problem" role="alert">${icon('error', 20)}<div>
    <strong>${title}</strong><p>${what ?? `${error.message}.`}</p>
    ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}</div></div>`;
}

/** Something is on its way. */
export const Loading = ({ what = 'Loading' }) => html`<div class="loading" role="status"><span class="weave" aria-hidden="true"></span>${what}…</div>`;

/** A dialog that is open while it is shown. `onClose` is called for Escape too. */
export function Dialog({ title, onClose, children, class: name }) {
  const own = useRef();
  useEffect(() => {
    own.current.showModal();
    return () => own.current?.close();
  }, []);
  return html`<dialog ref=${own} class=${name} aria-label=${title} onClose=${onClose} onClick=${(e) => e.target === own.current && onClose()}>
    <header><h2>${title}</h2><button type="button" class="plain" aria-label="Close" onClick=${onClose}>${icon('close')}</button></header>
    ${children}</dialog>`;
}
