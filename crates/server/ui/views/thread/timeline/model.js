// What a timeline is made of: lanes, rows in them, bars in those, and links between bars. Grows with
// the journal, entry by entry; a lane, a row and a bar stay where they are once they are there.
//
// Places are indices of entries, which an axis turns into positions. Tasks are told by the fold's own
// rules (lib/fold/tasks.js), with indices where it has times.

import { Tasks } from '../../../lib/fold/tasks.js';
import { about, mark, oneLine, said, words } from './describe.js';

/**
 * @typedef {object} Lane `{ id, kind: 'thread'|'person'|'agent', tracks: Track[], top, height, tasks }`
 * @typedef {object} Track a row of tasks that do not overlap, and rows of their tool calls:
 *   `{ row: Row, calls: Row[] }`
 * @typedef {object} Row `{ lane, type: 'tasks'|'calls', bars: Bar[], events: number[], marks: {index, mark}[], top, height }`
 * @typedef {object} Bar `{ type: 'task'|'call', from, to (null while it goes on), row, seq, id, label, task }`;
 *   a task has `spans` and `steps`, a call `name`, `ran` (where it began to run), `progress`, `status`, `error`
 * @typedef {object} Thing a bar, or a wait `{type: 'wait', span, …}`, or a mark `{type: 'mark', mark, …}`
 */

const HEAD = 26;
const TASK = 24;
const CALL = 16;
const GAP = 4;
const END = 10;
/** The thread's own lane is one line, with its name in it. */
const OWN = 20;
/** Where the first lane begins: below the axis. */
export const TOP = 32;

export class Model {
  /** @type {Lane[]} */
  lanes = [];
  byId = new Map();
  tasks = new Tasks();
  /** Bars by task id. */
  bars = new Map();
  calls = new Map();
  /** Prompts by message id: `{index, lane, text}`. */
  messages = new Map();
  /** Who made whom work: `{from, to, fromRow, toRow, index, why, by, of}`. */
  links = [];
  /** @type {Thing[]} all that has a name, in the order it began */
  things = [];
  /** The row each entry is on. */
  rows = [];
  height = TOP;

  take(entries) {
    const before = this.rowCount;
    for (let index = this.rows.length; index < entries.length; index++) this.push(entries[index], index);
    if (this.rowCount !== before) this.layout();
    return this;
  }

  rowCount = 0;

  push({ seq, event: given }, index) {
    const event = given && typeof given === 'object' ? given : {};
    const id = text(event.taskId);
    const ended = this.tasks.apply(event, seq, index);
    const task = id === null ? null : this.tasks.all.get(id);
    const bar = task ? this.taskBar(task, event, seq, index) : null;
    const row = bar ? bar.row : this.lane(event).tracks[0].row;
    this.rows.push(row);
    row.events.push(index);
    if (event.kind === 'message') this.heard(event, row, index);
    if (bar) this.inTask(bar, task, event, seq, index, ended);
    const found = mark(event);
    // Tasks and tools are bars.
    if (found && !['task', 'tool', 'broken'].includes(found)) {
      row.marks.push({ index, mark: found });
      if (found !== 'question') this.things.push({ type: 'mark', mark: found, from: index, to: index, seq, row, label: about(event), event });
    }
    if ((event.kind === 'input-received' || event.kind === 'auth-completed') && bar) this.answered(event, bar, index);
  }

  /** The lane of an event that belongs to no task. */
  lane(event) {
    const agent = text(event.agentId) ?? (event.role === 'user' ? null : text(event.author));
    if (agent !== null) return this.laneOf(agent, 'agent');
    if (event.kind === 'message' && event.role === 'user') return this.laneOf(text(event.author) ?? 'user', 'person');
    return this.laneOf('', 'thread');
  }

  laneOf(id, kind) {
    let lane = this.byId.get(id);
    if (!lane) {
      lane = { id, kind, tracks: [], top: 0, height: 0, tasks: 0 };
      this.lanes.push(lane);
      this.byId.set(id, lane);
      this.track(lane);
    }
    return lane;
  }

  track(lane) {
    const track = { row: this.row(lane, 'tasks'), calls: [] };
    track.row.track = track;
    lane.tracks.push(track);
    return track;
  }

  row(lane, type) {
    this.rowCount += 1;
    const height = type === 'calls' ? CALL : lane.kind === 'agent' ? TASK : OWN;
    return { lane, type, bars: [], events: [], marks: [], top: 0, height };
  }

  heard(event, row, index) {
    const id = text(event.messageId);
    if (id !== null) this.messages.set(id, { index, row, text: words(said(event.content)) });
  }

  taskBar(task, event, seq, index) {
    let bar = this.bars.get(task.id);
    if (bar) return bar;
    // A task may be heard of first by who it goes to.
    const by = task.by ?? (event.kind === 'route-decided' ? text(event.to) : null);
    const lane = this.laneOf(by ?? '', by === null ? 'thread' : 'agent');
    const free = (track) => !track.row.bars.length || track.row.bars.at(-1).to !== null;
    const track = lane.tracks.find(free) ?? this.track(lane);
    bar = {
      type: 'task', id: task.id, from: index, to: null, row: track.row, seq, task: task.id, label: '',
      spans: task.spans, steps: task.steps, status: task.status, by,
    };
    lane.tasks += 1;
    track.row.bars.push(bar);
    this.bars.set(task.id, bar);
    this.things.push(bar);
    // Whose words began it.
    const asked = this.messages.get(event.messageId);
    if (asked) {
      bar.label = asked.text;
      this.link(asked.row, asked.index, bar.row, index, 'asks');
    }
    const parent = task.parent === null ? null : this.bars.get(task.parent);
    if (parent) this.link(parent.row, this.created?.get(task.id) ?? index, bar.row, index, 'calls');
    if (task.prompt) bar.label = words(task.prompt);
    return bar;
  }

