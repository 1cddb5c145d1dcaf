//! Opens a client's message for a recipient whose private keys the server holds.
//!
//! A client's sending session derives from the recipient's static key and one ephemeral key. So the holder of the
//! recipient's X25519 secret can open any single message: it starts the session with the roles swapped and steps the
//! chain to the step of the message. Three things must be remembered, in one [`SessionRow`] per session (decision
//! server-side-sessions): the sender's encryption key at the start (clients keep sessions over their own key rotation);
//! the ML-KEM secret, which travels only in the first message; and the furthest step, so that a hostile step number
//! costs nothing.

use zeroize::Zeroizing;

use super::envelope::{self, Envelope};
use super::payload::{self, Flags, SealedParts};
use super::{CryptoError, Secret, boxes, encoding, hash, kem, signing};

/// Most steps that a message may be ahead of the row of its session. It is the clients' own limit of skipped keys.
pub const MAX_SKIP: u32 = 1_000;
/// The latest step that is still reached by stepping again from the start of the session, which takes some tens of
/// milliseconds of hashing. Without a limit a sender could move a session far ahead, and then every old message would
/// cost as much as the whole way.
pub const MAX_RESTART: u32 = 100_000;

/// One generation of the recipient's private keys.
#[derive(Debug, Clone, Copy)]
pub struct RecipientKeys<'a> {
    /// X25519 secret.
    pub encryption: &'a Secret<32>,
    /// ML-KEM-768 seed, when this generation published such a key.
    pub kem: Option<&'a Secret<64>>,
}

/// The sender's public keys, as the relay recorded them when it accepted the message.
#[derive(Debug, Clone, Copy)]
pub struct SenderKeys<'a> {
    pub signing: &'a [u8; 32],
    pub encryption: &'a [u8; 32],
    /// Earlier encryption keys, newest first, for sessions whose row is gone.
    pub earlier_encryption: &'a [[u8; 32]],
}

impl<'a> SenderKeys<'a> {
    fn encryption_keys(&self) -> impl Iterator<Item = &'a [u8; 32]> + use<'a> {
        std::iter::once(self.encryption).chain(self.earlier_encryption)
    }
}

/// A stored message, as it was accepted.
#[derive(Debug, Clone, Copy)]
pub struct Incoming<'a> {
    /// DID of the authenticated sender.
    pub from: &'a str,
    pub to: &'a str,
    /// Standard base64, as posted.
    pub ciphertext: &'a str,
    pub nonce: &'a str,
    pub signature: &'a str,
    /// The exact text, or `None` if the sender gave none.
    pub envelope: Option<&'a str>,
    /// The relay's timestamp text, for the envelope that is rebuilt if there is none.
    pub timestamp: &'a str,
}

/// The memory of one session, stored under (sender, [`session_label`]). It holds keys, so it must be stored sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub sender_key_at_start: [u8; 32],
    /// `None` in a session without ML-KEM.
    pub kem_secret: Option<Secret<32>>,
    /// The highest step opened so far.
    pub furthest_step: u32,
    /// The chain after `furthest_step`.
    pub chain_key: Secret<32>,
}

/// The beginning of a session. It is kept from the first message, so that a later message opens even if nobody read the
/// first. None of it is secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// ML-KEM-768 ciphertext.
    pub pq_ciphertext: Vec<u8>,
    /// The sender's encryption key at that time.
    pub sender_encryption: [u8; 32],
}

impl Opening {
    /// Reads the envelope of a first message; `None` for every other message.
    pub fn of(envelope: &Envelope, sender_encryption: [u8; 32]) -> Option<(SessionLabel, Opening)> {
        let pq_ciphertext = encoding::decode_base64("pq_ciphertext", envelope.pq_ciphertext.as_deref()?).ok()?;
        let label = session_label(envelope).ok()??;
        (pq_ciphertext.len() == kem::CIPHERTEXT_BYTES).then_some((label, Opening { pq_ciphertext, sender_encryption }))
    }
}

impl SessionRow {
    const VERSION: u8 = 1;

