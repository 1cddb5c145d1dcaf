//! One redb file: the rows of every actor, the timers table and the published documents.
//!
//! | Table | Key | Value |
//! |---|---|---|
//! | `rows` | actor's kind, name, end mark, key | the actor's value |
//! | `timers` | due time, actor id | nothing; the first row is the earliest work of the whole deployment |
//! | `due` | actor id | due time, to find the row of `timers` |
//! | `documents` | document key | the document in postcard encoding |
//! | `probe` | nothing | time of the last write probe |
//!
//! The database can be closed and opened again while it is in use (decision reopen-after-failure). Every read borrows
//! it for one synchronous call; between closing and opening the read fails.
//!
//! | Module | What |
//! |---|---|
//! | `backup` | a consistent copy of a file in use |
//! | `condition` | whether the file accepts writes, and errors of the engine |
//! | [`fault`] | injects faults for tests |
//! | `open` | opens the data file |
//! | `overlay` | a view of the file that writes nothing to it |
//! | `pages` | the file under the engine, with a checksum for every block |
//! | `rows` | the rows of one actor in the table of all rows |
//! | `scrub` | compares the whole file with its checksums |
//! | `space` | one actor's rows as a key-value backend |

mod backup;
mod condition;
#[cfg(test)]
#[cfg(unix)]
mod damaged;
pub mod fault;
mod open;
mod overlay;
mod pages;
mod rows;
mod scrub;
mod space;

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use heliograph_core::engine::actor::{ActorId, Kind};
use heliograph_core::engine::documents::Document;
use heliograph_core::engine::kv::{Range, Room};
use heliograph_core::{Error, ErrorCode, Result, Timestamp, engine::actor};
use redb::backends::FileBackend;
use redb::{ReadTransaction, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition, WriteTransaction};

pub use backup::{Changed, Frozen, backup};
pub(crate) use condition::refused;
pub use condition::{Condition, Fault};
pub use open::OpenError;
use open::Opened;
pub use rows::{Rows, actor_of, apply, code, prefix};
#[doc(hidden)]
pub use scrub::pages_in_use;
pub use scrub::{convert, scrub};
pub use space::ActorSpace;

pub(crate) const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");
pub(crate) const TIMERS: TableDefinition<(i64, &str), ()> = TableDefinition::new("timers");
pub(crate) const DUE: TableDefinition<&str, i64> = TableDefinition::new("due");
pub(crate) const DOCUMENTS: TableDefinition<&str, &[u8]> = TableDefinition::new("documents");
pub(crate) const PROBE: TableDefinition<(), i64> = TableDefinition::new("probe");

/// Longest that one read may hold its snapshot; redb cannot reuse pages that a snapshot needs (decision
/// bounded-commits).
pub const SNAPSHOT_LIMIT: Duration = Duration::from_secs(1);

/// Puts a layer between redb and the file; tests inject faults there.
pub type WrapBackend = Box<dyn Fn(FileBackend) -> Box<dyn StorageBackend> + Send + Sync>;

/// How to open the file, and open it again after a fault.
pub struct Options {
    pub path: PathBuf,
    /// Memory for pages, in bytes.
    pub cache_bytes: usize,
    /// Fail when the file does not exist.
    pub must_exist: bool,
    /// No server uses the file: one command is the only work, and nobody waits beside it. Imports then get longer
    /// commits, and the work that follows from them is done when no import is waiting.
    pub alone: bool,
    /// Only read: the file is opened for reading, and what is written stays in memory.
    pub looking: bool,
    pub wrap: Option<WrapBackend>,
}

impl Options {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Options {
            path: path.into(),
            cache_bytes: 64 << 20,
            must_exist: false,
            alone: false,
            looking: false,
            wrap: None,
        }
    }
}

/// The open file. One writer begins transactions; any number of readers take snapshots.
pub struct Store {
    options: Options,
    /// `None` while the file is closed after a fault. Readers hold the lock for one synchronous call.
    opened: RwLock<Option<Opened>>,
    condition: Condition,
}

impl Store {
    pub fn open(options: Options) -> Result<Self, OpenError> {
        let opened = open::open(&options)?;
        Ok(Store { options, opened: RwLock::new(Some(opened)), condition: Condition::default() })
    }

    pub fn path(&self) -> &Path {
        &self.options.path
    }

    /// Whether the file accepts writes.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    fn lock(&self) -> RwLockReadGuard<'_, Option<Opened>> {
        self.opened.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `body` on a snapshot that contains everything committed before.
    pub fn read<T>(&self, body: impl FnOnce(&ReadTransaction) -> Result<T>) -> Result<T> {
        let guard = self.lock();
        let opened = guard.as_ref().ok_or_else(|| self.condition.refusal())?;
        let snapshot = opened.database.begin_read().map_err(|error| self.refused(error))?;
        body(&snapshot)
    }

    /// Like [`refused`], with the present reason when the engine has forgotten its own.
    fn refused(&self, error: impl Into<redb::Error>) -> Error {
        match Fault::of(error) {
            Fault::Earlier => self.condition.refusal(),
            fault => fault.into(),
        }
    }

