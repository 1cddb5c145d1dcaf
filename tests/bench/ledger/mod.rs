//! `cargo xtask bench --ledger`: measures the credit ledger (decisions transfer-five-rows, batch-one-event and
//! offer-index).
//!
//! 10,000 agents with their own keys pay each other over HTTP. Every transfer is signed and is durable before it is
//! answered, and the limits are on. Before and after each round of transfers the fdatasync rate of the same disk is
//! measured, and ratios are taken within a round. This is done with the server on one core and the generator on
//! another, and then with both on all cores, as on a machine that serves nothing else. Batches, disk space, searches
//! among a million offers, and PostgreSQL's own benchmark follow. `--transfers N`, `--offers N` and `--agents N` set
//! other numbers for a shorter run, which writes nothing.
//!
//! | Module | What |
//! |---|---|
//! | `edge` | the ledger of the Worker |
//! | `grown` | a ledger with two million transfers |
//! | `market` | searches among very many offers |
//! | `people` | agents with keys and credit |

mod edge;
mod grown;
mod market;
pub mod people;

use std::fmt::Write as _;
use std::path::Path;

use heliograph_tests::client::Client;
use heliograph_tests::process::Server;
use tokio::runtime::Runtime;

use self::market::Market;
use self::people::{People, send_all};
use crate::load::Outcome;
use crate::machine::{self, Cores};
use crate::peers::postgres;
use crate::{disk, service};

pub use edge::{HEADING as EDGE_HEADING, SECONDS as EDGE_SECONDS, measure as measure_edge};
pub use grown::{HEADING as GROWN_HEADING, TRANSFERS as GROWN_TRANSFERS, measure as measure_grown};

pub const HEADING: &str = "\n## Ledger\n";

const CONNECTIONS: usize = 16;
const ROUNDS: usize = 3;
/// Transfers in one batch.
const ITEMS: usize = 1_000;
/// The targets: transfers per fdatasync, items per second to 100 and to 1,000 recipients, milliseconds of a search.
const TRANSFERS: f64 = 0.7;
const BATCHES: [(usize, f64); 2] = [(100, 60_000.0), (1_000, 25_000.0)];
const SEARCH: f64 = 20.0;

/// The size of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    pub agents: usize,
    /// Transfers before the measured ones; one round has a quarter as many.
    pub transfers: usize,
    pub offers: usize,
}

pub const FULL: Plan = Plan { agents: 10_000, transfers: 100_000, offers: 1_000_000 };

struct Round {
    fsync: [disk::SyncRate; 2],
    transfers: Outcome,
    /// CPU seconds of the server.
    cpu: Option<f64>,
}

impl Round {
    fn ratio(&self) -> f64 {
        self.transfers.rate * 2.0 / (self.fsync[0].rate + self.fsync[1].rate)
    }
}

/// Rounds of transfers.
struct Transfers {
    rounds: Vec<Round>,
    /// The rounds on all cores; `None` if the other rounds used all cores too.
    shared: Option<Vec<Round>>,
}

pub struct Measured {
    transfers: Transfers,
    /// Items per second for each of [`BATCHES`]; `None` if there is no such route.
    batches: Option<[Vec<f64>; 2]>,
    /// Bytes of one transfer: on the disk, and in the file's length.
    bytes: [f64; 2],
    postgres: postgres::Measured,
    market: Market,
}

impl Transfers {
    /// Measures rounds of `number` transfers, with new servers on the existing file.
    fn measure(runtime: &Runtime, folder: &Path, people: &mut People, number: usize, cores: &Cores) -> Transfers {
        let mut more = |cores: &Cores, first| {
            let server = start(folder, cores, &[]);
            let rounds = rounds(runtime, folder, &server, people, number, first);
            server.stop();
            rounds
        };
        Transfers { rounds: more(cores, 0), shared: cores.shared(|cores| more(cores, ROUNDS)) }
    }

    /// The rounds, with a name for their cores.
    fn both(&self) -> impl Iterator<Item = (&'static str, &[Round])> {
        let shared = self.shared.iter().map(|rounds| (", on all cores", rounds.as_slice()));
        std::iter::once(("", self.rounds.as_slice())).chain(shared)
    }
}

fn start(folder: &Path, cores: &Cores, settings: &[(&str, &str)]) -> Server {
    let mut command = service::command(&folder.join("ledger.redb"), cores);
    for (name, value) in settings {
        command.env(format!("HELIOGRAPH_{name}"), value);
    }
    Server::start(command)
}

