//! A series in blocks of 30 days. Each block is computed from its own measurements, so late data change only the blocks
//! of their days.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::constants::{BLOCK_DAYS, OUTAGE_HOURS};
use crate::Timestamp;
use crate::verdict::technique::Technique;
use crate::verdict::window::HourVote;
use engine::kv::{Row, StoreError};
use engine::time::DAY;

/// The block that a day (since the epoch) lies in.
pub const fn block_of(day: u32) -> u32 {
    day / BLOCK_DAYS
}

/// The block that an hour since the epoch lies in.
pub fn block_of_hour(hour: i64) -> u32 {
    block_of(u32::try_from(hour.div_euclid(24)).unwrap_or(0))
}

/// First instant of a block and first one after it.
pub fn bounds(block: u32) -> (Timestamp, Timestamp) {
    let start = i64::from(block) * i64::from(BLOCK_DAYS) * DAY;
    (Timestamp(start), Timestamp(start + i64::from(BLOCK_DAYS) * DAY))
}

/// Votes of one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayCount {
    /// Days since the epoch.
    pub day: u32,
    pub votes: u32,
    pub blocked: u32,
    /// Measurements behind the votes.
    pub measurements: u32,
}

/// Votes of one hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HourCount {
    /// Hours since the epoch.
    pub hour: i64,
    pub blocked: u32,
    pub clear: u32,
    /// If the hour has blocked votes: the percentage of sessions that fail on the network in this hour where nobody
    /// blocks.
    pub fails: u8,
}

/// One network in one block of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span {
    pub asn: u32,
    /// Days with votes, oldest first.
    #[serde(with = "counted")]
    pub days: Vec<DayCount>,
    /// Hours with votes, if any of them is blocked; episodes begin and end by the hour.
    pub hours: Vec<HourCount>,
    /// Blocked measurements by technique.
    pub techniques: BTreeMap<u8, u32>,
    /// Codes of the sources of blocked measurements.
    pub sources: BTreeSet<u8>,
}

/// Stores days in few bytes: most days have one vote, or several of one measurement each, and none is blocked. Each day
/// is one number, made of the days since the previous one and the kind of day; the counts that the kind leaves open
/// follow.
mod counted {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::DayCount;

    /// One vote of one measurement, not blocked. No count follows.
    const ONE: u64 = 0;
    /// The number of votes follows. Each is of one measurement, none is blocked.
    const CLEAR: u64 = 1;
    /// The numbers of votes, blocked votes and measurements follow.
    const ALL: u64 = 2;
    const KINDS: u64 = 3;

    pub fn serialize<S: Serializer>(days: &[DayCount], serializer: S) -> Result<S::Ok, S::Error> {
        let mut numbers = Vec::with_capacity(days.len());
        let mut before = 0;
        for DayCount { day, votes, blocked, measurements } in days {
            // The difference wraps if days are out of order, and reading wraps it back.
            let since = u64::from(day.wrapping_sub(before)) * KINDS;
            before = *day;
            match (votes, blocked, measurements) {
                (1, 0, 1) => numbers.push(since + ONE),
                (votes, 0, measurements) if votes == measurements => {
                    numbers.extend([since + CLEAR, u64::from(*votes)]);
                }
                _ => numbers.extend([since + ALL, u64::from(*votes), u64::from(*blocked), u64::from(*measurements)]),
            }
        }
        numbers.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<DayCount>, D::Error> {
        let mut numbers = Vec::<u64>::deserialize(deserializer)?.into_iter();
        let short = |number: u64| u32::try_from(number).map_err(|_| D::Error::custom("a count is out of range"));
        let mut days = Vec::new();
        let mut before = 0_u32;
        while let Some(head) = numbers.next() {
            let mut next = || short(numbers.next().ok_or_else(|| D::Error::custom("a day ends early"))?);
            let (votes, blocked, measurements) = match head % KINDS {
                ONE => (1, 0, 1),
                CLEAR => next().map(|votes| (votes, 0, votes))?,
                _ => (next()?, next()?, next()?),
            };
            before = before.wrapping_add(short(head / KINDS)?);
            days.push(DayCount { day: before, votes, blocked, measurements });
        }
        Ok(days)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Days(#[serde(with = "super")] Vec<DayCount>);

        #[test]
        fn every_day_comes_back_and_the_usual_one_is_a_byte() {
            let day = |day, votes, blocked, measurements| DayCount { day, votes, blocked, measurements };
            let days = [
                vec![],
                (20_000..20_030).map(|number| day(number, 1, 0, 1)).collect(),
                vec![day(20_000, 3, 0, 3), day(20_007, 1, 1, 1), day(20_008, 2, 0, 5), day(20_031, 0, 0, 0)],
                vec![day(u32::MAX, u32::MAX, u32::MAX, u32::MAX), day(0, 1, 0, 1), day(0, 1, 0, 1)],
            ];
            let lengths = days.map(|days| {
                let days = Days(days);
                let bytes = postcard::to_allocvec(&days).unwrap();
                assert_eq!(postcard::from_bytes::<Days>(&bytes).unwrap(), days);
                bytes.len()
            });
            // The length of the list takes one byte, the first day three.
            assert_eq!(lengths[..2], [1, 1 + 3 + 29]);
            for damaged in [vec![CLEAR], vec![ALL, 1, 1], vec![CLEAR, u64::MAX], vec![u64::MAX - u64::MAX % KINDS]] {
                let bytes = postcard::to_allocvec(&damaged).unwrap();
                assert!(postcard::from_bytes::<Days>(&bytes).is_err(), "{damaged:?}");
            }
        }
    }
}

/// All networks in one block of a series.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    pub spans: Vec<Span>,
    /// Failures by span of hours, in the order of time.
    pub spells: Vec<Spell>,
    /// Share of failures in other countries at the same time, percent (decision failing-elsewhere).
    pub elsewhere: u8,
    /// The spans by the measurements of this country alone, without the answers of other countries; `None` if they are
    /// the same.
    pub untold: Option<Vec<Span>>,
}
impl Row for Block {
    const VERSION: u8 = 8;

