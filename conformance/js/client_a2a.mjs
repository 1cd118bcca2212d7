// A2A through npm's `@a2a-js/sdk`, unchanged, over JSON-RPC and HTTP+JSON.
//
//     node client_a2a.mjs URL

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import { Role, TaskState } from '@a2a-js/sdk';
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';

import { api, check, throughCuts, url } from './client.mjs';

const BINDINGS = { JSONRPC: JsonRpcTransportFactory, 'HTTP+JSON': RestTransportFactory };

async function connect(binding = 'JSONRPC', base = url) {
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new BINDINGS[binding]()],
    preferredTransports: [binding],
  });
  return new ClientFactory(options).createFromUrl(`${base}/.well-known/agent-card.json`, '');
}

const message = (text, more = {}) => ({
  tenant: '',
  metadata: {},
  configuration: undefined,
  message: {
    messageId: randomUUID(), role: Role.ROLE_USER, contextId: '', taskId: '', extensions: [],
    referenceTaskIds: [], metadata: {},
    parts: [{ content: { $case: 'text', value: text }, metadata: {}, filename: '', mediaType: '' }],
    ...more,
  },
});

// What a client knows of a task: the task as it was told first, and all updates since.
class Reduced {
  take(event) {
    const { $case, value } = event.payload;
    if ($case === 'task') this.task = value;
    if ($case === 'statusUpdate') {
      assert.equal(value.taskId, this.task.id);
      this.task.status = value.status;
    }
    if ($case === 'artifactUpdate') {
      assert.equal(value.taskId, this.task.id);
      const known = this.task.artifacts.find((own) => own.artifactId === value.artifact.artifactId);
      assert.equal(Boolean(known), Boolean(value.append), 'more only of what is known');
      if (known) known.parts.push(...value.artifact.parts);
      else this.task.artifacts.push(value.artifact);
    }
    return this;
  }

  get text() {
    const parts = this.task.artifacts.flatMap((artifact) => artifact.parts);
    return parts.filter((part) => part.content.$case === 'text').map((part) => part.content.value).join('');
  }

  get state() {
    return this.task.status.state;
  }
}

async function sent(client, text, more) {
  const own = new Reduced();
  for await (const event of client.sendMessageStream(message(text, more))) own.take(event);
  return own;
}

for (const binding of Object.keys(BINDINGS)) {
  const client = await connect(binding);

  await check(`${binding}: a message is answered in a stream, and is in every other view`, async () => {
    const own = await sent(client, 'hello');
    assert.equal(own.state, TaskState.TASK_STATE_COMPLETED);
    assert.equal(own.text, 'You said: hello');
    assert.ok(JSON.stringify(await api(`/api/threads/${own.task.contextId}`)).includes('You said: hello'));
    const task = await client.getTask({ tenant: '', id: own.task.id });
    assert.equal(new Reduced().take({ payload: { $case: 'task', value: task } }).text, 'You said: hello');
    assert.equal(task.history.length, 1);
  });

  await check(`${binding}: a task that asks goes on with a message to it`, async () => {
    const asked = await sent(client, 'book it');
    assert.equal(asked.state, TaskState.TASK_STATE_INPUT_REQUIRED);
    const done = await sent(client, 'yes', { taskId: asked.task.id });
    assert.equal(done.state, TaskState.TASK_STATE_COMPLETED);
    await assert.rejects(sent(client, 'again', { taskId: asked.task.id }));
  });

  await check(`${binding}: tasks are listed and canceled`, async () => {
    const contextId = randomUUID();
    const asked = await sent(client, 'ask me', { contextId });
    await sent(client, 'hello', { contextId: randomUUID() });
    const listed = await client.listTasks({ tenant: '', contextId, status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: '' });
    assert.deepEqual(listed.tasks.map((task) => task.id), [asked.task.id]);
    const canceled = await client.cancelTask({ tenant: '', id: asked.task.id, metadata: {} });
    assert.equal(canceled.status.state, TaskState.TASK_STATE_CANCELED);
    await assert.rejects(client.cancelTask({ tenant: '', id: asked.task.id, metadata: {} }));
    await assert.rejects(client.getTask({ tenant: '', id: 'nobody’s' }));
  });
}

const OVER = [TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_CANCELED];

for (const binding of Object.keys(BINDINGS)) {
  await check(`${binding}: a stream that is cut 20 times at any byte is followed without a gap or a double`, () =>
    throughCuts(1200, async (base, proxy) => {
      const client = await connect(binding, base);
      const [own, contextId] = [new Reduced(), randomUUID()];
      // Who takes part in a context answers in it.
      await api('/api/threads', { id: contextId });
      await api(`/api/threads/${contextId}/events`, { kind: 'participant-joined', participantId: 'slow', role: 'agent' });
      // The same message again is the same task, should its answer be lost before the task's id.
      const said = message('go', { contextId });
      while (!own.task || !OVER.includes(own.state)) {
        const cuts = proxy.cuts;
        try {
          const rest = own.task && client.resubscribeTask({ tenant: '', id: own.task.id });
          for await (const event of rest ?? client.sendMessageStream(said)) own.take(event);
        } catch (error) {
          if (proxy.cuts > cuts) continue;
          // It was over when the client came again.
          assert.match(String(error), /is over/);
          own.task = await client.getTask({ tenant: '', id: own.task.id });
        }
      }
      assert.equal(own.text, Array.from({ length: 100 }, (_, i) => `w${i + 1}`).join(' '));
      assert.equal(own.state, TaskState.TASK_STATE_COMPLETED);
      const { tasks } = await api(`/api/threads/${own.task.contextId}`);
      assert.equal(tasks.length, 1, 'said once');
    }));
}
