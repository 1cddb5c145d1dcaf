//! The data of an incident (decision incident-grades).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::unknown::Unknown;
use crate::Timestamp;
use crypto::encoding::encode_hex;
use engine::kv::{Row, StoreError, appended};

/// Rows of evidence that one incident keeps, at most. `evidence_total` counts all of them.
pub const MAX_EVIDENCE: usize = 50;

/// The type of an incident. `disruption` is lost connectivity that nobody is known to have ordered. It is never citable
/// as censorship alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IncidentType {
    Censorship,
    Disruption,
    Mixed,
}

impl IncidentType {
    pub const ALL: [IncidentType; 3] = [IncidentType::Censorship, IncidentType::Disruption, IncidentType::Mixed];

    pub fn parse(text: &str) -> Option<IncidentType> {
        IncidentType::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(text))
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            IncidentType::Censorship => "censorship",
            IncidentType::Disruption => "disruption",
            IncidentType::Mixed => "mixed",
        }
    }

    /// Whether an incident of this type may be cited as censorship, unless it is only suspected.
    pub const fn is_censorship(self) -> bool {
        !matches!(self, IncidentType::Disruption)
    }
}

/// The grade of severity (decision incident-grades).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Low,
    Medium,
    High,
    Critical,
}

impl Severity {
    pub const ALL: [Severity; 4] = [Severity::Low, Severity::Medium, Severity::High, Severity::Critical];

    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }

    pub fn parse(text: &str) -> Option<Severity> {
        Severity::ALL.into_iter().find(|severity| severity.as_str().eq_ignore_ascii_case(text))
    }
}

/// The state of an incident (decision incident-grades).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "IncidentStatus")]
pub enum Status {
    /// Seen by one source on one network, or a silence that no other source reports. Not citable.
    Suspected,
    Active,
    /// No blocked vote was measured for 96 hours, or its source named the end, or nothing newer has been known for so
    /// long that nobody can say that it goes on (decision age-limit).
    Resolved,
}

impl Status {
    pub const ALL: [Status; 3] = [Status::Suspected, Status::Active, Status::Resolved];

    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Suspected => "suspected",
            Status::Active => "active",
            Status::Resolved => "resolved",
        }
    }

    pub fn parse(text: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.as_str().eq_ignore_ascii_case(text))
    }
}

/// `<CC>-<year>-<sequence>`. The year is the one in which the incident began, as it was first recorded; the sequence is
/// padded to 4 digits. Never renumbered, never reused (decision incident-ids).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ReadableId {
    pub country: String,
    pub year: u16,
    pub sequence: u32,
}

/// What both ids of an incident look like.
pub const INCIDENT_ID: &str = "^([A-Za-z]{2}-[0-9]{4}-[0-9]{1,9}|[0-9A-Fa-f]{12})$";

impl ReadableId {
    /// Reads an id in upper or lower case; the sequence may have leading zeros.
    pub fn parse(text: &str) -> Option<ReadableId> {
        let mut parts = text.trim().split('-');
        let (country, year, sequence) = (parts.next()?, parts.next()?, parts.next()?);
        let letters = country.len() == 2 && country.bytes().all(|b| b.is_ascii_alphabetic());
        let digits = |text: &str, most: usize| {
            (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if parts.next().is_some() || !letters || year.len() != 4 || !digits(year, 4) || !digits(sequence, 9) {
            return None;
        }
        Some(ReadableId {
            country: country.to_ascii_uppercase(),
            year: year.parse().ok()?,
            sequence: sequence.parse().ok()?,
        })
    }
}

impl fmt::Display for ReadableId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:04}-{:04}", self.country, self.year, self.sequence)
    }
}

/// The other id: 12 hex digits of SHA-256 over the readable id. So each id always leads to the other.
pub fn hash_id(id: &ReadableId) -> String {
    let digest = Sha256::digest(format!("incident/{id}").as_bytes());
    encode_hex(&digest).chars().take(12).collect()
}

