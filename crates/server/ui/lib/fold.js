// The fold: from entries to what a thread comes to. Every view reads this state, and replay is the
// same fold up to a position. Each entry costs time in proportion to itself.
//
// Follows `crates/protocol/src/journal/{fold,transcript}.rs`; what does not fit is left out, never
// an exception: entries come from anywhere.

import { Artifacts } from './fold/artifacts.js';
import { Tasks, timeOf } from './fold/tasks.js';
import { addUsage, emptyUsage } from './fold/usage.js';

/**
 * What a thread comes to. `rev` changes whenever anything does. Collections are the fold's own and
 * grow in place: read them, never write, and compare by `rev` (an item's, the state's), not by `===`.
 *
 * @typedef {object} State
 * @property {string} id
 * @property {number} rev
 * @property {number} seq the last entry that was folded
 * @property {number|null} began time of the first event, in ms
 * @property {number|null} at time of the last one
 * @property {string|null} title
 * @property {object} thread all that `thread-created` and its updates said
 * @property {'empty'|'idle'|'working'|'waiting'|'failed'} status where the thread stands
 * @property {Map<string, Participant>} participants in the order of their first word
 * @property {Item[]} items the conversation, in the order its items began
 * @property {Array<Item|undefined>} owner by sequence number: the item that an entry went into
 * @property {Map<string, Task>} tasks in the order they began
 * @property {string[]} roots ids of tasks that no other called
 * @property {Map<string, Call>} calls tool calls by `toolCallId`, the latest of each
 * @property {Map<string, Artifact>} artifacts
 * @property {Map<string, Question>} questions all that were asked, by `inputId` or `authId`
 * @property {Map<string, Question>} open those that wait
 * @property {Usage} usage of the thread: `{input, output, cached, reasoning, calls, cost, byAgent, byModel}`
 * @property {Array<{seq: number, at: number|null, event: object}>} routes what the router decided
 * @property {Array<{seq: number, at: number|null, code: string|null, message: string}>} errors
 * @property {boolean} [partial] it is of the journal's end only (see `foldEnd`)
 *
 * @typedef {object} Participant `{ id, name, role: 'user'|'agent'|'tool'|'service', model, colour, seq, left }`;
 *   `colour` 0–7 for agents, by order of appearance; null for others
 *
 * @typedef {object} Item something in the conversation:
 *   `{ key, type, seq, last, rev, by, task, at, void, streaming, redacted }` and, by type,
 *   message: `role, text, content (where it is not text), attachments, intent, confidence, finish`;
 *   thought: `text, thoughtType, verbosity`; call: `call`; artifact: `artifact, version`;
 *   question: `question`; source: `event`; note: `what, text, event`
 *   (`what`: route, status, error, system, cancel, joined, left, subtask, renamed, redacted)
 *
 * @typedef {object} Call `{ id, name, by, task, args, argsText, status: 'writing'|'asked'|'running'|'done'|'failed'|'denied',
 *   progress (0..1 or null), message, icon, result, error, outcome, began, ended, seq, last, item }`
 *
 * @typedef {object} Question `{ id, kind: 'input'|'auth', status: 'open'|'answered'|'expired'|'closed', event, seq, at,
 *   by, task, value, answeredBy, answeredAt, answeredSeq, item }`
 */

let revisions = 0;

export class Fold {
  constructor(id) {
    this.rev = ++revisions;
    this.tasks = new Tasks();
    this.artifacts = new Artifacts();
    this.own = {
      id, seq: 0, began: null, at: null, title: null, thread: {},
      participants: new Map(), items: [], owner: [], calls: new Map(),
      questions: new Map(), open: new Map(), usage: emptyUsage(), routes: [], errors: [],
    };
    this.colours = 0;
    this.parts = new Map();
    this.thoughts = new Map();
    this.steps = new Map();
    this.told = new Set();
  }

