// Paints a timeline on a canvas: only what is in sight, so that its length does not matter.

import { duration } from '../../../lib/format.js';
import { lastBefore, TOP } from './model.js';
import { cross, dot, hatch, label, line, ring, ringDot, sheet, text } from './pen.js';
import { backdrop, ruler } from './ruler.js';
import { PAD, xOf } from './sight.js';

/** A bar is never thinner. */
const THIN = 3;

/** @param {CanvasRenderingContext2D} ctx @param {import('./sight.js').Sight} sight */
export function draw(ctx, sight) {
  const { width, height, axis, at, tone } = sight;
  ctx.clearRect(0, 0, width, height);
  const from = (sight.left - PAD) / sight.scale;
  sight.from = from - 8 / sight.scale;
  sight.to = from + width / sight.scale;
  sight.room = axis.ticks(sight.from, sight.to, 96 / sight.scale);
  backdrop(ctx, sight);
  if (at === null) {
    cloth(ctx, sight, 1);
  } else {
    // What is to come is there already, as a shadow.
    const head = xOf(sight, at < 0 ? 0 : axis.pos[at]) + (at < 0 ? -4 : 1);
    cloth(ctx, sight, 0.22);
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, 0, head, height);
    ctx.clip();
    ctx.clearRect(0, 0, head, height);
    backdrop(ctx, sight);
    cloth(ctx, sight, 1);
    ctx.restore();
    line(ctx, head, TOP - 8, height, tone('--accent'), 1.5);
  }
  selection(ctx, sight);
  ruler(ctx, sight);
  if (at !== null) {
    const x = xOf(sight, at < 0 ? 0 : axis.pos[at]);
    ctx.fillStyle = tone('--accent');
    ctx.beginPath();
    ctx.moveTo(x - 6, TOP - 12);
    ctx.lineTo(x + 6, TOP - 12);
    ctx.lineTo(x + 6, TOP - 6);
    ctx.lineTo(x, TOP);
    ctx.lineTo(x - 6, TOP - 6);
    ctx.fill();
  } else if (sight.live) {
    const x = Math.round(xOf(sight, sight.edge)) + 0.5;
    line(ctx, x, TOP - 6, height, tone('--red'), 1);
    dot(ctx, x, TOP - 6, 3.5, tone('--red'));
  }
}

/** Links, bars, stitches and marks. */
function cloth(ctx, sight, alpha) {
  ctx.globalAlpha = alpha;
  sight.alpha = alpha;
  links(ctx, sight);
  for (const lane of sight.model.lanes) {
    if (lane.top + lane.height < sight.top + TOP || lane.top > sight.top + sight.height) continue;
    const colour = sight.colourOf(lane);
    for (const track of lane.tracks) {
      for (const bar of seen(track.row.bars, sight)) task(ctx, sight, bar, colour);
      stitches(ctx, sight, track.row, colour);
      for (const row of track.calls) {
        const bars = seen(row.bars, sight);
        for (const [n, bar] of bars.entries()) call(ctx, sight, bar, bars[n + 1], colour);
      }
      marks(ctx, sight, track.row, colour);
    }
  }
  ctx.globalAlpha = 1;
}

/** The bars of a row that are in sight; they are in order and do not overlap. */
function seen(bars, { axis, from, to }) {
  const first = Math.max(0, lastBefore(bars, from, (bar) => axis.pos[bar.from]));
  let last = first;
  while (last < bars.length && axis.pos[bars[last].from] <= to) last += 1;
  return bars.slice(first, last);
}

function ends(sight, begin, end) {
  const a = xOf(sight, sight.axis.pos[begin]);
  const b = end === null ? xOf(sight, sight.edge) : xOf(sight, sight.axis.pos[end]);
  return [a, Math.max(b, a + THIN)];
}

