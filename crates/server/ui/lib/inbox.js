// How much waits for a person in all threads, for the rail. The Inbox view asks for the rest itself.

import { api } from './api.js';
import { signal } from './ui.js';

/** How many things wait. 100 is "100 or more". */
export const waiting = signal(0);

const EVERY = 5000;

/** Asks again now: someone has just answered something. */
export async function refreshWaiting() {
  try {
    const { items } = await api('/api/inbox?limit=100');
    waiting.value = items.length;
  } catch {
    // It is asked again soon.
  }
}

async function tick() {
  if (!document.hidden) await refreshWaiting();
  setTimeout(tick, EVERY);
}
tick();
