// The list of threads: who works there, how it stands and what it cost; live, filtered, searched, and long.

import { PHONE, apiOf, run, until } from './page.mjs';

const MANY = 330;

await run(async ({ url, open, saw }) => {
  const api = apiOf(url);
  const make = async (id, title, events) => {
    await api('/api/threads', { id, title });
    await api(`/api/threads/${id}/events`, events);
  };
  const turn = (agentId, content, usage, end = { kind: 'task-complete', content }) => [
    { kind: 'task-created', taskId: `k-${agentId}`, agentId, initiator: 'user' },
    { kind: 'step-started', taskId: `k-${agentId}`, agentId },
    { kind: 'content-complete', taskId: `k-${agentId}`, agentId, content },
    { kind: 'step-finished', taskId: `k-${agentId}`, agentId, finishReason: 'stop', usage },
    ...(end ? [{ taskId: `k-${agentId}`, agentId, ...end }] : []),
  ];
  await make('idle', 'Which dye keeps its colour', turn('dyer', 'Indigo **keeps** best, if it was aired between dips.', { input_tokens: 1200, output_tokens: 210, cost: 0.0123 }));
  await make('failed', 'Order more yarn', turn('buyer', 'I try the shop in Bergen first.', { input_tokens: 88000, output_tokens: 4100, cost: 1.28 }, { kind: 'task-status', status: 'failed', message: 'the shop is closed' }));
  await make('working', 'A cloth of twelve metres', [...turn('planner', 'Warp first.', { input_tokens: 10, output_tokens: 4 }), ...turn('dyer', 'Seven dips are done.', { input_tokens: 310, output_tokens: 95, cost: 0.002 }), ...turn('weaver', 'Five metres are woven, the red thread runs along the edge.', { input_tokens: 900, output_tokens: 120, cost: 0.004 }, null)]);
  await make('waiting', 'Cut or not', [...turn('weaver', 'All twelve metres are woven.', { input_tokens: 400, output_tokens: 30, cost: 0.001 }, null), { kind: 'input-required', taskId: 'k-weaver', agentId: 'weaver', inputId: 'q', inputType: 'confirmation', prompt: 'Cut?' }]);
  await api('/api/threads', { id: 'new', title: 'Something new' });
  // As if looked at two hours later, so that the times are always the same.
  const later = new Date(Date.now() + 2 * 3600_000 + 60_000).toISOString();
  const listed = await until('all are listed', async () => {
    const { threads } = await api('/api/threads');
    return threads.length === 5 && threads.find((one) => one.id === 'waiting').status === 'waiting' && threads;
  });
  const { agents, tokens, cost } = listed.find((one) => one.id === 'working');
  if (agents.map((one) => one.id).join() !== 'planner,dyer,weaver' || tokens !== 1439 || Math.abs(cost - 0.006) > 1e-9) throw new Error(JSON.stringify({ agents, tokens, cost }));

  const page = await open('/', { clock: later });
  const row = (title) => page.getByRole('listitem').filter({ hasText: title });
  await row('Cut or not').getByText('waits for you').waitFor();
  await row('A cloth of twelve metres').getByText('weaver').waitFor();
  await row('Order more yarn').getByText('$1.28').waitFor();
  await page.look('threads');
  saw('the list tells who works, how it stands, and what it cost');

  await page.getByRole('button', { name: 'Failed' }).click();
  await until('only what failed is there', async () => (await page.getByRole('listitem').count()) === 1);
  await row('Order more yarn').waitFor();
  await page.getByRole('button', { name: 'Working' }).click();
  await row('A cloth of twelve metres').waitFor();
  await page.goBack();
  await row('Order more yarn').waitFor();
  await page.getByRole('button', { name: 'All' }).click();
  await page.getByLabel('With').selectOption('dyer');
  await until('the dyer is in two', async () => (await page.getByRole('listitem').count()) === 2);
  if (!page.url().includes('agent=dyer')) throw new Error(page.url());
  await page.getByLabel('With').selectOption('');
  saw('filters narrow it, and are in the address');

  await page.keyboard.press('/');
  await page.keyboard.type('red thr');
  await page.locator('mark', { hasText: 'red' }).first().waitFor();
  await until('the word may go on', async () => (await page.locator('mark').allTextContents()).join() === 'red,thread');
  await page.look('search', { mask: [page.locator('time')] });
  await page.getByRole('link', { name: 'Five metres are woven' }).click();
  await page.locator('.item[aria-current]', { hasText: 'Five metres are woven' }).waitFor();
  await page.goBack();
  await page.getByLabel('Search what was said').fill('unheard of');
  await page.getByText('Nothing was said about “unheard of”').waitFor();
  await page.getByLabel('Search what was said').fill('');
  saw('what was said is found as one types, and a click leads to it');

  // It is live: a thread that is updated comes first, one that is new shows up.
  await row('Something new').waitFor();
  await api('/api/threads/idle/events', { kind: 'message', role: 'user', content: 'And which one fades?' });
  await until('it came first', async () => (await page.getByRole('listitem').first().textContent()).includes('And which one fades?'));
  await api('/api/threads', { id: 'later', title: 'Made just now' });
  await row('Made just now').waitFor();
  saw('it is live');

  for (let i = 0; i < MANY; i += 30) await Promise.all(Array.from({ length: 30 }, (_, n) => api('/api/threads', { id: `many-${i + n}`, title: `One of many: ${i + n}` })));
  // Lists follow behind the acknowledgement.
  const newest = await until('all are listed', async () => {
    const { threads } = await api('/api/threads?limit=500');
    return threads.length === MANY + 6 && threads[0];
  });
  await until('the top shows them', async () => (await page.getByRole('listitem').first().textContent()).includes(newest.title));
  const seen = new Set();
  await until('the end is reached', async () => {
    for (const text of await page.locator('.thread-link .title').allTextContents()) seen.add(text);
    await page.evaluate(async () => {
      document.querySelector('.virtual').scrollTop += 500;
      await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(next))));
    });
    return seen.size === MANY + 6;
  }, 60_000).catch(async (error) => { throw new Error(`${error.message}: ${seen.size} of ${MANY + 6}; ${await page.evaluate(() => { const list = document.querySelector('.virtual'); return JSON.stringify({ top: list.scrollTop, height: list.scrollHeight, view: list.clientHeight, last: [...document.querySelectorAll('.thread-link .title')].at(-1)?.textContent, more: !!document.querySelector('.virtual > .loading') }); })}`); });
  if (await page.locator('.thread-row').count() > 60) throw new Error('too many rows are in the page');
  saw(`${seen.size} threads are scrolled through, a page at a time`);

  const phone = await open('/threads?status=waiting', { clock: later, viewport: PHONE });
  await phone.getByText('Cut or not').waitFor();
  await phone.look('threads-phone');
  if (await phone.evaluate(() => document.documentElement.scrollWidth > innerWidth)) throw new Error('it is wider than a phone');
  saw('it fits on a phone');
});
