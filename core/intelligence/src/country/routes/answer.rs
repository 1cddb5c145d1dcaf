//! A question about subjects in a country, and what every answer to it says.

use schemars::JsonSchema;
use serde::Serialize;

use super::input;
use super::leads::{IncidentLead, Leads, PlatformLead};
use crate::country::{Detect, Detection, ExplanationBody, Listing, State, sentence};
use crate::{Result, Timestamp};
use engine::runtime::{self, Runtime};
use facts::licence;
use facts::sentence::{self, Sentences};
use facts::subject::Subject;

/// What detections and checks both say about a subject in a country.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswerBody {
    country: String,
    country_name: String,
    status: State,
    confidence: f64,
    evidence_strength: f64,
    basis: String,
    evidence_count: u32,
    blocking_method: Option<String>,
    methods: Vec<String>,
    technique: Option<String>,
    sources: Vec<String>,
    license: String,
    /// Time of the newest counted measurement, or of the list.
    last_checked: String,
    /// When the newest measurement became too old to count.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale_since: Option<String>,
    listed: bool,
    lists: Vec<Listing>,
    scope: Option<String>,
    networks_blocked: u32,
    networks_tested: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The platform that the subject belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<PlatformLead>,
    /// The latest incident about the subject or its platform in this country, if the status is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_incident: Option<IncidentLead>,
    /// The answer in one sentence, followed by sentences about the platform and the latest incident if there are any.
    summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<ExplanationBody>,
    #[serde(rename = "as_of", skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
    /// The code of `summary`, or the codes of its sentences.
    sentences: Sentences,
}

impl AnswerBody {
    /// Takes its lists and texts out of the detection. What only one endpoint shows stays in it.
    pub fn new(question: &SubjectQuestion, detection: &mut Detection, leads: Leads) -> AnswerBody {
        use std::mem::take;
        // The sentence reads members that are taken below.
        let said = leads.after(sentence(detection, &question.code));
        AnswerBody {
            summary: sentence::text(&said),
            sentences: Sentences::new().with_text("summary", &said),
            platform: leads.platform,
            latest_incident: leads.latest_incident,
            country: question.code.clone(),
            country_name: question.name.clone(),
            status: detection.state,
            confidence: detection.confidence,
            evidence_strength: detection.evidence_strength,
            basis: take(&mut detection.basis),
            evidence_count: detection.evidence_count,
            blocking_method: detection.methods.first().cloned(),
            methods: take(&mut detection.methods),
            technique: detection.technique.take(),
            license: license(&detection.licences),
            sources: take(&mut detection.sources),
            last_checked: detection.last_checked.to_string(),
            stale_since: detection.stale_since.map(|since| since.to_string()),
            listed: detection.listed,
            lists: take(&mut detection.lists),
            scope: detection.scope.take(),
            networks_blocked: detection.networks_blocked,
            networks_tested: detection.networks_tested,
            reason: detection.reason.take(),
            explanation: detection.explanation.take().map(ExplanationBody::from),
            as_of: question.at.map(|at| at.to_string()),
        }
    }
}

/// A question about subjects in one country.
pub struct SubjectQuestion {
    /// Upper-case code, and name for display.
    pub code: String,
    pub name: String,
    exists: bool,
    pub at: Option<Timestamp>,
    pub explain: bool,
}

impl SubjectQuestion {
    pub fn new(country: &str, at: Option<Timestamp>, explain: bool) -> Result<SubjectQuestion> {
        Ok(match input::country(country)? {
            Ok(country) => SubjectQuestion {
                code: country.code.to_owned(),
                name: country.name.to_owned(),
                exists: true,
                at,
                explain,
            },
            Err(code) => SubjectQuestion { name: code.clone(), code, exists: false, at, explain },
        })
    }

    /// One answer per subject, in order, without networks.
    pub async fn ask_briefly(&self, rt: &dyn Runtime, subjects: Vec<Subject>) -> Result<Vec<Detection>> {
        self.answers(rt, subjects, true).await
    }

    /// The same question without explanations.
    pub fn without_explanation(&self) -> SubjectQuestion {
        SubjectQuestion { code: self.code.clone(), name: self.name.clone(), explain: false, ..*self }
    }

    /// One answer per subject, in order. `brief` leaves networks out.
    pub async fn answers(&self, rt: &dyn Runtime, subjects: Vec<Subject>, brief: bool) -> Result<Vec<Detection>> {
        if !self.exists {
            let now = self.at.unwrap_or_else(|| rt.now());
            return Ok(subjects.iter().map(|subject| Detection::unmeasured(subject, now)).collect());
        }
        let detect = Detect { subjects, at: self.at, explain: self.explain, brief };
        runtime::query(rt, self.code.clone(), &detect).await
    }
}

/// The licence of an answer that rests on answers with these licences; our own if there are none.
pub fn license(licences: &[String]) -> String {
    licence::effective(licences.iter().map(String::as_str))
}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "AnswerCounts")]
pub struct StatusCounts {
    pub blocked: usize,
    pub accessible: usize,
    pub unknown: usize,
}

impl StatusCounts {
    pub fn count<'a>(answers: impl Iterator<Item = &'a Detection>) -> StatusCounts {
        let mut counts = StatusCounts::default();
        for answer in answers {
            match answer.state {
                State::Blocked => counts.blocked += 1,
                State::Accessible => counts.accessible += 1,
                State::Unknown => counts.unknown += 1,
            }
        }
        counts
    }
}
