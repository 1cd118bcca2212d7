// The lanes: a canvas as large as what is seen, in a scroller as large as the thread, with names over
// it. Owns the pointer: what it is over, dragging, and clicks.

import { compact, duration } from '../../../lib/format.js';
import { Who } from '../../../lib/parts.js';
import { numberParam, param, setQuery } from '../../../lib/router.js';
import { theme } from '../../../lib/theme.js';
import { html, useLayoutEffect, useMemo, useRef, useState } from '../../../lib/ui.js';
import { Card } from './detail.js';
import { lastBefore, TOP } from './model.js';
import { pinches } from './pinch.js';
import { PAD } from './sight.js';
import { Chart } from './surface.js';
import { walk } from './walk.js';

const FAR = 3000;
/** What is seen is in the address when it has been so for so long, in ms: browsers take few changes a second. */
const STILL = 250;

/**
 * @param {{thread, state, model, axis, control: object}} props `control` gets the `chart`
 */
export function Lanes({ thread, state, model, axis, control }) {
  const [scroller, canvas, sizer, chart] = [useRef(), useRef(), useRef(), useRef(null)];
  const [hover, setHover] = useState(null);
  // Names further away than this many px are not in the page.
  const [near, setNear] = useState(0);
  const busy = useMemo(() => workOf(state), [state.rev]);
  const named = model.lanes.filter((lane) => Math.abs(lane.top - near) < FAR);
  const drag = useRef(null);
  const e = numberParam('e');
  const { entries } = thread;
  const at = thread.at.value === null || thread.at.value >= thread.head.value ? null : lastBefore(entries, thread.at.value, (one) => one.seq);
  const selected = e === null || thread.entry(e) === undefined ? null : thread.indexOf(e);
  const live = thread.liveState.value;
  const working = live.status === 'working';
  const open = working || live.status === 'waiting';

  useLayoutEffect(() => {
    chart.current = new Chart(scroller.current, canvas.current, sizer.current, param('tl'));
    control.chart = chart.current;
    let still;
    const note = () => {
      clearTimeout(still);
      still = setTimeout(() => setQuery({ tl: chart.current.view() }), STILL);
    };
    chart.current.zoomed = note;
    const again = () => {
      chart.current.size();
      chart.current.later();
    };
    const repaint = () => chart.current.repaint();
    const sizes = new ResizeObserver(again);
    sizes.observe(scroller.current);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', repaint);
    const stop = theme.subscribe(repaint);
    document.fonts.ready.then(() => chart.current?.later());
    const unpinch = pinches(scroller.current, (factor, x) => chart.current.zoomBy(factor, x), note);
    const wheel = (event) => {
      note();
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      chart.current.zoomBy(Math.exp(-event.deltaY * 0.01), event.clientX - scroller.current.getBoundingClientRect().left);
    };
    scroller.current.addEventListener('wheel', wheel, { passive: false });
    const own = chart.current;
    return () => {
      own.stop();
      clearTimeout(still);
      unpinch();
      sizes.disconnect();
      dark.removeEventListener('change', repaint);
      stop();
      chart.current = control.chart = null;
    };
  }, []);

  useLayoutEffect(() => {
    const own = chart.current;
    own.dye(live.participants);
    own.show({ model, axis, entries, at, selected, open, working });
  });

  const scrolled = () => {
    chart.current.scrolled();
    setNear(Math.floor(scroller.current.scrollTop / 500) * 500);
  };
  const place = (event) => {
    const box = scroller.current.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const point = (found) => {
    const own = chart.current;
    if (own.hover?.index === found?.index && own.hover?.bar === found?.bar && own.hover?.wait === found?.wait) return;
    own.hover = found;
    own.later();
    setHover(found);
  };
  const move = (event) => {
    const [x, y] = place(event);
    if (drag.current) {
      const { fromX, fromY, left, top } = drag.current;
      if (Math.hypot(event.clientX - fromX, event.clientY - fromY) > 4) drag.current.moved = true;
      if (drag.current.moved) {
        scroller.current.scrollLeft = left - (event.clientX - fromX);
        scroller.current.scrollTop = top - (event.clientY - fromY);
        point(null);
        return;
      }
    }
    if (event.pointerType !== 'touch') point(chart.current.hit(x, y));
  };
  const down = (event) => {
    if (event.pointerType !== 'mouse' || event.button) return;
    const { scrollLeft: left, scrollTop: top } = scroller.current;
    drag.current = { fromX: event.clientX, fromY: event.clientY, left, top, moved: false };
  };
  const click = (event) => {
    const { moved } = drag.current ?? {};
    drag.current = null;
    if (moved) return void chart.current.zoomed();
    const [x, y] = place(event);
    if (y < TOP && thread.at.value !== null) {
      const index = axis.indexAt((x + scroller.current.scrollLeft - PAD) / chart.current.scale);
      setQuery({ at: index < 0 ? 0 : entries[index].seq });
      return;
    }
    const found = chart.current.hit(x, y);
    if (found) setQuery({ e: entries[found.index].seq });
  };
  const leave = () => {
    drag.current = null;
    point(null);
  };

  return html`<div class="tl-box">
    <p class="unseen" id="tl-help">Left and right go to the event before and after in a lane, with Shift to what matters; up and down to other lanes; plus and minus zoom. The list shows the same as text.</p>
    <div class="tl-scroll" ref=${scroller} tabindex="0" role="group" aria-label="Lanes of the thread" aria-describedby="tl-help"
      onScroll=${scrolled} onPointerMove=${move} onPointerDown=${down} onPointerUp=${() => drag.current && !drag.current.moved && (drag.current = null)}
      onPointerLeave=${leave} onClick=${click} onKeyDown=${(event) => walk(event, { thread, model, axis, selected, chart: chart.current })}>
      <div class="tl-sizer" ref=${sizer}>
        <canvas ref=${canvas} class="tl-canvas" aria-hidden="true"></canvas>
        <ul class="tl-names" aria-label="Lanes">${named.map((lane) => html`<${Name} key=${lane.id} lane=${lane} work=${busy.get(lane.id)} used=${state.usage.byAgent.get(lane.id)} who=${live.participants.get(lane.id)} top=${lane.top} />`)}</ul>
      </div>
    </div>
    ${hover && entries[hover.index] && html`<${Card} thread=${thread} hover=${hover} axis=${axis} width=${chart.current?.width ?? 600} height=${chart.current?.height ?? 400} />`}
  </div>`;
}

/** What each agent did so far: how many tasks, and how long those that ended took. */
function workOf({ tasks }) {
  const found = new Map();
  for (const { by, began, ended } of tasks.values()) {
    const own = found.get(by) ?? { tasks: 0, ms: 0 };
    own.tasks += 1;
    if (ended !== null) own.ms += ended - began;
    found.set(by, own);
  }
  return found;
}

/** A lane's name stays at the left, over the lane. */
function Name({ lane, work, used, who, top }) {
  const facts = [work?.tasks > 1 ? `${work.tasks} tasks` : null, work?.ms > 0 ? duration(work.ms) : null, used?.output ? `${compact(used.input + used.output)} tokens` : null].filter(Boolean);
  return html`<li class="tl-name" style=${{ top: `${top + (lane.kind === 'thread' ? 4 : 3)}px` }}><span>
    ${lane.kind === 'thread' ? html`<span class="tl-thread">Thread</span>` : html`<${Who} who=${who ?? { id: lane.id, colour: null }} />`}
    ${facts.length > 0 && html`<span class="tl-facts">${facts.join(' · ')}</span>`}</span></li>`;
}