/// A network that was affected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AffectedNetwork {
    pub asn: u32,
    pub name: Option<String>,
    /// First and last blocked vote.
    #[schemars(with = "Option<String>")]
    pub first: Option<Timestamp>,
    #[schemars(with = "Option<String>")]
    pub last: Option<Timestamp>,
    /// Blocked votes and all votes between the incident's start and end.
    pub blocked: u32,
    pub votes: u32,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceRow {
    /// 16 hex digits: the beginning of SHA-256 over source, reference and target, so that the same record always has
    /// the same id.
    pub id: String,
    pub source: String,
    /// `measurement`, `outage`, `shutdown`, `block` or `report`.
    pub kind: String,
    /// The method (`dns-blocking`, `http-blocking-timeout`, `outage`, ...).
    pub signal_type: Option<String>,
    /// The record within its source.
    pub source_ref: String,
    /// https address of the record itself.
    pub permalink: Option<String>,
    /// https address of the context.
    pub source_url: Option<String>,
    pub observed_at: Timestamp,
    /// Since when an incident rests on it; `None` before that.
    pub retrieved_at: Option<Timestamp>,
    /// 0 to 1.
    pub confidence: f64,
    pub domain: Option<String>,
    pub asn: Option<u32>,
    pub licence: String,
}
impl Row for EvidenceRow {}

/// What ids of evidence look like, in any case.
pub const EVIDENCE_ID: &str = "^[0-9A-Fa-f]{16}$";

impl EvidenceRow {
    /// The id of a row.
    pub fn id_of(source: &str, source_ref: &str, target: &str) -> String {
        let digest = Sha256::digest(format!("evidence/{source}/{source_ref}/{target}").as_bytes());
        encode_hex(&digest).chars().take(16).collect()
    }
}

/// An incident as its country sees it now. Equal inputs give equal drafts, in whatever order they came (decision
/// order-of-data).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// Platform slug, domain, name of a service, or `internet` when connectivity itself was lost.
    pub subject: String,
    pub kind: IncidentType,
    pub severity: Severity,
    pub status: Status,
    /// 0 to 1 (decision incident-grades).
    pub confidence: f64,
    pub start: Timestamp,
    /// The last blocked vote, or the end that the sources name. Where nobody names one, it is the time when it was last
    /// said to go on ([`Unknown::end`]). `None` while measurements show that it goes on.
    pub end: Option<Timestamp>,
    /// Platform slugs, and other names of services from the sources, in lower case.
    pub services: Vec<String>,
    pub domains: Vec<String>,
    /// Networks on which it was blocked, by number.
    pub networks: Vec<AffectedNetwork>,
    /// Networks with votes between start and end.
    pub networks_tested: u32,
    /// Share of the weight of tested networks that is affected, 0 to 1 (decision weight-of-networks).
    pub weight: f64,
    /// Methods in their normal forms, the most frequent first.
    pub methods: Vec<String>,
    /// Areas, where only parts of the country are affected.
    pub areas: Vec<String>,
    /// The occasion that others state (an election, an exam).
    pub occasion: Option<String>,
    /// `intermittent`, or nothing.
    pub pattern: Option<String>,
    /// When blocked votes follow a schedule: the hours of the day in UTC and the days of the week between which they
    /// fall, in words ("weekdays 04-14 UTC").
    pub schedule: Option<String>,
    /// Identifiers of the sources, sorted.
    pub sources: Vec<String>,
    /// Distinct measurements between start and end, and the share of their votes that say blocked.
    pub measurements: u64,
    pub anomaly_rate: f64,
    /// At most [`MAX_EVIDENCE`] rows, oldest first. Empty once recorded, since the ids then stand for them.
    pub evidence: Vec<EvidenceRow>,
    /// Ids of the recorded rows, in the same order.
    pub evidence_ids: Vec<String>,
    /// Number of all rows, kept or not.
    pub evidence_total: u64,
    /// Strictest licence of the sources.
    pub licence: String,
    pub unknown: Unknown,
    /// When there were enough votes to say that it began, and that it is over. These times are later than `start` and
    /// `end` (decision incident-dates). `None` where nothing was measured, and while it is not over.
    pub declared: Option<Timestamp>,
    pub resolved: Option<Timestamp>,
}

