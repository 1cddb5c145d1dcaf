//! Records the incidents that countries report.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::documents;
use super::joined::{hand_over, join, rejoin};
use super::model::{
    Action, Change, Draft, EvidenceRow, Incident, MAX_EVIDENCE, Overrides, ReadableId, Severity, Status, hash_id,
};
use super::query::{evidence_of, follow};
use super::tables::{
    BY_COUNTRY, BY_EVENT, BY_HAND, BY_HASH, BY_START, BY_UPDATED, CLOCK, Clock, EVIDENCE, Evidence, INCIDENTS, IdRow,
    Line, SEQUENCES, Sequence, VERSIONS, key,
};
use super::text::{INTERNET, title, title_made};
use super::written;
use crate::country::{Active, ShowActive};
use crate::world::Outage;
use crate::{Error, Result, Timestamp, alert};
use engine::actor::{Kind, Operation, Turn, View};
use engine::kv::Direction;
use engine::time::{DAY, HOUR};
use facts::change::constants::MERGE_GAP;
use facts::sentence::Sentence;

/// The present state of one event of a country.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportEvent {
    /// The number of the event in its country. It stays when later data amend the event, and is never used for another
    /// one.
    pub event: u64,
    /// `None` when the data do not show the event any more.
    pub draft: Option<Draft>,
    /// Set only with `draft: None`: the event into which this one was merged.
    pub merged_into: Option<u64>,
}

/// Reports in one [`Record`], at most; more are refused. Each report changes at most [`MAX_EVIDENCE`] rows and fourteen
/// more, and an operation may change at most 1,000 (decision bounded-commits).
pub const MAX_REPORTS: usize = 10;

/// Records the reports of a country. New events get ids, changed events get another version, and vanished ones are
/// merged or withdrawn. An unchanged draft changes nothing.
///
/// # Errors
/// An internal error for more than [`MAX_REPORTS`] reports, which the country must send in several messages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    pub country: String,
    pub reports: Vec<ReportEvent>,
}

impl Operation for Record {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "record";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        if self.reports.len() > MAX_REPORTS {
            return Err(Error::internal(format!("{} reports in one message", self.reports.len())));
        }
        for report in self.reports {
            let known = match BY_EVENT.get(turn, &(self.country.clone(), report.event))? {
                Some(IdRow(id)) => INCIDENTS.get(turn, &key(&id))?,
                None => None,
            };
            match (known, report.draft) {
                (None, None) => {}
                (None, Some(draft)) => create(turn, &self.country, report.event, draft)?,
                (Some(incident), Some(draft)) => amend(turn, incident, draft)?,
                (Some(incident), None) => withdraw(turn, &self.country, incident, report.merged_into)?,
            }
        }
        Ok(())
    }
}

fn create(turn: &mut Turn<'_>, country: &str, event: u64, draft: Draft) -> Result<()> {
    let known = written_before(&turn.view(), country, &draft)?;
    let overrides = Overrides { merged_into: known.clone(), ..Overrides::default() };
    let id = open(turn, country, draft, overrides, Change::measured(Action::Created))?.id;
    BY_EVENT.put(turn, &(country.to_owned(), event), &IdRow(id.clone()))?;
    known.map_or(Ok(()), |whole| show_with(turn, &whole, id))
}

/// Makes what the data show a part of an incident that an operator wrote.
fn show_with(turn: &mut Turn<'_>, whole: &ReadableId, part: ReadableId) -> Result<()> {
    let change = Change { reason: Some(SHOWN_TOO.english()), ..Change::measured(Action::Amended) };
    rejoin(turn, whole, &change, |parts| parts.push(part))
}

/// Times that are nearer than this belong to one event (decision incident-dates), in microseconds.
const NEAR: i64 = MERGE_GAP * HOUR;

/// The reason given when data show an incident that an operator wrote before.
const SHOWN_TOO: Sentence = Sentence::new("incident.change.shown_too");

