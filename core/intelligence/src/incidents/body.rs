//! The incident as answers show it, with every member that any client reads.

use schemars::JsonSchema;
use serde::Serialize;

use super::model::{AffectedNetwork, Incident, IncidentType, Severity, Status};
use super::text;
use crate::{Timestamp, world};
use engine::settings::Settings;
use facts::sentence::{Sentence, Sentences};

/// An incident in a list, a detail, an export, the delta or a search result.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentBody {
    /// 12 hexadecimal digits.
    pub id: String,
    /// The readable id, `<CC>-<year>-<sequence>` (conflict C3).
    pub hash_id: String,
    /// Also as `readable_id`.
    pub readable_id: String,
    #[serde(rename = "readable_id")]
    #[schemars(skip)]
    pub readable_id_snake: String,
    pub incident_hash: String,
    /// From 1. `permalink` with `?version=` leads to this version for ever.
    pub version: u32,
    pub country: String,
    /// Also as `country_name`.
    pub country_name: String,
    #[serde(rename = "country_name")]
    #[schemars(skip)]
    pub country_name_snake: String,
    pub flag: String,
    pub title: String,
    /// The operator's words, or the summary if there are none.
    pub description: String,
    /// One plain sentence with numbers.
    pub summary: String,
    pub severity: Severity,
    pub incident_type: IncidentType,
    pub status: Status,
    /// 0 to 1 (decision incident-grades).
    pub confidence: f64,
    /// Share of the votes between start and end that say blocked, 0 to 1.
    pub anomaly_rate: f64,
    pub measurement_count: u64,
    /// All evidence, of which the incident itself keeps at most 50 rows.
    pub evidence_count: u64,
    pub start_time: String,
    /// Whether it already went on when it was first measured, at `startTime`. It began before, and it is not known
    /// when.
    pub start_unknown: bool,
    /// Absent while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<String>,
    /// Whether nobody said when it ended. It stays active for some time after it was last said to go on, and is
    /// resolved later. Then `endTime` equals `lastConfirmedAt`.
    pub end_unknown: bool,
    /// When it was last said or measured to go on; absent where the end is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_confirmed_at: Option<String>,
    /// When there was enough data to say that it began, and that it is over. These times are later than the dates
    /// themselves. Absent where nothing was measured, and while it is not over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_time: Option<String>,
    /// Also as `created_at`.
    pub created_at: String,
    #[serde(rename = "created_at")]
    #[schemars(skip)]
    pub created_at_snake: String,
    /// With six fractional digits, since it is the cursor of the delta.
    pub updated_at: String,
    pub sources: Vec<String>,
    pub affected_services: Vec<String>,
    pub affected_domains: Vec<String>,
    /// `AS<number>`.
    pub affected_asns: Vec<String>,
    pub domains: Vec<String>,
    pub blocking_methods: Vec<String>,
    pub networks_blocked: usize,
    pub networks_tested: u32,
    /// Share of the weight of tested networks that is affected, 0 to 1.
    pub share_affected: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub areas: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occasion: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// Whether its type is censorship or mixed, and it is more than suspected.
    pub citable: bool,
    pub not_known: Vec<String>,
    pub permalink: String,
    /// Address of this version, for ever.
    pub citation_url: String,
    pub report_url: String,
    /// Strictest licence of the sources (decision licence-and-removal).
    pub license: String,
    /// The id of the incident that it was merged into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged_into: Option<String>,
    /// Incidents that operators merged into this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub merged_from: Vec<String>,
    /// Why it was withdrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retracted: Option<String>,
    /// The codes of `title`, `summary` and `notKnown`. A title that an operator wrote has none.
    pub sentences: Sentences,
}

impl IncidentBody {
    pub fn new(incident: &Incident, settings: &Settings) -> IncidentBody {
        IncidentBody::said(incident, text::sentence(incident), settings)
    }

    /// The incident as it was at a moment; `None` where it had not begun. Version and changes are those of today.
    pub fn at(incident: &Incident, at: Timestamp, settings: &Settings) -> Option<IncidentBody> {
        let then = incident.at(at)?;
        let body = IncidentBody::said(&then.incident, then.summary, settings);
        Some(IncidentBody { updated_at: incident.updated.to_micros_text(), ..body })
    }

