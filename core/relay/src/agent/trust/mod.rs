//! Trust: how much an agent's past says to others about it (decision anchored-weight).
//!
//! Registration is free, so a hundred agents of one person can do whatever agents do among themselves. Therefore two
//! things are kept apart. **Anchored weight** comes from outside: from attestations that independent measurements
//! agreed with later (`intelligence::country` says when), from endorsements by the operator, and from escrows
//! that agents with such weight paid ([`escrows`]). Only anchored weight makes a level above `low`, and only an agent
//! that has it can give weight to an attestation or a rating. The agent's own acts (tasks, statements) move its score
//! within the levels `new` and `low`. `docs/trust.md` holds the formulas, made from the constants of this file.
//!
//! | Module | What |
//! |---|---|
//! | [`escrows`] | weight from escrows that agents with anchored weight paid out |
//! | [`routes`] | the endpoints |
//!
//! Table number 88.

pub mod escrows;
pub mod routes;

use serde::{Deserialize, Serialize};

use super::activity::{self, ActivityCounts};
use super::{listing, record};
use crate::directory::leaderboard::{self, Place, Placed, Unplace};
use crate::{Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::kv::{Row, StoreError, Table, appended};
use engine::time::MINUTE;

/// Anchored weight from which the level is `medium`.
pub const MEDIUM_FROM: f64 = 3.0;
/// Anchored weight from which the level is `high`.
pub const HIGH_FROM: f64 = 10.0;
/// Anchored weight of an agent whose identity the operator has verified.
pub const VERIFIED_WEIGHT: f64 = 30.0;
/// Cost of a statement that measurements contradict; one that they agree with earns at most 1.
pub const WRONG_COST: f64 = 2.0;
/// Anchored weight at which a vote has half of the most that a vote can have.
pub const HALF_VOTE: f64 = 3.0;
/// Share of the score that an agent's own acts can make, 0 to 1.
pub const OWN_SHARE: f64 = 0.3;
/// Observations that the prior of every share stands for; half of them are good.
pub const PRIOR: f64 = 2.0;

/// The leaderboard hears of changes at most once per this time, in microseconds (decision counts-in-memory).
const INTERVAL: i64 = MINUTE;
/// Key of the timer that tells the leaderboard.
const TIMER: &str = "trust";

/// How much an agent is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    /// Nothing that the agent did was ever settled.
    New,
    Low,
    Medium,
    High,
    /// The operator has verified the agent's identity.
    Verified,
}

impl Level {
    pub const ALL: [Level; 5] = [Level::New, Level::Low, Level::Medium, Level::High, Level::Verified];

    pub const fn as_str(self) -> &'static str {
        match self {
            Level::New => "new",
            Level::Low => "low",
            Level::Medium => "medium",
            Level::High => "high",
            Level::Verified => "verified",
        }
    }

    pub fn parse(text: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.as_str() == text)
    }

    /// The anchored weight that an endorsement at this level gives.
    pub const fn weight(self) -> f64 {
        match self {
            Level::New | Level::Low => 0.0,
            Level::Medium => MEDIUM_FROM,
            Level::High => HIGH_FROM,
            Level::Verified => VERIFIED_WEIGHT,
        }
    }
}

/// An agent's past in numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrustRecord {
    /// Weight earned by statements that measurements agreed with later.
    pub earned: f64,
    /// Statements that measurements agreed with, whether or not they earned weight.
    pub agreed: u32,
    /// Statements that measurements contradicted.
    pub wrong: u32,
    /// Attestations made.
    pub made: u32,
    pub tasks_completed: u32,
    pub tasks_failed: u32,
    /// Sum of ratings, each a share 0 to 1 times the anchored vote of the agent that rated; `rating_votes` is the sum
    /// of these votes.
    pub rated: f64,
    pub rating_votes: f64,
    /// The level that the operator endorsed.
    pub endorsed: Option<Level>,
    /// When the leaderboard last heard of the agent.
    told: Timestamp,
    /// Weight earned by escrows that agents with anchored weight paid out; 0 in rows of version 1.
    pub paid: f64,
    /// Number of those escrows; 0 in rows of version 1. Must stay the last member.
    pub escrows: u32,
}
impl Row for TrustRecord {
    const VERSION: u8 = 2;

    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        appended(version, 1, bytes, &[0; 9])
    }
}

