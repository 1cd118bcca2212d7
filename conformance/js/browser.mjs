// Chromium, for checks in real pages.

import bundled from '@sparticuz/chromium';
import { chromium } from 'playwright-core';

/** Without these it would look for its maker's servers; web security stays on. */
const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

/** One browser for all checks: the one that is named, the package's, or the machine's own. */
let started;
export async function browser() {
  started ??= (async () => {
    const reasons = [];
    const named = process.env.SELVEDGE_CHROMIUM;
    for (const program of named ? [() => named] : [() => bundled.executablePath(), () => '/usr/bin/chromium']) {
      try {
        return await chromium.launch({ executablePath: await program(), args: FLAGS });
      } catch (error) {
        reasons.push(String(error.message).split('\n')[0]);
      }
    }
    return { reason: `no Chromium starts here: ${reasons.join('; ')}` };
  })();
  return started;
}
