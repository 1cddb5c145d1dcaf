//! A country reports what its incidents are now.

use serde::{Deserialize, Serialize};

use super::model::{Draft, Incident, MAX_EVIDENCE, Overrides, ReadableId, hash_id};
use super::tables::{
    BY_COUNTRY, BY_EVENT, BY_HASH, BY_START, BY_UPDATED, CLOCK, Clock, EVIDENCE, INCIDENTS, IdRow, SEQUENCES, Sequence,
    VERSIONS, key,
};
use crate::actor::{Kind, Operation, Turn};
use crate::{Result, Timestamp};

/// What became of one event of a country.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Its number in the country: kept while later data amend the event, never used for another one.
    pub event: u64,
    /// `None` when the data do not show it any more.
    pub draft: Option<Draft>,
    /// With `draft: None`: the event that this one turned out to be a part of.
    pub merged_into: Option<u64>,
}

/// Records what a country reports: new events get ids, changed ones a version more, vanished ones are merged or
/// withdrawn. An unchanged draft changes nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    pub country: String,
    pub reports: Vec<Report>,
}

impl Operation for Record {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "record";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
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
    let id = next_id(turn, country, draft.start)?;
    BY_EVENT.put(turn, &(country.to_owned(), event), &IdRow(id.clone()))?;
    let now = turn.now;
    let incident = Incident {
        hash: hash_id(&id),
        id,
        version: 0,
        created: now,
        updated: now,
        draft,
        overrides: Overrides::default(),
        merged_into: None,
        retracted: None,
    };
    BY_HASH.put(turn, &(incident.hash.clone(),), &IdRow(incident.id.clone()))?;
    save(turn, None, incident)
}

/// A number that no incident of this country and year has had.
fn next_id(turn: &mut Turn<'_>, country: &str, start: Timestamp) -> Result<ReadableId> {
    let year: u16 = start.to_date_text().get(..4).and_then(|year| year.parse().ok()).unwrap_or(1970);
    let at = (country.to_owned(), u32::from(year));
    let Sequence(last) = SEQUENCES.get(turn, &at)?.unwrap_or_default();
    let sequence = last.saturating_add(1);
    SEQUENCES.put(turn, &at, &Sequence(sequence))?;
    Ok(ReadableId { country: country.to_owned(), year, sequence })
}

fn amend(turn: &mut Turn<'_>, incident: Incident, draft: Draft) -> Result<()> {
    // An operator's word that it is no incident stands against the data; the data against their own earlier silence.
    let mut next = incident.clone();
    next.draft = draft;
    keep_evidence(turn, &mut next.draft)?;
    if next.merged_into.is_some() || next.retracted.as_deref() == Some(VANISHED) {
        next.merged_into = None;
        next.retracted = None;
    }
    if next == incident { Ok(()) } else { save(turn, Some(incident), next) }
}

/// The reason given when later data do not show an event any more.
const VANISHED: &str = "The data do not show it any more.";

fn withdraw(turn: &mut Turn<'_>, country: &str, incident: Incident, into: Option<u64>) -> Result<()> {
    let target = match into {
        Some(event) => BY_EVENT.get(turn, &(country.to_owned(), event))?.map(|IdRow(id)| id),
        None => None,
    };
    let mut next = incident.clone();
    match target {
        Some(id) if id != incident.id => next.merged_into = Some(id),
        _ => next.retracted = Some(incident.retracted.clone().unwrap_or_else(|| VANISHED.to_owned())),
    }
    if next == incident { Ok(()) } else { save(turn, Some(incident), next) }
}

/// Puts the evidence in rows of its own and leaves the ids: versions repeat the same rows.
fn keep_evidence(turn: &mut Turn<'_>, draft: &mut Draft) -> Result<()> {
    draft.evidence.truncate(MAX_EVIDENCE);
    for row in std::mem::take(&mut draft.evidence) {
        EVIDENCE.put(turn, &(row.id.clone(),), &row)?;
        draft.evidence_ids.push(row.id);
    }
    Ok(())
}

/// Stores the next version and moves the incident to the end of the order of changes.
pub(super) fn save(turn: &mut Turn<'_>, before: Option<Incident>, mut incident: Incident) -> Result<()> {
    keep_evidence(turn, &mut incident.draft)?;
    let (country, year, sequence) = key(&incident.id);
    if let Some(before) = before {
        BY_UPDATED.delete(turn, &(before.updated, country.clone(), year, sequence));
        BY_START.delete(turn, &(before.start(), country.clone(), year, sequence));
        BY_COUNTRY.delete(turn, &(country.clone(), before.start(), year, sequence));
    }
    incident.updated = tick(turn)?;
    incident.version = incident.version.saturating_add(1);
    BY_UPDATED.put(turn, &(incident.updated, country.clone(), year, sequence), &())?;
    if incident.is_shown() {
        BY_START.put(turn, &(incident.start(), country.clone(), year, sequence), &())?;
        BY_COUNTRY.put(turn, &(country.clone(), incident.start(), year, sequence), &())?;
    }
    VERSIONS.put(turn, &(country, year, sequence, incident.version), &incident)?;
    Ok(INCIDENTS.put(turn, &key(&incident.id), &incident)?)
}

/// A time later than that of every change before.
fn tick(turn: &mut Turn<'_>) -> Result<Timestamp> {
    let last = CLOCK.get(turn, &())?.map_or(Timestamp::MIN, |Clock(last)| last.plus(1));
    let next = turn.now.max(last);
    CLOCK.put(turn, &(), &Clock(next))?;
    Ok(next)
}
