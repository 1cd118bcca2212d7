// AG-UI's own client, `HttpAgent`: runs, interrupts and answers, tools of the client, subagents, and
// joining a run that was lost.
//
//     node client_ag_ui.mjs URL

import assert from 'node:assert/strict';

import { HttpAgent } from '@ag-ui/client';
import { EventSchemas } from '@ag-ui/core/schemas';

import { api, check, throughCuts, url } from './client.mjs';

const WORDS = Array.from({ length: 100 }, (_, i) => `w${i + 1}`).join(' ');

// The client cancels what is broken already, and does not wait for what comes of it.
process.on('unhandledRejection', (error) => {
  if (!['network error', 'terminated'].includes(error?.message)) throw error;
});

let ids = 0;
const user = (content) => ({ id: `u-${process.pid}-${++ids}`, role: 'user', content });

function agent(threadId, options = {}) {
  const own = new HttpAgent({ url: `${url}/ag-ui`, threadId, ...options });
  own.seen = [];
  // Everything that arrives is what the schemas of the protocol say.
  own.subscribe({
    onEvent: ({ event }) => {
      EventSchemas.parse(event);
      own.seen.push(event);
    },
  });
  return own;
}

const types = (own) => own.seen.map((event) => event.type);
const text = (messages) =>
  messages.filter((m) => m.role === 'assistant' && m.content).map((m) => m.content).join('|');
const shown = (messages) =>
  messages
    .filter((m) => m.role !== 'activity')
    .map(({ id, role, content, toolCalls, toolCallId }) =>
      JSON.parse(JSON.stringify({ id, role, content, toolCalls, toolCallId })));
const events = async (id) => (await api(`/api/threads/${id}/events?limit=10000`)).entries.map((e) => e.event);
// What someone sees who was not there.
async function joined(id) {
  const own = agent(id);
  await own.runAgent();
  return own;
}

await check('a run has the client\'s id, and two turns are one thread', async () => {
  const own = agent('g-1');
  own.addMessage(user('hello'));
  const { result, newMessages } = await own.runAgent({ runId: 'run-1' });
  assert.equal(result, 'You said: hello');
  assert.equal(text(newMessages), 'You said: hello');
  const [first, last] = [own.seen[0], own.seen.at(-1)];
  assert.deepEqual([first.type, first.runId, first.threadId], ['RUN_STARTED', 'run-1', 'g-1']);
  assert.deepEqual([last.type, last.runId, last.outcome.type], ['RUN_FINISHED', 'run-1', 'success']);
  own.addMessage(user('again'));
  await own.runAgent({ runId: 'run-2' });
  assert.equal(text(own.messages), 'You said: hello|You said: again');
  assert.equal((await events('g-1')).filter((event) => event.kind === 'message').length, 2, 'nothing twice');
  assert.deepEqual(shown((await joined('g-1')).messages), shown(own.messages));
});

