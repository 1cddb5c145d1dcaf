//! A folder with one file for each value.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::Store;
use super::owner::{self, Owner};
use crate::platform::Work;
use crate::{Error, Result};

/// What stands for itself in the name of a file.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');

/// Keeps each value in a file of its own, which only the owner can read. A file is written whole under another name,
/// flushed to the disk and renamed, so that a crash leaves the value before or the new one.
///
/// Two programs must not use one folder at the same time: lock files refuse the second (decision keys-in-files).
#[derive(Debug)]
pub struct FileStore {
    folder: PathBuf,
    /// Tells programs in other languages. It ends before the lock, which the next program waits for.
    _owner: Owner,
    /// Held open: the lock ends with it.
    _lock: fs::File,
}

impl FileStore {
    /// Opens the folder, or makes it.
    ///
    /// Errors: [`Error::Store`] if the folder cannot be made, or another program uses it.
    pub fn new(folder: impl AsRef<Path>) -> Result<FileStore> {
        let folder = folder.as_ref().to_owned();
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder).map_err(cannot("make the folder", &folder))?;
        let used = || Error::Store(format!("another program uses {}", folder.display()));
        let lock = own().create(true).open(folder.join("lock")).map_err(cannot("make files in", &folder))?;
        lock.try_lock().map_err(|_| used())?;
        let owner = owner::claim(&folder).map_err(cannot("make files in", &folder))?.ok_or_else(used)?;
        Ok(FileStore { folder, _owner: owner, _lock: lock })
    }

    /// A name can hold what a service made up, such as an id. So nothing of it may lead out of the folder.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}.value", utf8_percent_encode(name, KEPT)))
    }

    fn put(&self, path: &Path, value: &[u8]) -> std::io::Result<()> {
        let fresh = path.with_extension("new");
        let mut file = own().create(true).truncate(true).open(&fresh)?;
        file.write_all(value)?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        // The rename itself is in the folder.
        if cfg!(unix) { fs::File::open(&self.folder)?.sync_all() } else { Ok(()) }
    }
}

/// The error of a step that failed: what was tried, on which path, and what the system says.
fn cannot<'a>(step: &'a str, path: &'a Path) -> impl Fn(std::io::Error) -> Error + use<'a> {
    move |error| Error::Store(format!("cannot {step} {}: {error}", path.display()))
}

/// How a file is opened that only its owner may read and write.
fn own() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes such a file.
///
/// Errors: `AlreadyExists` if there is one.
pub(super) fn fresh(path: &Path) -> std::io::Result<fs::File> {
    own().create_new(true).open(path)
}

impl Store for FileStore {
    fn read<'a>(&'a self, name: &'a str) -> Work<'a, Result<Option<Vec<u8>>>> {
        Box::pin(async move {
            let path = self.path(name);
            match fs::read(&path) {
                Ok(value) => Ok(Some(value)),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(cannot("read", &path)(error)),
            }
        })
    }

    fn write<'a>(&'a self, name: &'a str, value: &'a [u8]) -> Work<'a, Result<()>> {
        Box::pin(async move {
            let path = self.path(name);
            self.put(&path, value).map_err(cannot("write", &path))
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> Work<'a, Result<()>> {
        Box::pin(async move {
            let path = self.path(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(cannot("remove", &path)(error)),
                _ => Ok(()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now<T>(work: Work<'_, T>) -> T {
        futures_util::FutureExt::now_or_never(work).unwrap()
    }

    #[test]
    fn what_fails_says_what_was_tried_and_on_which_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent");
        let store = FileStore::new(&path).unwrap();
        // A folder in the place of a value can be neither read nor replaced nor removed.
        fs::create_dir(path.join("keys.value")).unwrap();
        let failed = [
            ("read", now(store.read("keys")).map(drop)),
            ("write", now(store.write("keys", b"one"))),
            ("remove", now(store.remove("keys"))),
        ];
        for (step, outcome) in failed {
            let said = outcome.unwrap_err().to_string();
            let expected = format!("cannot {step} {}: ", path.join("keys.value").display());
            assert!(said.contains(&expected), "{said}");
        }
        fs::write(folder.path().join("file"), b"").unwrap();
        let said = FileStore::new(folder.path().join("file")).unwrap_err().to_string();
        assert!(said.contains("cannot make the folder "), "{said}");
    }

    #[test]
    fn values_outlive_the_store_and_only_the_owner_can_read_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent");
        let store = FileStore::new(&path).unwrap();
        now(store.write("peer-did:svc:x", b"one")).unwrap();
        now(store.write("peer-did:svc:x", b"two")).unwrap();
        assert!(matches!(FileStore::new(&path), Err(Error::Store(_))), "a second program");
        drop(store);
        let store = FileStore::new(&path).unwrap();
        assert_eq!(now(store.read("peer-did:svc:x")).unwrap().unwrap(), b"two");
        #[cfg(unix)]
        for entry in fs::read_dir(&path).unwrap() {
            let mode = std::os::unix::fs::PermissionsExt::mode(&entry.unwrap().metadata().unwrap().permissions());
            assert_eq!(mode & 0o077, 0);
        }
        now(store.remove("peer-did:svc:x")).unwrap();
        now(store.remove("peer-did:svc:x")).unwrap();
        now(store.write("open-../../outside", b"three")).unwrap();
        assert!(!folder.path().join("outside.value").exists(), "a name led out of the folder");
        assert_eq!(now(store.read("open-../../outside")).unwrap().unwrap(), b"three");
        assert_eq!(now(store.read("peer-did:svc:x")).unwrap(), None);
    }
}