/// The end that an operator sets to say that the incident goes on, whatever the data say.
pub const ONGOING: Timestamp = Timestamp::MAX;

/// Values that an operator set. They take precedence over the data until they are taken back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Overrides {
    pub title: Option<String>,
    pub description: Option<String>,
    pub kind: Option<IncidentType>,
    pub severity: Option<Severity>,
    pub status: Option<Status>,
    pub confidence: Option<f64>,
    pub start: Option<Timestamp>,
    /// [`ONGOING`] removes the end.
    pub end: Option<Timestamp>,
    /// The incident into which an operator merged this one.
    pub merged_into: Option<ReadableId>,
    /// The reason why an operator withdrew it.
    pub retracted: Option<String>,
}

/// The kind of change that made a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    Created,
    Amended,
    /// Amendments of an operator were taken back.
    Restored,
    Merged,
    Retracted,
}

impl Action {
    pub const fn as_str(self) -> &'static str {
        match self {
            Action::Created => "created",
            Action::Amended => "amended",
            Action::Restored => "restored",
            Action::Merged => "merged",
            Action::Retracted => "retracted",
        }
    }
}

/// Who made a version, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub action: Action,
    /// Id of the operator's key ([`engine::secrets::Secrets::admin_key_id`]); `None` when the data changed.
    pub by: Option<String>,
    /// The reason in the words of the operator.
    pub reason: Option<String>,
}

impl Change {
    /// A change that came from the data.
    pub const fn measured(action: Action) -> Self {
        Change { action, by: None, reason: None }
    }
}

/// One version of a recorded incident.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    pub id: ReadableId,
    /// See [`hash_id`].
    pub hash: String,
    /// From 1; each change adds one.
    pub version: u32,
    pub created: Timestamp,
    /// Strictly increasing over all incidents: the cursor of the delta (decision incident-ids).
    pub updated: Timestamp,
    /// What is known of it, combined with what its parts show.
    pub draft: Draft,
    pub overrides: Overrides,
    /// The incident into which the data merged this one. [`Incident::merged_into`] also covers merges by operators.
    pub merged_into: Option<ReadableId>,
    /// The reason why the data withdrew it. A withdrawn incident stays in the delta (decision incident-ids). See
    /// [`Incident::retracted`].
    pub retracted: Option<String>,
    /// Whether it came from data; otherwise an operator made it.
    pub measured: bool,
    /// Incidents that operators merged into this one.
    pub parts: Vec<ReadableId>,
    /// The change that made this version.
    pub change: Change,
    /// What is known of it without its parts. `None` if it has no parts; then `draft` says that.
    pub alone: Option<Box<Draft>>,
    /// The data do not show the incident itself any more, but still show parts of it. So it stays, and consists of
    /// them.
    pub kept: bool,
}
impl Row for Incident {
    const VERSION: u8 = 2;

    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        appended(version, 1, bytes, &[0, 0])
    }
}

impl Incident {
    /// What is known of it alone. `draft` also has what its parts show.
    pub fn own(&self) -> &Draft {
        self.alone.as_deref().unwrap_or(&self.draft)
    }

    /// The same for changing it. [`super::joined::join`] must be called afterwards.
    pub fn own_mut(&mut self) -> &mut Draft {
        self.alone.as_deref_mut().unwrap_or(&mut self.draft)
    }

    pub fn kind(&self) -> IncidentType {
        self.overrides.kind.unwrap_or(self.draft.kind)
    }

    pub fn severity(&self) -> Severity {
        self.overrides.severity.unwrap_or(self.draft.severity)
    }

    /// Whether it was only announced and had not begun when this version was made.
    pub fn is_ahead(&self) -> bool {
        self.start() > self.updated
    }

