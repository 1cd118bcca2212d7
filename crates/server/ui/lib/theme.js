// Light, dark, or as the system has it; kept for the next visit.

import { effect, signal } from './ui.js';

const KEPT = 'selvedge-theme';
const kept = localStorage.getItem(KEPT);

/** 'system', 'light' or 'dark'. */
export const theme = signal(['light', 'dark'].includes(kept) ? kept : 'system');

effect(() => {
  const { value } = theme;
  if (value === 'system') {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem(KEPT);
  } else {
    document.documentElement.dataset.theme = value;
    localStorage.setItem(KEPT, value);
  }
});

/** The next of the three. */
export const nextTheme = () => (theme.value = { system: 'light', light: 'dark', dark: 'system' }[theme.value]);

/** A colour of style/tokens.css as it is now, for a canvas: colour('--thread-0'). */
export function colour(name) {
  const probe = document.createElement('span');
  probe.hidden = true;
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** All that canvases are painted with. */
const PAINTS = [
  '--paper', '--paper-raised', '--paper-sunken', '--ink', '--ink-soft', '--ink-faint', '--line', '--line-strong', '--accent', '--red', '--red-soft',
  ...Array.from({ length: 8 }, (_, n) => `--thread-${n}`),
];

/** The colours of a canvas as they are now, by name, asked for at once: one by one, each would lay the page out anew. */
export function paints() {
  const probe = document.createElement('span');
  probe.hidden = true;
  for (const name of PAINTS) probe.appendChild(document.createElement('i')).style.color = `var(${name})`;
  document.body.append(probe);
  const found = new Map(PAINTS.map((name, n) => [name, getComputedStyle(probe.children[n]).color]));
  probe.remove();
  return found;
}
