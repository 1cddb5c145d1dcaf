//! The private keys of an agent, and how they are kept.

use std::collections::BTreeMap;
use std::fmt;

use crypto::conversation::AgentKeys;
use crypto::encoding::{decode_base64, decode_base64_array, encode_base64};
use crypto::{CryptoError, Secret};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{Error, Result};

/// Generations of keys that are kept: messages from before a rotation still have to be opened.
const GENERATIONS: usize = 4;
/// Signed prekeys that are kept: a session may begin from an earlier one while it is on its way.
const SIGNED: usize = 4;

/// A key of the service for this agent. It is shown by no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(Zeroizing<String>);

impl ApiKey {
    pub fn new(text: String) -> ApiKey {
        ApiKey(Zeroizing::new(text))
    }

    /// The text that goes into the header `X-Agent-Key`.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

/// What an agent keeps of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyring {
    pub did: String,
    pub api_key: ApiKey,
    /// Own keys, newest first; none if the service holds the keys.
    pub generations: Vec<AgentKeys>,
    /// Secrets of signed prekeys by id.
    pub signed_prekeys: BTreeMap<u64, Secret<32>>,
    /// Secrets of one-time prekeys by id. A used one is removed.
    pub one_time_prekeys: BTreeMap<u64, Secret<32>>,
    /// Keys of a rotation under way: they count once the service has answered.
    pub next: Option<AgentKeys>,
}

impl Keyring {
    /// The present keys.
    ///
    /// Errors: [`Error::Usage`] if the service holds the keys.
    pub fn keys(&self) -> Result<&AgentKeys> {
        self.generations.first().ok_or_else(|| {
            Error::usage(
                "the service holds the keys of this agent, so it cannot encrypt or sign here; register with own keys",
            )
        })
    }

    /// Takes new keys into use.
    pub fn renew(&mut self, keys: AgentKeys) {
        self.generations.insert(0, keys);
        self.generations.truncate(GENERATIONS);
    }

    /// Adds a signed prekey and drops the oldest ones.
    pub fn add_signed_prekey(&mut self, id: u64, secret: Secret<32>) {
        self.signed_prekeys.insert(id, secret);
        while self.signed_prekeys.len() > SIGNED {
            self.signed_prekeys.pop_first();
        }
    }

    /// The id for the next signed prekey.
    pub fn next_signed_id(&self) -> u64 {
        self.signed_prekeys.last_key_value().map_or(1, |(id, _)| id + 1)
    }

    /// The text that is stored.
    pub fn encode(&self) -> Result<Zeroizing<Vec<u8>>> {
        // Maps that are collected bring an algorithm that sorts, for each type: 4 KB of what a page loads.
        let all = |map: &BTreeMap<u64, Secret<32>>| {
            let mut texts = BTreeMap::new();
            texts.extend(map.iter().map(|(id, key)| (*id, text(key))));
            texts
        };
        let kept = Kept {
            version: VERSION,
            did: self.did.clone(),
            api_key: Zeroizing::new(self.api_key.expose().to_owned()),
            generations: self.generations.iter().map(KeptKeys::of).collect(),
            signed_prekeys: all(&self.signed_prekeys),
            one_time_prekeys: all(&self.one_time_prekeys),
            next: self.next.as_ref().map(KeptKeys::of),
        };
        serde_json::to_vec(&kept).map(Zeroizing::new).map_err(Error::store)
    }

    /// Reads the result of [`Keyring::encode`].
    ///
    /// Errors: [`Error::Store`] for another form, or one of a later version.
    pub fn decode(bytes: &[u8]) -> Result<Keyring> {
        let kept: Kept = serde_json::from_slice(bytes).map_err(|_| Error::store("the keys are not in a known form"))?;
        if kept.version != VERSION {
            return Err(Error::store("the keys were written by a later version of the client"));
        }
        let read = || {
            let all = |map: &BTreeMap<u64, Zeroizing<String>>| {
                let mut secrets = BTreeMap::new();
                for (id, text) in map {
                    secrets.insert(*id, secret(text)?);
                }
                Ok::<_, CryptoError>(secrets)
            };
            Ok::<_, CryptoError>(Keyring {
                did: kept.did.clone(),
                api_key: ApiKey(kept.api_key.clone()),
                generations: kept.generations.iter().map(KeptKeys::read).collect::<std::result::Result<_, _>>()?,
                signed_prekeys: all(&kept.signed_prekeys)?,
                one_time_prekeys: all(&kept.one_time_prekeys)?,
                next: kept.next.as_ref().map(KeptKeys::read).transpose()?,
            })
        };
        read().map_err(|_| Error::store("the keys are damaged"))
    }
}

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    did: String,
    api_key: Zeroizing<String>,
    generations: Vec<KeptKeys>,
    signed_prekeys: BTreeMap<u64, Zeroizing<String>>,
    one_time_prekeys: BTreeMap<u64, Zeroizing<String>>,
    next: Option<KeptKeys>,
}

/// One generation in base64.
#[derive(Serialize, Deserialize)]
struct KeptKeys {
    signing: Zeroizing<String>,
    encryption: Zeroizing<String>,
    kem: Option<Zeroizing<String>>,
    prekey: Zeroizing<String>,
}

fn text(secret: &Secret<32>) -> Zeroizing<String> {
    Zeroizing::new(encode_base64(secret.expose()))
}

fn secret(text: &str) -> std::result::Result<Secret<32>, CryptoError> {
    decode_base64_array("key", text).map(Secret::new)
}

impl KeptKeys {
    fn of(keys: &AgentKeys) -> KeptKeys {
        KeptKeys {
            signing: text(&keys.signing),
            encryption: text(&keys.encryption),
            kem: keys.kem.as_ref().map(|seed| Zeroizing::new(encode_base64(seed.expose()))),
            prekey: text(&keys.prekey),
        }
    }

    fn read(&self) -> std::result::Result<AgentKeys, CryptoError> {
        let kem = self.kem.as_ref().map(|text| {
            let bytes = Zeroizing::new(decode_base64("key", text)?);
            Secret::from_slice(&bytes).ok_or(CryptoError::Malformed)
        });
        Ok(AgentKeys {
            signing: secret(&self.signing)?,
            encryption: secret(&self.encryption)?,
            kem: kem.transpose()?,
            prekey: secret(&self.prekey)?,
        })
    }
}
