// Live checks: a client of `EventSource` follows a real server by kind, while connections are cut
// and the server is killed, and must see the journal: each event once, in order.

import { isDeepStrictEqual } from 'node:util';
import { setTimeout as wait } from 'node:timers/promises';

import { Proxy } from './live_proxy.mjs';
import { Server } from './live_server.mjs';

const THREAD = 'live';
/** Both URLs of the same stream. */
const URLS = [`/api/threads/${THREAD}/stream`, `/api/contexts/${THREAD}/stream`];
const PATIENCE = 60_000;

export const KINDS = [
  'thread-created', 'message', 'task-created', 'task-status', 'thought-stream', 'tool-start', 'tool-complete',
  'content-delta', 'content-complete', 'task-complete', 'thread-error', 'system',
];
const CONTROL = ['caught-up', 'gap', 'resync'];

/**
 * Listens by kind and notes what comes. Runs in the page as well as here.
 */
export function listen(EventSource, url, kinds) {
  const notes = { events: [], opens: 0, errors: 0, caughtUp: 0, closed: false };
  const source = new EventSource(url);
  source.onopen = () => { notes.opens += 1; };
  source.onerror = () => {
    notes.errors += 1;
    notes.closed = source.readyState === 2;
  };
  for (const kind of kinds) {
    source.addEventListener(kind, ({ type, data, lastEventId }) => {
      if (type === 'caught-up') notes.caughtUp += 1;
      else notes.events.push({ id: lastEventId, kind: type, data });
    });
  }
  return { notes, close: () => source.close() };
}

/** What an agent does in one turn, a text in pieces among it. */
function* turn() {
  const taskId = 'k';
  yield { kind: 'message', role: 'user', content: 'How long is the Seine?\nIn “km”, s’il vous plaît.' };
  yield { kind: 'task-created', taskId, initiator: 'user' };
  yield { kind: 'thought-stream', taskId, thoughtId: 'h', thoughtType: 'planning', verbosity: 'brief', content: 'look it up' };
  yield { kind: 'tool-start', taskId, toolCallId: 'c', toolName: 'atlas', arguments: { river: 'Seine' } };
  yield { kind: 'tool-complete', taskId, toolCallId: 'c', toolName: 'atlas', success: true, result: 777 };
  for (let n = 0; n < 40; n++) {
    yield { kind: 'content-delta', taskId, delta: `${n} – déjà vu 🧵\r\n\u0000${'x'.repeat((n * 37) % 90)}` };
    if (n % 13 === 0) {
      yield { kind: 'thought-stream', taskId, thoughtId: `h${n}`, thoughtType: 'reasoning', verbosity: 'detailed', content: 'é' };
    }
  }
  yield { kind: 'content-complete', taskId, content: '777 km' };
  yield { kind: 'error', taskId, message: 'the atlas was slow', retryable: true };
  yield { kind: 'task-complete', taskId, content: '777 km' };
  yield { kind: 'system', name: 'end', data: null };
}

/** Waits until something holds. */
async function until(what, holds) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const seen = await holds();
    if (seen) return;
    if (Date.now() > end) throw new Error(`waited too long until ${what}`);
    await wait(20);
  }
}

/** A reader of one view: its URL, and which events should come. */
class Reader {
  constructor(follower, url, passes) {
    Object.assign(this, { follower, url, passes });
  }

  async check(journal) {
    const expected = journal.filter(this.passes);
    const { events } = await this.follower.notes();
    for (const [n, event] of events.entries()) {
      const wanted = expected[n];
      if (!wanted) throw new Error(`${this.url}: ${event.kind} ${event.id} is too much`);
      if (event.id !== wanted.id || event.kind !== wanted.kind) {
        throw new Error(`${this.url}: ${event.kind} ${event.id} where ${wanted.kind} ${wanted.id} should be`);
      }
      if (!isDeepStrictEqual(JSON.parse(event.data), wanted.data)) {
        throw new Error(`${this.url}: ${event.kind} ${event.id} has other data: ${event.data}`);
      }
    }
    if (events.length < expected.length) throw new Error(`${this.url}: ${events.length} of ${expected.length} events`);
    return events.length;
  }
}

/** Opens a follower on both URLs with a query, and waits for the live edge. */
async function open(session, origin, query, passes) {
  const readers = [];
  for (const path of URLS) {
    const url = origin + path + query;
    const follower = await session.listen(url, [...KINDS, ...CONTROL]);
    readers.push(new Reader(follower, url, passes));
  }
  for (const reader of readers) await live(reader, 1);
  return readers;
}

async function live(reader, times) {
  await until(`${reader.url} is live`, async () => {
    const { caughtUp, closed } = await reader.follower.notes();
    if (closed) throw new Error(`${reader.url} was given up`);
    return caughtUp >= times;
  });
}

