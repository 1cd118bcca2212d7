// What is seen of a timeline, and where in it something is.

/** Room at both ends, in px. */
export const PAD = 16;

/**
 * @typedef {object} Sight what is drawn:
 *   `{ model, axis, scale (px per unit), left, top, width, height, edge (units), at (index shown, or null),
 *   selected (index or null), hover, live, tone(name), tint (of a task's bar), colourOf(lane), wordsOf(index), seqOf(index) }`
 */

/** Where a position is, in px from the left of what is seen. */
export const xOf = (sight, pos) => PAD + pos * sight.scale - sight.left;
