//! `/v1/shutdown-risk/{country}`: the reported shutdowns of a country, and their forecast where there is one.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::constants::{STRUCTURAL_WEEK_WEIGHT, STRUCTURAL_YEARS};
use super::served;
use crate::country::routes::input;
use crate::forecast::history::start;
use crate::forecast::panel::Horizon;
use crate::forecast::{self, NO_HISTORY, Served};
use crate::world::EventHistory;
use crate::{Result, Timestamp, world};
use engine::http::{Cx, Response};
use engine::number::round;
use engine::runtime;
use engine::time::DAY;
use facts::sentence::{Sentence, Sentences};
use facts::source::Source;
use facts::starter;

#[derive(Debug, Serialize, JsonSchema)]
struct RiskOf {
    probability: f64,
    interval_90: [f64; 2],
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ShutdownRisk")]
pub struct RiskBody {
    country: String,
    country_name: String,
    /// Whether a forecast was learned from an imported shutdown history.
    covered: bool,
    /// Why it is not covered; null otherwise.
    reason: Option<Sentence>,
    /// Probability that a shutdown begins, by horizon (`1d`, `7d`, `30d`); empty when the country is not covered.
    risk: BTreeMap<&'static str, RiskOf>,
    model_version: Option<String>,
    /// Shutdowns that began, according to the imported tables.
    starts_5y: usize,
    starts_365d: usize,
    starts_7d: usize,
    /// Starts in five years plus twice the starts in seven days: a count that ranks countries and is no probability.
    structural_count: usize,
    /// Null if there are none.
    last_start: Option<String>,
    /// The last day of the history of all countries; null without one.
    history_until: Option<String>,
    interpretation: Sentence,
    honest_caveats: Vec<Sentence>,
    generated_at: String,
    license: String,
    sentences: Sentences,
}

fn date(day: i32) -> String {
    Timestamp(i64::from(day) * DAY).to_date_text()
}

/// Why there is no forecast.
async fn uncovered(cx: &Cx) -> Result<Sentence> {
    let said = forecast::said(cx).await?;
    Ok(match said.code {
        NO_HISTORY => Sentence::new("shutdown.no_history"),
        _ => said,
    })
}

/// `late` is a sentence about the age of the forecast's history. `none` means that no start is known for the country.
fn caveats(late: Option<Sentence>, none: bool) -> Vec<Sentence> {
    let mut found: Vec<Sentence> = late.into_iter().collect();
    found.extend([Sentence::new("shutdown.unreported"), Sentence::new("forecast.where_not_when")]);
    if none {
        found.push(Sentence::new("shutdown.none_here"));
    }
    found
}

pub async fn risk(cx: Cx) -> Result<Response> {
    cx.kept(page(&cx)).await
}

async fn page(cx: &Cx) -> Result<Response> {
    let country = input::path_country(cx, "country")?;
    let marks = EventHistory { country: Some(country.code.to_owned()) };
    let marks = runtime::query(&*cx.rt, world::actor().name, &marks).await?;
    let today = i32::try_from(cx.now().day()).unwrap_or(i32::MAX);
    // Forecasts count one start per day and place as well. A shutdown that is only announced has not happened.
    let mut starts: Vec<_> = marks.into_iter().filter_map(|(_, source, mark)| start(source, &mark)).collect();
    starts.retain(|start| start.day <= today);
    starts.sort_unstable();
    starts.dedup_by_key(|start| (start.day, start.place));
    let within = |days: i64| starts.iter().filter(|start| i64::from(today - start.day) < days).count();
    let (years, week) = (within(STRUCTURAL_YEARS * 365), within(7));
    let served = served(cx, Some(country.code)).await?;
    let found = served.as_ref().and_then(|Served { model, forecasts }| Some((model, &forecasts.first()?.1)));
    let risk: BTreeMap<&'static str, RiskOf> = found
        .iter()
        .flat_map(|(_, forecast)| Horizon::ALL.iter().zip(&forecast.horizons))
        .map(|(horizon, risk)| {
            let interval_90 = [round(risk.low), round(risk.high)];
            (horizon.name, RiskOf { probability: round(risk.probability), interval_90 })
        })
        .collect();
    let license = match found.is_some() || !starts.is_empty() {
        true => Source::AccessNow.licence_under(cx.settings()).to_owned(),
        false => starter::LICENCE.to_owned(),
    };
    let here = |code| Sentence::new(code).with("country", country.code).with("starts", years);
    let mut said = Sentences::new();
    Response::json(&RiskBody {
        country: country.code.to_owned(),
        country_name: country.name.to_owned(),
        covered: found.is_some(),
        reason: said.add("reason", if found.is_none() { Some(uncovered(cx).await?) } else { None }),
        interpretation: said.add(
            "interpretation",
            match risk.get(Horizon::WEEK.name) {
                Some(week) => here("shutdown.risk").with("probability", week.probability),
                None => here("shutdown.no_forecast"),
            },
        ),
        risk,
        model_version: found.map(|(model, _)| model.version()),
        starts_5y: years,
        starts_365d: within(365),
        starts_7d: week,
        structural_count: years + STRUCTURAL_WEEK_WEIGHT as usize * week,
        last_start: starts.last().map(|start| date(start.day)),
        history_until: found.map(|(model, _)| date(model.until)),
        honest_caveats: said.add(
            "honest_caveats",
            caveats(found.and_then(|(model, _)| forecast::late(model, today)), starts.is_empty()),
        ),
        generated_at: cx.now().to_string(),
        license,
        sentences: said,
    })
}
