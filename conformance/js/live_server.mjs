// A real server of its own for a live check: started, killed, started again on the same port, and
// written to until it acknowledges.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';

export class Server {
  #program;
  #args;
  #folder = mkdtempSync(join(tmpdir(), 'selvedge-live-'));
  #child;
  key;
  origin;

  constructor(program, args = []) {
    this.#program = program;
    this.#args = args;
  }

  get #db() {
    return join(this.#folder, 'live.db');
  }

  /** Makes a key, so that every request needs one. */
  addKey() {
    const args = ['keys', 'add', '--db', this.#db, '--tenant', 'acme', '--scope', 'read,write', '--name', 'live'];
    this.key = execFileSync(this.#program, args, { stdio: ['ignore', 'pipe', 'ignore'] }).toString().trim();
  }

  /** Starts it; the second time on the port of the first. */
  async start() {
    const listen = this.origin ? new URL(this.origin).host : '127.0.0.1:0';
    const args = ['serve', '--listen', listen, '--db', this.#db, ...this.#args];
    this.#child = spawn(this.#program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const line of createInterface({ input: this.#child.stdout })) {
      const [url] = line.match(/http:\/\/\S+/) ?? [];
      if (url) {
        this.origin = url;
        return;
      }
    }
    throw new Error('the server did not start');
  }

  /** `kill -9` */
  async kill() {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGKILL');
    await ended;
  }

  async end() {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #ask(method, path, body, headers = {}) {
    if (this.key) headers.authorization = `Bearer ${this.key}`;
    const answer = await fetch(this.origin + path, { method, body, headers });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  }

  create(id) {
    return this.#ask('POST', '/api/threads', JSON.stringify({ id }));
  }

  /** Appends until it is acknowledged, under one key. */
  async append(id, event, key) {
    for (let tries = 0; ; tries++) {
      try {
        const path = `/api/threads/${id}/events`;
        return await this.#ask('POST', path, JSON.stringify(event), { 'idempotency-key': key });
      } catch (error) {
        // Only a server that is away is asked again.
        if (!(error instanceof TypeError) || tries === 200) throw error;
        await wait(50);
      }
    }
  }

  /** Everything that is in a journal, as its stream should tell it. */
  async journal(id) {
    const { entries, cursor, head } = await this.#ask('GET', `/api/threads/${id}/events?limit=10000`);
    if (entries.length !== head) throw new Error(`${entries.length} of ${head} entries on one page`);
    const epoch = cursor.split('.')[0];
    return entries.map(({ seq, event }) => {
      // `error` is the name of EventSource's own event.
      const kind = event.kind === 'error' ? 'thread-error' : event.kind;
      return { id: `${epoch}.${seq}`, kind, data: event };
    });
  }
}
