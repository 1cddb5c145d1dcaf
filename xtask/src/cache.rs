//! The build folder in the user's cache: a copy of the sources, and everything that was built from them.
//!
//! Cargo finds changes by modification times, and in a new clone every file is new, so a kept target folder would only
//! help with the libraries. Therefore the sources are copied into a permanent folder, and a file is written only if its
//! content changed. Tools, bundles and Node's modules are in the same folder, since all of them are found from the top
//! of the sources. With an empty cache a run only takes longer.
//!
//! ```text
//! <cache>/lock       held while a run uses the folder
//! <cache>/source/    the copy, with target/, tools/, build/, ... in it
//! <cache>/shared     link to what lies beside the checkout: tests look for sample data there
//! ```

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::prune;
use crate::run::{Result, output};

/// Environment variable that names the folder. If it is unset or empty, the build is in the checkout. `.ci/run` sets
/// it.
pub const VARIABLE: &str = "HELIOGRAPH_BUILD_CACHE";

/// Folder beside the checkout that tests read.
const BESIDE: &str = "shared";

/// Most bytes of compiled artefacts. One build takes about a third of it; the rest are artefacts of other versions.
const LIMIT: u64 = 24_000_000_000;

/// The folder, locked for this run.
pub struct Cache {
    folder: PathBuf,
    lock: File,
}

/// The changes that a copy made.
#[derive(Debug, PartialEq, Eq)]
pub struct Copied {
    pub files: usize,
    pub written: usize,
    pub removed: usize,
}

impl Drop for Cache {
    /// Closing the file would not do: a program that another thread is just starting has the lock too, until it runs.
    fn drop(&mut self) {
        // When the process ends, the lock ends anyway.
        let _ = self.lock.unlock();
    }
}

