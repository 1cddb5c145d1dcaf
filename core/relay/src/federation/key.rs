//! The relay's own Ed25519 key. It is made once and stored sealed under the master key. Operators give each other the
//! public half.

use serde::{Deserialize, Serialize};

use super::actor;
use crate::agent::custody;
use crate::agent::reseal::{Progress, SealedCounts};
use crate::{Error, Result, Timestamp};
use crypto::sealing::{self, KeyId};
use crypto::{Secret, signing};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Row, Table};
use engine::runtime::{self, Runtime};

/// The purpose and the owner for which the key is sealed.
const PURPOSE: &str = "relay-key/1";
const OWNER: &str = "relay";
/// How often resealing looks again when the key changed meanwhile.
const RACES: u32 = 8;

/// The relay's key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnKey {
    pub public: [u8; 32],
    #[serde(with = "engine::kv::bytes")]
    pub sealed: Vec<u8>,
    pub since: Timestamp,
}
impl Row for OwnKey {}

pub(super) const KEY: Table<(), OwnKey> = Table::new(16);

impl OwnKey {
    /// The Ed25519 seed.
    pub fn open(&self, rt: &dyn Runtime) -> Result<Secret<32>> {
        rt.environment().secrets.sealing().open_secret(OWNER, PURPOSE, &self.sealed).map_err(Error::internal)
    }
}

/// Reads the key, if there is one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadRelayKey;

impl Query for ReadRelayKey {
    const ACTOR: Kind = Kind::Relay;
    const NAME: &'static str = "key";
    type Reply = Option<OwnKey>;

    fn run(self, view: &View<'_>) -> Result<Option<OwnKey>> {
        Ok(KEY.get(view, &())?)
    }
}

/// Stores a key if there is none, or replaces the present one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PutKey {
    pub public: [u8; 32],
    pub sealed: Vec<u8>,
    /// Whether to replace a present key.
    pub replace: bool,
}

impl Operation for PutKey {
    const ACTOR: Kind = Kind::Relay;
    const NAME: &'static str = "put_key";
    /// The present key.
    type Reply = OwnKey;

    fn run(self, turn: &mut Turn<'_>) -> Result<OwnKey> {
        if let Some(key) = KEY.get(turn, &())?.filter(|_| !self.replace) {
            return Ok(key);
        }
        let key = OwnKey { public: self.public, sealed: self.sealed, since: turn.now };
        KEY.put(turn, &(), &key)?;
        Ok(key)
    }
}

/// The relay's key, which the first call makes. With `replace`, a new one.
pub async fn own(rt: &dyn Runtime, replace: bool) -> Result<OwnKey> {
    if !replace && let Some(key) = runtime::query(rt, actor().name, &ReadRelayKey).await? {
        return Ok(key);
    }
    let seed = Secret::new(rt.random());
    let sealed = custody::seal(rt, OWNER, PURPOSE, seed.expose())?;
    let put = PutKey { public: signing::signing_public_key(&seed), sealed, replace };
    runtime::call(rt, actor().name, &put).await
}

/// Counts the sealed key, for the operator.
pub fn counted(view: &View<'_>, current: KeyId) -> Result<SealedCounts> {
    let Some(key) = KEY.get(view, &())? else { return Ok(SealedCounts::default()) };
    Ok(SealedCounts { all: 1, earlier: u64::from(sealing::key_id(&key.sealed) != Some(current)) })
}

/// Replaces the sealed key if it is still `old`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ResealRelayKey {
    pub old: Vec<u8>,
    pub new: Vec<u8>,
}

impl Operation for ResealRelayKey {
    const ACTOR: Kind = Kind::Relay;
    /// The same name as the operation that reseals an agent's values: runtimes treat both as bulk work.
    const NAME: &'static str = "reseal";
    /// Whether it was replaced.
    type Reply = bool;

    fn run(self, turn: &mut Turn<'_>) -> Result<bool> {
        match KEY.get(turn, &())? {
            Some(mut key) if key.sealed == self.old => {
                key.sealed = self.new;
                KEY.put(turn, &(), &key)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// Moves the key under the current master key (decision master-key-file).
pub async fn reseal(rt: &dyn Runtime) -> Result<Progress> {
    let mut progress = Progress { complete: true, ..Progress::default() };
    for _ in 0..RACES {
        let Some(key) = runtime::query(rt, actor().name, &ReadRelayKey).await? else { return Ok(progress) };
        match rt.environment().secrets.sealing().reseal(OWNER, PURPOSE, &custody::nonce(rt), &key.sealed) {
            Ok(None) => return Ok(progress),
            Err(_) => {
                progress.unopened = 1;
                return Ok(progress);
            }
            Ok(Some(new)) => {
                let reseal = ResealRelayKey { old: key.sealed, new };
                progress.resealed += u64::from(runtime::call(rt, actor().name, &reseal).await?);
            }
        }
    }
    progress.complete = false;
    Ok(progress)
}

/// Where no maintenance task visits all actors, a key under an earlier master key moves when it is used. A failure is
/// no error.
pub async fn passing_by(rt: &dyn Runtime, key: &OwnKey) {
    let current = rt.environment().secrets.sealing().current().id();
    if rt.maintenance().is_none() && sealing::key_id(&key.sealed) != Some(current) {
        let _ = Box::pin(reseal(rt)).await;
    }
}
