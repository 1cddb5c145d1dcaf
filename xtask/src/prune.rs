//! Limits the size of a target folder by removing the oldest artefacts.
//!
//! Cargo does not say what it still uses, so the next build may have to make some removed artefacts again. It notices
//! what is missing: an artefact in `deps` by its file, the output of a build script by its folder in `build`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::run::Result;

struct Artefact {
    made: SystemTime,
    bytes: u64,
    path: PathBuf,
}

/// When all artefacts together are larger than `limit`, removes the oldest ones until half of `limit` is left, so that
/// not every run must do this. Returns the number of bytes removed.
pub fn prune(target: &Path, limit: u64) -> Result<u64> {
    let mut artefacts = Vec::new();
    collect(target, &mut artefacts).map_err(|error| format!("cannot read {}: {error}", target.display()))?;
    let total: u64 = artefacts.iter().map(|artefact| artefact.bytes).sum();
    if total <= limit {
        return Ok(0);
    }
    artefacts.sort_by_key(|artefact| artefact.made);
    let mut freed = 0;
    for artefact in &artefacts {
        if total - freed <= limit / 2 {
            break;
        }
        let removed =
            if artefact.path.is_dir() { fs::remove_dir_all(&artefact.path) } else { fs::remove_file(&artefact.path) };
        removed.map_err(|error| format!("cannot remove {}: {error}", artefact.path.display()))?;
        freed += artefact.bytes;
    }
    Ok(freed)
}

/// Collects files in folders `deps`, and folders in folders `build`, at any depth.
fn collect(folder: &Path, artefacts: &mut Vec<Artefact>) -> std::io::Result<()> {
    let name = folder.file_name().unwrap_or_default();
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let found = fs::symlink_metadata(&path)?;
        if found.is_dir() && name != "build" {
            collect(&path, artefacts)?;
        } else if name == "deps" || name == "build" {
            artefacts.push(Artefact { made: found.modified()?, bytes: size(&path)?, path });
        }
    }
    Ok(())
}

/// Size of a file, or of everything in a folder, in bytes.
fn size(path: &Path) -> std::io::Result<u64> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Ok(found.len());
    }
    fs::read_dir(path)?.map(|entry| size(&entry?.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_oldest_artefacts_go_and_only_above_the_limit() {
        let target = std::env::temp_dir().join(format!("heliograph-prune-{}", std::process::id()));
        let _ = fs::remove_dir_all(&target);
        let now = SystemTime::now();
        // (path, age in hours), 1,000 bytes each.
        let files = [
            ("debug/deps/libold.rlib", 9),
            ("debug/build/old-1/out/made.rs", 8),
            ("wasm32-unknown-unknown/edge/deps/libnew.rlib", 1),
            ("debug/deps/libnewest.rlib", 0),
            // This file is neither in `deps` nor in `build`.
            ("debug/program", 99),
        ];
        for (path, age) in files {
            let path = target.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, [0; 1_000]).unwrap();
            let time = now - Duration::from_secs(age * 3_600);
            fs::File::open(&path).unwrap().set_modified(time).unwrap();
            if age == 8 {
                fs::File::open(target.join("debug/build/old-1")).unwrap().set_modified(time).unwrap();
            }
        }
        let left = || files.map(|(path, _)| target.join(path).exists());
        assert_eq!(prune(&target, 4_000), Ok(0));
        assert_eq!(left(), [true; 5]);
        assert_eq!(prune(&target, 3_999), Ok(3_000));
        assert_eq!(left(), [false, false, false, true, true], "down to half");
        assert!(!target.join("debug/build/old-1").exists());
        assert_eq!(prune(&target.join("absent"), 0), Ok(0));
        fs::remove_dir_all(&target).unwrap();
    }
}