impl Cache {
    /// Opens or creates the folder. Fails with a reason if the folder cannot be written, if another run uses it, or if
    /// it is in the checkout, since it would then be copied into itself.
    pub fn open(folder: &Path, checkout: &Path) -> Result<Cache> {
        let failed = |error: std::io::Error| format!("cannot write to {}: {error}", folder.display());
        fs::create_dir_all(folder.join("source")).map_err(failed)?;
        let folder = folder.canonicalize().map_err(failed)?;
        if folder.starts_with(checkout.canonicalize().map_err(failed)?) {
            return Err(format!("{} is in the checkout", folder.display()));
        }
        let lock = File::create(folder.join("lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(format!("another run uses {}", folder.display())),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        // Tests with a file in the folder of the sources: an old lock file may be writable when the folder is not.
        let writable = folder.join("source/.writable");
        fs::write(&writable, "").and_then(|()| fs::remove_file(&writable)).map_err(failed)?;
        Ok(Cache { folder, lock })
    }

    /// The top folder of the copied sources.
    pub fn source(&self) -> PathBuf {
        self.folder.join("source")
    }

    /// Makes the copy equal to the work tree of the checkout: git's files, and new files that git does not ignore.
    pub fn copy(&self, checkout: &Path) -> Result<Copied> {
        let source = self.source();
        let wanted = present(checkout, git(checkout, &["ls-files"])?);
        if wanted.is_empty() {
            return Err(format!("git knows no file of {}", checkout.display()));
        }
        let mut written = 0;
        for file in &wanted {
            written += usize::from(copy_file(checkout, &source, file)?);
        }
        let removed = self.remove_others(checkout, &wanted)?;
        self.link(checkout)?;
        Ok(Copied { files: wanted.len(), written, removed })
    }

    /// Removes files of the copy that the checkout no longer has. Files that git ignores, such as everything that was
    /// built, stay.
    fn remove_others(&self, checkout: &Path, wanted: &BTreeSet<PathBuf>) -> Result<usize> {
        let source = self.source();
        let mut git_dir =
            output("git", Command::new("git").args(["rev-parse", "--absolute-git-dir"]).current_dir(checkout))?;
        git_dir.pop_if(|byte| *byte == b'\n');
        let (mut git_dir_option, mut tree_option) =
            (OsStr::new("--git-dir=").to_owned(), OsStr::new("--work-tree=").to_owned());
        git_dir_option.push(OsStr::from_bytes(&git_dir));
        tree_option.push(&source);
        let mut command = Command::new("git");
        command.arg(git_dir_option).arg(tree_option).arg("ls-files").current_dir(&source);
        let mut removed = 0;
        for file in present(&source, listed(command)?).difference(wanted) {
            let path = source.join(file);
            fs::remove_file(&path).map_err(|error| format!("cannot remove {}: {error}", path.display()))?;
            removed += 1;
            // Removes empty parent folders, up to the first that is not empty.
            let mut folder = path.parent();
            while let Some(empty) = folder.filter(|folder| *folder != source && fs::remove_dir(folder).is_ok()) {
                folder = empty.parent();
            }
        }
        Ok(removed)
    }

    /// Tests look for sample data beside the sources and are skipped without it, so the folder beside the checkout must
    /// also be beside the copy.
    fn link(&self, checkout: &Path) -> Result<()> {
        let link = self.folder.join(BESIDE);
        let failed = |error: std::io::Error| format!("cannot link {}: {error}", link.display());
        if link.is_symlink() {
            fs::remove_file(&link).map_err(failed)?;
        }
        match checkout.join("..").join(BESIDE).canonicalize() {
            Ok(there) => std::os::unix::fs::symlink(there, &link).map_err(failed),
            Err(_) => Ok(()),
        }
    }

    /// Limits the size of the compiled artefacts.
    pub fn bound(&self) -> Result<()> {
        let freed = prune::prune(&self.source().join("target"), LIMIT)?;
        if freed > 0 {
            eprintln!("--- build folder: {} MB of the oldest artefacts removed", freed / 1_000_000);
        }
        Ok(())
    }
}

fn git(folder: &Path, arguments: &[&str]) -> Result<Vec<PathBuf>> {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(folder);
    listed(command)
}

/// Paths that `git ls-files` prints: files in the index, and new files that are not ignored.
fn listed(mut command: Command) -> Result<Vec<PathBuf>> {
    let names = output("git ls-files", command.args(["-z", "--cached", "--others", "--exclude-standard"]))?;
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
}

/// The paths that exist as files or links: a removed file may still be in git's index.
fn present(folder: &Path, files: Vec<PathBuf>) -> BTreeSet<PathBuf> {
    let is_file = |file: &PathBuf| fs::symlink_metadata(folder.join(file)).is_ok_and(|found| !found.is_dir());
    files.into_iter().filter(is_file).collect()
}

/// Makes a file of the copy equal to that of the checkout; false when it was equal already. An equal file keeps its
/// time.
fn copy_file(checkout: &Path, copy: &Path, file: &Path) -> Result<bool> {
    let failed = |error: std::io::Error| format!("cannot copy {}: {error}", file.display());
    let (from, to) = (checkout.join(file), copy.join(file));
    let wanted = fs::symlink_metadata(&from).map_err(failed)?;
    if wanted.is_symlink() {
        let target = fs::read_link(&from).map_err(failed)?;
        if fs::read_link(&to).is_ok_and(|found| found == target) {
            return Ok(false);
        }
        clear(copy, file).and_then(|()| std::os::unix::fs::symlink(target, to)).map_err(failed)?;
        return Ok(true);
    }
    let bytes = fs::read(&from).map_err(failed)?;
    let mode = mode(&wanted);
    let same = fs::symlink_metadata(&to).is_ok_and(|found| found.is_file() && self::mode(&found) == mode);
    if same && fs::read(&to).is_ok_and(|found| found == bytes) {
        return Ok(false);
    }
    clear(copy, file).and_then(|()| fs::write(&to, bytes)).map_err(failed)?;
    fs::set_permissions(&to, fs::Permissions::from_mode(mode)).map_err(failed)?;
    Ok(true)
}

/// The part of a file's mode that git keeps: whether it is executable.
fn mode(file: &fs::Metadata) -> u32 {
    if file.permissions().mode() & 0o100 == 0 { 0o644 } else { 0o755 }
}

/// Makes room for a file: removes anything in its place, and makes its folders.
fn clear(copy: &Path, file: &Path) -> std::io::Result<()> {
    let mut folder = copy.to_path_buf();
    for part in file.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        if fs::symlink_metadata(&folder).is_ok_and(|found| !found.is_dir()) {
            fs::remove_file(&folder)?;
        }
    }
    fs::create_dir_all(&folder)?;
    let path = copy.join(file);
    match fs::symlink_metadata(&path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    /// A checkout with a folder beside it, and a place for a cache; removed at the end.
    struct TestCheckout(PathBuf);

    impl TestCheckout {
        fn new(test: &str) -> TestCheckout {
            let folder = std::env::temp_dir().join(format!("heliograph-cache-{test}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            let place = TestCheckout(folder.canonicalize().unwrap());
            place.clone_of("checkout");
            place
        }

        /// Makes a git repository of a few files.
        fn clone_of(&self, name: &str) {
            let files = [
                (".gitignore", "/target\nnode_modules\n"),
                ("Cargo.toml", "one"),
                ("core/src/lib.rs", "two"),
                ("core/src/deep/only.rs", "three"),
                ("run", "four"),
            ];
            for (file, text) in files {
                write(&self.0.join(name).join(file), text);
            }
            fs::set_permissions(self.0.join(name).join("run"), fs::Permissions::from_mode(0o755)).unwrap();
            for arguments in [&["init", "--quiet"][..], &["add", "--all"]] {
                let status = Command::new("git").args(arguments).current_dir(self.0.join(name)).status().unwrap();
                assert!(status.success());
            }
        }

        fn checkout(&self) -> PathBuf {
            self.0.join("checkout")
        }

        fn open(&self) -> Result<Cache> {
            Cache::open(&self.0.join("cache"), &self.checkout())
        }

        fn copied(&self, file: &str) -> PathBuf {
            self.0.join("cache/source").join(file)
        }

        fn text(&self, file: &str) -> Option<String> {
            fs::read_to_string(self.copied(file)).ok()
        }

        fn time(&self, file: &str) -> SystemTime {
            fs::metadata(self.copied(file)).unwrap().modified().unwrap()
        }
    }

    impl Drop for TestCheckout {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn only_files_with_another_content_are_touched_although_all_are_new_in_a_fresh_clone() {
        let place = TestCheckout::new("content");
        let cache = place.open().unwrap();
        assert_eq!(cache.copy(&place.checkout()), Ok(Copied { files: 5, written: 5, removed: 0 }));
        assert_eq!(mode(&fs::metadata(place.copied("run")).unwrap()), 0o755);
        let before = place.time("Cargo.toml");
        drop(cache);
        std::thread::sleep(std::time::Duration::from_millis(20));

        place.clone_of("second");
        let second = place.0.join("second");
        write(&second.join("core/src/lib.rs"), "TWO");
        write(&second.join("core/src/new.rs"), "not yet known to git");
        let cache = place.open().unwrap();
        assert_eq!(cache.copy(&second), Ok(Copied { files: 6, written: 2, removed: 0 }));
        assert_eq!(place.time("Cargo.toml"), before);
        assert!(place.time("core/src/lib.rs") > before);
        assert_eq!(place.text("core/src/new.rs").unwrap(), "not yet known to git");
        // Back to the first clone: the file that only the second one had is removed.
        assert_eq!(cache.copy(&place.checkout()), Ok(Copied { files: 5, written: 1, removed: 1 }));
        assert_eq!(place.text("core/src/lib.rs").unwrap(), "two");
        // A file that is no longer executable counts as changed.
        fs::set_permissions(place.checkout().join("run"), fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(cache.copy(&place.checkout()).unwrap().written, 1);
        assert_eq!(cache.copy(&place.checkout()).unwrap().written, 0);
    }

    #[test]
    fn files_that_vanished_go_and_what_was_built_stays() {
        let place = TestCheckout::new("vanished");
        let cache = place.open().unwrap();
        cache.copy(&place.checkout()).unwrap();
        for built in ["target/debug/program", "core/node_modules/a/index.js"] {
            write(&place.copied(built), "built");
        }
        // One file is missing only in the work tree, while git still knows it; one is now a folder, and one is a link.
        fs::remove_file(place.checkout().join("core/src/deep/only.rs")).unwrap();
        fs::remove_file(place.checkout().join("Cargo.toml")).unwrap();
        write(&place.checkout().join("Cargo.toml/inside"), "five");
        std::os::unix::fs::symlink("core/src/lib.rs", place.checkout().join("link")).unwrap();
        assert_eq!(cache.copy(&place.checkout()), Ok(Copied { files: 5, written: 2, removed: 1 }));
        assert!(!place.copied("core/src/deep").exists(), "an empty folder");
        assert_eq!(place.text("Cargo.toml/inside").unwrap(), "five");
        assert_eq!(fs::read_link(place.copied("link")).unwrap(), Path::new("core/src/lib.rs"));
        assert_eq!(place.text("target/debug/program").unwrap(), "built");
        assert_eq!(place.text("core/node_modules/a/index.js").unwrap(), "built");
        assert_eq!(cache.copy(&place.checkout()).unwrap().written, 0);
    }

    #[test]
    fn a_copy_that_was_interrupted_is_completed() {
        let place = TestCheckout::new("interrupted");
        let cache = place.open().unwrap();
        cache.copy(&place.checkout()).unwrap();
        fs::write(place.copied("Cargo.toml"), "o").unwrap();
        fs::remove_file(place.copied("run")).unwrap();
        fs::remove_dir_all(place.copied("core/src/deep")).unwrap();
        write(&place.copied("core/src/deep"), "a file in the place of a folder");
        write(&place.copied("left/over.rs"), "of another commit");
        drop(cache);
        let copied = place.open().unwrap().copy(&place.checkout());
        assert_eq!(copied, Ok(Copied { files: 5, written: 3, removed: 1 }));
        assert_eq!(place.text("core/src/deep/only.rs").unwrap(), "three");
        assert!(place.text("left/over.rs").is_none());
    }

    #[test]
    fn a_folder_that_cannot_be_written_or_is_in_use_is_refused_with_the_reason() {
        let place = TestCheckout::new("refused");
        let refused = |cache: Result<Cache>| cache.err().unwrap();
        let held = place.open().unwrap();
        assert!(refused(place.open()).contains("another run uses"));
        drop(held);
        assert!(place.open().is_ok());
        write(&place.0.join("file"), "");
        let error = refused(Cache::open(&place.0.join("file/cache"), &place.checkout()));
        assert!(error.starts_with("cannot write to "), "{error}");
        let error = refused(Cache::open(&place.checkout().join("cache"), &place.checkout()));
        assert!(error.ends_with("is in the checkout"), "{error}");
        // Without git the sources are unknown.
        assert!(place.open().unwrap().copy(&place.0.join("file")).is_err());
    }

    #[test]
    fn sample_data_beside_the_checkout_lie_beside_the_copy_so_that_no_test_is_skipped() {
        let place = TestCheckout::new("beside");
        let cache = place.open().unwrap();
        cache.copy(&place.checkout()).unwrap();
        let seen = place.copied("tests/../../shared/data/sample");
        assert!(!place.0.join("cache/shared").is_symlink());
        write(&place.0.join("shared/data/sample"), "sample");
        fs::create_dir_all(place.copied("tests")).unwrap();
        cache.copy(&place.checkout()).unwrap();
        assert_eq!(fs::read_to_string(&seen).unwrap(), "sample");
        // A link to a folder that no longer exists is removed.
        fs::remove_dir_all(place.0.join("shared")).unwrap();
        cache.copy(&place.checkout()).unwrap();
        assert!(!place.0.join("cache/shared").is_symlink());
    }
}