/// Mean of a share after `good` of `all` observations, with the prior.
fn share(good: f64, all: f64) -> f64 {
    (good + PRIOR / 2.0) / (all + PRIOR)
}

/// The vote of an agent with this anchored weight: 0 without any, always below 1, so that no single voter decides.
pub fn vote(anchored: f64) -> f64 {
    anchored / (anchored + HALF_VOTE)
}

impl TrustRecord {
    /// Anchored weight, 0 or more.
    pub fn anchored(&self) -> f64 {
        self.with(self.paid)
    }

    /// The part of the anchored weight that no other agent gave.
    pub fn own(&self) -> f64 {
        self.with(0.0)
    }

    fn with(&self, paid: f64) -> f64 {
        let endorsed = self.endorsed.map_or(0.0, Level::weight);
        (self.earned + paid - WRONG_COST * f64::from(self.wrong)).max(0.0) + endorsed
    }

    pub fn level(&self) -> Level {
        let anchored = self.anchored();
        match self.endorsed {
            Some(Level::Verified) => Level::Verified,
            _ if anchored >= HIGH_FROM => Level::High,
            _ if anchored >= MEDIUM_FROM => Level::Medium,
            _ if anchored > 0.0
                || self.agreed + self.wrong + self.tasks_completed + self.tasks_failed + self.escrows > 0 =>
            {
                Level::Low
            }
            _ => Level::New,
        }
    }

    pub fn task_completion_rate(&self) -> f64 {
        let completed = f64::from(self.tasks_completed);
        share(completed, completed + f64::from(self.tasks_failed))
    }

    pub fn task_quality_avg(&self) -> f64 {
        share(self.rated, self.rating_votes)
    }

    pub fn attestation_accuracy(&self) -> f64 {
        let agreed = f64::from(self.agreed);
        share(agreed, agreed + f64::from(self.wrong))
    }

    /// Neutral for every agent: the mean of the prior. The relay takes a message or refuses it at once, which is no
    /// merit of the sender. Whether it is read depends on the reader, and unwanted mail could lower the number.
    pub fn message_reliability(&self) -> f64 {
        share(0.0, 0.0)
    }

    /// 0 to 1: at most [`OWN_SHARE`] from the agent's own acts, the rest from its anchored weight.
    pub fn score(&self) -> f64 {
        let own = self.task_completion_rate()
            + self.task_quality_avg()
            + self.attestation_accuracy()
            + self.message_reliability();
        OWN_SHARE * own / 4.0 + (1.0 - OWN_SHARE) * vote(self.anchored())
    }
}

const STANDING: Table<(), TrustRecord> = Table::new(88);

pub const ENTRIES: &[Entry] = &[
    query::<ReadTrust>(),
    operation::<CountAttestation>(),
    operation::<CountCorroboration>(),
    operation::<Settle>(),
    operation::<Endorse>(),
    operation::<TellTrust>(),
    operation::<escrows::CountEscrow>(),
];

/// Changes the standing of an active agent and tells the directory.
fn change(turn: &mut Turn<'_>, apply: impl FnOnce(&mut TrustRecord)) -> Result<()> {
    let mut standing = STANDING.get(turn, &())?.unwrap_or_default();
    let lent = standing.own();
    apply(&mut standing);
    STANDING.put(turn, &(), &standing)?;
    if standing.own() != lent {
        escrows::lend(turn, &standing)?;
    }
    listing::set_rank(turn, standing.level() as u8)?;
    if turn.scheduled(TIMER)?.is_some() {
        return Ok(());
    }
    match standing.told.plus(INTERVAL) {
        due if due > turn.now => turn.schedule(TIMER, due, &TellTrust),
        _ => TellTrust.run(turn),
    }
}

