// JSON as it was received, for reading: cut into pieces, and laid out in coloured lines. Works on the
// text, so that numbers, escapes and repeated keys stay as they are spelled.

import { full } from '../../../lib/format.js';
import { html } from '../../../lib/ui.js';

/** A container without others in it is one line up to so many characters. */
const SHORT = 56;
/** Of a string, so much is shown; it is copied whole. */
const LONG = 800;

/** Where what is no white space begins. */
function next(text, at) {
  while (at < text.length && text.charCodeAt(at) <= 32) at += 1;
  return at;
}

/** Where a string ends that begins here. */
function stringEnd(text, at) {
  for (at += 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 92) at += 1;
    else if (code === 34) return at + 1;
  }
  return at;
}

/** Where a value ends that begins here. */
function valueEnd(text, at) {
  if (text[at] === '"') return stringEnd(text, at);
  if (text[at] !== '{' && text[at] !== '[') {
    while (at < text.length && !/[\s,\]}]/.test(text[at])) at += 1;
    return at;
  }
  for (let depth = 0; at < text.length; at++) {
    const c = text[at];
    if (c === '"') at = stringEnd(text, at) - 1;
    else if (c === '{' || c === '[') depth += 1;
    else if ((c === '}' || c === ']') && --depth === 0) return at + 1;
  }
  return at;
}

/** The members or items of a container that begins here: `each(key or index, where its value begins, ends)`. */
function members(text, at, each) {
  const object = text[at] === '{';
  at = next(text, at + 1);
  for (let index = 0; at < text.length && text[at] !== '}' && text[at] !== ']'; index++) {
    let key = index;
    if (object) {
      const end = stringEnd(text, at);
      key = text.slice(at, end);
      at = next(text, end) + 1;
      at = next(text, at);
    }
    const end = valueEnd(text, at);
    if (end <= at) return;
    each(key, at, end);
    at = next(text, end);
    if (text[at] === ',') at = next(text, at + 1);
  }
}

const token = (key) => (typeof key === 'number' ? String(key) : key.slice(1, -1)).replaceAll('~', '~0').replaceAll('/', '~1');

/**
 * A document in pieces that can be shown one by one: items of a list, members of an object, items of
 * the lists in it.
 * @returns {Array<{pointer: string, text: string}>}
 */
export function pieces(text) {
  const found = [];
  const root = next(text, 0);
  if (text[root] !== '{' && text[root] !== '[') return text.trim() ? [{ pointer: '', text: text.trim() }] : [];
  members(text, root, (key, from, to) => {
    const pointer = `/${token(key)}`;
    const inside = text[root] === '{' && text[from] === '[' ? next(text, from + 1) : -1;
    if (inside > 0 && (text[inside] === '{' || text[inside] === '[')) {
      members(text, from, (n, a, b) => found.push({ pointer: `${pointer}/${n}`, text: text.slice(a, b) }));
    } else {
      found.push({ pointer, text: text.slice(from, to) });
    }
  });
  return found;
}

/**
 * JSON as lines: `{ depth, pointer, tokens: [[class, text]…] }`. What is no JSON is one line of text.
 */
export function lines(text) {
  const out = [];
  let line = null;
  const open = (depth, pointer) => out.push((line = { depth, pointer, tokens: [] }));
  const put = (sort, what) => line.tokens.push([sort, what]);
  const scalar = (at, end) => {
    const c = text[at];
    const what = text.slice(at, end);
    if (c !== '"') return put(/[tfn]/.test(c) ? 'word' : 'num', what);
    if (what.length <= LONG + 100) return put('str', what);
    put('str', what.slice(0, LONG));
    return put('more', `… ${full(what.length - LONG)} more characters`);
  };
  const value = (at, end, depth, pointer) => {
    const c = text[at];
    if (c !== '{' && c !== '[') return scalar(at, end);
    const inner = [];
    members(text, at, (key, from, to) => inner.push([key, from, to]));
    const close = c === '{' ? '}' : ']';
    if (!inner.length) return put('punct', c + close);
    const flat = end - at <= SHORT && inner.every(([, from, to]) => !/[{[]/.test(text[from]) || to - from === 2);
    put('punct', flat ? `${c} ` : c);
    inner.forEach(([key, from, to], n) => {
      const own = `${pointer}/${token(key)}`;
      if (!flat) open(depth + 1, own);
      if (typeof key === 'string') {
        put('key', key);
        put('punct', ': ');
      }
      if (flat) scalar(from, to);
      else value(from, to, depth + 1, own);
      if (n + 1 < inner.length) put('punct', flat ? ', ' : ',');
    });
    if (!flat) open(depth, pointer);
    return put('punct', flat ? ` ${close}` : close);
  };
  const at = next(text, 0);
  open(0, '');
  const end = valueEnd(text, at);
  if (!/["{[\d\-tfn]/.test(text[at] ?? '') || next(text, end) < text.length) put('str', text);
  else value(at, end, 0, '');
  return out;
}

/** A line's text, to compare it. */
export const lineText = ({ tokens }) => tokens.map(([, text]) => text).join('');

/** Pointers of lines that a later text of the same piece has and an earlier one has not. */
export function touched(before, after) {
  const known = new Set((before === null ? [] : lines(before)).map((line) => `${line.pointer}\n${lineText(line).replace(/,$/, '')}`));
  const found = new Set();
  for (const line of lines(after)) {
    if (!known.has(`${line.pointer}\n${lineText(line).replace(/,$/, '')}`)) found.add(line.pointer);
  }
  return found;
}

/** Lines as vnodes; `marks` has the pointers of those that stand out. */
export const Lines = ({ list, marks }) => list.map((line, n) => html`
  <div key=${n} class=${marks?.has(line.pointer) ? 'jl on' : 'jl'} style=${{ '--depth': line.depth }}>${line.tokens.map(([sort, text]) => html`<span class=${`j-${sort}`}>${text}</span>`)}</div>`);
