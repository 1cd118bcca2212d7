// Every view for people who see it large, on a small screen, or not at all: at 200 % and at 360 px nothing
// is cut off or scrolls sideways, and the tree that a screen reader is given has names and landmarks.

import { ID, makeLaunch, NOW } from './launch.mjs';
import { apiOf, PHONE, run } from './page.mjs';

/** 1280 × 800 at 200 %. */
const LARGE = { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 };
const SMALL = { viewport: PHONE, deviceScaleFactor: 1 };

const VIEWS = [
  ['/threads', (page) => page.getByText('The launch post')],
  ['/threads?q=doors', (page) => page.locator('mark').first()],
  [`/threads/${ID}`, (page) => page.getByText('Who is the team?').first()],
  [`/threads/${ID}?e=30`, (page) => page.locator('.item[aria-current]')],
  [`/threads/${ID}?at=20`, (page) => page.getByRole('button', { name: 'Go live' })],
  [`/threads/${ID}/timeline`, (page) => page.getByRole('group', { name: 'Lanes of the thread' })],
  [`/threads/${ID}/timeline?show=list`, (page) => page.getByRole('list', { name: 'What happened' })],
  [`/threads/${ID}/protocols?e=9`, (page) => page.locator('.rec.on').first()],
  [`/threads/${ID}/branches`, (page) => page.getByText('Another way').first()],
  ['/inbox', (page) => page.getByText('Who is the team?').first()],
  ['/threads/words', (page) => page.getByRole('button', { name: 'Choose' })],
  ['/threads/words?e=4', (page) => page.locator('.item[aria-current] pre').first()],
  ['/threads/words/timeline', (page) => page.locator('.tl-name').first()],
  ['/inbox?item=words%2Finput%2Fq', (page) => page.getByRole('button', { name: 'Choose' })],
  ['/usage', (page) => page.getByRole('heading', { name: 'Agents and models' })],
  ['/connections', (page) => page.getByRole('heading', { name: /Readers/ })],
];

/** A thread of words that are longer than any line. */
async function makeWords(api) {
  const word = 'averyveryverylongwordwithoutanybreak'.repeat(6);
  const own = { taskId: 'k', agentId: `agent-${word.slice(0, 60)}` };
  await api('/api/threads', { id: 'words', title: `Words ${word}` });
  await api('/api/threads/words/events', [
    { kind: 'message', role: 'user', author: `${word.slice(0, 60)}@example.com`, content: word },
    { kind: 'task-created', ...own, initiator: 'user' },
    { kind: 'content-complete', ...own, content: `# ${word}\n\n\`${word}\`\n\n\`\`\`\n${word}\n\`\`\`\n\n| ${word} | b |\n|---|---|\n| ${word} | d |\n\n- https://example.com/${word}` },
    { kind: 'tool-start', ...own, toolCallId: 'c', toolName: word, arguments: { [word]: word } },
    { kind: 'tool-complete', ...own, toolCallId: 'c', toolName: word, success: false, error: word },
    { kind: 'file-write', ...own, artifactId: 'f', name: `${word}.txt`, mimeType: 'text/plain', data: word, index: 0, complete: true },
    { kind: 'data-write', ...own, artifactId: 'd', name: word, description: word, data: { [word]: word } },
    { kind: 'error', ...own, code: word, message: word },
    { kind: 'input-required', ...own, inputId: 'q', inputType: 'selection', prompt: word, options: [{ id: 'x', name: word, short_description: word, amount: 12, currency: 'EUR' }, 'y'] },
  ]);
}

/** What has to have a name, by its role in the tree. */
const NAMED = new Set(['button', 'link', 'textbox', 'searchbox', 'combobox', 'tab', 'tabpanel', 'checkbox', 'radio', 'slider', 'spinbutton', 'image', 'progressbar', 'dialog', 'region', 'navigation']);

