//! `/v1/accessibility/*`.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::{AnswerBody, StatusCounts, SubjectQuestion, license};
use super::input;
use super::leads::{self, Leads};
use crate::analytics::tabular::{self, Tabular};
use crate::country::{Detection, ListedBlock, ListedBlocks, ListedHere, MAX_SUBJECTS, ReadSummary, State, Verdicts};
use crate::world::{self, CountrySummary, Glance, SurveyOf, Surveyed, TargetSummary};
use crate::{Error, Result, Timestamp, country, reference};
use engine::http::{COUNTRY_PATTERN, Cx, Response};
use engine::number::round;
use engine::runtime;
use engine::time::known_time_pattern;
use facts::starter::Country;
use facts::subject::Subject;
use facts::subject::is_role;

/// Countries asked at one time.
pub const AT_ONCE: usize = 6;

/// A check: an answer, and whether the domain can be reached.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckBody {
    /// The domain as asked.
    domain: String,
    #[serde(flatten)]
    answer: AnswerBody,
    accessible: Option<bool>,
    /// 1 reachable, 0 blocked, null unknown.
    accessibility_score: Option<f64>,
    samples: u32,
    /// Time of this answer.
    checked_at: String,
}

fn body(
    question: &SubjectQuestion,
    domain: String,
    mut detection: Detection,
    leads: Leads,
    now: Timestamp,
) -> CheckBody {
    CheckBody {
        domain,
        answer: AnswerBody::new(question, &mut detection, leads),
        accessible: match detection.state {
            State::Blocked => Some(false),
            State::Accessible => Some(true),
            State::Unknown => None,
        },
        accessibility_score: detection.state.score(),
        samples: detection.evidence_count,
        checked_at: now.to_string(),
    }
}

pub async fn check(cx: Cx) -> Result<Response> {
    let domain = cx.required("domain")?;
    let country = cx.required("country")?;
    let question = SubjectQuestion::new(&country, cx.as_of()?, cx.flag("explain")?.unwrap_or(false))?;
    let subject = reference::subject(&*cx.rt, &domain).await?;
    let (answer, leads) = leads::ask(&*cx.rt, &question, subject, true).await?;
    Response::json(&body(&question, domain.trim().to_owned(), answer, leads, cx.now()))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "AccessibilityBatchRequest")]
pub struct BatchRequest {
    /// At most 50; duplicates are answered once.
    #[schemars(required, length(min = 1, max = MAX_SUBJECTS), inner(length(min = 1)))]
    domains: Option<Vec<String>>,
    #[schemars(required, regex(pattern = COUNTRY_PATTERN))]
    country: Option<String>,
    #[schemars(regex(pattern = known_time_pattern()))]
    as_of: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AccessibilityBatchBody")]
pub struct BatchBody {
    country: String,
    country_name: String,
    count: usize,
    summary: StatusCounts,
    results: Vec<CheckBody>,
    license: String,
    checked_at: String,
    #[serde(rename = "as_of", skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
}

pub async fn batch(cx: Cx) -> Result<Response> {
    let request: BatchRequest = cx.json()?;
    let country = input::required("country", &request.country)?;
    let domains = request.domains.ok_or_else(|| Error::bad_request("`domains` is required."))?;
    let subjects = input::subjects(&cx, &domains, "domains").await?;
    let question = SubjectQuestion::new(country, input::as_of(&cx, request.as_of.as_deref())?, false)?;
    let each = subjects.iter().map(|(_, subject)| subject.clone()).collect();
    let answers = leads::ask_each(&*cx.rt, &question, each).await?;
    let licences: Vec<String> = answers.iter().flat_map(|(answer, _)| answer.licences.clone()).collect();
    let now = cx.now();
    // A client finds its rows by the words in which it asked. A domain that it wrote in two ways has two rows.
    let asked = subjects
        .into_iter()
        .zip(answers)
        .flat_map(|((names, _), answer)| names.into_iter().map(move |name| (name, answer.clone())));
    let asked: Vec<(String, (Detection, Leads))> = asked.collect();
    let summary = StatusCounts::count(asked.iter().map(|(_, (answer, _))| answer));
    let results: Vec<CheckBody> =
        asked.into_iter().map(|(domain, (answer, leads))| body(&question, domain, answer, leads, now)).collect();
    Response::json(&BatchBody {
        country: question.code.clone(),
        country_name: question.name.clone(),
        count: results.len(),
        summary,
        results,
        license: license(&licences),
        checked_at: now.to_string(),
        as_of: question.at.map(|at| at.to_string()),
    })
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TopBlocked {
    domain: String,
    block_rate: f64,
    method: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AccessibilitySummary")]
pub struct SummaryBody {
    country: String,
    country_name: String,
    total_domains_checked: usize,
    blocked_count: usize,
    degraded_count: usize,
    accessible_count: usize,
    unknown_count: usize,
    /// Share of blocked domains among the decided ones.
    block_rate: f64,
    measurements: u64,
    last_updated: String,
    /// Time of the newest measurement; null if there is none.
    last_checked: Option<String>,
    /// When the newest measurement became too old to count; absent while any counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale_since: Option<String>,
    top_blocked: Vec<TopBlocked>,
    /// What lists and documented facts say is blocked where no measurement decides; at most 50. The counts do not
    /// include it.
    listed_blocked: Vec<ListedBlock>,
    /// Entries of lists and facts that count here, including those about sites that measurements decide.
    listed_count: u64,
    sources: Vec<String>,
    license: String,
    #[serde(rename = "as_of", skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
}

/// Most blocked targets listed in a summary.
const TOP: usize = 50;

/// A summary as CSV: the domains that are blocked most.
const SUMMARY_TABLE: Tabular =
    Tabular { name: "blocked", list: "topBlocked", inner: None, columns: &["domain", "blockRate", "method"] };

pub async fn summary(cx: Cx) -> Result<Response> {
    let country = input::path_country(&cx, "country")?;
    let key = [country::documents::ACCESSIBILITY, country.code].concat();
    tabular::published(&cx, &SUMMARY_TABLE, country.code, &key, summary_then(&cx, country)).await
}

/// The summary about the past.
async fn summary_then(cx: &Cx, country: &'static Country) -> Result<Response> {
    let at = cx.as_of()?;
    let rows = runtime::query(&*cx.rt, country.code, &Verdicts { at }).await?;
    let overall = runtime::query(&*cx.rt, country.code, &ReadSummary { at }).await?;
    let lists = runtime::query(&*cx.rt, country.code, &ListedHere { at }).await?;
    Response::json(&summary_body(country, &rows, &overall, lists, cx.now(), at))
}

/// What can be reached in a country, according to the verdicts on its targets.
pub(in crate::country) fn summary_body(
    country: &'static Country,
    rows: &[TargetSummary],
    overall: &CountrySummary,
    lists: ListedBlocks,
    now: Timestamp,
    at: Option<Timestamp>,
) -> SummaryBody {
    let domains = rows.iter().filter(|row| !is_role(&row.target));
    let checked: Vec<&TargetSummary> = domains.filter(|row| row.evidence > 0).collect();
    let mut blocked: Vec<&&TargetSummary> = checked.iter().filter(|row| row.is_measured_block()).collect();
    let accessible = checked.iter().filter(|row| row.state == State::Accessible).count();
    let decided = blocked.len() + accessible;
    let blocked_count = blocked.len();
    blocked.sort_by(|a, b| b.blocked_weight.total_cmp(&a.blocked_weight).then(b.evidence.cmp(&a.evidence)));
    SummaryBody {
        country: country.code.to_owned(),
        country_name: country.name.to_owned(),
        total_domains_checked: checked.len(),
        blocked_count,
        degraded_count: 0,
        accessible_count: accessible,
        unknown_count: checked.len() - decided,
        block_rate: if decided == 0 { 0.0 } else { round(blocked_count as f64 / decided as f64) },
        measurements: overall.recent,
        last_updated: overall.newest.unwrap_or(now).to_string(),
        last_checked: overall.newest.map(|newest| newest.to_string()),
        stale_since: overall.stale_since().map(|since| since.to_string()),
        top_blocked: blocked
            .into_iter()
            .take(TOP)
            .map(|row| TopBlocked {
                domain: row.target.clone(),
                block_rate: round(row.block_rate()),
                method: row.methods.first().cloned(),
            })
            .collect(),
        listed_blocked: lists.shown,
        listed_count: lists.count,
        sources: overall.sources.iter().map(|source| source.source.clone()).collect(),
        license: crate::country::strictest(&overall.sources),
        as_of: at.map(|at| at.to_string()),
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceCountry {
    country: String,
    country_name: String,
    status: State,
    accessibility_score: Option<f64>,
    blocking_method: Option<String>,
    methods: Vec<String>,
    confidence: f64,
    evidence_count: u32,
    basis: String,
    last_checked: String,
    /// When the newest measurement became too old to count.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale_since: Option<String>,
    checked_at: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceBody {
    service: String,
    label: String,
    domains: Vec<String>,
    roles: Vec<String>,
    /// Countries about which measurements or lists say anything.
    countries_checked: usize,
    countries_blocking: usize,
    countries_accessible: usize,
    /// Share of accessible countries among the decided ones; null if none is decided.
    global_score: Option<f64>,
    countries: Vec<ServiceCountry>,
    license: String,
    generated_at: String,
    #[serde(rename = "as_of", skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
}

/// What the world knows about a subject.
pub struct SubjectFacts {
    /// Countries with a list or a starter fact that names it.
    listed: BTreeSet<String>,
    /// Ordered by country, then by role.
    seen: Vec<Glance>,
}

/// What the world knows about a subject in one country.
pub struct SubjectFactsIn<'a> {
    pub code: &'a str,
    /// Whether a list or a fact names the subject in this country.
    pub listed: bool,
    /// Ordered by role.
    pub seen: &'a [Glance],
}

impl SubjectFacts {
    /// Countries that have measured the subject, or have a list or a fact about it, ordered by code.
    pub fn countries(&self) -> Vec<SubjectFactsIn<'_>> {
        let mut found = Vec::with_capacity(self.seen.len() + self.listed.len());
        let mut listed = self.listed.iter().map(String::as_str).peekable();
        for seen in self.seen.chunk_by(|a, b| a.country == b.country) {
            let code = seen.first().map_or("", |glance| glance.country.as_str());
            while let Some(code) = listed.next_if(|listed| *listed < code) {
                found.push(SubjectFactsIn { code, listed: true, seen: &[] });
            }
            let listed = listed.next_if_eq(&code).is_some();
            found.push(SubjectFactsIn { code, listed, seen });
        }
        found.extend(listed.map(|code| SubjectFactsIn { code, listed: true, seen: &[] }));
        found
    }
}

pub async fn known_of(cx: &Cx, subject: &Subject) -> Result<SubjectFacts> {
    let targets: Vec<String> = subject.roles.iter().map(|role| role.key.clone()).collect();
    let Surveyed { listed, mut seen } = runtime::query(&*cx.rt, world::actor().name, &SurveyOf { targets }).await?;
    if subject.roles.len() > 1 {
        seen.sort_by(|a, b| a.country.cmp(&b.country));
    }
    let documented = subject.named().flat_map(facts::starter::known_blocks::countries).map(str::to_owned);
    Ok(SubjectFacts { listed: listed.into_iter().chain(documented).collect(), seen })
}

/// Asks several countries about one subject. `briefly` leaves networks out.
pub async fn ask_all(
    cx: &Cx,
    subject: &Subject,
    codes: impl IntoIterator<Item = String>,
    at: Option<Timestamp>,
    briefly: bool,
) -> Result<Vec<(SubjectQuestion, Detection)>> {
    let work = codes.into_iter().map(|code| async move {
        let question = SubjectQuestion::new(&code, at, false)?;
        let answer = question.answers(&*cx.rt, vec![subject.clone()], briefly).await?.pop();
        Ok((question, answer.ok_or_else(|| Error::internal("no answer to one question"))?))
    });
    let answers: Vec<Result<(SubjectQuestion, Detection)>> =
        futures_util::stream::iter(work).buffered(AT_ONCE).collect().await;
    answers.into_iter().collect()
}

const SERVICE_TABLE: Tabular = Tabular {
    name: "service",
    list: "countries",
    inner: None,
    columns: &[
        "country",
        "countryName",
        "status",
        "accessibilityScore",
        "blockingMethod",
        "methods",
        "confidence",
        "evidenceCount",
        "basis",
        "lastChecked",
        "staleSince",
    ],
};

pub async fn service(cx: Cx) -> Result<Response> {
    let page = cx.kept(service_page(&cx)).await?;
    tabular::send(&cx, &SERVICE_TABLE, cx.path("service")?, page)
}

async fn service_page(cx: &Cx) -> Result<Response> {
    let asked = cx.path("service")?;
    let not_found = || Error::not_found(format!("{asked:?} is not a tracked service."));
    let subject = reference::subject(&*cx.rt, asked).await.map_err(|_| not_found())?;
    if !subject.service {
        return Err(not_found());
    }
    let at = cx.as_of()?;
    let known = known_of(cx, &subject).await?;
    let codes: Vec<String> = known.countries().iter().map(|known| known.code.to_owned()).collect();
    let answers = ask_all(cx, &subject, codes, at, true).await?;
    let now = tabular::generated(cx, at).to_string();
    let counts = StatusCounts::count(answers.iter().map(|(_, answer)| answer));
    let decided = counts.blocked + counts.accessible;
    let licences: Vec<String> = answers.iter().flat_map(|(_, answer)| answer.licences.clone()).collect();
    let label = reference::platform(&*cx.rt, &subject.name).await?.map_or(subject.name.clone(), |found| found.label);
    let keys = || subject.roles.iter().map(|role| role.key.clone());
    let mut countries: Vec<ServiceCountry> = answers
        .into_iter()
        .map(|(question, answer)| ServiceCountry {
            country: question.code.clone(),
            country_name: question.name.clone(),
            status: answer.state,
            accessibility_score: answer.state.score(),
            blocking_method: answer.methods.first().cloned(),
            confidence: answer.confidence,
            evidence_count: answer.evidence_count,
            // If nothing was ever measured, it is the time of the answer (decision counts-and-basis).
            last_checked: answer.seen().map_or_else(|| now.clone(), |seen| seen.to_string()),
            stale_since: answer.stale_since.map(|since| since.to_string()),
            methods: answer.methods,
            basis: answer.basis,
            checked_at: now.clone(),
        })
        .collect();
    countries.sort_by_key(|row| (row.status != State::Blocked, row.country.clone()));
    Response::json(&ServiceBody {
        label,
        domains: keys().filter(|key| !key.contains('/')).collect(),
        roles: keys().collect(),
        service: subject.name,
        countries_checked: countries.len(),
        countries_blocking: counts.blocked,
        countries_accessible: counts.accessible,
        global_score: (decided > 0).then(|| round(counts.accessible as f64 / decided as f64)),
        countries,
        license: license(&licences),
        generated_at: now,
        as_of: at.map(|at| at.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn countries_of_lists_and_of_measurements_are_each_there_once_in_order() {
        let glance = |series: usize, country: &str| Glance {
            series,
            country: country.to_owned(),
            state: State::Accessible,
            blocking: Vec::new(),
            last_checked: Timestamp(0),
            sources: Vec::new(),
        };
        let seen = vec![glance(0, "BR"), glance(0, "KE"), glance(1, "KE"), glance(1, "NO")];
        let listed: BTreeSet<String> = ["AE", "KE", "LT", "ZW"].map(str::to_owned).into();
        let known = SubjectFacts { listed, seen };
        let found: Vec<(&str, bool, usize)> =
            known.countries().iter().map(|known| (known.code, known.listed, known.seen.len())).collect();
        let expected =
            [("AE", true, 0), ("BR", false, 1), ("KE", true, 2), ("LT", true, 0), ("NO", false, 1), ("ZW", true, 0)];
        assert_eq!(found, expected);
    }
}
