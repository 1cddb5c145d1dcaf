//! The measurements behind an incident that can be looked up, page by page. The incident itself keeps only a few of
//! them (decision what-numbers-mean). A witness is kept whatever it says, so those that say something else than blocked
//! are left out here.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::changes::{signal_type, witness};
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
use facts::verdict::{Technique, Vote};

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

/// A page: rows without confidence, and the last cell, `None` at the end. A row has a signal if it is known to say blocked. Of
/// an old hour with votes for and against, only the counts are kept, so nothing tells which of them was this one.
pub type Witnessed = (Vec<EvidenceRow>, Option<WitnessPlace>);

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
        let place = walk(view, &self.all, COUNTED_AT_ONCE, |row| {
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
    mut add: impl FnMut(EvidenceRow) -> bool,
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
                    match votes.said_by((target, day, asn, source), one) {
                        Ok(Said::NotBlocked) => {}
                        Ok(Said::Blocked(by)) => {
                            let signal_type = Some(signal_type(by).to_owned());
                            more &= add(EvidenceRow { signal_type, ..row });
                        }
                        Ok(Said::Unknown) => more &= add(row),
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

/// What a measurement said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    /// By this technique, if it is known.
    Blocked(Option<Technique>),
    NotBlocked,
    /// It is not known any more.
    Unknown,
}

impl Said {
    fn of(vote: Vote, technique: Option<Technique>) -> Said {
        if vote == Vote::Blocked { Said::Blocked(technique) } else { Said::NotBlocked }
    }
}

/// What the measurements of an hour on a network said, by one source.
#[derive(Default)]
struct Hour {
    blocked: u32,
    all: u32,
    /// The techniques of those that say blocked, each once.
    techniques: Vec<Option<Technique>>,
}

impl Hour {
    fn add(&mut self, said: Said) {
        self.all += 1;
        let Said::Blocked(technique) = said else { return };
        self.blocked += 1;
        if !self.techniques.contains(&technique) {
            self.techniques.push(technique);
        }
    }

    /// What each of them said, where all said the same.
    fn said(&self) -> Said {
        match (self.blocked, self.techniques.as_slice()) {
            (0, _) => Said::NotBlocked,
            (blocked, [one]) if blocked == self.all => Said::Blocked(*one),
            (blocked, _) if blocked == self.all => Said::Blocked(None),
            _ => Said::Unknown,
        }
    }
}

/// What the measurements of a block of days said, for the block that was asked for last.
struct Votes<'a> {
    view: &'a View<'a>,
    blocks: Blocks,
    first_in_full: u32,
    of: Option<(String, u32)>,
    /// By identity: the hour, and what it said if single measurements are kept.
    known: BTreeMap<u64, (i64, Option<Said>)>,
    /// By hour, network and source.
    hours: BTreeMap<(i64, u32, u8), Hour>,
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
        for VotedMeasurement { identity, hour, asn, source, vote, technique, .. } in measurements {
            self.add(identity, (hour, asn, source), Said::of(vote, technique));
        }
        self.read += read;
        self.of = Some((series.to_owned(), block));
        Ok(())
    }

    fn add(&mut self, identity: u64, of: (i64, u32, u8), said: Said) {
        self.hours.entry(of).or_default().add(said);
        let in_full = of.0.div_euclid(24) >= i64::from(self.first_in_full);
        self.known.insert(identity, (of.0, in_full.then_some(said)));
    }

    /// What a witness said.
    fn said_by(&mut self, (series, day, asn, source): (&str, u32, u32, u8), one: &WitnessRow) -> Result<Said> {
        self.load(series, block_of(day))?;
        Ok(self.said((day, asn, source), one))
    }

    fn said(&self, (day, asn, source): (u32, u32, u8), one: &WitnessRow) -> Said {
        let identity = evidence::identity(rollup::prefix(&one.identity), day, asn);
        let Some((hour, said)) = self.known.get(&identity) else { return Said::Unknown };
        let of_hour = || self.hours.get(&(*hour, asn, source)).map_or(Said::NotBlocked, Hour::said);
        said.unwrap_or_else(of_hour)
    }
}

/// A witness of a series on a day and network that says blocked, or may, with the technique if it is known: one by each
/// source. A failure that waits for a control counts as one, since what was measured around the day is not read.
pub fn blocked_on(
    view: &View<'_>,
    series: &str,
    (day, asn): (u32, u32),
) -> Result<Vec<(Source, WitnessRow, Option<Technique>)>> {
    let cells = WITNESSES.scan(view, &WITNESSES.prefix(&(series.to_owned(), day, asn)), Direction::Ascending, 8)?;
    let mut found = Vec::new();
    if cells.is_empty() {
        return Ok(found);
    }
    let mut votes = Votes::new(view);
    let midnight = Timestamp(i64::from(day) * DAY);
    for seen in evidence::read_raw(view, series, midnight, midnight.plus(DAY), &Present::default())? {
        let (vote, technique) = (seen.session.evaluated.vote, seen.session.evaluated.technique);
        let vote = if vote == Vote::NeedsControl { Vote::Blocked } else { vote };
        votes.add(
            seen.identity,
            (seen.session.hour, seen.session.asn.unwrap_or(0), seen.source),
            Said::of(vote, technique),
        );
    }
    for ((.., source), kept) in cells {
        let Some(known) = Source::from_code(source) else { continue };
        let all = || kept.0.iter().map(|one| (one, votes.said((day, asn, source), one)));
        let surely = all().find_map(|(one, said)| if let Said::Blocked(by) = said { Some((one, by)) } else { None });
        let maybe = || all().find(|(_, said)| *said == Said::Unknown).map(|(one, _)| (one, None));
        found.extend(surely.or_else(maybe).map(|(one, by)| (known, one.clone(), by)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_hour_only_what_all_said_is_said_by_each() {
        let of = |said: &[Said]| {
            let mut hour = Hour::default();
            said.iter().for_each(|said| hour.add(*said));
            hour.said()
        };
        let [dns, tls] = [Technique::DnsInjectionBogon, Technique::TlsTimeout].map(|by| Said::Blocked(Some(by)));
        assert_eq!(of(&[Said::NotBlocked, Said::NotBlocked]), Said::NotBlocked);
        assert_eq!(of(&[dns, dns]), dns);
        assert_eq!(of(&[dns, tls]), Said::Blocked(None), "both blocked it, by one or the other");
        assert_eq!(of(&[dns, Said::NotBlocked]), Said::Unknown);
    }
}