/// The incident that an operator wrote about the same thing and time. What data show of it later becomes a part of that
/// incident, and no second incident.
fn written_before(view: &View<'_>, country: &str, draft: &Draft) -> Result<Option<ReadableId>> {
    let near = |start: Timestamp, end: Option<Timestamp>| {
        start.plus(-NEAR) <= draft.end.unwrap_or(Timestamp::MAX)
            && draft.start.plus(-NEAR) <= end.unwrap_or(Timestamp::MAX)
    };
    let names = |draft: &Draft| -> BTreeSet<String> {
        std::iter::once(&draft.subject).chain(&draft.services).chain(&draft.domains).cloned().collect()
    };
    let wanted = names(draft);
    let rows = BY_HAND.scan(view, &BY_HAND.prefix(&(country.to_owned(),)), Direction::Ascending, usize::MAX)?;
    for (key, ()) in rows {
        let known = INCIDENTS.get(view, &key)?.filter(Incident::is_shown);
        let same = |known: &Incident| !names(known.own()).is_disjoint(&wanted) && near(known.start(), known.end());
        if let Some(known) = known.filter(same) {
            return Ok(Some(known.id));
        }
    }
    Ok(None)
}

/// Gives a new incident its ids and keeps its first version.
pub(super) fn open(
    turn: &mut Turn<'_>,
    country: &str,
    draft: Draft,
    overrides: Overrides,
    change: Change,
) -> Result<Incident> {
    let id = next_id(turn, country, overrides.start.unwrap_or(draft.start))?;
    let now = turn.now;
    let hash = hash_id(&id);
    BY_HASH.put(turn, &(hash.clone(),), &IdRow(id.clone()))?;
    if change.by.is_some() {
        BY_HAND.put(turn, &key(&id), &())?;
    }
    let incident = Incident {
        id,
        hash,
        version: 0,
        created: now,
        updated: now,
        draft,
        overrides,
        merged_into: None,
        retracted: None,
        measured: change.by.is_none(),
        parts: Vec::new(),
        change,
        alone: None,
        kept: false,
    };
    save(turn, None, incident)
}

/// A number that no incident of this country and year has had before.
fn next_id(turn: &mut Turn<'_>, country: &str, start: Timestamp) -> Result<ReadableId> {
    let year: u16 = start.to_date_text().get(..4).and_then(|year| year.parse().ok()).unwrap_or(1970);
    let at = (country.to_owned(), u32::from(year));
    let Sequence(last) = SEQUENCES.get(turn, &at)?.unwrap_or_default();
    let sequence = last.saturating_add(1);
    SEQUENCES.put(turn, &at, &Sequence(sequence))?;
    Ok(ReadableId { country: country.to_owned(), year, sequence })
}

fn amend(turn: &mut Turn<'_>, incident: Incident, mut draft: Draft) -> Result<()> {
    let mut next = incident.clone();
    keep_evidence(turn, &next.id, &mut draft)?;
    // Takes back an earlier withdrawal by the data. A withdrawal by an operator is in the overrides and stays.
    next.merged_into = None;
    next.retracted = None;
    let whole = match next.measured && next.is_shown() && !was_parted(&turn.view(), &next.id)? {
        true => written_before(&turn.view(), &next.id.country, &draft)?.filter(|whole| !next.parts.contains(whole)),
        false => None,
    };
    if let Some(whole) = &whole {
        next.overrides.merged_into = Some(whole.clone());
    }
    let id = next.id.clone();
    *next.own_mut() = draft;
    join(&turn.view(), &mut next)?;
    changed(turn, incident, next, Action::Amended)?;
    whole.map_or(Ok(()), |whole| show_with(turn, &whole, id))
}

/// Whether an operator took back any amendment of an incident, which may have been its merge.
fn was_parted(view: &View<'_>, id: &ReadableId) -> Result<bool> {
    let rows = VERSIONS.scan(view, &VERSIONS.prefix(&key(id)), Direction::Descending, usize::MAX)?;
    Ok(rows.iter().any(|(_, row)| row.change.action == Action::Restored && row.change.by.is_some()))
}

/// The reason given when all data behind an incident was removed.
pub(super) const SOURCE_GONE: Sentence = Sentence::new("incident.change.source_gone");

/// The reason given when later data do not show an event any more.
const VANISHED: Sentence = Sentence::new("incident.change.vanished");

