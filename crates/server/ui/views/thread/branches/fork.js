// Forking: a thread that goes another way from an event on. Offered wherever an event is selected.

import { api, once, threadPath } from '../../../lib/api.js';
import { full } from '../../../lib/format.js';
import { Dialog, Problem } from '../../../lib/parts.js';
import { go, threadLink } from '../../../lib/router.js';
import { html, useEffect, useMemo, useRef, useState } from '../../../lib/ui.js';

/** @param {{thread: import('../../../lib/journal.js').Thread, at: number|null, onClose: Function}} props */
export function ForkDialog({ thread, at, onClose }) {
  const head = thread.head.value;
  const [place, setPlace] = useState(String(at ?? head));
  const [title, setTitle] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const key = useMemo(once, []);
  const field = useRef();
  useEffect(() => field.current.focus(), []);
  const seq = /^\d+$/.test(place) ? Number(place) : null;
  const fits = seq !== null && seq >= 1 && seq <= head;
  const submit = async (event) => {
    event.preventDefault();
    if (!fits || busy) return;
    setBusy(true);
    try {
      const body = { at: seq, ...(title.trim() ? { title: title.trim() } : {}) };
      const made = await api(threadPath(thread.id, '/fork'), { method: 'POST', body, headers: key });
      go(threadLink(made.id, { tab: 'branches', with: thread.id }));
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="Fork this thread" class="fork" onClose=${onClose}>
    <form onSubmit=${submit}>
      <p>A branch has everything up to an event, and goes its own way from there. Nothing is copied, and this thread stays as it is.</p>
      <label>Title of the branch
        <input ref=${field} value=${title} onInput=${(e) => setTitle(e.target.value)} maxlength="200" placeholder="Another way" /></label>
      <label>Last event that both have
        <input type="number" min="1" max=${head} value=${place} onInput=${(e) => setPlace(e.target.value)} required /></label>
      <p class="fork-place">${fits ? html`<${Place} thread=${thread} seq=${seq} />` : `Choose an event from 1 to ${full(head)}.`}</p>
      ${problem && html`<${Problem} error=${problem} title="The branch could not be made" />`}
      <div class="actions"><button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="primary" disabled=${!fits || busy}>Fork at ${seq ?? '…'}</button></div>
    </form></${Dialog}>`;
}

/** What happened at an event, in a line. */
export function Place({ thread, seq }) {
  const event = thread.entry(seq)?.event;
  const item = thread.liveState.value.owner[seq];
  const who = thread.liveState.value.participants.get(item?.by ?? event?.agentId);
  const said = item?.text ?? item?.call?.name ?? item?.artifact?.name ?? item?.question?.event.prompt ?? '';
  return html`<code>${event?.kind ?? 'an event you cannot see'}</code>${who && html` <strong>${who.name}</strong>`}${said && html` <q>${said.slice(0, 140)}${said.length > 140 ? '…' : ''}</q>`}`;
}