    /// Fixed layout: version, presence of the KEM secret, sender key, KEM secret or zeros, step, chain; 102 bytes.
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(102));
        bytes.push(Self::VERSION);
        bytes.push(u8::from(self.kem_secret.is_some()));
        bytes.extend_from_slice(&self.sender_key_at_start);
        bytes.extend_from_slice(&self.kem_secret.as_ref().map_or([0; 32], |secret| *secret.expose()));
        bytes.extend_from_slice(&self.furthest_step.to_be_bytes());
        bytes.extend_from_slice(self.chain_key.expose());
        bytes
    }

    /// Reads the result of [`SessionRow::encode`].
    pub fn decode(bytes: &[u8]) -> Result<SessionRow, CryptoError> {
        let row = || {
            let ([Self::VERSION, hybrid @ (0 | 1)], rest) = bytes.split_first_chunk()? else { return None };
            let (sender, rest) = rest.split_first_chunk()?;
            let (kem_secret, rest) = rest.split_first_chunk()?;
            let (step, rest) = rest.split_first_chunk()?;
            Some(SessionRow {
                sender_key_at_start: *sender,
                kem_secret: (*hybrid == 1).then(|| Secret::new(*kem_secret)),
                furthest_step: u32::from_be_bytes(*step),
                chain_key: Secret::from_slice(rest)?,
            })
        };
        row().ok_or(CryptoError::Malformed)
    }
}

/// Identifies the row that a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionLabel {
    /// The sender's ephemeral key.
    Ephemeral([u8; 32]),
    /// A session without an ephemeral key (double ratchet off). There is one such row per sender.
    None,
}

/// The label of a message's session; `None` if the envelope names no ratchet step, because then there is no session.
pub fn session_label(envelope: &Envelope) -> Result<Option<SessionLabel>, CryptoError> {
    if envelope.ratchet_step.is_none() {
        return Ok(None);
    }
    match &envelope.dh_ratchet_key {
        Some(text) => Ok(Some(SessionLabel::Ephemeral(encoding::decode_base64_array("dh_ratchet_key", text)?))),
        None => Ok(Some(SessionLabel::None)),
    }
}

/// How a message was authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureMode {
    /// Ed25519 by the sender's signing key.
    Ed25519,
    /// HMAC-SHA256 under a key that both sides can compute (deniable).
    Hmac,
}

/// An opened message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    pub content: String,
    /// The inner values of a sealed message, which override the outer ones.
    pub sealed: Option<SealedParts>,
    pub flags: Flags,
    /// The step in the session, 0 for a message without a session.
    pub step: u32,
    pub signature_mode: SignatureMode,
    /// The signature is valid, and the envelope is about this sender, recipient, nonce and ciphertext.
    pub signature_valid: bool,
    /// The row to store, or `None` to keep the stored one.
    pub row: Option<SessionRow>,
}

