//! Elections: the coming ones, and the shutdowns around earlier ones (decision features-dates-retries).
//!
//! | Module | What |
//! |---|---|
//! | `model` | an election: its date as precisely as it is known, its status and source |
//! | `calendar` | coming elections inside the binary (`starter/elections.csv`) |
//! | `read`, `tables` | calendars that an operator imports as CSV, including the layouts of two published tables |
//! | `history` | shutdowns around earlier elections |
//! | `routes` | the endpoints |
//! | `store` | imported elections, kept by the world; [`dates`] for the forecast |

pub mod calendar;
mod history;
mod model;
mod read;
mod routes;
mod store;
mod tables;
#[cfg(test)]
mod tests;

pub use model::{DateCertainty, Election, ElectionDate, ElectionType, Precision};
pub use read::read;
pub use routes::ROUTES;
pub use store::{AT_ONCE, AddElections, DropElections, ENTRIES, Elections, ElectionsEpoch, dates};
