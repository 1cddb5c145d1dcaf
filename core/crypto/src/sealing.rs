//! Private keys at rest: XChaCha20-Poly1305 under a master key, a ring of master keys for rotation, and the sub-keys
//! that other parts derive from a master key (decision master-key-file).
//!
//! A sealed value is `01 | key id (8) | nonce (24) | ciphertext and tag`. The associated data binds it to its owner and
//! purpose, so a value that is copied to another row does not open there.

use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use hkdf::Hkdf;
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::encoding::{decode_base64, encode_base64};
use super::{CryptoError, Secret, hash};

const VERSION: u8 = 1;

/// The purpose of a sub-key. Each has its own HKDF-SHA256 label, so no two purposes ever share a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubKey {
    /// Sealing of private keys and session rows.
    Sealing,
    /// The MAC inside API keys (decision invented-names-leave-nothing).
    ApiKeyMac,
    /// Keyed hashes of client addresses, so that a stored hash cannot be searched by address.
    AddressHash,
    /// Identifies the master key.
    KeyId,
    /// Proves possession of the master key.
    Check,
}

impl SubKey {
    const fn label(self) -> &'static [u8] {
        match self {
            SubKey::Sealing => b"heliograph/v1/sealing",
            SubKey::ApiKeyMac => b"heliograph/v1/api-key-mac",
            SubKey::AddressHash => b"heliograph/v1/address-hash",
            SubKey::KeyId => b"heliograph/v1/key-id",
            SubKey::Check => b"heliograph/v1/check",
        }
    }
}

/// Identifies a master key, in every value sealed under it.
pub type KeyId = [u8; 8];

/// 32 random bytes. All keys for values at rest are derived from them.
#[derive(Clone)]
pub struct MasterKey {
    bytes: Secret<32>,
    id: KeyId,
}

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MasterKey").field(&self.bytes).finish()
    }
}

impl MasterKey {
    pub fn new(bytes: Secret<32>) -> Self {
        let mut key = MasterKey { bytes, id: KeyId::default() };
        key.id = hash::sha256_first8(key.sub_key(SubKey::KeyId).expose());
        key
    }

    /// HKDF-SHA256 (RFC 5869) with an empty salt and the label of `purpose`.
    pub fn sub_key(&self, purpose: SubKey) -> Secret<32> {
        let mut okm = Zeroizing::new([0; 32]);
        // HKDF fails only beyond 255 blocks, and 32 bytes are within that limit.
        let expanded = Hkdf::<Sha256>::new(None, self.bytes.expose()).expand(purpose.label(), &mut *okm);
        debug_assert!(expanded.is_ok());
        Secret::new(*okm)
    }

    /// First 8 bytes of SHA-256 of the [`SubKey::KeyId`] sub-key.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// A value that is stored with the data. Only the same master key gives it again, and it reveals nothing about the
    /// key.
    pub fn check_value(&self) -> [u8; 32] {
        hash::hmac_sha256(self.sub_key(SubKey::Check).expose(), b"heliograph/v1/check-value")
    }
}

/// The master keys of a deployment. The current one seals, and all of them open.
#[derive(Debug, Clone)]
pub struct KeyRing {
    current: MasterKey,
    earlier: Vec<MasterKey>,
}

impl KeyRing {
    pub fn new(current: MasterKey, earlier: Vec<MasterKey>) -> Self {
        KeyRing { current, earlier }
    }

    /// The key that seals new values.
    pub fn current(&self) -> &MasterKey {
        &self.current
    }

    /// Number of earlier keys.
    pub fn earlier(&self) -> usize {
        self.earlier.len()
    }

    fn iter(&self) -> impl Iterator<Item = &MasterKey> {
        std::iter::once(&self.current).chain(&self.earlier)
    }

    /// The sub-keys of `purpose` of every master key, current first, so that values made under an earlier key still
    /// verify.
    pub fn sub_keys(&self, purpose: SubKey) -> Vec<Secret<32>> {
        self.iter().map(|key| key.sub_key(purpose)).collect()
    }

