// `useChat` of `@ai-sdk/react` in a real page: a message is streamed, a tool is approved, a reload in
// the middle resumes, and a stop stops. Where there is no Chromium that starts, it is skipped.
//
//     node client_use_chat.mjs URL

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

import { browser } from './browser.mjs';
import { api, check, url } from './client.mjs';

const WORDS = Array.from({ length: 100 }, (_, i) => `w${i + 1}`).join(' ');

const started = await browser();
if (started.reason) {
  console.log(`skipped: ${started.reason}`);
  process.exit(0);
}
const bundle = await build({
  entryPoints: [fileURLToPath(new URL('page_chat.jsx', import.meta.url))],
  bundle: true,
  write: false,
  format: 'esm',
  jsx: 'automatic',
  define: { 'process.env.NODE_ENV': '"production"' },
});
const script = bundle.outputFiles[0].text;

// A page of the server's own origin, with our script.
async function open(query) {
  const page = await (await started.newContext()).newPage();
  page.on('pageerror', (error) => console.error(error));
  await page.route('**/chat.html*', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<!doctype html><meta charset="utf-8"><body></body><script type="module" src="/chat.js"></script>' }));
  await page.route('**/chat.js', (route) => route.fulfill({ contentType: 'text/javascript', body: script }));
  await page.goto(`${url}/chat.html?${query}`);
  await page.waitForSelector('main');
  return page;
}

async function say(page, text) {
  await page.fill('input[name=said]', text);
  await page.press('input[name=said]', 'Enter');
}

const said = (page) => page.$$eval('article', (all) =>
  all.map((own) => [own.dataset.role, [...own.querySelectorAll('p')].map((p) => p.textContent).join('|')]));
const until = (page, text) => page.waitForFunction((text) => document.body.innerText.includes(text), text);
const ready = (page) => page.waitForSelector('main[data-status=ready]');

await check('useChat sends, streams and approves a tool', async () => {
  const page = await open('id=page-1');
  await say(page, 'hello');
  await until(page, 'You said: hello');
  await ready(page);
  await say(page, 'book it');
  await page.click('#approve');
  await until(page, 'What you decided is done.');
  await ready(page);
  assert.deepEqual(await said(page), [
    ['user', 'hello'],
    ['assistant', 'You said: hello'],
    ['user', 'book it'],
    ['assistant', 'I book it if you agree.|What you decided is done.'],
  ]);
  assert.equal(await page.textContent('output'), 'output-available');
  const before = await said(page);
  await page.reload();
  await until(page, 'What you decided is done.');
  assert.deepEqual(await said(page), before, 'the history is the same');
});

await check('useChat resumes after a reload in the middle of a message', async () => {
  const page = await open('id=page-2&agent=slow');
  await say(page, 'go');
  for (const word of ['w10 ', 'w40 ', 'w70 ']) {
    await until(page, word);
    await page.reload();
  }
  await until(page, 'w100');
  await ready(page);
  assert.deepEqual(await said(page), [['user', 'go'], ['assistant', WORDS]]);
});

await check('useChat stops a turn', async () => {
  const page = await open('id=page-3&agent=slow');
  await say(page, 'go');
  await until(page, 'w10 ');
  await page.click('#stop');
  await ready(page);
  const { entries } = await api('/api/threads/page-3/events?limit=1000');
  assert.ok(entries.some((entry) => entry.event.status === 'canceled'));
  assert.equal((await fetch(`${url}/ai-sdk/chat/page-3/stream`)).status, 204);
});

await started.close();