/** What is wider than it may be, or cut off: of the page, its heads and bars. Runs in the page. */
function cutOff() {
  const found = [];
  const say = (element, what) => found.push(`${what}: <${element.tagName.toLowerCase()} class="${element.className}"> ${element.textContent.trim().slice(0, 40)}`);
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) say(root, `${root.scrollWidth} px wide`);
  for (const element of document.querySelectorAll('button, a, input, select, textarea, h1, [role=tab]')) {
    const box = element.getBoundingClientRect();
    // What scrolls sideways by itself shows the rest when it is scrolled.
    if (!box.width || element.closest('.scroll-x, .tl-scroll, .columns, .dialects, .unseen, .skip, .legend, pre, table')) continue;
    if (box.right > innerWidth + 1 || box.left < -1) say(element, `from ${Math.round(box.left)} to ${Math.round(box.right)}`);
  }
  const tabs = document.querySelector('.tabs');
  if (tabs && tabs.scrollWidth > tabs.clientWidth) say(tabs, 'tabs are cut off');
  for (const list of document.querySelectorAll('.virtual, .tl-scroll, .inbox-list')) {
    const small = list.clientHeight < 80 && getComputedStyle(list).position !== 'absolute' && list.offsetParent;
    if (small || (list.closest('.conversation') && list.scrollWidth > list.clientWidth)) say(list, `${list.clientWidth} × ${list.clientHeight}, ${list.scrollWidth} wide inside`);
  }
  return found;
}

/** What a screen reader is given. */
async function heard(page) {
  const cdp = await page.context().newCDPSession(page);
  const { nodes } = await cdp.send('Accessibility.getFullAXTree');
  await cdp.detach();
  return nodes.filter((node) => !node.ignored).map((node) => ({
    role: node.role?.value, name: node.name?.value?.trim() ?? '', properties: Object.fromEntries((node.properties ?? []).map(({ name, value }) => [name, value.value])),
  }));
}

await run(async ({ url, open, saw, chromium }) => {
  const api = apiOf(url);
  await makeLaunch(url);
  await api(`/api/threads/${ID}/fork`, { at: 40, title: 'Another way' });
  await makeWords(api);
  for (const [what, size] of [['200 %', LARGE], ['360 px', SMALL]]) {
    const context = await chromium.newContext({ ...size, reducedMotion: 'reduce', timezoneId: 'UTC', locale: 'en-GB' });
    for (const [path, there] of VIEWS) {
      const page = await open(path, { context, clock: NOW });
      await there(page).waitFor({ state: 'attached' });
      const found = await page.evaluate(cutOff);
      if (found.length) throw new Error(`${path} at ${what}:\n${found.join('\n')}`);
      await page.axe();
      await page.close();
    }
    saw(`at ${what} nothing is cut off, and nothing scrolls sideways`);
  }
  for (const [path, there] of VIEWS) {
    const page = await open(path, { clock: NOW });
    await there(page).waitFor({ state: 'attached' });
    const nodes = await heard(page);
    const count = (role) => nodes.filter((node) => node.role === role).length;
    const nameless = nodes.filter(({ role, name }) => NAMED.has(role) && !name);
    if (nameless.length) throw new Error(`${path}: without a name: ${nameless.map(({ role }) => role)}`);
    const headings = nodes.filter(({ role, properties }) => role === 'heading' && properties.level === 1);
    if (count('main') !== 1 || count('navigation') !== 1 || headings.length !== 1 || !headings[0].name) {
      throw new Error(`${path}: ${count('main')} main, ${count('navigation')} navigation, headings ${headings.map(({ name }) => name)}`);
    }
    // Two of the same name and role cannot be told apart, but where they stand in a list.
    const live = nodes.filter(({ properties }) => ['polite', 'assertive'].includes(properties.live));
    if (path === `/threads/${ID}` && !live.length) throw new Error('nothing is told to who listens');
    await page.close();
  }
  saw('every view has landmarks, one heading, and a name for all that is used');
});
