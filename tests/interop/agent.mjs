// An agent with its own keys, and one whose keys the service holds, over plain HTTP.
import { MODE, b64, decrypt, encrypt, hex, startSession, unb64, utf8 } from './formats.mjs';

/** A request; throws with the body unless the answer has a status of 2xx. */
export const call = async (base, method, path, { key, body } = {}) => {
  const headers = { 'content-type': 'application/json', ...(key ? { 'x-agent-key': key } : {}) };
  const answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
  const received = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${received}`);
  return JSON.parse(received);
};

/** The keys that anybody can look up. */
export const lookUp = async (base, did) => {
  const identity = await call(base, 'GET', `/v1/agent/identity/${encodeURIComponent(did)}`);
  return {
    did,
    encryption: unb64(identity.encryption_public_key),
    signing: unb64(identity.signing_public_key),
    kem: identity.mlkem_public_key ? unb64(identity.mlkem_public_key) : null,
  };
};

export class ClientSide {
  static async register(base, crypto) {
    const agent = new ClientSide();
    const prekey = crypto.boxPair();
    Object.assign(agent, { base, crypto, signing: crypto.signingPair(), box: crypto.boxPair(), sessions: new Map() });
    Object.assign(agent, { kem: await crypto.kemPair(), secrets: new Map() });
    const registered = await call(base, 'POST', '/v1/agent/register', {
      body: {
        signing_public_key: b64(agent.signing.publicKey),
        encryption_public_key: b64(agent.box.publicKey),
        mlkem_public_key: b64(agent.kem.publicKey),
        signed_prekey_public: b64(prekey.publicKey),
        signed_prekey_signature: b64(crypto.sign(prekey.publicKey, agent.signing.secret)),
        signed_prekey_id: 1,
      },
    });
    return Object.assign(agent, { did: registered.did, key: registered.api_key });
  }

  async send(to, message, mode = MODE) {
    const peer = await lookUp(this.base, to);
    const name = `${to} ${JSON.stringify(mode)}`;
    if (!this.sessions.has(name)) this.sessions.set(name, await startSession(this.crypto, this, peer, mode));
    const body = encrypt(this.crypto, this.sessions.get(name), this, peer, message);
    return call(this.base, 'POST', '/v1/agent/send/encrypted', { key: this.key, body });
  }

  /** Routes a plain NaCl box without any header; the text that is signed does not travel. */
  async route(to, message) {
    const { crypto } = this;
    const peer = await lookUp(this.base, to);
    const nonce = b64(crypto.random(24));
    const ciphertext = b64(crypto.seal(utf8(message), unb64(nonce), crypto.shared(peer.encryption, this.box.secret)));
    const ciphertext_hash = hex(crypto.sha256(utf8(ciphertext)));
    const signed = JSON.stringify({ from: this.did, to, nonce, ciphertext_hash });
    const signature = b64(crypto.sign(utf8(signed), this.signing.secret));
    return call(this.base, 'POST', '/v1/relay/route', { key: this.key, body: { to, ciphertext, nonce, signature } });
  }

  /** States something, signed over the text that goes out. */
  attest(claim_type, claim_data, about = {}) {
    const timestamp = new Date().toISOString();
    const signed = utf8(claim_type + JSON.stringify(claim_data) + timestamp);
    const signature = b64(this.crypto.sign(signed, this.signing.secret));
    const body = { claim_type, claim_data, timestamp, signature, ...about };
    return call(this.base, 'POST', '/v1/agent/attestations', { key: this.key, body });
  }

  corroborate(id, vote) {
    const body = { vote, signature: b64(this.crypto.sign(utf8(id + vote), this.signing.secret)) };
    return call(this.base, 'POST', `/v1/agent/attestations/${id}/corroborate`, { key: this.key, body });
  }

  /** Unread messages, opened, oldest first; marks them read. */
  async receive() {
    const { messages } = await call(this.base, 'GET', '/v1/agent/receive/raw?limit=100', { key: this.key });
    const opened = [];
    for (const raw of messages) opened.push(await decrypt(this.crypto, this, raw, this.secrets));
    const message_ids = messages.map((raw) => raw.id);
    await call(this.base, 'POST', '/v1/agent/messages/read-batch', { key: this.key, body: { message_ids } });
    return opened;
  }
}

export class ServerSide {
  static async register(base) {
    const agent = new ServerSide();
    const { did, api_key } = await call(base, 'POST', '/v1/agent/register', { body: {} });
    return Object.assign(agent, { base, did, key: api_key });
  }

  send(to, message) {
    return call(this.base, 'POST', '/v1/agent/send', { key: this.key, body: { to, message } });
  }

  attest(claim_type, claim_data, about = {}) {
    const body = { claim_type, claim_data, ...about };
    return call(this.base, 'POST', '/v1/agent/attestations', { key: this.key, body });
  }

  corroborate(id, vote) {
    return call(this.base, 'POST', `/v1/agent/attestations/${id}/corroborate`, { key: this.key, body: { vote } });
  }

  async receive() {
    const { messages } = await call(this.base, 'GET', '/v1/agent/receive?limit=100', { key: this.key });
    const message_ids = messages.map((item) => item.id);
    await call(this.base, 'POST', '/v1/agent/messages/read-batch', { key: this.key, body: { message_ids } });
    return messages.map((item) => ({ text: item.content, from: item.from, genuine: item.signature_valid }));
  }
}
