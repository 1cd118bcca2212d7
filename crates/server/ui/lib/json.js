// JSON as a tree that opens and closes. Big values come a piece at a time.

import { html, useState } from './ui.js';

const STEP = 50;
const LONG = 300;

/** @param {{value: any, name?: string, open?: number}} props `open`: so many levels are open at first */
export function Json({ value, name, open = 1 }) {
  return html`<div class="json"><${Node} value=${value} name=${name} open=${open} depth=${0} /></div>`;
}

function Node({ value, name, open, depth }) {
  const label = name === undefined ? null : html`<span class="key">${name}</span>`;
  if (value === null || typeof value !== 'object') return html`<div class="leaf">${label}${scalar(value)}</div>`;
  const entries = Array.isArray(value) ? value.map((one, n) => [n, one]) : Object.entries(value);
  if (!entries.length) return html`<div class="leaf">${label}<span class="dim">${Array.isArray(value) ? '[]' : '{}'}</span></div>`;
  return html`<${Branch} label=${label} value=${value} entries=${entries} open=${open} depth=${depth} />`;
}

function Branch({ label, value, entries, open, depth }) {
  const [is, setIs] = useState(depth < open);
  const [shown, setShown] = useState(STEP);
  return html`<details open=${is} onToggle=${(e) => setIs(e.target.open)}>
    <summary>${label}<span class="dim">${Array.isArray(value) ? `${entries.length} items` : brief(entries)}</span></summary>
    ${is && html`<div class="inner">
      ${entries.slice(0, shown).map(([key, one]) => html`<${Node} key=${key} name=${String(key)} value=${one} open=${open} depth=${depth + 1} />`)}
      ${entries.length > shown && html`<button type="button" class="plain" onClick=${() => setShown(shown + STEP * 4)}>${entries.length - shown} more</button>`}
    </div>`}
  </details>`;
}

const brief = (entries) => {
  const names = entries.slice(0, 4).map(([name]) => name).join(', ');
  return `{ ${names.slice(0, 60)}${entries.length > 4 || names.length > 60 ? ', …' : ''} }`;
};

function scalar(value) {
  if (typeof value === 'string') return html`<${Text} value=${value} />`;
  return html`<span class=${value === null ? 'dim' : typeof value}>${String(value)}</span>`;
}

function Text({ value }) {
  const [all, setAll] = useState(false);
  if (value.length <= LONG || all) return html`<span class="string">${value}</span>`;
  return html`<span class="string">${value.slice(0, LONG)}…</span><button type="button" class="plain" onClick=${() => setAll(true)}>${value.length - LONG} more characters</button>`;
}

/** The beginning of a value, without writing out all of a big one. */
function short(value, most) {
  if (typeof value === 'string') return value.slice(0, most * 2);
  if (Array.isArray(value) && value.length > 20) return `${value.length} items`;
  return value === undefined ? '' : JSON.stringify(value, (_, own) => (typeof own === 'string' && own.length > most ? `${own.slice(0, most)}…` : own));
}

/** A value in one short line. */
export function oneLine(value, most = 120) {
  const text = value && typeof value === 'object' && !Array.isArray(value)
    ? Object.entries(value).slice(0, 8).map(([name, own]) => `${name}: ${short(own, most)}`).join(', ') : short(value, most);
  const line = text.slice(0, most * 4).replace(/\s+/g, ' ');
  return line.length > most ? `${line.slice(0, most)}…` : line;
}
