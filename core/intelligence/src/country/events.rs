//! Events in this country that other sources report. They are stored by source and id, and the world is told their
//! short forms.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::tables::{EPOCHS, EVENTS, GIVEN, GivenRow};
use crate::import::removal;
use crate::world::{self, EventMark, ForgetGiven, GivenEvents, SourceTotal};
use crate::{Result, Timestamp, classifier};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Read};
use facts::reported::{Event, Reported, ioda};

/// Most events in one operation. Each is a row, and all are one message to the world.
pub const EVENTS_AT_ONCE: usize = 400;
/// Most events of one source that a query reads.
const MOST_READ: usize = 20_000;

/// Adds events of one source. A later version of an id replaces the earlier one ([`Reported::join`]), so order, splits
/// and repeats change nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AddEvents {
    /// Code of the source.
    pub source: u8,
    pub events: Vec<Reported>,
    /// Number of removals of the source when the import began.
    pub epoch: u64,
}

/// The days from `first` to `last` on which a reported shutdown or ordered block was in force.
pub(crate) fn ordered_days(view: &View<'_>, first: u32, last: u32) -> Result<BTreeSet<u32>> {
    let mut days = BTreeSet::new();
    EVENTS.visit(view, EVENTS.range(), Direction::Ascending, |(source, _), told| {
        let span = classifier::labelled(source, &EventMark::of(&told.event)).into_iter().flatten();
        days.extend(span.filter(|day| (first..=last).contains(day)));
        Ok(true)
    })?;
    Ok(days)
}

/// What happened to the events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventsReport {
    pub new: u64,
    /// The event was known and is now reported differently.
    pub replaced: u64,
    /// The event was known in this form or in a later version.
    pub known: u64,
    /// Source rows whose event was known.
    pub repeats: u64,
}

impl AddEvents {
    /// Returns the report, and the events that must be stored.
    fn compare(&self, view: &impl Read) -> Result<(EventsReport, Vec<Reported>)> {
        let mut report = EventsReport::default();
        let mut changed = Vec::new();
        for told in &self.events {
            let known = EVENTS.get(view, &(self.source, told.event.id.clone()))?;
            report.repeats += u64::from(known.is_some() && told.leads);
            let told = Reported { leads: false, ..told.clone() };
            match known {
                None => {
                    report.new += 1;
                    changed.push(told);
                }
                Some(known) => {
                    let joined = known.clone().join(told);
                    if joined.says_the_same(&known) {
                        report.known += 1;
                    } else {
                        report.replaced += 1;
                        changed.push(joined);
                    }
                }
            }
        }
        Ok((report, changed))
    }
}

impl Operation for AddEvents {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "add_events";
    type Reply = EventsReport;

    fn run(self, turn: &mut Turn<'_>) -> Result<EventsReport> {
        removal::check(self.epoch, EPOCHS.get(turn, &(self.source,))?.unwrap_or_default())?;
        let (report, changed) = self.compare(turn)?;
        let mut given = GIVEN.get(turn, &(self.source,))?.unwrap_or_default();
        // Taken from all reported events, whichever version stays, so that the order of versions means nothing. An
        // event that is only announced has not been seen yet.
        let newest = self.events.iter().map(|told| told.event.start.min(turn.now)).max().unwrap_or_default();
        if changed.is_empty() && newest <= given.newest {
            return Ok(report);
        }
        given.rows += report.new;
        given.newest = given.newest.max(newest);
        let mut marks = Vec::new();
        for told in changed {
            marks.push((told.event.id.clone(), EventMark::of(&told.event)));
            EVENTS.put(turn, &(self.source, told.event.id.clone()), &told)?;
        }
        if report.new + report.replaced > 0 {
            super::changes::touched_events(turn)?;
            // The index has a part for shutdowns.
            super::refresh::soon(turn)?;
            super::past::changed(turn)?;
        }
        GIVEN.put(turn, &(self.source,), &given)?;
        let announce = crate::reference::AnnounceEvents { country: turn.actor().name.clone() };
        turn.send(crate::reference::actor().name, &announce)?;
        tell(turn, self.source, &given, marks)?;
        Ok(report)
    }
}

fn tell(turn: &mut Turn<'_>, source: u8, given: &GivenRow, marks: Vec<(String, EventMark)>) -> Result<()> {
    let country = turn.actor().name.clone();
    let given = SourceTotal { rows: given.rows, newest: given.newest };
    turn.send(world::actor().name, &GivenEvents { country, source, given, marks })
}

/// Returns the answer of [`AddEvents`] without storing anything.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EventsPreview(pub AddEvents);

impl Query for EventsPreview {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "events_preview";
    type Reply = EventsReport;

    fn run(self, view: &View<'_>) -> Result<EventsReport> {
        Ok(self.0.compare(view)?.0)
    }
}

/// The events of this country that overlap a span of time, by source and id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Events {
    pub from: Timestamp,
    pub until: Timestamp,
    /// Only events of this source, by its code.
    pub source: Option<u8>,
}

impl Query for Events {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "events";
    type Reply = Vec<Event>;

    fn run(self, view: &View<'_>) -> Result<Vec<Event>> {
        let range = self.source.map_or_else(|| EVENTS.range(), |source| EVENTS.prefix(&(source,)));
        let rows = EVENTS.scan(view, &range, Direction::Ascending, MOST_READ)?;
        let events = ioda::joined(rows.into_iter().map(|(_, told)| told.event));
        Ok(events.into_iter().filter(|e| e.start <= self.until && e.last(view.now).0 >= self.from).collect())
    }
}

/// Removes some events of a source. Returns how many, and whether none is left.
pub(super) fn remove(turn: &mut Turn<'_>, source: u8, most: usize) -> Result<(u64, bool)> {
    let rows = EVENTS.scan(turn, &EVENTS.prefix(&(source,)), Direction::Ascending, most)?;
    for (key, _) in &rows {
        EVENTS.delete(turn, key);
    }
    if !rows.is_empty() {
        super::changes::touched_events(turn)?;
        super::refresh::soon(turn)?;
        super::past::changed(turn)?;
        let ids = rows.iter().map(|((_, id), _)| id.clone()).collect();
        let country = turn.actor().name.clone();
        turn.send(world::actor().name, &ForgetGiven { country, source, ids, all: false })?;
    }
    Ok((rows.len() as u64, rows.len() < most))
}
