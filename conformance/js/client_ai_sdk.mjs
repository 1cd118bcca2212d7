// The AI SDK's own chat, of `ai` 5, 6 and 7, through its `DefaultChatTransport`: messages, tools,
// approvals, tools of the client, resuming after cuts, stopping, regenerating and editing.
//
//     node client_ai_sdk.mjs URL

import assert from 'node:assert/strict';

import * as ai5 from 'ai5';
import * as ai6 from 'ai6';
import * as ai7 from 'ai7';

import { api, check, throughCuts, url } from './client.mjs';

const LIBRARIES = { 5: ai5, 6: ai6, 7: ai7 };

// What a framework's binding keeps of a chat.
class State {
  status = 'ready';
  error = undefined;
  constructor(messages) {
    this.messages = messages;
  }
  pushMessage = (message) => {
    this.messages = [...this.messages, message];
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index, message) => {
    this.messages = this.messages.map((own, i) => (i === index ? this.snapshot(message) : own));
  };
  snapshot = (value) => structuredClone(value);
}

function chat(version, id, options = {}) {
  const { AbstractChat, DefaultChatTransport } = LIBRARIES[version];
  const { base = url, messages = [], body, fetch, ...rest } = options;
  class Chat extends AbstractChat {}
  const transport = new DefaultChatTransport({
    api: `${base}/ai-sdk/chat`,
    headers: { 'x-ai-sdk-version': String(version) },
    body,
    fetch,
  });
  return new Chat({ id, transport, state: new State(messages), ...rest });
}

const history = async (version, id) => {
  const response = await fetch(`${url}/ai-sdk/chat/${id}?version=${version}`);
  assert.equal(response.status, 200);
  return response.json();
};

const text = (message) =>
  message.parts.filter((part) => part.type === 'text').map((part) => part.text).join('|');
const tool = (message, name) => message.parts.find((part) => part.type === `tool-${name}`);
// What a message shows, without what only the stream or only the history tells.
const shown = (messages) =>
  messages.map(({ id, role, parts }) => ({
    id,
    role,
    parts: parts
      .filter((part) => !part.type.startsWith('data-'))
      .map(({ type, text, state, toolCallId, input, output, approval, ...rest }) => {
        const agent = (rest.providerMetadata ?? rest.callProviderMetadata)?.selvedge?.agent;
        return JSON.parse(JSON.stringify({ type, text, state, toolCallId, input, output, approval: approval?.approved, agent }));
      }),
  }));
const kinds = async (id) => {
  const { entries } = await api(`/api/threads/${id}/events?limit=10000`);
  return entries.map((entry) => entry.event);
};

const WORDS = Array.from({ length: 100 }, (_, i) => `w${i + 1}`).join(' ');

