// Moves through a journal: by steps, to marks, or playing at the pace things happened in. What is shown
// moves at once, and the address follows it, not more often than browsers let it.

import { setQuery } from '../../../lib/router.js';
import { signal } from '../../../lib/ui.js';
import { Axis } from '../timeline/axis.js';
import { mark } from '../timeline/describe.js';
import { lastBefore } from '../timeline/model.js';

export const SPEEDS = [0.5, 1, 2, 5, 10];
/** Nobody wants to watch a longer silence than this. */
const SILENCE = 1200;
/** So often the address may change, in ms. */
const WRITES = 250;
/** A tab that slept does not jump. */
const LEAP = 100;

/** How fast, for this visit. */
export const speed = signal(1);

export class Player {
  playing = signal(false);
  /** Indices of entries where something happens: `{index, mark}`. */
  marks = [];
  marked = 0;

  constructor(thread) {
    this.thread = thread;
    this.entries = thread.entries;
    this.axis = new Axis('time', SILENCE);
  }

  /** Takes in what arrived. */
  take() {
    const { entries } = this.thread;
    this.axis.take(entries);
    for (; this.marked < entries.length; this.marked++) {
      const found = mark(entries[this.marked].event);
      if (found) this.marks.push({ index: this.marked, mark: found });
    }
  }

  /** The index that is shown last; -1 before the first. */
  get index() {
    const at = this.thread.at.value;
    return at === null ? this.entries.length - 1 : lastBefore(this.entries, at, (one) => one.seq);
  }

  get live() {
    return this.thread.at.value === null;
  }

  /** Shows everything up to an index. */
  to(index) {
    const { entries, thread } = this;
    const place = Math.max(-1, Math.min(index, entries.length - 1));
    const seq = place < 0 ? 0 : entries[place].seq;
    this.units = place < 0 ? 0 : this.axis.pos[place];
    thread.at.value = seq;
    this.write(seq);
  }

  write(seq) {
    this.wanted = seq;
    if (this.timer) return;
    const now = () => {
      this.timer = null;
      if (this.wanted === null) return;
      setQuery({ at: this.wanted, replay: 1 });
      this.wanted = null;
      this.timer = setTimeout(now, WRITES);
    };
    now();
  }

  step(by) {
    this.pause();
    this.to(this.index + by);
  }

  /** To the mark before or after. */
  skip(by) {
    this.pause();
    const at = lastBefore(this.marks, this.index, (one) => one.index);
    const next = by > 0 ? this.marks[at + 1] : this.marks[this.marks[at]?.index === this.index ? at - 1 : at];
    this.to(next ? next.index : by > 0 ? this.entries.length - 1 : -1);
  }

  toggle() {
    if (this.playing.value) this.pause();
    else this.play();
  }

  play() {
    if (!this.entries.length) return;
    if (this.live || this.index >= this.entries.length - 1) this.to(-1);
    this.units = this.index < 0 ? 0 : this.axis.pos[this.index];
    this.playing.value = true;
    this.before = null;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame((time) => this.run(time));
  }

  pause() {
    cancelAnimationFrame(this.frame);
    if (this.playing.peek()) this.playing.value = false;
  }

  run(time) {
    const passed = this.before === null ? 0 : Math.min(LEAP, time - this.before);
    this.before = time;
    const was = this.index;
    // Someone may have moved it meanwhile.
    const place = was < 0 ? 0 : this.axis.pos[was];
    if (!(this.units >= place && this.units <= (this.axis.pos[was + 1] ?? place))) this.units = place;
    this.units += passed * speed.value;
    const next = this.axis.indexAt(this.units);
    if (next >= this.entries.length - 1) {
      this.backToLive();
      return;
    }
    if (next > was) {
      const { units } = this;
      this.to(next);
      this.units = units;
    }
    this.frame = requestAnimationFrame((soon) => this.run(soon));
  }

  /** The live edge; the bar stays. */
  backToLive() {
    this.pause();
    clearTimeout(this.timer);
    this.timer = this.wanted = null;
    this.thread.at.value = null;
    setQuery({ at: null, replay: 1 });
  }

  close() {
    this.backToLive();
    setQuery({ at: null, replay: null });
  }

  stop() {
    this.pause();
    clearTimeout(this.timer);
    this.timer = null;
  }
}
