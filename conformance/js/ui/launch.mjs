// A thread with everything a timeline has to show, always at the same times: agents that call each
// other, tools side by side, one that fails and one that is denied, an approval that took a while, and
// a question that is still open.

import { apiOf } from './page.mjs';

const BEGAN = Date.parse('2026-11-16T09:00:00.000Z');
/** When a page that shows it is looked at. */
export const NOW = '2026-11-16T09:20:00.000Z';
export const ID = 'launch';

/** Events in order, each some ms after the one before. */
class Script {
  events = [];
  time = BEGAN;

  add(ms, event) {
    this.time += ms;
    this.events.push({ timestamp: new Date(this.time).toISOString(), ...event });
    return this;
  }

  /** Text in pieces. */
  say(taskId, agentId, text, pace = 60) {
    for (const delta of text.match(/\S+\s*/g)) this.add(pace, { kind: 'content-delta', taskId, agentId, delta });
    return this.add(20, { kind: 'content-complete', taskId, agentId, content: text });
  }

  model(taskId, agentId, model, run, usage) {
    this.add(30, { kind: 'step-started', taskId, agentId, model });
    run();
    return this.add(40, { kind: 'step-finished', taskId, agentId, model, finishReason: 'stop', usage });
  }

  tool(ms, taskId, agentId, toolCallId, toolName) {
    return this.add(ms, { kind: 'tool-start', taskId, agentId, toolCallId, toolName, arguments: {} });
  }

  done(ms, taskId, agentId, toolCallId, toolName, more = { success: true }) {
    return this.add(ms, { kind: 'tool-complete', taskId, agentId, toolCallId, toolName, ...more });
  }
}

export function launch() {
  const s = new Script();
  const lead = { taskId: 'k-lead', agentId: 'lead' };
  const research = { taskId: 'k-research', agentId: 'researcher' };
  const write = { taskId: 'k-write', agentId: 'writer' };
  s.add(0, { kind: 'message', messageId: 'm1', role: 'user', author: 'ada', content: 'Write the announcement of our launch, with numbers.' });
  s.add(40, { kind: 'task-created', ...lead, initiator: 'user', messageId: 'm1' });
  s.add(20, { kind: 'task-status', ...lead, status: 'working' });
  s.model('k-lead', 'lead', 'large-1', () => s.say('k-lead', 'lead', 'I let the researcher find the numbers, and the writer write.'), { input_tokens: 420, output_tokens: 61, cost: 0.0031 });
  s.add(80, { kind: 'subtask-created', ...lead, agentId: 'researcher', subtaskId: 'k-research', prompt: 'Find the numbers of the beta' });
  s.add(30, { kind: 'task-created', ...research, parentTaskId: 'k-lead', initiator: 'agent' });
  s.add(10, { kind: 'task-status', ...lead, status: 'waiting-subtask' });
  s.model('k-research', 'researcher', 'small-1', () => s.say('k-research', 'researcher', 'Three places have them; I ask them all at once.', 45), { input_tokens: 910, output_tokens: 120, cost: 0.0009 });
  s.tool(30, 'k-research', 'researcher', 'c1', 'warehouse_query').tool(40, 'k-research', 'researcher', 'c2', 'search_tickets').tool(30, 'k-research', 'researcher', 'c3', 'read_page');
  s.add(700, { kind: 'tool-progress', ...research, toolCallId: 'c1', progress: 0.5, message: 'half of the rows' });
  s.done(300, 'k-research', 'researcher', 'c3', 'read_page', { success: false, error: 'the page answered 404' });
  s.done(700, 'k-research', 'researcher', 'c2', 'search_tickets').done(900, 'k-research', 'researcher', 'c1', 'warehouse_query');
  s.add(60, { kind: 'dataset-write', ...research, artifactId: 'numbers', name: 'numbers', rows: [{ week: 1, users: 1200 }, { week: 2, users: 3100 }], index: 0, complete: true });
  s.model('k-research', 'researcher', 'small-1', () => s.say('k-research', 'researcher', 'The beta grew from 1,200 to 3,100 users in two weeks.', 45), { input_tokens: 1300, output_tokens: 90, cost: 0.0012 });
  s.add(30, { kind: 'task-complete', ...research, content: 'The beta grew from 1,200 to 3,100 users in two weeks.' });
  s.add(40, { kind: 'task-status', ...lead, status: 'working' });
  s.add(80, { kind: 'subtask-created', ...lead, agentId: 'writer', subtaskId: 'k-write', prompt: 'Write it in two paragraphs' });
  s.add(30, { kind: 'task-created', ...write, parentTaskId: 'k-lead', initiator: 'agent' });
  s.model('k-write', 'writer', 'large-1', () => s.say('k-write', 'writer', 'Today we open the doors: three thousand people have tried it already, and what they made is on the wall.', 55), { input_tokens: 1800, output_tokens: 210, cost: 0.0104 });
  s.add(30, { kind: 'file-write', ...write, artifactId: 'post.md', name: 'post.md', data: '# We open the doors\n', index: 0, complete: true, mimeType: 'text/markdown' });
  s.add(20, { kind: 'tool-call', ...write, toolCallId: 'c4', toolName: 'publish_post', arguments: { to: 'blog' } });
  s.add(20, { kind: 'input-required', ...write, inputId: 'q1', inputType: 'confirmation', prompt: 'Publish post.md on the blog?', requireUser: true, toolCallId: 'c4' });
  s.add(252_000, { kind: 'input-received', ...write, inputId: 'q1', providedBy: 'user', userId: 'ada', value: false });
  s.done(30, 'k-write', 'writer', 'c4', 'publish_post', { success: false, outcome: 'denied', error: 'ada said no' });
  s.model('k-write', 'writer', 'large-1', () => s.say('k-write', 'writer', 'It stays a draft.', 60), { input_tokens: 2100, output_tokens: 12, cost: 0.0062 });
  s.add(30, { kind: 'task-complete', ...write, content: 'It stays a draft.' });
  s.model('k-lead', 'lead', 'large-1', () => s.say('k-lead', 'lead', 'The draft is post.md; the numbers are in the dataset.'), { input_tokens: 700, output_tokens: 40, cost: 0.0034 });
  s.add(30, { kind: 'task-complete', ...lead, content: 'The draft is post.md; the numbers are in the dataset.' });
  s.add(95_000, { kind: 'message', messageId: 'm2', role: 'user', author: 'ada', content: 'Then mail it to the team, please.' });
  s.add(30, { kind: 'task-created', taskId: 'k-mail', agentId: 'lead', initiator: 'user', messageId: 'm2' });
  s.model('k-mail', 'lead', 'large-1', () => s.say('k-mail', 'lead', 'I need the list first.'), { input_tokens: 800, output_tokens: 20, cost: 0.0021 });
  s.add(20, { kind: 'input-required', taskId: 'k-mail', agentId: 'lead', inputId: 'q2', inputType: 'clarification', prompt: 'Who is the team?', requireUser: true });
  return s.events;
}

/** Makes the thread on a server; gives how many entries it has. */
export async function makeLaunch(url) {
  const api = apiOf(url);
  await api('/api/threads', { id: ID, title: 'The launch post' });
  const { last } = await api(`/api/threads/${ID}/events`, launch());
  return last;
}
