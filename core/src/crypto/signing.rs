//! Ed25519: validated keys, strict verification only, signed prekeys, envelopes under current and earlier keys.

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use super::{CryptoError, Secret};

/// The public key of a 32-byte Ed25519 seed.
pub fn signing_public_key(seed: &Secret<32>) -> [u8; 32] {
    SigningKey::from_bytes(seed.expose()).verifying_key().to_bytes()
}

/// Ed25519 signature (RFC 8032), deterministic.
pub fn sign(seed: &Secret<32>, message: &[u8]) -> [u8; 64] {
    SigningKey::from_bytes(seed.expose()).sign(message).to_bytes()
}

/// Accepts a key for registration: the canonical encoding of a curve point, not of small order (ruling
/// foundation-relay 11). A key of small order verifies signatures that nobody made.
pub fn validate_signing_key(field: &'static str, key: &[u8; 32]) -> Result<(), CryptoError> {
    verifying_key(field, key).map(|_| ())
}

fn verifying_key(field: &'static str, bytes: &[u8; 32]) -> Result<VerifyingKey, CryptoError> {
    let key = VerifyingKey::from_bytes(bytes).map_err(|_| CryptoError::NotCanonical(field))?;
    // The decoder takes a y of p or more; only the encoding that encoding gives is canonical.
    if key.to_edwards().compress().to_bytes() != *bytes {
        return Err(CryptoError::NotCanonical(field));
    }
    if key.is_weak() {
        return Err(CryptoError::SmallOrder(field));
    }
    Ok(key)
}

/// Strict verification: canonical key and `R`, neither of small order, `S` below the group order, the cofactorless
/// equation. One signature has one meaning for everybody who checks it this way. Any other length is false.
pub fn verify(key: &[u8; 32], message: &[u8], signature: &[u8]) -> bool {
    let (Ok(key), Ok(signature)) = (verifying_key("key", key), Signature::from_slice(signature)) else {
        return false;
    };
    key.verify_strict(message, &signature).is_ok()
}

/// Signature of a signed prekey: over its raw 32 bytes.
pub fn sign_prekey(seed: &Secret<32>, prekey: &[u8; 32]) -> [u8; 64] {
    sign(seed, prekey)
}

/// Checks a signed prekey against the identity's signing key.
pub fn verify_prekey(signing_key: &[u8; 32], prekey: &[u8; 32], signature: &[u8]) -> Result<(), CryptoError> {
    if verify(signing_key, prekey, signature) { Ok(()) } else { Err(CryptoError::Signature) }
}

/// Which of an agent's signing keys an envelope was signed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignedBy {
    Current,
    /// Index into the earlier keys as they were given.
    Earlier(usize),
}

/// `POST /v1/agent/verify`: Ed25519 over the UTF-8 bytes of the exact envelope text by the current key, then by the
/// earlier ones in the given order, since genuine envelopes outlive a rotation (ruling foundation-relay 38). `None`:
/// signed by none of them.
pub fn verify_envelope(
    envelope: &str,
    signature: &[u8],
    current: &[u8; 32],
    earlier: &[[u8; 32]],
) -> Option<SignedBy> {
    if verify(current, envelope.as_bytes(), signature) {
        return Some(SignedBy::Current);
    }
    earlier.iter().position(|key| verify(key, envelope.as_bytes(), signature)).map(SignedBy::Earlier)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// p = 2^255 - 19, little-endian, plus `add`.
    fn p_plus(add: u8) -> [u8; 32] {
        let mut bytes = [0xff; 32];
        bytes[0] = 0xed + add;
        bytes[31] = 0x7f;
        bytes
    }

    #[test]
    fn ruling_foundation_relay_11_keys_of_small_order_are_refused() {
        let mut identity = [0; 32];
        identity[0] = 1;
        let mut minus_one = p_plus(0);
        minus_one[0] -= 1;
        for key in [identity, minus_one, [0; 32]] {
            assert_eq!(validate_signing_key("k", &key), Err(CryptoError::SmallOrder("k")));
            assert!(!verify(&key, b"anything", &[0; 64]));
        }
    }

    #[test]
    fn ruling_foundation_relay_11_second_encodings_of_a_point_are_refused() {
        // y = p + 1 is the identity again, y = p is zero again, and minus zero as x.
        let mut negative_zero = [0; 32];
        negative_zero[0] = 1;
        negative_zero[31] = 0x80;
        for key in [p_plus(0), p_plus(1), negative_zero] {
            assert_eq!(validate_signing_key("k", &key), Err(CryptoError::NotCanonical("k")));
        }
        // y = p + 3 encodes y = 3, a point of full order: only the canonical form of it passes.
        let mut three = [0; 32];
        three[0] = 3;
        assert_eq!(validate_signing_key("k", &three), Ok(()));
        assert_eq!(validate_signing_key("k", &p_plus(3)), Err(CryptoError::NotCanonical("k")));
    }

    #[test]
    fn bytes_that_are_no_point_are_refused() {
        let mut key = [0; 32];
        key[0] = 2;
        assert_eq!(validate_signing_key("k", &key), Err(CryptoError::NotCanonical("k")));
    }

    #[test]
    fn ruling_foundation_relay_38_envelopes_of_earlier_keys_verify_and_are_told_apart() {
        let (old, older, new) = (Secret::new([1; 32]), Secret::new([2; 32]), Secret::new([3; 32]));
        let public = signing_public_key;
        let earlier = [public(&old), public(&older)];
        let text = "{\"from\":\"a\"}";
        let check = |seed: &Secret<32>| verify_envelope(text, &sign(seed, text.as_bytes()), &public(&new), &earlier);
        assert_eq!(check(&new), Some(SignedBy::Current));
        assert_eq!(check(&old), Some(SignedBy::Earlier(0)));
        assert_eq!(check(&older), Some(SignedBy::Earlier(1)));
        assert_eq!(check(&Secret::new([4; 32])), None);
        let mut bad = sign(&new, text.as_bytes());
        bad[0] ^= 1;
        assert_eq!(verify_envelope(text, &bad, &public(&new), &earlier), None);
        assert_eq!(verify_envelope(text, &bad[..32], &public(&new), &earlier), None);
    }

    #[test]
    fn a_prekey_signed_by_another_key_is_refused() {
        let seed = Secret::new([7; 32]);
        let signature = sign_prekey(&seed, &[9; 32]);
        assert_eq!(verify_prekey(&signing_public_key(&seed), &[9; 32], &signature), Ok(()));
        let other = signing_public_key(&Secret::new([8; 32]));
        assert_eq!(verify_prekey(&other, &[9; 32], &signature), Err(CryptoError::Signature));
        assert_eq!(verify_prekey(&signing_public_key(&seed), &[8; 32], &signature), Err(CryptoError::Signature));
    }
}