  link(fromRow, from, toRow, to, why) {
    this.links.push({ fromRow, from, toRow, to, why });
  }

  inTask(bar, task, event, seq, index, ended) {
    if (event.kind === 'subtask-created' && text(event.subtaskId)) (this.created ??= new Map()).set(event.subtaskId, index);
    if (event.kind === 'route-decided' && text(event.task)) bar.label = words(event.task);
    if (text(event.toolCallId)) this.call(bar, event, seq, index);
    const span = task.spans.at(-1);
    if (span.from === index && span.status.startsWith('waiting') && this.waits !== span) {
      this.waits = span;
      this.things.push({ type: 'wait', span, from: index, seq, row: bar.row, task: bar.id, label: about(event), event });
    }
    bar.status = task.status;
    if (!ended) return;
    bar.to = index;
    if (!bar.label && text(task.message)) bar.label = words(task.message);
    for (const call of bar.open ?? []) if (call.to === null) Object.assign(call, { to: index, status: 'closed' });
    bar.open = [];
  }

  call(bar, event, seq, index) {
    const key = `${bar.id}\u0000${event.toolCallId}`;
    let call = this.calls.get(key);
    const begins = ['tool-call-started', 'tool-call', 'tool-start', 'tool-complete'].includes(event.kind);
    if (!call || (call.to !== null && begins && event.kind !== 'tool-complete')) {
      if (!begins) return;
      const { track } = bar.row;
      let row = track.calls.find((one) => one.bars.at(-1).to !== null);
      if (!row) {
        row = this.row(bar.row.lane, 'calls');
        row.track = track;
        track.calls.push(row);
      }
      call = { type: 'call', id: event.toolCallId, from: index, to: null, row, seq, task: bar.id, name: 'tool', ran: null, progress: null, status: 'asked', label: '' };
      row.bars.push(call);
      this.calls.set(key, call);
      this.things.push(call);
      (bar.open ??= []).push(call);
    }
    if (text(event.toolName)) call.label = call.name = event.toolName;
    if (call.to !== null) return;
    call.row.events.push(index);
    this.rows[index] = call.row;
    if (event.kind === 'tool-start') {
      call.ran ??= index;
      call.status = 'running';
    } else if (event.kind === 'tool-progress' && Number.isFinite(Number(event.progress))) {
      const share = Number(event.progress);
      call.progress = Math.max(0, Math.min(1, share > 1 ? share / 100 : share));
    } else if (event.kind === 'tool-complete' && !event.preliminary) {
      call.to = index;
      call.ran ??= index;
      call.status = event.success !== false ? 'done' : event.outcome === 'denied' ? 'denied' : 'failed';
      call.error = event.success === false ? oneLine(event.error ?? '') : '';
      bar.open = bar.open.filter((one) => one !== call);
    }
  }

  /** An answer is a person's, and reaches the task that waited. */
  answered(event, bar, index) {
    const known = text(event.userId) ?? text(event.providedBy);
    const person = this.byId.get(known) ?? this.lanes.find((lane) => lane.kind === 'person');
    if (!person || person.kind !== 'person') return;
    person.tracks[0].row.events.push(index);
    person.tracks[0].row.marks.push({ index, mark: 'answer' });
    this.link(person.tracks[0].row, index, bar.row, index, 'answers');
  }

  layout() {
    let top = TOP;
    for (const lane of this.lanes) {
      lane.top = top;
      top += lane.kind === 'thread' && !lane.tasks ? GAP : HEAD;
      for (const track of lane.tracks) {
        for (const row of [track.row, ...track.calls]) {
          row.top = top;
          top += row.height + GAP;
        }
      }
      top += lane.kind === 'thread' ? 0 : END - GAP;
      lane.height = top - lane.top;
    }
    this.height = top;
  }

  /** The row at a height, or null. */
  rowAt(y) {
    for (const lane of this.lanes) {
      if (y < lane.top || y >= lane.top + lane.height) continue;
      for (const track of lane.tracks) {
        for (const row of [track.row, ...track.calls]) if (y >= row.top - GAP / 2 && y < row.top + row.height + GAP / 2) return row;
      }
    }
    return null;
  }

  /** Who asked whom, and how often, up to an index: `{from, to, count, why}` by lane id. */
  edges(upto) {
    const found = new Map();
    for (const { fromRow, toRow, to, why } of this.links) {
      if (to > upto) continue;
      const key = `${fromRow.lane.id}\u0000${toRow.lane.id}`;
      const edge = found.get(key);
      if (edge) edge.count += 1;
      else found.set(key, { from: fromRow.lane, to: toRow.lane, count: 1, why });
    }
    return [...found.values()];
  }
}

/** The last place in a sorted list of numbers that is at or before one; -1 where none is. */
export function lastBefore(list, value, of = (one) => one) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(list[middle]) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

const text = (value) => (typeof value === 'string' && value !== '' ? value : null);
