//! The unit of writing.

use std::collections::BTreeMap;

/// What happens to one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Put(Vec<u8>),
    Delete,
}

/// Changes applied together; at most one per key, in key order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    changes: BTreeMap<Vec<u8>, Change>,
}

impl Batch {
    pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.changes.insert(key, Change::Put(value));
    }

    pub fn delete(&mut self, key: Vec<u8>) {
        self.changes.insert(key, Change::Delete);
    }

    pub fn get(&self, key: &[u8]) -> Option<&Change> {
        self.changes.get(key)
    }

    /// Adds changes made later.
    pub fn extend(&mut self, later: Batch) {
        match self.changes.is_empty() {
            true => *self = later,
            false => self.changes.extend(later.changes),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Bytes of all keys and values.
    pub fn bytes(&self) -> usize {
        self.changes
            .iter()
            .map(|(key, change)| {
                key.len()
                    + match change {
                        Change::Put(value) => value.len(),
                        Change::Delete => 0,
                    }
            })
            .sum()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Vec<u8>, &Change)> {
        self.changes.iter()
    }

    pub(super) fn range(
        &self,
        start: &[u8],
        end: Option<&[u8]>,
    ) -> impl DoubleEndedIterator<Item = (&Vec<u8>, &Change)> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let upper = end.map_or(Unbounded, Excluded);
        self.changes.range::<[u8], _>((Included(start), upper))
    }
}

impl IntoIterator for Batch {
    type Item = (Vec<u8>, Change);
    type IntoIter = std::collections::btree_map::IntoIter<Vec<u8>, Change>;

    fn into_iter(self) -> Self::IntoIter {
        self.changes.into_iter()
    }
}
