// One column: a thread in one dialect, with what of it tells the selected event, and what is lost.

import { bytes, compact, full } from '../../../lib/format.js';
import { icon } from '../../../lib/icons.js';
import { Copy, Loading, Problem, Who } from '../../../lib/parts.js';
import { setQuery } from '../../../lib/router.js';
import { cls, html, useEffect, useMemo, useRef, useState } from '../../../lib/ui.js';
import { VirtualList } from '../../../lib/virtual.js';
import { Document } from './document.js';
import { Lines, lines } from './json.js';
import { LossReport, useLoss } from './loss.js';
import { Records, rowAt, wire } from './records.js';

/** Of a record, so many lines are shown at first, and so many characters as they are. */
const LINES = 40;
const RAW = 4000;

/**
 * @param {{thread: import('../../../lib/journal.js').Thread, column: object, selected: number|null, raw: boolean,
 *   open: boolean, agents: object[], onAgent: Function, onClose: Function, onLoss: Function}} props
 */
export function Column({ thread, column, selected, raw, open, agents, onAgent, onClose, onLoss }) {
  const { dialect, agent } = column;
  const at = thread.at.value;
  const head = thread.head.value;
  const source = useSource(thread, column, selected ?? at);
  // The records first: a report is made of all of them.
  const report = useLoss(thread, column, at, head, source.status.value !== 'connecting');
  const control = useMemo(() => ({}), [source]);
  const [wide, setWide] = useState(() => new Set());
  const rev = source.rev.value;
  const rows = useMemo(() => shown(source, at), [source, rev, at, dialect.kind === 'native' ? head : 0]);
  const place = usePlace(source, dialect, rows, selected, at);
  const found = place.first;
  const marked = place.count;
  const looked = selected ?? at;
  useEffect(() => {
    if (looked !== null) source.reach?.(looked);
  }, [source, looked]);
  const brought = useRef({});
  useEffect(() => {
    if (found < 0 || !control.show) return undefined;
    const before = brought.current;
    brought.current = { source, selected, key: rows[found].key, marked, raw };
    // When all is read, it can stand in the middle; but whoever has gone elsewhere meanwhile stays there.
    const same = Object.keys(brought.current).every((name) => brought.current[name] === before[name]);
    if (same && !inSight(control.element)) return undefined;
    control.show(found, 'center');
    // Of a long piece, the line that the event brought.
    const frame = requestAnimationFrame(() => requestAnimationFrame(() => bring(control.element)));
    return () => cancelAnimationFrame(frame);
    // Not by its number: what is read before it moves that.
  }, [source, selected, rows[found]?.key, marked, raw, source.status.value]);
  const status = source.status.value;
  const render = (row, index) => html`<${Record} row=${row} thread=${thread} dialect=${dialect} raw=${raw}
    on=${place.has(row, index)} near=${place.near === index} marks=${place.marks(row)} selected=${selected}
    wide=${wide.has(row.key)} onWide=${() => setWide(new Set([...wide, row.key]))} />`;
  const name = agent ? `${dialect.name} as ${agent} sees it` : dialect.name;
  return html`<section class="column" aria-label=${name} data-dialect=${dialect.id}>
    <header class="column-head">
      <div class="line">
        <h2>${dialect.name}</h2>
        <span class="grow"></span>
        <${Copy} text=${() => whole(source, at, dialect)} label=${`Copy all of ${dialect.name}`} />
        <button type="button" class="copy" onClick=${onClose} aria-label=${`Close ${dialect.name}`} title="Close">${icon('close', 14)}</button>
      </div>
      <div class="line about"><span>${dialect.about}</span>
        ${dialect.sees && html`<span class="grow"></span><select value=${agent ?? ''} onChange=${(e) => onAgent(e.target.value || null)} aria-label="Whose view">
          <option value="">as it was recorded</option>
          ${agents.map((one) => html`<option key=${one.id} value=${one.id}>as ${one.name ?? one.id} sees it</option>`)}
        </select>`}</div>
      <div class="line about">
        <span>${full(rows.length)} ${noun(dialect, rows.length)}${source.from > 0 && ` since event ${full(source.from + 1)}`}</span>
        ${source.bytes > 0 && html`<span>${bytes(source.bytes)}</span>`}
        ${status === 'reconnecting' && html`<span class="late">reconnecting</span>`}
        <span class="grow"></span>
        ${report && html`<button type="button" class="loss-chip" aria-expanded=${open} onClick=${onLoss} data-some=${report.count > 0}>
          ${report.count ? `${compact(report.groups.length)} ${report.groups.length === 1 ? 'field' : 'fields'} lost` : 'nothing lost'}</button>`}
      </div>
    </header>
    ${open && report && html`<${LossReport} report=${report} name=${dialect.name} selected=${selected} />`}
    ${status === 'failed' ? html`<${Problem} error=${source.problem.value} title=${`${dialect.name} could not be read`} />`
      : status === 'connecting' && !rows.length ? html`<${Loading} what="Reading" />`
      : html`<${VirtualList} key=${column.key} items=${rows} keyOf=${(row) => row.key} estimate=${96} follow=${at === null && selected === null && dialect.kind !== 'document'}
          label=${`Records of ${name}`} control=${control} render=${render} onStart=${source.from > 0 ? () => source.reach() : undefined}
          header=${source.from > 0 && html`<p class="rec-earlier"><button type="button" class="plain" onClick=${() => source.reach()}>Show what is before event ${full(source.from + 1)}</button></p>`} />`}
    <${Note} place=${place} dialect=${dialect} report=${report} selected=${selected} event=${selected === null ? null : thread.entry(selected)?.event} />
  </section>`;
}

