// A conversation with something of everything, at fixed times, for pictures and for reading.

import { PNG } from 'pngjs';

const START = Date.UTC(2026, 10, 16, 9, 30);
export const CLOCK = '2026-11-16T10:00:00Z';

/** A swatch: indigo, ecru, one red thread. */
const swatch = new PNG({ width: 160, height: 60 });
for (let i = 0; i < 160 * 60; i++) {
  const x = i % 160;
  const [r, g, b] = x > 148 && x < 154 ? [229, 72, 77] : Math.floor(x / 10) % 2 ? [244, 239, 228] : [43, 58, 103];
  swatch.data.set([r, g, b, 255], i * 4);
}
const SWATCH = PNG.sync.write(swatch).toString('base64');
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="240" height="80" viewBox="0 0 240 80"><rect width="240" height="80" fill="#2b3a67"/><g stroke="#f4efe4" stroke-width="3">'
  + [20, 50, 80, 110, 140, 170, 200].map((x) => `<path d="M${x} 10v60"/>`).join('') + '</g><path d="M225 10v60" stroke="#e5484d" stroke-width="4" stroke-dasharray="10 6"/></svg>';

/** Events up to where the weaver asks; with `asks` false it ends before that. */
export function story({ asks = true } = {}) {
  let n = 0;
  const at = () => new Date(START + n++ * 1700).toISOString();
  const by = (taskId, agentId) => (kind, more = {}) => ({ kind, taskId, agentId, timestamp: at(), ...more });
  const dyer = by('dye', 'dyer');
  const weaver = by('weave', 'weaver');
  const events = [
    { kind: 'participant-joined', participantId: 'dyer', role: 'agent', name: 'dyer', model: 'vat-2', timestamp: at() },
    { kind: 'participant-joined', participantId: 'weaver', role: 'agent', name: 'weaver', model: 'loom-1', timestamp: at() },
    {
      kind: 'message', role: 'user', author: 'ada', messageId: 'm1', timestamp: at(),
      content: [{ type: 'text', text: 'Weave me a **selvedge** like this swatch, please. Two colours, one red thread.' }, { type: 'file', mediaType: 'image/png', filename: 'swatch.png', url: `data:image/png;base64,${SWATCH}` }],
    },
    dyer('task-created', { initiator: 'user', messageId: 'm1' }),
    dyer('step-started', { model: 'vat-2' }),
    dyer('thought-stream', { thoughtId: 't1', thoughtType: 'planning', verbosity: 'brief', content: 'Indigo first, ecru as it is.' }),
    dyer('thought-stream', { thoughtId: 't2', thoughtType: 'reasoning', verbosity: 'normal', content: 'Indigo is a vat dye: it takes **several dips**, each one darker. Seven dips give the shade of the swatch; ecru is what cotton looks like anyway.' }),
    dyer('thought-stream', { thoughtId: 't3', thoughtType: 'analysis', verbosity: 'detailed', content: 'Every dip takes six minutes.' }),
    dyer('content-delta', { partId: 'p1', delta: '### The colours\n\n| thread | dye | dips |\n|---|---|--:|\n| warp | indigo | 7 |\n| weft | none (ecru) | 0 |\n| edge | madder | 3 |\n\nI dye the warp in a loop:\n\n```python\nfor dip in range(7):\n    vat.lower(yarn, minutes=6)\n    yarn.air(minutes=10)  # it turns blue here\n```\n\nSee [how vats work](https://example.com/vat) for more.' }),
    dyer('content-complete', { partId: 'p1', content: '', finishReason: 'tool_calls' }),
    dyer('tool-call', { toolCallId: 'c1', toolName: 'vat__dip', arguments: { colour: 'indigo', dips: 7, yarn: { kind: 'cotton', grams: 400 } } }),
    dyer('tool-start', { toolCallId: 'c1', toolName: 'vat__dip', arguments: { colour: 'indigo', dips: 7, yarn: { kind: 'cotton', grams: 400 } } }),
    dyer('tool-complete', { toolCallId: 'c1', toolName: 'vat__dip', success: true, result: { shade: 'deep', hours: 1.9 } }),
    dyer('tool-call', { toolCallId: 'c2', toolName: 'shop__order', arguments: { item: 'madder root' } }),
    dyer('tool-start', { toolCallId: 'c2', toolName: 'shop__order', arguments: { item: 'madder root' } }),
    dyer('tool-complete', { toolCallId: 'c2', toolName: 'shop__order', success: false, error: 'the shop is closed on Mondays', outcome: 'failed' }),
    dyer('file-write', { artifactId: 'recipe.md', name: 'recipe.md', mimeType: 'text/markdown', data: '# Recipe\n\n- [x] wash the yarn\n- [x] seven dips of indigo\n- [ ] three of madder\n', index: 0, complete: true }),
    dyer('data-write', { artifactId: 'shade', name: 'shade', description: 'What came out of the vat', data: { name: 'deep indigo', lab: [24, 9, -34], fast: true, washes: { cold: 40, warm: 12 } } }),
    dyer('dataset-write', { artifactId: 'dips', name: 'dips', rows: [1, 2, 3, 4, 5, 6, 7].map((dip) => ({ dip: `dip ${dip}`, lightness: Math.round(82 - 8.200 * dip), minutes: 6 + dip })), index: 0, complete: true }),
    dyer('step-finished', { finishReason: 'stop', usage: { input_tokens: 1240, output_tokens: 388, cost: 0.0184 } }),
    dyer('task-complete', { content: 'done' }),
    { kind: 'route-decided', timestamp: at(), taskId: 'weave', to: 'weaver', intent: 'execute', reason: 'the yarn is ready' },
    weaver('task-created', { initiator: 'agent' }),
    weaver('step-started', { model: 'loom-1' }),
    weaver('content-complete', { partId: 'w1', content: 'The loom is set up. This is how the edge will look:' }),
    weaver('file-write', { artifactId: 'draft.svg', name: 'draft.svg', mimeType: 'image/svg+xml', data: SVG, index: 0, complete: true }),
    weaver('file-write', { artifactId: 'loom.py', name: 'loom.py', mimeType: 'text/x-python', data: 'def pick(shed, shuttle):\n    """One throw of the shuttle."""\n    shed.open()\n    shuttle.throw(edge="red")\n    shed.close()\n', index: 0, complete: true }),
    { kind: 'source', timestamp: at(), taskId: 'weave', agentId: 'weaver', url: 'https://example.com/looms', title: 'Looms of the north' },
    { kind: 'error', timestamp: at(), taskId: 'weave', agentId: 'weaver', code: 'rate_limited', message: 'The model was asked too often; it is asked again', retryable: true },
    weaver('tool-call', { toolCallId: 'c3', toolName: 'loom__weave', arguments: { metres: 12 } }),
    weaver('tool-start', { toolCallId: 'c3', toolName: 'loom__weave', arguments: { metres: 12 } }),
    weaver('tool-progress', { toolCallId: 'c3', progress: 0.42, message: '5 of 12 metres' }),
  ];
  if (asks) {
    events.push(
      weaver('step-finished', { finishReason: 'tool_calls', usage: { input_tokens: 800, output_tokens: 95, cost: 0.0062 } }),
      weaver('input-required', { inputId: 'cut', inputType: 'confirmation', requireUser: true, prompt: 'Cut the cloth after **12 metres**? It cannot be undone.' }),
    );
  }
  return events;
}