    /// The operator's value, or else that of the data, except that an incident with a known end in the past does not go
    /// on. An incident that has not begun is suspected, whoever announces it. When an announced beginning or end comes,
    /// a new version is made ([`super::record::Ended`]).
    pub fn status(&self) -> Status {
        if self.is_ahead() {
            return Status::Suspected;
        }
        let ended = self.known_end().is_some_and(|end| end <= self.updated);
        self.overrides.status.unwrap_or(match self.draft.status {
            Status::Active if ended => Status::Resolved,
            Status::Resolved if self.overrides.end == Some(ONGOING) => Status::Active,
            status => status,
        })
    }

    pub fn confidence(&self) -> f64 {
        self.overrides.confidence.unwrap_or(self.draft.confidence)
    }

    pub fn start(&self) -> Timestamp {
        self.overrides.start.unwrap_or(self.draft.start)
    }

    /// Until when it is known to have gone on: its end, or the time when it was last said to go on. `None` while it
    /// goes on.
    pub fn end(&self) -> Option<Timestamp> {
        self.overrides.end.or(self.draft.end).filter(|end| *end != ONGOING)
    }

    /// Whether [`Incident::end`] is only the time when it was last said to go on.
    pub fn is_end_unknown(&self) -> bool {
        self.draft.unknown.end && self.overrides.end.is_none()
    }

    /// The end, if it is known.
    pub fn known_end(&self) -> Option<Timestamp> {
        self.end().filter(|_| !self.is_end_unknown())
    }

    /// For an incident without a known end: when it was last said or seen to go on.
    pub fn last_confirmed(&self) -> Option<Timestamp> {
        match self.is_end_unknown() {
            true => self.end(),
            false if self.end().is_some() => None,
            false => self.last_seen(),
        }
    }

    /// The last blocked vote of any network.
    pub fn last_seen(&self) -> Option<Timestamp> {
        self.draft.networks.iter().filter_map(|network| network.last).max()
    }

    /// Whether [`Incident::start`] is only the time when it was first seen.
    pub fn is_start_unknown(&self) -> bool {
        self.draft.unknown.start && self.overrides.start.is_none()
    }

    /// Whether it rests on reports of others alone, without any measurement.
    pub fn is_reported_alone(&self) -> bool {
        self.measured && self.draft.declared.is_none() && self.draft.measurements == 0
    }

    /// The incident that this one was merged into; its ids lead there. An operator's merge takes precedence over the
    /// data.
    pub fn merged_into(&self) -> Option<&ReadableId> {
        let measured = self.merged_into.as_ref().filter(|_| self.overrides.retracted.is_none());
        self.overrides.merged_into.as_ref().or(measured)
    }

    /// The reason why it was withdrawn.
    pub fn retracted(&self) -> Option<&str> {
        let stands = self.overrides.merged_into.is_none() && !self.kept;
        let measured = self.retracted.as_deref().filter(|_| stands);
        self.overrides.retracted.as_deref().or(measured)
    }

    /// Whether lists show it: it is neither withdrawn nor merged into another incident.
    pub fn is_shown(&self) -> bool {
        self.merged_into().is_none() && self.retracted().is_none()
    }

    /// Whether it can be cited as censorship.
    pub fn is_citable(&self) -> bool {
        self.is_shown() && self.kind().is_censorship() && self.status() != Status::Suspected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_id_form_is_read_back_and_odd_ones_are_refused() {
        let id = ReadableId { country: "KE".into(), year: 2023, sequence: 7 };
        assert_eq!(id.to_string(), "KE-2023-0007");
        for text in ["KE-2023-0007", "ke-2023-7", " KE-2023-0007 ", "KE-2023-000007"] {
            assert_eq!(ReadableId::parse(text).as_ref(), Some(&id), "{text}");
        }
        for text in ["", "KE", "KE-2023", "KE-23-7", "KE-2023-", "KE-2023-7-1", "K1-2023-7", "KE-2023-+7", "KEN-2023-7"]
        {
            assert_eq!(ReadableId::parse(text), None, "{text}");
        }
        assert_eq!(hash_id(&id).len(), 12);
        assert!(hash_id(&id).bytes().all(|byte| byte.is_ascii_hexdigit()));
        let wide = ReadableId { sequence: 123_456, ..id };
        assert_eq!(ReadableId::parse(&wide.to_string()), Some(wide));
    }
}
