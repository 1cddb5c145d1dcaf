//! The risk of new blocks: the endpoints `predict`, `threat-level`, `scores` and `model/info` of the detection group.
//!
//! | Module | What |
//! |---|---|
//! | `days` | the score of each country by day, kept in the country |
//! | `scores` | the latest score of every country, kept in the world |
//! | `rate` | the base rate, which is served where there is no learned forecast |
//! | `level` | the level, the trend and the certainty of a score (pure) |
//! | `history` | the daily scores of a country as open data |
//! | `model_info` | the description of the model |
//! | `routes` | the endpoints |

pub(crate) mod days;
mod history;
mod level;
mod model_info;
mod rate;
mod routes;
pub(crate) mod scores;

pub use days::{ReadRecentScores, RecentScores};
pub(crate) use level::{RISKS, word};
pub(crate) use rate::{MODEL, RateFacts, cumulative, estimate};
pub use routes::ROUTES;
pub(crate) use routes::base_rate;
pub use scores::{AnyScore, ReadScores};

use engine::actor::{Entry, query};

pub const ENTRIES: &[Entry] = &[query::<ReadRecentScores>(), query::<ReadScores>(), query::<AnyScore>()];
