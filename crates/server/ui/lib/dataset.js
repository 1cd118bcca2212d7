// A dataset: a table that can be sorted, and a quick chart of its numbers.

import { full } from './format.js';
import { icon } from './icons.js';
import { oneLine } from './json.js';
import { Plot } from './plot.js';
import { cls, html, useMemo, useState } from './ui.js';

const STEP = 50;

/** @param {{rows: any[], schema?: object, rev: number}} props */
export function Dataset({ rows, schema, rev }) {
  const [sort, setSort] = useState(null);
  const [shown, setShown] = useState(10);
  const [chart, setChart] = useState(false);
  const columns = useMemo(() => columnsOf(rows, schema), [rows, rev]);
  const sorted = useMemo(() => (sort ? [...rows].sort(by(sort)) : rows), [rows, rev, sort]);
  const numbers = columns.filter((one) => one.number);
  const turn = (name) => setSort(sort?.name !== name ? { name, down: false } : sort.down ? null : { name, down: true });
  if (!columns.length) return html`<p class="pad dim">No rows yet.</p>`;
  return html`<div class="dataset">
    ${numbers.length > 0 && rows.length > 1 && html`<div class="switch" role="group" aria-label="Shown as">
      <button type="button" class="plain" aria-pressed=${!chart} onClick=${() => setChart(false)}>${icon('dataset', 14)}Table</button>
      <button type="button" class="plain" aria-pressed=${chart} onClick=${() => setChart(true)}>${icon('chart', 14)}Chart</button></div>`}
    ${chart ? html`<${Chart} rows=${rows} columns=${columns} rev=${rev} />` : html`<div class="scroll-x" tabindex="0" role="region" aria-label="Rows">
      <table><thead><tr>${columns.map((one) => html`<th key=${one.name} class=${cls(one.number && 'to-end')} aria-sort=${sort?.name === one.name ? (sort.down ? 'descending' : 'ascending') : undefined}>
        <button type="button" class="plain" onClick=${() => turn(one.name)}>${one.name}${sort?.name === one.name ? (sort.down ? ' ↓' : ' ↑') : ''}</button></th>`)}</tr></thead>
      <tbody>${sorted.slice(0, shown).map((row, n) => html`<tr key=${n}>${columns.map((one) => html`<td key=${one.name} class=${cls(one.number && 'to-end')}>${cell(row, one)}</td>`)}</tr>`)}</tbody></table>
      ${rows.length > shown && html`<button type="button" class="plain more" onClick=${() => setShown(shown + STEP)}>${full(rows.length - shown)} more rows</button>`}
    </div>`}
  </div>`;
}

const valueOf = (row, name) => (row && typeof row === 'object' ? row[name] : name === 'value' ? row : undefined);
const cell = (row, { name, number }) => {
  const value = valueOf(row, name);
  return number && typeof value === 'number' ? full(value) : oneLine(value ?? '', 80);
};
const by = ({ name, down }) => (a, b) => {
  const [x, y] = [valueOf(a, name), valueOf(b, name)];
  const order = typeof x === 'number' && typeof y === 'number' ? x - y : String(x ?? '').localeCompare(String(y ?? ''), 'en', { numeric: true });
  return down ? -order : order;
};

function columnsOf(rows, schema) {
  const names = new Set(Object.keys(schema?.properties ?? schema?.items?.properties ?? {}));
  for (const row of rows.slice(0, 200)) {
    if (row && typeof row === 'object' && !Array.isArray(row)) for (const name of Object.keys(row)) names.add(name);
    else names.add('value');
    if (names.size > 40) break;
  }
  return [...names].map((name) => {
    const some = rows.slice(0, 50).map((row) => valueOf(row, name)).filter((one) => one !== undefined && one !== null);
    return { name, number: some.length > 0 && some.every((one) => typeof one === 'number') };
  });
}

/** One column of numbers, over the first column that is none. */
function Chart({ rows, columns, rev }) {
  const label = columns.find((one) => !one.number) ?? null;
  const numbers = columns.filter((one) => one.number);
  const [chosen, setChosen] = useState(numbers[0].name);
  const most = rows.slice(0, 2000);
  const data = useMemo(() => [most.map((_, n) => n), most.map((row) => valueOf(row, chosen) ?? null)], [rows, rev, chosen]);
  const labels = label ? most.map((row) => String(valueOf(row, label.name) ?? '')) : null;
  const told = `${chosen}${label ? ` by ${label.name}` : ''}, ${full(most.length)} rows`;
  return html`${numbers.length > 1 && html`<label class="of">Of <select aria-label="Of" value=${chosen} onChange=${(e) => setChosen(e.target.value)}>
      ${numbers.map(({ name }) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>`}
    <${Plot} data=${data} series=${[chosen]} labels=${labels} bars=${most.length <= 40} height=${220} label=${told} />`;
}
