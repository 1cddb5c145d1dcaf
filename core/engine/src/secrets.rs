//! Secrets of a deployment, all derived from its master keys.

use std::sync::{Arc, PoisonError, RwLock};

use sha2::{Digest, Sha256};

use crate::settings::Settings;
use crate::{Error, Result};
use crypto::api_key::{ApiKey, KeyForm};
use crypto::encoding::{actor_id, encode_hex};
use crypto::hash::hmac_sha256;
use crypto::sealing::{KeyRing, SubKey};
use crypto::{CryptoError, Secret};

/// What the shells hold and handlers use. Operations never see it: sealing and opening happen before and after them.
pub struct Secrets {
    /// Operator key (`X-Admin-Key`); empty when there is none.
    pub admin_key: String,
    keys: Arc<RwLock<Arc<Keys>>>,
}

/// The master keys and what is derived from each, current first.
struct Keys {
    sealing: Arc<KeyRing>,
    mac_keys: Vec<Secret<32>>,
    address_keys: Vec<Secret<32>>,
}

impl Keys {
    fn of(ring: KeyRing) -> Arc<Keys> {
        Arc::new(Keys {
            mac_keys: ring.sub_keys(SubKey::ApiKeyMac),
            address_keys: ring.sub_keys(SubKey::AddressHash),
            sealing: Arc::new(ring),
        })
    }
}

impl Secrets {
    pub fn new(sealing: KeyRing, admin_key: String) -> Self {
        Secrets { admin_key, keys: Arc::new(RwLock::new(Keys::of(sealing))) }
    }

    /// The same master keys, also those to come, with another operator key.
    pub fn with_admin_key(&self, admin_key: String) -> Self {
        Secrets { admin_key, keys: self.keys.clone() }
    }

    /// Names the operator's key in what operators did: 8 hexadecimal digits that do not lead back to it.
    pub fn admin_key_id(&self) -> String {
        let digest = Sha256::digest(format!("admin key id/{}", self.admin_key).as_bytes());
        encode_hex(digest.get(..4).unwrap_or_default())
    }

    fn keys(&self) -> Arc<Keys> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Seals what the server keeps for others (private keys, sessions).
    pub fn sealing(&self) -> Arc<KeyRing> {
        self.keys().sealing.clone()
    }

    /// Works with these master keys from here on; `ring` must still hold every earlier one. What is under way finishes
    /// with the keys it took.
    pub fn replace(&self, ring: KeyRing) {
        let keys = Keys::of(ring);
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }

    /// Reads a key of this deployment: form, checksum and MAC, without touching storage (decision
    /// invented-names-leave-nothing). A key whose MAC was made under an earlier master key is as good as a new one.
    pub fn parse_key(&self, brand: &str, kind: &str, text: &str) -> Option<ApiKey> {
        ApiKey::parse(brand, text, &self.keys().mac_keys).ok().filter(|key| key.kind() == kind)
    }

    /// Makes a key that belongs to the actor of that name. `seed` must be fresh.
    pub fn new_key(&self, brand: &str, kind: &str, actor: &str, seed: [u8; 32]) -> Result<ApiKey> {
        self.made(|mac_key| ApiKey::generate(brand, kind, actor, mac_key, &Secret::new(seed)))
    }

    /// Makes a key under the current MAC key.
    fn made(&self, make: impl FnOnce(&Secret<32>) -> std::result::Result<ApiKey, CryptoError>) -> Result<ApiKey> {
        self.keys().mac_keys.first().ok_or(CryptoError::ApiKey).and_then(make).map_err(Error::internal)
    }

    /// Makes a key for an agent, in the form that the settings name. `seed` must be fresh.
    pub fn new_agent_key(&self, settings: &Settings, kind: &str, actor: &str, seed: [u8; 32]) -> Result<ApiKey> {
        match settings.agent_key_form() {
            KeyForm::Prefixed => self.new_key(&settings.brand, kind, actor, seed),
            KeyForm::Hex => self.made(|mac_key| ApiKey::generate_hex(actor, mac_key, &Secret::new(seed))),
        }
    }

    /// A fresh actor name from random bytes.
    pub fn new_actor(random: [u8; 32]) -> String {
        let mut id = [0; 16];
        id.iter_mut().zip(random).for_each(|(to, from)| *to = from);
        actor_id(&id)
    }

    /// What is stored in place of a client address: 16 bytes under a deployment key, so that it cannot be searched by
    /// address (decision faucet-addresses). The first is to be stored; the others are what was stored for the same
    /// address under earlier master keys.
    pub fn address_hashes(&self, address: &str) -> Vec<[u8; 16]> {
        short_macs(&self.keys().address_keys, address.as_bytes())
    }

    /// Shows that a subscriber key is one of this deployment, without touching storage: 8 bytes under each master key,
    /// current first.
    pub fn subscriber_macs(&self, named: &[u8]) -> Vec<[u8; 8]> {
        short_macs(&self.keys().mac_keys, &[b"subscriber key/".as_slice(), named].concat())
    }

    /// What is remembered of the body of a request, so that another one under its `Idempotency-Key` is noticed: 16
    /// bytes under each master key, current first. Without a key a short text could be found by trying.
    pub fn body_digests(&self, body: &[u8]) -> Vec<[u8; 16]> {
        short_macs(&self.keys().mac_keys, &[b"request body/".as_slice(), body].concat())
    }

    /// Proofs of the master keys, current first, for the check at start.
    pub fn key_checks(&self) -> Vec<[u8; 32]> {
        self.sealing().check_values()
    }
}

/// The first `N` bytes of HMAC-SHA256 of `data` under each of the keys.
fn short_macs<const N: usize>(keys: &[Secret<32>], data: &[u8]) -> Vec<[u8; N]> {
    let mac = |key: &Secret<32>| {
        let mut short = [0; N];
        short.iter_mut().zip(hmac_sha256(key.expose(), data)).for_each(|(to, from)| *to = from);
        short
    };
    keys.iter().map(mac).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crypto::sealing::MasterKey;

    fn master(byte: u8) -> MasterKey {
        MasterKey::new(Secret::new([byte; 32]))
    }

    /// Decision master-key-file.
    #[test]
    fn api_keys_and_address_hashes_of_an_earlier_master_key_still_check() {
        let secrets = Secrets::new(KeyRing::new(master(1), Vec::new()), String::new());
        let old = secrets.new_key("svc", "key", "AAAAAAAAAAAAAAAAAAAAAA", [7; 32]).unwrap();
        let hash = secrets.address_hashes("192.0.2.1").remove(0);
        secrets.replace(KeyRing::new(master(2), vec![master(1)]));
        let new = secrets.new_key("svc", "key", "AAAAAAAAAAAAAAAAAAAAAA", [7; 32]).unwrap();
        assert_ne!(old.expose(), new.expose());
        for key in [&old, &new] {
            assert!(secrets.parse_key("svc", "key", key.expose()).is_some());
        }
        let hashes = secrets.address_hashes("192.0.2.1");
        assert_eq!((hashes.len(), hashes[1]), (2, hash));
        assert_ne!(hashes[0], hash);
        // Without the earlier key neither does: it must be kept.
        secrets.replace(KeyRing::new(master(2), Vec::new()));
        assert!(secrets.parse_key("svc", "key", old.expose()).is_none());
        assert!(!secrets.address_hashes("192.0.2.1").contains(&hash));
    }
}
