// A page with `useChat`, as an application has it: history first, then the hook, which resumes.

import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { createRoot } from 'react-dom/client';

const asked = new URLSearchParams(location.search);
const [id, agent] = [asked.get('id'), asked.get('agent') ?? undefined];

function Chat({ messages: before }) {
  const { messages, sendMessage, addToolApprovalResponse, stop, status, error } = useChat({
    id,
    messages: before,
    resume: true,
    transport: new DefaultChatTransport({
      api: '/ai-sdk/chat',
      headers: { 'x-ai-sdk-version': '7' },
      body: { agent },
    }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const say = (event) => {
    event.preventDefault();
    sendMessage({ text: event.target.elements.said.value });
    event.target.reset();
  };
  const end = async () => {
    await fetch(`/ai-sdk/chat/${id}/stop`, { method: 'POST' });
    await stop();
  };
  return (
    <main data-status={status}>
      {messages.map((message) => (
        <article key={message.id} data-role={message.role}>
          {message.parts.map((part, i) => {
            if (part.type === 'text') return <p key={i}>{part.text}</p>;
            if (part.state === 'approval-requested') {
              const approve = () => addToolApprovalResponse({ id: part.approval.id, approved: true });
              return <button key={i} id="approve" onClick={approve}>Approve</button>;
            }
            return part.toolCallId ? <output key={i}>{part.state}</output> : null;
          })}
        </article>
      ))}
      <form onSubmit={say}><input name="said" /></form>
      <button id="stop" onClick={end}>Stop</button>
      <aside>{error?.message}</aside>
    </main>
  );
}

const response = await fetch(`/ai-sdk/chat/${id}?version=7`);
const messages = response.ok ? await response.json() : [];
createRoot(document.body).render(<Chat messages={messages} />);
