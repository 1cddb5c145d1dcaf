//! `cargo xtask bench --agents`: measures listening agents, and the cost of a message between them (decision
//! ten-thousand-listeners).
//!
//! Every agent holds an SSE stream like the TypeScript SDK, with the server's own stream life of 30 s. After a minute
//! without messages the memory is read; then messages are sent between random agents. A bare axum echo over SSE with
//! the same listeners and the same rate is measured before and after. `--number N` sets another number of agents for a
//! shorter run.

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use heliograph_tests::listening::{Account, Crowd, ListeningRequests, Relay, register, request};
use heliograph_tests::process::Server;
use serde_json::Value;
use tokio::task::LocalSet;

use crate::{bare, machine, service};

pub const HEADING: &str = "\n## Agents\n";

/// Connections on which messages are sent.
const WRITERS: usize = 64;
/// Most resident memory of one idle stream, in bytes.
const MEMORY: f64 = 40_000.0;
/// The limits of p99: in milliseconds, and as a multiple of the echo's (decision ten-thousand-listeners).
const P99: (f64, f64) = (50.0, 5.0);

/// The size of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    agents: usize,
    /// Messages per second.
    rate: usize,
    /// Time over which the agents connect: one stream's life, so that reconnects are evenly distributed.
    ramp: Duration,
    idle: Duration,
    window: Duration,
    /// The duration for messages that are marked as read, and for the echo.
    short: Duration,
}

pub const FULL: Plan = Plan {
    agents: 10_000,
    rate: 1_000,
    ramp: Duration::from_secs(30),
    idle: Duration::from_secs(60),
    window: Duration::from_secs(60),
    short: Duration::from_secs(30),
};

impl Plan {
    pub fn small(agents: usize) -> Plan {
        let seconds = Duration::from_secs;
        let rate = (agents / 10).max(1);
        Plan { agents, rate, ramp: seconds(5), idle: seconds(10), window: seconds(35), short: seconds(5) }
    }
}

/// The results of messages at one rate.
#[derive(Debug)]
pub struct Phase {
    account: Account,
    seconds: f64,
    /// Streams that ended, and other requests of clients, during the phase.
    ended: u64,
    errands: u64,
    /// CPU seconds of the server and of the generator.
    cpu: [Option<f64>; 2],
}

/// The results of a whole run.
#[derive(Debug)]
pub struct Measured {
    registrations: f64,
    /// Before and after the relay.
    echo: [Phase; 2],
    relay: Listened,
}

#[derive(Debug)]
struct Listened {
    /// Resident bytes: without connections, after the idle time, and at most.
    resident: [Option<u64>; 3],
    /// Streams that were open at the second reading.
    open: usize,
    /// CPU seconds of the server per second of the idle time, and streams that ended in it.
    idle_cpu: Option<f64>,
    idle_ended: u64,
    plain: Phase,
    marked: Phase,
}

struct Echo {
    host: String,
}

impl ListeningRequests for Echo {
    fn listen(&self, agent: usize, _: Option<&str>) -> Vec<u8> {
        request(&self.host, "GET", &format!("/listen/{agent}"), &[], None)
    }

    fn send(&self, _: usize, to: usize, letter: Value) -> Vec<u8> {
        request(&self.host, "POST", &format!("/send/{to}"), &[], Some(&letter.to_string()))
    }

    fn errand(&self, _: usize, _: Option<&str>) -> Vec<u8> {
        unreachable!("nobody marks an echo as read")
    }
}

pub fn run(folder: &Path, plan: &Plan, cores: &machine::Cores) -> Measured {
    // A descriptor for every stream, and some more.
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    eprintln!("echo");
    let before = LocalSet::new().block_on(&runtime, echo(plan, cores));
    let data = folder.join("agents.redb");
    let server = Server::start(service::command(&data, cores));
    let start = Instant::now();
    let agents = LocalSet::new().block_on(&runtime, register(host(&server), plan.agents));
    let registrations = plan.agents as f64 / start.elapsed().as_secs_f64();
    eprintln!("registered {} agents, {registrations:.0}/s", plan.agents);
    server.stop();
    let server = Server::start(service::command(&data, cores));
    let relay = LocalSet::new().block_on(&runtime, relay(plan, &server, agents));
    server.stop();
    eprintln!("echo");
    let after = LocalSet::new().block_on(&runtime, echo(plan, cores));
    Measured { registrations, echo: [before, after], relay }
}

