//! The texts that the holders of keys sign, other than envelopes.
//!
//! A text consists of UTF-8 lines, joined by one line feed, without one at the end. The first line says what the
//! signature is for. The second names the deployment, so that a signature for one relay is worth nothing at another.
//! Keys are in padded standard base64; DID, timestamp and nonce are as they were sent. No line can contain a line feed,
//! so a text can be read in one way only.

use super::encoding::encode_base64;

/// The public keys that a text is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys<'a> {
    /// Ed25519.
    pub signing: &'a [u8; 32],
    /// X25519.
    pub encryption: &'a [u8; 32],
    /// ML-KEM-768.
    pub mlkem: Option<&'a [u8]>,
}

impl Keys<'_> {
    /// The keys in base64; an empty text for no ML-KEM key.
    pub fn in_base64(&self) -> [String; 3] {
        [encode_base64(self.signing), encode_base64(self.encryption), self.mlkem.map(encode_base64).unwrap_or_default()]
    }
}

/// The text of these lines.
pub fn lines<const N: usize>(lines: [&str; N]) -> String {
    lines.join("\n")
}

/// What the signing key signs to prove that its holder chose `keys` for `did` in this deployment.
pub fn proof(brand: &str, deployment: &str, did: &str, keys: Keys<'_>, timestamp: &str, nonce: &str) -> String {
    let [signing, encryption, mlkem] = keys.in_base64();
    lines([&format!("{brand}-proof/v1"), deployment, did, &signing, &encryption, &mlkem, timestamp, nonce])
}

/// What the earlier signing key signs: in this deployment `keys` are the new keys of `did`.
pub fn rotation(brand: &str, deployment: &str, did: &str, keys: Keys<'_>, issued_at: &str, nonce: &str) -> String {
    let [signing, encryption, mlkem] = keys.in_base64();
    lines([&format!("{brand}-key-rotation/v2"), deployment, did, &signing, &encryption, &mlkem, issued_at, nonce])
}

/// What the signing key signs to get a new API key for `did` in this deployment.
pub fn api_key(brand: &str, deployment: &str, did: &str, timestamp: &str, nonce: &str) -> String {
    lines([&format!("{brand}-api-key/v2"), deployment, did, timestamp, nonce])
}