    /// The check value of every key, current first.
    pub fn check_values(&self) -> Vec<[u8; 32]> {
        self.iter().map(MasterKey::check_value).collect()
    }

    /// True if this ring has every key of `other`, so it opens everything that `other` opens.
    pub fn contains(&self, other: &KeyRing) -> bool {
        other.check_values().iter().all(|check| self.proves(check))
    }

    /// True if one of the keys made `check_value`. The server refuses to start if none did.
    pub fn proves(&self, check_value: &[u8; 32]) -> bool {
        self.iter().any(|key| key.check_value().ct_eq(check_value).into())
    }

    /// Seals under the current key. `owner` is the DID (or the name of another actor), `purpose` the kind of value.
    /// Opening needs both again. `nonce` must be 24 fresh random bytes.
    pub fn seal(&self, owner: &str, purpose: &str, nonce: &[u8; 24], plaintext: &[u8]) -> Result<Vec<u8>, CryptoError> {
        let id = self.current.id();
        let aad = associated_data(&id, owner, purpose);
        let sealed = XChaCha20Poly1305::new(self.current.sub_key(SubKey::Sealing).expose().into())
            .encrypt(nonce.into(), Payload { msg: plaintext, aad: &aad })
            .map_err(|_| CryptoError::Malformed)?;
        Ok([&[VERSION][..], &id, nonce, &sealed].concat())
    }

    /// Opens a sealed value. [`CryptoError::UnknownMasterKey`] means that the key file is wrong, and not the value.
    pub fn open(&self, owner: &str, purpose: &str, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, CryptoError> {
        let (id, rest) = split_id(sealed)?;
        let key = self.iter().find(|key| key.id() == *id).ok_or(CryptoError::UnknownMasterKey)?;
        let (nonce, ciphertext) = rest.split_first_chunk::<24>().ok_or(CryptoError::Malformed)?;
        let aad = associated_data(id, owner, purpose);
        XChaCha20Poly1305::new(key.sub_key(SubKey::Sealing).expose().into())
            .decrypt(nonce.into(), Payload { msg: ciphertext, aad: &aad })
            .map(Zeroizing::new)
            .map_err(|_| CryptoError::Undecryptable)
    }

    /// [`KeyRing::open`] for exactly `N` bytes.
    pub fn open_secret<const N: usize>(
        &self,
        owner: &str,
        purpose: &str,
        sealed: &[u8],
    ) -> Result<Secret<N>, CryptoError> {
        Secret::from_slice(&self.open(owner, purpose, sealed)?).ok_or(CryptoError::Malformed)
    }

    /// Reseals a value under the current key during a rotation; `None` if it is under that key already. `nonce` as in
    /// [`KeyRing::seal`].
    pub fn reseal(
        &self,
        owner: &str,
        purpose: &str,
        nonce: &[u8; 24],
        sealed: &[u8],
    ) -> Result<Option<Vec<u8>>, CryptoError> {
        if *split_id(sealed)?.0 == self.current.id() {
            return Ok(None);
        }
        let plaintext = self.open(owner, purpose, sealed)?;
        self.seal(owner, purpose, nonce, &plaintext).map(Some)
    }
}

/// Prefix of a sealed text at rest; base64 of the sealed value follows. Texts from before sealing existed never have
/// it, because none of them may begin with a control character.
const SEALED_TEXT: &str = "\u{1}sealed/1:";

impl KeyRing {
    /// [`KeyRing::seal`] of a text, with a text as the result.
    pub fn seal_text(&self, owner: &str, purpose: &str, nonce: &[u8; 24], text: &str) -> Result<String, CryptoError> {
        Ok(format!("{SEALED_TEXT}{}", encode_base64(&self.seal(owner, purpose, nonce, text.as_bytes())?)))
    }