fn host(server: &Server) -> &str {
    server.base.trim_start_matches("http://")
}

async fn echo(plan: &Plan, cores: &machine::Cores) -> Phase {
    let server = bare::start(cores);
    let place = Box::new(Echo { host: host(&server).to_owned() });
    let mut crowd = Crowd::start(host(&server), plan.agents, place, plan.ramp / 3);
    crowd.wait_open(plan.agents, plan.ramp).await;
    let phase = phase(&mut crowd, &server, plan.rate, plan.short).await;
    drop(crowd);
    server.stop();
    phase
}

async fn relay(plan: &Plan, server: &Server, agents: Vec<(String, String)>) -> Listened {
    tokio::time::sleep(Duration::from_secs(3)).await;
    let empty = machine::resident_memory(server.id());
    let place = Box::new(Relay { host: host(server).to_owned(), agents });
    let mut crowd = Crowd::start(host(server), plan.agents, place, plan.ramp);
    // Some agents always pause between two streams.
    crowd.wait_open(plan.agents - plan.agents / 20, plan.ramp * 3).await;
    eprintln!("idle");
    let (cpu, ended) = (machine::cpu_seconds(server.id()), crowd.ended());
    tokio::time::sleep(plan.idle).await;
    let (idle, open) = (machine::resident_memory(server.id()), crowd.open());
    let idle_ended = crowd.ended() - ended;
    let idle_cpu = since(machine::cpu_seconds(server.id()), cpu).map(|cpu| cpu / plan.idle.as_secs_f64());
    eprintln!("{open} streams, {idle:?} B; messages");
    let plain = phase(&mut crowd, server, plan.rate, plan.window).await;
    eprintln!("messages that are marked as read");
    crowd.run_errands(true);
    let marked = phase(&mut crowd, server, plan.rate, plan.short).await;
    let resident = [empty, idle, machine::peak_memory(server.id())];
    Listened { resident, open, idle_cpu, idle_ended, plain, marked }
}

async fn phase(crowd: &mut Crowd, server: &Server, rate: usize, window: Duration) -> Phase {
    let (first, ended, errands) = (crowd.written(), crowd.ended(), crowd.answered_errands());
    let used = || [server.id(), std::process::id()].map(machine::cpu_seconds);
    let (cpu, start) = (used(), Instant::now());
    crowd.write(rate, window, WRITERS, first as u64 + 1).await;
    let seconds = start.elapsed().as_secs_f64();
    let [now, before] = [used(), cpu];
    let cpu = [since(now[0], before[0]), since(now[1], before[1])];
    let (ended, errands) = (crowd.ended() - ended, crowd.answered_errands() - errands);
    crowd.settle(Duration::from_secs(5)).await;
    Phase { account: crowd.account(first), seconds, ended, errands, cpu }
}

fn since(now: Option<f64>, before: Option<f64>) -> Option<f64> {
    Some(now? - before?)
}

impl Phase {
    fn wrong(&self) -> usize {
        self.account.lost + self.account.doubled + self.account.strayed
    }

    fn p99(&self) -> f64 {
        Account::percentile(&self.account.latencies, 0.99)
    }

    /// CPU time of the server for a message in microseconds, without the time that the idle streams need.
    fn cpu_per_message(&self, idle: Option<f64>) -> Option<f64> {
        Some((self.cpu[0]? - idle? * self.seconds) / self.account.accepted as f64 * 1e6)
    }
}

impl Listened {
    /// Resident bytes of one idle stream.
    fn per_stream(&self) -> Option<f64> {
        Some(self.resident[1]?.checked_sub(self.resident[0]?)? as f64 / self.open as f64)
    }
}

