//! The API keys that open an agent: the newest, and each earlier one for ten minutes more (decision lost-agent-keys).

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::nonces::Nonce;
use super::record::{self, AGENT};
use super::{rotate, waiting, wire};
use crate::{Error, Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Turn, operation};
use engine::kv::{self, Read, Row, StoreError, Table};
use engine::time::MINUTE;

/// How long an API key works after a newer one replaced it, in microseconds.
pub const GRACE: i64 = 10 * MINUTE;
/// Most earlier API keys that still work; beyond this, the oldest ends early.
const MAX_FORMER: usize = 8;
/// Key of the timer that ends API keys.
const TIMER: &str = "former_keys";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Former {
    secret_hash: [u8; 32],
    until: Timestamp,
}

/// Earlier API keys. The row is absent while the first API key is the only one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Access {
    /// How often API keys ended.
    ended: u64,
    /// Oldest first.
    former: Vec<Former>,
}

impl Row for Access {
    const VERSION: u8 = 2;

    /// Version 1 had the nonces of signed requests at its end. Those requests are over.
    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        kv::appended(version, 1, bytes, &[])
    }
}

const ACCESS: Table<(), Access> = Table::new(101);

pub const ENTRIES: &[Entry] = &[operation::<ReplaceKey>(), operation::<EndKeys>()];

/// How often API keys of this agent ended.
pub(super) fn ended_keys(view: &(impl Read + ?Sized)) -> Result<u64> {
    Ok(ACCESS.get(view, &())?.map_or(0, |access| access.ended))
}

/// Whether this is the hash of an earlier API key that still works.
pub(super) fn is_former_key(view: &(impl Read + ?Sized), now: Timestamp, secret_hash: &[u8; 32]) -> Result<bool> {
    let former = ACCESS.get(view, &())?.unwrap_or_default().former;
    Ok(former.iter().any(|key| key.until > now && bool::from(key.secret_hash.ct_eq(secret_hash))))
}

/// Why a caller may have a new API key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Claim {
    /// The caller has the newest API key: SHA-256 of its secret.
    Key([u8; 32]),
    /// The caller made a signature that was verified under `signer`.
    Signature {
        signer: [u8; 32],
        nonce: Nonce,
    },
    Operator,
}

/// Gives the agent a new API key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReplaceKey {
    pub secret_hash: [u8; 32],
    /// End every earlier API key now.
    pub revoke: bool,
    pub claim: Claim,
}

/// One answer for a wrong key, an earlier key, and a signature by another key.
pub fn refused() -> Error {
    Error::unauthorized("A new API key needs the newest one, or a fresh signature of the agent's signing key.")
}

impl ReplaceKey {
    fn check(&self, turn: &Turn<'_>, agent: &record::Agent) -> Result<()> {
        match &self.claim {
            Claim::Operator => Ok(()),
            Claim::Key(hash) => match bool::from(agent.api_key_hash.ct_eq(hash)) {
                true => Ok(()),
                false => Err(refused()),
            },
            Claim::Signature { signer, .. } => match rotate::proved_key(turn, agent)? == *signer {
                true => Ok(()),
                false => Err(refused()),
            },
        }
    }

    /// The version of the waiting registration that the claim is about: its API key was given, or its signing key
    /// signed. `None` when the claim is the holder's or the operator's, or fits no waiting registration.
    fn is_of_waiting(&self, holder: Option<&record::Agent>, turn: &Turn<'_>) -> Result<Option<u64>> {
        let is_holders = match (&self.claim, holder) {
            (Claim::Operator, _) => true,
            (Claim::Key(hash), Some(holder)) => bool::from(holder.api_key_hash.ct_eq(hash)),
            (Claim::Signature { signer, .. }, Some(holder)) => rotate::proved_key(turn, holder)? == *signer,
            (_, None) => false,
        };
        if is_holders {
            return Ok(None);
        }
        let is = |agent: &record::Agent| match &self.claim {
            Claim::Operator => false,
            Claim::Key(hash) => bool::from(agent.api_key_hash.ct_eq(hash)),
            Claim::Signature { signer, .. } => agent.keys.signing == *signer,
        };
        waiting::find(turn, is)
    }
}

impl Operation for ReplaceKey {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "replace_key";
    /// When the API key before this one stops working; `None` when it ended already.
    type Reply = Option<Timestamp>;

    fn run(self, turn: &mut Turn<'_>) -> Result<Option<Timestamp>> {
        if let Claim::Signature { nonce, .. } = &self.claim {
            nonce.spend(turn)?;
        }
        let holder = AGENT.get(turn, &())?;
        if let Some(version) = self.is_of_waiting(holder.as_ref(), turn)? {
            waiting::replace_key(turn, version, self.secret_hash, matches!(self.claim, Claim::Signature { .. }))?;
            return Ok(None);
        }
        let mut agent = holder.ok_or_else(wire::unknown_agent)?;
        if !agent.is_active() {
            return Err(match self.claim {
                Claim::Key(_) => record::gone(),
                _ => Error::conflict("The agent is not active."),
            });
        }
        let mut access = ACCESS.get(turn, &())?.unwrap_or_default();
        self.check(turn, &agent)?;
        let before = std::mem::replace(&mut agent.api_key_hash, self.secret_hash);
        AGENT.put(turn, &(), &agent)?;
        let until = turn.now.plus(GRACE);
        access.former.push(Former { secret_hash: before, until });
        // A caller that makes many keys within the ten minutes keeps the newest of them.
        let keep = if self.revoke { 0 } else { MAX_FORMER };
        let ending = access.former.len().saturating_sub(keep);
        end(turn, access, ending)?;
        Ok((!self.revoke).then_some(until))
    }
}

/// Ends the oldest `count` earlier keys, stores the rest and sets the timer for the next one.
fn end(turn: &mut Turn<'_>, mut access: Access, count: usize) -> Result<()> {
    access.former.drain(..count.min(access.former.len()));
    if count > 0 {
        access.ended += 1;
        // A stream that was opened with an ended key ends too.
        turn.wake();
    }
    match access.former.first() {
        Some(key) => turn.schedule(TIMER, key.until, &EndKeys)?,
        None => turn.cancel(TIMER)?,
    }
    Ok(ACCESS.put(turn, &(), &access)?)
}

/// Ends the API keys whose time is over. They open nothing any more; this also ends the streams that they opened.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EndKeys;

impl Operation for EndKeys {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "end_keys";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Some(access) = ACCESS.get(turn, &())? else { return Ok(()) };
        let over = access.former.iter().take_while(|key| key.until <= turn.now).count();
        end(turn, access, over)
    }
}
