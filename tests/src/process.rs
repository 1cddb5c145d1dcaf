//! A server process that a test started; the test ends it by its id.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Longest time until a server says that it listens.
const START: Duration = Duration::from_secs(120);

/// A running server. Dropping it ends the process.
pub struct Server {
    child: Child,
    /// `http://127.0.0.1:<port>`
    pub base: String,
}

impl Server {
    /// Starts `command` and waits for its ready line, `listening on http://<addr>`.
    pub fn start(mut command: Command) -> Server {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        if std::env::var_os("HELIOGRAPH_TEST_LOG").is_none() {
            command.stderr(Stdio::null());
        }
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stdout = child.stdout.take().unwrap();
        let (sender, ready) = mpsc::channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stdout).lines();
            if let Some(Ok(line)) = lines.next() {
                let _ = sender.send(line);
            }
            // The pipe stays open, because a server that writes more must not die of it.
            for _ in lines {}
        });
        let line = ready.recv_timeout(START).unwrap_or_else(|_| {
            let _ = child.kill();
            panic!("{command:?} did not say that it listens")
        });
        let base = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("unexpected ready line {line:?}"));
        Server { child, base: base.to_owned() }
    }

    /// The operating system's id of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process without a chance to finish anything (SIGKILL).
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks the process to end (SIGTERM) and waits.
    pub fn stop(mut self) {
        terminate(self.child.id());
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Once the process has ended, its id may belong to another process.
        if let Ok(Some(_)) = self.child.try_wait() {
            return;
        }
        // The edge server is the parent of the real runtime, so it gets the chance to end its child.
        terminate(self.child.id());
        for _ in 0..100 {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn terminate(id: u32) {
    let _ = Command::new("kill").arg("-TERM").arg(id.to_string()).status();
}

/// A program built beside this one: `target/<profile>/<name>`.
pub fn built(name: &str) -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    if path.ends_with("deps") {
        path.pop();
    }
    let path = path.join(name);
    assert!(path.exists(), "{} is not built; `cargo xtask test` builds it", path.display());
    path
}

/// The native server on a data file, listening on a free port.
pub fn native(data: &std::path::Path, settings: &[(&str, &str)]) -> Server {
    let mut command = Command::new(built("heliograph"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    Server::start(with_settings(command, settings))
}

/// The built Worker under the real Workers runtime, on a free port.
pub fn edge(state: &std::path::Path, settings: &[(&str, &str)]) -> Server {
    let mut command = Command::new(built("xtask"));
    command.args(["edge", "serve", "--listen", "127.0.0.1:0", "--state"]).arg(state);
    // A test of fetching waits for the scheduled handler, which the platform calls only once a minute.
    if settings.iter().any(|(name, _)| name.starts_with("fetch_")) {
        command.args(["--cron", "1"]);
    }
    Server::start(with_settings(command, settings))
}

/// The services of the deployment's own are switched off, because they are one more agent in everything that a test
/// reads.
fn with_settings(mut command: Command, settings: &[(&str, &str)]) -> Command {
    command.env("HELIOGRAPH_FIRST_PARTY_SERVICES", "false");
    for (name, value) in settings {
        command.env(format!("HELIOGRAPH_{}", name.to_uppercase()), value);
    }
    command
}
