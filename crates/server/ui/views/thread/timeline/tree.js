// The task tree: who called whom, where each stands, how long it took.

import { duration } from '../../../lib/format.js';
import { now, Status, Who } from '../../../lib/parts.js';
import { numberParam, setQuery } from '../../../lib/router.js';
import { cls, html, useMemo } from '../../../lib/ui.js';
import { VirtualList } from '../../../lib/virtual.js';

/** Deeper ones are drawn no further to the right. */
const DEEPEST = 6;
/** Of a row, in px. */
const HEIGHT = 52;

/** @param {{thread, state, model}} props */
export function Tree({ thread, state, model }) {
  const rows = useMemo(() => flat(state), [state.rev]);
  const e = numberParam('e');
  const chosen = e === null ? null : thread.entry(e)?.event?.taskId ?? null;
  if (!rows.length) return html`<p class="tl-none">No task yet. One begins when an agent is asked for something.</p>`;
  return html`<${VirtualList} items=${rows} keyOf=${(row) => row.task.id} estimate=${HEIGHT} role="list" rowRole="listitem" label="Tasks"
    render=${(row) => html`<${Row} row=${row} rev=${state.rev} state=${state} past=${thread.state.value !== thread.liveState.value} bar=${model.bars.get(row.task.id)} chosen=${row.task.id === chosen} />`} />`;
}

function Row({ row: { task, depth, parent, below }, state, past, bar, chosen }) {
  const who = state.participants.get(task.by ?? bar?.by);
  const label = bar?.label;
  const caller = parent && state.participants.get(parent.by);
  const open = task.ended === null;
  const took = (open ? (past ? state.at : now.value) : task.ended) - task.began;
  return html`<button type="button" class=${cls('tl-task', chosen && 'chosen')} aria-pressed=${chosen} style=${{ paddingLeft: `${12 + Math.min(depth, DEEPEST) * 18}px` }}
    onClick=${() => setQuery({ e: bar?.seq ?? task.seq })}>
    ${depth > 0 && html`<span class="tl-elbow" aria-hidden="true" style=${{ left: `${12 + (Math.min(depth, DEEPEST) - 1) * 18 + 3}px`, height: `${below * HEIGHT - 28}px` }}></span>`}
    <span class="tl-task-head"><${Who} who=${who ?? { id: task.by ?? 'unnamed' }} quiet />
      ${caller && html`<span class="unseen">, called by ${caller.name}</span>`}<span class="grow"></span>
      <span class="tl-took">${duration(took)}</span></span>
    <span class="tl-task-foot"><${Status} status=${task.status} />${label && html`<span class="tl-cut">${label}</span>`}</span>
  </button>`;
}

/** Tasks in the order of the tree, with their depth, and how far below who called them. */
function flat({ tasks, roots }) {
  const found = [];
  const seen = new Set();
  // A stack, not recursion: chains may be long.
  const stack = roots.map((id) => ({ id, depth: 0, parent: null, place: 0 })).reverse();
  while (stack.length) {
    const { id, depth, parent, place } = stack.pop();
    const task = tasks.get(id);
    if (!task || seen.has(id)) continue;
    seen.add(id);
    const own = found.push({ task, depth, parent, below: found.length - place }) - 1;
    for (let n = task.children.length - 1; n >= 0; n--) stack.push({ id: task.children[n], depth: depth + 1, parent: task, place: own });
  }
  return found;
}
