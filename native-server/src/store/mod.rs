//! One redb file: the rows of every actor, the timers table and the published documents.
//!
//! | Table | Key | Value |
//! |---|---|---|
//! | `rows` | actor's kind, name, end mark, key | the actor's value |
//! | `timers` | due time, actor id | nothing; the first row is the earliest work of the whole deployment |
//! | `due` | actor id | due time, to find the row of `timers` |
//! | `documents` | document key | the document in postcard encoding |
//! | `probe` | nothing | time of the last write check |
//!
//! The database can be closed and opened again while it is in use (decision reopen-after-failure). Every read borrows
//! it for one synchronous call; between closing and opening the read fails.
//!
//! | Module | What |
//! |---|---|
//! | `backup` | a consistent copy of a file in use |
//! | [`cache`] | how much memory the file gets |
//! | `compact` | writes the file anew without its free space |
//! | `condition` | whether the file accepts writes, and errors of the engine |
//! | [`fault`] | injects faults for tests |
//! | `folding` | writes commits into the tree |
//! | `front` | the journal, the rows in memory behind it, and the thread that folds them into the tree |
//! | `journal` | the files of the journal |
//! | `known` | rows of a snapshot that were looked up lately |
//! | `open` | opens the data file |
//! | `overlay` | a view of the file that writes nothing to it |
//! | `pages` | the file under the engine, with a checksum for every block |
//! | `recent` | rows that are in the journal and not in the tree yet |
//! | `replay` | commits that are only in journals, when a file is opened |
//! | `rows` | the rows of one actor in the table of all rows |
//! | `scrub` | compares the whole file with its checksums |
//! | `space` | one actor's rows as a key-value backend |
//! | `tree` | a snapshot of the tree, and its tables as spaces |
//! | `view` | what a reader sees |

mod backup;
pub mod cache;
mod compact;
mod condition;
#[cfg(test)]
#[cfg(unix)]
mod damaged;
pub mod fault;
mod folding;
mod front;
mod journal;
mod known;
mod open;
mod overlay;
mod pages;
mod recent;
mod replay;
mod rows;
mod scrub;
mod space;
mod tree;
mod view;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use heliograph_core::engine::actor::{ActorId, Kind};
use heliograph_core::engine::documents::Document;
use heliograph_core::engine::kv::{Range, Read, Room};
use heliograph_core::{Error, Result, Timestamp};
use redb::backends::FileBackend;
use redb::{ReadTransaction, ReadableDatabase, StorageBackend, TableDefinition, WriteTransaction};

use crate::metrics::StoreCounts;

pub use backup::{Changed, Frozen, backup};
use cache::Parts;
pub use compact::{Compacted, compact};
pub(crate) use condition::refused;
pub use condition::{Condition, Fault};
use folding::Folded;
pub use front::Front;
use journal::{FileId, Folder};
use known::KnownRows;
pub use open::OpenError;
use open::Opened;
pub use recent::ChangedRows;
use recent::Generation;
use replay::FoldedState;
pub use replay::ReplayError;
pub use rows::{Rows, actor_of, apply, code, prefix};
#[doc(hidden)]
pub use scrub::pages_in_use;
pub use scrub::{convert, free_inside, scrub};
pub use space::ActorSpace;
use tree::Tree;
pub(crate) use tree::{DOCUMENTS_SPACE, DUE_SPACE, TIMERS_SPACE, WRITE_CHECK_SPACE, timer_key, timer_of};
pub use view::View;

pub(crate) const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");
pub(crate) const TIMERS: TableDefinition<(i64, &str), ()> = TableDefinition::new("timers");
pub(crate) const DUE: TableDefinition<&str, i64> = TableDefinition::new("due");
pub(crate) const DOCUMENTS: TableDefinition<&str, &[u8]> = TableDefinition::new("documents");
pub(crate) const WRITE_CHECK: TableDefinition<(), i64> = TableDefinition::new("probe");

/// Longest that one read may hold its snapshot; redb cannot reuse pages that a snapshot needs (decision
/// bounded-commits).
pub const SNAPSHOT_LIMIT: Duration = Duration::from_secs(1);

/// Puts a layer between the program and a file that it opens, the data file or a journal; tests inject faults there.
pub type WrapBackend = Box<dyn Fn(&Path, FileBackend) -> Box<dyn StorageBackend> + Send + Sync>;

