//! Who uses a folder: the file `owner` in it.
//!
//! Programs in Rust and Python hold the file `lock`, which the system releases when they end. Node cannot hold such a
//! lock. So every language also writes its process into `owner`, and heeds a living one in it. `client/js/package/node.js`
//! does the same.
//!
//! The file has the number of the process, a space, and on Linux when it began (field 22 of `/proc/<number>/stat`), since
//! numbers are given again; elsewhere `-`.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a file may be empty: its process is between making and writing it. After that it has crashed there.
const UNWRITTEN: Duration = Duration::from_secs(10);

/// The file of this process. Dropping it frees the folder.
#[derive(Debug)]
pub struct Owner(PathBuf);

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Makes this process the owner of a folder whose `lock` it holds; `None` if another one is.
pub fn claim(folder: &Path) -> io::Result<Option<Owner>> {
    let file = folder.join("owner");
    let (own, number) = (text(std::process::id()), std::process::id());
    // Several programs may find the same dead owner. Each try removes one at most.
    for _ in 0..3 {
        match super::file::fresh(&file) {
            Ok(mut made) => {
                io::Write::write_all(&mut made, own.as_bytes())?;
                return Ok(Some(Owner(file)));
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let found = match fs::read_to_string(&file) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        // Where it names this process, whose lock is fresh, an earlier one had the same number.
        if found != own && lives(&found, &file) {
            return Ok(None);
        }
        if !remove(&file, &found, number)? {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Removes a file that has this text. `false` if another process has just put its own there.
fn remove(file: &Path, found: &str, number: u32) -> io::Result<bool> {
    let aside = file.with_extension(format!("{number}.old"));
    match fs::rename(file, &aside) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        other => other?,
    }
    if fs::read_to_string(&aside)? == found {
        fs::remove_file(&aside)?;
        return Ok(true);
    }
    fs::rename(&aside, file)?;
    Ok(false)
}

fn text(number: u32) -> String {
    format!("{number} {}", began(number).unwrap_or_else(|| "-".to_owned()))
}

/// When a process began, on Linux; nothing of one that has ended and waits for its parent to notice.
fn began(number: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name of the program stands in brackets, and may hold any of them.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    if fields.next()? == "Z" { None } else { fields.nth(18).map(str::to_owned) }
}

/// Whether the process that a file names still runs.
fn lives(found: &str, file: &Path) -> bool {
    if found.is_empty() {
        let age = fs::metadata(file).and_then(|file| file.modified()).ok().and_then(|time| time.elapsed().ok());
        return age.is_none_or(|age| age < UNWRITTEN);
    }
    let Some((number, start)) = found.split_once(' ') else { return false };
    let Ok(number) = number.parse::<u32>() else { return false };
    if began(std::process::id()).is_some() {
        return began(number).is_some_and(|now| start == "-" || start == now);
    }
    // Nothing of the standard library tells it. Other systems have this program; Windows has `lock` alone.
    let asked = std::process::Command::new("kill").args(["-0", &number.to_string()]).output();
    asked.is_ok_and(|asked| asked.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_living_owner() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("owner");
        let free = |text: &str| {
            fs::write(&file, text).unwrap();
            claim(folder.path()).unwrap().is_some()
        };
        assert!(free(&text(std::process::id())), "an earlier process with this number");
        assert!(!file.exists(), "a folder is free again when its store is dropped");
        assert!(free("4294967295 1") && free("words"), "nobody");
        assert!(!free(""), "somebody who is about to write it");
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(!free(&text(other.id())), "another program");
        if began(other.id()).is_some() {
            assert!(free(&format!("{} 1", other.id())), "another program with the number of the dead owner");
        }
        let running = text(other.id());
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(free(&running), "a program that has ended");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
    }
}
