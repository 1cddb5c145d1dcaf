//! Answers about domains, countries and counts. Parts that are meant for people stay JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A check: an answer, and whether the domain can be reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// 1 reachable, 0 blocked, null unknown.
    #[serde(rename = "accessibilityScore", default)]
    pub accessibility_score: Option<f64>,
    #[serde(default)]
    pub accessible: Option<bool>,
    #[serde(default)]
    pub as_of: Option<String>,
    pub basis: String,
    #[serde(rename = "blockingMethod", default)]
    pub blocking_method: Option<String>,
    /// Time of this answer.
    #[serde(rename = "checkedAt")]
    pub checked_at: String,
    pub confidence: f64,
    pub country: String,
    #[serde(rename = "countryName")]
    pub country_name: String,
    /// The domain as asked.
    pub domain: String,
    #[serde(rename = "evidenceCount")]
    pub evidence_count: i64,
    #[serde(rename = "evidenceStrength")]
    pub evidence_strength: f64,
    #[serde(default)]
    pub explanation: Option<Value>,
    /// Time of the newest counted measurement, or of the list.
    #[serde(rename = "lastChecked")]
    pub last_checked: String,
    /// The latest incident about the subject or its platform in this country, if the status is unknown. Not in
    /// answers about many subjects.
    #[serde(rename = "latestIncident", default)]
    pub latest_incident: Option<IncidentLead>,
    pub license: String,
    pub listed: bool,
    pub lists: Vec<ListEntry>,
    pub methods: Vec<String>,
    #[serde(rename = "networksBlocked")]
    pub networks_blocked: i64,
    #[serde(rename = "networksTested")]
    pub networks_tested: i64,
    /// The platform that the subject belongs to. Not in answers about many subjects.
    #[serde(default)]
    pub platform: Option<PlatformLead>,
    #[serde(default)]
    pub reason: Option<String>,
    pub samples: i64,
    #[serde(default)]
    pub scope: Option<String>,
    /// The code of `summary`, or the codes of its sentences.
    #[serde(default)]
    pub sentences: Value,
    pub sources: Vec<String>,
    /// When the newest measurement became too old to count.
    #[serde(rename = "staleSince", default)]
    pub stale_since: Option<String>,
    pub status: String,
    /// The answer in one sentence, followed by sentences about the platform and the latest incident if there are
    /// any.
    pub summary: String,
    #[serde(default)]
    pub technique: Option<String>,
}

/// An incident that an answer names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IncidentLead {
    pub country: String,
    /// Absent while the incident goes on. In answers about the past, absent while it went on then.
    #[serde(rename = "endTime", default)]
    pub end_time: Option<String>,
    /// True if no source said when it ended. Then `endTime` is when it was last said to go on.
    #[serde(rename = "endUnknown")]
    pub end_unknown: bool,
    /// The readable id.
    pub id: String,
    #[serde(default)]
    pub sentences: Value,
    #[serde(rename = "startTime")]
    pub start_time: String,
    pub status: String,
    pub summary: String,
    pub title: String,
    pub url: String,
}

/// A block list that names the subject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListEntry {
    /// The date of the list.
    pub date: String,
    /// `official`, `court`, `leak`, `documented` or `community`.
    pub kind: String,
    /// Since when the list has the entry, if the list says so.
    #[serde(default)]
    pub since: Option<String>,
    /// The source that documents a documented block.
    #[serde(default)]
    pub source: Option<String>,
}

/// The platform that a site belongs to, and its status in the asked country.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlatformLead {
    pub basis: String,
    pub confidence: f64,
    /// Whether the platform is blocked when the site is.
    pub essential: bool,
    #[serde(rename = "evidenceCount")]
    pub evidence_count: i64,
    pub label: String,
    #[serde(rename = "lastChecked")]
    pub last_checked: String,
    /// The role of the site in the platform, such as `website`; null if a target list does not say.
    #[serde(default)]
    pub role: Option<String>,
    #[serde(default)]
    pub sentences: Value,
    pub slug: String,
    #[serde(rename = "staleSince", default)]
    pub stale_since: Option<String>,
    pub status: String,
    pub summary: String,
    pub url: String,
}

