//! `cargo xtask bench`: the measurements, on optimised builds.

use crate::edge;
use crate::project::cargo;
use crate::run::{Result, run};

pub fn bench(args: &[&str]) -> Result<()> {
    // These are native.
    const NATIVE: [&str; 11] = [
        "--agents",
        "--alerts",
        "--fair",
        "--forecasts",
        "--incidents",
        "--large",
        "--ledger",
        "--ledger-grown",
        "--mailbox",
        "--overload",
        "--probes",
    ];
    if !NATIVE.iter().any(|native| args.contains(native)) {
        edge::build::ensure(edge::build::Bundle::Worker)?;
    }
    // The programs that are measured, beside the bench.
    run("build", cargo().args(["build", "--locked", "--release", "--package", "heliograph", "--package", "xtask"]))?;
    run(
        "benches",
        cargo().args(["bench", "--locked", "--package", "heliograph-tests", "--bench", "bench", "--"]).args(args),
    )
}
