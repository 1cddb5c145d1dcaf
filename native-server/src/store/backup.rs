//! Makes a consistent copy of a file in use, without holding a snapshot for long (decision bounded-commits).
//!
//! The copy reads the rows in short snapshots, one after the other, while the writer notes every key that it changes.
//! Then the noted keys are copied again, until few are left. The last ones, and the small tables, are copied from one
//! snapshot taken between two commits. The copy is then exactly that snapshot.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use heliograph_core::{Error, Result};
use redb::{Database, Durability, ReadTransaction, ReadableDatabase, ReadableTable, WriteTransaction};
use tokio::runtime::Handle;

use super::{DOCUMENTS, DUE, Fault, ROWS, SNAPSHOT_LIMIT, Store, TIMERS, WRITE_CHECK, open, refused};
use crate::log;
use crate::writer::Writer;

/// How long the copy holds one snapshot, and how many rows it copies from it.
const SLICE: Duration = Duration::from_millis(200);
const SLICE_ROWS: usize = 1_000;
/// Most rounds over changed keys before the last one.
const ROUNDS: usize = 8;
/// With at most so many changed keys, the last round can copy them.
const FEW: usize = 2_000;
/// Memory for pages of the copy, in bytes.
pub(super) const CACHE: usize = 16 << 20;

pub(crate) type Keys = BTreeSet<Vec<u8>>;

/// Keys of rows that changed while a backup runs.
#[derive(Default)]
pub struct Changed(Mutex<Option<Keys>>);

/// A snapshot between two commits, and the keys changed since the last one.
pub struct Frozen {
    pub snapshot: ReadTransaction,
    pub keys: Keys,
}

impl Changed {
    fn lock(&self) -> MutexGuard<'_, Option<Keys>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_recording(&self) -> bool {
        self.lock().is_some()
    }

    pub(crate) fn record(&self, changed: Vec<Vec<u8>>) {
        if let Some(keys) = self.lock().as_mut() {
            keys.extend(changed);
        }
    }

    /// Takes the keys that were noted. The writer calls this between two commits.
    pub(crate) fn take(&self) -> Keys {
        self.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn start(&self) -> Result<Recording<'_>> {
        let mut keys = self.lock();
        if keys.is_some() {
            return Err(Error::conflict("Another backup is running."));
        }
        *keys = Some(Keys::new());
        Ok(Recording(self))
    }
}

impl Store {
    /// A snapshot with the keys that changed since the last one; `whole` says whether the tree has everything.
    pub(crate) fn freeze(&self, whole: bool, keys: Keys) -> Result<Frozen> {
        self.settled(whole)?;
        let guard = self.lock();
        let opened = guard.as_ref().ok_or_else(|| self.condition.refusal())?;
        let snapshot = opened.database.begin_read().map_err(|error| self.refused(error))?;
        Ok(Frozen { snapshot, keys })
    }

    /// An error if the tree does not have everything.
    pub(crate) fn settled(&self, whole: bool) -> Result<()> {
        match (whole, self.condition.failing()) {
            (true, _) => Ok(()),
            (false, Some(_)) => Err(self.condition.refusal()),
            (false, None) => Err(Error::damaged("rows that the tree does not take")),
        }
    }
}

/// Ends the recording when dropped.
struct Recording<'a>(&'a Changed);

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

/// Copies the whole data file to `target`, which must not exist. Blocks, and waits for the writer through `runtime`:
/// call it on a thread for blocking work.
pub fn backup(store: &Store, writer: &Writer, runtime: &Handle, target: &Path) -> Result<()> {
    let _recording = writer.changed().start()?;
    // This commit and every later one note what they change.
    drop(runtime.block_on(writer.freeze())?);
    if target.exists() {
        return Err(Error::internal(format!("{} exists already", target.display())));
    }
    let copy = open::new_file(target, CACHE).map_err(|reason| {
        log::error!("cannot write {}: {reason}", target.display());
        Error::storage(&format!("the copy cannot be written ({reason})"))
    })?;
    copy_rows(store, &copy)?;
    for _ in 0..ROUNDS {
        let frozen = runtime.block_on(writer.freeze())?;
        if frozen.keys.len() <= FEW {
            return finish(&frozen, &copy);
        }
        drop(frozen.snapshot);
        copy_keys(store, &copy, frozen.keys)?;
    }
    finish(&runtime.block_on(writer.freeze())?, &copy)
}

