// Measures a stream of events that says when each was sent, and judges how it came.

import { api } from '../../lib/api.js';
import { parser } from '../../lib/sse.js';

/** Events that are later than this, in ms, were held back. */
const LATE = 150;

/**
 * @typedef {object} Measured
 * @property {{sent: number, came: number}[]} events in ms since the first was sent
 * @property {number} of how many there are
 * @property {object} came what the server saw of the request
 * @property {object} seen what this page saw of the answer: `encoding`, `server`, `via`, `accel`, `protocol`
 */

/**
 * Asks for the stream; tells each event as it comes.
 * @param {(events: {sent: number, came: number}[], of: number) => void} step
 * @param {AbortSignal} signal
 * @returns {Promise<Measured>}
 */
export async function measure(step, signal) {
  const path = `/api/connections/probe?once=${Math.random().toString(36).slice(2)}`;
  // Browsers keep only so many timings.
  performance.clearResourceTimings();
  const response = await api(path, { raw: true, signal });
  const header = (name) => response.headers.get(name);
  const seen = { encoding: header('content-encoding'), server: header('server'), via: header('via'), accel: header('x-accel-buffering') !== null, protocol: '' };
  const raw = [];
  let [of, came, first] = [0, {}, null];
  const parse = parser(({ event, data }) => {
    if (event !== 'probe') return;
    const told = JSON.parse(data);
    const at = performance.now();
    first ??= at - told.sent;
    [of, came] = [told.of, told.came ?? came];
    raw.push({ sent: told.sent, came: at - first });
    step([...raw], of);
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parse(value);
  }
  seen.protocol = await protocolOf(path);
  // The first to come is taken for one in time, unless those after it came faster than they were sent.
  const early = Math.min(0, ...raw.map((one) => one.came - one.sent));
  return { events: raw.map((one) => ({ sent: one.sent, came: one.came - early })), of, came, seen };
}

/** What the browser spoke for a request; it tells some moments after the answer's end. */
async function protocolOf(path) {
  for (let tries = 0; tries < 25; tries += 1) {
    const timing = performance.getEntriesByType('resource').find((one) => one.name.endsWith(path));
    if (timing) return timing.nextHopProtocol;
    await new Promise((soon) => setTimeout(soon, 10));
  }
  return '';
}

/**
 * What a measurement means: findings, the gravest first, each with `level` (`good`, `note`, `bad`).
 * @param {Measured} measured
 * @param {number} own streams that this browser has open
 */
export function judge({ events, of, came, seen }, own = 0) {
  const findings = [];
  const latest = Math.max(0, ...events.map((one) => one.came - one.sent));
  const gaps = events.slice(1).map((one, i) => one.came - events[i].came);
  const together = gaps.filter((gap) => gap < 15).length;
  const held = latest > LATE && together >= gaps.length / 2;
  if (events.length < of) {
    findings.push({ id: 'cut', level: 'bad', title: 'The stream was cut off', text: `${events.length} of ${of} events came. Something on the way ends answers before they are over: look for a time limit.` });
  } else if (held) {
    const all = together === gaps.length;
    findings.push({ id: 'held', level: 'bad', title: 'Something on the way holds events back', text: `They were sent 100 ms apart and came ${all ? 'all at once' : 'in clumps'}, up to ${Math.round(latest)} ms late. A proxy buffers the answer: people see words in bursts, or only at the end.` });
  } else if (latest > LATE) {
    findings.push({ id: 'late', level: 'note', title: 'Events come late, one by one', text: `Up to ${Math.round(latest)} ms late. Nothing holds them back: the way is slow, or this computer is busy.` });
  } else {
    findings.push({ id: 'timely', level: 'good', title: 'Events arrive as they are sent', text: `${events.length} events, sent 100 ms apart, came one by one; the latest ${Math.round(latest)} ms after its time.` });
  }
  if (seen.encoding && seen.encoding !== 'identity') {
    findings.push({ id: 'encoding', level: held ? 'bad' : 'note', title: `The answer was compressed on the way (${seen.encoding})`, text: 'The server compresses no streams. A compressor waits until it has enough to compress: leave text/event-stream out.' });
  }
  if (/^http\/1|^http1/.test(seen.protocol)) {
    const full = own >= 5;
    findings.push({ id: 'protocol', level: full ? 'bad' : 'note', title: full ? 'This browser has no connection left' : 'HTTP/1.1: six connections for each browser', text: `Each thread that is looked at takes one of the six, over all windows; tabs in the background let theirs go${own ? `; this browser reads ${own}` : ''}. A proxy that speaks HTTP/2 with the browser has no such bound.` });
  }
  return findings;
}

/** The proxy that is likely on the way: 'nginx', 'caddy', 'cloudflare', 'other', or null for none. */
export function proxy({ came, seen }) {
  const told = `${seen.server ?? ''} ${seen.via ?? ''} ${came.via ?? ''}`.toLowerCase();
  if (came.cloudflare || told.includes('cloudflare')) return 'cloudflare';
  if (told.includes('caddy')) return 'caddy';
  // nginx takes this header for itself.
  if (told.includes('nginx') || !seen.accel) return 'nginx';
  return came.forwarded || told.trim() ? 'other' : null;
}
