// The doctor: is anything between this page and the server in the way of streams, and what to change.

import { icon } from '../../lib/icons.js';
import { Copy } from '../../lib/parts.js';
import { cls, html, useEffect, useRef, useState } from '../../lib/ui.js';
import { judge, measure, proxy } from './probe.js';

/** Text of several lines, whose indents are their own: those of this file are not served. */
const lines = (...all) => all.join('\n');

const PROXIES = {
  nginx: ['nginx', 'In the server block, for where Selvedge is:', lines(
    'location / {',
    '    proxy_pass http://127.0.0.1:4180;',
    '    proxy_http_version 1.1;',
    '    proxy_set_header Connection "";',
    '    proxy_set_header X-Forwarded-For $remote_addr;',
    '    proxy_buffering off;',
    '    proxy_cache off;',
    '    gzip off;',
    '    proxy_read_timeout 1h;',
    '}',
  ), 'And `listen 443 ssl; http2 on;` for more than six connections. Selvedge asks nginx not to buffer by X-Accel-Buffering; `proxy_ignore_headers` undoes that.'],
  caddy: ['Caddy', 'In the Caddyfile:', lines(
    'example.com {',
    '    @plain not header Accept text/event-stream',
    '    encode @plain gzip',
    '    reverse_proxy 127.0.0.1:4180 {',
    '        flush_interval -1',
    '    }',
    '}',
  ), 'HTTP/2 is on wherever Caddy has a certificate. `encode` without the matcher may hold events back.'],
  cloudflare: ['Cloudflare', 'In the dashboard, under Rules, for the path /api/*:', lines(
    'Cache Rule          Bypass cache',
    'Compression Rule    No compression',
    '                    (or Accept-Encoding: identity)',
    'Speed               Rocket Loader off',
    'Enterprise          Response buffering off',
  ), 'Streams that are silent for 100 s are ended; Selvedge says something every 10 s. A tunnel (cloudflared) passes text/event-stream as it comes.'],
};

/** @param {{own: number}} props streams that this browser has open */
export function Doctor({ own }) {
  const [state, setState] = useState({ step: 'running', events: [], of: 8 });
  const running = useRef();
  const check = async () => {
    running.current?.abort();
    const mine = (running.current = new AbortController());
    setState({ step: 'running', events: [], of: 8 });
    try {
      const measured = await measure((events, of) => !mine.signal.aborted && setState({ step: 'running', events, of }), mine.signal);
      if (!mine.signal.aborted) setState({ step: 'done', measured, events: measured.events, of: measured.of });
    } catch (error) {
      if (!mine.signal.aborted) setState({ step: 'failed', error, events: [], of: 8 });
    }
  };
  useEffect(() => {
    check();
    return () => running.current?.abort();
  }, []);
  const { step, measured, error } = state;
  const findings = step === 'done' ? judge(measured, own) : [];
  const found = step === 'done' ? proxy(measured) : null;
  const bad = findings.some((one) => one.level === 'bad');
  return html`<section class="doctor" aria-labelledby="doctor-title">
    <div class="section-head"><h2 id="doctor-title">Stream doctor</h2>
      <button type="button" onClick=${check} disabled=${step === 'running'}>${step === 'running' ? 'Checking…' : 'Check again'}</button></div>
    <p class="lead">The server sends eight events, 100 ms apart. This page looks when they arrive.</p>
    <div class="doctor-body">
      <div class="measured">
        <${Strip} ...${state} />
        <div role="status" class="findings">
          ${step === 'failed' && html`<${Finding} level="bad" title="The check did not work" text=${error.status === 0 ? 'The server cannot be reached, or the stream was cut off.' : `${error.message}.`} />`}
          ${findings.map((one) => html`<${Finding} key=${one.id} ...${one} />`)}
          ${step === 'done' && html`<p class="way">${way(found)}</p>`}
        </div>
      </div>
      ${step === 'done' && html`<${Advice} key=${found} first=${PROXIES[found] ? found : 'nginx'} needed=${bad} />`}
    </div>
  </section>`;
}

const way = (found) => (found === null ? 'No proxy was noticed between this page and the server.'
  : `${PROXIES[found]?.[0] ?? 'A proxy'} seems to be between this page and the server.`);

const MARKS = { good: 'check', note: 'question', bad: 'error' };

const Finding = ({ level, title, text }) => html`<div class="finding" data-level=${level}>${icon(MARKS[level], 18)}<div><h3>${title}</h3><p>${text}</p></div></div>`;

/** When each event was sent, above, and when it came, below. */
function Strip({ events, of }) {
  const [width, height, side] = [640, 92, 12];
  const end = Math.max((of - 1) * 100, ...events.map((one) => one.came));
  const x = (ms) => side + (ms / end) * (width - 2 * side);
  return html`<figure class="strip">
    <svg viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${events.length ? `Sent and came, in milliseconds: ${events.map((one) => `${Math.round(one.sent)} and ${Math.round(one.came)}`).join(', ')}` : 'Nothing came yet'}>
      <path class="rail-line" d=${`M${side} 16H${width - side}M${side} ${height - 16}H${width - side}`} />
      ${Array.from({ length: of }, (_, i) => i >= events.length && html`<circle key=${`e${i}`} class="expected" cx=${x(i * 100)} cy="16" r="4" />`)}
      ${events.map((one, i) => html`<g key=${i} class=${cls('thrown', one.came - one.sent > 150 && 'late')}>
        <path d=${`M${x(one.sent)} 16L${x(one.came)} ${height - 16}`} /><circle cx=${x(one.sent)} cy="16" r="4" /><circle cx=${x(one.came)} cy=${height - 16} r="4" /></g>`)}
    </svg>
    <figcaption><span>sent above, arrived below</span><span class="grow"></span><span>${Math.round(end)} ms</span></figcaption>
  </figure>`;
}

/** What to change, for each proxy. */
function Advice({ first, needed }) {
  const [name, setName] = useState(first);
  const [, intro, text, after] = PROXIES[name];
  const names = Object.keys(PROXIES);
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = names[(names.indexOf(name) + step + names.length) % names.length];
    setName(next);
    document.getElementById(`proxy-${next}`).focus();
  };
  return html`<div class="advice">
    <h3>${needed ? 'What to change' : 'Behind a proxy'}</h3>
    <div class="tabs" role="tablist" aria-label="Proxies" onKeyDown=${move}>${names.map((one) => html`<button type="button" role="tab" key=${one} id=${`proxy-${one}`}
      aria-selected=${one === name} aria-controls="proxy-panel" tabindex=${one === name ? 0 : -1} onClick=${() => setName(one)}>${PROXIES[one][0]}</button>`)}</div>
    <div role="tabpanel" id="proxy-panel" aria-labelledby=${`proxy-${name}`}>
      <p>${intro}</p>
      <div class="config"><pre tabindex="0">${text}</pre><${Copy} text=${text} label="Copy the configuration" /></div>
      <p class="after">${spans(after)}</p>
    </div></div>`;
}

/** Text in which `code` is set apart. */
const spans = (text) => text.split('`').map((piece, i) => (i % 2 ? html`<code>${piece}</code>` : piece));
