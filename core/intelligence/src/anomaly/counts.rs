//! Measurements of a country counted by day, kept up to date as measurements change.
//!
//! Change detection reads the measurements of a target whenever they change, in blocks of 30 days. This module counts
//! the same measurements by day, in one row per target and block. The counts of the country are the sum over its
//! targets. When a row changes, they are corrected by the difference, so an update costs the rows of some days and
//! never reads all measurements.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::constants::KEPT_DAYS;
use super::digest;
use crate::{Result, Timestamp};
use engine::actor::Turn;
use engine::kv::{Direction, Read, Row, Table};
use facts::change::constants::BLOCK_DAYS;
use facts::change::series::block_of;
use facts::verdict::{Technique, Vote};

/// Layers whose shares are features, in their order (decision features-dates-retries).
pub const LAYERS: [&str; 4] = ["dns", "tcp", "tls", "http"];
/// Methods that only interference can show: a forged answer, page or certificate.
const FORGED: [&str; 4] = ["blockpage", "http-451", "dns-poison", "tls-cert-invalid"];

/// Results of a target on a day, or of all targets of a country.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Measurements counted at this target only, so that each is counted once in the sum over all targets.
    pub measurements: u32,
    /// Results: one for each target that a measurement is about. A measurement may be about several.
    pub results: u32,
    pub blocked: u32,
    pub clear: u32,
    /// Blocked results that show a forged answer, page or certificate.
    pub confirmed: u32,
    /// Results that say nothing, or that the site itself is down.
    pub failed: u32,
    /// Blocked results by layer, in the order of [`LAYERS`].
    pub layers: [u32; 4],
}

impl Counts {
    /// Counts one result.
    pub fn note(&mut self, primary: bool, vote: Vote, technique: Option<Technique>) {
        self.results += 1;
        self.measurements += u32::from(primary);
        match vote {
            Vote::Clear => self.clear += 1,
            Vote::Blocked => {
                self.blocked += 1;
                let Some(technique) = technique else { return };
                self.confirmed += u32::from(FORGED.contains(&technique.method()));
                let counts = self.layers.iter_mut().zip(LAYERS);
                counts.filter(|(_, layer)| *layer == technique.layer()).for_each(|(count, _)| *count += 1);
            }
            Vote::NeedsControl | Vote::Down | Vote::Masked => self.failed += 1,
        }
    }

    /// Subtracts `before` and adds `after`.
    fn replace(&mut self, before: &Counts, after: &Counts) {
        let moved = |sum: &mut u32, before: u32, after: u32| *sum = sum.saturating_add(after).saturating_sub(before);
        moved(&mut self.measurements, before.measurements, after.measurements);
        moved(&mut self.results, before.results, after.results);
        moved(&mut self.blocked, before.blocked, after.blocked);
        moved(&mut self.clear, before.clear, after.clear);
        moved(&mut self.confirmed, before.confirmed, after.confirmed);
        moved(&mut self.failed, before.failed, after.failed);
        for ((sum, before), after) in self.layers.iter_mut().zip(before.layers).zip(after.layers) {
            moved(sum, before, after);
        }
    }

    /// Results that say blocked or clear.
    pub fn votes(&self) -> u32 {
        self.blocked + self.clear
    }

    /// The share of the results that `part` is, 0 to 1.
    pub fn share(&self, part: u32) -> f64 {
        f64::from(part) / f64::from(self.results.max(1))
    }
}

/// Counts of results by day. Results come in the order of their days.
#[derive(Debug, Default)]
pub struct ResultCounts(Vec<(u32, Counts)>);

impl ResultCounts {
    /// Counts a result. Its day must not be before that of the last result.
    pub fn note(&mut self, day: u32, primary: bool, vote: Vote, technique: Option<Technique>) {
        if self.0.last().is_none_or(|(last, _)| *last != day) {
            self.0.push((day, Counts::default()));
        }
        if let Some((_, counts)) = self.0.last_mut() {
            counts.note(primary, vote, technique);
        }
    }
}

/// Counts of a target in a block of 30 days, by day.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct TargetDays(Vec<(u32, Counts)>);
impl Row for TargetDays {}

/// Counts of a country on one day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CountryResults {
    pub counts: Counts,
    /// Targets with results.
    pub targets: u32,
    /// Networks with measurements. They are counted a little later than the rest.
    pub networks: u32,
}
impl Row for CountryResults {}

