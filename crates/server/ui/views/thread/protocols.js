// Protocols: the same thread in every dialect, side by side. Its style is in style/protocols.css.
//
// The address has the columns (`cols`), whether records are shown as they are sent (`raw`), whose loss
// report is open (`loss`), and the selected event (`e`).

import { icon } from '../../lib/icons.js';
import { useKeys } from '../../lib/keys.js';
import { Copy, Empty, Who } from '../../lib/parts.js';
import { numberParam, param, setQuery } from '../../lib/router.js';
import { html, useState } from '../../lib/ui.js';
import { ForkDialog } from './branches/fork.js';
import { Column } from './protocols/column.js';
import { DIALECTS, MOST, columnsOf, keyOf } from './protocols/dialects.js';

/** @param {{thread: import('../../lib/journal.js').Thread}} props */
export default function Protocols({ thread }) {
  const [forks, setForks] = useState(false);
  const columns = columnsOf(param('cols'));
  const selected = numberParam('e');
  const raw = param('raw') !== null;
  const loss = param('loss');
  const state = thread.state.value;
  const agents = [...state.participants.values()].filter((one) => one.role === 'agent');
  const set = (list) => setQuery({ cols: list.map((one) => one.key).join(',') || 'none' }, { push: true });
  const toggle = (dialect) => {
    const without = columns.filter((one) => one.dialect !== dialect);
    set(without.length < columns.length ? without : [...columns, { key: keyOf(dialect, null) }]);
  };
  const step = (by) => {
    const { entries } = thread;
    const from = numberParam('e');
    const now = from === null ? (by > 0 ? -1 : entries.length) : thread.indexOf(from);
    const next = entries[Math.max(0, Math.min(entries.length - 1, now + by))];
    if (next) setQuery({ e: next.seq });
  };
  useKeys('Protocols', [
    ['j', 'Next event', () => step(1)],
    ['k', 'Previous event', () => step(-1)],
    ['w', 'As sent, or laid out', () => setQuery({ raw: param('raw') === null ? 1 : null })],
    ['f', 'Fork at the selected event', () => numberParam('e') !== null && setForks(true)],
  ], [thread]);
  return html`<div class="protocols">
    <div class="protocols-bar">
      <div class="dialects">${[['Live', (kind) => kind !== 'document'], ['Documents', (kind) => kind === 'document']].map(([name, fits]) => html`
        <div key=${name} role="group" aria-label=${name}><span class="dialects-name" aria-hidden="true">${name}</span>
          ${DIALECTS.filter((one) => fits(one.kind)).map((one) => {
            const on = columns.some((column) => column.dialect === one);
            return html`<button type="button" key=${one.id} class="chip" aria-pressed=${on} title=${one.about}
              disabled=${!on && columns.length >= MOST} onClick=${() => toggle(one)}>${one.name}</button>`;
          })}
        </div>`)}
      </div>
      <span class="grow"></span>
      <div class="choice" role="group" aria-label="How records are shown">
        <button type="button" aria-pressed=${!raw} onClick=${() => setQuery({ raw: null })}>Laid out</button>
        <button type="button" aria-pressed=${raw} onClick=${() => setQuery({ raw: 1 })}>As sent</button>
      </div>
    </div>
    ${columns.length === 0 ? html`<${Empty} title="No dialect is chosen"><p>Choose one above: the same conversation, as each protocol writes it.</p></${Empty}>`
      : html`<div class="columns">${columns.map((column, n) => html`<${Column} key=${column.dialect.id} thread=${thread} column=${column}
          selected=${selected} raw=${raw} agents=${agents} open=${loss === column.dialect.id}
          onLoss=${() => setQuery({ loss: loss === column.dialect.id ? null : column.dialect.id })}
          onClose=${() => set(columns.filter((one) => one !== column))}
          onAgent=${(agent) => set(columns.with(n, { key: keyOf(column.dialect, agent) }))} />`)}</div>`}
    ${selected !== null && html`<${Selected} thread=${thread} seq=${selected} onStep=${step} onFork=${() => setForks(true)} />`}
    ${forks && html`<${ForkDialog} thread=${thread} at=${selected} onClose=${() => setForks(false)} />`}
  </div>`;
}

/** The event that is selected in all columns. */
function Selected({ thread, seq, onStep, onFork }) {
  const event = thread.entry(seq)?.event;
  const who = thread.state.value.participants.get(event?.agentId ?? event?.author);
  const said = [event?.delta, event?.content, event?.prompt, event?.toolName, event?.title, event?.message].find((one) => typeof one === 'string' && one.trim());
  return html`<div class="selected" role="region" aria-label="Selected event">
    <button type="button" class="copy" onClick=${() => onStep(-1)} aria-label="Previous event" title="Previous (k)">${icon('back', 14)}</button>
    <button type="button" class="copy" onClick=${() => onStep(1)} aria-label="Next event" title="Next (j)">${icon('chevron', 14)}</button>
    <span class="selected-seq">Event ${seq}</span>
    ${event ? html`<code>${event.kind}</code>${who && html`<${Who} who=${who} quiet />`}${said && html`<span class="said">${said}</span>`}` : html`<span class="said">is not in this journal</span>`}
    <span class="grow"></span>
    ${event && html`<${Copy} text=${() => JSON.stringify(event, null, 2)} label="Copy the event" />
      <button type="button" onClick=${onFork}>${icon('branch', 14)}Fork here</button>`}
    <button type="button" class="copy" onClick=${() => setQuery({ e: null })} aria-label="Select nothing" title="Select nothing (Escape)">${icon('close', 14)}</button>
  </div>`;
}
