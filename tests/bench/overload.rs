//! Measures the memory of a server during floods, and the waits of other clients.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use heliograph_tests::floods::{Flood, STREAMS_PER_AGENT, others};
use heliograph_tests::limited::{Limit, memory};
use heliograph_tests::listening::register;
use heliograph_tests::process::{Server, built};
use tokio::task::LocalSet;

use crate::machine;

pub const HEADING: &str = "\n## Overload\n";

/// Memory limit of the server.
const MEMORY: u64 = 512 << 20;
/// How long the other clients ask during each load.
pub const WINDOW: Duration = Duration::from_secs(20);
/// Time in which the memory must be released.
const AFTER: Duration = Duration::from_secs(60);

/// The results of one load.
#[derive(Debug)]
pub struct Row {
    flood: Option<Flood>,
    open: usize,
    /// Resident bytes: before, during, and the lowest within a minute after.
    resident: [u64; 3],
    answers: usize,
    failures: usize,
    p50: Duration,
    p99: Duration,
}

#[derive(Debug)]
pub struct Measured {
    held_by: &'static str,
    most: u64,
    rows: Vec<Row>,
}

fn command(limit: Option<&Limit>, data: &Path) -> std::process::Command {
    let program = built("heliograph");
    let mut command = limit.map_or_else(|| std::process::Command::new(&program), |limit| limit.command(&program));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    for (name, value) in [("FIRST_PARTY_SERVICES", "false"), ("AGENT_PER_SECOND", "100000"), ("AGENT_BURST", "1000000")]
    {
        command.env(format!("HELIOGRAPH_{name}"), value);
    }
    command.stderr(std::process::Stdio::null());
    command
}

pub fn run(folder: &Path, window: Duration) -> Measured {
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let limit = Limit::new(MEMORY, || {
        let idle = Server::start(command(None, &folder.join("idle.redb")));
        memory(idle.id(), "VmSize").unwrap()
    });
    let server = Server::start(command(Some(&limit), &folder.join("overload.redb")));
    let host = server.base.trim_start_matches("http://").to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let rows = LocalSet::new().block_on(&runtime, async {
        let agents = register(&host, 2 + Flood::DeafStreams.size() / STREAMS_PER_AGENT).await;
        let mut rows = vec![row(None, &server, &agents, window).await];
        for flood in Flood::ALL {
            eprintln!("{} {}", flood.size(), flood.words());
            rows.push(row(Some(flood), &server, &agents, window).await);
        }
        rows
    });
    let most = machine::peak_memory(server.id()).unwrap_or(0);
    server.stop();
    Measured { held_by: limit.words(), most, rows }
}

async fn row(flood: Option<Flood>, server: &Server, agents: &[(String, String)], window: Duration) -> Row {
    let host = server.base.trim_start_matches("http://");
    let (pair, deaf) = agents.split_at(2);
    let resident = || memory(server.id(), "VmRSS").expect("the server has ended");
    let before = resident();
    let load = match flood {
        Some(flood) => Some(flood.start(host, deaf).await),
        None => None,
    };
    let seen = others(host, pair, window).await;
    let (during, open) = (resident(), load.as_ref().map_or(0, |load| load.counts.open.get()));
    drop(load);
    let (mut after, begun) = (resident(), std::time::Instant::now());
    while flood.is_some() && begun.elapsed() < AFTER && after > before + before / 10 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        after = after.min(resident());
    }
    let (p50, p99) = (seen.percentile(0.5), seen.percentile(0.99));
    let (answers, failures) = (seen.times.len(), seen.failures.len());
    Row { flood, open, resident: [before, during, after], answers, failures, p50, p99 }
}

pub fn render(measured: &Measured, machine: &[String]) -> String {
    let mut out = format!("{HEADING}\nWritten by `cargo xtask bench --overload`.\n\n");
    machine.iter().for_each(|line| writeln!(out, "- {line}").unwrap());
    let mb = |bytes: u64| format!("{:.0}", bytes as f64 / 1e6);
    writeln!(out, "- the server is held to 512 MiB by {}; it had {} MB at most", measured.held_by, mb(measured.most))
        .unwrap();
    out.push_str(
        "- other clients ask `/health` on a new connection and send a message of 8 KB on a kept one, every 20 ms; `after` \
         is the lowest value within a minute\n- all clients come from one trusted address, so that only the shared \
         budgets limit them\n\n\
         | Load | came | before, MB | during | after | answers to others | failed | p50, ms | p99, ms |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for row in &measured.rows {
        let name = match row.flood {
            None => "nothing".to_owned(),
            Some(flood) => format!("{} {}", flood.size(), flood.words()),
        };
        let [before, during, after] = row.resident.map(mb);
        let ms = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e3);
        writeln!(
            out,
            "| {name} | {} | {before} | {during} | {after} | {} | {} | {} | {} |",
            row.open,
            row.answers,
            row.failures,
            ms(row.p50),
            ms(row.p99)
        )
        .unwrap();
    }
    out
}
