//! The risk that platforms are blocked.
//!
//! In one country it is the calibrated probability of a block. Worldwide it is the mean over the countries with a
//! decided status, shrunk by a few countries without a block, so that a single country does not decide it. A documented
//! block counts only where nothing is measured, with its bounded confidence, and never in the worldwide score.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::constants::PLATFORM_PRIOR_COUNTRIES;
use super::facts::PlatformFacts;
use super::reports::{Notes, ReportQuestion, Table, World, camel};
use crate::country::{Detection, State};
use crate::reference::{self};
use crate::{Error, Result, Timestamp, world};
use engine::documents::Rendered;
use engine::http::Cx;
use engine::number::round;
use facts::sentence::{Sentence, Sentences};
use facts::starter::Country;
use facts::tracked::Tracked;
use facts::verdict::constants::{KNOWN_LIST_AGE, KNOWN_LIST_CONFIDENCE};

pub const CAVEAT: Sentence = Sentence::new("report.platforms");

/// Stated when no platform has a score.
const NO_PLATFORM: Sentence = Sentence::new("report.no_platform");

fn unknown(text: &str) -> Error {
    Error::not_found(format!("{text:?} is not a platform that is tracked."))
}

/// The platform named in the path, by slug or by another of its names. The error is 404 for one that is not tracked.
pub async fn platform(cx: &Cx) -> Result<Tracked> {
    let text = cx.path("platform")?;
    reference::platform(&*cx.rt, text).await?.ok_or_else(|| unknown(text))
}

/// The probability of a block; 0 for a status that is not decided.
pub fn score(state: State, confidence: f64) -> f64 {
    match state {
        State::Blocked => confidence,
        State::Accessible => round(1.0 - confidence),
        State::Unknown => 0.0,
    }
}

fn facts_of<'a>(world: &'a World, slug: &str) -> impl Iterator<Item = (&'a str, &'a PlatformFacts)> {
    let slug = slug.to_owned();
    world.facts.iter().filter_map(move |facts| {
        let found = facts.platforms.iter().find(|platform| platform.slug == slug)?;
        (found.state != State::Unknown).then_some((facts.country.as_str(), found))
    })
}

