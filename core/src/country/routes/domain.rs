//! `/data/domain/{domain}` (spec intelligence 3.8), and what is known of a site without asking every country.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::accessibility::{Known, ask_all, known_of};
use super::detect::{Question, StatusCounts, license};
use crate::analytics::tabular::{self, Tabular};
use crate::country::{Detection, Explanation, NetworkAnswer, Source, State, Subject, sentence};
use crate::http::{Cx, Response};
use crate::world::Glance;
use crate::{Result, Timestamp, reference};

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DomainIsp")]
struct IspRow {
    asn: String,
    name: String,
    block_rate: f64,
    measurements: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BlockedIn {
    country: String,
    country_name: String,
    confidence: f64,
    basis: String,
    methods: Vec<String>,
    last_checked: String,
    summary: String,
    isps: Vec<IspRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DomainCounts")]
struct DomainSummary {
    blocked_in_countries: usize,
    accessible_in_countries: usize,
    unknown_in_countries: usize,
    /// Networks that block, also in countries that are not blocked as a whole.
    total_blocking_isps: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DomainBody {
    domain: String,
    generated: String,
    period: &'static str,
    /// `blocked` when it is in any country, `accessible` when no country blocks it and one is decided, else `unknown`.
    status: &'static str,
    summary: DomainSummary,
    blocked_in: Vec<BlockedIn>,
    license: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
}

const PERIOD: &str = "30 days (messaging services 14 days)";

pub(super) fn status(counts: &StatusCounts) -> &'static str {
    match (counts.blocked, counts.accessible) {
        (0, 0) => "unknown",
        (0, _) => "accessible",
        _ => "blocked",
    }
}

/// A page as CSV: a line for each blocking network; one without number for a country where none is known to block.
const DOMAIN_TABLE: Tabular = Tabular {
    name: "domain",
    list: "blocked_in",
    inner: Some("isps"),
    columns: &[
        "country",
        "country_name",
        "basis",
        "confidence",
        "methods",
        "last_checked",
        "asn",
        "name",
        "block_rate",
        "measurements",
    ],
};

pub(super) async fn subject(cx: &Cx) -> Result<Subject> {
    reference::subject(&*cx.rt, cx.path("domain")?).await
}

pub async fn domain(cx: Cx) -> Result<Response> {
    let page = cx.kept(domain_page(&cx)).await?;
    tabular::send(&cx, &DOMAIN_TABLE, &subject(&cx).await?.name, page)
}

async fn domain_page(cx: &Cx) -> Result<Response> {
    let subject = subject(cx).await?;
    let at = cx.time("as_of")?;
    let explain = cx.flag("explain")?.unwrap_or(false);
    let Survey { suspects, elsewhere, mut blocking, .. } = survey(cx, &subject, at).await?;
    let mut answers = ask_all(cx, &subject, suspects, at, false).await?;
    let mut counts = StatusCounts::count(answers.iter().map(|(_, answer)| answer));
    counts.accessible += elsewhere.accessible;
    counts.unknown += elsewhere.unknown;
    let licences: Vec<String> = answers.iter().flat_map(|(_, answer)| answer.licences.clone()).collect();
    blocking += answers.iter().map(|(_, answer)| blocking_networks(answer).count()).sum::<usize>();
    answers.retain(|(_, answer)| answer.state == State::Blocked);
    let mut blocked_in = Vec::with_capacity(answers.len());
    for (question, mut answer) in answers {
        if explain {
            let question = Question::new(&question.code, at, true)?;
            answer.explanation =
                question.ask_briefly(&*cx.rt, vec![subject.clone()]).await?.pop().and_then(|answer| answer.explanation);
        }
        blocked_in.push(blocked(&question, answer));
    }
    Response::json(&DomainBody {
        domain: subject.name.clone(),
        generated: tabular::generated(cx, at).to_string(),
        period: PERIOD,
        status: status(&counts),
        summary: DomainSummary {
            blocked_in_countries: counts.blocked,
            accessible_in_countries: counts.accessible,
            unknown_in_countries: counts.unknown,
            total_blocking_isps: blocking,
        },
        blocked_in,
        license: license(&licences),
        as_of: at.map(|at| at.to_string()),
    })
}

/// What is known of a subject without asking every country: a popular site is measured in every country, and blocked in
/// few. Only the past is asked everywhere.
#[derive(Default)]
pub(super) struct Survey {
    /// All that have something to say.
    pub codes: BTreeSet<String>,
    /// Those of them that may block it.
    pub suspects: Vec<String>,
    /// What the others say by their latest summaries.
    pub elsewhere: StatusCounts,
    /// Networks that block in those.
    pub blocking: usize,
    /// Licences of what those rest on.
    pub licences: BTreeSet<String>,
    /// When each was measured last; empty where it was not looked at.
    measured: BTreeMap<String, Timestamp>,
}

impl Survey {
    /// Of this country alone.
    pub fn one(code: Option<String>) -> Survey {
        Survey { codes: code.iter().cloned().collect(), suspects: code.into_iter().collect(), ..Survey::default() }
    }

    /// Countries that may have measurements from this day on: one that was measured last before it has none. What a list
    /// says is dated by the list, so where one may, the country is asked.
    pub fn measured_since(&self, day: i64) -> impl Iterator<Item = &String> {
        self.codes.iter().filter(move |code| {
            self.measured.get(*code).is_some_and(|last| last.day() >= day) || self.suspects.contains(code)
        })
    }
}

pub(super) async fn survey(cx: &Cx, subject: &Subject, at: Option<Timestamp>) -> Result<Survey> {
    let Known { codes, listed, seen } = known_of(cx, subject).await?;
    if at.is_some() {
        return Ok(Survey { suspects: codes.iter().cloned().collect(), codes, ..Survey::default() });
    }
    let mut survey = Survey::default();
    let essential = |target: &str| subject.roles.iter().any(|role| role.essential && role.key == target);
    let mut by_country: BTreeMap<&str, Vec<&Glance>> = BTreeMap::new();
    for glance in seen.iter().filter(|glance| essential(&glance.target)) {
        by_country.entry(&glance.country).or_default().push(glance);
    }
    let mut sources: BTreeSet<Source> = BTreeSet::new();
    for code in &codes {
        let seen = by_country.get(code.as_str()).map(Vec::as_slice).unwrap_or_default();
        if listed.contains(code) || seen.iter().any(|glance| glance.state == State::Blocked) {
            survey.suspects.push(code.clone());
            continue;
        }
        let blocking: BTreeSet<u32> = seen.iter().flat_map(|glance| &glance.blocking).copied().collect();
        survey.blocking += blocking.len();
        sources.extend(seen.iter().flat_map(|glance| &glance.sources));
        if seen.iter().any(|glance| glance.state == State::Accessible) {
            survey.elsewhere.accessible += 1;
        } else {
            survey.elsewhere.unknown += 1;
        }
    }
    survey.licences = sources.into_iter().map(|source| source.licence_under(cx.settings()).to_owned()).collect();
    for (country, seen) in by_country {
        survey.measured.extend(seen.iter().map(|glance| glance.last_checked).max().map(|at| (country.to_owned(), at)));
    }
    survey.codes = codes;
    Ok(survey)
}

fn blocking_networks(answer: &Detection) -> impl Iterator<Item = &NetworkAnswer> {
    answer.networks.iter().filter(|network| network.state == State::Blocked)
}

fn blocked(question: &Question, answer: Detection) -> BlockedIn {
    BlockedIn {
        summary: sentence(&answer, &question.name),
        country: question.code.clone(),
        country_name: question.name.clone(),
        confidence: answer.confidence,
        isps: blocking_networks(&answer)
            .map(|network| IspRow {
                asn: format!("AS{}", network.asn),
                name: network.name.clone().unwrap_or_else(|| format!("AS{}", network.asn)),
                block_rate: network.block_rate,
                measurements: network.measurements,
            })
            .collect(),
        basis: answer.basis,
        methods: answer.methods,
        last_checked: answer.last_checked.to_string(),
        explanation: answer.explanation,
    }
}
