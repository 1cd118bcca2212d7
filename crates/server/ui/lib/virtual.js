// A long list of which only what is seen is in the page. Rows have any height, and may grow; what is
// being read stays where it is, and a list that is followed stays at its end until someone scrolls up.
//
// Browsers draw nothing taller than some 33 million px. A list that would be taller has a body of
// `TALLEST`, and shows a stretch of itself in it: `shift` px of the list are above the body. Whoever
// scrolls a little moves within the list; whoever throws the bar lands at that share of the whole.

import { Component, h } from '../vendor/preact.js';
import { Heights } from './heights.js';
import { createRef } from './ui.js';

/** Rows beyond the edges, in px, so that scrolling finds them ready. */
const MARGIN = 600;
/** So near to the end counts as the end. */
const NEAR = 32;
/** Px of the body, at most; and so many parts it has, each of which moves the shift. */
const TALLEST = 8_000_000;
const PART = TALLEST / 100;
/** Scrolled so far at once, in px, it was thrown. */
const THROWN = 4000;

/**
 * Props:
 * - `items`, `keyOf(item)`, `render(item, index)`; `estimate` px of a row that was never seen
 * - `follow`: stay at the end while it grows
 * - `onEnd()`: the end is near (to load more); `onStart()`: someone scrolled near to the beginning;
 *   `onEdge(atEnd)`: reached or left the end
 * - `control`: an object that gets `show(index, where)`, `toEnd()` and `element`
 * - `rowClass`, `role`, `rowRole`, `label`, `class`, `header`, `footer` (vnodes inside the scroller)
 */
export class VirtualList extends Component {
  scroller = createRef();
  body = createRef();
  /** Heights of rows that were seen, by key. */
  known = new Map();
  shift = 0;
  first = 0;
  last = 0;
  stuck = true;
  before = 0;

  constructor(props) {
    super(props);
    this.stuck = !!props.follow;
    this.heights = new Heights(props.estimate ?? 64);
    this.heights.resize(props.items.length);
    this.sizes = new ResizeObserver((entries) => this.measured(entries));
    this.observed = new Map();
    this.onScroll = () => this.scrolled();
    this.lend();
  }

  lend() {
    const { control } = this.props;
    if (!control) return;
    control.show = (index, where = 'center') => this.show(index, where);
    control.toEnd = () => {
      this.stuck = true;
      this.settle();
    };
    control.list = this;
  }

  componentDidMount() {
    this.sizes.observe(this.scroller.current);
    this.scroller.current.addEventListener('scroll', this.onScroll, { passive: true });
    if (this.props.control) this.props.control.element = this.scroller.current;
    this.after();
    this.setState({});
  }

  componentWillUnmount() {
    this.sizes.disconnect();
    this.gone = true;
  }

  shouldComponentUpdate(next) {
    // Another list, or one in another order, is laid out anew; one that grew is not.
    const { items, keyOf } = next;
    const was = this.props.items;
    const grew = items === was || (items.length >= this.count && (!this.count ||
      (keyOf(items[0]) === this.firstKey && keyOf(items[this.count - 1]) === this.lastKey)));
    if (grew && items.length >= this.count) this.heights.resize(items.length);
    else {
      this.kept ??= this.anchor();
      this.heights.reset(items.length, (index) => this.known.get(keyOf(items[index])));
    }
    return true;
  }

  /** Where a row begins; `items.length` is where the list ends. */
  top(index) {
    return this.heights.top(index);
  }

  total() {
    return this.heights.top(this.heights.length);
  }

  offset() {
    return this.body.current ? this.body.current.offsetTop : 0;
  }

  /** What of the list is at the top of what is seen. */
  place() {
    return this.scroller.current.scrollTop - this.offset() + this.shift;
  }

  /** How much of the list is above the body when a place is seen. */
  shiftAt(y) {
    const total = this.total();
    if (total <= TALLEST) return 0;
    const parts = Math.floor(total / PART);
    const part = Math.max(0, Math.min(parts - 1, Math.floor(y / PART)));
    return Math.round((part * (total - TALLEST)) / (parts - 1));
  }

  moveTo(y) {
    const was = this.shift;
    this.shift = this.shiftAt(y);
    this.scroller.current.scrollTop = Math.round(y - this.shift + this.offset());
    this.before = this.scroller.current.scrollTop;
    if (this.shift !== was) this.setState({});
  }

  range() {
    const { length } = this.props.items;
    const scroller = this.scroller.current;
    if (!length) return [0, 0];
    const view = scroller ? scroller.clientHeight : 800;
    let y = scroller ? this.place() : 0;
    const kept = this.keptPlace();
    if (this.stuck) y = Math.max(0, this.total() - view);
    else if (kept !== null) y = kept;
    const { heights } = this;
    return [heights.at(Math.max(0, y - MARGIN)), Math.min(length, heights.at(y + view + MARGIN) + 1)];
  }