/// How to open the file, and open it again after a fault.
pub struct Options {
    pub path: PathBuf,
    /// Memory for pages, rows that were looked up lately and checksums, in bytes.
    pub cache_bytes: usize,
    /// Fail when the file does not exist.
    pub must_exist: bool,
    /// No server uses the file: one command is the only work, and nobody waits beside it. Imports then get longer
    /// commits, and the work that follows from them is done when no import is waiting.
    pub alone: bool,
    /// Only read: the file is opened for reading, and what is written stays in memory.
    pub looking: bool,
    /// Memory for the rows of a journal before they are folded into the tree, in bytes; without it every commit goes
    /// straight into the tree.
    pub journal: Option<usize>,
    pub wrap: Option<WrapBackend>,
}

impl Options {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Options {
            cache_bytes: cache::suited(&path),
            path,
            must_exist: false,
            alone: false,
            looking: false,
            journal: None,
            wrap: None,
        }
    }
}

/// The open file. One writer begins transactions; any number of readers take snapshots.
pub struct Store {
    options: Options,
    /// `None` while the file is closed after a fault. Readers hold the lock for one synchronous call.
    opened: RwLock<Option<Opened>>,
    /// What readers see where a journal stands in front of the tree.
    shared: RwLock<Option<Shared>>,
    condition: Condition,
    counts: StoreCounts,
    /// Held by whoever closes the file and opens it again.
    reopening: Mutex<()>,
}

/// The parts of every [`View`].
struct Shared {
    /// `None` while the file is closed after a fault.
    tree: Option<Arc<Tree>>,
    /// The younger one first.
    generations: [Option<Arc<Generation>>; 2],
    seen: u64,
}

impl Store {
    pub fn open(options: Options) -> Result<Self, OpenError> {
        let opened = open::open(&options)?;
        let (opened, shared) = (RwLock::new(Some(opened)), RwLock::default());
        let (condition, reopening) = (Condition::default(), Mutex::default());
        Ok(Store { options, opened, shared, condition, counts: StoreCounts::default(), reopening })
    }

    /// Memory for pages, rows and checksums, in bytes.
    pub fn cache_bytes(&self) -> usize {
        self.options.cache_bytes
    }

    pub fn path(&self) -> &Path {
        &self.options.path
    }

    /// Bytes that are free where the file is; `None` where the system does not say.
    pub(crate) fn disk_free(&self) -> Option<u64> {
        free(self.path())
    }

    /// Size of all files of its journal.
    pub(crate) fn journal_file_bytes(&self) -> u64 {
        self.folder().bytes().unwrap_or_default()
    }

    /// Whether the file accepts writes.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// What its writer and its folding thread count.
    pub(crate) fn counts(&self) -> &StoreCounts {
        &self.counts
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

    /// What a reader sees now: everything committed before.
    pub fn view(&self) -> Result<View> {
        match &*self.shared.read().unwrap_or_else(PoisonError::into_inner) {
            Some(Shared { tree, generations, seen }) => {
                let tree = tree.clone().ok_or_else(|| self.condition.refusal())?;
                Ok(View { tree, generations: generations.clone(), seen: *seen })
            }
            None => Ok(View { tree: Arc::new(self.snapshot()?), generations: [None, None], seen: 0 }),
        }
    }

    /// A snapshot of the tree for many requests.
    fn tree_to_share(&self) -> Result<Arc<Tree>> {
        Ok(Arc::new(Tree { known: Some(self.nothing_known()), ..self.snapshot()? }))
    }

    fn nothing_known(&self) -> KnownRows {
        KnownRows::new(Parts::of(self.options.cache_bytes).known)
    }

    /// A snapshot of the tree.
    fn snapshot(&self) -> Result<Tree> {
        let guard = self.lock();
        let opened = guard.as_ref().ok_or_else(|| self.condition.refusal())?;
        let snapshot = opened.database.begin_read().map_err(|error| self.refused(error))?;
        Tree::of(&snapshot).map_err(|error| self.refused(error))
    }

    fn share(&self, change: impl FnOnce(&mut Shared)) {
        if let Some(shared) = &mut *self.shared.write().unwrap_or_else(PoisonError::into_inner) {
            change(shared);
        }
    }

    /// From now on readers see this, and what is added to it.
    fn publish(&self, view: View) {
        let View { tree, generations, seen } = view;
        let shared = Some(Shared { tree: Some(tree), generations, seen });
        *self.shared.write().unwrap_or_else(PoisonError::into_inner) = shared;
    }

    /// From now on readers see commits up to this one.
    fn see(&self, commit: u64) {
        self.share(|shared| shared.seen = commit);
    }

    /// A younger generation begins.
    fn turn(&self, younger: Arc<Generation>, older: Arc<Generation>) {
        self.share(|shared| shared.generations = [Some(younger), Some(older)]);
    }

    /// The tree has what was folded; if that was `all` of the older generation, that one is not needed any more.
    fn folded_to(&self, all: bool) -> Result<(), Fault> {
        let mut tree = self.snapshot().map_err(|error| Fault::System(error.to_string()))?;
        tree.known = Some(match self.view() {
            Ok(View { tree: before, generations: [_, Some(folded)], .. }) if all => {
                before.known.as_ref().map_or_else(|| self.nothing_known(), |known| known.after(&folded))
            }
            _ => self.nothing_known(),
        });
        self.share(|shared| {
            shared.tree = Some(Arc::new(tree));
            if all {
                shared.generations[1] = None;
            }
        });
        Ok(())
    }

    /// Which commits are in the tree.
    fn folded(&self) -> Result<FoldedState, Fault> {
        let guard = self.lock();
        replay::folded(&guard.as_ref().ok_or(Fault::Earlier)?.database)
    }

    /// Gives the data file an id, so that it can have journals; `second` as in [`Folded::second`].
    fn found(&self, second: bool) -> Result<Folded, Fault> {
        let mut file = FileId::default();
        getrandom::fill(&mut file).map_err(|error| Fault::System(error.to_string()))?;
        let folded = Folded { file, commit: 0, generation: 0, second };
        let transaction = self.begin_write()?;
        folding::fold(&transaction, &Generation::default(), folded)?;
        transaction.commit().map_err(Fault::of)?;
        Ok(folded)
    }

    fn folder(&self) -> Folder<'_> {
        Folder::of(&self.options.path, self.options.wrap.as_ref())
    }

