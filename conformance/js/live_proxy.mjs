// A proxy that cuts connections: every answer inside a frame, each time at another place, or streams
// after any number of bytes.

import { connect, createServer } from 'node:net';

const END = Buffer.from('\n\n');

/** Where a frame is cut: inside its id, its kind, its data, a character, and before its end. */
const PLACES = [
  (frame) => within(frame, 'id: ', 6),
  (frame) => within(frame, 'event: ', 9),
  (frame) => within(frame, 'data: ', 40),
  (frame) => frame.findIndex((byte) => byte >= 0x80) + 1,
  (frame) => frame.length - 1,
];

function within(frame, field, offset) {
  const at = frame.indexOf(field);
  return at < 0 ? 0 : at + offset;
}

export class Proxy {
  #server;
  #open = new Set();
  #next = 0;
  #bytes;
  #most;
  #type;
  cuts = 0;
  origin;

  /** Cuts every answer, or, given `bytes`, the first `most` of a type after up to so many bytes. */
  constructor({ most = Infinity, bytes, type = 'text/event-stream' } = {}) {
    this.#type = `content-type: ${type}`;
    this.#most = most;
    this.#bytes = bytes;
  }

  async start(upstream) {
    const { hostname, port } = new URL(upstream);
    this.#server = createServer((client) => {
      const server = connect(Number(port), hostname);
      const both = { client, server };
      this.#open.add(both);
      const close = () => {
        client.destroy();
        server.destroy();
        this.#open.delete(both);
      };
      for (const socket of [client, server]) socket.on('error', close).on('close', close);
      client.on('data', (bytes) => server.write(bytes));
      const cut = this.#bytes === undefined ? this.#cutter() : this.#byBytes();
      server.on('data', (bytes) => {
        const { pass, end } = cut(bytes);
        client.write(pass, end ? close : undefined);
      });
    });
    await new Promise((ready) => this.#server.listen(0, '127.0.0.1', ready));
    this.origin = `http://127.0.0.1:${this.#server.address().port}`;
  }

  /** Decides for one connection: passes some frames, then a piece of the next. */
  #cutter() {
    const nth = this.#next++;
    const place = PLACES[nth % PLACES.length];
    let frames = 3 + (nth % 4);
    let held = Buffer.alloc(0);
    let done = false;
    return (bytes) => {
      if (done) return { pass: Buffer.alloc(0), end: true };
      held = Buffer.concat([held, bytes]);
      let pass = 0;
      for (let at = held.indexOf(END); at >= 0; at = held.indexOf(END, pass)) {
        const end = at + END.length;
        if (frames === 0) {
          const frame = held.subarray(pass, end);
          const inside = place(frame);
          pass += inside > 0 && inside < frame.length ? inside : frame.length >> 1;
          done = true;
          this.cuts += 1;
          break;
        }
        frames -= 1;
        pass = end;
      }
      // Heads of answers have no such end and must not wait for one.
      if (!done && frames > 0) pass = held.length;
      const passed = held.subarray(0, pass);
      held = held.subarray(pass);
      return { pass: passed, end: done };
    };
  }

  /** Decides for one connection: of the streams on it, passes some bytes after the head. */
  #byBytes() {
    let left;
    return (bytes) => {
      let from = 0;
      if (left === undefined && this.cuts < this.#most) {
        const head = bytes.indexOf('\r\n\r\n');
        const stream = bytes.indexOf(this.#type);
        if (stream < 0 || head < stream) return { pass: bytes, end: false };
        from = head + 4;
        left = 1 + Math.floor(Math.random() * this.#bytes);
      }
      if (left === undefined || this.cuts >= this.#most || bytes.length - from < left) {
        if (left !== undefined) left -= bytes.length - from;
        return { pass: bytes, end: false };
      }
      this.cuts += 1;
      const pass = bytes.subarray(0, from + left);
      left = Infinity;
      return { pass, end: true };
    };
  }

  /** Cuts whatever is open now. */
  cutAll() {
    for (const { client, server } of this.#open) {
      client.destroy();
      server.destroy();
    }
  }

  end() {
    this.cutAll();
    this.#server?.close();
  }
}