  /** @returns {State} */
  state() {
    const { tasks, artifacts, own, rev } = this;
    return {
      ...own, rev, tasks: tasks.all, roots: tasks.roots, artifacts: artifacts.all,
      status: tasks.failed && !tasks.working && !own.open.size ? 'failed'
        : own.open.size ? 'waiting' : tasks.working ? 'working' : own.items.length ? 'idle' : 'empty',
    };
  }

  /** Takes an entry in. */
  apply({ seq, event }) {
    if (!event || typeof event !== 'object') return;
    const { own } = this;
    this.rev = ++revisions;
    own.seq = seq;
    const at = timeOf(event);
    if (at !== null) {
      own.began ??= at;
      own.at = at;
    }
    this.seq = seq;
    this.time = own.at;
    if (text(event.agentId)) this.participant(event.agentId, 'agent');
    if (text(event.author)) this.participant(event.author, event.role === 'user' ? 'user' : 'agent');
    const ended = this.tasks.apply(event, seq, own.at);
    addUsage(own.usage, this.told, event);
    const item = HANDLERS[event.kind]?.call(this, event);
    if (item) {
      this.owned(item);
      if (event.redacted) item.redacted = true;
    }
    if (ended) this.close(event.taskId);
  }

  participant(id, role, more = {}) {
    let one = this.own.participants.get(id);
    if (!one) {
      one = { id, name: id, role, model: null, colour: null, seq: this.seq, left: false };
      this.own.participants.set(id, one);
    }
    Object.assign(one, more);
    if (one.role === 'agent' && one.colour === null) one.colour = this.colours++ % 8;
    return one;
  }

  owned(item) {
    item.last = this.seq;
    item.rev = this.rev;
    this.own.owner[this.seq] = item;
    return item;
  }

  add(type, event, more) {
    const item = {
      key: `${type}-${this.seq}`, type, seq: this.seq, last: this.seq, rev: this.rev,
      by: text(event.agentId) ?? text(event.author) ?? null, task: text(event.taskId) ?? null,
      at: this.time, void: false, streaming: false, ...more,
    };
    this.own.items.push(item);
    const step = this.step(event);
    if (type !== 'note') step.made.push(item);
    item.step = step.number;
    return item;
  }

  step(event) {
    const id = event.taskId ?? '';
    let step = this.steps.get(id);
    if (!step) this.steps.set(id, (step = { number: 0, made: [] }));
    return step;
  }

  note(what, event, said = null) {
    return this.add('note', event, { what, text: said, event });
  }

  /** Text of a task without a part of its own goes no further than its model call. */
  endUnnamed(event) {
    this.finish(this.parts, partKey(event, undefined));
  }

  finish(map, key) {
    const item = map.get(key);
    if (item) {
      item.streaming = false;
      item.rev = this.rev;
      map.delete(key);
    }
    return item;
  }

  /** What a task asked for is not asked for any more, and it says nothing more. */
  close(task) {
    for (const question of this.own.open.values()) {
      if (question.task === task) this.settle(question, 'closed');
    }
    for (const map of [this.parts, this.thoughts]) {
      for (const [key, item] of map) if (item.task === task) this.finish(map, key);
    }
  }

  settle(question, status, more = {}) {
    Object.assign(question, { status, ...more });
    question.item.rev = this.rev;
    this.own.open.delete(question.id);
    return question.item;
  }

  /** The message that text of an event adds to: the last item, if it is of the same model call. */
  textItem(event) {
    const last = this.own.items.at(-1);
    const step = this.step(event).number;
    if (last?.type === 'message' && last.streamed && step > 0 && last.step === step && !last.void &&
        last.by === (event.agentId ?? null) && last.task === (event.taskId ?? null)) {
      if (last.text) last.text += '\n\n';
      return last;
    }
    return this.add('message', event, { role: 'agent', text: '', streamed: true });
  }

  ask(kind, id, event) {
    if (!text(id)) return null;
    const question = {
      id, kind, status: 'open', event, seq: this.seq, at: this.time,
      by: text(event.agentId) ?? this.tasks.all.get(event.taskId)?.by ?? null, task: event.taskId ?? null,
      value: undefined, answeredBy: null, answeredAt: null, answeredSeq: null,
    };
    question.item = this.add('question', event, { question, by: question.by });
    this.own.questions.set(id, question);
    this.own.open.set(id, question);
    return question.item;
  }

