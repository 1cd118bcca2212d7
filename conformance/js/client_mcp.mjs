// The Model Context Protocol's own client against `/mcp`: resources, tools, and what is refused.

import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { api, check, throughCuts, url } from './client.mjs';

async function connected(path = '/mcp', base = url) {
  const client = new Client({ name: 'selvedge-conformance', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(base + path)));
  return client;
}

const client = await connected();
const use = async (name, args) => {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, JSON.stringify(result));
  return result.structuredContent;
};
const read = async (uri) => (await client.readResource({ uri })).contents[0];
const texts = (messages) => messages.filter((m) => m.type === 'assistant-message').map((m) => m.text);

await check('the server says what it is and can', async () => {
  assert.equal(client.getServerVersion().name, 'selvedge');
  assert.ok(client.getServerCapabilities().resources && client.getServerCapabilities().tools);
  const { tools } = await client.listTools();
  const names = tools.map((tool) => tool.name).sort();
  assert.deepEqual(names, ['answer', 'cancel_task', 'list_threads', 'read_thread', 'search', 'send_message']);
  await client.ping();
});

await check('a message is sent and its answer comes back', async () => {
  const said = await use('send_message', { thread: 'mcp-1', text: 'hello from a client' });
  assert.deepEqual(texts(said.messages), ['You said: hello from a client']);
  assert.equal(said.rests, true);
  assert.equal(said.tasks[0].status, 'completed');
  // It is a thread as any other, and what others say is there.
  assert.equal((await api('/api/threads/mcp-1')).tasks.length, 1);
  await api('/api/threads/mcp-1/events', { kind: 'message', role: 'user', author: 'ada', content: 'from the side' });
  const shown = await use('read_thread', { thread: 'mcp-1' });
  assert.ok(shown.messages.some((m) => m.text === 'from the side'));
  const one = await use('read_thread', { thread: 'mcp-1', messages: 1 });
  assert.equal(one.messages.length, 1);
  assert.equal(one.earlierMessages, shown.messages.length - 1);
  const fresh = await use('send_message', { text: 'hello', to: ['helper'] });
  assert.deepEqual(texts(fresh.messages), ['Here is some help.']);
});

await check('a question is answered', async () => {
  const asked = await use('send_message', { thread: 'mcp-2', text: 'book it' });
  assert.equal(asked.tasks[0].status, 'waiting-input');
  const input = asked.inputs[0].inputId;
  const rest = await use('answer', { thread: 'mcp-2', input, value: true, reason: 'gladly' });
  assert.deepEqual(texts(rest.messages), ['What you decided is done.']);
  const late = await client.callTool({ name: 'answer', arguments: { thread: 'mcp-2', input, value: true } });
  assert.equal(late.isError, true);
  assert.equal(late.structuredContent.error.code, 'already_answered');
});

await check('a task that goes on is not waited for, and is canceled', async () => {
  const going = await use('send_message', { thread: 'mcp-3', text: 'go', to: ['slow'], wait: 0 });
  assert.equal(going.rests, false);
  const [task] = (await api('/api/threads/mcp-3')).tasks;
  await use('cancel_task', { thread: 'mcp-3', task: task.id, reason: 'enough' });
  assert.equal((await api('/api/threads/mcp-3')).tasks[0].status, 'canceled');
});

await check('what was said is found', async () => {
  let found;
  do {
    found = (await use('search', { query: '"from a client"', limit: 5 })).results;
  } while (found.length === 0);
  assert.equal(found[0].thread, 'mcp-1');
  const { threads } = await use('list_threads', { limit: 2 });
  assert.equal(threads.length, 2);
});

