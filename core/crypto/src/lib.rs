//! Wire formats of agent messages, signatures, sealing of server-held keys and the form of API keys.
//!
//! Everything here is a pure function: randomness, time and keys are arguments, and nothing is stored. The primitives
//! come from the pinned crates; this package only combines them for the wire.
//!
//! | Module | What |
//! |---|---|
//! | [`encoding`] | strict base64, hex, base58 DIDs, actor ids |
//! | [`hash`] | SHA-256 and HMAC-SHA256 |
//! | [`signing`] | Ed25519: key validation, strict verification, prekeys, envelopes under current and earlier keys |
//! | [`boxes`] | NaCl box and secretbox, the precomputed key `K` |
//! | [`kem`] | ML-KEM-768 |
//! | [`texts`] | texts that the holders of keys sign: proofs, rotations, requests for API keys |
//! | [`json`] | strict JSON, and the canonical bytes that are signed in the ledger |
//! | [`merkle`] | checks of proofs from a log's tree |
//! | [`envelope`] | the envelope string: composing, tolerant reading, binding to its message |
//! | [`payload`] | the plaintext inside a ciphertext: header, padding, sealed sender |
//! | [`session`] | opening a client's ratcheted message for a recipient whose keys the server holds |
//! | [`conversation`] | a client's sessions: starting, sealing, opening, prekeys |
//! | [`server_message`] | messages that the server makes for a sender whose keys it holds |
//! | [`sealing`] | private keys at rest under a ring of master keys |
//! | [`secret`] | fixed-size secret bytes |
//! | [`api_key`] | the text of an API key: shape, checksum, MAC |
//! | `client` | a client that behaves like the public SDK, for conformance tests (feature `conformance`) |

pub mod api_key;
pub mod boxes;
#[cfg(any(test, feature = "conformance"))]
pub mod client;
pub mod conversation;
pub mod encoding;
pub mod envelope;
pub mod hash;
pub mod json;
pub mod kem;
pub mod merkle;
pub mod payload;
pub mod sealing;
pub mod secret;
pub mod server_message;
pub mod session;
pub mod signing;
pub mod texts;

#[cfg(test)]
mod known_answers;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod session_tests;

pub use secret::Secret;

/// Why a cryptographic input was refused. The error never holds key material or plaintext.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CryptoError {
    #[error("`{0}` must be standard base64 with padding")]
    Base64(&'static str),
    #[error("`{0}` must be lower-case hex")]
    Hex(&'static str),
    #[error("`{field}` must be {expected} bytes, not {actual}")]
    Length { field: &'static str, expected: usize, actual: usize },
    #[error("the given DID is not one of this service")]
    Did,
    #[error("`{0}` is not a canonical Ed25519 public key")]
    NotCanonical(&'static str),
    #[error("`{0}` is a key of small order")]
    SmallOrder(&'static str),
    #[error("`{0}` is not a point of the prime-order group of Ed25519")]
    MixedOrder(&'static str),
    #[error("`{0}` is not an ML-KEM-768 public key")]
    KemKey(&'static str),
    #[error("the signature is not valid")]
    Signature,
    #[error("the ciphertext does not open with these keys")]
    Undecryptable,
    #[error("the message is more than {0} steps ahead of the session")]
    TooFarAhead(u32),
    #[error("the message is too old for the session")]
    TooFarBehind,
    #[error("the plaintext is malformed")]
    Malformed,
    #[error("the value is sealed under an unknown master key")]
    UnknownMasterKey,
    #[error("the text does not have the form of an API key of this service")]
    ApiKey,
}
