// Two fingers on the lanes: how far they come apart, and where. One finger scrolls, as anywhere.

/**
 * @param {HTMLElement} element has `touch-action: pan-x pan-y`, so that a pinch is not the browser's
 * @param {(factor: number, x: number) => void} zoom `x` is from the element's left
 * @param {() => void} done after each touch
 * @returns {() => void} ends it
 */
export function pinches(element, zoom, done) {
  let apart = null;
  const read = ({ touches: [one, two] }) => ({
    far: Math.max(1, Math.hypot(one.clientX - two.clientX, one.clientY - two.clientY)),
    x: (one.clientX + two.clientX) / 2 - element.getBoundingClientRect().left,
  });
  const start = (event) => (apart = event.touches.length === 2 ? read(event).far : null);
  const move = (event) => {
    if (apart === null || event.touches.length !== 2) return;
    if (event.cancelable) event.preventDefault();
    const { far, x } = read(event);
    zoom(far / apart, x);
    apart = far;
  };
  const end = (event) => {
    start(event);
    done();
  };
  const all = [['touchstart', start], ['touchmove', move], ['touchend', end], ['touchcancel', end]];
  for (const [name, run] of all) element.addEventListener(name, run, { passive: name !== 'touchmove' });
  return () => all.forEach(([name, run]) => element.removeEventListener(name, run));
}
