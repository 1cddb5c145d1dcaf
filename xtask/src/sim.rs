//! `cargo xtask sim`: the deterministic simulation, with the arguments passed on to its tests.

use crate::project::cargo;
use crate::run::{Result, run};

pub fn sim(args: &[&str]) -> Result<()> {
    run("simulation", cargo().args(["test", "--locked", "--package", "heliograph-tests", "--", "sim"]).args(args))
}