fn withdraw(turn: &mut Turn<'_>, country: &str, incident: Incident, into: Option<u64>) -> Result<()> {
    let target = match into {
        Some(event) => BY_EVENT.get(turn, &(country.to_owned(), event))?,
        None => None,
    };
    // An operator may have merged the target into this incident. If so, there is no incident to lead to.
    let target = match target {
        Some(IdRow(id)) => follow(&turn.view(), id.clone())?.filter(|end| end.id != incident.id).map(|_| id),
        None => None,
    };
    let mut next = incident.clone();
    let action = if target.is_some() { Action::Merged } else { Action::Retracted };
    next.retracted = target.is_none().then(|| VANISHED.english());
    if let Some(target) = &target {
        hand_over(turn, &mut next, target)?;
    }
    next.merged_into = target;
    join(&turn.view(), &mut next)?;
    changed(turn, incident, next, action)
}

/// Stores a version if the data changed anything.
fn changed(turn: &mut Turn<'_>, before: Incident, mut next: Incident, action: Action) -> Result<()> {
    if next == before {
        return Ok(());
    }
    next.change = Change::measured(action);
    save(turn, Some(before), next).map(|_| ())
}

/// Moves the evidence into rows of its own and keeps only the ids, since versions repeat the same rows.
fn keep_evidence(turn: &mut Turn<'_>, id: &ReadableId, draft: &mut Draft) -> Result<()> {
    draft.evidence.truncate(MAX_EVIDENCE);
    for mut row in std::mem::take(&mut draft.evidence) {
        let key = (row.id.clone(),);
        let known = EVIDENCE.get(turn, &key)?;
        // Rows of sources do not say when they were read here. It is known since when an incident rests on them.
        let since = known.as_ref().and_then(|known| known.row.retrieved_at);
        row.retrieved_at = row.retrieved_at.or(since).or(Some(turn.now));
        let mut incidents = known.as_ref().map_or_else(Vec::new, |known| known.incidents.clone());
        if !incidents.contains(id) {
            incidents.push(id.clone());
        }
        draft.evidence_ids.push(row.id.clone());
        let evidence = Evidence { row, incidents };
        if known.as_ref() != Some(&evidence) {
            EVIDENCE.put(turn, &key, &evidence)?;
        }
    }
    Ok(())
}

/// Stores the next version and moves the incident to the end of the order of changes.
pub(super) fn save(turn: &mut Turn<'_>, before: Option<Incident>, mut incident: Incident) -> Result<Incident> {
    keep_evidence(turn, &incident.id, &mut incident.draft)?;
    incident.updated = tick(turn)?;
    if before.is_none() {
        // The time of the operation is not used. A reader of the delta whose cursor is that time has not seen this
        // incident yet.
        incident.created = incident.updated;
    }
    incident.version = incident.version.saturating_add(1);
    let (country, year, sequence) = key(&incident.id);
    VERSIONS.put(turn, &(country, year, sequence, incident.version), &incident)?;
    replace(turn, before.as_ref(), &incident)?;
    alert::news::tell(turn, before.as_ref(), &incident)?;
    if let Some(whole) = &incident.overrides.merged_into {
        rejoin(turn, whole, &Change::measured(Action::Amended), |_| {})?;
    }
    for (what, at) in [("start", Some(incident.start())), ("end", incident.end())] {
        if let Some(at) = at.filter(|at| *at > incident.updated) {
            turn.schedule(&format!("{what} {}", incident.id), at, &Ended { id: incident.id.clone() })?;
        }
    }
    if let (Some(due), Some(_)) = (outage_fades(&incident), active(&incident).and_then(|active| active.outage)) {
        turn.schedule(&format!("outage {}", incident.id), due, &OutageFades { id: incident.id.clone() })?;
    }
    Ok(incident)
}

/// The beginning or the end of an incident is now in the past. Makes a version, in which an announced incident becomes
/// active, or an active one resolved, so that lists, pages and the delta show it. Changes nothing if that time was
/// moved or taken back meanwhile.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ended {
    pub id: ReadableId,
}

