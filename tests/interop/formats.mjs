// The wire formats of messages, written from the contract on top of any of the cryptographies beside this file.

export const b64 = (bytes) => Buffer.from(bytes).toString('base64');
export const unb64 = (text) => Uint8Array.from(Buffer.from(text, 'base64'));
export const utf8 = (text) => new TextEncoder().encode(text);
export const text = (bytes) => new TextDecoder('utf-8', { fatal: true }).decode(bytes);
export const hex = (bytes) => Buffer.from(bytes).toString('hex');
export const join = (...parts) => Uint8Array.from(Buffer.concat(parts.map((part) => Buffer.from(part))));

const MARK = 0x56;
const PADDED = 0x01;
const SEALED = 0x02;
const RATCHETED = 0x04;
const HYBRID = 0x08;
const DOUBLE = 0x10;
const DENIABLE = 0x20;

/** What every mode is unless said otherwise. */
export const MODE = { hybrid: true, doubleRatchet: true, padded: true, sealed: false, deniable: false };

const chainOf = (crypto, init, d) => (d ? crypto.sha256(join(crypto.sha256(join(init, d)), [2])) : init);
const messageKey = (crypto, chain) => crypto.sha256(join(chain, [2]));
const nextChain = (crypto, chain) => crypto.sha256(join(chain, [1]));

/** A sending session with a peer: `own` has box, `peer` has encryption and perhaps kem. */
export const startSession = async (crypto, own, peer, mode) => {
  let init = crypto.shared(peer.encryption, own.box.secret);
  const session = { mode, step: 0 };
  if (mode.hybrid && peer.kem) {
    const { ciphertext, secret } = await crypto.encapsulate(peer.kem);
    session.pq = ciphertext;
    init = crypto.sha256(join(init, secret));
  }
  let d;
  if (mode.doubleRatchet) {
    const ephemeral = crypto.boxPair();
    session.ephemeral = ephemeral.publicKey;
    d = crypto.shared(peer.encryption, ephemeral.secret);
  }
  session.chain = chainOf(crypto, init, d);
  return session;
};

const pad = (crypto, content) => {
  let total = 256;
  while (total < content.length + 2) total *= 2;
  const length = [content.length >> 8, content.length & 255];
  return join(length, content, crypto.random(total - content.length - 2));
};

/** The body of a post to `/v1/agent/send/encrypted`. */
export const encrypt = (crypto, session, own, peer, message) => {
  const { mode } = session;
  session.step += 1;
  const key = messageKey(crypto, session.chain);
  session.chain = nextChain(crypto, session.chain);
  const timestamp = new Date().toISOString();
  const flags =
    RATCHETED |
    (mode.padded ? PADDED : 0) |
    (mode.sealed ? SEALED : 0) |
    (session.pq ? HYBRID : 0) |
    (session.ephemeral ? DOUBLE : 0) |
    (mode.deniable ? DENIABLE : 0);
  const inner = mode.sealed ? JSON.stringify({ v: 3, from: own.did, msg: message, ts: timestamp }) : message;
  const content = mode.padded ? pad(crypto, utf8(inner)) : utf8(inner);
  const nonce = crypto.random(24);
  const header = [MARK, flags, (session.step >> 8) & 255, session.step & 255];
  const ciphertext = b64(crypto.seal(join(header, content), nonce, key));
  const members = {
    from: own.did,
    to: peer.did,
    timestamp,
    nonce: b64(nonce),
    ciphertext_hash: hex(crypto.sha256(utf8(ciphertext))),
    ratchet_step: session.step,
  };
  if (session.pq) members.pq_ciphertext = b64(session.pq);
  if (session.ephemeral) Object.assign(members, { dh_ratchet_key: b64(session.ephemeral), pn: 0 });
  session.pq = undefined;
  const envelope = JSON.stringify(members);
  const signature = mode.deniable
    ? crypto.hmacSha256(crypto.shared(peer.encryption, own.box.secret), utf8(envelope))
    : crypto.sign(utf8(envelope), own.signing.secret);
  return { to: peer.did, ciphertext, nonce: b64(nonce), signature: b64(signature), envelope };
};

/** A message without a session: what the service writes for agents whose keys it holds. */
const openBox = (crypto, own, raw, sender) => {
  const key = crypto.shared(sender.encryption, own.box.secret);
  return crypto.open(unb64(raw.ciphertext), unb64(raw.nonce), key);
};

const openSession = async (crypto, own, raw, sender, members, secrets) => {
  const shared = crypto.shared(sender.encryption, own.box.secret);
  const session = `${members.from} ${members.dh_ratchet_key ?? ''}`;
  if (members.pq_ciphertext) {
    secrets.set(session, await crypto.decapsulate(unb64(members.pq_ciphertext), own.kem.secret));
  }
  const d = members.dh_ratchet_key && crypto.shared(unb64(members.dh_ratchet_key), own.box.secret);
  const from = (init) => {
    let chain = chainOf(crypto, init, d);
    for (let step = 1; step < members.ratchet_step; step += 1) chain = nextChain(crypto, chain);
    return crypto.open(unb64(raw.ciphertext), unb64(raw.nonce), messageKey(crypto, chain));
  };
  // Sessions without an ephemeral key look alike: what does not open with what is known of one begins another.
  const known = secrets.get(session);
  return (known && from(crypto.sha256(join(shared, known)))) ?? from(shared);
};

const content = (plain) => {
  if (plain[0] !== MARK || plain.length < 4) return { content: plain, flags: 0 };
  const [, flags] = plain;
  const rest = plain.subarray(4);
  if (!(flags & PADDED)) return { content: rest, flags };
  return { content: rest.subarray(2, 2 + (rest[0] << 8) + rest[1]), flags };
};

/** Opens one item of `receive/raw`. `secrets` keeps KEM secrets by session. */
export const decrypt = async (crypto, own, raw, secrets) => {
  const sender = { encryption: unb64(raw.sender_encryption_key), signing: unb64(raw.sender_signing_key) };
  const members = JSON.parse(raw.envelope);
  const plain =
    members.ratchet_step > 0
      ? await openSession(crypto, own, raw, sender, members, secrets)
      : openBox(crypto, own, raw, sender);
  if (!plain) return null;
  const { content: inner, flags } = content(plain);
  const signature = unb64(raw.signature);
  const signed = utf8(raw.envelope);
  const mac = () => crypto.hmacSha256(crypto.shared(sender.encryption, own.box.secret), signed);
  const genuine = signature.length === 32 ? b64(mac()) === raw.signature : crypto.verify(signature, signed, sender.signing);
  const bound =
    members.to === own.did &&
    members.nonce === raw.nonce &&
    members.ciphertext_hash === hex(crypto.sha256(utf8(raw.ciphertext)));
  if (!(flags & SEALED)) return { text: text(inner), from: raw.from, genuine: genuine && bound };
  const sealed = JSON.parse(text(inner));
  return { text: sealed.msg, from: sealed.from, genuine: genuine && bound };
};
