//! Ed25519: key validation, strict verification, signed prekeys, envelopes under current and earlier keys.

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

/// Accepts a key that comes from outside: it must be the canonical encoding of a point of the prime-order group, and
/// not the identity.
///
/// A key of small order verifies signatures that nobody made. A key of mixed order is a good key plus a point of small
/// order: for each private key there are seven such keys besides its own, and verifiers disagree about which signatures
/// verify under them. The check multiplies the point by the group order, which costs as much as a verification. So a
/// key is checked once, when it comes in.
pub fn validate_signing_key(field: &'static str, key: &[u8; 32]) -> Result<(), CryptoError> {
    match verifying_key(field, key)?.to_edwards().is_torsion_free() {
        true => Ok(()),
        false => Err(CryptoError::MixedOrder(field)),
    }
}

fn verifying_key(field: &'static str, bytes: &[u8; 32]) -> Result<VerifyingKey, CryptoError> {
    let key = VerifyingKey::from_bytes(bytes).map_err(|_| CryptoError::NotCanonical(field))?;
    // The decoder also accepts a y of p or more. An encoding is canonical only if encoding the point gives it again.
    if key.to_edwards().compress().to_bytes() != *bytes {
        return Err(CryptoError::NotCanonical(field));
    }
    if key.is_weak() {
        return Err(CryptoError::SmallOrder(field));
    }
    Ok(key)
}

/// A public key that was decoded and checked. Keep it to verify often under the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// `None` if the bytes are not a canonical point, or are a point of small order.
    pub fn of(bytes: &[u8; 32]) -> Option<PublicKey> {
        verifying_key("key", bytes).ok().map(PublicKey)
    }

    /// The same check as [`verify`].
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature).is_ok_and(|signature| self.0.verify_strict(message, &signature).is_ok())
    }
}

/// Strict verification: canonical key and `R`, neither of small order, `S` below the group order, the cofactorless
/// equation. So everybody who checks a signature this way gets the same result. A signature of another length is
/// invalid.
pub fn verify(key: &[u8; 32], message: &[u8], signature: &[u8]) -> bool {
    PublicKey::of(key).is_some_and(|key| key.verify(message, signature))
}

/// Signature of a signed prekey, over its raw 32 bytes.
pub fn sign_prekey(seed: &Secret<32>, prekey: &[u8; 32]) -> [u8; 64] {
    sign(seed, prekey)
}

/// Checks a signed prekey with the signing key of the identity.
pub fn verify_prekey(signing_key: &[u8; 32], prekey: &[u8; 32], signature: &[u8]) -> Result<(), CryptoError> {
    if verify(signing_key, prekey, signature) { Ok(()) } else { Err(CryptoError::Signature) }
}

/// The signing key of an agent that made the signature of an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignedBy {
    Current,
    /// Index into the earlier keys, as they were given.
    Earlier(usize),
}

