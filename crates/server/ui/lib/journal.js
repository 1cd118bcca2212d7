// A thread, live: its journal as entries, and what they come to. Resumes after any break, without
// a gap or a double, and says how it stands.
//
// Of a long thread the end is shown first, so that opening it does not depend on its length; the
// whole is read behind that.

import { api, threadPath } from './api.js';
import { Fold, foldEnd, foldTo } from './fold.js';
import { follow } from './follow.js';
import { batch, computed, signal } from './ui.js';

const WAITS = [300, 600, 1200, 2500, 5000, 10_000];
/** Entries that are asked for first. */
const RECENT = 400;

const open = new Map();

/**
 * The thread of an id; the same object for all who ask while someone holds it.
 * @param {'recent'|'earliest'} first what is shown first, if it is opened by this
 * @returns {Thread} call `release()` when done
 */
export function openThread(id, first = 'recent') {
  const thread = open.get(id) ?? new Thread(id, first);
  open.set(id, thread);
  thread.holders += 1;
  return thread;
}

/**
 * @typedef {{seq: number, event: object}} Entry
 *
 * A thread that is followed. Signals:
 * - `connection`: connecting | live | reconnecting | offline | gone | failed
 * - `problem`: the ApiError of `failed`, or of the last try
 * - `caughtUp`: all that was there when the page opened has arrived
 * - `recent`: `liveState` is of the end only (`state.partial`), until all has arrived
 * - `head`: the last sequence number that arrived
 * - `at`: the position that is shown, or null for the live edge; the thread's page sets it
 * - `state`: what the journal comes to up to `at` (see fold.js)
 * - `liveState`: the same at the live edge
 */
export class Thread {
  /** @type {Entry[]} what arrived, in order; never replaced by a shorter one but after a `gap` */
  entries = [];
  connection = signal('connecting');
  problem = signal(null);
  caughtUp = signal(false);
  recent = signal(false);
  head = signal(0);
  at = signal(null);
  holders = 0;

  constructor(id, first) {
    this.id = id;
    this.fold = new Fold(id);
    this.liveState = signal(this.fold.state());
    this.replay = null;
    this.state = computed(() => {
      const at = this.at.value;
      const live = this.liveState.value;
      if (at === null || at >= this.head.value) return live;
      this.replay = foldTo(this.replay, this.id, this.entries, at);
      return this.replay.state();
    });
    this.last = null;
    this.ending = new AbortController();
    this.wake = () => {};
    this.nudge = () => this.wake();
    addEventListener('online', this.nudge);
    document.addEventListener('visibilitychange', this.nudge);
    this.run(first);
  }

  release() {
    this.holders -= 1;
    // A page that comes back at once finds it open.
    setTimeout(() => {
      if (this.holders > 0 || open.get(this.id) !== this) return;
      open.delete(this.id);
      removeEventListener('online', this.nudge);
      document.removeEventListener('visibilitychange', this.nudge);
      this.ending.abort();
    }, 2000);
  }

  /** The entry of a sequence number, if it is shown to this reader. */
  entry(seq) {
    const index = this.indexOf(seq);
    return this.entries[index]?.seq === seq ? this.entries[index] : undefined;
  }

