// Replay: the bar at the bottom of a thread that moves through its journal, on every tab. It shows when
// `?replay=1` or `?at=` is in the address; `at` is the position, so that a link shows the same moment.
// Its parts are in replay/, its style in style/replay.css.

import { clock, full } from '../../lib/format.js';
import { icon } from '../../lib/icons.js';
import { useKeys } from '../../lib/keys.js';
import { Who } from '../../lib/parts.js';
import { html, useEffect, useMemo } from '../../lib/ui.js';
import { Player, speed, SPEEDS } from './replay/player.js';
import { Track } from './replay/track.js';
import { about, named } from './timeline/describe.js';
import { author } from './timeline/detail.js';

/** @param {{thread: import('../../lib/journal.js').Thread}} props */
export default function Replay({ thread }) {
  const player = useMemo(() => new Player(thread), [thread, thread.entries]);
  useEffect(() => () => player.stop(), [player]);
  const head = thread.head.value;
  player.take();
  useKeys('Replay', [
    [' ', 'Play or pause', () => player.toggle()],
    ['.', 'One event on', () => player.step(1)],
    [',', 'One event back', () => player.step(-1)],
    [']', 'To the next mark', () => player.skip(1)],
    ['[', 'To the mark before', () => player.skip(-1)],
    ['>', 'Faster', () => faster(1)],
    ['<', 'Slower', () => faster(-1)],
    ['l', 'Back to live', () => player.backToLive()],
  ], [player]);
  const { index, live } = player;
  const entry = player.entries[index] ?? null;
  const playing = player.playing.value;
  const when = entry ? clock(player.axis.times[index]) : '';
  const told = entry ? [named(entry.event), about(entry.event).slice(0, 120)].filter(Boolean).join(': ') : 'Before the first event';
  const words = live ? 'Live' : `${told}, event ${entry?.seq ?? 0} of ${head}${when && `, ${when}`}`;
  const none = !player.entries.length;
  return html`<section class="replay" aria-label="Replay" data-live=${live}>
    <div class="rp-buttons" role="group" aria-label="Playback">
      <button type="button" class="plain" aria-label="To the mark before" title="To the mark before ([)" disabled=${none || index < 0} onClick=${() => player.skip(-1)}>${icon('skipback')}</button>
      <button type="button" class="plain" aria-label="One event back" title="One event back (,)" disabled=${none || index < 0} onClick=${() => player.step(-1)}><span class="rp-flip">${icon('chevron')}</span></button>
      <button type="button" class="rp-play" aria-label=${playing ? 'Pause' : 'Play'} title=${`${playing ? 'Pause' : 'Play'} (Space)`} disabled=${none} onClick=${() => player.toggle()}>${icon(playing ? 'pause' : 'play')}</button>
      <button type="button" class="plain" aria-label="One event on" title="One event on (.)" disabled=${none || live} onClick=${() => player.step(1)}>${icon('chevron')}</button>
      <button type="button" class="plain" aria-label="To the next mark" title="To the next mark (])" disabled=${none || live} onClick=${() => player.skip(1)}>${icon('skip')}</button>
      <select aria-label="Speed" title="Speed (< and >)" value=${String(speed.value)} onChange=${(event) => (speed.value = Number(event.target.value))}>
        ${SPEEDS.map((one) => html`<option key=${one} value=${String(one)} selected=${one === speed.value}>${one}×</option>`)}
      </select>
    </div>
    <${Track} player=${player} thread=${thread} words=${words} />
    <p class="rp-words">
      ${live ? html`<span class="rp-what">At the live edge. Play shows it from the beginning.</span>` : html`
        ${entry && author(thread.liveState.value, entry.event) && html`<${Who} who=${author(thread.liveState.value, entry.event)} quiet />`}
        <span class="rp-what">${told}</span>`}
      <span class="rp-dim rp-place">${full(entry?.seq ?? 0)} of ${full(head)}${when && ` · ${when}`}</span>
    </p>
    <div class="rp-end">
      <button type="button" class="rp-live" aria-pressed=${live} title="Back to live (l)" onClick=${() => player.backToLive()}><span class="dot" aria-hidden="true"></span>Live</button>
      <button type="button" class="plain" aria-label="Close replay" title="Close replay (r)" onClick=${() => player.close()}>${icon('close')}</button>
    </div>
  </section>`;
}

function faster(by) {
  const at = SPEEDS.indexOf(speed.value) + by;
  if (SPEEDS[at]) speed.value = SPEEDS[at];
}
