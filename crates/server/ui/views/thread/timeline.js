// Timeline: what every agent did and when, as lanes, or as a list; the tasks and who asked whom beside
// it. Its parts are in timeline/, its style in style/timeline.css.
//
// In the address: `axis` (events; else time), `show` (list, tasks, agents; else lanes), `e` (selected),
// `tl` (how far the lanes are zoomed, and the first entry in sight).

import { icon } from '../../lib/icons.js';
import { useKeys } from '../../lib/keys.js';
import { Empty } from '../../lib/parts.js';
import { numberParam, param, setQuery } from '../../lib/router.js';
import { html, useRef } from '../../lib/ui.js';
import { Axis } from './timeline/axis.js';
import { Lanes } from './timeline/chart.js';
import { Selected } from './timeline/detail.js';
import { Graph } from './timeline/graph.js';
import { List } from './timeline/list.js';
import { lastBefore, Model } from './timeline/model.js';
import { Tree } from './timeline/tree.js';

const SHOWS = [['lanes', 'Lanes'], ['list', 'List'], ['tasks', 'Tasks'], ['agents', 'Agents']];

/** @param {{thread: import('../../lib/journal.js').Thread}} props */
export default function Timeline({ thread }) {
  const state = thread.state.value;
  const { entries } = thread;
  const own = partsOf(entries);
  const control = useRef({}).current;
  const kind = axisOf(own.time, entries);
  const axis = own[kind].take(entries);
  const known = SHOWS.find(([id]) => id === param('show'));
  const show = known ? known[0] : 'lanes';
  const upto = thread.at.value === null || thread.at.value >= thread.head.value ? entries.length - 1 : lastBefore(entries, thread.at.value, (one) => one.seq);
  const e = numberParam('e');
  const entry = e === null ? null : thread.entry(e);
  useKeys('Timeline', [
    ['+', 'Zoom in', () => control.chart?.zoomBy(1.5)],
    ['-', 'Zoom out', () => control.chart?.zoomBy(1 / 1.5)],
    ['0', 'See all of it', () => control.chart?.showAll()],
    ['a', 'Time or events', () => setQuery({ axis: axisOf(own.time, entries) === 'time' ? 'events' : 'time', tl: null })],
    ['v', 'Lanes or list', () => setQuery({ show: param('show') === 'list' ? null : 'list' })],
  ], [own]);
  const silent = entries.length < 5 && own.model.lanes.every((lane) => lane.kind === 'thread' && !lane.tasks);
  if (silent) return html`<${Empty} title="Nothing has happened yet"><p>A lane appears here for everyone who speaks or works in this thread, as soon as they do.</p></${Empty}>`;
  const main = show === 'list' ? 'list' : 'lanes';
  return html`<div class="timeline" data-show=${show}>
    <div class="tl-main">
      <div class="tl-bar">
        <div class="tl-switch" role="group" aria-label="Show">
          ${SHOWS.map(([id, name]) => html`<button type="button" key=${id} data-only=${id === 'tasks' || id === 'agents' ? 'narrow' : undefined}
            aria-pressed=${id === show} onClick=${() => setQuery({ show: id === 'lanes' ? null : id })}>${name}</button>`)}
        </div>
        <span class="grow"></span>
        ${main === 'lanes' && html`
          <div class="tl-switch tl-zooms tl-axis" role="group" aria-label="Axis">
            ${['time', 'events'].map((one) => html`<button type="button" key=${one} aria-pressed=${kind === one} onClick=${() => setQuery({ axis: one, tl: null })}>${one === 'time' ? 'Time' : 'Events'}</button>`)}
          </div>
          <div class="tl-zoom tl-zooms" role="group" aria-label="Zoom">
            <button type="button" class="plain" aria-label="Zoom out" title="Zoom out (-)" onClick=${() => control.chart.zoomBy(1 / 1.5)}>${icon('minus', 14)}</button>
            <button type="button" class="plain" title="See all of it (0)" onClick=${() => control.chart.showAll()}>All</button>
            <button type="button" class="plain" aria-label="Zoom in" title="Zoom in (+)" onClick=${() => control.chart.zoomBy(1.5)}>${icon('plus', 14)}</button>
          </div>`}
      </div>
      ${main === 'list' ? html`<${List} thread=${thread} model=${own.model} axis=${axis} upto=${upto} />`
        : html`<${Lanes} thread=${thread} state=${state} model=${own.model} axis=${axis} control=${control} key=${kind} />`}
    </div>
    <aside class="tl-side" aria-label="Tasks and agents">
      ${entry && html`<${Selected} thread=${thread} entry=${entry} axis=${axis} />`}
      <section class="tl-agents" aria-label="Agents"><h2>Agents</h2><${Graph} state=${state} model=${own.model} upto=${upto} /></section>
      <section class="tl-tasks" aria-label="Tasks"><h2>Tasks</h2><${Tree} thread=${thread} state=${state} model=${own.model} /></section>
    </aside>
  </div>`;
}

/** What a journal's timeline is made of, kept as long as its entries are. Another journal has another list. */
const made = new WeakMap();
function partsOf(entries) {
  let own = made.get(entries);
  if (!own) made.set(entries, (own = { model: new Model(), time: new Axis('time'), events: new Axis('events') }));
  own.model.take(entries);
  own.time.take(entries);
  return own;
}

/** Time, unless everything came at once (an import, say): then each event as wide as the other. */
function axisOf(time, entries) {
  const asked = param('axis');
  if (asked === 'time' || asked === 'events') return asked;
  return entries.length > 3 && time.extent() < entries.length ? 'events' : 'time';
}
