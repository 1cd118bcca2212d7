// Conversation: what was said and done, as people read it, and a place to say more. Its style is in
// style/conversation.css. In the address: `e` (the selected event), `thoughts` (the wordiest that are
// shown: off, brief, normal, detailed).

import { ownerOf } from '../../lib/fold.js';
import { icon } from '../../lib/icons.js';
import { useKeys } from '../../lib/keys.js';
import { Empty } from '../../lib/parts.js';
import { numberParam, param, setQuery } from '../../lib/router.js';
import { html, useEffect, useMemo, useRef, useState } from '../../lib/ui.js';
import { VirtualList } from '../../lib/virtual.js';
import { ForkDialog } from './branches/fork.js';
import { Composer } from './composer.js';
import { Item } from './item.js';

const LEVELS = ['off', 'brief', 'normal', 'detailed'];

/** @param {{thread: import('../../lib/journal.js').Thread}} props */
export default function Conversation({ thread }) {
  const state = thread.state.value;
  const control = useRef({}).current;
  const [atEnd, setAtEnd] = useState(true);
  const [forks, setForks] = useState(null);
  const level = LEVELS.includes(param('thoughts')) ? param('thoughts') : 'normal';
  const selected = ownerOf(state, numberParam('e'));
  const items = useShown(state, level);
  const place = selected ? items.indexOf(selected) : -1;
  useEffect(() => {
    if (place >= 0) control.show?.(place, 'nearest');
  }, [selected?.key]);
  const move = (step) => {
    const from = place >= 0 ? place : step > 0 ? -1 : items.length;
    const next = items[Math.max(0, Math.min(items.length - 1, from + step))];
    if (next) setQuery({ e: next.seq });
  };
  useKeys('Conversation', [
    ['j', 'Next item', () => move(1)],
    ['k', 'Item before', () => move(-1)],
    ['G', 'To the end', () => control.toEnd?.()],
    ['o', 'Open or close the selected item', () => control.element?.querySelector('[aria-current] summary')?.click()],
    ['f', 'Fork after the selected item', () => selected && setForks(selected.last)],
    ['c', 'Write', () => document.querySelector('.composer textarea')?.focus()],
  ], [items, place, selected]);
  const live = thread.at.value === null;
  return html`<div class="conversation">
    <${Announcer} state=${thread.liveState.value} live=${live} />
    ${items.length === 0 ? html`<div class="quiet"><${Empty} title="Nothing was said yet"><p>${live ? 'What agents and people say shows up here as they say it.' : 'At this position the journal holds no words yet.'}</p></${Empty}></div>`
      : html`<${VirtualList} items=${items} keyOf=${keyOf} estimate=${72} follow control=${control} onEdge=${setAtEnd} label="Conversation" rowClass="row"
        header=${state.partial && html`<p class="earlier" role="status">Reading what was said before…</p>`}
        render=${(item, n) => html`<${Item} item=${item} rev=${item.rev} before=${items[n - 1]} state=${state} thread=${thread} selected=${item === selected} onFork=${setForks} />`} />`}
    ${!atEnd && items.length > 0 && html`<div class="to-end-place"><button type="button" class="to-end" onClick=${() => control.toEnd()}>${icon('down')}Latest</button></div>`}
    <${Composer} thread=${thread} level=${level} levels=${LEVELS} />
    ${forks !== null && html`<${ForkDialog} thread=${thread} at=${forks} onClose=${() => setForks(null)} />`}
  </div>`;
}

const keyOf = (item) => item.key;

/** Items without the thoughts that are too wordy; the fold's own list where none is. */
function useShown(state, level) {
  const kept = useRef(null);
  return useMemo(() => {
    if (level === 'detailed') return state.items;
    const most = LEVELS.indexOf(level);
    const shows = (item) => item.type !== 'thought' || LEVELS.indexOf(item.verbosity ?? 'normal') <= most;
    // What was looked at is not looked at again while the same list grows.
    let own = kept.current;
    if (!own || own.from !== state.items || own.level !== level || own.seen > state.items.length) own = { from: state.items, level, seen: 0, list: [] };
    for (; own.seen < state.items.length; own.seen++) if (shows(state.items[own.seen])) own.list.push(state.items[own.seen]);
    kept.current = own;
    return own.list;
  }, [state.rev, level]);
}

/** New messages, for whoever listens instead of looking: when they are whole, and the last one only. */
function Announcer({ state, live }) {
  const [said, setSaid] = useState('');
  // By number: before all of the journal is here, its items are counted otherwise.
  const from = useRef(state.items.at(-1)?.seq ?? 0);
  useEffect(() => {
    if (!live) return;
    for (let n = state.items.length - 1; n >= 0 && state.items[n].seq > from.current; n--) {
      const item = state.items[n];
      if (item.type === 'message' && !item.streaming && item.text) {
        setSaid(`${state.participants.get(item.by)?.name ?? item.by}: ${item.text.slice(0, 400)}`);
        from.current = item.seq;
        break;
      }
      if (item.type === 'question' && item.question.status === 'open') {
        setSaid(`${state.participants.get(item.by)?.name ?? 'An agent'} asks: ${item.question.event.prompt}`);
        from.current = item.seq;
        break;
      }
    }
  }, [state.rev]);
  return html`<div class="unseen" aria-live="polite">${said}</div>`;
}
