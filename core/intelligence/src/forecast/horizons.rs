//! The forecast of a country within 1, 7 and 30 days.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::metrics::ALERT;
use super::panel::Horizon;
use super::routes::{Feature, base_rate, caveats, fine, license, served, top};
use crate::Result;
use crate::country::routes::input;
use engine::http::{Cx, Response};
use facts::sentence::{Sentence, Sentences};
use facts::starter::Country;

#[derive(Debug, Serialize, JsonSchema)]
struct HorizonBody {
    probability: f64,
    /// Interval of the fit. It covers the uncertainty of the coefficients, not what the model cannot know. Null for
    /// base rates.
    interval_90: Option<[f64; 2]>,
    top_features: Vec<Feature>,
    /// Always null: countries are never left out of training.
    loco_auc: Option<f64>,
    threshold: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct MultiBody {
    country: String,
    country_name: String,
    generated_at: String,
    model_version: String,
    /// `1d`, `7d` and `30d`.
    horizons: BTreeMap<&'static str, HorizonBody>,
    interpretation: Sentence,
    honest_caveats: Vec<Sentence>,
    license: String,
    sentences: Sentences,
}

fn interpretation(country: &Country, week: f64, month: f64) -> Sentence {
    let said = Sentence::new("forecast.horizons").with("country", country.code);
    said.with("week", week).with("month", month)
}

pub(super) async fn read(cx: Cx) -> Result<Response> {
    let page = cx.kept(multi_page(&cx)).await?;
    cx.tagged(page, 60)
}

async fn multi_page(cx: &Cx) -> Result<Response> {
    let country = input::path_country(cx, "country")?;
    let found = served(cx, Some(vec![country.code.to_owned()])).await?;
    let forecast = found.as_ref().and_then(|served| Some((&served.model, &served.forecasts.first()?.1)));
    let horizon = |probability, interval_90, top_features| HorizonBody {
        probability: fine(probability),
        interval_90,
        top_features,
        loco_auc: None,
        threshold: ALERT,
    };
    let mut said = Sentences::new();
    let body = match forecast {
        Some((model, forecast)) => MultiBody {
            country: country.code.to_owned(),
            country_name: country.name.to_owned(),
            generated_at: forecast.at.to_string(),
            model_version: model.version(),
            horizons: Horizon::ALL
                .iter()
                .zip(&forecast.horizons)
                .map(|(of, risk)| {
                    let interval = Some([fine(risk.low), fine(risk.high)]);
                    (of.name, horizon(risk.probability, interval, top(&risk.contributions)))
                })
                .collect(),
            interpretation: said.add("interpretation", interpretation(country, forecast.risk(1), forecast.risk(2))),
            honest_caveats: said.add("honest_caveats", caveats(model, forecast)),
            license: license(cx),
            sentences: said,
        },
        None => {
            let base = Box::pin(base_rate(cx, country)).await?;
            // Days and weeks have the same numbers as in the seven-day forecast, to the last digit.
            let (hazard, week) = (base.summary.max_risk, base.summary.risk_7day);
            let within = |of: Horizon| match of {
                Horizon::WEEK => week,
                of => 1.0 - (1.0 - hazard).powi(of.days),
            };
            let of = |of: Horizon| (of.name, horizon(within(of), None, Vec::new()));
            MultiBody {
                country: base.country,
                country_name: base.country_name,
                generated_at: base.generated_at,
                model_version: base.model_version,
                horizons: Horizon::ALL.map(of).into_iter().collect(),
                interpretation: said
                    .add("interpretation", interpretation(country, base.summary.risk_7day, within(Horizon::MONTH))),
                honest_caveats: said.add("honest_caveats", base.caveats),
                license: base.license,
                sentences: said,
            }
        }
    };
    Response::json(&body)
}
