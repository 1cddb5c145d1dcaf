//! Answers about incidents. Parts that are meant for people stay JSON.

use std::ops::Deref;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `GET /data/incidents`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Incidents {
    /// The time that was asked about; absent in answers about now.
    #[serde(default)]
    pub as_of: Option<String>,
    /// Rows in this page.
    pub count: i64,
    /// `YYYY.MM.DD` of the newest change.
    pub dataset_version: String,
    pub generated_at_utc: String,
    pub incidents: Vec<IncidentSummary>,
    /// Strictest licence of the rows.
    pub license: String,
    pub limit: i64,
    /// Null on the last page.
    #[serde(default)]
    pub next_offset: Option<i64>,
    pub offset: i64,
    /// Number of all matching incidents.
    pub total: i64,
}

/// An incident as lists have it. [`Incident`] and [`ChangedIncident`] have these members, and more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IncidentSummary {
    /// `AS<number>`.
    #[serde(rename = "affectedAsns")]
    pub affected_asns: Vec<String>,
    #[serde(rename = "affectedDomains")]
    pub affected_domains: Vec<String>,
    #[serde(rename = "affectedServices")]
    pub affected_services: Vec<String>,
    /// Share of the votes between start and end that say blocked, 0 to 1.
    #[serde(rename = "anomalyRate")]
    pub anomaly_rate: f64,
    #[serde(default)]
    pub areas: Vec<String>,
    #[serde(rename = "blockingMethods")]
    pub blocking_methods: Vec<String>,
    /// Whether its type is censorship or mixed, and it is more than suspected.
    pub citable: bool,
    /// Address of this version, for ever.
    #[serde(rename = "citationUrl")]
    pub citation_url: String,
    /// 0 to 1 (decision incident-grades).
    pub confidence: f64,
    pub country: String,
    /// Also as `country_name`.
    #[serde(rename = "countryName")]
    pub country_name: String,
    /// Also as `created_at`.
    #[serde(rename = "createdAt")]
    pub created_at: String,
    /// When there was enough data to say that it began, and that it is over. These times are later than the dates
    /// themselves. Absent where nothing was measured, and while it is not over.
    #[serde(rename = "declaredTime", default)]
    pub declared_time: Option<String>,
    /// The operator's words, or the summary if there are none.
    pub description: String,
    pub domains: Vec<String>,
    /// Absent while it goes on.
    #[serde(rename = "endTime", default)]
    pub end_time: Option<String>,
    /// Whether nobody said when it ended. It stays active for some time after it was last said to go on, and is
    /// resolved later. Then `endTime` equals `lastConfirmedAt`.
    #[serde(rename = "endUnknown")]
    pub end_unknown: bool,
    /// All evidence, of which the incident itself keeps at most 50 rows.
    #[serde(rename = "evidenceCount")]
    pub evidence_count: i64,
    pub flag: String,
    /// The readable id, `<CC>-<year>-<sequence>`.
    #[serde(rename = "hashId")]
    pub hash_id: String,
    /// 12 hexadecimal digits.
    pub id: String,
    #[serde(rename = "incidentHash")]
    pub incident_hash: String,
    #[serde(rename = "incidentType")]
    pub incident_type: String,
    /// When it was last said or measured to go on; absent where the end is known.
    #[serde(rename = "lastConfirmedAt", default)]
    pub last_confirmed_at: Option<String>,
    /// Strictest licence of the sources (decision licence-and-removal).
    pub license: String,
    #[serde(rename = "measurementCount")]
    pub measurement_count: i64,
    /// Incidents that operators merged into this one.
    #[serde(rename = "mergedFrom", default)]
    pub merged_from: Vec<String>,
    /// The id of the incident that it was merged into.
    #[serde(rename = "mergedInto", default)]
    pub merged_into: Option<String>,
    #[serde(rename = "networksBlocked")]
    pub networks_blocked: i64,
    #[serde(rename = "networksTested")]
    pub networks_tested: i64,
    #[serde(rename = "notKnown")]
    pub not_known: Vec<String>,
    #[serde(default)]
    pub occasion: Option<String>,
    #[serde(default)]
    pub pattern: Option<String>,
    pub permalink: String,
    /// Also as `readable_id`.
    #[serde(rename = "readableId")]
    pub readable_id: String,
    #[serde(rename = "reportUrl")]
    pub report_url: String,
    #[serde(rename = "resolvedTime", default)]
    pub resolved_time: Option<String>,
    /// Why it was withdrawn.
    #[serde(default)]
    pub retracted: Option<String>,
    #[serde(default)]
    pub schedule: Option<String>,
    /// The codes of `title`, `summary` and `notKnown`. A title that an operator wrote has none.
    #[serde(default)]
    pub sentences: Value,
    pub severity: String,
    /// Share of the weight of tested networks that is affected, 0 to 1.
    #[serde(rename = "shareAffected")]
    pub share_affected: f64,
    pub sources: Vec<String>,
    #[serde(rename = "startTime")]
    pub start_time: String,
    /// Whether it already went on when it was first measured, at `startTime`. It began before, and it is not
    /// known when.
    #[serde(rename = "startUnknown")]
    pub start_unknown: bool,
    pub status: String,
    /// One plain sentence with numbers.
    pub summary: String,
    pub title: String,
    /// With six fractional digits, since it is the cursor of the delta.
    #[serde(rename = "updatedAt")]
    pub updated_at: String,
    /// From 1. `permalink` with `?version=` leads to this version for ever.
    pub version: i64,
}

/// One incident with everything that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    #[serde(flatten)]
    pub common: IncidentSummary,
    pub evidence_ids: Vec<String>,
    #[serde(default)]
    pub explain: Option<Value>,
    pub networks: Vec<Network>,
}

impl Deref for Incident {
    type Target = IncidentSummary;

    fn deref(&self) -> &IncidentSummary {
        &self.common
    }
}

/// An affected network in a detail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Network {
    pub asn: String,
    /// Votes that say blocked, and all votes, between start and end.
    pub blocked: i64,
    /// First and last blocked vote, ISO 8601.
    #[serde(default)]
    pub first: Option<String>,
    #[serde(default)]
    pub last: Option<String>,
    #[serde(default)]
    pub name: Option<String>,
    pub votes: i64,
}

/// Incidents changed after `since`, oldest change first. Each is listed once, in its present state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    pub count: i64,
    pub dataset_version: String,
    pub generated_at_utc: String,
    pub has_more: bool,
    pub incidents: Vec<ChangedIncident>,
    pub license: String,
    /// Use this value in the next request. So nothing is missed and nothing comes twice (decision incident-ids).
    pub next_since: String,
    /// The same as in the request.
    pub since: String,
}

/// An incident that changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangedIncident {
    #[serde(flatten)]
    pub common: IncidentSummary,
    /// `created`, `updated`, `merged` (see `mergedInto`) or `retracted` (see `retracted`).
    pub change: String,
}

impl Deref for ChangedIncident {
    type Target = IncidentSummary;

    fn deref(&self) -> &IncidentSummary {
        &self.common
    }
}
