// Inbox: everything that waits for a person, over all threads; the list on the left, what is chosen on
// the right. Its style is in style/inbox.css. In the address: `item` (what is chosen), `kind`, `order`.

import { icon } from '../lib/icons.js';
import { refreshWaiting } from '../lib/inbox.js';
import { useKeys } from '../lib/keys.js';
import { Connection, Empty, Loading, Problem } from '../lib/parts.js';
import { usePolled } from '../lib/poll.js';
import { go, link, param, setQuery, threadLink } from '../lib/router.js';
import { cls, html, useEffect, useRef, useState } from '../lib/ui.js';
import { Detail } from './inbox/detail.js';
import { itemKey, Row } from './inbox/row.js';

const EVERY = 2000;
const KINDS = [['', 'All'], ['input', 'Questions'], ['auth', 'Credentials']];

/** The same question may be asked again. */
const asking = (item) => `${itemKey(item)} ${item.seq}`;

export default function Inbox() {
  const kind = KINDS.some(([name]) => name === param('kind')) ? param('kind') : '';
  const order = param('order') === 'oldest' ? 'oldest' : 'urgency';
  const { data, error, again } = usePolled(link('/api/inbox', { kind, order, limit: 500 }), EVERY);
  const { data: threads } = usePolled('/api/threads?status=waiting&limit=500', EVERY * 5);
  const titles = new Map(threads?.threads.map((one) => [one.id, one.title]));
  // What was answered here is gone at once; the server's list follows.
  const [done, setDone] = useState(() => new Set());
  const [told, setTold] = useState('');
  const items = data?.items.filter((one) => !done.has(asking(one))) ?? [];
  const chosen = param('item');
  const at = items.findIndex((one) => itemKey(one) === chosen);
  // What is chosen stays in sight, also when someone else has answered it meanwhile.
  const kept = useRef(null);
  if (at >= 0) kept.current = items[at];
  else if (kept.current && itemKey(kept.current) !== chosen) kept.current = null;
  const shown = kept.current;
  const choose = (item) => setQuery({ item: item ? itemKey(item) : null });
  useEffect(() => {
    if (!chosen && items.length && matchMedia('(min-width: 961px)').matches) choose(items[0]);
  });
  useEffect(() => document.querySelector('.inbox [aria-current="true"]')?.scrollIntoView?.({ block: 'nearest' }), [chosen]);
  const place = useRef(0);
  if (at >= 0) place.current = at;
  const move = (step) => items.length && choose(items[Math.max(0, Math.min(items.length - 1, at < 0 ? place.current : at + step))]);
  const press = (act) => document.querySelector(`.inbox .answer [data-act="${act}"]`)?.click();
  const enter = () => document.querySelector('.inbox .answer :is(input:not([type=hidden]), textarea, select, button):not(:disabled)')?.focus();
  useKeys('Inbox', [
    ['j', 'Next', () => move(1)], ['k', 'The one before', () => move(-1)],
    ['ArrowDown', 'Next', () => move(1)], ['ArrowUp', 'The one before', () => move(-1)],
    ['a', 'Approve', () => press('approve')], ['r', 'Reject, with a reason', () => press('reject')],
    ['Enter', 'Answer', enter], ['o', 'Open its thread', () => shown && go(threadLink(shown.thread, { e: shown.seq }))],
  ], [chosen, data, done, at]);
  const finished = (item, outcome) => {
    refreshWaiting();
    if (outcome !== 'sent') return void again();
    const next = items[at + 1] ?? items[at - 1] ?? null;
    setDone((before) => new Set(before).add(asking(item)));
    setTold(`Sent. ${items.length - 1 === 0 ? 'Nothing else waits.' : `${items.length - 1} more ${items.length === 2 ? 'waits' : 'wait'}.`}`);
    kept.current = null;
    setQuery({ item: next ? itemKey(next) : null });
    document.getElementById('main').focus();
  };
  const head = html`<header class="inbox-head"><div class="page-head"><h1>Inbox ${data && html`<span class="number">${items.length}</span>`}</h1>
      ${data && html`<${Connection} state=${error ? 'reconnecting' : 'live'} />`}</div>
    <div class="choices"><div class="segments" role="group" aria-label="Only">${KINDS.map(([name, title]) => html`<button type="button" key=${name} aria-pressed=${kind === name} onClick=${() => setQuery({ kind: name, item: null })}>${title}</button>`)}</div>
      <button type="button" class="plain order" onClick=${() => setQuery({ order: order === 'urgency' ? 'oldest' : null })} title="Change the order">${icon('down', 14)}${order === 'urgency' ? 'Most urgent first' : 'Oldest first'}</button></div></header>`;
  if (!data) return html`<div class="inbox">${head}${error ? html`<${Problem} error=${error} retry=${again} />` : html`<${Loading} what="Looking what waits" />`}</div>`;
  return html`<div class=${cls('inbox', shown && 'chosen')}>
    <section class="inbox-list" aria-label="What waits">${head}
      <p class="unseen" role="status">${told}</p>
      ${items.length > 0 && html`<ul>${items.map((item) => html`<${Row} key=${itemKey(item)} item=${item} title=${titles.get(item.thread)} current=${itemKey(item) === chosen} choose=${choose} />`)}</ul>`}
      ${data.next && html`<p class="more">The first 500 are shown.</p>`}
      ${items.length > 1 && html`<p class="hints" aria-hidden="true"><kbd>j</kbd><kbd>k</kbd> move · <kbd>a</kbd> approve · <kbd>r</kbd> reject · <kbd>↵</kbd> answer</p>`}
    </section>
    <section class="inbox-detail" aria-label="What is asked">
      ${shown ? html`<${Detail} key=${itemKey(shown)} item=${shown} title=${titles.get(shown.thread)} gone=${at < 0 && !done.has(asking(shown))} back=${() => choose(null)}
          next=${items.length ? () => choose(items[Math.min(place.current, items.length - 1)]) : null} finished=${(outcome) => finished(shown, outcome)} />`
        : chosen ? html`<${Empty} title="This no longer waits"><p>It was answered, or the task that asked is over.</p><p><button type="button" onClick=${() => choose(items[0])}>Show what waits</button></p></${Empty}>`
        : items.length === 0 && html`<${Empty} title=${kind ? 'Nothing of this kind waits' : 'Nothing waits for you'}><p>${told ? 'All done. ' : ''}When an agent asks for an approval, an answer or credentials, it is shown here, whatever thread it works in.</p></${Empty}>`}
    </section>
  </div>`;
}
