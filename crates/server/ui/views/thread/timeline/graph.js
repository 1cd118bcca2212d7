// The agent graph: everyone in the order they came, and an arc for each who asked another. New ones are
// added below, so nobody ever moves.

import { html } from '../../../lib/ui.js';

const STEP = 34;
const WIDTH = 288;
/** Where the dots are; names are left of them, arcs right. */
const X = 148;
const FIRST = 20;
/** More than these are not drawn. */
const MOST = 40;

const WHY = { asks: 'gives work to', calls: 'calls', answers: 'answers' };

/** @param {{state, model, upto: number}} props */
export function Graph({ state, model, upto }) {
  const all = model.lanes.filter((lane) => lane.kind !== 'thread' && (state.participants.has(lane.id) || lane.tracks[0].row.events[0] <= upto));
  const lanes = all.slice(0, MOST);
  const places = new Map(lanes.map((lane, n) => [lane, n]));
  const edges = model.edges(upto).filter((edge) => places.has(edge.from) && places.has(edge.to));
  if (!lanes.length) return html`<p class="tl-none">Nobody has spoken yet.</p>`;
  const most = Math.max(1, ...edges.map((edge) => edge.count));
  const nameOf = (lane) => state.participants.get(lane.id)?.name ?? lane.id;
  const height = FIRST * 2 + (lanes.length - 1) * STEP;
  return html`<div class="tl-graph">
    <svg viewBox=${`0 0 ${WIDTH} ${height}`} width=${WIDTH} height=${height} aria-hidden="true">
      ${edges.map((edge) => html`<${Arc} key=${`${edge.from.id} ${edge.to.id}`} edge=${edge} places=${places} most=${most} state=${state} />`)}
      ${lanes.map((lane, n) => html`<g key=${lane.id} data-colour=${state.participants.get(lane.id)?.colour ?? ''} class="tl-node">
        <text x=${X - 14} y=${FIRST + n * STEP + 4.5} text-anchor="end">${cut(nameOf(lane))}</text>
        <circle cx=${X} cy=${FIRST + n * STEP} r="5.5" data-kind=${lane.kind} /></g>`)}
    </svg>
    ${all.length > MOST && html`<p class="tl-none">and ${all.length - MOST} more</p>`}
    <ul class="unseen">${edges.map((edge) => html`<li>${nameOf(edge.from)} ${WHY[edge.why]} ${nameOf(edge.to)}, ${edge.count === 1 ? 'once' : `${edge.count} times`}</li>`)}</ul>
  </div>`;
}

function Arc({ edge, places, most, state }) {
  const [a, b] = [places.get(edge.from), places.get(edge.to)];
  const [y1, y2] = [FIRST + a * STEP, FIRST + b * STEP];
  const colour = state.participants.get(edge.from.id)?.colour ?? '';
  const width = 1.25 + (2.5 * (edge.count - 1)) / Math.max(1, most - 1 || 1);
  if (a === b) {
    const d = `M${X + 6} ${y1 - 3}c18 -10 18 16 2 7`;
    return html`<g class="tl-arc" data-colour=${colour}><path d=${d} stroke-width=${width} /><path class="tip" d=${tip(X + 7, y1 + 4)} /></g>`;
  }
  const span = Math.abs(b - a);
  // Up and down between the same two run beside each other.
  const out = X + 14 + Math.min(116, span * 22 + (b < a ? 14 : 0));
  const [from, to] = b > a ? [y1 + 3, y2 - 3] : [y1 - 3, y2 + 3];
  const d = `M${X + 7} ${from}C${out} ${from} ${out} ${to} ${X + 9} ${to}`;
  const middle = (from + to) / 2;
  return html`<g class="tl-arc" data-colour=${colour}>
    <path d=${d} stroke-width=${width} /><path class="tip" d=${tip(X + 7, to)} />
    ${edge.count > 1 && html`<text x=${X + 8 + (out - X - 8) * 0.75} y=${middle + 4} text-anchor="middle">${edge.count}×</text>`}</g>`;
}

const tip = (x, y) => `M${x} ${y}l6 -3.5v7z`;
const cut = (name) => (name.length > 18 ? `${name.slice(0, 17)}…` : name);