await check('threads, tasks and artifacts are resources', async () => {
  await use('send_message', { thread: 'mcp/4 ü', text: 'write it' });
  const all = [];
  let cursor;
  do {
    const page = await client.listResources({ cursor });
    all.push(...page.resources);
    cursor = page.nextCursor;
  } while (cursor);
  const uris = all.map((resource) => resource.uri);
  assert.equal(new Set(uris).size, uris.length);
  const thread = 'thread://mcp%2F4%20%C3%BC';
  assert.ok(uris.includes(thread), uris.join('\n'));
  const below = uris.filter((uri) => uri.startsWith(`${thread}/`));
  assert.equal(below.filter((uri) => uri.includes('/tasks/')).length, 1);
  const files = all.filter((resource) => resource.uri.startsWith(`${thread}/artifacts/`));
  assert.equal(files.length, 3);
  assert.equal(JSON.parse((await read(thread)).text).id, 'mcp/4 ü');
  const task = JSON.parse((await read(below.find((uri) => uri.includes('/tasks/')))).text);
  assert.equal(task.task.status, 'completed');
  assert.ok(texts(task.messages).includes('It is written.'));
  const note = files.find((file) => file.name === 'note.md');
  const content = await read(note.uri);
  assert.equal(content.text, '# Note\n\nHello.\n');
  assert.ok(content.mimeType.startsWith('text/markdown'), content.mimeType);
  const events = JSON.parse((await read(`${thread}/events`)).text);
  assert.equal(events.entries[0].event.kind, 'thread-created');
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.ok(resourceTemplates.some((template) => template.uriTemplate === 'thread://{thread}/artifacts/{artifact}'));
});

await check('many threads come page by page', async () => {
  for (let i = 0; i < 45; i++) await api('/api/threads', { id: `mcp-many-${i}` });
  // Lists are some milliseconds behind.
  for (;;) {
    const pages = [];
    let cursor;
    do {
      const page = await client.listResources({ cursor });
      pages.push(page.resources.map((resource) => resource.uri));
      cursor = page.nextCursor;
    } while (cursor);
    const many = pages.flat().filter((uri) => uri.startsWith('thread://mcp-many-'));
    assert.equal(new Set(many).size, many.length, 'nothing twice');
    if (many.length < 45) continue;
    assert.ok(pages.length >= 3, `${pages.length} pages`);
    break;
  }
});

await check('what is not there is refused', async () => {
  await assert.rejects(read('thread://none'), (error) => error.code === -32002);
  await assert.rejects(read('file:///etc/passwd'), (error) => error.code === -32002);
  await assert.rejects(client.callTool({ name: 'sing', arguments: {} }), (error) => error.code === -32602);
  await assert.rejects(client.listResources({ cursor: 'x y' }));
  const wrong = await client.callTool({ name: 'send_message', arguments: { text: 7 } });
  assert.equal(wrong.structuredContent.error.pointer, '/text');
  const nobody = await client.callTool({ name: 'send_message', arguments: { text: 'x', to: ['nobody'] } });
  assert.equal(nobody.isError, true);
  const broken = await fetch(`${url}/mcp`, { method: 'POST', body: '{', headers: {
    'content-type': 'application/json', accept: 'application/json, text/event-stream' } });
  assert.ok(broken.status >= 400 && broken.status < 500, `${broken.status}`);
});

await client.close();

await check('what is said through 20 cuts at any byte is said once, and answered', async () => {
  let said = 0;
  const once = async (base) => {
    const message = `cut-${++said}`;
    for (;;) {
      const own = await connected('/mcp', base).catch(() => undefined);
      const args = { thread: 'mcp-cut', text: `word ${said}`, message };
      const result = await own?.callTool({ name: 'send_message', arguments: args }).catch(() => undefined);
      await own?.close();
      if (!result) continue;
      assert.ok(!result.isError, JSON.stringify(result));
      return assert.deepEqual(texts(result.structuredContent.messages), [`You said: word ${said}`]);
    }
  };
  await throughCuts(900, once, { type: 'application/json', rounds: 200 });
  const { messages } = await api('/api/threads/mcp-cut');
  const words = Array.from({ length: said }, (_, i) => `word ${i + 1}`);
  assert.deepEqual(messages.filter((m) => m.type === 'user-message').map((m) => m.text), words);
  assert.deepEqual(texts(messages), words.map((word) => `You said: ${word}`));
});
