// A thread's conversation: everything in it, answering, saying more, stopping, and two who answer at once.

import { compactDecrypt, exportJWK, generateKeyPair } from 'jose';

import { PHONE, apiOf, run, until } from './page.mjs';
import { CLOCK, story } from './story.mjs';

await run(async ({ url, open, saw, args: [part] }) => {
  const api = apiOf(url);
  if (part === 'talk') return talk({ api, open, saw });
  if (part === 'race') return race({ api, open, saw });
  await api('/api/threads', { id: 'cloth', title: 'A selvedge in indigo' });
  await api('/api/threads/cloth/events', story());
  const page = await open('/threads/cloth', { clock: CLOCK });
  await page.getByRole('heading', { name: 'A selvedge in indigo' }).waitFor();
  await page.getByRole('button', { name: 'Approve' }).waitFor();
  await page.getByText('live', { exact: true }).waitFor();
  await page.look('conversation-end');
  await page.evaluate(() => (document.querySelector('.virtual').scrollTop = 0));
  await page.getByRole('img', { name: 'swatch.png' }).waitFor();
  await page.getByRole('cell', { name: 'indigo' }).waitFor();
  await page.look('conversation');
  await page.evaluate(() => (document.querySelector('.virtual').scrollTop = 900));
  await page.getByRole('button', { name: 'Chart' }).click();
  await page.locator('.plot canvas').waitFor();
  await page.look('conversation-artifacts');
  saw('text, tables, code, images, artifacts and a chart are shown, in light and dark');

  const call = page.locator('details.call', { hasText: 'shop__order' });
  await call.locator('summary').click();
  await call.getByText('the shop is closed on Mondays').waitFor();
  const shown = () => page.getByText('Indigo is a vat dye', { exact: false }).count();
  await page.evaluate(() => (document.querySelector('.virtual').scrollTop = 0));
  await until('thoughts are there', shown);
  await page.getByLabel('Thoughts').selectOption('off');
  await until('they are not', async () => !(await shown()));
  await page.getByLabel('Thoughts').selectOption('detailed');
  await page.getByText('Every dip takes six minutes.').waitFor();
  await page.getByText('indigo first', { exact: false }).first().waitFor();
  if (!page.url().includes('thoughts=detailed')) throw new Error(page.url());
  saw('calls open, and thoughts are shown as wordy as one likes');

  // A link to an event shows it, and the keys move on from there.
  const linked = await open('/threads/cloth?e=24', { clock: CLOCK });
  await linked.locator('.item[aria-current]').waitFor();
  await linked.keyboard.press('j');
  await until('the next one is selected', () => new URL(linked.url()).searchParams.get('e') > 24);
  await linked.keyboard.press('Escape');
  await until('none is', async () => !(await linked.locator('.item[aria-current]').count()));
  const past = await open('/threads/cloth?at=12', { clock: CLOCK });
  await past.getByText('You see entry 12 of').waitFor();
  if (await past.getByText('The loom is set up').count()) throw new Error('the past has the future in it');
  saw('links show an event, and a moment');

  const phone = await open('/threads/cloth', { clock: CLOCK, viewport: PHONE });
  await phone.getByRole('button', { name: 'Approve' }).waitFor();
  await phone.look('conversation-phone');
  const wide = await phone.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  if (wide) throw new Error('it is wider than a phone');
  saw('it fits on a phone');

  await answers({ api, page, saw });
  await live({ api, page, saw });
  await attaches({ api, page, saw });
  await forks({ url, page, saw });
  await crowd({ api, open, saw });
  await redacts({ api, open, saw });
  await copies({ open, saw });
  await grows({ page, saw });
  await aitp({ url, api, open, saw });
});

/** What was taken out is told as that, in a page that had it. */
async function redacts({ api, open, saw }) {
  await api('/api/threads', { id: 'secret', title: 'Said too much' });
  await api('/api/threads/secret/events', [{ kind: 'message', role: 'user', author: 'ada', content: 'The password is swordfish' }, { kind: 'message', role: 'user', author: 'ada', content: 'Forget that' }]);
  const page = await open('/threads/secret');
  await page.getByText('swordfish').waitFor();
  await page.getByText('live', { exact: true }).waitFor();
  await api('/api/threads/secret/redact', { events: [2], reason: 'a password' });
  await page.getByText('redacted an event: a password').waitFor();
  await page.locator('.item', { hasText: /^adaRedacted|ada.*Redacted/ }).first().waitFor();
  if (await page.getByText('swordfish').count()) throw new Error('it is still there');
  await page.getByText('Forget that').waitFor();
  await page.axe();
  saw('what is redacted is gone from an open page, and told');
}

