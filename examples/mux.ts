// A mux: asks the server's agents for a plan in an envelope, takes the next actions that it has
// rules for, and answers each in an envelope. No packages.
//
//     node examples/mux.ts http://localhost:4180 THREAD TASK      (node 22.18 or newer)
type Action = { id: string; messageId: string; intent: string; task: string; args?: unknown };

const [base, thread, task] = process.argv.slice(2);
const rules: Record<string, (action: Action) => string> = {
  execute: ({ task, args }) => `${task}: done with ${JSON.stringify(args ?? {})}`,
  summarize: ({ task }) => `In short: ${task}`,
};

async function call(method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${process.env.SELVEDGE_KEY ?? 'none'}` };
  const answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
  if (!answer.ok && answer.status !== 409) throw new Error(`${answer.status} ${await answer.text()}`);
  return { isTaken: answer.status === 409, body: await answer.json() };
}

async function send(role: string, intent: string, task: string, text: string, parents: string[]) {
  const envelope = {
    protocol: 'multiagent-1.0', role, agent: { id: 'mux', name: 'Mux', model: 'n/a' }, intent, task,
    timestamp: new Date().toISOString(), content: { type: 'text', text },
    confidence: { score: 0.9 }, trace: { id: crypto.randomUUID(), parents },
  };
  const sent = await call('POST', `/envelopes?thread=${encodeURIComponent(thread)}&wait=20s`, envelope);
  console.log(`${intent}: ${text}`);
  for (const told of [sent.body].flat().filter((one) => one.content)) console.log(`${told.agent.id}: ${told.content.text}`);
}

const path = `/api/threads/${encodeURIComponent(thread)}`;
await send('user', 'plan', task, task, []);
for (const action of (await call('GET', `${path}/actions`)).body.actions as Action[]) {
  const claim = action.intent in rules && (await call('POST', `${path}/actions/${encodeURIComponent(action.id)}/claim`, { agent: 'mux' }));
  // Someone else has it.
  if (!claim || claim.isTaken) continue;
  await send('agent', action.intent, action.task, rules[action.intent](action), [action.messageId]);
}
