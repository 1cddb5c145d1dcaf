//! Configures workerd and runs its process.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::edge::build::MODULES;
use crate::edge::serve::Options;
use crate::edge::state::State;
use crate::edge::steps;
use crate::edge::wrangler_toml::WranglerToml;
use crate::project::{read, root, write};
use crate::run::Result;
use crate::tools;

/// Time that open requests have to end after a signal, before the process is killed.
const GRACE: Duration = Duration::from_secs(3);

/// Ends workerd when xtask ends in any way: the supervisor kills it when xtask's end of stdin closes. A line on stdin
/// asks it to finish first.
const SUPERVISOR: &str = r#""$@" </dev/null & child=$!; exec >/dev/null; while read -r _; do kill -TERM $child; done; kill -KILL $child; wait"#;

/// Writes the configuration and the modules into the state's `run` folder. `bindings` are the Worker's bindings with
/// their values.
pub fn configure(
    state: &State,
    options: &Options,
    settings: &WranglerToml,
    listen: SocketAddr,
    bindings: &[(String, String)],
) -> Result<()> {
    let run = state.path("run");
    for module in MODULES {
        write(&run.join(module), read(&options.bundle.folder().join(module))?)?;
    }
    for module in ["cache.mjs", "kv.mjs", "cron.mjs", "steps.mjs"] {
        write(&run.join(module), read(&root().join("edge-worker/local").join(module))?)?;
    }
    write(&run.join("config.capnp"), config(state, settings, listen, bindings, options.steps)?)
}

