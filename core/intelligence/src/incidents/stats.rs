//! `GET /data/incidents/stats`: counts, under the names that both generations of clients use (conflict C1).

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::documents::dataset_version;
use super::model::{IncidentType, Severity, Status};
use super::query::lines;
use super::tables::{CLOCK, Clock, INCIDENTS, IdKey, Line};
use crate::{Result, Timestamp};
use engine::actor::View;
use engine::kv::StoreError;
use facts::licence;
use facts::sentence::{Sentence, Sentences};
use facts::source::Source;

type Counts = BTreeMap<String, u64>;

/// When the first and the last incident began; empty if there are none.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "IncidentDateRange")]
pub struct DateRange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
}

/// Counts of incidents. Nothing in it is ever null, because clients format the numbers without checking.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatsBody {
    pub total: u64,
    #[serde(rename = "totalIncidents")]
    pub total_camel: u64,
    pub citable_censorship: u64,
    pub citable_with_evidence: u64,
    pub citable_multi_source: u64,
    pub citable_breakdown_note: Sentence,
    /// Rows that can be read at `/data/evidence/{id}`. Also as `totalEvidence`.
    pub total_evidence: u64,
    #[serde(rename = "totalEvidence")]
    #[schemars(skip)]
    pub total_evidence_camel: u64,
    /// The sum equals `total_evidence`.
    pub evidence_by_source: Counts,
    /// The same counts under another name that clients read (decision what-numbers-mean).
    #[serde(rename = "bySource")]
    pub by_source: Counts,
    /// Incidents by source. An incident with two sources counts for both.
    #[serde(rename = "incidentsBySource")]
    pub incidents_by_source: Counts,
    #[serde(rename = "bySeverity")]
    pub by_severity: Counts,
    #[serde(rename = "byCountry")]
    pub by_country: Counts,
    #[serde(rename = "byType")]
    pub by_type: Counts,
    #[serde(rename = "byStatus")]
    pub by_status: Counts,
    pub date_range: DateRange,
    pub dataset_version: String,
    pub generated_at_utc: String,
    /// Strictest licence of the incidents and of their evidence.
    pub license: String,
    pub sentences: Sentences,
}

const NOTE: Sentence = Sentence::new("incident.citable_note");

/// Counts the shown incidents, from their lines alone.
pub fn stats(view: &View<'_>) -> Result<StatsBody> {
    let zeros = |names: &[&str]| -> Counts { names.iter().map(|name| ((*name).to_owned(), 0)).collect() };
    let changed = CLOCK.get(view, &())?.map(|Clock(at)| at);
    let mut body = StatsBody {
        total: 0,
        total_camel: 0,
        citable_censorship: 0,
        citable_with_evidence: 0,
        citable_multi_source: 0,
        citable_breakdown_note: NOTE,
        total_evidence: 0,
        total_evidence_camel: 0,
        evidence_by_source: Counts::new(),
        by_source: Counts::new(),
        incidents_by_source: Counts::new(),
        by_severity: zeros(&Severity::ALL.map(Severity::as_str)),
        by_country: Counts::new(),
        by_type: zeros(&IncidentType::ALL.map(IncidentType::as_str)),
        by_status: zeros(&Status::ALL.map(Status::as_str)),
        date_range: DateRange::default(),
        dataset_version: dataset_version(changed, view.now),
        generated_at_utc: view.now.to_string(),
        license: String::new(),
        sentences: Sentences::new().with("citable_breakdown_note", NOTE),
    };
    let count = |counts: &mut Counts, name: &str, by: u64| *counts.entry(name.to_owned()).or_default() += by;
    let mut licences: BTreeSet<String> = BTreeSet::new();
    let mut range: Option<(Timestamp, Timestamp)> = None;
    lines(view, None, |key, (start, line)| {
        body.total += 1;
        body.citable_censorship += u64::from(line.citable);
        body.citable_with_evidence += u64::from(line.citable && line.linked);
        body.citable_multi_source += u64::from(line.citable && line.sources.len() >= 2);
        count(&mut body.by_country, &key.0, 1);
        count(&mut body.by_severity, line.severity.as_str(), 1);
        count(&mut body.by_type, line.kind.as_str(), 1);
        count(&mut body.by_status, line.status.as_str(), 1);
        line.sources.iter().for_each(|source| count(&mut body.incidents_by_source, source, 1));
        for (source, rows) in &line.evidence {
            count(&mut body.evidence_by_source, source, u64::from(*rows));
            body.total_evidence += u64::from(*rows);
        }
        if line.licence.is_empty() {
            licences.extend(licence_by_sources(view, &key, &line)?);
        } else if !licences.contains(&line.licence) {
            licences.insert(line.licence);
        }
        range = range.map_or(Some((start, start)), |(first, last)| Some((first.min(start), last.max(start))));
        Ok(true)
    })?;
    body.total_camel = body.total;
    body.total_evidence_camel = body.total_evidence;
    body.by_source = body.evidence_by_source.clone();
    if let Some((first, last)) = range {
        body.date_range = DateRange { first: Some(first.to_string()), last: Some(last.to_string()) };
    }
    body.license = licence::effective(licences.iter().map(String::as_str));
    Ok(body)
}

/// The licences for a line that states none: those of its sources, or that of the incident where an operator named
/// other sources.
fn licence_by_sources(view: &View<'_>, key: &IdKey, line: &Line) -> Result<Vec<String>, StoreError> {
    let sources: Option<Vec<Source>> = line.sources.iter().map(|source| Source::by_id(source)).collect();
    Ok(match sources {
        Some(sources) => sources.iter().map(|source| source.licence_under(view.settings).to_owned()).collect(),
        None => INCIDENTS.get(view, key)?.map(|incident| incident.draft.licence).into_iter().collect(),
    })
}
