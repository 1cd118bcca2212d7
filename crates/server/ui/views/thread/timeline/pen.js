// What a timeline is painted with: words that fit, lines, dots and small shapes.

const FONT = '500 11.5px Inter, system-ui, sans-serif';

const sizes = new Map();
/** How wide words are. */
export function text(ctx, words) {
  ctx.font = FONT;
  let size = sizes.get(words);
  if (size === undefined) {
    if (sizes.size > 4000) sizes.clear();
    sizes.set(words, (size = ctx.measureText(words).width));
  }
  return size;
}

/** As much of the words as fits; gives where they end. */
export function label(ctx, words, x, y, room, colour) {
  if (!words || room < 22) return x;
  const size = text(ctx, words);
  let shown = words;
  if (size > room) {
    shown = words.slice(0, Math.max(1, Math.floor((words.length * room) / size) - 1));
    while (shown.length > 1 && ctx.measureText(`${shown}…`).width > room) shown = shown.slice(0, -1);
    shown = `${shown.trimEnd()}…`;
  }
  ctx.fillStyle = colour;
  ctx.fillText(shown, x, y);
  return x + Math.min(size, room);
}

export function line(ctx, x, from, to, colour, width, dash = []) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.setLineDash(dash);
  ctx.beginPath();
  ctx.moveTo(x, from);
  ctx.lineTo(x, to);
  ctx.stroke();
  ctx.setLineDash([]);
}

export function dot(ctx, x, y, r, colour) {
  ctx.fillStyle = colour;
  ctx.beginPath();
  ctx.arc(x, y, r, 0, 7);
  ctx.fill();
}

export function ringDot(ctx, x, y, colour, paper) {
  dot(ctx, x, y, 4.5, colour);
  dot(ctx, x, y, 2.25, paper);
}

export function ring(ctx, x, y, w, h, colour, width) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.roundRect(x - width / 2, y - width / 2, w + width, h + width, 4);
  ctx.stroke();
}

/** A sheet with a folded corner, small. */
export function sheet(ctx, x, y, colour, paper) {
  ctx.fillStyle = paper;
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.25;
  ctx.beginPath();
  ctx.moveTo(x - 3.5, y + 0.5);
  ctx.lineTo(x + 1.5, y + 0.5);
  ctx.lineTo(x + 4, y + 3);
  ctx.lineTo(x + 4, y + 10);
  ctx.lineTo(x - 3.5, y + 10);
  ctx.closePath();
  ctx.fill();
  ctx.stroke();
}

export function cross(ctx, x, y, colour) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = 2;
  ctx.beginPath();
  for (const side of [-1, 1]) {
    ctx.moveTo(x - 3.5, y - 3.5 * side);
    ctx.lineTo(x + 3.5, y + 3.5 * side);
  }
  ctx.stroke();
}

/** Slanted lines that stay with what they are on when it is scrolled. */
export function hatch(ctx, { left, tone }, from, to, y, h, alpha) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(from, y, to - from, h);
  ctx.clip();
  ctx.globalAlpha = alpha;
  ctx.strokeStyle = tone('--red');
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let x = Math.floor((from + left) / 6) * 6 - left - h; x < to; x += 6) {
    ctx.moveTo(x, y + h);
    ctx.lineTo(x + h, y);
  }
  ctx.stroke();
  ctx.restore();
}
