// Tasks and their tree, with times.
//
// @typedef Task { id, by, parent, children: string[], status, message, code, initiator, seq, last,
//   began, ended, spans: [{status, from, to, seq}], steps: [{seq, from, to, model, usage, finish}],
//   calls: Call[], lastWords: Item|null, prompt }
// `status`: created, working, waiting-input, waiting-auth, waiting-subtask, completed, failed, canceled.
// Times are ms; `to` and `ended` are null while it goes on.

const ENDS = new Set(['completed', 'failed', 'canceled']);
const STATES = new Set([...ENDS, 'created', 'working', 'waiting-input', 'waiting-auth', 'waiting-subtask']);
const AFTER = {
  'task-complete': 'completed', 'input-required': 'waiting-input', 'tool-input-required': 'waiting-input',
  'auth-required': 'waiting-auth', 'input-received': 'working', 'auth-completed': 'working', 'step-started': 'working',
  'content-delta': 'working', 'content-complete': 'working', 'tool-start': 'working', 'tool-call': 'working',
  'thought-stream': 'working',
};

/** When an event says it happened, in ms; null where it does not. */
export function timeOf(event) {
  if (typeof event.timestamp !== 'string') return null;
  const ms = Date.parse(event.timestamp);
  return Number.isNaN(ms) ? null : ms;
}

export class Tasks {
  all = new Map();
  roots = [];
  /** How many are at work, and whether the one that ended last failed. */
  working = 0;
  failed = false;

  entry(id, seq, at) {
    let task = this.all.get(id);
    if (!task) {
      task = {
        id, by: null, parent: null, children: [], status: 'created', message: null, code: null, initiator: null,
        seq, last: seq, began: at, ended: null, spans: [{ status: 'created', from: at, to: null, seq }],
        steps: [], calls: [], lastWords: null, prompt: null,
      };
      this.all.set(id, task);
      this.roots.push(id);
      this.working += 1;
    }
    return task;
  }

  adopt(parent, child, seq, at) {
    const own = this.entry(child, seq, at);
    if (parent === child || own.parent !== null) return own;
    this.entry(parent, seq, at).children.push(child);
    own.parent = parent;
    this.roots.splice(this.roots.lastIndexOf(child), 1);
    return own;
  }

  /** Takes an event in; says whether its task ended by it. */
  apply(event, seq, at) {
    const id = event.taskId;
    if (typeof id !== 'string') return false;
    const task = this.entry(id, seq, at);
    task.last = seq;
    task.by ??= event.agentId ?? event.metadata?.agentId ?? null;
    task.initiator ??= event.initiator ?? null;
    if (typeof event.parentTaskId === 'string') this.adopt(event.parentTaskId, id, seq, at);
    if (event.kind === 'subtask-created' && typeof event.subtaskId === 'string') {
      const child = this.adopt(id, event.subtaskId, seq, at);
      child.prompt = event.prompt ?? null;
      // Who is called, not who calls.
      if (typeof event.agentId === 'string') child.by = event.agentId;
    }
    if (event.kind === 'step-started') {
      task.steps.push({ seq, from: at, to: null, model: event.model ?? null, usage: null, finish: null });
    } else if (event.kind === 'step-finished' || event.kind === 'attempt-superseded') {
      const step = task.steps.at(-1);
      if (step && step.to === null) {
        Object.assign(step, { to: at, usage: event.usage ?? null, finish: event.finishReason ?? 'void' });
        step.model = event.model ?? step.model;
      }
    }
    const status = event.kind === 'task-status' ? event.status : AFTER[event.kind];
    return STATES.has(status) && this.turn(task, status, event, seq, at);
  }

  turn(task, status, event, seq, at) {
    if (ENDS.has(task.status)) return false;
    const said = event.kind === 'task-status' ? event.message : event.kind === 'task-complete' ? event.content : undefined;
    if (said !== undefined) task.message = said;
    if (event.code !== undefined) task.code = event.code;
    if (task.status === status) return false;
    task.spans.at(-1).to = at;
    task.status = status;
    if (!ENDS.has(status)) {
      task.spans.push({ status, from: at, to: null, seq });
      return false;
    }
    task.ended = at;
    const step = task.steps.at(-1);
    if (step && step.to === null) step.to = at;
    this.working -= 1;
    this.failed = status === 'failed';
    return true;
  }
}
