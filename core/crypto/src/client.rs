//! A relay client that behaves like the public TypeScript SDK, for conformance tests and the simulation.
//!
//! It is written from the wire contract alone and shares only the primitives with the server side, so that a wrong
//! reading on one side shows as a failure. It keeps the behaviour that makes the order of delivery matter: a session is
//! created before its message is posted, the ML-KEM ciphertext travels only in the first message, a new receiving
//! session drops the own sending session, and a message that opens neither by the session nor as a new one drops both
//! directions.
//!
//! Everything is a function of the seed and the calls.

use std::collections::BTreeMap;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use serde_json::{Map, Value};

use super::envelope::{Compose, Envelope, ciphertext_hash};
use super::payload::{self, Flags};
use super::{CryptoError, Secret, boxes, encoding, hash, kem, signing};

/// Most keys that a receiver skips in one session.
pub const MAX_SKIPPED: u32 = 1_000;

/// The configuration of a client. The defaults are those of the SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    pub post_quantum: bool,
    pub double_ratchet: bool,
    pub padding: bool,
    pub sealed: bool,
    pub deniable: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { post_quantum: true, double_ratchet: true, padding: true, sealed: false, deniable: false }
    }
}

/// One generation of a client's own keys.
#[derive(Debug, Clone)]
pub struct AgentKeys {
    /// Ed25519 seed.
    pub signing: Secret<32>,
    /// X25519 secret.
    pub encryption: Secret<32>,
    /// ML-KEM-768 seed.
    pub kem: Option<Secret<64>>,
    /// X25519 secret of the signed prekey.
    pub prekey: Secret<32>,
}

/// A peer as a client knows it from the relay's identity answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    pub did: String,
    pub signing_key: [u8; 32],
    pub encryption_key: [u8; 32],
    pub kem_key: Option<Vec<u8>>,
}

/// The values that accompany a text, other than the recipient.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Meta<'a> {
    pub content_type: Option<&'a str>,
    pub message_type: Option<&'a str>,
    pub thread_id: Option<&'a str>,
    pub reply_to: Option<&'a str>,
    /// Seconds.
    pub ttl: Option<u32>,
}

/// The body of `POST /v1/agent/send/encrypted`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Posted {
    pub to: String,
    pub ciphertext: String,
    pub nonce: String,
    pub signature: String,
    pub envelope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u32>,
}

/// The members of a raw message that a client uses to open it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raw {
    pub from: String,
    pub to: String,
    pub ciphertext: String,
    pub nonce: String,
    pub signature: String,
    pub envelope: Option<String>,
    pub timestamp: String,
    pub sender_signing_key: [u8; 32],
    pub sender_encryption_key: [u8; 32],
}

/// A message a client opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The sealed sender if there is one, else the outer one.
    pub from: String,
    pub payload: payload::Payload,
    pub signature_valid: bool,
}

#[derive(Debug, Clone)]
struct SendSession {
    chain: Secret<32>,
    step: u32,
    /// Ephemeral public key of the session.
    ephemeral: Option<[u8; 32]>,
    /// Present until the first message takes it.
    pq_ciphertext: Option<Vec<u8>>,
}

#[derive(Debug, Clone)]
struct ReceiveSession {
    chain: Secret<32>,
    step: u32,
    skipped: BTreeMap<u32, Secret<32>>,
}

/// One agent with its sessions.
#[derive(Debug, Clone)]
pub struct Client {
    pub did: String,
    pub options: Options,
    pub keys: AgentKeys,
    sending: BTreeMap<String, SendSession>,
    receiving: BTreeMap<String, ReceiveSession>,
    /// Number of messages that could not be opened so far.
    pub failures: u32,
    random: ChaCha20Rng,
}

fn take<const N: usize>(random: &mut ChaCha20Rng) -> [u8; N] {
    let mut bytes = [0; N];
    random.fill_bytes(&mut bytes);
    bytes
}

fn generate(random: &mut ChaCha20Rng, post_quantum: bool) -> AgentKeys {
    AgentKeys {
        signing: Secret::new(take(random)),
        encryption: Secret::new(take(random)),
        kem: post_quantum.then(|| Secret::new(take(random))),
        prekey: Secret::new(take(random)),
    }
}

fn next(chain: &Secret<32>, label: u8) -> Secret<32> {
    Secret::new(hash::sha256_of(&[chain.expose(), &[label]]))
}

impl Client {
    /// A client of `brand` whose keys and randomness all follow from `seed`.
    pub fn new(brand: &str, seed: [u8; 32], options: Options) -> Client {
        let mut random = ChaCha20Rng::from_seed(seed);
        let keys = generate(&mut random, options.post_quantum);
        let did = encoding::did(brand, &encoding::did_bytes(&signing::signing_public_key(&keys.signing)));
        Client { did, options, keys, sending: BTreeMap::new(), receiving: BTreeMap::new(), failures: 0, random }
    }

