//! Turns what was found into reports: numbered events, which stay while later data amend them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::super::tables::EVENTS;
use super::lasting::{self, Lasting};
use super::tables::{ChangeWork, FOUND, REPORTED, ReportedEvent, WORK};
use super::{compared, draft, silences};
use crate::incidents::{self, Draft, MAX_REPORTS, Record, ReportEvent};
use crate::{Result, Timestamp};
use engine::actor::{Turn, View, encode};
use engine::kv::Direction;
use engine::time::DAY;
use facts::change::combine::{Combined, MeasuredEvent, combine};
use facts::change::constants::MERGE_GAP;
use facts::reported::{Event, ioda};

/// While an event goes on, changes of counts alone are reported only this often, because a version per measurement
/// would help nobody. An event that is over is reported at once when late data add to it, however an import was split
/// (decision order-of-data).
const COUNTS_AFTER: i64 = DAY;

/// First bytes of SHA-256 over an encoded value.
fn hash(value: &impl Serialize) -> Result<u64> {
    let digest = Sha256::digest(encode(value)?);
    let mut head = [0; 8];
    head.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    Ok(u64::from_be_bytes(head))
}

/// Hash of all that a draft is made from.
fn inputs(view: &View<'_>, one: &Combined<'_>, weights: u64) -> Result<u64> {
    let now = view.now;
    let measured: Vec<_> = one.measured.iter().map(|m| (&m.subject, &m.found, draft::is_over(m, now))).collect();
    let told: Vec<bool> = one.events.iter().map(|event| lasting::stands_until(event, now).is_some()).collect();
    let clear = lasting::is_clear_since(view, one, Lasting::of(one, now).last)?;
    hash(&(weights, &one.subject, &one.named, measured, &one.silences, &one.events, told, clear))
}

/// Hash of the draft without what grows with every measurement.
fn shape(draft: &Draft) -> Result<u64> {
    let mut shape = draft.clone();
    // Evidence from reports does not grow with every measurement.
    shape.evidence.retain(|row| row.kind != draft::MEASUREMENT);
    shape.evidence_total = 0;
    shape.measurements = 0;
    shape.anomaly_rate = 0.0;
    shape.networks_tested = 0;
    shape.weight = 0.0;
    shape.confidence = 0.0;
    for network in &mut shape.networks {
        (network.blocked, network.votes, network.last) = (0, 0, None);
    }
    hash(&shape)
}

/// Compares what is found now with what was reported, and sends the differences. Returns whether that was all, and when
/// to compare again because counts wait.
pub fn run(turn: &mut Turn<'_>) -> Result<(bool, Option<Timestamp>)> {
    let measured: Vec<MeasuredEvent> = FOUND
        .scan(turn, &FOUND.range(), Direction::Ascending, usize::MAX)?
        .into_iter()
        .map(|((subject, _), found)| MeasuredEvent { subject, found })
        .collect();
    let events = EVENTS.scan(turn, &EVENTS.range(), Direction::Ascending, usize::MAX)?;
    let events: Vec<Event> = ioda::joined(events.into_iter().map(|(_, told)| told.event));
    let silences = silences::told(turn)?;
    let listed = crate::country::listed(turn)?;
    let found = combine(&measured, &silences, &events, &listed);
    let known: BTreeMap<u64, ReportedEvent> = REPORTED
        .scan(turn, &REPORTED.range(), Direction::Ascending, usize::MAX)?
        .into_iter()
        .map(|((number,), row)| (number, row))
        .collect();
    let places: Vec<EventIdentity> = found.iter().map(EventIdentity::of).collect();
    let matched = matched(&places, &known);
    let mut sending = Sending { reports: Vec::new(), look_again: None, full: false };
    let mut numbers = Vec::with_capacity(found.len());
    for ((one, place), number) in found.iter().zip(&places).zip(&matched) {
        numbers.push(sending.found(turn, (one, place), *number, number.and_then(|number| known.get(&number)))?);
    }
    // What became of the other reported events is known only when all that is found has its number.
    let all_numbered = !sending.full;
    let still: BTreeSet<u64> = matched.iter().flatten().copied().collect();
    let gone = known.iter().filter(|(number, row)| !row.gone && !still.contains(number));
    for (number, row) in gone.filter(|_| all_numbered) {
        let into = places.iter().zip(&numbers).find(|(place, _)| place.is_same(row)).and_then(|(_, number)| *number);
        sending.vanished(turn, *number, row, into)?;
    }
    let Sending { reports, look_again, full } = sending;
    if !reports.is_empty() {
        let country = turn.actor().name.clone();
        turn.send(incidents::actor().name, &Record { country, reports })?;
    }
    Ok((!full, look_again))
}

/// What distinguishes one event from another.
struct EventIdentity {
    subjects: BTreeSet<String>,
    start: i64,
    end: i64,
}

