//! The journals beside a data file: their names, and making, reusing and removing them.

use std::fs::{DirEntry, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use redb::StorageBackend;
use redb::backends::FileBackend;

use super::super::WrapBackend;
use super::file::Journal;
use super::record::Header;
use crate::files::owned_by_one;

/// Between the name of the data file and the generation of a journal.
const INFIX: &str = ".journal-";
/// Bytes of a new journal. It grows when more is appended, and keeps its length when it is used again.
const NEW: u64 = 1 << 20;

/// The journals of one data file.
pub struct Folder<'a> {
    data: &'a Path,
    wrap: Option<&'a WrapBackend>,
}

impl<'a> Folder<'a> {
    pub fn of(data: &'a Path, wrap: Option<&'a WrapBackend>) -> Self {
        Folder { data, wrap }
    }

    fn path(&self, name: &str) -> PathBuf {
        let mut path = self.data.as_os_str().to_owned();
        path.push(INFIX);
        path.push(name);
        path.into()
    }

    /// Where the journal of a generation is.
    pub fn journal(&self, generation: u64) -> PathBuf {
        self.path(&generation.to_string())
    }

    /// A file that was a journal and can be one again.
    fn spare(&self) -> PathBuf {
        self.path("spare")
    }

    fn directory(&self) -> &Path {
        self.data.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// Calls `visit` with each file, and its name after [`INFIX`].
    fn each(&self, mut visit: impl FnMut(&DirEntry, &str)) -> io::Result<()> {
        let prefix = format!("{}{INFIX}", self.data.file_name().unwrap_or_default().to_string_lossy());
        for entry in self.directory().read_dir()? {
            let entry = entry?;
            if let Some(name) = entry.file_name().to_str().and_then(|name| name.strip_prefix(&prefix)) {
                visit(&entry, name);
            }
        }
        Ok(())
    }

    /// Generations that have a file, in their order.
    pub fn generations(&self) -> io::Result<Vec<u64>> {
        let mut found = Vec::new();
        self.each(|_, name| found.extend(name.parse::<u64>()))?;
        found.sort_unstable();
        Ok(found)
    }

    /// Bytes of all files, also of the spare one.
    pub fn bytes(&self) -> io::Result<u64> {
        let mut bytes = 0;
        self.each(|entry, _| bytes += entry.metadata().map_or(0, |metadata| metadata.len()))?;
        Ok(bytes)
    }

    /// Makes a new name or the end of one durable.
    fn sync(&self) -> io::Result<()> {
        // Only on Unix a folder can be synced.
        if cfg!(unix) { File::open(self.directory())?.sync_all() } else { Ok(()) }
    }

    /// Opens the journal of a generation.
    pub fn open(&self, generation: u64) -> io::Result<Box<dyn StorageBackend>> {
        let path = self.journal(generation);
        self.backend(&path, OpenOptions::new().read(true).write(true).open(&path)?)
    }

    fn backend(&self, path: &Path, file: File) -> io::Result<Box<dyn StorageBackend>> {
        let file = FileBackend::new(file).map_err(io::Error::other)?;
        Ok(match self.wrap {
            None => Box::new(file),
            Some(wrap) => wrap(path, file),
        })
    }

    /// Begins a journal, in a spare file if there is one. Durable when it returns.
    pub fn begin(&self, header: Header) -> io::Result<Journal> {
        let path = self.journal(header.generation);
        let file = match std::fs::rename(self.spare(), &path) {
            Ok(()) => self.backend(&path, OpenOptions::new().read(true).write(true).open(&path)?)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut how = OpenOptions::new();
                how.read(true).write(true).create(true).truncate(true);
                owned_by_one(&mut how);
                let file = self.backend(&path, how.open(&path)?)?;
                Journal::fill(&*file, NEW)?;
                file
            }
            Err(error) => return Err(error),
        };
        self.sync()?;
        Journal::begin(file, header)
    }

    /// Keeps the file of a journal whose commits are in the tree, to begin another in it.
    pub fn keep(&self, generation: u64) -> io::Result<()> {
        std::fs::rename(self.journal(generation), self.spare())?;
        self.sync()
    }

    /// Removes the journal of a generation.
    pub fn remove(&self, generation: u64) -> io::Result<()> {
        std::fs::remove_file(self.journal(generation))?;
        self.sync()
    }

    /// Removes the spare file, if there is one: after a clean stop the data is one file.
    pub fn remove_spare(&self) -> io::Result<()> {
        match std::fs::remove_file(self.spare()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.sync(),
        }
    }
}