    /// This client as its peers know it.
    pub fn as_peer(&self) -> Peer {
        Peer {
            did: self.did.clone(),
            signing_key: signing::signing_public_key(&self.keys.signing),
            encryption_key: boxes::box_public_key(&self.keys.encryption),
            kem_key: self.keys.kem.as_ref().map(kem::kem_public_key),
        }
    }

    /// The body of `POST /v1/agent/register`, or with `prekey_id` above 1 of `POST /v1/agent/rotate-keys`.
    pub fn key_body(&self, name: Option<&str>, prekey_id: u32) -> Value {
        let peer = self.as_peer();
        let prekey = boxes::box_public_key(&self.keys.prekey);
        let signature = signing::sign_prekey(&self.keys.signing, &prekey);
        let mut body = Map::new();
        let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
        if let Some(name) = name {
            put("name", name.into());
        }
        put("signing_public_key", encoding::encode_base64(&peer.signing_key).into());
        put("encryption_public_key", encoding::encode_base64(&peer.encryption_key).into());
        if let Some(key) = &peer.kem_key {
            put("mlkem_public_key", encoding::encode_base64(key).into());
        }
        put("signed_prekey_public", encoding::encode_base64(&prekey).into());
        put("signed_prekey_signature", encoding::encode_base64(&signature).into());
        put("signed_prekey_id", prekey_id.into());
        Value::Object(body)
    }

    /// The body of `POST /v1/agent/prekeys`: `count` one-time prekeys and a new signed prekey. The prekeys are numbered
    /// from `first_id` (the SDK takes the time in milliseconds). Their secrets are thrown away, as the SDK does.
    pub fn prekeys_body(&mut self, count: usize, first_id: u64, signed_prekey_id: u32) -> Value {
        let mut prekeys = Vec::with_capacity(count);
        for id in (first_id..).take(count) {
            let public = boxes::box_public_key(&Secret::new(take(&mut self.random)));
            prekeys.push(serde_json::json!({ "id": id, "public_key": encoding::encode_base64(&public) }));
        }
        self.keys.prekey = Secret::new(take(&mut self.random));
        let prekey = boxes::box_public_key(&self.keys.prekey);
        let signature = signing::sign_prekey(&self.keys.signing, &prekey);
        serde_json::json!({
            "prekeys": prekeys,
            "signed_prekey": {
                "public_key": encoding::encode_base64(&prekey),
                "signature": encoding::encode_base64(&signature),
                "id": signed_prekey_id,
            },
        })
    }

    /// Makes new keys. The sessions stay, as they do in the SDK.
    pub fn rotate_keys(&mut self) {
        self.keys = generate(&mut self.random, self.options.post_quantum);
    }

    /// A restart without persistence: every session is forgotten.
    pub fn forget_sessions(&mut self) {
        self.sending.clear();
        self.receiving.clear();
    }

    fn start_sending(&mut self, peer: &Peer) -> Result<SendSession, CryptoError> {
        let shared = boxes::shared_key(&peer.encryption_key, &self.keys.encryption)?;
        let encapsulated = match &peer.kem_key {
            Some(key) if self.options.post_quantum => kem::encapsulate(key, &Secret::new(take(&mut self.random))).ok(),
            _ => None,
        };
        let (pq_ciphertext, init) = match encapsulated {
            Some((ciphertext, q)) => (Some(ciphertext), Secret::new(hash::sha256_of(&[shared.expose(), q.expose()]))),
            None => (None, shared),
        };
        if !self.options.double_ratchet {
            return Ok(SendSession { chain: init, step: 0, ephemeral: None, pq_ciphertext });
        }
        let secret = Secret::new(take(&mut self.random));
        let d = boxes::shared_key(&peer.encryption_key, &secret)?;
        let prk = Secret::new(hash::sha256_of(&[init.expose(), d.expose()]));
        Ok(SendSession {
            chain: next(&prk, 2),
            step: 0,
            ephemeral: Some(boxes::box_public_key(&secret)),
            pq_ciphertext,
        })
    }