fn config(
    state: &State,
    settings: &WranglerToml,
    listen: SocketAddr,
    bindings: &[(String, String)],
    steps: bool,
) -> Result<String> {
    let allow = networks(bindings);
    // The first module is the main one.
    let steps = if steps { "(name = \"steps.mjs\", esModule = embed \"steps.mjs\"),\n    " } else { "" };
    let date = &settings.compatibility_date;
    let mut lines = String::new();
    for (name, _) in bindings {
        // Values come from the environment of the process, so that the configuration contains no secret.
        writeln!(lines, "    (name = \"{name}\", fromEnvironment = \"{name}\"),").map_err(|e| e.to_string())?;
    }
    let (actors, kv) = (disk(&state.path("actors"))?, disk(&state.path("kv"))?);
    Ok(format!(
        r#"using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "kv", worker = .kv),
    (name = "cache", worker = .cache),
    (name = "cron", worker = .cron),
    (name = "actors-disk", disk = {actors}),
    (name = "kv-disk", disk = {kv}),
    (name = "internet", network = (allow = [{allow}], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [
    (name = "http", address = "{listen}", http = (), service = "main"),
    (name = "cron", address = "127.0.0.1:0", http = (), service = "cron"),
  ],
);
const main :Workerd.Worker = (
  modules = [
    {steps}(name = "guard.mjs", esModule = embed "guard.mjs"),
    (name = "index.js", esModule = embed "index.js"),
    (name = "index_bg.wasm", wasm = embed "index_bg.wasm"),
  ],
  compatibilityDate = "{date}",
  bindings = [
    (name = "ACTOR", durableObjectNamespace = "Actor"),
    (name = "DOCUMENTS", kvNamespace = "kv"),
{lines}  ],
  durableObjectNamespaces = [(className = "Actor", uniqueKey = "heliograph-actor", enableSql = true)],
  durableObjectStorage = (localDisk = "actors-disk"),
  cacheApiOutbound = "cache",
);
const cache :Workerd.Worker = (
  modules = [(name = "cache.mjs", esModule = embed "cache.mjs")],
  compatibilityDate = "{date}",
);
const kv :Workerd.Worker = (
  modules = [(name = "kv.mjs", esModule = embed "kv.mjs")],
  compatibilityDate = "{date}",
  bindings = [(name = "STORE", durableObjectNamespace = "Store")],
  durableObjectNamespaces = [(className = "Store", uniqueKey = "heliograph-kv", enableSql = true)],
  durableObjectStorage = (localDisk = "kv-disk"),
);
const cron :Workerd.Worker = (
  modules = [(name = "cron.mjs", esModule = embed "cron.mjs")],
  compatibilityDate = "{date}",
  compatibilityFlags = ["service_binding_extra_handlers"],
  bindings = [(name = "WORKER", service = "main")],
);
"#
    ))
}

/// The networks to which the Worker may send requests, in workerd's form: the open Internet, and private networks only
/// if settings of the Worker name them. The Worker itself checks literal addresses and sees only names otherwise.
/// workerd resolves the names, so only workerd can refuse a name that leads into a private network.
fn networks(bindings: &[(String, String)]) -> String {
    let value = |name: &str| bindings.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value);
    let mut allowed = vec!["public".to_owned()];
    if value("HELIOGRAPH_FETCH_PRIVATE") == "true" {
        allowed.push("private".to_owned());
    }
    // An invalid network is left out: the Worker refuses to start with it.
    let network = |text: &str| {
        let (address, bits) = text.trim().split_once('/')?;
        Some(format!("{}/{}", address.parse::<IpAddr>().ok()?, bits.parse::<u8>().ok()?))
    };
    allowed.extend(value("HELIOGRAPH_ALLOW_OUTBOUND").split(',').filter_map(network));
    allowed.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// A folder that workerd may write, in its form.
pub fn disk(path: &Path) -> Result<String> {
    let text = path.to_str().filter(|text| !text.contains(['"', '\\']));
    let text = text.ok_or_else(|| format!("{} cannot be written into the configuration", path.display()))?;
    Ok(format!("(path = \"{text}\", writable = true)"))
}

/// A running workerd.
pub struct Process {
    supervisor: Child,
    stdin: Option<ChildStdin>,
    /// Lines of its standard output; disconnected when the process has ended.
    lines: Receiver<String>,
    pub started: Instant,
}

/// Ports that workerd listens on.
pub struct Ports {
    pub http: u16,
    pub cron: u16,
}

impl Process {
    /// Starts workerd on the configuration in `run`, with only `environment`.
    pub fn start(run: &Path, environment: &[(String, String)]) -> Result<Self> {
        let started = Instant::now();
        let mut supervisor = Command::new("/bin/sh")
            .args(["-c", SUPERVISOR, "workerd"])
            .arg(tools::workerd()?)
            .args(["serve", "--experimental", "--control-fd=1", "config.capnp"])
            .current_dir(run)
            .env_clear()
            .envs(environment.iter().cloned())
            // A process group of its own: ctrl-c reaches only xtask, which then ends the processes in order.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start workerd: {error}"))?;
        let stdin = supervisor.stdin.take();
        let stdout = supervisor.stdout.take().ok_or("workerd has no standard output")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(std::io::Result::ok).try_for_each(|line| sender.send(line))
        });
        Ok(Process { supervisor, stdin, lines, started })
    }

    /// Waits until both sockets are open. `None` if the process ended before that.
    pub fn ports(&self, timeout: Duration) -> Result<Option<Ports>> {
        let deadline = Instant::now() + timeout;
        let (mut http, mut cron) = (None, None);
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => match listen_event(&line) {
                    Some((socket, port)) if socket == "http" => http = Some(port),
                    Some((socket, port)) if socket == "cron" => cron = Some(port),
                    _ => eprintln!("{line}"),
                },
                Err(RecvTimeoutError::Timeout) => return Err("workerd did not open its sockets".into()),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
            if let (Some(http), Some(cron)) = (http, cron) {
                return Ok(Some(Ports { http, cron }));
            }
        }
    }

    /// Passes the output on to stderr for `duration` at most. False when the process has ended.
    pub fn watch(&self, duration: Duration) -> bool {
        match self.lines.recv_timeout(duration) {
            Ok(line) => eprintln!("{line}"),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        true
    }

    /// The next line of output; `None` when there is none for `duration`.
    pub fn line(&self, duration: Duration) -> Result<Option<String>> {
        match self.lines.recv_timeout(duration) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err("workerd ended by itself".into()),
        }
    }

    /// The process id of workerd itself.
    pub fn workerd(&self) -> Result<u32> {
        steps::child(self.supervisor.id())
    }

    /// Asks the process to end, and kills it if it does not.
    pub fn stop(mut self) {
        if let Some(mut stdin) = self.stdin.take() {
            let _ = stdin.write_all(b"end\n").and_then(|()| stdin.flush());
            let deadline = Instant::now() + GRACE;
            while Instant::now() < deadline && self.watch(deadline.saturating_duration_since(Instant::now())) {}
        }
        let _ = self.supervisor.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.supervisor.wait();
    }
}

/// Parses `{"event":"listen","socket":"http","port":8788}` from the control descriptor.
fn listen_event(line: &str) -> Option<(String, u16)> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    if value.get("event")?.as_str()? != "listen" {
        return None;
    }
    Some((value.get("socket")?.as_str()?.to_owned(), value.get("port")?.as_u64()?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_go_beyond_the_open_internet_only_where_settings_name_networks() {
        let networks = |settings: &[(&str, &str)]| {
            let bindings = settings.iter().map(|(name, value)| (format!("HELIOGRAPH_{name}"), (*value).to_owned()));
            networks(&bindings.collect::<Vec<_>>())
        };
        assert_eq!(networks(&[]), r#""public""#);
        assert_eq!(networks(&[("FETCH_PRIVATE", "false"), ("ALLOW_OUTBOUND", "")]), r#""public""#);
        assert_eq!(networks(&[("FETCH_PRIVATE", "true")]), r#""public", "private""#);
        let two = networks(&[("ALLOW_OUTBOUND", "127.0.0.0/8, ::1/128,private,local,10.0.0.0,1.2.3.4/\"")]);
        assert_eq!(two, r#""public", "127.0.0.0/8", "::1/128""#);
    }
}
