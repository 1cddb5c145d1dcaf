//! Compares the packages of the workspace with the security advisories of the RustSec database.
//!
//! One branch of the database is in the Open Source Vulnerability format, which is JSON, so no library must be compiled
//! for it. git fetches it into `tools/advisories` each time. If it cannot be reached, the last copy is used; if there
//! is none, nothing is checked. In both cases the task says so and does not fail.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use semver::Version;
use serde::Deserialize;

use crate::packages::Package;
use crate::project::{read, root};
use crate::run::{Result, notice, output, within};

/// The database, and its branch in that format.
const DATABASE: &str = "https://github.com/RustSec/advisory-db";
const BRANCH: &str = "osv";

/// Time limit for fetching.
const PATIENCE: Duration = Duration::from_secs(60);

/// Fails when an advisory that is not in `ignored` concerns a package. Packages that are only unmaintained are
/// reported.
pub fn check(packages: &[Package], ignored: &[&str]) -> Result<()> {
    check_with(DATABASE, &root().join("tools/advisories"), packages, ignored)
}

fn check_with(database: &str, folder: &Path, packages: &[Package], ignored: &[&str]) -> Result<()> {
    if let Err(reason) = fetch(database, folder) {
        match date(folder) {
            Ok(date) => {
                notice(&format!("advisories: checked as of {date} only, {database} cannot be reached: {reason}"))
            }
            Err(_) => {
                notice(&format!("advisories: NOT CHECKED, {database} cannot be reached: {reason}"));
                return Ok(());
            }
        }
    }
    let database = load(&folder.join("crates"))?;
    let (mut found, mut told) = (Vec::new(), Vec::new());
    for package in packages.iter().filter(|package| package.source.is_some()) {
        for (id, advisory) in database.iter().filter(|(id, _)| !ignored.contains(&id.as_str())) {
            let Some(affected) = advisory.affected(package) else { continue };
            let line = format!("{} {}: {id}, {}", package.name, package.version, advisory.summary);
            if affected.is_for_information() { told.push(line) } else { found.push(line) }
        }
    }
    for line in told {
        notice(&format!("advisories: {line}"));
    }
    eprintln!("--- advisories: {} known, {} about what is used", database.len(), found.len());
    if found.is_empty() { Ok(()) } else { Err(format!("security advisories:\n  {}", found.join("\n  "))) }
}

/// Updates the folder to the newest state. It also works after an interrupted run.
fn fetch(database: &str, folder: &Path) -> Result<()> {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(folder).args(arguments).env("GIT_TERMINAL_PROMPT", "0");
        // A git hook that runs this sets them for the project's own repository.
        for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(variable);
        }
        within(&mut command, PATIENCE)
    };
    fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    git(&["init", "--quiet"])?;
    git(&["fetch", "--quiet", "--depth=1", database, BRANCH])?;
    git(&["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"])
}

/// The date of the present state.
fn date(folder: &Path) -> Result<String> {
    if !folder.join("crates").is_dir() {
        return Err("there is no copy".into());
    }
    let log = output("git log", Command::new("git").arg("-C").arg(folder).args(["log", "-1", "--format=%cs"]))?;
    Ok(String::from_utf8_lossy(&log).trim().to_owned())
}

/// The members of <https://ossf.github.io/osv-schema/> that are used.
#[derive(Deserialize)]
struct Advisory {
    id: String,
    #[serde(default)]
    summary: String,
    withdrawn: Option<String>,
    #[serde(default)]
    affected: Vec<Affected>,
}

#[derive(Deserialize)]
struct Affected {
    package: AdvisoryPackage,
    #[serde(default)]
    ranges: Vec<Range>,
    #[serde(default)]
    versions: Vec<String>,
    #[serde(default)]
    database_specific: Specific,
}

#[derive(Deserialize)]
struct AdvisoryPackage {
    name: String,
}

#[derive(Deserialize)]
struct Range {
    events: Vec<Event>,
}

/// One event of a range, in the order of versions.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    Introduced(Version),
    Fixed(Version),
    LastAffected(Version),
}

#[derive(Deserialize, Default)]
struct Specific {
    /// `unsound` concerns safety; `unmaintained` and `notice` do not.
    informational: Option<String>,
}

impl Advisory {
    fn affected(&self, package: &Package) -> Option<&Affected> {
        self.affected.iter().find(|affected| affected.package.name == package.name && affected.has(&package.version))
    }
}

impl Affected {
    fn has(&self, version: &Version) -> bool {
        self.ranges.iter().any(|range| range.has(version)) || self.versions.contains(&version.to_string())
    }

    fn is_for_information(&self) -> bool {
        self.database_specific.informational.as_deref().is_some_and(|kind| kind != "unsound")
    }
}

impl Range {
    fn has(&self, version: &Version) -> bool {
        self.events.iter().fold(false, |inside, event| match event {
            Event::Introduced(first) => inside || version >= first,
            Event::Fixed(fixed) => inside && version < fixed,
            Event::LastAffected(last) => inside && version <= last,
        })
    }
}

