// Markdown as vnodes. Text becomes text: no markup of a message ever becomes markup of the page,
// links lead to http, https and mailto only, and images come from this server or from the message.

import { code } from './code.js';
import { h } from './ui.js';

const DEPTH = 6;

/** @returns {Array} vnodes of a text in Markdown */
export function markdown(text) {
  return blocks(String(text).replace(/\r\n?/g, '\n').split('\n'), 0, { level: 1 });
}

/**
 * Markdown of a text that grows: what is settled is not read again, and its vnodes stay the same.
 * @returns {(text: string) => Array}
 */
export function growing() {
  let settled = { text: '', nodes: [], level: 1 };
  return (text) => {
    if (!text.startsWith(settled.text)) settled = { text: '', nodes: [], level: 1 };
    const at = boundary(text, settled.text.length);
    if (at > settled.text.length) {
      const page = { level: settled.level };
      const more = blocks(text.slice(settled.text.length, at).split('\n'), 0, page);
      settled = { text: text.slice(0, at), nodes: [...settled.nodes, ...more], level: page.level };
    }
    return [...settled.nodes, ...blocks(text.slice(at).split('\n'), 0, { level: settled.level })];
  };
}

/** Where the last paragraph begins that nothing before it can still change; `from` if there is none. */
function boundary(text, from) {
  let found = from;
  let fence = null;
  let blank = false;
  for (let at = from; at < text.length; ) {
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end < 0 ? text.length : end);
    // Lists and quotes may go on after a blank line.
    if (blank && !fence && /^[\p{L}#|`]/u.test(line)) found = at;
    // A fence of four marks may have others of three in it.
    if (fence) fence = closes(line, fence) ? null : fence;
    else fence = FENCE.exec(line)?.[1] ?? null;
    blank = !line.trim();
    if (end < 0) break;
    at = end + 1;
  }
  return found;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?:\s+|$)(.*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const TABLE = /^ {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

function blocks(lines, depth, page) {
  const out = [];
  let i = 0;
  while (i < lines.length) {
    const line = lines[i];
    if (!line.trim()) {
      i += 1;
      continue;
    }
    let found;
    if ((found = FENCE.exec(line))) {
      const [, mark, language] = found;
      const inner = [];
      for (i += 1; i < lines.length && !closes(lines[i], mark); i++) inner.push(lines[i]);
      i += 1;
      out.push(h('pre', { class: 'code', 'data-language': language || undefined, tabIndex: 0 }, h('code', null, code(inner.join('\n'), language))));
    } else if ((found = HEADING.exec(line))) {
      // The page has the first heading, and none is deeper than the one before it by more than one.
      page.level = Math.min(6, found[1].length + 1, page.level + 1);
      out.push(h(`h${page.level}`, null, inline(found[2])));
      i += 1;
    } else if (RULE.test(line)) {
      out.push(h('hr'));
      i += 1;
    } else if (QUOTE.test(line) && depth < DEPTH) {
      const inner = [];
      for (; i < lines.length && lines[i].trim() && (QUOTE.test(lines[i]) || !starts(lines[i])); i++) {
        inner.push(QUOTE.exec(lines[i])?.[1] ?? lines[i]);
      }
      out.push(h('blockquote', null, blocks(inner, depth + 1, page)));
    } else if (ITEM.test(line) && depth < DEPTH) {
      const [list, next] = items(lines, i, depth, page);
      out.push(list);
      i = next;
    } else if (line.includes('|') && i + 1 < lines.length && TABLE.test(lines[i + 1]) && lines[i + 1].includes('-')) {
      const [table, next] = rows(lines, i);
      out.push(table);
      i = next;
    } else {
      const words = [line];
      for (i += 1; i < lines.length && lines[i].trim() && !starts(lines[i]); i++) words.push(lines[i]);
      out.push(h('p', null, inline(words.join('\n'))));
    }
  }
  return out;
}

const starts = (line) => FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || RULE.test(line) || /^ {0,3}([-*+]|1[.)])\s+\S/.test(line);
const closes = (line, mark) => {
  const text = line.trim();
  return text.length >= mark.length && text === mark[0].repeat(text.length);
};

function items(lines, from, depth, page) {
  const [, , mark] = ITEM.exec(lines[from]);
  const ordered = /\d/.test(mark);
  const all = [];
  let i = from;
  while (i < lines.length) {
    const found = ITEM.exec(lines[i]);
    if (!found || found[1].length > 3 || /\d/.test(found[2]) !== ordered) break;
    const inset = found[1].length + found[2].length + 1;
    const inner = [found[3]];
    for (i += 1; i < lines.length; i++) {
      const line = lines[i];
      if (!line.trim()) {
        const next = lines[i + 1];
        if (next === undefined || !/^ {2,}\S/.test(next)) break;
        inner.push('');
      } else if (line.search(/\S/) >= Math.min(inset, 2)) {
        inner.push(line.slice(Math.min(inset, line.search(/\S/))));
      } else if (starts(line) || ITEM.test(line)) {
        break;
      } else {
        inner.push(line);
      }
    }
    while (i < lines.length && !lines[i].trim() && ITEM.test(lines[i + 1] ?? '')) i += 1;
    all.push(item(inner, depth, page));
  }
  const start = ordered ? Number.parseInt(mark, 10) : 1;
  return [h(ordered ? 'ol' : 'ul', ordered && start !== 1 ? { start } : null, all), i];
}

function item(lines, depth, page) {
  const task = /^\[([ xX])\]\s+(.*)$/.exec(lines[0]);
  if (task) lines = [task[2], ...lines.slice(1)];
  let inner = blocks(lines, depth + 1, page);
  // One paragraph alone is a tight item.
  if (inner[0]?.type === 'p') inner = [inner[0].props.children, ...inner.slice(1)];
  const done = task && task[1] !== ' ';
  return h('li', task ? { class: 'task' } : null, task && h('span', { class: 'box', role: 'img', 'aria-label': done ? 'done' : 'open' }, done ? '☑' : '☐'), inner);
}

function rows(lines, from) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, '|'));
  const align = cells(lines[from + 1]).map((cell) => (/^:-+:$/.test(cell) ? 'center' : /-:$/.test(cell) ? 'end' : null));
  const row = (line, tag) => h('tr', null, cells(line).slice(0, 50).map((cell, n) => h(tag, align[n] ? { class: `to-${align[n]}` } : null, inline(cell))));
  const body = [];
  let i = from + 2;
  for (; i < lines.length && lines[i].includes('|') && lines[i].trim(); i++) body.push(row(lines[i], 'td'));
  const table = h('table', null, h('thead', null, row(lines[from], 'th')), body.length ? h('tbody', null, body) : null);
  return [h('div', { class: 'scroll-x', tabIndex: 0, role: 'region', 'aria-label': 'Table' }, table), i];
}

