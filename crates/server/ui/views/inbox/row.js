// One line of the inbox.

import { duration, plain } from '../../lib/format.js';
import { icon } from '../../lib/icons.js';
import { now, When } from '../../lib/parts.js';
import { link } from '../../lib/router.js';
import { cls, html } from '../../lib/ui.js';

/** What an item is known by in the address. */
export const itemKey = (item) => `${item.thread}/${item.kind}/${item.id}`;

const TYPES = {
  confirmation: ['Approval', 'shield'], 'tool-execution': ['Approval', 'shield'], selection: ['Choice', 'threads'],
  data: ['Form', 'dataset'], clarification: ['Question', 'question'], custom: ['Question', 'question'],
};

/** What is asked for: a word and an icon. */
export const typeOf = (item) => (item.kind === 'auth' ? ['Credentials', 'lock'] : TYPES[item.type] ?? ['Question', 'question']);

export function Row({ item, title, current, choose }) {
  const [word, mark] = typeOf(item);
  const pick = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    choose(item);
  };
  return html`<li><a href=${link('/inbox', { item: itemKey(item) })} aria-current=${current ? 'true' : undefined} onClick=${pick}>
    <span class="row-mark" data-urgency=${item.urgency}>${icon(mark)}</span>
    <span class="row-words"><span class="row-prompt">${plain(item.prompt ?? '') || word}</span>
      <span class="row-from">${word} · ${title ?? item.thread}</span></span>
    <span class="row-times"><${Left} at=${item.expiresAt} />${!item.expiresAt && html`<${When} at=${Date.parse(item.at)} />`}
      ${item.urgency === 'high' && html`<span class="urgent">urgent</span>`}</span>
  </a></li>`;
}

/** How long there is time, as it runs. */
export function Left({ at }) {
  const end = typeof at === 'string' ? Date.parse(at) : NaN;
  if (Number.isNaN(end)) return null;
  const left = end - now.value;
  return html`<span class=${cls('left', left < 60_000 && 'soon')}>${left <= 0 ? 'over' : `${duration(Math.ceil(left / 1000) * 1000)} left`}</span>`;
}
