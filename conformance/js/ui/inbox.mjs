// Inbox: everything that waits, answered by keyboard, live, and told when someone else was faster.

import { PHONE, apiOf, run, until } from './page.mjs';
import { asks } from './waiting.mjs';

await run(async ({ url, open, saw }) => {
  const api = apiOf(url);
  const now = Date.now();
  const clock = new Date(now).toISOString();
  const page = await open('/inbox', { clock });
  await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
  await page.look('inbox-empty');
  await asks(api, now);
  const row = (name) => page.getByRole('region', { name: 'What waits' }).getByRole('link').filter({ hasText: name });
  await row('Should it be formal').waitFor();
  await page.getByRole('heading', { name: 'Approval' }).waitFor();
  await page.getByText('214 checks').waitFor();
  await row('Release 2.4').filter({ hasText: '14 min 30 s left' }).waitFor();
  await page.getByLabel('6 waiting').waitFor();
  await page.look('inbox');
  await page.clock.setFixedTime(new Date(now + 14 * 60_000));
  await row('Release 2.4').filter({ hasText: '30 s left' }).locator('.soon').waitFor();
  await page.clock.setFixedTime(new Date(now));
  await row('Release 2.4').filter({ hasText: '14 min 30 s left' }).waitFor();
  saw('what waits in all threads is there as it comes, the most urgent first, with a countdown');

  const answer = (thread) => until(`an answer in ${thread}`, async () => {
    const { cursor } = await api(`/api/threads/${thread}`);
    const { entries } = await api(`/api/threads/${thread}/events?kinds=input-received&after=${cursor.split('.')[0]}.0`);
    return entries[0]?.event;
  });
  const current = (name) => page.locator('.inbox-list [aria-current="true"]').filter({ hasText: name }).waitFor();
  await page.keyboard.press('j');
  await current('Which place do you like?');
  await page.keyboard.press('k');
  await current('Deploy 2.4.0');
  // What is not shown yet is not answered.
  await page.getByRole('button', { name: 'Approve' }).waitFor();
  await page.keyboard.press('a');
  if ((await answer('deploy')).value !== true) throw new Error('not approved');
  await row('Deploy').waitFor({ state: 'detached' });
  await current('Which place do you like?');
  saw('j and k move, a approves, and the next one is shown');

  await page.getByLabel('A Tasca').waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('ArrowDown');
  await page.getByRole('button', { name: 'Choose' }).click();
  const place = await answer('lunch');
  if (!JSON.stringify(place.value).includes('tasca')) throw new Error(JSON.stringify(place));
  await current('Who travels?');
  await page.getByLabel('Name on the ticket').waitFor();
  await page.axe();
  await page.keyboard.press('Enter');
  await page.keyboard.type('Ada Lovelace');
  await page.getByLabel('Seat').selectOption('window');
  await page.look('inbox-form');
  await page.getByRole('button', { name: 'Submit' }).click();
  const form = await answer('travel');
  if (form.value.name !== 'Ada Lovelace' || form.value.seat !== 'window') throw new Error(JSON.stringify(form));
  saw('a choice and a form are answered from the keyboard');

  await current('Pay 1,240');
  await page.getByRole('button', { name: 'Reject' }).waitFor();
  await page.keyboard.press('r');
  await page.getByLabel('Why not?').waitFor();
  await page.axe();
  await page.keyboard.type('Already paid on Monday');
  await page.keyboard.press('Enter');
  const pay = await answer('invoice');
  if (pay.value !== false || !JSON.stringify(pay).includes('Already paid on Monday')) throw new Error(JSON.stringify(pay));
  saw('r rejects, with a reason');

  // The list is held back, so that this page cannot know yet.
  await page.getByRole('heading', { name: 'Credentials' }).waitFor();
  await page.keyboard.press('j');
  await current('Should it be formal');
  let hold = true;
  await page.route('**/api/inbox*', async (route) => {
    await until('to go on', () => !hold, 60_000);
    await route.continue();
  });
  await api('/api/threads/brief/inputs/tone', { value: 'As we talk', userId: 'grace' });
  await page.getByPlaceholder('Your answer').fill('Formal, please');
  await page.getByRole('button', { name: 'Answer' }).click();
  await page.getByText('Someone else answered first. Your answer was not taken.').first().waitFor();
  hold = false;
  await page.getByRole('heading', { name: 'Someone else answered first' }).waitFor();
  await page.locator('.settled').filter({ hasText: 'As we talk' }).waitFor();
  await page.look('inbox-late');
  if ((await answer('brief')).value !== 'As we talk') throw new Error('the second answer was taken');
  await page.getByRole('button', { name: 'Go on to the next' }).click();
  await page.getByRole('heading', { name: 'Credentials' }).waitFor();
  saw('of two answers one wins, and the other is told who was first');

  const other = await open('/inbox?item=crm%2Fauth%2Fcrm', { clock });
  await other.getByRole('heading', { name: 'Credentials' }).waitFor();
  await other.axe();
  const old = await open('/inbox?item=deploy%2Finput%2Fgo', { clock });
  await old.getByRole('heading', { name: 'This no longer waits' }).waitFor();
  await old.axe();
  await old.getByRole('button', { name: 'Show what waits' }).click();
  await old.getByRole('heading', { name: 'Credentials' }).waitFor();
  await page.getByRole('button', { name: 'Questions' }).click();
  await page.getByRole('heading', { name: 'Nothing of this kind waits' }).waitFor();
  if (new URL(page.url()).searchParams.get('kind') !== 'input') throw new Error(page.url());
  saw('a link shows the same item, and kinds are told apart');

  await api('/api/threads/deploy/events', { kind: 'input-required', taskId: 'deploy-2', agentId: 'releaser', inputId: 'again', inputType: 'confirmation', requireUser: true, prompt: 'Announce 2.4 as well?' });
  await row('Announce 2.4').waitFor();
  const phone = await open('/inbox', { viewport: PHONE, clock });
  await phone.getByRole('link', { name: /Announce 2.4/ }).click();
  await phone.getByRole('button', { name: 'Approve' }).waitFor();
  await phone.look('inbox-phone');
  await phone.getByRole('button', { name: 'All that waits' }).click();
  await phone.getByRole('link', { name: /An API key/ }).waitFor();
  await phone.axe();
  saw('it works on a phone');
});
