//! The rows of one actor inside the table of all rows.

use std::iter::Peekable;
use std::ops::Bound;
use std::path::Path;

use heliograph_core::engine::actor::{ActorId, Kind};
use heliograph_core::engine::kv::{Batch, Change, Direction, KeyPart, Pair, Range, Read, Room, StoreError, Visit};
use redb::{CursorError, ReadableTable, StorageError};

/// The bytes before every key of an actor: one byte for its kind, and its name in the core's key codec. The codec's end
/// mark keeps the rows of one actor together and in the order of their keys. Every row has these bytes, so they are
/// few.
pub fn prefix(actor: &ActorId) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(actor.name.len() + 3);
    bytes.push(code(actor.kind));
    actor.name.write(&mut bytes);
    bytes
}

/// The first byte of the rows of a kind.
pub const fn code(kind: Kind) -> u8 {
    // These numbers are in every data file, so they must never change.
    match kind {
        Kind::Agent => 1,
        Kind::Directory => 2,
        Kind::Account => 3,
        Kind::Country => 4,
        Kind::World => 5,
        Kind::Reference => 6,
        Kind::Deployment => 7,
        Kind::Incidents => 8,
        Kind::Channel => 9,
        Kind::Attestation => 10,
        Kind::Relay => 11,
        Kind::Ledger => 12,
        Kind::Alert => 14,
        Kind::Probe => 13,
        Kind::Market => 15,
    }
}

/// The actor that a row belongs to.
pub fn actor_of(mut key: &[u8]) -> Option<ActorId> {
    let of = u8::read(&mut key)?;
    let kind = Kind::ALL.into_iter().find(|kind| code(*kind) == of)?;
    Some(ActorId::new(kind, String::read(&mut key)?))
}

pub(crate) fn fault(error: StorageError) -> StoreError {
    match error {
        StorageError::Corrupted(cause) => StoreError::Corrupt(cause),
        other => StoreError::Unavailable(other.to_string()),
    }
}

/// At most `limit` pairs of a range, for spaces whose rows are visited in place.
pub(super) fn collect(
    rows: &impl Read,
    range: &Range,
    direction: Direction,
    limit: usize,
) -> Result<Vec<Pair>, StoreError> {
    let mut found = Vec::new();
    if limit > 0 {
        rows.visit(range, direction, limit, &mut |key, value| {
            found.push((key.to_vec(), value.to_vec()));
            Ok(found.len() < limit)
        })?;
    }
    Ok(found)
}

/// One actor's rows in a snapshot, or in the open write transaction.
pub struct Rows<'a, T> {
    table: &'a T,
    prefix: &'a [u8],
    /// The file that holds the rows, for [`Read::room`].
    file: Option<&'a Path>,
}

impl<'a, T: ReadableTable<&'static [u8], &'static [u8]>> Rows<'a, T> {
    pub fn new(table: &'a T, prefix: &'a [u8]) -> Self {
        Rows { table, prefix, file: None }
    }

    /// The same rows, with the file that holds them.
    pub fn of_file(self, file: &'a Path) -> Self {
        Rows { file: Some(file), ..self }
    }

    fn full(&self, key: &[u8]) -> Vec<u8> {
        let mut full = Vec::with_capacity(self.prefix.len() + key.len());
        full.extend_from_slice(self.prefix);
        full.extend_from_slice(key);
        full
    }
}

impl<T: ReadableTable<&'static [u8], &'static [u8]>> Read for Rows<'_, T> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.table.get(self.full(key).as_slice()).map_err(fault)?;
        Ok(found.map(|value| value.value().to_vec()))
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        collect(self, range, direction, limit)
    }

    /// Nothing is copied: the visited rows are in the page cache.
    fn visit(
        &self,
        range: &Range,
        direction: Direction,
        _page: usize,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        // redb panics on an inverted range.
        if range.is_empty() {
            return Ok(());
        }
        let start = self.full(&range.start);
        let end = match &range.end {
            Some(end) => Some(self.full(end)),
            None => Range::prefix(self.prefix).end,
        };
        let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Included(&start), upper);
        let mut rows = self.table.range::<&[u8]>(bounds).map_err(fault)?;
        while let Some(row) = match direction {
            Direction::Ascending => rows.next(),
            Direction::Descending => rows.next_back(),
        } {
            let (key, value) = row.map_err(fault)?;
            if !visit(key.value().get(self.prefix.len()..).unwrap_or_default(), value.value())? {
                break;
            }
        }
        Ok(())
    }

    fn room(&self) -> Option<Room> {
        self.file.and_then(super::room)
    }
}

type Table<'t> = redb::Table<'t, &'static [u8], &'static [u8]>;

/// From so many changes in a batch on, runs of new rows are looked for.
const LARGE: usize = 16;

/// A change of a row: its key, and its new value or `None` to remove it.
pub type RowChange<'c> = (&'c [u8], Option<&'c [u8]>);

/// Applies a batch to the rows of one actor inside a write transaction; `seen` gets every full key that changed.
pub fn apply(table: &mut Table<'_>, prefix: &[u8], batch: &Batch, seen: impl FnMut(&[u8])) -> Result<(), StorageError> {
    let changes = batch.iter().map(|(key, change)| match change {
        Change::Put(value) => (key.as_slice(), Some(value.as_slice())),
        Change::Delete => (key.as_slice(), None),
    });
    apply_changes(table, prefix, batch.len(), changes, seen)
}

