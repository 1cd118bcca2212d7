// What the clients of surfaces share: saying what was seen to work, and leaving with a reason.

import { Proxy } from './live_proxy.mjs';

export const url = process.argv[2];

// Runs one check; the first that fails ends the program.
export async function check(name, run) {
  // It also keeps node alive: some clients wait for their next try with timers that do not.
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error('not done in 180 s')), 180_000);
  });
  try {
    await Promise.race([run(), late]);
  } catch (error) {
    console.error(`${name}: ${error?.stack ?? error}`);
    process.exit(1);
  }
  clearTimeout(timer);
  console.log(name);
}

// The native API, for what a client's own protocol cannot say.
export async function api(path, body) {
  const response = await fetch(url + path, body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) });
  const text = await response.text();
  return text ? JSON.parse(text) : undefined;
}

// Runs something against a proxy of the server that cuts `CUTS` answers at random bytes, streams unless
// told: again, if it was over before.
export const CUTS = 20;
export async function throughCuts(bytes, run, { type, rounds = 5 } = {}) {
  const proxy = new Proxy({ most: CUTS, bytes, type });
  await proxy.start(url);
  try {
    for (let round = 1; round <= rounds && proxy.cuts < CUTS; round++) await run(proxy.origin, proxy, round);
  } finally {
    proxy.end();
  }
  if (proxy.cuts !== CUTS) throw new Error(`${proxy.cuts} cuts of ${CUTS}`);
}
