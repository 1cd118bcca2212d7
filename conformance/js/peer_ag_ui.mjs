// AG-UI: `events` parses a run's events and verifies their order, `messages`
// parses messages, `input` parses what a client sends to start a run.

import { defaultApplyEvents, enforceEvents, HttpAgent, transformChunks, verifyEvents } from '@ag-ui/client';
import { EventSchemas, MessageSchema, RunAgentInputSchema } from '@ag-ui/core/schemas';
import { from, lastValueFrom, toArray } from 'rxjs';

import { explain } from './explain.mjs';
import { readMessages, readStreams } from './records.mjs';

export default { events: loadEvents, messages: loadMessages, input: loadInput };

/** Takes the events through the stages of the client, in its order. */
async function loadEvents({ path }) {
  const events = (await readStreams(path)).flat();
  for (const [index, event] of events.entries()) parse(EventSchemas, event, `event ${index} (${event?.type})`);
  if (events.length === 0) return { records: 0 };
  const verified = await lastValueFrom(
    from(events).pipe(transformChunks(), enforceEvents(), verifyEvents(), toArray()),
  );
  const messages = await apply(verified);
  return { records: events.length, messages: messages.length };
}

async function apply(events) {
  const first = events.find((event) => event.type === 'RUN_STARTED');
  const agent = new HttpAgent({ url: 'http://127.0.0.1/' });
  const input = {
    threadId: first?.threadId ?? '',
    runId: first?.runId ?? '',
    state: {},
    messages: [],
    tools: [],
    context: [],
    forwardedProps: {},
  };
  const mutations = await lastValueFrom(defaultApplyEvents(input, from(events), agent, []).pipe(toArray()));
  return mutations.findLast((mutation) => mutation.messages)?.messages ?? [];
}

async function loadMessages({ path }) {
  const messages = await readMessages(path);
  for (const [index, message] of messages.entries()) parse(MessageSchema, message, `message ${index}`);
  return { records: messages.length };
}

async function loadInput({ path }) {
  const [input] = await readMessages(path);
  parse(RunAgentInputSchema, input, 'input');
  return { records: 1 };
}

function parse(schema, value, what) {
  const result = schema.safeParse(value);
  if (!result.success) throw new Error(`${what}: ${explain(result.error)}`);
}
