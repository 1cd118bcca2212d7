// The benchmark's peer for AI SDK streams: ai 7's own parser and reducer.
//
//   bench_ai.mjs text PATH CHUNKS          writes a stream of that many text deltas
//   bench_ai.mjs tool PATH CHUNKS          writes a stream of that many tool input deltas
//   bench_ai.mjs measure PATH REPETITIONS  from bytes to the message's JSON
//   bench_ai.mjs reduce PATH REPETITIONS   from parsed chunks to the message
//
// The last two print {"cpu_ms": […], "versions": {…}}. `measure` goes the whole way by the
// functions that the SDK's own client calls; `reduce` is `readUIMessageStream` alone.

import { readFileSync, writeFileSync } from 'node:fs';

import { parseJsonEventStream, readUIMessageStream, uiMessageChunkSchema } from 'ai7';

const PIECE = 65536;

const [operation, path, number] = process.argv.slice(2);
const operations = { text: writeText, tool: writeTool, measure, reduce: measureReduce };
console.log(JSON.stringify(await operations[operation](path, Number(number))));

function writeText(path, count) {
  return write(path, textChunks(count));
}

function writeTool(path, count) {
  return write(path, toolChunks(count));
}

function textChunks(count) {
  const words = ['quick', 'brown', 'fox', 'naïve', '東京', 'it’s', 'jumps', '“over”', 'lazy', 'dogs.\n'];
  const text = Array.from({ length: 997 }, (_, i) => words[(i * i + 3 * i) % words.length]).join(' ');
  return inMessage([
    { type: 'text-start', id: 't0' },
    ...tokens(text, count).map((delta) => ({ type: 'text-delta', id: 't0', delta })),
    { type: 'text-end', id: 't0' },
  ]);
}

function toolChunks(count) {
  const toolCallId = 'call_0';
  const toolName = 'write_report';
  // An input of the right length: a title and paragraphs, as a model would write them.
  const sentences = ['the quick brown fox jumps over the lazy dog', 'a “quoted” word, a tab\tand a line\nbreak'];
  const input = { title: 'quarterly report', paragraphs: [] };
  for (let size = 0; size < count * 4; size += 50) input.paragraphs.push(sentences[input.paragraphs.length % 2]);
  const text = JSON.stringify(input);
  const length = Math.floor(text.length / count);
  const pieces = Array.from({ length: count }, (_, i) =>
    text.slice(i * length, i + 1 === count ? undefined : (i + 1) * length),
  );
  return inMessage([
    { type: 'tool-input-start', toolCallId, toolName },
    ...pieces.map((inputTextDelta) => ({ type: 'tool-input-delta', toolCallId, inputTextDelta })),
    { type: 'tool-input-available', toolCallId, toolName, input },
    { type: 'tool-output-available', toolCallId, output: { ok: true } },
  ]);
}

function inMessage(body) {
  const head = [{ type: 'start', messageId: 'msg-1' }, { type: 'start-step' }];
  const tail = [{ type: 'finish-step' }, { type: 'finish', finishReason: 'stop' }];
  return [...head, ...body, ...tail];
}

function write(path, chunks) {
  const text = sse(chunks);
  writeFileSync(path, text);
  return { chunks: chunks.length, bytes: Buffer.byteLength(text) };
}

function sse(chunks) {
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('') + 'data: [DONE]\n\n';
}

/** Tokens of three to six letters, the same every time. */
function tokens(text, count) {
  const parts = [];
  for (let at = 0, i = 0; i < count; i += 1) {
    const length = 3 + ((i * 7) % 4);
    parts.push(text.slice(at, at + length));
    at = (at + length) % (text.length - 8);
  }
  return parts;
}

async function measure(path, repetitions) {
  const bytes = readFileSync(path);
  await warmUp();
  const cpu_ms = [];
  for (let i = 0; i < repetitions; i += 1) cpu_ms.push(await timed(() => whole(bytes)));
  return { cpu_ms, versions: versions() };
}

async function measureReduce(path, repetitions) {
  const bytes = readFileSync(path);
  await warmUp();
  const cpu_ms = [];
  for (let i = 0; i < repetitions; i += 1) {
    const chunks = [];
    for await (const chunk of parsed(bytes)) chunks.push(chunk);
    cpu_ms.push(await timed(() => reduce(ReadableStream.from(chunks))));
  }
  return { cpu_ms, versions: versions() };
}

/** Lets the just-in-time compiler see short streams of both kinds first. */
async function warmUp() {
  for (let i = 0; i < 3; i += 1) {
    for (const chunks of [textChunks(1000), toolChunks(200)]) await whole(Buffer.from(sse(chunks)));
  }
}

async function timed(work) {
  const begin = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1000;
}

async function whole(bytes) {
  const message = await reduce(parsed(bytes));
  return JSON.stringify([message]);
}

/** Bytes to chunks, as `DefaultChatTransport` does it. */
function parsed(bytes) {
  const stream = new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += PIECE) controller.enqueue(bytes.subarray(at, at + PIECE));
      controller.close();
    },
  });
  return parseJsonEventStream({ stream, schema: uiMessageChunkSchema }).pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        if (!chunk.success) throw chunk.error;
        controller.enqueue(chunk.value);
      },
    }),
  );
}

async function reduce(stream) {
  let last;
  const onError = (error) => {
    throw error;
  };
  for await (const message of readUIMessageStream({ stream, onError, terminateOnError: true })) last = message;
  return last;
}

function versions() {
  const ai = JSON.parse(readFileSync(new URL('node_modules/ai7/package.json', import.meta.url)));
  return { ai: ai.version, node: process.versions.node };
}