impl Operation for Ended {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "ended";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Some(incident) = INCIDENTS.get(turn, &key(&self.id))? else { return Ok(()) };
        let then = Incident { updated: turn.now.max(incident.updated), ..incident.clone() };
        if !incident.is_shown() || then.status() == incident.status() {
            return Ok(());
        }
        let next = Incident { change: Change::measured(Action::Amended), ..incident.clone() };
        save(turn, Some(incident), next).map(|_| ())
    }
}

/// Stores an incident in every table by which it is found.
pub(super) fn replace(turn: &mut Turn<'_>, before: Option<&Incident>, incident: &Incident) -> Result<()> {
    let (country, year, sequence) = key(&incident.id);
    if let Some(before) = before {
        BY_UPDATED.delete(turn, &(before.updated, country.clone(), year, sequence));
        BY_START.delete(turn, &(before.start(), country.clone(), year, sequence));
        BY_COUNTRY.delete(turn, &(country.clone(), before.start(), year, sequence));
    }
    BY_UPDATED.put(turn, &(incident.updated, country.clone(), year, sequence), &())?;
    if incident.is_shown() {
        let rows: Vec<EvidenceRow> = evidence_of(&turn.view(), &incident.draft.evidence_ids)?;
        let line = Line::new(incident, &rows);
        BY_START.put(turn, &(incident.start(), country.clone(), year, sequence), &line)?;
        BY_COUNTRY.put(turn, &(country, incident.start(), year, sequence), &line)?;
    }
    INCIDENTS.put(turn, &key(&incident.id), incident)?;
    written::keep(turn, incident)?;
    let active = active(incident);
    if before.and_then(self::active) != active {
        turn.send(
            incident.id.country.clone(),
            &ShowActive { id: incident.id.clone(), active, title: title_made(incident) },
        )?;
    }
    documents::changed(turn)
}

/// How long after the last report of lost connectivity the country and the world are shown as cut off, in microseconds.
/// The incident itself stays active longer, but nobody reported the present state. Our choice.
const OUTAGE_STANDS: i64 = 7 * DAY;

/// The time is over for which reports of lost connectivity count for the country as a whole.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OutageFades {
    pub id: ReadableId,
}

impl Operation for OutageFades {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "outage_fades";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Some(incident) = INCIDENTS.get(turn, &key(&self.id))? else { return Ok(()) };
        let told = active(&incident);
        let title = title_made(&incident);
        let now = active(&Incident { updated: turn.now.max(incident.updated), ..incident });
        match now != told {
            true => turn.send(self.id.country.clone(), &ShowActive { id: self.id, active: now, title }),
            false => Ok(()),
        }
    }
}

/// Until when reports of lost connectivity count for the country as a whole; `None` where the incident does not rest on
/// such reports alone.
fn outage_fades(incident: &Incident) -> Option<Timestamp> {
    let last = incident.last_confirmed().filter(|_| incident.is_end_unknown());
    last.map(|last| last.plus(OUTAGE_STANDS))
}

/// What the pages of the country show of an incident: nothing when it is over, withdrawn or only suspected.
fn active(incident: &Incident) -> Option<Active> {
    let ahead = incident.known_end().is_none_or(|end| end > incident.updated);
    let goes_on = incident.is_shown() && incident.status() == Status::Active && ahead;
    goes_on.then(|| Active {
        title: title(incident),
        severity: incident.severity(),
        kind: incident.kind(),
        outage: outage(incident).filter(|_| outage_fades(incident).is_none_or(|due| incident.updated < due)),
    })
}

/// How much of a country an incident cuts off; `None` when it is about a service or a site.
pub fn outage(incident: &Incident) -> Option<Outage> {
    (incident.draft.subject == INTERNET)
        .then(|| if incident.severity() == Severity::Critical { Outage::Full } else { Outage::Partial })
}

/// A time later than that of every change before.
fn tick(turn: &mut Turn<'_>) -> Result<Timestamp> {
    let last = CLOCK.get(turn, &())?.map_or(Timestamp::MIN, |Clock(last)| last.plus(1));
    let next = turn.now.max(last);
    CLOCK.put(turn, &(), &Clock(next))?;
    Ok(next)
}
