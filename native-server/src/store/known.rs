//! Rows of a snapshot of the tree that were looked up lately, also in vain, and tables that are empty.
//!
//! A send looks up some twenty rows, most of them in vain: whether the recipient blocks anybody, has pins, takes part in
//! something. They are the same ones with every message, and a look-up in the tree costs ten times as much as one in
//! memory. A snapshot never changes, so what was read from it stays right; after a fold the next snapshot begins with
//! what is known of this one and was not folded.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use heliograph_core::engine::generations::Generations;
use heliograph_core::engine::kv::{Direction, Pair, Range, Read, Room, StoreError, Visit};

use super::recent::Generation;
use super::rows::collect;

/// Parts with a lock each.
const PARTS: usize = 16;
/// Rows larger than this are not kept: small rows are those that are read again and again.
const LARGEST: usize = 4_096;
/// Memory that a row takes beside its key and value, in bytes. An estimate.
const ROW: usize = 96;

/// The value of a row; `None` if there is no such row.
type Value = Option<Box<[u8]>>;

/// Rows by their full keys.
#[derive(Debug)]
pub struct KnownRows {
    parts: [Mutex<Part>; PARTS],
    /// Most bytes of a part.
    most: usize,
}

#[derive(Debug)]
struct Part {
    rows: Generations<Vec<u8>, Value>,
    /// Spaces, each with the number of a table that is empty.
    empty: HashSet<Vec<u8>>,
}

/// Most empty tables of a part.
const EMPTY: usize = 1_024;

impl Part {
    fn of_bytes(most: usize) -> Part {
        Part { rows: Generations::of_bytes(most), empty: HashSet::new() }
    }

    fn keep(&mut self, key: Vec<u8>, value: Value) {
        let bytes = ROW + key.len() + value.as_ref().map_or(0, |value| value.len());
        self.rows.keep(key, value, bytes);
    }

    /// Takes over a row that changed, if it is known.
    fn update(&mut self, key: &[u8], value: Option<&[u8]>) {
        match value {
            Some(value) if value.len() > LARGEST => self.rows.forget(key),
            value => self.rows.update(key, value.map(Box::from)),
        }
    }
}

impl KnownRows {
    /// At most `bytes` of rows.
    pub fn new(bytes: usize) -> Self {
        let most = bytes / PARTS;
        KnownRows { parts: std::array::from_fn(|_| Mutex::new(Part::of_bytes(most))), most }
    }

    fn part(&self, key: &[u8]) -> MutexGuard<'_, Part> {
        let at = key.iter().fold(0, |sum: usize, byte| sum ^ usize::from(*byte)) % PARTS;
        // PANIC: the remainder is below the number of parts.
        #[allow(clippy::indexing_slicing)]
        let part = &self.parts[at];
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known after a fold of `folded`. Nothing is known of the snapshot before it any more.
    pub fn after(&self, folded: &Generation) -> KnownRows {
        let take = |part: &Mutex<Part>| {
            let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *part, Part::of_bytes(self.most))
        };
        let next = KnownRows { parts: self.parts.each_ref().map(|part| Mutex::new(take(part))), most: self.most };
        for (space, changes) in folded.spaces() {
            changes.newest(|_, newest| {
                for (key, value) in newest {
                    let full = [&space, key].concat();
                    next.part(&full).update(&full, value);
                    if let Some(table) = full.get(..=space.len()).filter(|_| value.is_some()) {
                        next.part(table).empty.remove(table);
                    }
                }
            });
        }
        next
    }
}

/// The rows of an actor in a snapshot, looked up among the known ones first.
pub struct Remembered<'a, R> {
    pub rows: R,
    /// What stands before the keys of the actor.
    pub space: &'a [u8],
    pub known: &'a KnownRows,
}

impl<R: Read> Remembered<'_, R> {
    /// The space with the number of a table, if the range is all of that table.
    fn whole_table(&self, range: &Range) -> Option<Vec<u8>> {
        let [table] = *range.start else { return None };
        let whole = range.end.as_deref() == Some(&[table.checked_add(1)?]);
        whole.then(|| [self.space, &[table]].concat())
    }
}

