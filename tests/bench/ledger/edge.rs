//! `cargo xtask bench --ledger-edge`: measures the ledger of the Worker under workerd (decision shared-market-reads),
//! with 300 signed transfers per second beside 500 providers that ask for their work, for a short time.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use heliograph_tests::process;
use heliograph_tests::questions::QuestionRequest;
use heliograph_tests::target::ADMIN_KEY;

use super::people::People;
use crate::load::{self, Outcome, Plan};
use crate::machine;

pub const HEADING: &str = "\n## Ledger of the Worker\n";

const TRANSFERS: f64 = 300.0;
const POLLS: f64 = 500.0;
pub const SECONDS: f64 = 15.0;
/// Limit for the p99 of both, in milliseconds.
const P99: f64 = 250.0;
const AGENTS: usize = 500;

pub fn measure(folder: &Path, seconds: f64) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let settings = [
        ("admin_key", ADMIN_KEY),
        ("registrations_per_hour", "1000000"),
        ("pay_writes_per_address", "0"),
        ("pay_reads_per_minute", "0"),
    ];
    let state = folder.join("edge");
    std::fs::create_dir(&state).unwrap();
    std::fs::write(state.join("master.key"), "2a".repeat(32)).unwrap();
    let server = process::edge(&state, &settings);
    let base = server.base.clone();
    let mut people = People::register(&runtime, &base, AGENTS);
    people.grant(&runtime, &base);
    eprintln!("{AGENTS} agents with credit");
    let polls = |number: usize, people: &People| {
        let asked = |n: usize| QuestionRequest {
            path: format!("/v1/pay/hire/incoming/{}?state=requested&limit=10", people.signers[n % AGENTS].did),
            body: String::new(),
        };
        Plan::mixed(&base, &(0..number).map(asked).collect::<Vec<_>>(), &[])
    };
    let mut both = |seconds: f64, first: usize| {
        let number = |rate: f64| (rate * seconds) as usize;
        let transfers = people.transfers(&base, first, number(TRANSFERS));
        let polls = polls(number(POLLS), &people);
        let transfers = load::paced(&base, 64, TRANSFERS, &transfers);
        let polls = load::paced(&base, 64, POLLS, &polls);
        runtime.block_on(futures_util::future::join(transfers, polls))
    };
    // A first run that is not counted.
    both(2.0, 0);
    std::thread::sleep(Duration::from_secs(1));
    let measured = both(seconds, AGENTS);
    server.stop();
    render(measured, &machine::describe_shared())
}

fn render((transfers, polls): (Outcome, Outcome), machine: &[String]) -> String {
    let mut out = format!("{HEADING}\nWritten by `cargo xtask bench --ledger-edge`.\n\n");
    machine.iter().for_each(|line| writeln!(out, "- {line}").unwrap());
    out.push_str("- times count from when a request is due\n\n");
    out.push_str("| What | per second | reached | p50, ms | p99, ms | Target | Met |\n|---|---|---|---|---|---|---|\n");
    let rows = [("signed transfers", TRANSFERS, transfers), ("polls for hires", POLLS, polls)];
    for (name, rate, outcome) in rows {
        let ms = |micros: u32| f64::from(micros) / 1_000.0;
        let (p50, p99) = (ms(outcome.p50), ms(outcome.p99));
        let met = if p99 < P99 && outcome.rate > rate * 0.95 { "yes" } else { "**no**" };
        writeln!(out, "| {name} | {rate:.0} | {:.0} | {p50:.1} | {p99:.1} | < {P99:.0} | {met} |", outcome.rate)
            .unwrap();
    }
    out
}