pub fn run(folder: &Path, plan: &Plan, cores: &Cores) -> Measured {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = start(folder, cores, &[]);
    let begun = std::time::Instant::now();
    let mut people = People::register(&runtime, &server.base, plan.agents);
    people.grant(&runtime, &server.base);
    eprintln!("{} agents with credit in {:.0} s", plan.agents, begun.elapsed().as_secs_f64());
    let bytes = fill(&runtime, folder, &server, &mut people, plan);
    server.stop();
    let transfers = Transfers::measure(&runtime, folder, &mut people, plan.transfers / 4, cores);
    let server = start(folder, cores, &[]);
    let batches = batches(&runtime, &server, &mut people);
    server.stop();
    let postgres = postgres::measure(folder, cores, CONNECTIONS, 10);
    // Here a provider lists a hundred offers at once, which the limits would stop.
    let server = start(folder, cores, &[("PAY_WRITES_PER_MINUTE", "0")]);
    let market = market::measure(&runtime, &server.base, &mut people, plan.offers);
    server.stop();
    Measured { transfers, batches, bytes, postgres, market }
}

/// Makes the transfers before the measured ones; returns the bytes of each.
fn fill(runtime: &Runtime, folder: &Path, server: &Server, people: &mut People, plan: &Plan) -> [f64; 2] {
    let size = || {
        let size = machine::file_size(&folder.join("ledger.redb"));
        [size.on_disk, size.length]
    };
    // The rows that the first transfers change were made with the wallets; the file grows ahead of its use.
    let before = size();
    for first in (0..plan.transfers).step_by(25_000) {
        let number = (plan.transfers - first).min(25_000);
        send_all(runtime, &server.base, people::FILLERS, &people.transfers(&server.base, first, number));
    }
    let after = size();
    [0, 1].map(|at| after[at].saturating_sub(before[at]) as f64 / plan.transfers as f64)
}

/// Measures rounds from number `first` on; the number decides who pays.
fn rounds(
    runtime: &Runtime,
    folder: &Path,
    server: &Server,
    people: &mut People,
    number: usize,
    first: usize,
) -> Vec<Round> {
    let window = std::time::Duration::from_secs(1);
    (first..first + ROUNDS)
        .map(|round| {
            eprintln!("round {}", round + 1);
            let transfers = people.transfers(&server.base, round * number, number);
            let before = disk::sync_rate(folder, window);
            let used = machine::cpu_seconds(server.id());
            let transfers = send_all(runtime, &server.base, CONNECTIONS, &transfers);
            let cpu = machine::cpu_seconds(server.id()).zip(used).map(|(now, before)| now - before);
            Round { fsync: [before, disk::sync_rate(folder, window)], transfers, cpu }
        })
        .collect()
}

fn batches(runtime: &Runtime, server: &Server, people: &mut People) -> Option<[Vec<f64>; 2]> {
    let known = Client::http(&server.base).get("/openapi.json").expect(200);
    known["paths"].get("/v1/pay/batch")?;
    Some(BATCHES.map(|(distinct, _)| {
        let round = |_| {
            let plan = people.batches(&server.base, 200, ITEMS, distinct);
            send_all(runtime, &server.base, CONNECTIONS, &plan).rate * ITEMS as f64
        };
        (0..ROUNDS).map(round).collect()
    }))
}

fn worst(all: impl IntoIterator<Item = f64>) -> f64 {
    all.into_iter().fold(f64::INFINITY, f64::min)
}

fn listed(all: impl IntoIterator<Item = f64>, digits: usize) -> String {
    all.into_iter().map(|value| format!("{value:.digits$}")).collect::<Vec<_>>().join(", ")
}