/// A task ended at this agent, its assignee.
pub fn task_ended(turn: &mut Turn<'_>, completed: bool) -> Result<()> {
    change(turn, |standing| match completed {
        true => standing.tasks_completed += 1,
        false => standing.tasks_failed += 1,
    })
}

/// The requester of a task rated it with 1 to 5 stars. The rating counts by that agent's anchored weight at this time.
pub fn rated(turn: &mut Turn<'_>, stars: u8, anchored: f64) -> Result<()> {
    change(turn, |standing| {
        standing.rated += vote(anchored) * f64::from(stars.clamp(1, 5) - 1) / 4.0;
        standing.rating_votes += vote(anchored);
    })
}

/// Forgets the past of an agent. Called when a registration ends or gives way to another.
pub(super) fn ended(turn: &mut Turn<'_>) -> Result<()> {
    if STANDING.get(turn, &())?.is_none() {
        return Ok(());
    }
    STANDING.delete(turn, &());
    escrows::lend(turn, &TrustRecord::default())?;
    escrows::forget(turn)?;
    turn.cancel(TIMER)?;
    listing::set_rank(turn, 0)?;
    let did = record::did_of(&turn.actor().name)?;
    turn.send(leaderboard::SHARD, &Unplace { did })
}

/// Removes a suspended agent from the leaderboard. Its vote is 0 meanwhile.
pub(super) fn hide(turn: &mut Turn<'_>) -> Result<()> {
    if STANDING.get(turn, &())?.is_none() {
        return Ok(());
    }
    escrows::lend(turn, &TrustRecord::default())?;
    let did = record::did_of(&turn.actor().name)?;
    turn.send(leaderboard::SHARD, &Unplace { did })
}

/// Puts an agent back on the leaderboard.
pub(super) fn show(turn: &mut Turn<'_>) -> Result<()> {
    if let Some(standing) = STANDING.get(turn, &())? {
        escrows::lend(turn, &standing)?;
    }
    TellTrust.run(turn)
}

/// Whether an attestation of this time (compared in whole milliseconds) is of this registration and not of an earlier
/// one.
fn is_of(agent: &record::Agent, at: Timestamp) -> bool {
    agent.created.millis() <= at.millis()
}

/// An agent and its past.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trusted {
    pub name: Option<String>,
    pub created: Timestamp,
    pub standing: TrustRecord,
}

/// Reads the past of an agent; `None` when the agent never existed. It is empty for an agent that ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadTrust;

impl Query for ReadTrust {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "trust";
    type Reply = Option<Trusted>;

    fn run(self, view: &View<'_>) -> Result<Option<Trusted>> {
        let Some(agent) = record::AGENT.get(view, &())? else { return Ok(None) };
        let standing = STANDING.get(view, &())?.unwrap_or_default();
        Ok(Some(Trusted { name: agent.name, created: agent.created, standing }))
    }
}

/// Counts an attestation that the agent made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CountAttestation {
    pub at: Timestamp,
}

impl Operation for CountAttestation {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "count_attestation";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        match record::lasting(turn)? {
            Some(agent) if is_of(&agent, self.at) => {
                activity::count(turn, &ActivityCounts { attestations: 1, ..ActivityCounts::default() })?;
                change(turn, |standing| standing.made += 1)
            }
            _ => Ok(()),
        }
    }
}

/// Another agent corroborated an attestation of this agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CountCorroboration {
    /// When the attestation was made.
    pub at: Timestamp,
}

impl Operation for CountCorroboration {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "count_corroboration";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        match record::lasting(turn)? {
            Some(agent) if is_of(&agent, self.at) => {
                activity::count(turn, &ActivityCounts { corroborations: 1, ..ActivityCounts::default() })
            }
            _ => Ok(()),
        }
    }
}

/// Measurements have confirmed or contradicted an attestation, after it was made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Settle {
    /// When the attestation was made: one of an earlier registration says nothing about this one.
    pub at: Timestamp,
    pub agreed: bool,
    /// The earned anchored weight, 0 to 1.
    pub earned: f64,
}

