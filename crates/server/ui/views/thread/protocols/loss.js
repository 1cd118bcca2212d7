// What a dialect has no place for: asked of the server, gathered by reason, and shown.

import { api, threadPath } from '../../../lib/api.js';
import { compact, full } from '../../../lib/format.js';
import { setQuery } from '../../../lib/router.js';
import { html, signal, useEffect, useMemo } from '../../../lib/ui.js';

/** It is asked for again when the journal has been still for so long. */
const STILL = 1000;

/**
 * The loss report of a column, asked for once its records are there (`ready`): null while it is not known, else
 * `{ count, groups: [{ reason, what, kind, seqs }], by: Map(seq → pointers) }`.
 */
export function useLoss(thread, { dialect, agent }, at, head, ready) {
  const report = useMemo(() => signal(null), [thread, dialect, agent]);
  useEffect(() => {
    if (dialect.carrier) {
      report.value = gather({ count: 0, losses: [] });
      return undefined;
    }
    if (!ready) return undefined;
    const own = new AbortController();
    const whose = agent ? `&agent=${encodeURIComponent(agent)}` : '';
    const place = at === null ? '' : `&at=${at}`;
    const path = threadPath(thread.id, `/loss?dialect=${dialect.id}&visibility=internal${whose}${place}`);
    const timer = setTimeout(() => {
      api(path, { signal: own.signal }).then((told) => (report.value = gather(told)), () => {});
    }, report.peek() ? STILL : 0);
    return () => {
      clearTimeout(timer);
      own.abort();
    };
  }, [report, at ?? head, ready]);
  return report.value;
}

function gather({ count, losses }) {
  const groups = new Map();
  const by = new Map();
  for (const { seq, pointer, reason } of losses) {
    let group = groups.get(reason);
    if (!group) groups.set(reason, (group = { reason, ...words(reason, pointer), seqs: [] }));
    if (seq !== null) group.seqs.push(seq);
    if (!by.has(seq)) by.set(seq, []);
    by.get(seq).push(pointer);
  }
  return { count, by, groups: [...groups.values()].sort((a, b) => b.seqs.length - a.seqs.length) };
}

/** `a2a has no place for timestamp of this message event` in its parts. */
function words(reason, pointer) {
  const found = /has no place for (\S+) of this (\S+) event$/.exec(reason);
  return found ? { what: found[1], kind: found[2] } : { what: pointer.split('/').at(-1), kind: null };
}

/** The report: what is lost, how often, and the way to each. */
export function LossReport({ report, name, selected }) {
  if (!report.groups.length) return html`<div class="loss"><p class="loss-none">Nothing is lost: ${name} has a place for everything in this thread.</p></div>`;
  const kinds = Map.groupBy(report.groups, (group) => group.kind ?? 'records');
  return html`<div class="loss" tabindex="0" role="region" aria-label=${`What ${name} has no place for`}>
    <p>${full(report.count)} ${report.count === 1 ? 'value has' : 'values have'} no place in ${name}. They stay in the journal.</p>
    <dl>${[...kinds].map(([kind, groups]) => html`<div key=${kind}>
      <dt>${kind}</dt>
      <dd>${groups.map((group) => html`<button type="button" key=${group.reason} class="lost" title=${group.reason}
        aria-pressed=${group.seqs.includes(selected)} onClick=${() => setQuery({ e: after(group.seqs, selected) })}>
        <code>${group.what}</code>${group.seqs.length > 1 && html`<span>×${compact(group.seqs.length)}</span>`}</button>`)}</dd>
    </div>`)}</dl></div>`;
}

/** The next of them, and after the last the first. */
const after = (seqs, selected) => seqs.find((seq) => selected !== null && seq > selected) ?? seqs[0] ?? null;
