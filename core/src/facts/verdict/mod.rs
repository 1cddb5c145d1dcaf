//! Rules, votes, verdicts: from judged measurements to blocked / accessible / unknown. Pure functions.
//!
//! | Module | What |
//! |---|---|
//! | [`constants`] | every number of the method, named; the methodology endpoint prints them |
//! | [`rules`] | the rule list with stable ids and likelihood ratios |
//! | [`technique`] | the taxonomy of techniques and its wire names |
//! | [`evaluate`] | merged outcome of one measurement to rule and vote |
//! | [`classify`](mod@classify) | one raw document to accessible / blocked / down / unknown |
//! | [`confirm`] | which measurements of volunteers' probes may vote |
//! | [`window`] | measurements of a series to votes, and how long they count |
//! | [`belief`] | how likely each network blocks: a filter over votes |
//! | [`smoothing`] | the same by later votes too: when a block began and ended
//! | [`network`] | verdicts of the networks of a country |
//! | [`reach`] | how likely they block the country |
//! | [`national`] | verdict of a country |
//! | [`posterior`] | Beta intervals of shares |

pub mod belief;
pub mod classify;
pub mod confirm;
pub mod constants;
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
