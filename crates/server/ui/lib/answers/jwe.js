// A credential as JWE (ECDH-ES with P-256, A256GCM; RFC 7516 and 7518), as docs/configuration.md says.

const text = new TextEncoder();
const coded = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');

/** Encrypts a credential for the key of an `auth-required` event. */
export async function encrypt(credential, { authId, contextId, encryptionKey }) {
  const curve = { name: 'ECDH', namedCurve: 'P-256' };
  const { kty, crv, x, y } = encryptionKey;
  const theirs = await crypto.subtle.importKey('jwk', { kty, crv, x, y }, curve, false, []);
  const ours = await crypto.subtle.generateKey(curve, false, ['deriveBits']);
  const shared = await crypto.subtle.deriveBits({ name: 'ECDH', public: theirs }, ours.privateKey, 256);
  const key = await crypto.subtle.importKey('raw', await derived(shared, 'A256GCM', 256), 'AES-GCM', false, ['encrypt']);
  const epk = await crypto.subtle.exportKey('jwk', ours.publicKey);
  const now = Math.floor(Date.now() / 1000);
  const header = {
    alg: 'ECDH-ES', enc: 'A256GCM', epk: { kty: epk.kty, crv: epk.crv, x: epk.x, y: epk.y }, authId, contextId, iat: now, exp: now + 300,
    ...(encryptionKey.kid ? { kid: encryptionKey.kid } : {}),
  };
  const head = coded(text.encode(JSON.stringify(header)));
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const sealed = new Uint8Array(await crypto.subtle.encrypt({ name: 'AES-GCM', iv, additionalData: text.encode(head), tagLength: 128 }, key, text.encode(credential)));
  return [head, '', coded(iv), coded(sealed.slice(0, -16)), coded(sealed.slice(-16))].join('.');
}

/** Concat KDF, one round: enough for 256 bits. */
async function derived(shared, name, bits) {
  const length = (n) => new Uint8Array(new Uint32Array([n]).buffer).reverse();
  const parts = [length(1), new Uint8Array(shared), length(name.length), text.encode(name), length(0), length(0), length(bits)];
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
  return crypto.subtle.digest('SHA-256', all);
}
