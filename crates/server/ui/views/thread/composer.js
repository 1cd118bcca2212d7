// The composer: says something to one agent, to some, or to all, with files; stops what runs.

import { api, once, threadPath } from '../../lib/api.js';
import { icon } from '../../lib/icons.js';
import { setQuery } from '../../lib/router.js';
import { cls, html, signal, useEffect, useRef, useState } from '../../lib/ui.js';
import { Attach, Files, contentOf, useFiles } from './attach.js';

/** Agents that work on this server; null until known. */
const agents = signal(null);

/** @param {{thread: object, level: string, levels: string[]}} props */
export function Composer({ thread, level, levels }) {
  const [text, setText] = useState('');
  const [to, setTo] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const [over, setOver] = useState(false);
  const { files, problem, add, remove, clear } = useFiles();
  const field = useRef();
  useEffect(() => {
    api('/api/agents').then((answer) => (agents.value = answer.agents.map((one) => one.id)), () => (agents.value = []));
  }, [thread]);
  const state = thread.liveState.value;
  const live = thread.at.value === null;
  const here = agents.value ?? [];
  const joined = here.filter((id) => state.participants.has(id));
  const receivers = to === '' ? (joined.length ? joined : null) : to === '*' ? here : [to];
  const empty = !text.trim() && !files.length;
  const drop = (event) => {
    setOver(false);
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    add([...event.dataTransfer.files]);
  };
  const paste = (event) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    add([...event.clipboardData.files]);
  };
  const send = async (event) => {
    event.preventDefault();
    if (empty || busy) return;
    setBusy(true);
    setError(null);
    try {
      await say(thread.id, contentOf(text, files), receivers, here.length > 0);
      setText('');
      clear();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
      field.current?.focus();
    }
  };
  const stop = async () => {
    setError(null);
    await api(threadPath(thread.id, '/cancel'), { method: 'POST', body: { reason: 'Stopped in the web UI' }, headers: once() }).catch(setError);
  };
  const busyThread = ['working', 'waiting'].includes(state.status) && [...state.tasks.values()].some((task) => task.ended === null);
  if (!live) {
    return html`<div class="composer past"><span>You see entry ${thread.at.value} of ${thread.head.value}.</span>
      <button type="button" onClick=${() => setQuery({ at: null, replay: null })}>Go live</button></div>`;
  }
  return html`<form class=${cls('composer', over && 'over')} onSubmit=${send} onDrop=${drop} onDragLeave=${() => setOver(false)}
      onDragOver=${(e) => { if (e.dataTransfer.types.includes('Files')) { e.preventDefault(); setOver(true); } }}>
    ${problem && html`<p class="wrong" role="alert">${problem}</p>`}
    ${error && html`<p class="wrong" role="alert">${error.status === 0 ? 'The server cannot be reached. Nothing was sent: try again.' : `${error.message}.`}</p>`}
    <div class="box">
      <${Files} files=${files} remove=${remove} />
      <textarea ref=${field} rows="1" aria-label="Message" placeholder=${here.length ? 'Say something…' : 'No agents work here; what you write is kept in the journal'} value=${text} onPaste=${paste}
        onInput=${(e) => setText(e.target.value)} onKeyDown=${(e) => e.key === 'Enter' && !e.shiftKey && !e.isComposing && send(e)}></textarea>
      <div class="line">
        <${Attach} add=${add} />
        ${here.length > 0 && html`<label>To <select aria-label="To" value=${to} onChange=${(e) => setTo(e.target.value)}>
          <option value="">${joined.length > 1 ? `all ${joined.length} in the thread` : joined[0] ?? 'who answers here'}</option>
          ${here.length > Math.max(1, joined.length) && html`<option value="*">all ${here.length} agents</option>`}
          ${here.filter((id) => joined.length !== 1 || id !== joined[0]).map((id) => html`<option key=${id} value=${id}>${id}</option>`)}</select></label>`}
        <label class="level">Thoughts <select aria-label="Thoughts" value=${level} onChange=${(e) => setQuery({ thoughts: e.target.value === 'normal' ? null : e.target.value })}>
          ${levels.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select></label>
        <span class="grow"></span>
        ${busyThread && html`<button type="button" class="stop" onClick=${stop}>${icon('stop', 12)}Stop</button>`}
        <button type="submit" class="primary" disabled=${busy || empty} aria-label="Send">${icon('send', 14)}</button>
      </div>
    </div>
  </form>`;
}

/** To agents that work here; or, where none does, into the journal. */
function say(id, content, to, heard) {
  const options = { method: 'POST', headers: once() };
  return heard ? api(threadPath(id, '/messages'), { ...options, body: { content, ...(to ? { to } : {}) } })
    : api(threadPath(id, '/events'), { ...options, body: { kind: 'message', role: 'user', content } });
}