impl EventIdentity {
    fn of(one: &Combined<'_>) -> EventIdentity {
        let (start, end) = one.hours();
        EventIdentity { subjects: one.subjects(), start, end }
    }

    /// Whether a reported event is the same event: about the same subject and at the same time.
    fn is_same(&self, row: &ReportedEvent) -> bool {
        let near = self.start - MERGE_GAP < row.end && row.start < self.end + MERGE_GAP;
        (near || self.start == row.start) && !self.subjects.is_disjoint(&row.subjects)
    }
}

/// The number of each event that was reported before. Of those that fit, a shown event is taken before a withdrawn one,
/// then one with the same beginning before others, then the lowest number.
fn matched(places: &[EventIdentity], known: &BTreeMap<u64, ReportedEvent>) -> Vec<Option<u64>> {
    let mut about: BTreeMap<&str, Vec<(u64, &ReportedEvent)>> = BTreeMap::new();
    for (number, row) in known {
        for subject in &row.subjects {
            about.entry(subject).or_default().push((*number, row));
        }
    }
    let mut taken = BTreeSet::new();
    let mut matched = vec![None; places.len()];
    for (gone, exact) in [(false, true), (false, false), (true, true), (true, false)] {
        for (place, number) in places.iter().zip(&mut matched).filter(|(_, number)| number.is_none()) {
            let about = place.subjects.iter().filter_map(|subject| about.get(subject.as_str())).flatten();
            let fits = about.filter(|(number, row)| {
                row.gone == gone
                    && (row.start == place.start || !exact)
                    && !taken.contains(number)
                    && place.is_same(row)
            });
            if let Some((fits, _)) = fits.min_by_key(|(number, _)| *number) {
                taken.insert(*fits);
                *number = Some(*fits);
            }
        }
    }
    matched
}

struct Sending {
    reports: Vec<ReportEvent>,
    look_again: Option<Timestamp>,
    /// Whether there is more to send than one operation may.
    full: bool,
}

impl Sending {
    fn look_again_at(&mut self, due: Timestamp) {
        self.look_again = Some(self.look_again.map_or(due, |other| other.min(due)));
    }

    /// Reports an event if it is new or changed. Returns its number; `None` if it did not get one yet.
    fn found(
        &mut self,
        turn: &mut Turn<'_>,
        (one, place): (&Combined<'_>, &EventIdentity),
        number: Option<u64>,
        before: Option<&ReportedEvent>,
    ) -> Result<Option<u64>> {
        let work = WORK.get(turn, &())?.unwrap_or_default();
        let inputs = inputs(&turn.view(), one, work.weights)?;
        if let Some(due) = draft::over_by_itself(one, turn.now) {
            self.look_again_at(due);
        }
        if lasting::may_be_cleared(one, turn.now) {
            self.look_again_at(turn.now.plus(DAY));
        }
        if before.is_some_and(|before| !before.gone && before.inputs == inputs) {
            return Ok(number);
        }
        // Meanwhile an event that was reported stays as it is, because the event that waits may be about to join it.
        if let Some(due) = compared::waits(turn, one)? {
            self.look_again_at(due);
            return Ok(number.filter(|_| before.is_some_and(|before| !before.gone)));
        }
        if self.reports.len() >= MAX_REPORTS {
            self.full = true;
            return Ok(number);
        }
        let draft = draft::draft(&turn.view(), one)?;
        let shape = shape(&draft)?;
        let goes_on = draft.end.is_none_or(|end| end > turn.now);
        if let Some(before) = before.filter(|before| goes_on && !before.gone && before.shape == shape) {
            let due = before.at.plus(COUNTS_AFTER);
            if due > turn.now {
                self.look_again_at(due);
                return Ok(number);
            }
        }
        let event = match number {
            Some(number) => number,
            None => {
                let work = ChangeWork { last_event: work.last_event + 1, ..work };
                WORK.put(turn, &(), &work)?;
                work.last_event
            }
        };
        let (subjects, start, end) = (place.subjects.clone(), place.start, place.end);
        let row = ReportedEvent { subjects, start, end, inputs, shape, at: turn.now, gone: false };
        REPORTED.put(turn, &(event,), &row)?;
        self.reports.push(ReportEvent { event, draft: Some(draft), merged_into: None });
        Ok(Some(event))
    }

    fn vanished(&mut self, turn: &mut Turn<'_>, number: u64, row: &ReportedEvent, into: Option<u64>) -> Result<()> {
        if self.reports.len() >= MAX_REPORTS {
            self.full = true;
            return Ok(());
        }
        REPORTED.put(turn, &(number,), &ReportedEvent { gone: true, ..row.clone() })?;
        self.reports.push(ReportEvent { event: number, draft: None, merged_into: into });
        Ok(())
    }
}
