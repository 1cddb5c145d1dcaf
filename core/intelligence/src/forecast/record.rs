//! The endpoints that compare forecasts with their outcomes: accuracy, calibration by day, and the track record.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::conformal::TARGET_MISS;
use super::metrics::{ALERT, Confusion, Figures, median};
use super::model::Model;
use super::reporting::outcome;
use super::reports::ForecastId;
use super::routes::{date, fine, license};
use super::store::{Calibrated, ClassDay, ServedModel};
use super::track::{Calibrations, JudgedForecast, Track, Tracked};
use crate::analytics::tabular::{self, Tabular};
use crate::incidents::{self, Filter, Select};
use crate::{Result, Timestamp, world};
use engine::http::{Cx, Limit, Param, Response, Route, handler};
use engine::runtime;
use facts::sentence::{self, Sentence, Sentences};
use facts::starter::Country;

pub const ROUTES: &[Route] = &[
    Route::get("/v1/sentinel/accuracy", handler!(accuracy))
        .limit(Limit::Forecast)
        .params(&[
            Param::optional("window_days", "1 to 365, default 30: forecasts made in so many days.").count(30, 365)
        ])
        .returns::<AccuracyBody>()
        .summary("How right the forecasts were that were served: precision, recall, Brier score, calibration."),
    Route::get("/v1/sentinel/calibration/history", handler!(calibration))
        .limit(Limit::Forecast)
        .params(&[Param::optional("format", "`json` (default) or `csv`.").one_of(&["json", "csv"]).default("json")])
        .returns::<CalibrationBody>()
        .summary("Coverage of the forecasts' sets by day, of the last 90 judged days."),
    Route::get("/v1/atlas/prediction-track-record", handler!(track_record))
        .limit(Limit::Forecast)
        .params(&[
            Param::optional("window_days", "1 to 1095, default 365: forecasts made in so many days.").count(365, 1_095),
            Param::optional("limit", "Default 100, at most 500: alerts and missed events that are listed.")
                .count(100, 500),
            Param::optional("format", "`json` (default) or `csv`.").one_of(&["json", "csv"]).default("json"),
        ])
        .returns::<TrackBody>()
        .summary("Every alert and every missed event with what came of it, lead times, and simpler ways beside."),
];

/// Forecasts with an outcome that live figures need to mean anything.
const LEAST_EVALUATED: u64 = 30;
/// Days of the calibration history, and days that a coverage is computed over.
const HISTORY_DAYS: u32 = 90;
const COVERAGE_DAYS: usize = 90;
/// Cases that drift needs, and the distance of the coverage from its target that counts as drift.
const LEAST_CASES: u64 = 30;
const DRIFT: f64 = 0.05;
/// Countries whose incidents are looked up for the listed alerts, at most.
const MOST_COUNTRIES: usize = 20;
const METHODOLOGY: &str = "/data/methodology";