for (const version of [5, 6, 7]) {
  const library = LIBRARIES[version];
  const it = (name, run) => check(`ai ${version}: ${name}`, () => run(`ai${version}-${name.split(' ').join('-')}`));

  await it('a message is answered chunk by chunk, and the second goes on in the same thread', async (id) => {
    const own = chat(version, id);
    await own.sendMessage({ text: 'hello' });
    assert.equal(own.error, undefined);
    await own.sendMessage({ text: 'again' });
    assert.deepEqual(own.messages.map((m) => [m.role, text(m)]), [
      ['user', 'hello'],
      ['assistant', 'You said: hello'],
      ['user', 'again'],
      ['assistant', 'You said: again'],
    ]);
    const said = (await kinds(id)).filter((event) => event.kind === 'message');
    assert.deepEqual(said.map((event) => event.messageId), [own.messages[0].id, own.messages[2].id], 'nothing twice');
    assert.deepEqual(shown(await history(version, id)), shown(own.messages));
  });

  await it('what others say in the thread is in the history', async (id) => {
    const own = chat(version, id);
    await own.sendMessage({ text: 'hello' });
    await api(`/api/threads/${id}/messages`, { content: 'from the side', messageId: `${id}-native` });
    let messages;
    do messages = await history(version, id);
    while (text(messages.at(-1)) !== 'You said: from the side');
    assert.deepEqual(messages.map((m) => m.role), ['user', 'assistant', 'user', 'assistant']);
    const later = chat(version, id, { messages });
    await later.sendMessage({ text: 'and on' });
    assert.equal(text(later.messages.at(-1)), 'You said: and on');
    assert.equal((await kinds(id)).filter((event) => event.kind === 'message').length, 3);
  });

  await it('a tool that runs here shows its input and output', async (id) => {
    const own = chat(version, id);
    await own.sendMessage({ text: 'search please' });
    const part = tool(own.lastMessage, 'flights__search_flights');
    assert.equal(part.state, 'output-available', JSON.stringify(own.lastMessage));
    assert.deepEqual(part.input, { from: 'Oslo', to: 'Lisbon', date: 'Friday' });
    assert.ok(own.lastMessage.parts.some((p) => p.type === 'reasoning' && p.text === 'Let me look.'));
    assert.equal(text(own.lastMessage), 'I look for flights.|Three airlines fly on Friday.');
    assert.deepEqual(shown(await history(version, id)), shown(own.messages));
  });

  for (const approved of [true, false]) {
    await it(`a tool that needs consent is ${approved ? 'approved' : 'refused'}`, async (id) => {
      const own = chat(version, id, {
        sendAutomaticallyWhen:
          library.lastAssistantMessageIsCompleteWithApprovalResponses ?? library.lastAssistantMessageIsCompleteWithToolCalls,
      });
      await own.sendMessage({ text: 'book it' });
      const asked = tool(own.lastMessage, 'booking__book_flight');
      if (version === 5) {
        // It knows no approvals: the question is data, and its answer an output.
        assert.equal(asked.state, 'input-available');
        assert.ok(own.lastMessage.parts.some((p) => p.type === 'data-input-required'));
        await own.addToolResult({ tool: 'booking__book_flight', toolCallId: asked.toolCallId, output: approved });
      } else {
        assert.equal(asked.state, 'approval-requested');
        await own.addToolApprovalResponse({ id: asked.approval.id, approved, reason: 'because' });
      }
      while (own.status !== 'ready' || !/done/.test(text(own.lastMessage))) {
        assert.equal(own.error, undefined);
        await new Promise((next) => setTimeout(next, 5));
      }
      assert.equal(own.messages.length, 2, JSON.stringify(own.messages));
      const answered = tool(own.lastMessage, 'booking__book_flight');
      assert.deepEqual(answered.input, { flight: 'KA101', passenger: 'Ada' });
      const denied = version === 5 ? 'output-error' : 'output-denied';
      assert.equal(answered.state, approved ? 'output-available' : denied);
      assert.equal(text(own.lastMessage), 'I book it if you agree.|What you decided is done.');
      assert.equal((await kinds(id)).filter((event) => event.kind === 'input-received').length, 1);
      assert.deepEqual(shown(await history(version, id)), shown(own.messages));
    });
  }

  await it('two tools that need consent at once are answered together', async (id) => {
    const own = chat(version, id, {
      sendAutomaticallyWhen:
        library.lastAssistantMessageIsCompleteWithApprovalResponses ?? library.lastAssistantMessageIsCompleteWithToolCalls,
    });
    await own.sendMessage({ text: 'both of them' });
    const calls = () => own.lastMessage.parts.filter((part) => part.type === 'tool-booking__book_flight');
    assert.deepEqual(calls().map((part) => part.input.flight), ['KA101', 'KA102'], JSON.stringify(own.lastMessage));
    for (const [nth, part] of calls().entries()) {
      const approved = nth === 0;
      if (version === 5) await own.addToolResult({ tool: 'booking__book_flight', toolCallId: part.toolCallId, output: approved });
      else await own.addToolApprovalResponse({ id: part.approval.id, approved });
    }
    while (own.status !== 'ready' || !/settled/.test(text(own.lastMessage))) {
      assert.equal(own.error, undefined);
      await new Promise((next) => setTimeout(next, 5));
    }
    assert.equal(own.messages.length, 2, JSON.stringify(own.messages));
    const denied = version === 5 ? 'output-error' : 'output-denied';
    assert.deepEqual(calls().map((part) => part.state), ['output-available', denied]);
    const events = await kinds(id);
    assert.equal(events.filter((event) => event.kind === 'input-received').length, 2);
    assert.deepEqual(events.filter((event) => event.kind === 'tool-complete').map((event) => event.outcome).sort(), ['denied', 'success']);
    assert.deepEqual(shown(await history(version, id)), shown(own.messages));
  });

  await it('a question of a subagent ends the stream, and its answer goes on in the same chat', async (id) => {
    const own = chat(version, id);
    await own.sendMessage({ text: 'let them ask' });
    assert.equal(own.status, 'ready', String(own.error));
    const asked = own.lastMessage.parts.find((part) => part.type === 'data-input-required');
    assert.ok(asked, JSON.stringify(own.lastMessage));
    assert.equal((await fetch(`${url}/ai-sdk/chat/${id}/stream`)).status, 204, 'nothing runs');
    await api(`/api/threads/${id}/inputs/${encodeURIComponent(asked.data.inputId)}`, { value: 'three' });
    let messages;
    do messages = await history(version, id);
    while (!messages.some((message) => /Now they know/.test(text(message))));
    assert.equal(messages.filter((message) => message.role === 'user').length, 1);
    assert.equal((await kinds(id)).filter((event) => event.kind === 'input-received').length, 1);
  });

  // A chat in which several agents answer each message.
  const shared = async (id, agents, options) => {
    await api('/api/threads', { id });
    const joins = agents.map((participantId) => ({ kind: 'participant-joined', participantId, role: 'agent' }));
    await api(`/api/threads/${id}/events`, joins);
    return chat(version, id, options);
  };
  const by = (message, agent) =>
    message.parts.filter((part) => part.type === 'text' && part.providerMetadata.selvedge.agent === agent)
      .map((part) => part.text).join('|');

  await it('all agents that answer a message are heard in one, each by name', async (id) => {
    const own = await shared(id, ['helper', 'slow', 'assistant']);
    await own.sendMessage({ text: 'search please' });
    assert.equal(own.error, undefined);
    assert.deepEqual(own.messages.map((m) => m.role), ['user', 'assistant']);
    assert.equal(by(own.lastMessage, 'helper'), 'Here is some help.');
    assert.equal(by(own.lastMessage, 'slow'), WORDS);
    assert.equal(by(own.lastMessage, 'assistant'), 'I look for flights.|Three airlines fly on Friday.');
    assert.equal(tool(own.lastMessage, 'flights__search_flights').callProviderMetadata.selvedge.agent, 'assistant');
    assert.deepEqual(shown(await history(version, id)), shown(own.messages));
    await own.sendMessage({ text: 'hello' });
    assert.equal(own.messages.length, 4);
    assert.equal(by(own.lastMessage, 'assistant'), 'You said: hello');
    assert.deepEqual(shown(await history(version, id)), shown(own.messages));
    await library.validateUIMessages({ messages: await history(version, id) });
  });

  await it('one of several agents asks while others go on, and is answered in the same message', async (id) => {
    const own = await shared(id, ['slow', 'assistant'], {
      sendAutomaticallyWhen:
        library.lastAssistantMessageIsCompleteWithApprovalResponses ?? library.lastAssistantMessageIsCompleteWithToolCalls,
    });
    await own.sendMessage({ text: 'book it' });
    assert.equal(own.error, undefined);
    assert.equal(by(own.lastMessage, 'slow'), WORDS, 'who does not wait goes on');
    const asked = tool(own.lastMessage, 'booking__book_flight');
    assert.deepEqual(shown(await history(version, id)), shown(own.messages));
    if (version === 5) {
      await own.addToolResult({ tool: 'booking__book_flight', toolCallId: asked.toolCallId, output: true });
    } else {
      await own.addToolApprovalResponse({ id: asked.approval.id, approved: true });
    }
    while (own.status !== 'ready' || !/done/.test(by(own.lastMessage, 'assistant'))) {
      assert.equal(own.error, undefined);
      await new Promise((next) => setTimeout(next, 5));
    }
    assert.equal(own.messages.length, 2, JSON.stringify(own.messages));
    assert.equal(by(own.lastMessage, 'slow'), WORDS, 'nothing twice');
    assert.equal(tool(own.lastMessage, 'booking__book_flight').state, 'output-available');
    assert.equal((await kinds(id)).filter((event) => event.kind === 'input-received').length, 1);
    assert.deepEqual(shown(await history(version, id)), shown(own.messages));
  });

  await it('what several agents say is resumed from its start, and stopped together', async (id) => {
    const first = await shared(id, ['helper', 'slow']);
    const gone = first.sendMessage({ text: 'go' });
    while (!first.lastMessage || !/w10/.test(text(first.lastMessage))) await new Promise((next) => setTimeout(next, 5));
    await first.stop();
    await gone;
    const second = chat(version, id, { messages: await history(version, id) });
    await second.resumeStream();
    assert.equal(second.error, undefined);
    assert.equal(by(second.lastMessage, 'helper'), 'Here is some help.');
    assert.equal(by(second.lastMessage, 'slow'), WORDS);
    assert.deepEqual(shown(await history(version, id)), shown(second.messages));
    const third = await shared(`${id}-stopped`, ['slow', 'planner'], {
      fetch: (input, init) => fetch(init.method === 'POST' ? `${input}?abort=stop` : input, init),
    });
    const left = third.sendMessage({ text: 'go' });
    while (!third.lastMessage || !/w10/.test(text(third.lastMessage))) await new Promise((next) => setTimeout(next, 5));
    await third.stop();
    await left;
    let events;
    do events = await kinds(`${id}-stopped`);
    while (!events.some((event) => event.status === 'canceled' && /slow/.test(event.taskId)));
  });

  await it('a tool of the client gets its output from there', async (id) => {
    const own = chat(version, id, {
      sendAutomaticallyWhen: library.lastAssistantMessageIsCompleteWithToolCalls,
      async onToolCall({ toolCall }) {
        if (toolCall.toolName !== 'locate') return;
        const add = own.addToolOutput ?? own.addToolResult;
        add({ tool: 'locate', toolCallId: toolCall.toolCallId, output: { city: 'Lisbon' } });
      },
    });
    await own.sendMessage({ text: 'where am I' });
    while (own.status !== 'ready' || !/Now I know/.test(text(own.lastMessage))) {
      assert.equal(own.error, undefined);
      await new Promise((next) => setTimeout(next, 5));
    }
    assert.deepEqual(tool(own.lastMessage, 'locate').output, { city: 'Lisbon' });
    const done = (await kinds(id)).find((event) => event.kind === 'tool-complete');
    assert.deepEqual(done.result, { city: 'Lisbon' });
    assert.deepEqual(shown(await history(version, id)), shown(own.messages));
  });

  await it('a turn that fails is an error', async (id) => {
    const own = chat(version, id);
    await own.sendMessage({ text: 'fail' });
    assert.equal(own.status, 'error');
    assert.match(own.error.message, /script fails/);
  });

  await it('a message that runs is resumed from its start after a reload', async (id) => {
    const first = chat(version, id, { body: { agent: 'slow' } });
    const gone = first.sendMessage({ text: 'go' });
    while (!first.lastMessage || !/w10/.test(text(first.lastMessage))) await new Promise((next) => setTimeout(next, 5));
    await first.stop();
    await gone;
    const second = chat(version, id, { messages: await history(version, id) });
    await second.resumeStream();
    assert.equal(second.error, undefined);
    assert.deepEqual(second.messages.map(text), ['go', WORDS]);
    await second.resumeStream();
    assert.deepEqual(second.messages.map(text), ['go', WORDS], 'nothing runs any more');
    assert.deepEqual(shown(await history(version, id)), shown(second.messages));
  });

  await it('a stop ends the turn, and the chat goes on', async (id) => {
    const own = chat(version, id, { body: { agent: 'slow' } });
    const gone = own.sendMessage({ text: 'go' });
    while (!own.lastMessage || !/w10/.test(text(own.lastMessage))) await new Promise((next) => setTimeout(next, 5));
    const stopped = await fetch(`${url}/ai-sdk/chat/${id}/stop`, { method: 'POST' });
    assert.equal((await stopped.json()).stopped.length, 1);
    await gone;
    assert.ok(text(own.lastMessage).length < WORDS.length);
    assert.equal((await fetch(`${url}/ai-sdk/chat/${id}/stream`)).status, 204);
    assert.ok((await kinds(id)).some((event) => event.kind === 'task-status' && event.status === 'canceled'));
    const later = chat(version, id, { messages: own.messages });
    await later.sendMessage({ text: 'hello' });
    assert.equal(text(later.lastMessage), 'You said: hello');
  });

  await it('a client that only goes away does not stop the turn unless it asks to', async (id) => {
    for (const abort of ['leave', 'stop']) {
      const own = chat(version, `${id}-${abort}`, {
        body: { agent: 'slow' },
        fetch: (input, init) => fetch(init.method === 'POST' ? `${input}?abort=${abort}` : input, init),
      });
      const gone = own.sendMessage({ text: 'go' });
      while (!own.lastMessage || !/w10/.test(text(own.lastMessage))) await new Promise((next) => setTimeout(next, 5));
      await own.stop();
      await gone;
      let last;
      do last = (await kinds(`${id}-${abort}`)).at(-1);
      while (last.kind !== 'task-complete' && last.status !== 'canceled');
      assert.equal(last.kind, abort === 'stop' ? 'task-status' : 'task-complete');
    }
  });

  await it('a regenerated answer takes the place of the first, which stays in the old line', async (id) => {
    const own = chat(version, id);
    await own.sendMessage({ text: 'one' });
    await own.sendMessage({ text: 'two' });
    const before = own.messages;
    await own.regenerate();
    assert.deepEqual(own.messages.map(text), ['one', 'You said: one', 'two', 'You said: two']);
    assert.deepEqual(shown(await history(version, id)), shown(own.messages));
    const told = (await kinds(id)).find((event) => event.name === 'thread.promoted');
    assert.deepEqual(shown(await history(version, told.data.old)), shown(before));
  });

  await it('an edited message is answered as if the rest had not been said', async (id) => {
    const own = chat(version, id);
    await own.sendMessage({ text: 'one' });
    await own.sendMessage({ text: 'two' });
    await own.sendMessage({ text: 'three', messageId: own.messages[0].id });
    assert.deepEqual(own.messages.map(text), ['three', 'You said: three']);
    assert.deepEqual(shown(await history(version, id)), shown(own.messages));
    await own.sendMessage({ text: 'four' });
    assert.deepEqual(own.messages.map(text), ['three', 'You said: three', 'four', 'You said: four']);
  });

  await it('an answer is whole after 20 cuts at any byte, by resuming', (chatId) =>
    throughCuts(3500, async (base, proxy, round) => {
      const id = `${chatId}-${round}`;
      let own = chat(version, id, { base, body: { agent: 'slow' } });
      await own.sendMessage({ text: 'go' });
      while (own.status === 'error') {
        // Version 5 adds what it is given again to what it has; it begins with the history.
        if (version === 5) own = chat(version, id, { base, messages: await history(version, id) });
        const cuts = proxy.cuts;
        await own.resumeStream();
        assert.ok(own.status === 'ready' || proxy.cuts > cuts, own.error);
      }
      // It was over when the client came again: then the history has it.
      if (text(own.lastMessage) !== WORDS) own = chat(version, id, { messages: await history(version, id) });
      assert.deepEqual(own.messages.map(text), ['go', WORDS]);
      assert.deepEqual(shown(await history(version, id)), shown(own.messages));
      assert.equal((await kinds(id)).filter((event) => event.kind === 'message').length, 1);
    }));

  await it('mistakes are told in the error, and change nothing', async (id) => {
    const own = chat(version, id, { body: { agent: 'nobody' } });
    await own.sendMessage({ text: 'hello' });
    assert.equal(own.status, 'error');
    assert.match(own.error.message, /no agent `nobody`/);
    assert.equal((await fetch(`${url}/api/threads/${id}`)).status, 404);
  });
}

await check('readUIMessageStream of every version reads what the transport gives', async () => {
  for (const [version, library] of Object.entries(LIBRARIES)) {
    const transport = new library.DefaultChatTransport({ api: `${url}/ai-sdk/chat` });
    const stream = await transport.sendMessages({
      chatId: `reader-${version}`,
      trigger: 'submit-message',
      messages: [{ id: `reader-${version}-1`, role: 'user', parts: [{ type: 'text', text: 'think' }] }],
    });
    let last;
    for await (const message of library.readUIMessageStream({ stream })) last = message;
    assert.equal(text(last), 'I have thought.');
    assert.equal(await transport.reconnectToStream({ chatId: `reader-${version}` }), null);
    assert.equal(await transport.reconnectToStream({ chatId: 'nothing-there' }), null);
  }
});
