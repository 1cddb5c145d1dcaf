//! Storage of the ledger (decision ledger-room): how much is used, when it will be full, and what is refused first.
//!
//! The store says how much it uses and how much is free ([`Read::room`]); an operator may allow less. The size is noted
//! once in each hour in which something happens, so that growth is measured and not guessed. Table number: 66.

use serde::{Deserialize, Serialize};

use super::reason::{Reason, Ruled, ensure};
use crate::{Result, Timestamp};
use engine::kv::{Direction, Read, Row, Table, Write};
use engine::time::{DAY, HOUR};

/// Part of the limit, in percent, from which on new wallets and listings are refused.
const NEARLY: u64 = 90;
/// How long sizes are kept, in hours.
const KEPT: u32 = 7 * 24;
/// Most old sizes that are removed at once.
const OLD_AT_ONCE: usize = 8;

/// Used bytes, by hours since the epoch.
const SIZES: Table<(u32,), Size> = Table::new(66);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Size {
    used: u64,
    at: Timestamp,
}
impl Row for Size {}

/// The known facts about storage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// In bytes, like `limit`.
    pub used: Option<u64>,
    pub limit: Option<u64>,
    /// Whole days until storage is full, at the growth of the last days.
    pub days_left: Option<u64>,
    /// Why the number of days is not known.
    pub unknown: Option<Unknown>,
    /// New wallets and listings are refused.
    pub nearly_full: bool,
}

/// The reason why the number of days until storage is full is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unknown {
    Size,
    Limit,
    History,
    Growth,
}

impl Unknown {
    pub const fn as_str(self) -> &'static str {
        match self {
            Unknown::Size => "Storage does not tell its size.",
            Unknown::Limit => "Storage does not tell its limit, and the setting ledger_storage_bytes is 0.",
            Unknown::History => "Growth has been measured for less than a day.",
            Unknown::Growth => "The stored data has not grown.",
        }
    }
}

/// Used bytes, and the limit in bytes. `allowed` is the operator's limit; 0 for none.
fn sizes(space: &(impl Read + ?Sized), allowed: u64) -> (Option<u64>, Option<u64>) {
    let Some(room) = space.room() else { return (None, None) };
    let there = room.free.map(|free| room.used.saturating_add(free));
    let allowed = Some(allowed).filter(|allowed| *allowed > 0);
    (Some(room.used), [there, allowed].into_iter().flatten().min())
}

fn is_nearly_full(sizes: (Option<u64>, Option<u64>)) -> bool {
    let (Some(used), Some(limit)) = sizes else { return false };
    u128::from(used) * 100 >= u128::from(limit) * u128::from(NEARLY)
}

/// Refuses when storage is nearly full. This is asked for what is refused first: a new wallet that no payment needs,
/// and a new listing.
pub fn for_more(space: &(impl Read + ?Sized), allowed: u64) -> Ruled<()> {
    ensure(!is_nearly_full(sizes(space, allowed)), Reason::StorageFull)
}

/// The known facts about storage at `now`.
pub fn read(space: &(impl Read + ?Sized), now: Timestamp, allowed: u64) -> Result<Storage> {
    let (used, limit) = sizes(space, allowed);
    let days = match (used, limit) {
        (None, _) => Err(Unknown::Size),
        (_, None) => Err(Unknown::Limit),
        (Some(used), Some(limit)) => days_left(space, now, used, limit)?,
    };
    let nearly_full = is_nearly_full((used, limit));
    Ok(Storage { used, limit, days_left: days.ok(), unknown: days.err(), nearly_full })
}

type Days = Result<u64, Unknown>;

fn days_left(space: &(impl Read + ?Sized), now: Timestamp, used: u64, limit: u64) -> Result<Days> {
    let first = SIZES.first(space, &SIZES.range())?.map(|(_, size)| size);
    let Some(first) = first.filter(|first| now.since(first.at) >= DAY) else { return Ok(Err(Unknown::History)) };
    let (grown, over) = (used.saturating_sub(first.used), u128::from(now.since(first.at).unsigned_abs()));
    let rest = u128::from(limit.saturating_sub(used));
    let micros = (rest * over).checked_div(u128::from(grown));
    Ok(micros
        .map(|micros| u64::try_from(micros / u128::from(DAY.unsigned_abs())).unwrap_or(u64::MAX))
        .ok_or(Unknown::Growth))
}

