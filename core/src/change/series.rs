//! A series in blocks of 30 days: what each block holds is computed from its own measurements and from where the sums
//! stood before it, so late data costs the blocks from its day on, and only as far as they differ.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::constants::{BLOCK_DAYS, OUTAGE_HOURS, QUIET_RATE, USUAL_ROUNDS, USUAL_VOTES};
use super::cusum::{Cusum, Episode, HourCell};
use super::pool::{self, Member};
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
    /// Days with votes, oldest first.
    #[serde(with = "counted")]
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

/// Most days have one vote, or several of one measurement each, and none of them blocked. So the days are numbers in turn:
/// the days since the one before and how the rest is said, then what of votes, blocked and measurements must be.
mod counted {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::DayCount;

    /// One vote of one measurement, not blocked.
    const ONE: u64 = 0;
    /// The votes follow, of a measurement each, none blocked.
    const CLEAR: u64 = 1;
    /// Votes, blocked and measurements follow.
    const ALL: u64 = 2;
    const KINDS: u64 = 3;

    pub fn serialize<S: Serializer>(days: &[DayCount], serializer: S) -> Result<S::Ok, S::Error> {
        let mut numbers = Vec::with_capacity(days.len());
        let mut before = 0;
        for DayCount { day, votes, blocked, measurements } in days {
            // Wraps where days are in another order, and back again.
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
        let short = |number: u64| u32::try_from(number).map_err(|_| D::Error::custom("a count out of range"));
        let mut days = Vec::new();
        let mut before = 0_u32;
        while let Some(head) = numbers.next() {
            let mut next = || short(numbers.next().ok_or_else(|| D::Error::custom("a day that ends early"))?);
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
            // The length of the list and the first day are a byte and three.
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
    /// Failures by span of hours, in their order.
    pub spells: Vec<Spell>,
    /// Share of failures in other countries at the same time, percent (ruling intelligence 22).
    pub elsewhere: u8,
    /// Where the sums stand by what was measured here alone, of networks with something under way; `None` where it is the
    /// same.
    pub alone: Option<Vec<(u32, Cusum)>>,
}
impl Row for Block {
    const VERSION: u8 = 7;
}

/// How often a target failed in a block, as other countries hear of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// By span of hours, in their order.
    pub spells: Vec<Spell>,
    /// Votes of the block before: those that failed, and all. While a block is young they say what is usual.
    pub before: (u32, u32),
}

/// Measurements in a span of [`OUTAGE_HOURS`] of a block, with or without a control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spell {
    /// Which span of the block.
    pub place: u8,
    /// Those that failed, and those that say anything.
    pub failed: u32,
    pub said: u32,
}

/// The span of a block that an hour since the epoch is in.
pub fn place_of(hour: i64) -> u8 {
    let inside = hour.rem_euclid(i64::from(BLOCK_DAYS) * 24);
    // A block has 120.
    (inside / OUTAGE_HOURS) as u8
}

/// Failures and measurements of all spans together.
pub fn total(spells: &[Spell]) -> (u32, u32) {
    spells
        .iter()
        .fold((0, 0), |(failed, said), spell| (failed.saturating_add(spell.failed), said.saturating_add(spell.said)))
}

impl Block {
    /// Where the sums of a network stand after this block.
    pub fn cusum(&self, asn: u32) -> Cusum {
        self.spans.iter().find(|span| span.asn == asn).map(|span| span.cusum.clone()).unwrap_or_default()
    }

    /// Votes that failed, and all.
    pub fn votes(&self) -> (u32, u32) {
        let days = self.spans.iter().flat_map(|span| &span.days);
        days.fold((0, 0), |(failed, all), day| (failed + day.blocked, all + day.votes))
    }

    /// As if other countries had said nothing of this block.
    pub fn without_others(&self) -> Block {
        let Some(alone) = &self.alone else { return self.clone() };
        let span = |(asn, cusum): &(u32, Cusum)| Span {
            asn: *asn,
            cusum: cusum.clone(),
            ended: Vec::new(),
            days: Vec::new(),
            hours: Vec::new(),
            techniques: BTreeMap::new(),
            sources: BTreeSet::new(),
        };
        Block { spans: alone.iter().map(span).collect(), ..Block::default() }
    }

