//! `cargo xtask edge serve`: runs the bundle under workerd, the runtime of Cloudflare Workers.
//!
//! Objects and KV keep their data in `--state` (or in a temporary folder). Every environment variable
//! `HELIOGRAPH_<NAME>` becomes a binding and overrides `[vars]` of `wrangler.toml`. The start fetches nothing from the
//! network. Requests of the Worker, also by host name, go to private networks only if its settings name them. `--cron`
//! calls the scheduled handler more often than the platform would. stdout gets exactly one line, `listening on
//! http://<addr>`, once the Worker answers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::cache;
use crate::edge::build::{self, Bundle};
use crate::edge::state::State;
use crate::edge::workerd::{Ports, Process, configure};
use crate::edge::wrangler_toml;
use crate::run::Result;

const START_TIMEOUT: Duration = Duration::from_secs(30);
/// The schedule of `[triggers]` in `wrangler.toml`.
const CRON: &str = "*%20*%20*%20*%20*";
const CRON_PERIOD: Duration = Duration::from_secs(60);

pub struct Options {
    pub listen: SocketAddr,
    pub state: Option<String>,
    pub bundle: Bundle,
    /// Time between two calls of the scheduled handler.
    pub cron: Duration,
    /// True if the Worker reports when each event begins and ends ([`crate::edge::steps`]).
    pub steps: bool,
}

impl Default for Options {
    fn default() -> Self {
        let listen = SocketAddr::from(([127, 0, 0, 1], 8788));
        Options { listen, state: None, bundle: Bundle::Worker, cron: CRON_PERIOD, steps: false }
    }
}

pub fn serve(args: &[&str]) -> Result<()> {
    let options = options(args)?;
    let ended = told_to_end()?;
    build::ensure(options.bundle)?;
    let state = State::open(options.state.as_deref())?;
    let (process, ports) = start(&state, &options)?;
    let address = SocketAddr::new(options.listen.ip(), ports.http);
    wait_until_it_answers(address)?;
    let cron = SocketAddr::from(([127, 0, 0, 1], ports.cron));
    eprintln!("cron trigger: curl -X POST 'http://{cron}/?cron={CRON}'");
    let mut next_cron = Instant::now() + options.cron;
    until_told(&ended, process, address, || {
        if Instant::now() >= next_cron {
            next_cron += options.cron;
            std::thread::spawn(move || request(cron, "POST", &format!("/?cron={CRON}")));
        }
    })
}

/// True once this program is asked to end.
pub fn told_to_end() -> Result<Arc<AtomicBool>> {
    let ended = Arc::new(AtomicBool::new(false));
    let signal = ended.clone();
    ctrlc::set_handler(move || signal.store(true, Ordering::SeqCst)).map_err(|error| error.to_string())?;
    Ok(ended)
}

/// Says where the Worker listens, and runs it until this program is told to end. Calls `meanwhile` ten times a second.
pub fn until_told(
    ended: &AtomicBool,
    process: Process,
    address: SocketAddr,
    mut meanwhile: impl FnMut(),
) -> Result<()> {
    println!("listening on http://{address}");
    std::io::stdout().flush().map_err(|error| error.to_string())?;
    while !ended.load(Ordering::SeqCst) {
        if !process.watch(Duration::from_millis(100)) {
            return Err("workerd ended by itself".into());
        }
        meanwhile();
    }
    process.stop();
    Ok(())
}

fn options(args: &[&str]) -> Result<Options> {
    let mut options = Options::default();
    let mut args = args.iter();
    while let Some(name) = args.next() {
        if *name == "--test-routes" {
            options.bundle = Bundle::TestRoutes;
            continue;
        }
        let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
        match *name {
            "--listen" => options.listen = value.parse().map_err(|_| format!("{value} is not <address>:<port>"))?,
            "--state" => options.state = Some((*value).to_owned()),
            "--cron" => match value.parse() {
                Ok(seconds @ 1..) => options.cron = Duration::from_secs(seconds),
                _ => return Err(format!("{value} is not a number of seconds")),
            },
            _ => return Err(format!("unknown option {name}")),
        }
    }
    Ok(options)
}

