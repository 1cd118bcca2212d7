// uPlot in the page's own colours. Views give data; it draws, follows the width and the theme.

import uPlot from '../vendor/uplot.js';
import { colour, theme } from './theme.js';
import { html, useEffect, useRef } from './ui.js';

/**
 * @param {object} props
 * @param {Array<Array<number|null>>} props.data x, then each series
 * @param {string[]} props.series names
 * @param {string[]|null} [props.labels] texts of x, where x counts rows; else x is a time in seconds if `time`
 * @param {boolean} [props.bars] [props.time]
 * @param {number} [props.height]
 * @param {string} props.label what a screen reader says
 * @param {(n: number) => string} [props.format] of values
 * @param {string[]} [props.colours] names of custom properties, one for each series
 */
export function Plot({ data, series, labels = null, bars = false, time = false, height = 200, label, format, colours }) {
  const place = useRef();
  const dark = theme.value;
  useEffect(() => {
    const system = matchMedia('(prefers-color-scheme: dark)');
    let plot = null;
    const draw = () => {
      plot?.destroy();
      plot = make(place.current, { data, series, labels, bars, time, height, format, colours });
    };
    draw();
    const sizes = new ResizeObserver(() => place.current && plot?.setSize({ width: place.current.clientWidth, height }));
    sizes.observe(place.current);
    system.addEventListener('change', draw);
    return () => {
      sizes.disconnect();
      system.removeEventListener('change', draw);
      plot?.destroy();
    };
  }, [data, labels?.length, bars, height, dark]);
  return html`<div class="plot" ref=${place} role="img" aria-label=${label}></div>`;
}

function make(place, { data, series, labels, bars, time, height, format, colours }) {
  const [ink, line] = [colour('--ink-soft'), colour('--line')];
  const font = '12px Inter, sans-serif';
  const axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  const short = (text) => (text.length > 14 ? `${text.slice(0, 13)}…` : text);
  const x = labels
    ? { ...axis, grid: { show: false }, splits: (_, __, min, max) => data[0].filter((n) => n >= min && n <= max && n % Math.ceil(data[0].length / 12) === 0), values: (_, all) => all.map((n) => short(labels[n] ?? '')) }
    : { ...axis, grid: { show: false } };
  const options = {
    width: Math.max(200, place.clientWidth), height, padding: [12, 12, 0, 0], legend: { show: series.length > 1 }, cursor: { points: { size: 6 } },
    scales: { x: { time, ...(bars ? { range: [-0.6, data[0].length - 0.4] } : {}) }, y: { range: (_, min, max) => [Math.min(0, min), max === min ? max + 1 : max * 1.08] } },
    axes: [x, { ...axis, size: 56, ...(format ? { values: (_, all) => all.map(format) } : {}) }],
    series: [{ label: labels ? 'row' : 'time' }, ...series.map((name, n) => {
      const stroke = colour(colours?.[n] ?? `--thread-${n % 8}`);
      return { label: name, stroke, width: 2, fill: bars ? stroke : undefined, points: { show: !bars && data[0].length < 60, size: 5 }, ...(bars ? { paths: uPlot.paths.bars({ size: [0.6, 48] }) } : {}) };
    })],
  };
  return new uPlot(options, data, place);
}
