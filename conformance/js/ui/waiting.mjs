// Threads in which something waits for a person, of every kind.

/** Makes them; `now` is what the pages' clock says, for how much time is left. */
export async function asks(api, now = Date.now()) {
  const left = (ms) => new Date(now + ms).toISOString();
  const thread = async (id, title, agent, said, event) => {
    await api('/api/threads', { id, title });
    await api(`/api/threads/${id}/events`, [
      { kind: 'participant-joined', participantId: agent, role: 'agent', name: agent },
      { kind: 'message', role: 'user', messageId: `${id}-1`, content: said[0] },
      { kind: 'task-created', taskId: `${id}-t`, agentId: agent, initiator: 'user' },
      { kind: 'content-complete', taskId: `${id}-t`, agentId: agent, content: said[1] },
      { taskId: `${id}-t`, agentId: agent, ...event },
    ]);
  };
  await thread('deploy', 'Release 2.4', 'releaser',
    ['Bring 2.4 to production when the checks are green.', 'All **214 checks** are green. The migration adds two columns and takes about 40 seconds; writes wait meanwhile.'],
    { kind: 'input-required', inputId: 'go', inputType: 'confirmation', requireUser: true, prompt: 'Deploy **2.4.0** to production now?', metadata: { urgency: 'high' }, expiresAt: left(14 * 60_000 + 30_000) });
  await thread('lunch', 'Team lunch on Thursday', 'concierge',
    ['Find a place for nine people near the office.', 'Three places have a table for nine on Thursday at 12:30.'],
    { kind: 'input-required', inputId: 'place', inputType: 'selection', requireUser: true, prompt: 'Which place do you like?',
      options: [{ id: 'nori', label: 'Nori, Japanese' }, { id: 'tasca', label: 'A Tasca, Portuguese' }, { id: 'green', label: 'Green Table, vegetarian' }] });
  await thread('travel', 'Berlin in December', 'booker',
    ['Book the train to Berlin on 4 December.', 'There is a seat in the 08:04. I need a few details for the ticket.'],
    { kind: 'input-required', inputId: 'details', inputType: 'data', requireUser: true, prompt: 'Who travels?',
      schema: { type: 'object', required: ['name'], properties: { name: { type: 'string', title: 'Name on the ticket' }, seat: { type: 'string', title: 'Seat', enum: ['window', 'aisle'] }, bahncard: { type: 'boolean', title: 'BahnCard 50' } } } });
  await thread('invoice', 'Invoices of October', 'bookkeeper',
    ['Pay what is due.', 'One invoice is due today: 1,240 € to Lindner & Co.'],
    { kind: 'input-required', inputId: 'pay', inputType: 'confirmation', requireUser: true, prompt: 'Pay **1,240 €** to Lindner & Co.?' });
  await thread('crm', 'Quarterly numbers', 'analyst',
    ['How many customers renewed this quarter?', 'That is in the CRM, and I have no access to it.'],
    { kind: 'auth-required', authId: 'crm', authType: 'api-key', provider: 'crm', prompt: 'An API key for the CRM, with read access.' });
  await thread('brief', 'The autumn newsletter', 'writer',
    ['Write the newsletter.', 'I have a first draft. One thing is open.'],
    { kind: 'input-required', inputId: 'tone', inputType: 'clarification', requireUser: true, prompt: 'Should it be **formal**, or as we talk among ourselves?' });
}