/// Notes the size in the first operation of an hour.
pub fn note(space: &mut dyn Write, now: Timestamp) -> Result<()> {
    let hour = hour(now);
    // Looking at the storage costs more than looking at a row.
    if SIZES.contains(space, &(hour,))? {
        return Ok(());
    }
    let Some(room) = space.room() else { return Ok(()) };
    SIZES.put(space, &(hour,), &Size { used: room.used, at: now })?;
    let old = SIZES.between(&(), &(hour.saturating_sub(KEPT),));
    for (key, _) in SIZES.scan(space, &old, Direction::Ascending, OLD_AT_ONCE)? {
        SIZES.delete(space, &key);
    }
    Ok(())
}

/// The hour of a time, counted from the epoch.
pub fn hour(at: Timestamp) -> u32 {
    u32::try_from(at.0.div_euclid(HOUR)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::kv::{MemoryStore, Overlay, Pair, Range, Room, Store, StoreError};

    /// Rows in a store whose size the test sets.
    struct SizedStore(MemoryStore, Option<Room>);

    impl Read for SizedStore {
        fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
            self.0.get(key)
        }

        fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
            self.0.scan(range, direction, limit)
        }

        fn room(&self) -> Option<Room> {
            self.1
        }
    }

    impl SizedStore {
        fn note(&mut self, used: u64, at: Timestamp) {
            self.1 = Some(Room { used, free: None });
            let mut overlay = Overlay::new(self);
            note(&mut overlay, at).unwrap();
            let batch = overlay.into_batch();
            self.0.apply(batch).unwrap();
        }

        fn days(&self, hours: i64, limit: u64) -> (Option<u64>, Option<Unknown>) {
            let storage = read(self, Timestamp(hours * HOUR), limit).unwrap();
            (storage.days_left, storage.unknown)
        }
    }

    fn place(used: u64, free: Option<u64>) -> SizedStore {
        SizedStore(MemoryStore::default(), Some(Room { used, free }))
    }

    #[test]
    fn ninety_percent_of_the_smaller_limit_are_nearly_full() {
        let full = |used, free, allowed| for_more(&place(used, free), allowed).is_err();
        assert!(!full(899, Some(101), 0) && full(900, Some(100), 0));
        assert!(!full(899, None, 1_000) && full(900, None, 1_000));
        assert!(full(900, Some(u64::MAX), 1_000) && full(900, Some(100), u64::MAX) && full(2_000, None, 1_000));
        // Where the size or the limit is unknown, nothing is refused.
        assert!(!full(u64::MAX, None, 0) && for_more(&SizedStore(MemoryStore::default(), None), 1).is_ok());
    }

    #[test]
    fn days_are_counted_from_a_day_of_growth_and_are_null_with_a_reason_before() {
        let mut place = SizedStore(MemoryStore::default(), None);
        assert_eq!(place.days(0, 1_000), (None, Some(Unknown::Size)));
        place.note(100, Timestamp(HOUR));
        assert_eq!(place.days(1, 0), (None, Some(Unknown::Limit)));
        place.note(150, Timestamp(13 * HOUR));
        assert_eq!(place.days(24, 1_000), (None, Some(Unknown::History)));
        // 50 in a day, 850 left.
        assert_eq!(place.days(25, 1_000), (Some(17), None));
        place.note(160, Timestamp(13 * HOUR + 1));
        assert_eq!(SIZES.scan(&place, &SIZES.range(), Direction::Ascending, 9).unwrap().len(), 2, "once an hour");
        // A store over its limit has 0 days left. A store that shrank has no growth.
        assert_eq!(place.days(25, 120), (Some(0), None));
        place.note(90, Timestamp(26 * HOUR));
        assert_eq!(place.days(27, 1_000), (None, Some(Unknown::Growth)));
        for hour in 27..400 {
            place.note(100, Timestamp(hour * HOUR));
        }
        assert_eq!(SIZES.scan(&place, &SIZES.range(), Direction::Ascending, 999).unwrap().len(), KEPT as usize + 1);
    }
}
