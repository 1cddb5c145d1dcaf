//! Values that were asked for lately, in bounded memory.

use std::collections::HashMap;

/// Values by key: those that were asked for since the last turn, and those of the turn before. What is not asked for in a
/// whole generation is forgotten.
#[derive(Debug)]
pub struct Generations<V> {
    young: HashMap<Vec<u8>, Entry<V>>,
    old: HashMap<Vec<u8>, Entry<V>>,
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

impl<V: Clone> Generations<V> {
    /// At most `most` bytes, by what [`Generations::keep`] is told.
    pub fn of_bytes(most: usize) -> Self {
        Generations { young: HashMap::new(), old: HashMap::new(), bytes: 0, most }
    }

    pub fn get(&mut self, key: &[u8]) -> Option<V> {
        if let Some(entry) = self.young.get(key) {
            return Some(entry.value.clone());
        }
        let (key, entry) = self.old.remove_entry(key)?;
        let value = entry.value.clone();
        self.keep(key, entry.value, entry.bytes);
        Some(value)
    }

    /// Keeps a value that takes so many bytes together with its key.
    pub fn keep(&mut self, key: Vec<u8>, value: V, bytes: usize) {
        if self.bytes + bytes > self.most / 2 {
            (self.old, self.bytes) = (std::mem::take(&mut self.young), 0);
        }
        self.bytes += bytes;
        self.young.insert(key, Entry { value, bytes });
    }

    /// Changes a value in place if it is kept.
    pub fn update(&mut self, key: &[u8], value: V) {
        if let Some(entry) = self.young.get_mut(key).or_else(|| self.old.get_mut(key)) {
            entry.value = value;
        }
    }

    pub fn forget(&mut self, key: &[u8]) {
        self.young.remove(key);
        self.old.remove(key);
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
            assert_eq!(kept.get(b"asked for"), Some(7), "{n}");
        }
        let bytes: usize = kept.young.values().chain(kept.old.values()).map(|entry| entry.bytes).sum();
        assert!(bytes <= most && kept.len() > 100, "{bytes} {}", kept.len());
        assert_eq!(kept.get(&0_u32.to_be_bytes()), None);
    }

    #[test]
    fn a_value_that_changed_or_was_forgotten_is_not_found_as_it_was() {
        let mut kept = Generations::of_bytes(100);
        kept.keep(vec![1], 1, 40);
        kept.keep(vec![2], 2, 40);
        assert!(kept.young.len() == 1 && kept.old.len() == 1);
        kept.update(&[1], 10);
        kept.update(&[2], 20);
        kept.update(&[3], 30);
        assert_eq!([1, 2, 3].map(|key| kept.get(&[key])), [Some(10), Some(20), None]);
        kept.forget(&[1]);
        assert_eq!((kept.get(&[1]), kept.len()), (None, 1));
    }
}
