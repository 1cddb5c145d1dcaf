//! Forecasts of the risk that a shutdown begins, day by day. A logistic hazard is learned in this program from imported
//! shutdown tables (decisions hazard-and-week-risk, forecast-panel and late-history).
//!
//! | Module | What |
//! |---|---|
//! | `history` | the starts of all countries on a grid of days |
//! | `features` | the features of a forecast |
//! | `panel` | the rows to learn from: countries, labels, and what was known at which time |
//! | `logistic`, `isotonic`, `conformal` | the estimators |
//! | `work` | counts of what the estimators did, by which tests bound it |
//! | `metrics` | measures of how well probabilities fit |
//! | `learning` | the steps in which a model is trained and judged |
//! | `model` | a trained model, its forecasts, and their reasons in words |
//! | `known` | the data that forecasts rest on, as the world keeps it |
//! | `store`, `training` | models, forecasts and changes, kept by the world; the daily schedule and the training in steps |
//! | `reports`, `track` | reports of people; served forecasts compared with their outcomes |
//! | `candidates` | recent forecasts for reviewers |
//! | `batch` | answers about many countries at once |
//! | `routes`, `horizons`, `changelog`, `record`, `reporting` | the endpoints |
//! | `backtest` | test with a rolling origin by year, which states the weak figures beside the strong ones |

pub mod backtest;
pub(crate) mod batch;
mod candidates;
mod changelog;
pub mod conformal;
mod features;
pub mod history;
mod horizons;
pub mod isotonic;
mod known;
pub mod learning;
pub mod logistic;
pub mod metrics;
pub mod model;
pub mod panel;
mod record;
#[cfg(test)]
mod recorded;
mod reporting;
mod reports;
mod routes;
mod store;
#[cfg(test)]
mod tests;
mod track;
mod training;
#[cfg(test)]
mod work;

pub use candidates::{Candidate, Candidates, Reviewed};
pub use changelog::{PromoteRequest, ROUTES as CHANGELOG_ROUTES, RollbackRequest, ToldBody};
pub use known::ReadStarts;
pub(crate) use known::{NO_HISTORY, note, source_dropped};
pub use record::ROUTES as RECORD_ROUTES;
pub use reporting::ROUTES as REPORTING_ROUTES;
pub use reports::{ForecastId, KeptReport, Reports};
pub use routes::ROUTES;

/// Names of the features of a learned model.
pub(crate) fn feature_names() -> impl Iterator<Item = &'static str> {
    features::FEATURES.iter().map(|(name, _)| *name)
}

/// The model that the world serves.
pub(crate) fn served(view: &engine::actor::View<'_>) -> crate::Result<Option<model::Model>> {
    Ok(engine::actor::Query::run(ServedModel, view)?.0.map(|(model, _)| model))
}

pub(crate) use routes::{Ahead, ahead, date, fine, late, no_model, said};
pub(crate) use store::forgotten;
pub use store::{ENTRIES, Forecasts, Served, ServedModel, soon};
