// The AI SDK, one process for its versions 5, 6 and 7: `ai5.stream` reduces a UI
// message stream, `ai5.messages` validates UI messages, and so on.

import { isDeepStrictEqual } from 'node:util';

import * as ai5 from 'ai5';
import * as ai6 from 'ai6';
import * as ai7 from 'ai7';

import { explain } from './explain.mjs';
import { readMessages, readStreams } from './records.mjs';

const ops = {};
for (const [name, ai] of Object.entries({ ai5, ai6, ai7 })) {
  ops[`${name}.stream`] = (request) => loadStream(ai, request);
  ops[`${name}.messages`] = (request) => loadMessages(ai, request);
}
export default ops;

/**
 * Validates every chunk and reduces each stream to its message. A stream that
 * continues an earlier message needs that message: the last one in `initial`.
 * With `expect`, the first message must equal the one in that file.
 */
async function loadStream(ai, { path, initial, expect }) {
  const messages = [];
  let records = 0;
  for (const chunks of await readStreams(path)) {
    for (const [index, chunk] of chunks.entries()) await validateChunk(ai, chunk, index);
    records += chunks.length;
    messages.push(await reduce(ai, chunks, initial && (await readMessages(initial)).at(-1)));
  }
  if (expect != null) {
    // Through JSON, where a member that is undefined is none.
    const [reduced] = JSON.parse(JSON.stringify(messages));
    const [recorded] = await readMessages(expect);
    if (!isDeepStrictEqual(reduced, recorded)) throw new Error(`reduced to ${JSON.stringify(reduced)}`);
  }
  return { records, messages: messages.length };
}

async function validateChunk(ai, chunk, index) {
  const result = await ai.uiMessageChunkSchema().validate(chunk);
  if (!result.success) {
    throw new Error(`chunk ${index} (${chunk?.type}): ${explain(result.error)}`);
  }
}

async function reduce(ai, chunks, message) {
  const errors = [];
  const stream = new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  let last;
  const onError = (error) => errors.push(String(error?.message ?? error));
  for await (const state of ai.readUIMessageStream({ message, stream, onError })) last = state;
  // An `error` chunk is part of the stream; any other error is the reducer's.
  const sent = chunks.filter((chunk) => chunk.type === 'error').map((chunk) => chunk.errorText);
  const refused = errors.find((error) => !sent.includes(error));
  if (refused !== undefined) throw new Error(`reducer: ${refused}`);
  return last ?? null;
}

/** Validates the messages and turns them into model messages. */
async function loadMessages(ai, { path }) {
  const messages = await readMessages(path);
  if (messages.length === 0) return { records: 0 };
  const valid = await ai.validateUIMessages({ messages }).catch((error) => {
    throw new Error(`validation: ${explain(error)}`);
  });
  const model = await ai.convertToModelMessages(valid);
  return { records: valid.length, modelMessages: model.length };
}
