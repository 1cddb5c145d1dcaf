//! What ends when an agent is deactivated, or loses its DID to another registration.

use serde::{Deserialize, Serialize};

use super::record::{AGENT, Agent, active, did_of, gone};
use super::standing::Standing;
use super::{listing, prekeys, rotate, username, waiting};
use crate::{Result, Timestamp, directory};
use engine::actor::{Kind, Operation, Turn};

/// Ends an agent for good: its key no longer works, nobody can write to it, and its name is free after 30 days. The
/// record stays, since old signatures must still verify. Its messages expire by their ttl.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Deactivate;

impl Operation for Deactivate {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "deactivate";
    /// When it ended.
    type Reply = Timestamp;

    fn run(self, turn: &mut Turn<'_>) -> Result<Timestamp> {
        let agent = active(turn)?.ok_or_else(gone)?;
        end(turn, agent.clone())?;
        // An unproved registration does not bind the DID, so a waiting registration takes it over.
        if agent.standing != Standing::Proved && waiting::anybody(turn)? {
            waiting::vacate(turn, &agent)?;
        }
        Ok(turn.now)
    }
}

/// Ends a registration: its names are free after 30 days. Its record and its mail stay, and all else that it holds is
/// deleted.
pub(super) fn end(turn: &mut Turn<'_>, mut agent: Agent) -> Result<()> {
    let free_at = Some(turn.now.plus(directory::QUARANTINE));
    if let Some(name) = agent.name.clone() {
        let did = did_of(&turn.actor().name)?;
        turn.send(directory::shard(&name), &directory::Release { name, did, free_at })?;
    }
    agent.deactivated = Some(turn.now);
    AGENT.put(turn, &(), &agent)?;
    ended(turn, free_at, None)?;
    listing::changed(turn, &agent)?;
    rotate::tell_ledger(turn, &agent)?;
    turn.wake();
    Ok(())
}

/// Called when another registration takes the place of the one that holds the DID. Its data in other actors ends, and
/// what it wrote there is marked as from before. Its own rows are deleted afterwards.
pub(super) fn displaced(turn: &mut Turn<'_>) -> Result<()> {
    ended(turn, None, Some(turn.now))?;
    crate::attestation::displaced::tell(turn)
}

/// Ends everything that the agent holds beyond its record and its mail. Its username is free at `free_at`, or at once.
///
/// `displaced` is set when another registration took its place: channels mark its posts until that time.
fn ended(turn: &mut Turn<'_>, free_at: Option<Timestamp>, displaced: Option<Timestamp>) -> Result<()> {
    super::consent::ended(turn)?;
    super::memberships::ended(turn, displaced)?;
    super::memory::ended(turn)?;
    super::presence::ended(turn);
    super::capabilities::ended(turn)?;
    super::tasks::ended(turn)?;
    super::trust::ended(turn)?;
    super::activity::ended(turn)?;
    super::export::ended(turn)?;
    crate::webhook::ended(turn)?;
    crate::federation::queue::ended(turn)?;
    prekeys::ended(turn)?;
    username::ended(turn, free_at)
}
