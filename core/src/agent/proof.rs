//! What its holder signs to show that a signing key and the keys beside it belong together, at this deployment.
//!
//! The text, in lines joined by one line feed, without a final one:
//!
//! ```text
//! <brand>-proof/v1
//! <deployment id>
//! <did>
//! <signing key>
//! <encryption key>
//! <ML-KEM key, or nothing>
//! <timestamp>
//! <nonce>
//! ```
//!
//! Keys are in padded standard base64; DID, timestamp (RFC 3339) and nonce stand as they were sent.

use serde::{Deserialize, Serialize};

use crate::crypto::encoding::encode_base64;

/// A proof that was verified, as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub timestamp: String,
    pub nonce: String,
    /// 64 bytes of Ed25519.
    pub signature: Vec<u8>,
}

/// The public keys of a registration.
#[derive(Debug, Clone, Copy)]
pub struct Keys<'a> {
    /// Ed25519.
    pub signing: &'a [u8; 32],
    /// X25519.
    pub encryption: &'a [u8; 32],
    /// ML-KEM-768.
    pub mlkem: Option<&'a [u8]>,
}

/// What is signed to prove the keys of `did` at the deployment with this id.
pub fn text(brand: &str, deployment: &str, did: &str, keys: Keys<'_>, timestamp: &str, nonce: &str) -> String {
    let signing = encode_base64(keys.signing);
    let encryption = encode_base64(keys.encryption);
    let mlkem = keys.mlkem.map(encode_base64).unwrap_or_default();
    format!("{brand}-proof/v1\n{deployment}\n{did}\n{signing}\n{encryption}\n{mlkem}\n{timestamp}\n{nonce}")
}
