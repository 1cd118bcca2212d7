// A worker: claims the tasks of one agent as a stream, answers in pieces, finishes. No packages.
//
//     node examples/worker.ts http://localhost:4180 AGENT      (node 22.18 or newer)
//
// Every append renews the lease. One that thinks in silence renews it with `PUT links.lease`.
const [base, agent] = process.argv.slice(2);
const sleep = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1000));

async function call(path: string, own: Record<string, string> = {}, body?: object) {
  const headers = { authorization: `Bearer ${process.env.SELVEDGE_KEY ?? 'none'}`, ...own };
  const answer = await fetch(base + path, body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers });
  if (answer.ok) return answer;
  // 409: canceled, or another's by now.
  throw new Error(`${answer.status} ${await answer.text()}`);
}

async function work({ prompt, lease, links }: any) {
  const append = (event: object) => call(links.events, { 'selvedge-lease': lease }, event);
  const { messages } = await (await call(links.thread)).json();
  const said = messages.filter(({ type }: any) => type === 'user-message').length;
  const answer = `You said ${JSON.stringify(prompt)}, and ${said} things so far.`;
  for (const word of answer.split(' ')) {
    await append({ kind: 'content-delta', delta: `${word} ` });
    await sleep(Number(process.env.WORKER_PACE ?? 0.05));
  }
  await append({ kind: 'task-complete', content: answer });
}

async function follow() {
  const stream = await call(`/api/agents/${agent}/work?worker=node-${process.pid}`, { accept: 'text/event-stream' });
  let rest = '';
  for await (const piece of stream.body!.pipeThrough(new TextDecoderStream())) {
    const frames = (rest + piece).split('\n\n');
    rest = frames.pop()!;
    for (const [, task] of frames.join('\n').matchAll(/^event: work\ndata: (.*)/gm))
      await work(JSON.parse(task)).catch(console.error);
  }
}

for (;;) await follow().catch(() => sleep(1)); // The server is being replaced.
