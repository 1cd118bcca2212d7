// Connections: who reads which thread, how far behind they are, and a doctor for what is in the way.
// Its style is in style/connections.css. In the address: `rung` (only those there).

import { full } from '../lib/format.js';
import { curlKey } from '../lib/api.js';
import { Command, Connection, Empty, Loading, Problem } from '../lib/parts.js';
import { usePolled } from '../lib/poll.js';
import { param, setQuery } from '../lib/router.js';
import { html } from '../lib/ui.js';
import { Doctor } from './connections/doctor.js';
import { Readers } from './connections/readers.js';

const EVERY = 2000;
const RUNGS = [['', 'All'], ['live', 'Live'], ['journal', 'Catching up']];

export default function Connections() {
  const { data, error, again } = usePolled('/api/connections?limit=500', EVERY);
  const rung = RUNGS.some(([name]) => name === param('rung')) ? param('rung') : '';
  const all = data?.connections ?? [];
  const own = all.filter((one) => one.client === navigator.userAgent.slice(0, 120)).length;
  return html`<div class="page connections">
    <header class="page-head"><h1>Connections</h1>
      ${data && html`<${Connection} state=${error ? 'reconnecting' : 'live'} />`}</header>
    <p class="lead">Everyone who follows a thread right now, and how far behind they are. A reader that lags more than
      ${data ? ` ${full(data.bound.entries)}` : ' its bound of'} entries is told to come again, and resumes where it was.</p>
    <section aria-labelledby="readers-title">
      <div class="section-head"><h2 id="readers-title">Readers ${data && html`<span class="number">${full(data.total)}</span>`}</h2>
        ${data && data.total > 0 && html`<${Filter} rung=${rung} all=${all} />`}</div>
      ${!data ? (error ? html`<${Problem} error=${error} retry=${again} />` : html`<${Loading} what="Looking who reads" />`)
        : all.length === 0 ? html`<${Empty} title="Nobody reads just now"><p>Open a thread in this page, or follow one from a terminal:</p>
            <${Command} text=${`curl${curlKey()} -N ${location.origin}/api/threads/demo/stream`} /></${Empty}>`
        : html`<${Readers} list=${rung ? all.filter((one) => one.rung === rung) : all} bound=${data.bound} />`}
      ${data && data.total > all.length && html`<p class="more">The ${full(all.length)} that lag most are shown, of ${full(data.total)}.</p>`}
    </section>
    <${Doctor} own=${own} />
  </div>`;
}

function Filter({ rung, all }) {
  const count = (name) => (name ? all.filter((one) => one.rung === name).length : all.length);
  return html`<div class="segments" role="group" aria-label="Only those that are">
    ${RUNGS.map(([name, title]) => html`<button type="button" key=${name} aria-pressed=${rung === name} onClick=${() => setQuery({ rung: name })}>
      ${title}<span class="number">${count(name)}</span></button>`)}</div>`;
}
