//! The scenarios of the simulation on the journal and the data file, on a disk that loses its power at every crash.
//!
//! The thread that folds the journal runs in its own time, so a seed does not say when it was interrupted.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use common::JOURNAL;
use common::disk::{Disk, FOUND};
use heliograph::store::{Front, Options, Store, prefix};
use heliograph::testing::{Folder, folder};
use heliograph_core::engine::actor::ActorId;
use heliograph_core::engine::kv::{Batch, Direction, Pair, Range, Read, Store as Seam, StoreError, Visit};
use heliograph_tests::simulation::{Dice, Rows, Storage, for_seeds, ledger, messages};

const SEEDS: u64 = 25;

/// An open data file with its journal.
struct Opened {
    store: Arc<Store>,
    /// `None` at the end alone.
    front: Mutex<Option<Front>>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.front.get_mut().unwrap().take().into_iter().for_each(Front::end);
    }
}

impl Opened {
    fn open(path: PathBuf, disk: &Arc<Disk>) -> Arc<Opened> {
        let options = Options {
            cache_bytes: 1 << 20,
            journal: Some(JOURNAL),
            wrap: Some(Disk::wrap(disk)),
            ..Options::new(path)
        };
        let store = Arc::new(Store::open(options).unwrap());
        let front = Front::open(store.clone(), JOURNAL).unwrap();
        Arc::new(Opened { store, front: Mutex::new(Some(front)) })
    }
}

/// The rows of one actor.
struct Space {
    opened: Arc<Opened>,
    actor: ActorId,
}

impl Space {
    fn look<T>(&self, body: impl FnOnce(&dyn Read) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let view = self.opened.store.view().map_err(|error| StoreError::Unavailable(error.to_string()))?;
        view.actor(&self.actor, self.opened.store.path(), None, body)
    }
}

impl Read for Space {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.look(|rows| rows.get(key))
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        self.look(|rows| rows.scan(range, direction, limit))
    }

    fn visit(&self, range: &Range, direction: Direction, page: usize, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        self.look(|rows| rows.visit(range, direction, page, visit))
    }
}

impl Seam for Space {
    fn apply(&mut self, batch: Batch) -> Result<(), StoreError> {
        let changed = [(prefix(&self.actor), batch)].into_iter().collect();
        let committed = self.opened.front.lock().unwrap().as_mut().map(|front| front.commit(changed));
        committed.unwrap().map_err(|fault| StoreError::Unavailable(format!("{fault:?}")))
    }
}

/// A data file with its journal on a disk that loses its power.
struct Journaled {
    folder: Folder,
    disk: Arc<Disk>,
    opened: Arc<Opened>,
    dice: Dice,
}

impl Journaled {
    fn boxed(seed: u64) -> Box<dyn Storage> {
        let (folder, disk) = (folder("simulation"), Arc::new(Disk::default()));
        let opened = Opened::open(folder.file("d.redb"), &disk);
        Box::new(Journaled { folder, disk, opened, dice: Dice::new(seed) })
    }
}

impl Storage for Journaled {
    fn begin(&self, actor: &ActorId) -> Rows {
        Box::new(Space { opened: self.opened.clone(), actor: actor.clone() })
    }

    fn crash(&mut self, rows: BTreeMap<ActorId, Rows>) -> BTreeMap<ActorId, Rows> {
        let actors: Vec<ActorId> = rows.into_keys().collect();
        self.disk.dies();
        let found = folder("simulation");
        self.disk.copy(self.folder.path(), found.path(), FOUND[self.dice.index(FOUND.len())]);
        let disk = Arc::new(Disk::default());
        self.opened = Opened::open(found.file("d.redb"), &disk);
        (self.folder, self.disk) = (found, disk);
        actors.into_iter().map(|actor| (actor.clone(), self.begin(&actor))).collect()
    }
}

#[test]
fn no_acknowledged_message_is_lost_doubled_or_reordered_when_the_power_goes() {
    messages::enough(&for_seeds(SEEDS, |seed| messages::run(Journaled::boxed(seed), seed)));
}

#[test]
fn no_credit_is_lost_or_made_when_the_power_goes() {
    ledger::enough(&for_seeds(SEEDS, |seed| ledger::run(Journaled::boxed(seed), seed)));
}
