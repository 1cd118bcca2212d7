// Tokens and cost, by agent and model. A model call that told its own usage is not counted again
// by an `llm-usage` of its task; an attempt that is void was paid all the same.

const none = () => ({ input: 0, output: 0, cached: 0, reasoning: 0, calls: 0, cost: 0 });

/** `{input, output, cached, reasoning, calls, cost, byAgent: Map, byModel: Map}`, all 0. */
export const emptyUsage = () => ({ ...none(), byAgent: new Map(), byModel: new Map() });

export function addUsage(usage, told, event) {
  const found = tellsOf(event, told);
  if (!found) return;
  add(usage, found);
  const model = event.model ?? event.metadata?.model ?? '';
  for (const [map, name] of [[usage.byAgent, event.agentId ?? ''], [usage.byModel, model]]) {
    if (!map.has(name)) map.set(name, none());
    add(map.get(name), found);
  }
}

function tellsOf(event, told) {
  switch (event.kind) {
    case 'step-finished':
      if (event.usage) told.add(event.taskId ?? '');
      return event.usage ? tokens(event.usage) : null;
    case 'message':
      return event.usage ? tokens(event.usage) : null;
    case 'attempt-superseded':
      return event.metadata?.usage ? tokens(event.metadata.usage) : null;
    case 'llm-usage':
      return told.has(event.taskId ?? '') ? null : {
        ...tokens(event),
        cached: count(event.prompt_tokens_details?.cached_tokens),
        reasoning: count(event.completion_tokens_details?.reasoning_tokens),
      };
    default:
      return null;
  }
}

function tokens(usage) {
  const first = (...names) => count(names.map((name) => usage[name]).find((value) => Number.isFinite(value)));
  const cost = Number(usage.cost);
  return {
    input: first('input_tokens', 'prompt_tokens', 'inputTokens'),
    output: first('output_tokens', 'completion_tokens', 'outputTokens'),
    cached: first('cache_read_tokens', 'cached_tokens', 'cachedInputTokens'),
    reasoning: first('reasoning_tokens', 'output_reasoning_tokens', 'reasoningTokens'),
    calls: 1,
    cost: Number.isFinite(cost) ? cost : 0,
  };
}

const count = (value) => (Number.isFinite(value) && value > 0 ? value : 0);

function add(to, more) {
  for (const name of Object.keys(none())) to[name] += more[name];
}
