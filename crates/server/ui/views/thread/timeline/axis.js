// The axis of a timeline: where each entry stands. In time, long silences are shortened to a break, so
// that a night without a word does not push everything else together; or by events, each as wide as
// the other. Positions only ever grow with the journal's order, and none changes once it is there.

import { timeOf } from '../../../lib/fold/tasks.js';

/** Where a silence is longer than this, it is drawn this long, with a mark. */
const LONGEST = 5000;

/** Steps between labels: ms of time, or events. */
const STEPS = [50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000];
const COUNTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];

export class Axis {
  /** Units from the start, by index of the entry: ms, or events. */
  pos = [];
  /** When it happened, in ms, as far as is known. */
  times = [];
  /** Stretches in which time runs evenly: `{pos, time, end}`. */
  runs = [];
  /** Silences that are drawn shorter than they were: `{from, to, ms}` in units. */
  breaks = [];

  /** @param {'time'|'events'} kind */
  constructor(kind, longest = LONGEST) {
    this.kind = kind;
    this.longest = longest;
  }

  /** Takes in what is new of a list that only grows. */
  take(entries) {
    for (let index = this.pos.length; index < entries.length; index++) this.push(entries[index]);
    return this;
  }

  push({ event }) {
    const index = this.pos.length;
    const last = index ? this.times[index - 1] : null;
    const time = (event && typeof event === 'object' ? timeOf(event) : null) ?? last ?? 0;
    this.times.push(time);
    if (this.kind === 'events') {
      this.pos.push(index);
      return;
    }
    const before = index ? this.pos[index - 1] : 0;
    const gap = index ? time - last : 0;
    const at = before + Math.min(Math.max(0, gap), this.longest);
    this.pos.push(at);
    if (gap > this.longest) this.breaks.push({ from: before, to: at, ms: gap });
    if (!index || gap > this.longest || gap < 0) this.runs.push({ pos: at, time, end: at });
    else this.runs[this.runs.length - 1].end = at;
  }

  /** How far it reaches; `now` lets what goes on reach further. */
  extent(now = null) {
    const count = this.pos.length;
    if (!count) return 0;
    const last = this.pos[count - 1];
    if (this.kind === 'events') return last + 1;
    return now === null ? last : last + Math.min(Math.max(0, now - this.times[count - 1]), this.longest);
  }

  /** The last index at or before a position; -1 before the first. */
  indexAt(pos) {
    let [low, high] = [0, this.pos.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.pos[middle] <= pos) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Labels between two positions, at least `room` units apart: `{pos, value}` (a time, or the how-manieth). */
  ticks(from, to, room) {
    const steps = this.kind === 'events' ? COUNTS : STEPS;
    const step = steps.find((one) => one >= room) ?? Math.ceil(room / steps.at(-1)) * steps.at(-1);
    const found = [];
    const runs = this.kind === 'events' ? [{ pos: 0, time: 1, end: this.pos.length }] : this.runs;
    let first = this.kind === 'events' ? 0 : this.runAt(from);
    for (; first < runs.length && runs[first].pos <= to; first++) {
      const run = runs[first];
      // The last one goes on as long as it is live.
      const end = Math.min(to, first === runs.length - 1 ? Infinity : run.end);
      const begin = run.time + Math.max(0, from - run.pos);
      for (let value = Math.ceil(begin / step) * step; run.pos + value - run.time <= end; value += step) {
        found.push({ pos: run.pos + value - run.time, value });
      }
    }
    return { step, ticks: found };
  }

  runAt(pos) {
    let [low, high] = [0, this.runs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.runs[middle].end < pos) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
