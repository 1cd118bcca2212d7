// Two lists side by side: which of their items belong together, and which words of two texts differ.
// Both within bounds: what is longer is paired in order, or shown without marks.

const CELLS = 250_000;

/** Longest common way through two lists: `weigh(a, b)` is 0 where they do not belong together. */
function pair(left, right, weigh) {
  const [n, m] = [left.length, right.length];
  const width = m + 1;
  const best = new Float64Array((n + 1) * width);
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      const weight = weigh(left[i], right[j]);
      const both = weight > 0 ? weight + best[(i + 1) * width + j + 1] : 0;
      best[i * width + j] = Math.max(both, best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  const rows = [];
  let [i, j] = [0, 0];
  while (i < n && j < m) {
    const weight = weigh(left[i], right[j]);
    const here = best[i * width + j];
    if (weight > 0 && here === weight + best[(i + 1) * width + j + 1]) rows.push([left[i++], right[j++]]);
    else if (here === best[(i + 1) * width + j]) rows.push([left[i++], null]);
    else rows.push([null, right[j++]]);
  }
  while (i < n) rows.push([left[i++], null]);
  while (j < m) rows.push([null, right[j++]]);
  return rows;
}

/** What an item says, as text. */
export function said(item) {
  if (item.type === 'call') return spelled(item.call.args ?? item.call.argsText ?? null);
  if (item.type === 'artifact') return item.artifact.name ?? item.artifact.id;
  if (item.type === 'question') return item.question.event.prompt ?? '';
  return item.text ?? '';
}

/** Arguments: in a line where they fit into one. */
function spelled(value) {
  const text = JSON.stringify(value, null, 1);
  return text.length < 240 ? text.replace(/\n\s*/g, ' ') : text;
}

const sameSort = (a, b) => a.type === b.type && a.by === b.by &&
  (a.type === 'message' ? a.role === b.role : a.type === 'call' ? a.call.name === b.call.name : a.type === 'note' ? a.what === b.what : true);

function weigh(a, b) {
  if (!sameSort(a, b)) return 0;
  const [one, other] = [said(a), said(b)];
  if (one === other) return 3;
  return one.slice(0, 12) === other.slice(0, 12) ? 2 : 1;
}

/**
 * Items of two branches, aligned: those of one sort stand beside each other, in order.
 * @returns {Array<{key: string, left: object|null, right: object|null, same: boolean}>}
 */
export function align(left, right) {
  const small = (left.length + 1) * (right.length + 1) <= CELLS;
  const rows = small ? pair(left, right, weigh)
    : Array.from({ length: Math.max(left.length, right.length) }, (_, n) => [left[n] ?? null, right[n] ?? null]);
  return rows.map(([a, b]) => ({
    key: `${a?.key ?? ''}|${b?.key ?? ''}`, left: a, right: b,
    same: !!a && !!b && sameSort(a, b) && said(a) === said(b) && outcome(a) === outcome(b),
  }));
}

const outcome = (item) => (item.type === 'call' ? JSON.stringify([item.call.status, item.call.result ?? item.call.error]) : item.type === 'question' ? JSON.stringify(item.question.value ?? null) : '');

/**
 * A text against another: pieces `[text, differs]` of the first.
 */
export function differing(text, other) {
  const words = (one) => one.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
  const [a, b] = [words(text), words(other)];
  if ((a.length + 1) * (b.length + 1) > CELLS) return [[text, false]];
  const out = [];
  for (const [own, theirs] of pair(a, b, (x, y) => (x === y ? (x.trim() ? 2 : 1) : 0))) {
    if (own === null) continue;
    const differs = theirs === null;
    const last = out.at(-1);
    if (last && last[1] === differs) last[0] += own;
    else out.push([own, differs]);
  }
  return out;
}
