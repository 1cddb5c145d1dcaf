//! `cargo xtask bench --races`: runs races between an owner and attackers who want one DID, many times, on both
//! runtimes.

use std::fmt::Write as _;
use std::path::Path;

use heliograph_tests::client::Client;
use heliograph_tests::process;
use heliograph_tests::races::{self, Race};

pub const HEADING: &str = "\n## Races\n";

/// Races on each runtime.
pub const RACES: usize = 200;
/// Attackers in each race.
const ATTACKERS: usize = 4;

/// The sums of all races of a runtime.
#[derive(Debug)]
pub struct Measured {
    runtime: &'static str,
    sum: Race,
}

pub fn run(folder: &Path, races: usize) -> Vec<Measured> {
    let settings = [("registrations_per_hour", "10000000"), ("agent_per_second", "100000"), ("agent_burst", "1000000")];
    let native = process::native(&folder.join("races.redb"), &settings);
    let edge = process::edge(&folder.join("edge"), &settings);
    let measured = [("native", &native.base), ("workerd", &edge.base)].map(|(runtime, base)| {
        let mut sum = Race::default();
        for _ in 0..races {
            sum += races::run(&|| Client::http(base), ATTACKERS);
        }
        Measured { runtime, sum }
    });
    native.stop();
    edge.stop();
    measured.into()
}

pub fn render(measured: &[Measured], races: usize, machine: &[String]) -> String {
    let mut out = format!("{HEADING}\nWritten by `cargo xtask bench --races`.\n\n");
    machine.iter().for_each(|line| writeln!(out, "- {line}").unwrap());
    writeln!(
        out,
        "- {races} races on each runtime: {ATTACKERS} attackers register a DID with made-up keys and copies of its signed prekey, \
         and write under it with the API keys they get, while its owner registers it with a proof\n\n\
         | Runtime | lost by the owner | registrations of attackers | what they wrote | of that left to the owner | their keys \
         that still open something |\n|---|---|---|---|---|---|"
    )
    .unwrap();
    for Measured { runtime, sum } in measured {
        let Race { registered, written, left, open, lost } = sum;
        writeln!(out, "| {runtime} | {lost} | {registered} | {written} | {left} | {open} |").unwrap();
    }
    out
}

/// True if no race was lost, and nothing of the attackers was left or still opened something.
pub fn holds(measured: &[Measured]) -> bool {
    measured.iter().all(|Measured { sum, .. }| (sum.lost, sum.left, sum.open) == (0, 0, 0))
}
