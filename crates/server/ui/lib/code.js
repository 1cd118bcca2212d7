// Code in a few colours: comments, strings, numbers and words that most languages share. It does not
// know any language; it only helps the eye.

import { h } from './ui.js';

const MOST = 20_000;
const HASH = /^(py|python|rb|ruby|sh|bash|zsh|console|shell|yaml|yml|toml|r|perl|makefile|dockerfile|text\/x-python|text\/x-sh|application\/toml|text\/yaml)$/;
const PLAIN = /^(text|txt|plain|log|diff|md|markdown|csv|text\/plain|text\/csv|text\/html|html|svg|xml|image\/svg\+xml)?$/;
const WORDS = new Set(('abstract and as async await break case catch class const continue def default defer del do elif else enum except export extends false False finally fn for from func function go if impl implements import in interface is lambda let loop match mod module mut new nil none None not null or package pass private protected pub public raise return select self Self set static struct super switch this throw true True try type typeof undefined union unless until use using val var void when where while with yield SELECT FROM WHERE INSERT UPDATE DELETE CREATE TABLE JOIN ON GROUP BY ORDER LIMIT VALUES INTO').split(' '));
const STRING = '"(?:[^"\\\\\\n]|\\\\.)*"|\'(?:[^\'\\\\\\n]|\\\\.)*\'|`(?:[^`\\\\]|\\\\.)*`';
const NUMBER = '\\b0[xXbo][\\da-fA-F_]+\\b|\\b\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?\\b';
const token = (comment) => new RegExp(`(${comment})|("""[\\s\\S]*?"""|${STRING})|(${NUMBER})|([A-Za-z_][A-Za-z0-9_]*)`, 'g');
const SLASH_TOKENS = token('//[^\\n]*|/\\*[\\s\\S]*?\\*/');
const HASH_TOKENS = token('#[^\\n]*');

/** @returns {Array} vnodes and strings */
export function code(text, language) {
  const name = (language ?? '').toLowerCase();
  if (text.length > MOST || PLAIN.test(name)) return [text];
  const tokens = HASH.test(name) ? HASH_TOKENS : SLASH_TOKENS;
  const out = [];
  let from = 0;
  tokens.lastIndex = 0;
  for (let found; (found = tokens.exec(text)); ) {
    const [whole, comment, string, number, word] = found;
    const kind = comment ? 'comment' : string ? 'string' : number ? 'number' : WORDS.has(word) ? 'word' : null;
    if (!kind) continue;
    if (found.index > from) out.push(text.slice(from, found.index));
    out.push(h('span', { class: `code-${kind}` }, whole));
    from = found.index + whole.length;
  }
  out.push(text.slice(from));
  return out;
}