await check('thoughts, tools and their results are bracketed', async () => {
  const own = agent('g-2');
  own.addMessage(user('search please'));
  await own.runAgent();
  for (const type of ['REASONING_START', 'TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'TOOL_CALL_RESULT', 'STEP_STARTED']) {
    assert.ok(types(own).includes(type), `${type}: ${types(own)}`);
  }
  const [call] = own.messages.find((message) => message.toolCalls).toolCalls;
  assert.equal(call.function.name, 'flights__search_flights');
  assert.deepEqual(JSON.parse(call.function.arguments), { from: 'Oslo', to: 'Lisbon', date: 'Friday' });
  assert.deepEqual(shown((await joined('g-2')).messages), shown(own.messages));
});

for (const approved of [true, false]) {
  await check(`an interrupt is ${approved ? 'approved' : 'refused'} by a run that resumes`, async () => {
    const id = `g-3-${approved}`;
    const own = agent(id);
    own.addMessage(user('book it'));
    await own.runAgent({ runId: 'ask' });
    const [interrupt] = own.pendingInterrupts;
    assert.equal(interrupt.reason, 'tool_call');
    assert.equal(own.seen.at(-1).outcome.type, 'interrupt');
    const other = await joined(id);
    assert.equal(other.pendingInterrupts[0].id, interrupt.id, 'who joins sees what waits');
    const answer = { interruptId: interrupt.id, status: 'resolved', payload: { approved } };
    await own.runAgent({ runId: 'answer', resume: [answer] });
    assert.deepEqual(own.pendingInterrupts, []);
    assert.equal(own.seen.at(-1).outcome.type, 'success');
    assert.equal(text(own.messages), 'I book it if you agree.|What you decided is done.');
    const done = (await events(id)).find((event) => event.kind === 'tool-complete');
    assert.equal(done.outcome, approved ? 'success' : 'denied');
    // The same run again changes nothing.
    own.pendingInterrupts = [];
    await own.runAgent({ runId: 'answer', resume: [answer] });
    assert.equal((await events(id)).filter((event) => event.kind === 'input-received').length, 1);
    assert.deepEqual(shown((await joined(id)).messages).map((m) => m.role), ['user', 'assistant', 'assistant', 'tool', 'assistant']);
  });
}

await check('two interrupts of a run are resolved together', async () => {
  const own = agent('g-12');
  own.addMessage(user('both of them'));
  await own.runAgent();
  const [first, second] = own.pendingInterrupts;
  assert.equal(own.pendingInterrupts.length, 2, JSON.stringify(own.pendingInterrupts));
  await own.runAgent({
    resume: [
      { interruptId: first.id, status: 'resolved', payload: { approved: true } },
      { interruptId: second.id, status: 'cancelled' },
    ],
  });
  assert.equal(own.seen.at(-1).outcome.type, 'success');
  assert.equal(text(own.messages), 'I book both if you agree.|Both are settled.');
  const outcomes = (await events('g-12')).filter((event) => event.kind === 'tool-complete').map((event) => event.outcome);
  assert.deepEqual(outcomes.sort(), ['denied', 'success']);
});

await check('a question of a subagent interrupts the run, which goes on with the answer', async () => {
  const own = agent('g-13');
  own.addMessage(user('let them ask'));
  await own.runAgent();
  const [interrupt] = own.pendingInterrupts;
  assert.ok(interrupt, JSON.stringify(own.seen.at(-1)));
  assert.equal((await joined('g-13')).pendingInterrupts[0].id, interrupt.id, 'who joins sees what waits');
  await own.runAgent({ resume: [{ interruptId: interrupt.id, status: 'resolved', payload: 'three' }] });
  assert.equal(own.seen.at(-1).outcome.type, 'success', JSON.stringify(own.seen.at(-1)));
  assert.equal(text(own.messages), 'So many.|Now they know.');
  assert.equal((await events('g-13')).filter((event) => event.kind === 'input-received').length, 1);
});

await check('a tool of the client gets its result from a message', async () => {
  const own = agent('g-4');
  own.addMessage(user('where am I'));
  await own.runAgent();
  const call = own.messages.flatMap((message) => message.toolCalls ?? []).at(-1);
  assert.equal(call.function.name, 'locate');
  assert.deepEqual(own.seen.at(-1).outcome, { type: 'success', pendingToolCallIds: [call.id] });
  own.addMessage({ id: 'tool-1', role: 'tool', toolCallId: call.id, content: '{"city":"Lisbon"}' });
  await own.runAgent();
  assert.equal(text(own.messages), 'I ask your device.|Now I know where you are.');
  assert.equal(own.messages.filter((message) => message.role === 'tool').length, 1);
  const done = (await events('g-4')).find((event) => event.kind === 'tool-complete');
  assert.deepEqual(done.result, { city: 'Lisbon' });
});

await check('a tool that the client brings is called, and gets its result from there', async () => {
  const own = agent('g-11');
  own.addMessage(user('forecast please'));
  const tools = [{ name: 'weather', description: 'Tells the weather.', parameters: { type: 'object', properties: { city: { type: 'string' } } } }];
  await own.runAgent({ tools });
  const call = own.messages.flatMap((message) => message.toolCalls ?? []).at(-1);
  assert.equal(call.function.name, 'weather');
  assert.deepEqual(own.seen.at(-1).outcome.pendingToolCallIds, [call.id]);
  own.addMessage({ id: 'tool-2', role: 'tool', toolCallId: call.id, content: 'sunny' });
  await own.runAgent({ tools });
  assert.equal(own.seen.at(-1).outcome.type, 'success');
  const done = (await events('g-11')).find((event) => event.kind === 'tool-complete');
  assert.equal(done.result, 'sunny');
});

await check('what a subagent does is told as its own', async () => {
  const own = agent('g-5');
  own.addMessage(user('delegate'));
  await own.runAgent();
  const started = own.seen.find((event) => event.type === 'SUBAGENT_STARTED');
  assert.equal(started.name, 'helper');
  assert.ok(started.parentToolCallId);
  const said = own.seen.find((event) => event.type === 'TEXT_MESSAGE_START' && event.subagentRunId === started.subagentRunId);
  assert.equal(own.messages.find((message) => message.id === said.messageId).content, 'Here is some help.');
  assert.deepEqual(shown((await joined('g-5')).messages), shown(own.messages));
});

await check('a run that fails is an error, one that is stopped is cancelled', async () => {
  const own = agent('g-6');
  own.addMessage(user('fail'));
  await own.runAgent().catch(() => {});
  assert.equal(own.seen.at(-1).type, 'RUN_ERROR', types(own).join());
  const slow = agent('g-7');
  slow.addMessage(user('go'));
  const ended = slow.runAgent({ forwardedProps: { agent: 'slow' } });
  while (!/w10/.test(text(slow.messages))) await new Promise((next) => setTimeout(next, 5));
  await api('/api/threads/g-7/cancel', {});
  await ended;
  assert.equal(slow.seen.at(-1).outcome.type, 'cancelled');
});

await check('a run is whole after 20 cuts at any byte, by joining it again', () =>
  throughCuts(6000, async (base, proxy, round) => {
    const id = `g-8-${round}`;
    const own = agent(id, { url: `${base}/ag-ui` });
    own.addMessage(user('go'));
    for (let whole = false; !whole; ) {
      const cuts = proxy.cuts;
      await own.runAgent({ runId: 'cut', forwardedProps: { agent: 'slow' } }).then(
        () => (whole = true),
        (error) => assert.ok(proxy.cuts > cuts, error),
      );
    }
    assert.equal(text(own.messages), WORDS);
    assert.equal(own.messages.length, 2);
    assert.equal((await events(id)).filter((event) => event.kind === 'message').length, 1);
    assert.deepEqual(shown((await joined(id)).messages), shown(own.messages));
  }));

await check('all agents that answer a message are heard in one run, also by who joins it', async () => {
  await api('/api/threads', { id: 'g-14' });
  const join = (participantId) => ({ kind: 'participant-joined', participantId, role: 'agent' });
  await api('/api/threads/g-14/events', [join('helper'), join('slow'), join('assistant')]);
  const own = agent('g-14');
  own.addMessage(user('book it'));
  const ended = own.runAgent();
  while (!/w10/.test(text(own.messages))) await new Promise((next) => setTimeout(next, 5));
  const other = await joined('g-14');
  await ended;
  const said = ['Here is some help.', 'I book it if you agree.', WORDS];
  for (const one of [own, other]) {
    assert.deepEqual(text(one.messages).split('|').sort(), said);
    assert.equal(types(one).filter((type) => type.startsWith('RUN_')).join(), 'RUN_STARTED,RUN_FINISHED');
    assert.equal(one.pendingInterrupts.length, 1, 'what one of them waits for is told');
  }
  const [{ id: interruptId }] = own.pendingInterrupts;
  await own.runAgent({ resume: [{ interruptId, status: 'resolved', payload: true }] });
  assert.match(text(own.messages), /What you decided is done\.$/);
});

await check('what others say is seen by who joins', async () => {
  const own = agent('g-9');
  own.addMessage(user('hello'));
  await own.runAgent();
  await api('/api/threads/g-9/messages', { content: 'from the side' });
  let other;
  do other = await joined('g-9');
  while (text(other.messages) !== 'You said: hello|You said: from the side');
});

await check('mistakes are told as RUN_ERROR, and change nothing', async () => {
  const own = agent('g-10');
  own.addMessage(user('hello'));
  const error = await own.runAgent({ forwardedProps: { agent: 'nobody' } }).then(() => undefined, (error) => error);
  assert.equal(error.status, 400);
  assert.equal(error.payload.type, 'RUN_ERROR');
  assert.equal(error.payload.pointer, '/forwardedProps/agent');
  assert.equal((await fetch(`${url}/api/threads/g-10`)).status, 404);
});
