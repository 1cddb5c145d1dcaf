//! The runtimes a conformance test runs on.

use std::sync::Arc;
use std::time::Duration;

use heliograph_core::app::PROGRAM;
use heliograph_core::relay::testing::TestRuntime;
use heliograph_core::{engine::runtime, intelligence::fetch};
use tempfile::TempDir;

use crate::client::{Client, block_on, until};
use crate::process::{self, Server};
use crate::relay::unique;
use crate::source;

/// A kind of runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The core over its memory store, in this process.
    Memory,
    /// The real binary on a redb file.
    Native,
    /// The built Worker under workerd.
    Edge,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Memory, Kind::Native, Kind::Edge];

    /// The runtimes that `HELIOGRAPH_TEST_TARGETS` names; the default is memory and native.
    pub fn chosen() -> Vec<Kind> {
        let chosen = std::env::var("HELIOGRAPH_TEST_TARGETS").unwrap_or_else(|_| "memory,native".into());
        Kind::ALL.into_iter().filter(|kind| chosen.split(',').any(|name| name == kind.name())).collect()
    }

    pub fn name(self) -> &'static str {
        match self {
            Kind::Memory => "memory",
            Kind::Native => "native",
            Kind::Edge => "edge",
        }
    }
}

/// Admin key of every server under test.
pub const ADMIN_KEY: &str = "conformance-admin-key";

/// Settings of every server under test: publish at once, wait for effects, and no limit unless a test asks for it.
const SETTINGS: &[(&str, &str)] = &[
    ("admin_key", ADMIN_KEY),
    ("first_party_services", "false"),
    ("publish_interval", "0"),
    ("pay_reads_seconds", "0"),
    ("effect_wait_ms", "10000"),
    ("agent_per_second", "100000"),
    ("agent_burst", "1000000"),
    ("prekeys_per_hour", "0"),
    ("accessibility_per_minute", "1000000"),
];

enum Running {
    Memory(Arc<TestRuntime>),
    Process { server: Server, dir: TempDir },
}

/// A runtime with a new deployment.
pub struct Target {
    pub kind: Kind,
    running: Running,
}

/// The master key of every deployment under test. It is always the same, so that one deployment can open what another
/// sealed.
const MASTER_KEY: [u8; 32] = [0x2a; 32];

fn with_suite<'a>(settings: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    SETTINGS.iter().chain(settings).copied().collect()
}

impl Target {
    /// Starts a deployment with the suite's settings, overridden by these.
    pub fn start(kind: Kind, settings: &[(&str, &str)]) -> Target {
        let all = with_suite(settings);
        let dir = TempDir::new().unwrap();
        if kind != Kind::Memory {
            Target::write_keys(&dir);
        }
        Target::run(kind, dir, &all)
    }

    /// A native deployment on a copy of this data file.
    pub fn on_file(data: &[u8], settings: &[(&str, &str)]) -> Target {
        let dir = TempDir::new().unwrap();
        Target::write_keys(&dir);
        std::fs::write(dir.path().join("data.redb"), data).unwrap();
        Target::run(Kind::Native, dir, &with_suite(settings))
    }

    /// Writes the key file of a data file, and the secret of an edge server, which would otherwise be made at the first
    /// start.
    fn write_keys(dir: &TempDir) {
        let hex: String = MASTER_KEY.iter().map(|byte| format!("{byte:02x}")).collect();
        let keys = format!("heliograph-keys 1\nmaster {hex}\nadmin {ADMIN_KEY}\n");
        std::fs::write(dir.path().join("data.redb.key"), keys).unwrap();
        std::fs::write(dir.path().join("master.key"), hex).unwrap();
    }

    /// Stops the deployment as an operator does, and starts it again on its stored data.
    pub fn restart(self, settings: &[(&str, &str)]) -> Target {
        let all = with_suite(settings);
        match self.running {
            Running::Memory(runtime) => Target::in_memory(runtime.restarted(&all)),
            Running::Process { server, dir } => {
                server.stop();
                Target::run(self.kind, dir, &all)
            }
        }
    }

