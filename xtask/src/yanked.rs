//! Finds versions among the workspace's packages that their authors have yanked.
//!
//! Cargo asks the registry, as for an update, and keeps the answers; this module reads their flags. If the registry
//! cannot be reached, the kept answers are used, and the task says so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::packages::{Package, REGISTRY};
use crate::project::cargo;
use crate::run::{Result, notice, within};

/// Time limit for asking.
const PATIENCE: Duration = Duration::from_secs(120);

/// Fails when a version is yanked.
pub fn check(packages: &[Package]) -> Result<()> {
    let mut update = cargo();
    update.args(["update", "--dry-run", "--quiet"]).env("CARGO_NET_RETRY", "1").env("CARGO_HTTP_TIMEOUT", "15");
    // This also fails when a version that is required exactly is yanked; the flags show that.
    let asked = within(&mut update, PATIENCE);
    check_with(&indexes()?, packages, asked)
}

fn check_with(indexes: &[PathBuf], packages: &[Package], asked: Result<()>) -> Result<()> {
    let (mut yanked, mut unknown, mut known) = (Vec::new(), Vec::new(), 0);
    for package in packages.iter().filter(|package| package.source.as_deref() == Some(REGISTRY)) {
        let version = package.version.to_string();
        let flags = indexes.iter().filter_map(|index| flags(index, &package.name)?.remove(&version));
        // An index that cargo no longer asks may have an old answer, so one index that says yanked is enough.
        match flags.max() {
            Some(true) => yanked.push(format!("{} {}", package.name, package.version)),
            Some(false) => known += 1,
            None => unknown.push(package.name.as_str()),
        }
    }
    if !yanked.is_empty() {
        return Err(format!("yanked versions: {}", yanked.join(", ")));
    }
    if let Err(reason) = asked {
        notice(&format!("yanked versions: checked with kept answers only, the registry cannot be reached: {reason}"));
    }
    if !unknown.is_empty() {
        notice(&format!("yanked versions: NOT CHECKED of {} packages: {}", unknown.len(), unknown.join(", ")));
    }
    eprintln!("--- yanked versions: none among {known} packages");
    Ok(())
}

/// The folders in which cargo keeps the registry's answers, one for each way to reach it.
fn indexes() -> Result<Vec<PathBuf>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).ok_or("cargo has no home")?;
    let folder = home.join("registry/index");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let names = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(names.filter(|path| path.join(".cache").is_dir()).collect())
}

/// For each version whether it is yanked. A kept answer has a head, and for each version its number and the registry's
/// JSON about it, each ended by a zero byte.
fn flags(index: &Path, name: &str) -> Option<BTreeMap<String, bool>> {
    #[derive(Deserialize)]
    struct Record {
        vers: String,
        yanked: bool,
    }
    let bytes = std::fs::read(index.join(".cache").join(place(name)?)).ok()?;
    let records = bytes.split(|byte| *byte == 0).filter(|part| part.starts_with(b"{"));
    let records = records.filter_map(|record| serde_json::from_slice::<Record>(record).ok());
    Some(records.map(|record| (record.vers, record.yanked)).collect())
}

/// The path of a package in an index: short names by their length, others by their first four letters.
fn place(name: &str) -> Option<PathBuf> {
    let name = name.to_ascii_lowercase();
    Some(match name.len() {
        length @ (1 | 2) => [&length.to_string(), name.as_str()].iter().collect(),
        3 => ["3", name.get(..1)?, &name].iter().collect(),
        _ => [name.get(..2)?, name.get(2..4)?, &name].iter().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::{package, packages};

    /// Cargo's kept answer for a package with a yanked version.
    const KEPT: &[u8] = b"\x03\x02\0\0\0etag: \"1\"\x001.0.0\0{\"name\":\"short\",\"vers\":\"1.0.0\",\"yanked\":true}\0\
        1.0.1+build\0{\"name\": \"short\", \"vers\": \"1.0.1+build\", \"deps\": [{\"req\":\"^1\"}], \"yanked\": false}\0";

    #[test]
    fn a_yanked_version_is_found_also_when_the_registry_cannot_be_reached() {
        let index = std::env::temp_dir().join(format!("heliograph-yanked-{}", std::process::id()));
        crate::project::write(&index.join(".cache/sh/or/short"), KEPT).unwrap();
        let check = |version: &str| {
            check_with(std::slice::from_ref(&index), &[package("short", version)], Err("no route".into()))
        };
        assert_eq!(check("1.0.0"), Err("yanked versions: short 1.0.0".into()));
        assert_eq!(check("1.0.1+build"), Ok(()));
        // Unknown packages are reported, and do not fail the check.
        assert_eq!(check("3.0.0"), Ok(()));
        assert!(crate::run::notices().iter().any(|text| text.contains("NOT CHECKED of 1 packages: short")));
        assert!(crate::run::notices().iter().any(|text| text.contains("cannot be reached: no route")));
        std::fs::remove_dir_all(index).unwrap();
    }

    /// Fails when a newer cargo keeps its answers in another format.
    #[test]
    fn what_this_cargo_keeps_is_understood() {
        let (indexes, packages) = (indexes().unwrap(), packages().unwrap());
        let of_the_registry = packages.iter().filter(|package| package.source.is_some());
        for package in of_the_registry {
            let known = indexes.iter().filter_map(|index| flags(index, &package.name)).next();
            assert!(known.is_some_and(|flags| flags.contains_key(&package.version.to_string())), "{}", package.name);
        }
    }

    #[test]
    fn an_index_has_its_files_where_cargo_looks() {
        let place = |name| place(name).unwrap().to_str().unwrap().to_owned();
        assert_eq!(["a", "ab", "Abc", "abcd"].map(place), ["1/a", "2/ab", "3/a/abc", "ab/cd/abcd"]);
    }
}