pub fn render(plan: &Plan, measured: &Measured, machine: &[String]) -> String {
    let mut out = format!("{HEADING}\nWritten by `cargo xtask bench --ledger`.\n\n");
    machine.iter().for_each(|line| writeln!(out, "- {line}").unwrap());
    notes(&mut out, plan, measured);
    out.push_str("\n| What | Target | Worst round | All rounds | Met |\n|---|---|---|---|---|\n");
    let yes = |met: bool| if met { "yes" } else { "**no**" };
    for (what, least, all) in measured.transfers.ratios() {
        writeln!(out, "| {what} | >= {TRANSFERS} | {least:.2} | {all} | {} |", yes(least >= TRANSFERS)).unwrap();
    }
    for (at, (distinct, bar)) in BATCHES.into_iter().enumerate() {
        let what = format!("items per second in batches of {ITEMS} to {distinct} recipients");
        let Some(batches) = &measured.batches else {
            writeln!(out, "| {what} | >= {bar:.0} | not measured: no route /v1/pay/batch | | **no** |").unwrap();
            continue;
        };
        let all = || batches[at].iter().copied();
        let least = worst(all());
        writeln!(out, "| {what} | >= {bar:.0} | {least:.0} | {} | {} |", listed(all(), 0), yes(least >= bar)).unwrap();
    }
    let p99 = f64::from(measured.market.searches[0].p99) / 1_000.0;
    let what = format!("search among {} offers, p99, ms", measured.market.offers);
    writeln!(out, "| {what} | < {SEARCH} | {p99:.2} | | {} |", yes(p99 < SEARCH)).unwrap();
    measured.transfers.table(&mut out);
    searches(&mut out, &measured.market);
    out
}

fn notes(out: &mut String, plan: &Plan, measured: &Measured) {
    let [disk, length] = measured.bytes;
    let market = &measured.market;
    let lines = [
        format!(
            "{} agents pay each other in turn, {} transfers before the first round and {} in each; at most 100 writes per minute \
             and agent",
            plan.agents,
            plan.transfers,
            plan.transfers / 4
        ),
        format!(
            "a transfer takes {disk:.0} B on the disk, {length:.0} B of the file's length, which grows ahead of its use"
        ),
        match &measured.postgres {
            Ok(rate) => {
                format!("beside it, not compared: pgbench TPC-B at {CONNECTIONS} clients, durable, {rate:.0}/s")
            }
            Err(why) => format!("pgbench was not measured: {why}"),
        },
        format!("{} offers listed over HTTP, {:.0}/s, each signed", market.offers, market.listed_per_second),
    ];
    lines.iter().for_each(|line| writeln!(out, "- {line}").unwrap());
}

impl Transfers {
    /// Name, worst round and all rounds of each measurement.
    fn ratios(&self) -> impl Iterator<Item = (String, f64, String)> {
        self.both().map(|(cores, rounds)| {
            let ratios = || rounds.iter().map(Round::ratio);
            let what = format!("signed transfers at {CONNECTIONS} connections / fdatasync rate{cores}");
            (what, worst(ratios()), listed(ratios(), 2))
        })
    }

    fn table(&self, out: &mut String) {
        out.push_str(
            "\n| Round | fdatasync before, per second | after | transfers per second | p50, ms | p99, ms | server, us of CPU \
             a transfer |\n|---|---|---|---|---|---|---|\n",
        );
        let rounds = self.both().flat_map(|(cores, rounds)| rounds.iter().map(move |round| (cores, round)));
        for (at, (cores, round)) in rounds.enumerate() {
            let Outcome { rate, p50, p99, answers, .. } = round.transfers;
            let cpu = round.cpu.map_or("-".to_owned(), |seconds| format!("{:.0}", seconds / answers as f64 * 1e6));
            let [before, after] = round.fsync.map(|disk| disk.rate);
            let (number, p50, p99) = (at + 1, ms(p50), ms(p99));
            writeln!(out, "| {number}{cores} | {before:.0} | {after:.0} | {rate:.0} | {p50:.2} | {p99:.2} | {cpu} |")
                .unwrap();
        }
    }
}

fn ms(micros: u32) -> f64 {
    f64::from(micros) / 1_000.0
}

fn searches(out: &mut String, market: &Market) {
    out.push_str("\n| Search | connections | per second | p50, ms | p99, ms |\n|---|---|---|---|---|\n");
    let mixed = market.searches.iter().map(|outcome| ("all sorts", outcome));
    let sorts = market.sorts.iter().map(|(name, outcome)| (*name, outcome));
    for (name, outcome) in mixed.chain(sorts).chain([("`/v1/pay/stats`", &market.stats)]) {
        let Outcome { connections, rate, p50, p99, .. } = *outcome;
        writeln!(out, "| {name} | {connections} | {rate:.0} | {:.2} | {:.2} |", ms(p50), ms(p99)).unwrap();
    }
}
