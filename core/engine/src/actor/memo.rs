//! Answers that were computed lately: a query that costs much and is asked often keeps its answer under a key that names
//! all it depends on. A revision is a part of it, so nothing is ever invalidated, only forgotten.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::ActorId;
use crate::Result;
use crate::documents::kept::KeptDocuments;

/// Most bytes of keys and answers that are kept, where nobody says how many.
const MAX_BYTES: usize = 8 << 20;

/// Answers by key, bounded. One per runtime; on the edge one per object.
#[derive(Debug)]
pub struct Memo {
    /// Most bytes of keys and answers that are kept.
    most: usize,
    answers: Mutex<Generations>,
    lists: Mutex<HashMap<&'static str, List>>,
    shared: Mutex<HashMap<ActorId, Shared>>,
    documents: KeptDocuments,
}

/// What it depends on, and what it is.
type List = (Vec<u8>, Arc<dyn Any + Send + Sync>);

/// Of which revision, and what it is.
type Shared = (u64, Arc<dyn Any + Send + Sync>);

/// What was asked for since the last turn, and before. What is not asked for in a whole generation is forgotten.
#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Vec<u8>, Bytes>,
    old: HashMap<Vec<u8>, Bytes>,
    /// Of the young ones.
    bytes: usize,
}

impl Default for Memo {
    fn default() -> Self {
        Memo::of_bytes(MAX_BYTES)
    }
}

impl Memo {
    /// One that keeps at most so many bytes of keys and answers.
    pub fn of_bytes(most: usize) -> Self {
        Memo {
            most,
            answers: Mutex::default(),
            lists: Mutex::default(),
            shared: Mutex::default(),
            documents: KeptDocuments::default(),
        }
    }

    fn generations(&self) -> MutexGuard<'_, Generations> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Documents rendered for readers.
    pub fn documents(&self) -> &KeptDocuments {
        &self.documents
    }

    /// What is made of many rows and asked in many ways, in the form that answers need: one value per name, that of the last
    /// key. It must be a function of the key alone. Whoever comes while it is made waits for it: many would make the same.
    pub fn list<T: Any + Send + Sync>(
        &self,
        name: &'static str,
        key: Vec<u8>,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, list)) = lists.get(name)
            && *known == key
            && let Ok(list) = list.clone().downcast::<T>()
        {
            return Ok(list);
        }
        let list = Arc::new(make()?);
        lists.insert(name, (key, list.clone()));
        Ok(list)
    }

    /// What questions to an actor find out about rows of this revision and leave for the next ones: empty at first. One value
    /// per actor, that of the last revision that was asked for.
    pub fn shared<T: Any + Send + Sync + Default>(&self, actor: &ActorId, revision: u64) -> Arc<T> {
        let mut all = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, value)) = all.get(actor)
            && *known == revision
            && let Ok(value) = value.clone().downcast::<T>()
        {
            return value;
        }
        let value = Arc::new(T::default());
        all.insert(actor.clone(), (revision, value.clone()));
        value
    }

    /// How many answers are kept.
    #[cfg(any(test, feature = "conformance"))]
    pub fn answers(&self) -> usize {
        let generations = self.generations();
        generations.young.len() + generations.old.len()
    }

    /// The answer under a key.
    pub fn get(&self, key: &[u8]) -> Option<Bytes> {
        let mut generations = self.generations();
        if let Some(answer) = generations.young.get(key) {
            return Some(answer.clone());
        }
        let (key, answer) = generations.old.remove_entry(key)?;
        generations.add(key, answer.clone(), self.most);
        Some(answer)
    }

    /// Keeps an answer. It must be a function of the key alone. It is shared, not copied, so it should not have room to
    /// grow, which nothing counts.
    pub fn put(&self, key: Vec<u8>, answer: Bytes) {
        if key.len() + answer.len() <= self.most / 16 {
            self.generations().add(key, answer, self.most);
        }
    }
}

impl Generations {
    fn add(&mut self, key: Vec<u8>, answer: Bytes, most: usize) {
        let bytes = key.len() + answer.len();
        if self.bytes + bytes > most / 2 {
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
    fn a_list_is_made_once_for_each_key_and_a_failure_keeps_nothing() {
        let memo = Memo::default();
        let made = std::cell::Cell::new(0);
        let get = |key: u8| {
            let list = memo.list("list", vec![key], || {
                made.set(made.get() + 1);
                Ok(u32::from(key) * 2)
            });
            *list.unwrap()
        };
        assert_eq!([get(1), get(1), get(2), get(2), get(1)], [2, 2, 4, 4, 2]);
        assert_eq!(made.get(), 3, "the last key is kept");
        assert!(memo.list::<u32>("list", vec![7], || Err(crate::Error::internal("no"))).is_err());
        assert_eq!((get(1), made.get()), (2, 3));
    }

    #[test]
    fn memory_is_bounded_and_what_is_asked_for_stays() {
        let most = 1 << 20;
        let memo = Memo::of_bytes(most);
        memo.put(b"kept".to_vec(), vec![7; 1_000].into());
        for n in 0..2_000_u32 {
            memo.put(n.to_be_bytes().to_vec(), vec![0; 2_000].into());
            assert!(memo.get(b"kept").is_some(), "{n}");
        }
        let generations = memo.generations();
        let bytes = |all: &HashMap<Vec<u8>, Bytes>| all.iter().map(|(k, v)| k.len() + v.len()).sum::<usize>();
        assert!(bytes(&generations.young) + bytes(&generations.old) <= most);
        drop(generations);
        assert!(memo.get(&0_u32.to_be_bytes()).is_none());
        memo.put(b"large".to_vec(), vec![0; most / 16].into());
        assert!(memo.get(b"large").is_none());
    }
}
