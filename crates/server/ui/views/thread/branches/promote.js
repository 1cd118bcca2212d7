// Promoting: a branch takes the id of the thread it came from. Confirmed by whoever asks for it.

import { api, threadPath } from '../../../lib/api.js';
import { Dialog, Problem } from '../../../lib/parts.js';
import { go, threadLink } from '../../../lib/router.js';
import { html, useState } from '../../../lib/ui.js';

/** @param {{branch: object, parent: object, onClose: Function}} props lines of the tree */
export function PromoteDialog({ branch, parent, onClose }) {
  const [old, setOld] = useState(`${parent.id}-before`);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setProblem(null);
    try {
      const done = await api(threadPath(branch.id, '/promote'), { method: 'POST', body: old.trim() ? { old: old.trim() } : {} });
      onClose();
      go(threadLink(done.id, { tab: 'branches', with: done.old }));
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="Promote this branch" class="fork" onClose=${onClose}>
    <form onSubmit=${submit}>
      <p><strong>${branch.title ?? branch.id}</strong> takes the place of <strong>${parent.title ?? parent.id}</strong>:</p>
      <ul>
        <li>Whoever opens or writes to <code>${parent.id}</code> gets this branch from now on.</li>
        <li>What was said there after event ${branch.at} is no part of it. It stays, whole, under another id.</li>
        <li>Links to <code>${branch.id}</code> stop working. This cannot be undone.</li>
      </ul>
      <label>Id of the old line
        <input value=${old} onInput=${(e) => setOld(e.target.value)} maxlength="256" placeholder="made up, if left out" spellcheck="false" /></label>
      ${problem && html`<${Problem} error=${problem} title="It was not promoted" />`}
      <div class="actions"><button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="primary" disabled=${busy}>Promote</button></div>
    </form></${Dialog}>`;
}