/** Pages over plain HTTP from another machine have no clipboard of the new kind. */
async function copies({ open, saw }) {
  const page = await open('/threads/cloth?e=14', { before: () => Object.defineProperty(navigator, 'clipboard', { value: undefined }) });
  await page.locator('.item[aria-current]').waitFor();
  await page.getByRole('button', { name: 'Copy its content' }).first().click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  await page.getByLabel('Message').focus();
  await page.keyboard.press('ControlOrMeta+v');
  const pasted = await page.getByLabel('Message').inputValue();
  if (!pasted.includes('wash the yarn')) throw new Error(`pasted: ${pasted}`);
  saw('content is copied where there is no clipboard API');
}

/** Text that streams in comes to what it is when it is whole. */
async function grows({ page, saw }) {
  const base = await page.evaluate(() => document.querySelector('script[src]').src.replace('app.js', ''));
  const wrong = await page.evaluate(async (base) => {
    const [{ growing, markdown }, { h, render }] = [await import(`${base}lib/markdown.js`), await import(`${base}vendor/preact.js`)];
    const text = ['# One', '', 'A *text*', '', '````md', '```js', 'const a = 1;', '', 'still code', '```', '````', '', 'behind it', '', '- a', '', '  b', '- c', '', '> q', '', '| a | b |', '|---|--:|', '| 1 | 2 |', '', '~~~', '```', '', 'x', '~~~', '', 'end'].join('\n');
    const drawn = (nodes) => {
      const place = document.createElement('div');
      render(h('div', null, nodes), place);
      return place.innerHTML;
    };
    const grow = growing();
    for (let n = 1; n <= text.length; n++) {
      const [one, other] = [drawn(grow(text.slice(0, n))), drawn(markdown(text.slice(0, n)))];
      if (one !== other) return { n, one, other };
    }
    return null;
  }, base);
  if (wrong) throw new Error(JSON.stringify(wrong));
  saw('text that grows is read as text that is whole');
}

/** A form and a decision of AITP, imported and answered. */
async function aitp({ url, api, open, saw }) {
  const said = (message) => ({ id: `msg_${message.id}`, role: 'assistant', actor: { client_id: 'shop.example', client_name: 'Shop' }, content: [{ type: 'text', text: { value: JSON.stringify(message.body) } }] });
  const capability = (name) => `https://aitp.dev/capabilities/${name}/v1.0.0/schema.json`;
  const thread = { id: 'thread_a', messages: [
    said({ id: 1, body: { $schema: capability('aitp-03-data-request'), request_data: { id: 'addr', title: 'Address', description: 'Where does it go?', form: { fields: [
      { id: 'name', label: 'Full name', type: 'text', required: true }, { id: 'mail', label: 'E-mail', type: 'email' },
      { id: 'size', label: 'Size', type: 'select', options: ['S', 'M'], required: true }, { id: 'town', label: 'Town', type: 'combobox', options: ['Oslo'] }] } } } }),
    said({ id: 2, body: { $schema: capability('aitp-02-decisions'), request_decision: { id: 'which', title: 'Which one?', type: 'radio', options: [{ id: 'a', name: 'Indigo' }, { id: 'b', name: 'Ecru' }] } } })] };
  const made = await fetch(`${url}/api/import?dialect=aitp&thread=aitp`, { method: 'POST', body: JSON.stringify(thread) });
  if (!made.ok) throw new Error(await made.text());
  const page = await open('/threads/aitp');
  await page.getByLabel('Full name').fill('Ada');
  await page.getByLabel('Size').selectOption('M');
  await page.getByLabel('Town').fill('Bergen');
  await page.axe();
  await page.getByRole('button', { name: 'Submit' }).click();
  await page.locator('.settled', { hasText: 'Ada' }).waitFor();
  await page.getByLabel('Ecru').check();
  await page.getByRole('button', { name: 'Choose', exact: true }).click();
  await page.locator('.settled', { hasText: 'b' }).nth(1).waitFor();
  const { entries } = await api('/api/threads/aitp/events?kinds=input-received');
  const values = entries.map(({ event }) => JSON.stringify(event.value));
  if (values.join() !== '{"name":"Ada","size":"M","town":"Bergen"},"b"') throw new Error(values.join());
  saw('forms and decisions of AITP are answered');
}

