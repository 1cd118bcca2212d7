// The keyboard: who listens to which key, and the list that `?` shows.

import { signal, useEffect } from './ui.js';

/** Bindings that hold now, in the order they came: `{ key, about, run, group }`. */
export const bindings = signal([]);
export const helpOpen = signal(false);

/**
 * Binds keys while a component is shown.
 * @param {string} group what the help calls them
 * @param {Array<[string, string, Function]>} list key (as `event.key`, or two after each other: 'g t'), what it does, who does it
 */
export function useKeys(group, list, when = []) {
  useEffect(() => {
    const own = list.map(([key, about, run]) => ({ key, about, run, group }));
    bindings.value = [...bindings.value, ...own];
    return () => (bindings.value = bindings.value.filter((one) => !own.includes(one)));
  }, when);
}

const typing = (target) => target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

let first = null;
document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return;
  if (typing(event.target) || document.querySelector('dialog[open]')) return;
  const both = first ? `${first} ${event.key}` : null;
  // What was bound last is nearest to the reader.
  const find = (key) => bindings.peek().findLast((one) => one.key === key);
  const found = (both && find(both)) ?? find(event.key);
  first = null;
  if (found) {
    // Space and Enter press what has the focus.
    if ((event.key === ' ' || event.key === 'Enter') && event.target.closest?.('button, a, summary, [role=tab]')) return;
    event.preventDefault();
    found.run(event);
  } else if (bindings.peek().some((one) => one.key.startsWith(`${event.key} `))) {
    first = event.key;
  }
});
