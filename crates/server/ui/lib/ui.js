// What views are made of: Preact, htm, hooks and signals, in one import.

import { h, Fragment, render, createRef } from '../vendor/preact.js';
import htm from '../vendor/htm.js';

export { h, Fragment, render, createRef };
export {
  useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState,
} from '../vendor/hooks.js';
export { batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect } from '../vendor/signals.js';

/** Markup as vnodes: html`<p class=${name}>${text}</p>`. Text stays text, whatever is in it. */
export const html = htm.bind(h);

/** Class names, without those that are not. */
export const cls = (...names) => names.filter(Boolean).join(' ');
