//! The measurements behind an incident that can be looked up, page by page. The incident itself keeps only a few of
//! them (decision what-numbers-mean). A witness is kept whatever it says, so those that say something else than blocked
//! are left out here.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::changes::witness;
use super::evidence::{self, Present};
use super::judged::{Blocks, VotedMeasurement, first_day_in_full};
use super::rollup;
use super::tables::{WITNESSES, WitnessRow};
use crate::incidents::EvidenceRow;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, View};
use engine::kv::Direction;
use engine::time::DAY;
use facts::change::series::block_of;
use facts::source::Source;
use facts::verdict::Vote;

/// Cells read for one page. Those of other networks are passed over.
const LOOKED_AT: usize = 2_000;
/// After so many measurements were read for one page, no other block is read.
const MEASUREMENTS_AT_ONCE: usize = 50_000;
/// Cells read to count all rows, at most.
const COUNTED_AT_ONCE: usize = 20_000;

/// The place of a cell: index of its series in the question, day, network and source.
pub type WitnessPlace = (u32, u32, u32, u8);

/// Asks for a page of witnesses.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WitnessPage {
    /// Domains and roles.
    pub series: Vec<String>,
    /// Networks, each with the first and the last day on which it took part.
    pub networks: Vec<(u32, u32, u32)>,
    /// The last cell of the page before.
    pub after: Option<WitnessPlace>,
    /// A page ends with the cell that brings it to this many rows or more.
    pub limit: u32,
}

/// A row without confidence and signal, and whether it is known to say blocked. Of an old hour with votes for and
/// against, only the counts are kept, so nothing tells which of them was this one.
pub type WitnessSaid = (EvidenceRow, bool);

/// A page: rows, and the last cell, `None` at the end.
pub type Witnessed = (Vec<WitnessSaid>, Option<WitnessPlace>);

impl Query for WitnessPage {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "blocked_witness_page";
    type Reply = Witnessed;

    fn computes(&self) -> bool {
        true
    }

    fn run(self, view: &View<'_>) -> Result<Witnessed> {
        let mut rows = Vec::new();
        let limit = self.limit as usize;
        let place = walk(view, &self, LOOKED_AT, |row| {
            rows.push(row);
            rows.len() < limit
        })?;
        Ok((rows, place))
    }
}

/// Asks how many rows all pages have together, without those of these ids.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CountWitnesses {
    pub all: WitnessPage,
    pub except: BTreeSet<String>,
}

impl Query for CountWitnesses {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "count_blocked_witnesses";
    /// `None` if there are too many to count for one answer.
    type Reply = Option<u64>;

    fn computes(&self) -> bool {
        true
    }

    fn run(self, view: &View<'_>) -> Result<Option<u64>> {
        let mut count = 0;
        let place = walk(view, &self.all, COUNTED_AT_ONCE, |(row, _)| {
            count += u64::from(!self.except.contains(&row.id));
            true
        })?;
        Ok(place.is_none().then_some(count))
    }
}

/// Gives the witnesses of a question that may say blocked, cell by cell, until `add` wants no more or enough was read.
/// Returns the last cell unless it was the end.
fn walk(
    view: &View<'_>,
    asked: &WitnessPage,
    most: usize,
    mut add: impl FnMut(WitnessSaid) -> bool,
) -> Result<Option<WitnessPlace>> {
    let first = asked.networks.iter().map(|(_, first, _)| *first).min().unwrap_or(0);
    let last = asked.networks.iter().map(|(.., last)| *last).max().unwrap_or(0);
    let (mut place, mut looked) = (None, 0);
    let mut votes = Votes::new(view);
    let from = asked.after.map_or(0, |(at, ..)| at);
    for (at, target) in (0..).zip(&asked.series).skip(from as usize) {
        let days = WITNESSES.between(&(target.clone(), first), &(target.clone(), last.saturating_add(1)));
        let range = match asked.after.filter(|(series, ..)| *series == at) {
            Some((_, day, asn, source)) => WITNESSES.after(days, &(target.clone(), day, asn, source)),
            None => days,
        };
        let (mut more, mut failed) = (true, None);
        WITNESSES.visit(view, range, Direction::Ascending, |(_, day, asn, source), kept| {
            if votes.read >= MEASUREMENTS_AT_ONCE && !votes.has(target, block_of(day)) {
                more = false;
                return Ok(false);
            }
            let takes_part = |of: &(u32, u32, u32)| of.0 == asn && (of.1..=of.2).contains(&day);
            if let Some(known) = Source::from_code(source).filter(|_| asked.networks.iter().any(takes_part)) {
                for one in &kept.0 {
                    let Some(row) = witness(view, target, (day, asn), known, one) else { continue };
                    match votes.says_blocked((target, day, asn, source), one) {
                        Ok(Some(false)) => {}
                        Ok(says) => more &= add((row, says == Some(true))),
                        Err(error) => failed = Some(error),
                    }
                }
            }
            looked += 1;
            place = Some((at, day, asn, source));
            more &= failed.is_none() && looked < most;
            Ok(more)
        })?;
        match failed {
            Some(error) => return Err(error),
            None if !more => return Ok(place),
            None => {}
        }
    }
    Ok(None)
}

