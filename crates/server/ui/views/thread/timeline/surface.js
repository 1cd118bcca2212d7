// The canvas of a timeline: how large it is, how far it is zoomed, what is in sight, when it is painted,
// and what is at a place on it.

import { paints } from '../../../lib/theme.js';
import { about } from './describe.js';
import { draw } from './draw.js';
import { lastBefore, TOP } from './model.js';
import { PAD, xOf } from './sight.js';

/** px per ms, or per event: what can be read, at least and at most, and how far the zoom goes. */
const LEAST = { time: 0.03, events: 2 };
const FITS = { time: 0.4, events: 40 };
const MOST = { time: 4, events: 80 };

/** Colours of the theme. */
let tones = null;
const tone = (name) => (tones ??= paints()).get(name);

/** What the canvas does, outside of rendering. */
export class Chart {
  zoom = 0;
  stuck = true;
  hover = null;

  /** Called when someone has zoomed, or dragged it elsewhere. */
  zoomed = () => {};

  /** @param {string|null} view what `view()` gave */
  constructor(scroller, canvas, sizer, view) {
    Object.assign(this, { scroller, canvas, sizer, ctx: canvas.getContext('2d'), wanted: view });
  }

  /** New data, another axis, or another place. */
  show(next) {
    const other = this.axis !== next.axis;
    Object.assign(this, next);
    if (other) {
      this.zoom = 0;
      this.hover = null;
    }
    this.size();
    if (this.wanted) this.restore(this.wanted);
    this.wanted = null;
    if (other || this.shown !== next.selected) this.reveal(next.selected);
    if (next.at !== null && this.played !== next.at) this.follow(next.at);
    this.shown = next.selected;
    this.played = next.at;
    this.later();
  }

  /** What is seen, for the address: how far it is zoomed, and the first entry in sight unless it follows the end. */
  view() {
    if (this.zoom === 0 && this.stuck) return null;
    const zoom = this.zoom === 'whole' ? 'all' : Number(this.scale.toPrecision(4));
    const first = this.entries[Math.max(0, this.axis.indexAt((this.scroller.scrollLeft - PAD) / this.scale))];
    return this.stuck || !first ? String(zoom) : `${zoom}@${first.seq}`;
  }

  /** Shows what was seen. */
  restore(view) {
    const [, zoom, seq] = /^(all|[0-9.]+)(?:@(\d+))?$/.exec(view) ?? [];
    if (zoom === undefined) return;
    const { kind } = this.axis;
    this.zoom = zoom === 'all' ? 'whole' : Math.min(MOST[kind], Math.max(Math.min(this.whole, LEAST[kind]), Number(zoom) || 0));
    this.stuck = seq === undefined;
    this.size();
    const index = this.stuck ? -1 : lastBefore(this.entries, Number(seq), (one) => one.seq);
    if (index >= 0) this.scroller.scrollLeft = PAD + this.axis.pos[index] * this.scale;
  }

  get edge() {
    return this.axis.extent(this.open ? Date.now() : null);
  }

  get fit() {
    const { kind } = this.axis;
    const units = Math.max(this.edge, 1);
    // While it grows there is room to grow into, or everything would shrink with each event.
    const room = this.working && kind === 'time' ? grown(units) : units;
    return Math.min(FITS[kind], Math.max(LEAST[kind], (this.width - 2 * PAD - 40) / room));
  }

  /** All of it, however long. */
  get whole() {
    return Math.min(FITS[this.axis.kind], (this.width - 2 * PAD - 40) / Math.max(this.edge, 1));
  }

  get scale() {
    return this.zoom === 'whole' ? this.whole : this.zoom || this.fit;
  }