/// The copy could not be written; the reason is the system's.
fn unwritable(error: impl Into<redb::Error>) -> Error {
    let fault = Fault::of(error);
    Error::storage(&format!("the copy cannot be written ({})", fault.reason()))
}

fn begin(copy: &Database, durability: Durability) -> Result<WriteTransaction> {
    let mut transaction = copy.begin_write().map_err(unwritable)?;
    transaction.set_durability(durability).map_err(unwritable)?;
    Ok(transaction)
}

/// Copies all rows in slices.
pub(super) fn copy_rows(store: &Store, copy: &Database) -> Result<()> {
    let mut after: Option<Vec<u8>> = None;
    loop {
        let transaction = begin(copy, Durability::None)?;
        let last = store.read(|snapshot| {
            let until = Instant::now() + SLICE;
            let from = snapshot.open_table(ROWS).map_err(refused)?;
            let mut to = transaction.open_table(ROWS).map_err(unwritable)?;
            let start = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            for (number, row) in from.range::<&[u8]>((start, Bound::Unbounded)).map_err(refused)?.enumerate() {
                let (key, value) = row.map_err(refused)?;
                to.insert(key.value(), value.value()).map_err(unwritable)?;
                if number + 1 >= SLICE_ROWS || Instant::now() >= until {
                    return Ok(Some(key.value().to_vec()));
                }
            }
            Ok(None)
        })?;
        transaction.commit().map_err(unwritable)?;
        match last {
            Some(last) => after = Some(last),
            None => return Ok(()),
        }
    }
}

/// Copies the present state of these rows in slices.
fn copy_keys(store: &Store, copy: &Database, keys: Keys) -> Result<()> {
    let mut keys = keys.into_iter().peekable();
    while keys.peek().is_some() {
        let transaction = begin(copy, Durability::None)?;
        store.read(|snapshot| {
            let until = Instant::now() + SLICE;
            copy_some(snapshot, &transaction, &mut keys, Some(until))
        })?;
        transaction.commit().map_err(unwritable)?;
    }
    Ok(())
}

fn copy_some(
    snapshot: &ReadTransaction,
    transaction: &WriteTransaction,
    keys: &mut dyn Iterator<Item = Vec<u8>>,
    until: Option<Instant>,
) -> Result<()> {
    let from = snapshot.open_table(ROWS).map_err(refused)?;
    let mut to = transaction.open_table(ROWS).map_err(unwritable)?;
    for key in keys {
        match from.get(key.as_slice()).map_err(refused)? {
            Some(value) => drop(to.insert(key.as_slice(), value.value()).map_err(unwritable)?),
            None => drop(to.remove(key.as_slice()).map_err(unwritable)?),
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
    }
    Ok(())
}

/// Copies the last changed rows and the small tables from one snapshot, and makes the copy durable.
pub(super) fn finish(frozen: &Frozen, copy: &Database) -> Result<()> {
    let started = Instant::now();
    let transaction = begin(copy, Durability::Immediate)?;
    copy_some(&frozen.snapshot, &transaction, &mut frozen.keys.iter().cloned(), None)?;
    macro_rules! copy_table {
        ($($table:ident),+) => {$({
            let from = frozen.snapshot.open_table($table).map_err(refused)?;
            let mut to = transaction.open_table($table).map_err(unwritable)?;
            for row in from.iter().map_err(refused)? {
                let (key, value) = row.map_err(refused)?;
                to.insert(key.value(), value.value()).map_err(unwritable)?;
            }
        })+};
    }
    copy_table!(TIMERS, DUE, DOCUMENTS, WRITE_CHECK);
    let held = started.elapsed();
    if held > SNAPSHOT_LIMIT {
        log::warning!("the last snapshot of the backup was held for {} ms", held.as_millis());
    }
    transaction.commit().map_err(unwritable)
}