/** Whether what tells the selected event is seen. */
function inSight(scroller) {
  const row = scroller.querySelector('.rec.on, .rec.near');
  if (!row) return false;
  const [own, view] = [row.getBoundingClientRect(), scroller.getBoundingClientRect()];
  return own.bottom > view.top && own.top < view.bottom;
}

/** Brings the first marked line into sight, within its column. */
function bring(scroller) {
  const line = scroller?.querySelector('.jl.on');
  if (!line) return;
  const [own, view] = [line.getBoundingClientRect(), scroller.getBoundingClientRect()];
  if (own.top < view.top || own.bottom > view.bottom) scroller.scrollTop += own.top - view.top - view.height / 3;
}

/** What a column reads; ended when it closes. */
function useSource(thread, { dialect, agent }, near) {
  const source = useMemo(() => (dialect.kind === 'native' ? new Native(thread)
    : dialect.kind === 'stream' ? new Records(thread, dialect.id, near) : new Document(thread, dialect.id, agent)), [thread, dialect, agent]);
  useEffect(() => () => source.end(), [source]);
  const at = thread.at.value;
  const head = thread.head.value;
  useEffect(() => source.show?.(at, head), [source, at, head]);
  return source;
}

/** The entries that the page has anyway. */
class Native {
  bytes = 0;
  problem = { value: null };
  status = { value: 'live' };
  rows = [];
  constructor(thread) {
    this.thread = thread;
    this.rev = thread.liveState;
  }
  end() {}
}

/** The rows up to a position. */
function shown(source, at) {
  if (source instanceof Native) {
    const { entries } = source.thread;
    if (source.of !== entries) Object.assign(source, { of: entries, rows: [] });
    for (let n = source.rows.length; n < entries.length; n++) {
      const { seq, event } = entries[n];
      // Written out when it is looked at.
      source.rows.push({ key: seq, first: seq, last: seq, event: event.kind, get text() { return JSON.stringify(event); } });
    }
  }
  if (source instanceof Document) return source.rows;
  // A list of its own, so that what grew is seen as such.
  return at === null ? source.rows.slice() : source.rows.slice(0, rowAt(source.rows, at + 1));
}

/** Which rows tell the selected event. */
function usePlace(source, dialect, rows, selected, at) {
  const document = source instanceof Document;
  useEffect(() => {
    if (document) source.mark(selected !== null && (at === null || selected <= at) ? selected : null);
  }, [source, selected, at]);
  const none = { first: -1, near: -1, count: 0, has: () => false, marks: () => null };
  if (selected === null) return none;
  if (document) {
    const marked = source.marked.value;
    if (!marked || source.seen !== selected) return { ...none, pending: true };
    const first = rows.findIndex((row) => marked.has(row.pointer));
    return { first, near: -1, count: marked.size, has: (row) => marked.has(row.pointer), marks: (row) => marked.get(row.pointer) ?? null };
  }
  const index = rowAt(rows, selected);
  const has = (row) => row.first <= selected && selected <= row.last;
  let count = 0;
  while (rows[index + count] && has(rows[index + count])) count += 1;
  if (count) return { first: index, near: -1, count, has, marks: () => null };
  const near = Math.min(index, rows.length - 1);
  return { ...none, first: near, near: index < rows.length ? index : -1 };
}

