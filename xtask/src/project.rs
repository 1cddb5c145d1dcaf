//! Paths in the checkout, and functions that read and write files with errors that name the file.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::run::Result;

static ROOT: OnceLock<PathBuf> = OnceLock::new();

/// The top folder of the sources that are used: of the checkout, or of its copy in the build folder.
pub fn root() -> PathBuf {
    ROOT.get_or_init(checkout).clone()
}

/// The top folder of the checkout in which this program was compiled.
pub fn checkout() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// Makes every task work in a copy of the checkout. Call it before any task.
pub fn work_in(copy: PathBuf) -> Result<()> {
    ROOT.set(copy).map_err(|_| "the folder to work in is already chosen".to_owned())
}

/// The cargo that started xtask, run in the top folder.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

pub fn read_text(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Writes a file, and makes its folders.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    }
    fs::write(path, content).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Removes a file, if it is there.
pub fn forget(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Copies a folder with its content.
pub fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    let mut files = Vec::new();
    collect(from, &mut files)?;
    for file in files {
        write(&to.join(file.strip_prefix(from).unwrap_or(&file)), read(&file)?)?;
    }
    Ok(())
}

/// A fingerprint of the names and contents of the given files and folders, and of `extra`. Equal inputs give an equal
/// fingerprint with the same toolchain; another toolchain only causes a rebuild.
pub fn fingerprint(paths: &[PathBuf], extra: &str) -> Result<String> {
    let mut files = Vec::new();
    for path in paths {
        collect(path, &mut files)?;
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    extra.hash(&mut hasher);
    for file in files {
        file.hash(&mut hasher);
        read(&file)?.hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    let entries = fs::read_dir(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    for entry in entries {
        let entry = entry.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        if entry.file_name() != "target" && entry.file_name() != "node_modules" {
            collect(&entry.path(), files)?;
        }
    }
    Ok(())
}
