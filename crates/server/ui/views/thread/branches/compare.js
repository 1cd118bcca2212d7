// Two branches side by side from where they part: how much each came to, and what differs in it.

import { api, threadPath } from '../../../lib/api.js';
import { compact, full, money } from '../../../lib/format.js';
import { icon } from '../../../lib/icons.js';
import { openThread } from '../../../lib/journal.js';
import { Empty, Loading, Problem, Who } from '../../../lib/parts.js';
import { threadLink } from '../../../lib/router.js';
import { cls, html, useEffect, useMemo, useState } from '../../../lib/ui.js';
import { VirtualList } from '../../../lib/virtual.js';
import { align, differing, said } from './align.js';

/** It is asked again when both have been still for so long. */
const STILL = 600;

/** @param {{thread: import('../../../lib/journal.js').Thread, other: string, names: Map<string, object>, actions: Function, top: object}} props `top` stands above it */
export function Compare({ thread, other, names, actions, top }) {
  const beside = useThread(other);
  const heads = `${thread.head.value}|${beside?.head.value}`;
  const { diff, error, again } = useDiff(thread.id, other, heads);
  const left = thread.liveState.value;
  const right = beside?.liveState.value;
  const rows = useMemo(() => (diff && right ? align(since(left, diff.base), since(right, diff.base)) : []), [diff?.base, left.rev, right?.rev]);
  if (error) return html`<div class="branches-scroll">${top}<${Problem} error=${error} retry=${again} title="The two could not be compared" /></div>`;
  if (!diff || !beside) return html`<div class="branches-scroll">${top}<${Loading} what="Comparing" /></div>`;
  const head = html`${top}
    <${Measures} diff=${diff} names=${names} actions=${actions} />
    <p class="shared">${icon('branch', 14)}${diff.base ? html`<span>Both have events 1–${full(diff.base)}. <a href=${threadLink(thread.id, { at: diff.base })}>See where they part</a></span>` : html`<span>They share nothing.</span>`}</p>
    ${!rows.length && html`<p class="shared-none">Nothing was said since, on either side. What you write in the conversation of one goes its own way.</p>`}`;
  return html`<${VirtualList} class="compare" items=${rows} keyOf=${(row) => row.key} estimate=${88} header=${head} label="Comparison"
    render=${(row) => html`<div class=${cls('pair', row.same && 'same')}>
      <${Cell} item=${row.left} other=${row.right} same=${row.same} state=${left} side="left" />
      <${Cell} item=${row.right} other=${row.left} same=${row.same} state=${right} side="right" />
    </div>`} />`;
}

/** Another thread, followed while it is compared. */
function useThread(id) {
  const [thread, setThread] = useState(null);
  useEffect(() => {
    const opened = openThread(id, 'earliest');
    setThread(opened);
    return () => opened.release();
  }, [id]);
  return thread?.id === id && thread.caughtUp.value ? thread : null;
}

function useDiff(id, other, heads) {
  const [told, setTold] = useState({});
  const [tries, setTries] = useState(0);
  const key = `${id}\n${other}`;
  useEffect(() => {
    const own = new AbortController();
    const timer = setTimeout(() => {
      const path = threadPath(id, `/diff?with=${encodeURIComponent(other)}&limit=1&visibility=internal`);
      api(path, { signal: own.signal }).then((diff) => setTold({ key, diff }), (error) => error.name !== 'AbortError' && setTold((before) => (before.key === key && before.diff ? before : { key, error })));
    }, told.key === key && told.diff ? STILL : 0);
    return () => {
      clearTimeout(timer);
      own.abort();
    };
  }, [key, heads, tries]);
  return { diff: told.key === key ? told.diff : null, error: told.key === key ? told.error : null, again: () => setTries(tries + 1) };
}

/** What was said and done after an event. */
const since = (state, base) => state.items.filter((item) => item.last > base && (item.type !== 'note' || ['error', 'cancel'].includes(item.what)));

const MEASURES = [
  ['Events', (s) => s.events], ['Messages', (s) => s.messages], ['Tool calls', (s) => s.toolCalls], ['Artifacts', (s) => s.artifacts],
  ['Tokens in', (s) => s.usage.input], ['Tokens out', (s) => s.usage.output], ['Cost', (s) => s.usage.cost, money],
];

