// A request for credentials. A credential is encrypted here, for the key of the request, and goes to
// the server's vault, never into the journal.

import { safeLink } from '../markdown.js';
import { html, useId, useState } from '../ui.js';
import { encrypt } from './jwe.js';

const NAMES = { oauth2: 'Access token', 'api-key': 'API key', pat: 'Personal access token', password: 'Password', biometric: 'Proof', custom: 'Credential' };

export function Auth({ question, submit, busy }) {
  const { event } = question;
  const id = useId();
  const [secret, setSecret] = useState('');
  const [user, setUser] = useState('');
  const [error, setError] = useState(null);
  const encrypted = event.encryptionKey !== undefined && event.encryptionKey !== null;
  const done = async (own) => {
    own.preventDefault();
    setError(null);
    if (!encrypted) {
      submit({ userId: user.trim() || 'user' });
      return;
    }
    try {
      const text = event.authType === 'password' && user ? JSON.stringify({ username: user, password: secret }) : secret;
      const credential = await encrypt(text, event);
      setSecret('');
      submit({ credential, userId: user.trim() || 'user' });
    } catch {
      setError('This browser could not encrypt it. Open this page over HTTPS or on the server itself.');
    }
  };
  const place = [event.authUrl, event.authorizationEndpoint, event.infoUrl].map(safeLink).find(Boolean);
  const scopes = Array.isArray(event.scopes) ? event.scopes.filter((one) => typeof one === 'string') : [];
  return html`<form class="form auth" onSubmit=${done}>
    ${event.provider && html`<p class="about">For <strong>${String(event.provider)}</strong>${scopes.length ? ` · ${scopes.join(', ')}` : ''}</p>`}
    ${place && html`<p><a href=${place} target="_blank" rel="noopener noreferrer">Open ${new URL(place).host}</a></p>`}
    <div class="fields">
      ${(event.authType === 'password' || !encrypted) && html`<div class="field"><label for=${`${id}-user`}>User</label>
        <input id=${`${id}-user`} value=${user} autocomplete="off" onInput=${(e) => setUser(e.target.value)} /></div>`}
      ${encrypted && html`<div class="field"><label for=${`${id}-secret`}>${NAMES[event.authType] ?? 'Credential'}</label>
        <input id=${`${id}-secret`} type="password" autocomplete="off" value=${secret} onInput=${(e) => setSecret(e.target.value)} />
        <p class="about">Encrypted in this browser; it never enters the journal.</p></div>`}
    </div>
    ${error && html`<p class="wrong" role="alert">${error}</p>`}
    <div class="actions"><button type="submit" class="primary" disabled=${busy || (encrypted && !secret)}>${encrypted ? 'Hand over' : 'I have authenticated'}</button></div>
  </form>`;
}