function task(ctx, sight, bar, colour) {
  const { alpha, tone } = sight;
  const y = bar.row.top - sight.top;
  const h = bar.row.height;
  const [a, b] = ends(sight, bar.from, bar.to);
  if (b < 0) return;
  ctx.save();
  ctx.beginPath();
  ctx.roundRect(a, y, b - a, h, Math.min(4, (b - a) / 2));
  ctx.clip();
  ctx.globalAlpha = alpha * sight.tint;
  ctx.fillStyle = colour;
  ctx.fillRect(a, y, b - a, h);
  for (const span of spansIn(bar, sight)) {
    const [from, to] = ends(sight, span.from, span.to ?? bar.to);
    if (span.status === 'waiting-input' || span.status === 'waiting-auth') {
      ctx.globalAlpha = alpha;
      ctx.fillStyle = tone('--red-soft');
      ctx.fillRect(from, y, to - from, h);
      hatch(ctx, sight, Math.max(from, -h), Math.min(to, sight.width), y, h, alpha * 0.3);
    } else if (span.status === 'waiting-subtask') {
      ctx.globalAlpha = alpha;
      ctx.fillStyle = tone('--paper');
      ctx.fillRect(from, y + 1.5, to - from, h - 3);
    }
  }
  ctx.globalAlpha = alpha * 0.45;
  ctx.fillStyle = colour;
  for (const step of stepsIn(bar, sight)) {
    const [from, to] = ends(sight, step.from, step.to ?? bar.to);
    ctx.fillRect(from, y + h - 3, to - from, 3);
  }
  if (bar.status === 'failed' || bar.status === 'canceled') {
    ctx.globalAlpha = alpha;
    ctx.fillStyle = tone(bar.status === 'failed' ? '--red' : '--ink-faint');
    ctx.fillRect(b - 3, y, 3, h);
  }
  ctx.restore();
  ctx.globalAlpha = alpha;
  if (sight.hover?.bar === bar) ring(ctx, a, y, b - a, h, colour, 1);
  const left = Math.max(a, 0) + 7;
  const wait = waitIn(bar);
  let until = Math.min(b, sight.width) - 6;
  if (wait) {
    const from = Math.max(ends(sight, bar.spans.at(-1).from, null)[0], 0) + 7;
    label(ctx, wait, from, y + 15, until - from, tone('--red'));
    until = from - 10;
  }
  const end = label(ctx, bar.label, left, y + 15, until - left, tone('--ink'));
  for (const span of spansIn(bar, sight)) {
    if (span.to === null || (span.status !== 'waiting-input' && span.status !== 'waiting-auth')) continue;
    // How long someone let it wait, where there is room.
    const [from, to] = ends(sight, span.from, span.to);
    const words = `waited ${duration(sight.axis.times[span.to] - sight.axis.times[span.from])}`;
    const x = Math.max(from + 7, end + 10);
    if (to - x > text(ctx, words) + 6) label(ctx, words, x, y + 15, to - x, tone('--red'));
  }
}

const waitIn = (bar) => (bar.to === null && { 'waiting-input': 'Waits for an answer', 'waiting-auth': 'Waits for credentials' }[bar.status]) || null;

const spansIn = (bar, { from, to, axis }) => bar.spans.length < 40 ? bar.spans
  : bar.spans.filter((span) => axis.pos[span.from] <= to && (span.to === null || axis.pos[span.to] >= from));

function stepsIn(bar, { from, to, axis }) {
  const first = Math.max(0, lastBefore(bar.steps, from, (step) => axis.pos[step.from]));
  const last = lastBefore(bar.steps, to, (step) => axis.pos[step.from]);
  return bar.steps.slice(first, last + 1);
}

