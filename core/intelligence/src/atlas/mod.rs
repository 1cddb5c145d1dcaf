//! Scores of countries and networks at risk, computed from incidents, forecasts and unusual days.
//!
//! | Module | What |
//! |---|---|
//! | `score` | one score whose parts add up to it |
//! | `networks` | how exposed networks are to the blocks of their country, and a forecast made from that |
//! | `shutdown` | shutdowns of a country, and their forecast |
//! | `constants` | every number |

pub mod constants;
pub mod networks;
mod score;
mod shutdown;

use std::collections::BTreeMap;

use crate::forecast::{Forecasts, Served};
use crate::{Result, incidents, risk, world};
use engine::http::{Cx, Limit, Param, Route, handler};
use engine::runtime;
use engine::time::DAY;

pub const ROUTES: &[Route] = &[
    Route::get("/v1/atlas/score-v2", handler!(score::all))
        .limit(Limit::Data)
        .returns::<score::ListBody>()
        .summary("Countries by a score of past, present and forecast, the worst first."),
    Route::get("/v1/atlas/score-v2/{country}", handler!(score::one))
        .limit(Limit::Data)
        .returns::<score::ScoreBody>()
        .summary("The score of a country with the parts that add up to it."),
    Route::get("/v1/forecast/asn-gnn", handler!(networks::forecast))
        .limit(Limit::Data)
        .params(&[
            Param::optional("country", "Code of a country, ISO 3166-1 alpha-2.").country(),
            Param::optional("asn", "A network, with or without `AS`.").network().such_as("AS64500"),
            Param::optional("limit", "Most entries of the answer: default 50, at most 500.")
                .count(constants::NETWORKS_DEFAULT, constants::NETWORKS_MOST),
        ])
        .returns::<networks::ForecastBody>()
        .summary("The risk of networks within seven days: the country's risk times the network's exposure."),
    Route::get("/v1/forecast/asn-gnn/info", handler!(networks::info))
        .limit(Limit::Data)
        .returns::<networks::InfoBody>()
        .summary("Which method stands behind the forecast of networks, and how it does."),
    Route::get("/v1/shutdown-risk/{country}", handler!(shutdown::risk))
        .limit(Limit::Data)
        .returns::<shutdown::RiskBody>()
        .summary("Whether a country's shutdowns are covered, what is known of them, and the forecast."),
];

const YEAR: i64 = 365 * DAY;

/// By country: incidents that began within a year, and incidents that went on within a day.
type ByCountry = BTreeMap<String, (u64, u64)>;

async fn densities(cx: &Cx) -> Result<ByCountry> {
    let now = cx.now();
    let asked = incidents::Densities { began_after: now.plus(-YEAR), on_after: now.plus(-DAY) };
    let found = runtime::query(&*cx.rt, incidents::actor().name, &asked).await?;
    Ok(found.into_iter().map(|(country, began, on)| (country, (began, on))).collect())
}

async fn served(cx: &Cx, country: Option<&str>) -> Result<Option<Served>> {
    let asked = Forecasts { countries: country.map(|code| vec![code.to_owned()]) };
    runtime::query(&*cx.rt, world::actor().name, &asked).await
}

/// The risk of countries within seven days, from the learned forecast or else from base rates, and its version.
struct WeekRisks {
    version: String,
    learned: BTreeMap<String, f64>,
    /// Present when there is no learned forecast.
    base: Option<Base>,
}

/// The facts that base rates are computed from.
struct Base {
    incidents: ByCountry,
    /// Incidents that began within a year, in all countries.
    everywhere: u64,
    countries: u64,
}

impl WeekRisks {
    async fn read(cx: &Cx, country: Option<&str>) -> Result<WeekRisks> {
        if let Some(Served { model, forecasts }) = served(cx, country).await? {
            let learned = forecasts.into_iter().map(|(code, forecast)| (code, forecast.risk(1)));
            return Ok(WeekRisks { version: model.version(), learned: learned.into_iter().collect(), base: None });
        }
        let countries = runtime::query(&*cx.rt, world::actor().name, &risk::ReadScores).await?.len() as u64;
        let incidents = densities(cx).await?;
        let everywhere = incidents.values().map(|(began, _)| began).sum();
        let base = Some(Base { incidents, everywhere, countries });
        Ok(WeekRisks { version: risk::MODEL.version.to_owned(), learned: BTreeMap::new(), base })
    }

    fn of(&self, country: &str) -> Option<f64> {
        let Some(Base { incidents, everywhere, countries }) = &self.base else {
            return self.learned.get(country).copied();
        };
        let known = risk::RateFacts {
            about: None,
            incidents: incidents.get(country).map_or(0, |(began, _)| *began),
            incidents_everywhere: *everywhere,
            countries: *countries,
            trend: None,
            measured: true,
            scored: true,
        };
        risk::cumulative(&risk::estimate(&known, 7).daily).last().copied()
    }
}
