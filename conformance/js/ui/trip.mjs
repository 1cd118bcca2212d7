// A conversation that is always the same, for golden images: two agents plan a weekend.

const AT = Date.parse('2026-11-16T09:30:00Z');

/** Makes the thread and gives its id. Events have times of their own, so that nothing changes with the clock. */
export async function trip(api, id = 'trip') {
  await api('/api/threads', { id, title: 'A weekend in Porto', agents: ['planner', { id: 'booker', name: 'Booker', model: 'fast-1' }] });
  await add(api, id, [
    { kind: 'message', messageId: 'm1', role: 'user', author: 'ada', content: 'Plan me a weekend in Porto, by train.' },
    { kind: 'task-created', taskId: 'plan', agentId: 'planner', initiator: 'user' },
    { kind: 'step-started', taskId: 'plan', agentId: 'planner', model: 'deep-2' },
    { kind: 'thought-stream', taskId: 'plan', agentId: 'planner', thoughtId: 't1', thoughtType: 'planning', verbosity: 'normal', content: 'The train along the Douro is slow, and worth it.', index: 0 },
    ...['Take the ', 'morning train, ', 'and stay ', 'two nights.'].map((delta, index) => (
      { kind: 'content-delta', taskId: 'plan', agentId: 'planner', delta, index })),
    { kind: 'step-finished', taskId: 'plan', agentId: 'planner', model: 'deep-2', finishReason: 'stop', usage: { input_tokens: 812, output_tokens: 64, cost: 0.0041 } },
    { kind: 'task-complete', taskId: 'plan', agentId: 'planner', content: 'Take the morning train, and stay two nights.' },
  ]);
  return id;
}

/** What someone asks next, and what comes of it. */
export async function goOn(api, id, { ask, hotel, price, say, output, cost }, from = 100) {
  const wanted = { city: 'Porto', nights: 2, under: price + 20 };
  await add(api, id, [
    { kind: 'message', messageId: 'm2', role: 'user', author: 'ada', content: ask },
    { kind: 'task-created', taskId: 'book', agentId: 'booker', initiator: 'user' },
    { kind: 'step-started', taskId: 'book', agentId: 'booker', model: 'fast-1' },
    { kind: 'tool-call', taskId: 'book', agentId: 'booker', toolCallId: 'c1', toolName: 'find_hotel', arguments: wanted },
    { kind: 'tool-start', taskId: 'book', agentId: 'booker', toolCallId: 'c1', toolName: 'find_hotel', arguments: wanted },
    { kind: 'tool-complete', taskId: 'book', agentId: 'booker', toolCallId: 'c1', toolName: 'find_hotel', success: true, result: { hotel, price } },
    { kind: 'content-complete', taskId: 'book', agentId: 'booker', content: say },
    { kind: 'step-finished', taskId: 'book', agentId: 'booker', model: 'fast-1', finishReason: 'stop', usage: { input_tokens: 1204, output_tokens: output, cost } },
    { kind: 'task-complete', taskId: 'book', agentId: 'booker', content: say },
  ], from);
}

export const add = (api, id, events, from = 0) => api(`/api/threads/${encodeURIComponent(id)}/events`,
  events.map((event, n) => ({ ...event, timestamp: new Date(AT + (from + n) * 700).toISOString() })));
