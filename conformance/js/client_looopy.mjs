// Looopy's own URLs through npm's `eventsource`: prompts, answers, and a context's stream that goes
// on after it was cut.
//
//     node client_looopy.mjs URL

import assert from 'node:assert/strict';

import { EventSource } from 'eventsource';

import { api, check, throughCuts, url } from './client.mjs';

const SESSION = 'X-Amzn-Bedrock-AgentCore-Runtime-Session-Id';

// The events of one invocation, through a parser of the client's own.
function invoke(id, body) {
  return new Promise((done, failed) => {
    const events = [];
    const source = new EventSource(`${url}/invocations`, {
      fetch: (input, init) =>
        fetch(input, {
          ...init,
          method: 'POST',
          headers: { ...init.headers, [SESSION]: id, 'Content-Type': 'application/json' },
          body: JSON.stringify(body),
        }),
    });
    const kinds = ['task-created', 'task-status', 'content-delta', 'content-complete', 'tool-start',
      'tool-complete', 'input-required', 'input-received', 'task-complete', 'thread-error'];
    for (const kind of kinds) {
      source.addEventListener(kind, (event) => events.push(JSON.parse(event.data)));
    }
    // The answer ends with the turn; the client would come again, which would be another prompt.
    source.addEventListener('error', (event) => {
      source.close();
      event.code ? failed(new Error(`${event.code}: ${event.message}`)) : done(events);
    });
  });
}

const text = (events) =>
  events.filter((event) => event.kind === 'content-delta').map((event) => event.delta).join('');

await check('a prompt is answered in one stream that ends with the turn', async () => {
  const events = await invoke('l-1', { prompt: 'hello' });
  assert.equal(text(events), 'You said: hello');
  assert.equal(events.at(-1).kind, 'task-complete');
});

await check('a turn that asks ends its stream, and resumes with the answer', async () => {
  const asked = await invoke('l-2', { prompt: 'book it' });
  const question = asked.find((event) => event.kind === 'input-required');
  assert.ok(question, JSON.stringify(asked));
  const rest = await invoke('l-2', {
    type: 'resume',
    inputs: [{ inputId: question.inputId, value: true }],
  });
  assert.equal(rest.find((event) => event.kind === 'tool-complete').success, true);
  assert.equal(rest.at(-1).kind, 'task-complete');
});

await check('a context is followed through 20 cuts at any byte, without a gap or a double', async () => {
  await api('/api/threads', { id: 'l-3' });
  await api('/api/threads/l-3/messages', { content: 'go', to: 'slow' });
  const seen = [];
  const follow = (base) => new Promise((done) => {
    const source = new EventSource(`${base}/api/contexts/l-3/stream`);
    const collect = (event) => seen.push(event.lastEventId);
    for (const kind of ['message', 'task-created', 'task-status', 'step-started', 'content-delta', 'content-complete', 'step-finished']) {
      source.addEventListener(kind, collect);
    }
    source.addEventListener('task-complete', (event) => {
      collect(event);
      source.close();
      done();
    });
  });
  await throughCuts(1000, follow);
  const { entries } = await api('/api/threads/l-3/events?limit=10000');
  const known = new Set(seen);
  assert.equal(known.size, seen.length, 'nothing twice');
  const kinds = ['content-delta', 'content-complete', 'task-complete', 'task-created'];
  for (const entry of entries.filter((entry) => kinds.includes(entry.event.kind))) {
    assert.ok([...known].some((id) => id.endsWith(`.${entry.seq}`)), `${entry.seq} is missing`);
  }
});

await check('pings say whether agents are at work', async () => {
  const { status } = await api('/ping');
  assert.ok(['Healthy', 'HealthyBusy'].includes(status));
});
