// The timeline as a list: the same tasks, tools, waits and marks as text, for whoever would rather read
// or does not see the lanes.

import { clock, duration } from '../../../lib/format.js';
import { icon } from '../../../lib/icons.js';
import { Who } from '../../../lib/parts.js';
import { numberParam, setQuery } from '../../../lib/router.js';
import { cls, html, useEffect, useRef } from '../../../lib/ui.js';
import { VirtualList } from '../../../lib/virtual.js';
import { lastBefore } from './model.js';

const LOOKS = {
  task: ['threads', 'Task'], call: ['tool', 'Tool'], wait: ['question', 'Waits'], message: ['person', 'Message'],
  answer: ['check', 'Answer'], artifact: ['file', 'Artifact'], error: ['error', 'Error'],
};
const ENDS = {
  completed: 'done', failed: 'failed', canceled: 'stopped', done: 'done', denied: 'denied', closed: 'not finished', running: 'runs', asked: 'asked for',
  working: 'works', created: 'begins', 'waiting-input': 'waits for an answer', 'waiting-auth': 'waits for credentials', 'waiting-subtask': 'waits for another agent',
};

/** @param {{thread, model, axis, upto: number}} props */
export function List({ thread, model, axis, upto }) {
  const state = thread.liveState.value;
  const things = model.things;
  const shown = upto >= model.rows.length - 1 ? things : things.slice(0, lastBefore(things, upto, (one) => one.from) + 1);
  const e = numberParam('e');
  const chosen = e === null ? null : lastBefore(shown, thread.indexOf(e), (one) => one.from);
  const control = useRef({}).current;
  useEffect(() => {
    if (chosen !== null && chosen >= 0) control.show?.(chosen, 'nearest');
  }, [e]);
  if (!shown.length) return html`<p class="tl-none">Nothing has happened yet.</p>`;
  // Times of another day have the day with them.
  const dated = clock(axis.times[shown[0].from]).includes(' ');
  return html`<div class=${cls('tl-list', dated && 'dated')}><div class="tl-list-head" aria-hidden="true"><span>Began</span><span>Who</span><span>What</span><span>Took</span></div>
    <${VirtualList} items=${shown} keyOf=${(one) => `${one.type}${one.seq}`} estimate=${40} role="list" rowRole="listitem" label="What happened" follow=${thread.at.value === null && e === null} control=${control}
      render=${(one, n) => html`<${Row} one=${one} state=${state} axis=${axis} upto=${upto} chosen=${n === chosen} />`} /></div>`;
}

function Row({ one, state, axis, upto, chosen }) {
  const [mark, name] = LOOKS[one.type === 'mark' ? one.mark : one.type] ?? LOOKS.task;
  const to = one.type === 'wait' ? one.span.to : one.to;
  const over = to !== null && to <= upto;
  const how = one.type === 'mark' ? null : one.type === 'wait' ? (over ? null : 'still open') : over || to === null ? ENDS[one.status] ?? one.status : 'goes on';
  const bad = one.mark === 'error' || one.status === 'failed' || one.status === 'denied' || (one.type === 'wait' && one.span.status !== 'waiting-subtask');
  const { lane } = one.row;
  const words = one.type === 'wait' ? one.label.replace(/^waits /, '') : one.error && over ? `${one.label}: ${one.error}` : one.label;
  return html`<button type="button" class=${cls('tl-row', chosen && 'chosen')} aria-pressed=${chosen} onClick=${() => setQuery({ e: one.seq })}>
    <span class="tl-row-when">${clock(axis.times[one.from])}</span>
    <span class="tl-row-who">${lane.kind === 'thread' ? 'Thread' : html`<${Who} who=${state.participants.get(lane.id) ?? { id: lane.id }} quiet />`}</span>
    <span class=${cls('tl-row-what', bad && 'bad')}>${icon(mark, 14)}<span class="tl-row-name">${name}</span><span class="tl-cut">${words}</span>${how && html`<span class="tl-row-how">${how}</span>`}</span>
    <span class="tl-row-took">${one.type === 'mark' ? '' : over ? duration(axis.times[to] - axis.times[one.from]) : ''}</span>
  </button>`;
}
