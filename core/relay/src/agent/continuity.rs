//! Tells whether the present keys of an agent follow from the keys that a sender knows.
//!
//! Keys follow from earlier keys when the earlier signing key signed for them, over any number of steps. Three things
//! break the chain: a rotation without a signature, another registration of the DID, and a registration that took the
//! place of another. Nobody can then say that the new keys are the same agent's. Senders that pinned the earlier keys
//! are refused until they decide. All other senders are told with the first message that they write to the new keys.
//! The recipient decides, in the step that takes the message, because only it knows its keys at that moment.

use serde::{Deserialize, Serialize};

use super::mailbox::Local;
use super::pins::{Prints, ReadPin};
use super::record::{self, AGENT, Agent, EARLIER, MAX_EARLIER};
use super::rotate::ROTATIONS;
use super::standing::Standing;
use crate::agent::authentication::{self, Calling};
use crate::directory::Did;
use crate::{Error, ErrorCode, Result};
use engine::actor::{Entry, Kind, Query, Turn, View, query};
use engine::http::Cx;
use engine::kv::{Direction, Read, Row, Table};
use engine::runtime;

/// Most senders that are remembered as told; a forgotten sender is told again. Our choice.
const MAX_TOLD: u64 = 10_000;

/// The last generation of keys that does not follow from the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Break {
    version: u64,
}
impl Row for Break {}

/// A sender that was told of a break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct LastNotice {
    /// The version of that break.
    version: u64,
    /// The message with which it was told. A repeat of that message is told again, since its sender may not have
    /// received the answer.
    with: Local,
}
impl Row for LastNotice {}

const BREAK: Table<(), Break> = Table::new(140);
const TOLD: Table<(Did,), LastNotice> = Table::new(141);
const TOLD_COUNT: Table<(), u64> = Table::new(142);
/// The keys of the last registration that ended.
const LEFT: Table<(), Prints> = Table::new(143);

/// Numbers of the tables. These rows stay when the rows of a registration are deleted.
pub(super) const TABLES: [u8; 4] = [140, 141, 142, 143];

pub const ENTRIES: &[Entry] = &[query::<Follows>()];

/// Notes that the keys of this generation do not follow from those before.
pub(super) fn broke(turn: &mut Turn<'_>, version: u64) -> Result<()> {
    Ok(BREAK.put(turn, &(), &Break { version })?)
}

/// Notes the keys of a registration that ends, since another one may hold the DID later.
pub(super) fn left(turn: &mut Turn<'_>, earlier: &Agent) -> Result<()> {
    Ok(LEFT.put(turn, &(), &Prints::of(&earlier.keys.signing, &earlier.keys.encryption))?)
}

/// A registration holds the DID from now on. If its keys differ from those of the last registration, nobody signed for
/// them, so the chain breaks.
pub(super) fn holds(turn: &mut Turn<'_>, agent: &Agent) -> Result<()> {
    let prints = Prints::of(&agent.keys.signing, &agent.keys.encryption);
    match LEFT.get(turn, &())? {
        Some(left) if left != prints => broke(turn, agent.keys.version),
        _ => Ok(()),
    }
}

/// Whether the agent's present keys have these prints, or follow from keys that have them.
pub(super) fn follows(view: &(impl Read + ?Sized), agent: &Agent, known: &Prints) -> Result<bool> {
    if Prints::of(&agent.keys.signing, &agent.keys.encryption) == *known {
        return Ok(true);
    }
    let earlier = EARLIER.scan(view, &EARLIER.range(), Direction::Descending, MAX_EARLIER)?;
    let found = earlier.into_iter().map(|(_, earlier)| earlier.keys);
    let Some(from) = found.into_iter().find(|keys| Prints::of(&keys.signing, &keys.encryption) == *known) else {
        return Ok(false);
    };
    // Keys that a key of the chain signed for join the chain, even when somebody else rotated in between.
    let mut chain = vec![from.signing];
    let mut last_joined = false;
    let mut rotations = ROTATIONS.scan(view, &ROTATIONS.range(), Direction::Descending, MAX_EARLIER)?;
    rotations.reverse();
    for ((version,), rotation) in rotations {
        if version > from.version {
            last_joined = rotation.proof.is_some_and(|proof| chain.contains(&proof.signer));
            if last_joined {
                chain.push(rotation.to);
            }
        }
    }
    Ok(last_joined)
}

