//! A key space in memory, for tests and the simulator.

use std::collections::BTreeMap;

use super::{Batch, Change, Direction, Pair, Range, Read, Room, Store, StoreError};

/// An ordered map behind the storage seam. Nothing survives the process.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    pairs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Of all keys and values.
    bytes: u64,
}

fn bytes(key: &[u8], value: &[u8]) -> u64 {
    (key.len() + value.len()) as u64
}

impl MemoryStore {
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}

impl Read for MemoryStore {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.pairs.get(key).cloned())
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let upper = range.end.as_deref().map_or(Unbounded, Excluded);
        let pairs = self.pairs.range::<[u8], _>((Included(range.start.as_slice()), upper));
        let copy = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
        Ok(match direction {
            Direction::Ascending => pairs.take(limit).map(copy).collect(),
            Direction::Descending => pairs.rev().take(limit).map(copy).collect(),
        })
    }

    fn room(&self) -> Option<Room> {
        Some(Room { used: self.bytes, free: None })
    }
}

impl Store for MemoryStore {
    fn apply(&mut self, batch: Batch) -> Result<(), StoreError> {
        for (key, change) in batch {
            if let Some(before) = self.pairs.remove(&key) {
                self.bytes -= bytes(&key, &before);
            }
            if let Change::Put(value) = change {
                self.bytes += bytes(&key, &value);
                self.pairs.insert(key, value);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_store_conforms() {
        super::super::conformance::run(MemoryStore::default);
    }

    #[test]
    fn its_bytes_are_those_of_what_it_holds() {
        let mut store = MemoryStore::default();
        let mut batch = Batch::default();
        batch.put(vec![1, 2], vec![3; 10]);
        batch.put(vec![1], vec![3; 5]);
        store.apply(batch).unwrap();
        let mut batch = Batch::default();
        batch.put(vec![1, 2], vec![3; 4]);
        batch.delete(vec![1]);
        batch.delete(vec![9]);
        store.apply(batch).unwrap();
        assert_eq!(store.room(), Some(Room { used: 6, free: None }));
    }
}
