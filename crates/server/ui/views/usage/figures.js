// What the server counted, and how it adds up. Rows are sums by day, agent and model.
//
// Of latency the store keeps how many calls, how long they took together, and the slowest: a mean can be
// added up over any rows, percentiles cannot. Budgets are of a thread and of an agent in one, none is of
// a day: they are lines where threads are compared.

import { api } from '../../lib/api.js';
import { compact, duration, money } from '../../lib/format.js';
import { link } from '../../lib/router.js';
import { useEffect, useRef, useState } from '../../lib/ui.js';

const EVERY = 10_000;
const DAY = 86_400_000;
/** Pages of rows that are asked for at most: 10,000 rows. */
const PAGES = 20;
/** Groups with a colour of their own; the others are one. */
const COLOURS = 8;
const OTHERS = 'others';

/** What can be shown: name, title. */
export const MEASURES = [['tokens', 'Tokens'], ['cost', 'Cost'], ['latency', 'Latency']];

/** A number of a measure as people read it. */
export const shown = (show, value) => (value === null || value === undefined ? '–' : { tokens: compact, cost: money, latency: duration }[show](value));

/** Everything that the page shows, asked again while someone looks. */
export function useUsage(days, thread) {
  const key = `${days} ${thread ?? ''}`;
  const [state, setState] = useState({ key, data: null, error: null });
  const own = useRef({});
  useEffect(() => {
    const me = { ended: false };
    own.current = me;
    const tick = async () => {
      if (!document.hidden || !me.known) {
        try {
          const data = await load(days, thread);
          me.known = true;
          if (!me.ended) setState({ key, data, error: null });
        } catch (error) {
          if (!me.ended) setState((before) => ({ key, data: before.key === key ? before.data : null, error }));
        }
      }
      if (!me.ended) me.timer = setTimeout(tick, EVERY);
    };
    me.again = () => {
      clearTimeout(me.timer);
      tick();
    };
    tick();
    return () => {
      me.ended = true;
      clearTimeout(me.timer);
    };
  }, [key]);
  return { data: state.key === key ? state.data : null, error: state.error, again: () => own.current.again() };
}

async function load(days, thread) {
  const from = new Date(Date.now() - (days - 1) * DAY).toISOString().slice(0, 10);
  const ask = (query) => api(link('/api/usage', { from, thread, ...query }));
  const [first, dearest, agents] = await Promise.all([
    ask({ by: 'day,agent,model', limit: 500 }),
    thread ? { usage: [] } : ask({ by: 'thread', order: 'cost', limit: 8 }),
    api('/api/agents').catch(() => ({ agents: [] })),
  ]);
  const rows = [...first.usage];
  let { next } = first;
  for (let page = 1; next && page < PAGES; page += 1) {
    const more = await ask({ by: 'day,agent,model', limit: 500, after: next });
    rows.push(...more.usage);
    ({ next } = more);
  }
  return { from: first.from, to: first.to, rows, threads: dearest.usage, errors: first.errors, budgets: budgets(agents.agents) };
}

/** What may be spent: by a thread, and by each agent in one thread. */
function budgets(agents) {
  const found = { thread: {}, agents: {} };
  for (const { id, budget } of agents) {
    Object.assign(found.thread, budget?.thread);
    if (budget?.agent) found.agents[id] = budget.agent;
  }
  return found;
}

/** Rows added up. */
export function summed(rows) {
  const sum = { input: 0, output: 0, cached: 0, reasoning: 0, calls: 0, cost: 0, latency: { calls: 0, millis: 0, slowest: 0 } };
  for (const row of rows) {
    for (const name of ['input', 'output', 'cached', 'reasoning', 'calls', 'cost']) sum[name] += row[name];
    sum.latency.calls += row.latency.calls;
    sum.latency.millis += row.latency.millis;
    sum.latency.slowest = Math.max(sum.latency.slowest, row.latency.slowest);
  }
  return sum;
}

/** What a sum is in a measure; null where that is not known. */
export const measured = (show, sum) => (show === 'tokens' ? sum.input + sum.output : show === 'cost' ? sum.cost
  : sum.latency.calls ? sum.latency.millis / sum.latency.calls : null);

/** Who or what used how much, the most first: `{ name, names, colour, value }`. */
export function grouped(rows, by, show) {
  const sums = [...Map.groupBy(rows, (row) => row[by])].map(([name, own]) => ({ name, value: measured(show, summed(own)), weight: summed(own) }));
  // Colours stay with who has them, whatever is shown.
  sums.sort((a, b) => b.weight.input + b.weight.output - a.weight.input - a.weight.output || (a.name < b.name ? -1 : 1));
  const named = sums.length > COLOURS ? sums.slice(0, COLOURS - 1) : sums;
  const groups = named.map(({ name, value }, colour) => ({ name: name || 'unnamed', names: new Set([name]), colour, value }));
  if (named.length < sums.length) {
    const rest = new Set(sums.slice(named.length).map(({ name }) => name));
    groups.push({ name: `${rest.size} ${OTHERS}`, names: rest, colour: COLOURS - 1, value: measured(show, summed(rows.filter((row) => rest.has(row[by])))) });
  }
  return groups;
}

/** A value for each day and group: `{ days: ms[], groups: [{ …group, values }] }`. */
export function dated({ from, to, rows }, groups, by, show) {
  const days = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY) days.push(at);
  const known = Map.groupBy(rows, (row) => row.day);
  const values = groups.map((group) => days.map((at) => {
    const own = (known.get(new Date(at).toISOString().slice(0, 10)) ?? []).filter((row) => group.names.has(row[by]));
    return own.length ? measured(show, summed(own)) : show === 'latency' ? null : 0;
  }));
  return { days, groups: groups.map((group, i) => ({ ...group, values: values[i] })) };
}
