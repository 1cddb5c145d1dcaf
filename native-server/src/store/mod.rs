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
//! The database can be closed and opened again underneath its users (ruling foundation-relay 9): every read borrows it
//! for the time of one synchronous call and finds it absent in between.

mod backup;
pub mod fault;
mod rows;
mod space;

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use heliograph_core::actor::{ActorId, Kind};
use heliograph_core::documents::Document;
use heliograph_core::kv::{Range, Room};
use heliograph_core::{Error, Result, Timestamp, actor};
use redb::backends::FileBackend;
use redb::{
    Database, DatabaseError, ReadTransaction, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition,
    TableError, WriteTransaction,
};

pub use backup::{Changed, Frozen, backup};
pub use rows::{Rows, actor_of, apply, code, prefix};
pub use space::ActorSpace;

pub(crate) const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");
pub(crate) const TIMERS: TableDefinition<(i64, &str), ()> = TableDefinition::new("timers");
pub(crate) const DUE: TableDefinition<&str, i64> = TableDefinition::new("due");
pub(crate) const DOCUMENTS: TableDefinition<&str, &[u8]> = TableDefinition::new("documents");
pub(crate) const PROBE: TableDefinition<(), i64> = TableDefinition::new("probe");

/// Longest that one read may hold its snapshot; redb cannot reuse pages that a snapshot needs (ruling
/// foundation-relay 19).
pub const SNAPSHOT_LIMIT: Duration = Duration::from_secs(1);

/// Puts something between redb and the file; tests inject faults there.
pub type WrapBackend = Box<dyn Fn(FileBackend) -> Box<dyn StorageBackend> + Send + Sync>;

/// How to open the file, and open it again after a fault.
pub struct Options {
    pub path: PathBuf,
    /// Memory for pages, in bytes.
    pub cache_bytes: usize,
    /// Fail when there is no file yet.
    pub must_exist: bool,
    /// No server: the only work is that of one command, and nobody waits beside it. Imports then get longer commits, and
    /// what they lead to is computed when nothing more of them is waiting.
    pub alone: bool,
    pub wrap: Option<WrapBackend>,
}

impl Options {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Options { path: path.into(), cache_bytes: 64 << 20, must_exist: false, alone: false, wrap: None }
    }
}

/// Why the file could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// Another process has it open.
    InUse(PathBuf),
    Missing(PathBuf),
    Failed(PathBuf, String),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OpenError::InUse(path) => write!(
                f,
                "{} is in use by another process, probably a running server; ask that server instead: the same \
                 command with --to http://<its address> and --admin-key (or HELIOGRAPH_ADMIN_KEY)",
                path.display()
            ),
            OpenError::Missing(path) => write!(f, "there is no data file {}", path.display()),
            OpenError::Failed(path, cause) => write!(f, "cannot open {}: {cause}", path.display()),
        }
    }
}

impl std::error::Error for OpenError {}

/// The open file. One writer begins transactions; any number of readers take snapshots.
pub struct Store {
    options: Options,
    /// `None` while the file is closed after a fault. Readers hold the lock for one synchronous call.
    database: RwLock<Option<Database>>,
}

impl Store {
    pub fn open(options: Options) -> Result<Self, OpenError> {
        let database = open_database(&options)?;
        Ok(Store { options, database: RwLock::new(Some(database)) })
    }

    pub fn path(&self) -> &Path {
        &self.options.path
    }

    /// Runs `body` on a snapshot that contains everything committed before.
    pub fn read<T>(&self, body: impl FnOnce(&ReadTransaction) -> Result<T>) -> Result<T> {
        let guard = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let database = guard.as_ref().ok_or_else(closed)?;
        let snapshot = database.begin_read().map_err(Error::unavailable)?;
        body(&snapshot)
    }

