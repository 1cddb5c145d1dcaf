//! Values that were asked for lately, in bounded memory.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// Values by key: those that were asked for since the last turn, and those of the turn before. What is not asked for in a
/// whole generation is forgotten.
#[derive(Debug)]
pub struct Generations<K, V> {
    young: HashMap<K, Entry<V>>,
    old: HashMap<K, Entry<V>>,
    /// Of the young ones.
    bytes: usize,
    /// Most bytes of both generations.
    most: usize,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    bytes: usize,
}

impl<K: Hash + Eq, V: Clone> Generations<K, V> {
    /// At most `most` bytes, by what [`Generations::keep`] is told.
    pub fn of_bytes(most: usize) -> Self {
        Generations { young: HashMap::new(), old: HashMap::new(), bytes: 0, most }
    }

    pub fn get<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        if let Some(entry) = self.young.get(key) {
            return Some(entry.value.clone());
        }
        let (key, entry) = self.old.remove_entry(key)?;
        let value = entry.value.clone();
        self.keep(key, entry.value, entry.bytes);
        Some(value)
    }

    /// Keeps a value that takes so many bytes together with its key, in place of an earlier one.
    pub fn keep(&mut self, key: K, value: V, bytes: usize) {
        if self.bytes + bytes > self.most / 2 {
            (self.old, self.bytes) = (std::mem::take(&mut self.young), 0);
        }
        self.bytes += bytes;
        self.old.remove(&key);
        if let Some(before) = self.young.insert(key, Entry { value, bytes }) {
            self.bytes -= before.bytes;
        }
    }

    /// Changes a value in place if it is kept.
    pub fn update<Q: Hash + Eq + ?Sized>(&mut self, key: &Q, value: V)
    where
        K: Borrow<Q>,
    {
        if let Some(entry) = self.young.get_mut(key).or_else(|| self.old.get_mut(key)) {
            entry.value = value;
        }
    }

    pub fn forget<Q: Hash + Eq + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        let gone = self.young.remove(key).map_or(0, |entry| entry.bytes);
        self.bytes -= gone;
        self.old.remove(key);
    }

    /// Bytes of all that is kept.
    pub fn bytes(&self) -> usize {
        self.bytes + self.old.values().map(|entry| entry.bytes).sum::<usize>()
    }

    /// Number of values that are kept.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_what_is_asked_for_stays() {
        let most = 1 << 16;
        let mut kept = Generations::of_bytes(most);
        kept.keep(b"asked for".to_vec(), 7, 100);
        for n in 0..2_000_u32 {
            kept.keep(n.to_be_bytes().to_vec(), n, 200);
            // Of some there are many.
            kept.keep((n % 7).to_be_bytes().to_vec(), n, 100);
            assert_eq!(kept.get(b"asked for".as_slice()), Some(7), "{n}");
            assert_eq!(kept.bytes, kept.young.values().map(|entry| entry.bytes).sum::<usize>());
            assert!(kept.bytes() <= most, "{}", kept.bytes());
        }
        assert!(kept.len() > 100, "{}", kept.len());
        assert_eq!(kept.get(1_000_u32.to_be_bytes().as_slice()), None);
    }

    #[test]
    fn a_value_that_changed_or_was_forgotten_is_not_found_as_it_was() {
        let mut kept = Generations::of_bytes(100);
        kept.keep(vec![1], 1, 40);
        kept.keep(vec![2], 2, 40);
        assert!(kept.young.len() == 1 && kept.old.len() == 1);
        kept.update([1].as_slice(), 10);
        kept.update([2].as_slice(), 20);
        kept.update([3].as_slice(), 30);
        assert_eq!([1, 2, 3].map(|key| kept.get([key].as_slice())), [Some(10), Some(20), None]);
        kept.forget([1].as_slice());
        assert_eq!((kept.get([1].as_slice()), kept.len()), (None, 1));
    }
}
