//! The score of a country by day: one small row, written when the country's summary changes. [`past`] has the scores of
//! the days before the first row, where a history was imported.

use serde::{Deserialize, Serialize};

use super::level;
use crate::country::{past, summary};
use crate::world::CountrySummary;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, Turn, View};
use engine::kv::{Direction, Row, Table};

/// Days that are kept: enough for a history of 30 days and, for each of them, the two weeks that a trend compares.
pub const KEPT: u32 = 60;

/// The last score of a day, 0-100; `None` when there was too little data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Day(pub Option<u32>);
impl Row for Day {}

/// By day since the epoch. A day without a row has the score of the day before it.
const DAYS: Table<(u32,), Day> = Table::derived(60);

/// The day on which an imported list changed the sites that the score covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct OtherSites(u32);
impl Row for OtherSites {}
const OTHER_SITES: Table<(), OtherSites> = Table::new(77);

fn day(at: Timestamp) -> u32 {
    u32::try_from(at.day()).unwrap_or(0)
}

/// Keeps the score of the country's new summary as the score of that day.
pub fn note(turn: &mut Turn<'_>, summary: &CountrySummary) -> Result<()> {
    let today = day(summary.at);
    DAYS.put(turn, &(today,), &Day(summary.index.score))?;
    let oldest = today.saturating_sub(KEPT);
    // Of the rows that are too old the newest stays, since later days without a row have its score.
    let old = DAYS.scan(turn, &DAYS.between(&(), &(oldest,)), Direction::Descending, KEPT as usize)?;
    for (key, _) in old.into_iter().skip(1) {
        DAYS.delete(turn, &key);
    }
    Ok(())
}

/// The first day with a row: the first one that the server saw itself.
pub fn first(view: &View<'_>) -> Result<Option<u32>> {
    Ok(DAYS.first(view, &DAYS.range())?.map(|((day,), _)| day))
}

/// Notes that an imported list changed the sites that scores cover from today on. Earlier scores that the server
/// computed cannot be compared with later ones.
pub fn sites_changed(turn: &mut Turn<'_>) -> Result<()> {
    let today = day(turn.now);
    Ok(OTHER_SITES.put(turn, &(), &OtherSites(today))?)
}

/// Forgets all days after the removal of a source, since their scores may rest on it (decision licence-and-removal).
pub fn forget(turn: &mut Turn<'_>) -> Result<()> {
    for (key, _) in DAYS.scan(turn, &DAYS.range(), Direction::Ascending, 2 * KEPT as usize)? {
        DAYS.delete(turn, &key);
    }
    OTHER_SITES.delete(turn, &());
    Ok(())
}

/// Asks for the summary of a country and its scores of the last days.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadRecentScores;

/// The answer to [`ReadRecentScores`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecentScores {
    pub summary: CountrySummary,
    /// Scores of 0-100, oldest day first, today's last; `None` for a day without a known score. [`KEPT`] entries.
    pub days: Vec<Option<u32>>,
    /// Change of the mean of the last week against that of the week before, 0-1 ([`level::trend_delta`]). `None` also
    /// when the scores of the two weeks cover different sites.
    pub trend_delta: Option<f64>,
}

impl Query for ReadRecentScores {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "look";
    type Reply = RecentScores;

    fn run(self, view: &View<'_>) -> Result<RecentScores> {
        let today = day(view.now);
        let rows = DAYS.scan(view, &DAYS.range(), Direction::Ascending, 2 * KEPT as usize)?;
        let past = past::scores(view)?;
        let known = |day: u32| match rows.iter().rev().find(|((seen,), _)| *seen <= day) {
            Some((_, Day(score))) => *score,
            None => past.get(&day).and_then(|past::Score(score)| *score),
        };
        let days: Vec<_> = (0..KEPT).rev().map(|back| today.checked_sub(back).and_then(known)).collect();
        // Scores of days that the server did not see cover the sites of today.
        let first = rows.first().map(|((seen,), _)| *seen);
        let other =
            OTHER_SITES.get(view, &())?.map(|OtherSites(day)| day).filter(|day| first.is_some_and(|f| f < *day));
        let alike = other.map_or(days.len(), |day| (today.saturating_sub(day) as usize).saturating_add(1));
        let trend_delta = level::trend_delta(days.get(days.len().saturating_sub(alike)..).unwrap_or_default());
        Ok(RecentScores { summary: summary(view, None)?, days, trend_delta })
    }
}
