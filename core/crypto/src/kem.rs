//! ML-KEM-768 (FIPS 203). The secret is kept as its 64-byte seed `d || z`.

use ml_kem::kem::{Decapsulate, KeyExport};
use ml_kem::ml_kem_768::{Ciphertext, DecapsulationKey, EncapsulationKey};
use zeroize::Zeroize;

use super::{CryptoError, Secret};

/// Bytes of an encapsulation key.
pub const PUBLIC_BYTES: usize = 1184;
/// Bytes of a ciphertext.
pub const CIPHERTEXT_BYTES: usize = 1088;

/// The public (encapsulation) key of a seed, [`PUBLIC_BYTES`] long.
pub fn kem_public_key(seed: &Secret<64>) -> Vec<u8> {
    decapsulation_key(seed).encapsulation_key().to_bytes().to_vec()
}

fn decapsulation_key(seed: &Secret<64>) -> DecapsulationKey {
    let mut bytes = (*seed.expose()).into();
    let key = DecapsulationKey::from_seed(bytes);
    bytes.zeroize();
    key
}

fn encapsulation_key(field: &'static str, public: &[u8]) -> Result<EncapsulationKey, CryptoError> {
    let key =
        public.try_into().map_err(|_| CryptoError::Length { field, expected: PUBLIC_BYTES, actual: public.len() })?;
    EncapsulationKey::new(key).map_err(|_| CryptoError::KemKey(field))
}

/// Refuses a public key of the wrong size or with coefficients of q or more (FIPS 203 section 7.2).
pub fn validate_kem_key(field: &'static str, public: &[u8]) -> Result<(), CryptoError> {
    encapsulation_key(field, public).map(|_| ())
}

/// Encapsulates to `public` with 32 fresh random bytes. Returns the ciphertext and the shared secret.
pub fn encapsulate(public: &[u8], randomness: &Secret<32>) -> Result<(Vec<u8>, Secret<32>), CryptoError> {
    let key = encapsulation_key("mlkem_public_key", public)?;
    let (ciphertext, mut shared) = key.encapsulate_deterministic(randomness.expose().into());
    let secret = Secret::new(shared.into());
    shared.zeroize();
    Ok((ciphertext.to_vec(), secret))
}

/// Decapsulates. A ciphertext that was not made for this key gives a secret that nobody knows (implicit rejection).
/// Only a wrong length is an error.
pub fn decapsulate(seed: &Secret<64>, ciphertext: &[u8]) -> Result<Secret<32>, CryptoError> {
    let actual = ciphertext.len();
    let ciphertext: &Ciphertext = ciphertext.try_into().map_err(|_| CryptoError::Length {
        field: "pq_ciphertext",
        expected: CIPHERTEXT_BYTES,
        actual,
    })?;
    let mut shared = decapsulation_key(seed).decapsulate(ciphertext);
    let secret = Secret::new(shared.into());
    shared.zeroize();
    Ok(secret)
}
