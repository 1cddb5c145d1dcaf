//! The client's side of a conversation: sessions are started, messages composed, and what the other side sealed opened.
//!
//! | Module | What |
//! |---|---|
//! | [`sending`] | a session of the sender, and the message that it makes |
//! | [`chain`] | a session of the recipient whose keys are forgotten as they are used |
//! | [`prekeys`] | sessions that begin from published prekeys (decision one-time-prekeys) |
//!
//! Random bytes are an argument everywhere ([`Random`]). What a session is must be stored before its message is posted:
//! a message key that is used twice would seal two texts with one key.
//!
//! For a recipient that keeps its static keys, [`super::session`] opens the same messages, in any order and as often as
//! it is asked.

pub mod chain;
pub mod prekeys;
pub mod sending;
#[cfg(test)]
mod tests;

use serde::Serialize;

use super::{Secret, boxes, encoding, kem, signing};

pub use chain::Chain;
pub use sending::Sending;

/// Fills a slice with random bytes.
pub type Random<'a> = dyn FnMut(&mut [u8]) + 'a;

/// Draws `N` bytes.
pub fn draw<const N: usize>(random: &mut Random<'_>) -> [u8; N] {
    let mut bytes = [0; N];
    random(&mut bytes);
    bytes
}

/// How messages are sealed. The defaults are those of the public SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Adds ML-KEM-768 to the session, if the recipient has such a key.
    pub post_quantum: bool,
    /// Gives each session an ephemeral key.
    pub double_ratchet: bool,
    /// Hides the length of the text, up to the next power of two.
    pub padding: bool,
    /// Puts sender, thread and types inside of the ciphertext.
    pub sealed: bool,
    /// Authenticates with a key that both sides have, so that the recipient can prove nothing to others.
    pub deniable: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { post_quantum: true, double_ratchet: true, padding: true, sealed: false, deniable: false }
    }
}

/// One generation of an agent's own keys.
#[derive(Debug, Clone, PartialEq, Eq)]
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

impl AgentKeys {
    /// New keys.
    pub fn generate(random: &mut Random<'_>, post_quantum: bool) -> AgentKeys {
        AgentKeys {
            signing: Secret::new(draw(random)),
            encryption: Secret::new(draw(random)),
            kem: post_quantum.then(|| Secret::new(draw(random))),
            prekey: Secret::new(draw(random)),
        }
    }

    /// The agent of `did` as its peers know it.
    pub fn as_peer(&self, did: &str) -> Peer {
        Peer {
            did: did.to_owned(),
            signing_key: signing::signing_public_key(&self.signing),
            encryption_key: boxes::box_public_key(&self.encryption),
            kem_key: self.kem.as_ref().map(kem::kem_public_key),
        }
    }

    /// The DID that follows from the signing key.
    pub fn did(&self, brand: &str) -> String {
        encoding::did(brand, &encoding::did_bytes(&signing::signing_public_key(&self.signing)))
    }
}

/// A peer as a client knows it from the relay's identity answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    pub did: String,
    /// Ed25519.
    pub signing_key: [u8; 32],
    /// X25519.
    pub encryption_key: [u8; 32],
    /// ML-KEM-768, [`kem::PUBLIC_BYTES`] long.
    pub kem_key: Option<Vec<u8>>,
}

/// The values that accompany a text, other than the recipient.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Meta<'a> {
    /// `text/plain` if there is none.
    pub content_type: Option<&'a str>,
    /// `text` if there is none.
    pub message_type: Option<&'a str>,
    pub thread_id: Option<&'a str>,
    /// The id of an earlier message.
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
