//! `cargo xtask edge start`: measures the time until the Worker's first answer.
//!
//! It measures the time from the start of a new workerd to the first answer, minus the same time for a bare JavaScript
//! Worker. Both are measured in turns in one run, and the median of the rounds counts. It only reports; the bench
//! compares the result with its limit.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;

use crate::edge::build::{self, Bundle};
use crate::edge::plain;
use crate::edge::serve::{self, Options};
use crate::edge::size;
use crate::edge::state::State;
use crate::edge::workerd::Process;
use crate::run::Result;

const ROUNDS: usize = 9;
const PATIENCE: Duration = Duration::from_secs(10);
/// Milliseconds above a bare Worker. The platform refuses a Worker that takes a second to start. This limit is the
/// project's own: a tenth of that, on the machine that runs the bench.
const LIMIT: f64 = 100.0;

pub fn start() -> Result<()> {
    build::ensure(Bundle::Worker)?;
    let (mut bare, mut worker) = (Vec::new(), Vec::new());
    // The Worker's state exists from the second round on, as in a deployment; the first round does not count.
    let state = State::open(None)?;
    for round in 0..=ROUNDS {
        let times = (bare_once()?, worker_once(&state)?);
        if round > 0 {
            bare.push(times.0);
            worker.push(times.1);
        }
    }
    let starts: Vec<_> =
        worker.iter().zip(&bare).map(|(worker, bare)| json!({ "worker": worker, "bare": bare })).collect();
    println!("{}", json!({ "gzip_bytes": size::gzip_bytes()?, "starts_ms": starts }));
    let (bare, worker) = (median(bare), median(worker));
    let extra = worker - bare;
    eprintln!(
        "first answer: Worker {worker:.1} ms, bare Worker {bare:.1} ms, difference {extra:.1} ms (limit {LIMIT})"
    );
    Ok(())
}

fn bare_once() -> Result<f64> {
    let state = State::open(None)?;
    let (process, ports) = plain::start(&state)?;
    first_answer(&process, ports.http)
}

fn worker_once(state: &State) -> Result<f64> {
    let options = Options { listen: SocketAddr::from(([127, 0, 0, 1], 0)), ..Options::default() };
    let (process, ports) = serve::start(state, &options)?;
    first_answer(&process, ports.http)
}

/// Milliseconds from the start of the process to its first answer.
fn first_answer(process: &Process, port: u16) -> Result<f64> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    while process.started.elapsed() < PATIENCE {
        if serve::request(address, "GET", "/healthz").is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")) {
            return Ok(process.started.elapsed().as_secs_f64() * 1_000.0);
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    Err("no answer within 10 s".into())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}
