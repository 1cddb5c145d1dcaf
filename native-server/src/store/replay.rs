//! Commits that are only in journals, when a data file is opened.

use std::io;
use std::path::PathBuf;

use redb::{Database, ReadableDatabase, TableDefinition, TableError};

use super::folding::{self, Folded};
use super::journal::{Beginning, Folder, Header, JournalError, beginning, read};
use super::recent::Generation;
use super::{Fault, Options};

use crate::log;

/// Which commits are in the tree, and of which data file it is. Absent in a file that never had a journal, and in a
/// copy that a backup made. The second place is for a file that is damaged at the first.
pub const FOLDED: [TableDefinition<(), &[u8]>; 2] =
    [TableDefinition::new("journal"), TableDefinition::new("journal again")];

/// What a data file says about its commits.
#[derive(Debug, Clone, Copy)]
pub enum FoldedState {
    Folded(Folded),
    /// It never had a journal.
    Never,
    /// It is damaged there.
    Damaged,
}

/// Why the journals of a data file cannot be read.
#[derive(Debug)]
pub enum ReplayError {
    /// This journal belongs to another data file, or to another state of this one.
    Foreign(PathBuf, String),
    /// A commit that was durable is not there as it was written.
    Damaged(PathBuf, String),
    /// A file of theirs cannot be read or made.
    Io(io::Error),
    Failed(String),
}

impl From<Fault> for ReplayError {
    fn from(fault: Fault) -> ReplayError {
        ReplayError::Failed(fault.reason().to_owned())
    }
}

impl From<io::Error> for ReplayError {
    fn from(error: io::Error) -> ReplayError {
        ReplayError::Io(error)
    }
}

/// The commits of all journals that are not in the tree.
pub struct Loaded {
    pub generation: Generation,
    /// Which commits are in the tree when it has these too.
    pub folded: Folded,
    /// Generations whose journals hold them.
    pub journals: Vec<u64>,
    /// Generations whose journals hold nothing that is not in the tree.
    pub needless: Vec<u64>,
}

fn foreign(folder: &Folder<'_>, generation: u64, why: String) -> ReplayError {
    ReplayError::Foreign(folder.journal(generation), why)
}

/// The heads of all journals.
struct Heads {
    /// Which commits are in the tree; `None` if no journal says of which data file it is.
    before: Option<Folded>,
    /// Of journals with commits that are not in the tree.
    headers: Vec<Header>,
    /// Generations whose journals hold nothing that is not in the tree.
    needless: Vec<u64>,
}

impl Heads {
    fn read(folder: &Folder<'_>, known: FoldedState, generations: Vec<u64>) -> Result<Heads, ReplayError> {
        let mut before = match known {
            FoldedState::Folded(folded) => Some(folded),
            FoldedState::Never | FoldedState::Damaged => None,
        };
        let (mut headers, mut needless) = (Vec::new(), Vec::new());
        for generation in generations {
            let damaged = |place: String| ReplayError::Damaged(folder.journal(generation), place);
            let header = match beginning(&*folder.open(generation)?, generation)? {
                Beginning::Whole(header) => header,
                Beginning::Nothing => {
                    needless.push(generation);
                    continue;
                }
                // The tree has what was in it.
                _ if before.is_some_and(|before| generation <= before.generation) => {
                    needless.push(generation);
                    continue;
                }
                Beginning::OtherFormat(format) => {
                    let why =
                        format!("it names format {format}, so a later version wrote it, or it is damaged at its head");
                    return Err(foreign(folder, generation, why));
                }
                Beginning::Damaged => return Err(damaged("at its head".to_owned())),
                Beginning::CutAt(length) => return Err(damaged(format!("it ends after {length} bytes"))),
            };
            if let (FoldedState::Damaged, None) = (known, before) {
                // The tree has at least the commits before the first journal. The others may be put into it again.
                let Header { file, generation, first } = header;
                before = Some(Folded { file, commit: first - 1, generation: generation - 1, second: true });
            }
            match before.filter(|before| before.file == header.file) {
                None => return Err(foreign(folder, generation, "it belongs to another data file".to_owned())),
                Some(before) if generation <= before.generation => needless.push(generation),
                Some(_) => headers.push(header),
            }
        }
        Ok(Heads { before, headers, needless })
    }
}

