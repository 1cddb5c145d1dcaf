//! When blocking began and ended: from votes to events. Pure functions; [`crate::intelligence::country`] feeds and stores.
//!
//! | Module | What |
//! |---|---|
//! | [`constants`] | every number, named; the methodology prints them |
//! | [`series`] | a series in blocks, so that late data cost what they change |
//! | [`episodes`] | begin and end of blocking on each network of a series |
//! | [`merge`] | episodes of all networks and roles of a subject to events |
//! | [`beginning`] | whether anybody looked before it began |
//! | [`combine`] | measured events, silences and reports of others to incidents |
//! | [`volume`], [`silence`] | measurements that were to be expected and did not come |
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