    /// Runs `body` on the rows of one actor.
    pub fn read_actor<T>(&self, actor: &ActorId, body: impl FnOnce(&Rows<'_, Table>) -> Result<T>) -> Result<T> {
        self.read(|snapshot| {
            let table = snapshot.open_table(ROWS).map_err(refused)?;
            let prefix = prefix(actor);
            body(&Rows::new(&table, &prefix).of_file(self.path()))
        })
    }

    pub fn is_open(&self) -> bool {
        self.lock().is_some()
    }

    /// True if the file was not closed cleanly before it was opened.
    pub fn was_unclean(&self) -> bool {
        self.lock().as_ref().is_some_and(|opened| opened.unclean)
    }

    /// Number of pages that are known to be damaged.
    pub fn damaged_pages(&self) -> u64 {
        self.lock().as_ref().map_or(0, |opened| opened.pages.damaged())
    }

    /// Whether old pages may still have no checksum, and when all pages were last compared with theirs.
    pub fn checksums(&self) -> (bool, Option<Timestamp>) {
        let guard = self.lock();
        let Some(opened) = guard.as_ref() else { return (false, None) };
        let scrubbed = Some(opened.pages.scrubbed()).filter(|at| *at != 0).map(Timestamp);
        (opened.pages.is_converting(), scrubbed)
    }

    /// Begins the one write transaction; only the writer thread calls this.
    pub(crate) fn begin_write(&self) -> Result<WriteTransaction, Fault> {
        let guard = self.lock();
        guard.as_ref().ok_or(Fault::Earlier)?.database.begin_write().map_err(Fault::of)
    }

    /// Closes the file: waits for reads in progress, and refuses later ones until [`Store::reopen`].
    pub(crate) fn close(&self) {
        let mut guard = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        *guard = None;
    }

    /// Opens the file again after [`Store::close`].
    pub(crate) fn reopen(&self) -> Result<(), OpenError> {
        let opened = open::open(&self.options)?;
        *self.opened.write().unwrap_or_else(PoisonError::into_inner) = Some(opened);
        Ok(())
    }

    /// Every stored document that can be read, for the snapshot in memory. A request for another document reads it from
    /// its owner's rows.
    pub fn documents(&self) -> Result<Vec<Document>> {
        self.read(|snapshot| {
            let mut found = Vec::new();
            match documents(snapshot, &mut found) {
                Err(error) if error.code == ErrorCode::Damaged => {
                    eprintln!("error: some documents are damaged: {error}")
                }
                done => done?,
            }
            Ok(found)
        })
    }

    /// The earliest work of any actor.
    pub fn earliest(&self) -> Result<Option<Timestamp>> {
        self.read(|snapshot| {
            let table = snapshot.open_table(TIMERS).map_err(refused)?;
            let first = table.first().map_err(refused)?;
            Ok(first.map(|(key, _)| Timestamp(key.value().0)))
        })
    }

    /// The engine's own check of the whole file; nothing else may use the file meanwhile. `Ok(false)`: something was
    /// wrong and is repaired.
    pub fn check(self) -> Result<bool, String> {
        let opened = self.opened.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut database = opened.ok_or("closed")?.database;
        database.check_integrity().map_err(|error| Fault::of(error).reason().to_owned())
    }
}

fn documents(snapshot: &ReadTransaction, found: &mut Vec<Document>) -> Result<()> {
    let table = snapshot.open_table(DOCUMENTS).map_err(refused)?;
    for row in table.range::<&str>(..).map_err(refused)? {
        let (_, value) = row.map_err(refused)?;
        found.push(actor::decode(value.value())?);
    }
    Ok(())
}

/// Actors of these kinds, kind after kind in the order of their names, at most `limit`. Of the first kind only actors
/// after `after` are listed, if `after` is of that kind.
pub fn actors_of(
    store: &Store,
    kinds: impl Iterator<Item = Kind>,
    after: Option<&ActorId>,
    limit: usize,
) -> Result<Vec<ActorId>> {
    let beyond = |actor: &ActorId| Range::prefix(&prefix(actor)).end;
    store.read(|snapshot| {
        let table = snapshot.open_table(ROWS).map_err(refused)?;
        let mut found = Vec::new();
        for kind in kinds {
            let first = || Some(vec![code(kind)]);
            let mut start = after.filter(|after| after.kind == kind).map_or_else(first, beyond);
            while let Some(from) = start.take().filter(|_| found.len() < limit) {
                let mut rows = table.range::<&[u8]>(from.as_slice()..).map_err(refused)?;
                let Some(row) = rows.next() else { break };
                let (key, _) = row.map_err(refused)?;
                let actor = actor_of(key.value()).ok_or_else(|| Error::internal("a row of no actor"))?;
                if actor.kind != kind {
                    break;
                }
                start = beyond(&actor);
                found.push(actor);
            }
        }
        Ok(found)
    })
}

/// The space that a file takes of its disk, and the free space there. Free space inside the file counts as taken,
/// because the disk does not get it back.
fn room(file: &Path) -> Option<Room> {
    let metadata = std::fs::metadata(file).ok()?;
    Some(Room { used: on_disk(&metadata), free: free(file) })
}

/// The file grows in large steps before they are written, so its length is more than it takes.
#[cfg(unix)]
fn on_disk(metadata: &std::fs::Metadata) -> u64 {
    metadata.len().min(std::os::unix::fs::MetadataExt::blocks(metadata).saturating_mul(512))
}

#[cfg(not(unix))]
fn on_disk(metadata: &std::fs::Metadata) -> u64 {
    metadata.len()
}

#[cfg(unix)]
fn free(file: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(file).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free(_file: &Path) -> Option<u64> {
    None
}

/// The `rows` table in a snapshot.
pub type Table = redb::ReadOnlyTable<&'static [u8], &'static [u8]>;
