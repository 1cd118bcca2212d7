// Replay: a link shows a moment, and buttons, keys and the strip move through the journal on every tab.

import { ID, launch, makeLaunch, NOW } from './launch.mjs';
import { apiOf, PHONE, run, until } from './page.mjs';

await run(async ({ url, open, saw }) => {
  const api = apiOf(url);
  const head = await makeLaunch(url);
  // The thread itself is the first entry.
  const seqOf = (check) => launch().findIndex(check) + 2;
  const asked = seqOf((event) => event.inputId === 'q1');
  const failed = seqOf((event) => event.error?.includes('404'));

  const page = await open(`/threads/${ID}/timeline?at=${failed}`, { clock: NOW });
  const at = () => new URL(page.url()).searchParams.get('at');
  const bar = page.getByRole('region', { name: 'Replay' });
  const strip = bar.getByRole('slider', { name: 'Position in the journal' });
  const now = async () => Number(await strip.getAttribute('aria-valuenow'));
  const tasks = page.getByRole('list', { name: 'Tasks' });
  await bar.getByText('read_page: the page answered 404').waitFor();
  is(await tasks.getByRole('listitem').count(), 2, 'the writer is not there yet');
  await page.look('replay');
  await page.getByRole('tab', { name: 'Conversation' }).click();
  await page.getByText('Three places have them').waitFor();
  is(await page.getByText('Today we open the doors').count(), 0, 'what comes later is not said yet');
  is(at(), String(failed), 'the tab keeps the moment');
  await page.axe();
  saw('a link shows the same moment, on every tab');

  await page.keyboard.press('.');
  is(await now(), failed + 1, 'one on');
  await page.keyboard.press(',');
  await page.keyboard.press(',');
  is(await now(), failed - 1, 'two back');
  await until('the address follows', () => at() === String(failed - 1));
  for (let n = 0; n < 40 && (await now()) < asked; n++) await page.keyboard.press(']');
  is(await now(), asked, 'marks lead to the question');
  await bar.getByText('Publish post.md on the blog?').waitFor();
  await page.keyboard.press('[');
  if ((await now()) >= asked) throw new Error('the mark before is not before');
  await strip.focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Home');
  is(await now(), 0, 'the beginning');
  await until('nothing is there before the first event', async () => !(await page.getByText('Write the announcement').count()));
  await page.keyboard.press('End');
  is(await now(), head, 'the end');
  saw('steps and marks, by key');

  const box = await strip.boundingBox();
  await page.mouse.move(box.x + box.width * 0.9, box.y + 16);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.3, box.y + 16, { steps: 8 });
  await page.mouse.up();
  const there = await now();
  if (!(there > 2 && there < asked)) throw new Error(`dragged to ${there} of ${head}`);
  await until('the address follows the pointer', () => at() === String(there));
  const again = await open(new URL(page.url()).pathname + new URL(page.url()).search, { clock: NOW });
  await again.getByRole('slider', { name: 'Position in the journal' }).waitFor();
  is(Number(await again.getByRole('slider').getAttribute('aria-valuenow')), there, 'the link shows the same');
  saw('the strip is dragged, and its link goes there');

  await api(`/api/threads/${ID}/events`, { kind: 'message', role: 'user', author: 'ada', content: 'One thing more.' });
  await until('the end moves', async () => Number(await strip.getAttribute('aria-valuemax')) === head + 1);
  is(await now(), there, 'the moment does not');
  is((await bar.getByRole('combobox', { name: 'Speed' }).locator('option').allInnerTexts()).join(), '0.5×,1×,2×,5×,10×', 'speeds');
  await bar.getByRole('combobox', { name: 'Speed' }).selectOption('10×');
  await bar.getByRole('button', { name: 'Play', exact: true }).click();
  await bar.getByRole('button', { name: 'Pause' }).waitFor();
  await until('it plays', async () => (await now()) > there);
  await bar.getByRole('button', { name: 'Pause' }).click();
  const paused = await now();
  await until('the address says where it stopped', () => at() === String(paused));
  await page.locator('main').focus();
  await page.keyboard.press(' ');
  await bar.getByRole('button', { name: 'Live', pressed: true }).waitFor();
  is(at(), null, 'it ends live');
  await page.getByText('One thing more.').first().waitFor();
  saw('it plays, pauses, and ends live');

  await page.keyboard.press('[');
  await bar.getByRole('button', { name: 'Live', pressed: false }).click();
  await bar.getByRole('button', { name: 'Live', pressed: true }).waitFor();
  is(at(), null, 'one click');
  await bar.getByRole('button', { name: 'Close replay' }).click();
  await bar.waitFor({ state: 'detached' });
  await page.keyboard.press('r');
  await bar.waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).getByText('Play or pause').waitFor();
  await page.keyboard.press('Escape');
  saw('back to live is one click');

  const small = await open(`/threads/${ID}/timeline?at=${asked}`, { clock: NOW, viewport: PHONE });
  await small.getByText('Publish post.md on the blog?').first().waitFor();
  const wide = await small.evaluate(() => document.documentElement.scrollWidth);
  if (wide > PHONE.width) throw new Error(`${wide} px wide`);
  await small.look('replay-phone');
  saw('a phone replays it');
});

function is(found, wanted, what) {
  if (found !== wanted) throw new Error(`${what}: ${found}, not ${wanted}`);
}
