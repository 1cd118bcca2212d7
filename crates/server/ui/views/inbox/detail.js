// What is asked, with what led to it, and whatever answers it. Someone else may be faster: then it says
// who answered, and what.

import { Answer, Settled } from '../../lib/answers/answer.js';
import { api, threadPath } from '../../lib/api.js';
import { icon } from '../../lib/icons.js';
import { markdown } from '../../lib/markdown.js';
import { Loading, Problem, When } from '../../lib/parts.js';
import { link, threadLink } from '../../lib/router.js';
import { html, useEffect, useState } from '../../lib/ui.js';
import { Left, typeOf } from './row.js';

/** Entries before the question in which to look for what was said. */
const BEFORE = 80;

export function Detail({ item, title, gone, back, next, finished }) {
  const { asked, said, error, again } = useAsked(item);
  const settled = useSettled(item, gone);
  const [word, mark] = typeOf(item);
  const question = asked && { id: item.id, kind: item.kind, event: asked };
  return html`<article class="asked">
    <header>
      <button type="button" class="plain back" onClick=${back}>${icon('chevron', 14)}All that waits</button>
      <h2>${icon(mark, 18)}${word}</h2>
      <p class="from">${asked?.agentId && html`<strong>${asked.agentId}</strong> asks in `}<a href=${threadLink(item.thread, { e: item.seq })}>${title ?? item.thread}</a>
        <span class="dotted"><${When} at=${Date.parse(item.at)} /></span>${item.urgency !== 'medium' && html`<span class="dotted" data-urgency=${item.urgency}>${item.urgency === 'high' ? 'urgent' : 'not urgent'}</span>`}
        ${!item.requireUser && html`<span class="dotted">an agent may answer, too</span>`}</p>
    </header>
    ${said.length > 0 && html`<div class="led" aria-label="What was said before" role="group">${said.map((one) => html`<blockquote key=${one.seq}><cite>${one.who}</cite><div class="prose">${markdown(one.text)}</div></blockquote>`)}</div>`}
    ${error ? html`<${Problem} error=${error} retry=${again} />`
      : !asked ? html`<${Loading} what="Reading what is asked" />`
      : settled ? html`<div class="too-late" role="alert"><h3>${settled.status === 'answered' ? 'Someone else answered first' : 'This is no longer asked'}</h3>
          <div class="prose">${markdown(asked.prompt ?? '')}</div><${Settled} threadId=${item.thread} question=${settled} />
          ${next && html`<button type="button" onClick=${next}>Go on to the next</button>`}</div>`
      : html`<${Answer} threadId=${item.thread} question=${question} onDone=${finished} />`}
    <footer><a href=${threadLink(item.thread, { e: item.seq })}>Open the thread here</a>
      ${item.kind === 'input' && html`<a href=${link(`/threads/${encodeURIComponent(item.thread)}/timeline`, { e: item.seq })}>See it in the timeline</a>`}</footer>
  </article>`;
}

/** The event that asks, and what was said before it. */
function useAsked(item) {
  const [state, setState] = useState({ asked: null, said: [], error: null });
  const load = async () => {
    try {
      const { items } = await api(threadPath(item.thread, `/inputs?after=${item.seq - 1}&limit=1`));
      const asked = items.find((one) => one.seq === item.seq)?.question ?? { prompt: item.prompt, inputType: item.type, expiresAt: item.expiresAt };
      setState((before) => ({ ...before, asked, error: null }));
      const said = await before(item).catch(() => []);
      setState((now) => ({ ...now, said }));
    } catch (error) {
      setState((before) => ({ ...before, error }));
    }
  };
  useEffect(() => void load(), []);
  return { ...state, again: load };
}

async function epochOf(id) {
  const { cursor } = await api(threadPath(id));
  return cursor.split('.')[0];
}

/** The last words of the task that asks, and of whoever it answers. */
async function before(item) {
  const epoch = await epochOf(item.thread);
  const { entries } = await api(threadPath(item.thread, `/events?after=${epoch}.${Math.max(0, item.seq - BEFORE)}&limit=${BEFORE}&kinds=message,content-complete`));
  const texts = entries.filter(({ seq }) => seq < item.seq).map(({ seq, event }) => ({ seq, who: event.agentId ?? event.author ?? (event.role === 'user' ? 'user' : 'someone'), text: textOf(event.content) }));
  return texts.filter((one) => one.text).slice(-2);
}

const textOf = (content) => {
  const text = typeof content === 'string' ? content : Array.isArray(content) ? content.map((part) => part?.text ?? '').join(' ') : '';
  return text.length > 600 ? `${text.slice(0, 600)}…` : text;
};

/** How a question ended that no longer waits. */
function useSettled(item, gone) {
  const [settled, setSettled] = useState(null);
  useEffect(() => {
    let ended = false;
    if (gone) find(item).then((found) => !ended && setSettled(found), () => {});
    return () => (ended = true);
  }, [gone]);
  return gone ? settled : null;
}

async function find(item) {
  const epoch = await epochOf(item.thread);
  const question = { id: item.id, kind: item.kind, status: 'closed' };
  const { entries } = await api(threadPath(item.thread, `/events?after=${epoch}.${item.seq}&limit=200&kinds=input-received,auth-completed,input-expired`));
  const own = entries.find(({ event }) => (event.inputId ?? event.authId) === item.id)?.event;
  if (!own) return question;
  if (own.kind === 'input-expired') return { ...question, status: 'expired' };
  return { ...question, status: 'answered', value: own.value, answeredBy: own.userId ?? own.providedBy };
}
