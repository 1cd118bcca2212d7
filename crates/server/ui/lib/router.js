// The address: which view is shown, and where in it. The only place that reads or writes it.
//
// Paths: / and /threads (list), /threads/{id}[/{tab}], /inbox, /usage, /connections.
// Query: `at` (position in the journal), `e` (selected event), and what a view needs of its own.

import { computed, signal } from './ui.js';

const here = () => ({ path: location.pathname, query: new URLSearchParams(location.search) });
const address = signal(here());
addEventListener('popstate', () => (address.value = here()));

/** `{ path, parts, query }` of the address; `parts` are decoded. */
export const route = computed(() => {
  const { path, query } = address.value;
  return { path, query, parts: path.split('/').filter(Boolean).map(decoded) };
});

/** A value of the query, or null. Reading it in a component follows it. */
export const param = (name) => address.value.query.get(name);

/** A number of the query, or null. */
export function numberParam(name) {
  const text = param(name);
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** An address with a query; what is null, undefined or '' is left out. */
export function link(path, query = {}) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') params.set(name, value);
  }
  const text = params.toString();
  return text ? `${path}?${text}` : path;
}

/** The address of a thread's page. */
export const threadLink = (id, { tab, ...query } = {}) =>
  link(`/threads/${encodeURIComponent(id)}${tab && tab !== 'conversation' ? `/${tab}` : ''}`, query);

/** Goes to an address of the UI. */
export function go(to, { replace = false } = {}) {
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  address.value = here();
}

/** Changes some values of the query; null removes one. Replaces the entry of the history unless told. */
export function setQuery(changes, { push = false } = {}) {
  const query = Object.fromEntries(address.value.query);
  const next = link(location.pathname, { ...query, ...changes });
  if (next !== location.pathname + location.search) go(next, { replace: !push });
}

/** Links of the UI stay in the page. */
document.addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest?.('a[href]');
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (!/^\/($|\?|threads|inbox|usage|connections)/.test(link.pathname)) return;
  event.preventDefault();
  go(link.pathname + link.search);
});

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
