// Very many threads: a list that is longer than a browser can draw, and one that grows page by page.

import { run, until } from './page.mjs';

const ROWS = 1_000_000;

/** Mounts a list of a million rows in the page, some of them taller. Runs in the page. */
async function mount([base, count]) {
  const [{ h, render }, { VirtualList }] = [await import(`${base}/vendor/preact.js`), await import(`${base}/lib/virtual.js`)];
  const place = document.createElement('div');
  Object.assign(place.style, { position: 'fixed', inset: '0', display: 'flex', flexDirection: 'column', background: 'white', zIndex: 9 });
  document.body.append(place);
  const items = Array.from({ length: count }, (_, n) => n);
  const row = (n) => h('div', { style: { height: `${n % 7 === 3 ? 91 : 70}px` } }, `row ${n}`);
  window.control = {};
  render(h(VirtualList, { items, keyOf: (n) => n, estimate: 73, control: window.control, render: row, label: 'Million' }), place);
  const frame = () => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
  /** The rows that are seen, when nothing moves any more. */
  window.rowsSeen = async () => {
    await frame();
    const list = window.control.element;
    const box = list.getBoundingClientRect();
    const rows = [...list.querySelectorAll('[data-index]')];
    const seen = rows.filter((one) => one.getBoundingClientRect().bottom > box.top + 1 && one.getBoundingClientRect().top < box.bottom - 1);
    return { first: Number(seen[0]?.dataset.index ?? NaN), last: Number(seen.at(-1)?.dataset.index ?? NaN), seen: seen.length, made: rows.length };
  };
}

await run(async ({ url, open, saw }) => {
  const page = await open('/threads');
  const base = await page.evaluate(() => document.querySelector('script[src]').src.replace('/app.js', ''));
  await page.evaluate(mount, [base, ROWS]);
  const seen = () => page.evaluate(() => window.rowsSeen());
  const expect = async (what, holds) => {
    let found;
    await until(what, async () => holds(found = await seen()), 20_000).catch(() => {
      throw new Error(`${what}: ${JSON.stringify(found)}`);
    });
    if (found.made > 60 || found.seen < 8) throw new Error(`${what}: ${JSON.stringify(found)}`);
  };
  const to = (share) => page.evaluate((share) => {
    const { element } = window.control;
    element.scrollTop = share * (element.scrollHeight - element.clientHeight);
  }, share);
  await expect('it begins with the first', ({ first }) => first === 0);
  await to(1);
  await expect('its end is the last', ({ last }) => last === ROWS - 1);
  await to(0.5);
  await expect('the middle of the bar is the middle of the list', ({ first }) => Math.abs(first - ROWS / 2) < ROWS / 50);
  await page.evaluate(() => window.control.show(777_777, 'center'));
  await expect('a row is shown', ({ first, last }) => first < 777_777 && last > 777_777);
  // Scrolled with a wheel, no row is left out: over where the body is shifted, too.
  const walk = await page.evaluate(async () => {
    const { element } = window.control;
    const holes = [];
    let before = await window.rowsSeen();
    for (let n = 0; n < 250; n++) {
      element.scrollTop += 500;
      const now = await window.rowsSeen();
      if (!(now.first >= before.first && now.first <= before.last)) holes.push([before, now]);
      before = now;
    }
    return { holes, last: before.last };
  });
  if (walk.holes.length || walk.last < 777_777 + 1500) throw new Error(`rows are left out: ${JSON.stringify(walk)}`);
  await to(0);
  await expect('home is the first', ({ first }) => first === 0);
  saw('a million rows are scrolled through, from the first to the last');

  // Pages of made-up threads: as someone scrolls, more come, and none twice.
  const many = await open('/inbox');
  let asked = 0;
  await many.route(/\/api\/threads\?/, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const [after, limit] = [Number(query.get('after') ?? 0), Number(query.get('limit'))];
    if (after) asked += 1;
    const threads = Array.from({ length: limit }, (_, n) => {
      const updatedAt = new Date(Date.UTC(2026, 10, 16) - (after + n) * 1000).toISOString();
      return { id: `t${after + n}`, title: `Thread ${after + n}`, status: 'idle', lastWords: 'words', agents: [], tokens: 0, cost: 0, pending: 0, updatedAt };
    });
    return route.fulfill({ json: { threads, next: String(after + limit) } });
  });
  await many.getByRole('link', { name: 'Threads', exact: true }).click();
  await many.getByText('Thread 0', { exact: true }).waitFor();
  const list = many.locator('.thread-list');
  for (let pages = 0; pages < 40; pages++) {
    const before = asked;
    // Again, as what was asked for before may only now be there.
    await until('more is asked for', async () => {
      await list.evaluate((element) => (element.scrollTop = element.scrollHeight));
      return asked > before;
    }, 30_000);
  }
  const titles = () => list.locator('.thread-row').evaluateAll((all) => all.map((one) => one.innerText.split('\n')[0]));
  await until('what is far down is shown', async () => Number((await titles()).at(-1).split(' ')[1]) >= 3999);
  const rows = await titles();
  if (rows.length > 60 || new Set(rows).size !== rows.length) throw new Error(`${rows.length} rows are in the page`);
  saw('a list grows as it is scrolled, with few rows in the page');
});
