// Branches: the tree of forks, two of them compared, fork and promote. Its style is in style/branches.css.
//
// The address has the thread that is compared (`with`) and the selected event (`e`).

import { api, threadPath } from '../../lib/api.js';
import { icon } from '../../lib/icons.js';
import { useKeys } from '../../lib/keys.js';
import { Loading, Problem } from '../../lib/parts.js';
import { numberParam, param } from '../../lib/router.js';
import { html, useEffect, useMemo, useState } from '../../lib/ui.js';
import { Alone, Compare } from './branches/compare.js';
import { ForkDialog } from './branches/fork.js';
import { PromoteDialog } from './branches/promote.js';
import { Tree, ordered } from './branches/tree.js';

/** The tree is read again when the thread has been still for so long, and now and then: others fork too. */
const STILL = 800;
const NOW_AND_THEN = 8000;

/** @param {{thread: import('../../lib/journal.js').Thread}} props */
export default function Branches({ thread }) {
  const [forks, setForks] = useState(false);
  const [promotes, setPromotes] = useState(null);
  const { threads, more, error, again } = useFamily(thread);
  const rows = useMemo(() => ordered(threads ?? []), [threads]);
  const at = numberParam('e') ?? thread.at.value;
  useKeys('Branches', [['f', 'Fork', () => setForks(true)]], [thread]);
  if (error) return html`<${Problem} error=${error} retry=${again} title="The branches could not be read" />`;
  if (!threads) return html`<${Loading} what="Reading the branches" />`;
  const own = rows.find((row) => row.id === thread.id);
  const parent = own && own.parentRow !== null ? rows[own.parentRow] : null;
  const child = rows.filter((row) => own && row.parentRow === own.row && row.id !== null).at(-1);
  const asked = param('with');
  const other = asked !== null && asked !== thread.id ? asked : parent?.id ?? child?.id ?? null;
  const names = new Map(rows.map((row) => [row.id, row]));
  // Whoever came from the other can take its place.
  const actions = (id) => {
    const row = names.get(id);
    const from = row && row.parentRow !== null ? rows[row.parentRow] : null;
    if (!from?.id || row.promoted || ![thread.id, other].includes(from.id)) return null;
    return html`<button type="button" class="promote" onClick=${() => setPromotes({ branch: row, parent: from })}>Promote</button>`;
  };
  const top = html`<div class="branches-bar">
      <h2>${rows.length === 1 ? 'One thread, no branches' : `${rows.length} branches`}</h2>
      ${more && html`<span class="quiet">and more that are not shown</span>`}
      <span class="grow"></span>
      <button type="button" onClick=${() => setForks(true)}>${icon('branch', 14)}${at === null ? 'Fork' : `Fork at event ${at}`}</button>
    </div>
    <${Tree} rows=${rows} id=${thread.id} other=${other} />`;
  return html`<div class="branches">
    ${other === null ? html`<div class="branches-scroll">${rows.length > 1 && top}<${Alone} onFork=${() => setForks(true)} /></div>`
      : html`<${Compare} key=${other} thread=${thread} other=${other} names=${names} actions=${actions} top=${top} />`}
    ${forks && html`<${ForkDialog} thread=${thread} at=${at} onClose=${() => setForks(false)} />`}
    ${promotes && html`<${PromoteDialog} ...${promotes} onClose=${() => setPromotes(null)} />`}
  </div>`;
}

function useFamily(thread) {
  const [told, setTold] = useState({});
  const [tries, setTries] = useState(0);
  const head = thread.head.value;
  useEffect(() => {
    const own = new AbortController();
    const timer = setTimeout(() => {
      api(threadPath(thread.id, '/branches'), { signal: own.signal })
        .then(setTold, (error) => error.name !== 'AbortError' && setTold((before) => (before.threads ? before : { error })));
    }, told.threads ? STILL : 0);
    return () => {
      clearTimeout(timer);
      own.abort();
    };
  }, [thread, head, tries]);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setTries((n) => n + 1), NOW_AND_THEN);
    return () => clearInterval(timer);
  }, [thread]);
  return { ...told, again: () => setTries((n) => n + 1) };
}