  size() {
    const { clientWidth, clientHeight } = this.scroller;
    this.width = clientWidth;
    this.height = clientHeight;
    const ratio = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(clientWidth * ratio) || this.canvas.height !== Math.round(clientHeight * ratio)) {
      this.canvas.width = Math.round(clientWidth * ratio);
      this.canvas.height = Math.round(clientHeight * ratio);
      this.canvas.style.width = `${clientWidth}px`;
      this.canvas.style.height = `${clientHeight}px`;
    }
    const total = Math.max(clientWidth, Math.ceil(this.edge * this.scale + 2 * PAD + 40));
    this.sizer.style.width = `${total}px`;
    this.sizer.style.height = `${Math.max(clientHeight, this.model.height + 24)}px`;
    if (this.stuck && this.at === null) this.scroller.scrollLeft = total;
  }

  sight() {
    const { model, axis, scale, width, height, edge, at, selected, hover, open } = this;
    return {
      model, axis, scale, width, height, edge, at, selected, hover, tone,
      // On dark paper a light colour has to be stronger to be seen as much.
      tint: Number(/\d+/.exec(tone('--paper'))?.[0]) < 128 ? 0.24 : 0.15,
      live: open && this.axis.kind === 'time',
      left: this.scroller.scrollLeft, top: this.scroller.scrollTop,
      colourOf: (lane) => this.colours.get(lane.id) ?? tone('--ink-soft'),
      wordsOf: (index) => about(this.entries[index].event),
      seqOf: (index) => this.entries[index]?.seq ?? index + 1,
    };
  }

  later() {
    this.due ??= requestAnimationFrame(() => {
      this.due = null;
      this.paint();
    });
  }

  paint() {
    if (!this.model || !this.width) return;
    const ratio = devicePixelRatio || 1;
    this.ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw(this.ctx, this.sight());
    // What goes on grows, until the silence is long.
    const { edge } = this;
    if (this.open && this.at === null && this.axis.kind === 'time' && edge !== this.painted) {
      this.painted = edge;
      clearTimeout(this.tick);
      this.tick = setTimeout(() => {
        this.size();
        this.later();
      }, 50);
    }
  }

  /** Another theme has other colours. */
  repaint() {
    tones = null;
    this.dye(this.people);
    this.later();
  }

  /** Everyone's colour. */
  dye(people) {
    this.people = people;
    this.colours = new Map();
    for (const one of people?.values() ?? []) if (one.colour !== null) this.colours.set(one.id, tone(`--thread-${one.colour}`));
  }

  stop() {
    cancelAnimationFrame(this.due);
    clearTimeout(this.tick);
  }

  /** Zooms by a factor; what is at `x` stays there. */
  zoomBy(factor, x = this.width / 2) {
    const { kind } = this.axis;
    const before = this.scale;
    const pos = (this.scroller.scrollLeft + x - PAD) / before;
    this.zoom = Math.min(MOST[kind], Math.max(Math.min(this.whole, LEAST[kind]), before * factor));
    this.size();
    this.scroller.scrollLeft = PAD + pos * this.scale - x;
    this.later();
    this.zoomed();
  }

  /** Zooms so that all of it is seen, and stays so. */
  showAll() {
    this.zoom = 'whole';
    this.size();
    this.later();
    this.zoomed();
  }

  scrolled() {
    const { scrollLeft, scrollWidth, clientWidth } = this.scroller;
    this.stuck = scrollWidth - scrollLeft - clientWidth < 24;
    this.later();
  }

  reveal(index) {
    if (index === null || !this.model.rows[index]) return;
    const x = PAD + this.axis.pos[index] * this.scale;
    const row = this.model.rows[index];
    const { scrollLeft, scrollTop } = this.scroller;
    if (x < scrollLeft + 24 || x > scrollLeft + this.width - 24) {
      this.stuck = false;
      this.scroller.scrollLeft = x - this.width / 2;
    }
    if (row.top - 40 < scrollTop + TOP) this.scroller.scrollTop = row.top - TOP - 40;
    else if (row.top + row.height > scrollTop + this.height) this.scroller.scrollTop = row.top + row.height + 24 - this.height;
  }

  /** Replay moves; the place stays in sight. */
  follow(index) {
    const x = PAD + this.axis.pos[Math.max(0, index)] * this.scale;
    const { scrollLeft } = this.scroller;
    if (x < scrollLeft + 24 || x > scrollLeft + this.width * 0.85) this.scroller.scrollLeft = x - this.width * 0.3;
  }

  /** What is at a place of the canvas: its row, bar, and nearest event. */
  hit(x, y) {
    if (y < TOP) return null;
    const row = this.model.rowAt(y + this.scroller.scrollTop);
    if (!row) return null;
    const { axis } = this;
    const sight = this.sight();
    const far = 10;
    const at = lastBefore(row.bars, x + 2, (one) => xOf(sight, axis.pos[one.from]));
    const bar = row.bars[at] && x <= (row.bars[at].to === null ? xOf(sight, sight.edge) : Math.max(xOf(sight, axis.pos[row.bars[at].to]), xOf(sight, axis.pos[row.bars[at].from]) + 3)) + 4 ? row.bars[at] : null;
    const here = (index) => xOf(sight, axis.pos[index]);
    // A point is more than a stitch beside it.
    const points = row.marks.map((one) => one.index);
    let index = nearest(points, x, here, 7);
    if (index === null && bar?.type === 'call') index = bar.from;
    if (index === null) index = nearest(row.events, x, here, bar ? Infinity : far);
    const pos = (x + sight.left - PAD) / sight.scale;
    const span = bar?.type === 'task' ? bar.spans[lastBefore(bar.spans, pos, (one) => axis.pos[one.from])] : null;
    return index === null ? null : { row, bar, index, wait: span?.status.startsWith('waiting') ? span : null, x: here(index), y: row.top + row.height - this.scroller.scrollTop };
  }
}

function nearest(list, x, here, far) {
  const at = lastBefore(list, x, here);
  let [best, away] = [null, far];
  for (const n of [at, at + 1]) {
    if (n < 0 || n >= list.length) continue;
    const gap = Math.abs(here(list[n]) - x);
    if (gap <= away) [best, away] = [list[n], gap];
  }
  return best;
}

/** The next of a few lengths, so that a growing thread changes its scale a few times, not always. */
function grown(units) {
  let size = 8000;
  while (size < units * 1.05) size *= 1.5;
  return size;
}
