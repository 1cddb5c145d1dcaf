//! From the episodes of all networks and series of one subject to events (decision incident-dates).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::beginning;
use super::constants::{INTERMITTENT_SHARE, MERGE_GAP};
use super::episodes::{Episode, OtherCountries, episodes};
use super::schedule;
use super::series::{Block, HourCount, Span};
use crate::verdict::constants::{BLOCK_BEGINS, BLOCK_ENDS, BLOCK_SPREADS, BLOCKED_PROBABILITY, CLEAR_VOTES};
use engine::kv::{Row, StoreError, appended};

/// One series of a subject.
pub struct Series {
    pub key: String,
    /// True if the subject counts as blocked when this series is blocked.
    pub essential: bool,
    /// The blocks with their numbers, oldest first.
    pub blocks: Vec<(u32, Block)>,
    pub episodes: Vec<Episode>,
}

impl Series {
    /// `limit` is the age limit of verdicts on this series, in hours.
    pub fn new(key: String, essential: bool, blocks: Vec<(u32, Block)>, limit: i64) -> Series {
        let episodes = episodes(&blocks, OtherCountries::Counted, limit);
        Series { key, essential, blocks, episodes }
    }

    pub fn spans(&self) -> impl Iterator<Item = &Span> {
        self.blocks.iter().flat_map(|(_, block)| &block.spans)
    }
}

/// The part of one network in an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Affected {
    pub asn: u32,
    /// First and last blocked vote, hours since the epoch.
    pub first: i64,
    pub last: i64,
    /// Votes between start and end of the event.
    pub blocked: u32,
    pub votes: u32,
    /// Probability, 0-1, that the network blocked, by all votes, at its highest.
    pub probability: f64,
    /// Blocked measurements by technique.
    pub techniques: BTreeMap<u8, u32>,
    /// Series on which it is blocked.
    pub targets: BTreeSet<String>,
}

/// One time of blocking of a subject in a country, made of the episodes of its networks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockingEvent {
    /// First and last blocked vote, hours since the epoch.
    pub start: i64,
    pub end: i64,
    /// The hour in which a block was first believed on one of the networks.
    pub declared: i64,
    /// The hour at which 96 hours had been measured without a block.
    pub resolved: Option<i64>,
    /// Newest vote on an affected network.
    pub last_vote: i64,
    /// The affected networks, by AS number.
    pub networks: Vec<Affected>,
    /// Votes between start and end by network, affected or not.
    pub tested: BTreeMap<u32, u32>,
    /// Blocked series.
    pub targets: BTreeSet<String>,
    /// True if an essential series is among the blocked ones.
    pub essential: bool,
    pub sources: BTreeSet<u8>,
    /// Measurements between start and end, of the series with the most of them: one test measures several series.
    pub measurements: u64,
    pub votes: u64,
    pub blocked: u64,
    pub intermittent: bool,
    /// In the words of [`schedule::Schedule`].
    pub schedule: Option<String>,
    /// The block was there when it was first measured, so it began before `start`.
    pub start_unknown: bool,
}
impl Row for BlockingEvent {
    const VERSION: u8 = 3;

    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        let missing: &[u8] = if version == 1 { &[0] } else { &[] };
        let mut found: BlockingEvent = appended(version, version.clamp(1, 2), bytes, missing)?;
        // Earlier versions kept another measure in this field. Until the country computes it again, the lowest possible
        // value stands.
        found.networks.iter_mut().for_each(|network| network.probability = BLOCKED_PROBABILITY);
        Ok(found)
    }
}

impl BlockingEvent {
    /// Probability, 0-1, that at least one of the networks blocked, as if they blocked independently.
    pub fn probability(&self) -> f64 {
        1.0 - self.networks.iter().map(|network| 1.0 - network.probability).product::<f64>()
    }

    /// Raises the probabilities because a block comes to several networks at once, to each with [`BLOCK_SPREADS`]. A
    /// short block of one network alone may well be chance. Chance seldom meets all networks in the same hours.
    pub(super) fn spread(&mut self) {
        let days = ((self.end - self.start) as f64 / 24.0).max(SHORTEST);
        // The probability that a block begins in a time of this length, and ends in it.
        let prior = (BLOCK_BEGINS * days).min(0.5) * (1.0 - (-BLOCK_ENDS * days).exp());
        let odds = |p: f64| p / (1.0 - p).max(f64::EPSILON);
        let follows = |network: &Affected| BLOCK_SPREADS * odds(network.probability) / odds(prior);
        let others = self.tested.keys().filter(|asn| !self.networks.iter().any(|network| network.asn == **asn)).count();
        let free = 1.0 - BLOCK_SPREADS;
        let all: f64 = self.networks.iter().map(|network| (free + follows(network)).ln()).sum();
        let together = (odds(prior).ln() + all + free.ln() * others as f64).exp();
        let together = if together.is_finite() { together / (1.0 + together) } else { 1.0 };
        for network in &mut self.networks {
            let with_others = together * follows(network) / (free + follows(network));
            network.probability = network.probability.max(with_others);
        }
    }
}

