// Usage: tokens, cost and latency by agent, model and day, what threads cost beside their budgets, and
// errors by code. Its style is in style/usage.css. In the address: `days`, `show`, `by`, `thread`.

import { full } from '../lib/format.js';
import { icon } from '../lib/icons.js';
import { Empty, Loading, Problem } from '../lib/parts.js';
import { param, setQuery } from '../lib/router.js';
import { html, useMemo } from '../lib/ui.js';
import { Chart } from './usage/chart.js';
import { dated, grouped, MEASURES, summed, useUsage } from './usage/figures.js';
import { Breakdown, Errors, Figures, Threads } from './usage/tables.js';

const DAYS = [['7', '7 days'], ['30', '30 days'], ['90', '90 days']];
const BY = [['agent', 'By agent'], ['model', 'By model']];

export default function Usage() {
  const chosen = (name, list, usual) => (list.some(([value]) => value === param(name)) ? param(name) : usual);
  const days = Number(chosen('days', DAYS, '30'));
  const show = chosen('show', MEASURES, 'tokens');
  const by = chosen('by', BY, 'agent');
  const thread = param('thread');
  const { data, error, again } = useUsage(days, thread);
  return html`<div class="page usage">
    <header class="page-head"><h1>Usage</h1>
      ${thread && html`<button type="button" class="plain chip" onClick=${() => setQuery({ thread: null })} aria-label=${`Not only in ${thread}`}>in ${thread}${icon('close', 12)}</button>`}
      <span class="grow"></span>
      <${Segments} label="How far back" list=${DAYS} value=${String(days)} name="days" /></header>
    ${!data ? (error ? html`<${Problem} error=${error} retry=${again} />` : html`<${Loading} what="Adding up" />`)
      : data.rows.length === 0 && data.errors.length === 0 ? html`<${Empty} title="Nothing was used yet"><p>When agents call models, this page shows how many tokens that took, what it cost, and how long it lasted, by agent, model and day.</p></${Empty}>`
      : html`<${Content} data=${data} days=${days} show=${show} by=${by} thread=${thread} />`}
  </div>`;
}

function Segments({ label, list, value, name }) {
  return html`<div class="segments" role="group" aria-label=${label}>${list.map(([own, title]) => html`<button type="button" key=${own}
    aria-pressed=${own === value} onClick=${() => setQuery({ [name]: own === list[0][0] && name !== 'days' ? null : own })}>${title}</button>`)}</div>`;
}

function Content({ data, days, show, by, thread }) {
  const total = useMemo(() => summed(data.rows), [data]);
  const groups = useMemo(() => grouped(data.rows, by, show), [data, by, show]);
  const series = useMemo(() => dated(data, groups, by, show), [data, groups, by, show]);
  const measure = MEASURES.find(([name]) => name === show);
  return html`
    <${Figures} total=${total} errors=${data.errors} />
    <section aria-labelledby="by-day">
      <div class="section-head"><h2 id="by-day">${measure[1]} by day</h2><span class="grow"></span>
        <${Segments} label="What is shown" list=${MEASURES} value=${show} name="show" />
        <${Segments} label="Told apart" list=${BY} value=${by} name="by" /></div>
      <${Chart} series=${series} show=${show} label=${`${measure[1]} of ${full(groups.length)} ${by}s over ${days} days`} />
    </section>
    <section aria-labelledby="breakdown"><div class="section-head"><h2 id="breakdown">Agents and models</h2></div>
      <${Breakdown} rows=${data.rows} budgets=${data.budgets} /></section>
    <div class="columns">
      ${!thread && data.threads.length > 0 && html`<section aria-labelledby="dearest"><div class="section-head"><h2 id="dearest">Threads that used most</h2></div>
        <${Threads} rows=${data.threads} budgets=${data.budgets} /></section>`}
      <section aria-labelledby="errors"><div class="section-head"><h2 id="errors">Errors by code</h2></div>
        <${Errors} list=${data.errors} /></section>
    </div>`;
}