    /// Opens a text at rest. A text from before sealing existed is returned as it is.
    pub fn open_text(&self, owner: &str, purpose: &str, stored: &str) -> Result<String, CryptoError> {
        let Some(sealed) = sealed_text(stored) else { return Ok(stored.to_owned()) };
        let bytes = self.open(owner, purpose, &sealed)?;
        std::str::from_utf8(&bytes).map(str::to_owned).map_err(|_| CryptoError::Malformed)
    }

    /// Reseals a text under the current key; `None` if it is under that key already. `nonce` as in [`KeyRing::seal`].
    pub fn reseal_text(
        &self,
        owner: &str,
        purpose: &str,
        nonce: &[u8; 24],
        stored: &str,
    ) -> Result<Option<String>, CryptoError> {
        if text_key_id(stored) == Some(self.current.id()) {
            return Ok(None);
        }
        let text = Zeroizing::new(self.open_text(owner, purpose, stored)?);
        self.seal_text(owner, purpose, nonce, &text).map(Some)
    }
}

fn sealed_text(stored: &str) -> Option<Vec<u8>> {
    decode_base64("text", stored.strip_prefix(SEALED_TEXT)?).ok()
}

/// The id of the master key that sealed a text at rest; `None` if the text is not sealed.
pub fn text_key_id(stored: &str) -> Option<KeyId> {
    key_id(&sealed_text(stored)?)
}

/// The id of the master key that sealed a value; `None` if the bytes are not a sealed value.
pub fn key_id(sealed: &[u8]) -> Option<KeyId> {
    split_id(sealed).ok().map(|(id, _)| *id)
}

/// The key id, and the rest of a sealed value.
fn split_id(sealed: &[u8]) -> Result<(&KeyId, &[u8]), CryptoError> {
    match sealed.split_first() {
        Some((&VERSION, rest)) => rest.split_first_chunk().ok_or(CryptoError::Malformed),
        _ => Err(CryptoError::Malformed),
    }
}

/// Version and key id, then owner and purpose, each with its length before it, so that no two pairs give the same
/// bytes.
fn associated_data(id: &KeyId, owner: &str, purpose: &str) -> Vec<u8> {
    let mut aad = vec![VERSION];
    aad.extend_from_slice(id);
    for part in [owner, purpose] {
        aad.extend_from_slice(&(part.len() as u64).to_be_bytes());
        aad.extend_from_slice(part.as_bytes());
    }
    aad
}

#[cfg(test)]
mod tests {
    use super::*;

    fn master(byte: u8) -> MasterKey {
        MasterKey::new(Secret::new([byte; 32]))
    }

    const OWNER: &str = "did:svc:owner";

    #[test]
    fn a_sealed_key_opens_only_for_its_owner_and_purpose() {
        let ring = KeyRing::new(master(1), vec![]);
        let sealed = ring.seal(OWNER, "x25519", &[7; 24], &[9; 32]).unwrap();
        assert_eq!(sealed.len(), 1 + 8 + 24 + 32 + 16);
        assert_eq!(ring.open_secret(OWNER, "x25519", &sealed), Ok(Secret::new([9; 32])));
        assert_eq!(ring.open("did:svc:other", "x25519", &sealed), Err(CryptoError::Undecryptable));
        assert_eq!(ring.open(OWNER, "ed25519", &sealed), Err(CryptoError::Undecryptable));
        assert_eq!(ring.open("did:svc:ownerx", "25519", &sealed), Err(CryptoError::Undecryptable));
        assert_eq!(ring.open_secret::<64>(OWNER, "x25519", &sealed), Err(CryptoError::Malformed));
    }

    #[test]
    fn every_changed_byte_of_a_sealed_value_is_noticed() {
        let ring = KeyRing::new(master(1), vec![master(2)]);
        let sealed = ring.seal(OWNER, "p", &[7; 24], b"secret").unwrap();
        for index in 0..sealed.len() {
            let mut bad = sealed.clone();
            bad[index] ^= 1;
            assert!(ring.open(OWNER, "p", &bad).is_err(), "byte {index}");
            assert!(ring.open(OWNER, "p", &sealed[..index]).is_err(), "cut at {index}");
        }
    }

