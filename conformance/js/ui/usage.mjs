// Usage: what was counted, by agent, model and day; budgets as lines; errors by code.

import { PHONE, apiOf, run, until } from './page.mjs';

const CLOCK = '2026-11-16T12:00:00Z';
const AGENTS = [
  { id: 'researcher', models: ['claude-sonnet'], tools: [], budget: { thread: { cost: 5 }, agent: { cost: 2, tokens: 400_000 } } },
  { id: 'writer', models: ['claude-sonnet'], tools: [], budget: { thread: { cost: 5 }, agent: { cost: 1.5 } } },
  { id: 'reviewer', models: ['gpt-mini'], tools: [], budget: { thread: { cost: 5 } } },
  { id: 'planner', models: ['gpt-mini'], tools: [], budget: { thread: { cost: 5 } } },
];

await run(async ({ url, open, saw }) => {
  const api = apiOf(url);
  const empty = await open('/usage');
  await empty.getByRole('heading', { name: 'Nothing was used yet' }).waitFor();
  await empty.axe();

  await api('/api/threads', { id: 'rivers', title: 'Rivers' });
  const append = (events) => api('/api/threads/rivers/events', events);
  for (const [agent, model, input, cost] of [['guide', 'claude-test', 1200, 0.02], ['scout', 'gpt-test', 400, 0.005]]) {
    const own = { taskId: `t-${agent}`, agentId: agent };
    await append([{ kind: 'task-created', ...own, initiator: 'user' }, { kind: 'step-started', ...own, model }]);
    await append([{ kind: 'step-finished', ...own, model, usage: { input_tokens: input, output_tokens: 100, cost } },
      { kind: 'tool-start', ...own, toolCallId: `c-${agent}`, toolName: 'look', arguments: {} }]);
    await append([{ kind: 'tool-complete', ...own, toolCallId: `c-${agent}`, toolName: 'look', success: false, outcome: 'denied' },
      { kind: 'task-status', ...own, status: 'failed', code: 'rate_limited', message: 'too many' }]);
  }
  const counted = await until('two calls', async () => {
    const found = await api('/api/usage');
    return found.total.calls === 2 && found.errors.length === 4 && found;
  });
  if (counted.latency.calls !== 2 || !(counted.latency.millis > 0)) throw new Error(JSON.stringify(counted));
  const real = await open('/usage');
  const row = (name) => real.getByRole('region', { name: 'Agents and models' }).getByRole('row').filter({ hasText: name });
  await row('guide').filter({ hasText: 'claude-test' }).filter({ hasText: '1,300' }).filter({ hasText: '$0.02' }).filter({ hasText: /\d ms|\d s/ }).waitFor();
  await row('scout').filter({ hasText: 'gpt-test' }).waitFor();
  const errors = real.getByRole('region', { name: 'Errors by code' });
  await errors.getByRole('row').filter({ hasText: 'rate_limited' }).filter({ hasText: 'task' }).first().waitFor();
  await errors.getByRole('row').filter({ hasText: 'denied' }).filter({ hasText: 'tool call' }).first().waitFor();
  await real.getByRole('link', { name: 'rivers' }).waitFor();
  await real.locator('.plot canvas').waitFor();
  await real.axe();
  saw('tokens, cost, latency and errors of what agents did are shown');

  const page = await open('/', { clock: CLOCK });
  await page.route('**/api/usage*', (route) => route.fulfill({ json: month(new URL(route.request().url()).searchParams) }));
  await page.route('**/api/agents', (route) => route.fulfill({ json: { demo: false, agents: AGENTS } }));
  await page.keyboard.press('g');
  await page.keyboard.press('u');
  await page.locator('.plot canvas').waitFor();
  await page.getByText('The budget of a thread: $5.00').waitFor();
  await page.look('usage');
  await page.locator('.budgeted').scrollIntoViewIfNeeded();
  await page.locator('.usage').evaluate((it) => it.scrollTo(0, it.scrollHeight));
  await page.look('usage-budgets');
  saw('a month is a chart, with budgets as lines');

  await page.locator('.usage').evaluate((it) => it.scrollTo(0, 0));
  await page.getByRole('button', { name: 'Latency' }).click();
  await page.getByRole('button', { name: 'By model' }).click();
  await page.getByRole('heading', { name: 'Latency by day' }).waitFor();
  await page.locator('.key').filter({ hasText: 'claude-sonnet' }).waitFor();
  await page.look('usage-latency');
  if (new URL(page.url()).search !== '?show=latency&by=model') throw new Error(page.url());
  await page.getByText('As a table').click();
  const table = page.getByRole('region', { name: 'The chart as a table' });
  await table.getByRole('row').filter({ hasText: '16 Nov' }).waitFor();
  await page.axe();
  const box = await page.locator('.plot').boundingBox();
  await page.mouse.move(box.x + box.width - 30, box.y + 100);
  await page.locator('.legend .when').filter({ hasText: '16 Nov' }).waitFor();
  saw('measures and groups are in the address; a table has the same numbers');

  const phone = await open('/', { viewport: PHONE, clock: CLOCK });
  await phone.route('**/api/usage*', (route) => route.fulfill({ json: month(new URL(route.request().url()).searchParams) }));
  await phone.route('**/api/agents', (route) => route.fulfill({ json: { demo: false, agents: AGENTS } }));
  await phone.getByRole('link', { name: 'Usage' }).click();
  await phone.locator('.plot canvas').waitFor();
  await phone.look('usage-phone');
  const wide = await phone.evaluate(() => document.querySelector('.page').scrollWidth > document.querySelector('.page').clientWidth);
  if (wide) throw new Error('the page scrolls sideways on a phone');
  saw('it fits a phone');
});

