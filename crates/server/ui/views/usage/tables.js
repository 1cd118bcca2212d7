// Numbers in words and tables: the sum of all, agents and models, threads beside their budgets, errors.

import { compact, day, duration, full, money } from '../../lib/format.js';
import { icon } from '../../lib/icons.js';
import { link, threadLink } from '../../lib/router.js';
import { html } from '../../lib/ui.js';
import { measured, summed } from './figures.js';

/** The sum of all, large. */
export function Figures({ total, errors }) {
  const failed = errors.reduce((sum, one) => sum + one.times, 0);
  const mean = measured('latency', total);
  return html`<dl class="figures">
    <div><dt>Tokens</dt><dd>${compact(total.input + total.output)}</dd><dd class="sub">${compact(total.input)} in · ${compact(total.output)} out${total.cached > 0 && ` · ${compact(total.cached)} cached`}</dd></div>
    <div><dt>Cost</dt><dd>${money(total.cost)}</dd><dd class="sub">${total.cost > 0 && total.calls > 0 ? `${money(total.cost / total.calls)} a call` : 'no prices told'}</dd></div>
    <div><dt>Model calls</dt><dd>${compact(total.calls)}</dd><dd class="sub">${total.calls > 0 ? `${compact(Math.round((total.input + total.output) / total.calls))} tokens each` : ''}</dd></div>
    <div><dt>Latency</dt><dd>${mean === null ? '–' : duration(mean)}</dd><dd class="sub">${mean === null ? 'not known' : `a call; the slowest ${duration(total.latency.slowest)}`}</dd></div>
    <div data-bad=${failed > 0 ? '' : undefined}><dt>Errors</dt><dd>${compact(failed)}</dd><dd class="sub">${errors[0]?.code ?? 'none'}</dd></div>
  </dl>`;
}

/** Each agent with each of its models. */
export function Breakdown({ rows, budgets }) {
  const all = [...Map.groupBy(rows, (row) => JSON.stringify([row.agent, row.model]))].map(([key, own]) => {
    const [agent, model] = JSON.parse(key);
    return { agent, model, sum: summed(own) };
  });
  all.sort((a, b) => b.sum.cost - a.sum.cost || measured('tokens', b.sum) - measured('tokens', a.sum));
  const most = Math.max(1, ...all.map(({ sum }) => measured('tokens', sum)));
  const bounded = Object.keys(budgets.agents).length > 0;
  return html`<div class="scroll-x" tabindex="0" role="group" aria-label="Table of agents and models"><table>
    <thead><tr><th scope="col">Agent</th><th scope="col">Model</th><th scope="col" class="num">Calls</th><th scope="col" class="num">Input</th><th scope="col" class="num">Output</th>
      <th scope="col" class="num">Tokens</th><th scope="col" class="num">Cost</th><th scope="col" class="num">Latency</th><th scope="col" class="num">Slowest</th>${bounded && html`<th scope="col" class="num">Budget a thread</th>`}</tr></thead>
    <tbody>${all.map(({ agent, model, sum }) => html`<tr key=${`${agent}\n${model}`}>
      <th scope="row">${agent ? html`<a href=${link('/threads', { agent })}>${agent}</a>` : html`<span class="quiet">unnamed</span>`}</th>
      <td>${model ? html`<code>${model}</code>` : html`<span class="quiet">not told</span>`}</td>
      <td class="num">${full(sum.calls)}</td><td class="num">${full(sum.input)}</td><td class="num">${full(sum.output)}</td>
      <td class="num"><span class="share"><span class="bar" aria-hidden="true"><span style=${{ width: `${(measured('tokens', sum) / most) * 100}%` }}></span></span>${full(measured('tokens', sum))}</span></td>
      <td class="num">${sum.cost ? money(sum.cost) : '–'}</td>
      <td class="num">${duration(measured('latency', sum) ?? undefined) || '–'}</td><td class="num">${sum.latency.slowest ? duration(sum.latency.slowest) : '–'}</td>
      ${bounded && html`<td class="num quiet">${bound(budgets.agents[agent])}</td>`}</tr>`)}</tbody></table></div>`;
}

const bound = (of) => (of ? [of.cost !== undefined && money(of.cost), of.tokens !== undefined && `${compact(of.tokens)} tokens`].filter(Boolean).join(' · ') : '–');

/** What threads used, as bars; where a thread has a budget, a line. */
export function Threads({ rows, budgets }) {
  const priced = rows.some((row) => row.cost > 0) && (budgets.thread.cost !== undefined || budgets.thread.tokens === undefined);
  const [value, told] = priced ? [(row) => row.cost, money] : [(row) => row.input + row.output, compact];
  const limit = priced ? budgets.thread.cost : budgets.thread.tokens;
  const most = Math.max(...rows.map(value), limit ?? 0) * 1.04 || 1;
  return html`<div class="budgeted">
    <ol>${rows.map((row) => html`<li key=${row.thread} data-over=${limit !== undefined && value(row) >= limit ? '' : undefined}>
      <a href=${threadLink(row.thread)}>${row.thread}</a><span class="amount">${told(value(row))}${limit !== undefined && html`<span class="unseen"> of ${told(limit)}</span>`}</span>
      <span class="track" aria-hidden="true"><span class="fill" style=${{ width: `${(value(row) / most) * 100}%` }}></span>
        ${limit !== undefined && html`<span class="limit" style=${{ left: `${(limit / most) * 100}%` }}></span>`}</span></li>`)}</ol>
    ${limit !== undefined ? html`<p class="budget-note"><span class="limit-key" aria-hidden="true"></span>The budget of a thread: ${told(limit)}. Then someone is asked.</p>`
      : html`<p class="budget-note">Threads have no budget here. <code>[budget] thread = { cost = 5 }</code> in the configuration sets one.</p>`}
  </div>`;
}

const WHAT = { task: ['task', 'Tasks that failed'], tool: ['tool call', 'Calls of tools that failed'], error: ['error', 'Errors that were told'] };

/** What failed. */
export function Errors({ list }) {
  if (!list.length) return html`<p class="fine">${icon('check')}Nothing failed in this time.</p>`;
  const most = Math.max(...list.map((one) => one.times));
  return html`<div class="scroll-x" tabindex="0" role="group" aria-label="Table of errors"><table>
    <thead><tr><th scope="col">Code</th><th scope="col">What</th><th scope="col">Agent</th><th scope="col">Last</th><th scope="col" class="num">Times</th></tr></thead>
    <tbody>${list.map((one) => html`<tr key=${`${one.what} ${one.code} ${one.agent}`}>
      <th scope="row"><code class="code">${one.code}</code></th><td title=${WHAT[one.what]?.[1]}>${WHAT[one.what]?.[0] ?? one.what}</td><td>${one.agent || '–'}</td><td>${day(Date.parse(one.last))}</td>
      <td class="num"><span class="share red"><span class="bar" aria-hidden="true"><span style=${{ width: `${(one.times / most) * 100}%` }}></span></span>${full(one.times)}</span></td></tr>`)}</tbody></table></div>`;
}
