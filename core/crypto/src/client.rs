//! A relay client that behaves like the public TypeScript SDK, for conformance tests and the simulation.
//!
//! It sends by [`super::conversation`], with randomness that follows from a seed, and opens by code of its own, which is
//! written from the wire contract alone and shares only the primitives with the server side. So a wrong reading on one
//! side shows as a failure. It keeps the behaviour that makes the order of delivery matter: a session is
//! created before its message is posted, the ML-KEM ciphertext travels only in the first message, a new receiving
//! session drops the own sending session, and a message that opens neither by the session nor as a new one drops both
//! directions.
//!
//! Everything is a function of the seed and the calls.

use std::collections::BTreeMap;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::{Map, Value};

use super::conversation::Sending;
use super::envelope::Envelope;
use super::payload;
use super::{CryptoError, Secret, boxes, encoding, hash, kem, signing};

pub use super::conversation::chain::MAX_SKIPPED;
pub use super::conversation::{AgentKeys, Meta, Options, Peer, Posted};

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
    sending: BTreeMap<String, Sending>,
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

fn next(chain: &Secret<32>, label: u8) -> Secret<32> {
    Secret::new(hash::sha256_of(&[chain.expose(), &[label]]))
}

impl Client {
    /// A client of `brand` whose keys and randomness all follow from `seed`.
    pub fn new(brand: &str, seed: [u8; 32], options: Options) -> Client {
        let mut random = ChaCha20Rng::from_seed(seed);
        let keys = AgentKeys::generate(&mut |bytes| random.fill_bytes(bytes), options.post_quantum);
        let did = keys.did(brand);
        Client { did, options, keys, sending: BTreeMap::new(), receiving: BTreeMap::new(), failures: 0, random }
    }

    /// This client as its peers know it.
    pub fn as_peer(&self) -> Peer {
        self.keys.as_peer(&self.did)
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
        self.keys = AgentKeys::generate(&mut |bytes| self.random.fill_bytes(bytes), self.options.post_quantum);
    }

    /// A restart without persistence: every session is forgotten.
    pub fn forget_sessions(&mut self) {
        self.sending.clear();
        self.receiving.clear();
    }

    /// Makes the body of one message. The session then exists and has advanced, even if the post fails later.
    /// `timestamp` is the client's clock, ISO 8601.
    pub fn send(&mut self, peer: &Peer, timestamp: &str, text: &str, meta: Meta<'_>) -> Result<Posted, CryptoError> {
        let slot = format!("{}:{}", self.did, peer.did);
        let mut random = |bytes: &mut [u8]| self.random.fill_bytes(bytes);
        let mut session = match self.sending.remove(&slot) {
            Some(session) => session,
            None => Sending::start(&self.keys, peer, self.options, &mut random)?,
        };
        let posted = session.seal(&self.keys, &self.did, peer, self.options, timestamp, text, meta, &mut random);
        self.sending.insert(slot, session);
        posted
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
