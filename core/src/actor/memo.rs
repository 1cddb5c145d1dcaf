//! Answers that were computed lately: a query that costs much and is asked often keeps its answer under a key that names
//! all it depends on. A revision is a part of it, so nothing is ever invalidated, only forgotten.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most bytes of keys and answers that are kept.
const MAX_BYTES: usize = 8 << 20;

/// Answers by key, bounded. One per runtime; on the edge one per object.
#[derive(Debug, Default)]
pub struct Memo(Mutex<Generations>);

/// What was asked for since the last turn, and before. What is not asked for in a whole generation is forgotten.
#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Vec<u8>, Arc<[u8]>>,
    old: HashMap<Vec<u8>, Arc<[u8]>>,
    /// Of the young ones.
    bytes: usize,
}

impl Memo {
    fn generations(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer under a key.
    pub fn get(&self, key: &[u8]) -> Option<Arc<[u8]>> {
        let mut generations = self.generations();
        if let Some(answer) = generations.young.get(key) {
            return Some(answer.clone());
        }
        let (key, answer) = generations.old.remove_entry(key)?;
        generations.add(key, answer.clone());
        Some(answer)
    }

    /// Keeps an answer. It must be a function of the key alone.
    pub fn put(&self, key: Vec<u8>, answer: Vec<u8>) {
        if key.len() + answer.len() <= MAX_BYTES / 16 {
            self.generations().add(key, answer.into());
        }
    }
}

impl Generations {
    fn add(&mut self, key: Vec<u8>, answer: Arc<[u8]>) {
        let bytes = key.len() + answer.len();
        if self.bytes + bytes > MAX_BYTES / 2 {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.young.insert(key, answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_what_is_asked_for_stays() {
        let memo = Memo::default();
        memo.put(b"kept".to_vec(), vec![7; 1_000]);
        for n in 0..20_000_u32 {
            memo.put(n.to_be_bytes().to_vec(), vec![0; 2_000]);
            assert!(memo.get(b"kept").is_some(), "{n}");
        }
        let generations = memo.generations();
        let bytes = |all: &HashMap<Vec<u8>, Arc<[u8]>>| all.iter().map(|(k, v)| k.len() + v.len()).sum::<usize>();
        assert!(bytes(&generations.young) + bytes(&generations.old) <= MAX_BYTES);
        drop(generations);
        assert!(memo.get(&0_u32.to_be_bytes()).is_none());
        memo.put(b"large".to_vec(), vec![0; MAX_BYTES]);
        assert!(memo.get(b"large").is_none());
    }
}