    /// Whether a later block would come out the same after either.
    pub fn ends_like(&self, other: &Block) -> bool {
        open(&self.spans).eq(open(&other.spans)) && self.alone == other.alone
    }
}

/// Networks of spans with something under way.
pub fn open(spans: &[Span]) -> impl Iterator<Item = (u32, &Cusum)> {
    spans.iter().filter(|span| !span.cusum.is_quiet()).map(|span| (span.asn, &span.cusum))
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

/// A network's part of a block.
pub struct Heard {
    pub asn: u32,
    /// Its votes in the block, oldest first.
    pub votes: Vec<HourVote>,
    /// Its last vote in the day before, hours since the epoch.
    pub before: Option<i64>,
    /// Codes of the sources of blocked measurements.
    pub sources: BTreeSet<u8>,
}

/// The networks of a series through one block, from where `before` left them; `failing` is the share of failures where
/// nobody blocks.
pub fn advance(before: &Block, networks: Vec<Heard>, failing: f64) -> Vec<Span> {
    let cells: Vec<Vec<HourCell>> = networks.iter().map(|network| grid(&network.votes)).collect();
    let start: Vec<Cusum> = networks.iter().map(|network| before.cusum(network.asn)).collect();
    let begun: Vec<bool> = start.iter().map(|cusum| !cusum.is_quiet()).collect();
    let (mut sums, mut ended) = walk(&networks, &cells, start.clone(), failing);
    let mut rate = failing.max(QUIET_RATE);
    for _ in 0..USUAL_ROUNDS {
        let usual = usual_rate(&cells, &ended, &sums);
        if usual <= rate {
            break;
        }
        // What fails so often on any day must fail more than that while it is blocked. Then fewer episodes are left, and more
        // of the time says how often that is.
        rate = usual;
        (sums, ended) = walk(&networks, &cells, start.clone(), rate);
    }
    let parts = networks.into_iter().zip(cells).zip(sums).zip(begun).zip(ended);
    parts.map(|((((network, cells), cusum), begun), ended)| span(network, &cells, cusum, begun, ended)).collect()
}

/// The share of blocked votes at hours in which no network had an episode; 0 when there was none, or too few votes to say.
fn usual_rate(cells: &[Vec<HourCell>], ended: &[Vec<Episode>], sums: &[Cusum]) -> f64 {
    let episodes = || ended.iter().flatten().copied().chain(sums.iter().filter_map(Cusum::open));
    let mut taken: Vec<(i64, i64)> = episodes().map(|episode| (episode.start, episode.last)).collect();
    taken.sort_unstable();
    // By where they begin, each with the end that all up to it reach.
    let mut reach = i64::MIN;
    for (_, end) in &mut taken {
        reach = reach.max(*end);
        *end = reach;
    }
    let is_taken = |hour: i64| {
        let begun = taken.partition_point(|(start, _)| *start <= hour);
        begun.checked_sub(1).and_then(|at| taken.get(at)).is_some_and(|(_, end)| hour <= *end)
    };
    let (mut blocked, mut all) = (0, 0);
    for cell in cells.iter().flatten().filter(|_| !taken.is_empty()).filter(|cell| !is_taken(cell.hour)) {
        blocked += cell.blocked;
        all += cell.blocked + cell.clear;
    }
    if all < USUAL_VOTES { 0.0 } else { f64::from(blocked) / f64::from(all) }
}

/// Takes the sums of all networks through the hours of a block together; where they stand then, and the episodes of each
/// that end.
fn walk(
    networks: &[Heard],
    cells: &[Vec<HourCell>],
    mut sums: Vec<Cusum>,
    failing: f64,
) -> (Vec<Cusum>, Vec<Vec<Episode>>) {
    let mut ended = vec![Vec::new(); networks.len()];
    // Where nothing is blocked and nothing under way, the sums stay where they are.
    if sums.iter().all(Cusum::is_quiet) && cells.iter().flatten().all(|cell| cell.blocked == 0) {
        return (sums, ended);
    }
    let mut hours: BTreeMap<i64, Vec<(usize, &HourCell)>> = BTreeMap::new();
    for (index, cells) in cells.iter().enumerate() {
        cells.iter().for_each(|cell| hours.entry(cell.hour).or_default().push((index, cell)));
    }
    let mut heard: Vec<Option<i64>> = networks.iter().map(|network| network.before).collect();
    for (hour, cells) in hours {
        let mut blocked = false;
        for (index, cell) in cells {
            if let (Some(cusum), Some(ended), Some(heard)) =
                (sums.get_mut(index), ended.get_mut(index), heard.get_mut(index))
            {
                ended.extend(cusum.step(cell, failing));
                *heard = Some(hour);
                blocked |= cell.blocked > 0;
            }
        }
        // What often fails does so on several networks at once, without a censor.
        if blocked && failing <= QUIET_RATE {
            let members = networks.iter().zip(sums.iter_mut()).zip(&heard);
            let mut members: Vec<Member<'_>> =
                members.map(|((network, cusum), heard)| Member { asn: network.asn, cusum, heard: *heard }).collect();
            pool::declare(&mut members, hour);
        }
    }
    (sums, ended)
}

fn span(network: Heard, cells: &[HourCell], cusum: Cusum, begun: bool, ended: Vec<Episode>) -> Span {
    let Heard { asn, votes, sources, .. } = network;
    let mut techniques: BTreeMap<u8, u32> = BTreeMap::new();
    for (technique, count) in votes.iter().filter(|vote| vote.blocked).flat_map(|vote| &vote.techniques) {
        *techniques.entry(technique.code()).or_default() += count;
    }
    let mut days: Vec<DayCount> = Vec::new();
    for vote in &votes {
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
    let any = begun || cells.iter().any(|cell| cell.blocked > 0);
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
