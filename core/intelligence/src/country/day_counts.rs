//! Counts of days that a source summed up itself. They say how much was measured. They are kept apart from votes,
//! because they name no network or site and cannot be judged by other rules.

use serde::{Deserialize, Serialize};

use super::tables::{DAY_COUNTS, EPOCHS, GIVEN};
use crate::import::removal;
use crate::world::{self, GivenEvents, SourceTotal};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Read};
use engine::time::DAY;
use facts::measurement::DayCounts;
use facts::source::Source;

/// Most counts in one operation. Each is a row.
pub const COUNTS_AT_ONCE: usize = 900;

/// Adds counts of days. A source counts a day again while its measurements still come in, so of two counts of one day
/// the one with more measurements stays. Order and repeats therefore change nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AddDayCounts {
    /// (day since the epoch, part of the day such as a test or a domain, counts).
    pub days: Days,
    pub epoch: u64,
}

/// Counts by day and part.
type Days = Vec<(u32, String, DayCounts)>;

impl AddDayCounts {
    /// Returns how many of the days had counts before, and the counts that must be stored.
    fn compare(&self, view: &impl Read) -> Result<(u64, Days)> {
        let (mut known, mut changed) = (0, Vec::new());
        for (day, part, counts) in &self.days {
            let before = DAY_COUNTS.get(view, &(*day, part.clone()))?;
            known += u64::from(before.is_some());
            if before.is_none_or(|before| before < *counts) {
                changed.push((*day, part.clone(), *counts));
            }
        }
        Ok((known, changed))
    }
}

impl Operation for AddDayCounts {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "add_day_counts";
    /// How many of the given (day, part) had counts before.
    type Reply = u64;

    fn run(self, turn: &mut Turn<'_>) -> Result<u64> {
        let source = Source::OoniCounts.code();
        removal::check(self.epoch, EPOCHS.get(turn, &(source,))?.unwrap_or_default())?;
        let (known, changed) = self.compare(turn)?;
        if changed.is_empty() {
            return Ok(known);
        }
        let mut given = GIVEN.get(turn, &(source,))?.unwrap_or_default();
        // No day comes twice in one operation.
        given.rows += self.days.len() as u64 - known;
        for (day, part, counts) in changed {
            given.newest = given.newest.max(Timestamp(i64::from(day) * DAY));
            DAY_COUNTS.put(turn, &(day, part), &counts)?;
        }
        GIVEN.put(turn, &(source,), &given)?;
        let country = turn.actor().name.clone();
        let given = SourceTotal { rows: given.rows, newest: given.newest };
        turn.send(world::actor().name, &GivenEvents { country, source, given, marks: Vec::new() })?;
        Ok(known)
    }
}

/// Returns the answer of [`AddDayCounts`] without storing anything.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DayCountsPreview(pub AddDayCounts);

impl Query for DayCountsPreview {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "day_counts_preview";
    type Reply = u64;

    fn run(self, view: &View<'_>) -> Result<u64> {
        Ok(self.0.compare(view)?.0)
    }
}

/// Counts of the days from `first` to `last`, both included.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DayCountRows {
    pub first: u32,
    pub last: u32,
}

impl Query for DayCountRows {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "day_count_rows";
    type Reply = Days;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let range = DAY_COUNTS.between(&(self.first,), &(self.last.saturating_add(1),));
        let rows = DAY_COUNTS.scan(view, &range, Direction::Ascending, 100_000)?;
        Ok(rows.into_iter().map(|((day, part), counts)| (day, part, counts)).collect())
    }
}

/// Removes some counts. Returns how many, and whether none is left.
pub(super) fn remove(turn: &mut Turn<'_>, most: usize) -> Result<(u64, bool)> {
    let rows = DAY_COUNTS.scan(turn, &DAY_COUNTS.range(), Direction::Ascending, most)?;
    for (key, _) in &rows {
        DAY_COUNTS.delete(turn, key);
    }
    Ok((rows.len() as u64, rows.len() < most))
}