/// Counts of one country.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ForecastCountryRecord")]
struct CountryBody {
    n: u64,
    true_positive: u64,
    false_positive: u64,
    true_negative: u64,
    false_negative: u64,
    precision: Option<f64>,
    recall: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RollingBody {
    /// Forecasts of one country and day whose week is over and whose outcome is known.
    n_evaluated: u64,
    precision: Option<f64>,
    recall: Option<f64>,
    accuracy: Option<f64>,
    brier_score: Option<f64>,
    /// Expected calibration error over ten bins of equal size.
    calibration_mae: Option<f64>,
    confusion: Confusion,
    per_country: BTreeMap<String, CountryBody>,
    /// Risk from which on a forecast counts as an alert.
    threshold: f64,
    /// Forecasts that were served in the window, and those of them whose outcome a report decided.
    n_issued: u64,
    n_reported: u64,
    base_rate: Option<f64>,
    brier_skill: Option<f64>,
    /// Brier score of the rate of each country on the same forecasts.
    country_rate_brier: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LocoBody {
    f1_median: Option<f64>,
    n_countries_evaluated: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
struct HoldoutBody {
    source: String,
    roc_auc: Option<f64>,
    f1: Option<f64>,
    precision: Option<f64>,
    recall: Option<f64>,
    threshold: f64,
    samples: u64,
    positive_rate: Option<f64>,
    as_of: String,
    /// Null and 0: countries are never left out of training.
    split_loco: LocoBody,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AccuracyBody {
    /// Begins with the brand.
    schema: String,
    generated_at: String,
    window_days: u32,
    degraded: bool,
    degradation_reason: Option<Sentence>,
    published_warning: Option<Sentence>,
    model_version: Option<String>,
    prod_rolling: RollingBody,
    /// Null while no model is served.
    training_holdout: Option<HoldoutBody>,
    /// Several sentences in one text.
    notes: String,
    methodology_url: &'static str,
    license: String,
    sentences: Sentences,
}

/// Why there are no live figures, or few.
fn reason(model: Option<&Model>, found: &Tracked, window: u32) -> Option<Sentence> {
    let Some(model) = model else { return Some(Sentence::new("record.no_model")) };
    if found.resolved >= LEAST_EVALUATED {
        return None;
    }
    let until = found.known_until.map(date);
    Some(match (found.issued, model.delay) {
        (0, _) => Sentence::new("record.none_served").with("days", window),
        (_, 0) => Sentence::new("record.few_over").with("days", window).with("until", until),
        (_, delay) => Sentence::new("record.late").with("delay", delay.unsigned_abs()).with("until", until),
    })
}

/// Stated when the served forecasts did worse than a rate that needs no model.
fn warning(found: &Tracked) -> Option<Sentence> {
    let rate = found.baselines.first().and_then(|(_, figures, _)| figures.brier)?;
    let ours = found.figures.brier.filter(|ours| *ours > rate && found.resolved >= LEAST_EVALUATED)?;
    Some(Sentence::new("record.worse_than_rate").with("brier", ours).with("rate", rate))
}

fn rolling(found: &Tracked) -> RollingBody {
    let Figures { brier, ece, base_rate, brier_skill, .. } = &found.figures;
    let country = |(code, of): &(String, Confusion)| {
        let body = CountryBody {
            n: of.total,
            true_positive: of.true_positive,
            false_positive: of.false_positive,
            true_negative: of.true_negative,
            false_negative: of.false_negative,
            precision: of.precision().map(fine),
            recall: of.recall().map(fine),
        };
        (code.clone(), body)
    };
    RollingBody {
        n_evaluated: found.resolved,
        precision: found.alerts.precision().map(fine),
        recall: found.alerts.recall().map(fine),
        accuracy: found.alerts.accuracy().map(fine),
        brier_score: brier.map(fine),
        calibration_mae: ece.map(fine),
        confusion: found.alerts,
        per_country: found.by_country.iter().map(country).collect(),
        threshold: ALERT,
        n_issued: found.issued,
        n_reported: found.reported,
        base_rate: base_rate.map(fine),
        brier_skill: brier_skill.map(fine),
        country_rate_brier: found.baselines.first().and_then(|(_, figures, _)| figures.brier).map(fine),
    }
}

fn holdout(model: &Model) -> HoldoutBody {
    let held = &model.held_out;
    let of = |figure: fn(&Confusion) -> Option<f64>| model.alerts.as_ref().and_then(figure).map(fine);
    HoldoutBody {
        source: format!("temporal hold-out {} to {}", date(held.from), date(held.to)),
        roc_auc: held.candidate.auc.map(fine),
        f1: of(Confusion::f1),
        precision: of(Confusion::precision),
        recall: of(Confusion::recall),
        threshold: ALERT,
        samples: held.candidate.rows,
        positive_rate: held.candidate.base_rate.map(fine),
        as_of: model.trained.to_string(),
        split_loco: LocoBody { f1_median: None, n_countries_evaluated: 0 },
    }
}

async fn accuracy(cx: Cx) -> Result<Response> {
    let window_days = cx.count("window_days", 30, 365)?;
    let page = async {
        let (served, _) = runtime::query(&*cx.rt, world::actor().name, &ServedModel).await?;
        let model = served.as_ref().map(|(model, _)| model);
        let asked = Track { window: window_days, listed: 0 };
        let found = runtime::query(&*cx.rt, world::actor().name, &asked).await?;
        let why = reason(model, &found, window_days);
        let mut notes = vec![Sentence::new("record.of_one_week"), Sentence::new("record.judged")];
        if found.reported > 0 {
            notes.push(Sentence::new("record.reported").with("count", found.reported));
        }
        Response::json(&AccuracyBody {
            schema: cx.settings().schema("sentinel-accuracy/v1"),
            generated_at: tabular::generated(&cx, None).to_string(),
            window_days,
            degraded: why.is_some(),
            sentences: Sentences::new()
                .with("degradation_reason", &why)
                .with("published_warning", warning(&found))
                .with_text("notes", &notes),
            degradation_reason: why,
            published_warning: warning(&found),
            model_version: model.map(Model::version),
            prod_rolling: rolling(&found),
            training_holdout: model.map(holdout),
            notes: sentence::text(&notes),
            methodology_url: METHODOLOGY,
            license: license(&cx),
        })
    };
    let page = cx.kept(page).await?;
    cx.tagged(page, MAX_AGE)
}

/// Seconds for which a reader may treat these answers as fresh.
const MAX_AGE: u32 = 60;

/// One class on one day.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CalibrationClass")]
struct ClassBody {
    /// The 90% quantile of nonconformity (1 minus the probability of the class) that follows from alpha.
    q90: f64,
    /// Coverage over the judged forecasts of the 90 days up to this one.
    empirical_coverage: Option<f64>,
    n: u64,
    alpha: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CalibrationRow {
    /// The day on which the forecasts were made.
    date: String,
    /// Of the class `event`.
    q90: f64,
    empirical_coverage: Option<f64>,
    /// Judged forecasts of weeks with an event, from which the coverage is computed.
    n_holdout: u64,
    /// Whether the coverage of a class with at least 30 cases differs from its target by more than 5 points.
    drift_alert: bool,
    /// Coverage of `event` minus the target.
    drift_delta: Option<f64>,
    event: ClassBody,
    quiet: ClassBody,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CalibrationHistory")]
pub struct CalibrationBody {
    n: usize,
    target_coverage: f64,
    generated_at: String,
    /// Newest first.
    history: Vec<CalibrationRow>,
    notes: Vec<Sentence>,
    license: String,
    sentences: Sentences,
}

/// A class on the first of `days`, which are in descending order.
fn class(days: &[(u32, Calibrated)], of: fn(&Calibrated) -> &ClassDay) -> ClassBody {
    let here = days.first().map(|(_, day)| *of(day)).unwrap_or_default();
    let sum =
        |count: fn(&ClassDay) -> u64| -> u64 { days.iter().take(COVERAGE_DAYS).map(|(_, day)| count(of(day))).sum() };
    let (cases, missed) = (sum(|day| day.cases), sum(|day| day.missed));
    ClassBody {
        q90: fine(1.0 - here.threshold.min(1.0)),
        empirical_coverage: (cases > 0).then(|| fine(1.0 - missed as f64 / cases as f64)),
        n: cases,
        alpha: fine(here.alpha),
    }
}

fn calibrated(days: &[(u32, Calibrated)]) -> Option<CalibrationRow> {
    let (day, _) = days.first()?;
    let (event, quiet) = (class(days, |day| &day.event), class(days, |day| &day.quiet));
    let off = |of: &ClassBody| of.empirical_coverage.map(|coverage| coverage - (1.0 - TARGET_MISS));
    let drifts = |of: &ClassBody| of.n >= LEAST_CASES && off(of).is_some_and(|off| off.abs() > DRIFT);
    Some(CalibrationRow {
        date: date(i32::try_from(*day).ok()?),
        q90: event.q90,
        empirical_coverage: event.empirical_coverage,
        n_holdout: event.n,
        drift_alert: drifts(&event) || drifts(&quiet),
        drift_delta: off(&event).map(fine),
        event,
        quiet,
    })
}

const CALIBRATION_TABLE: Tabular = Tabular {
    name: "calibration-history",
    list: "history",
    inner: None,
    columns: &[
        "date",
        "q90",
        "empirical_coverage",
        "n_holdout",
        "drift_alert",
        "drift_delta",
        "quiet.q90",
        "quiet.empirical_coverage",
        "quiet.n",
    ],
};

async fn calibration(cx: Cx) -> Result<Response> {
    let page = async {
        let limit = HISTORY_DAYS + COVERAGE_DAYS as u32;
        let days = runtime::query(&*cx.rt, world::actor().name, &Calibrations { limit }).await?;
        let shown = 0..days.len().min(HISTORY_DAYS as usize);
        let history: Vec<CalibrationRow> = shown.filter_map(|at| calibrated(days.get(at..)?)).collect();
        let mut said = Sentences::new();
        Response::json(&CalibrationBody {
            n: history.len(),
            target_coverage: 1.0 - TARGET_MISS,
            generated_at: tabular::generated(&cx, None).to_string(),
            history,
            notes: said.add("notes", vec![Sentence::new("record.days"), Sentence::new("record.classes")]),
            license: license(&cx),
            sentences: said,
        })
    };
    let page = cx.kept(page).await?;
    tabular::send(&cx, &CALIBRATION_TABLE, "", page)
}

#[derive(Debug, Serialize, JsonSchema)]
struct BaselineBody {
    name: String,
    precision: Option<f64>,
    recall: Option<f64>,
    brier: Option<f64>,
    average_precision: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PredictionBody {
    country: String,
    country_name: String,
    eval_date: String,
    probability: f64,
    threshold: f64,
    /// `event`, `no_event`, or null while it is not known.
    outcome: Option<&'static str>,
    /// The incident that began in the week of the forecast, if one is published.
    incident_id: Option<String>,
    /// Days from the first alert to the start; null without a start, or without an alert before it.
    lead_time_days: Option<i32>,
    forecast_id: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TrackBody {
    window_days: u32,
    generated_at: String,
    model_version: Option<String>,
    threshold: f64,
    /// Forecasts of one country and day that were served, and those of them whose week is over and whose outcome is
    /// known.
    n_predictions: u64,
    n_resolved: u64,
    precision: Option<f64>,
    recall: Option<f64>,
    brier: Option<f64>,
    average_precision: Option<f64>,
    /// Starts for which a forecast was served, and those of them with an alert before.
    n_starts: u64,
    n_starts_with_alert: usize,
    median_lead_time_days: Option<f64>,
    /// Figures of simpler forecasts for the same countries and days.
    baselines: Vec<BaselineBody>,
    /// Alerts and missed events, newest first.
    predictions: Vec<PredictionBody>,
    interpretation: Sentence,
    honest_caveats: Vec<Sentence>,
    license: String,
    sentences: Sentences,
}

const TRACK_TABLE: Tabular = Tabular {
    name: "prediction-track-record",
    list: "predictions",
    inner: None,
    columns: &[
        "country",
        "country_name",
        "eval_date",
        "probability",
        "threshold",
        "outcome",
        "incident_id",
        "lead_time_days",
        "forecast_id",
    ],
};

/// Published incidents of some countries as (country, day on which it began, id).
async fn incidents(cx: &Cx, listed: &[JudgedForecast]) -> Result<Vec<(String, i64, String)>> {
    let with_start = || listed.iter().filter(|row| row.start.is_some());
    let countries: BTreeSet<&str> = with_start().map(|row| row.country.as_str()).collect();
    let since = with_start().map(|row| row.day).min().unwrap_or_default();
    let mut found = Vec::new();
    for country in countries.into_iter().take(MOST_COUNTRIES) {
        let filter = Filter {
            country: Some(country.to_owned()),
            since: Some(Timestamp(i64::from(since) * engine::time::DAY)),
            ..Filter::default()
        };
        let asked = Select { filter, offset: 0, limit: 200 };
        let page = runtime::query(&*cx.rt, incidents::actor().name, &asked).await?;
        found.extend(
            page.incidents.iter().map(|incident| (country.to_owned(), incident.start().day(), incident.id.to_string())),
        );
    }
    Ok(found)
}

fn prediction(row: JudgedForecast, incidents: &[(String, i64, String)]) -> PredictionBody {
    let week = i64::from(row.day) + 1..=i64::from(row.day) + 7;
    let incident = incidents.iter().find(|(country, day, _)| *country == row.country && week.contains(day));
    let id = ForecastId { country: row.country.clone(), day: u32::try_from(row.day).unwrap_or_default() };
    PredictionBody {
        country_name: Country::by_code(&row.country).map_or(row.country.clone(), |country| country.name.to_owned()),
        eval_date: date(row.day),
        probability: fine(row.probability),
        threshold: ALERT,
        outcome: row.happened.map(outcome),
        incident_id: incident.map(|(.., id)| id.clone()),
        lead_time_days: row.lead,
        forecast_id: id.number(),
        country: row.country,
    }
}

async fn track_record(cx: Cx) -> Result<Response> {
    let page = cx.kept(Box::pin(track_page(&cx))).await?;
    tabular::send(&cx, &TRACK_TABLE, "", page)
}

async fn track_page(cx: &Cx) -> Result<Response> {
    let window_days = cx.count("window_days", 365, 1_095)?;
    let asked = Track { window: window_days, listed: cx.count("limit", 100, 500)? };
    let (served, _) = runtime::query(&*cx.rt, world::actor().name, &ServedModel).await?;
    let model = served.as_ref().map(|(model, _)| model);
    let found = runtime::query(&*cx.rt, world::actor().name, &asked).await?;
    let incidents = incidents(cx, &found.listed).await?;
    let mut honest_caveats = vec![Sentence::new("record.countries_not_times"), Sentence::new("record.lead_times")];
    honest_caveats.extend(reason(model, &found, window_days));
    honest_caveats.extend(warning(&found));
    let baseline = |(name, figures, alerts): &(String, Figures, Confusion)| BaselineBody {
        name: name.clone(),
        precision: alerts.precision().map(fine),
        recall: alerts.recall().map(fine),
        brier: figures.brier.map(fine),
        average_precision: figures.average_precision.map(fine),
    };
    let (hits, starts) = (found.leads.len(), found.starts);
    let mut said = Sentences::new();
    Response::json(&TrackBody {
        window_days,
        generated_at: tabular::generated(cx, None).to_string(),
        model_version: model.map(Model::version),
        threshold: ALERT,
        n_predictions: found.issued,
        n_resolved: found.resolved,
        precision: found.alerts.precision().map(fine),
        recall: found.alerts.recall().map(fine),
        brier: found.figures.brier.map(fine),
        average_precision: found.figures.average_precision.map(fine),
        n_starts: starts,
        n_starts_with_alert: hits,
        median_lead_time_days: median(found.leads.iter().map(|days| f64::from(*days)).collect()),
        baselines: found.baselines.iter().map(baseline).collect(),
        interpretation: said.add(
            "interpretation",
            Sentence::new("record.alerts").with("hits", hits).with("starts", starts).with("threshold", ALERT),
        ),
        predictions: found.listed.into_iter().map(|row| prediction(row, &incidents)).collect(),
        honest_caveats: said.add("honest_caveats", honest_caveats),
        license: license(cx),
        sentences: said,
    })
}
