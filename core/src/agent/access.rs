//! Which API keys open an agent: the newest, and for ten minutes those before it (ruling foundation-relay 12).

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::record::{self, AGENT};
use super::{rotate, wire};
use crate::actor::{Entry, Kind, Operation, Turn, operation};
use crate::kv::{Read, Row, Table};
use crate::time::MINUTE;
use crate::{Error, ErrorCode, Result, Timestamp};

/// How long an API key works after there is a newer one, in microseconds.
pub const GRACE: i64 = 10 * MINUTE;
/// How far the time in a signature may be from ours, in microseconds.
pub const WINDOW: i64 = 5 * MINUTE;
/// Most API keys before the newest that still work; the oldest ends early.
const MAX_FORMER: usize = 8;
/// Most new API keys by signature in one window.
const MAX_NONCES: usize = 64;
/// Key of the timer that ends API keys.
const TIMER: &str = "former_keys";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Former {
    secret_hash: [u8; 32],
    until: Timestamp,
}

/// Absent while the first API key is the only one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Access {
    /// How often API keys ended.
    ended: u64,
    /// Oldest first.
    former: Vec<Former>,
    /// Time and hash of nonces that were used.
    nonces: Vec<(Timestamp, [u8; 32])>,
}
impl Row for Access {}

const ACCESS: Table<(), Access> = Table::new(101);

pub const ENTRIES: &[Entry] = &[operation::<ReplaceKey>(), operation::<EndKeys>()];

/// How often API keys of this agent ended.
pub(super) fn ended_keys(view: &(impl Read + ?Sized)) -> Result<u64> {
    Ok(ACCESS.get(view, &())?.map_or(0, |access| access.ended))
}

/// Whether this is an earlier API key that still works.
pub(super) fn is_former_key(view: &(impl Read + ?Sized), now: Timestamp, secret_hash: &[u8; 32]) -> Result<bool> {
    let former = ACCESS.get(view, &())?.unwrap_or_default().former;
    Ok(former.iter().any(|key| key.until > now && bool::from(key.secret_hash.ct_eq(secret_hash))))
}

/// Ends every API key but the newest.
pub(super) fn end_all(turn: &mut Turn<'_>) -> Result<()> {
    let Some(mut access) = ACCESS.get(turn, &())? else { return Ok(()) };
    access.former.clear();
    access.nonces.clear();
    access.ended += 1;
    turn.cancel(TIMER)?;
    Ok(ACCESS.put(turn, &(), &access)?)
}

/// Why somebody may have a new API key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Claim {
    /// By the newest API key: SHA-256 of its secret.
    Key([u8; 32]),
    /// By a signature that was verified under `signer`.
    Signature {
        signer: [u8; 32],
        at: Timestamp,
        /// SHA-256.
        nonce: [u8; 32],
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

/// The same for a wrong key, an earlier one, and a signature by another key.
pub fn refused() -> Error {
    Error::unauthorized("A new API key needs the newest one, or a fresh signature of the agent's signing key.")
}

impl ReplaceKey {
    fn check(&self, turn: &Turn<'_>, agent: &record::Agent, access: &mut Access) -> Result<()> {
        match &self.claim {
            Claim::Operator => Ok(()),
            Claim::Key(hash) => match bool::from(agent.api_key_hash.ct_eq(hash)) {
                true => Ok(()),
                false => Err(refused()),
            },
            Claim::Signature { signer, at, nonce } => {
                if rotate::proved_key(turn, agent)? != *signer || at.since(turn.now).abs() > WINDOW {
                    return Err(refused());
                }
                access.nonces.retain(|(at, _)| turn.now.since(*at) <= WINDOW);
                if access.nonces.iter().any(|(_, used)| used == nonce) {
                    return Err(Error::conflict("This nonce was used."));
                }
                if access.nonces.len() >= MAX_NONCES {
                    let message = "Too many new keys; wait, then retry.";
                    return Err(Error::new(ErrorCode::RateLimited, message).retry_after(60));
                }
                access.nonces.push((*at, *nonce));
                Ok(())
            }
        }
    }
}

impl Operation for ReplaceKey {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "replace_key";
    /// Until when the API key before this one works; `None` when it ended.
    type Reply = Option<Timestamp>;

    fn run(self, turn: &mut Turn<'_>) -> Result<Option<Timestamp>> {
        let mut agent = AGENT.get(turn, &())?.ok_or_else(wire::unknown_agent)?;
        if !agent.is_active() {
            return Err(match self.claim {
                Claim::Key(_) => record::gone(),
                _ => Error::conflict("The agent is not active."),
            });
        }
        let mut access = ACCESS.get(turn, &())?.unwrap_or_default();
        self.check(turn, &agent, &mut access)?;
        let before = std::mem::replace(&mut agent.api_key_hash, self.secret_hash);
        AGENT.put(turn, &(), &agent)?;
        let until = turn.now.plus(GRACE);
        access.former.push(Former { secret_hash: before, until });
        // Whoever holds several keys in the window they still work keeps the newest of them.
        let keep = if self.revoke { 0 } else { MAX_FORMER };
        let ending = access.former.len().saturating_sub(keep);
        end(turn, access, ending)?;
        Ok((!self.revoke).then_some(until))
    }
}

/// Ends the oldest `count` of the former keys, stores the rest and sets the timer for it.
fn end(turn: &mut Turn<'_>, mut access: Access, count: usize) -> Result<()> {
    access.former.drain(..count.min(access.former.len()));
    if count > 0 {
        access.ended += 1;
        // What was opened with a key that ended ends with it.
        turn.wake();
    }
    match access.former.first() {
        Some(key) => turn.schedule(TIMER, key.until, &EndKeys)?,
        None => turn.cancel(TIMER)?,
    }
    Ok(ACCESS.put(turn, &(), &access)?)
}

/// Ends the API keys whose time is over. They open nothing any more; this ends what they opened.
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