// In a country actor.
const TARGET_DAYS: Table<(String, u32), TargetDays> = Table::derived(61);
/// By day since the epoch.
pub(super) const DAYS: Table<(u32,), CountryResults> = Table::derived(62);
/// Days whose networks must be counted anew.
pub(super) const STALE: Table<(u32,), ()> = Table::derived(63);
/// Has a row once counting has begun in this country.
const BEGUN: Table<(), ()> = Table::derived(65);

/// The day that contains a moment.
pub fn day(at: Timestamp) -> u32 {
    u32::try_from(at.day()).unwrap_or(0)
}

/// The first of the days that are counted.
pub fn first_day(now: Timestamp) -> u32 {
    day(now).saturating_sub(KEPT_DAYS)
}

/// Notes that counting begins. Returns `true` when nothing was counted before.
pub fn begins(turn: &mut Turn<'_>) -> Result<bool> {
    let begins = !BEGUN.contains(turn, &())?;
    if begins {
        BEGUN.put(turn, &(), &())?;
    }
    Ok(begins)
}

/// Returns to the state before counting began, since the country has no measurements any more.
pub fn nothing_left(turn: &mut Turn<'_>) {
    BEGUN.delete(turn, &());
}

/// Blocks that contain days which are counted.
pub fn blocks(now: Timestamp) -> std::ops::RangeInclusive<u32> {
    block_of(first_day(now))..=block_of(day(now))
}

/// Replaces the counts of a target in a block.
pub fn counted(turn: &mut Turn<'_>, target: &str, block: u32, now: ResultCounts) -> Result<()> {
    let first = first_day(turn.now);
    if block.saturating_add(1).saturating_mul(BLOCK_DAYS) <= first {
        return Ok(());
    }
    let key = (target.to_owned(), block);
    let before = TARGET_DAYS.get(turn, &key)?.unwrap_or_default();
    // Clocks of probes that run ahead produce measurements of tomorrow.
    let days = first..=day(turn.now).saturating_add(1);
    let now = TargetDays(now.0.into_iter().filter(|(day, _)| days.contains(day)).collect());
    if before == now {
        return Ok(());
    }
    let mut moved: BTreeMap<u32, (Counts, Counts)> = BTreeMap::new();
    before.0.iter().for_each(|(day, counts)| moved.entry(*day).or_default().0 = *counts);
    now.0.iter().for_each(|(day, counts)| moved.entry(*day).or_default().1 = *counts);
    for (day, (before, after)) in moved.into_iter().filter(|(day, (before, after))| *day >= first && before != after) {
        let mut row = DAYS.get(turn, &(day,))?.unwrap_or_default();
        row.counts.replace(&before, &after);
        row.targets += u32::from(after.results > 0);
        row.targets = row.targets.saturating_sub(u32::from(before.results > 0));
        match row.targets {
            0 => DAYS.delete(turn, &(day,)),
            _ => DAYS.put(turn, &(day,), &row)?,
        }
        STALE.put(turn, &(day,), &())?;
    }
    match now.0.is_empty() {
        true => TARGET_DAYS.delete(turn, &key),
        false => TARGET_DAYS.put(turn, &key, &now)?,
    }
    let old = TARGET_DAYS.between(&(target.to_owned(), 0_u32), &(target.to_owned(), block_of(first)));
    for (key, _) in TARGET_DAYS.scan(turn, &old, Direction::Ascending, 20)? {
        TARGET_DAYS.delete(turn, &key);
    }
    digest::soon(turn)
}

/// Counted days of this country, oldest first.
pub fn days(view: &impl Read, now: Timestamp) -> Result<BTreeMap<u32, CountryResults>> {
    let rows = DAYS.scan(view, &DAYS.between(&(first_day(now),), &(u32::MAX,)), Direction::Ascending, usize::MAX)?;
    Ok(rows.into_iter().map(|((day,), row)| (day, row)).collect())
}

/// Calls `visit` with target, day and counts for every counted day of every target, target by target.
pub fn visit(view: &impl Read, mut visit: impl FnMut(&str, u32, &Counts)) -> Result<()> {
    TARGET_DAYS.visit(view, TARGET_DAYS.range(), Direction::Ascending, |(target, _), row| {
        row.0.iter().for_each(|(day, counts)| visit(&target, *day, counts));
        Ok(true)
    })?;
    Ok(())
}
