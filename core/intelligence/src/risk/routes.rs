//! The endpoints of the detection group that look ahead. All need an API key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::days::{KEPT, ReadRecentScores, RecentScores};
use super::level::{self, LEVELS, RISKS};
use super::model_info::{self, ModelBody};
use super::rate::{self, MODEL, OnsetRisk, RateFacts};
use super::scores::{CountryScore, ReadScores};
use crate::aggregation::history::{BY, SINCE_DAY, UNTIL_DAY};
use crate::analytics::FORMAT;
use crate::country::routes::input;
use crate::country::{Detect, State, strictest};
use crate::forecast::{self, Ahead, ServedModel};
use crate::incidents::{self, Filter, Select, Status};
use crate::{Error, Result, Timestamp, reference, world};
use engine::http::{COUNTRY_PATTERN, Cx, Limit, Param, Response, Route, handler};
use engine::runtime;
use engine::time::DAY;
use facts::licence;
use facts::sentence::{Sentence, Sentences};
use facts::starter::Platform;
use facts::subject::Subject;

pub const ROUTES: &[Route] = &[
    Route::post("/hydra/v1/predict", handler!(predict))
        .key()
        .accepts::<PredictRequest>()
        .returns::<PredictBody>()
        .summary("The risk of a new or wider block within some days."),
    Route::get("/hydra/v1/threat-level/{country}", handler!(threat_level))
        .key()
        .params(&[Param::optional("includeHistory", "`true` adds the scores of the last 30 days.")
            .boolean()
            .default("false")])
        .returns::<ThreatBody>()
        .summary("How much is blocked in a country, the trend, and what to do."),
    Route::get("/data/country/{code}/history", handler!(super::history::history))
        .late()
        .extension()
        .limit(Limit::Data)
        .params(&[
            Param::optional("days", "Days of the history, up to now: default 30, at most 60.")
                .count(super::history::DEFAULT_DAYS, KEPT),
            SINCE_DAY,
            UNTIL_DAY,
            BY,
            FORMAT,
        ])
        .returns_either::<super::history::CountryHistoryBody, crate::aggregation::history::NetworkHistoryBody>()
        .summary("The score of a country and its incidents by day."),
    Route::get("/hydra/v1/scores", handler!(scores))
        .key()
        .params(&[
            Param::optional("minConfidence", "0 to 1, default 0.5: at least this certain that the level is right.")
                .number(0, 1)
                .default("0.5"),
            Param::optional("limit", "Most entries of the answer: default 50, at most 300.")
                .count(DEFAULT_LIMIT, MAX_LIMIT),
        ])
        .returns::<ScoresBody>()
        .summary("Scores of the measured countries, most censored first."),
    Route::get("/hydra/v1/model/info", handler!(model_info::read))
        .key()
        .returns::<ModelBody>()
        .summary("What `predict` answers from."),
];

