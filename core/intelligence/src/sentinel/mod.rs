//! Sentinel: the present risk of a country with its evidence, a queue for reviewers of forecasts, and the effect of an
//! event on measurements.
//!
//! | Module | What |
//! |---|---|
//! | `served` | the forecasts, as their endpoints serve them |
//! | `risk` | the risk of a country now, with reasons, evidence and a similar incident; all countries |
//! | `about` | the list of endpoints, and the state of the service |
//! | `queue` | recent forecasts, those first whose review teaches the most |
//! | `synthetic` | synthetic control and its permutation test (pure) |
//! | `series` | the shares that attribution compares, and the countries to compare with |
//! | `attribute` | the effect of an event on measurements |

mod about;
mod attribute;
mod queue;
mod risk;
mod series;
pub(crate) mod served;
pub mod synthetic;
#[cfg(test)]
mod tests;

use crate::forecast::Candidates;
use crate::forecast::batch::BatchRequest;
use engine::actor::{Entry, query};
use engine::http::{Param, Route, handler};

pub const ENTRIES: &[Entry] = &[query::<series::Shares>(), query::<series::Donors>(), query::<Candidates>()];

pub const ROUTES: &[Route] = &[
    Route::get("/v1/sentinel/current_risk/{country}", handler!(risk::current)).returns::<risk::RiskBody>().summary(
        "The risk that a shutdown begins in a country, with its interval, reasons, evidence and a similar incident.",
    ),
    Route::post("/v1/sentinel/current_risk/batch", handler!(risk::batch))
        .accepts::<BatchRequest>()
        .returns::<risk::BatchBody<'static>>()
        .summary("The risk that a shutdown begins, of up to 50 countries at once."),
    Route::get("/v1/sentinel/global_heatmap", handler!(risk::heatmap))
        .params(&[Param::optional("min_risk", "Only countries with at least this risk, 0 to 1; default 0.")
            .number(0, 1)
            .default("0")])
        .returns::<risk::HeatmapBody>()
        .summary("The risk of every country, the highest first."),
    Route::get("/v1/sentinel/active-learning-queue", handler!(queue::queue))
        .params(&[
            Param::optional("limit", "Most entries of the answer: default 50, at most 200.")
                .count(queue::DEFAULT_LIMIT, queue::MOST),
            Param::optional("country", "Code of a country, ISO 3166-1 alpha-2.").country(),
            Param::optional("rank_by", "`impact` (default) or `uncertainty`.")
                .one_of(&["impact", "uncertainty"])
                .default("impact"),
            Param::optional("max_age_days", "Forecasts of so many days, default 21, at most 90.")
                .count(queue::DEFAULT_DAYS, queue::MOST_DAYS),
        ])
        .returns::<queue::QueueBody>()
        .summary("Recent forecasts in the order in which a review teaches the most."),
    Route::get("/v1/sentinel/manifest.json", handler!(about::manifest))
        .returns::<about::ManifestBody>()
        .summary("What sentinel answers, and when to ask for it."),
    Route::get("/v1/sentinel/health", handler!(about::health))
        .returns::<about::HealthBody>()
        .summary("What is served, and how fresh it is."),
    Route::get("/v1/sentinel/attribute", handler!(attribute::attribute))
        .params(&[
            Param::required("country", "Code of a country, ISO 3166-1 alpha-2.").country(),
            Param::required("date", "The day from which on an effect is looked for, such as 2026-10-01.").date(),
        ])
        .returns::<attribute::AttributionBody>()
        .summary("How much more is blocked since a day than in countries like it: a synthetic control."),
];
