// The axis of a timeline as it is painted: labels and breaks at the top, and their lines behind the lanes.

import { duration } from '../../../lib/format.js';
import { lastBefore, TOP } from './model.js';
import { xOf } from './sight.js';

const SMALL = '400 11px Inter, system-ui, sans-serif';

/** Behind everything: lines between lanes and at labels, and where time is left out. */
export function backdrop(ctx, { model, axis, tone, width, height, top, from, to, ...sight }) {
  ctx.fillStyle = tone('--line');
  for (const lane of model.lanes) {
    const y = lane.top - top;
    if (y > TOP && y < height && lane !== model.lanes[0]) ctx.fillRect(0, Math.round(y), width, 1);
  }
  ctx.globalAlpha = 0.6;
  for (const tick of sight.room.ticks) ctx.fillRect(Math.round(xOf(sight, tick.pos)), TOP, 1, Math.min(height, model.height - top) - TOP);
  ctx.globalAlpha = 1;
  const first = Math.max(0, lastBefore(axis.breaks, from, (one) => one.from));
  for (let n = first; n < axis.breaks.length && axis.breaks[n].from <= to; n++) {
    const one = axis.breaks[n];
    const [a, b] = [xOf(sight, one.from), xOf(sight, one.to)];
    const [left, right] = [a + (b - a) * 0.42, a + (b - a) * 0.58];
    ctx.fillStyle = tone('--paper-sunken');
    ctx.fillRect(left, TOP, right - left, Math.min(height, model.height - top) - TOP);
  }
}

/** The axis at the top, over everything. */
export function ruler(ctx, sight) {
  const { axis, tone, width, room } = sight;
  ctx.fillStyle = tone('--paper');
  ctx.fillRect(0, 0, width, TOP - 0.5);
  ctx.fillStyle = tone('--line');
  ctx.fillRect(0, TOP - 1, width, 1);
  ctx.font = SMALL;
  let free = -Infinity;
  const pills = [];
  const first = Math.max(0, lastBefore(axis.breaks, sight.from, (one) => one.from));
  for (let n = first; n < axis.breaks.length && axis.breaks[n].from <= sight.to; n++) {
    const { from, to, ms } = axis.breaks[n];
    const words = duration(ms);
    const size = ctx.measureText(words).width + 14;
    const middle = (xOf(sight, from) + xOf(sight, to)) / 2;
    if (xOf(sight, to) - xOf(sight, from) >= size) pills.push({ words, size, middle });
  }
  for (const tick of room.ticks) {
    const x = xOf(sight, tick.pos);
    const words = axis.kind === 'events' ? `#${sight.seqOf(tick.value - 1)}` : timeText(tick.value, room.step);
    const size = ctx.measureText(words).width;
    if (x < free || pills.some((one) => x + size + 8 > one.middle - one.size / 2 && x - 4 < one.middle + one.size / 2)) continue;
    ctx.fillStyle = tone('--line-strong');
    ctx.fillRect(Math.round(x), TOP - 8, 1, 7);
    ctx.fillStyle = tone('--ink-faint');
    ctx.fillText(words, x + 4, TOP - 12);
    free = x + size + 16;
  }
  for (const { words, size, middle } of pills) {
    ctx.fillStyle = tone('--paper-sunken');
    ctx.strokeStyle = tone('--line-strong');
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.roundRect(Math.round(middle - size / 2) + 0.5, 6.5, Math.round(size), 17, 8);
    ctx.fill();
    ctx.stroke();
    ctx.fillStyle = tone('--ink-soft');
    ctx.fillText(words, middle - size / 2 + 7, 19);
  }
}

function timeText(ms, step) {
  const date = new Date(ms);
  const two = (n) => String(n).padStart(2, '0');
  const told = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (step >= 60_000) return told;
  const rest = step < 100 ? (date.getMilliseconds() / 1000).toFixed(2).slice(1) : step < 1000 ? (date.getMilliseconds() / 1000).toFixed(1).slice(1) : '';
  return `${told}:${two(date.getSeconds())}${rest}`;
}
