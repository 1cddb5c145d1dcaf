//! One actor's rows as a key-value backend, for the conformance functions of the core.

use std::sync::Arc;

use heliograph_core::engine::actor::ActorId;
use heliograph_core::engine::kv::{Batch, Direction, Pair, Range, Read, Store as Seam, StoreError};
use heliograph_core::{Error, ErrorCode};

use super::{ROWS, Store, apply, prefix};

/// The key space of one actor; each batch is committed durably by itself. The server never writes this way: its writer
/// puts many batches into one commit.
pub struct ActorSpace {
    store: Arc<Store>,
    actor: ActorId,
}

impl ActorSpace {
    pub fn new(store: Arc<Store>, actor: ActorId) -> Self {
        ActorSpace { store, actor }
    }

    fn read<T>(&self, body: impl FnOnce(&dyn Read) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.store.read_actor(&self.actor, |rows| Ok(body(rows)?)).map_err(back)
    }
}

fn back(error: Error) -> StoreError {
    let error = error.into_details();
    let cause = error.cause.unwrap_or_else(|| error.message.into_owned());
    match error.code {
        ErrorCode::Unavailable => StoreError::Unavailable(cause),
        _ => StoreError::Corrupt(cause),
    }
}

fn unavailable(error: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(error.to_string())
}

impl Read for ActorSpace {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(|rows| rows.get(key))
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        self.read(|rows| rows.scan(range, direction, limit))
    }
}

impl Seam for ActorSpace {
    fn apply(&mut self, batch: Batch) -> Result<(), StoreError> {
        let transaction = self.store.begin_write().map_err(|fault| back(fault.into()))?;
        {
            let mut table = transaction.open_table(ROWS).map_err(unavailable)?;
            apply(&mut table, &prefix(&self.actor), &batch, |_| {}).map_err(unavailable)?;
        }
        transaction.commit().map_err(unavailable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Options;
    use heliograph_core::engine::actor::Kind;
    use heliograph_core::engine::kv::conformance;
    use heliograph_core::ledger::model::{Model, walk_seeds};

    #[test]
    fn redb_rows_of_one_actor_conform() {
        let folder = crate::testing::folder("conformance");
        let mut number = 0;
        conformance::run(|| {
            number += 1;
            let store = Arc::new(Store::open(Options::new(folder.path().join(format!("{number}.redb")))).unwrap());
            // Actors whose names are prefixes or successors of the tested name must never show.
            for name in ["a", "a\0", "ab", "a\u{1}", "b"] {
                let mut neighbour = ActorSpace::new(store.clone(), ActorId::new(Kind::Agent, name));
                let mut batch = Batch::default();
                for key in [&b""[..], b"\0", b"a", b"\xff\xff"] {
                    batch.put(key.to_vec(), b"neighbour".to_vec());
                }
                neighbour.apply(batch).unwrap();
            }
            ActorSpace::new(store, ActorId::new(Kind::Agent, "aa"))
        });
    }

    /// The random walk of the ledger on a file that is closed and opened again at every crash.
    #[test]
    fn money_is_conserved_in_a_file_that_is_reopened_at_every_crash() {
        let folder = crate::testing::folder("ledger");
        walk_seeds(0..2, 1_500, Model::ALL, |seed| {
            let path = folder.path().join(format!("{seed}.redb"));
            let open = move || {
                let store = Arc::new(Store::open(Options::new(path.clone())).unwrap());
                ActorSpace::new(store, ActorId::sole(Kind::Ledger))
            };
            Model::new(seed, open(), move |space| {
                drop(space);
                open()
            })
        });
    }
}
