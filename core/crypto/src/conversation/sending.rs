//! A session of the sender, and the message that it makes.

use serde::Serialize;
use zeroize::Zeroizing;

use super::chain::next;
use super::prekeys::{Bundle, Used};
use super::{AgentKeys, Meta, Options, Peer, Posted, Random, draw};
use crate::envelope::{Compose, ciphertext_hash};
use crate::payload::{self, Flags};
use crate::{CryptoError, Secret, boxes, encoding, hash, kem, signing};

/// Bytes of the text that padding can hold: two bytes carry its length.
pub const MAX_PADDED: usize = 65_535;

/// A session of the sender. It holds keys, so it must be stored sealed or in a place that only its owner reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sending {
    chain: Secret<32>,
    step: u32,
    /// Ephemeral public key of the session.
    ephemeral: Option<[u8; 32]>,
    /// Present until the first message takes it. Every message of a session from prekeys carries it, so that each of them
    /// can be the first to open.
    pq_ciphertext: Option<Vec<u8>>,
    /// The prekeys that the session began from.
    prekeys: Option<Used>,
}

/// Encapsulates to the peer's ML-KEM key, if both sides have it.
fn encapsulate(peer: &Peer, options: Options, random: &mut Random<'_>) -> Option<(Vec<u8>, Secret<32>)> {
    let key = peer.kem_key.as_ref().filter(|_| options.post_quantum)?;
    kem::encapsulate(key, &Secret::new(draw(random))).ok()
}

impl Sending {
    /// Starts a session with the peer's identity keys, as the public clients do.
    ///
    /// Errors: a key of the peer that gives no shared key.
    pub fn start(
        own: &AgentKeys,
        peer: &Peer,
        options: Options,
        random: &mut Random<'_>,
    ) -> Result<Sending, CryptoError> {
        let shared = boxes::shared_key(&peer.encryption_key, &own.encryption)?;
        let (pq_ciphertext, init) = match encapsulate(peer, options, random) {
            Some((ciphertext, q)) => (Some(ciphertext), Secret::new(hash::sha256_of(&[shared.expose(), q.expose()]))),
            None => (None, shared),
        };
        if !options.double_ratchet {
            return Ok(Sending { chain: init, step: 0, ephemeral: None, pq_ciphertext, prekeys: None });
        }
        let secret = Secret::new(draw(random));
        let d = boxes::shared_key(&peer.encryption_key, &secret)?;
        let prk = Secret::new(hash::sha256_of(&[init.expose(), d.expose()]));
        let ephemeral = Some(boxes::box_public_key(&secret));
        Ok(Sending { chain: next(&prk, 2), step: 0, ephemeral, pq_ciphertext, prekeys: None })
    }

    /// Starts a session from prekeys that the peer published (decision one-time-prekeys). Only clients of this library
    /// can open its messages.
    ///
    /// Errors: [`CryptoError::Signature`] if the peer did not sign the prekey, and keys that give no shared key.
    pub fn start_from_prekeys(
        own: &AgentKeys,
        own_did: &str,
        peer: &Peer,
        bundle: &Bundle,
        options: Options,
        random: &mut Random<'_>,
    ) -> Result<Sending, CryptoError> {
        signing::verify_prekey(&peer.signing_key, &bundle.signed, &bundle.signature)?;
        let encapsulated = encapsulate(peer, options, random);
        let secret = Secret::new(draw(random));
        let (pq_ciphertext, q) = encapsulated.map_or((None, None), |(ciphertext, q)| (Some(ciphertext), Some(q)));
        let chain = bundle.sender_chain(own, own_did, peer, &secret, q.as_ref())?;
        let ephemeral = Some(boxes::box_public_key(&secret));
        Ok(Sending { chain, step: 0, ephemeral, pq_ciphertext, prekeys: Some(bundle.used()) })
    }

    /// Whether the session began from prekeys.
    pub fn is_from_prekeys(&self) -> bool {
        self.prekeys.is_some()
    }

