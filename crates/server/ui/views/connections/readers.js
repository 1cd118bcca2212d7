// The table of readers.

import { compact, full } from '../../lib/format.js';
import { When } from '../../lib/parts.js';
import { threadLink } from '../../lib/router.js';
import { html } from '../../lib/ui.js';

/**
 * @param {{list: object[], bound: {entries: number, seconds: number}}} props as /api/connections tells
 */
export function Readers({ list, bound }) {
  if (!list.length) return html`<p class="none">None just now.</p>`;
  return html`<div class="scroll-x"><table class="readers">
    <thead><tr><th scope="col">Thread</th><th scope="col">Reads as</th><th scope="col">Who</th><th scope="col">Since</th>
      <th scope="col">Last id</th><th scope="col" class="num">Lag</th><th scope="col">Rung</th></tr></thead>
    <tbody>${list.map((one) => html`<tr key=${one.id}>
      <th scope="row">${one.thread === null ? html`<span class="quiet">a share</span>` : html`<a href=${threadLink(one.thread)}>${one.thread}</a>`}</th>
      <td><code>${one.dialect}</code>${one.version && html` <span class="quiet">${one.version}</span>`}</td>
      <td class="reader"><span title=${one.client ?? ''}>${program(one.client)}</span><span class="quiet">${[one.caller === 'anyone' ? null : one.caller, one.peer].filter(Boolean).join(' · ')}</span></td>
      <td><${When} at=${Date.parse(one.since)} /></td>
      <td class="cursor"><code>${one.cursor}</code></td>
      <td class="num"><${Lag} lag=${one.lag} most=${bound.entries} /></td>
      <td><${Rung} rung=${one.rung} /></td>
    </tr>`)}</tbody></table></div>`;
}

/** How far behind, on a scale that shows little lags, too. */
function Lag({ lag, most }) {
  const share = lag === 0 ? 0 : Math.min(1, Math.log10(lag + 1) / Math.log10(Math.max(10, most)));
  return html`<span class="lag" data-high=${lag > most / 10 ? '' : undefined} title=${`${full(lag)} entries behind, of ${full(most)} at most`}>
    <span class="figure">${compact(lag)}</span><span class="gauge" aria-hidden="true"><span style=${{ width: `${share * 100}%` }}></span></span></span>`;
}

const RUNGS = {
  live: ['live', 'Takes what all readers of this view share, as it is written'],
  journal: ['catching up', 'Reads the past from the journal, at its own pace'],
};

const Rung = ({ rung }) => html`<span class="rung" data-rung=${rung} title=${RUNGS[rung]?.[1] ?? ''}><span class="dot" aria-hidden="true"></span>${RUNGS[rung]?.[0] ?? rung}</span>`;

/** What a client calls itself, in a word or two. */
export function program(client) {
  if (!client) return 'unnamed';
  const browser = /\b(Firefox|Edg|OPR|HeadlessChrome|Chrome)\/(\d+)/.exec(client) ?? /Version\/(\d+)\S* (?:Mobile\/\S+ )?(Safari)/.exec(client);
  if (browser) {
    const [name, version] = /^\d/.test(browser[1]) ? [browser[2], browser[1]] : [browser[1], browser[2]];
    return `${{ Edg: 'Edge', OPR: 'Opera', HeadlessChrome: 'Chrome' }[name] ?? name} ${version}`;
  }
  return client.split(/[\s(;]/)[0].replace('/', ' ').slice(0, 40);
}
