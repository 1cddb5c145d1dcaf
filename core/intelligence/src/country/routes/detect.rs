//! `POST /hydra/v1/detect` and `/detect/batch`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::input;
use super::leads::{self, IncidentLead, Leads, PlatformLead};
use crate::country::{
    AttestationEvidence, Detect, Detection, Explanation, Listing, NetworkAnswer, RoleAnswer, State, sentence,
};
use crate::{Result, Timestamp, reference};
use engine::http::{Caller, Cx, Response};
use engine::number::round;
use engine::runtime::{self, Runtime};
use facts::licence;
use facts::subject::Subject;
use facts::verdict::constants::INTERVAL;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct DetectRequest {
    /// ISO 3166-1 alpha-2.
    country: Option<String>,
    /// A domain, URL, service name or role.
    target: Option<String>,
    /// Adds the breakdown by network; research tier and above.
    #[serde(rename = "includeISPs")]
    include_isps: Option<bool>,
    /// ISO 8601 time: what is known today about the world up to then.
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

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DetectBody {
    pub country: String,
    pub country_name: String,
    /// The target as asked.
    pub target: String,
    /// The domain or service that was looked up.
    pub normalized_target: String,
    pub status: State,
    pub blocked: bool,
    pub confidence: f64,
    pub evidence_strength: f64,
    pub basis: String,
    pub evidence_count: u32,
    pub blocking_method: Option<String>,
    pub methods: Vec<String>,
    pub technique: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_type: Option<String>,
    pub sources: Vec<String>,
    pub license: String,
    pub last_checked: String,
    /// When the newest measurement became too old to count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_since: Option<String>,
    pub listed: bool,
    pub lists: Vec<Listing>,
    pub scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub networks_blocked: u32,
    pub networks_tested: u32,
    pub blocked_weight: f64,
    pub p_blocked: f64,
    pub roles: Vec<RoleAnswer>,
    /// The platform that the target belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<PlatformLead>,
    /// The latest incident about the target or its platform in this country, if the status is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_incident: Option<IncidentLead>,
    /// The answer in one sentence, followed by sentences about the platform and the latest incident if there are any.
    pub summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isps: Option<Vec<IspBody>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isp_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isps_omitted: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// What agents attest. It decides nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attestations: Option<AttestationEvidence>,
    #[serde(rename = "as_of", skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
}

/// The answer about a code that no country has.
pub fn unmeasured(subject: &Subject, now: Timestamp) -> Detection {
    Detection {
        name: subject.name.clone(),
        state: State::Unknown,
        basis: "unmeasured".to_owned(),
        confidence: 0.0,
        evidence_strength: 0.0,
        evidence_count: 0,
        counted: 0,
        of_week: 0,
        methods: Vec::new(),
        technique: None,
        block_type: Some("none".to_owned()),
        sources: Vec::new(),
        licences: vec![facts::starter::LICENCE.to_owned()],
        last_checked: now,
        stale_since: None,
        listed: false,
        lists: Vec::new(),
        scope: None,
        intermittent: false,
        networks_blocked: 0,
        networks_tested: 0,
        blocked_weight: 0.0,
        p_blocked: 0.0,
        reason: None,
        networks: Vec::new(),
        roles: Vec::new(),
        explanation: None,
        failure_rate: None,
        weights_known: false,
        attestations: None,
    }
}

/// A question about subjects in one country.
pub struct Question {
    /// Upper-case code, and name for display.
    pub code: String,
    pub name: String,
    exists: bool,
    pub at: Option<Timestamp>,
    pub explain: bool,
}

impl Question {
    pub fn new(country: &str, at: Option<Timestamp>, explain: bool) -> Result<Question> {
        Ok(match input::country(country)? {
            Ok(country) => {
                Question { code: country.code.to_owned(), name: country.name.to_owned(), exists: true, at, explain }
            }
            Err(code) => Question { name: code.clone(), code, exists: false, at, explain },
        })
    }

    /// One answer per subject, in order, without networks.
    pub async fn ask_briefly(&self, rt: &dyn Runtime, subjects: Vec<Subject>) -> Result<Vec<Detection>> {
        self.answers(rt, subjects, true).await
    }

    /// One answer about one subject, without networks and explanation.
    pub async fn glance(&self, rt: &dyn Runtime, subject: Subject) -> Result<Detection> {
        let brief = Question { code: self.code.clone(), name: self.name.clone(), explain: false, ..*self };
        let answer = brief.answers(rt, vec![subject], true).await?.pop();
        answer.ok_or_else(|| crate::Error::internal("no answer to one question"))
    }

    /// One answer per subject, in order. `brief` leaves networks out.
    pub async fn answers(&self, rt: &dyn Runtime, subjects: Vec<Subject>, brief: bool) -> Result<Vec<Detection>> {
        if !self.exists {
            let now = self.at.unwrap_or_else(|| rt.now());
            return Ok(subjects.iter().map(|subject| unmeasured(subject, now)).collect());
        }
        let detect = Detect { subjects, at: self.at, explain: self.explain, brief };
        runtime::query(rt, self.code.clone(), &detect).await
    }
}

/// The licence of an answer that rests on answers with these licences; our own if there are none.
pub fn license(licences: &[String]) -> String {
    licence::effective(licences.iter().map(String::as_str))
}

fn may_see_networks(caller: &Caller) -> bool {
    match caller {
        Caller::Key { tier, .. } => tier.sees_networks(),
        Caller::Admin => true,
        Caller::Public | Caller::Agent { .. } => false,
    }
}

fn body(question: &Question, target: String, answer: Detection, leads: Leads) -> DetectBody {
    DetectBody {
        summary: leads.after(sentence(&answer, &question.name)),
        platform: leads.platform,
        latest_incident: leads.latest_incident,
        country: question.code.clone(),
        country_name: question.name.clone(),
        target,
        normalized_target: answer.name,
        status: answer.state,
        blocked: answer.state == State::Blocked,
        confidence: answer.confidence,
        evidence_strength: answer.evidence_strength,
        basis: answer.basis,
        evidence_count: answer.evidence_count,
        blocking_method: answer.methods.first().cloned(),
        methods: answer.methods,
        technique: answer.technique,
        block_type: answer.block_type,
        license: license(&answer.licences),
        sources: answer.sources,
        last_checked: answer.last_checked.to_string(),
        stale_since: answer.stale_since.map(|since| since.to_string()),
        listed: answer.listed,
        lists: answer.lists,
        scope: answer.scope,
        pattern: answer.intermittent.then_some("intermittent"),
        reason: answer.reason,
        networks_blocked: answer.networks_blocked,
        networks_tested: answer.networks_tested,
        blocked_weight: answer.blocked_weight,
        p_blocked: answer.p_blocked,
        roles: answer.roles,
        isps: None,
        isp_count: None,
        isps_omitted: None,
        explanation: answer.explanation,
        attestations: answer.attestations,
        as_of: question.at.map(|at| at.to_string()),
    }
}

pub async fn detect(cx: Cx) -> Result<Response> {
    let request: DetectRequest = cx.json()?;
    let country = input::required("country", &request.country)?;
    let target = input::required("target", &request.target)?.to_owned();
    let subject = reference::subject(&*cx.rt, &target).await?;
    let at = input::time(request.as_of.as_deref())?;
    let question = Question::new(country, at, request.explain.unwrap_or(false))?;
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
        for role in body.explanation.iter_mut().flat_map(|explanation| &mut explanation.roles) {
            role.networks.clear();
            role.witnesses.clear();
        }
    }
    Response::json(&body)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "DetectBatchRequest")]
pub struct BatchRequest {
    country: Option<String>,
    /// At most 50; duplicates are answered once.
    targets: Option<Vec<String>>,
    as_of: Option<String>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
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
    listed: bool,
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
    let question = Question::new(country, input::time(request.as_of.as_deref())?, false)?;
    let answers = question.ask_briefly(&*cx.rt, subjects.iter().map(|(_, subject)| subject.clone()).collect()).await?;
    let licences: Vec<String> = answers.iter().flat_map(|answer| answer.licences.clone()).collect();
    let summary = StatusCounts::count(answers.iter());
    let results: Vec<BatchResult> = subjects
        .into_iter()
        .zip(answers)
        .map(|((names, _), answer)| BatchResult {
            target: names.into_iter().next().unwrap_or_default(),
            status: answer.state,
            blocked: answer.state == State::Blocked,
            basis: answer.basis,
            methods: answer.methods,
            confidence: answer.confidence,
            evidence_count: answer.evidence_count,
            last_checked: answer.last_checked.to_string(),
            listed: answer.listed,
        })
        .collect();
    Response::json(&BatchBody {
        country: question.code.clone(),
        count: results.len(),
        summary,
        results,
        license: license(&licences),
        as_of: question.at.map(|at| at.to_string()),
    })
}