    /// Makes the body of one message. The session then exists and has advanced, even if the post fails later.
    /// `timestamp` is the client's clock, ISO 8601.
    pub fn send(&mut self, peer: &Peer, timestamp: &str, text: &str, meta: Meta<'_>) -> Result<Posted, CryptoError> {
        let slot = format!("{}:{}", self.did, peer.did);
        let mut session = match self.sending.remove(&slot) {
            Some(session) => session,
            None => self.start_sending(peer)?,
        };
        session.step += 1;
        let message_key = next(&session.chain, 2);
        session.chain = next(&session.chain, 1);
        let pq = session.pq_ciphertext.take();
        let (step, ephemeral) = (session.step, session.ephemeral);
        self.sending.insert(slot, session);

        let plaintext = self.plaintext(timestamp, text, meta, step, pq.is_some(), ephemeral.is_some());
        let nonce: [u8; 24] = take(&mut self.random);
        let ciphertext = encoding::encode_base64(&boxes::secretbox_seal(&message_key, &nonce, &plaintext)?);
        let nonce = encoding::encode_base64(&nonce);
        let (pq, ephemeral) = (pq.map(|c| encoding::encode_base64(&c)), ephemeral.map(|e| encoding::encode_base64(&e)));
        let envelope = Compose {
            from: &self.did,
            to: &peer.did,
            timestamp,
            nonce: &nonce,
            ciphertext_hash: &ciphertext_hash(&ciphertext),
            ratchet_step: Some(step),
            pq_ciphertext: pq.as_deref(),
            dh_ratchet_key: ephemeral.as_deref(),
            pn: ephemeral.as_ref().map(|_| 0),
        }
        .to_text();
        let signature = if self.options.deniable {
            let key = boxes::shared_key(&peer.encryption_key, &self.keys.encryption)?;
            hash::hmac_sha256(key.expose(), envelope.as_bytes()).to_vec()
        } else {
            signing::sign(&self.keys.signing, envelope.as_bytes()).to_vec()
        };
        let outer = |value: Option<&str>| value.filter(|_| !self.options.sealed).map(str::to_owned);
        Ok(Posted {
            to: peer.did.clone(),
            ciphertext,
            nonce,
            signature: encoding::encode_base64(&signature),
            envelope,
            content_type: outer(Some(meta.content_type.unwrap_or("text/plain"))),
            message_type: outer(Some(meta.message_type.unwrap_or("text"))),
            thread_id: outer(meta.thread_id),
            reply_to: outer(meta.reply_to),
            ttl: meta.ttl,
        })
    }

    fn plaintext(&mut self, ts: &str, text: &str, meta: Meta<'_>, step: u32, hybrid: bool, ratchet: bool) -> Vec<u8> {
        let mut flags = Flags::RATCHETED;
        let mut set = |flag: u8, on: bool| flags |= if on { flag } else { 0 };
        set(Flags::PADDED, self.options.padding);
        set(Flags::SEALED, self.options.sealed);
        set(Flags::HYBRID, hybrid);
        set(Flags::DOUBLE_RATCHET, ratchet);
        set(Flags::DENIABLE, self.options.deniable);
        let content = if self.options.sealed { self.sealed_json(ts, text, meta) } else { text.to_owned() };
        let mut plaintext = payload::header(Flags(flags), step).to_vec();
        if self.options.padding {
            // Two bytes hold the length. The SDK damages longer content in the same way.
            let [.., high, low] = (content.len() as u32).to_be_bytes();
            plaintext.extend_from_slice(&[high, low]);
            plaintext.extend_from_slice(content.as_bytes());
            let filled = plaintext.len();
            plaintext.resize(payload::padded_len(content.len()) + 4, 0);
            if let Some(rest) = plaintext.get_mut(filled..) {
                self.random.fill_bytes(rest);
            }
        } else {
            plaintext.extend_from_slice(content.as_bytes());
        }
        plaintext
    }

