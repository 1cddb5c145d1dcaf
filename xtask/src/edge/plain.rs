//! `cargo xtask edge plain`: runs the smallest JavaScript Worker and object under workerd, to compare with. Its second
//! socket only completes the pair.

use std::net::SocketAddr;
use std::time::Duration;

use crate::edge::serve;
use crate::edge::state::State;
use crate::edge::workerd::{Ports, Process, disk};
use crate::project::{read, root, write};
use crate::run::Result;

const PATIENCE: Duration = Duration::from_secs(10);

pub fn plain() -> Result<()> {
    let ended = serve::told_to_end()?;
    let state = State::open(None)?;
    let (process, ports) = start(&state)?;
    let address = SocketAddr::from(([127, 0, 0, 1], ports.http));
    serve::wait_until_it_answers(address)?;
    serve::until_told(&ended, process, address, || {})
}

pub fn start(state: &State) -> Result<(Process, Ports)> {
    let run = state.path("run");
    write(&run.join("plain.mjs"), read(&root().join("edge-worker/local/plain.mjs"))?)?;
    let actors = disk(&state.path("actors"))?;
    write(
        &run.join("config.capnp"),
        format!(
            r#"using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main), (name = "disk", disk = {actors})],
  sockets = [
    (name = "http", address = "127.0.0.1:0", http = (), service = "main"),
    (name = "cron", address = "127.0.0.1:0", http = (), service = "main"),
  ],
);
const main :Workerd.Worker = (
  modules = [(name = "plain.mjs", esModule = embed "plain.mjs")],
  compatibilityDate = "2026-04-01",
  bindings = [(name = "PLAIN", durableObjectNamespace = "Plain")],
  durableObjectNamespaces = [(className = "Plain", uniqueKey = "plain", enableSql = true)],
  durableObjectStorage = (localDisk = "disk"),
);
"#
        ),
    )?;
    let process = Process::start(&run, &[])?;
    let ports = process.ports(PATIENCE)?.ok_or("workerd ended by itself")?;
    Ok((process, ports))
}