fn global_score(world: &World, slug: &str) -> (f64, usize) {
    let scores: Vec<f64> = facts_of(world, slug).map(|(_, facts)| score(facts.state, facts.confidence)).collect();
    let sum: f64 = scores.iter().sum();
    (round(sum / (scores.len() as f64 + PLATFORM_PRIOR_COUNTRIES)), scores.len())
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PlatformScoreRow")]
struct ScoreRow {
    rank: usize,
    platform: String,
    label: String,
    /// It is 0 without meaning where `insufficientData` is true.
    global_score: f64,
    /// Whether no country has a measured answer.
    insufficient_data: bool,
    /// Countries where it is measured as blocked.
    countries_blocking: usize,
    /// Countries with a measured answer.
    countries_measured: usize,
    /// Mean over the countries with a measured answer.
    avg_block_rate: f64,
    top_countries: Vec<String>,
    methods: Vec<String>,
}

/// `/v1/platforms/scores`
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PlatformScores")]
pub struct ScoresBody {
    count: usize,
    /// False when no platform is measured inside the window.
    available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Sentence>,
    platforms: Vec<ScoreRow>,
}

pub fn scores(asked: &ReportQuestion<'_>, world: &World) -> Result<Rendered> {
    let mut platforms: Vec<ScoreRow> = world.platforms.iter().map(|platform| score_row(platform, world)).collect();
    platforms.sort_by(|a, b| {
        b.global_score
            .total_cmp(&a.global_score)
            .then(b.countries_blocking.cmp(&a.countries_blocking))
            .then(a.platform.cmp(&b.platform))
    });
    (1..).zip(&mut platforms).for_each(|(rank, row)| row.rank = rank);
    let columns = &[
        "rank",
        "platform",
        "label",
        "globalScore",
        "countriesBlocking",
        "countriesMeasured",
        "avgBlockRate",
        "topCountries",
        "methods",
    ];
    let available = platforms.iter().any(|row| row.countries_measured > 0);
    let reason = (!available).then_some(NO_PLATFORM);
    let notes = Notes::new(CAVEAT, Sentences::new().with("reason", &reason));
    let body = ScoresBody { count: platforms.len(), available, reason, platforms };
    camel(asked, world.stamp(), notes, &Table { list: "platforms", columns }, body)
}

fn score_row(platform: &Tracked, world: &World) -> ScoreRow {
    let (global_score, countries_measured) = global_score(world, &platform.slug);
    let mut blocking: Vec<(&str, &PlatformFacts)> =
        facts_of(world, &platform.slug).filter(|(_, facts)| facts.state == State::Blocked).collect();
    blocking.sort_by(|a, b| b.1.confidence.total_cmp(&a.1.confidence).then(a.0.cmp(b.0)));
    let rates: f64 = facts_of(world, &platform.slug).map(|(_, facts)| facts.rate).sum();
    let methods: BTreeSet<String> = blocking.iter().flat_map(|(_, facts)| facts.methods.clone()).collect();
    ScoreRow {
        rank: 0,
        platform: platform.slug.clone(),
        label: platform.label.clone(),
        global_score,
        insufficient_data: countries_measured == 0,
        countries_blocking: blocking.len(),
        countries_measured,
        avg_block_rate: if countries_measured > 0 { round(rates / countries_measured as f64) } else { 0.0 },
        top_countries: blocking.iter().take(5).map(|(country, _)| (*country).to_owned()).collect(),
        methods: methods.into_iter().collect(),
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PlatformBlockedIn")]
struct BlockedIn {
    country: String,
    country_name: String,
    score: f64,
    block_rate: f64,
    methods: Vec<String>,
    /// Measurements of the host that decides. The answer about one country also counts those of the platform's other
    /// hosts.
    evidence_count: u32,
    /// `measured` or `known_list`.
    basis: &'static str,
    last_seen: String,
}

/// `/v1/platform/{platform}/risk`
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PlatformRisk")]
pub struct RiskBody {
    platform: String,
    label: String,
    /// It is 0 without meaning where `insufficientData` is true.
    global_score: f64,
    /// Whether no country has a measured answer.
    insufficient_data: bool,
    /// Countries where it is measured as blocked.
    countries_blocking: usize,
    /// Countries with a documented block and without a measured answer.
    countries_listed: usize,
    countries_measured: usize,
    blocked_in: Vec<BlockedIn>,
    domains: Vec<String>,
}

pub fn risk(asked: &ReportQuestion<'_>, world: &World) -> Result<Rendered> {
    let slug = asked.parameter.unwrap_or_default();
    let platform = world.platforms.iter().find(|platform| platform.slug == slug).ok_or_else(|| unknown(slug))?;
    let (global_score, countries_measured) = global_score(world, &platform.slug);
    let decided: BTreeSet<&str> = facts_of(world, &platform.slug).map(|(country, _)| country).collect();
    let mut blocked_in: Vec<BlockedIn> = facts_of(world, &platform.slug)
        .filter(|(_, facts)| facts.state == State::Blocked)
        .map(|(country, facts)| BlockedIn {
            country: country.to_owned(),
            country_name: world::name(country),
            score: facts.confidence,
            block_rate: facts.rate,
            methods: facts.methods.clone(),
            evidence_count: facts.evidence,
            basis: "measured",
            last_seen: facts.last_checked.to_string(),
        })
        .collect();
    let countries_blocking = blocked_in.len();
    let others = Country::all().iter().filter(|country| !decided.contains(country.code));
    blocked_in.extend(others.filter_map(|country| documented(platform, country, world.at)));
    blocked_in.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.country.cmp(&b.country)));
    let body = RiskBody {
        platform: platform.slug.clone(),
        label: platform.label.clone(),
        global_score,
        insufficient_data: countries_measured == 0,
        countries_blocking,
        countries_listed: blocked_in.len() - countries_blocking,
        countries_measured,
        blocked_in,
        domains: platform.domains().map(str::to_owned).collect(),
    };
    let columns = &["country", "countryName", "score", "blockRate", "methods", "evidenceCount", "basis", "lastSeen"];
    camel(asked, world.stamp(), CAVEAT, &Table { list: "blockedIn", columns }, body)
}

fn documented(platform: &Tracked, country: &Country, at: Timestamp) -> Option<BlockedIn> {
    let block = platform.known_block(country)?;
    // As in a verdict, a documented block counts for 24 months from its date on (decision kinds-of-lists).
    (block.confirmed_on <= at && at.since(block.confirmed_on) <= KNOWN_LIST_AGE).then(|| BlockedIn {
        country: country.code.to_owned(),
        country_name: country.name.to_owned(),
        score: KNOWN_LIST_CONFIDENCE,
        block_rate: 0.0,
        methods: Vec::new(),
        evidence_count: 0,
        basis: "known_list",
        last_seen: block.confirmed_on.to_string(),
    })
}

/// `/v1/platform/{platform}/risk/{country}`
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PlatformCountryRisk")]
pub struct CountryRiskBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<usize>,
    platform: String,
    label: String,
    country: &'static str,
    country_name: &'static str,
    /// It is 0 without meaning where `insufficientData` is true.
    score: f64,
    /// Whether the status is unknown.
    insufficient_data: bool,
    block_rate: f64,
    status: State,
    basis: String,
    confidence: f64,
    methods: Vec<String>,
    evidence_count: u32,
    networks_blocked: u32,
    networks_tested: u32,
    /// Time of the newest measurement; null when it was never measured.
    last_seen: Option<String>,
    /// The same time, and when that measurement became too old to count; both absent while any measurement counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_checked: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stale_since: Option<String>,
}

