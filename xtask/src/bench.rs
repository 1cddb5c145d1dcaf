//! `cargo xtask bench`: the measurements, on optimised builds.

use crate::project::cargo;
use crate::run::{Result, run};

pub fn bench(args: &[&str]) -> Result<()> {
    run("benches", cargo().args(["bench", "--locked", "--package", "heliograph-tests", "--"]).args(args))
}
