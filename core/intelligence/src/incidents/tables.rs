//! Rows of the incidents actor.

use serde::{Deserialize, Serialize};

use super::model::{EvidenceRow, Incident, IncidentType, ReadableId, Severity, Status};
use crate::Timestamp;
use engine::kv::{Row, StoreError, Table, appended};
use facts::licence;
use facts::starter::{Platform, basket};

/// The parts of a readable id, as a key.
pub type IdKey = (String, u32, u32);

pub const INCIDENTS: Table<IdKey, Incident> = Table::new(16);
/// Every version that ever existed, for citations (decision plain-sentences-and-disputes).
pub const VERSIONS: Table<(String, u32, u32, u32), Incident> = Table::new(17);
pub const BY_HASH: Table<(String,), IdRow> = Table::new(18);
/// Incidents that operators wrote.
pub const BY_HAND: Table<IdKey, ()> = Table::new(32);
/// By the number of the event in its country.
pub const BY_EVENT: Table<(String, u64), IdRow> = Table::new(19);
/// The order of changes, with one row per incident at its newest change.
pub const BY_UPDATED: Table<(Timestamp, String, u32, u32), ()> = Table::new(20);
/// Shown incidents by their beginning, for all countries and for each, with the data that filters and counts need.
pub const BY_START: Table<(Timestamp, String, u32, u32), Line> = Table::new(21);
pub const BY_COUNTRY: Table<(String, Timestamp, u32, u32), Line> = Table::new(22);
/// The last sequence number that was given, by country and year.
pub const SEQUENCES: Table<(String, u32), Sequence> = Table::new(23);
pub const EVIDENCE: Table<(String,), Evidence> = Table::new(24);
pub const CLOCK: Table<(), Clock> = Table::new(25);
/// Number of incidents that the search index held when it was last learned.
pub const SEARCHED: Table<(), u64> = Table::new(29);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdRow(pub ReadableId);
impl Row for IdRow {}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence(pub u32);
impl Row for Sequence {}

/// The time of the last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock(pub Timestamp);
impl Row for Clock {}

pub fn key(id: &ReadableId) -> IdKey {
    (id.country.clone(), u32::from(id.year), id.sequence)
}

/// A row of evidence and the incidents that name it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub row: EvidenceRow,
    pub incidents: Vec<ReadableId>,
}
impl Row for Evidence {}

/// The line of an incident in the order of beginnings. It has all that selecting and counting need, so that these do
/// not read the incidents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    pub end: Option<Timestamp>,
    pub updated: Timestamp,
    pub kind: IncidentType,
    pub severity: Severity,
    pub status: Status,
    pub citable: bool,
    /// Platform slugs and domains.
    pub subjects: Vec<String>,
    /// Category codes of the platforms and domains, where the project's own basket has them.
    pub topics: Vec<String>,
    pub sources: Vec<String>,
    /// Rows of evidence that can be looked up, by source.
    pub evidence: Vec<(String, u32)>,
    /// Whether a row of the evidence has a permalink.
    pub linked: bool,
    /// Strictest licence of the incident and its evidence; empty in rows of older versions.
    pub licence: String,
    /// Whether it began before its stated beginning, at an unknown time.
    pub start_unknown: bool,
}
impl Row for Line {
    const VERSION: u8 = 3;

    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        let missing: &[u8] = if version == 1 { &[0, 0] } else { &[0] };
        appended(version, version.clamp(1, 2), bytes, missing)
    }
}

impl Line {
    pub fn new(incident: &Incident, evidence: &[EvidenceRow]) -> Line {
        let draft = &incident.draft;
        let mut subjects: Vec<String> =
            std::iter::once(&draft.subject).chain(&draft.services).chain(&draft.domains).cloned().collect();
        subjects.sort();
        subjects.dedup();
        let mut counts: Vec<(String, u32)> = Vec::new();
        for row in evidence {
            match counts.iter_mut().find(|(source, _)| *source == row.source) {
                Some((_, count)) => *count += 1,
                None => counts.push((row.source.clone(), 1)),
            }
        }
        Line {
            end: incident.end(),
            updated: incident.updated,
            kind: incident.kind(),
            severity: incident.severity(),
            status: incident.status(),
            citable: incident.is_citable(),
            topics: topics(&subjects),
            subjects,
            sources: draft.sources.clone(),
            evidence: counts,
            linked: evidence.iter().any(|row| row.permalink.is_some()),
            licence: licence::effective(
                std::iter::once(&draft.licence).chain(evidence.iter().map(|row| &row.licence)).map(String::as_str),
            ),
            start_unknown: incident.is_start_unknown(),
        }
    }
}

/// Category codes of platforms and domains.
fn topics(subjects: &[String]) -> Vec<String> {
    let platform = |subject: &str| Platform::by_slug(subject).into_iter().flat_map(Platform::domains);
    let mut codes: Vec<String> = subjects
        .iter()
        .flat_map(|subject| basket::category(subject).into_iter().chain(platform(subject).filter_map(basket::category)))
        .map(str::to_owned)
        .collect();
    codes.sort();
    codes.dedup();
    codes
}
