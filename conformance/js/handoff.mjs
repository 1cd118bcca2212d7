// Credentials handed over with npm's jose, as a browser or an app would: what is right goes on, what
// is wrong is refused, and the secret is nowhere to be read afterwards.
//
//     node handoff.mjs PROGRAM

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';

import { CompactEncrypt, generateKeyPair, importJWK } from 'jose';

const SECRET = 'the-secret-of-the-user-äöü';
const program = process.argv[2];
const folder = mkdtempSync(join(tmpdir(), 'selvedge-handoff-'));

// What the tool asks: it wants the user's name and password.
const wanted = `Basic ${Buffer.from(`ada:${SECRET}`).toString('base64')}`;
const seen = [];
const web = createServer((request, response) => {
  seen.push(request.headers.authorization);
  response.statusCode = request.headers.authorization === wanted ? 200 : 401;
  response.end('42 issues');
});
await new Promise((done) => web.listen(0, '127.0.0.1', done));

writeFileSync(join(folder, 'selvedge.toml'), `
[agents.ada]
kind = "script"
tools = ["issues"]
script.rules = [{ lines = [{ calls = [{ tool = "issues" }] }, { say = "There you are." }] }]

[tools.issues]
kind = "http"
description = "Lists issues."
url = "http://127.0.0.1:${web.address().port}/issues"
method = "GET"
allow_private = true
auth = { type = "password", provider = "issues", prompt = "Log in" }
`);

let child;
async function start() {
  const args = ['serve', '--listen', '127.0.0.1:0', '--db', join(folder, 's.db'), '--config', join(folder, 'selvedge.toml')];
  child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    const [url] = line.match(/http:\/\/\S+/) ?? [];
    if (url) return url;
  }
  throw new Error('the server did not start');
}

let server = await start();
const call = async (method, path, body) => {
  const response = await fetch(server + path, { method, body: body && JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
};

async function until(thread, found) {
  for (let tries = 0; tries < 2000; tries += 1) {
    const { body } = await call('GET', `/api/threads/${thread}`);
    if (found(body)) return body;
    await wait(10);
  }
  throw new Error('it did not happen in time');
}

async function encrypt(request, credential, change = {}) {
  const { authId, contextId, encryptionKey } = request;
  const now = Math.floor(Date.now() / 1000);
  const header = { alg: 'ECDH-ES', enc: 'A256GCM', authId, contextId, agentId: 'ada', iat: now, exp: now + 300 };
  return new CompactEncrypt(new TextEncoder().encode(credential))
    .setProtectedHeader({ ...header, ...change.header })
    .setKeyManagementParameters(change.parameters ?? {})
    .encrypt(change.key ?? await importJWK(encryptionKey, change.header?.alg ?? 'ECDH-ES'));
}

const handOver = (request, credential) =>
  call('POST', `/api/threads/${request.contextId}/auths/${encodeURIComponent(request.authId)}`, { credential, userId: 'ada' });

try {
  const right = JSON.stringify({ username: 'ada', password: SECRET });
  await call('POST', '/api/threads', { id: 't1' });
  await call('POST', '/api/threads/t1/messages', { content: 'my issues?' });
  let { auths: [request] } = await until('t1', (state) => state.auths.length > 0);
  assert.equal(request.authType, 'password');

  const now = Math.floor(Date.now() / 1000);
  const other = (await generateKeyPair('ECDH-ES', { crv: 'P-256' })).publicKey;
  for (const [why, change] of [
    ['another request', { header: { authId: 'other' } }],
    ['another thread', { header: { contextId: 'other' } }],
    ['another agent', { header: { agentId: 'eve' } }],
    ['too old', { header: { iat: now - 1000, exp: now - 400 } }],
    ['too long', { header: { exp: now + 3600 } }],
    ['another cipher', { header: { enc: 'A128GCM' } }],
    ['a wrapped key', { header: { alg: 'ECDH-ES+A256KW' } }],
    ['another key', { key: other }],
  ]) {
    const { status, body } = await handOver(request, await encrypt(request, right, change));
    assert.deepEqual([status, body.error.code], [400, 'bad_credential'], why);
  }

  // The server is killed while the task waits; the key outlives it.
  child.kill('SIGKILL');
  server = await start();
  const parameters = { apu: new TextEncoder().encode('Alice'), apv: new TextEncoder().encode('Bob') };
  const jwe = await encrypt(request, right, { parameters });
  assert.equal((await handOver(request, jwe)).status, 200);
  await until('t1', (state) => state.tasks[0].status === 'completed');
  assert.deepEqual(seen, [wanted]);
  const again = await handOver(request, jwe);
  assert.deepEqual([again.status, again.body.error.code], [409, 'already_answered']);

  // Looopy's runtime: credentials resume an invocation.
  const invoke = (body) => fetch(`${server}/invocations`, {
    method: 'POST', headers: { 'X-Amzn-Bedrock-AgentCore-Runtime-Session-Id': 'c1' }, body: JSON.stringify(body),
  }).then((response) => response.text());
  await invoke({ prompt: 'my issues?' });
  ({ auths: [request] } = await until('c1', (state) => state.auths.length > 0));
  const told = await invoke({ type: 'resume', credentials: [{ authId: request.authId, credential: await encrypt(request, right) }] });
  assert.match(told, /event: task-complete/);

  // The secret is in no file and in no answer.
  const events = await fetch(`${server}/api/threads/t1/events?visibility=internal`).then((r) => r.text());
  assert.ok(!events.includes(SECRET) && events.includes('auth-completed'));
  for (const name of readdirSync(folder)) {
    assert.ok(!readFileSync(join(folder, name)).includes(SECRET), name);
  }
  assert.equal(statSync(join(folder, 's.db.secret')).mode & 0o777, 0o600);
  console.log('hand-off: jose 6 to selvedge, 8 refusals, a kill -9, a resumption');
} finally {
  child.kill('SIGKILL');
  web.close();
  rmSync(folder, { recursive: true });
}