    /// Rows of earlier versions become empty. All of them are computed again at the first start of this program.
    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        match version {
            1..8 => Ok(Block::default()),
            _ => {
                Err(StoreError::Corrupt(format!("a block of a series has no version {version}: {} bytes", bytes.len())))
            }
        }
    }
}

/// The failures of a target in a block, as they are reported to other countries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// By span of hours, in the order of time.
    pub spells: Vec<Spell>,
    /// The failed votes and all votes of the previous block. While a block is young, they show what is usual.
    pub before: (u32, u32),
}

/// Measurements in a span of [`OUTAGE_HOURS`] of a block, with or without a control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spell {
    /// The number of the span in its block.
    pub place: u8,
    /// The failed measurements, and all that say anything.
    pub failed: u32,
    pub said: u32,
}

/// The span of a block that an hour since the epoch is in.
pub fn place_of(hour: i64) -> u8 {
    let inside = hour.rem_euclid(i64::from(BLOCK_DAYS) * 24);
    // A block has 120 spans.
    (inside / OUTAGE_HOURS) as u8
}

/// Failures and measurements of all spans together.
pub fn total(spells: &[Spell]) -> (u32, u32) {
    spells
        .iter()
        .fold((0, 0), |(failed, said), spell| (failed.saturating_add(spell.failed), said.saturating_add(spell.said)))
}

impl Block {
    /// The blocked votes, and all votes.
    pub fn votes(&self) -> (u32, u32) {
        let days = self.spans.iter().flat_map(|span| &span.days);
        days.fold((0, 0), |(failed, all), day| (failed + day.blocked, all + day.votes))
    }
}

/// The part of one network in a block. `votes` are its votes, oldest first; `fails` gives the probability, 0-1, that a
/// session of an hour fails where nobody blocks; `sources` are the codes of the sources of blocked measurements.
pub fn span(asn: u32, votes: &[HourVote], fails: impl Fn(i64) -> f64, sources: BTreeSet<u8>) -> Span {
    let mut techniques: BTreeMap<u8, u32> = BTreeMap::new();
    for (technique, count) in votes.iter().filter(|vote| vote.blocked).flat_map(|vote| &vote.techniques) {
        *techniques.entry(technique.code()).or_default() += count;
    }
    let mut days: Vec<DayCount> = Vec::new();
    let mut hours: Vec<HourCount> = Vec::new();
    for vote in votes {
        let blocked = u32::from(vote.blocked);
        let day = u32::try_from(vote.hour.div_euclid(24)).unwrap_or(0);
        match days.last_mut() {
            Some(last) if last.day == day => {
                last.votes += 1;
                last.blocked += blocked;
                last.measurements = last.measurements.saturating_add(vote.measurements);
            }
            _ => days.push(DayCount { day, votes: 1, blocked, measurements: vote.measurements }),
        }
        match hours.last_mut() {
            Some(last) if last.hour == vote.hour => {
                (last.blocked, last.clear) = (last.blocked + blocked, last.clear + 1 - blocked)
            }
            _ => hours.push(HourCount { hour: vote.hour, blocked, clear: 1 - blocked, fails: 0 }),
        }
    }
    if !hours.iter().any(|count| count.blocked > 0) {
        hours.clear();
    }
    for count in hours.iter_mut().filter(|count| count.blocked > 0) {
        count.fails = (fails(count.hour) * 100.0).round().clamp(0.0, 100.0) as u8;
    }
    Span { asn, days, hours, techniques, sources }
}

/// Techniques by their stored codes; codes of later versions are left out.
pub fn techniques(codes: &BTreeMap<u8, u32>) -> BTreeMap<Technique, u32> {
    codes.iter().filter_map(|(code, count)| Some((Technique::from_code(*code)?, *count))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::kv::{decode_row, encode_row};

    #[test]
    fn what_an_earlier_program_kept_is_read_as_nothing_until_it_is_computed_again() {
        let mut row = encode_row(&Block { elsewhere: 9, ..Block::default() }).unwrap();
        row[0] = 7;
        assert_eq!(decode_row::<Block>(&row).unwrap(), Block::default());
        row[0] = 9;
        assert!(decode_row::<Block>(&row).is_err(), "of a later one nothing is known");
    }
}
