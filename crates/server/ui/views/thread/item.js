// One item of a conversation, by its type.

import { Answer, Settled } from '../../lib/answers/answer.js';
import { Artifact } from '../../lib/artifact.js';
import { Parts } from '../../lib/content.js';
import { clock, duration, full, plain } from '../../lib/format.js';
import { icon } from '../../lib/icons.js';
import { Json, oneLine } from '../../lib/json.js';
import { growing, inline, markdown, safeLink } from '../../lib/markdown.js';
import { Who, now } from '../../lib/parts.js';
import { setQuery, threadLink } from '../../lib/router.js';
import { cls, html, useMemo, useRef, useState } from '../../lib/ui.js';

const TYPES = { message: Message, thought: Thought, call: Call, artifact: ArtifactItem, question: Question, note: Note, source: Source };

/** @param {{item: object, rev: number, before?: object, state: object, thread: object, selected: boolean, onFork: (seq: number) => void}} props */
export function Item({ item, rev, before, state, thread, selected, onFork }) {
  const who = state.participants.get(item.by);
  const Type = TYPES[item.type] ?? Note;
  const own = item.type === 'note' || item.type === 'source';
  // A name stands where someone begins.
  const begins = !own && (!before || before.type === 'note' || before.by !== item.by);
  return html`<article class=${cls('item', begins && 'begins', item.void && 'void')} data-type=${item.type} data-role=${item.role ?? who?.role}
      data-seq=${item.seq} data-colour=${who?.colour} aria-current=${selected ? 'true' : undefined}>
    ${begins && html`<header><${Who} who=${who ?? { id: item.by ?? 'someone' }} />
      ${item.at !== null && html`<time datetime=${new Date(item.at).toISOString()}>${clock(item.at)}</time>`}</header>`}
    <${Type} item=${item} rev=${rev} state=${state} thread=${thread} who=${who} />
    ${item.redacted && html`<p class="redacted">${icon('lock', 14)}${item.text ? 'Some of this was redacted' : 'Redacted'}</p>`}
    <div class="side">
      <button type="button" class="copy" aria-label=${`Fork after entry ${item.last}`} title="Fork here" onClick=${() => onFork(item.last)}>${icon('branch', 14)}</button>
      <a class="anchor" href=${threadLink(thread.id, { e: item.seq })} title=${`Entry ${item.seq}`} aria-label=${`Link to entry ${item.seq}`}
        onClick=${(e) => { e.preventDefault(); setQuery({ e: selected ? null : item.seq }); }}>${item.seq}</a>
    </div>
  </article>`;
}

/** Characters of a message that are shown at once. */
const LONG = 50_000;

function Message({ item }) {
  const read = useRef(null);
  read.current ??= growing();
  const [all, setAll] = useState(false);
  const cut = !all && item.text.length > LONG;
  const body = useMemo(() => read.current(cut ? item.text.slice(0, LONG) : item.text), [item, cut || item.text]);
  const score = item.confidence?.score;
  return html`<div class=${cls('message', item.streaming && 'streaming')}>
    ${item.text && html`<div class="prose">${body}</div>`}
    ${cut && html`<button type="button" class="plain" onClick=${() => setAll(true)}>Show all ${full(item.text.length)} characters</button>`}
    ${(item.content !== undefined || item.attachments) && html`<${Parts} content=${item.content} attachments=${item.attachments} />`}
    ${Number.isFinite(score) && html`<p class="confidence" title=${item.confidence.rationale ?? ''}>
      <span class="bar" aria-hidden="true"><span style=${{ width: `${Math.round(score * 100)}%` }}></span></span>${Math.round(score * 100)} % sure${typeof item.confidence.rationale === 'string' ? html` · ${item.confidence.rationale}` : ''}</p>`}
    ${item.finish && !['stop', 'tool_calls'].includes(item.finish) && html`<p class="dim">ended: ${item.finish}</p>`}
    ${item.void && html`<p class="dim">Void: another attempt follows.</p>`}
  </div>`;
}

function Thought({ item, rev }) {
  const [open, setOpen] = useState(item.verbosity === 'brief');
  const body = useMemo(() => (open ? markdown(item.text) : null), [item, rev, open]);
  const first = plain(item.text.slice(0, 240));
  return html`<details class="thought" open=${open} onToggle=${(e) => setOpen(e.target.open)}>
    <summary>${icon('thought', 14)}<span class="kind">${item.thoughtType}</span>${!open && html`<span class="first">${first}</span>`}</summary>
    ${open && html`<div class="prose">${body}</div>`}
  </details>`;
}

const CALL = { writing: 'writing', asked: 'waits', running: 'running', done: 'done', failed: 'failed', denied: 'denied' };