    fn said(incident: &Incident, summary: Sentence, settings: &Settings) -> IncidentBody {
        let draft = &incident.draft;
        let id = incident.id.to_string();
        let country_name = world::name(&incident.id.country);
        let created = incident.created.to_string();
        let permalink = permalink(incident, settings);
        let goes_on = incident.is_end_unknown() && incident.status() == Status::Active;
        let not_known = text::not_known(incident);
        let written = incident.overrides.description.as_ref().filter(|text| !text.is_empty());
        IncidentBody {
            id: incident.hash.clone(),
            hash_id: id.clone(),
            readable_id: id.clone(),
            readable_id_snake: id,
            incident_hash: incident.hash.clone(),
            version: incident.version,
            country: incident.id.country.clone(),
            country_name: country_name.clone(),
            country_name_snake: country_name,
            flag: flag(&incident.id.country),
            title: text::title(incident),
            description: written.cloned().unwrap_or_else(|| summary.english()),
            severity: incident.severity(),
            incident_type: incident.kind(),
            status: incident.status(),
            confidence: incident.confidence(),
            anomaly_rate: draft.anomaly_rate,
            measurement_count: draft.measurements,
            evidence_count: draft.evidence_total,
            start_time: incident.start().to_string(),
            start_unknown: incident.is_start_unknown(),
            end_time: incident.end().filter(|_| !goes_on).map(|end| end.to_string()),
            end_unknown: incident.is_end_unknown(),
            last_confirmed_at: incident.last_confirmed().map(|at| at.to_string()),
            declared_time: draft.declared.map(|at| at.to_string()),
            resolved_time: draft.resolved.map(|at| at.to_string()),
            created_at: created.clone(),
            created_at_snake: created,
            updated_at: incident.updated.to_micros_text(),
            sources: draft.sources.clone(),
            affected_services: draft.services.clone(),
            affected_domains: draft.domains.clone(),
            affected_asns: draft.networks.iter().map(|network| format!("AS{}", network.asn)).collect(),
            domains: draft.domains.clone(),
            blocking_methods: draft.methods.clone(),
            networks_blocked: draft.networks.len(),
            networks_tested: draft.networks_tested,
            share_affected: draft.weight,
            areas: draft.areas.clone(),
            occasion: draft.occasion.clone(),
            pattern: draft.pattern.clone(),
            schedule: draft.schedule.clone(),
            citable: incident.is_citable(),
            citation_url: format!("{permalink}?version={}", incident.version),
            report_url: format!("{permalink}/report?format=markdown"),
            permalink,
            license: draft.licence.clone(),
            merged_into: incident.merged_into().map(ToString::to_string),
            merged_from: incident.parts.iter().map(ToString::to_string).collect(),
            retracted: incident.retracted().map(str::to_owned),
            sentences: Sentences::new()
                .with("title", text::title_made(incident))
                .with("summary", &summary)
                .with("notKnown", &not_known)
                .with("retracted", incident.retracted().and_then(Sentence::of_text)),
            summary: summary.english(),
            not_known: not_known.iter().map(Sentence::english).collect(),
        }
    }
}

impl IncidentBody {
    /// The description, if somebody wrote one.
    pub fn written(&self) -> Option<&str> {
        (self.description != self.summary).then_some(self.description.as_str())
    }
}

/// The address of an incident.
pub fn permalink(incident: &Incident, settings: &Settings) -> String {
    format!("{}/data/incidents/{}", settings.base_url(), incident.id)
}

/// The address of its page for people.
pub fn page(incident: &Incident, settings: &Settings) -> String {
    format!("{}{}", settings.base_url(), page_path(&incident.id.to_string()))
}

/// The same as a path of this server.
pub fn page_path(id: &str) -> String {
    format!("/incident/{id}")
}

/// The two regional indicator letters of a country code.
fn flag(code: &str) -> String {
    code.bytes()
        .filter_map(|b| char::from_u32(0x1F1E6 + u32::from(b.to_ascii_uppercase().checked_sub(b'A')?)))
        .collect()
}

/// An affected network in a detail.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NetworkBody {
    pub asn: String,
    pub name: Option<String>,
    /// First and last blocked vote, ISO 8601.
    pub first: Option<String>,
    pub last: Option<String>,
    /// Votes that say blocked, and all votes, between start and end.
    pub blocked: u32,
    pub votes: u32,
}

impl From<&AffectedNetwork> for NetworkBody {
    fn from(network: &AffectedNetwork) -> Self {
        NetworkBody {
            asn: format!("AS{}", network.asn),
            name: network.name.clone(),
            first: network.first.map(|at| at.to_string()),
            last: network.last.map(|at| at.to_string()),
            blocked: network.blocked,
            votes: network.votes,
        }
    }
}