impl<R: Read> Read for Remembered<'_, R> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let full = [self.space, key].concat();
        if let Some(value) = self.known.part(&full).rows.get(full.as_slice()) {
            return Ok(value.map(Vec::from));
        }
        let found = self.rows.get(key)?;
        if found.as_ref().is_none_or(|value| value.len() <= LARGEST) {
            self.known.part(&full).keep(full, found.as_deref().map(Box::from));
        }
        Ok(found)
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        collect(self, range, direction, limit)
    }

    fn visit(&self, range: &Range, direction: Direction, page: usize, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        let Some(table) = self.whole_table(range) else { return self.rows.visit(range, direction, page, visit) };
        if self.known.part(&table).empty.contains(&table) {
            return Ok(());
        }
        let mut found = false;
        self.rows.visit(range, direction, page, &mut |key, value| {
            found = true;
            visit(key, value)
        })?;
        if !found {
            let mut part = self.known.part(&table);
            if part.empty.len() >= EMPTY {
                part.empty.clear();
            }
            part.empty.insert(table);
        }
        Ok(())
    }

    fn room(&self) -> Option<Room> {
        self.rows.room()
    }
}

#[cfg(test)]
mod tests {
    use super::super::recent::ChangedRows;
    use super::*;
    use heliograph_core::engine::kv::{Batch, MemoryStore, Store as _};
    use heliograph_core::engine::testing::Dice;

    /// Random look-ups between random folds, with rows of all sizes and so many that most are forgotten.
    #[test]
    fn known_rows_are_those_of_the_snapshot() {
        let (mut known, mut store) = (KnownRows::new(1 << 20), MemoryStore::default());
        let (mut dice, space) = (Dice(7), b"space".to_vec());
        let mut hits = 0;
        for _ in 0..600 {
            let mut batch = Batch::default();
            for _ in 0..dice.below(30) {
                let key = dice.below(3_000).to_be_bytes().to_vec();
                match dice.below(4) {
                    0 => batch.delete(key),
                    1 => batch.put(key, vec![dice.below(256) as u8; LARGEST + 1]),
                    _ => batch.put(key, vec![dice.below(256) as u8; dice.below(500) as usize]),
                }
            }
            let folded = Generation::default();
            folded.add(1, ChangedRows::from([(space.clone(), batch.clone())]));
            known = known.after(&folded);
            store.apply(batch).unwrap();
            let rows = Remembered { rows: &store, space: &space, known: &known };
            for _ in 0..100 {
                // Some keys are asked for again and again.
                let key = if dice.below(2) == 0 { dice.below(40) } else { dice.below(3_000) }.to_be_bytes();
                let full = [space.as_slice(), &key].concat();
                hits += usize::from(known.part(&full).rows.get(full.as_slice()).is_some());
                assert_eq!(rows.get(&key).unwrap(), store.get(&key).unwrap());
            }
        }
        let kept: usize = known.parts.iter().map(|part| part.lock().unwrap().rows.len()).sum();
        assert!(hits > 20_000 && kept < 3_000, "{hits} {kept}");
    }

    #[test]
    fn a_table_that_gets_a_row_is_not_taken_for_empty() {
        let (mut store, space) = (MemoryStore::default(), b"space".to_vec());
        let mut known = KnownRows::new(1 << 20);
        let tables = |known: &KnownRows, store: &MemoryStore| -> Vec<usize> {
            let rows = Remembered { rows: store, space: &space, known };
            let count = |table| rows.scan(&Range::prefix(&[table]), Direction::Ascending, 9).unwrap().len();
            [7, 8, 255].map(count).to_vec()
        };
        assert_eq!(tables(&known, &store), [0, 0, 0]);
        for (key, value, expected) in
            [(vec![8, 1], Some(vec![1]), [0, 1, 0]), (vec![8, 1], None, [0, 0, 0]), (vec![7], Some(vec![2]), [1, 0, 0])]
        {
            let mut batch = Batch::default();
            match value {
                Some(value) => batch.put(key, value),
                None => batch.delete(key),
            }
            let folded = Generation::default();
            folded.add(1, ChangedRows::from([(space.clone(), batch.clone())]));
            known = known.after(&folded);
            store.apply(batch).unwrap();
            // The second look is answered from what the first one found.
            assert_eq!([tables(&known, &store), tables(&known, &store)], [expected, expected]);
        }
        let empty: usize = known.parts.iter().map(|part| part.lock().unwrap().empty.len()).sum();
        assert_eq!(empty, 1, "255 has no number after it");
    }
}