    /// Runs `body` on the rows of one actor.
    pub fn read_actor<T>(&self, actor: &ActorId, body: impl FnOnce(&Rows<'_, Table>) -> Result<T>) -> Result<T> {
        self.read(|snapshot| {
            let table = snapshot.open_table(ROWS).map_err(Error::unavailable)?;
            let prefix = prefix(actor);
            body(&Rows::new(&table, &prefix).of_file(self.path()))
        })
    }

    pub fn is_open(&self) -> bool {
        self.database.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Begins the one write transaction; only the writer thread calls this.
    pub(crate) fn begin_write(&self) -> Result<WriteTransaction> {
        let guard = self.database.read().unwrap_or_else(PoisonError::into_inner);
        guard.as_ref().ok_or_else(closed)?.begin_write().map_err(Error::unavailable)
    }

    /// Closes the file: waits for reads under way, and refuses later ones until [`Store::reopen`].
    pub(crate) fn close(&self) {
        let mut guard = self.database.write().unwrap_or_else(PoisonError::into_inner);
        *guard = None;
    }

    /// Opens the file again after [`Store::close`].
    pub(crate) fn reopen(&self) -> Result<(), OpenError> {
        let database = open_database(&self.options)?;
        *self.database.write().unwrap_or_else(PoisonError::into_inner) = Some(database);
        Ok(())
    }

    /// Every stored document, for the snapshot in memory.
    pub fn documents(&self) -> Result<Vec<Document>> {
        self.read(|snapshot| {
            let table = snapshot.open_table(DOCUMENTS).map_err(Error::unavailable)?;
            let mut found = Vec::new();
            for row in table.range::<&str>(..).map_err(Error::unavailable)? {
                let (_, value) = row.map_err(Error::unavailable)?;
                found.push(actor::decode(value.value())?);
            }
            Ok(found)
        })
    }

    /// The earliest work of any actor.
    pub fn earliest(&self) -> Result<Option<Timestamp>> {
        self.read(|snapshot| {
            let table = snapshot.open_table(TIMERS).map_err(Error::unavailable)?;
            let first = table.first().map_err(Error::unavailable)?;
            Ok(first.map(|(key, _)| Timestamp(key.value().0)))
        })
    }

    /// Checks every page's checksum; needs the file for itself. `Ok(false)`: it was damaged and has been repaired.
    pub fn check(self) -> Result<bool, String> {
        let database = self.database.into_inner().unwrap_or_else(PoisonError::into_inner);
        database.ok_or("closed")?.check_integrity().map_err(|error| error.to_string())
    }
}

/// Actors of these kinds, one kind after the other in the order of their names, from the first kind's one after `after` on
/// when that is of it; at most `limit`.
pub fn actors_of(
    store: &Store,
    kinds: impl Iterator<Item = Kind>,
    after: Option<&ActorId>,
    limit: usize,
) -> Result<Vec<ActorId>> {
    let beyond = |actor: &ActorId| Range::prefix(&prefix(actor)).end;
    store.read(|snapshot| {
        let table = snapshot.open_table(ROWS).map_err(Error::unavailable)?;
        let mut found = Vec::new();
        for kind in kinds {
            let first = || Some(vec![code(kind)]);
            let mut start = after.filter(|after| after.kind == kind).map_or_else(first, beyond);
            while let Some(from) = start.take().filter(|_| found.len() < limit) {
                let mut rows = table.range::<&[u8]>(from.as_slice()..).map_err(Error::unavailable)?;
                let Some(row) = rows.next() else { break };
                let (key, _) = row.map_err(Error::unavailable)?;
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

/// What a file takes of its disk, and what is free there. Space inside the file that was written once and is free again
/// counts as taken: the disk does not get it back.
fn room(file: &Path) -> Option<Room> {
    let metadata = std::fs::metadata(file).ok()?;
    Some(Room { used: on_disk(&metadata), free: free(file) })
}

/// The file grows in large steps before they are written, so its length says more than it takes.
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

fn closed() -> Error {
    Error::unavailable("the data file is closed after a fault and not open again yet")
}

fn open_database(options: &Options) -> Result<Database, OpenError> {
    let fail = |cause: String| OpenError::Failed(options.path.clone(), cause);
    if options.must_exist && !options.path.exists() {
        return Err(OpenError::Missing(options.path.clone()));
    }
    let file = open_file(&options.path).map_err(|error| fail(error.to_string()))?;
    let mut builder = Database::builder();
    builder.set_cache_size(options.cache_bytes);
    builder.set_repair_callback(|session| {
        eprintln!("the data file was not closed cleanly; checking it: {:.0} %", session.progress() * 100.0);
    });
    let opened = match &options.wrap {
        None => builder.create_file(file),
        Some(wrap) => {
            let backend = FileBackend::new(file).map_err(|error| fail(error.to_string()))?;
            builder.create_with_backend(fault::Boxed(wrap(backend)))
        }
    };
    let database = opened.map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => OpenError::InUse(options.path.clone()),
        other => fail(other.to_string()),
    })?;
    create_tables(&database).map_err(|error| fail(error.to_string()))?;
    Ok(database)
}

fn open_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Readers must find every table, so all are created at once, in the first transaction of a new file only.
fn create_tables(database: &Database) -> Result<(), redb::Error> {
    match database.begin_read()?.open_table(PROBE) {
        Ok(_) => return Ok(()),
        Err(TableError::TableDoesNotExist(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let transaction = database.begin_write()?;
    transaction.open_table(ROWS)?;
    transaction.open_table(TIMERS)?;
    transaction.open_table(DUE)?;
    transaction.open_table(DOCUMENTS)?;
    transaction.open_table(PROBE)?;
    transaction.commit()?;
    Ok(())
}
