//! The risk that something is switched off, day by day: a logistic hazard that is learned in this program from imported
//! shutdown tables (interface 4.3, methods 4.3, rulings intelligence 17 to 19).
//!
//! | Module | What |
//! |---|---|
//! | `history` | what started where, on a grid of days |
//! | `features` | what a forecast looks at |
//! | `panel` | the rows to learn from: countries, labels, what was known when |
//! | `logistic`, `isotonic`, `conformal` | the estimators |
//! | `metrics` | how well probabilities fit |
//! | `model` | what is learned, forecasts, the reasons in words |
//! | `store` | models, forecasts and changes, kept by the world; the daily schedule |
//! | `routes`, `changelog` | the endpoints |
//! | `backtest` | rolling origin by year, with the weak figures beside the strong ones |

pub mod backtest;
mod changelog;
pub mod conformal;
mod features;
pub mod history;
pub mod isotonic;
pub mod logistic;
pub mod metrics;
mod model;
pub mod panel;
mod routes;
mod store;
#[cfg(test)]
mod tests;

pub use changelog::{RollbackRequest, ToldBody};
pub use routes::ROUTES;
pub(crate) use routes::{Ahead, ahead};
pub use store::{ENTRIES, soon};
