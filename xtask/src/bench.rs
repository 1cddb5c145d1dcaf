//! `cargo xtask bench`: runs the benchmarks on optimised builds.

use crate::edge;
use crate::project::cargo;
use crate::run::{Result, run};

/// Number of flips in [`damage`].
const FLIPS: &str = "2000";

pub fn bench(args: &[&str]) -> Result<()> {
    if args == ["--damage"] {
        return damage();
    }
    // Benchmarks that need only the native server.
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
    // The programs that are measured by the bench.
    run("build", cargo().args(["build", "--locked", "--release", "--package", "heliograph", "--package", "xtask"]))?;
    run(
        "benches",
        cargo().args(["bench", "--locked", "--package", "heliograph-tests", "--bench", "bench", "--"]).args(args),
    )
}

/// Changes bits and pages of a data file on disk: the test of the native server, with more flips than in CI.
fn damage() -> Result<()> {
    let table = crate::project::root().join("tests/bench/DAMAGE.md");
    let test = ["test", "--locked", "--package", "heliograph", "--test", "damage", "--", "flipped"];
    run("flips", cargo().env("HELIOGRAPH_FLIPS", FLIPS).env("HELIOGRAPH_FLIPS_TABLE", table).args(test))
}
