//! A store that fails on purpose, around any real one.

use super::{Batch, Direction, Pair, Range, Read, Store, StoreError};

/// When a batch fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum When {
    /// The batch with this number, counted from 0.
    Nth(u64),
    /// Every batch that touches a key with this prefix.
    Prefix(Vec<u8>),
}

/// What becomes of a batch that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteFault {
    /// Nothing is written.
    Lost,
    /// Everything is written, but the caller is told it failed.
    Unacknowledged,
}

impl WriteFault {
    /// Lets the batch fail in this way.
    pub fn apply(self, store: &mut (impl Store + ?Sized), batch: Batch) -> Result<(), StoreError> {
        if self == WriteFault::Unacknowledged {
            store.apply(batch)?;
        }
        Err(StoreError::Unavailable("planned failure".into()))
    }
}

/// `inner`, with planned failures of `apply`.
#[derive(Debug, Clone)]
pub struct FaultyStore<S> {
    pub inner: S,
    plan: Option<(When, WriteFault)>,
    batches: u64,
}

impl<S> FaultyStore<S> {
    pub fn new(inner: S) -> Self {
        FaultyStore { inner, plan: None, batches: 0 }
    }

    pub fn fail(&mut self, when: When, fault: WriteFault) {
        self.plan = Some((when, fault));
    }

    /// From now on nothing fails.
    pub fn heal(&mut self) {
        self.plan = None;
    }

    /// Batches seen so far.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    fn fault(&self, batch: &Batch) -> Option<WriteFault> {
        let (when, fault) = self.plan.as_ref()?;
        let hit = match when {
            When::Nth(n) => self.batches == *n,
            When::Prefix(prefix) => batch.iter().any(|(key, _)| key.starts_with(prefix)),
        };
        hit.then_some(*fault)
    }
}

impl<S: Read> Read for FaultyStore<S> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.get(key)
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        self.inner.scan(range, direction, limit)
    }
}

impl<S: Store> Store for FaultyStore<S> {
    fn apply(&mut self, batch: Batch) -> Result<(), StoreError> {
        let fault = self.fault(&batch);
        self.batches += 1;
        match fault {
            None => self.inner.apply(batch),
            Some(fault) => fault.apply(&mut self.inner, batch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::MemoryStore;
    use super::*;

    fn one(key: &[u8]) -> Batch {
        let mut batch = Batch::default();
        batch.put(key.to_vec(), vec![1]);
        batch
    }

    #[test]
    fn a_lost_batch_leaves_nothing_and_an_unacknowledged_one_everything() {
        let mut store = FaultyStore::new(MemoryStore::default());
        store.fail(When::Nth(1), WriteFault::Lost);
        store.apply(one(b"a")).unwrap();
        assert!(store.apply(one(b"b")).is_err());
        assert_eq!(store.get(b"b"), Ok(None));
        store.fail(When::Prefix(b"x".to_vec()), WriteFault::Unacknowledged);
        store.apply(one(b"c")).unwrap();
        assert!(store.apply(one(b"xy")).is_err());
        assert_eq!(store.get(b"xy"), Ok(Some(vec![1])));
        store.heal();
        store.apply(one(b"xz")).unwrap();
    }
}