/** How much each came to since they parted. */
function Measures({ diff, names, actions }) {
  const sides = [diff.left, diff.right];
  const most = (of) => Math.max(1e-9, ...sides.map((side) => of(side.summary)));
  return html`<table class="measures">
    <thead><tr><th><span class="unseen">Measure</span></th>
      ${sides.map((side, n) => html`<th key=${n} scope="col" data-side=${n ? 'right' : 'left'}><span class="side-name">${names.get(side.id)?.title ?? side.id}</span>${actions(side.id)}</th>`)}
      <th scope="col" class="change">More or less</th></tr></thead>
    <tbody>${MEASURES.map(([name, of, show = compact]) => {
      const [a, b] = sides.map((side) => of(side.summary));
      return (a > 0 || b > 0) && html`<tr key=${name}><th scope="row">${name}</th>
        ${[a, b].map((value, n) => html`<td key=${n} data-side=${n ? 'right' : 'left'}><span class="number">${show(value)}</span><span class="bar" style=${{ '--share': value / most(of) }}></span></td>`)}
        <td class="change">${a === b ? '–' : `${a > b ? '+' : '−'}${show(Math.abs(a - b))}`}</td></tr>`;
    })}
    <${Models} usage=${diff.difference?.usage?.items ?? []} /></tbody></table>`;
}

/** Who used what, where more than one did. */
function Models({ usage }) {
  if (usage.length < 2) return null;
  const all = (tokens) => (tokens ? tokens.input + tokens.output : 0);
  const most = Math.max(1, ...usage.flatMap(({ left, right }) => [all(left), all(right)]));
  return usage.map(({ agent, model, left, right }) => html`<tr key=${`${agent}\n${model}`} class="by-model">
    <th scope="row" title=${[agent, model].filter(Boolean).join(', ')}>${agent || model}${agent && model ? html` <small>${model}</small>` : null}</th>
    ${[left, right].map((tokens, n) => html`<td key=${n} data-side=${n ? 'right' : 'left'}><span class="number">${compact(all(tokens))}</span><span class="bar" style=${{ '--share': all(tokens) / most }}></span></td>`)}
    <td class="change">${all(left) === all(right) ? '–' : `${all(left) > all(right) ? '+' : '−'}${compact(Math.abs(all(left) - all(right)))}`}</td></tr>`);
}

function Cell({ item, other, same, state, side }) {
  if (!item) return html`<div class="cell none" data-side=${side}></div>`;
  const who = state.participants.get(item.by);
  return html`<article class="cell" data-side=${side} data-colour=${who?.colour}>
    <header><${Who} who=${who ?? { id: item.role === 'user' ? 'user' : 'someone' }} quiet /><span class="cell-what">${what(item)}</span><span class="cell-seq">${item.seq}</span></header>
    <${Text} item=${item} other=${other} same=${same} />
    ${item.type === 'call' && html`<p class="cell-result">${result(item.call)}</p>`}
    ${item.type === 'question' && item.question.value !== undefined && html`<p class="cell-result">answered: ${JSON.stringify(item.question.value)}</p>`}
  </article>`;
}

function Text({ item, other, same }) {
  const text = said(item);
  const pieces = useMemo(() => (other && !same ? differing(text, said(other)) : [[text, false]]), [text, other, same]);
  // Texts that have little in common are read as they are.
  const apart = pieces.reduce((sum, [piece, differs]) => sum + (differs ? piece.length : 0), 0) > text.length * 0.6;
  return html`<div class=${item.type === 'call' ? 'cell-text code' : 'cell-text'}>${apart ? text : pieces.map(([piece, differs], n) => (differs ? html`<mark key=${n}>${piece}</mark>` : piece))}</div>`;
}

function what({ type, call, version, what: note, finish }) {
  if (type === 'call') return html`uses <code>${call.name}</code>`;
  if (type === 'artifact') return `writes version ${version.number ?? ''}`;
  return type === 'thought' ? 'thinks' : type === 'question' ? 'asks' : type === 'note' ? note : finish && finish !== 'stop' ? finish : '';
}

function result({ status, result: value, error, outcome }) {
  if (error) return `${outcome ?? 'failed'}: ${error}`;
  if (value === undefined) return status;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `→ ${text.length > 300 ? `${text.slice(0, 300)}…` : text}`;
}

/** Nothing to compare with. */
export const Alone = ({ onFork }) => html`<${Empty} title="One line so far">
  <p>Fork the thread to try another way from any point: another question, another model, another answer to an approval. Both stay, and are compared here in text, tools, tokens and cost.</p>
  <p><button type="button" class="primary" onClick=${onFork}>${icon('branch', 14)}Fork this thread</button></p></${Empty}>`;
