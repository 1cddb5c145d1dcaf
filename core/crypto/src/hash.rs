//! SHA-256 and HMAC-SHA256.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// SHA-256 of the concatenation of `parts`.
pub fn sha256_of(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// SHA-256 (FIPS 180-4).
pub fn sha256(data: &[u8]) -> [u8; 32] {
    sha256_of(&[data])
}

/// The first 8 bytes of SHA-256. They identify data but do not prove them.
pub fn sha256_first8(data: &[u8]) -> [u8; 8] {
    let mut first = [0; 8];
    for (to, from) in first.iter_mut().zip(sha256(data)) {
        *to = from;
    }
    first
}

/// HMAC-SHA256 (RFC 2104). Keys of any length.
pub fn hmac_sha256(key: &[u8], data: &[u8]) -> [u8; 32] {
    mac(key, data).finalize().into_bytes().into()
}

/// Checks a full 32-byte HMAC-SHA256 in constant time.
pub fn hmac_sha256_verify(key: &[u8], data: &[u8], tag: &[u8]) -> bool {
    mac(key, data).verify_slice(tag).is_ok()
}

/// Does step 1 of RFC 2104 by hand (a longer key than a block is hashed, a shorter one is padded with zeros), because
/// only the library's constructor for a whole block cannot fail.
fn mac(key: &[u8], data: &[u8]) -> Hmac<Sha256> {
    let hashed;
    let key = if key.len() > 64 {
        hashed = Zeroizing::new(sha256(key));
        &hashed[..]
    } else {
        key
    };
    let mut block = Zeroizing::new([0; 64]);
    for (to, from) in block.iter_mut().zip(key) {
        *to = *from;
    }
    let mut mac = Hmac::<Sha256>::new((&*block).into());
    mac.update(data);
    mac
}
