//! `heliograph db restore`: checks a backup, and puts it in the place of the data file.

use std::fs::File;
use std::path::{Path, PathBuf};

use heliograph_core::app::admin::DbInfo;

use super::args::Common;
use super::client::Client;
use super::db::check_file;
use crate::files::{self, Tried};
use crate::store::{OpenError, Options, Store};
use crate::{keyfile, owner};

pub fn run(common: &Common, backup: &Path, (only_check, replace): (bool, bool)) -> Result<(), String> {
    if common.to.is_some() {
        return Err("a running server cannot be restored: stop it, then run this command without --to".to_owned());
    }
    if only_check {
        say!("{}\n{} can be restored", check(common, backup)?, backup.display());
        return Ok(());
    }
    let data = &common.data;
    if data.is_dir() {
        return Err(format!("{} is a folder; name the data file in it", data.display()));
    }
    if data.exists() && !replace {
        return Err(format!("{} exists; move it away, or take --replace to lose what is in it only", data.display()));
    }
    if same(backup, data) {
        return Err(format!("{} is the data file itself; name the backup", backup.display()));
    }
    // Held open, so that no server begins with the file meanwhile.
    let _held = if data.exists() { held(data)? } else { None };
    say!("{}", check(common, backup)?);
    put(backup, data).map_err(|why| format!("cannot restore {}: {why}", data.display()))?;
    say!("{} is in the place of {}; start the server", backup.display(), common.data.display());
    Ok(())
}

/// Reads every page of the backup, opens it with its keys as a server would, and changes nothing in it.
fn check(common: &Common, backup: &Path) -> Result<String, String> {
    let key = keyfile::path_for(backup);
    files::open(backup)?;
    if !key.exists() {
        return Err(format!(
            "{} is missing: a backup is two files, and the second is the key file that stood beside the data file",
            key.display()
        ));
    }
    let sound = check_file(backup, "this backup cannot be restored; take another one")?;
    let there = Common { data: backup.to_owned(), ..common.clone() };
    let info: DbInfo = Client::open_looking(&there)?.get("/v1/admin/db")?;
    let actors: u64 = info.file.actors.values().sum();
    Ok(format!(
        "{sound}\ndeployment {} (brand {}, created {}), {actors} actors",
        info.deployment, info.brand, info.created_at
    ))
}

fn same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Puts both files in their places, or leaves nothing beside them. Journals of the file before belong to none of them.
fn put(backup: &Path, data: &Path) -> Result<(), String> {
    let (draft, key) = (beside(data, ".restore"), beside(data, ".restore.key"));
    let into_place = || {
        for journal in journals(data)? {
            std::fs::remove_file(journal)?;
        }
        std::fs::rename(&key, keyfile::path_for(data))?;
        std::fs::rename(&draft, data)?;
        File::open(files::folder(data))?.sync_all()
    };
    let placed = copy(backup, &draft, data)
        .and_then(|()| copy(&keyfile::path_for(backup), &key, &keyfile::path_for(data)))
        .and_then(|()| into_place().map_err(|error: std::io::Error| Tried::Write.why(data, &error)));
    if placed.is_err() {
        // The operator gets the first error, not one of these removals.
        drop((std::fs::remove_file(&draft), std::fs::remove_file(&key)));
    }
    placed
}

/// The file that is to be replaced, unless it is too damaged to be opened.
fn held(data: &Path) -> Result<Option<Store>, String> {
    // What is only in its journals is lost anyway; a journal that does not fit must not keep a backup away.
    match Store::open(Options { journal: Some(0), alone: true, ..Options::new(data) }) {
        Ok(store) => Ok(Some(store)),
        Err(OpenError::InUse(_)) => {
            Err(format!("{} is in use by another process, probably a running server; stop it first", data.display()))
        }
        Err(_) => Ok(None),
    }
}

fn beside(data: &Path, end: &str) -> PathBuf {
    let mut name = data.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// A durable copy that only its owner may read: whoever the file belonged to whose place it takes.
fn copy(from: &Path, to: &Path, place: &Path) -> Result<(), String> {
    let mut how = std::fs::OpenOptions::new();
    how.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut how, 0o600);
    let mut source = files::open(from)?;
    let mut write = || {
        let mut target = how.open(to)?;
        owner::hand_over(&target, place)?;
        std::io::copy(&mut source, &mut target)?;
        target.sync_all()
    };
    write().map_err(|error: std::io::Error| Tried::Write.cannot(to, &error))
}

/// The journals beside a data file.
fn journals(data: &Path) -> std::io::Result<Vec<PathBuf>> {
    let prefix = format!("{}.journal-", data.file_name().unwrap_or_default().to_string_lossy());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(files::folder(data))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            found.push(entry.path());
        }
    }
    Ok(found)
}