  /** Keeps to a stretch of a list that is too tall, after someone scrolled. */
  reshift() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller.current;
    if (!this.shift && this.total() <= TALLEST) return;
    if (Math.abs(scrollTop - this.before) > Math.max(THROWN, clientHeight)) {
      this.shift = this.shiftAt((scrollTop / (scrollHeight - clientHeight)) * (this.total() - clientHeight));
    } else if (this.shiftAt(this.place()) !== this.shift) {
      this.moveTo(this.place());
    }
  }

  scrolled() {
    // An event may still be on its way when the list is gone.
    if (!this.scroller.current) return;
    this.reshift();
    const { scrollTop, scrollHeight, clientHeight } = this.scroller.current;
    const end = scrollHeight - scrollTop - clientHeight < NEAR;
    const was = this.stuck;
    if (end) this.stuck = !!this.props.follow;
    // It is left by whoever scrolls up, not by what grows below.
    else if (scrollTop < this.before - 2) this.stuck = false;
    this.before = scrollTop;
    if (was !== this.stuck || end !== this.end) this.props.onEdge?.(end);
    this.end = end;
    const [first, last] = this.range();
    if (first !== this.first || last !== this.last || this.shift !== this.drawn) this.setState({});
    this.near();
    if (this.props.onStart && first < 5 && !this.stuck) this.props.onStart();
  }

  near() {
    const { items, onEnd } = this.props;
    if (onEnd && this.last >= items.length - 5) onEnd();
  }

  measured(entries) {
    if (this.gone) return;
    const scroller = this.scroller.current;
    const anchor = this.anchor();
    let changed = false;
    for (const { target } of entries) {
      if (target === scroller) {
        changed = true;
        continue;
      }
      const own = this.observed.get(target);
      if (!own || !target.isConnected) continue;
      const height = target.offsetHeight;
      if (this.known.get(own.key) === height) continue;
      this.learn(own, height);
      changed = true;
    }
    if (!changed) return;
    this.kept = anchor;
    this.setState({});
  }

  learn({ key, index }, height) {
    this.known.set(key, height);
    this.heights.set(index, height);
  }

  /** What is read now: the first row in sight, and how far it is from the top. */
  anchor() {
    const { length } = this.props.items;
    if (!this.scroller.current || this.stuck || !length) return null;
    const y = this.place();
    if (y <= 0) return null;
    const index = Math.min(this.heights.at(y), length - 1);
    return { index, key: this.props.keyOf(this.props.items[index]), from: y - this.top(index) };
  }

  /** Where what was read is now; null where nothing is to be kept. */
  keptPlace() {
    if (!this.kept) return null;
    const { items, keyOf } = this.props;
    const { key, from } = this.kept;
    let { index } = this.kept;
    if (index >= items.length || keyOf(items[index]) !== key) index = items.findLastIndex((item) => keyOf(item) === key);
    if (index < 0) return null;
    this.kept.index = index;
    return this.top(index) + from;
  }

  componentDidUpdate() {
    this.after();
  }

  after() {
    const { items, keyOf } = this.props;
    this.count = items.length;
    this.firstKey = items.length ? keyOf(items[0]) : null;
    this.lastKey = items.length ? keyOf(items[items.length - 1]) : null;
    const seen = new Set();
    for (const row of this.body.current?.children ?? []) {
      const index = Number(row.dataset.index);
      if (!(index < items.length)) continue;
      seen.add(row);
      if (!this.observed.has(row)) this.sizes.observe(row);
      this.observed.set(row, { key: keyOf(items[index]), index });
    }
    for (const row of this.observed.keys()) {
      if (seen.has(row)) continue;
      this.sizes.unobserve(row);
      this.observed.delete(row);
    }
    this.settle();
    this.near();
  }

  settle() {
    const scroller = this.scroller.current;
    if (!scroller) return;
    const kept = this.keptPlace();
    this.kept = null;
    if (this.stuck && this.props.follow) {
      this.shift = this.shiftAt(this.total());
      scroller.scrollTop = scroller.scrollHeight;
    } else if (kept !== null && Math.abs(this.place() - kept) >= 1) {
      this.moveTo(kept);
    }
    this.before = scroller.scrollTop;
  }

  /** Brings a row into sight: 'center', 'start' or 'nearest'. */
  show(index, where) {
    const scroller = this.scroller.current;
    if (!scroller || !(index >= 0 && index < this.props.items.length)) return;
    const place = () => {
      const [top, height, seen, view] = [this.top(index), this.heights.get(index), this.place(), scroller.clientHeight];
      if (where === 'nearest' && top >= seen && top + height <= seen + view) return;
      this.stuck = false;
      const room = where === 'start' || height > view ? 12 : where === 'nearest' && top < seen ? 12
        : where === 'nearest' ? view - height - 12 : (view - height) / 2;
      this.moveTo(Math.max(-this.offset(), top - room));
    };
    place();
    this.setState({}, () => {
      for (const [row, own] of this.observed) this.learn(own, row.offsetHeight);
      place();
    });
  }

  render({ items, keyOf, render, role, rowRole, label, class: name, rowClass, header, footer }) {
    [this.first, this.last] = this.range();
    const rows = [];
    for (let index = this.first; index < this.last; index++) {
      const item = items[index];
      const own = { key: keyOf(item), class: rowClass, 'data-index': index };
      if (rowRole) Object.assign(own, { role: rowRole, 'aria-posinset': index + 1, 'aria-setsize': items.length });
      rows.push(h('div', own, render(item, index)));
    }
    const above = this.top(this.first) - this.shift;
    const below = Math.min(TALLEST, this.total()) - above - this.top(this.last) + this.top(this.first);
    const style = { paddingTop: `${Math.max(0, above)}px`, paddingBottom: `${Math.max(0, below)}px` };
    this.drawn = this.shift;
    return h('div', { class: name ? `virtual ${name}` : 'virtual', ref: this.scroller, tabIndex: 0, role: label && !role ? 'region' : undefined, 'aria-label': role ? undefined : label },
      header,
      h('div', { class: 'virtual-body', ref: this.body, style, role, 'aria-label': role ? label : undefined }, rows),
      footer);
  }
}
