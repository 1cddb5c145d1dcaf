//! `POST /hydra/v1/detect` and `/detect/batch`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::{AnswerBody, StatusCounts, SubjectQuestion, license};
use super::input;
use super::leads::{self, IncidentLead, Leads, PlatformLead};
use crate::country::{AttestationEvidence, Detection, MAX_SUBJECTS, NetworkAnswer, RoleAnswer, State, sentence};
use crate::{Result, reference};
use engine::http::{COUNTRY_PATTERN, Caller, Cx, Response};
use engine::number::round;
use engine::time::known_time_pattern;
use facts::sentence::{self, Sentences};
use facts::verdict::constants::INTERVAL;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct DetectRequest {
    /// ISO 3166-1 alpha-2.
    #[schemars(required, regex(pattern = COUNTRY_PATTERN))]
    country: Option<String>,
    /// A domain, URL, service name or role.
    #[schemars(required, length(min = 1))]
    target: Option<String>,
    /// Adds the breakdown by network; research tier and above.
    #[serde(rename = "includeISPs")]
    include_isps: Option<bool>,
    /// ISO 8601 time: what is known today about the world up to then. A day stands for its end.
    #[schemars(regex(pattern = known_time_pattern()))]
    as_of: Option<String>,
    /// Adds rules, weights, votes and witnesses.
    explain: Option<bool>,
}

/// A network in a detection.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IspBody {
    asn: u32,
    name: String,
    status: State,
    blocked: bool,
    block_rate: f64,
    /// Posterior mean of the blocked share and its 90% interval.
    share: f64,
    interval: [f64; 2],
    confidence: f64,
    blocking_method: Option<String>,
    technique: Option<String>,
    measurements: u32,
    votes: u32,
    blocked_votes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<&'static str>,
    last_checked: String,
}

impl From<&NetworkAnswer> for IspBody {
    fn from(network: &NetworkAnswer) -> Self {
        let (low, high) = network.posterior.interval(INTERVAL);
        IspBody {
            asn: network.asn,
            name: network.name.clone().unwrap_or_else(|| format!("AS{}", network.asn)),
            status: network.state,
            blocked: network.state == State::Blocked,
            block_rate: network.block_rate,
            share: round(network.posterior.mean()),
            interval: [round(low), round(high)],
            confidence: network.confidence,
            blocking_method: network.method.clone(),
            technique: network.technique.clone(),
            measurements: network.measurements,
            votes: network.votes,
            blocked_votes: network.blocked_votes,
            pattern: network.intermittent.then_some("intermittent"),
            last_checked: network.last_checked.to_string(),
        }
    }
}

/// A detection: an answer, and what it rests on.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DetectBody {
    /// The target as asked.
    target: String,
    /// The domain or service that was looked up.
    normalized_target: String,
    #[serde(flatten)]
    answer: AnswerBody,
    blocked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<&'static str>,
    blocked_weight: f64,
    p_blocked: f64,
    roles: Vec<RoleAnswer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    isps: Option<Vec<IspBody>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    isp_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    isps_omitted: Option<&'static str>,
    /// What agents attest. It decides nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    attestations: Option<AttestationEvidence>,
}

fn may_see_networks(caller: &Caller) -> bool {
    match caller {
        Caller::Key { tier, .. } => tier.sees_networks(),
        Caller::Admin => true,
        Caller::Public | Caller::Agent { .. } => false,
    }
}

fn body(question: &SubjectQuestion, target: String, mut detection: Detection, leads: Leads) -> DetectBody {
    DetectBody {
        target,
        answer: AnswerBody::new(question, &mut detection, leads),
        normalized_target: detection.name,
        blocked: detection.state == State::Blocked,
        block_type: detection.block_type,
        pattern: detection.intermittent.then_some("intermittent"),
        blocked_weight: detection.blocked_weight,
        p_blocked: detection.p_blocked,
        roles: detection.roles,
        isps: None,
        isp_count: None,
        isps_omitted: None,
        attestations: detection.attestations,
    }
}

