// The scrubber: the whole journal as a strip, with marks where things happen. A slider to the keyboard
// and to screen readers.

import { clock } from '../../../lib/format.js';
import { paints, theme } from '../../../lib/theme.js';
import { html, useLayoutEffect, useMemo, useRef, useState } from '../../../lib/ui.js';
import { about, named } from '../timeline/describe.js';
import { lastBefore } from '../timeline/model.js';

const PAD = 8;
const HEIGHT = 32;
/** So many px from a mark count as on it. */
const CLOSE = 4;
/** What is drawn where two fall on the same place. */
const RANK = { task: 0, artifact: 1, tool: 2, broken: 2.5, answer: 3, message: 4, question: 5, error: 6 };
const TALL = { task: 8, artifact: 10, tool: 10, broken: 10, answer: 16, message: 16, question: 18, error: 18 };

/** @param {{player: import('./player.js').Player, thread, words: string}} props */
export function Track({ player, thread, words }) {
  const [box, canvas] = [useRef(), useRef()];
  const [hover, setHover] = useState(null);
  const [width, setWidth] = useState(0);
  const held = useRef(false);
  const [look, setLook] = useState(0);
  const { axis, entries, index } = player;
  const most = Math.max(1, axis.extent());
  const xOf = (pos) => PAD + (pos / most) * (width - 2 * PAD);
  const x = xOf(index < 0 ? 0 : index === entries.length - 1 ? most : axis.pos[index]);

  useLayoutEffect(() => {
    const sizes = new ResizeObserver(() => setWidth(box.current.clientWidth));
    sizes.observe(box.current);
    const again = () => setLook((n) => n + 1);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', again);
    const stop = theme.subscribe(again);
    return () => {
      sizes.disconnect();
      dark.removeEventListener('change', again);
      stop();
    };
  }, []);
  const tones = useMemo(paints, [look]);
  const tone = (name) => tones.get(name);
  useLayoutEffect(() => {
    if (width) strip(canvas.current, { player, width, x, xOf, tone, people: thread.liveState.value.participants });
  });

  const indexAt = (event) => {
    const from = box.current.getBoundingClientRect().left;
    const share = (event.clientX - from - PAD) / (width - 2 * PAD);
    return share >= 1 ? entries.length - 1 : axis.indexAt(Math.max(0, share) * most + 1e-6);
  };
  /** The same, but a mark close by is meant. */
  const markAt = (event) => {
    const x = event.clientX - box.current.getBoundingClientRect().left;
    const next = lastBefore(player.marks, x, (one) => xOf(axis.pos[one.index])) + 1;
    const away = (one) => Math.abs(xOf(axis.pos[one.index]) - x);
    const [found] = [player.marks[next - 1], player.marks[next]].filter((one) => one && away(one) <= CLOSE).sort((a, b) => away(a) - away(b));
    return found ? found.index : indexAt(event);
  };
  const down = (event) => {
    if (event.button) return;
    held.current = true;
    player.pause();
    event.currentTarget.setPointerCapture(event.pointerId);
    player.to(markAt(event));
  };
  const move = (event) => {
    if (held.current) player.to(indexAt(event));
    const over = held.current ? indexAt(event) : markAt(event);
    setHover(event.pointerType === 'touch' || over < 0 ? null : { index: over, x: event.clientX - box.current.getBoundingClientRect().left });
  };
  const keys = {
    ArrowLeft: () => player.step(-1), ArrowDown: () => player.step(-1), ArrowRight: () => player.step(1), ArrowUp: () => player.step(1),
    PageDown: () => player.skip(-1), PageUp: () => player.skip(1), Home: () => player.to(-1), End: () => player.to(entries.length - 1),
  };
  const press = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  };
  const shown = hover && entries[hover.index];
  return html`<div class="rp-track" ref=${box} role="slider" tabindex="0" aria-label="Position in the journal" aria-orientation="horizontal"
      aria-valuemin="0" aria-valuemax=${thread.head.value} aria-valuenow=${index < 0 ? 0 : entries[index]?.seq ?? 0} aria-valuetext=${words}
      onPointerDown=${down} onPointerMove=${move} onPointerUp=${() => (held.current = false)} onPointerCancel=${() => (held.current = false)}
      onPointerLeave=${() => setHover(null)} onKeyDown=${press}>
    <canvas ref=${canvas} aria-hidden="true"></canvas>
    <span class="rp-thumb" style=${{ left: `${x}px` }} aria-hidden="true"></span>
    ${shown && html`<span class="rp-tip" aria-hidden="true" style=${{ left: `${Math.max(110, Math.min(hover.x, width - 110))}px` }}>
      <strong>${named(shown.event)}</strong> ${about(shown.event)}<br /><span class="rp-dim">#${shown.seq} · ${clock(axis.times[hover.index])}</span></span>`}
  </div>`;
}

function strip(canvas, { player, width, x, xOf, tone, people }) {
  const ratio = devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(HEIGHT * ratio)];
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
  canvas.style.width = `${width}px`;
  canvas.style.height = `${HEIGHT}px`;
  const ctx = canvas.getContext('2d');
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, HEIGHT);
  const { axis, entries, marks } = player;
  const middle = HEIGHT / 2;
  const colours = new Map();
  for (const one of people.values()) colours.set(one.id, one.colour === null ? tone('--ink-soft') : tone(`--thread-${one.colour}`));
  const colourOf = ({ event }) => colours.get(event?.agentId) ?? colours.get(event?.author) ?? tone('--ink-soft');
  const faint = (at) => (at <= x + 0.5 ? 1 : 0.4);
  ctx.fillStyle = tone('--line-strong');
  ctx.fillRect(PAD, middle - 1, width - 2 * PAD, 2);
  // Every event, a pixel wide; where there are more, the first of each pixel.
  let last = -2;
  for (let n = 0; n < entries.length; n++) {
    const at = xOf(axis.pos[n]);
    if (at - last < 1) {
      n = Math.max(n, axis.indexAt(axis.pos[n] + axis.extent() / width) - 1);
      continue;
    }
    last = at;
    ctx.globalAlpha = faint(at) * 0.75;
    ctx.fillStyle = colourOf(entries[n]);
    ctx.fillRect(Math.round(at), middle - 2, 1.5, 4);
  }
  const best = new Map();
  for (const one of marks) {
    const column = Math.round(xOf(axis.pos[one.index]) / 3);
    const before = best.get(column);
    if (!before || RANK[one.mark] > RANK[before.mark]) best.set(column, one);
  }
  for (const { index, mark } of best.values()) {
    const at = xOf(axis.pos[index]);
    ctx.globalAlpha = faint(at);
    ctx.fillStyle = mark === 'question' || mark === 'error' || mark === 'broken' ? tone('--red') : mark === 'message' || mark === 'answer' ? tone('--ink') : colourOf(entries[index]);
    const tall = TALL[mark];
    ctx.beginPath();
    ctx.roundRect(Math.round(at) - 1, middle - tall / 2, 2.5, tall, 1.25);
    ctx.fill();
  }
  ctx.globalAlpha = 1;
}