  /** The index of the first entry at or behind a sequence number. */
  indexOf(seq) {
    let [low, high] = [0, this.entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.entries[middle].seq < seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  async run(first) {
    let failures = 0;
    if (first === 'recent') await this.peek();
    while (!this.ending.signal.aborted) {
      const outcome = await this.follow(() => (failures = 0));
      if (outcome === 'end') return;
      if (outcome === 'again') continue;
      this.flush();
      this.connection.value = navigator.onLine === false ? 'offline' : 'reconnecting';
      const wait = WAITS[Math.min(failures++, WAITS.length - 1)];
      await this.pause(wait * (0.5 + Math.random() / 2));
    }
  }

  /** Shows the end. A thread that is no longer than that is here by it; else the whole follows once it is seen. */
  async peek() {
    let page;
    try {
      page = await api(threadPath(this.id, `/events?visibility=internal&last=${RECENT}`), { signal: this.ending.signal });
    } catch {
      // The stream says what is wrong.
      return;
    }
    const { entries, cursor, head, thread } = page;
    const [, seq] = cursor.split('.').map(Number);
    if (seq !== head || !thread) return;
    if (head <= RECENT) {
      for (const entry of entries) this.put(entry);
      this.last = cursor;
      this.arrived();
      return;
    }
    const state = foldEnd(this.id, entries, thread);
    if (!state.items.length) return;
    batch(() => {
      this.liveState.value = state;
      this.recent.value = true;
    });
    await seen();
  }

  pause(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** One connection, to its end. */
  follow(wentWell) {
    return follow(threadPath(this.id, '/stream?visibility=internal'), {
      last: this.last,
      ending: this.ending.signal,
      frame: (frame) => this.frame(frame),
      heard: () => {
        if (this.connection.peek() !== 'live' && this.caughtUp.peek()) this.connection.value = 'live';
        wentWell();
        this.soon();
      },
      refused: (problem, forGood) => {
        this.problem.value = problem;
        if (forGood) this.connection.value = problem.status === 404 ? 'gone' : 'failed';
      },
    });
  }

  /** Takes a frame in; gives how the connection ends, if it does. */
  frame({ id, event, data }) {
    if (id !== null && id !== '') this.last = id;
    if (data === null) return null;
    if (id !== null) {
      this.take(Number(id.split('.')[1]), data);
      return null;
    }
    // Ours, about the stream itself.
    if (event === 'caught-up') {
      this.arrived();
      batch(() => {
        this.connection.value = 'live';
        this.problem.value = null;
      });
    } else if (event === 'gap') {
      this.reset();
    } else if (event === 'resync') {
      if (data.includes('"rewritten"')) this.anew();
      return 'again';
    } else if (event === 'folded' && data.includes('"requested"')) {
      // Some of what is one entry now is here already.
      this.anew();
      return 'again';
    } else if (event === 'gone') {
      this.flush();
      this.connection.value = 'gone';
      return 'end';
    }
    return null;
  }

  take(seq, data) {
    const before = this.entries.at(-1)?.seq ?? 0;
    if (!(seq > before)) return;
    let event;
    try {
      event = JSON.parse(data);
    } catch {
      return;
    }
    this.put({ seq, event });
  }

  put({ seq, event }) {
    const entry = { seq, event };
    this.entries.push(entry);
    this.fold.apply(entry);
  }

  /** All that was there is here. */
  arrived() {
    batch(() => {
      this.flush();
      this.recent.value = false;
      this.caughtUp.value = true;
    });
  }

  /** What was read is not what is there any more: it is forgotten, and read from the start. */
  anew() {
    this.reset();
    this.last = null;
  }

  /** Another journal has this id now. */
  reset() {
    this.entries = [];
    this.fold = new Fold(this.id);
    this.replay = null;
    this.caughtUp.value = false;
    this.recent.value = false;
    this.flush();
  }

  /** Shows what arrived, once a frame. */
  soon() {
    if (this.due || !this.caughtUp.peek()) return;
    this.due = true;
    const run = () => {
      this.due = false;
      this.flush();
    };
    if (document.hidden) setTimeout(run, 500);
    else requestAnimationFrame(run);
  }

  flush() {
    batch(() => {
      this.head.value = this.entries.at(-1)?.seq ?? 0;
      if (this.liveState.peek().rev !== this.fold.rev) this.liveState.value = this.fold.state();
    });
  }
}

/** When what was changed just now is on the screen, or at once where nobody looks. */
const seen = () => (document.hidden ? Promise.resolve() : new Promise((resolve) => {
  requestAnimationFrame(() => setTimeout(resolve));
}));
