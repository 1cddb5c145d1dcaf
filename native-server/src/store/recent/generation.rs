//! What the commits since a moment changed, by space.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use heliograph_core::engine::kv::Batch;

use super::super::rows::RowChange;
use super::changes::Changes;

/// The rows that a commit changed, by space.
pub type ChangedRows = BTreeMap<Vec<u8>, Batch>;

/// A changed row: space, key, and value or `None` for a removed one.
pub type ChangedRow = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

/// Changed rows by space. A space is what stands before the keys of an actor, or of a table of the whole file.
#[derive(Debug, Default)]
pub struct Generation {
    spaces: RwLock<HashMap<Box<[u8]>, Arc<Changes>>>,
    bytes: AtomicUsize,
}

impl Generation {
    /// The changed rows of a space.
    pub fn space(&self, space: &[u8]) -> Option<Arc<Changes>> {
        self.spaces.read().unwrap_or_else(PoisonError::into_inner).get(space).cloned()
    }

    /// Adds a commit. Commits come in the order of their numbers.
    pub fn add(&self, commit: u64, changed: ChangedRows) {
        let mut bytes = 0;
        for (space, batch) in changed {
            let known = self.space(&space);
            let changes = known.unwrap_or_else(|| {
                let mut spaces = self.spaces.write().unwrap_or_else(PoisonError::into_inner);
                bytes += 2 * space.len();
                spaces.entry(space.into()).or_default().clone()
            });
            bytes += changes.add(commit, batch);
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Memory that the rows take, in bytes; an estimate.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// Every changed row with its space, key and newest value.
    pub fn rows(&self) -> Vec<ChangedRow> {
        let mut rows = Vec::new();
        for (space, changes) in self.spaces() {
            let owned = |(key, value): RowChange<'_>| (space.to_vec(), key.to_vec(), value.map(<[u8]>::to_vec));
            changes.newest(|_, newest| rows.extend(newest.map(owned)));
        }
        rows
    }

    /// All spaces in their order.
    pub fn spaces(&self) -> BTreeMap<Box<[u8]>, Arc<Changes>> {
        let spaces = self.spaces.read().unwrap_or_else(PoisonError::into_inner);
        spaces.iter().map(|(space, changes)| (space.clone(), changes.clone())).collect()
    }
}