impl Loaded {
    /// Reads the journals of a data file.
    pub fn read(folder: &Folder<'_>, known: FoldedState) -> Result<Option<Loaded>, ReplayError> {
        let generations = folder.generations()?;
        if generations.is_empty() {
            return Ok(None);
        }
        let Heads { before, headers, needless } = Heads::read(folder, known, generations)?;
        let Some(before) = before else { return Ok(None) };
        let (all, mut folded) = (Generation::default(), before);
        for (at, header) in headers.iter().enumerate() {
            let Header { generation, first, .. } = *header;
            if first != folded.commit + 1 {
                let why = format!("it begins with commit {first}, but the data before it ends with {}", folded.commit);
                return Err(foreign(folder, generation, why));
            }
            let until = headers.get(at + 1).map(|next| next.first);
            let read = read(&*folder.open(generation)?, header, until);
            let read = read.map_err(|error| match error {
                JournalError::Io(error) => ReplayError::Io(error),
                JournalError::Damaged { commit, at } => {
                    ReplayError::Damaged(folder.journal(generation), format!("commit {commit} at byte {at}"))
                }
            })?;
            for (commit, changed) in read {
                all.add(commit, changed);
                folded.commit = commit;
            }
            folded.generation = generation;
        }
        let journals: Vec<u64> = headers.into_iter().map(|header| header.generation).collect();
        if !journals.is_empty() {
            let only = folded.commit - before.commit;
            log::info!("the data file was not closed cleanly; commits that are only in its journal: {only}");
        }
        Ok(Some(Loaded { generation: all, folded, journals, needless }))
    }
}

/// Which commits are in the tree.
pub fn folded(database: &Database) -> Result<FoldedState, Fault> {
    let snapshot = database.begin_read().map_err(Fault::of)?;
    let place = |definition| match snapshot.open_table(definition) {
        Ok(table) => Ok(table.get(()).map_err(Fault::of)?.and_then(|row| Folded::decode(row.value()))),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(Fault::of(error)),
    };
    let [first, second] = FOLDED;
    match place(first) {
        Err(Fault::Damaged(_)) => match place(second) {
            Ok(None) | Err(Fault::Damaged(_)) => Ok(FoldedState::Damaged),
            Ok(Some(folded)) => Ok(FoldedState::Folded(Folded { second: true, ..folded })),
            Err(fault) => Err(fault),
        },
        found => Ok(found?.map_or(FoldedState::Never, FoldedState::Folded)),
    }
}

/// For a command alone: puts the commits of all journals into the tree, and removes the journals. Whoever only looks
/// gets them in memory. True if a server did not stop cleanly.
pub fn replay(database: &Database, options: &Options) -> Result<bool, ReplayError> {
    let folder = Folder::of(&options.path, options.wrap.as_ref());
    let known = folded(database)?;
    let loaded = Loaded::read(&folder, known)?;
    let before = match (known, &loaded) {
        (FoldedState::Folded(before), _) => before,
        (_, Some(loaded)) => loaded.folded,
        (_, None) => return Ok(false),
    };
    let (nothing, mut now) = (Generation::default(), before);
    let generation = loaded.as_ref().map_or(&nothing, |loaded| {
        now = loaded.folded;
        &loaded.generation
    });
    let live = loaded.as_ref().is_some_and(|loaded| !loaded.journals.is_empty());
    if options.looking && generation.is_empty() {
        return Ok(live);
    }
    // What a command alone writes is in no journal. It counts as a commit, so that a journal from before it is never
    // put into the tree after it.
    now.commit += 1;
    let mut transaction = database.begin_write().map_err(Fault::of)?;
    transaction.set_quick_repair(true);
    folding::fold(&transaction, generation, now)?;
    transaction.commit().map_err(Fault::of)?;
    if !options.looking {
        folder.generations()?.into_iter().try_for_each(|generation| folder.remove(generation))?;
        folder.remove_spare()?;
    }
    Ok(live)
}
