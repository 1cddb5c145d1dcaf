//! Secrets of a deployment, all derived from its master keys.

use crate::crypto::api_key::ApiKey;
use crate::crypto::encoding::actor_id;
use crate::crypto::hash::hmac_sha256;
use crate::crypto::sealing::{KeyRing, SubKey};
use crate::crypto::{CryptoError, Secret};
use crate::{Error, Result};

/// What the shells hold and handlers use. Operations never see it: sealing and opening happen before and after them.
pub struct Secrets {
    /// Operator key (`X-Admin-Key`); empty when there is none.
    pub admin_key: String,
    /// Seals what the server keeps for others (private keys, sessions).
    pub sealing: KeyRing,
    mac_keys: Vec<Secret<32>>,
    address_key: Secret<32>,
}

impl Secrets {
    pub fn new(sealing: KeyRing, admin_key: String) -> Self {
        Secrets {
            admin_key,
            mac_keys: sealing.sub_keys(SubKey::ApiKeyMac),
            address_key: sealing.current().sub_key(SubKey::AddressHash),
            sealing,
        }
    }

    /// Reads a key of this deployment: form, checksum and MAC, without touching storage (ruling foundation-relay 5).
    pub fn parse_key(&self, brand: &str, kind: &str, text: &str) -> Option<ApiKey> {
        ApiKey::parse(brand, text, &self.mac_keys).ok().filter(|key| key.kind() == kind)
    }

    /// Makes a key that belongs to the actor of that name. `seed` must be fresh.
    pub fn new_key(&self, brand: &str, kind: &str, actor: &str, seed: [u8; 32]) -> Result<ApiKey> {
        let mac_key = self.mac_keys.first().ok_or(CryptoError::ApiKey).map_err(Error::internal)?;
        ApiKey::generate(brand, kind, actor, mac_key, &Secret::new(seed)).map_err(Error::internal)
    }

    /// A fresh actor name from random bytes.
    pub fn new_actor(random: [u8; 32]) -> String {
        let mut id = [0; 16];
        id.iter_mut().zip(random).for_each(|(to, from)| *to = from);
        actor_id(&id)
    }

    /// What is stored in place of a client address: 16 bytes under a deployment key, so that it cannot be searched by
    /// address (ruling ledger 20).
    pub fn address_hash(&self, address: &str) -> [u8; 16] {
        let full = hmac_sha256(self.address_key.expose(), address.as_bytes());
        let mut short = [0; 16];
        short.iter_mut().zip(full).for_each(|(to, from)| *to = from);
        short
    }

    /// Proofs of the master keys, current first, for the check at start.
    pub fn key_checks(&self) -> Vec<[u8; 32]> {
        self.sealing.check_values()
    }
}
