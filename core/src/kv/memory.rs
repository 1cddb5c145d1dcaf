//! A key space in memory, for tests and the simulator.

use std::collections::BTreeMap;

use super::{Batch, Change, Direction, Pair, Range, Read, Store, StoreError};

/// An ordered map behind the storage seam. Nothing survives the process.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    pairs: BTreeMap<Vec<u8>, Vec<u8>>,
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
}

impl Store for MemoryStore {
    fn apply(&mut self, batch: Batch) -> Result<(), StoreError> {
        for (key, change) in batch {
            match change {
                Change::Put(value) => {
                    self.pairs.insert(key, value);
                }
                Change::Delete => {
                    self.pairs.remove(&key);
                }
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
}
