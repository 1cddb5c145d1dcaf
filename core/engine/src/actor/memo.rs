//! Answers that were computed lately: a query that costs much and is asked often keeps its answer under a key that names
//! all it depends on. A revision is a part of it, so nothing is ever invalidated, only forgotten.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::ActorId;
use crate::Result;
use crate::documents::kept::KeptDocuments;
use crate::generations::Generations;

/// Most bytes of keys and answers that are kept, where nobody says how many.
const MAX_BYTES: usize = 8 << 20;

/// Answers by key, bounded. One per runtime; on the edge one per object.
#[derive(Debug)]
pub struct Memo {
    /// Most bytes of keys and answers that are kept.
    most: usize,
    answers: Mutex<Generations<Vec<u8>, Bytes>>,
    lists: Mutex<HashMap<&'static str, List>>,
    shared: Mutex<HashMap<ActorId, Shared>>,
    documents: KeptDocuments,
}

/// What it depends on, and what it is.
type List = (Vec<u8>, Arc<dyn Any + Send + Sync>);

/// Of which revision, and what it is.
type Shared = (u64, Arc<dyn Any + Send + Sync>);

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
            answers: Mutex::new(Generations::of_bytes(most)),
            lists: Mutex::default(),
            shared: Mutex::default(),
            documents: KeptDocuments::default(),
        }
    }

    fn generations(&self) -> MutexGuard<'_, Generations<Vec<u8>, Bytes>> {
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
        self.generations().len()
    }

    /// The answer under a key.
    pub fn get(&self, key: &[u8]) -> Option<Bytes> {
        self.generations().get(key)
    }

    /// Keeps an answer. It must be a function of the key alone. It is shared, not copied, so it should not have room to
    /// grow, which nothing counts.
    pub fn put(&self, key: Vec<u8>, answer: Bytes) {
        let bytes = key.len() + answer.len();
        if bytes <= self.most / 16 {
            self.generations().keep(key, answer, bytes);
        }
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
    fn an_answer_that_would_fill_the_memory_is_not_kept() {
        let most = 1 << 20;
        let memo = Memo::of_bytes(most);
        memo.put(b"small".to_vec(), vec![7; 1_000].into());
        memo.put(b"large".to_vec(), vec![0; most / 16].into());
        assert!(memo.get(b"small").is_some() && memo.get(b"large").is_none());
    }
}