function Call({ item: { call }, state }) {
  const brief = useMemo(() => oneLine(call.args ?? call.argsText, 160), [call, call.args, call.argsText]);
  const [open, setOpen] = useState(false);
  const began = call.began;
  const took = began === null ? null : (call.ended ?? (call.status === 'running' ? Math.max(now.value, began) : state.at)) - began;
  const running = call.status === 'running';
  return html`<div class="call-item"><details class="call" data-status=${call.status} open=${open} onToggle=${(e) => setOpen(e.target.open)}>
    <summary>${icon('tool', 14)}<code>${call.name}</code>
      <span class="first">${brief}</span>
      <span class="state">${call.error && !open ? oneLine(call.error, 60) : CALL[call.status]}${took !== null && call.status !== 'asked' ? ` · ${duration(took)}` : ''}</span></summary>
    ${open && html`<div class="inside">
      <p class="label">Arguments</p>${call.args !== undefined ? html`<${Json} value=${call.args} open=${2} />` : html`<pre tabindex="0">${call.argsText || '–'}</pre>`}
      ${call.result !== undefined && html`<p class="label">Result</p>${typeof call.result === 'string' ? html`<pre tabindex="0">${call.result}</pre>` : html`<${Json} value=${call.result} open=${2} />`}`}
      ${call.error && html`<p class="label">Error</p><p class="wrong">${call.error}</p>`}
    </div>`}
  </details>
    ${running && call.progress !== null && html`<div class="progress"><progress max="1" value=${call.progress} aria-label=${`Progress of ${call.name}`}></progress><span>${Math.round(call.progress * 100)} %${call.message ? ` · ${call.message}` : ''}</span></div>`}
    ${running && call.progress === null && call.message && html`<p class="dim">${call.message}</p>`}
  </div>`;
}

function ArtifactItem({ item, rev, thread }) {
  return html`<${Artifact} threadId=${thread.id} version=${item.version} rev=${rev} />`;
}

function Question({ item, state, thread }) {
  const { question } = item;
  const open = question.status === 'open';
  const nameOf = (id) => state.participants.get(id)?.name ?? id;
  const here = thread.at.value === null;
  return html`<div role="group" class=${cls('question', open && 'open')} aria-label=${open ? 'Waits for you' : 'Was asked'}>
    ${open && html`<p class="waits">${icon(question.kind === 'auth' ? 'lock' : 'question', 14)}Waits for you</p>`}
    ${open && here ? html`<${Answer} threadId=${thread.id} question=${question} />`
      : html`<div class="prose">${markdown(question.event.prompt ?? '')}</div>
        ${open ? html`<p class="dim">Go to the live edge to answer.</p>` : html`<${Settled} threadId=${thread.id} question=${question} nameOf=${nameOf} />`}`}
  </div>`;
}

const NOTES = { route: 'route', error: 'error', cancel: 'stop', subtask: 'branch', left: 'person', system: 'data', status: 'more', renamed: 'more', redacted: 'lock' };

function Note({ item, state }) {
  const { event, what } = item;
  const name = (id) => html`<${Who} who=${state.participants.get(id) ?? { id }} quiet />`;
  const data = what === 'system' ? event.data : undefined;
  return html`<div class="note" data-what=${what}>${icon(NOTES[what] ?? 'more', 14)}
    ${what === 'route' ? html`<span>to ${name(event.to)}${event.intent ? html` <span class="intent">${event.intent}</span>` : ''}${item.text ? html` · ${inline(item.text)}` : ''}</span>`
      : what === 'subtask' ? html`<span>to ${name(event.agentId ?? state.tasks.get(event.subtaskId)?.by)}${item.text ? html` · ${inline(item.text)}` : ''}</span>`
      : what === 'left' ? html`<span>${name(event.participantId)} left</span>`
      : what === 'renamed' ? html`<span>The thread is called “${item.text}” now</span>`
      : what === 'error' ? html`<span>${event.agentId ? html`${name(event.agentId)} ` : ''}<span class="wrong">${item.text}</span>${event.code ? html` <code>${event.code}</code>` : ''}</span>`
      : what === 'system' ? html`<details><summary>${item.text}</summary><${Json} value=${data} /></details>`
      : html`<span>${event.agentId ? html`${name(event.agentId)} ` : ''}${item.text}</span>`}
  </div>`;
}

function Source({ item: { event } }) {
  const href = safeLink(event.url);
  const title = [event.title, event.filename, event.url].find((one) => typeof one === 'string') ?? 'a source';
  return html`<div class="note" data-what="source">${icon('link', 14)}${href ? html`<a href=${href} target="_blank" rel="noopener noreferrer">${title}</a>` : html`<span>${title}</span>`}</div>`;
}