pub fn render(plan: &Plan, measured: &Measured, machine: &[String]) -> String {
    let Measured { echo, relay, .. } = measured;
    let mut out = format!("{HEADING}\nWritten by `cargo xtask bench --agents`.\n\n");
    machine.iter().for_each(|line| writeln!(out, "- {line}").unwrap());
    notes(&mut out, plan, measured);
    out.push_str("\n| What | Target | Measured | Met |\n|---|---|---|---|\n");
    let yes = |met: bool| if met { "yes" } else { "**no**" };
    let bar = P99.0.max(P99.1 * echo[0].p99().min(echo[1].p99()));
    for (what, phase) in [("", &relay.plain), (", messages marked as read", &relay.marked)] {
        let p99 = phase.p99();
        let met = yes(p99 <= bar);
        writeln!(out, "| p99 from the 201 to the arrival{what}, ms | <= {bar:.0} | {p99:.2} | {met} |").unwrap();
        let wrong = phase.wrong();
        let of = phase.account.accepted;
        writeln!(out, "| lost, doubled or astray{what} | 0 of {of} | {wrong} | {} |", yes(wrong == 0)).unwrap();
    }
    let memory = relay.per_stream();
    let met = yes(memory.is_some_and(|memory| memory < MEMORY));
    let memory = memory.map_or("-".to_owned(), |bytes| format!("{:.1}", bytes / 1e3));
    writeln!(out, "| resident memory of an idle stream, kB | < {:.0} | {memory} | {met} |", MEMORY / 1e3).unwrap();
    phases(&mut out, measured);
    out
}

fn notes(out: &mut String, plan: &Plan, measured: &Measured) {
    let relay = &measured.relay;
    let mb = |bytes: Option<u64>| bytes.map_or("-".to_owned(), |bytes| format!("{:.0} MB", bytes as f64 / 1e6));
    let [empty, idle, peak] = relay.resident.map(mb);
    let number = |value: Option<f64>, digits: usize| value.map_or("-".to_owned(), |value| format!("{value:.digits$}"));
    let idle_cpu = number(relay.idle_cpu.map(|cpu| cpu * 100.0), 1);
    let rate = relay.idle_ended as f64 / plan.idle.as_secs_f64();
    let lines = [
        format!(
            "{} agents, each with a stream that lives 30 s; {:.0} registrations/s",
            plan.agents, measured.registrations
        ),
        "a client asks for its next stream half a second after the end of the previous one; for a message that comes in \
         this pause, the time counts from that request"
            .to_owned(),
        format!(
            "resident: {empty} without connections, {idle} after {} s idle with {} streams, {peak} at most",
            plan.idle.as_secs(),
            relay.open
        ),
        format!("idle, with {rate:.0} reconnects/s: {idle_cpu} % of a core"),
    ];
    lines.iter().for_each(|line| writeln!(out, "- {line}").unwrap());
}

fn phases(out: &mut String, measured: &Measured) {
    let relay = &measured.relay;
    out.push_str(
        "\n| Messages | per second | p50, ms | p99, ms | most, ms | p99 with the client's pauses, ms | reconnects | marks and \
         heartbeats | server, us of CPU a message | generator, % of a core |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let rows = [
        ("bare axum echo, before", &measured.echo[0], Some(0.0)),
        ("relay", &relay.plain, relay.idle_cpu),
        ("relay, messages marked as read", &relay.marked, relay.idle_cpu),
        ("bare axum echo, after", &measured.echo[1], Some(0.0)),
    ];
    for (name, phase, idle) in rows {
        let at = |share| Account::percentile(&phase.account.latencies, share);
        let pauses = Account::percentile(&phase.account.with_pauses, 0.99);
        let rate = phase.account.accepted as f64 / phase.seconds;
        let cpu = phase.cpu_per_message(idle).map_or("-".to_owned(), |micros| format!("{micros:.0}"));
        let own = phase.cpu[1].map_or("-".to_owned(), |seconds| format!("{:.0}", seconds / phase.seconds * 100.0));
        writeln!(
            out,
            "| {name} | {rate:.0} | {:.2} | {:.2} | {:.2} | {pauses:.2} | {} | {} | {cpu} | {own} |",
            at(0.5),
            at(0.99),
            at(1.0),
            phase.ended,
            phase.errands
        )
        .unwrap();
    }
}
