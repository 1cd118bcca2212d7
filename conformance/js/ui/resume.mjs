// A server that is killed in the middle of a stream: the page goes on by itself, and no word is there
// twice. This script starts the server itself: it gets the program and a folder.

import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { apiOf, run, until } from './page.mjs';

const CLOCK = '2026-11-16T12:00:00Z';
const [, , , program, folder] = process.argv;

async function freePort() {
  const server = createServer();
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

async function start(port) {
  const child = spawn(program, ['serve', '--db', join(folder, 'resume.db'), '--listen', `127.0.0.1:${port}`], { stdio: ['ignore', 'pipe', 'ignore'] });
  await new Promise((ready, failed) => {
    child.stdout.once('data', ready);
    child.once('exit', failed);
  });
  return child;
}

const kill = (child) => new Promise((gone) => {
  child.once('exit', gone);
  child.kill('SIGKILL');
});

const port = await freePort();
process.argv[2] = `http://127.0.0.1:${port}`;
let server = await start(port);

await run(async ({ url, open, saw }) => {
  try {
    const api = apiOf(url);
    await api('/api/threads', { id: 't', title: 'Long story' });
    await api('/api/threads/t/events', [{ kind: 'task-created', taskId: 'k', agentId: 'a', initiator: 'user' }, { kind: 'step-started', taskId: 'k', agentId: 'a' }]);
    const page = await open('/threads/t');
    await page.getByText('live', { exact: true }).waitFor();
    await page.evaluate(() => (window.sameDocument = true));
    let n = 0;
    const say = async (count) => {
      for (let i = 0; i < count; i++) await api('/api/threads/t/events', { kind: 'content-delta', taskId: 'k', agentId: 'a', partId: 'p', delta: `w${n++} ` });
    };
    const words = () => page.evaluate(() => document.querySelector('.message .prose')?.textContent.trim() ?? '');
    const all = () => Array.from({ length: n }, (_, i) => `w${i}`).join(' ');
    await say(40);
    await until('the first words are there', async () => (await words()) === all());
    for (let round = 0; round < 2; round++) {
      await kill(server);
      await page.locator('.connection[data-state=reconnecting]').waitFor();
      server = await start(port);
      await say(25);
      await until('the page went on', async () => (await words()) === all(), 30_000);
      await page.getByText('live', { exact: true }).waitFor();
    }
    await api('/api/threads/t/events', [{ kind: 'content-complete', taskId: 'k', agentId: 'a', partId: 'p', content: all() }, { kind: 'task-complete', taskId: 'k', agentId: 'a', content: all() }]);
    await page.locator('.status[data-status=idle]').waitFor();
    if ((await words()) !== all()) throw new Error(await words());
    if (!(await page.evaluate(() => window.sameDocument))) throw new Error('the page was loaded anew');
    saw(`killed twice, ${n} words are there once, without a reload`);
    // What pages say while there is no server, and that they go on by themselves.
    const list = await open('/threads', { clock: CLOCK });
    await list.getByText('Long story').waitFor();
    await kill(server);
    await list.getByText('The server cannot be reached. This is how it was.').waitFor();
    await list.getByRole('button', { name: 'New thread' }).click();
    await list.getByRole('alert').getByText('cannot be reached').waitFor();
    await list.look('down', { mask: [list.locator('.when')] });
    await page.getByLabel('Message').fill('Anyone?');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Nothing was sent: try again').waitFor();
    await list.getByRole('link', { name: 'Usage' }).click();
    await list.getByRole('heading', { name: 'This could not be loaded' }).or(list.getByText('This could not be loaded')).first().waitFor();
    await list.look('down-usage');
    server = await start(port);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Anyone?', { exact: true }).first().waitFor();
    await list.getByText('This could not be loaded').waitFor({ state: 'detached', timeout: 60_000 });
    saw('pages say that the server is away, keep what was typed, and go on');
    // A journal that is another one under the same id is shown as that.
    await api('/api/threads/t', undefined, 'DELETE');
    await api('/api/threads', { id: 't', title: 'Another story' });
    await page.reload();
    await page.getByRole('heading', { name: 'Another story' }).waitFor();
    saw('another journal under the same id is another one');
  } finally {
    await kill(server);
  }
});
