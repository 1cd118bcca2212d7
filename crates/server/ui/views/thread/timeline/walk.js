// The keys that walk from event to event, inside the lanes.

import { setQuery } from '../../../lib/router.js';
import { lastBefore } from './model.js';

/** Keys inside the lanes. */
export function walk(event, { thread, model, selected, chart }) {
  const { entries } = thread;
  if (event.ctrlKey || event.metaKey || event.altKey || !entries.length) return;
  const to = (index) => {
    if (index === null || index === undefined || !entries[index]) return;
    setQuery({ e: entries[index].seq });
  };
  const row = selected === null ? null : model.rows[selected];
  const rows = model.lanes.flatMap((lane) => lane.tracks.flatMap((track) => [track.row, ...track.calls])).filter((one) => one.events.length);
  const steps = {
    ArrowRight: () => to(row ? next(row.events, selected, event.shiftKey && row, 1) : rows[0]?.events[0]),
    ArrowLeft: () => to(row ? next(row.events, selected, event.shiftKey && row, -1) : rows[0]?.events.at(-1)),
    ArrowDown: () => other(1),
    ArrowUp: () => other(-1),
    Home: () => to((row ?? rows[0])?.events[0]),
    End: () => to((row ?? rows[0])?.events.at(-1)),
    PageDown: () => chart.scroller.scrollBy(chart.width * 0.8, 0),
    PageUp: () => chart.scroller.scrollBy(-chart.width * 0.8, 0),
  };
  const other = (step) => {
    const target = rows[row ? rows.indexOf(row) + step : 0];
    if (!target) return;
    const near = Math.max(0, lastBefore(target.events, selected ?? 0));
    to(target.events[near]);
  };
  if (!steps[event.key]) return;
  event.preventDefault();
  steps[event.key]();
}

/** The event before or after; with `row`, the next bar's beginning or mark. */
function next(events, selected, row, step) {
  const list = row ? [...new Set([...row.bars.map((bar) => bar.from), ...row.marks.map((one) => one.index)])].sort((a, b) => a - b) : events;
  const at = lastBefore(list, selected);
  return step > 0 ? list[at + 1] : list[list[at] === selected ? at - 1 : at];
}
