//! From judged measurements to rules, votes and verdicts: blocked, accessible or unknown. Pure functions.
//!
//! | Module | What |
//! |---|---|
//! | [`constants`] | all numbers of the method; the methodology endpoint prints them |
//! | [`rules`] | the rule list with stable ids and likelihood ratios |
//! | [`down_or_blocked`] | why a failure counts as a site that is down, and not as a block |
//! | [`technique`] | the taxonomy of techniques and its wire names |
//! | [`evaluate`] | from the merged outcome of one measurement to its rule and vote |
//! | [`classify`](mod@classify) | the class of one raw document: accessible, blocked, down or unknown |
//! | [`confirm`] | confirmation of volunteers' probes before they may vote |
//! | [`window`] | from the measurements of a series to votes, and how long votes count |
//! | [`belief`] | how likely each network blocks: a filter over the votes so far |
//! | [`smoothing`] | how likely each network blocked, by later votes too: when a block began and ended |
//! | [`network`] | verdicts of the networks of a country |
//! | [`reach`] | how likely the networks together block the country |
//! | [`national`] | the verdict of a country |
//! | [`posterior`] | Beta intervals of shares |

pub mod belief;
pub mod classify;
pub mod confirm;
pub mod constants;
pub mod down_or_blocked;
pub mod evaluate;
pub mod national;
pub mod network;
pub mod posterior;
pub mod reach;
pub mod rules;
pub mod smoothing;
pub mod technique;
pub mod window;

#[cfg(test)]
mod classify_tests;
#[cfg(test)]
mod classify_variety_tests;
#[cfg(test)]
mod verdict_tests;

pub use classify::{Classification, Label, classify};
pub use evaluate::{Evaluated, Vote};
pub use rules::{RULES, Rule, RuleId};
pub use technique::Technique;
