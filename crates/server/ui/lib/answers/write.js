// An answer in words.

import { html, useEffect, useId, useRef, useState } from '../ui.js';

export function Write({ submit, busy, focus }) {
  const [text, setText] = useState('');
  const field = useRef();
  const id = useId();
  useEffect(() => {
    if (focus) field.current?.focus();
  }, []);
  const done = (event) => {
    event.preventDefault();
    if (text.trim()) submit({ value: text });
  };
  return html`<form onSubmit=${done}>
    <label class="unseen" for=${id}>Your answer</label>
    <textarea id=${id} ref=${field} rows="3" placeholder="Your answer" value=${text} onInput=${(e) => setText(e.target.value)}
      onKeyDown=${(e) => e.key === 'Enter' && (e.metaKey || e.ctrlKey) && done(e)}></textarea>
    <div class="actions"><button type="submit" class="primary" disabled=${busy || !text.trim()}>Answer</button></div>
  </form>`;
}