    fn sealed_json(&self, timestamp: &str, text: &str, meta: Meta<'_>) -> String {
        #[derive(Serialize)]
        struct Inner<'a> {
            v: u8,
            from: &'a str,
            msg: &'a str,
            ts: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            ct: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            mt: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            tid: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            rto: Option<&'a str>,
        }
        let inner = Inner {
            v: 3,
            from: &self.did,
            msg: text,
            ts: timestamp,
            ct: meta.content_type.filter(|value| *value != "text/plain"),
            mt: meta.message_type.filter(|value| *value != "text"),
            tid: meta.thread_id,
            rto: meta.reply_to,
        };
        serde_json::to_string(&inner).unwrap_or_default()
    }

    /// Opens one raw message. `None` if that fails: the SDK then counts a failure and marks the message read, so it is
    /// lost.
    pub fn receive(&mut self, raw: &Raw) -> Option<Received> {
        let envelope = raw.envelope.as_deref().map(Envelope::parse).unwrap_or_default();
        let opened = match envelope.ratchet_step {
            Some(step) => self.receive_ratcheted(raw, &envelope, step),
            None => self.receive_box(raw),
        };
        let Some(payload) = opened.and_then(|plaintext| payload::read(&plaintext).ok()) else {
            self.failures += 1;
            return None;
        };
        let from = payload.sealed.as_ref().map_or_else(|| raw.from.clone(), |sealed| sealed.from.clone());
        Some(Received { from, signature_valid: self.check(raw), payload })
    }

    fn sealed_bytes(raw: &Raw) -> Option<([u8; 24], Vec<u8>)> {
        Some((
            encoding::decode_base64_array("nonce", &raw.nonce).ok()?,
            encoding::decode_base64("ciphertext", &raw.ciphertext).ok()?,
        ))
    }

    fn receive_box(&self, raw: &Raw) -> Option<Vec<u8>> {
        let (nonce, sealed) = Self::sealed_bytes(raw)?;
        let opened = boxes::box_open(&raw.sender_encryption_key, &self.keys.encryption, &nonce, &sealed).ok()?;
        Some(opened.to_vec())
    }

    fn receive_ratcheted(&mut self, raw: &Raw, envelope: &Envelope, step: u32) -> Option<Vec<u8>> {
        let slot = format!("{}:{}", raw.from, raw.to);
        let back = format!("{}:{}", raw.to, raw.from);
        let (nonce, sealed) = Self::sealed_bytes(raw)?;
        let known = self.receiving.get(&slot).cloned();
        let had_session = known.is_some();
        if let Some(mut session) = known
            && let Some(plaintext) = session.open(step, &nonce, &sealed)
        {
            self.receiving.insert(slot, session);
            return Some(plaintext);
        }
        // If there is a session, only a message with an ephemeral key can begin another one.
        if (!had_session || envelope.dh_ratchet_key.is_some())
            && let Some(mut session) = self.start_receiving(raw, envelope)
            && let Some(plaintext) = session.open(step, &nonce, &sealed)
        {
            self.receiving.insert(slot, session);
            self.sending.remove(&back);
            return Some(plaintext);
        }
        self.receiving.remove(&slot);
        self.sending.remove(&back);
        None
    }

    fn start_receiving(&self, raw: &Raw, envelope: &Envelope) -> Option<ReceiveSession> {
        let shared = boxes::shared_key(&raw.sender_encryption_key, &self.keys.encryption).ok()?;
        let init = match (&envelope.pq_ciphertext, &self.keys.kem) {
            (Some(text), Some(seed)) => {
                let ciphertext = encoding::decode_base64("pq_ciphertext", text).ok()?;
                let q = kem::decapsulate(seed, &ciphertext).ok()?;
                Secret::new(hash::sha256_of(&[shared.expose(), q.expose()]))
            }
            _ => shared,
        };
        let chain = match &envelope.dh_ratchet_key {
            Some(text) => {
                let ephemeral = encoding::decode_base64_array("dh_ratchet_key", text).ok()?;
                let d = boxes::shared_key(&ephemeral, &self.keys.encryption).ok()?;
                next(&Secret::new(hash::sha256_of(&[init.expose(), d.expose()])), 2)
            }
            None => init,
        };
        Some(ReceiveSession { chain, step: 0, skipped: BTreeMap::new() })
    }

    fn check(&self, raw: &Raw) -> bool {
        let rebuilt = || super::envelope::rebuild(&raw.from, &raw.to, &raw.timestamp, &raw.nonce, &raw.ciphertext);
        let text = raw.envelope.clone().unwrap_or_else(rebuilt);
        let Ok(signature) = encoding::decode_base64("signature", &raw.signature) else { return false };
        if signature.len() == 32 {
            return boxes::shared_key(&raw.sender_encryption_key, &self.keys.encryption)
                .is_ok_and(|key| hash::hmac_sha256_verify(key.expose(), text.as_bytes(), &signature));
        }
        signing::verify(&raw.sender_signing_key, text.as_bytes(), &signature)
    }
}

impl ReceiveSession {
    /// Opens the message of `step` and keeps the keys of the steps before it. After a failure the session is useless.
    fn open(&mut self, step: u32, nonce: &[u8; 24], sealed: &[u8]) -> Option<Vec<u8>> {
        let key = if step <= self.step {
            self.skipped.remove(&step)?
        } else {
            let skipping = step - self.step - 1;
            if skipping + self.skipped.len() as u32 > MAX_SKIPPED {
                return None;
            }
            while self.step + 1 < step {
                self.step += 1;
                self.skipped.insert(self.step, next(&self.chain, 2));
                self.chain = next(&self.chain, 1);
            }
            let key = next(&self.chain, 2);
            self.chain = next(&self.chain, 1);
            self.step = step;
            key
        };
        boxes::secretbox_open(&key, nonce, sealed).ok().map(|plaintext| plaintext.to_vec())
    }
}
