// The first visit to an empty server: what to do next.

import { api, curlKey } from '../lib/api.js';
import { icon } from '../lib/icons.js';
import { Command } from '../lib/parts.js';
import { go, threadLink } from '../lib/router.js';
import { html, useEffect, useState } from '../lib/ui.js';

export function Welcome() {
  const [demo, setDemo] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  useEffect(() => {
    api('/api/agents').then((answer) => setDemo(answer.demo), () => {});
  }, []);
  const begin = async () => {
    setBusy(true);
    setError(null);
    try {
      const { thread } = await api('/api/demo', { method: 'POST' });
      go(threadLink(thread));
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  const { origin } = location;
  return html`<div class="welcome">
    <h2>No conversations yet</h2>
    <p class="lead">Every conversation of agents that reaches this server, in whatever protocol, shows up here as it happens.</p>
    ${demo && html`<section class="demo">
      <div><h3>See one</h3><p>Four scripted agents plan a weekend in Lisbon. They use real tools, and ask you before they book. No key is needed.</p></div>
      <button type="button" class="primary" disabled=${busy} onClick=${begin}>${icon('play', 14)}Start the demo conversation</button>
      ${error && html`<p class="wrong" role="alert">${error.message}.</p>`}
    </section>`}
    <section><h3>Or begin one of your own</h3>
      <ol>
        <li><p>Make a thread and say something:</p>
          <${Command} text=${`curl${curlKey()} -X POST ${origin}/api/threads -d '{"id":"t1","title":"Rivers"}'`} />
          <${Command} text=${`curl${curlKey()} -X POST ${origin}/api/threads/t1/events -d '{"kind":"message","role":"user","content":"How long is the Seine?"}'`} /></li>
        <li><p>Let agents answer: describe them in <code>selvedge.toml</code>, check it, and start the server with it.</p>
          <${Command} text="selvedge config check selvedge.toml" />
          <${Command} text="selvedge serve --config selvedge.toml" /></li>
        <li><p>Or bring a conversation that you have, from any framework:</p>
          <${Command} text=${`selvedge import conversation.json --url ${origin}`} /></li>
      </ol></section>
  </div>`;
}
