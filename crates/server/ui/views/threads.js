// Threads: all of them, the one updated last first, live; or what was said in them. Its style is in
// style/threads.css. In the address: `q` (words to look for), `status`, `agent`.

import { api, once } from '../lib/api.js';
import { compact, money, plain, titleOf } from '../lib/format.js';
import { icon } from '../lib/icons.js';
import { useKeys } from '../lib/keys.js';
import { Loading, Problem, Status, When, Who } from '../lib/parts.js';
import { go, link, param, setQuery, threadLink } from '../lib/router.js';
import { html, signal, useEffect, useMemo, useRef, useState } from '../lib/ui.js';
import { VirtualList } from '../lib/virtual.js';
import { Search } from './search.js';
import { Welcome } from './welcome.js';

const PAGE = 100;
const EVERY = 1500;
/** So far from the top, in px, someone is reading: nothing moves. */
const NEAR = 60;
/** How a list of none is told. */
const FEW = { waiting: 'waits for someone', working: 'works', failed: 'has failed', idle: 'is idle' };
const STATUSES = [['', 'All'], ['waiting', 'Waiting'], ['working', 'Working'], ['failed', 'Failed'], ['idle', 'Idle']];

export default function Threads() {
  const status = STATUSES.some(([name]) => name === param('status')) ? param('status') : '';
  const agent = param('agent') ?? '';
  const words = param('q') ?? '';
  const field = useRef();
  useEffect(() => {
    if (param('focus') === 'search') {
      field.current?.focus();
      setQuery({ focus: null });
    }
  });
  return html`<div class="threads">
    <header class="threads-head">
      <h1>Threads</h1>
      <search class="find">${icon('search')}<input type="search" ref=${field} data-search aria-label="Search what was said" placeholder="Search what was said" value=${words}
        onInput=${(e) => setQuery({ q: e.target.value })} onKeyDown=${(e) => e.key === 'Escape' && (e.target.value ? setQuery({ q: null }) : e.target.blur())} /></search>
      ${!words && html`<div class="filters" role="group" aria-label="Only those that are">
        ${STATUSES.map(([name, title]) => html`<button type="button" key=${name} class="plain" aria-pressed=${status === name} onClick=${() => setQuery({ status: name }, { push: true })}>${title}</button>`)}
      </div>
      <${With} agent=${agent} />`}
      <span class="grow"></span>
      <${New} />
    </header>
    ${words.trim() ? html`<${Search} words=${words} />` : html`<${List} key=${`${status} ${agent}`} status=${status} agent=${agent} />`}
  </div>`;
}

/** Agents that can be asked for: those that work here, and those that were seen. */
const seen = signal(new Map());
const known = (agents) => {
  const more = agents.filter((one) => !seen.peek().has(one.id));
  if (more.length) seen.value = new Map([...seen.peek(), ...more.map((one) => [one.id, one.name ?? one.id])]);
};

function With({ agent }) {
  useEffect(() => {
    api('/api/agents').then((answer) => known(answer.agents), () => {});
  }, []);
  const all = new Map(seen.value);
  if (agent && !all.has(agent)) all.set(agent, agent);
  if (!all.size) return null;
  return html`<label class="with">With <select aria-label="With" value=${agent} onChange=${(e) => setQuery({ agent: e.target.value }, { push: true })}>
    <option value="">anyone</option>${[...all].sort().map(([id, name]) => html`<option key=${id} value=${id}>${name}</option>`)}</select></label>`;
}

