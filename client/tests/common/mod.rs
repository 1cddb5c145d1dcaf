//! Servers for the tests: the native one on a data file of its own, and the Worker under workerd.
#![allow(dead_code)]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use heliograph_client::relay::Options;
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

/// Runs each of these on a native server of its own, and all of them on one Worker, which takes longer to start. Their
/// agents and names are new, so they do not see each other.
#[macro_export]
macro_rules! on_both_runtimes {
    ($($name:ident),+ $(,)?) => {
        mod on_native {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(&$crate::common::Server::native()).await;
                }
            )+
        }

        #[tokio::test]
        async fn all_of_it_holds_on_the_worker() {
            let Some(server) = $crate::common::Server::edge() else { return };
            $(
                println!("{}", stringify!($name));
                $name(&server).await;
            )+
        }
    };
}

/// A program of this repository: the one that a variable names, else the one that was built beside the tests.
fn program(variable: &str, name: &str) -> PathBuf {
    if let Some(path) = std::env::var_os(variable) {
        return path.into();
    }
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    let path = path.join(name);
    assert!(path.exists(), "{} is not built; `cargo xtask test` builds it", path.display());
    path
}

/// Starts a server and waits until it says where it listens.
fn start(command: &mut Command) -> (Child, String) {
    command
        // One more agent and its offers would be in everything that a test reads.
        .env("HELIOGRAPH_FIRST_PARTY_SERVICES", "false")
        .env("HELIOGRAPH_ALLOW_OUTBOUND", "127.0.0.0/8")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next().expect("the server says that it listens").unwrap();
    let base = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}")).to_owned();
    // The pipe stays open, because a server that writes more must not die of it.
    std::thread::spawn(move || lines.for_each(drop));
    (child, base)
}

impl Server {
    /// A native server, which can be started again.
    pub fn native() -> Server {
        let folder = tempfile::tempdir().unwrap();
        // A port that stays the same over a restart. It was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Server { child: None, folder, port, base: format!("http://127.0.0.1:{port}") };
        server.run();
        server
    }

    /// The built Worker, if `HELIOGRAPH_TEST_TARGETS` names it.
    pub fn edge() -> Option<Server> {
        let wanted = std::env::var("HELIOGRAPH_TEST_TARGETS").unwrap_or_default();
        if !wanted.split(',').any(|name| name == "edge") {
            println!("skipped: HELIOGRAPH_TEST_TARGETS does not name edge");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(program("HELIOGRAPH_TEST_RUNNER", "xtask"));
        command.args(["edge", "serve", "--listen", "127.0.0.1:0", "--state"]).arg(folder.path());
        let (child, base) = start(&mut command);
        Some(Server { child: Some(child), folder, port: 0, base })
    }

    /// Both runtimes, as far as they were asked for.
    pub fn each() -> impl Iterator<Item = Server> {
        std::iter::once(Server::native()).chain(Server::edge())
    }

    /// Starts the native program and waits until it listens.
    pub fn run(&mut self) {
        let mut command = Command::new(program("HELIOGRAPH_TEST_SERVER", "heliograph"));
        command.args(["serve", "--listen", &format!("127.0.0.1:{}", self.port), "--data"]);
        let (child, base) = start(command.arg(self.folder.path().join("data.redb")));
        assert_eq!(base, self.base);
        self.child = Some(child);
    }

    /// Ends the native program without a chance to finish anything.
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
        // What serves the Worker is the parent of the real runtime, and ends it when it is asked to end.
        if self.port == 0
            && let Some(mut child) = self.child.take()
        {
            let _ = Command::new("kill").arg("-TERM").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
        self.kill();
    }
}

/// Every combination of the options of a session.
pub fn session_modes() -> impl Iterator<Item = Options> {
    (0..32_u8).map(|bits| Options {
        post_quantum: bits & 1 != 0,
        double_ratchet: bits & 2 != 0,
        padding: bits & 4 != 0,
        sealed: bits & 8 != 0,
        deniable: bits & 16 != 0,
    })
}

/// A text that no other run used.
pub fn unique(prefix: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    format!("{prefix}-{time:x}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}
