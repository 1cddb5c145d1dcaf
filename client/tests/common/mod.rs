//! A server for the tests: the native one on a data file of its own, or the one at `HELIOGRAPH_TEST_ADDRESS`, which may
//! be a Worker.
#![allow(dead_code)]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use heliograph_client::store::MemoryStore;
use heliograph_client::{Agent, Client, Registration};
use tempfile::TempDir;

/// A running deployment. Dropping it ends the process that was started for it.
pub struct Server {
    child: Option<Child>,
    folder: TempDir,
    port: u16,
    pub base: String,
}

/// The native server: `HELIOGRAPH_TEST_SERVER`, else the one that was built beside the tests.
fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("HELIOGRAPH_TEST_SERVER") {
        return path.into();
    }
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    let path = path.join("heliograph");
    assert!(path.exists(), "{} is not built; `cargo build` builds it", path.display());
    path
}

impl Server {
    /// The server that all tests can use.
    pub fn start() -> Server {
        let folder = tempfile::tempdir().unwrap();
        match std::env::var("HELIOGRAPH_TEST_ADDRESS") {
            Ok(base) => Server { child: None, folder, port: 0, base },
            Err(_) => Server::native(),
        }
    }

    /// A native server, which can be started again.
    pub fn native() -> Server {
        let folder = tempfile::tempdir().unwrap();
        // A port that stays the same over a restart. It was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Server { child: None, folder, port, base: format!("http://127.0.0.1:{port}") };
        server.run();
        server
    }

    /// Starts the program and waits until it listens.
    pub fn run(&mut self) {
        let mut child = Command::new(program())
            .args(["serve", "--listen", &format!("127.0.0.1:{}", self.port), "--data"])
            .arg(self.folder.path().join("data.redb"))
            // One more agent and its offers would be in everything that a test reads.
            .env("HELIOGRAPH_FIRST_PARTY_SERVICES", "false")
            .env("HELIOGRAPH_ALLOW_OUTBOUND", "127.0.0.0/8")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next().expect("the server says that it listens").unwrap();
        assert!(line.starts_with("listening on "), "{line}");
        // The pipe stays open, because a server that writes more must not die of it.
        std::thread::spawn(move || lines.for_each(drop));
        self.child = Some(child);
    }

    /// Ends the program without a chance to finish anything.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub fn client(&self) -> Client {
        Client::new(&self.base).unwrap()
    }

    /// An agent with keys of its own, kept in memory.
    pub async fn agent(&self) -> Agent {
        self.client().register(MemoryStore::default(), Registration::default()).await.unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A text that no other run used.
pub fn unique(prefix: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    format!("{prefix}-{time:x}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}
