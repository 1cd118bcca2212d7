// Chromium: live checks in real pages. Where there is no Chromium that starts, they are skipped.

import { createServer } from 'node:http';

import { browser } from './browser.mjs';
import { checks, listen } from './live.mjs';

const PAGE = '<!doctype html><meta charset="utf-8"><title>live</title><h1>What the page heard</h1><ol></ol>';
const PATH = '/page.html';

/** Origins that serve the page themselves. */
const served = new Set();

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
