// The dialects a thread can be read in: their names, and whether they can be followed as they grow.

/**
 * @typedef {{id: string, name: string, about: string, kind: 'native'|'stream'|'document', carrier?: boolean, sees?: boolean}} Dialect
 *   `carrier`: nothing is lost in it; `sees`: it can be written as one agent sees it
 */

/** @type {Dialect[]} */
export const DIALECTS = [
  { id: 'native', name: 'Journal', about: 'Every event as it stands in the journal', kind: 'native', carrier: true },
  { id: 'ai-sdk-stream', name: 'AI SDK stream', about: 'UI message stream of Vercel’s AI SDK', kind: 'stream' },
  { id: 'a2a', name: 'A2A', about: 'Agent2Agent 1.0 tasks and updates', kind: 'stream' },
  { id: 'ag-ui', name: 'AG-UI', about: 'Agent–User Interaction events', kind: 'stream' },
  { id: 'openai-threads', name: 'OpenAI threads', about: 'Messages, runs and steps of the threads API', kind: 'stream' },
  { id: 'envelope', name: 'Envelopes', about: 'multiagent-1.0, one a line', kind: 'stream' },
  { id: 'looopy', name: 'Looopy', about: 'Looopy events over SSE', kind: 'stream' },
  { id: 'agent-api', name: 'Agent API', about: 'Response streams of the Agent API', kind: 'stream' },
  { id: 'journal', name: 'Archive', about: 'One journal entry a line, with its source', kind: 'stream', carrier: true },
  { id: 'pydantic-ai', name: 'Pydantic AI', about: 'ModelMessages: what a model is given', kind: 'document', sees: true },
  { id: 'ai-sdk-messages', name: 'AI SDK messages', about: 'UIMessages of Vercel’s AI SDK', kind: 'document' },
  { id: 'thread-protocol', name: 'ThreadProtocol', about: 'One document with everything in it', kind: 'document', carrier: true },
  { id: 'aitp', name: 'AITP', about: 'Thread, messages and actors', kind: 'document' },
];

const byId = new Map(DIALECTS.map((one) => [one.id, one]));
/** So many stand side by side. */
export const MOST = 6;
const FIRST = 'native,ai-sdk-stream,a2a';

/**
 * Columns as the address has them: `native,a2a,pydantic-ai~planner` (the part behind ~ is whose view).
 * @returns {Array<{key: string, dialect: Dialect, agent: string|null}>}
 */
export function columnsOf(text) {
  const found = [];
  for (const key of (text ?? FIRST).split(',')) {
    const [id, agent] = key.split('~');
    const dialect = byId.get(id);
    if (!dialect || found.some((one) => one.dialect === dialect)) continue;
    const whose = agent && dialect.sees ? decode(agent) : null;
    found.push({ key: keyOf(dialect, whose), dialect, agent: whose });
  }
  return found.slice(0, MOST);
}

/** How the address spells a column. */
export const keyOf = (dialect, agent) => (agent ? `${dialect.id}~${encodeURIComponent(agent)}` : dialect.id);

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
