// The chart by day: bars on top of each other for what adds up, lines for what does not. Below it the
// same as a table, for whoever does not see it.

import { day } from '../../lib/format.js';
import { colour, theme } from '../../lib/theme.js';
import { html, useEffect, useRef, useState } from '../../lib/ui.js';
import uPlot from '../../vendor/uplot.js';
import { shown } from './figures.js';

const DAY = 86_400;
const HEIGHT = 240;

/** @param {{series: {days: number[], groups: object[]}, show: string, label: string}} props */
export function Chart({ series, show, label }) {
  const place = useRef();
  const [at, setAt] = useState(null);
  const look = useLook();
  const { days, groups } = series;
  useEffect(() => {
    const stacked = show !== 'latency';
    const plot = new uPlot(options(place.current.clientWidth, groups, show, stacked, setAt), data(series, stacked), place.current);
    const resized = new ResizeObserver(() => place.current && plot.setSize({ width: place.current.clientWidth, height: HEIGHT }));
    resized.observe(place.current);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [series, show, look]);
  return html`<div class="chart">
    <div class="legend"><span class="when">${at === null ? 'All days' : day(days[at])}</span>
      ${groups.map((group) => html`<span key=${group.name} class="key" data-colour=${group.colour}><span class="spool" aria-hidden="true"></span>${group.name}
        <span class="value">${shown(show, at === null ? group.value : group.values[at])}</span></span>`)}</div>
    <div class="plot" ref=${place} role="img" aria-label=${`${label}. The table below has the numbers.`}></div>
    <details class="as-table"><summary>As a table</summary><div class="scroll-x" tabindex="0" role="region" aria-label="The chart as a table"><table>
      <thead><tr><th scope="col">Day</th>${groups.map((group) => html`<th scope="col" class="num" key=${group.name}>${group.name}</th>`)}</tr></thead>
      <tbody>${days.map((ms, i) => groups.some((group) => group.values[i]) && html`<tr key=${ms}><th scope="row">${day(ms)}</th>
        ${groups.map((group) => html`<td class="num" key=${group.name}>${shown(show, group.values[i])}</td>`)}</tr>`).reverse()}</tbody>
    </table></div></details></div>`;
}

/** Changes with the theme: a canvas has its colours painted in. */
function useLook() {
  const [, again] = useState(0);
  const dark = useRef(matchMedia('(prefers-color-scheme: dark)'));
  useEffect(() => {
    const changed = () => again((n) => n + 1);
    dark.current.addEventListener('change', changed);
    return () => dark.current.removeEventListener('change', changed);
  }, []);
  return `${theme.value} ${dark.current.matches}`;
}

/** Bars stand on those after them, so that each is drawn over the one before. */
function data({ days, groups }, stacked) {
  const values = groups.map((group) => [...group.values]);
  if (stacked) for (let i = values.length - 2; i >= 0; i -= 1) values[i] = values[i].map((value, d) => value + values[i + 1][d]);
  // Nothing is no bar: it would paint over the line below.
  return [days.map((ms) => ms / 1000), ...values.map((own) => own.map((value) => value || null))];
}

function options(width, groups, show, stacked, setAt) {
  const [ink, line, paper] = [colour('--ink-soft'), colour('--line'), colour('--paper')];
  const font = '12px Inter';
  const axis = { stroke: ink, font, ticks: { show: false }, grid: { stroke: line, width: 1 } };
  const bars = uPlot.paths.bars({ size: [0.62, 40], radius: 0.08 });
  return {
    width, height: HEIGHT, legend: { show: false }, padding: [12, 4, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { range: (_, min, max) => [min - DAY / 2, max + DAY / 2] },
      y: { range: (_, min, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: [
      { ...axis, grid: { show: false }, incrs: [1, 2, 5, 7, 14, 30].map((n) => n * DAY), space: 64, values: (_, splits) => splits.map((s) => day(s * 1000)) },
      { ...axis, size: 52, space: 44, values: (_, splits) => splits.map((value) => (value === 0 ? '0' : shown(show, value))) },
    ],
    series: [{}, ...groups.map((group) => {
      const own = colour(`--thread-${group.colour}`);
      return stacked ? { stroke: paper, width: 1, fill: own, paths: bars, points: { show: false } }
        : { stroke: own, width: 2, spanGaps: true, points: { show: true, size: 6, fill: own, stroke: paper, width: 1 } };
    })],
    hooks: { setCursor: [(plot) => setAt(plot.cursor.left >= 0 && plot.cursor.idx !== null ? plot.cursor.idx : null)] },
  };
}