/// Opens `message` with any of the recipient's key generations (newest first), given the stored row of its
/// [`session_label`].
///
/// Errors: [`CryptoError::TooFarAhead`] if the step is more than [`MAX_SKIP`] ahead of the row (or of the start, if
/// there is no row), [`CryptoError::TooFarBehind`] if the step is an old one beyond [`MAX_RESTART`],
/// [`CryptoError::Undecryptable`] if no key opens the message, and the decoding errors of its members. After any error
/// the stored row stays as it is.
pub fn open(
    message: &Incoming<'_>,
    sender: &SenderKeys<'_>,
    recipient: &[RecipientKeys<'_>],
    row: Option<&SessionRow>,
) -> Result<Opened, CryptoError> {
    open_later(message, sender, recipient, row, None)
}

/// [`open`] with the known beginning of the session. It is used if the row does not open the message and the message
/// itself has no ML-KEM ciphertext.
pub fn open_later(
    message: &Incoming<'_>,
    sender: &SenderKeys<'_>,
    recipient: &[RecipientKeys<'_>],
    row: Option<&SessionRow>,
    opening: Option<&Opening>,
) -> Result<Opened, CryptoError> {
    let envelope = message.envelope.map(Envelope::parse).unwrap_or_default();
    let sealed = Sealed {
        nonce: encoding::decode_base64_array("nonce", message.nonce)?,
        bytes: encoding::decode_base64("ciphertext", message.ciphertext)?,
    };
    let (payload, row) = match (envelope.ratchet_step, session_label(&envelope)?) {
        (Some(step), Some(label)) => {
            let pq = envelope.pq_ciphertext.as_deref();
            let pq = pq.map(|text| encoding::decode_base64("pq_ciphertext", text)).transpose()?;
            let attempt = Attempt { sealed: &sealed, step, label, pq: pq.as_deref(), sender, recipient };
            let (plaintext, row) = match (attempt.open(row), opening.filter(|_| pq.is_none())) {
                (Err(failure), Some(opening)) => {
                    let keys = std::slice::from_ref(&opening.sender_encryption);
                    let sender = SenderKeys { earlier_encryption: keys, ..*sender };
                    let later = Attempt { pq: Some(&opening.pq_ciphertext), sender: &sender, ..attempt };
                    later.open(row).map_err(|_| failure)?
                }
                (opened, _) => opened?,
            };
            (payload::read(&plaintext)?, row)
        }
        _ => (payload::read_box(&open_box(&sealed, sender, recipient)?), None),
    };
    let (signature_mode, signature_valid) = check_signature(message, &envelope, sender, recipient);
    Ok(Opened {
        content: payload.content,
        sealed: payload.sealed,
        flags: payload.flags,
        step: envelope.ratchet_step.unwrap_or(0),
        signature_mode,
        signature_valid,
        row,
    })
}

struct Sealed {
    nonce: [u8; 24],
    bytes: Vec<u8>,
}

type Plaintext = Zeroizing<Vec<u8>>;

/// Opens a message without a session, which is a plain NaCl box.
fn open_box(
    sealed: &Sealed,
    sender: &SenderKeys<'_>,
    recipient: &[RecipientKeys<'_>],
) -> Result<Plaintext, CryptoError> {
    for keys in recipient {
        for public in sender.encryption_keys() {
            if let Ok(plaintext) = boxes::box_open(public, keys.encryption, &sealed.nonce, &sealed.bytes) {
                return Ok(plaintext);
            }
        }
    }
    Err(CryptoError::Undecryptable)
}

/// One ratcheted message, and everything that may open it.
struct Attempt<'a> {
    sealed: &'a Sealed,
    step: u32,
    label: SessionLabel,
    pq: Option<&'a [u8]>,
    sender: &'a SenderKeys<'a>,
    recipient: &'a [RecipientKeys<'a>],
}

impl Attempt<'_> {
    /// Opens the message by the stored session, else as the start of a new one.
    fn open(&self, row: Option<&SessionRow>) -> Result<(Plaintext, Option<SessionRow>), CryptoError> {
        let Some(row) = row else { return self.fresh().map(|(plaintext, row)| (plaintext, Some(row))) };
        let failure = match self.with_row(row) {
            Ok(opened) => return Ok(opened),
            Err(failure) => failure,
        };
        // A row with an ML-KEM secret is replaced only by a message that brings another one. A message of a session
        // without ML-KEM may still open; the row then stays as it is.
        let replaces = self.pq.is_some() || row.kem_secret.is_none();
        if !replaces && self.label != SessionLabel::None {
            return Err(failure);
        }
        match self.fresh() {
            Ok((plaintext, row)) => Ok((plaintext, replaces.then_some(row))),
            Err(_) => Err(failure),
        }
    }

    /// Continues the stored session. For an older message, steps again from the start of the session.
    fn with_row(&self, row: &SessionRow) -> Result<(Plaintext, Option<SessionRow>), CryptoError> {
        if let Some(ahead) = self.step.checked_sub(row.furthest_step).filter(|ahead| *ahead > 0) {
            if ahead > MAX_SKIP {
                return Err(CryptoError::TooFarAhead(MAX_SKIP));
            }
            let (plaintext, chain_key) = self.open_at(&row.chain_key, ahead)?;
            let row = SessionRow { furthest_step: self.step, chain_key, ..row.clone() };
            return Ok((plaintext, Some(row)));
        }
        if self.step > MAX_RESTART {
            return Err(CryptoError::TooFarBehind);
        }
        for keys in self.recipient {
            let start = self.start(keys, &row.sender_key_at_start, row.kem_secret.as_ref());
            if let Ok((plaintext, _)) = start.and_then(|start| self.open_at(&start, self.step)) {
                return Ok((plaintext, None));
            }
        }
        Err(CryptoError::Undecryptable)
    }

    /// Starts a session from this message alone.
    fn fresh(&self) -> Result<(Plaintext, SessionRow), CryptoError> {
        if self.step > MAX_SKIP {
            return Err(CryptoError::TooFarAhead(MAX_SKIP));
        }
        for keys in self.recipient {
            let kem_secret = match (self.pq, keys.kem) {
                (None, _) => None,
                (Some(ciphertext), Some(seed)) => Some(kem::decapsulate(seed, ciphertext)?),
                (Some(_), None) => continue,
            };
            for sender_key in self.sender.encryption_keys() {
                let start = self.start(keys, sender_key, kem_secret.as_ref());
                let Ok((plaintext, chain_key)) = start.and_then(|start| self.open_at(&start, self.step)) else {
                    continue;
                };
                let sender_key_at_start = *sender_key;
                let row = SessionRow { sender_key_at_start, kem_secret, furthest_step: self.step, chain_key };
                return Ok((plaintext, row));
            }
        }
        Err(CryptoError::Undecryptable)
    }

    /// The chain before step 1: the start of the sender's session with the roles swapped.
    fn start(
        &self,
        keys: &RecipientKeys<'_>,
        sender_key: &[u8; 32],
        kem_secret: Option<&Secret<32>>,
    ) -> Result<Secret<32>, CryptoError> {
        let shared = boxes::shared_key(sender_key, keys.encryption)?;
        let init = match kem_secret {
            Some(secret) => Secret::new(hash::sha256_of(&[shared.expose(), secret.expose()])),
            None => shared,
        };
        let SessionLabel::Ephemeral(ephemeral) = &self.label else { return Ok(init) };
        let ephemeral = boxes::shared_key(ephemeral, keys.encryption)?;
        let root_input = Secret::new(hash::sha256_of(&[init.expose(), ephemeral.expose()]));
        Ok(Secret::new(hash::sha256_of(&[root_input.expose(), &[2]])))
    }

    /// Opens with the message key that is `steps` (1 or more) after `chain`. Also returns the chain after it.
    fn open_at(&self, chain: &Secret<32>, steps: u32) -> Result<(Plaintext, Secret<32>), CryptoError> {
        let mut chain = chain.clone();
        for _ in 1..steps {
            chain = Secret::new(hash::sha256_of(&[chain.expose(), &[1]]));
        }
        let message_key = Secret::new(hash::sha256_of(&[chain.expose(), &[2]]));
        let plaintext = boxes::secretbox_open(&message_key, &self.sealed.nonce, &self.sealed.bytes)?;
        Ok((plaintext, Secret::new(hash::sha256_of(&[chain.expose(), &[1]]))))
    }
}

