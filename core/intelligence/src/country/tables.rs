//! Rows of a country actor.
//!
//! The 24-byte entries of measurements are the original data. Every hourly vote, aggregate, interval and answer is
//! derived from them when it is read, so a changed rule judges old measurements again and nothing can drift apart. The
//! hashes of source rows, which count exact repeats, are stored with the entries. Beside them are stored witnesses (one
//! small row per target, network and source, for listings) and the latest verdict on each target, which feeds the open
//! data. Entries older than 400 days become counts per rule (`rollup`, decision rollup-after-400-days).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::packed::{CellKey, PackedTable};
use super::rollup::RolledCell;
use crate::Timestamp;
use engine::kv::{Row, Table};
use engine::time::DAY;
use facts::measurement::DayCounts;
use facts::tracked::Tracked;
use facts::verdict::network::site_rate;

/// Entries of each (target, day, network, source), and hashes of the source rows that have this target as their first;
/// many cells to a row. Source rows that say nothing about any target are under the empty target.
pub const ENTRIES: PackedTable = Table::new(16);
/// At most [`MAX_WITNESSES`] witnesses of a cell, sorted by identity.
pub const WITNESSES: Table<(String, u32, u32, u8), Witnesses> = Table::new(18);
pub const TARGETS: Table<(String,), TargetRow> = Table::new(19);
pub const NETWORKS: Table<(u32,), NetworkRow> = Table::new(20);
pub const SOURCES: Table<(u8,), SourceRow> = Table::new(21);
/// Targets whose verdict must be computed again, each with the first day that may have changed.
pub const QUEUE: Table<(String,), Since> = Table::derived(22);
/// The latest verdict on a target, as of its `at`.
pub const VERDICTS: Table<(String,), VerdictRow> = Table::derived(23);
/// When a verdict must be judged again because its evidence ages.
pub const AGEING: Table<(Timestamp, String), ()> = Table::derived(24);
/// Entries of imported block lists of this country: the newest date by domain and kind.
pub const LISTED: Table<(String, u8), Timestamp> = Table::new(25);
/// Since when a list has an entry, if its row says so; the earliest day that was given.
pub const LISTED_SINCE: Table<(String, u8), Timestamp> = Table::derived(57);
/// (target, day) whose successes other countries may need as a control and do not know yet.
pub const PEERS_CHANGED: Table<(String, u32), ()> = Table::derived(26);
/// Successes in other countries, by (target, day).
pub const OUTSIDE: Table<(String, u32), Peers> = Table::new(27);
/// Failure rate of a target in other countries (decision failing-elsewhere).
pub const PRIORS: Table<(String,), Prior> = Table::new(28);
/// Sites of the reference lists that the index needs.
pub const CATALOGUE: Table<(), Catalogue> = Table::new(29);
/// A few control sites. They have a row of their own because every answer reads them.
pub const CONTROL_SITES: Table<(), ControlSites> = Table::new(33);
pub const META: Table<(), Meta> = Table::new(30);
/// The summary of this country in the open data, as of its `at`.
pub const SUMMARY: Table<(), crate::world::CountrySummary> = Table::derived(31);
/// Block lists that were imported, by kind.
pub const LISTS: Table<(u8,), ListRow> = Table::new(32);

/// Rolled-up cells.
pub const ROLLED: Table<CellKey, RolledCell> = Table::new(35);

/// How often each source was removed here, by its code; block lists are under [`LISTS_EPOCH`].
pub const EPOCHS: Table<(u8,), u64> = Table::new(36);
/// No source has this code.
pub const LISTS_EPOCH: u8 = 0;

/// Events that other sources report, by source and id.
pub const EVENTS: Table<(u8, String), facts::reported::Reported> = Table::new(37);
/// How much the sources of events and of counts gave this country.
pub const GIVEN: Table<(u8,), GivenRow> = Table::new(38);
/// Counts of a day that a source summed up itself, by day and part (a test, a site, or nothing). They are never votes.
pub const DAY_COUNTS: Table<(u32, String), DayCounts> = Table::new(39);

/// Present while every verdict is computed again.
pub const RECOMPUTE: Table<(), RecomputeRow> = Table::derived(34);

/// Most witnesses kept per cell (decision rollup-after-400-days).
pub const MAX_WITNESSES: usize = 3;

/// Version of the rule list and of the outcome codes that entries are written in.
pub const RULES_VERSION: u32 = 2;

/// Characters that must be escaped in a part of an address (RFC 3986, 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Where a reader can look up one measurement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WitnessRow {
    pub identity: [u8; 8],
    /// A measurement has a uid, or a `report_id` and an input.
    pub uid: Option<String>,
    pub report_id: Option<String>,
    pub input: Option<String>,
}

