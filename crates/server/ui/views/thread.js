// A thread's page: its header, its tabs, the replay bar. Holds the live thread for what is in it.
//
// A tab is a component in views/thread/<id>.js. It gets `{ thread }` (lib/journal.js), reads
// `thread.state.value` (what the journal comes to at the position that is shown), and keeps what it
// needs of its own in the query. It fills the panel and scrolls inside itself.

import { compact, full, money, titleOf } from '../lib/format.js';
import { icon } from '../lib/icons.js';
import { openThread } from '../lib/journal.js';
import { useKeys } from '../lib/keys.js';
import { Connection, Empty, Loading, Problem, Status, Who } from '../lib/parts.js';
import { go, numberParam, param, setQuery, threadLink } from '../lib/router.js';
import { html, useEffect, useLayoutEffect, useState } from '../lib/ui.js';
import Branches from './thread/branches.js';
import Conversation from './thread/conversation.js';
import Protocols from './thread/protocols.js';
import Replay from './thread/replay.js';
import Timeline from './thread/timeline.js';

const TABS = [
  { id: 'conversation', title: 'Conversation', view: Conversation },
  { id: 'timeline', title: 'Timeline', view: Timeline },
  { id: 'protocols', title: 'Protocols', view: Protocols },
  { id: 'branches', title: 'Branches', view: Branches },
];

/** @param {{id: string, tab: string}} props */
export default function ThreadPage({ id, tab }) {
  const [thread, setThread] = useState(null);
  const at = numberParam('at');
  useEffect(() => {
    // What is asked for may be anywhere: then the end is not what to show.
    const opened = openThread(id, at === null && numberParam('e') === null ? 'recent' : 'earliest');
    setThread(opened);
    return () => opened.release();
  }, [id]);
  useLayoutEffect(() => {
    if (thread) thread.at.value = at;
  }, [thread, at]);
  const known = TABS.find((one) => one.id === tab) ?? TABS[0];
  const to = (one) => threadLink(id, { ...kept(), tab: one.id });
  useKeys('Thread', [
    ...TABS.map((one, n) => [String(n + 1), one.title, () => go(to(one))]),
    ['r', 'Open or close replay', () => setQuery(replays() ? { replay: null, at: null } : { replay: 1 })],
    ['Escape', 'Select nothing', () => setQuery({ e: null })],
  ], [id]);
  useTitle(titleOf({ title: thread?.state.value.title, id }));
  if (!thread) return html`<${Loading} what="Opening" />`;
  const connection = thread.connection.value;
  const state = thread.state.value;
  const title = titleOf({ title: state.title, id });
  if (!thread.caughtUp.value && (connection === 'gone' || connection === 'failed')) return html`<${Missing} thread=${thread} />`;
  const agents = [...state.participants.values()].filter((one) => one.role === 'agent');
  const { input, output, cost } = state.usage;
  const View = known.view;
  return html`<div class="thread">
    <header class="thread-head">
      <div class="line">
        <a class="back" href="/threads" aria-label="All threads">${icon('threads')}</a>
        <h1>${title}</h1>
        <span class="grow"></span>
        ${at === null ? html`<${Connection} state=${connection} />` : html`<span class="connection" data-state="past" role="status">as of entry ${at}</span>`}
      </div>
      <div class="line facts">
        ${agents.length > 0 && html`<${Agents} list=${agents} />`}
        <${Status} status=${state.status} />
        ${input + output > 0 && html`<span class="spent"><span title=${state.partial ? undefined : `${full(input)} in, ${full(output)} out`}>${compact(input + output)} tokens</span>${cost > 0 && html`<span>${money(cost)}</span>`}</span>`}
      </div>
      <div class="line">
        <div role="tablist" aria-label="Views of the thread" class="tabs">
          ${TABS.map((one) => html`<button type="button" key=${one.id} role="tab" id=${`tab-${one.id}`} aria-controls="panel"
            aria-selected=${one === known} tabindex=${one === known ? 0 : -1} onClick=${() => go(to(one))} onKeyDown=${(e) => arrows(e, one, to)}>${one.title}</button>`)}
        </div>
        <span class="grow"></span>
        <button type="button" class="plain" aria-label="Replay" aria-pressed=${replays()} onClick=${() => setQuery(replays() ? { replay: null, at: null } : { replay: 1 })}>
          ${icon('play', 14)}<span class="word">Replay</span></button>
      </div>
    </header>
    <div class="panel" role="tabpanel" id="panel" aria-labelledby=${`tab-${known.id}`}>
      ${thread.caughtUp.value || (thread.recent.value && known.view === Conversation && at === null) ? html`<${View} thread=${thread} key=${known.id} />` : html`<${Loading} what="Reading the journal" />`}
    </div>
    ${replays() && html`<${Replay} thread=${thread} />`}
  </div>`;
}

/** Agents that a header names before someone asks for all. */
const FEW = matchMedia('(max-width: 640px)').matches ? 3 : 6;

function Agents({ list }) {
  const [all, setAll] = useState(false);
  // One more than that takes no more room than to say so.
  const few = list.length > FEW + 1;
  return html`<ul class="agents" aria-label="Agents">${(few && !all ? list.slice(0, FEW) : list).map((one) => html`<li key=${one.id}><${Who} who=${one} quiet /></li>`)}
    ${few && html`<li><button type="button" class="plain" aria-expanded=${all} aria-label=${all ? 'Show fewer agents' : `Show ${list.length - FEW} more agents`} onClick=${() => setAll(!all)}>${all ? 'fewer' : `+${list.length - FEW}`}</button></li>`}</ul>`;
}

const replays = () => param('replay') !== null || param('at') !== null;

/** What stays when the tab changes. */
const kept = () => ({ at: param('at'), replay: param('replay'), e: param('e') });

function arrows(event, one, to) {
  const step = { ArrowRight: 1, ArrowLeft: -1, Home: -TABS.indexOf(one), End: TABS.length - 1 - TABS.indexOf(one) }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  const next = TABS[(TABS.indexOf(one) + step + TABS.length) % TABS.length];
  go(to(next));
  document.getElementById(`tab-${next.id}`)?.focus();
}

function useTitle(title) {
  useEffect(() => {
    document.title = `${title} · Selvedge`;
    return () => (document.title = 'Selvedge');
  }, [title]);
}

function Missing({ thread }) {
  const error = thread.problem.value;
  if (error && error.status !== 404) return html`<div class="page"><h1>${thread.id}</h1><${Problem} error=${error} title="This thread could not be opened" /></div>`;
  return html`<${Empty} level=${1} title="There is no such thread"><p>It may have been deleted, or it belongs to someone else.</p><p><a href="/threads">All threads</a></p></${Empty}>`;
}
