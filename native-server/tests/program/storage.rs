//! Full and read-only disks, damaged files, and commands that only read.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use heliograph::keyfile;
use heliograph::testing::folder;
use serde_json::json;

use super::{Server, bad, data, get, good, heliograph, post, run};

/// A small file system for one test, where this machine permits it.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: &Path, size: &str) -> Option<Disk> {
        std::fs::create_dir_all(at).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(at).stderr(Stdio::null());
        match mount.status().is_ok_and(|status| status.success()) {
            true => Some(Disk(at.to_owned())),
            false => {
                println!("skipped: this machine mounts no file system for a test");
                None
            }
        }
    }

    fn make_read_only(&self) {
        assert!(Command::new("mount").args(["-o", "remount,ro"]).arg(&self.0).status().unwrap().success());
    }

    /// Takes all free space.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = std::fs::File::create(&path).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// A server that writes its log to a file.
fn logged(path: &Path, log: &Path) -> Server {
    let mut command = heliograph(path);
    command.args(["--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
    command.stderr(std::fs::File::create(log).unwrap());
    Server::of(command.spawn().unwrap())
}

fn lines(log: &Path, what: &str) -> usize {
    BufReader::new(std::fs::File::open(log).unwrap())
        .lines()
        .filter(|line| line.as_ref().unwrap().contains(what))
        .count()
}

fn errors(log: &Path) -> usize {
    lines(log, " ERROR ")
}

fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_full_disk_is_told_with_its_reason_once_and_writes_go_on_when_there_is_room() {
    let folder = folder("full");
    let Some(disk) = Disk::mount(&folder.file("disk"), "12m") else { return };
    let (path, log) = (disk.0.join("d.redb"), folder.file("log"));
    let server = logged(&path, &log);
    let of = |route: &str| get(&format!("{}{route}", server.base), ("x-a", "b"));
    let register = || post(&format!("{}/v1/agent/register", server.base), ("x-a", "b"), &json!({}));
    let did = register().1["did"].as_str().unwrap().to_owned();
    let filler = disk.fill();
    let mut refused = json!(null);
    wait("a write that fails", || {
        let (status, body) = register();
        refused = body;
        status == 503
    });
    assert!(refused["message"].as_str().unwrap().contains("No space left on device"), "{refused}");
    for _ in 0..20 {
        let (status, body) = of("/readyz");
        assert_eq!(status, 503);
        assert!(body["message"].as_str().unwrap().contains("No space left on device"), "{body}");
        let (status, body) = of("/health");
        assert_eq!((status, body["status"].as_str()), (200, Some("degraded")));
        assert!(body["checks"]["writes"].as_str().unwrap().contains("No space left on device"), "{body}");
        assert_eq!(of("/healthz").0, 200);
    }
    std::fs::remove_file(filler).unwrap();
    wait("writes to go on", || of("/readyz").0 == 200);
    assert_eq!(register().0, 201);
    assert_eq!(of(&format!("/v1/agent/identity/{did}")).0, 200, "what was answered is there");
    let (_, body) = of("/health");
    assert_eq!((body["status"].as_str(), body["checks"]["writes"].as_str()), (Some("ok"), Some("ok")));
    server.stop();
    let told = std::fs::read_to_string(&log).unwrap();
    // Whichever meets the full disk first: a write, or the rows of earlier ones on their way into the data file.
    let first = lines(&log, "takes no writes: ") + lines(&log, "does not take what is in its journal: ");
    assert_eq!((first, errors(&log)), (1, 1), "{told}");
    assert_eq!(lines(&log, &format!("{} takes writes again", path.display())), 1, "{told}");
    // A command on the file gives the same reason.
    let filler = disk.fill();
    let mut error = String::new();
    wait("a command that fails", || {
        let output = run(&path, &["keys", "create", "--tier", "bench"]);
        error = String::from_utf8(output.stderr).unwrap();
        !output.status.success()
    });
    assert!(error.contains("No space left on device"), "{error}");
    std::fs::remove_file(filler).unwrap();
    assert!(good(&path, &["db", "check"]).contains("sound"));
}

/// The content of the data file and of its key file.
fn state(path: &Path) -> (Vec<u8>, Vec<u8>) {
    (std::fs::read(path).unwrap(), std::fs::read(keyfile::path_for(path)).unwrap())
}

#[test]
fn to_look_at_a_file_changes_nothing_of_it_even_after_a_crash() {
    let (folder, path) = data("look");
    let mut server = Server::start(&path);
    for _ in 0..5 {
        assert_eq!(post(&format!("{}/v1/agent/register", server.base), ("x-a", "b"), &json!({})).0, 201);
    }
    server.kill();
    let before = state(&path);
    let files = || std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect::<BTreeSet<_>>();
    let there = files();
    let checked = run(&path, &["db", "check"]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert!(String::from_utf8(checked.stderr).unwrap().contains("was not closed cleanly"));
    let info: serde_json::Value = serde_json::from_str(&good(&path, &["db", "info", "--json"])).unwrap();
    assert_eq!(info["actors"]["agent"], 5);
    assert!(state(&path) == before, "the file has changed");
    // Data, keys and the journal of the server, and nothing else is left.
    assert_eq!(files(), there);
}

#[test]
fn a_file_on_a_disk_that_cannot_be_written_is_looked_at_and_else_refused_with_the_reason() {
    let (folder, path) = data("read-only");
    good(&path, &["keys", "create", "--tier", "bench"]);
    let Some(disk) = Disk::mount(&folder.file("disk"), "12m") else { return };
    let there = disk.0.join("d.redb");
    std::fs::copy(&path, &there).unwrap();
    std::fs::copy(keyfile::path_for(&path), keyfile::path_for(&there)).unwrap();
    disk.make_read_only();
    assert!(good(&there, &["db", "check"]).contains("sound"));
    assert!(good(&there, &["db", "info"]).contains("1 account"));
    let error = bad(&there, &["keys", "create", "--tier", "bench"]);
    assert!(error.contains("its file system is read-only"), "{error}");
}

/// Position of the last page of agents' rows in the file.
fn leaf_of_agents(path: &Path) -> u64 {
    let options = heliograph::store::Options { looking: true, ..heliograph::store::Options::new(path) };
    let store = heliograph::store::Store::open(options).unwrap();
    let pages = heliograph::store::pages_in_use(&store).unwrap();
    let of_agents = |actors: &[String]| actors.iter().all(|actor| actor.starts_with("agent/"));
    pages.iter().rfind(|page| page.table == "rows" && page.kind == "leaf" && of_agents(&page.actors)).unwrap().offset
}

#[test]
fn a_damaged_file_is_named_by_check_and_copied_by_nothing() {
    let (folder, path) = data("damaged");
    let server = Server::start(&path);
    for _ in 0..60 {
        assert_eq!(post(&format!("{}/v1/agent/register", server.base), ("x-a", "b"), &json!({})).0, 201);
    }
    server.stop();
    let at = leaf_of_agents(&path);
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at + 100).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at + 100).unwrap();
    drop(file);
    let before = state(&path);
    let error = bad(&path, &["db", "check"]);
    assert!(error.contains("damaged: page ") && error.contains("leaf of rows, "), "{error}");
    assert!(error.contains(&format!("byte {at}")), "{error}");
    assert!(state(&path) == before);
    let copy = folder.file("copy.redb");
    let error = bad(&path, &["db", "backup", copy.to_str().unwrap()]);
    assert!(error.contains("DAMAGED"), "{error}");
    assert!(!copy.exists());
    let error = bad(&path, &["dump", folder.file("dump").to_str().unwrap()]);
    assert!(error.contains("DAMAGED"), "{error}");
    assert!(!folder.file("dump").exists());
    // The server runs on the file, and says where it is damaged.
    let server = Server::start(&path);
    let error = bad(&path, &["db", "check", "--to", &server.base]);
    assert!(error.contains("damaged: page ") && error.contains("leaf of rows, "), "{error}");
    let (_, health) = get(&format!("{}/health", server.base), ("x-a", "b"));
    assert_eq!((health["status"].as_str(), health["checks"]["damaged_pages"].as_u64()), (Some("degraded"), Some(1)));
    // A new agent has a random name, so its row may belong into the damaged leaf.
    let register = |_| post(&format!("{}/v1/agent/register", server.base), ("x-a", "b"), &json!({})).0;
    let statuses: Vec<u16> = (0..20).map(register).collect();
    assert!(statuses.contains(&201) && statuses.iter().all(|status| [201, 503].contains(status)), "{statuses:?}");
}
