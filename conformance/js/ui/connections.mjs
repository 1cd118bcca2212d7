// Connections: readers as they come, lag and go, and the doctor behind proxies that are in the way.

import http from 'node:http';
import net from 'node:net';
import { createGzip } from 'node:zlib';

import { PHONE, apiOf, run, until } from './page.mjs';

const CLOCK = '2026-11-16T12:00:00Z';

await run(async ({ url, open, saw }) => {
  const api = apiOf(url);
  const empty = await open('/connections', { clock: CLOCK });
  await empty.getByText('Nobody reads just now').waitFor();
  await empty.axe();

  await api('/api/threads', { id: 'archive', title: 'A long one' });
  const pad = JSON.stringify(Array.from({ length: 100 }, () => ({ kind: 'x', pad: 'p'.repeat(8000) })));
  for (let n = 0; n < 20; n += 1) await fetch(`${url}/api/threads/archive/events`, { method: 'POST', body: pad });
  await api('/api/threads', { id: 'rivers', title: 'Rivers' });
  const slow = reader(url, '/api/threads/archive/stream', 'worker-7/1.2');
  slow.pause();
  const ended = new AbortController();
  for (const [query, agent] of [['', 'curl/8.5.0'], ['?dialect=looopy', 'python-httpx/0.27']]) {
    await fetch(`${url}/api/threads/rivers/stream${query}`, { headers: { 'user-agent': agent }, signal: ended.signal });
  }
  const page = await open('/connections', { clock: CLOCK });
  const row = (name) => page.getByRole('row').filter({ hasText: name });
  await row('archive').getByText('catching up').waitFor();
  await row('curl 8.5.0').getByText('native').waitFor();
  await row('python-httpx').getByText('looopy').waitFor();
  const lag = Number((await row('archive').locator('.figure').textContent()).replace(/\D/g, ''));
  if (!(lag > 0 && lag <= 2001)) throw new Error(`lag ${lag}`);
  const cursor = await row('curl 8.5.0').locator('.cursor').textContent();
  const { cursor: head } = await api('/api/threads/rivers');
  if (cursor !== head) throw new Error(`${cursor} is not ${head}`);
  saw('readers are shown with thread, dialect, program, last id, lag and rung');

  await timely(page);
  // Ids, lags and milliseconds are never the same.
  await page.look('connections', { tolerance: 0.01 });
  await page.getByRole('button', { name: 'Catching up' }).click();
  await row('curl').waitFor({ state: 'detached' });
  if (new URL(page.url()).searchParams.get('rung') !== 'journal') throw new Error(page.url());
  slow.resume();
  await page.getByText('None just now').waitFor();
  await page.getByRole('button', { name: /^All/ }).click();
  await row('archive').getByText('live').waitFor();
  slow.destroy();
  await row('archive').waitFor({ state: 'detached' });
  ended.abort();
  await page.getByText('Nobody reads just now').waitFor();
  saw('the list is live: who catches up is live, who leaves is gone');

  for (const [name, way, title] of [['holds', held, /holds events back/], ['squeezes', squeezed, /compressed on the way/]]) {
    const proxy = await through(url, way);
    const behind = await open('/connections', { clock: CLOCK, url: proxy.url });
    await behind.getByRole('heading', { name: title }).waitFor();
    await until('what to change is laid out', async () => (await behind.locator('.doctor pre').innerText()).includes('\n    proxy_buffering off;'));
    await behind.getByText('nginx seems to be between').waitFor();
    await behind.getByRole('heading', { name: 'What to change' }).or(behind.getByRole('heading', { name: 'Behind a proxy' })).waitFor();
    if (name === 'holds') {
      await behind.getByText('all at once').waitFor();
      await behind.look('connections-held', { tolerance: 0.01 });
      await behind.getByRole('tab', { name: 'nginx' }).focus();
      await behind.keyboard.press('ArrowRight');
      await behind.getByText('flush_interval -1').waitFor();
      await behind.keyboard.press('ArrowRight');
      await behind.getByText('Bypass cache').waitFor();
    }
    await behind.context().close();
    proxy.close();
    saw(`the doctor notices a proxy that ${name}`);
  }
  await hidden({ url, api, open, saw });
  // Under a fixed clock, pages are not told what was spoken.
  const phone = await open('/connections', { viewport: PHONE });
  await timely(phone);
  await phone.getByRole('heading', { name: 'HTTP/1.1: six connections' }).waitFor();
  await phone.axe();
  const wide = await phone.evaluate(() => document.querySelector('.page').scrollWidth > document.querySelector('.page').clientWidth);
  if (wide) throw new Error('the page scrolls sideways on a phone');
  saw('it fits a phone, and tells what HTTP/1.1 means');
});