    fn in_memory(runtime: Arc<TestRuntime>) -> Target {
        runtime.connect(Box::new(source::send));
        Target { kind: Kind::Memory, running: Running::Memory(runtime) }
    }

    fn run(kind: Kind, dir: TempDir, all: &[(&str, &str)]) -> Target {
        let running = match kind {
            Kind::Memory => return Target::in_memory(TestRuntime::start_as(&PROGRAM, unique(), all)),
            Kind::Native => Running::Process { server: process::native(&dir.path().join("data.redb"), all), dir },
            Kind::Edge => Running::Process { server: process::edge(dir.path(), all), dir },
        };
        Target { kind, running }
    }

    /// Gives the deployment the time for one request to a source; in memory this makes the request.
    pub fn fetch(&self) {
        match &self.running {
            Running::Memory(runtime) => {
                runtime.advance(Duration::from_secs(60));
                block_on(fetch::step(&**runtime)).unwrap();
            }
            Running::Process { .. } => std::thread::sleep(Duration::from_millis(250)),
        }
    }

    /// Gives the deployment the time for requests that its actors ask for; in memory this makes them.
    pub fn reach_out(&self) {
        match &self.running {
            Running::Memory(runtime) => reach_out(runtime),
            Running::Process { .. } => std::thread::sleep(Duration::from_millis(50)),
        }
    }

    /// Looks again until something is there; requests of the deployment to other hosts are made meanwhile.
    #[track_caller]
    pub fn until<T>(&self, look: impl FnMut() -> Option<T>) -> T {
        self.reach_out();
        until(|| self.reach_out(), look)
    }

    /// The address of the server; `None` in memory.
    pub fn base(&self) -> Option<&str> {
        match &self.running {
            Running::Memory(_) => None,
            Running::Process { server, .. } => Some(&server.base),
        }
    }

    /// Every byte that the deployment has stored, except its keys.
    pub fn stored(&self) -> Vec<u8> {
        match &self.running {
            Running::Memory(runtime) => {
                let rows = runtime.actors().into_iter().flat_map(|actor| runtime.rows(&actor));
                rows.flat_map(|(key, value)| [key, value].concat()).collect()
            }
            Running::Process { dir, .. } => {
                let (mut found, mut folders) = (Vec::new(), vec![dir.path().to_owned()]);
                while let Some(folder) = folders.pop() {
                    for entry in std::fs::read_dir(folder).unwrap() {
                        let path = entry.unwrap().path();
                        match path.is_dir() {
                            true => folders.push(path),
                            false if path.extension().is_some_and(|kind| kind == "key") => {}
                            false => found.extend(std::fs::read(path).unwrap()),
                        }
                    }
                }
                found
            }
        }
    }

    pub fn client(&self) -> Client {
        match &self.running {
            Running::Memory(runtime) => Client::memory(runtime.clone()),
            Running::Process { server, .. } => Client::http(&server.base),
        }
    }
}

/// How long a request in memory is waited for.
const PATIENCE: Duration = Duration::from_millis(250);

/// Makes the requests that actors asked for, each in a thread of its own, so that a slow one does not delay the others.
fn reach_out(runtime: &Arc<TestRuntime>) {
    loop {
        let wishes = runtime.wishes();
        if wishes.is_empty() {
            return;
        }
        for (actor, key) in wishes {
            let (done, waiting) = std::sync::mpsc::channel();
            let runtime = runtime.clone();
            std::thread::spawn(move || {
                // After a failure the actor's timer asks again.
                let _ = block_on(runtime::reach_out(runtime, &actor, &key));
                let _ = done.send(());
            });
            let _ = waiting.recv_timeout(PATIENCE);
        }
    }
}