impl WitnessRow {
    /// The name of the measurement in its source, and its page in OONI Explorer.
    pub fn link(&self) -> Option<(String, String)> {
        let encode = |text: &str| utf8_percent_encode(text, RESERVED).to_string();
        match (&self.uid, &self.report_id) {
            (Some(uid), _) => Some((uid.clone(), format!("https://explorer.ooni.org/m/{}", encode(uid)))),
            (None, Some(report)) => {
                let input = self.input.as_deref().map(|input| format!("?input={}", encode(input))).unwrap_or_default();
                Some((report.clone(), format!("https://explorer.ooni.org/measurement/{}{input}", encode(report))))
            }
            (None, None) => None,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witnesses(pub Vec<WitnessRow>);
impl Row for Witnesses {}

impl Witnesses {
    /// Adds a witness. Of two with one identity, the greater text stays; of all, those with the smallest identities
    /// stay.
    pub fn add(&mut self, witness: WitnessRow) {
        match self.0.binary_search_by(|known| known.identity.cmp(&witness.identity)) {
            Ok(at) => {
                if let Some(known) = self.0.get_mut(at).filter(|known| **known < witness) {
                    *known = witness;
                }
            }
            Err(at) if at < MAX_WITNESSES => {
                self.0.insert(at, witness);
                self.0.truncate(MAX_WITNESSES);
            }
            Err(_) => {}
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetRow {
    /// Measurements, of all time.
    pub entries: u64,
    pub first_day: u32,
    pub last_day: u32,
}
impl Row for TargetRow {}

/// A day; [`u32::MAX`] for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since(pub u32);
impl Row for Since {
    const VERSION: u8 = 2;

    /// Version 1 named no day.
    fn upgrade(_version: u8, _bytes: &[u8]) -> Result<Self, engine::kv::StoreError> {
        Ok(Since(0))
    }
}

/// The result so far of computing every verdict again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecomputeRow {
    pub judged: u64,
    pub changed: u64,
    pub changes: Vec<crate::world::ChangedAnswer>,
}
impl Row for RecomputeRow {}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkRow {
    pub entries: u64,
    /// Name and addresses from the network table, once the reference actor has answered.
    pub name: Option<String>,
    pub addresses: Option<u64>,
    /// First measured day by source; none in rows of version 1. Must stay the last member.
    pub firsts: BTreeMap<u8, u32>,
}
impl Row for NetworkRow {
    const VERSION: u8 = 2;

    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, engine::kv::StoreError> {
        engine::kv::appended(version, 1, bytes, &[0])
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRow {
    /// Measurements, each counted once for every target that it says something about.
    pub entries: u64,
    /// Measurements, each counted once.
    pub measurements: u64,
    /// Rows or documents of the source.
    pub rows: u64,
    /// The newest measurement, in hours since the epoch.
    pub last_hour: i64,
}
impl Row for SourceRow {}

/// How much a source of events or counts gave a country.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenRow {
    pub rows: u64,
    /// The newest beginning of an event, or the newest day of counts.
    pub newest: Timestamp,
}
impl Row for GivenRow {}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRow {
    pub domains: u64,
    pub date: Timestamp,
}
impl Row for ListRow {}

/// The number of sessions that succeeded, and of their networks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peers {
    pub sessions: u32,
    pub networks: u32,
}
impl Row for Peers {}

/// How often a target fails in other countries.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prior {
    /// The median, 0-1.
    pub rate: f64,
    pub countries: u32,
    /// The rate that nearly all of them reach; 0 in rows of version 1. Must stay the last member.
    pub everywhere: f64,
}
impl Row for Prior {
    const VERSION: u8 = 2;

    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, engine::kv::StoreError> {
        engine::kv::appended(version, 1, bytes, &0_f64.to_le_bytes())
    }
}

impl Prior {
    /// The rate at which the target is taken to fail where nobody blocks it.
    pub fn site(&self) -> f64 {
        site_rate(self.rate, self.everywhere)
    }
}

/// Reference sites for the index, as the reference actor last sent them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalogue {
    /// Sites of the list that is the same for every country.
    pub global: Vec<String>,
    /// Sites of any list whose category is political speech.
    pub political: Vec<String>,
    /// Platforms of target lists; none in rows of version 1. Must stay the last member.
    pub platforms: Vec<Tracked>,
}
impl Row for Catalogue {
    const VERSION: u8 = 2;

    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, engine::kv::StoreError> {
        engine::kv::appended(version, 1, bytes, &[0])
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlSites(pub Vec<String>);
impl Row for ControlSites {}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    pub rules_version: u32,
}
impl Row for Meta {}

/// The verdict on a target at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictRow {
    pub at: Timestamp,
    /// Whether the target is judged again a day later.
    pub ages: bool,
    /// Stored without the target's name.
    pub summary: crate::world::TargetSummary,
    /// See [`super::kinds::blocked_then`]; none in rows of version 5. Must stay the last member.
    pub blocked_then: Option<f64>,
}
impl Row for VerdictRow {
    const VERSION: u8 = 6;

    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, engine::kv::StoreError> {
        engine::kv::appended(version, 5, bytes, &[0])
    }
}

impl VerdictRow {
    /// When the target must be judged again, under [`AGEING`].
    pub fn due(&self) -> Option<Timestamp> {
        self.ages.then(|| self.at.plus(DAY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::kv::{decode_row, encode_row};

    #[test]
    fn a_rate_of_version_1_is_read_as_one_that_is_not_reached_everywhere() {
        let old = postcard::to_extend(&(0.9_f64, 7_u32), vec![1]).unwrap();
        let read: Prior = decode_row(&old).unwrap();
        assert_eq!(read, Prior { rate: 0.9, countries: 7, everywhere: 0.0 });
        assert!((read.site() - 0.3).abs() < 1e-9);
        assert_eq!(decode_row::<Prior>(&encode_row(&read).unwrap()).unwrap(), read);
    }

    #[test]
    fn a_row_of_version_1_is_read_without_the_list_that_came_later() {
        let now = Catalogue { global: vec!["example.org".to_owned()], ..Catalogue::default() };
        let mut bytes = encode_row(&now).unwrap();
        assert_eq!((bytes[0], bytes.pop()), (2, Some(0)));
        bytes[0] = 1;
        assert_eq!(decode_row::<Catalogue>(&bytes).unwrap(), now);
    }
}
