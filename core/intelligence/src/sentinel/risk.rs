//! `GET /v1/sentinel/current_risk/{country}`, `POST /v1/sentinel/current_risk/batch` and `GET
//! /v1/sentinel/global_heatmap`.

use std::collections::BTreeSet;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::served::{self, Feature, THRESHOLD, Week, ask};
use crate::country::routes::input;
use crate::forecast::batch::{self, BatchCountries, BatchError};
use crate::risk::word;
use crate::{Error, Result};
use engine::http::{Body, Cx, Response};
use engine::number::round;
use engine::time::SECOND;
use facts::licence;
use facts::sentence::{self, Sentence, Sentences};

/// Lower ends of the bands of a seven-day probability.
const BANDS: [(f64, &str); 4] = [(0.5, "high"), (0.25, "elevated"), (0.05, "elevated_baseline"), (0.0, "low")];
/// Features that are named, at most.
const TOP: usize = 3;
/// Links to evidence, at most.
const LINKS: usize = 5;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CurrentRiskSummary")]
struct SummaryBody {
    /// Greatest risk of a single day.
    max_risk: f64,
    max_risk_day: i32,
    avg_risk: f64,
    key_drivers: Vec<Sentence>,
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    sentences: Sentences,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RiskDay")]
struct DayBody {
    date: String,
    day: i32,
    /// Probability that a shutdown begins on this date.
    risk: f64,
    drivers: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct HonestBody {
    /// Probability that a shutdown begins within the next seven days.
    probability: f64,
    /// `high` from 0.5, `elevated` from 0.25, `elevated_baseline` from 0.05, else `low`.
    risk_band: &'static str,
    recommended_threshold: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FeatureBody {
    name: String,
    /// Part of the log odds, compared with the mean over all countries and days.
    contribution: f64,
    /// `up` or `down`.
    direction: String,
    note: Sentence,
    sentences: Sentences,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SimilarToRisk")]
struct SimilarBody {
    readable_id: String,
    severity: String,
    url: String,
    /// `semantic`: found by the words of the forecast; `lookup`: the newest incident of the country.
    source: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PermalinkBody {
    source: String,
    observed_at: String,
    signal_type: Option<String>,
    permalink: String,
    r#ref: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TrustBody {
    probability: f64,
    /// Interval of the fit; `[0, 1]` for base rates, whose interval is unknown.
    interval_90: [f64; 2],
    /// Share of the weeks with a shutdown whose forecast set contained the outcome; null before any forecast can be
    /// checked.
    conformal_coverage: Option<f64>,
    /// Up to three, the strongest first; none for base rates.
    top_features: Vec<FeatureBody>,
    /// An incident of the country; null when there is none.
    similar_incident: Option<SimilarBody>,
    /// Evidence of that incident, newest first.
    evidence_permalinks: Vec<PermalinkBody>,
    model_version: String,
    computed_in_ms: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CurrentRisk")]
pub struct RiskBody {
    country: String,
    country_name: String,
    issued_at: String,
    model_version: String,
    forecast_summary: SummaryBody,
    /// Today and the seven days after.
    forecast_window: Vec<DayBody>,
    honest_forecast: HonestBody,
    trust: TrustBody,
    honest_caveats: Vec<Sentence>,
    license: String,
    sentences: Sentences,
}

/// The members of an incident that are read here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Incident {
    readable_id: String,
    severity: String,
    permalink: String,
    license: String,
}

/// An incident that resembles the forecast, as the search gives it.
#[derive(Debug, Deserialize)]
struct SimilarIncident {
    incident: Incident,
}

#[derive(Debug, Deserialize)]
struct SimilarList {
    results: Vec<SimilarIncident>,
}

#[derive(Debug, Deserialize)]
struct IncidentList {
    incidents: Vec<Incident>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Evidence {
    source: String,
    observed_at: String,
    signal_type: Option<String>,
    permalink: Option<String>,
    source_ref: String,
    license: String,
}

#[derive(Debug, Deserialize)]
struct EvidenceList {
    evidence: Vec<Evidence>,
}

/// The incident of the country that resembles the forecast most, by words; or else its newest incident.
async fn similar(cx: &Cx, week: &Week) -> Result<Option<(Incident, &'static str)>> {
    let words = format!("internet shutdown {} {}", week.country_name, week.summary.key_drivers.join(" "));
    let words = utf8_percent_encode(&words, NON_ALPHANUMERIC);
    let query = format!("query={words}&k=1&country={}", week.country);
    let found: SimilarList = ask(cx, "/v1/incidents/similar", &query).await?;
    if let Some(found) = found.results.into_iter().next() {
        return Ok(Some((found.incident, "semantic")));
    }
    let newest: IncidentList = ask(cx, "/data/incidents", &format!("country={}&limit=1", week.country)).await?;
    Ok(newest.incidents.into_iter().next().map(|incident| (incident, "lookup")))
}

/// The evidence of an incident, newest first, and its licences.
async fn evidence(cx: &Cx, incident: &Incident) -> Result<(Vec<PermalinkBody>, BTreeSet<String>)> {
    let list: EvidenceList = ask(cx, &format!("/data/incidents/{}/evidence", incident.readable_id), "").await?;
    let mut licences = BTreeSet::from([incident.license.clone()]);
    let mut links = Vec::new();
    // The rows are oldest first.
    for row in list.evidence.into_iter().rev() {
        let Some(permalink) = row.permalink.filter(|_| links.len() < LINKS) else { continue };
        licences.insert(row.license);
        let (source, observed_at, signal_type) = (row.source, row.observed_at, row.signal_type);
        links.push(PermalinkBody { source, observed_at, signal_type, permalink, r#ref: row.source_ref });
    }
    Ok((links, licences))
}

fn feature(feature: &Feature) -> FeatureBody {
    // The odds are multiplied by exp of the contribution to the log odds.
    let note = Sentence::new("sentinel.odds").with("lowers", feature.contribution < 0.0);
    let note = note.with("times", feature.contribution.exp());
    FeatureBody {
        name: feature.name.clone(),
        contribution: feature.contribution,
        direction: feature.direction.clone(),
        sentences: Sentences::new().with("note", &note),
        note,
    }
}

async fn risk(cx: &Cx, code: &str) -> Result<RiskBody> {
    let began = cx.now();
    let week = served::week(cx, code).await?;
    let horizons = served::horizons(cx, code).await?;
    let similar = Box::pin(similar(cx, &week)).await?;
    let (links, mut licences) = match &similar {
        Some((incident, _)) => Box::pin(evidence(cx, incident)).await?,
        None => Default::default(),
    };
    licences.insert(week.license.clone());
    let mut honest_caveats = week.caveats();
    let drivers = week.summary.drivers();
    let horizon = horizons.week();
    let interval = horizon.and_then(|week| week.interval_90);
    if interval.is_none() {
        honest_caveats.push(Sentence::new("sentinel.no_interval"));
    }
    let probability = horizon.map_or(week.summary.risk_7day, |week| week.probability);
    let features = horizon.into_iter().flat_map(|week| week.top_features.iter()).take(TOP).map(feature);
    Ok(RiskBody {
        country: week.country,
        country_name: week.country_name,
        issued_at: week.generated_at,
        model_version: week.model_version.clone(),
        forecast_summary: SummaryBody {
            max_risk: week.summary.max_risk,
            max_risk_day: week.summary.max_risk_day,
            avg_risk: week.summary.avg_risk,
            sentences: Sentences::new().with("key_drivers", &drivers),
            key_drivers: drivers,
        },
        forecast_window: week
            .forecast
            .into_iter()
            .map(|day| DayBody { date: day.date, day: day.day, risk: day.risk, drivers: day.drivers })
            .collect(),
        honest_forecast: HonestBody {
            probability,
            risk_band: word(&BANDS, probability),
            recommended_threshold: THRESHOLD,
        },
        trust: TrustBody {
            probability,
            interval_90: interval.unwrap_or([0.0, 1.0]),
            conformal_coverage: week.aci.and_then(|aci| aci.empirical_coverage),
            top_features: features.collect(),
            similar_incident: similar.map(|(incident, source)| SimilarBody {
                readable_id: incident.readable_id,
                severity: incident.severity,
                url: incident.permalink,
                source,
            }),
            evidence_permalinks: links,
            model_version: week.model_version,
            computed_in_ms: round(cx.now().since(began) as f64 / (SECOND as f64 / 1_000.0)),
        },
        sentences: Sentences::new().with("honest_caveats", &honest_caveats),
        honest_caveats,
        license: licence::effective(licences.iter().map(String::as_str)),
    })
}

/// The risk of a country as a rendered answer.
async fn rendered(cx: &Cx, code: &str) -> Result<Response> {
    let name = format!("/v1/sentinel/current_risk/{code}?");
    cx.kept_as(&name, async { Response::json(&Box::pin(risk(cx, code)).await?) }).await
}

pub async fn current(cx: Cx) -> Result<Response> {
    let country = input::path_country(&cx, "country")?;
    rendered(&cx, country.code).await
}

#[derive(Debug, Serialize, JsonSchema)]
struct DataBody<'a> {
    /// Each country once, in the order of the request.
    #[schemars(with = "Vec<RiskBody>")]
    countries: Vec<&'a RawValue>,
    errors: &'a [BatchError],
}

#[derive(Debug, Serialize, JsonSchema)]
struct NextBody {
    tool: &'static str,
    reason: Sentence,
    sentences: Sentences,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CurrentRiskBatch")]
pub struct BatchBody<'a> {
    /// Begins with the brand.
    schema: String,
    data: DataBody<'a>,
    /// Suggestions for the next request.
    next_tools: Vec<NextBody>,
}

/// The members of a rendered risk that hints are made from.
#[derive(Debug, Deserialize)]
struct RenderedRisk {
    country: String,
    honest_forecast: RenderedForecast,
    trust: RenderedTrust,
}

#[derive(Debug, Deserialize)]
struct RenderedForecast {
    probability: f64,
    risk_band: String,
}

#[derive(Debug, Deserialize)]
struct RenderedTrust {
    conformal_coverage: Option<f64>,
}

/// Suggests further requests to the reader of these answers.
fn next(countries: &[&RawValue]) -> Result<Vec<NextBody>> {
    let told = countries.iter().map(|risk| serde_json::from_str(risk.get()).map_err(Error::internal));
    let told: Vec<RenderedRisk> = told.collect::<Result<_>>()?;
    let mut next = Vec::new();
    let elevated = told.iter().filter(|of| of.honest_forecast.probability >= 0.25);
    let hint = |tool, reason: Sentence| NextBody { tool, sentences: Sentences::new().with("reason", &reason), reason };
    next.extend(elevated.take(3).map(|of| {
        let reason = Sentence::new("sentinel.next.attribute").with("country", &of.country);
        hint("attribute", reason.with("band", &of.honest_forecast.risk_band))
    }));
    if told.iter().any(|of| of.trust.conformal_coverage.is_none()) {
        next.push(hint("accuracy", Sentence::new("sentinel.next.accuracy")));
    }
    Ok(next)
}

pub async fn batch(cx: Cx) -> Result<Response> {
    let asked = BatchCountries::read(&cx)?;
    let made = async {
        let mut pages = Vec::new();
        for country in &asked.countries {
            match Box::pin(rendered(&cx, country.code)).await?.body {
                Body::Bytes(page) => pages.push(page),
                Body::Stream(_) => return Err(Error::internal("a risk is a stream")),
            }
        }
        let countries = batch::parts(&pages)?;
        let (next_tools, errors) = (next(&countries)?, asked.errors.as_slice());
        let data = DataBody { countries, errors };
        Response::json(&BatchBody { schema: cx.settings().schema("sentinel-current-risk-batch/v1"), data, next_tools })
    };
    asked.answer(&cx, made).await
}

#[derive(Debug, Serialize, JsonSchema)]
struct HeatBody {
    country: String,
    country_name: String,
    /// Probability that a shutdown begins within the next seven days.
    probability: f64,
    /// The value by which countries are filtered and sorted: the greater of `probability` and `max_daily_risk`.
    max_risk: f64,
    /// Greatest risk of a single day, and that day.
    max_daily_risk: f64,
    max_risk_day: i32,
    threshold: f64,
    above_threshold: bool,
    drivers: Vec<Sentence>,
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    sentences: Sentences,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct HeatmapBody {
    eval_date: String,
    n: usize,
    honest_caveat: String,
    /// By `max_risk`, the highest first.
    countries: Vec<HeatBody>,
    model_version: Option<String>,
    license: String,
    sentences: Sentences,
}

pub async fn heatmap(cx: Cx) -> Result<Response> {
    cx.kept(heatmap_page(&cx)).await
}

async fn heatmap_page(cx: &Cx) -> Result<Response> {
    let least: f64 = match cx.query("min_risk")? {
        None => 0.0,
        Some(text) => text
            .parse()
            .ok()
            .filter(|least| (0.0..=1.0).contains(least))
            .ok_or_else(|| Error::bad_request("Query parameter `min_risk` must be a number from 0 to 1."))?,
    };
    let all = served::everywhere(cx).await?;
    let above = all.countries.iter().filter(|row| row.most() >= least);
    let countries: Vec<HeatBody> = above
        .map(|row| HeatBody {
            country: row.country.clone(),
            country_name: row.country_name.clone(),
            probability: row.risk_7day,
            max_risk: row.most(),
            max_daily_risk: row.max_risk,
            max_risk_day: row.max_risk_day,
            threshold: THRESHOLD,
            above_threshold: row.risk_7day >= THRESHOLD,
            drivers: row.drivers(),
            sentences: Sentences::new().with("drivers", &row.drivers()),
        })
        .collect();
    let mut caveats = all.caveats();
    caveats.push(Sentence::new("sentinel.rank"));
    Response::json(&HeatmapBody {
        eval_date: cx.now().to_date_text(),
        n: countries.len(),
        honest_caveat: sentence::text(&caveats),
        sentences: Sentences::new().with_text("honest_caveat", &caveats),
        countries,
        model_version: all.model_version,
        license: all.license,
    })
}
