// A worker: claims the tasks of one agent as a stream, answers in pieces, finishes. No packages.
//
//     node examples/worker.ts http://localhost:4180 AGENT      (node 22.18 or newer)
type Work = { prompt: string; lease: string; leaseMs: number; links: Record<string, string> };

const [base, agent] = process.argv.slice(2);
const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

async function call(method: string, path: string, headers: Record<string, string>, body?: object) {
  const authorization = `Bearer ${process.env.SELVEDGE_KEY ?? 'none'}`;
  headers = { authorization, ...headers };
  const answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
  // 409: canceled, or another worker has it.
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return answer;
}

async function work({ prompt, lease, leaseMs, links }: Work) {
  const held = { 'selvedge-lease': lease };
  // The task stays ours also while we say nothing.
  const renewing = setInterval(() => call('PUT', links.lease, held).catch(console.error), leaseMs / 3);
  try {
    const { messages } = await (await call('GET', links.thread, {})).json();
    const said = messages.filter(({ type }: { type: string }) => type === 'user-message').length;
    const answer = `You said ${JSON.stringify(prompt)}, and ${said} things so far.`;
    for (const word of answer.split(' ')) {
      await call('POST', links.events, held, { kind: 'content-delta', delta: `${word} ` });
      await sleep(1000 * Number(process.env.WORKER_PACE ?? 0.05));
    }
    await call('POST', links.events, held, { kind: 'task-complete', content: answer });
  } finally {
    clearInterval(renewing);
  }
}

async function follow() {
  const path = `/api/agents/${agent}/work?worker=node-${process.pid}`;
  const stream = await call('GET', path, { accept: 'text/event-stream' });
  let text = '';
  for await (const piece of stream.body!.pipeThrough(new TextDecoderStream())) {
    const frames = (text + piece).split('\n\n');
    text = frames.pop()!;
    const tasks = frames.flatMap((frame) => /^event: work\ndata: (.*)/.exec(frame)?.[1] ?? []);
    for (const task of tasks) await work(JSON.parse(task)).catch(console.error);
  }
}

for (;;) await follow().catch(() => sleep(1000)); // The server is being replaced.
