//! Changes that operators make to incidents. Each change is a version with its author, time and reason, and appears in
//! the delta. An operator's value takes precedence over later data until it is taken back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::joined::rejoin;
use super::model::{Action, Change, Draft, Incident, ONGOING, Overrides, ReadableId, Status};
use super::query::{follow, resolve};
use super::record::{open, save};
use super::tables::{INCIDENTS, VERSIONS, key};
use crate::{Error, Result, Timestamp};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::Direction;

/// Makes an incident that does not come from data.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Create {
    pub country: String,
    pub draft: Draft,
    pub overrides: Overrides,
    /// Id of the operator's key, and the reason.
    pub by: String,
    pub reason: String,
}

impl Operation for Create {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "create";
    type Reply = Incident;

    fn run(self, turn: &mut Turn<'_>) -> Result<Incident> {
        let change = Change { action: Action::Created, by: Some(self.by), reason: Some(self.reason) };
        open(turn, &self.country, self.draft, self.overrides, change)
    }
}

/// A member of [`Overrides`], under its name in requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "IncidentField")]
pub enum Field {
    Title,
    Description,
    Type,
    Severity,
    Status,
    Confidence,
    Start,
    End,
    /// The merge into another incident.
    Merge,
    /// The withdrawal of the incident.
    Retraction,
}

impl Field {
    pub const ALL: [Field; 10] = [
        Field::Title,
        Field::Description,
        Field::Type,
        Field::Severity,
        Field::Status,
        Field::Confidence,
        Field::Start,
        Field::End,
        Field::Merge,
        Field::Retraction,
    ];
}

/// The kind of change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Deed {
    /// Sets the values that are given; the others stay.
    Amend(Box<Overrides>),
    /// Takes amendments back: those that are named, or all if none is named.
    Restore(Vec<Field>),
    /// Merges it into the incident with this id.
    Merge(String),
    Retract,
}

/// Makes a change to the incident with this id, which may be either of its two ids.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OperateIncident {
    pub id: String,
    /// If given, the change is refused when the incident has another version.
    pub version: Option<u32>,
    pub deed: Deed,
    /// Id of the operator's key, and the reason.
    pub by: String,
    pub reason: String,
}

impl Operation for OperateIncident {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "operate";
    type Reply = Incident;

    fn run(self, turn: &mut Turn<'_>) -> Result<Incident> {
        let unknown = || Error::not_found("There is no such incident.");
        let id = resolve(&turn.view(), &self.id)?.ok_or_else(unknown)?;
        let incident = INCIDENTS.get(turn, &key(&id))?.ok_or_else(unknown)?;
        if self.version.is_some_and(|version| version != incident.version) {
            return Err(Error::conflict(format!("The incident is now at version {}.", incident.version)));
        }
        let mut next = incident.clone();
        if let (Deed::Amend(_) | Deed::Retract, Some(whole)) = (&self.deed, incident.merged_into()) {
            return Err(Error::conflict(format!(
                "This incident is a part of {whole}, which readers are led to; take the merge back first."
            )));
        }
        if self.deed == Deed::Retract && !incident.parts.is_empty() {
            return Err(Error::conflict(
                "Other incidents are parts of this one; take back their merges first, which separates them.",
            ));
        }
        let action = perform(turn, &mut next, self.deed, &self.reason)?;
        if next.end().is_some_and(|end| end < next.start()) {
            return Err(Error::bad_request("`end` must not be before `start`."));
        }
        if next == incident {
            return Ok(incident);
        }
        next.change = Change { action, by: Some(self.by), reason: Some(self.reason) };
        let (before, after) = (incident.overrides.merged_into.clone(), next.overrides.merged_into.clone());
        if before != after {
            let id = &incident.id;
            if let Some(whole) = before {
                rejoin(turn, &whole, &next.change, |parts| parts.retain(|part| part != id))?;
            }
            if let Some(whole) = after {
                rejoin(turn, &whole, &next.change, |parts| parts.push(id.clone()))?;
            }
        }
        save(turn, Some(incident), next)
    }
}

