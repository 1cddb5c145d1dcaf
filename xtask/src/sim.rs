//! `cargo xtask sim`: runs the deterministic simulation, with the arguments passed on to its tests. `sim ledger` runs
//! the long walk of random operations over the ledger.

use crate::project::cargo;
use crate::run::{Result, run};

pub fn sim(args: &[&str]) -> Result<()> {
    match args {
        ["ledger", steps @ ..] => ledger(steps.first().copied().unwrap_or("10000000")),
        args => {
            let tests = ["test", "--locked", "--package", "heliograph-tests", "--test", "simulation", "--"];
            run("simulation", cargo().args(tests).args(args))
        }
    }
}

/// Runs `steps` random operations, and compares the ledger with its rules after each.
fn ledger(steps: &str) -> Result<()> {
    let test = ["test", "--locked", "--release", "--package", "heliograph-ledger", "--lib", "--", "tests::model"];
    run("random operations on the ledger", cargo().env("HELIOGRAPH_LEDGER_STEPS", steps).args(test))
}
