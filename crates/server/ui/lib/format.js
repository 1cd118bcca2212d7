// Numbers and times as people read them.

const count = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const whole = new Intl.NumberFormat('en');

const days = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const yearDays = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });

/** 12,345 as 12.3K. */
export const compact = (n) => (Math.abs(n) < 10_000 ? whole.format(n) : count.format(n));

/** 12,345. */
export const full = (n) => whole.format(n);

/** Money: two digits, more where it is less than a cent. */
export function money(cost) {
  if (!cost) return '$0.00';
  const digits = cost >= 0.01 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(cost)));
  return `$${cost.toFixed(digits)}`;
}

/** 1.5 kB. */
export function bytes(n) {
  for (const [unit, size] of [['MB', 1e6], ['kB', 1e3]]) if (n >= size) return `${(n / size).toFixed(n < size * 10 ? 1 : 0)} ${unit}`;
  return `${n} B`;
}

/** A time span: 340 ms, 2.1 s, 3 min 5 s, 2 h 10 min. */
export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return '';
  if (ms < 999.5) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  // Rounded once, so that no minute has 60 seconds.
  const s = Math.round(ms / 1000);
  if (s < 60) return `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 60) return `${min} min${s % 60 ? ` ${s % 60} s` : ''}`;
  const hours = Math.floor(min / 60);
  return hours < 48 ? `${hours} h${min % 60 ? ` ${min % 60} min` : ''}` : `${Math.floor(hours / 24)} d`;
}

/** 15:04:05 of a time in ms; with the day where it is not today. */
export function clock(ms, { seconds = true } = {}) {
  if (ms === null || ms === undefined) return '';
  const date = new Date(ms);
  const today = new Date();
  const two = (n) => String(n).padStart(2, '0');
  const time = `${two(date.getHours())}:${two(date.getMinutes())}${seconds ? `:${two(date.getSeconds())}` : ''}`;
  const same = date.getDate() === today.getDate() && date.getMonth() === today.getMonth() && date.getFullYear() === today.getFullYear();
  return same ? time : `${day(ms)} ${time}`;
}

/** 16 Nov, with the year where it is another. */
export function day(ms) {
  const date = new Date(ms);
  return (date.getFullYear() === new Date().getFullYear() ? days : yearDays).format(date);
}

/** now, 5 s, 3 min, 2 h, else the day. */
export function ago(ms, now = Date.now()) {
  const s = Math.max(0, (now - ms) / 1000);
  if (s < 5) return 'now';
  if (s < 60) return `${Math.floor(s)} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ago`;
  return day(ms);
}

/** What a thread is called: its title, its id, or the end of an id that says nothing. */
export const titleOf = ({ title, id }) => title || (/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(id) ? `Untitled ${id.slice(-6)}` : id);

/** Markdown as a line of plain words, of a text that may be cut off. */
export const plain = (text) => text.slice(0, 1200)
  .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
  .replace(/(^|\s)#{1,6}\s+/g, '$1').replace(/^ {0,3}>\s+|^ {0,3}(?:```|~~~).*$|^[ |:-]*\|[ |:-]*$/gm, '')
  .replace(/^ *\||\| *$/gm, '')
  .replace(/`+|\*+(?=\S)|(?<=\S)\*+|~~/g, '')
  .replace(/\s+/g, ' ').trim().slice(0, 300);