/** Every event is a stitch along its task. Where there are more than pixels, some stand for all. */
function stitches(ctx, sight, row, colour) {
  const { axis, scale, alpha } = sight;
  const y = row.top - sight.top + row.height - 4;
  ctx.globalAlpha = alpha;
  ctx.fillStyle = row.lane.kind === 'agent' ? colour : sight.tone('--line-strong');
  const of = (index) => axis.pos[index];
  const apart = 2.5 / scale;
  let n = Math.max(0, lastBefore(row.events, sight.from, of));
  while (n < row.events.length) {
    const pos = of(row.events[n]);
    if (pos > sight.to) break;
    ctx.fillRect(Math.round(xOf(sight, pos)), y, 1.25, 4);
    const next = n + 1;
    if (next < row.events.length && of(row.events[next]) - pos >= apart) n = next;
    else n = Math.max(next, lastBefore(row.events, pos + apart, of) + 1);
  }
}

function call(ctx, sight, bar, next, colour) {
  const { alpha, tone, axis } = sight;
  const y = bar.row.top - sight.top;
  const h = bar.row.height;
  const [a, b] = ends(sight, bar.from, bar.to);
  const limit = next ? xOf(sight, axis.pos[next.from]) : sight.width;
  const ran = bar.ran === null ? null : xOf(sight, axis.pos[bar.ran]);
  ctx.globalAlpha = alpha * 0.55;
  ctx.fillStyle = colour;
  const asked = ran === null ? b : Math.min(ran, b - THIN);
  if (asked > a) {
    ctx.fillRect(a, y + h / 2 - 0.75, asked - a, 1.5);
    ctx.fillRect(a, y + 4, 1.5, h - 8);
  }
  const open = ran === null && bar.to === null;
  ctx.globalAlpha = alpha;
  const bad = bar.status === 'failed' || bar.status === 'denied';
  let inside = false;
  if (ran !== null) {
    const w = b - asked;
    const size = text(ctx, bar.label);
    inside = w >= size + 12;
    ctx.fillStyle = bad ? tone('--red') : colour;
    if (bar.to === null) ctx.globalAlpha = alpha * 0.4;
    ctx.beginPath();
    ctx.roundRect(asked, y, w, h, Math.min(3, w / 2));
    ctx.fill();
    ctx.globalAlpha = alpha;
    if (bar.to === null && bar.progress !== null) {
      ctx.beginPath();
      ctx.roundRect(asked, y, Math.max(THIN, w * bar.progress), h, 3);
      ctx.fill();
    }
    if (inside && bar.to !== null) label(ctx, bar.label, Math.max(asked, 0) + 6, y + 12, b - Math.max(asked, 0) - 8, tone('--paper'));
    else inside = false;
  }
  if (sight.hover?.bar === bar) ring(ctx, a, y, b - a, h, bad ? tone('--red') : colour, 1);
  if (open) {
    // It waits: its name stands on its line.
    const size = Math.min(text(ctx, bar.label), b - a - 24);
    const from = Math.max(a, 0) + 10;
    ctx.fillStyle = tone('--paper');
    if (size > 22) ctx.fillRect(from - 4, y, size + 8, h);
    label(ctx, bar.label, from, y + 12, size + 1, tone('--ink-soft'));
  } else if (!inside) {
    const words = bar.status === 'failed' ? `${bar.label} failed` : bar.status === 'denied' ? `${bar.label} denied` : bar.label;
    label(ctx, words, b + 5, y + 12, limit - b - 10, bad ? tone('--red') : tone('--ink-soft'));
  }
}

