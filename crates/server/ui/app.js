// The shell: rail, views by address, the keys, and the prompt for a key where the server wants one.

import { giveKey, keyWanted } from './lib/api.js';
import { icon } from './lib/icons.js';
import { waiting } from './lib/inbox.js';
import { helpOpen, bindings, useKeys } from './lib/keys.js';
import { Dialog } from './lib/parts.js';
import { go, route } from './lib/router.js';
import { nextTheme, theme } from './lib/theme.js';
import { html, render, useEffect, useRef } from './lib/ui.js';
import Connections from './views/connections.js';
import Inbox from './views/inbox.js';
import ThreadPage from './views/thread.js';
import Threads from './views/threads.js';
import Usage from './views/usage.js';

/** The rail: path, name, icon, key. */
const PLACES = [
  ['/threads', 'Threads', 'threads', 't'],
  ['/inbox', 'Inbox', 'inbox', 'i'],
  ['/usage', 'Usage', 'usage', 'u'],
  ['/connections', 'Connections', 'connections', 'c'],
];

function view() {
  const { parts } = route.value;
  const [first, id, tab] = parts;
  if (first === 'threads' && id !== undefined) return { at: '/threads', node: html`<${ThreadPage} key=${id} id=${id} tab=${tab ?? 'conversation'} />` };
  if (first === 'inbox') return { at: '/inbox', node: html`<${Inbox} />` };
  if (first === 'usage') return { at: '/usage', node: html`<${Usage} />` };
  if (first === 'connections') return { at: '/connections', node: html`<${Connections} />` };
  return { at: '/threads', node: html`<${Threads} />` };
}

const THEMES = { system: ['system', 'Theme: as the system'], light: ['sun', 'Theme: light'], dark: ['moon', 'Theme: dark'] };

/** Whoever goes elsewhere begins at the top of what is there. */
function useArrival(place) {
  const first = useRef(true);
  useEffect(() => {
    if (first.current) first.current = false;
    else document.getElementById('main').focus({ preventScroll: true });
  }, [place]);
}

function App() {
  const { at, node } = view();
  useArrival(`${at} ${node.props.id ?? ''}`);
  useKeys('Everywhere', [
    ['?', 'Show these keys', () => (helpOpen.value = true)],
    ...PLACES.map(([path, name, , key]) => [`g ${key}`, `Go to ${name}`, () => go(path)]),
    ['/', 'Search', () => document.querySelector('[data-search]') ? document.querySelector('[data-search]').focus() : go('/threads?focus=search')],
  ]);
  const [mark, label] = THEMES[theme.value];
  const count = waiting.value;
  return html`
    <a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.getElementById('main').focus(); }}>Skip to content</a>
    <nav class="rail" aria-label="Main">
      <a class="mark" href="/" aria-label="Selvedge, all threads">${logo}</a>
      ${PLACES.map(([path, name, mark]) => html`
        <a key=${path} href=${path} aria-current=${at === path ? 'page' : undefined}>
          ${icon(mark, 18)}<span class="name">${name}</span>
          ${path === '/inbox' && count > 0 && html`<span class="count" aria-label=${`${count} waiting`}>${count > 99 ? '99+' : count}</span>`}
        </a>`)}
      <span class="grow"></span>
      <button type="button" class="plain keys" onClick=${() => (helpOpen.value = true)} aria-label="Keys" title="Keys (?)">${icon('keyboard', 18)}<span class="name">Keys</span></button>
      <button type="button" class="plain" onClick=${nextTheme} aria-label=${label} title=${label}>${icon(mark, 18)}<span class="name">Theme</span></button>
    </nav>
    <main id="main" tabindex="-1">${node}</main>
    ${helpOpen.value && html`<${Keys} />`}
    ${keyWanted.value && html`<${KeyPrompt} />`}`;
}

const logo = html`<svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true" class="logo">
  <rect class="cloth" width="32" height="32" rx="7" /><path class="warp" d="M8 6v20M13 6v20M18 6v20" />
  <path class="red" d="M24.5 6v3.200M24.500 12.400v3.200M24.500 18.800V22M24.500 25v1" /></svg>`;

function Keys() {
  // What is nearest comes first.
  const all = [...bindings.value].sort((a, b) => (a.group === 'Everywhere') - (b.group === 'Everywhere'));
  const groups = Map.groupBy(all, (one) => one.group);
  return html`<${Dialog} title="Keys" class="help" onClose=${() => (helpOpen.value = false)}>
    ${[...groups].map(([name, list]) => html`<section key=${name}><h3>${name}</h3><dl>
      ${list.map(({ key, about }) => html`<div key=${key}><dt>${(key === ' ' ? ['Space'] : key.split(' ')).map((one) => html`<kbd>${one}</kbd>`)}</dt><dd>${about}</dd></div>`)}
    </dl></section>`)}</${Dialog}>`;
}

function KeyPrompt() {
  const field = useRef();
  useEffect(() => field.current.focus(), []);
  const submit = (event) => {
    event.preventDefault();
    if (field.current.value.trim()) giveKey(field.current.value);
  };
  return html`<div class="gate" role="dialog" aria-modal="true" aria-labelledby="gate-title"><form onSubmit=${submit}>
    ${logo}<h2 id="gate-title">This server asks for a key</h2>
    <p>${keyWanted.value === 'wrong' ? 'That key is not valid here, or no longer. Try another one.' : 'It stays in this tab until you close it.'}</p>
    <label for="gate-key">Key</label>
    <input id="gate-key" ref=${field} type="password" autocomplete="off" spellcheck="false" placeholder="sk_…" />
    <button type="submit" class="primary">Continue</button>
    <p class="hint">Whoever runs the server makes one: <code>selvedge keys add</code></p>
  </form></div>`;
}

render(html`<${App} />`, document.getElementById('app'));
