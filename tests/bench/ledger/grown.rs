//! `cargo xtask bench --ledger-grown`: measures transfers in a ledger that already has two million (decision
//! transfer-five-rows), reported beside those of a new ledger.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use super::people::People;
use super::{FULL, Plan, Transfers, fill, start};
use crate::machine;

pub const HEADING: &str = "\n## Ledger of two million transfers\n";

/// Transfers before the measured ones.
pub const TRANSFERS: usize = 2_000_000;
/// Transfers in each round.
const MORE: usize = 25_000;

pub fn measure(folder: &Path, transfers: usize, cores: &machine::Cores) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = start(folder, cores, &[]);
    let mut people = People::register(&runtime, &server.base, FULL.agents);
    people.grant(&runtime, &server.base);
    let begun = Instant::now();
    let [disk, length] = fill(&runtime, folder, &server, &mut people, &Plan { transfers, ..FULL });
    let rate = transfers as f64 / begun.elapsed().as_secs_f64();
    eprintln!("{transfers} transfers, {rate:.0}/s");
    server.stop();
    let measured = Transfers::measure(&runtime, folder, &mut people, MORE, cores);

    let mut out = format!("{HEADING}\nWritten by `cargo xtask bench --ledger-grown`.\n\n");
    machine::describe(cores).iter().for_each(|line| writeln!(out, "- {line}").unwrap());
    let agents = FULL.agents;
    writeln!(out, "- {transfers} transfers of {agents} agents came before, {rate:.0}/s with their signing").unwrap();
    writeln!(out, "- a transfer takes {disk:.0} B on the disk, {length:.0} B of the file's length").unwrap();
    out.push_str("\n| What | Worst round | All rounds |\n|---|---|---|\n");
    for (what, least, all) in measured.ratios() {
        writeln!(out, "| {what} | {least:.2} | {all} |").unwrap();
    }
    measured.table(&mut out);
    out
}