/** What is said by people, made, asked and broken: points with a shape each. */
function marks(ctx, sight, row, colour) {
  const { axis, tone, alpha } = sight;
  const of = (one) => axis.pos[one.index];
  const speaks = row.lane.kind === 'person';
  // On the line of the stitches, or words would be under them.
  const y = row.top - sight.top + (row.bars.length ? row.height - 2 : row.height / 2);
  let n = Math.max(0, lastBefore(row.marks, sight.from, of));
  // What is said before what is in sight may reach into it.
  for (; n < row.marks.length && of(row.marks[n]) <= sight.to; n++) {
    const one = row.marks[n];
    const x = xOf(sight, of(one));
    ctx.globalAlpha = alpha;
    const paint = one.mark === 'question' || one.mark === 'error' ? tone('--red') : speaks ? tone('--ink') : colour;
    if (one.mark === 'artifact') sheet(ctx, x, y - 5.5, paint, tone('--paper'));
    else if (one.mark === 'error') cross(ctx, x, y, paint);
    else if (one.mark === 'answer') ringDot(ctx, x, y, paint, tone('--paper'));
    else if (one.mark === 'question') dot(ctx, x, y, 4, paint);
    else {
      dot(ctx, x, y, 4.5, paint);
      const next = row.marks[n + 1];
      const bar = row.bars[lastBefore(row.bars, one.index, (b) => b.from) + 1];
      const until = Math.min(next ? xOf(sight, of(next)) - 8 : sight.width, bar ? xOf(sight, axis.pos[bar.from]) - 4 : sight.width);
      const words = sight.wordsOf(one.index);
      label(ctx, words, x + 9, y + 4, until - x - 10, speaks ? tone('--ink') : tone('--ink-soft'));
    }
  }
}

function links(ctx, sight) {
  const { axis, model, tone, alpha } = sight;
  ctx.lineWidth = 1.25;
  const first = Math.max(0, lastBefore(model.links, sight.from, (one) => axis.pos[one.to]));
  for (let n = first; n < model.links.length; n++) {
    const { fromRow, toRow, from, to, why } = model.links[n];
    if (axis.pos[from] > sight.to) {
      // They are in the order of their ends, and hardly any is longer than that.
      if (n > first + 500) break;
      continue;
    }
    if (toRow === fromRow) continue;
    const down = toRow.top > fromRow.top;
    const [x1, x2] = [xOf(sight, axis.pos[from]), xOf(sight, axis.pos[to])];
    const y1 = fromRow.top - sight.top + fromRow.height / 2;
    const y2 = toRow.top - sight.top + (down ? 0 : toRow.height);
    const colour = fromRow.lane.kind === 'agent' ? sight.colourOf(fromRow.lane) : tone('--ink-faint');
    ctx.strokeStyle = ctx.fillStyle = colour;
    ctx.globalAlpha = alpha * 0.6;
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    const bend = Math.min(Math.abs(y2 - y1) / 2, 22);
    ctx.bezierCurveTo(x1, y1 + (down ? bend : -bend), x2, y2 - (down ? bend : -bend), x2, y2);
    if (why === 'answers') ctx.setLineDash([3, 3]);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.globalAlpha = alpha;
    ctx.beginPath();
    ctx.moveTo(x2 - 3, y2 + (down ? -5 : 5));
    ctx.lineTo(x2 + 3, y2 + (down ? -5 : 5));
    ctx.lineTo(x2, y2);
    ctx.fill();
  }
  ctx.globalAlpha = 1;
}

function selection(ctx, sight) {
  const { selected, axis, model, tone, hover } = sight;
  if (hover && hover.index !== null && hover.index !== selected) {
    ctx.globalAlpha = 0.5;
    line(ctx, Math.round(xOf(sight, axis.pos[hover.index])) + 0.5, TOP, sight.height, tone('--ink-faint'), 1, [2, 3]);
    ctx.globalAlpha = 1;
  }
  if (selected === null) return;
  const row = model.rows[selected];
  const x = xOf(sight, axis.pos[selected]);
  line(ctx, Math.round(x) + 0.5, TOP, sight.height, tone('--accent'), 1);
  if (!row) return;
  const bar = row.bars[lastBefore(row.bars, selected, (one) => one.from)];
  const y = row.top - sight.top;
  if (bar && (bar.to === null || bar.to >= selected)) {
    const [a, b] = ends(sight, bar.from, bar.to);
    ring(ctx, a, y, b - a, row.height, tone('--accent'), 2);
  }
  dot(ctx, x + 0.5, y + row.height - 2, 4.5, tone('--accent'));
  dot(ctx, x + 0.5, y + row.height - 2, 1.75, tone('--paper'));
}
