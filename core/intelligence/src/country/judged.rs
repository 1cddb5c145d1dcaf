//! The measurements of a series with their votes, in blocks of days.
//!
//! What a failure says depends on what was measured around it: peers, faulty software, outages elsewhere. So
//! measurements are judged in the same blocks of 30 days as in change detection, whatever range is asked for (decision
//! ranges-in-blocks).

use std::collections::BTreeMap;

use super::evidence::{self, JudgedMeasurement, Present, read_of};
use super::rollup;
use super::tables::{ENTRIES, ROLLED, TARGETS, TargetRow, WITNESSES};
use super::{changes, instrument, packed};
use crate::{Result, Timestamp};
use engine::actor::View;
use engine::kv::Direction;
use engine::time::DAY;
use facts::change::series::{block_of, bounds};
use facts::source::Source;
use facts::verdict::{RuleId, Technique, Vote};

/// A measurement and its vote.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VotedMeasurement {
    /// Tells it apart from the others of its country; of a measurement that became a count, nothing tells that.
    pub identity: u64,
    /// Hours since the epoch.
    pub hour: i64,
    /// 0 if the network is withheld.
    pub asn: u32,
    /// Code of the source.
    pub source: u8,
    pub rule: RuleId,
    pub technique: Option<Technique>,
    /// Never [`Vote::NeedsControl`], because it is known whether there is a control.
    pub vote: Vote,
    /// Whether it is counted at this series, and at no other.
    pub primary: bool,
}

/// Reads blocks of some series for one question.
#[derive(Default)]
pub(crate) struct Blocks {
    rolled: Present,
}

impl Blocks {
    /// The measurements of a series in a block, ordered by day, and the number of measurements that were read for them.
    pub fn read(&self, view: &View<'_>, series: &str, block: u32) -> Result<(Vec<VotedMeasurement>, usize)> {
        let (start, end) = bounds(block);
        // A success is a control for failures within 24 hours (decision controls-from-peers).
        let (from, to) = (start.plus(-DAY), end.plus(DAY));
        let mut seen = read_of(view, series, from, to, &self.rolled)?;
        let read = seen.len();
        let peers = evidence::peers(view, series, &seen, to)?;
        seen.retain(|seen| (start.hour()..end.hour()).contains(&seen.session.hour));
        instrument::mask(&mut seen);
        changes::down_elsewhere::mask(view, series, &mut seen)?;
        let voted = |seen: &JudgedMeasurement| VotedMeasurement {
            identity: seen.identity,
            hour: seen.session.hour,
            asn: seen.session.asn.unwrap_or(0),
            source: seen.source,
            rule: seen.session.evaluated.rule,
            technique: seen.session.evaluated.technique,
            vote: peers.vote(&seen.session),
            primary: seen.primary,
        };
        Ok((seen.iter().map(voted).collect(), read))
    }

    /// The first block, from a day on, in which a series was measured before the day `end`.
    pub fn next(&self, view: &View<'_>, series: &str, from: u32, end: u32) -> Result<Option<u32>> {
        let entry = packed::first_day(&ENTRIES, view, series, from)?;
        let rolled = match self.rolled.any(view, &ROLLED)? {
            true => {
                let range = ROLLED.between(&(series.to_owned(), from), &(series.to_owned(), end));
                ROLLED.first(view, &range)?.map(|((_, day, ..), _)| day)
            }
            false => None,
        };
        Ok([entry, rolled].into_iter().flatten().filter(|day| *day < end).min().map(block_of))
    }
}

/// The series that were measured between two days, both included, in the order of their names: at most `most`, after
/// one of that name.
pub(crate) fn measured(
    view: &View<'_>,
    (first, last): (u32, u32),
    after: Option<&str>,
    most: usize,
) -> Result<Vec<(String, u64)>> {
    let mut range = TARGETS.range();
    if let Some(after) = after {
        range.start = TARGETS.prefix(&(after.to_owned(),)).end.unwrap_or_default();
    }
    let mut found = Vec::new();
    TARGETS.visit(view, range, Direction::Ascending, |(series,), row| {
        found.extend(expected(&row, (first, last)).map(|measurements| (series, measurements)));
        Ok(found.len() < most)
    })?;
    Ok(found)
}

/// About how many measurements of a series lie between two days, both included, if they are spread evenly over its time.
/// `None` if there are none.
pub(crate) fn expected_of(view: &View<'_>, series: &str, days: (u32, u32)) -> Result<Option<u64>> {
    Ok(TARGETS.get(view, &(series.to_owned(),))?.and_then(|row| expected(&row, days)))
}

fn expected(row: &TargetRow, (first, last): (u32, u32)) -> Option<u64> {
    let (from, to) = (row.first_day.max(first), row.last_day.min(last));
    let days = to.checked_sub(from)?;
    let all = u64::from(row.last_day.saturating_sub(row.first_day)) + 1;
    Some(row.entries.saturating_mul(u64::from(days) + 1).div_ceil(all))
}

/// Days before this one have counts and no single measurements (decision rollup-after-400-days).
pub(crate) fn first_day_in_full(now: Timestamp) -> u32 {
    rollup::first_young_day(now)
}

/// Addresses of the measurements of a cell that can be looked up, by the part of their identity that stays.
pub(crate) fn links(
    view: &View<'_>,
    (series, day, asn, source): (&str, u32, u32, u8),
) -> Result<BTreeMap<u64, String>> {
    if source != Source::Ooni.code() {
        return Ok(BTreeMap::new());
    }
    let witnesses = WITNESSES.get(view, &(series.to_owned(), day, asn, source))?.unwrap_or_default();
    let linked = witnesses.0.iter().filter_map(|witness| {
        let identity = evidence::identity(rollup::prefix(&witness.identity), day, asn);
        Some((identity, witness.link()?.1))
    });
    Ok(linked.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_range_may_read_grows_with_its_days_and_never_over_all() {
        let row = TargetRow { entries: 100, first_day: 20, last_day: 29 };
        assert_eq!(expected(&row, (0, 19)), None);
        assert_eq!(expected(&row, (30, 40)), None);
        assert_eq!((expected(&row, (0, 20)), expected(&row, (22, 26))), (Some(10), Some(50)));
        assert_eq!((expected(&row, (0, 40)), expected(&row, (20, 29))), (Some(100), Some(100)));
        let one = TargetRow { entries: 7, first_day: 5, last_day: 5 };
        assert_eq!(expected(&one, (5, 5)), Some(7));
    }
}
