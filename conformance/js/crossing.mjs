// One conversation, driven by others at the same time: the part of the AI SDK, and of an
// `EventSource` that sees everything.
//
//     node crossing.mjs URL drive|view|again THREAD
//
// A story is what users and agents said, and as far as the protocol tells it: the tools that were used,
// how often someone agreed, the artifacts, and how many turns were stopped.

import assert from 'node:assert/strict';

import { DefaultChatTransport, readUIMessageStream, validateUIMessages } from 'ai6';
import { EventSource } from 'eventsource';

import { url } from './client.mjs';

const [phase, thread] = process.argv.slice(3);
// Turns that the five clients begin.
const TURNS = 5;

// All that happens, as soon as so many turns that a user began are over.
function followed() {
  return new Promise((done, failed) => {
    const asked = new Set();
    const story = { user: [], assistant: new Map(), tools: [], approved: 0, artifacts: new Set(), canceled: 0 };
    const over = new Set();
    const source = new EventSource(`${url}/api/contexts/${thread}/stream`);
    const timer = setTimeout(() => failed(new Error(`only ${over.size} turns ended`)), 180_000);
    const on = (kind, take) => source.addEventListener(kind, (event) => {
      take(JSON.parse(event.data));
      if ([...over].filter((task) => asked.has(task)).length < TURNS) return;
      clearTimeout(timer);
      source.close();
      done({ ...story, assistant: [...story.assistant.values()], artifacts: [...story.artifacts] });
    });
    on('message', (event) => event.role === 'user' && story.user.push(
      typeof event.content === 'string' ? event.content : event.content.map((part) => part.text).join(''),
    ));
    on('task-created', (event) => event.initiator === 'user' && asked.add(event.taskId));
    on('content-delta', (event) => {
      // What an agent had on its tongue when it was stopped.
      if (over.has(event.taskId)) return;
      const part = `${event.taskId} ${event.partId}`;
      story.assistant.set(part, (story.assistant.get(part) ?? '') + event.delta);
    });
    on('tool-call', (event) => story.tools.push(event.toolName));
    on('input-received', (event) => (story.approved += event.value === true));
    for (const kind of ['file-write', 'data-write', 'dataset-write']) {
      on(kind, (event) => event.name && story.artifacts.add(event.name));
    }
    on('task-complete', (event) => over.add(event.taskId));
    on('task-status', (event) => {
      if (!['failed', 'canceled'].includes(event.status) || over.has(event.taskId)) return;
      story.canceled += event.status === 'canceled';
      over.add(event.taskId);
    });
  });
}

const transport = new DefaultChatTransport({
  api: `${url}/ai-sdk/chat`,
  headers: { 'x-ai-sdk-version': '6' },
});

// A turn with a tool call; what the SDK's own reader makes of it.
async function searched() {
  const message = { id: 'ai-1', role: 'user', parts: [{ type: 'text', text: 'search for flights' }] };
  const stream = await transport.sendMessages({
    chatId: thread, messages: [message], trigger: 'submit-message', abortSignal: undefined,
  });
  let last;
  for await (const own of readUIMessageStream({ stream })) last = own;
  const tool = last.parts.find((part) => part.type.startsWith('tool-') || part.type === 'dynamic-tool');
  assert.equal(tool?.state, 'output-available', JSON.stringify(last));
  assert.equal(last.parts.filter((part) => part.type === 'text').at(-1).text, 'Three airlines fly on Friday.');
}

if (phase === 'drive') {
  const [story] = await Promise.all([followed(), searched()]);
  console.log(JSON.stringify(story));
} else if (phase === 'again') {
  // Whoever comes later is told the same.
  console.log(JSON.stringify(await followed()));
} else {
  const told = await (await fetch(`${url}/ai-sdk/chat/${thread}?version=6`)).json();
  const messages = await validateUIMessages({ messages: told });
  const story = { user: [], assistant: [], tools: [], approved: 0 };
  for (const { role, parts } of messages) {
    story[role].push(...parts.filter((part) => part.type === 'text').map((part) => part.text));
    for (const part of parts.filter((part) => part.toolCallId)) {
      story.tools.push(part.toolName ?? part.type.replace(/^tool-/, ''));
      assert.equal(part.state, 'output-available', JSON.stringify(part));
      story.approved += part.approval?.approved === true;
    }
  }
  console.log(JSON.stringify(story));
}