const SPECIAL = /[\\`*_~[!<\n]|https?:\/\//g;

/** @returns {Array} vnodes and strings of one run of text */
export function inline(text, depth = 0) {
  const out = [];
  let plain = '';
  let i = 0;
  const missing = new Set();
  const put = (node) => {
    if (plain) out.push(plain);
    plain = '';
    out.push(node);
  };
  while (i < text.length) {
    SPECIAL.lastIndex = i;
    const at = SPECIAL.exec(text)?.index ?? text.length;
    plain += text.slice(i, at);
    i = at;
    if (i >= text.length) break;
    const found = special(text, i, depth, missing);
    if (!found) plain += text[i++];
    else if (typeof found.node === 'string') {
      plain += found.node;
      i = found.next;
    } else {
      put(found.node);
      i = found.next;
    }
  }
  if (plain) out.push(plain);
  return out;
}

function special(text, i, depth, missing) {
  const c = text[i];
  if (c === '\\') {
    const next = text[i + 1];
    return next && /[\\`*_~[\](){}#+\-.!<>|]/.test(next) ? { node: next, next: i + 2 } : null;
  }
  if (c === '\n') {
    // In conversations a line break is meant.
    return { node: h('br'), next: i + 1 };
  }
  if (c === '`') {
    const mark = /^`+/.exec(text.slice(i, i + 20))[0];
    if (missing.has(mark)) return null;
    const end = text.indexOf(mark, i + mark.length);
    if (end < 0) {
      missing.add(mark);
      return null;
    }
    return { node: h('code', null, text.slice(i + mark.length, end).replace(/^ (.*) $/s, '$1')), next: end + mark.length };
  }
  if (c === '*' || c === '_' || c === '~') return depth < DEPTH ? emphasis(text, i, depth, missing) : null;
  if (c === '[' || (c === '!' && text[i + 1] === '[')) return depth < DEPTH ? reference(text, i, depth, missing) : null;
  if (c === '<') {
    const auto = /^<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/.exec(text.slice(i, i + 2010));
    return auto ? { node: anchor(auto[1], [auto[1]]), next: i + auto[0].length } : null;
  }
  if (c === 'h') {
    const url = /^https?:\/\/[^\s<>"'`]{1,2000}/.exec(text.slice(i, i + 2010))?.[0].replace(/[.,;:!?)\]}*_]+$/, '');
    return url && url.length > 10 ? { node: anchor(url, [url]), next: i + url.length } : null;
  }
  return null;
}

