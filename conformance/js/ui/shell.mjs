// The shell: the rail, keys, theme, addresses, and the prompt for a key.

import { run } from './page.mjs';

await run(async ({ url, open, saw, args: [key] }) => {
  const page = await open('/', { clock: '2026-11-16T12:00:00Z' });
  if (key) {
    await page.getByLabel('Key', { exact: true }).fill('sk_wrong');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('not valid here').waitFor();
    await page.look('key');
    await page.getByLabel('Key', { exact: true }).fill(key);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'Threads' }).waitFor();
    await page.getByText('curl -H "authorization: Bearer $SELVEDGE_KEY" -X POST').first().waitFor();
    saw('a key is asked for, refused, and taken');
    return;
  }
  await page.getByRole('heading', { name: 'Threads' }).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.look('keys');
  await page.keyboard.press('Escape');
  for (const [keys, path, name] of [['gi', '/inbox', 'Inbox'], ['gu', '/usage', 'Usage'], ['gc', '/connections', 'Connections'], ['gt', '/threads', 'Threads']]) {
    for (const key of keys) await page.keyboard.press(key);
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    if (new URL(page.url()).pathname !== path) throw new Error(page.url());
  }
  await page.goBack();
  await page.getByRole('heading', { name: 'Connections', level: 1 }).waitFor();
  saw('keys go everywhere, and back works');
  await page.getByRole('button', { name: /Theme/ }).click();
  await page.getByRole('button', { name: 'Theme: light' }).click();
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Theme: dark' }).click();
  saw('the theme is kept');
  const deep = await open('/threads/none%2Fat%20all/timeline?at=3');
  await deep.getByRole('heading', { name: 'There is no such thread' }).waitFor();
  await deep.look('missing');
  saw('links into the UI are served the page, and say what is not there');
  const home = await fetch(`${url}/`);
  const policy = home.headers.get('content-security-policy');
  for (const part of ["default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'", "frame-ancestors 'none'"]) if (!policy.includes(part)) throw new Error(policy);
  if (/unsafe|https?:|\*/.test(policy)) throw new Error(policy);
  const [path] = /\/ui\/[0-9a-f]{16}\/app\.js/.exec(await home.text());
  const expect = (answer, wanted) => {
    for (const [name, value] of Object.entries(wanted)) if (!answer.headers.get(name)?.includes(value)) throw new Error(`${answer.url} has ${name} ${answer.headers.get(name)}`);
  };
  expect(home, { 'cache-control': 'no-cache', 'content-encoding': 'gzip' });
  const file = await fetch(url + path);
  expect(file, { 'cache-control': 'immutable', 'content-encoding': 'gzip', 'content-type': 'text/javascript' });
  expect(await fetch(`${url}/ui/0000000000000000/app.js`), { 'cache-control': 'no-cache' });
  const again = await fetch(url + path, { headers: { 'if-none-match': file.headers.get('etag') } });
  if (again.status !== 304) throw new Error(`status ${again.status}`);
  for (const wrong of ['index.html', 'package.json', 'vendor/package.json', '../Cargo.toml', '..%2fCargo.toml', 'README.md', '']) {
    const { status } = await fetch(`${url}/ui/${wrong}`);
    if (status !== 404) throw new Error(`${wrong}: ${status}`);
  }
  saw('files are kept for good, the page is not, and nothing else is served');
});
