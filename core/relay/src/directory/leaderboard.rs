//! Agents in the order of their trust.
//!
//! They are in an actor of its own, `directory/main`. Agents tell it of changes at most once a minute, and it decides
//! nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Did;
use crate::Result;
use crate::agent::trust::Level;
use crate::agent::wire;
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::documents::{Family, Rendered};
use engine::kv::{Desc, Direction, Read, Row, Table};
use engine::number::round;
use engine::settings::Settings;

/// The actor that holds the order.
pub const SHARD: &str = "main";
/// The first page as a document.
pub const DOCUMENT: &str = "agent-trust-leaderboard";
/// Agents on the first page.
pub const DEFAULT_LIMIT: u32 = 25;

pub const FAMILIES: &[Family] = &[Family {
    prefix: DOCUMENT,
    owner: Kind::Directory,
    max_age: 60,
    render: |view, _| {
        let best = Best { limit: DEFAULT_LIMIT, least: Level::New };
        Rendered::json(&body(view.settings, best.run(view)?))
    },
}];

/// An agent on the leaderboard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Placed {
    pub name: Option<String>,
    pub level: Level,
    /// 0 to 1.
    pub score: f64,
    pub tasks_completed: u32,
    pub attestations_made: u32,
}
impl Row for Placed {}

impl Placed {
    /// The level first, then the score in millionths.
    fn order(&self) -> Desc<u64> {
        Desc((self.level as u64) << 32 | (self.score.clamp(0.0, 1.0) * 1e6) as u64)
    }
}

const PLACES: Table<(Did,), Placed> = Table::new(38);
const BY_ORDER: Table<(Desc<u64>, Did), ()> = Table::new(39);

pub const ENTRIES: &[Entry] = &[operation::<Place>(), operation::<Unplace>(), query::<Best>()];

fn remove(turn: &mut Turn<'_>, did: Did) -> Result<()> {
    if let Some(before) = PLACES.get(turn, &(did,))? {
        BY_ORDER.delete(turn, &(before.order(), did));
        PLACES.delete(turn, &(did,));
    }
    turn.publish(DOCUMENT)
}

/// Puts an agent at its place.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Place {
    pub did: Did,
    pub placed: Placed,
}

impl Operation for Place {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "place";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        remove(turn, self.did)?;
        BY_ORDER.put(turn, &(self.placed.order(), self.did), &())?;
        Ok(PLACES.put(turn, &(self.did,), &self.placed)?)
    }
}

/// Removes an agent from the leaderboard.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Unplace {
    pub did: Did,
}

impl Operation for Unplace {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "unplace";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        remove(turn, self.did)
    }
}

/// Reads the most trusted agents of at least a level.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Best {
    pub limit: u32,
    pub least: Level,
}

impl Query for Best {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "best";
    type Reply = Vec<(Did, Placed)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let mut best = Vec::new();
        for ((_, did), ()) in BY_ORDER.scan(view, &BY_ORDER.range(), Direction::Ascending, self.limit as usize)? {
            best.extend(place(view, did)?.filter(|placed| placed.level >= self.least).map(|placed| (did, placed)));
        }
        Ok(best)
    }
}

fn place(view: &(impl Read + ?Sized), did: Did) -> Result<Option<Placed>> {
    Ok(PLACES.get(view, &(did,))?)
}

/// One agent of the leaderboard.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RankedAgent")]
pub struct Ranked {
    /// Place on the leaderboard, from 1.
    pub rank: usize,
    pub agent: String,
    pub agent_did: String,
    pub name: Option<String>,
    pub trust_score: f64,
    pub trust_level: &'static str,
    pub tasks_completed: u32,
    pub attestations_made: u32,
}

/// Agents by trust.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Leaderboard {
    pub leaderboard: Vec<Ranked>,
    pub count: usize,
}

/// The answer for agents in the order of their trust.
pub fn body(settings: &Settings, best: Vec<(Did, Placed)>) -> Leaderboard {
    let ranked = |(at, (did, placed)): (usize, (Did, Placed))| {
        let did = wire::did_text(settings, &did);
        Ranked {
            rank: at + 1,
            agent: did.clone(),
            agent_did: did,
            name: placed.name,
            trust_score: round(placed.score),
            trust_level: placed.level.as_str(),
            tasks_completed: placed.tasks_completed,
            attestations_made: placed.attestations_made,
        }
    };
    let leaderboard: Vec<Ranked> = best.into_iter().enumerate().map(ranked).collect();
    Leaderboard { count: leaderboard.len(), leaderboard }
}
