// Yes or no, with a reason for no.

import { icon } from '../icons.js';
import { html, useEffect, useRef, useState } from '../ui.js';

export function Approve({ submit, busy, focus }) {
  const [rejects, setRejects] = useState(false);
  const yes = useRef();
  const reason = useRef();
  useEffect(() => {
    if (focus) yes.current?.focus();
  }, []);
  useEffect(() => {
    if (rejects) reason.current?.focus();
  }, [rejects]);
  const reject = (event) => {
    event.preventDefault();
    const why = reason.current.value.trim();
    submit({ value: false, ...(why ? { reason: why } : {}) });
  };
  if (rejects) {
    return html`<form class="reject" onSubmit=${reject}>
      <label>Why not? <span class="optional">optional</span>
        <input ref=${reason} name="reason" autocomplete="off" onKeyDown=${(e) => e.key === 'Escape' && setRejects(false)} /></label>
      <div class="actions"><button type="submit" class="danger" disabled=${busy}>Reject</button>
        <button type="button" class="plain" onClick=${() => setRejects(false)}>Back</button></div>
    </form>`;
  }
  return html`<div class="actions">
    <button type="button" class="primary" ref=${yes} disabled=${busy} data-act="approve" onClick=${() => submit({ value: true })}>${icon('check')}Approve</button>
    <button type="button" disabled=${busy} data-act="reject" onClick=${() => setRejects(true)}>Reject…</button>
  </div>`;
}
