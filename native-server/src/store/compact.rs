//! Writes the data file anew, without the space that removed rows left (decision compact-by-copy).

use std::fs::File;
use std::path::{Path, PathBuf};

use redb::{Database, ReadableDatabase, ReadableTable};

use super::backup::{CACHE, Keys, copy_rows, finish};
use super::{OpenError, Options, ROWS, Store, open};
use crate::files::{self, Tried};
use crate::owner;

/// What a compaction did, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Compacted {
    pub before: u64,
    pub after: u64,
    /// Keys and values of all rows.
    pub rows: u64,
}

/// A file that is made beside the data file, and removed unless it takes its place.
struct Draft(PathBuf);

impl Drop for Draft {
    fn drop(&mut self) {
        // It may have another name by now.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Copies a file that no server uses, and puts the copy in its place in one step. Whatever goes wrong before leaves the
/// file as it was. The error is for the operator.
pub fn compact(path: &Path) -> Result<Compacted, String> {
    let fail = |error: &dyn std::fmt::Display| format!("cannot compact {}: {error}", path.display());
    let bytes = |path: &Path| std::fs::metadata(path).map(|meta| meta.len()).map_err(|error| fail(&error));
    // Commits that are only in journals go into the tree first. The file stays open, and so locked, to the end.
    let options = Options { must_exist: true, alone: true, ..Options::new(path) };
    let store = Store::open(options).map_err(|error| match error {
        OpenError::InUse(_) => fail(&"it is in use by another process, probably a running server; stop it first"),
        error => error.to_string(),
    })?;
    if !store.folder().generations().map_err(|error| fail(&error))?.is_empty() {
        return Err(fail(&"there are still journals beside it; start and stop the server, then try again"));
    }
    let before = bytes(path)?;
    let draft = Draft(beside(path));
    let mut copy = open::new_file(&draft.0, CACHE).map_err(|reason| fail(&reason))?;
    let details = |error: heliograph_core::Error| fail(&error.into_details().message);
    copy_rows(&store, &copy).map_err(details)?;
    finish(&store.freeze(true, Keys::new()).map_err(details)?, &copy).map_err(details)?;
    copy.compact().map_err(|error| fail(&error))?;
    let rows = rows_of(&copy).map_err(|error| fail(&error))?;
    drop(copy);
    let into_place = || -> std::io::Result<()> {
        let file = File::open(&draft.0)?;
        owner::hand_over(&file, path)?;
        file.sync_all()?;
        std::fs::rename(&draft.0, path)?;
        File::open(files::folder(path))?.sync_all()
    };
    into_place().map_err(|error| fail(&Tried::Write.why(path, &error)))?;
    Ok(Compacted { before, after: bytes(path)?, rows })
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".compact-{}", std::process::id()));
    PathBuf::from(name)
}

fn rows_of(copy: &Database) -> Result<u64, redb::Error> {
    let snapshot = copy.begin_read()?;
    let mut bytes = 0;
    for row in snapshot.open_table(ROWS)?.iter()? {
        let (key, value) = row?;
        bytes += (key.value().len() + value.value().len()) as u64;
    }
    Ok(bytes)
}