/** Files go with a message, as parts of it; too many bytes are left out, and that is said. */
async function attaches({ api, page, saw }) {
  const field = page.locator('.composer input[type=file]');
  const dot = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==', 'base64');
  await field.setInputFiles([{ name: 'dot.png', mimeType: 'image/png', buffer: dot }, { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('ünder') }]);
  const attached = page.getByRole('list', { name: 'Attached' });
  await attached.getByText('note.txt').waitFor();
  await field.setInputFiles({ name: 'huge.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(9 << 20) });
  await page.getByRole('alert').getByText('huge.bin').waitFor();
  await page.axe();
  await page.getByLabel('Message').fill('Like this dot');
  await page.getByRole('button', { name: 'Send' }).click();
  await attached.waitFor({ state: 'detached' });
  const { entries } = await api('/api/threads/cloth/events?last=1');
  const [text, image, note] = entries[0].event.content;
  if (text.text !== 'Like this dot' || image.url !== `data:image/png;base64,${dot.toString('base64')}` || image.mediaType !== 'image/png') throw new Error(JSON.stringify(entries));
  if (note.filename !== 'note.txt' || Buffer.from(note.url.split(',')[1], 'base64').toString() !== 'ünder') throw new Error(JSON.stringify(note));
  await page.getByRole('img', { name: 'dot.png' }).waitFor();
  saw('files go with a message, within bounds');
}

/** A branch begins behind what was said. */
async function forks({ url, page, saw }) {
  await page.goto(`${url}/threads/cloth?e=14`);
  const item = page.locator('.item[aria-current]');
  const last = Number(/\d+/.exec(await item.getByRole('button', { name: /Fork after entry/ }).getAttribute('aria-label')));
  if (!(last >= 14)) throw new Error(`forks after ${last}`);
  await item.getByRole('button', { name: /Fork after entry/ }).click();
  await page.getByLabel('Title of the branch').fill('Plain edge');
  await page.getByRole('button', { name: `Fork at ${last}` }).click();
  await page.getByRole('heading', { name: 'Plain edge', level: 1 }).waitFor();
  saw('a branch begins behind an item');
}

/** Many agents do not fill the page. */
async function crowd({ api, open, saw }) {
  await api('/api/threads', { id: 'crowd', title: 'A crowd', agents: Array.from({ length: 13 }, (_, n) => `agent-${n + 1}`) });
  const page = await open('/threads/crowd');
  const agents = page.getByRole('list', { name: 'Agents' });
  await agents.getByRole('button', { name: 'Show 7 more agents' }).click();
  await agents.getByText('agent-13').waitFor();
  await agents.getByRole('button', { name: 'Show fewer agents' }).click();
  await agents.getByText('agent-13').waitFor({ state: 'detached' });
  saw('of many agents a few are named, until one asks');
}

/** Every kind of question, answered as people do. */
async function answers({ api, page, saw }) {
  const ask = (inputId, more) => api('/api/threads/cloth/events', { kind: 'input-required', taskId: 'weave', agentId: 'weaver', inputId, ...more });
  const answered = async (inputId) => {
    const found = await until(`${inputId} is answered`, async () => {
      const { entries } = await api('/api/threads/cloth/events?limit=1000&kinds=input-received,auth-completed');
      return entries.find(({ event }) => event.inputId === inputId || event.authId === inputId);
    });
    return found.event;
  };
  await page.evaluate(() => document.querySelector('.virtual').scrollTo(0, 1e9));
  await page.getByRole('button', { name: 'Reject…' }).click();
  await page.getByLabel('Why not?').fill('thirteen would be better');
  await page.getByRole('button', { name: 'Reject', exact: true }).click();
  const { value, metadata } = await answered('cut');
  if (value !== false || metadata.reason !== 'thirteen would be better') throw new Error(JSON.stringify({ value, metadata }));
  await page.locator('.settled', { hasText: 'Rejected' }).waitFor();

  await ask('which', { inputType: 'selection', prompt: 'Which edge?', options: [{ id: 'red', name: 'Red thread', short_description: 'As on the swatch' }, { id: 'plain', name: 'Plain' }] });
  await page.getByLabel('Red thread').check();
  await page.axe();
  await page.getByRole('button', { name: 'Choose', exact: true }).click();
  if ((await answered('which')).value !== 'red') throw new Error('another edge');

  await ask('many', { inputType: 'selection', prompt: 'Which ends?', metadata: { multiple: true }, options: ['left', 'right', 'both'] });
  await page.getByLabel('left').check();
  await page.getByLabel('right').check();
  await page.getByRole('button', { name: 'Choose 2' }).click();
  if ((await answered('many')).value.join() !== 'left,right') throw new Error('other ends');

  const schema = {
    type: 'object', required: ['name', 'metres', 'mail'],
    properties: {
      name: { type: 'string', title: 'Whom is it for?' }, metres: { type: 'integer', minimum: 1, maximum: 40, title: 'Metres' },
      mail: { type: 'string', format: 'email', title: 'E-mail' }, fold: { type: 'string', enum: ['rolled', 'flat'], title: 'Rolled or flat' },
      town: { type: 'string', examples: ['Oslo', 'Lisbon'], title: 'Town' }, gift: { type: 'boolean', title: 'It is a gift' },
      wrap: { type: 'object', title: 'Wrapping', properties: { colour: { type: 'string', title: 'Colour' } } },
      extra: { type: 'object', title: 'Anything else' },
    },
  };
  await ask('form', { inputType: 'data', prompt: 'Where does it go?', schema });
  await page.getByLabel('Whom is it for?').fill('Grace');
  await page.getByLabel('Metres').fill('12');
  await page.getByLabel('E-mail').fill('grace@example.com');
  await page.getByLabel('Rolled or flat').selectOption('rolled');
  await page.getByLabel('Town').fill('Bergen');
  await page.getByLabel('It is a gift').check();
  await page.getByLabel('Colour').fill('ecru');
  await page.getByLabel('Anything else').fill('{"ribbon": ');
  if (await page.getByRole('button', { name: 'Submit' }).isEnabled()) throw new Error('what is no JSON can be sent');
  await page.getByLabel('Anything else').fill('{"ribbon": true}');
  await page.axe();
  await page.locator('.question.open').scrollIntoViewIfNeeded();
  await page.getByRole('button', { name: 'Submit' }).click();
  const sent = (await answered('form')).value;
  const wanted = { name: 'Grace', metres: 12, mail: 'grace@example.com', fold: 'rolled', town: 'Bergen', gift: true, wrap: { colour: 'ecru' }, extra: { ribbon: true } };
  if (JSON.stringify(sent) !== JSON.stringify(wanted)) throw new Error(JSON.stringify(sent));

  await ask('words', { inputType: 'clarification', prompt: 'What should the label say?' });
  await page.getByLabel('Your answer').fill('Made in one piece');
  await page.getByRole('button', { name: 'Answer', exact: true }).click();
  if ((await answered('words')).value !== 'Made in one piece') throw new Error('other words');

  await api('/api/threads/cloth/events', { kind: 'auth-required', taskId: 'weave', agentId: 'weaver', authId: 'mill', authType: 'oauth2', provider: 'The mill', scopes: ['orders:read'], prompt: 'Let me see your orders', authUrl: 'https://example.com/login' });
  await page.getByLabel('User').fill('ada');
  await page.axe();
  await page.getByRole('button', { name: 'I have authenticated' }).click();
  if ((await answered('mill')).userId !== 'ada') throw new Error('someone else');
  // What is encrypted in the page opens with the key of the request, as jose reads it.
  const { publicKey, privateKey } = await generateKeyPair('ECDH-ES', { crv: 'P-256' });
  const request = { authId: 'a', contextId: 'cloth', encryptionKey: { ...(await exportJWK(publicKey)), kid: 'k1' } };
  const jwe = await page.evaluate(async ([request, base]) => (await import(`${base}lib/answers/jwe.js`)).encrypt('s3cret ü', request),
    [request, await page.evaluate(() => document.querySelector('script[src]').src.replace('app.js', ''))]);
  const { plaintext, protectedHeader } = await compactDecrypt(jwe, privateKey);
  if (new TextDecoder().decode(plaintext) !== 's3cret ü' || protectedHeader.authId !== 'a' || protectedHeader.contextId !== 'cloth') throw new Error(JSON.stringify(protectedHeader));
  saw('approvals, selections, forms, words and credentials are answered');
}

/** What streams in is shown as it comes, and progress moves. */
async function live({ api, page, saw }) {
  const say = (event) => api('/api/threads/cloth/events', { taskId: 'weave', agentId: 'weaver', ...event });
  await say({ kind: 'step-started' });
  for (const delta of ['Five ', 'metres **are', '** woven']) await say({ kind: 'content-delta', partId: 'live', delta });
  await page.locator('.message.streaming', { hasText: 'Five metres are woven' }).waitFor();
  await say({ kind: 'content-complete', partId: 'live', content: 'Five metres **are** woven' });
  await page.locator('.message:not(.streaming)', { hasText: 'Five metres are woven' }).waitFor();
  await until('it is told to who listens', () => page.evaluate(() => document.querySelector('[aria-live=polite]').textContent.includes('Five metres')));
  await say({ kind: 'tool-start', toolCallId: 'c9', toolName: 'loom__cut', arguments: {} });
  await say({ kind: 'tool-progress', toolCallId: 'c9', progress: 0.5, message: 'half' });
  await page.getByText('50 % · half').waitFor();
  await say({ kind: 'tool-complete', toolCallId: 'c9', toolName: 'loom__cut', success: true, result: 'cut' });
  await page.locator('details.call[data-status=done]', { hasText: 'loom__cut' }).waitFor();
  saw('what streams in is shown as it comes');
}

/** With agents that answer: to one of them, to all, and stop. */
async function talk({ api, open, saw }) {
  const page = await open('/');
  await page.getByRole('heading', { name: 'No conversations yet' }).waitFor();
  await page.look('welcome', { mask: [page.locator('.command code')] });
  await page.getByRole('button', { name: 'Start the demo conversation' }).click();
  await page.getByRole('heading', { name: 'A weekend in Lisbon' }).waitFor();
  await page.getByRole('button', { name: 'Approve' }).click({ timeout: 60_000 });
  await page.getByText('In short: you fly with Kestrel Air').first().waitFor({ timeout: 60_000 });
  saw('one click starts the demonstration on an empty server, and it comes to its end');
  await until('it is idle', async () => (await api('/api/threads')).threads[0].status === 'idle');
  await page.getByLabel('Message').fill('Is Lisbon sunny?');
  await page.getByLabel('To', { exact: true }).selectOption('planner');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('We have planned Lisbon').waitFor();
  const { entries } = await api('/api/threads/demo/events?limit=5000&kinds=task-created');
  if (entries.at(-1).event.agentId !== 'planner') throw new Error('someone else answers');
  const before = entries.length;
  await page.getByLabel('To', { exact: true }).selectOption('');
  await page.getByLabel('Message').fill('And what about Porto?');
  await page.keyboard.press('Enter');
  await until('all of them got it', async () => (await api('/api/threads/demo/events?limit=5000&kinds=task-created')).entries.length >= before + 4);
  await page.getByRole('button', { name: 'Stop' }).click();
  await until('it is stopped', async () => (await api('/api/threads')).threads[0].status !== 'working');
  saw('one agent is asked, then all of them, and all are stopped');
}

/** Two tabs, one question: one answer counts, and the other tab is told. */
async function race({ api, open, saw }) {
  await api('/api/threads', { id: 'race' });
  await api('/api/threads/race/events', [{ kind: 'task-created', taskId: 'k', agentId: 'a', initiator: 'user' }, { kind: 'input-required', taskId: 'k', agentId: 'a', inputId: 'q', inputType: 'confirmation', prompt: 'Now?' }]);
  const tabs = await Promise.all([open('/threads/race'), open('/threads/race')]);
  // The answers meet at the server: each is held until both are on their way.
  let waiting = 0;
  let both;
  const there = new Promise((ready) => (both = ready));
  for (const tab of tabs) {
    await tab.route('**/inputs/q', async (route) => {
      if (++waiting === 2) both();
      await there;
      await route.continue();
    });
  }
  await Promise.all(tabs.map((tab) => tab.getByRole('button', { name: 'Approve' }).click()));
  const told = () => Promise.all(tabs.map((tab) => tab.getByText('Someone else answered first').count()));
  await until('one is told', async () => (await told()).join() !== '0,0');
  for (const tab of tabs) await tab.locator('.settled', { hasText: 'Approved' }).waitFor();
  if ((await told()).sort().join() !== '0,1') throw new Error(`told: ${await told()}`);
  const { entries } = await api('/api/threads/race/events?kinds=input-received');
  if (entries.length !== 1) throw new Error(`${entries.length} answers`);
  saw('of two answers at once one counts, and the other tab is told');
}