/// What the measurements of a block of days said, for the block that was asked for last.
struct Votes<'a> {
    view: &'a View<'a>,
    blocks: Blocks,
    first_in_full: u32,
    of: Option<(String, u32)>,
    /// By identity: the hour, and the vote if single measurements are kept.
    known: BTreeMap<u64, (i64, Option<bool>)>,
    /// By hour, network and source: measurements that say blocked, and all.
    hours: BTreeMap<(i64, u32, u8), (u32, u32)>,
    /// Measurements read until now.
    read: usize,
}

impl<'a> Votes<'a> {
    fn new(view: &'a View<'a>) -> Votes<'a> {
        Votes {
            view,
            blocks: Blocks::default(),
            first_in_full: first_day_in_full(view.now),
            of: None,
            known: BTreeMap::new(),
            hours: BTreeMap::new(),
            read: 0,
        }
    }

    fn has(&self, series: &str, block: u32) -> bool {
        self.of.as_ref().is_some_and(|(known, of)| known == series && *of == block)
    }

    fn load(&mut self, series: &str, block: u32) -> Result<()> {
        if self.has(series, block) {
            return Ok(());
        }
        let (measurements, read) = self.blocks.read(self.view, series, block)?;
        (self.known, self.hours) = (BTreeMap::new(), BTreeMap::new());
        for VotedMeasurement { identity, hour, asn, source, vote, .. } in measurements {
            self.add(identity, (hour, asn, source), vote == Vote::Blocked);
        }
        self.read += read;
        self.of = Some((series.to_owned(), block));
        Ok(())
    }

    fn add(&mut self, identity: u64, of: (i64, u32, u8), blocked: bool) {
        let count = self.hours.entry(of).or_default();
        *count = (count.0 + u32::from(blocked), count.1 + 1);
        let in_full = of.0.div_euclid(24) >= i64::from(self.first_in_full);
        self.known.insert(identity, (of.0, in_full.then_some(blocked)));
    }

    /// Whether a witness says blocked; `None` if that is not known any more.
    fn says_blocked(
        &mut self,
        (series, day, asn, source): (&str, u32, u32, u8),
        one: &WitnessRow,
    ) -> Result<Option<bool>> {
        self.load(series, block_of(day))?;
        Ok(self.says((day, asn, source), one))
    }

    fn says(&self, (day, asn, source): (u32, u32, u8), one: &WitnessRow) -> Option<bool> {
        let identity = evidence::identity(rollup::prefix(&one.identity), day, asn);
        let (hour, vote) = self.known.get(&identity)?;
        let of_hour = self.hours.get(&(*hour, asn, source)).copied().unwrap_or_default();
        vote.or(match of_hour {
            (0, _) => Some(false),
            (blocked, all) if blocked == all => Some(true),
            _ => None,
        })
    }
}

/// A witness of a series on a day and network that says blocked, or may: one by each source. A failure that waits for a
/// control counts as one, since what was measured around the day is not read.
pub fn blocked_on<'a>(view: &'a View<'a>, series: &str, (day, asn): (u32, u32)) -> Result<Vec<(Source, WitnessRow)>> {
    let cells = WITNESSES.scan(view, &WITNESSES.prefix(&(series.to_owned(), day, asn)), Direction::Ascending, 8)?;
    let mut found = Vec::new();
    if cells.is_empty() {
        return Ok(found);
    }
    let mut votes = Votes::new(view);
    let midnight = Timestamp(i64::from(day) * DAY);
    for seen in evidence::read_raw(view, series, midnight, midnight.plus(DAY), &Present::default())? {
        let blocked = matches!(seen.session.evaluated.vote, Vote::Blocked | Vote::NeedsControl);
        votes.add(seen.identity, (seen.session.hour, seen.session.asn.unwrap_or(0), seen.source), blocked);
    }
    for ((.., source), kept) in cells {
        let Some(known) = Source::from_code(source) else { continue };
        let says = |one: &&WitnessRow| votes.says((day, asn, source), one);
        let surely = kept.0.iter().find(|one| says(one) == Some(true));
        let witness = surely.or_else(|| kept.0.iter().find(|one| says(one).is_none()));
        found.extend(witness.map(|one| (known, one.clone())));
    }
    Ok(found)
}