/// One platform in one country.
pub fn in_country(platform: &Tracked, country: &'static Country, answer: &Detection) -> CountryRiskBody {
    let votes: u32 = answer.networks.iter().map(|network| network.votes).sum();
    let blocked: u32 = answer.networks.iter().map(|network| network.blocked_votes).sum();
    CountryRiskBody {
        rank: None,
        platform: platform.slug.clone(),
        label: platform.label.clone(),
        country: country.code,
        country_name: country.name,
        score: score(answer.state, answer.confidence),
        insufficient_data: answer.state == State::Unknown,
        block_rate: if votes > 0 { round(f64::from(blocked) / f64::from(votes)) } else { 0.0 },
        status: answer.state,
        basis: answer.basis.clone(),
        confidence: answer.confidence,
        methods: answer.methods.clone(),
        evidence_count: answer.evidence_count,
        networks_blocked: answer.networks_blocked,
        networks_tested: answer.networks_tested,
        last_seen: answer.seen().map(|seen| seen.to_string()),
        last_checked: answer.stale_since.and(answer.seen()).map(|seen| seen.to_string()),
        stale_since: answer.stale_since.map(|since| since.to_string()),
    }
}

/// `/v1/platforms/country/{country}`
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PlatformsOfCountry")]
pub struct CountryBody {
    country: &'static str,
    country_name: &'static str,
    count: usize,
    platforms: Vec<CountryRiskBody>,
}

/// All platforms in one country, worst first.
pub fn of_country(country: &'static Country, mut platforms: Vec<CountryRiskBody>) -> CountryBody {
    platforms.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.platform.cmp(&b.platform)));
    (1..).zip(&mut platforms).for_each(|(rank, row)| row.rank = Some(rank));
    CountryBody { country: country.code, country_name: country.name, count: platforms.len(), platforms }
}

/// Columns of the list of a country's platforms.
pub const COUNTRY_TABLE: Table = Table {
    list: "platforms",
    columns: &[
        "rank",
        "platform",
        "label",
        "score",
        "blockRate",
        "status",
        "basis",
        "confidence",
        "methods",
        "evidenceCount",
        "lastSeen",
    ],
};
