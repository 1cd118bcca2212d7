// An event up close: the card under the pointer, and the one that is selected.

import { clock, duration } from '../../../lib/format.js';
import { icon } from '../../../lib/icons.js';
import { Copy, Who } from '../../../lib/parts.js';
import { setQuery, threadLink } from '../../../lib/router.js';
import { html } from '../../../lib/ui.js';
import { about, named } from './describe.js';

const CARD = 300;
/** No more of an event is shown than this. */
const LONG = 20_000;

const WAITS = { 'waiting-input': 'waits for an answer', 'waiting-auth': 'waits for credentials', 'waiting-subtask': 'waits for another agent' };

/** Who an event is of, in a state. */
export function author(state, event) {
  const task = state.tasks.get(event.taskId);
  // An answer is of who gave it.
  const person = event.kind === 'input-received' || event.kind === 'auth-completed' ? state.participants.get(event.userId) : null;
  if (person) return person;
  const id = (event.kind === 'subtask-created' ? task?.by : null) ?? event.agentId ?? event.author ?? task?.by
    ?? (event.role === 'user' ? 'user' : null);
  return state.participants.get(id) ?? null;
}

const exact = (ms) => `${clock(ms)}.${String(ms % 1000).padStart(3, '0')}`;

/** Beside the pointer. It is for the eye: the same is said of what is selected. */
export function Card({ thread, hover, axis, width, height }) {
  const { seq, event } = thread.entries[hover.index];
  const state = thread.liveState.value;
  const { bar, wait } = hover;
  const until = wait && (wait.to ?? bar.to);
  const left = Math.max(8, Math.min(hover.x - 24, width - CARD - 8));
  const up = hover.y > height - 150;
  const lasts = bar && bar.to !== null ? axis.times[bar.to] - axis.times[bar.from] : null;
  const style = { left: `${left}px`, ...(up ? { bottom: `${height - hover.y + hover.row.height + 10}px` } : { top: `${hover.y + 8}px` }) };
  return html`<div class="tl-card" style=${style} aria-hidden="true">
    <p><strong>${named(event)}</strong><span class="grow"></span><span class="tl-seq">#${seq}</span></p>
    ${about(event) && html`<p class="tl-card-text">${about(event)}</p>`}
    <p class="tl-card-foot"><${Who} who=${author(state, event)} quiet /><span>${exact(axis.times[hover.index])}</span></p>
    ${wait && html`<p class="tl-card-foot" data-person=${wait.status !== 'waiting-subtask'}>${icon('question', 13)}<span>${WAITS[wait.status]}</span>
      <span class="grow"></span><span>${until === null ? 'still' : duration(axis.times[until] - axis.times[wait.from])}</span></p>`}
    ${bar && html`<p class="tl-card-foot">${icon(bar.type === 'call' ? 'tool' : 'threads', 13)}<span class="tl-cut">${bar.label || bar.id}</span>
      <span class="grow"></span><span>${lasts === null ? 'goes on' : duration(lasts)}</span></p>`}
  </div>`;
}

/** What is selected, with all it holds. */
export function Selected({ thread, entry, axis }) {
  const { seq, event } = entry;
  const index = thread.indexOf(seq);
  const state = thread.liveState.value;
  const raw = JSON.stringify(event, null, 2) ?? '';
  const since = index > 0 ? axis.times[index] - axis.times[index - 1] : null;
  const step = (to) => () => thread.entries[to] && setQuery({ e: thread.entries[to].seq });
  return html`<section class="tl-selected" aria-label="Selected event">
    <header>
      <h2 aria-live="polite">${named(event)} <span class="tl-seq">#${seq}</span></h2><span class="grow"></span>
      <button type="button" class="plain" aria-label="Event before" title="Event before" disabled=${index <= 0} onClick=${step(index - 1)}><span class="tl-flip">${icon('chevron', 14)}</span></button>
      <button type="button" class="plain" aria-label="Event after" title="Event after" disabled=${index >= thread.entries.length - 1} onClick=${step(index + 1)}>${icon('chevron', 14)}</button>
      <button type="button" class="plain" aria-label="Select nothing" title="Select nothing (Escape)" onClick=${() => setQuery({ e: null })}>${icon('close', 14)}</button>
    </header>
    <p class="tl-line"><${Who} who=${author(state, event)} quiet /><span>${exact(axis.times[index])}</span>
      ${since !== null && since >= 0 && html`<span>+${duration(since)}</span>`}</p>
    ${about(event) && html`<p class="tl-about">${about(event)}</p>`}
    <p class="tl-line">
      <a href=${threadLink(thread.id, { e: seq, at: thread.at.value })}>Conversation</a>
      <a href=${threadLink(thread.id, { tab: 'protocols', e: seq, at: thread.at.value })}>Protocols</a>
      <button type="button" class="tl-link" onClick=${() => setQuery({ at: seq }, { push: true })}>Replay from here</button>
    </p>
    <details><summary>All of it</summary>
      <div class="tl-raw"><${Copy} text=${raw} label="Copy the event" /><pre tabindex="0" role="region" aria-label="The event as JSON">${raw.length > LONG ? `${raw.slice(0, LONG)}…` : raw}</pre></div></details>
  </section>`;
}