    /// The step of the last message.
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Makes one message and steps the session. Store the session before the message is posted.
    ///
    /// `timestamp` is the sender's clock, ISO 8601. A padded text must not be longer than [`MAX_PADDED`] bytes, since its
    /// recipient would read less of it; the caller checks that.
    #[allow(clippy::too_many_arguments)]
    pub fn seal(
        &mut self,
        own: &AgentKeys,
        own_did: &str,
        peer: &Peer,
        options: Options,
        timestamp: &str,
        text: &str,
        meta: Meta<'_>,
        random: &mut Random<'_>,
    ) -> Result<Posted, CryptoError> {
        self.step = self.step.checked_add(1).ok_or(CryptoError::TooFarAhead(u32::MAX))?;
        let message_key = next(&self.chain, 2);
        self.chain = next(&self.chain, 1);
        let pq = if self.prekeys.is_some() { self.pq_ciphertext.clone() } else { self.pq_ciphertext.take() };
        let flags = self.flags(options, pq.is_some());
        let plaintext = plaintext(own_did, options, flags, self.step, timestamp, text, meta, random);
        let nonce: [u8; 24] = draw(random);
        let ciphertext = encoding::encode_base64(&boxes::secretbox_seal(&message_key, &nonce, &plaintext)?);
        let nonce = encoding::encode_base64(&nonce);
        let (pq, ephemeral) =
            (pq.map(|c| encoding::encode_base64(&c)), self.ephemeral.map(|e| encoding::encode_base64(&e)));
        let envelope = Compose {
            from: own_did,
            to: &peer.did,
            timestamp,
            nonce: &nonce,
            ciphertext_hash: &ciphertext_hash(&ciphertext),
            ratchet_step: Some(self.step),
            pq_ciphertext: pq.as_deref(),
            dh_ratchet_key: ephemeral.as_deref(),
            pn: ephemeral.as_ref().map(|_| 0),
            prekeys: self.prekeys,
        }
        .to_text();
        let signature = sign(own, peer, options, &envelope)?;
        let outer = |value: Option<&str>| value.filter(|_| !options.sealed).map(str::to_owned);
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

    fn flags(&self, options: Options, hybrid: bool) -> Flags {
        let mut flags = Flags::RATCHETED;
        let mut set = |flag: u8, on: bool| flags |= if on { flag } else { 0 };
        set(Flags::PADDED, options.padding);
        set(Flags::SEALED, options.sealed);
        set(Flags::HYBRID, hybrid);
        set(Flags::DOUBLE_RATCHET, self.ephemeral.is_some());
        set(Flags::DENIABLE, options.deniable);
        Flags(flags)
    }

    const VERSION: u8 = 1;

    /// Layout: version, step, chain, then each of ephemeral key, prekeys and ML-KEM ciphertext after a byte that says
    /// whether it is there.
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(92 + self.pq_ciphertext.as_ref().map_or(0, Vec::len)));
        bytes.push(Self::VERSION);
        bytes.extend_from_slice(&self.step.to_be_bytes());
        bytes.extend_from_slice(self.chain.expose());
        bytes.push(u8::from(self.ephemeral.is_some()));
        bytes.extend_from_slice(&self.ephemeral.unwrap_or_default());
        bytes.push(self.prekeys.map_or(0, |used| 1 + u8::from(used.one_time.is_some())));
        let used = self.prekeys.unwrap_or(Used { signed: 0, one_time: None });
        bytes.extend_from_slice(&used.signed.to_be_bytes());
        bytes.extend_from_slice(&used.one_time.unwrap_or_default().to_be_bytes());
        bytes.extend_from_slice(self.pq_ciphertext.as_deref().unwrap_or_default());
        bytes
    }

    /// Reads the result of [`Sending::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Sending, CryptoError> {
        let read = || {
            let ([Self::VERSION], rest) = bytes.split_first_chunk()? else { return None };
            let (step, rest) = rest.split_first_chunk()?;
            let (chain, rest) = rest.split_first_chunk()?;
            let ([has_ephemeral], rest) = rest.split_first_chunk()?;
            let (ephemeral, rest) = rest.split_first_chunk::<32>()?;
            let ([has_prekeys], rest) = rest.split_first_chunk()?;
            let (signed, rest) = rest.split_first_chunk()?;
            let (one_time, pq) = rest.split_first_chunk()?;
            let one_time = (*has_prekeys == 2).then(|| u64::from_be_bytes(*one_time));
            let used = Used { signed: u64::from_be_bytes(*signed), one_time };
            Some(Sending {
                chain: Secret::new(*chain),
                step: u32::from_be_bytes(*step),
                ephemeral: (*has_ephemeral == 1).then_some(*ephemeral),
                prekeys: (*has_prekeys > 0).then_some(used),
                pq_ciphertext: (!pq.is_empty()).then(|| pq.to_vec()),
            })
        };
        read().ok_or(CryptoError::Malformed)
    }
}

/// The signature of an envelope. A deniable one is a MAC that the recipient could have made too.
fn sign(own: &AgentKeys, peer: &Peer, options: Options, envelope: &str) -> Result<Vec<u8>, CryptoError> {
    if options.deniable {
        let key = boxes::shared_key(&peer.encryption_key, &own.encryption)?;
        return Ok(hash::hmac_sha256(key.expose(), envelope.as_bytes()).to_vec());
    }
    Ok(signing::sign(&own.signing, envelope.as_bytes()).to_vec())
}

#[allow(clippy::too_many_arguments)]
fn plaintext(
    own_did: &str,
    options: Options,
    flags: Flags,
    step: u32,
    timestamp: &str,
    text: &str,
    meta: Meta<'_>,
    random: &mut Random<'_>,
) -> Zeroizing<Vec<u8>> {
    let content = if options.sealed { sealed_json(own_did, timestamp, text, meta) } else { text.to_owned() };
    let content = Zeroizing::new(content);
    let mut plaintext = Zeroizing::new(payload::header(flags, step).to_vec());
    if options.padding {
        // Two bytes hold the length. The SDK damages longer content in the same way.
        let [.., high, low] = (content.len() as u32).to_be_bytes();
        plaintext.extend_from_slice(&[high, low]);
        plaintext.extend_from_slice(content.as_bytes());
        let filled = plaintext.len();
        plaintext.resize(payload::padded_len(content.len()) + 4, 0);
        if let Some(rest) = plaintext.get_mut(filled..) {
            random(rest);
        }
    } else {
        plaintext.extend_from_slice(content.as_bytes());
    }
    plaintext
}

/// The text inside of a sealed message: the sender's DID and what would otherwise stand outside.
pub fn sealed_json(own_did: &str, timestamp: &str, text: &str, meta: Meta<'_>) -> String {
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
        from: own_did,
        msg: text,
        ts: timestamp,
        ct: meta.content_type.filter(|value| *value != "text/plain"),
        mt: meta.message_type.filter(|value| *value != "text"),
        tid: meta.thread_id,
        rto: meta.reply_to,
    };
    serde_json::to_string(&inner).unwrap_or_default()
}
