// Protocols: the same thread in every dialect, the selected event in all of them, and what is lost.

import { PHONE, apiOf, run, until } from './page.mjs';
import { add, trip } from './trip.mjs';

await run(async ({ url, open, saw }) => {
  const api = apiOf(url);
  await trip(api);
  const clock = '2026-11-16T12:00:00Z';
  const page = await open('/threads/trip/protocols?e=9', { clock });
  const column = (id, on = page) => on.locator(`[data-dialect="${id}"]`);
  const marked = (id, on = page) => column(id, on).locator('.rec.on');
  for (const id of ['native', 'ai-sdk-stream', 'a2a']) await marked(id).first().waitFor();
  for (const id of ['native', 'ai-sdk-stream', 'a2a']) {
    const text = (await marked(id).allInnerTexts()).join('\n');
    if (!text.includes('morning train, ')) throw new Error(`${id} does not show the event: ${text}`);
  }
  const base = await page.evaluate(() => document.querySelector('script[src]').src.replace('app.js', ''));
  const shown = await page.evaluate(async (base) => (await import(`${base}views/thread/protocols/dialects.js`)).DIALECTS.map((one) => one.id), base);
  const known = (await (await fetch(`${url}/api/threads/trip/export?dialect=none`)).json()).error.message.split('there are ')[1].split(', ');
  if (['native', ...known].sort().join() !== shown.sort().join()) throw new Error(`there are ${known}, and columns for ${shown}`);
  saw('every dialect has a column, and the selected event is highlighted in every stream');

  await column('a2a').getByRole('button', { name: /fields lost/ }).waitFor();
  await column('ai-sdk-stream').getByRole('button', { name: /fields lost/ }).waitFor();
  await column('a2a').locator('.column-note').getByText('not told').waitFor();
  await page.look('protocols');
  await column('a2a').getByRole('button', { name: /fields lost/ }).click();
  await column('a2a').getByText('values have no place in A2A').waitFor();
  await page.look('protocols-loss');
  const lost = column('a2a').getByRole('button', { name: /thoughtType/ });
  await lost.click();
  await until('the event is selected', () => new URL(page.url()).searchParams.get('e') === '7');
  await column('a2a').getByText('Nothing is written at event 7;').waitFor();
  saw('the loss report names what A2A has no place for, and leads there');

  // Documents: what is otherwise with the event than without.
  const docs = await open('/threads/trip/protocols?e=9&cols=pydantic-ai~booker,ai-sdk-messages,aitp', { clock });
  for (const id of ['pydantic-ai', 'ai-sdk-messages', 'aitp']) {
    await marked(id, docs).first().waitFor();
    await until(`${id} marks a line`, async () => (await marked(id, docs).locator('.jl.on').allInnerTexts()).some((text) => text.includes('morning train,')));
  }
  if (!(await column('pydantic-ai', docs).innerText()).includes('{agent:planner}: Take the')) throw new Error('the booker hears the planner by name');
  for (const id of ['pydantic-ai', 'ai-sdk-messages', 'aitp']) await column(id, docs).getByRole('button', { name: /fields? lost/ }).waitFor();
  await docs.look('protocols-documents');
  await docs.getByLabel('Whose view').selectOption('planner');
  await until('the planner hears itself', async () => (await column('pydantic-ai', docs).innerText()).includes('"Take the'));
  if (!docs.url().includes('pydantic-ai%7Eplanner')) throw new Error(docs.url());
  await docs.getByRole('button', { name: 'ThreadProtocol' }).click();
  await column('thread-protocol', docs).getByRole('button', { name: 'nothing lost' }).waitFor();
  await marked('thread-protocol', docs).first().waitFor();
  saw('documents mark what the event brought, and show what an agent sees');

  // Live, by the keyboard, and copied.
  await page.goto(`${url}/threads/trip/protocols?cols=native,ag-ui`);
  await column('ag-ui').getByText('RUN_FINISHED').first().waitFor();
  await add(api, 'trip', [
    { kind: 'task-created', taskId: 'later', agentId: 'booker', initiator: 'user' },
    { kind: 'content-delta', taskId: 'later', agentId: 'booker', delta: 'Booked, ', index: 0 }], 50);
  await column('ag-ui').getByText('"Booked, "').waitFor();
  await page.keyboard.press('k');
  await page.keyboard.press('k');
  await until('two back', () => new URL(page.url()).searchParams.get('e') === '14');
  await page.keyboard.press('j');
  await column('ag-ui').locator('.rec.on').getByText('"Booked, "').waitFor();
  saw('columns are live, and j and k walk through the events');
  await column('ag-ui').locator('.rec.on').getByText('"Booked, "').hover();
  await column('ag-ui').locator('.rec.on').filter({ hasText: 'Booked' }).getByRole('button', { name: 'Copy this record' }).click();
  const one = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
  if (one.delta !== 'Booked, ') throw new Error(JSON.stringify(one));
  await page.getByRole('button', { name: 'As sent' }).click();
  await column('ag-ui').locator('.record-text.raw').filter({ hasText: 'data: {"type":"RUN_STARTED"' }).first().waitFor({ state: 'attached' });
  await column('ag-ui').getByRole('button', { name: 'Copy all of AG-UI' }).click();
  const all = await page.evaluate(() => navigator.clipboard.readText());
  const records = all.trim().split('\n\n').map((record) => JSON.parse(record.slice(6)));
  const types = records.map((record) => record.type);
  if (types[0] !== 'RUN_STARTED' || !types.includes('TEXT_MESSAGE_CONTENT')) throw new Error(types.join());
  saw('one record and all of them are copied as they are sent');

  // Dialects come and go, in the address.
  await page.getByRole('button', { name: 'Envelopes' }).click();
  await column('envelope').getByText('multiagent-1.0').first().waitFor();
  await page.getByRole('button', { name: 'Close AG-UI' }).click();
  await page.goBack();
  await column('ag-ui').waitFor();
  await page.goBack();
  await column('envelope').waitFor({ state: 'detached' });
  saw('columns are in the address, and back brings them back');

  const phone = await open('/threads/trip/protocols?e=9', { clock, viewport: PHONE });
  await marked('native', phone).first().waitFor();
  await column('a2a', phone).getByRole('button', { name: /fields lost/ }).waitFor();
  if (await phone.evaluate(() => document.documentElement.scrollWidth > innerWidth)) throw new Error('the page scrolls sideways');
  await phone.look('protocols-phone');
  saw('it fits a phone');

  // A position of the journal, in every column.
  const past = await open('/threads/trip/protocols?at=9&cols=native,a2a,ai-sdk-messages', { clock });
  await column('ai-sdk-messages', past).getByText('Take the morning train, "').waitFor();
  await column('native', past).getByText('9 events').waitFor();
  await column('a2a', past).getByText('"morning train, "').waitFor();
  if (await column('a2a', past).getByText('"and stay "').count()) throw new Error('a record of later is shown');
  saw('a position shows every dialect as it was then');

  // Whatever events hold is text.
  const evil = '<img src=x onerror="document.title=1"></span><script>document.title=1</script>';
  await api('/api/threads', { id: 'evil', title: evil, agents: [{ id: evil, name: evil }] });
  await add(api, 'evil', [
    { kind: 'message', role: 'user', author: evil, content: evil, [evil]: { [evil]: [evil, 1e100, null] } },
    { kind: 'task-created', taskId: evil, agentId: evil, initiator: 'user' },
    { kind: 'tool-call', taskId: evil, agentId: evil, toolCallId: evil, toolName: evil, arguments: { [evil]: evil } },
    { kind: evil, taskId: evil, agentId: evil, '': { '': { '/~': 'deep' } } }]);
  const hostile = await open('/threads/evil/protocols?e=5&cols=native,ai-sdk-stream,a2a,ag-ui,pydantic-ai,ai-sdk-messages&loss=a2a', { clock });
  for (const id of ['native', 'ai-sdk-stream', 'ag-ui', 'pydantic-ai']) await column(id, hostile).locator('.rec').first().waitFor();
  await column('a2a', hostile).locator('.loss').waitFor();
  if (await hostile.locator('main img, main script').count() || await hostile.title() === '1') throw new Error('text became markup');
  saw('no text of an event becomes markup');

  // Ten thousand events: few of them are in the page.
  await api('/api/threads', { id: 'long', title: 'Long', agents: ['a'] });
  await api('/api/threads/long/events', [{ kind: 'task-created', taskId: 'k', agentId: 'a', initiator: 'user' }]);
  for (let n = 0; n < 10; n++) {
    await api('/api/threads/long/events', Array.from({ length: 1000 }, (_, i) => ({ kind: 'content-delta', taskId: 'k', agentId: 'a', delta: `word${n * 1000 + i} `, index: n * 1000 + i })));
  }
  const long = await open('/threads/long/protocols?e=5003&cols=native,ai-sdk-stream', { clock });
  for (const id of ['native', 'ai-sdk-stream']) await marked(id, long).getByText('word4999 ').waitFor();
  const made = await long.locator('.rec').count();
  if (made > 150) throw new Error(`${made} records are in the page`);
  // What is far before is read when someone goes there, or wants all of it.
  const sdk = column('ai-sdk-stream', long);
  await sdk.getByText('since event 4,504').waitFor();
  await sdk.locator('.virtual').evaluate((list) => (list.scrollTop = 0));
  await sdk.getByText('since event 4,004').waitFor();
  await marked('ai-sdk-stream', long).waitFor({ state: 'detached' });
  await sdk.getByRole('button', { name: 'Copy all of AI SDK stream' }).click();
  await sdk.getByRole('button', { name: 'Copied' }).waitFor();
  const copied = await long.evaluate(() => navigator.clipboard.readText());
  for (const word of ['word0 ', 'word9999 ']) if (!copied.includes(word)) throw new Error(`${word} is not copied`);
  await until('all of it is there', async () => !(await sdk.innerText()).includes('since event'));
  saw('ten thousand records are shown a few at a time');
});