/** A month of four agents, the same each time. */
function month(query) {
  const day = 86_400_000;
  const to = Date.parse('2026-11-16');
  const from = Date.parse(query.get('from'));
  const date = (ms) => new Date(ms).toISOString().slice(0, 10);
  const latency = (calls, mean) => ({ calls, millis: calls * mean, slowest: Math.round(mean * 3.4) });
  const none = { cached: 0, reasoning: 0 };
  const head = { from: date(from), to: date(to), total: {}, next: null };
  if (query.get('by') === 'thread') {
    const threads = [['release-notes', 5.42], ['autumn-newsletter', 4.1], ['weekend-in-lisbon', 2.84], ['churn-analysis', 1.9], ['onboarding-faq', 0.71]];
    return { ...head, latency: latency(1, 1), errors: [], usage: threads.map(([thread, cost]) => ({ thread, ...none, input: cost * 240_000, output: cost * 21_000, calls: Math.round(cost * 40), cost, latency: latency(9, 2000) })) };
  }
  const usage = [];
  let seed = 7;
  const random = () => ((seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647);
  for (let at = to - 89 * day; at <= to; at += day) {
    const quiet = [0, 6].includes(new Date(at).getUTCDay()) ? 0.12 : 1;
    for (const [agent, model, size, price, mean] of [['researcher', 'claude-sonnet', 420_000, 3.6e-6, 4200], ['writer', 'claude-sonnet', 210_000, 4.1e-6, 6100], ['reviewer', 'gpt-mini', 120_000, 6e-7, 1900], ['planner', 'gpt-mini', 60_000, 6e-7, 1300]]) {
      const input = Math.round(size * quiet * (0.55 + random() * 0.7));
      const slow = Math.round(mean * (0.8 + random() * 0.5));
      const calls = Math.max(1, Math.round(input / 9000));
      if (at >= from) usage.push({ day: date(at), agent, model, input, output: Math.round(input * 0.09), cached: Math.round(input * 0.4), reasoning: 0, calls, cost: input * price, latency: latency(calls, slow) });
    }
  }
  const errors = [['task', 'rate_limited', 'researcher', 14, 0], ['tool', 'denied', 'writer', 6, 1], ['task', 'budget_exceeded', 'writer', 3, 2], ['tool', 'validation_error', 'planner', 2, 5], ['error', 'upstream_timeout', 'researcher', 1, 9]];
  return { ...head, latency: latency(1, 1), usage, errors: errors.map(([what, code, agent, times, ago]) => ({ what, code, agent, times, last: date(to - ago * day) })) };
}