function emphasis(text, i, depth, missing) {
  const c = text[i];
  const mark = text[i + 1] === c ? c + c : c;
  if (c === '~' && mark.length < 2) return null;
  const after = text[i + mark.length];
  if (!after || /\s/.test(after) || missing.has(mark)) return null;
  // snake_case is no emphasis.
  if (c === '_' && /[\p{L}\p{N}]/u.test(text[i - 1] ?? '')) return null;
  let end = i + mark.length;
  for (;;) {
    end = text.indexOf(mark, end + 1);
    if (end < 0) {
      missing.add(mark);
      return null;
    }
    if (/\s/.test(text[end - 1])) continue;
    if (mark.length === 1 && (text[end + 1] === c || text[end - 1] === c)) {
      end += 1;
      continue;
    }
    if (c === '_' && /[\p{L}\p{N}]/u.test(text[end + mark.length] ?? '')) continue;
    break;
  }
  const tag = c === '~' ? 'del' : mark.length === 2 ? 'strong' : 'em';
  return { node: h(tag, null, inline(text.slice(i + mark.length, end), depth + 1)), next: end + mark.length };
}

function reference(text, i, depth, missing) {
  if (missing.has(']')) return null;
  const image = text[i] === '!';
  const from = i + (image ? 2 : 1);
  const end = text.indexOf('](', from);
  if (end < 0) {
    missing.add(']');
    return null;
  }
  const words = text.slice(from, end);
  if (words.length > 1000 || (!image && words.includes('\n\n'))) return null;
  const target = /^\]\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+["'(].*?["')])?\s*\)/.exec(text.slice(end, end + 4000));
  if (!target) return null;
  const next = end + target[0].length;
  if (image) {
    const source = safeImage(target[1]);
    return source ? { node: h('img', { src: source, alt: words, loading: 'lazy' }), next } : { node: text.slice(i, next), next };
  }
  const href = safeLink(target[1]);
  return href ? { node: anchor(href, inline(words, depth + 1)), next } : { node: text.slice(i, next), next };
}

function anchor(href, inner) {
  const safe = safeLink(href);
  return safe ? h('a', { href: safe, target: '_blank', rel: 'noopener noreferrer' }, inner) : h('span', null, inner);
}

/** An address that a link may lead to, or null. */
export function safeLink(text) {
  if (typeof text !== 'string' || /[\u0000-\u0020]/.test(text)) return null;
  return /^(https?:\/\/|mailto:)[^\s]+$/i.test(text) ? text : null;
}

/** An address that an image may come from, or null: this server, or a raster image in the address. */
export function safeImage(text) {
  if (typeof text !== 'string') return null;
  if (/^data:image\/(png|jpe?g|gif|webp|avif);base64,[A-Za-z0-9+/=]+$/i.test(text)) return text;
  if (/^\/api\/[^\s\\]+$/.test(text)) return text;
  return null;
}