pub async fn detect(cx: Cx) -> Result<Response> {
    let request: DetectRequest = cx.json()?;
    let country = input::required("country", &request.country)?;
    let target = input::required("target", &request.target)?.to_owned();
    let subject = reference::subject(&*cx.rt, &target).await?;
    let at = input::as_of(&cx, request.as_of.as_deref())?;
    let question = SubjectQuestion::new(country, at, request.explain.unwrap_or(false))?;
    let (answer, leads) = leads::ask(&*cx.rt, &question, subject, false).await?;
    let networks = if request.include_isps.unwrap_or(false) { answer.networks.clone() } else { Vec::new() };
    let mut body = body(&question, target, answer, leads);
    match (request.include_isps.unwrap_or(false), may_see_networks(&cx.caller)) {
        (false, _) => {}
        (true, true) => {
            body.isp_count = Some(networks.len());
            body.isps = Some(networks.iter().map(IspBody::from).collect());
        }
        (true, false) => body.isps_omitted = Some("tier"),
    }
    if !may_see_networks(&cx.caller) {
        // The explanation names networks too.
        for role in body.answer.explanation.iter_mut().flat_map(|body| &mut body.explanation.roles) {
            role.networks.clear();
            role.witnesses.clear();
        }
    }
    Response::json(&body)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "DetectBatchRequest")]
pub struct BatchRequest {
    #[schemars(required, regex(pattern = COUNTRY_PATTERN))]
    country: Option<String>,
    /// At most 50; duplicates are answered once.
    #[schemars(required, length(min = 1, max = MAX_SUBJECTS), inner(length(min = 1)))]
    targets: Option<Vec<String>>,
    #[schemars(regex(pattern = known_time_pattern()))]
    as_of: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DetectBatchResult")]
pub struct BatchResult {
    target: String,
    status: State,
    blocked: bool,
    basis: String,
    methods: Vec<String>,
    confidence: f64,
    evidence_count: u32,
    last_checked: String,
    /// When the newest measurement became too old to count.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale_since: Option<String>,
    listed: bool,
    /// The platform that the target belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<PlatformLead>,
    /// The latest incident about the target or its platform in this country, if the status is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_incident: Option<IncidentLead>,
    /// The answer in one sentence, followed by sentences about the platform and the latest incident if there are any.
    summary: String,
    /// The codes of the sentences of `summary`.
    sentences: Sentences,
}

impl BatchResult {
    fn new(question: &SubjectQuestion, target: String, answer: Detection, leads: Leads) -> BatchResult {
        let said = leads.after(sentence(&answer, &question.code));
        BatchResult {
            target,
            summary: sentence::text(&said),
            sentences: Sentences::new().with_text("summary", &said),
            platform: leads.platform,
            latest_incident: leads.latest_incident,
            status: answer.state,
            blocked: answer.state == State::Blocked,
            basis: answer.basis,
            methods: answer.methods,
            confidence: answer.confidence,
            evidence_count: answer.evidence_count,
            last_checked: answer.last_checked.to_string(),
            stale_since: answer.stale_since.map(|since| since.to_string()),
            listed: answer.listed,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DetectBatchBody")]
pub struct BatchBody {
    country: String,
    count: usize,
    summary: StatusCounts,
    results: Vec<BatchResult>,
    license: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
}

pub async fn batch(cx: Cx) -> Result<Response> {
    let request: BatchRequest = cx.json()?;
    let country = input::required("country", &request.country)?;
    let targets = request.targets.ok_or_else(|| crate::Error::bad_request("`targets` is required."))?;
    let subjects = input::subjects(&cx, &targets, "targets").await?;
    let question = SubjectQuestion::new(country, input::as_of(&cx, request.as_of.as_deref())?, false)?;
    let each = subjects.iter().map(|(_, subject)| subject.clone()).collect();
    let answers = leads::ask_each(&*cx.rt, &question, each).await?;
    let licences: Vec<String> = answers.iter().flat_map(|(answer, _)| answer.licences.clone()).collect();
    let summary = StatusCounts::count(answers.iter().map(|(answer, _)| answer));
    let asked = subjects.into_iter().zip(answers);
    let results = asked.map(|((names, _), (answer, leads))| {
        BatchResult::new(&question, names.into_iter().next().unwrap_or_default(), answer, leads)
    });
    let results: Vec<BatchResult> = results.collect();
    Response::json(&BatchBody {
        country: question.code.clone(),
        count: results.len(),
        summary,
        results,
        license: license(&licences),
        as_of: question.at.map(|at| at.to_string()),
    })
}
