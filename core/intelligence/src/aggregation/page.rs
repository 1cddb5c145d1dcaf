//! Single measurements of some series in one country, page by page.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};

use super::count::days;
use crate::Result;
use crate::country::judged::{self, Blocks, VotedMeasurement};
use engine::actor::{Kind, Query, View};
use facts::change::series::bounds;
use facts::verdict::{RuleId, Vote};

/// A page ends with the block that brings it to so many measurements read.
const MEASUREMENTS_AT_ONCE: usize = 50_000;
/// Blocks that one page looks at. More may hold nothing of the networks that are asked for.
const BLOCKS_AT_ONCE: usize = 200;

/// The place of a row among those of its series: hour, network, source, rule, vote and identity.
pub type RowPlace = (i64, u32, u8, u8, u8, u64);

/// The place of a series in the question, and the last row before; without a row, a day to go on from.
pub type PagePlace = (u32, u32, Option<RowPlace>);

/// Asks for a page of the measurements of some series, ordered by series and time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MeasurementPage {
    pub series: Vec<String>,
    /// Hours since the epoch: the first, and the first that is too late.
    pub from: i64,
    pub end: i64,
    /// Only these networks; all if there are none.
    pub networks: Vec<u32>,
    pub place: Option<PagePlace>,
    /// Rows of the page, at most, unless several have the same place.
    pub limit: u32,
}

/// A measurement, or some old ones that differ in nothing that is still known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasurementRow {
    /// The place of the series in the question.
    pub series: u32,
    /// Hours since the epoch.
    pub hour: i64,
    /// 0 if the network is withheld.
    pub asn: u32,
    /// Code of the source.
    pub source: u8,
    /// Code of the rule.
    pub rule: u8,
    pub vote: String,
    /// The dotted name.
    pub technique: Option<String>,
    pub measurements: u32,
    /// Measurements among them that are counted at this series, and at no other.
    pub counted: u32,
    /// The page of the measurement, if it is kept.
    pub link: Option<String>,
}

/// A page of rows, and where the next one begins; `None` on the last page.
pub type MeasurementRows = (Vec<MeasurementRow>, Option<PagePlace>);

/// The number of a vote in a place, and its name.
fn vote(vote: Vote) -> (u8, &'static str) {
    match vote {
        Vote::Blocked => (0, "blocked"),
        Vote::Clear => (1, "clear"),
        Vote::Down => (2, "down"),
        Vote::Masked | Vote::NeedsControl => (3, "none"),
    }
}

fn place(measurement: &VotedMeasurement) -> RowPlace {
    let VotedMeasurement { hour, asn, source, rule, identity, .. } = *measurement;
    (hour, asn, source, rule.code(), vote(measurement.vote).0, identity)
}

impl Query for MeasurementPage {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "measurement_page";
    type Reply = MeasurementRows;

    fn computes(&self) -> bool {
        true
    }

    fn run(self, view: &View<'_>) -> Result<MeasurementRows> {
        let (blocks, mut page) = (Blocks::default(), Page::new(view, &self));
        let (first, end) = days(self.from, self.end);
        let (begin, mut day, mut after) = self.place.unwrap_or((0, first, None));
        let (mut read, mut visited) = (0, 0);
        for (at, series) in (0..).zip(&self.series).skip(begin as usize) {
            while let Some(block) = blocks.next(view, series, day.max(first), end)? {
                if read >= MEASUREMENTS_AT_ONCE || visited >= BLOCKS_AT_ONCE {
                    return Ok((page.rows, Some((at, day, None))));
                }
                let (measurements, all) = blocks.read(view, series, block)?;
                (read, visited) = (read + all, visited + 1);
                if let Some(last) = page.add((at, series), measurements, after.take())? {
                    return Ok((page.rows, Some((at, day, Some(last)))));
                }
                day = u32::try_from(bounds(block).1.day()).unwrap_or(u32::MAX);
            }
            (day, after) = (first, None);
        }
        Ok((page.rows, None))
    }
}

struct Page<'a> {
    view: &'a View<'a>,
    asked: &'a MeasurementPage,
    first_in_full: i64,
    rows: Vec<MeasurementRow>,
}

impl<'a> Page<'a> {
    fn new(view: &'a View<'a>, asked: &'a MeasurementPage) -> Page<'a> {
        let first_in_full = i64::from(judged::first_day_in_full(view.now)) * 24;
        Page { view, asked, first_in_full, rows: Vec::new() }
    }

    /// Adds the rows of a block after a place. Returns the last place if the page is full before the last row.
    fn add(
        &mut self,
        (at, series): (u32, &str),
        mut measurements: Vec<VotedMeasurement>,
        after: Option<RowPlace>,
    ) -> Result<Option<RowPlace>> {
        let MeasurementPage { from, end, networks, limit, .. } = self.asked;
        measurements
            .retain(|one| (*from..*end).contains(&one.hour) && (networks.is_empty() || networks.contains(&one.asn)));
        for one in &mut measurements {
            // What became a count has no identity; those that differ in nothing else are one row.
            if one.hour < self.first_in_full {
                one.identity = 0;
            }
        }
        measurements.sort_by_key(place);
        measurements.retain(|one| after.is_none_or(|after| place(one) > after));
        let mut links: BTreeMap<(u32, u32, u8), BTreeMap<u64, String>> = BTreeMap::new();
        let mut last = None;
        for same in measurements.chunk_by(|a, b| place(a) == place(b)) {
            let Some(one) = same.first() else { continue };
            if self.rows.len() >= *limit as usize {
                // It may have been full before this block.
                return Ok(Some(last.unwrap_or_else(|| before(place(one)))));
            }
            let mut row = MeasurementRow {
                series: at,
                hour: one.hour,
                asn: one.asn,
                source: one.source,
                rule: one.rule.code(),
                vote: vote(one.vote).1.to_owned(),
                technique: one.technique.map(|technique| technique.as_str().to_owned()),
                measurements: u32::try_from(same.len()).unwrap_or(u32::MAX),
                counted: u32::try_from(same.iter().filter(|one| one.primary).count()).unwrap_or(u32::MAX),
                link: None,
            };
            if one.hour >= self.first_in_full {
                let cell = (u32::try_from(one.hour.div_euclid(24)).unwrap_or(0), one.asn, one.source);
                let known = match links.entry(cell) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(judged::links(self.view, (series, cell.0, cell.1, cell.2))?),
                };
                row.link = known.get(&one.identity).cloned();
            }
            self.rows.push(row);
            last = Some(place(one));
        }
        Ok(None)
    }
}

/// A place before this one and after every earlier hour.
fn before((hour, ..): RowPlace) -> RowPlace {
    (hour - 1, u32::MAX, u8::MAX, u8::MAX, u8::MAX, u64::MAX)
}

/// The name of a rule by its code.
pub fn rule_name(code: u8) -> Option<&'static str> {
    RuleId::from_code(code).map(|rule| rule.rule().name)
}
