// What an event says, in a few words: for cards, lists, the replay bar and screen readers.

import { plain } from '../../../lib/format.js';

const NAMES = {
  'task-created': 'Task begins', 'task-status': 'Task', 'task-complete': 'Task is done', 'content-delta': 'Text',
  'content-complete': 'Text is whole', 'tool-start': 'Tool starts', 'tool-progress': 'Tool goes on', 'tool-complete': 'Tool is done',
  'input-required': 'Question', 'tool-input-required': 'Question', 'input-received': 'Answer', 'auth-required': 'Asks for credentials',
  'auth-completed': 'Credentials given', 'file-write': 'File', 'data-write': 'Data', 'dataset-write': 'Dataset',
  'subtask-created': 'Calls an agent', 'thought-stream': 'Thought', 'internal:thought-process': 'Reasoning',
  'internal:llm-call': 'Asks the model', 'internal:checkpoint': 'Checkpoint', 'tool-call': 'Asks for a tool', 'llm-usage': 'Tokens',
  message: 'Message', 'internal:tool-message': 'Tool to model', 'internal:tool-start': 'Tool starts',
  'internal:tool-complete': 'Tool is done', 'thread-created': 'Thread begins', 'thread-updated': 'Thread changes',
  'participant-joined': 'Joins', 'participant-left': 'Leaves', 'step-started': 'Model call begins', 'step-finished': 'Model call ends',
  'part-started': 'Part begins', 'part-finished': 'Part ends', 'tool-call-started': 'Writes a tool call', 'tool-call-delta': 'Tool call',
  source: 'Source', 'route-decided': 'Route', 'cancel-requested': 'Asked to stop', 'input-expired': 'Nobody answered',
  'attempt-superseded': 'Tries again', error: 'Error', system: 'Application', opaque: 'Kept as it came', redacted: 'Content is redacted',
};

const STATUS = {
  working: 'works', 'waiting-input': 'waits for an answer', 'waiting-auth': 'waits for credentials',
  'waiting-subtask': 'waits for another agent', completed: 'done', failed: 'failed', canceled: 'stopped',
};

/** Kinds whose words are Markdown. */
const PROSE = new Set(['message', 'content-delta', 'content-complete', 'thought-stream', 'task-complete', 'input-required', 'tool-input-required', 'auth-required', 'subtask-created']);

/** An event's kind as people say it. */
export function named(event) {
  if (event?.kind === 'tool-complete' && event.success === false) return event.outcome === 'denied' ? 'Tool is denied' : 'Tool failed';
  return NAMES[event?.kind] ?? String(event?.kind ?? 'Unknown');
}

/** What an event is about, on one line; '' where its name says all. */
export function about(event) {
  const told = raw(event ?? {});
  return PROSE.has(event?.kind) ? words(told) : oneLine(told);
}

function raw(event) {
  if (event.redacted) return 'redacted';
  switch (event.kind) {
    case 'message': return said(event.content);
    case 'content-delta': case 'tool-call-delta': return event.delta;
    case 'content-complete': case 'thought-stream': case 'task-complete': return event.content;
    case 'internal:thought-process': return event.reasoning;
    case 'tool-call': case 'tool-start': case 'tool-call-started': case 'internal:tool-start': case 'internal:tool-complete':
      return event.toolName;
    case 'tool-complete':
      return event.success === false ? [event.toolName, event.error ?? 'failed'].filter(Boolean).join(': ') : event.toolName;
    case 'tool-progress': {
      const share = Number(event.progress);
      const told = Number.isFinite(share) ? `${Math.round(share > 1 ? share : share * 100)} %` : '';
      return [told, event.message].filter(Boolean).join(' · ');
    }
    case 'input-required': case 'tool-input-required': case 'auth-required': case 'subtask-created': return event.prompt;
    case 'input-received': return { true: 'yes', false: 'no' }[event.value] ?? said(event.value);
    case 'file-write': case 'data-write': case 'dataset-write': return event.name ?? event.artifactId;
    case 'task-status': return [STATUS[event.status] ?? event.status, event.message].filter(Boolean).join(': ');
    case 'route-decided': return [event.to ? `to ${event.to}` : null, event.reason ?? event.intent].filter(Boolean).join(': ');
    case 'step-started': case 'internal:llm-call': return event.model;
    case 'step-finished': return [event.model, event.finishReason].filter(Boolean).join(' · ');
    case 'participant-joined': case 'participant-left': return event.name ?? event.participantId;
    case 'thread-created': case 'thread-updated': return event.title;
    case 'error': return event.message;
    case 'attempt-superseded': case 'cancel-requested': case 'redacted': return event.reason;
    case 'source': return event.title ?? event.url ?? event.filename;
    case 'system': return event.name;
    default: return '';
  }
}

/** Text of a content that may be text, parts or anything. */
export function said(content) {
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map((part) => part?.text ?? '').join(' ');
  if (content && typeof content === 'object' && typeof content.text === 'string') return content.text;
  return content === undefined || content === null ? '' : JSON.stringify(content);
}

/** Markdown on one line. */
export const words = (text) => (typeof text === 'string' ? plain(text) : oneLine(text));

const LONG = 400;
export function oneLine(text) {
  if (typeof text !== 'string') return text === undefined || text === null ? '' : String(text);
  const short = text.slice(0, LONG).replace(/\s+/g, ' ').trim();
  return text.length > LONG ? `${short}…` : short;
}

/**
 * What kind of mark an event is worth, or null: 'message', 'task', 'tool', 'broken' (a tool that failed),
 * 'question', 'answer', 'artifact', 'error'.
 */
export function mark(event) {
  switch (event?.kind) {
    case 'message': return event.answers === undefined ? 'message' : null;
    case 'task-created': return 'task';
    case 'tool-start': return 'tool';
    case 'tool-complete': return event.success === false ? 'broken' : null;
    case 'input-required': case 'tool-input-required': case 'auth-required': return 'question';
    case 'input-received': case 'auth-completed': return 'answer';
    case 'data-write': return 'artifact';
    case 'file-write': case 'dataset-write': return event.index ? null : 'artifact';
    case 'task-status': return event.status === 'failed' ? 'error' : null;
    case 'error': case 'attempt-superseded': case 'input-expired': return 'error';
    default: return null;
  }
}
