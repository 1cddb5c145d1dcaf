//! Opens the data file.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::backends::FileBackend;
use redb::{Database, DatabaseError, ReadableDatabase, StorageBackend, TableError};

use super::cache::Parts;
use super::overlay::Overlay;
use super::pages::{Pages, Shared, mend};
use super::replay::{ReplayError, replay};
use super::{DOCUMENTS, DUE, Fault, Options, ROWS, TIMERS, WRITE_CHECK};

use crate::files::{Tried, owned_by_one};
use crate::log;

/// The reason why the file could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// Another process has it open.
    InUse(PathBuf),
    Missing(PathBuf),
    /// The file is so damaged that nothing can be read.
    Damaged(PathBuf, String),
    /// What stands in a journal cannot be put into the file: the journal, and the reason.
    Journal(PathBuf, String),
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
            OpenError::Missing(path) => {
                write!(f, "there is no data file {}; name the right one with --data or HELIOGRAPH_DATA", path.display())
            }
            OpenError::Damaged(path, cause) => write!(
                f,
                "{} is so damaged that nothing in it can be found ({cause}): put a backup in its place, with `heliograph \
                 db restore FILE --replace`",
                path.display()
            ),
            OpenError::Journal(path, cause) => write!(
                f,
                "the changes in {} cannot be read: {cause}. Put back the data file and the journal that belong \
                 together, or move the journal away to start without its changes",
                path.display()
            ),
            OpenError::Failed(path, cause) => write!(f, "cannot open {}: {cause}", path.display()),
        }
    }
}

impl std::error::Error for OpenError {}

impl OpenError {
    /// The journals of the data file at `path` cannot be read.
    pub fn of_journal(error: ReplayError, path: &Path) -> OpenError {
        match error {
            ReplayError::Foreign(journal, why) => OpenError::Journal(journal, why),
            ReplayError::Damaged(journal, place) => OpenError::Journal(journal, format!("it is damaged, {place}")),
            ReplayError::Io(error) => OpenError::Failed(path.to_owned(), Tried::Write.why(path, &error)),
            ReplayError::Failed(cause) => OpenError::Failed(path.to_owned(), cause),
        }
    }

    /// The reason without the path.
    pub(crate) fn reason(&self) -> String {
        match self {
            OpenError::Damaged(_, cause) | OpenError::Failed(_, cause) | OpenError::Journal(_, cause) => cause.clone(),
            OpenError::InUse(_) => "another process has the data file open".to_owned(),
            OpenError::Missing(_) => "there is no data file".to_owned(),
        }
    }
}

/// The open file.
pub(super) struct Opened {
    pub database: Database,
    pub pages: Arc<Pages>,
    /// True if the file was not closed cleanly before.
    pub unclean: bool,
}

pub(super) fn open(options: &Options) -> Result<Opened, OpenError> {
    let fail = |cause: String| OpenError::Failed(options.path.clone(), cause);
    let tried = if options.looking { Tried::Read } else { Tried::Write };
    let failed = |error: &std::io::Error| fail(tried.why(&options.path, error));
    if options.must_exist || options.looking {
        match options.path.try_exists() {
            Ok(true) => {}
            Ok(false) => return Err(OpenError::Missing(options.path.clone())),
            Err(error) => return Err(failed(&error)),
        }
    }
    let file = backend(options).map_err(|error| failed(&error))?;
    let pages = Pages::new(file, options.path.clone(), Parts::of(options.cache_bytes).sums);
    let opened = match attempt(options, &pages) {
        Err(Refusal::Damaged(cause)) => {
            let mended = log::expecting_panics(|| mend(&pages));
            match mended.unwrap_or(Ok(false)) {
                Ok(true) => attempt(options, &pages),
                Ok(false) => Err(Refusal::Damaged(cause)),
                Err(error) if ends_early(&error) => Err(Refusal::Damaged(cause)),
                Err(error) => return Err(fail(error.to_string())),
            }
        }
        done => done,
    };
    let mut opened = opened.map_err(|refusal| match refusal {
        Refusal::InUse => OpenError::InUse(options.path.clone()),
        Refusal::Damaged(cause) => OpenError::Damaged(options.path.clone(), cause),
        Refusal::Failed(cause) => fail(cause),
    })?;
    // A server puts the commits of its journals into the tree while it runs.
    if options.journal.is_none() {
        let replayed = replay(&opened.database, options);
        opened.unclean |= replayed.map_err(|error| OpenError::of_journal(error, &options.path))?;
    }
    Ok(opened)
}

