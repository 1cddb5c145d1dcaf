//! Censorship intelligence: which sites are blocked in which countries, since when, by which evidence, and what is
//! forecast.
//!
//! | Module | What |
//! |---|---|
//! | [`aggregation`] | counts of measurements over any range, and single measurements |
//! | [`alert`] | news of incidents to subscribers, by webhook |
//! | [`analytics`] | rankings and profiles over all countries |
//! | [`anomaly`] | unusual days of countries, and domains whose blocking changed |
//! | [`atlas`] | scores and networks at risk |
//! | [`claims`] | sentences that are checked |
//! | [`classifier`] | recognizes days with a shutdown or an ordered block |
//! | [`country`] | the actor that holds the measurements of a country |
//! | [`elections`] | the calendar of elections |
//! | [`fetch`] | fetching from sources with a public interface, off by default |
//! | [`forecast`] | forecasts of shutdowns |
//! | [`import`](mod@import) | imports of data of all supported kinds |
//! | [`incidents`] | incidents: their dates, evidence and versions |
//! | [`probe`] | the probe network: nodes, their submissions and findings |
//! | [`reference`](mod@reference) | imported reference data: fingerprints, categories, networks |
//! | [`risk`] | threat levels and scores |
//! | `sentences` | the table of all sentences, for translators |
//! | [`sentinel`] | present risks with their evidence, a queue for reviewers, effects of events |
//! | [`suggest`] | suggestions for what a reader has typed |
//! | [`world`] | the actor that sums up all countries |
//! | [`layer`], `port`, `computing` | what the intelligence brings to the program, and which of its routes compute |

pub mod aggregation;
pub mod alert;
pub mod analytics;
pub mod anomaly;
pub mod atlas;
pub mod claims;
pub mod classifier;
mod computing;
pub mod country;
pub mod elections;
pub mod fetch;
pub mod forecast;
pub mod import;
pub mod incidents;
pub mod layer;
mod port;
pub mod probe;
pub mod reference;
pub mod risk;
mod sentences;
pub mod sentinel;
pub mod suggest;
#[cfg(any(test, feature = "conformance"))]
pub mod testing;
pub mod world;

use engine::{Error, ErrorCode, Result, Timestamp};