/// `/v1/censorship-index/{code}`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Country {
    /// The incidents that are active now; absent in answers about the past.
    #[serde(rename = "activeIncidents")]
    pub active_incidents: Vec<ActiveIncident>,
    #[serde(default)]
    pub as_of: Option<String>,
    /// The country code.
    pub country: String,
    #[serde(rename = "effectiveLicense")]
    pub effective_license: String,
    /// Time of the newest measurement; null if there is none.
    #[serde(rename = "lastChecked", default)]
    pub last_checked: Option<String>,
    pub license: String,
    pub name: String,
    #[serde(default)]
    pub ooni: Option<Value>,
    #[serde(default)]
    pub score: Option<i64>,
    #[serde(rename = "sourceLicenses")]
    pub source_licenses: Vec<SourceLicense>,
    /// When the newest measurement became too old to count; absent while any counts.
    #[serde(rename = "staleSince", default)]
    pub stale_since: Option<String>,
    pub status: String,
    pub timestamp: String,
}

/// `/data/country/{code}`, as far as it says more than [`Country`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountryPage {
    /// Why there is no score; null if there is one.
    #[serde(default)]
    pub reason: Option<String>,
    pub data: Blocked,
}

/// What is blocked in a country.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blocked {
    /// Slugs of platforms that measurements find blocked.
    pub affected_services: Vec<String>,
    /// Domains that measurements find blocked.
    pub blocked_domains: Vec<String>,
    /// What lists and documented facts say is blocked where no measurement decides; at most 50.
    pub listed_blocked: Vec<ListedBlock>,
    /// Entries of lists and facts that count here, including those about sites that measurements decide.
    pub listed_count: i64,
}

/// Something that a list names, and no measurement decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListedBlock {
    /// `known_list`
    pub basis: String,
    /// The date of the list.
    pub date: String,
    /// `official`, `court`, `leak` or `documented`.
    pub kind: String,
    pub label: String,
    /// Since when the list has the entry, if the list says so.
    #[serde(default)]
    pub since: Option<String>,
    /// The source that documents a documented block.
    #[serde(default)]
    pub source: Option<String>,
    /// A domain, or the slug of a platform.
    pub target: String,
}

/// An active incident, as a page lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActiveIncident {
    pub id: String,
    /// The code of `title`, unless an operator wrote it.
    #[serde(default)]
    pub sentences: Value,
    pub severity: String,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
}

/// A source of the numbers, and its licence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceLicense {
    pub license: String,
    pub source: String,
}

/// What measurements vote. The other four sum to `measurement_count`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AggregationCounts {
    /// Measurements that vote blocked without a known block page.
    pub anomaly_count: i64,
    /// Measurements that vote blocked because a known block page was recognised.
    pub confirmed_count: i64,
    /// Measurements without a vote.
    pub failure_count: i64,
    pub measurement_count: i64,
    /// Measurements that vote accessible.
    pub ok_count: i64,
}

/// Counts, and the values on the axes that were asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AggregationRow {
    #[serde(flatten)]
    pub counts: AggregationCounts,
    /// `dns`, `tcp_ip`, `tls`, `http-failure`, `http-diff`; `unknown` if nothing tells how it is blocked, empty if it is
    /// not blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocking_type: Option<String>,
    /// Empty if no list has the domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category_code: Option<String>,
    /// A domain, or a role of a service such as `telegram/pool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The beginning of a span of the grain: a day, or an hour such as `2023-11-08T11:00:00Z`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measurement_start_day: Option<String>,
    /// 0 if the network is withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_asn: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_cc: Option<String>,
    /// Empty if nothing tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_name: Option<String>,
}

/// Rows if there are axes, else the counts of everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AggregationResult {
    Rows(Vec<AggregationRow>),
    All(AggregationCounts),
}

/// What an answer took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DbStats {
    /// Measurements that were read.
    pub row_count: i64,
}

/// `AggregationBody` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Aggregation {
    pub db_stats: DbStats,
    /// Number of axes.
    pub dimension_count: i64,
    /// What they leave out.
    pub left_out: String,
    pub license: String,
    /// What the counts are.
    pub method: String,
    pub result: AggregationResult,
    /// The first moment of the range, and the first after it.
    pub since: String,
    /// The grain of `measurement_start_day`: `hour`, `day`, `week` (from Sunday on), `month` or `year`.
    pub time_grain: String,
    pub until: String,
    /// 0
    pub v: i64,
}
