//! Counts that wait in memory until they are written (decision counts-in-memory).
//!
//! What was counted between two writes is a [`Batch`] with a number, and the row that it is added to keeps the number of
//! the last one. So a reader neither misses nor doubles a batch that is written at that moment. A batch that is written
//! again, since nobody knows whether it was written, counts once.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// A row's number of the batch that was added to it last.
pub type BatchNumber = u64;

/// What was counted between two writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch<S> {
    /// Random, so that no two processes have the same; 0 while nobody has asked for it.
    number: BatchNumber,
    pub sum: S,
}

impl<S> Batch<S> {
    fn numbered(&mut self, random: [u8; 32]) -> BatchNumber {
        if self.number == 0 {
            let [a, b, c, d, e, f, g, h, ..] = random;
            self.number = BatchNumber::from_le_bytes([a, b, c, d, e, f, g, h]).max(1);
        }
        self.number
    }

    /// Makes this the last batch of a row, and says whether its sum is still to be added.
    pub fn is_new_to(&self, last: &mut BatchNumber) -> bool {
        std::mem::replace(last, self.number) != self.number
    }
}

/// The counts of one key.
#[derive(Debug, Default)]
struct Batches<S> {
    growing: Option<Batch<S>>,
    /// Being written, or not known to be written.
    sent: Option<Batch<S>>,
}

impl<S: Clone> Batches<S> {
    fn pending(&mut self, random: impl FnOnce() -> [u8; 32]) -> Pending<S> {
        if let Some(growing) = &mut self.growing {
            growing.numbered(random());
        }
        Pending([self.sent.clone(), self.growing.clone()])
    }
}

/// The counts of one key that may be in no row yet. Take them before the row is read.
#[derive(Debug)]
pub struct Pending<S>([Option<Batch<S>>; 2]);

impl<S> Pending<S> {
    /// The sums that are not in a row whose last batch is `last`.
    pub fn beside(&self, last: BatchNumber) -> impl Iterator<Item = &S> {
        self.0.iter().flatten().filter(move |batch| batch.number != last).map(|batch| &batch.sum)
    }
}

/// The counts of this process that are not written yet, by key.
#[derive(Debug)]
pub struct Unwritten<K, S>(Mutex<HashMap<K, Batches<S>>>);

impl<K, S> Default for Unwritten<K, S> {
    fn default() -> Unwritten<K, S> {
        Unwritten(Mutex::default())
    }
}

impl<K: Hash + Eq + Clone, S: Default + Clone> Unwritten<K, S> {
    fn all(&self) -> MutexGuard<'_, HashMap<K, Batches<S>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the growing sum of a key. A new key beyond `most` is not counted.
    pub fn change<Q>(&self, key: &Q, most: usize, change: impl FnOnce(&mut S))
    where
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        K: std::borrow::Borrow<Q>,
    {
        let mut all = self.all();
        if !all.contains_key(key) {
            if all.len() >= most {
                return;
            }
            all.insert(key.to_owned(), Batches { growing: None, sent: None });
        }
        if let Some(batches) = all.get_mut(key) {
            change(&mut batches.growing.get_or_insert_default().sum);
        }
    }

    /// Whether something of the key is not written yet.
    pub fn has<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: std::borrow::Borrow<Q>,
    {
        self.all().contains_key(key)
    }

    /// What may be in no row yet. `random` numbers a batch that has no number.
    pub fn pending<Q: Hash + Eq + ?Sized>(&self, key: &Q, random: impl FnOnce() -> [u8; 32]) -> Pending<S>
    where
        K: std::borrow::Borrow<Q>,
    {
        self.all().get_mut(key).map_or(Pending([None, None]), |batches| batches.pending(random))
    }

    /// The same of every key.
    pub fn all_pending(&self, random: impl Fn() -> [u8; 32]) -> HashMap<K, Pending<S>> {
        self.all().iter_mut().map(|(key, batches)| (key.clone(), batches.pending(&random))).collect()
    }

