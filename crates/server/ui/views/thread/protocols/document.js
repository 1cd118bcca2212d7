// A thread as one document: read again when the journal has grown, and what of it an event brought.

import { api, threadPath } from '../../../lib/api.js';
import { signal } from '../../../lib/ui.js';
import { pieces, touched } from './json.js';

/** A document is read again when the journal has been still for so long. */
const STILL = 500;

/**
 * @typedef {{key: string, pointer: string, text: string}} Piece
 *
 * Signals: `rev`, `status`, `problem` as of Records; `marked` is null or a map from a piece's pointer to the
 * pointers in it that the selected event brought.
 */
export class Document {
  /** @type {Piece[]} */
  rows = [];
  text = '';
  rev = signal(0);
  status = signal('connecting');
  problem = signal(null);
  marked = signal(null);
  bytes = 0;

  constructor(thread, dialect, agent) {
    this.thread = thread;
    this.query = `dialect=${dialect}&visibility=internal${agent ? `&agent=${encodeURIComponent(agent)}` : ''}`;
    this.ending = new AbortController();
    this.seen = null;
  }

  end() {
    this.ending.abort();
    clearTimeout(this.timer);
  }

  ask(at) {
    const path = threadPath(this.thread.id, `/export?${this.query}${at === null ? '' : `&at=${at}`}`);
    return api(path, { raw: true, signal: this.ending.signal }).then((answer) => answer.text());
  }

  /** Shows it at a position, null for the live edge, whose sequence number is `head`. */
  show(at, head) {
    const wanted = at ?? head;
    if (wanted === this.wanted) return;
    const first = this.wanted === undefined || at !== null;
    this.wanted = wanted;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(at), first ? 0 : STILL);
  }

  async load(at) {
    const wanted = this.wanted;
    try {
      const text = await this.ask(at);
      if (wanted !== this.wanted) return;
      this.text = text;
      this.bytes = text.length;
      this.rows = pieces(text).map((piece) => ({ key: piece.pointer, ...piece }));
      this.status.value = 'live';
      this.problem.value = null;
      this.rev.value += 1;
    } catch (error) {
      if (error.name === 'AbortError') return;
      this.problem.value = error;
      this.status.value = 'failed';
    }
  }

  /** Finds out what an event brought: what is otherwise in the document with it than without. */
  async mark(seq) {
    this.seen = seq;
    if (seq === null) {
      this.marked.value = null;
      return;
    }
    try {
      const [before, after] = await Promise.all([this.ask(seq - 1), this.ask(seq)]);
      if (this.seen !== seq) return;
      const known = new Map(pieces(before).map((piece) => [piece.pointer, piece.text]));
      const found = new Map();
      for (const { pointer, text } of pieces(after)) {
        if (known.get(pointer) !== text) found.set(pointer, touched(known.get(pointer) ?? null, text));
      }
      this.marked.value = found;
    } catch {
      if (this.seen === seq) this.marked.value = new Map();
    }
  }
}