/// Days ahead: the default, and the maximum.
const HORIZON: u32 = 7;
const MOST_DAYS: u32 = 30;
/// Entries of a history.
const HISTORY: usize = 30;
/// Blocking methods that are named, at most.
const TOP_METHODS: usize = 5;
const DEFAULT_CONFIDENCE: f64 = 0.5;
const DEFAULT_LIMIT: u32 = 50;
/// More than there are countries.
const MAX_LIMIT: u32 = 300;
/// Window of the base rate.
const YEAR: i64 = 365 * DAY;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct PredictRequest {
    /// ISO 3166-1 alpha-2.
    #[schemars(required, regex(pattern = COUNTRY_PATTERN))]
    country: Option<String>,
    /// A domain, URL or service name. If absent, the answer is about the country as a whole.
    target: Option<String>,
    /// Days ahead, default 7, kept within 1 to 30.
    horizon: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FactorBody {
    name: &'static str,
    /// Share of the logarithm of the rate.
    weight: f64,
    /// `up` or `down`.
    direction: &'static str,
    description: Sentence,
    sentences: Sentences,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PredictionDay")]
struct DayBody {
    /// Days from today.
    day: u32,
    date: String,
    /// Probability that something begins on this day.
    risk: f64,
    /// Probability that something has begun by the end of this day.
    cumulative: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PredictBody {
    country: String,
    country_name: String,
    target: Option<String>,
    /// The domain or service that was looked up.
    normalized_target: Option<String>,
    /// Days.
    horizon: u32,
    /// Risk of a new or wider block within the horizon, 0-1.
    probability: f64,
    /// `low`, `watch`, `elevated` or `high`.
    risk_level: &'static str,
    /// `rising`, `stable` or `falling`.
    trend: &'static str,
    /// Change of the mean score of seven days against the seven before, 0-1; null when there are no scores of both.
    trend_delta: Option<f64>,
    confidence: f64,
    /// The present status of the target; null without a target.
    current_status: Option<State>,
    factors: Vec<FactorBody>,
    daily: Vec<DayBody>,
    model_version: String,
    generated_at: String,
    caveats: Vec<Sentence>,
    license: String,
    sentences: Sentences,
}

/// Counts the shown incidents that pass a filter.
async fn count(cx: &Cx, filter: Filter) -> Result<u64> {
    let asked = Select { filter, offset: 0, limit: 0 };
    Ok(runtime::query(&*cx.rt, incidents::actor().name, &asked).await?.total)
}

/// Incidents that began within the last year.
async fn begun(cx: &Cx, country: Option<&str>, subject: Option<&str>) -> Result<u64> {
    let now = cx.now();
    let filter = Filter {
        country: country.map(str::to_owned),
        subject: subject.map(str::to_owned),
        // An incident that began exactly a year ago is too old.
        begun_since: Some(now.plus(1 - YEAR)),
        until: Some(now),
        ..Filter::default()
    };
    count(cx, filter).await
}

/// The name that incidents use for a subject (decision incident-grades).
fn incident_subject(subject: &Subject) -> String {
    Platform::by_domain(&subject.name).map_or_else(|| subject.name.clone(), |platform| platform.slug.to_owned())
}

/// The days ahead that a request asks for: 7 if absent, rounded, and kept within 1 to 30.
fn horizon(asked: Option<f64>) -> u32 {
    let days = asked.unwrap_or(f64::from(HORIZON)).round().clamp(1.0, f64::from(MOST_DAYS));
    // Between 1 and 30.
    days as u32
}

async fn predict(cx: Cx) -> Result<Response> {
    let request: PredictRequest = cx.json()?;
    let asked = input::required("country", &request.country)?;
    let target = request.target.as_deref().map(str::trim).filter(|target| !target.is_empty());
    let subject = match target {
        Some(target) => Some(reference::subject(&*cx.rt, target).await?),
        None => None,
    };
    let horizon = horizon(request.horizon);
    let country = input::known(asked)?;
    let looked = runtime::query(&*cx.rt, country.code, &ReadRecentScores).await?;
    let current = match &subject {
        Some(subject) => {
            let detect = Detect { subjects: vec![subject.clone()], at: None, explain: false, brief: true };
            runtime::query(&*cx.rt, country.code, &detect).await?.pop().map(|answer| answer.state)
        }
        None => None,
    };
    let trend = looked.trend_delta;
    let (risk, model_version, license) =
        Box::pin(learned_or_base(&cx, country.code, subject.as_ref(), &looked, trend, horizon)).await?;
    let daily = days(&risk, cx.now());
    let probability = daily.last().map_or(0.0, |day| day.cumulative);
    Response::uncached(&PredictBody {
        country: country.code.to_owned(),
        country_name: country.name.to_owned(),
        target: target.map(str::to_owned),
        normalized_target: subject.map(|subject| subject.name),
        horizon,
        probability,
        risk_level: level::word(&RISKS, probability),
        trend: level::trend(trend),
        trend_delta: trend,
        confidence: risk.confidence,
        current_status: current,
        factors: risk.factors.into_iter().map(factor).collect(),
        daily,
        model_version,
        generated_at: cx.now().to_string(),
        sentences: Sentences::new().with("caveats", &risk.caveats),
        caveats: risk.caveats,
        license,
    })
}

/// The learned forecast of a country as a whole, or else the base rate; with the version and the licence. Models are
/// learned for whole countries, so a target always gets the base rate.
async fn learned_or_base(
    cx: &Cx,
    country: &str,
    subject: Option<&Subject>,
    looked: &RecentScores,
    trend: Option<f64>,
    horizon: u32,
) -> Result<(OnsetRisk, String, String)> {
    if subject.is_none()
        && let Some(ahead) = forecast::ahead(cx, country, horizon).await?
    {
        let Ahead { daily, factors, confidence, version, caveats, license } = ahead;
        let factor = |(name, weight, description)| rate::Factor { name, weight, description };
        let factors = factors.into_iter().map(factor).collect();
        // The answer also states a trend, which rests on measurements.
        let license = match trend {
            Some(_) => licence::effective([license, strictest(&looked.summary.sources)].iter().map(String::as_str)),
            None => license,
        };
        return Ok((OnsetRisk { daily, confidence, factors, caveats }, version, license));
    }
    let mut risk = estimate(cx, country, subject, looked, trend, horizon).await?;
    risk.caveats.push(match subject {
        Some(_) => Sentence::new("risk.of_one_target"),
        None => forecast::no_model(cx).await?,
    });
    let license = strictest(&looked.summary.sources);
    Ok((risk, MODEL.version.to_owned(), license))
}

/// Gathers the facts and computes the base rate.
async fn estimate(
    cx: &Cx,
    country: &str,
    subject: Option<&Subject>,
    looked: &RecentScores,
    trend: Option<f64>,
    horizon: u32,
) -> Result<OnsetRisk> {
    let subject = subject.map(incident_subject);
    let known = RateFacts {
        incidents: begun(cx, Some(country), subject.as_deref()).await?,
        incidents_everywhere: begun(cx, None, subject.as_deref()).await?,
        about: subject,
        countries: runtime::query(&*cx.rt, world::actor().name, &ReadScores).await?.len() as u64,
        trend,
        measured: looked.summary.recent > 0,
        scored: looked.summary.index.score.is_some(),
    };
    Ok(rate::estimate(&known, horizon))
}

/// The base rate that is served for a country while no forecast is learned: the risk of one day, the version of the
/// base rate, and its caveats.
pub(crate) async fn base_rate(cx: &Cx, country: &str) -> Result<(f64, &'static str, Vec<Sentence>)> {
    let looked = runtime::query(&*cx.rt, country.to_owned(), &ReadRecentScores).await?;
    let trend = looked.trend_delta;
    let risk = estimate(cx, country, None, &looked, trend, 1).await?;
    Ok((risk.daily.first().copied().unwrap_or_default(), MODEL.version, risk.caveats))
}

fn factor(factor: rate::Factor) -> FactorBody {
    FactorBody {
        sentences: Sentences::new().with("description", &factor.description),
        name: factor.name,
        weight: factor.weight,
        direction: if factor.weight < 0.0 { "down" } else { "up" },
        description: factor.description,
    }
}

fn days(risk: &OnsetRisk, now: Timestamp) -> Vec<DayBody> {
    (1..)
        .zip(risk.daily.iter().zip(rate::cumulative(&risk.daily)))
        .map(|(day, (risk, cumulative))| DayBody {
            day,
            date: now.plus(i64::from(day) * DAY).to_date_text(),
            risk: forecast::fine(*risk),
            cumulative: forecast::fine(cumulative),
        })
        .collect()
}

#[derive(Debug, Serialize, JsonSchema)]
struct HistoryEntry {
    date: String,
    /// 0-1; null for a day without a known score.
    score: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreatBody {
    country: String,
    country_name: String,
    /// 0-1, higher is more censorship; null when there are too few measurements.
    score: Option<f64>,
    /// `minimal`, `low`, `medium`, `high`, `critical`, or `unknown` without a score.
    level: &'static str,
    trend: &'static str,
    trend_delta: Option<f64>,
    /// Probability that `level` is right; 0 when it is unknown.
    confidence: f64,
    /// Why there is no score.
    reason: Option<Sentence>,
    recommendations: Vec<Sentence>,
    active_incidents: u64,
    top_methods: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<Vec<HistoryEntry>>,
    samples: u64,
    sources: Vec<String>,
    last_updated: String,
    /// Version of the forecast that is served beside the score.
    model_version: String,
    license: String,
    sentences: Sentences,
}

/// The version of the model that makes the forecasts: the learned model, or else the base rate.
async fn version(cx: &Cx) -> Result<String> {
    let (served, _) = runtime::query(&*cx.rt, world::actor().name, &ServedModel).await?;
    Ok(served.map_or(MODEL.version.to_owned(), |(model, _)| model.version()))
}

async fn threat_level(cx: Cx) -> Result<Response> {
    cx.kept(threat_page(&cx)).await
}

async fn threat_page(cx: &Cx) -> Result<Response> {
    let country = input::path_country(cx, "country")?;
    let with_history = cx.flag("includeHistory")?.unwrap_or(false);
    let RecentScores { summary, days, trend_delta: delta } =
        runtime::query(&*cx.rt, country.code, &ReadRecentScores).await?;
    let active =
        Filter { country: Some(country.code.to_owned()), status: Some(vec![Status::Active]), ..Filter::default() };
    let active = count(cx, active).await?;
    let score = summary.index.score.map(|score| f64::from(score) / 100.0);
    let mut methods = summary.methods.clone();
    methods.truncate(TOP_METHODS);
    let mut said = Sentences::new();
    Response::json(&ThreatBody {
        country: country.code.to_owned(),
        country_name: country.name.to_owned(),
        score,
        level: score.map_or("unknown", |score| level::word(&LEVELS, score)),
        trend: level::trend(delta),
        trend_delta: delta,
        confidence: level::certainty(&summary.index),
        reason: said.add("reason", summary.index.why()),
        recommendations: said.add("recommendations", recommendations(score, &summary.methods, active)),
        active_incidents: active,
        top_methods: methods,
        history: with_history.then(|| history(&days, cx.now())),
        samples: summary.recent,
        sources: summary.sources.iter().map(|source| source.source.clone()).collect(),
        last_updated: summary.newest.unwrap_or(summary.at).to_string(),
        model_version: version(cx).await?,
        license: strictest(&summary.sources),
        sentences: said,
    })
}

/// The last 30 days, today last.
fn history(days: &[Option<u32>], now: Timestamp) -> Vec<HistoryEntry> {
    let back = (0..KEPT).rev();
    let entries = back.zip(days).map(|(back, score)| HistoryEntry {
        date: now.plus(-i64::from(back) * DAY).to_date_text(),
        score: score.map(|score| f64::from(score) / 100.0),
    });
    entries.skip(days.len().saturating_sub(HISTORY)).collect()
}

/// Codes of advice against blocking methods, found by the beginning of a method's name.
const ADVICE: [(&str, &str); 8] = [
    ("dns", "advice.dns"),
    ("tls", "advice.name"),
    ("sni", "advice.name"),
    ("tcp", "advice.tcp"),
    ("http-timeout", "advice.http_timeout"),
    ("http", "advice.http"),
    ("blockpage", "advice.blockpage"),
    ("throttling", "advice.throttling"),
];

fn recommendations(score: Option<f64>, methods: &[String], active: u64) -> Vec<Sentence> {
    let mut found: Vec<&'static str> = Vec::new();
    if score.is_none() {
        found.push("advice.measure");
    }
    if active > 0 {
        found.push("advice.incidents");
    }
    for method in methods {
        let advice = ADVICE.iter().find(|(beginning, _)| method.starts_with(beginning)).map(|(_, advice)| *advice);
        if let Some(advice) = advice.filter(|advice| !found.contains(advice)) {
            found.push(advice);
        }
    }
    if score.is_some_and(|score| score >= 0.6) {
        found.push("advice.several_tools");
    }
    if found.is_empty() && score.is_some_and(|score| score >= 0.2) {
        found.push("advice.unknown_method");
    }
    if found.is_empty() {
        found.push("advice.none");
    }
    found.into_iter().map(Sentence::new).collect()
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CountryScoreRow")]
struct ScoreRow {
    rank: usize,
    /// ISO 3166-1 alpha-2.
    country: String,
    country_name: String,
    /// 0-1, higher is more censorship.
    score: f64,
    level: &'static str,
    confidence: f64,
    samples: u64,
    last_updated: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScoresBody {
    scores: Vec<ScoreRow>,
    count: usize,
    min_confidence: f64,
    /// Countries that have measurements, but too few for a score.
    insufficient_data: usize,
    generated_at: String,
    /// Version of the forecast that is served beside the scores.
    model_version: String,
    license: String,
}

async fn scores(cx: Cx) -> Result<Response> {
    cx.kept(scores_page(&cx)).await
}

async fn scores_page(cx: &Cx) -> Result<Response> {
    let least = least_confidence(cx)?;
    let limit = cx.count("limit", DEFAULT_LIMIT, MAX_LIMIT)? as usize;
    let all = runtime::query(&*cx.rt, world::actor().name, &ReadScores).await?;
    let insufficient_data = all.iter().filter(|(_, row)| row.score.is_none()).count();
    let mut found: Vec<(u32, String, CountryScore)> =
        all.into_iter().filter_map(|(country, row)| Some((row.score?, country, row))).collect();
    found.retain(|(.., row)| row.confidence >= least);
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.truncate(limit);
    let license = licence::effective(found.iter().map(|(.., row)| row.license.as_str()));
    let rows = (1..).zip(found).map(|(rank, (score, country, row))| ScoreRow {
        rank,
        country_name: world::name(&country),
        country,
        score: f64::from(score) / 100.0,
        level: level::word(&LEVELS, f64::from(score) / 100.0),
        confidence: row.confidence,
        samples: row.samples,
        last_updated: row.updated.to_string(),
    });
    let scores: Vec<ScoreRow> = rows.collect();
    Response::json(&ScoresBody {
        count: scores.len(),
        scores,
        min_confidence: least,
        insufficient_data,
        generated_at: cx.now().to_string(),
        model_version: version(cx).await?,
        license,
    })
}

fn least_confidence(cx: &Cx) -> Result<f64> {
    let Some(text) = cx.query("minConfidence")? else { return Ok(DEFAULT_CONFIDENCE) };
    text.parse()
        .ok()
        .filter(|least| (0.0..=1.0).contains(least))
        .ok_or_else(|| Error::bad_request("Query parameter `minConfidence` must be a number from 0 to 1."))
}
