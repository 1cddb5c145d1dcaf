//! `cargo xtask edge start`: how long a fresh workerd takes to its first answer from our Worker, and from a bare
//! JavaScript Worker in the same run (ruling foundation-relay 33). One line of JSON on stdout, with the bundle's size.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::edge::serve;
use crate::edge::size;
use crate::edge::state::State;
use crate::edge::workerd::{Ports, Process};
use crate::edge::{build, wrangler_toml};
use crate::project::write;
use crate::run::Result;

/// Pairs of starts, one after the other.
const ROUNDS: usize = 5;
const TIMEOUT: Duration = Duration::from_secs(30);

pub fn start() -> Result<()> {
    build::ensure(build::Bundle::Worker)?;
    let state = State::open(None)?;
    let bare = state.path("bare");
    configure_bare(&bare)?;
    // One pair without counting, so that files are in memory.
    pair(&state, &bare)?;
    let mut starts = Vec::new();
    for _ in 0..ROUNDS {
        let (worker, bare) = pair(&state, &bare)?;
        starts.push(serde_json::json!({ "worker": milliseconds(worker), "bare": milliseconds(bare) }));
    }
    println!("{}", serde_json::json!({ "gzip_bytes": size::total()?, "starts_ms": starts }));
    Ok(())
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// First answers of our Worker and of the bare one.
fn pair(state: &State, bare: &Path) -> Result<(Duration, Duration)> {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let worker = serve::timed(state, listen, first_answer)?;
    let begin = Instant::now();
    let process = Process::start(bare, &[])?;
    let took = first_answer(&process, begin)?;
    process.stop();
    Ok((worker, took))
}

/// Time from `begin` until the first 200.
pub fn first_answer(process: &Process, begin: Instant) -> Result<Duration> {
    let Ports { http, .. } = process.ports(TIMEOUT)?.ok_or("workerd ended before it listened")?;
    let address = SocketAddr::from(([127, 0, 0, 1], http));
    while begin.elapsed() < TIMEOUT {
        if ask(address).is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")) {
            return Ok(begin.elapsed());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err("no answer from workerd".into())
}

fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.write_all(format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The smallest Worker, with the two sockets that [`Process::ports`] waits for.
fn configure_bare(folder: &Path) -> Result<()> {
    let date = wrangler_toml::load()?.compatibility_date;
    write(&folder.join("bare.mjs"), "export default { fetch: () => new Response('{\"status\":\"ok\"}') };\n")?;
    let config = format!(
        r#"using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [
    (name = "http", address = "127.0.0.1:0", http = (), service = "main"),
    (name = "cron", address = "127.0.0.1:0", http = (), service = "main"),
  ],
);
const main :Workerd.Worker = (
  modules = [(name = "bare.mjs", esModule = embed "bare.mjs")],
  compatibilityDate = "{date}",
);
"#
    );
    write(&folder.join("config.capnp"), config)
}
