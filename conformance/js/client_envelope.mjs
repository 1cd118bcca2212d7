// Envelopes over HTTP with `fetch`: answers as server-sent events and the replay log, through cuts.
//
//     node client_envelope.mjs URL

import assert from 'node:assert/strict';

import { check, throughCuts, url } from './client.mjs';

const envelope = (id) => ({
  protocol: 'multiagent-1.0',
  role: 'user',
  timestamp: '2026-01-31T12:00:00Z',
  intent: 'plan',
  task: `Plan ${id}`,
  content: { type: 'text', text: `Plan ${id}` },
  trace: { id },
});

// A whole answer; sent again, as whoever is cut off does.
async function whole(path, init) {
  for (;;) {
    try {
      const response = await fetch(path, init);
      const text = await response.text();
      assert.ok(response.ok, `${response.status} ${text}`);
      return text;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
    }
  }
}

const lines = (text) => text.split('\n').filter(Boolean).map((line) => JSON.parse(line));

await check('an envelope sent through 20 cuts at any byte is taken once, and its answer comes whole', async () => {
  let sent = 0;
  const once = async (base) => {
    const id = `cut-${++sent}`;
    const init = { method: 'POST', headers: { accept: 'text/event-stream' }, body: JSON.stringify(envelope(id)) };
    const text = await whole(`${base}/envelopes?thread=cut`, init);
    const data = text.split('\n').filter((line) => line.startsWith('data: ')).map((line) => JSON.parse(line.slice(6)));
    const answers = data.filter((one) => one.content?.text === 'First look, then tell.');
    assert.equal(answers.length, 1, text);
    assert.ok(answers[0].trace.parents.includes(id), text);
  };
  await throughCuts(700, once, { rounds: 200 });
  const log = lines(await whole(`${url}/envelopes?thread=cut`));
  const asked = log.filter((one) => one.role === 'user').map((one) => one.trace.id);
  assert.deepEqual(asked, Array.from({ length: sent }, (_, i) => `cut-${i + 1}`), 'each once');
  assert.equal(log.filter((one) => one.role === 'agent').length, sent, 'and each answered once');
});

await check('the replay log is the same after 20 cuts at any byte', async () => {
  const log = await whole(`${url}/envelopes?thread=cut`);
  const again = async (base) => assert.equal(await whole(`${base}/envelopes?thread=cut`), log);
  await throughCuts(log.length, again, { type: 'application/x-ndjson', rounds: 200 });
});
