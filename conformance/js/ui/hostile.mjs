// Markup, scripts and links in every text of every kind of event: nothing of it runs, asks or is markup.

import { apiOf, run, until } from './page.mjs';

const PAYLOADS = [
  '<script>window.pwned=1</script><img src=x onerror="window.pwned=2"><svg onload="window.pwned=3"><iframe srcdoc="<script>parent.pwned=4</script>">',
  '[click](javascript:window.pwned=5) ![x](javascript:window.pwned=6) <javascript:window.pwned=7> [d](data:text/html,<script>window.pwned=8</script>) ![i](https://evil.example/x.png) ![s](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9InBhcmVudC5wd25lZD05Ii8+)',
  '"><style>*{display:none}</style><base href="//evil.example/"><form action="//evil.example"><input autofocus onfocus="window.pwned=10">',
  '${window.pwned=11}{{constructor.constructor("window.pwned=12")()}} javascript:window.pwned=13 \u202e\u0000\ufffd `<b>`',
  'https://evil.example/"onmouseover="window.pwned=14 <https://evil.example/><a href="https://evil.example">x</a>',
];
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" onload="parent.pwned=20"><script>parent.pwned=21</script><image href="https://evil.example/x.png"/><foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><img src="x" onerror="parent.pwned=22"/></body></foreignObject></svg>';

/** A value for a field by its schema: hostile where it can be. */
function value(schema, bad) {
  if (schema.enum) return schema.enum[0];
  if (schema.const !== undefined) return schema.const;
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'integer' || type === 'number') return 0;
  if (type === 'boolean') return true;
  if (type === 'array') return [bad, { text: bad, type: 'text' }, { name: bad, label: bad, description: bad, url: bad, image_url: bad, id: bad }];
  if (type === 'object') return { [bad]: bad, type: 'object', title: bad, description: bad, properties: { [bad]: { type: 'string', title: bad, description: bad, enum: [bad] } }, rationale: bad, score: 0.5, reason: bad };
  return bad;
}

await run(async ({ url, open, saw }) => {
  const api = apiOf(url);
  const { components } = await api('/openapi.json');
  const kinds = components.schemas.Event.anyOf ?? components.schemas.Event.oneOf;
  let tried = 0;
  for (const [n, bad] of PAYLOADS.entries()) {
    const id = `x${n}${bad.slice(0, 60)}`;
    await api('/api/threads', { id, title: bad, metadata: { [bad]: bad }, agents: [{ id: bad, name: bad, model: bad }] });
    const path = `/api/threads/${encodeURIComponent(id)}`;
    for (const schema of kinds) {
      const kind = schema.properties?.kind?.const;
      if (!kind) continue;
      const event = { kind, agentId: bad };
      for (const [name, own] of Object.entries(schema.properties)) {
        if (name !== 'kind' && name !== 'timestamp' && name !== 'contextId' && name !== 'answers') event[name] = value(own, bad);
      }
      if (!kind.startsWith('thread-')) event.taskId = `k${kind}`;
      if (kind.includes('required')) Object.assign(event, { inputId: `${kind}${bad}`, authId: `${kind}${bad}` });
      delete event.expiresAt;
      delete event.visibility;
      const answer = await fetch(`${url}${path}/events`, { method: 'POST', body: JSON.stringify(event) });
      if (answer.ok) tried += 1;
    }
    const questions = ['confirmation', 'selection', 'clarification', 'data'].map((inputType, i) => ({ kind: 'input-required', taskId: `q${i}`, agentId: bad, inputId: `q${i}`, inputType, prompt: bad, ...(i === 1 ? { options: [bad, { id: bad, name: bad, image_url: bad }] } : {}), ...(i === 3 ? { schema: value({ type: 'object' }, bad) } : {}) }));
    const files = [['image/svg+xml', SVG], ['text/html', bad], ['text/markdown', bad], ['application/json', JSON.stringify({ [bad]: bad })]];
    await api(`${path}/events`, [...questions, ...files.map(([mimeType, data], i) => ({ kind: 'file-write', taskId: 'f', agentId: bad, artifactId: `${bad}${i}`, name: `${i}${bad}`, description: bad, mimeType, data, index: 0, complete: true })),
      { kind: 'dataset-write', taskId: 'f', agentId: bad, artifactId: `rows${bad}`, name: bad, rows: [{ [bad]: bad, n: 1 }, { [bad]: bad, n: 2 }], index: 0, complete: true },
      { kind: 'auth-required', taskId: 'q9', agentId: bad, authId: 'a9', authType: 'oauth2', prompt: bad, provider: bad, scopes: [bad], authUrl: 'javascript:window.pwned=30', infoUrl: bad },
      { kind: 'source', taskId: 'f', agentId: bad, url: 'javascript:window.pwned=31', title: bad }]);
    for (const place of ['?thoughts=detailed', '/timeline', '/timeline?show=list&e=30', '/protocols', '/branches', '?at=40']) {
      const page = await open(`/threads/${encodeURIComponent(id)}${place}`);
      await until('it is read', () => page.evaluate(() => ['live', 'past'].includes(document.querySelector('.connection')?.dataset.state) && !document.querySelector('.panel > .loading')));
      if (place.startsWith('?')) await through(page);
      await innocent(page);
      page.assertClean();
      await page.close();
    }
  }
  for (const place of ['/threads', '/threads?q=pwned', '/inbox', '/usage', '/connections', `/threads?q=${encodeURIComponent(PAYLOADS[0])}`, `/threads?agent=${encodeURIComponent(PAYLOADS[0])}`, `/threads/${encodeURIComponent(PAYLOADS[1])}`]) {
    const page = await open(place);
    await page.locator('h1').first().waitFor();
    await page.waitForLoadState('networkidle').catch(() => {});
    await innocent(page);
    page.assertClean();
    await page.close();
  }
  if (tried < PAYLOADS.length * 40) throw new Error(`only ${tried} events were taken`);
  saw(`${tried} hostile events of every kind are text`);
});

/** Scrolls through all of it, opening whatever opens. */
async function through(page) {
  for (let i = 0; i < 60; i++) {
    const done = await page.evaluate(async () => {
      for (const one of document.querySelectorAll('.conversation details:not([open]) > summary')) one.click();
      for (const one of document.querySelectorAll('.conversation button.plain')) if (/Show the source|Chart/.test(one.textContent)) one.click();
      const list = document.querySelector('.virtual');
      const before = list.scrollTop;
      list.scrollTop -= list.clientHeight * 0.8;
      await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
      return before <= 0;
    });
    await innocent(page);
    if (done) return;
  }
}

/** Nothing ran, and no markup of an event is markup of the page. */
async function innocent(page) {
  const found = await page.evaluate(() => ({
    ran: window.pwned,
    scripts: document.querySelectorAll('script').length,
    strange: [...document.querySelectorAll('iframe, object, embed, base, form[action], style, foreignObject, [onerror], [onload], [onfocus], [onmouseover], [srcdoc]')].map((one) => one.outerHTML.slice(0, 200)),
    links: [...document.querySelectorAll('a[href]')].map((one) => one.getAttribute('href')).filter((href) => !/^(\/|https?:|mailto:|#)/.test(href)),
    images: [...document.querySelectorAll('img')].map((one) => one.getAttribute('src')).filter((src) => !/^(blob:|data:image\/(png|jpeg|gif|webp|avif)|\/)/.test(src)),
  }));
  if (found.ran !== undefined || found.scripts !== 1 || found.strange.length || found.links.length || found.images.length) throw new Error(`${page.url()}: ${JSON.stringify(found)}`);
}