enum Refusal {
    InUse,
    Damaged(String),
    Failed(String),
}

impl From<redb::Error> for Refusal {
    fn from(error: redb::Error) -> Refusal {
        if matches!(&error, redb::Error::Io(error) if ends_early(error)) {
            return Refusal::Damaged("it ends too early".to_owned());
        }
        match Fault::of(error) {
            Fault::Damaged(cause) => Refusal::Damaged(cause),
            fault => Refusal::Failed(fault.reason().to_owned()),
        }
    }
}

/// Whether a part of the file is missing, as after a copy that broke off.
fn ends_early(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::UnexpectedEof
}

/// The engine opens the file, and repairs it when it was not closed cleanly.
fn attempt(options: &Options, pages: &Arc<Pages>) -> Result<Opened, Refusal> {
    let unclean = Arc::new(AtomicBool::new(false));
    let mut builder = Database::builder();
    builder.set_cache_size(Parts::of(options.cache_bytes).pages);
    builder.set_repair_callback({
        let (pages, unclean) = (pages.clone(), unclean.clone());
        move |session| {
            pages.set_repairing(true);
            unclean.store(true, Ordering::Release);
            log::info!("the data file was not closed cleanly; checking it: {:.0} %", session.progress() * 100.0);
        }
    });
    // The engine may panic on damaged pages.
    let opened = log::expecting_panics(|| builder.create_with_backend(Shared(pages.clone())));
    pages.set_repairing(false);
    let database = match opened {
        Ok(Ok(database)) => database,
        Ok(Err(DatabaseError::DatabaseAlreadyOpen)) => return Err(Refusal::InUse),
        Ok(Err(error)) => return Err(redb::Error::from(error).into()),
        Err(_) => return Err(Refusal::Damaged("the storage engine stopped at it".to_owned())),
    };
    create_tables(&database)?;
    Ok(Opened { database, pages: pages.clone(), unclean: unclean.load(Ordering::Acquire) })
}

fn backend(options: &Options) -> std::io::Result<Box<dyn StorageBackend>> {
    if options.looking {
        return Ok(Box::new(Overlay::new(File::open(&options.path)?)?));
    }
    let mut how = OpenOptions::new();
    how.read(true).write(true).create(true).truncate(false);
    owned_by_one(&mut how);
    let file = FileBackend::new(how.open(&options.path)?).map_err(std::io::Error::other)?;
    Ok(match &options.wrap {
        None => Box::new(file),
        Some(wrap) => wrap(&options.path, file),
    })
}

/// A new data file without tables, for a copy of another file. The error is the reason.
pub(super) fn new_file(path: &Path, cache_bytes: usize) -> Result<Database, String> {
    let mut how = OpenOptions::new();
    how.read(true).write(true).create_new(true);
    owned_by_one(&mut how);
    let file = how.open(path).map_err(|error| Tried::Write.why(path, &error))?;
    let file = FileBackend::new(file).map_err(|error| error.to_string())?;
    let mut builder = Database::builder();
    let parts = Parts::of(cache_bytes);
    builder.set_cache_size(parts.pages + parts.known);
    let made = builder.create_with_backend(Shared(Pages::new(Box::new(file), path.to_owned(), parts.sums)));
    made.map_err(|error| Fault::of(error).reason().to_owned())
}

/// Readers must find every table, so the first transaction of a new file creates all of them.
fn create_tables(database: &Database) -> Result<(), redb::Error> {
    match database.begin_read()?.open_table(WRITE_CHECK) {
        Ok(_) => return Ok(()),
        Err(TableError::TableDoesNotExist(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let transaction = database.begin_write()?;
    transaction.open_table(ROWS)?;
    transaction.open_table(TIMERS)?;
    transaction.open_table(DUE)?;
    transaction.open_table(DOCUMENTS)?;
    transaction.open_table(WRITE_CHECK)?;
    transaction.commit()?;
    Ok(())
}
