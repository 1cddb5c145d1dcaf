//! The endpoints of forecasts.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::batch::{self, BatchCountries, BatchError, BatchRequest};
use super::conformal::{Class, TARGET_MISS};
use super::features::{FEATURES, Family};
use super::horizons::{self, MultiBody};
use super::known::NO_HISTORY;
use super::metrics::ALERT;
use super::model::{DAYS, Forecast, Model};
use super::panel::Horizon;
use super::store::{Forecasts, Served, ServedModel};
use crate::analytics::tabular::{self, Tabular};
use crate::country::routes::input;
use crate::{Error, Result, Timestamp, risk, world};
use engine::http::{Cx, Limit, Param, Response, Route, handler};
use engine::number::round;
use engine::runtime;
use engine::time::DAY;
use facts::sentence::{Sentence, Sentences};
use facts::source::Source;
use facts::starter::{self, Country};

pub const ROUTES: &[Route] = &[
    Route::get("/v1/forecast/{country}/7day", handler!(seven_days))
        .limit(Limit::Forecast)
        .params(&[FORMAT])
        .returns::<ForecastBody>()
        .summary("The risk that a shutdown begins in a country, for today and the seven days after."),
    Route::get("/v1/forecast/high-risk", handler!(high_risk))
        .limit(Limit::Forecast)
        .params(&[
            Param::optional("threshold", "Only countries with at least this probability, 0 to 1; default 0.5.")
                .number(0, 1)
                .default("0.5"),
            FORMAT,
        ])
        .returns::<HighRiskBody>()
        .summary("Countries with a high risk of a shutdown, the highest first."),
    Route::post("/v1/forecast/batch", handler!(many))
        .limit(Limit::Forecast)
        .accepts::<BatchRequest>()
        .returns::<BatchBody<'static>>()
        .summary("Forecasts of up to 50 countries."),
    Route::get("/v1/forecast/{country}/multi-horizon", handler!(horizons::read))
        .limit(Limit::Forecast)
        .returns::<MultiBody>()
        .summary("The risk within 1, 7 and 30 days, with intervals."),
];

