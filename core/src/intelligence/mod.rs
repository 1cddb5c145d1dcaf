//! Censorship intelligence: what is blocked where, since when, how we know, and what may come.
//!
//! | Module | What |
//! |---|---|
//! | [`alert`] | who hears of incidents by webhook |
//! | [`analytics`] | rankings and profiles over all countries |
//! | [`anomaly`] | days unlike others |
//! | [`atlas`] | scores and networks at risk |
//! | [`claims`] | sentences that are checked |
//! | [`classifier`] | what unusual days look like |
//! | [`country`] | the actor that holds the measurements of a country |
//! | [`elections`] | the calendar of elections |
//! | [`fetch`] | asking sources with a public interface, off by default |
//! | [`forecast`] | what may come |
//! | [`import`](mod@import) | streams of any supported kind, to the actors that keep them |
//! | [`incidents`] | what happened, from when to when, and how we know |
//! | [`probe`] | the probe network: nodes, their submissions, what they found |
//! | [`reference`](mod@reference) | imported reference data: fingerprints, categories, networks |
//! | [`risk`] | threat levels and scores |
//! | [`sentinel`] | risks of today |
//! | [`world`] | the actor that sums up all countries |

pub mod alert;
pub mod analytics;
pub mod anomaly;
pub mod atlas;
pub mod claims;
pub mod classifier;
pub mod country;
pub mod elections;
pub mod fetch;
pub mod forecast;
pub mod import;
pub mod incidents;
pub mod probe;
pub mod reference;
pub mod risk;
pub mod sentinel;
#[cfg(any(test, feature = "conformance"))]
pub mod testing;
pub mod world;
