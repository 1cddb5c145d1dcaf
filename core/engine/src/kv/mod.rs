//! The strongly consistent storage seam: ordered bytes to bytes, read by key or range, written by atomic batches.
//!
//! A backend implements [`Read`] and [`Store`]: memory (here), redb (`native-server`), SQLite in a Durable Object
//! (`edge-worker`). All three pass the functions of [`conformance`]. Above the seam stand the order-preserving key
//! [`codec`], typed [`Table`]s, and the [`Overlay`] that collects an operation's writes until it has succeeded.
//!
//! | Module | What |
//! |---|---|
//! | [`codec`] | keys as tuples, whose bytes have the order of the tuples |
//! | `table`, `head` | typed tables; rows at the head of a group of rows |
//! | `batch`, `overlay` | changes that are applied together; changes that are not applied yet |
//! | [`bytes`], [`float`], [`fraction`], [`moment`] | how byte strings, numbers and times are stored |
//! | `memory`, `fault`, `conformance` | for tests: a store in memory, one that fails, what every backend must do |

mod batch;
pub mod bytes;
pub mod codec;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
#[cfg(any(test, feature = "conformance"))]
pub mod fault;
pub mod float;
pub mod fraction;
mod head;
#[cfg(any(test, feature = "conformance"))]
mod memory;
pub mod moment;
mod overlay;
mod table;

pub use batch::{Batch, Change};
pub use codec::{Desc, Key, KeyPart};
pub use head::Head;
#[cfg(any(test, feature = "conformance"))]
pub use memory::MemoryStore;
pub use overlay::{Overlay, Patched};
pub use table::{Row, Table, appended, beginning, decode_row, encode_row};

/// Largest value a backend must take, in bytes. Durable Object SQLite allows 2 MB for a row
/// (developers.cloudflare.com/durable-objects/platform/limits); the rest is room for the key.
pub const MAX_VALUE_BYTES: usize = 1_900_000;

/// Largest key, in bytes.
pub const MAX_KEY_BYTES: usize = 1_024;

/// Why storage could not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The engine failed; the same request may succeed later.
    #[error("storage unavailable: {0}")]
    Unavailable(String),
    /// What is stored is damaged: a row that this version cannot read, or a page that is not what was written.
    #[error("stored row unreadable: {0}")]
    Corrupt(String),
    /// A row that cannot be stored: its value is over [`MAX_VALUE_BYTES`], or has no encoding.
    #[error("row refused: {0}")]
    Refused(String),
}

/// Key and value of one stored pair.
pub type Pair = (Vec<u8>, Vec<u8>);

/// Which end of a range a scan starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Ascending,
    Descending,
}

/// Half-open range of keys: `start <= key < end`; no `end` means to the last key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    pub start: Vec<u8>,
    pub end: Option<Vec<u8>>,
}

impl Range {
    pub fn all() -> Self {
        Range { start: Vec::new(), end: None }
    }

    /// All keys that begin with `prefix`.
    pub fn prefix(prefix: &[u8]) -> Self {
        Range { start: prefix.to_vec(), end: successor(prefix) }
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        key >= self.start.as_slice() && self.end.as_deref().is_none_or(|end| key < end)
    }

    /// No key can be inside.
    pub fn is_empty(&self) -> bool {
        self.end.as_deref().is_some_and(|end| end <= self.start.as_slice())
    }

    /// The part of the range after `key` in the given direction, for reading on.
    pub fn beyond(&self, key: &[u8], direction: Direction) -> Self {
        match direction {
            Direction::Ascending => {
                let mut start = key.to_vec();
                start.push(0);
                Range { start, end: self.end.clone() }
            }
            Direction::Descending => Range { start: self.start.clone(), end: Some(key.to_vec()) },
        }
    }
}

/// The smallest key that is greater than every key with this prefix; `None` when there is none (all bytes 0xFF).
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xFF)?;
    let mut end = prefix.get(..=last)?.to_vec();
    if let Some(byte) = end.last_mut() {
        *byte += 1;
    }
    Some(end)
}

/// Takes key and value of a pair; whether it wants the next one.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> Result<bool, StoreError> + 'a;

/// A consistent view of one key space.
pub trait Read {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;

    /// At most `limit` pairs of the range, in the order of `direction`. An empty or inverted range yields nothing.
    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError>;

    /// Visits the pairs of a range in the order of `direction`, until `visit` answers `false`. Where rows must be copied to be
    /// looked at, `page` of them are at a time; where they need not, nothing is.
    fn visit(&self, range: &Range, direction: Direction, page: usize, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        let mut rest = range.clone();
        loop {
            let rows = self.scan(&rest, direction, page)?;
            for (key, value) in &rows {
                if !visit(key, value)? {
                    return Ok(());
                }
            }
            match rows.last() {
                Some((key, _)) if rows.len() == page => rest = rest.beyond(key, direction),
                _ => return Ok(()),
            }
        }
    }

    /// How much room the rows have where they are kept; `None` where nothing tells.
    fn room(&self) -> Option<Room> {
        None
    }
}

/// Room where rows are kept, in bytes. What is kept beside them in the same place counts too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub used: u64,
    /// What there is beyond that; `None` where nothing tells.
    pub free: Option<u64>,
}

/// A view that also collects changes.
pub trait Write: Read {
    fn put(&mut self, key: Vec<u8>, value: Vec<u8>);
    fn delete(&mut self, key: Vec<u8>);

    /// A row of the table of this number is going to be put or deleted. `derived` is what [`Table::derived`] says, and
    /// `types` names the types of the table's keys and values.
    fn of_table(&mut self, _number: u8, _derived: bool, _types: &'static str) {}
}

/// A backend.
pub trait Store: Read {
    /// Applies every change of the batch or none of them; durable when it returns.
    fn apply(&mut self, batch: Batch) -> Result<(), StoreError>;
}

impl<R: Read + ?Sized> Read for &R {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        (**self).get(key)
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        (**self).scan(range, direction, limit)
    }

    fn visit(&self, range: &Range, direction: Direction, page: usize, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        (**self).visit(range, direction, page, visit)
    }

    fn room(&self) -> Option<Room> {
        (**self).room()
    }
}

/// Rows that are fetched at a time where nothing speaks for another number.
const PAGE: usize = 256;

/// Visits every pair of a range, until `visit` answers `false`.
pub fn for_each(
    view: &(impl Read + ?Sized),
    range: Range,
    direction: Direction,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    view.visit(&range, direction, PAGE, &mut visit)
}
