//! Other servers on the same disk and core, for comparison: those that are installed, or that `cargo xtask compare`
//! unpacked into its own folder.
//!
//! | Module | What |
//! |---|---|
//! | `nginx` | files over HTTP |
//! | `postgres` | rows and TPC-B, with `pgbench` |
//! | `redis` | an append-only file that is synced for every answer |

pub mod nginx;
pub mod postgres;
pub mod redis;

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The folder where packages were unpacked, as `cargo xtask compare` names it.
fn unpacked() -> Option<PathBuf> {
    std::env::var_os("HELIOGRAPH_PEERS").map(PathBuf::from)
}

/// The folders in `folder` whose names match.
fn inside(folder: &Path, matches: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_str().is_some_and(&matches)).map(|entry| entry.path()).collect()
}

/// Finds a program, also in the folders where Debian puts it outside of `PATH`.
pub fn program(name: &str) -> Result<PathBuf, String> {
    let mut folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    folders.push("/usr/sbin".into());
    for root in [Some(PathBuf::from("/")), unpacked()].into_iter().flatten() {
        folders
            .extend(inside(&root.join("usr/lib/postgresql"), |_| true).into_iter().map(|version| version.join("bin")));
        folders.extend([root.join("usr/bin"), root.join("usr/sbin")]);
    }
    let found = folders.into_iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| format!("{name} is not installed"))
}

/// Lets an unpacked program find its libraries.
pub fn with_libraries(command: &mut Command) {
    if let Some(root) = unpacked() {
        let folders = inside(&root.join("usr/lib"), |name| name.ends_with("-linux-gnu"));
        if let Ok(path) = std::env::join_paths(folders) {
            command.env("LD_LIBRARY_PATH", path);
        }
    }
}

/// A server of somebody else, which ends with this value.
pub struct Peer {
    child: Child,
    /// Where it listens.
    pub address: String,
}

impl Peer {
    /// Starts a server that listens at `address`, and waits until it does.
    fn start(mut command: Command, address: String) -> Result<Peer, String> {
        with_libraries(&mut command);
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
        let mut peer = Peer { child, address };
        let begun = Instant::now();
        while std::net::TcpStream::connect(&peer.address).is_err() {
            if let Ok(Some(status)) = peer.child.try_wait() {
                return Err(format!("{program} ended: {status}"));
            }
            if begun.elapsed() > Duration::from_secs(10) {
                return Err(format!("{program} does not listen at {}", peer.address));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(peer)
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
