//! A series in blocks of 30 days: what each block holds is computed from its own measurements and from where the sums
//! stood before it, so late data costs the blocks from its day on, and only as far as they differ.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::constants::BLOCK_DAYS;
use super::cusum::{Cusum, Episode, HourCell};
use crate::Timestamp;
use crate::kv::Row;
use crate::time::DAY;
use crate::verdict::technique::Technique;
use crate::verdict::window::{HourVote, by_day};

/// The block that a day (since the epoch) lies in.
pub const fn block_of(day: u32) -> u32 {
    day / BLOCK_DAYS
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
}

/// One network in one block of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span {
    pub asn: u32,
    /// Where its sums stand after the block.
    #[serde(with = "quiet")]
    pub cusum: Cusum,
    /// Episodes that end in the block.
    pub ended: Vec<Episode>,
    /// Days with votes.
    pub days: Vec<DayCount>,
    /// Hours with votes, when any vote of the block is blocked or it began amid an excursion: then an episode begins or
    /// ends by the hour.
    pub hours: Vec<HourCount>,
    /// Blocked measurements by technique.
    pub techniques: BTreeMap<u8, u32>,
    /// Codes of the sources of blocked measurements.
    pub sources: BTreeSet<u8>,
}

/// Most sums stand where they began, and are then one byte.
mod quiet {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Cusum;

    pub fn serialize<S: Serializer>(cusum: &Cusum, serializer: S) -> Result<S::Ok, S::Error> {
        Some(cusum).filter(|cusum| **cusum != Cusum::default()).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cusum, D::Error> {
        Option::deserialize(deserializer).map(Option::unwrap_or_default)
    }
}

/// All networks in one block of a series.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    pub spans: Vec<Span>,
    /// Measurements that failed, and those that say anything, with or without a control; counted for targets whose tests
    /// have none.
    pub failed: u32,
    pub said: u32,
    /// Share of failures in other countries at the same time, percent (ruling intelligence 22).
    pub elsewhere: u8,
}
impl Row for Block {
    const VERSION: u8 = 2;
}

impl Block {
    /// Where the sums of a network stand after this block.
    pub fn cusum(&self, asn: u32) -> Cusum {
        self.spans.iter().find(|span| span.asn == asn).map(|span| span.cusum).unwrap_or_default()
    }

    /// Whether a later block would come out the same after either.
    pub fn ends_like(&self, other: &Block) -> bool {
        let open = |block: &Block| -> Vec<(u32, Cusum)> {
            let spans = block.spans.iter().filter(|span| !span.cusum.is_quiet());
            spans.map(|span| (span.asn, span.cusum)).collect()
        };
        open(self) == open(other)
    }
}

/// The votes of a network on the hour grid, oldest first. Hours without a vote carry nothing: whether their silence means
/// something is judged by volume, over all targets.
pub fn grid(votes: &[HourVote]) -> Vec<HourCell> {
    let mut cells: Vec<HourCell> = Vec::new();
    for (scale, votes) in by_day(votes) {
        for vote in votes {
            let evidence = if vote.blocked { scale * vote.log10_lr } else { 0.0 };
            match cells.last_mut() {
                Some(cell) if cell.hour == vote.hour => {
                    cell.blocked += u32::from(vote.blocked);
                    cell.clear += u32::from(!vote.blocked);
                    cell.evidence += evidence;
                }
                _ => cells.push(HourCell {
                    hour: vote.hour,
                    blocked: u32::from(vote.blocked),
                    clear: u32::from(!vote.blocked),
                    scale,
                    evidence,
                }),
            }
        }
    }
    cells
}

/// A network through one block. `votes` are those of the block, oldest first; `failing` is the share of failures where
/// nobody blocks.
pub fn advance(asn: u32, before: Cusum, votes: &[HourVote], sources: BTreeSet<u8>, failing: f64) -> Span {
    let mut cusum = before;
    let cells = grid(votes);
    let ended = cells.iter().filter_map(|cell| cusum.step(cell, failing)).collect();
    let mut techniques: BTreeMap<u8, u32> = BTreeMap::new();
    for (technique, count) in votes.iter().filter(|vote| vote.blocked).flat_map(|vote| &vote.techniques) {
        *techniques.entry(technique.code()).or_default() += count;
    }
    let mut days: Vec<DayCount> = Vec::new();
    for vote in votes {
        let day = u32::try_from(vote.hour.div_euclid(24)).unwrap_or(0);
        let count = DayCount { day, votes: 1, blocked: u32::from(vote.blocked), measurements: vote.measurements };
        match days.last_mut() {
            Some(last) if last.day == day => {
                last.votes += 1;
                last.blocked += count.blocked;
                last.measurements = last.measurements.saturating_add(count.measurements);
            }
            _ => days.push(count),
        }
    }
    let any = !before.is_quiet() || cells.iter().any(|cell| cell.blocked > 0);
    let hours = cells.iter().filter(|_| any);
    Span {
        asn,
        cusum,
        ended,
        days,
        hours: hours.map(|cell| HourCount { hour: cell.hour, blocked: cell.blocked, clear: cell.clear }).collect(),
        techniques,
        sources,
    }
}

/// Techniques by their stored codes; codes of later versions are left out.
pub fn techniques(codes: &BTreeMap<u8, u32>) -> BTreeMap<Technique, u32> {
    codes.iter().filter_map(|(code, count)| Some((Technique::from_code(*code)?, *count))).collect()
}
