//! `GET /data/incidents/{id}/evidence` and `GET /data/evidence/{id}` (spec intelligence 6.4, 6.11).

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::detail::asked;
use crate::analytics::tabular::{Tabular, as_csv, wants_csv};
use crate::http::{Cx, Response};
use crate::incidents::actor;
use crate::incidents::model::EvidenceRow;
use crate::incidents::query::{EvidenceById, EvidenceOf};
use crate::{Error, Result, licence, runtime};

/// One piece of evidence.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceBody {
    pub id: String,
    pub source: String,
    pub kind: String,
    pub signal_type: Option<String>,
    /// https, the record itself.
    pub permalink: Option<String>,
    /// https, context.
    pub source_url: Option<String>,
    pub source_ref: String,
    pub observed_at: String,
    /// Since when an incident here rests on it.
    pub retrieved_at: Option<String>,
    /// 0 to 1.
    pub confidence: f64,
    pub domain: Option<String>,
    /// `AS<number>`.
    pub asn: Option<String>,
    pub license: String,
}

impl From<EvidenceRow> for EvidenceBody {
    fn from(row: EvidenceRow) -> Self {
        EvidenceBody {
            id: row.id,
            source: row.source,
            kind: row.kind,
            signal_type: row.signal_type,
            permalink: row.permalink,
            source_url: row.source_url,
            source_ref: row.source_ref,
            observed_at: row.observed_at.to_string(),
            retrieved_at: row.retrieved_at.map(|at| at.to_string()),
            confidence: row.confidence,
            domain: row.domain,
            asn: row.asn.map(|asn| format!("AS{asn}")),
            license: row.licence,
        }
    }
}

/// How far independent sources agree.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Corroboration {
    /// Two tests of one project are one source (ruling intelligence 30).
    pub independent_sources: usize,
    pub sources: Vec<String>,
    /// Sources among the rows.
    pub sampled_sources: usize,
    /// Share of the sources that have rows here, 0 to 1.
    pub agreement: f64,
}

/// The evidence of an incident, with the members of both generations of readers (conflict C2).
#[derive(Debug, Serialize, JsonSchema)]
pub struct EvidenceList {
    pub incident_id: String,
    #[serde(rename = "incidentId")]
    pub incident_id_camel: String,
    #[serde(rename = "readableId")]
    pub readable_id: String,
    /// All there is; the rows are at most 50 of the incident and of each of eight merged into it.
    pub count: u64,
    #[serde(rename = "evidenceCount")]
    pub count_camel: u64,
    /// Oldest first.
    pub evidence: Vec<EvidenceBody>,
    pub corroboration: Corroboration,
    pub license: String,
}

/// The rows as CSV.
const TABLE: Tabular = Tabular {
    name: "evidence",
    list: "evidence",
    inner: None,
    columns: &[
        "id",
        "source",
        "kind",
        "signalType",
        "permalink",
        "sourceUrl",
        "sourceRef",
        "observedAt",
        "retrievedAt",
        "confidence",
        "domain",
        "asn",
    ],
};

pub async fn list(cx: Cx) -> Result<Response> {
    let (incident, max_age) = asked(&cx).await?;
    let sources = &incident.draft.sources;
    let ids = incident.draft.evidence_ids.clone();
    let mut rows = runtime::query(&*cx.rt, actor().name, &EvidenceOf { ids }).await?;
    rows.sort_by(|a, b| (a.observed_at, &a.id).cmp(&(b.observed_at, &b.id)));
    let sampled: BTreeSet<&str> = rows.iter().map(|row| row.source.as_str()).collect();
    let agreement =
        if sources.is_empty() { 0.0 } else { sampled.len() as f64 / sources.len().max(sampled.len()) as f64 };
    let corroboration = Corroboration {
        independent_sources: sources.len(),
        sampled_sources: sampled.len(),
        agreement: crate::country::round(agreement),
        sources: sources.clone(),
    };
    let license =
        licence::effective(rows.iter().map(|row| row.licence.as_str()).chain([incident.draft.licence.as_str()]));
    let count = incident.draft.evidence_total.max(rows.len() as u64);
    let body = EvidenceList {
        incident_id: incident.hash.clone(),
        incident_id_camel: incident.hash,
        readable_id: incident.id.to_string(),
        count,
        count_camel: count,
        evidence: rows.into_iter().map(EvidenceBody::from).collect(),
        corroboration,
        license,
    };
    let response = Response::json(&body)?;
    let response = if wants_csv(&cx)? { as_csv(&TABLE, &body.readable_id, &response)? } else { response };
    cx.tagged(response, max_age)
}

/// One piece of evidence and the incidents that rest on it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EvidencePage {
    #[serde(flatten)]
    pub evidence: EvidenceBody,
    #[serde(rename = "signal_type")]
    pub signal_type_snake: Option<String>,
    pub country: String,
    /// Those whose newest versions rest on it.
    pub incident_ids: Vec<String>,
}

pub async fn one(cx: Cx) -> Result<Response> {
    let id = cx.path("id")?.trim().to_ascii_lowercase();
    let found = runtime::query(&*cx.rt, actor().name, &EvidenceById { id }).await?;
    let (found, country) = found.ok_or_else(|| Error::not_found("There is no such evidence."))?;
    let body = EvidencePage {
        signal_type_snake: found.row.signal_type.clone(),
        country,
        incident_ids: found.incidents.iter().map(ToString::to_string).collect(),
        evidence: found.row.into(),
    };
    cx.tagged(Response::json(&body)?, 0)
}
