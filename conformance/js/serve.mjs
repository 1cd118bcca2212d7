// Answers one JSON request per line of stdin with one JSON line on stdout.
// Usage: node serve.mjs MODULE. The module's default export maps an operation's
// name to a function; what it throws is the peer's refusal.

import { createInterface } from 'node:readline';

// A peer that logs must not break the protocol.
for (const level of ['log', 'info', 'debug', 'warn']) console[level] = console.error;

const { default: ops } = await import(`./${process.argv[2]}.mjs`);

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const answer = await ops[request.op](request).then(
    (members) => ({ id: request.id, ok: true, ...members }),
    (error) => ({ id: request.id, ok: false, error: String(error?.message ?? error) }),
  );
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
// What a peer left running ends with it.
process.exit();
