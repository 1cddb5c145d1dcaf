//! `/data/domain/{domain}` and its history (spec intelligence 3.8 and 3.9).

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Serialize;

use super::accessibility::{AT_ONCE, Known, ask_all, known_of};
use super::detect::{Question, StatusCounts, license};
use super::input;
use crate::analytics::tabular::{self, Tabular};
use crate::country::{
    Detection, Explanation, History, HistoryDay, NetworkAnswer, Source, State, Subject, round, sentence,
};
use crate::http::{Cx, Response};
use crate::time::DAY;
use crate::world::TargetSummary;
use crate::{Result, Timestamp, reference, runtime, starter};

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

fn status(counts: &StatusCounts) -> &'static str {
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

async fn subject(cx: &Cx) -> Result<Subject> {
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
    let mut answers = ask_all(cx, &subject, suspects, at).await?;
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
                question.ask(&*cx.rt, vec![subject.clone()]).await?.pop().and_then(|answer| answer.explanation);
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
struct Survey {
    /// All that have something to say.
    codes: Vec<String>,
    /// Those of them that may block it.
    suspects: Vec<String>,
    /// What the others say by their latest summaries.
    elsewhere: StatusCounts,
    /// Networks that block in those.
    blocking: usize,
    /// Licences of what those rest on.
    licences: BTreeSet<String>,
    /// When each was measured last; empty where it was not looked at.
    measured: BTreeMap<String, Timestamp>,
}

impl Survey {
    /// Countries that may have measurements of these last days: one that was measured last before them has none. What a
    /// list says is dated by the list, so where one may, the country is asked.
    fn measured_within(&self, days: u32, now: Timestamp) -> Vec<String> {
        let from = now.day() + 1 - i64::from(days);
        let within = |code: &&String| {
            self.measured.get(*code).is_some_and(|last| last.day() >= from) || self.suspects.contains(code)
        };
        self.codes.iter().filter(within).cloned().collect()
    }
}

async fn survey(cx: &Cx, subject: &Subject, at: Option<Timestamp>) -> Result<Survey> {
    let Known { codes, listed, rows } = known_of(cx, subject).await?;
    if at.is_some() {
        return Ok(Survey { suspects: codes.clone(), codes, ..Survey::default() });
    }
    let mut survey = Survey::default();
    let essential = |target: &str| subject.roles.iter().any(|role| role.essential && role.key == target);
    let mut by_country: BTreeMap<&str, Vec<&TargetSummary>> = BTreeMap::new();
    for (country, row) in rows.iter().filter(|(_, row)| essential(&row.target)) {
        by_country.entry(country).or_default().push(row);
    }
    for code in &codes {
        let rows = by_country.get(code.as_str()).map(Vec::as_slice).unwrap_or_default();
        let documented = starter::known_blocks::find(code, &subject.name).is_some();
        if documented || listed.contains(code) || rows.iter().any(|row| row.state == State::Blocked) {
            survey.suspects.push(code.clone());
            continue;
        }
        let networks = rows.iter().flat_map(|row| &row.networks);
        let blocked = networks.filter(|network| network.asn != 0 && network.state == State::Blocked);
        survey.blocking += blocked.map(|network| network.asn).collect::<BTreeSet<_>>().len();
        let sources = rows.iter().flat_map(|row| &row.sources).filter_map(|id| Source::by_id(id));
        survey.licences.extend(sources.map(|source| source.licence_under(cx.settings()).to_owned()));
        if rows.iter().any(|row| row.state == State::Accessible) {
            survey.elsewhere.accessible += 1;
        } else {
            survey.elsewhere.unknown += 1;
        }
    }
    for (country, rows) in by_country {
        survey.measured.extend(rows.iter().map(|row| row.last_checked).max().map(|last| (country.to_owned(), last)));
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

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CountryDay {
    status: &'static str,
    block_rate: f64,
    measurements: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Day {
    date: String,
    countries: BTreeMap<String, CountryDay>,
    total_measurements: u32,
    total_blocked: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct HistorySummary {
    total_data_points: u64,
    countries_ever_blocked: usize,
    countries_currently_blocking: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryBody {
    domain: String,
    period: String,
    days: u32,
    current_status: &'static str,
    generated: String,
    summary: HistorySummary,
    countries_blocking: Vec<String>,
    /// Newest first.
    timeline: Vec<Day>,
    license: String,
    #[serde(rename = "as_of", skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
}

/// A history as CSV: a line for each day and country.
const HISTORY_TABLE: Tabular = Tabular {
    name: "history",
    list: "timeline",
    inner: Some("countries"),
    columns: &["date", "country", "status", "blockRate", "measurements"],
};

pub async fn history(cx: Cx) -> Result<Response> {
    let page = cx.kept(history_page(&cx)).await?;
    tabular::send(&cx, &HISTORY_TABLE, &subject(&cx).await?.name, page)
}

async fn history_page(cx: &Cx) -> Result<Response> {
    let subject = subject(cx).await?;
    let days = cx.count("days", 30, 365)?;
    let at = cx.time("as_of")?;
    let country = cx.query("country")?;
    let everywhere = country.is_none();
    let survey = match country {
        Some(country) => {
            let one = input::country(&country)?.map(|country| vec![country.code.to_owned()]).unwrap_or_default();
            Survey { codes: one.clone(), suspects: one, ..Survey::default() }
        }
        None => survey(cx, &subject, at).await?,
    };
    let measured = match everywhere && at.is_none() {
        true => survey.measured_within(days, cx.now()),
        false => survey.codes.clone(),
    };
    let Survey { suspects, elsewhere, licences, .. } = survey;
    let answers = ask_all(cx, &subject, suspects, at).await?;
    let mut counts = StatusCounts::count(answers.iter().map(|(_, answer)| answer));
    counts.accessible += elsewhere.accessible;
    counts.unknown += elsewhere.unknown;
    let mut licences: Vec<String> = licences.into_iter().collect();
    licences.extend(answers.iter().flat_map(|(_, answer)| answer.licences.clone()));
    let blocking: Vec<String> = answers
        .iter()
        .filter(|(_, answer)| answer.state == State::Blocked)
        .map(|(question, _)| question.code.clone())
        .collect();
    let histories = histories(cx, &subject, measured, days, at).await?;
    let ever = histories.iter().filter(|(_, days)| days.iter().any(|day| day.status == State::Blocked)).count();
    let timeline = timeline(histories);
    Response::json(&HistoryBody {
        domain: subject.name.clone(),
        period: format!("{days} days"),
        days,
        current_status: status(&counts),
        generated: tabular::generated(cx, at).to_string(),
        summary: HistorySummary {
            total_data_points: timeline.iter().map(|day| u64::from(day.total_measurements)).sum(),
            countries_ever_blocked: ever,
            countries_currently_blocking: blocking.len(),
        },
        countries_blocking: blocking,
        timeline,
        license: license(&licences),
        as_of: at.map(|at| at.to_string()),
    })
}

async fn histories(
    cx: &Cx,
    subject: &Subject,
    codes: Vec<String>,
    days: u32,
    at: Option<Timestamp>,
) -> Result<Vec<(String, Vec<HistoryDay>)>> {
    let work = codes.into_iter().map(|code| async move {
        let history = History { subject: subject.clone(), days, at };
        Ok((code.clone(), runtime::query(&*cx.rt, code, &history).await?))
    });
    let found: Vec<Result<_>> = futures_util::stream::iter(work).buffered(AT_ONCE).collect().await;
    found.into_iter().collect()
}

fn timeline(histories: Vec<(String, Vec<HistoryDay>)>) -> Vec<Day> {
    let mut timeline: BTreeMap<u32, Day> = BTreeMap::new();
    for (country, days) in histories {
        for day in days {
            let entry = timeline.entry(day.day).or_insert_with(|| Day {
                date: Timestamp(i64::from(day.day) * DAY).to_date_text(),
                countries: BTreeMap::new(),
                total_measurements: 0,
                total_blocked: 0,
            });
            entry.total_measurements += day.measurements;
            entry.total_blocked += day.blocked;
            let row = CountryDay {
                status: day.status.as_str(),
                block_rate: round(f64::from(day.blocked) / f64::from(day.votes.max(1))),
                measurements: day.measurements,
            };
            entry.countries.insert(country.clone(), row);
        }
    }
    timeline.into_values().rev().collect()
}
