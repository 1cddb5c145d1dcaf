//! When blocking began and ended: from votes to events. Pure functions; `intelligence::country` calls them and
//! stores the results.
//!
//! | Module | What |
//! |---|---|
//! | [`constants`] | all numbers of change detection; the methodology endpoint prints them |
//! | [`series`] | a series in blocks, so that late data change only the blocks of their days |
//! | [`episodes`] | beginning and end of blocking on each network of a series |
//! | [`merge`] | from the episodes of all networks and roles of a subject to events |
//! | [`beginning`] | whether the beginning of a block was measured |
//! | [`combine`] | from measured events, silences and reports of others to incidents |
//! | [`volume`], [`silence`] | measurements that were expected and did not come |
//! | [`schedule`] | the hours that a block keeps |

pub mod beginning;
pub mod combine;
pub mod constants;
pub mod episodes;
pub mod merge;
pub mod schedule;
pub mod series;
pub mod silence;
pub mod volume;