/// Whether a sender's pin of this agent can matter. It can when the agent's keys changed, or when a peer may know
/// another agent of this DID (`alone` means that there are no peers).
pub(super) fn matters(view: &(impl Read + ?Sized), agent: &Agent, alone: bool) -> Result<bool> {
    let elsewhere = !alone && agent.standing < Standing::Proved;
    Ok(elsewhere || agent.keys.version > 1 || BREAK.contains(view, &())?)
}

/// The answer to a sender that pinned keys from which the present ones do not follow.
pub fn changed() -> Error {
    let message = "The keys of this agent are not those you pinned, and nothing shows that they are still its own. Look into \
                   it, then accept them: POST /v1/agent/keys/pin with `accept`.";
    Error::new(ErrorCode::KeyChanged, message)
}

/// Refuses what a sender sends when the agent's keys do not follow from those that it pinned (`pinned`).
pub(super) fn check(view: &(impl Read + ?Sized), agent: &Agent, pinned: Option<&Prints>) -> Result<()> {
    match pinned {
        Some(pinned) if !follows(view, agent, pinned)? => Err(changed()),
        _ => Ok(()),
    }
}

/// Whether to tell a sender of a break, with the answer to its message `with`. A sender is told once, since it knows
/// after the answer that the keys are new.
pub(super) fn tell(turn: &mut Turn<'_>, from: Did, with: Local) -> Result<bool> {
    let Some(Break { version }) = BREAK.get(turn, &())? else { return Ok(false) };
    let before = TOLD.get(turn, &(from,))?;
    if let Some(told) = before.filter(|told| told.version == version) {
        return Ok(told.with == with);
    }
    if record::did_of(&turn.actor().name)? == from {
        return Ok(false);
    }
    if before.is_none() {
        let count = TOLD_COUNT.get(turn, &())?.unwrap_or(0);
        match TOLD.first(turn, &TOLD.range())?.filter(|_| count >= MAX_TOLD) {
            Some((first, _)) => TOLD.delete(turn, &first),
            None => TOLD_COUNT.put(turn, &(), &(count + 1))?,
        }
    }
    TOLD.put(turn, &(from,), &LastNotice { version, with })?;
    Ok(true)
}

/// Asks whether the agent's present keys are these or follow from them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Follows {
    pub known: Prints,
}

impl Query for Follows {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "follows";
    /// Also true for an agent that does not exist: it has no other keys.
    type Reply = bool;

    fn run(self, view: &View<'_>) -> Result<bool> {
        AGENT.get(view, &())?.map_or(Ok(true), |agent| follows(view, &agent, &self.known))
    }
}

/// The keys that the calling agent pinned of another one.
pub async fn pinned(cx: &Cx, peer: Did) -> Result<Option<Prints>> {
    pinned_by(cx, &cx.caller.agent()?.actor, peer).await
}

async fn pinned_by(cx: &Cx, caller: &str, peer: Did) -> Result<Option<Prints>> {
    Ok(runtime::query(&*cx.rt, caller, &ReadPin { peer }).await?.map(|pin| pin.pinned))
}

/// Refuses to write to an agent whose keys do not follow from those that the calling agent pinned.
pub async fn check_pin(cx: &Cx, actor: &str) -> Result<()> {
    match follow_pin(cx, &cx.caller.agent()?.actor, actor).await? {
        true => Ok(()),
        false => Err(changed()),
    }
}

/// Whether an agent's keys follow from those that `caller` pinned. True when `caller` pinned none.
async fn follow_pin(cx: &Cx, caller: &str, actor: &str) -> Result<bool> {
    match pinned_by(cx, caller, record::did_of(actor)?).await? {
        Some(known) => runtime::query(&*cx.rt, actor, &Follows { known }).await,
        None => Ok(true),
    }
}

/// Whether keys at a peer differ from those that the calling agent pinned. It is not known here what such keys follow
/// from.
pub async fn are_news_to_caller(cx: &Cx, peer: Did, keys: Prints) -> Result<bool> {
    let Some(caller) = authentication::recognized(cx).await? else { return Ok(false) };
    Ok(pinned_by(cx, &caller.actor, peer).await?.is_some_and(|pinned| pinned != keys))
}

/// On a public route: whether the caller sent an agent's key, and that agent pinned keys from which the present ones do
/// not follow.
pub async fn is_news_to_caller(cx: &Cx, actor: &str) -> Result<bool> {
    match authentication::recognized(cx).await? {
        Some(caller) => Ok(!follow_pin(cx, &caller.actor, actor).await?),
        None => Ok(false),
    }
}