/// `POST /v1/agent/verify`: Ed25519 over the UTF-8 bytes of the exact envelope text. It tries the current key, then the
/// earlier ones in the given order, because genuine envelopes outlive a rotation (decision earlier-keys-verify). `None`
/// if none of the keys signed it.
pub fn verify_envelope(envelope: &str, signature: &[u8], current: &[u8; 32], earlier: &[[u8; 32]]) -> Option<SignedBy> {
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

    /// Decision signed-registrations.
    #[test]
    fn keys_of_small_order_are_refused() {
        let mut identity = [0; 32];
        identity[0] = 1;
        let mut minus_one = p_plus(0);
        minus_one[0] -= 1;
        for key in [identity, minus_one, [0; 32]] {
            assert_eq!(validate_signing_key("k", &key), Err(CryptoError::SmallOrder("k")));
            assert!(!verify(&key, b"anything", &[0; 64]));
        }
    }

    /// Decision signed-registrations.
    #[test]
    fn second_encodings_of_a_point_are_refused() {
        // y = p + 1 is the identity again, y = p is zero again, and the last one has minus zero as x.
        let mut negative_zero = [0; 32];
        negative_zero[0] = 1;
        negative_zero[31] = 0x80;
        for key in [p_plus(0), p_plus(1), negative_zero] {
            assert_eq!(validate_signing_key("k", &key), Err(CryptoError::NotCanonical("k")));
        }
        // y = p + 3 stands for y = 3, which is a point of mixed order. Only its canonical form is decoded.
        let mut three = [0; 32];
        three[0] = 3;
        assert_eq!(validate_signing_key("k", &three), Err(CryptoError::MixedOrder("k")));
        assert_eq!(validate_signing_key("k", &p_plus(3)), Err(CryptoError::NotCanonical("k")));
    }

    /// The eight points whose order divides 8, and below every other way to write one of them, as listed by Cremers and
    /// Jackson ("Prime, Order Please!", 2019) and in the tests of other libraries.
    const SMALL_ORDER: [&str; 8] = [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    ];
    const NOT_CANONICAL: [&str; 6] = [
        "0100000000000000000000000000000000000000000000000000000000000080",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ];

    fn key(hex: &str) -> [u8; 32] {
        crate::encoding::decode_hex_array("key", hex).unwrap()
    }

    #[test]
    fn no_key_that_verifies_what_nobody_signed_comes_in() {
        for hex in SMALL_ORDER {
            assert_eq!(validate_signing_key("k", &key(hex)), Err(CryptoError::SmallOrder("k")), "{hex}");
        }
        for hex in NOT_CANONICAL {
            assert_eq!(validate_signing_key("k", &key(hex)), Err(CryptoError::NotCanonical("k")), "{hex}");
        }
    }

    /// A good key plus each point of small order gives seven more keys. The holder of the private key can sign under
    /// all of them, although it belongs to none of them.
    #[test]
    fn a_second_key_of_the_same_private_key_is_refused() {
        use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
        use curve25519_dalek::scalar::{Scalar, clamp_integer};
        use sha2::{Digest, Sha512};

        let secret = SigningKey::from_bytes(&[8; 32]);
        let good = secret.verifying_key().to_bytes();
        assert_eq!(validate_signing_key("k", &good), Ok(()));
        let scalar = Scalar::from_bytes_mod_order(clamp_integer(secret.to_scalar_bytes()));
        let point = CompressedEdwardsY(good).decompress().unwrap();
        // The first point is the identity, and changes nothing.
        for hex in &SMALL_ORDER[1..] {
            let mixed = (point + CompressedEdwardsY(key(hex)).decompress().unwrap()).compress().to_bytes();
            assert_eq!(validate_signing_key("k", &mixed), Err(CryptoError::MixedOrder("k")), "{hex}");
            // For some nonce the signed hash is a multiple of 8, which cancels the part of small order.
            let signed = (1_u64..).find_map(|nonce| {
                let nonce = Scalar::from(nonce);
                let r = EdwardsPoint::mul_base(&nonce).compress().to_bytes();
                let hash: [u8; 64] =
                    Sha512::new().chain_update(r).chain_update(mixed).chain_update(b"m").finalize().into();
                let s = nonce + Scalar::from_bytes_mod_order_wide(&hash) * scalar;
                let signature = [r, s.to_bytes()].concat();
                verify(&mixed, b"m", &signature).then_some(nonce)
            });
            assert!(signed.is_some());
        }
    }

    #[test]
    fn a_signature_with_r_of_small_order_is_refused_although_the_equation_holds() {
        use curve25519_dalek::scalar::{Scalar, clamp_integer};
        use ed25519_dalek::Verifier;
        use sha2::{Digest, Sha512};

        let key = SigningKey::from_bytes(&[5; 32]);
        let public = key.verifying_key();
        let mut r = [0; 32];
        r[0] = 1;
        let message = b"twice";
        let k: [u8; 64] =
            Sha512::new().chain_update(r).chain_update(public.as_bytes()).chain_update(message).finalize().into();
        let s =
            Scalar::from_bytes_mod_order_wide(&k) * Scalar::from_bytes_mod_order(clamp_integer(key.to_scalar_bytes()));
        let signature: [u8; 64] = [r, s.to_bytes()].concat().try_into().unwrap();
        assert!(public.verify(message, &Signature::from_bytes(&signature)).is_ok(), "the loose check takes it");
        assert!(!verify(&public.to_bytes(), message, &signature));
    }

    #[test]
    fn a_signature_with_s_of_the_group_order_or_more_is_refused() {
        // L, little-endian (RFC 8032 section 5.1).
        let order: [u8; 32] = [
            0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
        ];
        let seed = Secret::new([6; 32]);
        let mut signature = sign(&seed, b"m");
        assert!(verify(&signing_public_key(&seed), b"m", &signature));
        let mut carry = 0;
        for (byte, add) in signature[32..].iter_mut().zip(order) {
            let sum = u16::from(*byte) + u16::from(add) + carry;
            (*byte, carry) = (sum as u8, sum >> 8);
        }
        assert!(!verify(&signing_public_key(&seed), b"m", &signature));
    }

    #[test]
    fn bytes_that_are_no_point_are_refused() {
        let mut key = [0; 32];
        key[0] = 2;
        assert_eq!(validate_signing_key("k", &key), Err(CryptoError::NotCanonical("k")));
    }

    /// Decision earlier-keys-verify.
    #[test]
    fn envelopes_of_earlier_keys_verify_and_are_told_apart() {
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