/// A signature of exactly 32 bytes is an HMAC under `K(sender, recipient)`; every other one is Ed25519. If there is no
/// envelope, the text that clients rebuild is checked.
fn check_signature(
    message: &Incoming<'_>,
    envelope: &Envelope,
    sender: &SenderKeys<'_>,
    recipient: &[RecipientKeys<'_>],
) -> (SignatureMode, bool) {
    let rebuilt;
    let (text, bound) = match message.envelope {
        Some(text) => (text, envelope.is_bound_to(message.from, message.to, message.nonce, message.ciphertext)),
        None => {
            rebuilt = envelope::rebuild(message.from, message.to, message.timestamp, message.nonce, message.ciphertext);
            (rebuilt.as_str(), true)
        }
    };
    let Ok(signature) = encoding::decode_base64("signature", message.signature) else {
        return (SignatureMode::Ed25519, false);
    };
    if signature.len() != 32 {
        return (SignatureMode::Ed25519, bound && signing::verify(sender.signing, text.as_bytes(), &signature));
    }
    let right = recipient.iter().any(|keys| {
        sender.encryption_keys().any(|public| {
            boxes::shared_key(public, keys.encryption)
                .is_ok_and(|key| hash::hmac_sha256_verify(key.expose(), text.as_bytes(), &signature))
        })
    });
    (SignatureMode::Hmac, bound && right)
}
