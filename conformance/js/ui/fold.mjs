// The fold of the page and the fold of the server come to the same: over the demonstration as it
// happened, and over a conversation with something of everything, at several positions.

import { ID, makeLaunch } from './launch.mjs';
import { apiOf, run, until } from './page.mjs';
import { story } from './story.mjs';

await run(async ({ url, open, saw }) => {
  const api = apiOf(url);
  await api('/api/demo', undefined, 'POST');
  await api('/api/threads', { id: 'cloth', title: 'A selvedge in indigo' });
  await api('/api/threads/cloth/events', story());
  const asked = await until('someone is asked', async () => (await api('/api/threads/demo/inputs')).items[0], 60_000);
  await api(`/api/threads/demo/inputs/${encodeURIComponent(asked.id)}`, { value: true });
  await until('it is over', async () => (await api('/api/threads/demo')).tasks.filter((task) => task.status === 'completed').length === 6, 60_000);
  await makeLaunch(url);
  const page = await open('/threads');
  for (const id of ['demo', 'cloth', ID]) {
    const { head } = await api(`/api/threads/${id}`);
    for (const at of [1, 5, Math.floor(head / 4), Math.floor(head / 2), Math.floor((head * 3) / 4), head]) {
      const theirs = told(await api(`/api/threads/${id}?at=${at}&visibility=internal`));
      const ours = await page.evaluate(folded, { id, at, base: await page.evaluate(() => document.querySelector('script[src]').src.replace('app.js', '')) });
      const [a, b] = [JSON.stringify(ours, null, 1), JSON.stringify(theirs, null, 1)];
      if (a !== b) throw new Error(`${id} at ${at}\nours ${a}\ntheirs ${b}`);
    }
  }
  saw('the page and the server come to the same, at any position');
});

/** What the server says of a state, as both can say it. */
function told(state) {
  const sum = (name) => state.usage.reduce((all, one) => all + one[name], 0);
  return {
    title: state.title,
    agents: state.participants.map((one) => one.id).filter((id) => id !== 'user').sort(),
    tasks: state.tasks.map(({ id, parent, agent, status }) => ({ id, parent, agent, status })),
    said: state.messages.filter((one) => ['user-message', 'assistant-message'].includes(one.type)).map((one) => one.text || (Array.isArray(one.content) ? one.content.map((own) => own.text ?? '').join('') : '')).filter(Boolean),
    calls: state.messages.filter((one) => one.type === 'tool-call').map((one) => one.toolCallId),
    artifacts: state.artifacts.map(({ id, kind, versions }) => ({ id, kind, versions: versions.length })).sort((a, b) => (a.id < b.id ? -1 : 1)),
    waits: [...state.inputs.map((one) => one.inputId), ...state.auths.map((one) => one.authId)].sort(),
    usage: { input: sum('input'), output: sum('output'), calls: sum('calls') },
  };
}

/** The same of the page's fold. Runs in the page. */
async function folded({ id, at, base }) {
  const { Fold } = await import(`${base}lib/fold.js`);
  const { entries } = await (await fetch(`/api/threads/${id}/events?limit=10000&visibility=internal`)).json();
  const fold = new Fold(id);
  for (const entry of entries) if (entry.seq <= at) fold.apply(entry);
  const state = fold.state();
  const { input, output, calls } = state.usage;
  const plain = (item) => item.text || (Array.isArray(item.content) ? item.content.map((one) => one.text ?? '').join('') : '');
  return {
    title: state.title,
    agents: [...state.participants.keys()].filter((one) => one !== 'user').sort(),
    tasks: [...state.tasks.values()].map(({ id: own, parent, by, status }) => ({ id: own, parent, agent: by, status })),
    said: state.items.filter((one) => one.type === 'message' && !one.void).map(plain).filter(Boolean),
    calls: state.items.filter((one) => one.type === 'call').map((one) => one.call.id),
    artifacts: [...state.artifacts.values()].map(({ id: own, kind, versions }) => ({ id: own, kind, versions: versions.length })).sort((a, b) => (a.id < b.id ? -1 : 1)),
    waits: [...state.open.keys()].sort(),
    usage: { input, output, calls },
  };
}