    /// Closes the file and opens it again. Readers are refused meanwhile.
    pub(crate) fn reopen_tree(&self) -> Result<(), OpenError> {
        let _alone = self.reopening.lock().unwrap_or_else(PoisonError::into_inner);
        self.close();
        self.reopen()
    }

    /// Runs `body` on the rows of one actor.
    pub fn read_actor<T>(&self, actor: &ActorId, body: impl FnOnce(&dyn Read) -> Result<T>) -> Result<T> {
        self.view()?.actor(actor, self.path(), None, body)
    }

    pub fn is_open(&self) -> bool {
        self.lock().is_some()
    }

    /// True if the file was not closed cleanly before it was opened.
    pub fn was_unclean(&self) -> bool {
        self.lock().as_ref().is_some_and(|opened| opened.unclean)
    }

    /// True if a server or a command that wrote to the file ended without closing it.
    fn was_open(&self) -> bool {
        self.lock().as_ref().is_some_and(|opened| opened.pages.was_open())
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
        let mut last = None;
        self.share(|shared| last = shared.tree.take());
        // A snapshot that is still read would keep the file locked.
        let until = Instant::now() + 2 * SNAPSHOT_LIMIT;
        while last.as_ref().is_some_and(|tree| Arc::strong_count(tree) > 1) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(last);
        let mut guard = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        *guard = None;
    }

    /// Opens the file again after [`Store::close`].
    pub(crate) fn reopen(&self) -> Result<(), OpenError> {
        let opened = open::open(&self.options)?;
        *self.opened.write().unwrap_or_else(PoisonError::into_inner) = Some(opened);
        let tree =
            self.tree_to_share().map_err(|error| OpenError::Failed(self.options.path.clone(), error.to_string()))?;
        self.share(|shared| shared.tree = Some(tree));
        Ok(())
    }

    /// See [`View::documents`].
    pub fn documents(&self) -> Result<Vec<Document>> {
        self.view()?.documents()
    }

    /// See [`View::earliest`].
    pub fn earliest(&self) -> Result<Option<Timestamp>> {
        self.view()?.earliest()
    }

    /// The engine's own check of the whole file; nothing else may use the file meanwhile. `Ok(false)`: something was
    /// wrong and is repaired.
    pub fn check(self) -> Result<bool, String> {
        let opened = self.opened.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut database = opened.ok_or("closed")?.database;
        database.check_integrity().map_err(|error| Fault::of(error).reason().to_owned())
    }
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

/// The space that a data file and its journals take of their disk, and the free space there. Free space inside the file
/// counts as taken, because the disk does not get it back.
fn room(file: &Path) -> Option<Room> {
    let metadata = std::fs::metadata(file).ok()?;
    let journals = Folder::of(file, None).bytes().ok()?;
    Some(Room { used: on_disk(&metadata).saturating_add(journals), free: free(file) })
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
