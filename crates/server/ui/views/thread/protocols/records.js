// A thread's records in a dialect that streams: read with their places in the journal, and followed.
//
// A browser keeps few connections to one server, so of all its tabs' columns only some hold one; the others
// read on when the journal has grown. Of a long thread a column reads from a little before what is looked at,
// and what is earlier when someone goes there.

import { threadPath } from '../../../lib/api.js';
import { follow } from '../../../lib/follow.js';
import { signal } from '../../../lib/ui.js';

/** Columns that hold a connection, over all tabs; without locks (plain HTTP from elsewhere) one for each tab. */
const HELD = 2;
let held = 0;
/** Entries before what is looked at that are read; a thread that is not much longer is read whole. */
const BEFORE = 500;

/**
 * @typedef {{key: string, first: number, last: number, event: string|null, text: string}} Row
 *   a record: which entries it came of, the name it has as an event of a stream, its data
 *
 * Signals: `rev` changes with the rows; `status` is connecting | live | reconnecting | failed; `problem`.
 * `from` is the entry behind which the rows begin.
 */
export class Records {
  /** @type {Row[]} */
  rows = [];
  rev = signal(0);
  status = signal('connecting');
  problem = signal(null);
  bytes = 0;

  /** @param {number|null} near the entry that is looked at; null for the live edge */
  constructor(thread, dialect, near) {
    this.thread = thread;
    this.path = threadPath(thread.id, `/stream?dialect=${dialect}&visibility=internal`);
    const head = thread.head.peek();
    this.from = head > 2 * BEFORE ? Math.max(0, Math.min(near ?? head, head) - BEFORE) : 0;
    this.last = this.cursor(this.from);
    this.upto = this.from;
    this.ending = new AbortController();
    this.run();
  }

  end() {
    this.ending.abort();
  }

  /** The id of an entry, if it is not the beginning. */
  cursor(seq) {
    const epoch = this.thread.last?.split('.')[0];
    return seq > 0 && epoch ? `${epoch}.${seq}` : null;
  }

  /** Reads what is before the rows until an entry is among them, or a stretch of it. */
  async reach(seq = this.from) {
    while (this.from > 0 && seq <= this.from) {
      const was = this.from;
      await (this.reaching ??= this.earlier(Math.max(0, seq - BEFORE)).finally(() => (this.reaching = null)));
      if (this.from === was) return;
    }
  }

  async earlier(to) {
    const older = { rows: [], bytes: 0 };
    const upto = this.from;
    const outcome = await follow(this.path, {
      last: this.cursor(to),
      ending: this.ending.signal,
      frame: ({ id, event, data }) => {
        if (!id) return event === 'caught-up' ? 'read' : null;
        if (data === null) return null;
        if (entryOf(id) > upto) return 'read';
        take(older, id, event, data);
        return null;
      },
      heard: () => {},
      refused: () => {},
    });
    // What was read is left where the journal was another one meanwhile.
    if (outcome !== 'read' || this.from !== upto) return;
    this.rows = older.rows.concat(this.rows);
    this.bytes += older.bytes;
    this.from = to;
    this.flush();
  }

  async run() {
    const letGo = await hold();
    const holds = letGo !== null;
    try {
      for (let failures = 0; !this.ending.signal.aborted;) {
        const outcome = await this.read(holds);
        if (outcome === 'end') return;
        if (outcome === 'broken') {
          if (this.status.peek() !== 'connecting') this.status.value = 'reconnecting';
          await this.pause(Math.min(8000, 300 * 2 ** failures++));
          continue;
        }
        failures = 0;
        if (outcome === 'read') await this.grown();
      }
    } finally {
      letGo?.();
    }
  }

  pause(ms) {
    return new Promise((resolve) => {
      setTimeout(resolve, ms);
      this.ending.signal.addEventListener('abort', resolve, { once: true });
    });
  }

  /** Waits until the journal is longer than what was read. */
  grown() {
    return new Promise((resolve) => {
      let stop = () => {};
      const look = (head) => {
        if (head <= this.upto) return;
        queueMicrotask(() => stop());
        setTimeout(resolve, 300);
      };
      stop = this.thread.head.subscribe(look);
      this.ending.signal.addEventListener('abort', () => { stop(); resolve(); }, { once: true });
    });
  }

  /** One connection; `read` if all that is there was read and nothing is held open. */
  read(holds) {
    return follow(this.path, {
      last: this.last,
      ending: this.ending.signal,
      frame: (frame) => this.frame(frame, holds),
      heard: () => this.soon(),
      refused: (problem, forGood) => {
        this.problem.value = problem;
        if (forGood) this.status.value = 'failed';
      },
    });
  }

  frame({ id, event, data }, holds) {
    if (id) this.last = id;
    if (id && data !== null) {
      take(this, id, event, data);
      this.upto = Math.max(this.upto, entryOf(id));
    }
    if (id || data === null) return null;
    if (event === 'caught-up') {
      this.upto = Math.max(this.upto, seqOf(data));
      this.status.value = 'live';
      this.flush();
      return holds ? null : 'read';
    }
    const anew =
      (event === 'resync' && data.includes('"rewritten"')) ||
      (event === 'folded' && data.includes('"requested"'));
    if (event === 'gap' || anew) {
      Object.assign(this, { rows: [], bytes: 0, from: 0 });
    }
    if (anew) {
      // What was read is not what is there any more.
      this.last = null;
      return 'again';
    }
    if (event === 'gone') return 'end';
    return event === 'resync' ? 'again' : null;
  }

  soon() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      this.flush();
    });
  }

  flush() {
    this.rev.value += 1;
  }
}

/** Takes one of the connections that columns may hold; gives who lets it go, or null where none is left. */
async function hold() {
  if (!navigator.locks) {
    if (held > 0) return null;
    held += 1;
    return () => (held -= 1);
  }
  for (let n = 0; n < HELD; n++) {
    const letGo = await new Promise((got) => {
      navigator.locks.request(`selvedge-column-${n}`, { ifAvailable: true }, (lock) => (lock ? new Promise((release) => got(release)) : got(null)));
    });
    if (letGo) return letGo;
  }
  return null;
}

/** `<epoch>.<seq>` ends a batch; `<epoch>.<seq>.<n>` is the n-th record of the batch after `seq`. */
function entryOf(id) {
  const [, seq, nth] = id.split('.').map(Number);
  return nth === undefined ? seq : seq + 1;
}

/** Adds a record to rows. */
function take(to, id, event, text) {
  const last = entryOf(id);
  const open = id.split('.').length > 2;
  const before = to.rows.at(-1);
  // The last record of a batch closes those before it, which knew only where it begins.
  const first = !open && before?.open ? before.first : last;
  if (!open) {
    for (let at = to.rows.length - 1; at >= 0 && to.rows[at].open; at--) Object.assign(to.rows[at], { open: false, last });
  }
  to.bytes += text.length;
  to.rows.push({ key: id, first, last, event: event === 'message' ? null : event, text, open });
}

function seqOf(data) {
  try {
    return Number(JSON.parse(data).cursor.split('.')[1]) || 0;
  } catch {
    return 0;
  }
}

/** How a record looks on the wire. */
export const wire = ({ event, text }) => `${event ? `event: ${event}\n` : ''}${text.split('\n').map((line) => `data: ${line}`).join('\n')}\n\n`;

/** The index of the first row that tells of an entry or of a later one. */
export function rowAt(rows, seq) {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].last < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
