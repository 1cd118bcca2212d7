// A mux: asks the server's agents for a plan in an envelope, takes the next actions that it has
// rules for, and answers each in an envelope. No packages.
//
//     node examples/mux.ts http://localhost:4180 THREAD TASK      (node 22.18 or newer)
const [base, thread, task] = process.argv.slice(2);
const rules: Record<string, (action: any) => string> = {
  execute: ({ task, args }) => `${task}: done with ${JSON.stringify(args ?? {})}`,
  summarize: ({ task }) => `In short: ${task}`,
};
const actions = `${base}/api/threads/${encodeURIComponent(thread)}/actions`;
const headers = { authorization: `Bearer ${process.env.SELVEDGE_KEY ?? 'none'}` };
const post = (url: string, body: object) => fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });

async function send(role: string, intent: string, task: string, text: string, parents: string[]) {
  const [agent, content, timestamp] = [{ id: 'mux', name: 'Mux', model: 'n/a' }, { type: 'text', text }, new Date().toISOString()];
  const said = { role, agent, intent, task, timestamp, content, confidence: { score: 0.9 }, trace: { id: crypto.randomUUID(), parents } };
  const sent = await post(`${base}/envelopes?thread=${encodeURIComponent(thread)}&wait=20s`, { protocol: 'multiagent-1.0', ...said });
  console.log(`${intent}: ${text}`);
  for (const told of [await sent.json()].flat().filter((one) => one.content)) console.log(`${told.agent.id}: ${told.content.text}`);
}

await send('user', 'plan', task, task, []);
for (const action of (await (await fetch(actions, { headers })).json()).actions.filter(({ intent }: any) => intent in rules)) {
  const claim = await post(`${actions}/${encodeURIComponent(action.id)}/claim`, { agent: 'mux' });
  // Or someone else has it.
  if (claim.ok) await send('agent', action.intent, action.task, rules[action.intent](action), [action.messageId]);
}
