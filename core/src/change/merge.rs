//! Episodes of all networks and series of one subject to events (ruling intelligence 3).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::beginning;
use super::constants::{CLEAR_VOTES, INTERMITTENT_SHARE, MERGE_GAP};
use super::cusum::Episode;
use super::schedule;
use super::series::{Block, Span};
use crate::kv::{Row, StoreError, appended};

/// One series of a subject with its blocks, oldest first.
pub struct Series {
    pub key: String,
    /// Whether the subject is blocked when this series is.
    pub essential: bool,
    pub blocks: Vec<Block>,
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
    /// log10 likelihood ratio of the blocked votes of its strongest episode.
    pub evidence: f64,
    /// Blocked measurements by technique.
    pub techniques: BTreeMap<u8, u32>,
    /// Series on which it is blocked.
    pub targets: BTreeSet<String>,
}

/// One time of blocking of a subject in a country.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// First and last blocked vote, hours since the epoch.
    pub start: i64,
    pub end: i64,
    /// When the first network alarmed.
    pub declared: i64,
    /// When it had been measured clear for 96 h.
    pub resolved: Option<i64>,
    /// Newest vote on an affected network.
    pub last_vote: i64,
    /// By number.
    pub networks: Vec<Affected>,
    /// Votes between start and end by network, of affected ones too.
    pub tested: BTreeMap<u32, u32>,
    /// Blocked series.
    pub targets: BTreeSet<String>,
    /// Whether an essential series is among them.
    pub essential: bool,
    pub sources: BTreeSet<u8>,
    /// Measurements between start and end, of the series that was measured most: one test measures several.
    pub measurements: u64,
    pub votes: u64,
    pub blocked: u64,
    pub intermittent: bool,
    /// See [`schedule::words`].
    pub schedule: Option<String>,
    /// It was there when it was first measured: it began before `start`.
    pub start_unknown: bool,
}
impl Row for Found {
    const VERSION: u8 = 2;

    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        appended(version, 1, bytes, &[0])
    }
}

struct Piece<'a> {
    series: &'a Series,
    asn: u32,
    episode: Episode,
}

fn pieces(series: &[Series]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for series in series {
        for span in series.blocks.iter().flat_map(|block| &block.spans) {
            pieces.extend(span.ended.iter().map(|episode| Piece { series, asn: span.asn, episode: *episode }));
        }
        let last = series.blocks.last();
        for span in last.iter().flat_map(|block| &block.spans) {
            pieces.extend(span.cusum.open().map(|episode| Piece { series, asn: span.asn, episode }));
        }
    }
    pieces.sort_by(|a, b| {
        let order = |piece: &Piece<'_>| (piece.episode.start, piece.episode.last, piece.asn);
        order(a).cmp(&order(b)).then_with(|| a.series.key.cmp(&b.series.key))
    });
    pieces
}

/// The events of a subject, oldest first: episodes of whatever network and series join while the gap between blocked
/// votes stays under [`MERGE_GAP`] hours.
fn merge(series: &[Series]) -> Vec<Found> {
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

/// The events of a subject with the name of what each is about: the subject, where one of the series is blocked that it
/// cannot do without (ruling intelligence 29), else each blocked series itself.
pub fn events(subject: &str, series: &[Series]) -> Vec<(String, Found)> {
    let mut events = Vec::new();
    for found in merge(series) {
        if found.essential {
            events.push((subject.to_owned(), found));
            continue;
        }
        for alone in series.iter().filter(|series| found.targets.contains(&series.key)) {
            let within = |part: &Found| (found.start..=found.end).contains(&part.start);
            let parts = merge(std::slice::from_ref(alone)).into_iter().filter(within);
            events.extend(parts.map(|part| (alone.key.clone(), part)));
        }
    }
    events
}

/// Spans of a series with days of `[start, end]` (hours), with those days' share.
fn spans_between(series: &Series, start: i64, end: i64) -> impl Iterator<Item = &Span> {
    let spans = series.blocks.iter().flat_map(|block| &block.spans);
    spans.filter(move |span| span.days.iter().any(|count| within(count.day, start, end)))
}

fn within(day: u32, start: i64, end: i64) -> bool {
    (start.div_euclid(24)..=end.div_euclid(24)).contains(&i64::from(day))
}

fn found(series: &[Series], group: &[&Piece<'_>], end: i64) -> Option<Found> {
    let start = group.first()?.episode.start;
    let mut found = Found {
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
    let mut hours = Vec::new();
    let mut later = Vec::new();
    let blocked: Vec<&Series> = series.iter().filter(|series| found.targets.contains(&series.key)).collect();
    for series in blocked {
        let mut measurements = 0;
        for span in spans_between(series, start, end) {
            measurements += count(&mut found, span, start, end);
        }
        found.measurements = found.measurements.max(measurements);
        for span in series.blocks.iter().flat_map(|block| &block.spans) {
            let affected = found.networks.iter().any(|n| n.asn == span.asn && n.targets.contains(&series.key));
            if affected {
                let between = span.hours.iter().filter(|count| (start..=end).contains(&count.hour));
                for network in found.networks.iter_mut().filter(|network| network.asn == span.asn) {
                    let blocked = || between.clone().filter(|count| count.blocked > 0).map(|count| count.hour);
                    network.first = network.first.min(blocked().min().unwrap_or(network.first));
                    network.last = network.last.max(blocked().max().unwrap_or(network.last));
                }
                hours.extend(between.copied());
                later.extend(clear_after(span, end));
            }
        }
    }
    found.sources = sources(series, &found);
    let blocked: u32 = found.networks.iter().map(|network| network.blocked).sum();
    let votes: u32 = found.networks.iter().map(|network| network.votes).sum();
    found.intermittent = f64::from(votes - blocked.min(votes)) > INTERMITTENT_SHARE * f64::from(votes);
    found.schedule = schedule::words(&hours);
    found.start_unknown = !beginning::is_seen(&found, series);
    resolve(&mut found, &mut later);
    Some(found)
}

/// Each affected network once.
fn networks(group: &[&Piece<'_>]) -> Vec<Affected> {
    let mut networks: BTreeMap<u32, Affected> = BTreeMap::new();
    for piece in group {
        let episode = piece.episode;
        let network = networks.entry(piece.asn).or_insert_with(|| Affected {
            asn: piece.asn,
            first: episode.start,
            last: episode.last,
            blocked: 0,
            votes: 0,
            evidence: 0.0,
            techniques: BTreeMap::new(),
            targets: BTreeSet::new(),
        });
        network.first = network.first.min(episode.start);
        network.last = network.last.max(episode.last);
        network.evidence = network.evidence.max(episode.evidence);
        network.targets.insert(piece.series.key.clone());
    }
    networks.into_values().collect()
}

/// Adds the votes of a span to an event; the measurements behind them.
fn count(found: &mut Found, span: &Span, start: i64, end: i64) -> u64 {
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

fn sources(series: &[Series], found: &Found) -> BTreeSet<u8> {
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

/// Clear votes of a span after an hour, with their hours; those of a span that keeps no hours as if they were of the last
/// hour of their day.
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

/// 96 h measured without a blocked vote, on the affected networks, end an event.
fn resolve(found: &mut Found, later: &mut [(i64, u32)]) {
    later.sort_unstable();
    let mut seen = 0;
    for (hour, clear) in later.iter() {
        seen += clear;
        found.last_vote = found.last_vote.max(*hour);
        if found.resolved.is_none() && seen >= CLEAR_VOTES && hour - found.end >= MERGE_GAP {
            found.resolved = Some(*hour);
        }
    }
}