/** Waits for everything, lets all come back once more, and compares with the journal. */
async function finish(server, readers, disturb) {
  const journal = await server.journal(THREAD);
  for (const reader of readers) {
    const count = journal.filter(reader.passes).length;
    await until(`${reader.url} has ${count} events`, async () => (await reader.follower.notes()).events.length >= count);
  }
  // What came twice would come now, before the live edge.
  const times = await Promise.all(readers.map(async ({ follower }) => (await follower.notes()).caughtUp));
  await disturb();
  let records = 0;
  for (const [n, reader] of readers.entries()) {
    await live(reader, times[n] + 1);
    records += await reader.check(journal);
  }
  return records;
}

const everything = () => true;

/** A server that ends with the check, and what else does. */
async function withServer(path, args, run) {
  const server = new Server(path, args);
  const proxy = new Proxy();
  try {
    return await run(server, proxy);
  } finally {
    proxy.end();
    await server.end();
  }
}

/** The checks for a kind of client; `client.session(origin)` is a page of that origin, or nothing like it. */
export function checks(client) {
  const withSession = async (origin, run) => {
    const session = await client.session(origin);
    try {
      return await run(session);
    } finally {
      await session.close();
    }
  };

  /** `kill -9` and a new start, three times, once with nobody there for a while. */
  const killed = ({ path }) => withServer(path, [], async (server) => {
    await server.start();
    await server.create(THREAD);
    return withSession(server.origin, async (session) => {
      const readers = await open(session, server.origin, '', everything);
      let n = 0;
      for (const event of turn()) {
        if ([10, 25, 40].includes(n)) {
          await server.kill();
          if (n === 25) {
            const { errors } = await readers[0].follower.notes();
            await until('a try fails', async () => (await readers[0].follower.notes()).errors > errors + 1);
          }
          await server.start();
        }
        await server.append(THREAD, event, `e${n++}`);
      }
      return { records: await finish(server, readers, async () => { await server.kill(); await server.start(); }) };
    });
  });

  /** A page of another origin, through a proxy that cuts inside frames. */
  const cut = ({ path }) => client.foreign(async (origin) => withServer(path, ['--cors', origin], async (server, proxy) => {
    await server.start();
    await proxy.start(server.origin);
    await server.create(THREAD);
    return withSession(origin, async (session) => {
      const readers = await open(session, proxy.origin, '', everything);
      let n = 0;
      for (const event of turn()) await server.append(THREAD, event, `e${n++}`);
      const records = await finish(server, readers, () => proxy.cutAll());
      if (proxy.cuts < 10) throw new Error(`only ${proxy.cuts} answers were cut`);
      return { records };
    });
  }));

  /** With keys and filters; the key is in the query, which is all that `EventSource` can send. */
  const narrowed = ({ path }) => withServer(path, [], async (server, proxy) => {
    server.addKey();
    await server.start();
    await proxy.start(server.origin);
    await server.create(THREAD);
    return withSession(proxy.origin, async (session) => {
      const token = `access_token=${server.key}`;
      const kinds = ['task-created', 'content-complete', 'task-complete'];
      const readers = [
        ...(await open(session, proxy.origin, `?${token}&kinds=${kinds}`, ({ kind }) => kinds.includes(kind))),
        ...(await open(session, proxy.origin, `?${token}&thoughts=off`, ({ kind }) => kind !== 'thought-stream')),
      ];
      let n = 0;
      for (const event of turn()) await server.append(THREAD, event, `e${n++}`);
      const records = await finish(server, readers, () => proxy.cutAll());
      for (const query of ['', '?access_token=sk_wrong']) await refused(session, server.origin + URLS[1] + query);
      return { records };
    });
  });

  /** A page that is not on the list sees nothing, whatever key it has; one of the server's own does. */
  const unlisted = ({ path }) => client.foreign(async (origin) => withServer(path, ['--cors', 'http://other.example'], async (server) => {
    server.addKey();
    await server.start();
    await server.create(THREAD);
    const query = `?access_token=${server.key}`;
    await withSession(origin, (session) => refused(session, server.origin + URLS[1] + query));
    await withSession(server.origin, (session) => open(session, server.origin, query, everything));
    return { records: 1 };
  }));

  const refused = async (session, url) => {
    const follower = await session.listen(url, [...KINDS, ...CONTROL]);
    await until(`${url} is given up`, async () => (await follower.notes()).closed);
    const { opens, events } = await follower.notes();
    if (opens > 0 || events.length > 0) throw new Error(`${url} was opened`);
  };

  return { killed, cut, narrowed, unlisted };
}
