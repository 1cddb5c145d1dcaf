//! What operators are told when a file cannot be read or written: what was tried, with which file, why it failed, and
//! what to do next. The system's own words, such as "No such file or directory (os error 2)", have none of these.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// What was tried with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    Read,
    /// To make the file or its folder, or to change it.
    Write,
}

impl Tried {
    /// The whole sentence.
    pub fn cannot(self, path: &Path, error: &Error) -> String {
        let verb = if self == Tried::Read { "read" } else { "write" };
        format!("cannot {verb} {}: {}", path.display(), self.why(path, error))
    }

    /// The reason and the next step, for sentences that name the file already.
    pub fn why(self, path: &Path, error: &Error) -> String {
        match error.kind() {
            ErrorKind::NotFound => self.nothing_there(path),
            ErrorKind::NotADirectory => format!("{}; see how the path is written", not_a_folder(path)),
            ErrorKind::IsADirectory => FOLDER.to_owned(),
            ErrorKind::AlreadyExists if path.is_dir() => FOLDER.to_owned(),
            ErrorKind::AlreadyExists => {
                "it exists, and nothing is written over it; name another file, or move that one away".to_owned()
            }
            ErrorKind::PermissionDenied => self.forbidden(path),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                "no room is left for it on the disk; make room there, or name a place on another disk".to_owned()
            }
            ErrorKind::ReadOnlyFilesystem => {
                "its file system is read-only; name another place. Under systemd, a service may write only where \
                 StateDirectory or ReadWritePaths of its unit says"
                    .to_owned()
            }
            ErrorKind::InvalidData if self == Tried::Read => {
                format!("it has not the form that is expected ({error}); see whether it is the right file")
            }
            // So the reader of gzip says it.
            ErrorKind::UnexpectedEof | ErrorKind::InvalidInput if self == Tried::Read => {
                format!("it is damaged, or ends too early ({error}); get the file again")
            }
            _ => format!("{error}; see what the log of the system says of this disk, or name another place"),
        }
    }

    fn nothing_there(self, path: &Path) -> String {
        let folder = folder(path);
        let begins = match std::env::current_dir() {
            Ok(here) if path.is_relative() => format!(", which begins at {}", here.display()),
            _ => String::new(),
        };
        match self {
            Tried::Write if folder.is_dir() => "no file can be made there; name another place".to_owned(),
            Tried::Write => format!(
                "there is no folder {}; make it with `mkdir -p`, or see how the path is written{begins}",
                folder.display()
            ),
            Tried::Read if path.is_symlink() => {
                "it is a link to a file that is not there; see where the link leads".to_owned()
            }
            Tried::Read => format!("there is no such file; see how the path is written{begins}"),
        }
    }

    fn forbidden(self, path: &Path) -> String {
        let who = user();
        match self {
            Tried::Read => format!(
                "{who} may not read it; chown it to that user, or chgrp it to a group of that user and chmod 0640. The user must \
                 be able to enter its folder, too"
            ),
            Tried::Write => format!(
                "{who} may not write it, or not in its folder {}; give both to that user with chown, or name another place",
                folder(path).display()
            ),
        }
    }
}

/// Opens a file that must be there. A folder can be opened as well, and is refused here.
pub fn open(path: &Path) -> Result<File, String> {
    let opened = File::open(path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(ErrorKind::IsADirectory.into()),
        false => Ok(file),
    });
    opened.map_err(|error| Tried::Read.cannot(path, &error))
}

/// Makes a file that must not be there yet, and that only its owner may read.
pub fn create_new(path: &Path) -> std::io::Result<File> {
    let mut how = OpenOptions::new();
    how.write(true).create_new(true);
    owned_by_one(&mut how);
    how.open(path)
}

/// Only the owner may read new files.
pub fn owned_by_one(how: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(how, 0o600);
    #[cfg(not(unix))]
    let _ = how;
}

const FOLDER: &str = "it is a folder; name a file in it";

/// The folder of a file.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Which part of the path is a file where a folder must be.
fn not_a_folder(path: &Path) -> String {
    let part: Option<PathBuf> = path.ancestors().skip(1).find(|part| part.is_file()).map(Path::to_owned);
    format!("{} is a file, not a folder", part.as_deref().unwrap_or_else(|| folder(path)).display())
}

/// The user that this process runs as.
#[cfg(unix)]
fn user() -> String {
    format!("the user with the number {}, as whom this runs,", rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
fn user() -> String {
    "the user as whom this runs".to_owned()
}
