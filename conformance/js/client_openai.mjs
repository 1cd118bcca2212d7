// OpenAI's threads through npm's `openai`: `client.beta.threads`, whole, polled and streamed.
//
//     node client_openai.mjs URL

import assert from 'node:assert/strict';

import OpenAI, { toFile } from 'openai';

import { CUTS, api, check, throughCuts, url } from './client.mjs';

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
const { threads } = client.beta;
const poll = { pollIntervalMs: 50 };

const texts = (messages) => messages.flatMap((m) => m.content).map((part) => part.text?.value);

// A thread's messages, the first one first.
async function said(thread, query = {}) {
  const all = [];
  for await (const message of threads.messages.list(thread, { order: 'asc', ...query })) all.push(message);
  return all;
}

const asked = (content) => threads.create({ messages: [{ role: 'user', content }] });

await check('threads, messages and their pages', async () => {
  const thread = await threads.create({
    messages: Array.from({ length: 45 }, (_, n) => ({ role: 'user', content: `${n}` })),
    metadata: { topic: 'birds' },
  });
  assert.deepEqual((await threads.retrieve(thread.id)).metadata, { topic: 'birds' });
  for (const limit of [1, 7, 100]) {
    assert.deepEqual(texts(await said(thread.id, { limit })), Array.from({ length: 45 }, (_, n) => `${n}`));
  }
  const message = await threads.messages.create(thread.id, { role: 'user', content: 'last', metadata: { a: 'b' } });
  assert.deepEqual(await threads.messages.retrieve(message.id, { thread_id: thread.id }), message);
  await threads.messages.update(message.id, { thread_id: thread.id, metadata: { a: 'c' } });
  assert.deepEqual((await threads.messages.retrieve(message.id, { thread_id: thread.id })).metadata, { a: 'c' });
  assert.equal((await threads.delete(thread.id)).deleted, true);
  await assert.rejects(threads.retrieve(thread.id), { status: 404, type: 'invalid_request_error' });
});

await check('runs are polled, with their steps, also those of others', async () => {
  const thread = await asked('search');
  const run = await threads.runs.createAndPoll(thread.id, { assistant_id: 'assistant' }, poll);
  assert.equal(run.status, 'completed');
  const steps = await threads.runs.steps.list(run.id, { thread_id: thread.id, order: 'asc' });
  assert.deepEqual(steps.data.map((step) => step.type), ['message_creation', 'tool_calls', 'message_creation']);
  const step = await threads.runs.steps.retrieve(steps.data[1].id, { thread_id: thread.id, run_id: run.id });
  assert.equal(step.step_details.tool_calls[0].function.name, 'flights__search_flights');
  const { tasks } = await api(`/api/threads/${thread.id}/messages`, { content: 'hello', to: 'assistant' });
  const other = await threads.runs.poll(tasks[0].taskId, { thread_id: thread.id }, poll);
  assert.equal(other.status, 'completed');
  assert.equal(texts(await said(thread.id)).at(-1), 'You said: hello');
});

await check('runs are streamed through the helper', async () => {
  const thread = await asked('search');
  let words = '';
  const calls = [];
  const stream = threads.runs
    .stream(thread.id, { assistant_id: 'assistant' })
    .on('textDelta', (delta) => (words += delta.value))
    .on('toolCallDone', (call) => calls.push(call.function.name));
  const run = await stream.finalRun();
  assert.equal(run.status, 'completed');
  assert.equal(words, 'I look for flights.Three airlines fly on Friday.');
  assert.ok(calls.includes('flights__search_flights'));
  const messages = await stream.finalMessages();
  assert.deepEqual(texts(messages), texts(await said(thread.id, { run_id: run.id })));
  const raw = await threads.createAndRun({ assistant_id: 'assistant', stream: true, thread: { messages: [{ role: 'user', content: 'hi' }] } });
  const names = [];
  for await (const event of raw) names.push(event.event);
  assert.equal(names[0], 'thread.created');
  assert.equal(names.at(-1), 'thread.run.completed');
});

await check('tools of the client and approvals are submitted', async () => {
  const thread = await asked('where am I');
  let run = await threads.runs.createAndPoll(thread.id, { assistant_id: 'assistant' }, poll);
  assert.equal(run.status, 'requires_action');
  const [call] = run.required_action.submit_tool_outputs.tool_calls;
  assert.equal(call.function.name, 'locate');
  const tool_outputs = [{ tool_call_id: call.id, output: 'Lisbon' }];
  const rest = threads.runs.submitToolOutputsStream(run.id, { thread_id: thread.id, tool_outputs });
  assert.equal((await rest.finalRun()).status, 'completed');
  assert.deepEqual(texts(await rest.finalMessages()), ['Now I know where you are.']);
  const booking = await asked('book it');
  run = await threads.runs.createAndPoll(booking.id, { assistant_id: 'assistant' }, poll);
  const [question] = run.required_action.submit_tool_outputs.tool_calls;
  assert.equal(question.function.name, 'request_input');
  run = await threads.runs.submitToolOutputsAndPoll(
    run.id,
    { thread_id: booking.id, tool_outputs: [{ tool_call_id: question.id, output: 'true' }] },
    poll,
  );
  assert.equal(run.status, 'completed');
});

await check('a run is stopped', async () => {
  const thread = await asked('go');
  const stream = threads.runs.stream(thread.id, { assistant_id: 'slow' });
  let heard = 0;
  stream.on('textDelta', async () => {
    if (++heard === 3) await threads.runs.cancel(stream.currentRun().id, { thread_id: thread.id });
  });
  const run = await stream.finalRun();
  assert.equal(run.status, 'cancelled');
});

await check('assistants and files', async () => {
  const assistants = [];
  for await (const assistant of client.beta.assistants.list()) assistants.push(assistant.id);
  assert.ok(assistants.includes('assistant'));
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, n) => n % 256));
  const file = await client.files.create({ file: await toFile(bytes, 'data.bin'), purpose: 'assistants' });
  assert.equal(file.bytes, bytes.length);
  const content = Buffer.from(await (await client.files.content(file.id)).arrayBuffer());
  assert.ok(content.equals(bytes));
  assert.equal((await client.files.delete(file.id)).deleted, true);
});

await check('runs that were cut off at 20 random bytes are found again', () =>
  throughCuts(6000, async (base) => {
    const whole = Array.from({ length: 100 }, (_, n) => `w${n + 1}`).join(' ');
    const cutting = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', maxRetries: 0 });
    await Promise.all(
      Array.from({ length: CUTS }, async () => {
        const thread = await asked('go');
        let [run, heard] = [undefined, ''];
        const stream = await cutting.beta.threads.runs.create(thread.id, { assistant_id: 'slow', stream: true });
        await assert.rejects(async () => {
          for await (const { event, data } of stream) {
            run ??= data.id;
            if (event === 'thread.message.delta') heard += data.delta.content[0].text.value;
          }
        });
        // Lost before it had a name, it is the only one in its thread.
        run ??= (await threads.runs.list(thread.id)).data[0].id;
        const done = await threads.runs.poll(run, { thread_id: thread.id }, poll);
        assert.equal(done.status, 'completed');
        assert.deepEqual(texts(await said(thread.id)), ['go', whole]);
        assert.ok(whole.startsWith(heard), heard);
      }),
    );
  }));
