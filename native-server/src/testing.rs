//! Temporary folders, for tests and for commands that must leave no files behind.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A new folder in the system's temporary folder, removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If it cannot be removed, it is left to the system.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    /// Makes a folder whose name begins with `name`.
    pub fn new(name: &str) -> std::io::Result<Folder> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("heliograph-{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }
}

/// A folder for a test.
///
/// # Panics
/// When the folder cannot be made, since a test cannot go on without it.
#[allow(clippy::panic)]
pub fn folder(name: &str) -> Folder {
    Folder::new(name).unwrap_or_else(|error| panic!("cannot make a temporary folder: {error}"))
}