/** A page that nobody looks at leaves its connection to others, and goes on where it was. */
async function hidden({ api, open, saw }) {
  await api('/api/threads', { id: 'away', title: 'Away' });
  const page = await open('/inbox');
  await page.clock.install();
  await page.getByRole('link', { name: 'Threads', exact: true }).click();
  await page.getByRole('link', { name: /Away/ }).click();
  await page.getByText('live', { exact: true }).waitFor();
  const readers = async () => (await api('/api/connections')).connections.filter((one) => one.thread === 'away').length;
  await until('it is read', async () => (await readers()) === 1);
  const turn = (is) => page.evaluate((is) => {
    Object.defineProperty(document, 'hidden', { value: is, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, is);
  await turn(true);
  await page.clock.fastForward(20_000);
  await until('it is let go', async () => (await readers()) === 0);
  await api('/api/threads/away/events', { kind: 'message', role: 'user', content: 'Said meanwhile' });
  await turn(false);
  await page.getByText('Said meanwhile').first().waitFor();
  await until('it is read again', async () => (await readers()) === 1);
  await page.close();
  saw('a page that is hidden lets its connection go, and goes on when it is seen');
}

/** Waits until events came in time: a busy machine is late at times. */
async function timely(page) {
  await until('events in time', async () => {
    await page.locator('.finding h3').first().waitFor();
    if (await page.getByRole('heading', { name: 'Events arrive as they are sent' }).isVisible()) return true;
    await page.getByRole('button', { name: 'Check again' }).click();
    return false;
  }, 30_000);
}

/** A reader by hand, which can stop taking. */
function reader(url, path, agent) {
  const { hostname, port, host } = new URL(url);
  const socket = net.connect({ host: hostname, port: Number(port) });
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nuser-agent: ${agent}\r\n\r\n`);
  socket.on('data', () => {});
  socket.on('error', () => {});
  return socket;
}

/** Keeps a stream until it is over, as a proxy with buffers does. */
function held(answer, out) {
  const kept = [];
  answer.on('data', (piece) => kept.push(piece));
  answer.on('end', () => out.end(Buffer.concat(kept)));
}

/** Compresses a stream, piece by piece. */
function squeezed(answer, out) {
  const gzip = createGzip({ flush: 2 });
  gzip.pipe(out);
  answer.on('data', (piece) => gzip.write(piece));
  answer.on('end', () => gzip.end());
}

/** A proxy that passes all but probes. */
async function through(url, way) {
  const to = new URL(url);
  const server = http.createServer((asked, out) => {
    const headers = { ...asked.headers, 'x-forwarded-for': '127.0.0.1' };
    const passed = http.request({ host: to.hostname, port: to.port, path: asked.url, method: asked.method, headers }, (answer) => {
      const own = { ...answer.headers, server: 'nginx' };
      delete own['x-accel-buffering'];
      const probe = asked.url.startsWith('/api/connections/probe');
      if (probe) delete own['transfer-encoding'];
      if (probe && way === squeezed) own['content-encoding'] = 'gzip';
      out.writeHead(answer.statusCode, own);
      if (probe) way(answer, out);
      else answer.pipe(out);
    });
    passed.on('error', () => out.destroy());
    out.on('close', () => passed.destroy());
    asked.pipe(passed);
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => (server.closeAllConnections(), server.close()) };
}