/// Applies `count` changes in the order of their keys, as [`apply`] does.
///
/// Runs of new rows are inserted through a cursor, which fills pages completely. Inserted one by one in ascending
/// order, they would leave every page half empty, and before a row larger than a page each would get a page of its own.
pub fn apply_changes<'c>(
    table: &mut Table<'_>,
    prefix: &[u8],
    count: usize,
    changes: impl Iterator<Item = RowChange<'c>>,
    mut seen: impl FnMut(&[u8]),
) -> Result<(), StorageError> {
    let mut full = prefix.to_vec();
    let large = count >= LARGE;
    let mut changes = changes.peekable();
    while let Some((key, value)) = changes.next() {
        full.truncate(prefix.len());
        full.extend_from_slice(key);
        match value {
            Some(value) if large && is_new(table, &full)? => {
                insert_run(table, (&mut full, prefix.len()), value, &mut changes, &mut seen)?;
                continue;
            }
            Some(value) => drop(table.insert(full.as_slice(), value)?),
            None => drop(table.remove(full.as_slice())?),
        }
        seen(&full);
    }
    Ok(())
}

fn is_new(table: &Table<'_>, key: &[u8]) -> Result<bool, StorageError> {
    Ok(table.get(key)?.is_none())
}

/// Inserts a new row, and the following changes as long as they are new rows without an existing row between them.
fn insert_run<'c>(
    table: &mut Table<'_>,
    (full, prefix): (&mut Vec<u8>, usize),
    first: &[u8],
    changes: &mut Peekable<impl Iterator<Item = RowChange<'c>>>,
    seen: &mut impl FnMut(&[u8]),
) -> Result<(), StorageError> {
    let mut cursor = table.lower_bound_mut(Bound::Included(full.as_slice()))?;
    match cursor.insert_before(full.as_slice(), first) {
        Ok(()) => seen(full),
        Err(CursorError::Storage(error)) => return Err(error),
        Err(error) => return Err(StorageError::Corrupted(error.to_string())),
    }
    while let Some((key, Some(value))) = changes.peek() {
        full.truncate(prefix);
        full.extend_from_slice(key);
        match cursor.insert_before(full.as_slice(), value) {
            Ok(()) => seen(full),
            Err(CursorError::Storage(error)) => return Err(error),
            Err(_) => break,
        }
        changes.next();
    }
    cursor.close()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_leads_back_to_its_actor() {
        for kind in Kind::ALL {
            for name in ["KE", "a\0b", "main", "a/b"] {
                let actor = ActorId::new(kind, name);
                let key = [prefix(&actor).as_slice(), b"\x10key"].concat();
                assert_eq!(actor_of(&key), Some(actor));
            }
        }
        assert_eq!(actor_of(&[0, b'a', 0, 1]), None);
        assert_eq!(prefix(&ActorId::new(Kind::Country, "KE")), [4, b'K', b'E', 0, 1]);
    }

    const TABLE: redb::TableDefinition<'static, &[u8], &[u8]> = redb::TableDefinition::new("rows");

    #[test]
    fn a_large_batch_changes_what_its_changes_would_one_by_one() {
        let backend = redb::backends::InMemoryBackend::new();
        let database = redb::Database::builder().create_with_backend(backend).unwrap();
        let transaction = database.begin_write().unwrap();
        let mut table = transaction.open_table(TABLE).unwrap();
        let mut model = std::collections::BTreeMap::new();
        table.insert(b"another".as_slice(), b"row".as_slice()).unwrap();
        table.insert(b"pz".as_slice(), b"row".as_slice()).unwrap();
        // Runs of new rows between and before existing ones, interrupted by changed and deleted rows.
        let mut state = 7_u32;
        for round in 0..40_u8 {
            let mut batch = Batch::default();
            for _ in 0..200 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let key = (state >> 19).to_be_bytes().to_vec();
                if state.is_multiple_of(7) {
                    model.remove(&key);
                    batch.delete(key);
                } else {
                    let value = vec![round; (state >> 8) as usize % 300];
                    model.insert(key.clone(), value.clone());
                    batch.put(key, value);
                }
            }
            let expected: Vec<Vec<u8>> =
                batch.clone().into_iter().map(|(key, _)| [b"p".as_slice(), &key].concat()).collect();
            let mut seen = Vec::new();
            apply(&mut table, b"p", &batch, |key| seen.push(key.to_vec())).unwrap();
            assert_eq!(seen, expected);
            let rows = Rows::new(&table, b"p").scan(&Range::all(), Direction::Ascending, usize::MAX).unwrap();
            let known: Vec<Pair> = rows.into_iter().filter(|(key, _)| key != b"z").collect();
            assert_eq!(known, model.clone().into_iter().collect::<Vec<_>>());
        }
        assert_eq!(table.get(b"another".as_slice()).unwrap().unwrap().value(), b"row");
    }

    /// The rows of a growing table come before the one large row of another table, as in every country.
    #[test]
    fn rows_before_one_larger_than_a_page_fill_pages_too() {
        let backend = redb::backends::InMemoryBackend::new();
        let database = redb::Database::builder().create_with_backend(backend).unwrap();
        let transaction = database.begin_write().unwrap();
        let mut table = transaction.open_table(TABLE).unwrap();
        table.insert([b'p', 29].as_slice(), vec![7; 50_000].as_slice()).unwrap();
        for part in 0..50_u8 {
            let mut batch = Batch::default();
            (0..40_u8).for_each(|row| batch.put(vec![28, part, row], vec![1; 20]));
            apply(&mut table, b"p", &batch, |_| {}).unwrap();
        }
        // 2,000 rows of 24 bytes with their offsets.
        let small = redb::ReadableTableMetadata::stats(&table).unwrap().leaf_pages() - 1;
        assert!(small < 40, "{small} pages");
    }
}