/// Changes the operator's part of an incident.
fn perform(turn: &mut Turn<'_>, incident: &mut Incident, deed: Deed, reason: &str) -> Result<Action> {
    match deed {
        Deed::Amend(patch) => {
            amend(&mut incident.overrides, *patch);
            let overrides = &incident.overrides;
            if (overrides.status, overrides.end) == (Some(Status::Resolved), Some(ONGOING)) {
                return Err(Error::bad_request("`status` cannot be `resolved` while `end` is `ongoing`."));
            }
            Ok(Action::Amended)
        }
        Deed::Restore(fields) => {
            let fields = if fields.is_empty() { Field::ALL.to_vec() } else { fields };
            let made = made(turn, &incident.id)?;
            fields.into_iter().for_each(|field| restore(&mut incident.overrides, field, &made));
            Ok(Action::Restored)
        }
        Deed::Merge(into) => {
            incident.overrides.merged_into = Some(target(&turn.view(), incident, &into)?);
            incident.overrides.retracted = None;
            Ok(Action::Merged)
        }
        Deed::Retract => {
            incident.overrides.retracted = Some(reason.to_owned());
            incident.overrides.merged_into = None;
            Ok(Action::Retracted)
        }
    }
}

fn amend(overrides: &mut Overrides, patch: Overrides) {
    fn set<T>(member: &mut Option<T>, given: Option<T>) {
        if given.is_some() {
            *member = given;
        }
    }
    set(&mut overrides.title, patch.title);
    set(&mut overrides.description, patch.description);
    set(&mut overrides.kind, patch.kind);
    set(&mut overrides.severity, patch.severity);
    set(&mut overrides.status, patch.status);
    set(&mut overrides.confidence, patch.confidence);
    set(&mut overrides.start, patch.start);
    set(&mut overrides.end, patch.end);
}

/// The values that an operator gave when making the incident; empty for an incident from data.
fn made(turn: &Turn<'_>, id: &ReadableId) -> Result<Overrides> {
    let first = VERSIONS.scan(turn, &VERSIONS.prefix(&key(id)), Direction::Ascending, 1)?.pop();
    let by_hand = |row: &Incident| row.change.action == Action::Created && row.change.by.is_some();
    Ok(first.map(|(_, row)| row).filter(by_hand).map(|row| row.overrides).unwrap_or_default())
}

fn restore(overrides: &mut Overrides, field: Field, made: &Overrides) {
    match field {
        Field::Title => overrides.title.clone_from(&made.title),
        Field::Description => overrides.description.clone_from(&made.description),
        Field::Type => overrides.kind = None,
        Field::Severity => overrides.severity = None,
        Field::Status => overrides.status = None,
        Field::Confidence => overrides.confidence = None,
        Field::Start => overrides.start = None,
        Field::End => overrides.end = None,
        Field::Merge => overrides.merged_into = None,
        Field::Retraction => overrides.retracted = None,
    }
}

/// The shown incident into which another one can be merged.
fn target(view: &View<'_>, incident: &Incident, into: &str) -> Result<ReadableId> {
    let unknown = || Error::not_found("There is no incident to merge it into.");
    let end = follow(view, resolve(view, into)?.ok_or_else(unknown)?)?.ok_or_else(unknown)?;
    if end.id == incident.id {
        return Err(Error::conflict("An incident cannot become a part of itself."));
    }
    if end.id.country != incident.id.country {
        return Err(Error::conflict("The two incidents are in different countries."));
    }
    if !end.is_shown() {
        return Err(Error::conflict("The incident to merge it into was withdrawn."));
    }
    Ok(end.id)
}

/// Asks for the versions of an incident, newest first, at most 200.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Versions {
    pub id: ReadableId,
}

/// When a version was made, and by which change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Version {
    pub version: u32,
    pub at: Timestamp,
    pub change: Change,
}

impl Query for Versions {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "versions";
    type Reply = Vec<Version>;

    fn run(self, view: &View<'_>) -> Result<Vec<Version>> {
        let range = VERSIONS.prefix(&key(&self.id));
        let rows = VERSIONS.scan(view, &range, Direction::Descending, 200)?;
        let version = |row: Incident| Version { version: row.version, at: row.updated, change: row.change };
        Ok(rows.into_iter().map(|(_, row)| version(row)).collect())
    }
}
