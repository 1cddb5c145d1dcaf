//! The risk that something is switched off, day by day: a logistic hazard that is learned in this program from imported
//! shutdown tables (decisions hazard-and-week-risk, forecast-panel and late-history).
//!
//! | Module | What |
//! |---|---|
//! | `history` | what started where, on a grid of days |
//! | `features` | what a forecast looks at |
//! | `panel` | the rows to learn from: countries, labels, what was known when |
//! | `logistic`, `isotonic`, `conformal` | the estimators |
//! | `metrics` | how well probabilities fit |
//! | `learning` | the steps in which a model is learned and judged |
//! | `model` | what is learned, forecasts, the reasons in words |
//! | `known` | what the world has of all that |
//! | `store`, `training` | models, forecasts and changes, kept by the world; the daily schedule, learning in steps |
//! | `reports`, `track` | what people report; forecasts that were served against what came of them |
//! | `candidates` | recent forecasts for reviewers |
//! | `batch` | answers about many countries at once |
//! | `routes`, `changelog`, `record`, `reporting` | the endpoints |
//! | `backtest` | rolling origin by year, with the weak figures beside the strong ones |

pub mod backtest;
pub(crate) mod batch;
mod candidates;
mod changelog;
pub mod conformal;
mod features;
pub mod history;
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
pub use known::Known;
pub(crate) use known::{NO_HISTORY, note, source_dropped};
pub use record::ROUTES as RECORD_ROUTES;
pub use reporting::ROUTES as REPORTING_ROUTES;
pub use reports::{ForecastId, Reported, Reports};
pub use routes::ROUTES;

/// Names of the features of a learned model.
pub(crate) fn feature_names() -> impl Iterator<Item = &'static str> {
    features::FEATURES.iter().map(|(name, _)| *name)
}

/// The model that the world serves.
pub(crate) fn served(view: &crate::engine::actor::View<'_>) -> crate::Result<Option<model::Model>> {
    Ok(crate::engine::actor::Query::run(ServedModel, view)?.0.map(|(model, _)| model))
}

pub(crate) use routes::{Ahead, ahead, date, fine, late, no_model, said};
pub(crate) use store::forgotten;
pub use store::{ENTRIES, Forecasts, Served, ServedModel, soon};
