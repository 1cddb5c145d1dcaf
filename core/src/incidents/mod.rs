//! Incidents: what happened, where, from when to when, and how we know.
//!
//! A country decides from its measurements and from events of other sources what its incidents are (`country::changes`)
//! and reports each change of mind here. This actor gives them ids that are never reused, keeps every version, the order
//! of changes, and what operators amended; the endpoints of interface 4.4 answer from it.
//!
//! | Module | What |
//! |---|---|
//! | `model` | what an incident is |
//! | `tables` | what is stored |
//! | `record` | a country reports; ids, versions, order of changes |
//! | `query` | one incident, pages, changes since a time |

mod model;
mod query;
mod record;
mod tables;
#[cfg(test)]
mod tests;

pub use model::{
    AffectedNetwork, Draft, EvidenceRow, Incident, IncidentType, MAX_EVIDENCE, Overrides, ReadableId, Severity, Status,
    hash_id,
};
pub use query::{All, Changed, Changes, EvidenceOf, Find, VersionOf};
pub use record::{Record, Report};

use crate::actor::{ActorId, Entry, Kind, operation, query};

pub const ENTRIES: &[Entry] = &[
    operation::<Record>(),
    query::<All>(),
    query::<Find>(),
    query::<Changes>(),
    query::<EvidenceOf>(),
    query::<VersionOf>(),
];

/// The one actor that holds them.
pub fn actor() -> ActorId {
    ActorId::sole(Kind::Incidents)
}