impl Operation for Settle {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "settle_attestation";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        match record::lasting(turn)? {
            Some(agent) if is_of(&agent, self.at) => change(turn, |standing| match self.agreed {
                true => {
                    standing.agreed += 1;
                    standing.earned += self.earned;
                }
                false => standing.wrong += 1,
            }),
            _ => Ok(()),
        }
    }
}

/// The operator endorses an agent, or takes the endorsement back. 404 without an active agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Endorse {
    pub level: Option<Level>,
}

impl Operation for Endorse {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "endorse";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        record::active(turn)?.ok_or_else(super::wire::unknown_agent)?;
        change(turn, |standing| standing.endorsed = self.level)
    }
}

/// Tells the leaderboard the present standing of the agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TellTrust;

impl Operation for TellTrust {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "tell_trust";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let (Some(agent), Some(mut standing)) = (record::active(turn)?, STANDING.get(turn, &())?) else {
            return Ok(());
        };
        standing.told = turn.now;
        STANDING.put(turn, &(), &standing)?;
        let placed = Placed {
            name: agent.name,
            level: standing.level(),
            score: standing.score(),
            tasks_completed: standing.tasks_completed,
            attestations_made: standing.made,
        };
        let did = record::did_of(&turn.actor().name)?;
        turn.send(leaderboard::SHARD, &Place { did, placed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::kv::{decode_row, encode_row};

    #[test]
    fn a_standing_of_version_1_is_read_without_escrows() {
        let now = TrustRecord { earned: 1.5, agreed: 3, told: Timestamp(7), ..TrustRecord::default() };
        let mut bytes = encode_row(&now).unwrap();
        bytes.truncate(bytes.len() - 9);
        bytes[0] = 1;
        assert_eq!(decode_row::<TrustRecord>(&bytes).unwrap(), now);
    }

    /// Decision anchored-weight: an agent's own acts, however many, stay below every level that anchored weight gives.
    #[test]
    fn no_number_of_own_acts_lifts_above_low() {
        let busy =
            TrustRecord { tasks_completed: u32::MAX, made: u32::MAX, agreed: u32::MAX - 1, ..TrustRecord::default() };
        let busy = TrustRecord { tasks_failed: 0, ..busy };
        assert_eq!(vote(busy.anchored()), 0.0);
        let most = TrustRecord { agreed: 1_000_000, tasks_completed: 1_000_000, rated: 1e6, rating_votes: 1e6, ..busy };
        assert_eq!(most.level(), Level::Low);
        let medium = TrustRecord { earned: MEDIUM_FROM, ..TrustRecord::default() };
        assert_eq!(medium.level(), Level::Medium);
        assert!(medium.score() > most.score(), "{} {}", medium.score(), most.score());
        assert_eq!(TrustRecord { wrong: 1, ..medium }.level(), Level::Low);
        assert_eq!(TrustRecord { earned: 1e6, ..TrustRecord::default() }.level(), Level::High, "nobody verified it");
    }

    /// The page about trust that people read states the constants of the code.
    #[test]
    fn the_page_about_trust_states_the_constants_of_the_code() {
        let page = include_str!("../../../../../docs/trust.md");
        for stated in [
            format!("| `medium` | {MEDIUM_FROM} |"),
            format!("| `high` | {HIGH_FROM} |"),
            format!("| `verified` | {VERIFIED_WEIGHT} |"),
            format!("max(0, earned + escrows - {WRONG_COST} x wrong)"),
            format!("v(W) = W / (W + {HALF_VOTE})"),
            format!("together less than {} x v(W)", escrows::ESCROWS_OF_ONE),
            format!("{OWN_SHARE} x (mean of the four components)"),
            format!("(good + {}) / (all + {PRIOR})", PRIOR / 2.0),
            format!("at most {} attestations", crate::attestation::PER_DAY),
        ] {
            assert!(page.contains(&stated), "docs/trust.md does not state {stated:?}");
        }
    }
}
