// Chromium: live checks in real pages. Where there is no Chromium that starts, they are skipped.

import { createServer } from 'node:http';

import bundled from '@sparticuz/chromium';
import { chromium } from 'playwright-core';

import { checks, listen } from './live.mjs';

/** Without these it would look for its maker's servers; web security stays on. */
const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];
const PAGE = '<!doctype html><meta charset="utf-8"><title>live</title><h1>What the page heard</h1><ol></ol>';
const PATH = '/page.html';

/** Origins that serve the page themselves. */
const served = new Set();

/** One browser for all checks: the one that is named, the package's, or the machine's own. */
let started;
async function browser() {
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

const client = {
  /** A page's server of its own. */
  foreign: async (run) => {
    const server = createServer((_, answer) => answer.setHeader('content-type', 'text/html').end(PAGE));
    await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
    const origin = `http://127.0.0.1:${server.address().port}`;
    served.add(origin);
    try {
      return await run(origin);
    } finally {
      served.delete(origin);
      server.close();
      server.closeAllConnections();
    }
  },
  /** A page of an origin, whoever serves there. */
  session: async (origin) => {
    const context = await (await browser()).newContext();
    const page = await context.newPage();
    // A page that was not loaded from this machine may not ask other origins on it.
    if (!served.has(origin)) {
      await page.route(origin + PATH, (route) => route.fulfill({ contentType: 'text/html', body: PAGE }));
    }
    await page.goto(origin + PATH);
    await page.evaluate(`window.followers = []; window.listen = ${listen}`);
    return {
      listen: async (url, kinds) => {
        const nth = await page.evaluate(
          ([url, kinds]) => followers.push(listen(EventSource, url, kinds)) - 1,
          [url, kinds],
        );
        return { notes: () => page.evaluate((nth) => followers[nth].notes, nth) };
      },
      close: () => context.close(),
    };
  },
};

/** The checks, or why there are none. */
export default Object.fromEntries(
  Object.entries(checks(client)).map(([name, run]) => [
    name,
    async (request) => {
      const { reason } = await browser();
      return reason ? { skipped: reason } : run(request);
    },
  ]),
);
