// The tree of forks: a line for each thread, from the event it branched off at to its head.

import { full } from '../../../lib/format.js';
import { Status, When } from '../../../lib/parts.js';
import { setQuery, threadLink } from '../../../lib/router.js';
import { cls, html } from '../../../lib/ui.js';

const ROW = 56;
const WIDTH = 260;
const EDGE = 10;

/** Threads in the order of their rows: the later a branch left, the nearer it is to its parent. */
export function ordered(threads) {
  const children = Map.groupBy(threads.map((one, n) => ({ ...one, n })), (one) => one.parent ?? -1);
  const rows = [];
  const walk = (one, depth, row) => {
    const own = { ...one, depth, row: rows.length, parentRow: row };
    rows.push(own);
    for (const child of (children.get(one.n) ?? []).sort((a, b) => b.at - a.at || a.n - b.n)) walk(child, depth + 1, own.row);
  };
  for (const root of children.get(-1) ?? []) walk(root, 0, null);
  // Its head is not known where a thread was deleted: it reaches to the last branch.
  for (const one of rows) one.end = one.head ?? Math.max(...rows.filter((other) => other.parentRow === one.row).map((other) => other.at), one.at ?? 0);
  return rows;
}

/** @param {{rows: object[], id: string, other: string|null}} props */
export function Tree({ rows, id, other }) {
  const most = Math.max(1, ...rows.map((row) => row.end));
  const x = (seq) => EDGE + (seq / most) * (WIDTH - 2 * EDGE);
  const y = (row) => row * ROW + ROW / 2;
  const sort = (row) => (row.id === id ? 'own' : row.id !== null && row.id === other ? 'other' : null);
  return html`<div class="tree">
    <svg class="loom" width=${WIDTH} height=${rows.length * ROW} aria-hidden="true">
      ${rows.map((row) => html`<g key=${row.row} data-sort=${sort(row)} data-gone=${row.id === null}>
        ${row.parentRow !== null && html`<path class="fork-line" d=${`M${x(row.at)} ${y(row.parentRow)}V${y(row.row) - 8}q0 8 8 8`} />`}
        <path class="life" d=${`M${x(row.at ?? 0) + (row.parentRow === null ? 0 : 8)} ${y(row.row)}H${Math.max(x(row.end), x(row.at ?? 0) + 12)}`} />
        <circle class="head" cx=${Math.max(x(row.end), x(row.at ?? 0) + 12)} cy=${y(row.row)} r="4" />
        ${row.parentRow !== null && html`<circle class="knot" cx=${x(row.at)} cy=${y(row.parentRow)} r="3" />`}
      </g>`)}
    </svg>
    <ul class="tree-rows" aria-label="Branches">
      ${rows.map((row) => html`<${Row} key=${row.row} row=${row} sort=${sort(row)} />`)}
    </ul>
  </div>`;
}

function Row({ row, sort }) {
  const style = { height: `${ROW}px`, '--depth': row.depth };
  if (row.id === null) return html`<li class="tree-row gone" style=${style}><span class="tree-name">A thread that was deleted</span></li>`;
  const own = row.at === null ? row.head : row.head - row.at;
  return html`<li class=${cls('tree-row', sort)} style=${style}>
    <div class="tree-what">
      ${sort === 'own' ? html`<span class="tree-name" aria-current="true">${row.title ?? row.id}</span>`
        : html`<a class="tree-name" href=${threadLink(row.id, { tab: 'branches' })}>${row.title ?? row.id}</a>`}
      <span class="tree-facts">
        ${row.title && html`<code title=${row.id}>${row.id.length > 24 ? `${row.id.slice(0, 13)}…` : row.id}</code>`}
        ${row.at !== null && html`<span>from event ${full(row.at)}</span>`}
        ${own !== undefined && !Number.isNaN(own) && html`<span>${full(own)} ${row.at === null ? '' : 'own '}${own === 1 ? 'event' : 'events'}</span>`}
        ${row.promoted && html`<span>promoted</span>`}
        ${row.status && row.status !== 'idle' && html`<${Status} status=${row.status} />`}
        ${row.updatedAt && html`<${When} at=${Date.parse(row.updatedAt)} />`}
      </span>
    </div>
    ${sort === 'own' ? html`<span class="tag">this one</span>`
      : html`<button type="button" class="tree-compare" aria-pressed=${sort === 'other'} onClick=${() => setQuery({ with: row.id }, { push: true })}>${sort === 'other' ? 'compared' : 'Compare'}</button>`}
  </li>`;
}