function Record({ row, thread, dialect, raw, on, near, marks, selected, wide, onWide }) {
  const list = useMemo(() => (raw ? null : lines(row.text)), [row.text, raw]);
  const seq = row.last ?? null;
  const by = seq === null ? null : thread.state.value.participants.get(author(thread.entry(seq)?.event));
  const text = dialect.kind === 'stream' && raw ? wire(row).trimEnd() : row.text;
  const select = () => seq !== null && setQuery({ e: seq === selected ? null : seq }, { push: true });
  const title = html`<span class="rec-seq">${row.pointer ?? (row.first === row.last ? row.last : `${row.first}–${row.last}`)}</span>
    <span class="rec-kind">${kindOf(row)}</span>${by && html`<${Who} who=${by} quiet />`}`;
  const long = raw ? text.length > RAW : list.length > LINES + 5;
  const hides = long && !raw && marks && list.slice(LINES).some((line) => marks.has(line.pointer));
  const cut = long && !wide && !hides;
  return html`<article class=${cls('rec', on && 'on', near && 'near')} data-seq=${seq} data-colour=${by?.colour}>
    ${near && html`<p class="rec-gap">Nothing is written at event ${selected}; this comes next.</p>`}
    <div class="rec-head">
      ${seq === null ? html`<span class="rec-title">${title}</span>`
        : html`<button type="button" class="rec-title" aria-pressed=${on} onClick=${select}>${title}</button>`}
      <${Copy} text=${row.text} label="Copy this record" />
    </div>
    ${raw ? html`<pre class="record-text raw">${cut ? text.slice(0, RAW) : text}</pre>`
      : html`<div class="record-text"><${Lines} list=${cut ? list.slice(0, LINES) : list} marks=${marks} /></div>`}
    ${cut && html`<button type="button" class="plain rec-more" onClick=${onWide}>${raw ? `Show all ${bytes(text.length)}` : `Show all ${full(list.length)} lines`}</button>`}
  </article>`;
}

const author = (event) => event?.agentId ?? event?.author ?? null;

/** What a record calls itself. */
function kindOf(row) {
  if (row.event) return row.event;
  const head = row.text.slice(0, 4000);
  const told = /"(?:type|kind|object|role|intent)"\s*:\s*"([^"\\]{1,60})"/.exec(head);
  // Some are named by their only member.
  const only = /^\{"(task|message|statusUpdate|artifactUpdate|event|seq)"/.exec(head);
  if (only && only[1] === 'seq') return /"event":\{"kind":"([^"]{1,60})"/.exec(head)?.[1] ?? '';
  return only?.[1] ?? told?.[1] ?? '';
}

const noun = ({ kind }, count) => {
  const [one, many] = kind === 'native' ? ['event', 'events'] : kind === 'stream' ? ['record', 'records'] : ['part', 'parts'];
  return count === 1 ? one : many;
};

async function whole(source, at, { kind, id }) {
  if (kind === 'document') return source.text;
  await source.reach?.(0);
  const rows = shown(source, at);
  if (kind === 'native' || id === 'journal' || id === 'envelope') return rows.map((row) => `${row.text}\n`).join('');
  return rows.map(wire).join('');
}

/** Ids that stand in many records: they do not say where an event is told. */
const NAMES = ['kind', 'contextId', 'taskId', 'agentId', 'timestamp'];

/** What becomes of the selected event here. */
function Note({ place, dialect, report, selected, event }) {
  if (selected === null || !event || place.pending) return null;
  const lost = report?.by.get(selected) ?? [];
  const rest = Object.keys(event).filter((name) => !NAMES.includes(name) && !lost.some((pointer) => pointer.split('/')[1] === name));
  const names = (list) => list.slice(0, 8).map((name) => html`<code>${name}</code> `);
  return html`<div class="column-note" role="status">
    ${place.count > 0 ? html`<span class="told">${full(place.count)} ${noun(dialect, place.count)}</span>`
      : html`<span>Nothing is written at event ${selected}.</span>`}
    ${report && place.count === 0 && rest.length > 0 && html`<span class="whole">told elsewhere: ${names(rest)}</span>`}
    ${report && place.count > 0 && !lost.length && html`<span class="whole">all of it is told</span>`}
    ${lost.length > 0 && html`<span class="untold">not told: ${names(lost.map((pointer) => pointer.slice(1)))}${lost.length > 8 && `and ${lost.length - 8} more`}</span>`}
  </div>`;
}
