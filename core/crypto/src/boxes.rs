//! NaCl box and secretbox (XSalsa20-Poly1305), and the precomputed box key that every session starts from.
//!
//! A NaCl box is a secretbox under [`shared_key`], so both use the same code. The libraries here use an older
//! generation of cipher traits than the rest of the crate, so their types stay inside this file.

use crypto_secretbox::aead::{Aead, KeyInit};
use crypto_secretbox::{Key, Nonce, XSalsa20Poly1305};
use salsa20::cipher::consts::U10;
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::{Zeroize, Zeroizing};

use super::{CryptoError, Secret};

/// Bytes that a secretbox adds to its plaintext.
pub const TAG_BYTES: usize = 16;

/// The X25519 public key of a secret (RFC 7748; the secret is clamped on use, not here).
pub fn box_public_key(secret: &Secret<32>) -> [u8; 32] {
    PublicKey::from(&StaticSecret::from(*secret.expose())).to_bytes()
}

/// X25519 (RFC 7748). Any public key of low order forces an all-zero result, which everybody knows, so it is refused.
pub fn x25519(public: &[u8; 32], secret: &Secret<32>) -> Result<Secret<32>, CryptoError> {
    let shared = StaticSecret::from(*secret.expose()).diffie_hellman(&PublicKey::from(*public));
    if shared.was_contributory() {
        Ok(Secret::new(shared.to_bytes()))
    } else {
        Err(CryptoError::SmallOrder("encryption_public_key"))
    }
}

/// Refuses an X25519 public key of low order: no secret gives a shared key with it.
pub fn validate_encryption_key(field: &'static str, public: &[u8; 32]) -> Result<(), CryptoError> {
    x25519(public, &Secret::new([1; 32])).map(|_| ()).map_err(|_| CryptoError::SmallOrder(field))
}

/// `K(public, secret)`: HSalsa20 of the X25519 output under a zero input, which NaCl calls the precomputed box key.
/// Symmetric: both sides get the same key.
pub fn shared_key(public: &[u8; 32], secret: &Secret<32>) -> Result<Secret<32>, CryptoError> {
    let shared = x25519(public, secret)?;
    let mut key = salsa20::hsalsa::<U10>(Key::from_slice(shared.expose()), &Default::default());
    let result = Secret::new(key.into());
    key.zeroize();
    Ok(result)
}

/// Seals under a raw 32-byte key; the result is the tag followed by the ciphertext, as NaCl lays it out. A nonce must
/// never repeat under one key.
pub fn secretbox_seal(key: &Secret<32>, nonce: &[u8; 24], plaintext: &[u8]) -> Result<Vec<u8>, CryptoError> {
    XSalsa20Poly1305::new(Key::from_slice(key.expose()))
        .encrypt(Nonce::from_slice(nonce), plaintext)
        .map_err(|_| CryptoError::Malformed)
}

/// Opens the result of [`secretbox_seal`].
pub fn secretbox_open(key: &Secret<32>, nonce: &[u8; 24], sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, CryptoError> {
    XSalsa20Poly1305::new(Key::from_slice(key.expose()))
        .decrypt(Nonce::from_slice(nonce), sealed)
        .map(Zeroizing::new)
        .map_err(|_| CryptoError::Undecryptable)
}

/// NaCl `crypto_box` from the holder of `secret` to the holder of the secret of `public`.
pub fn box_seal(
    public: &[u8; 32],
    secret: &Secret<32>,
    nonce: &[u8; 24],
    plaintext: &[u8],
) -> Result<Vec<u8>, CryptoError> {
    secretbox_seal(&shared_key(public, secret)?, nonce, plaintext)
}

/// NaCl `crypto_box_open`.
pub fn box_open(
    public: &[u8; 32],
    secret: &Secret<32>,
    nonce: &[u8; 24],
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, CryptoError> {
    secretbox_open(&shared_key(public, secret)?, nonce, sealed)
}

#[cfg(test)]
mod tests {
    use crypto_box::SalsaBox;
    use proptest::prelude::*;

    use super::*;

    /// u-coordinates of low order, little-endian (RFC 7748 section 6.1 and the list of "Cv25519" low-order points).
    fn low_order() -> Vec<[u8; 32]> {
        let mut one = [0; 32];
        one[0] = 1;
        let mut p = [0xff; 32];
        (p[0], p[31]) = (0xed, 0x7f);
        let mut p_minus_1 = p;
        p_minus_1[0] -= 1;
        let mut p_plus_1 = p;
        p_plus_1[0] += 1;
        let order8 = [
            0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a, 0xda, 0x09,
            0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00,
        ];
        vec![[0; 32], one, p_minus_1, p, p_plus_1, order8]
    }

    #[test]
    fn a_public_key_of_low_order_gives_no_shared_key() {
        for public in low_order() {
            assert!(validate_encryption_key("k", &public).is_err());
            assert!(shared_key(&public, &Secret::new([0x42; 32])).is_err());
            assert!(box_seal(&public, &Secret::new([0x42; 32]), &[0; 24], b"x").is_err());
        }
        assert_eq!(validate_encryption_key("k", &box_public_key(&Secret::new([3; 32]))), Ok(()));
    }

    #[test]
    fn every_flipped_bit_of_a_box_is_noticed() {
        let key = Secret::new([9; 32]);
        let sealed = secretbox_seal(&key, &[1; 24], b"abc").unwrap();
        for bit in 0..sealed.len() * 8 {
            let mut bad = sealed.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(secretbox_open(&key, &[1; 24], &bad), Err(CryptoError::Undecryptable));
        }
        for cut in 0..sealed.len() {
            assert_eq!(secretbox_open(&key, &[1; 24], &sealed[..cut]), Err(CryptoError::Undecryptable));
        }
        assert_eq!(secretbox_open(&key, &[2; 24], &sealed), Err(CryptoError::Undecryptable));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn boxes_are_byte_identical_to_crypto_box_and_dryoc(
            a: [u8; 32], b: [u8; 32], nonce: [u8; 24], message: Vec<u8>
        ) {
            use crypto_box::aead::Aead;
            let (a_secret, b_secret) = (Secret::new(a), Secret::new(b));
            let (a_public, b_public) = (box_public_key(&a_secret), box_public_key(&b_secret));
            let ours = box_seal(&b_public, &a_secret, &nonce, &message).unwrap();
            let rust_crypto = SalsaBox::new(&b_public.into(), &a.into()).encrypt(&nonce.into(), &message[..]).unwrap();
            prop_assert_eq!(&ours, &rust_crypto);
            let mut libsodium_port = vec![0; message.len() + TAG_BYTES];
            dryoc::classic::crypto_box::crypto_box_easy(&mut libsodium_port, &message, &nonce, &b_public, &a).unwrap();
            prop_assert_eq!(&ours, &libsodium_port);
            let precomputed = dryoc::classic::crypto_box::crypto_box_beforenm(&a_public, &b).unwrap();
            prop_assert_eq!(shared_key(&b_public, &a_secret).unwrap(), Secret::new(precomputed));
            prop_assert_eq!(&**box_open(&a_public, &b_secret, &nonce, &libsodium_port).unwrap(), &message[..]);
        }
    }
}