/// All advisories that are not withdrawn, by id.
fn load(folder: &Path) -> Result<BTreeMap<String, Advisory>> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let advisory: Advisory =
            serde_json::from_slice(&read(&path)?).map_err(|error| format!("{}: {error}", path.display()))?;
        if advisory.withdrawn.is_none() {
            all.insert(advisory.id.clone(), advisory);
        }
    }
    // A database in an unknown format must not look like one without advisories.
    if all.is_empty() { Err(format!("{} holds no advisory", folder.display())) } else { Ok(all) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::package;
    use crate::project::write;
    use crate::run::notices;
    use serde_json::{Value, json};

    fn advisory(id: &str, name: &str, kind: Option<&str>, events: &Value) -> Value {
        json!({
            "id": id, "modified": "2026-01-01T00:00:00Z", "summary": "it leaks",
            "affected": [{
                "package": { "ecosystem": "crates.io", "name": name },
                "database_specific": { "informational": kind },
                "ranges": [{ "type": "SEMVER", "events": events }],
                "versions": [],
            }],
        })
    }

    /// A database in a git repository, and the folder for the copy.
    struct TestDatabase(std::path::PathBuf);

    impl TestDatabase {
        fn new(test: &str) -> TestDatabase {
            let folder = std::env::temp_dir().join(format!("heliograph-advisories-{test}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(folder.join("database")).unwrap();
            let place = TestDatabase(folder);
            place.git(&["init", "--quiet", "--initial-branch", BRANCH]);
            place
        }

        fn git(&self, arguments: &[&str]) {
            let identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"];
            let mut command = Command::new("git");
            command.args(identity).args(arguments).current_dir(self.0.join("database"));
            assert!(command.status().unwrap().success());
        }

        fn publish(&self, advisory: &Value) {
            let name = format!("database/crates/{}.json", advisory["id"].as_str().unwrap());
            write(&self.0.join(name), advisory.to_string()).unwrap();
            self.git(&["add", "--all"]);
            self.git(&["commit", "--quiet", "--message", "One more"]);
        }

        fn check(&self, packages: &[Package], ignored: &[&str]) -> Result<()> {
            let database = format!("file://{}", self.0.join("database").display());
            check_with(&database, &self.0.join("copy"), packages, ignored)
        }
    }

    impl Drop for TestDatabase {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn an_advisory_about_a_version_that_is_used_fails_unless_it_is_ignored_by_name() {
        let place = TestDatabase::new("found");
        let events = json!([{ "introduced": "0.0.0-0" }, { "fixed": "1.0.2" }, { "introduced": "2.0.0" }]);
        place.publish(&advisory("A-1", "leaky", None, &events));
        let used = |version: &str| place.check(&[package("other", "1.0.0"), package("leaky", version)], &[]);
        assert_eq!(used("1.0.1"), Err("security advisories:\n  leaky 1.0.1: A-1, it leaks".into()));
        assert_eq!((used("1.0.2"), used("1.9.0")), (Ok(()), Ok(())));
        assert!(used("2.1.0").is_err());
        assert_eq!(place.check(&[package("leaky", "1.0.1")], &["A-1"]), Ok(()));
        // The next run sees an advisory that was published since. `unsound` fails the check; `unmaintained` is only
        // reported.
        place.publish(&advisory("A-2", "other", Some("unsound"), &json!([{ "introduced": "0.0.0-0" }])));
        assert!(place.check(&[package("other", "1.0.0")], &[]).is_err());
        place.publish(&advisory("A-3", "left", Some("unmaintained"), &json!([{ "introduced": "0.0.0-0" }])));
        assert_eq!(place.check(&[package("left", "1.0.0")], &[]), Ok(()));
        assert!(notices().contains(&"advisories: left 1.0.0: A-3, it leaks".to_owned()));
        let mut withdrawn = advisory("A-2", "other", None, &json!([{ "introduced": "0.0.0-0" }]));
        withdrawn["withdrawn"] = json!("2026-02-01T00:00:00Z");
        place.publish(&withdrawn);
        assert_eq!(place.check(&[package("other", "1.0.0")], &[]), Ok(()));
    }

    #[test]
    fn a_database_that_cannot_be_reached_fails_nothing_but_is_told_and_the_last_copy_counts() {
        let place = TestDatabase::new("unreachable");
        let gone = format!("file://{}", place.0.join("nowhere").display());
        let check = |database: &str| check_with(database, &place.0.join("copy"), &[package("leaky", "1.0.0")], &[]);
        let told = |text: &str| notices().iter().any(|notice| notice.contains(text) && notice.contains(&gone));
        assert_eq!(check(&gone), Ok(()));
        assert!(told("NOT CHECKED"));
        place.publish(&advisory("A-1", "leaky", None, &json!([{ "introduced": "0.0.0-0" }])));
        assert!(place.check(&[package("leaky", "1.0.0")], &[]).is_err());
        assert!(check(&gone).is_err());
        assert!(told("checked as of 2"));
    }

    #[test]
    fn a_database_that_cannot_be_understood_is_not_taken_for_an_empty_one() {
        let place = TestDatabase::new("strange");
        place.publish(&json!({ "id": "A-1", "affected": [{ "package": "leaky" }] }));
        assert!(place.check(&[], &[]).is_err());
    }
}