    #[test]
    fn rotation_reseals_and_the_old_key_can_then_go() {
        let old = KeyRing::new(master(1), vec![]);
        let sealed = old.seal(OWNER, "p", &[7; 24], b"secret").unwrap();
        let both = KeyRing::new(master(2), vec![master(1)]);
        assert_eq!(&**both.open(OWNER, "p", &sealed).unwrap(), b"secret");
        let resealed = both.reseal(OWNER, "p", &[8; 24], &sealed).unwrap().unwrap();
        assert_eq!(both.reseal(OWNER, "p", &[8; 24], &resealed), Ok(None));
        assert_eq!((key_id(&sealed), key_id(&resealed)), (Some(master(1).id()), Some(master(2).id())));
        assert!(both.contains(&old) && !old.contains(&both));
        let new = KeyRing::new(master(2), vec![]);
        assert_eq!(&**new.open(OWNER, "p", &resealed).unwrap(), b"secret");
        assert_eq!(new.open(OWNER, "p", &sealed), Err(CryptoError::UnknownMasterKey));
    }

    #[test]
    fn a_text_at_rest_says_nothing_opens_in_its_place_only_and_moves_to_a_new_key_also_from_before() {
        let old = KeyRing::new(master(1), vec![]);
        let sealed = old.seal_text(OWNER, "note", &[7; 24], "canary").unwrap();
        assert!(!sealed.contains("canary"));
        assert_eq!(old.open_text(OWNER, "note", &sealed).unwrap(), "canary");
        assert!(
            old.open_text(OWNER, "other", &sealed).is_err() && old.open_text("did:svc:other", "note", &sealed).is_err()
        );
        let both = KeyRing::new(master(2), vec![master(1)]);
        for stored in [sealed.as_str(), "canary"] {
            let moved = both.reseal_text(OWNER, "note", &[8; 24], stored).unwrap().unwrap();
            assert_eq!(text_key_id(&moved), Some(master(2).id()));
            assert_eq!(both.open_text(OWNER, "note", &moved).unwrap(), "canary");
            assert_eq!(both.reseal_text(OWNER, "note", &[8; 24], &moved), Ok(None));
        }
        for plain in ["", "canary", "\u{1}", "\u{1}sealed/1:%", "\u{1}sealed/1:AAAA"] {
            assert_eq!(text_key_id(plain), None, "{plain:?}");
        }
    }

    /// Decision master-key-file.
    #[test]
    fn a_wrong_master_key_is_told_by_the_check_value() {
        let check = master(1).check_value();
        assert!(KeyRing::new(master(1), vec![]).proves(&check));
        assert!(KeyRing::new(master(2), vec![master(1)]).proves(&check));
        assert!(!KeyRing::new(master(2), vec![]).proves(&check));
    }

    #[test]
    fn sub_keys_differ_by_purpose_and_are_pinned() {
        let all = [SubKey::Sealing, SubKey::ApiKeyMac, SubKey::AddressHash, SubKey::KeyId, SubKey::Check];
        let keys = all.map(|purpose| *master(1).sub_key(purpose).expose());
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(key));
        }
        // Recorded from Python's hmac and hashlib. A change here makes the data of every deployment unreadable.
        assert_eq!(
            crate::encoding::encode_hex(&keys[0]),
            "9aad86ca2ac16bf07963cb0f34e6cf6b1f3d76a342e322e49facf31d11437afe"
        );
        assert_eq!(crate::encoding::encode_hex(&master(1).id()), "edd462cf3e6fba1e");
        assert_eq!(
            crate::encoding::encode_hex(&master(1).check_value()),
            "628c14cfb1992b52006e8f23ff0725f55eb7f843f89f5c818e2f191f9fecffab"
        );
    }

    #[test]
    fn debug_output_shows_no_key() {
        let text = format!("{:?}", KeyRing::new(master(1), vec![master(2)]));
        assert!(!text.contains("1, 1") && !text.contains("0101") && text.contains("Secret<32>(..)"), "{text}");
    }
}