/** Begins a thread, and goes there. */
function New() {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const make = async () => {
    setBusy(true);
    setError(null);
    try {
      const { id } = await api('/api/threads', { method: 'POST', body: {}, headers: once() });
      go(threadLink(id));
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return html`${error && html`<span class="wrong" role="alert">${error.status === 0 ? 'The server cannot be reached.' : `${error.message}.`}</span>`}
    <button type="button" onClick=${make} disabled=${busy}>New thread</button>`;
}

/** A list that grows at its end as someone scrolls, and is kept fresh at its top. */
function useThreads(status, agent, control) {
  const [list, setList] = useState({ items: null, next: null, error: null });
  const own = useRef({ ended: false, busy: false, list });
  own.current.list = list;
  const ask = (after, limit = PAGE) => api(link('/api/threads', { status, participant: agent, after, limit }));
  useEffect(() => {
    const me = own.current;
    me.ended = false;
    let timer;
    const tick = async () => {
      if (!document.hidden || me.list.items === null) {
        try {
          // As much as can be seen moves; what is below comes as it is scrolled to.
          const fresh = await ask(null, me.list.items ? Math.min(PAGE, Math.max(20, me.list.items.length)) : PAGE);
          if (me.ended) return;
          for (const one of fresh.threads) known(one.agents);
          const reads = (control.element?.scrollTop ?? 0) > NEAR;
          setList((before) => (reads ? renewed(before, fresh) : merged(before, fresh)));
        } catch (error) {
          if (error.name === 'AbortError' || me.ended) return;
          setList((before) => ({ ...before, error }));
        }
      }
      timer = setTimeout(tick, EVERY);
    };
    tick();
    return () => {
      me.ended = true;
      clearTimeout(timer);
    };
  }, [status, agent]);
  const more = async () => {
    const me = own.current;
    const { next } = me.list;
    if (!next || me.busy) return;
    me.busy = true;
    try {
      const page = await ask(next);
      if (!me.ended) setList((before) => joined(before, page));
    } catch (error) {
      setList((before) => ({ ...before, error }));
    } finally {
      me.busy = false;
    }
  };
  return [list, more];
}

/**
 * A list as it is shown: `items`, and where each of them is by its id, so that a page more costs as much
 * as the page, however many are there. `items` grows in place.
 */
const listOf = (items, next) => ({ items, at: new Map(items.map((one, n) => [one.id, n])), next, error: null });

/** What is new at the top, then what is known below it. */
function merged(before, { threads, next }) {
  if (before.items === null || before.items.length <= threads.length) return listOf(threads, next);
  // Mostly nothing moved: then what is below is not looked at.
  if (threads.every((one, n) => one.id === before.items[n].id)) return renewed(before, { threads });
  const last = Date.parse(threads.at(-1)?.updatedAt ?? 0);
  // More has changed than was asked for: what is known does not follow on it.
  if (last > Date.parse(before.items[0].updatedAt)) return listOf(threads, next);
  const fresh = new Set(threads.map((one) => one.id));
  // One that is gone from the top was deleted, or does not match any more.
  const rest = before.items.filter((one) => !fresh.has(one.id) && Date.parse(one.updatedAt) <= last);
  return listOf([...threads, ...rest], before.next);
}

/** The same list in the same order, with what is new of each. */
function renewed(before, { threads }) {
  for (const one of threads) {
    const place = before.at.get(one.id);
    if (place !== undefined) before.items[place] = one;
  }
  return { ...before, error: null };
}

function joined(before, { threads, next }) {
  for (const one of threads) {
    if (before.at.has(one.id)) continue;
    before.at.set(one.id, before.items.length);
    before.items.push(one);
  }
  return { ...before, next, error: null };
}

function List({ status, agent }) {
  const control = useRef({}).current;
  const [{ items, next, error }, more] = useThreads(status, agent, control);
  const [at, setAt] = useState(-1);
  const move = (step) => {
    const to = Math.max(0, Math.min((items?.length ?? 1) - 1, at + step));
    setAt(to);
    control.show?.(to, 'nearest');
    requestAnimationFrame(() => control.element?.querySelector(`[data-index="${to}"] a`)?.focus());
  };
  useKeys('Threads', [
    ['j', 'Next thread', () => move(1)],
    ['k', 'Thread before', () => move(-1)],
    ['Enter', 'Open', () => items?.[at] && go(threadLink(items[at].id))],
  ], [items, at]);
  if (!items) return error ? html`<${Problem} error=${error} />` : html`<${Loading} what="Loading threads" />`;
  if (!items.length) {
    return status || agent ? html`<div class="empty"><h2>None of them</h2><p>No thread ${agent ? `with ${agent} ` : ''}${FEW[status] ?? 'is here'} right now.</p>
      <p><button type="button" onClick=${() => setQuery({ status: null, agent: null })}>Show all threads</button></p></div>` : html`<${Welcome} />`;
  }
  return html`${error && html`<p class="stale" role="status">The server cannot be reached. This is how it was.</p>`}
    <${VirtualList} items=${items} keyOf=${keyOf} estimate=${73} control=${control} onEnd=${more} role="list" rowRole="listitem" label="Threads" class="thread-list" rowClass="thread-row"
      render=${(one) => html`<${Row} thread=${one} />`} footer=${next && html`<${Loading} what="Loading more" />`} />`;
}

const keyOf = (one) => one.id;

function Row({ thread }) {
  const { id, lastWords, status, tokens, cost, agents, pending, updatedAt } = thread;
  const words = useMemo(() => plain(lastWords ?? ''), [lastWords]);
  // One more takes no more room than to say so.
  const few = agents.length > 4 ? agents.slice(0, 3) : agents;
  return html`<a class="thread-link" href=${threadLink(id)} data-status=${status}>
    <span class="main">
      <span class="title">${titleOf(thread)}</span>
      <span class="words">${words || html`<span class="dim">nothing said yet</span>`}</span>
    </span>
    <span class="agents">${few.map((one, n) => html`<${Who} key=${one.id} who=${{ ...one, name: one.name ?? one.id, colour: n }} quiet />`)}${few.length < agents.length && html`<span class="dim">and more</span>`}</span>
    <span class="state"><${Status} status=${status} />${pending > 1 && html` <span class="dim">${pending}</span>`}</span>
    <span class="cost">${tokens > 0 && html`<span>${compact(tokens)} tokens</span>`}${cost > 0 && html`<span class="dim">${money(cost)}</span>`}</span>
    <span class="when"><${When} at=${Date.parse(updatedAt)} /></span>
  </a>`;
}
