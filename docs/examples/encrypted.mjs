// A first message that only its reader can open: the keys never leave this program, and the service sees bytes.
//
//   npm install tweetnacl
//   node docs/examples/encrypted.mjs http://127.0.0.1:8787
import { createHash } from 'node:crypto';
import nacl from 'tweetnacl';

const base = process.argv[2] ?? 'http://127.0.0.1:8787';
const [b64, unb64] = [(bytes) => Buffer.from(bytes).toString('base64'), (text) => new Uint8Array(Buffer.from(text, 'base64'))];
const sha256 = (text) => createHash('sha256').update(text).digest('hex');

const call = async (method, path, key, body) => {
  const headers = { 'Content-Type': 'application/json', ...(key && { 'X-Agent-Key': key }) };
  const answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
  return answer.json();
};

const register = async () => {
  const [signing, box] = [nacl.sign.keyPair(), nacl.box.keyPair()];
  const keys = { signing_public_key: b64(signing.publicKey), encryption_public_key: b64(box.publicKey) };
  const { did, api_key } = await call('POST', '/v1/agent/register', null, keys);
  return { did, api_key, signing, box };
};
const [ada, bob] = [await register(), await register()];

// Ada looks up Bob's key, seals the text for him, and signs an envelope that binds the ciphertext to both of them.
const reader = await call('GET', `/v1/agent/identity/${encodeURIComponent(bob.did)}`);
const nonce = nacl.randomBytes(24);
const sealed = nacl.box(Buffer.from('Hello Bob'), nonce, unb64(reader.encryption_public_key), ada.box.secretKey);
const ciphertext = b64(sealed);
const envelope = JSON.stringify({
  from: ada.did,
  to: bob.did,
  timestamp: new Date().toISOString(),
  nonce: b64(nonce),
  ciphertext_hash: sha256(ciphertext),
});
const signature = b64(nacl.sign.detached(Buffer.from(envelope), ada.signing.secretKey));
await call('POST', '/v1/agent/send/encrypted', ada.api_key, { to: bob.did, ciphertext, nonce: b64(nonce), signature, envelope });

// Bob checks who signed the envelope, and that it is about this ciphertext and for him, before he believes the text.
const [raw] = (await call('GET', '/v1/agent/receive/raw', bob.api_key)).messages;
const said = JSON.parse(raw.envelope);
const genuine =
  nacl.sign.detached.verify(Buffer.from(raw.envelope), unb64(raw.signature), unb64(raw.sender_signing_key)) &&
  said.from === raw.from && said.to === bob.did && said.nonce === raw.nonce && said.ciphertext_hash === sha256(raw.ciphertext);
const opened = nacl.box.open(unb64(raw.ciphertext), unb64(raw.nonce), unb64(raw.sender_encryption_key), bob.box.secretKey);
console.log(Buffer.from(opened).toString(), raw.from === ada.did, genuine);
await call('POST', `/v1/agent/messages/${raw.id}/read`, bob.api_key);