  call(event, changes) {
    const id = text(event.toolCallId);
    if (id === null) return null;
    let call = this.own.calls.get(id);
    const over = call && (call.item.void || (call.ended !== null && event.kind !== 'tool-complete'));
    if (!call || over) {
      call = {
        id, name: text(event.toolName) ?? 'tool', by: text(event.agentId) ?? null, task: text(event.taskId) ?? null,
        args: undefined, argsText: '', status: 'asked', progress: null, message: null, icon: null,
        result: undefined, error: null, outcome: null, began: null, ended: null, seq: this.seq, last: this.seq,
      };
      call.item = this.add('call', event, { call });
      this.own.calls.set(id, call);
      this.tasks.all.get(event.taskId)?.calls.push(call);
    }
    if (text(event.toolName)) call.name = event.toolName;
    if (text(event.icon)) call.icon = event.icon;
    Object.assign(call, changes(call));
    call.last = this.seq;
    return call.item;
  }
}

const HANDLERS = {
  'thread-created'(event) {
    this.own.thread = { ...event, ...this.own.thread };
    this.own.title ??= text(event.title);
  },
  'thread-updated'(event) {
    this.own.thread = { ...this.own.thread, ...event };
    if (text(event.title) && event.title !== this.own.title) {
      const first = this.own.title === null;
      this.own.title = event.title;
      return first ? null : this.note('renamed', event, event.title);
    }
    return null;
  },
  'participant-joined'(event) {
    const id = text(event.participantId);
    if (!id) return null;
    const more = { left: false };
    if (['user', 'agent', 'tool', 'service'].includes(event.role)) more.role = event.role;
    if (text(event.name)) more.name = event.name;
    if (text(event.model)) more.model = event.model;
    this.participant(id, more.role ?? 'agent', more);
    return null;
  },
  'participant-left'(event) {
    if (!text(event.participantId)) return null;
    this.participant(event.participantId, 'agent', { left: true });
    return this.note('left', { ...event, agentId: event.participantId });
  },
  message(event) {
    // What a task said is there already; what its envelope adds goes to it.
    if (event.answers !== undefined) {
      const said = this.tasks.all.get(event.answers)?.lastWords ?? null;
      if (said) Object.assign(said, { confidence: event.confidence, intent: event.intent });
      return said;
    }
    const whole = typeof event.content === 'string';
    const role = text(event.role) ?? 'user';
    const item = this.add('message', event, {
      role, text: whole ? event.content : '', content: whole ? undefined : event.content,
      attachments: event.attachments, intent: event.intent, confidence: event.confidence, finish: event.finishReason,
    });
    if (role === 'user') this.participant((item.by ??= 'user'), 'user');
    this.said(item);
    return item;
  },
  'part-started'(event) {
    const key = partKey(event, event.partId);
    if (event.partType === 'reasoning') {
      const item = this.add('thought', event, { text: '', thoughtType: 'reasoning', verbosity: 'normal', streaming: true });
      this.thoughts.set(key, item);
      return item;
    }
    const item = this.textItem(event);
    item.streaming = true;
    this.parts.set(key, item);
    return item;
  },
  'part-finished'(event) {
    const key = partKey(event, event.partId);
    return this.finish(this.parts, key) ?? this.finish(this.thoughts, key) ?? null;
  },
  'content-delta'(event) {
    if (typeof event.delta !== 'string') return null;
    const key = partKey(event, event.partId);
    let item = this.parts.get(key);
    if (!item || item.void) this.parts.set(key, (item = this.textItem(event)));
    item.streaming = true;
    item.text += event.delta;
    this.said(item);
    return item;
  },
  'content-complete'(event) {
    const open = this.finish(this.parts, partKey(event, event.partId));
    if (open && !open.void) return Object.assign(open, { finish: event.finishReason });
    if (typeof event.content !== 'string') return null;
    const item = this.textItem(event);
    item.text += event.content;
    item.finish = event.finishReason;
    this.said(item);
    return item;
  },
  'thought-stream'(event) {
    if (typeof event.content !== 'string') return null;
    const key = partKey(event, event.thoughtId);
    let item = text(event.thoughtId) ? this.thoughts.get(key) : null;
    if (!item || item.void) {
      item = this.add('thought', event, { text: '' });
      if (text(event.thoughtId)) this.thoughts.set(key, item);
    }
    item.text += event.content;
    item.thoughtType = text(event.thoughtType) ?? item.thoughtType ?? 'thinking';
    item.verbosity = text(event.verbosity) ?? item.verbosity ?? 'normal';
    return item;
  },
  'tool-call-started'(event) {
    return this.call(event, () => ({ status: 'writing' }));
  },
  'tool-call-delta'(event) {
    if (typeof event.delta !== 'string' || !this.own.calls.has(event.toolCallId)) return null;
    return this.call(event, (call) => ({ argsText: call.argsText + event.delta }));
  },
  'tool-call'(event) {
    return this.call(event, () => ({ args: event.arguments, status: 'asked' }));
  },
  'tool-start'(event) {
    return this.call(event, (call) => ({ args: call.args ?? event.arguments, status: 'running', began: this.time }));
  },
  'tool-progress'(event) {
    const share = Number(event.progress);
    // Some count to 1, some to 100.
    const progress = !Number.isFinite(share) ? null : Math.max(0, Math.min(1, share > 1 ? share / 100 : share));
    return this.call(event, (call) => ({ progress, message: text(event.message) ?? call.message, status: 'running' }));
  },
  'tool-complete'(event) {
    const denied = event.outcome === 'denied';
    return this.call(event, (call) => ({
      result: event.result, error: text(event.error), outcome: text(event.outcome),
      status: event.preliminary ? 'running' : event.success === false ? (denied ? 'denied' : 'failed') : 'done',
      began: call.began ?? this.time, ended: event.preliminary ? null : this.time,
    }));
  },
  'input-required'(event) {
    return this.ask('input', event.inputId, event);
  },
  'tool-input-required'(event) {
    return this.ask('input', event.inputId, event);
  },
  'auth-required'(event) {
    return this.ask('auth', event.authId, event);
  },
  'input-received'(event) {
    const question = this.own.open.get(event.inputId);
    const by = text(event.userId) ?? text(event.providedBy);
    const more = { value: event.value, answeredBy: by, answeredAt: this.time, answeredSeq: this.seq };
    return question ? this.settle(question, 'answered', more) : null;
  },
  'auth-completed'(event) {
    const question = this.own.open.get(event.authId);
    const more = { answeredBy: text(event.userId), answeredAt: this.time, answeredSeq: this.seq };
    return question ? this.settle(question, 'answered', more) : null;
  },
  'input-expired'(event) {
    const question = this.own.open.get(event.inputId) ?? this.own.open.get(event.authId);
    return question ? this.settle(question, 'expired', { answeredAt: this.time, answeredSeq: this.seq }) : null;
  },
  'file-write': write,
  'data-write': write,
  'dataset-write': write,
  'subtask-created'(event) {
    return this.note('subtask', event, text(event.prompt));
  },
  'step-started'(event) {
    this.step(event).number = this.seq;
    this.step(event).made = [];
    this.endUnnamed(event);
    const by = this.own.participants.get(event.agentId);
    if (by && text(event.model)) by.model = event.model;
    return null;
  },
  'step-finished'(event) {
    this.endUnnamed(event);
    return null;
  },
  'attempt-superseded'(event) {
    const step = this.step(event);
    for (const item of step.made) {
      if (item.type === 'call' && item.call.ended !== null) continue;
      if (item.type === 'artifact' || item.type === 'question') continue;
      Object.assign(item, { void: true, streaming: false, rev: this.rev });
    }
    step.made = [];
    return this.note('status', event, text(event.reason) ?? 'What was said since is void; another attempt follows.');
  },
  'task-status'(event) {
    if (event.status === 'failed') {
      this.own.errors.push({ seq: this.seq, at: this.time, code: text(event.code), message: text(event.message) ?? 'the task failed' });
      return this.note('error', event, text(event.message) ?? 'The task failed.');
    }
    return event.status === 'canceled' ? this.note('cancel', event, text(event.message) ?? 'Stopped.') : null;
  },
  'task-complete'(event) {
    const task = this.tasks.all.get(event.taskId);
    if (!text(event.content) || task?.lastWords) return null;
    const item = this.add('message', event, { role: 'agent', text: event.content, finish: event.finishReason });
    this.said(item);
    return item;
  },
  'cancel-requested'(event) {
    const who = text(event.requestedBy);
    return this.note('cancel', event, [who ? `${who} asked to stop` : 'Asked to stop', text(event.reason)].filter(Boolean).join(': '));
  },
  'route-decided'(event) {
    this.own.routes.push({ seq: this.seq, at: this.time, event });
    return event.to ? this.note('route', event, text(event.reason)) : null;
  },
  error(event) {
    const message = text(event.message) ?? 'an error';
    this.own.errors.push({ seq: this.seq, at: this.time, code: text(event.code), message });
    return this.note('error', event, message);
  },
  source(event) {
    return this.add('source', event, { event });
  },
  redacted(event) {
    const events = Array.isArray(event.events) ? event.events.length : 0;
    const by = event.by === 'anyone' ? null : text(event.by);
    const what = `${by ?? 'Someone'} redacted ${events === 1 ? 'an event' : `${events} events`}`;
    return this.note('redacted', event, text(event.reason) ? `${what}: ${event.reason}` : what);
  },
  system(event) {
    return this.note('system', event, text(event.name));
  },
};