/// The shortest length of a block, in days, for its prior: votes lie hours apart.
const SHORTEST: f64 = 0.25;

struct Piece<'a> {
    series: &'a Series,
    episode: Episode,
}

fn pieces(series: &[Series]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for series in series {
        pieces.extend(series.episodes.iter().map(|episode| Piece { series, episode: *episode }));
    }
    pieces.sort_by(|a, b| {
        let order = |piece: &Piece<'_>| (piece.episode.start, piece.episode.last, piece.episode.asn);
        order(a).cmp(&order(b)).then_with(|| a.series.key.cmp(&b.series.key))
    });
    pieces
}

/// The events of a subject, oldest first, without those that later votes made unlikely. Episodes of any network and
/// series join while the gap between blocked votes stays under [`MERGE_GAP`] hours.
fn merge(series: &[Series]) -> Vec<BlockingEvent> {
    let pieces = pieces(series);
    let mut groups: Vec<(Vec<&Piece<'_>>, i64)> = Vec::new();
    for piece in &pieces {
        match groups.last_mut() {
            Some((group, end)) if piece.episode.start - *end < MERGE_GAP => {
                group.push(piece);
                *end = piece.episode.last.max(*end);
            }
            _ => groups.push((vec![piece], piece.episode.last)),
        }
    }
    groups.iter().filter_map(|(group, end)| found(series, group, *end)).collect()
}

/// The events of a subject, each with its name. The name is the subject if an essential series is blocked (decision
/// keys-and-roles); otherwise each blocked series has an event of its own.
pub fn events(subject: &str, series: &[Series]) -> Vec<(String, BlockingEvent)> {
    let mut events = Vec::new();
    for found in merge(series) {
        if found.essential {
            events.push((subject.to_owned(), found));
            continue;
        }
        for alone in series.iter().filter(|series| found.targets.contains(&series.key)) {
            let within = |part: &BlockingEvent| (found.start..=found.end).contains(&part.start);
            let parts = merge(std::slice::from_ref(alone)).into_iter().filter(within);
            events.extend(parts.map(|part| (alone.key.clone(), part)));
        }
    }
    events
}

/// The spans of a series with days between two hours. Such a span may hold other days too.
fn spans_between(series: &Series, start: i64, end: i64) -> impl Iterator<Item = &Span> {
    series.spans().filter(move |span| span.days.iter().any(|count| within(count.day, start, end)))
}

fn within(day: u32, start: i64, end: i64) -> bool {
    (start.div_euclid(24)..=end.div_euclid(24)).contains(&i64::from(day))
}

fn found(series: &[Series], group: &[&Piece<'_>], end: i64) -> Option<BlockingEvent> {
    let start = group.first()?.episode.start;
    let mut found = BlockingEvent {
        start,
        end,
        declared: group.iter().map(|piece| piece.episode.declared).min()?,
        resolved: None,
        last_vote: end,
        networks: Vec::new(),
        tested: BTreeMap::new(),
        targets: group.iter().map(|piece| piece.series.key.clone()).collect(),
        essential: group.iter().any(|piece| piece.series.essential),
        sources: BTreeSet::new(),
        measurements: 0,
        votes: 0,
        blocked: 0,
        intermittent: false,
        schedule: None,
        start_unknown: false,
    };
    found.networks = networks(group);
    let mut hours: BTreeMap<u32, Vec<HourCount>> = BTreeMap::new();
    let mut later = Vec::new();
    let blocked: Vec<&Series> = series.iter().filter(|series| found.targets.contains(&series.key)).collect();
    for series in blocked {
        let mut measurements = 0;
        for span in spans_between(series, start, end) {
            measurements += count(&mut found, span, start, end);
        }
        found.measurements = found.measurements.max(measurements);
        for span in series.spans() {
            let affected = found.networks.iter().any(|n| n.asn == span.asn && n.targets.contains(&series.key));
            if affected {
                let between = span.hours.iter().filter(|count| (start..=end).contains(&count.hour));
                for network in found.networks.iter_mut().filter(|network| network.asn == span.asn) {
                    let blocked = || between.clone().filter(|count| count.blocked > 0).map(|count| count.hour);
                    network.first = network.first.min(blocked().min().unwrap_or(network.first));
                    network.last = network.last.max(blocked().max().unwrap_or(network.last));
                }
                hours.entry(span.asn).or_default().extend(between.copied());
                later.extend(clear_after(span, end));
            }
        }
    }
    if found.networks.len() > 1 {
        found.spread();
    }
    if found.probability() < BLOCKED_PROBABILITY {
        return None;
    }
    found.sources = sources(series, &found);
    let blocked: u32 = found.networks.iter().map(|network| network.blocked).sum();
    let votes: u32 = found.networks.iter().map(|network| network.votes).sum();
    found.intermittent = f64::from(votes - blocked.min(votes)) > INTERMITTENT_SHARE * f64::from(votes);
    found.schedule = schedule::kept(&hours).map(|schedule| schedule.to_string());
    found.start_unknown = !beginning::is_seen(&found, series);
    resolve(&mut found, &mut later);
    Some(found)
}

/// The affected networks, each once.
fn networks(group: &[&Piece<'_>]) -> Vec<Affected> {
    let mut networks: BTreeMap<u32, Affected> = BTreeMap::new();
    for piece in group {
        let episode = piece.episode;
        let network = networks.entry(episode.asn).or_insert_with(|| Affected {
            asn: episode.asn,
            first: episode.start,
            last: episode.last,
            blocked: 0,
            votes: 0,
            probability: 0.0,
            techniques: BTreeMap::new(),
            targets: BTreeSet::new(),
        });
        network.first = network.first.min(episode.start);
        network.last = network.last.max(episode.last);
        network.probability = network.probability.max(episode.probability);
        network.targets.insert(piece.series.key.clone());
    }
    networks.into_values().collect()
}

/// Adds the votes of a span to an event, and returns the measurements behind them.
fn count(found: &mut BlockingEvent, span: &Span, start: i64, end: i64) -> u64 {
    let affected = found.networks.iter_mut().find(|network| network.asn == span.asn);
    let mut measurements = 0;
    let (mut votes, mut blocked) = (0, 0);
    for count in span.days.iter().filter(|count| within(count.day, start, end)) {
        votes += count.votes;
        blocked += count.blocked;
        measurements += u64::from(count.measurements);
    }
    found.votes += u64::from(votes);
    found.blocked += u64::from(blocked);
    *found.tested.entry(span.asn).or_default() += votes;
    if let Some(network) = affected {
        network.votes += votes;
        network.blocked += blocked;
        for (technique, count) in &span.techniques {
            *network.techniques.entry(*technique).or_default() += count;
        }
    }
    measurements
}

fn sources(series: &[Series], found: &BlockingEvent) -> BTreeSet<u8> {
    let mut sources = BTreeSet::new();
    for series in series.iter().filter(|series| found.targets.contains(&series.key)) {
        for span in spans_between(series, found.start, found.end) {
            if found.networks.iter().any(|network| network.asn == span.asn) {
                sources.extend(&span.sources);
            }
        }
    }
    sources
}

/// The clear votes of a span after an hour, each with its hour. If the span keeps no hours, they count in the last hour
/// of their day.
fn clear_after(span: &Span, end: i64) -> Vec<(i64, u32)> {
    let mut votes: Vec<(i64, u32)> = match span.hours.is_empty() {
        false => span.hours.iter().map(|count| (count.hour, count.clear)).collect(),
        true => span
            .days
            .iter()
            .map(|count| (i64::from(count.day) * 24 + 23, count.votes - count.blocked.min(count.votes)))
            .collect(),
    };
    votes.retain(|(hour, _)| *hour > end);
    votes
}

/// Ends an event after 96 hours of measurements without a blocked vote on the affected networks.
fn resolve(found: &mut BlockingEvent, later: &mut [(i64, u32)]) {
    later.sort_unstable();
    let mut seen = 0;
    for (hour, clear) in later.iter() {
        seen += clear;
        found.last_vote = found.last_vote.max(*hour);
        if found.resolved.is_none() && seen as usize >= CLEAR_VOTES && hour - found.end >= MERGE_GAP {
            found.resolved = Some(*hour);
        }
    }
}