const FORMAT: Param = Param::optional("format", "`json` (default) or `csv`.").one_of(&["json", "csv"]).default("json");
/// Features that are named for a day or a horizon, at most.
const TOP: usize = 5;
/// Days of delay of the history after which confidence is halved.
const LATE: f64 = 365.0;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ForecastFeature")]
pub(super) struct Feature {
    name: &'static str,
    /// Part of the log odds, compared with the mean over all countries and days.
    contribution: f64,
    /// `up` or `down`.
    direction: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DayFeatures {
    day: i32,
    features: Vec<Feature>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ForecastDay")]
struct DayBody {
    /// Days from today.
    day: i32,
    date: String,
    /// Probability that a shutdown begins on this date; 0.5 and above is elevated.
    risk: f64,
    /// Probability that a shutdown has begun by the end of this date.
    cumulative: f64,
    drivers: Vec<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CountryForecastSummary")]
pub(super) struct SummaryBody {
    /// Greatest risk of a single day.
    pub(super) max_risk: f64,
    pub(super) max_risk_day: usize,
    avg_risk: f64,
    /// Probability that a shutdown begins within the next seven days. It is learned and tested for the whole week, not
    /// combined from days.
    pub(super) risk_7day: f64,
    /// In words.
    key_drivers: Vec<Sentence>,
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    sentences: Sentences,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConformalClass")]
struct ClassBody {
    alpha: f64,
    /// Coverage over the served forecasts whose week is over; null while there are none.
    empirical_coverage: Option<f64>,
    n_observations: u64,
}

/// The state of class-wise adaptive conformal inference.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConformalState")]
struct AciBody {
    alpha: f64,
    target_coverage: f64,
    empirical_coverage: Option<f64>,
    n_observations: u64,
    event: ClassBody,
    quiet: ClassBody,
    /// Possible outcomes of the next seven days: `event`, `quiet`, both or neither.
    set: Vec<&'static str>,
    set_size: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CountryForecast")]
pub struct ForecastBody {
    pub(super) country: String,
    pub(super) country_name: String,
    pub(super) generated_at: String,
    forecast: Vec<DayBody>,
    pub(super) summary: SummaryBody,
    /// 1 minus the width of the 90% interval of the seven-day risk, halved for every year that the history is late; 0
    /// for base rates.
    confidence: f64,
    pub(super) model_version: String,
    /// Alpha of the class `event`; null while only base rates are served.
    aci_alpha: Option<f64>,
    aci: Option<AciBody>,
    top_features_per_day: Vec<DayFeatures>,
    /// The last day of the history that is used; null without a history.
    history_until: Option<String>,
    pub(super) caveats: Vec<Sentence>,
    pub(super) license: String,
    sentences: Sentences,
}

/// Rounds to a billionth, since quiet countries have small risks, and all runtimes must give the same number.
pub(crate) fn fine(value: f64) -> f64 {
    (value * 1e9).round() / 1e9 + 0.0
}

/// A day since the epoch, as a date.
pub(crate) fn date(day: i32) -> String {
    Timestamp(i64::from(day) * DAY).to_date_text()
}

fn class(class: &Class) -> ClassBody {
    ClassBody { alpha: fine(class.alpha), empirical_coverage: class.coverage().map(fine), n_observations: class.judged }
}

pub(super) fn top(contributions: &[f64]) -> Vec<Feature> {
    let mut named: Vec<(&'static str, f64)> =
        FEATURES.iter().zip(contributions).map(|((name, _), value)| (*name, *value)).collect();
    named.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    named.truncate(TOP);
    let feature = |(name, value): (&'static str, f64)| Feature {
        name,
        contribution: round(value),
        direction: if value < 0.0 { "down" } else { "up" },
    };
    named.into_iter().map(feature).collect()
}

/// For a late history, a sentence about its age. It comes before all other caveats (decision what-numbers-mean).
pub(crate) fn late(model: &Model, today: i32) -> Option<Sentence> {
    let days = today - model.until;
    (model.delay > 0 && days > 0).then(|| {
        let late = Sentence::new("forecast.late").with("until", date(model.until)).with("days", days.unsigned_abs());
        late.with("delay", model.delay.unsigned_abs())
    })
}

/// The caveats that a reader must know beside the numbers.
pub(super) fn caveats(model: &Model, forecast: &Forecast) -> Vec<Sentence> {
    let mut found: Vec<Sentence> = late(model, forecast.today).into_iter().collect();
    let mut say = |code| found.push(Sentence::new(code));
    say("forecast.where_not_when");
    let calendar = forecast.calendar;
    match (calendar.known, calendar.learned) {
        (false, _) => say("forecast.no_calendar"),
        (true, false) => say("forecast.no_past_elections"),
        (true, true) => {}
    }
    if let Some(next) = calendar.next.filter(|_| !calendar.learned) {
        found.push(Sentence::new("forecast.election").with("day", date(next)));
    }
    let mut say = |code| found.push(Sentence::new(code));
    if forecast.drift.is_none() {
        say("forecast.no_drift");
    } else if !model.learned(Family::Measured) {
        say("forecast.drift_not_learned");
    }
    if model.held_out.better_rate().is_some() {
        say("forecast.rate_was_better");
    }
    if forecast.drivers.is_empty() {
        say("forecast.no_drivers");
    }
    found
}

pub(super) fn license(cx: &Cx) -> String {
    Source::AccessNow.licence_under(cx.settings()).to_owned()
}

fn confidence(model: &Model, forecast: &Forecast) -> f64 {
    let width = forecast.horizons.get(1).map_or(1.0, |week| week.high - week.low);
    let late = (forecast.today - model.until).max(model.delay).max(0);
    let late = if model.delay > 0 { late } else { 0 };
    round((1.0 - width).clamp(0.0, 1.0) * 0.5f64.powf(f64::from(late) / LATE))
}

fn body(cx: &Cx, country: &Country, model: &Model, forecast: &Forecast) -> ForecastBody {
    let daily: Vec<f64> = forecast.days.iter().map(|day| day.risk).collect();
    let seasonal = Family::Exams;
    let days = (0..).zip(forecast.days.iter().zip(risk::cumulative(&daily))).map(|(day, (of, cumulative))| {
        let drivers =
            forecast.drivers.iter().map(|(family, _)| *family).filter(|family| *family != seasonal || of.exams);
        DayBody {
            day,
            date: date(forecast.today + day),
            risk: fine(of.risk),
            cumulative: fine(cumulative),
            drivers: drivers.map(|family| family.name()).collect(),
        }
    });
    let mut said = Sentences::new();
    let caveats = caveats(model, forecast);
    let (max_risk, max_risk_day) = forecast.max_risk();
    let set = model.sets.set(forecast.risk(1)).names();
    let (event, quiet) = (class(&model.sets.event), class(&model.sets.quiet));
    ForecastBody {
        country: country.code.to_owned(),
        country_name: country.name.to_owned(),
        generated_at: forecast.at.to_string(),
        summary: SummaryBody {
            max_risk: fine(max_risk),
            max_risk_day,
            avg_risk: fine(forecast.days.iter().map(|day| day.risk).sum::<f64>() / f64::from(DAYS)),
            risk_7day: fine(forecast.risk(1)),
            key_drivers: said.add("key_drivers", forecast.reasons().collect()),
            sentences: said,
        },
        forecast: days.collect(),
        confidence: confidence(model, forecast),
        model_version: model.version(),
        aci_alpha: Some(event.alpha),
        aci: Some(AciBody {
            alpha: event.alpha,
            target_coverage: 1.0 - TARGET_MISS,
            empirical_coverage: event.empirical_coverage,
            n_observations: event.n_observations,
            event,
            quiet,
            set_size: set.len(),
            set,
        }),
        top_features_per_day: (0..)
            .zip(&forecast.days)
            .map(|(day, of)| DayFeatures { day, features: top(&of.contributions) })
            .collect(),
        history_until: Some(date(model.until)),
        sentences: Sentences::new().with("caveats", &caveats),
        caveats,
        license: license(cx),
    }
}

/// The answer without a model: the base rate of incidents, and a caveat that it is nothing more.
pub(super) async fn base_rate(cx: &Cx, country: &Country) -> Result<ForecastBody> {
    let (hazard, version, mut caveats) = risk::base_rate(cx, country.code).await?;
    caveats.insert(0, no_model(cx).await?);
    let today = i32::try_from(cx.now().day()).unwrap_or(i32::MAX);
    let by = |days: i32| 1.0 - (1.0 - hazard).powi(days);
    let day = |day| DayBody {
        day,
        date: date(today + day),
        risk: fine(hazard),
        cumulative: fine(by(day + 1)),
        drivers: Vec::new(),
    };
    Ok(ForecastBody {
        country: country.code.to_owned(),
        country_name: country.name.to_owned(),
        generated_at: tabular::generated(cx, None).to_string(),
        forecast: (0..DAYS).map(day).collect(),
        summary: SummaryBody {
            max_risk: fine(hazard),
            max_risk_day: 0,
            avg_risk: fine(hazard),
            risk_7day: fine(by(Horizon::WEEK.days)),
            key_drivers: Vec::new(),
            sentences: Sentences::new(),
        },
        confidence: 0.0,
        model_version: version.to_owned(),
        aci_alpha: None,
        aci: None,
        top_features_per_day: Vec::new(),
        history_until: None,
        sentences: Sentences::new().with("caveats", &caveats),
        caveats,
        license: starter::LICENCE.to_owned(),
    })
}

/// Why no model is served, in the words of the training.
pub(crate) async fn said(cx: &Cx) -> Result<Sentence> {
    Ok(Sentence::stored(&runtime::query(&*cx.rt, world::actor().name, &ServedModel).await?.1))
}

/// Why base rates are served, in a sentence.
pub(crate) async fn no_model(cx: &Cx) -> Result<Sentence> {
    let said = said(cx).await?;
    Ok(match said.code {
        NO_HISTORY => Sentence::new("forecast.base_rates"),
        _ => Sentence::new("forecast.no_model").with("why", said),
    })
}

pub(super) async fn served(cx: &Cx, countries: Option<Vec<String>>) -> Result<Option<Served>> {
    runtime::query(&*cx.rt, world::actor().name, &Forecasts { countries }).await
}

/// The rendered forecasts of countries, in the order given. Those that are not kept are made from one read.
async fn rendered(cx: &Cx, countries: &[&'static Country]) -> Result<Vec<Bytes>> {
    let name = |country: &Country| format!("/v1/forecast/{}/7day?", country.code);
    let kept: Vec<Option<Bytes>> = countries.iter().map(|country| cx.page(&name(country))).collect();
    let missing = countries.iter().zip(&kept).filter(|(_, page)| page.is_none());
    let missing: Vec<String> = missing.map(|(country, _)| country.code.to_owned()).collect();
    let found = if missing.is_empty() { None } else { served(cx, Some(missing)).await? };
    let mut pages = Vec::new();
    for (country, page) in countries.iter().zip(kept) {
        if let Some(page) = page {
            pages.push(page);
            continue;
        }
        let learned = found.as_ref().and_then(|Served { model, forecasts }| {
            let (_, forecast) = forecasts.iter().find(|(code, _)| code == country.code)?;
            Some(body(cx, country, model, forecast))
        });
        let body = match learned {
            Some(body) => body,
            None => Box::pin(base_rate(cx, country)).await?,
        };
        let page = Bytes::from(serde_json::to_vec(&body).map_err(Error::internal)?);
        cx.keep(&name(country), &page);
        pages.push(page);
    }
    Ok(pages)
}

/// The data for `predict` in the detection group while a model is served.
pub(crate) struct Ahead {
    /// One-day hazards from tomorrow on.
    pub daily: Vec<f64>,
    /// For each factor: its name, its part of the log odds of the seven-day risk, and its description.
    pub factors: Vec<(&'static str, f64, Sentence)>,
    pub confidence: f64,
    pub version: String,
    pub caveats: Vec<Sentence>,
    pub license: String,
}

/// The next `horizon` days (1 to 30) of a country by the served model; `None` without one. All days after the seventh
/// have the same hazard, chosen so that 30 days together have the risk that was learned for them.
pub(crate) async fn ahead(cx: &Cx, country: &str, horizon: u32) -> Result<Option<Ahead>> {
    let found = served(cx, Some(vec![country.to_owned()])).await?;
    let Some(Served { model, forecasts }) = found else { return Ok(None) };
    let Some((_, forecast)) = forecasts.first() else { return Ok(None) };
    let mut daily: Vec<f64> = forecast.days.iter().skip(1).map(|day| day.risk).collect();
    let quiet: f64 = daily.iter().map(|risk| 1.0 - risk).product();
    let rest = Horizon::MONTH.days - Horizon::WEEK.days;
    let left = ((1.0 - forecast.risk(2)) / quiet).min(1.0);
    daily.extend((0..rest).map(|_| 1.0 - left.powf(1.0 / f64::from(rest))));
    daily.truncate(horizon as usize);
    let week = forecast.horizons.get(1).map(|week| week.contributions.as_slice()).unwrap_or_default();
    let weight = |family| {
        let of = FEATURES.iter().zip(week).filter(|((_, of), _)| *of == family);
        round(of.map(|(_, value)| value).sum())
    };
    let families = forecast.drivers.iter().zip(forecast.reasons());
    let factors = families.map(|((family, _), said)| (family.name(), weight(*family), said));
    Ok(Some(Ahead {
        daily,
        factors: factors.collect(),
        confidence: confidence(&model, forecast),
        version: model.version(),
        caveats: caveats(&model, forecast),
        license: license(cx),
    }))
}

async fn seven_days(cx: Cx) -> Result<Response> {
    let country = input::path_country(&cx, "country")?;
    let pages = Box::pin(rendered(&cx, &[country])).await?;
    let page = pages.into_iter().next().ok_or_else(|| Error::internal("a forecast is gone"))?;
    tabular::send(&cx, &DAYS_TABLE, country.code, Response::json_text(page))
}

const DAYS_TABLE: Tabular = Tabular {
    name: "forecast",
    list: "forecast",
    inner: None,
    columns: &["day", "date", "risk", "cumulative", "drivers"],
};

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct HighRisk {
    country: String,
    country_name: String,
    /// Greatest risk of a single day.
    max_risk: f64,
    max_risk_day: usize,
    /// Risk of the next seven days together.
    risk_7day: f64,
    drivers: Vec<Sentence>,
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    sentences: Sentences,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct HighRiskBody {
    /// Ordered by the greater of `max_risk` and `risk_7day`.
    high_risk_countries: Vec<HighRisk>,
    /// The same list.
    countries: Vec<HighRisk>,
    count: usize,
    threshold: f64,
    generated_at: String,
    model_version: Option<String>,
    caveats: Vec<Sentence>,
    license: String,
    sentences: Sentences,
}

async fn high_risk(cx: Cx) -> Result<Response> {
    let page = cx.kept(high_risk_page(&cx)).await?;
    tabular::send(&cx, &HIGH_RISK_TABLE, "", page)
}

const HIGH_RISK_TABLE: Tabular = Tabular {
    name: "high-risk",
    list: "countries",
    inner: None,
    columns: &["country", "country_name", "max_risk", "max_risk_day", "risk_7day", "drivers"],
};

async fn high_risk_page(cx: &Cx) -> Result<Response> {
    let threshold = match cx.query("threshold")? {
        None => ALERT,
        Some(text) => text
            .parse()
            .ok()
            .filter(|least| (0.0..=1.0).contains(least))
            .ok_or_else(|| Error::bad_request("Query parameter `threshold` must be a number from 0 to 1."))?,
    };
    let found = served(cx, None).await?;
    let mut rows = Vec::new();
    let mut caveats = Vec::new();
    match &found {
        None => caveats.extend([no_model(cx).await?, Sentence::new("forecast.nothing_high")]),
        Some(Served { model, forecasts }) => {
            let today = i32::try_from(cx.now().day()).unwrap_or(i32::MAX);
            caveats.extend(late(model, today));
            rows.extend(forecasts.iter().map(|(code, forecast)| {
                let (max_risk, max_risk_day) = forecast.max_risk();
                let mut said = Sentences::new();
                HighRisk {
                    country: code.clone(),
                    country_name: world::name(code),
                    max_risk: fine(max_risk),
                    max_risk_day,
                    risk_7day: fine(forecast.risk(1)),
                    drivers: said.add("drivers", forecast.reasons().collect()),
                    sentences: said,
                }
            }));
        }
    }
    let most = |row: &HighRisk| row.max_risk.max(row.risk_7day);
    rows.retain(|row| most(row) >= threshold);
    rows.sort_by(|a, b| most(b).total_cmp(&most(a)).then_with(|| a.country.cmp(&b.country)));
    let mut said = Sentences::new();
    Response::json(&HighRiskBody {
        count: rows.len(),
        countries: rows.clone(),
        high_risk_countries: rows,
        threshold,
        generated_at: tabular::generated(cx, None).to_string(),
        model_version: found.map(|served| served.model.version()),
        caveats: said.add("caveats", caveats),
        license: license(cx),
        sentences: said,
    })
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ForecastBatch")]
pub struct BatchBody<'a> {
    count: usize,
    generated_at: String,
    /// Each country once, in the order of the request.
    #[schemars(with = "Vec<ForecastBody>")]
    results: Vec<&'a RawValue>,
    errors: &'a [BatchError],
}

async fn many(cx: Cx) -> Result<Response> {
    let asked = BatchCountries::read(&cx)?;
    let made = async {
        let pages = Box::pin(rendered(&cx, &asked.countries)).await?;
        let (results, errors) = (batch::parts(&pages)?, asked.errors.as_slice());
        Response::json(&BatchBody { count: results.len(), generated_at: cx.now().to_string(), results, errors })
    };
    asked.answer(&cx, made).await
}