function write(event) {
  const version = this.artifacts.apply(event, this.seq, this.time);
  if (!version) return null;
  if (!version.item) version.item = this.add('artifact', event, { artifact: version.artifact, version });
  version.item.streaming = !version.complete;
  return version.item;
}

Fold.prototype.said = function said(item) {
  const task = this.tasks.all.get(item.task);
  if (task && item.role === 'agent') task.lastWords = item;
};

const text = (value) => (typeof value === 'string' && value !== '' ? value : null);
const partKey = (event, part) => `${event.taskId ?? ''}\u0000${part ?? ''}`;

/** The item that an entry went into, or the last one before it; null where there is none. */
export function ownerOf(state, seq) {
  for (let at = Math.min(seq ?? 0, state.owner.length - 1); at > 0; at--) if (state.owner[at]) return state.owner[at];
  return null;
}

/**
 * The fold up to a position, going on from one before it where that is possible.
 * @param {Fold|null} before what this gave last
 */
export function foldTo(before, id, entries, at) {
  const from = before?.count ?? 0;
  const goesOn = before && before.upto <= at;
  const fold = goesOn ? before : new Fold(id);
  fold.count = goesOn ? from : 0;
  while (fold.count < entries.length && entries[fold.count].seq <= at) fold.apply(entries[fold.count++]);
  fold.upto = at;
  return fold;
}

/**
 * What the end of a journal shows while the rest is not there: of each task what it said from a
 * beginning on that is there; and of the thread what its line in a list says.
 * @param {object} line as the server's lists have it
 * @returns {State} with `partial` set
 */
export function foldEnd(id, entries, line) {
  const fold = new Fold(id);
  fold.seq = 0;
  // In the order they came, so that each has its colour.
  for (const { id: agent, name } of line.agents) fold.participant(agent, 'agent', name ? { name } : {});
  const begun = new Set([undefined, null]);
  for (const entry of entries) {
    const { kind, taskId } = entry.event ?? {};
    if (kind === 'task-created' || kind === 'step-started') begun.add(taskId);
    if (begun.has(taskId)) fold.apply(entry);
  }
  const { title, status, tokens, cost } = line;
  const state = fold.state();
  return { ...state, title, status, partial: true, usage: { ...state.usage, input: tokens, output: 0, cost } };
}
