//! What an agent did and received, by day, for `GET /v1/agent/analytics`.
//!
//! Nothing here decides anything, and no request writes for it alone (decision counts-in-memory). Operations that
//! change the agent's rows anyway count in the same batch. A mailbox counts in its own row of counters. Counts from
//! elsewhere wait in memory ([`super::usage`]).

use serde::{Deserialize, Serialize};

use crate::unwritten::BatchNumber;
use crate::{Result, Timestamp};
use engine::actor::{Entry, Kind, Query, Turn, View, query};
use engine::kv::{Direction, Read, Row, Table};
use engine::time::DAY;

/// Days that are kept one by one; earlier days are one sum.
pub const KEPT: u32 = 31;

/// Counts of one day, or of several days together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityCounts {
    /// Messages under the agent's own name.
    pub sent: u64,
    pub received: u64,
    /// Marked read for the first time.
    pub read: u64,
    pub channel_posts: u64,
    pub channels_joined: u64,
    pub tasks_created: u64,
    pub tasks_received: u64,
    /// Tasks among `tasks_received`.
    pub tasks_completed: u64,
    pub attestations: u64,
    /// Corroborations by other agents of this agent's attestations.
    pub corroborations: u64,
}
impl Row for ActivityCounts {}

impl ActivityCounts {
    /// The sum of both.
    pub fn plus(&self, other: &ActivityCounts) -> ActivityCounts {
        ActivityCounts {
            sent: self.sent.saturating_add(other.sent),
            received: self.received.saturating_add(other.received),
            read: self.read.saturating_add(other.read),
            channel_posts: self.channel_posts.saturating_add(other.channel_posts),
            channels_joined: self.channels_joined.saturating_add(other.channels_joined),
            tasks_created: self.tasks_created.saturating_add(other.tasks_created),
            tasks_received: self.tasks_received.saturating_add(other.tasks_received),
            tasks_completed: self.tasks_completed.saturating_add(other.tasks_completed),
            attestations: self.attestations.saturating_add(other.attestations),
            corroborations: self.corroborations.saturating_add(other.corroborations),
        }
    }
}

/// Counts by day since 1970; day 0 holds the sum of the days that are no longer kept.
const DAYS: Table<(u32,), ActivityCounts> = Table::new(93);

pub const ENTRIES: &[Entry] = &[query::<ReadActivity>()];

/// The day of a time, counted from 1970; at least 1.
pub fn day_of(at: Timestamp) -> u32 {
    u32::try_from(at.0.div_euclid(DAY)).unwrap_or_default().max(1)
}

/// Counts something that happened today.
pub fn count(turn: &mut Turn<'_>, what: &ActivityCounts) -> Result<()> {
    let today = day_of(turn.now);
    add(turn, today, what)
}

/// Counts something that happened on a day. When a day is new, days that are no longer kept are added to the one sum.
pub(super) fn add(turn: &mut Turn<'_>, day: u32, what: &ActivityCounts) -> Result<()> {
    if *what == ActivityCounts::default() {
        return Ok(());
    }
    let known = DAYS.get(turn, &(day,))?;
    if known.is_none() {
        let old = DAYS.between(&(1_u32,), &(day.saturating_sub(KEPT - 1),));
        let old = DAYS.scan(turn, &old, Direction::Ascending, 2 * KEPT as usize)?;
        if !old.is_empty() {
            let mut sum = DAYS.get(turn, &(0,))?.unwrap_or_default();
            for (key, counts) in old {
                sum = sum.plus(&counts);
                DAYS.delete(turn, &key);
            }
            DAYS.put(turn, &(0,), &sum)?;
        }
    }
    Ok(DAYS.put(turn, &(day,), &known.unwrap_or_default().plus(what))?)
}

/// Forgets everything. Called when a registration ends or gives way to another.
pub(super) fn ended(turn: &mut Turn<'_>) -> Result<()> {
    for (key, _) in DAYS.scan(turn, &DAYS.range(), Direction::Ascending, 4 * KEPT as usize)? {
        DAYS.delete(turn, &key);
    }
    super::mailbox::forget_today(turn)
}

/// The sum of an agent's counts, and the last batch of counts in it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ActivitySum {
    pub counts: ActivityCounts,
    pub last_batch: BatchNumber,
}

/// The sum of the counts since a day, that day included.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadActivity {
    /// Days since 1970; 0 for everything.
    pub since: u32,
}

impl Query for ReadActivity {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "activity";
    type Reply = ActivitySum;

    fn run(self, view: &View<'_>) -> Result<ActivitySum> {
        let mut sum = ActivityCounts::default();
        let view: &dyn Read = view;
        DAYS.visit(view, DAYS.between(&(self.since,), &(u32::MAX,)), Direction::Ascending, |_, counts| {
            sum = sum.plus(&counts);
            Ok(true)
        })?;
        let (day, today) = super::mailbox::today(view)?;
        let counts = if day >= self.since { sum.plus(&today) } else { sum };
        Ok(ActivitySum { counts, last_batch: super::record::USAGE.get(view, &())?.unwrap_or_default().last_batch })
    }
}
