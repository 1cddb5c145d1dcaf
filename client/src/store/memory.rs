//! A store that ends with the program.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use zeroize::Zeroizing;

use super::Store;
use crate::Result;
use crate::platform::Work;

/// Keeps everything in memory: for tests, and for agents that live as long as their program.
#[derive(Default)]
pub struct MemoryStore(Mutex<BTreeMap<String, Zeroizing<Vec<u8>>>>);

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemoryStore(..)")
    }
}

impl Store for MemoryStore {
    fn read<'a>(&'a self, name: &'a str) -> Work<'a, Result<Option<Vec<u8>>>> {
        let values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let value = values.get(name).map(|value| value.to_vec());
        Box::pin(async move { Ok(value) })
    }

    fn write<'a>(&'a self, name: &'a str, value: &'a [u8]) -> Work<'a, Result<()>> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        values.insert(name.to_owned(), Zeroizing::new(value.to_vec()));
        Box::pin(async { Ok(()) })
    }

    fn remove<'a>(&'a self, name: &'a str) -> Work<'a, Result<()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        Box::pin(async { Ok(()) })
    }
}
