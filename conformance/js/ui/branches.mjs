// Branches: fork here, the tree, two lines compared, and one that takes the place of another.

import { PHONE, apiOf, run, until } from './page.mjs';
import { add, goOn, trip } from './trip.mjs';

const CHEAP = { ask: 'Find me a cheap hotel for it.', hotel: 'Casa do Rio', price: 70, say: 'Casa do Rio has a room for 70 a night. Shall I book it?', output: 58, cost: 0.0006 };
const FINE = { ask: 'Find me a fine hotel for it.', hotel: 'Palácio', price: 240, say: 'Palácio has a suite for 240 a night, with breakfast. Shall I book it?', output: 131, cost: 0.0013 };

await run(async ({ url, open, saw }) => {
  const api = apiOf(url);
  const clock = '2026-11-16T12:00:00Z';
  await trip(api);
  const page = await open('/threads/trip/branches', { clock });
  await page.getByRole('heading', { name: 'One line so far' }).waitFor();
  await page.axe();
  saw('a thread without branches says what they are for');

  // From an event that is selected, in another view.
  await goOn(api, 'trip', CHEAP);
  await page.goto(`${url}/threads/trip/protocols?cols=native&e=13`);
  await page.getByRole('button', { name: 'Fork here' }).click();
  const dialog = page.getByRole('dialog', { name: 'Fork this thread' });
  await dialog.getByText('task-complete').waitFor();
  await page.axe();
  await dialog.getByLabel('Last event').fill('99');
  await dialog.getByText('Choose an event from 1 to 22').waitFor();
  await dialog.getByLabel('Last event').fill('13');
  await dialog.getByLabel('Title').fill('With a fine hotel');
  await dialog.getByRole('button', { name: 'Fork at 13' }).click();
  await page.getByRole('heading', { name: 'With a fine hotel', level: 1 }).waitFor();
  const id = decodeURIComponent(new URL(page.url()).pathname.split('/')[2]);
  await page.getByText('Both have events 1–13').waitFor();
  const state = await api(`/api/threads/${id}`);
  if (state.parent !== 'trip' || state.forkedAt !== 13 || state.title !== 'With a fine hotel') throw new Error(JSON.stringify(state).slice(0, 300));
  saw('an event is forked at, and the branch knows where it comes from');

  // Both go on, and are compared as they do.
  await goOn(api, id, FINE, 200);
  const compare = page.locator('.compare');
  await compare.getByText('with breakfast').waitFor();
  const pairs = await page.locator('.pair').evaluateAll((all) => all.map((pair) => [...pair.querySelectorAll('.cell')].map((cell) => cell.classList.contains('none'))));
  if (pairs.length < 3 || pairs.flat().some(Boolean)) throw new Error(`what belongs together is not paired: ${JSON.stringify(pairs)}`);
  const marks = await page.locator('.pair mark').allInnerTexts();
  for (const word of ['fine', 'cheap', '260', '90']) if (!marks.includes(word)) throw new Error(`${word} is not marked: ${marks.join('|')}`);
  const row = (name) => page.locator('.measures tr').filter({ has: page.getByRole('rowheader', typeof name === 'string' ? { name, exact: true } : { name }) });
  await until('the tokens of both', async () => /131.*58.*\+73/s.test(await row('Tokens out').innerText()));
  await until('the cost of both', async () => /0013.*0006.*\+\$0.0007/s.test((await row('Cost').innerText()).replaceAll('\n', ' ')));
  // Another agent is at work on one side only.
  await add(api, id, [{ kind: 'llm-usage', agentId: 'planner', model: 'deep-2', prompt_tokens: 400, completion_tokens: 80 }], 300);
  await until('who used what', async () => /deep-2.*480.*0.*\+480/s.test((await row(/planner/).innerText()).replaceAll('\n', ' ')));
  saw('two branches stand side by side with what differs in text, tools, tokens and cost');

  // A branch of the branch, and one that leaves early.
  await api(`/api/threads/${id}/fork`, { id: 'suite', at: 18, title: 'A suite instead' });
  await api('/api/threads/trip/fork', { id: 'bus', at: 4, title: 'By bus' });
  await api('/api/threads/bus/events', [{ kind: 'message', role: 'user', author: 'ada', content: 'By bus, then.' }]);
  await page.reload();
  await page.getByRole('heading', { name: '4 branches' }).waitFor();
  const names = await page.locator('.tree-name').allInnerTexts();
  if (names.join('|') !== 'A weekend in Porto|With a fine hotel|A suite instead|By bus') throw new Error(names.join('|'));
  await compare.getByText('with breakfast').waitFor();
  await page.look('branches');
  const phone = await open(`/threads/${id}/branches`, { clock, viewport: PHONE });
  await phone.locator('.compare').getByText('with breakfast').waitFor();
  if (await phone.evaluate(() => document.documentElement.scrollWidth > innerWidth)) throw new Error('the page scrolls sideways');
  await phone.look('branches-phone');
  await phone.close();
  await page.locator('.tree-row').filter({ hasText: 'By bus' }).getByRole('button', { name: 'Compare' }).click();
  await page.getByText('Both have events 1–4').waitFor();
  await page.goBack();
  await page.getByText('Both have events 1–13').waitFor();
  saw('the tree shows every line, and any two are compared');

  // Promoted, after it was said what that does.
  await page.getByRole('button', { name: 'Promote' }).click();
  const asks = page.getByRole('dialog', { name: 'Promote this branch' });
  await asks.getByText('This cannot be undone').waitFor();
  await page.look('branches-promote');
  await asks.getByLabel('Id of the old line').fill('suite');
  await asks.getByRole('button', { name: 'Promote' }).click();
  await asks.getByText('exists already').waitFor();
  await asks.getByLabel('Id of the old line').fill('trip-cheap');
  await asks.getByRole('button', { name: 'Promote' }).click();
  await until('the page is that of the thread', () => new URL(page.url()).pathname === '/threads/trip/branches');
  await page.getByRole('heading', { name: 'With a fine hotel', level: 1 }).waitFor();
  await compare.getByText('with breakfast').waitFor();
  await page.locator('.tree-row').filter({ hasText: 'trip-cheap' }).waitFor();
  const now = await api('/api/threads/trip');
  if (now.parent !== 'trip-cheap') throw new Error(`parent ${now.parent}`);
  saw('a branch takes the place of its thread, whose old line stays');
});
