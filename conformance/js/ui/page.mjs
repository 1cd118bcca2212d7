// Pages of the web UI, for tests: opened with a fixed look, watched for anything that must not
// happen, checked with axe, and compared with golden images.
//
// A script gets the server's URL, tells each thing it saw work with `saw`, and is run by `run`:
//
//   import { run } from './page.mjs';
//   await run(async ({ url, open, saw }) => {
//     const page = await open('/threads');
//     …
//     await page.look('threads');      // axe, and golden images in light and dark
//     saw('the list shows …');
//   });

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import pixelmatch from 'pixelmatch';
import { PNG } from 'pngjs';

import { browser } from '../browser.mjs';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const GOLDEN = process.env.SELVEDGE_GOLDEN ?? join(import.meta.dirname, 'golden');
const UPDATE = process.env.UPDATE_GOLDEN !== undefined;
/** Of the pixels, so many may differ: fonts are drawn a little otherwise here and there. */
const TOLERANCE = 0.004;
export const WIDE = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };

/** Runs a script; ends with 1 and the reason where something does not hold. */
export async function run(script) {
  const url = process.argv[2];
  const chromium = await browser();
  if (chromium.reason) {
    console.error(chromium.reason);
    process.exit(1);
  }
  const pages = [];
  const open = async (path, options = {}) => {
    const page = await opened(chromium, options.url ?? url, path, options);
    pages.push(page);
    return page;
  };
  const saw = (what) => console.log(what);
  try {
    await script({ url, open, saw, args: process.argv.slice(3), chromium });
    for (const page of pages) page.assertClean();
  } catch (error) {
    console.error(error.stack ?? error);
    for (const page of pages) if (page.wrongs.length) console.error(`${page.url()}: ${page.wrongs.join('\n')}`);
    for (const [n, page] of pages.entries()) {
      await page.screenshot({ path: join(process.env.SELVEDGE_TEMP ?? '/tmp', `failed-${n}.png`) }).catch(() => {});
    }
    process.exitCode = 1;
  } finally {
    await chromium.close();
  }
}

/**
 * A page at an address of the UI. Options: `viewport`, `scheme` ('light' or 'dark'), `clock` (a fixed
 * time, ISO), `context` (to share a session), `key`, `motion` (true: not reduced), `url` (of another way there),
 * `before` (a function that runs in the page before its scripts do).
 */
async function opened(chromium, url, path, options) {
  const context = options.context ?? await chromium.newContext({
    viewport: options.viewport ?? WIDE,
    colorScheme: options.scheme ?? 'light',
    reducedMotion: options.motion ? 'no-preference' : 'reduce',
    timezoneId: 'UTC', locale: 'en-GB',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const page = await context.newPage();
  page.wrongs = [];
  page.on('console', (message) => {
    // Browsers log every answer that is no success; those are the scripts' own to judge.
    if (message.type() === 'error' && !/^Failed to load resource/.test(message.text())) page.wrongs.push(`console: ${message.text()}`);
    if (/Content.Security.Policy|Trusted ?Type/i.test(message.text())) page.wrongs.push(`policy: ${message.text()}`);
  });
  page.on('pageerror', (error) => page.wrongs.push(`error: ${error.stack ?? error}`));
  page.on('request', (request) => {
    const asked = request.url();
    if (!/^(data|blob):/.test(asked) && new URL(asked).origin !== new URL(url).origin) page.wrongs.push(`asks elsewhere: ${asked}`);
  });
  page.on('dialog', (dialog) => {
    page.wrongs.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => console.error(`Content Security Policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  if (options.key) await page.addInitScript((key) => sessionStorage.setItem('selvedge-key', key), options.key);
  if (options.before) await page.addInitScript(options.before);
  if (options.clock) await page.clock.setFixedTime(new Date(options.clock));
  page.assertClean = () => {
    if (page.wrongs.length) throw new Error(`${page.url()}\n${page.wrongs.join('\n')}`);
  };
  page.axe = () => axe(page);
  page.golden = (name, more) => golden(page, name, more);
  page.look = async (name, more) => {
    await page.axe();
    await page.golden(`${name}-light`, more);
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await page.axe();
    await page.golden(`${name}-dark`, more);
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  };
  await page.goto(url + path);
  await page.evaluate(() => document.fonts.ready);
  return page;
}

async function axe(page) {
  // Not by a script element: the policy of the page holds for the test as well.
  const source = await readFile(AXE, 'utf8');
  await page.evaluate(`${source}; undefined`);
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
  if (violations.length) {
    const told = violations.map(({ id, help, nodes }) => `${id}: ${help}\n${nodes.slice(0, 5).map((n) => `  ${n.html.slice(0, 200)}\n  ${n.failureSummary}`).join('\n')}`);
    throw new Error(`axe on ${page.url()}:\n${told.join('\n')}`);
  }
}

/** Compares what is seen with the golden image of that name. `mask`: locators of what always differs. */
async function golden(page, name, { mask = [], tolerance = TOLERANCE } = {}) {
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.fonts.ready);
  const shot = await page.screenshot({ animations: 'disabled', caret: 'hide', mask, maskColor: '#8884' });
  const path = join(GOLDEN, `${name}.png`);
  const before = await readFile(path).catch(() => null);
  if (!before || UPDATE) {
    if (!UPDATE) throw new Error(`no golden image ${name}: run with UPDATE_GOLDEN=1, and look at it`);
    await mkdir(GOLDEN, { recursive: true });
    if (!before || differs(before, shot) > TOLERANCE / 10) await writeFile(path, shot);
    return;
  }
  const share = differs(before, shot);
  if (share > tolerance) {
    const own = join(process.env.SELVEDGE_TEMP ?? '/tmp', `${name}.png`);
    await writeFile(own, shot);
    throw new Error(`${name} differs from its golden image in ${(share * 100).toFixed(2)} % of its pixels; see ${own}`);
  }
}

function differs(before, after) {
  const [a, b] = [PNG.sync.read(before), PNG.sync.read(after)];
  if (a.width !== b.width || a.height !== b.height) return 1;
  return pixelmatch(a.data, b.data, null, a.width, a.height, { threshold: 0.2 }) / (a.width * a.height);
}

/** Something that is asked until it is so. */
export async function until(what, check, ms = 60_000) {
  const end = Date.now() + ms;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > end) throw new Error(`not in time: ${what}`);
    await new Promise((soon) => setTimeout(soon, 20));
  }
}

/** The API, for what a script does itself. */
export function apiOf(url, key) {
  return async (path, body, method = body === undefined ? 'GET' : 'POST') => {
    const headers = key ? { authorization: `Bearer ${key}` } : {};
    const answer = await fetch(url + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : null;
  };
}
