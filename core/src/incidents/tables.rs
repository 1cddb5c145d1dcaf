//! Rows of the incidents actor.

use serde::{Deserialize, Serialize};

use super::model::{EvidenceRow, Incident, ReadableId};
use crate::Timestamp;
use crate::kv::{Row, Table};

/// The parts of a readable id, as a key.
pub type IdKey = (String, u32, u32);

pub const INCIDENTS: Table<IdKey, Incident> = Table::new(16);
/// Every version that ever was, for citations (ruling intelligence 39).
pub const VERSIONS: Table<(String, u32, u32, u32), Incident> = Table::new(17);
pub const BY_HASH: Table<(String,), IdRow> = Table::new(18);
/// By the number that its country knows it under.
pub const BY_EVENT: Table<(String, u64), IdRow> = Table::new(19);
/// The order of changes: one row per incident, at its newest.
pub const BY_UPDATED: Table<(Timestamp, String, u32, u32), ()> = Table::new(20);
/// Shown ones by their beginning, of all countries and of each.
pub const BY_START: Table<(Timestamp, String, u32, u32), ()> = Table::new(21);
pub const BY_COUNTRY: Table<(String, Timestamp, u32, u32), ()> = Table::new(22);
/// Last sequence number given, by country and year.
pub const SEQUENCES: Table<(String, u32), Sequence> = Table::new(23);
pub const EVIDENCE: Table<(String,), EvidenceRow> = Table::new(24);
pub const CLOCK: Table<(), Clock> = Table::new(25);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdRow(pub ReadableId);
impl Row for IdRow {}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence(pub u32);
impl Row for Sequence {}

/// The time of the last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock(pub Timestamp);
impl Row for Clock {}

pub fn key(id: &ReadableId) -> IdKey {
    (id.country.clone(), u32::from(id.year), id.sequence)
}