    /// The batches to write now. One that was sent before and is not known to be written comes first, as it was.
    pub fn send(&self, random: impl Fn() -> [u8; 32]) -> Vec<(K, Batch<S>)> {
        let mut all = self.all();
        let sent = all.iter_mut().filter_map(|(key, batches)| {
            if batches.sent.is_none() {
                batches.sent = batches.growing.take();
            }
            let sent = batches.sent.as_mut()?;
            sent.numbered(random());
            Some((key.clone(), sent.clone()))
        });
        sent.collect()
    }

    /// Forgets a batch that is written.
    pub fn written<Q: Hash + Eq + ?Sized>(&self, key: &Q, batch: &Batch<S>)
    where
        K: std::borrow::Borrow<Q>,
    {
        let mut all = self.all();
        if let Some(batches) = all.get_mut(key)
            && batches.sent.as_ref().is_some_and(|sent| sent.number == batch.number)
        {
            batches.sent = None;
            if batches.growing.is_none() {
                all.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A row, and what a reader sees who took the pending counts before.
    #[derive(Default)]
    struct Stored {
        sum: u64,
        last: BatchNumber,
    }

    impl Stored {
        fn take(&mut self, batch: &Batch<u64>) {
            if batch.is_new_to(&mut self.last) {
                self.sum += batch.sum;
            }
        }

        fn seen_with(&self, pending: &Pending<u64>) -> u64 {
            self.sum + pending.beside(self.last).sum::<u64>()
        }
    }

    struct World {
        unwritten: Unwritten<String, u64>,
        stored: Stored,
        numbers: Cell<u8>,
    }

    impl World {
        fn new() -> World {
            World { unwritten: Unwritten::default(), stored: Stored::default(), numbers: Cell::new(0) }
        }

        fn random(&self) -> [u8; 32] {
            self.numbers.set(self.numbers.get() + 1);
            [self.numbers.get(); 32]
        }

        fn count(&self) {
            self.unwritten.change("ada", 10, |sum| *sum += 1);
        }

        fn pending(&self) -> Pending<u64> {
            self.unwritten.pending("ada", || self.random())
        }

        fn send(&self) -> Batch<u64> {
            self.unwritten.send(|| self.random()).pop().unwrap().1
        }
    }

    #[test]
    fn a_reader_sees_each_count_once_at_every_moment_of_a_write() {
        let mut world = World::new();
        world.count();
        let before = world.pending();
        assert_eq!(world.stored.seen_with(&before), 1, "nothing is written");
        let batch = world.send();
        let sent = world.pending();
        assert_eq!((world.stored.seen_with(&before), world.stored.seen_with(&sent)), (1, 1), "on its way");
        world.count();
        let more = world.pending();
        assert_eq!(world.stored.seen_with(&more), 2, "counted while the first is on its way");
        world.stored.take(&batch);
        assert_eq!((world.stored.seen_with(&before), world.stored.seen_with(&sent)), (1, 1), "in the row");
        assert_eq!(world.stored.seen_with(&more), 2);
        world.unwritten.written("ada", &batch);
        assert_eq!((world.stored.seen_with(&more), world.stored.seen_with(&world.pending())), (2, 2), "known");
        let next = world.send();
        world.stored.take(&next);
        world.unwritten.written("ada", &next);
        assert_eq!((world.stored.seen_with(&world.pending()), world.unwritten.has("ada")), (2, false));
    }

    #[test]
    fn a_batch_whose_write_is_unknown_is_sent_again_as_it_was_and_counts_once() {
        let mut world = World::new();
        world.count();
        let lost = world.send();
        world.stored.take(&lost);
        world.count();
        let again = world.send();
        assert_eq!(again, lost);
        world.stored.take(&again);
        world.unwritten.written("ada", &again);
        let rest = world.send();
        world.stored.take(&rest);
        assert_eq!((world.stored.sum, rest.sum), (2, 1));
    }

    #[test]
    fn keys_beyond_the_bound_are_not_counted() {
        let world = World::new();
        world.unwritten.change("bob", 1, |sum| *sum += 1);
        world.unwritten.change("eve", 1, |sum| *sum += 1);
        world.unwritten.change("bob", 1, |sum| *sum += 1);
        assert_eq!(
            world
                .unwritten
                .send(|| world.random())
                .into_iter()
                .map(|(key, batch)| (key, batch.sum))
                .collect::<Vec<_>>(),
            [("bob".to_owned(), 2)]
        );
    }
}
