//! The directory's entry of an agent for its search. It is updated at every change, the rank at most once an hour
//! (decision agent-search-order).

use serde::{Deserialize, Serialize};

use super::record::{self, Agent};
use super::{capabilities, stats};
use crate::directory::fold;
use crate::directory::search::{self, ListedAgent};
use crate::{Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Turn, operation};
use engine::kv::{Row, Table};
use engine::time::HOUR;

/// Least time between two changes of the rank in the directory, in microseconds.
const RANK_INTERVAL: i64 = HOUR;
/// Key of the timer that tells the directory a new rank.
const TIMER: &str = "rank";

/// Absent while the rank has always been 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Rank {
    now: u8,
    listed: u8,
    /// When the directory last heard of the rank.
    at: Timestamp,
}
impl Row for Rank {}

const RANK: Table<(), Rank> = Table::new(103);

pub const ENTRIES: &[Entry] = &[operation::<SetRank>(), operation::<TellRank>()];

/// Updates the directory's entry. Call it after every change that the search shows.
pub(super) fn changed(turn: &mut Turn<'_>, agent: &Agent) -> Result<()> {
    let did = record::did_of(&turn.actor().name)?;
    let shard = search::shard(&did);
    if !agent.is_active() {
        stats::tell(turn, agent, None)?;
        return turn.send(shard, &search::UnlistAgent { did });
    }
    let mut rank = 0;
    if let Some(mut known) = RANK.get(turn, &())? {
        rank = known.now;
        if known.listed != rank {
            known.listed = rank;
            known.at = turn.now;
            RANK.put(turn, &(), &known)?;
        }
    }
    // The search finds the agent by its registered capabilities and by those of its profile.
    let mut names = agent.capabilities.clone();
    for name in capabilities::tell(turn, rank)? {
        if names.iter().all(|known| fold(known) != fold(&name)) {
            names.push(name);
        }
    }
    stats::tell(turn, agent, Some(&names))?;
    let listed = ListedAgent {
        name: agent.name.clone(),
        capabilities: names,
        signing: agent.keys.signing,
        encryption: agent.keys.encryption,
        rank,
        registered: agent.created,
    };
    turn.send(shard, &search::Index { did, listed })
}

/// Sets the agent's rank in searches, which is its trust level; higher ranks come first.
pub fn set_rank(turn: &mut Turn<'_>, rank: u8) -> Result<()> {
    let mut known = RANK.get(turn, &())?.unwrap_or_default();
    if known.now == rank {
        return Ok(());
    }
    known.now = rank;
    RANK.put(turn, &(), &known)?;
    match known.at.plus(RANK_INTERVAL) {
        due if due > turn.now => turn.schedule(TIMER, due, &TellRank),
        _ => TellRank.run(turn),
    }
}

/// [`set_rank`] as an operation, for the actor that computes the trust of agents.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetRank {
    pub rank: u8,
}

impl Operation for SetRank {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "set_rank";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        if record::active(turn)?.is_none() {
            return Ok(());
        }
        set_rank(turn, self.rank)
    }
}

/// Tells the directory the rank, if it has changed since the last time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TellRank;

impl Operation for TellRank {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "tell_rank";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let moved = RANK.get(turn, &())?.is_some_and(|rank| rank.now != rank.listed);
        match record::active(turn)? {
            Some(agent) if moved => changed(turn, &agent),
            _ => Ok(()),
        }
    }
}
