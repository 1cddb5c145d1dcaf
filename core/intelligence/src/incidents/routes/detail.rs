//! `GET /data/incidents/{id}`

use http::header::VARY;
use schemars::JsonSchema;
use serde::Serialize;

use crate::country::{Detect, Detection, ExplanationBody, State, sentence};
use crate::incidents::actor;
use crate::incidents::body::{IncidentBody, NetworkBody, page_path};
use crate::incidents::model::Incident;
use crate::incidents::operate::Versions;
use crate::incidents::query::{FindIncident, VersionOf};
use crate::{Error, Result, reference};
use engine::http::{Cx, Response, encoded};
use engine::runtime;
use facts::sentence::{Sentence, Sentences};
use facts::subject::Subject;

/// Seconds for which a version may be kept, since it never changes.
const VERSION_AGE: u32 = 86_400;

/// One incident with everything that is known of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DetailBody {
    #[serde(flatten)]
    pub incident: IncidentBody,
    pub networks: Vec<NetworkBody>,
    pub evidence_ids: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<ExplainBody>,
}

/// The rules and data that made the incident what it is (decision plain-sentences-and-disputes).
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainBody {
    pub severity_rule: Sentence,
    pub status_rule: Sentence,
    pub confidence_rule: Sentence,
    /// Newest first, at most 200.
    pub history: Vec<HistoryBody>,
    /// The time of the verdicts below: the end, or else the last blocked vote, or else now.
    pub as_of: String,
    /// For each subject the rules with their weights, the votes of each network and witnesses, according to the
    /// measurements that are known today; empty when nothing is measured.
    pub verdicts: Vec<VerdictBody>,
    pub sentences: Sentences,
}

/// A version and the change that made it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "IncidentChange")]
pub struct HistoryBody {
    pub version: u32,
    pub at: String,
    pub action: &'static str,
    /// `data` or `operator`.
    pub by: &'static str,
    pub reason: Option<String>,
    /// The code of `reason`, unless somebody wrote it.
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    pub sentences: Sentences,
}

/// The verdict about one subject of the incident.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerdictBody {
    pub subject: String,
    pub status: State,
    pub confidence: f64,
    pub evidence_count: u32,
    pub sentence: Sentence,
    pub explanation: Option<ExplanationBody>,
    pub sentences: Sentences,
}

const SEVERITY: Sentence = Sentence::new("incident.rule.severity");
const STATUS: Sentence = Sentence::new("incident.rule.status");
const CONFIDENCE: Sentence = Sentence::new("incident.rule.confidence");

/// Subjects whose verdicts are explained, at most.
const MAX_EXPLAINED: usize = 8;

async fn explain(cx: &Cx, incident: &Incident) -> Result<ExplainBody> {
    let versions = runtime::query(&*cx.rt, actor().name, &Versions { id: incident.id.clone() }).await?;
    let seen = versions.into_iter().filter(|row| row.version <= incident.version).map(|row| HistoryBody {
        version: row.version,
        at: row.at.to_micros_text(),
        action: row.change.action.as_str(),
        by: if row.change.by.is_some() { "operator" } else { "data" },
        sentences: Sentences::new().with("reason", row.change.reason.as_deref().and_then(Sentence::of_text)),
        reason: row.change.reason,
    });
    let at = incident.end().or_else(|| incident.last_seen()).unwrap_or_else(|| cx.now());
    let draft = &incident.draft;
    let named = std::iter::once(&draft.subject).chain(&draft.services).chain(&draft.domains);
    let mut subjects: Vec<Subject> = Vec::new();
    for name in named {
        let Ok(subject) = reference::subject(&*cx.rt, name).await else { continue };
        if !subjects.contains(&subject) && subjects.len() < MAX_EXPLAINED {
            subjects.push(subject);
        }
    }
    let detect = Detect { subjects, at: Some(at), explain: true, brief: true };
    let answers = runtime::query(&*cx.rt, incident.id.country.clone(), &detect).await?;
    let verdict = |answer: Detection| {
        let sentence = sentence(&answer, &incident.id.country);
        VerdictBody {
            sentences: Sentences::new().with("sentence", &sentence),
            sentence,
            subject: answer.name,
            status: answer.state,
            confidence: answer.confidence,
            evidence_count: answer.evidence_count,
            explanation: answer.explanation.map(ExplanationBody::from),
        }
    };
    Ok(ExplainBody {
        severity_rule: SEVERITY,
        status_rule: STATUS,
        confidence_rule: CONFIDENCE,
        history: seen.collect(),
        as_of: at.to_string(),
        verdicts: answers.into_iter().filter(|answer| answer.evidence_count > 0).map(verdict).collect(),
        sentences: Sentences::new()
            .with("severityRule", SEVERITY)
            .with("statusRule", STATUS)
            .with("confidenceRule", CONFIDENCE),
    })
}

pub async fn detail(cx: Cx) -> Result<Response> {
    if cx.request.is_for_a_page() && cx.query("format")?.is_none() {
        return to_page(&cx);
    }
    as_json(cx).await
}

/// What is answered here depends on what the client would rather read.
pub fn dress(response: &mut Response, _: &str) {
    response.set(VARY, "Accept");
}

/// Leads a browser to the page: people share the addresses of incidents (decision shared-addresses).
fn to_page(cx: &Cx) -> Result<Response> {
    let query = &cx.request.query;
    let mark = if query.is_empty() { "" } else { "?" };
    let to = format!("{}{mark}{query}", page_path(&encoded(cx.path("id")?)));
    Ok(Response::see_other(&to))
}

async fn as_json(cx: Cx) -> Result<Response> {
    let (incident, max_age) = asked(&cx).await?;
    let (explain, max_age) = match cx.flag("explain")?.unwrap_or(false) {
        true => (Some(explain(&cx, &incident).await?), 0),
        false => (None, max_age),
    };
    let body = DetailBody {
        explain,
        networks: incident.draft.networks.iter().map(NetworkBody::from).collect(),
        evidence_ids: incident.draft.evidence_ids.clone(),
        incident: IncidentBody::new(&incident, cx.settings()),
    };
    cx.tagged(Response::json(&body)?, max_age)
}

/// The incident in the path, or the version that the query names, and the seconds for which the answer may be kept.
pub async fn asked(cx: &Cx) -> Result<(Incident, u32)> {
    let id = cx.path("id")?;
    let Some(version) = cx.query("version")? else { return Ok((find(cx, id, true).await?, 0)) };
    let wrong = || Error::bad_request("Query parameter `version` must be a whole number from 1.");
    let version: u32 = version.parse().ok().filter(|version| *version > 0).ok_or_else(wrong)?;
    // A citation names one incident, so merges are not followed.
    let incident = find(cx, id, false).await?;
    let asked = VersionOf { id: incident.id, version };
    let found = runtime::query(&*cx.rt, actor().name, &asked).await?;
    Ok((found.ok_or_else(|| Error::not_found("There is no such version of this incident."))?, VERSION_AGE))
}

/// The incident with this id, which may be either of its two ids.
pub async fn find(cx: &Cx, id: &str, follow: bool) -> Result<Incident> {
    let found = runtime::query(&*cx.rt, actor().name, &FindIncident { id: id.to_owned(), follow }).await?;
    found.ok_or_else(|| Error::not_found("There is no such incident."))
}
