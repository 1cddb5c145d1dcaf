//! `Idempotency-Key` of the relay's routes: a request with a key that was used before is a repeat of the first request,
//! or is refused.
//!
//! For each route and key, the caller's own actor keeps a digest of the body and the local part of the id that the
//! first request got. A repeat gets the same id, and the actor that decides finds by it what it has done already. A
//! different body gets 422 `IDEMPOTENCY_MISMATCH`, whatever its recipient. The reasons are in
//! `docs/decisions/idempotency.md`.

use serde::{Deserialize, Serialize};

use super::custody;
use super::mailbox::{Local, REPEATS};
use super::record;
use crate::agent::authentication::Calling;
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::hash;
use engine::actor::{Entry, Kind, Operation, Turn, operation};
use engine::http::Cx;
use engine::kv::{Direction, Row, Table};
use engine::runtime;
use engine::time::{MINUTE, SECOND};

/// Most characters of an `Idempotency-Key`; our choice.
pub const MAX_KEY: usize = 255;

/// How long a key is remembered after it was last sent, in microseconds. A little longer than a mailbox remembers the
/// id of a message; otherwise a different body could get the id of the first one.
const KEPT: i64 = REPEATS + 10 * MINUTE;
/// Most keys that are remembered for one agent, about 8 MB; our choice. An agent that sends at its full rate with a new
/// key for each request uses them up within an hour and a half.
const MAX_KEYS: u64 = 100_000;
/// Keys that one run of the timer deletes.
const BATCH: usize = 200;
/// Key of the timer.
const FORGET: &str = "idempotency";

/// Names a route and a key of one agent.
type Name = [u8; 16];
/// Digest of a body; see [`engine::secrets::Secrets::body_digests`].
type Digest = [u8; 16];

/// A key that was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Used {
    digest: Digest,
    /// The local part of the id that the first request made.
    local: Local,
    until: Timestamp,
}
impl Row for Used {}

const USED: Table<(Name,), Used> = Table::new(150);
const ENDS: Table<(Timestamp, Name), ()> = Table::new(151);
const COUNT: Table<(), u64> = Table::new(152);
/// When the agent's rows got [`USED`]. Ids that were made under a key before that time were derived from the key.
const SINCE: Table<(), Timestamp> = Table::new(153);

pub const ENTRIES: &[Entry] = &[operation::<ClaimKey>(), operation::<ForgetKeys>()];

/// Called for an agent from before [`USED`]: see [`SINCE`].
pub(crate) fn begin(turn: &mut Turn<'_>) -> Result<()> {
    let now = turn.now;
    Ok(SINCE.put(turn, &(), &now)?)
}

/// Takes a key for a request, or finds the request that took it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClaimKey {
    name: Name,
    /// Digests of the body under each master key, the current one first.
    digests: Vec<Digest>,
    /// The local part for what the request makes, when the key is new.
    local: Local,
    /// The local part that the key led to when ids were derived from keys.
    derived: Local,
}

impl Operation for ClaimKey {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "claim_idempotency_key";
    /// The local part of the id that the first request under the key got.
    type Reply = Local;

    fn run(self, turn: &mut Turn<'_>) -> Result<Local> {
        record::active(turn)?.ok_or_else(record::gone)?;
        let digest = *self.digests.first().ok_or_else(|| Error::internal("a claim without a digest"))?;
        let until = turn.now.plus(KEPT);
        let known = USED.get(turn, &(self.name,))?;
        let used = match known.as_ref().filter(|used| used.until > turn.now) {
            Some(used) if self.digests.contains(&used.digest) => Used { digest, until, ..used.clone() },
            Some(_) => return Err(mismatch()),
            None => Used { digest, local: self.first_local(turn)?, until },
        };
        match known {
            Some(known) => ENDS.delete(turn, &(known.until, self.name)),
            None => self.count(turn)?,
        }
        ENDS.put(turn, &(until, self.name), &())?;
        USED.put(turn, &(self.name,), &used)?;
        if turn.scheduled(FORGET)?.is_none() {
            turn.schedule(FORGET, until, &ForgetKeys)?;
        }
        Ok(used.local)
    }
}

impl ClaimKey {
    /// Uses the derived id as long as a repeat of a request from before [`USED`] may still come.
    fn first_local(&self, turn: &mut Turn<'_>) -> Result<Local> {
        match SINCE.get(turn, &())? {
            Some(since) if since.plus(REPEATS) > turn.now => Ok(self.derived),
            Some(_) => {
                SINCE.delete(turn, &());
                Ok(self.local)
            }
            None => Ok(self.local),
        }
    }

    fn count(&self, turn: &mut Turn<'_>) -> Result<()> {
        let count = COUNT.get(turn, &())?.unwrap_or_default();
        if count >= MAX_KEYS {
            let first = ENDS.first(turn, &ENDS.range())?.map_or(turn.now, |((until, _), ())| until);
            let wait = u32::try_from(first.since(turn.now) / SECOND + 1).unwrap_or(1);
            let message = "This agent used 100000 values of `Idempotency-Key`, the most in 24 hours; retry later.";
            return Err(Error::new(ErrorCode::RateLimited, message).retry_after(wait));
        }
        Ok(COUNT.put(turn, &(), &(count + 1))?)
    }
}

fn mismatch() -> Error {
    let message =
        "This `Idempotency-Key` was used with another body. Nothing was done: repeat the first body, or use a new key.";
    Error::new(ErrorCode::IdempotencyMismatch, message)
}

/// Deletes keys whose time is over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ForgetKeys;

impl Operation for ForgetKeys {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "forget_idempotency_keys";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let ended = ENDS.between(&(), &(turn.now.plus(1),));
        let rows = ENDS.scan(turn, &ended, Direction::Ascending, BATCH)?;
        let gone = rows.len() as u64;
        for ((until, name), ()) in rows {
            ENDS.delete(turn, &(until, name));
            USED.delete(turn, &(name,));
        }
        match COUNT.get(turn, &())?.unwrap_or_default().saturating_sub(gone) {
            0 => COUNT.delete(turn, &()),
            left => COUNT.put(turn, &(), &left)?,
        }
        // The timer does not run at the end of every key: it collects those of a minute.
        if let Some(((until, _), ())) = ENDS.first(turn, &ENDS.range())? {
            turn.schedule(FORGET, if until <= turn.now { turn.now } else { until.plus(MINUTE) }, &ForgetKeys)?;
        }
        Ok(())
    }
}

/// The local part of the id for what this request makes: the id of the first request under its `Idempotency-Key`, or a
/// fresh one. Call this last, when nothing about the request itself can be refused any more. `derived` makes the id
/// from the key, as ids were made when they were derived from keys.
///
/// 422 when the key was used for this route with another body in the last 24 hours.
pub async fn local(cx: &Cx, derived: impl FnOnce(&[u8]) -> Local) -> Result<Local> {
    let fresh = custody::local(&*cx.rt);
    let Some(key) = cx.idempotency_key(MAX_KEY)? else { return Ok(fresh) };
    let mut name = Name::default();
    let whole = hash::sha256_of(&[cx.route.path.as_bytes(), b"\n", key.as_bytes()]);
    name.iter_mut().zip(whole).for_each(|(to, from)| *to = from);
    let digests = cx.rt.environment().secrets.body_digests(&cx.request.body);
    let claim = ClaimKey { name, digests, local: fresh, derived: derived(key.as_bytes()) };
    runtime::call(&*cx.rt, cx.caller.agent()?.actor.as_str(), &claim).await
}