/// Starts workerd. Port 0 is resolved here, because the Worker must know its own address from the start. Another
/// process may take the port meanwhile; then the start is tried again.
pub fn start(state: &State, options: &Options) -> Result<(Process, Ports)> {
    let listen = options.listen;
    let settings = wrangler_toml::load()?;
    for _ in 0..5 {
        let address = if listen.port() == 0 { free_port(listen)? } else { listen };
        let environment = environment(state, &settings.variables, address)?;
        configure(state, options, &settings, address, &environment)?;
        let process = Process::start(&state.path("run"), &environment)?;
        if let Some(ports) = process.ports(START_TIMEOUT)? {
            return Ok((process, ports));
        }
        if listen.port() != 0 {
            break;
        }
    }
    Err(format!("workerd did not start on {listen}"))
}

fn free_port(address: SocketAddr) -> Result<SocketAddr> {
    TcpListener::bind(address)
        .and_then(|listener| listener.local_addr())
        .map_err(|error| format!("cannot listen on {address}: {error}"))
}

/// The bindings: `[vars]`, overridden by environment variables, the missing secrets, and the address.
fn environment(state: &State, variables: &[(String, String)], address: SocketAddr) -> Result<Vec<(String, String)>> {
    let mut all = std::collections::BTreeMap::from_iter(variables.iter().cloned());
    all.insert("HELIOGRAPH_PUBLIC_URL".into(), format!("http://{address}"));
    all.extend(std::env::vars().filter(|(name, _)| is_setting(name)));
    let secrets = state.secrets(|name| all.contains_key(name))?;
    all.extend(secrets);
    Ok(all.into_iter().collect())
}

/// True for `HELIOGRAPH_` followed by upper-case words, which can be in the configuration without escapes. Variables
/// for tests and CI are not settings: the Worker would warn about them.
fn is_setting(name: &str) -> bool {
    let word = |character: char| character.is_ascii_uppercase() || character.is_ascii_digit() || character == '_';
    let of_tests = name == cache::VARIABLE || name.starts_with("HELIOGRAPH_TEST_");
    !of_tests && name.strip_prefix("HELIOGRAPH_").is_some_and(|rest| !rest.is_empty() && rest.chars().all(word))
}

pub fn wait_until_it_answers(address: SocketAddr) -> Result<()> {
    let deadline = Instant::now() + START_TIMEOUT;
    while Instant::now() < deadline {
        match request(address, "GET", "/healthz") {
            Ok(answer) if answer.starts_with("HTTP/1.1 200") => return Ok(()),
            // The reason is in the log.
            Ok(answer) if answer.starts_with("HTTP/1.1 5") => return Err("the Worker refuses to serve".into()),
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    Err("the Worker does not answer /healthz".into())
}

pub fn request(address: SocketAddr, method: &str, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(2))?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_setting_names_become_bindings() {
        assert!(is_setting("HELIOGRAPH_BRAND"));
        assert!(!is_setting("HELIOGRAPH_"));
        assert!(!is_setting("HELIOGRAPH_a\"b"));
        assert!(!is_setting("PATH"));
        assert!(!is_setting("HELIOGRAPH_BUILD_CACHE") && !is_setting("HELIOGRAPH_TEST_TARGETS"));
    }

    #[test]
    fn options_are_read_and_unknown_ones_refused() {
        let parsed = options(&["--listen", "127.0.0.1:0", "--state", "x"]).unwrap();
        assert_eq!((parsed.listen.port(), parsed.state.as_deref()), (0, Some("x")));
        assert_eq!((parsed.cron, options(&["--cron", "2"]).unwrap().cron), (CRON_PERIOD, Duration::from_secs(2)));
        assert!(options(&["--cron", "0"]).is_err() && options(&["--listen"]).is_err());
        assert!(options(&["--port", "1"]).is_err());
    }
}
