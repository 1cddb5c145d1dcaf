// Records session messages made from the wire contract with other libraries:
//   npm i tweetnacl@1.0.3 @noble/post-quantum@0.7.1 && node make.mjs > session.json
// Nothing of the Rust code is used. All randomness is SHA-512 of a counter, so another run gives the same file.
import { createHash, createHmac } from 'node:crypto';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
const require = createRequire(pathToFileURL(process.cwd() + '/'));
const nacl = require('tweetnacl');
const { ml_kem768 } = await import(pathToFileURL(require.resolve('@noble/post-quantum/ml-kem.js')));

const concat = (...parts) => Buffer.concat(parts.map((part) => Buffer.from(part)));
const sha256 = (...parts) => createHash('sha256').update(concat(...parts)).digest();
const b64 = (bytes) => Buffer.from(bytes).toString('base64');
const hex = (bytes) => Buffer.from(bytes).toString('hex');

let counter = 0;
const random = (size) => {
  const out = [];
  while (out.length < size) out.push(...nacl.hash(Buffer.from(`session vectors ${counter++}`)));
  return Uint8Array.from(out.slice(0, size));
};

const agent = (did) => {
  const signingSeed = random(32);
  const kemSeed = random(64);
  return {
    did,
    signingSeed,
    signing: nacl.sign.keyPair.fromSeed(signingSeed),
    box: nacl.box.keyPair.fromSecretKey(random(32)),
    kemSeed,
    kem: ml_kem768.keygen(kemSeed),
  };
};

const startSession = (from, to, mode) => {
  let init = nacl.box.before(to.box.publicKey, from.box.secretKey);
  let pq;
  if (mode.hybrid) {
    const { cipherText, sharedSecret } = ml_kem768.encapsulate(to.kem.publicKey, random(32));
    pq = cipherText;
    init = sha256(init, sharedSecret);
  }
  if (!mode.doubleRatchet) return { chain: init, step: 0, pq };
  const e = nacl.box.keyPair.fromSecretKey(random(32));
  const prk = sha256(init, nacl.box.before(to.box.publicKey, e.secretKey));
  return { chain: sha256(prk, [2]), step: 0, pq, e: e.publicKey };
};

const pad = (content) => {
  let total = 256;
  while (total < content.length + 2) total *= 2;
  return concat([content.length >> 8, content.length & 255], content, random(total - content.length - 2));
};

const send = (session, from, to, mode, text, sealedFields) => {
  session.step += 1;
  const key = sha256(session.chain, [2]);
  session.chain = sha256(session.chain, [1]);
  const timestamp = `2026-03-04T05:06:07.${String(session.step % 1000).padStart(3, '0')}Z`;
  let flags = 0x04;
  if (mode.padded) flags |= 0x01;
  if (mode.sealed) flags |= 0x02;
  if (session.pq) flags |= 0x08;
  if (session.e) flags |= 0x10;
  if (mode.deniable) flags |= 0x20;
  const content = Buffer.from(
    mode.sealed ? JSON.stringify({ v: 3, from: from.did, msg: text, ts: timestamp, ...sealedFields }) : text,
  );
  const plaintext = concat([0x56, flags, (session.step >> 8) & 255, session.step & 255], mode.padded ? pad(content) : content);
  const nonce = random(24);
  const ciphertext = b64(nacl.secretbox(Uint8Array.from(plaintext), nonce, Uint8Array.from(key)));
  const members = {
    from: from.did,
    to: to.did,
    timestamp,
    nonce: b64(nonce),
    ciphertext_hash: createHash('sha256').update(ciphertext).digest('hex'),
    ratchet_step: session.step,
  };
  if (session.pq) members.pq_ciphertext = b64(session.pq);
  if (session.e) {
    members.dh_ratchet_key = b64(session.e);
    members.pn = 0;
  }
  session.pq = undefined;
  const envelope = JSON.stringify(members);
  const signature = mode.deniable
    ? createHmac('sha256', nacl.box.before(to.box.publicKey, from.box.secretKey)).update(envelope).digest()
    : nacl.sign.detached(Buffer.from(envelope), from.signing.secretKey);
  return { text, flags, step: session.step, ciphertext, nonce: b64(nonce), envelope, signature: b64(signature) };
};

const all = { hybrid: true, doubleRatchet: true, padded: true, sealed: false, deniable: false };
const cases = [
  ['default', all],
  ['without post-quantum', { ...all, hybrid: false }],
  ['without double ratchet', { ...all, doubleRatchet: false }],
  ['without post-quantum and double ratchet', { ...all, hybrid: false, doubleRatchet: false }],
  ['sealed', { ...all, sealed: true }],
  ['deniable', { ...all, deniable: true }],
  ['sealed and deniable', { ...all, sealed: true, deniable: true }],
  ['without padding', { ...all, padded: false }],
].map(([name, mode]) => {
  const from = agent('did:svc:alice');
  const to = agent('did:svc:bob');
  const session = startSession(from, to, mode);
  const texts = ['first', 'second \u{1F980}', '', 'x'.repeat(254), 'y'.repeat(255), 'z'.repeat(1000)];
  const sealedFields = { ct: 'application/json', mt: 'task', tid: 'thread-1', rto: 'message-1' };
  const messages = texts.map((text) => send(session, from, to, mode, text, sealedFields));
  // The last message but 300 steps on: skipped keys, and a step whose low and high bytes are both in use.
  for (let skipped = 0; skipped < 300; skipped++) send(session, from, to, mode, '', sealedFields);
  messages.push(send(session, from, to, mode, 'far', sealedFields));
  return {
    name,
    from: { did: from.did, signing_public: hex(from.signing.publicKey), encryption_public: hex(from.box.publicKey) },
    to: {
      did: to.did,
      encryption_secret: hex(to.box.secretKey),
      kem_seed: hex(to.kemSeed),
      kem_public_sha256: hex(sha256(to.kem.publicKey)),
    },
    sealed_fields: mode.sealed ? sealedFields : null,
    messages,
  };
});
console.log(JSON.stringify({ generator: 'npm tweetnacl 1.0.3, @noble/post-quantum 0.7.1', cases }, null, 1));
