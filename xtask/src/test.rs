//! `cargo xtask test`: every test. The Worker's bundle is built first, because tests run it under workerd.

use crate::edge;
use crate::project::cargo;
use crate::run::{Result, run};

pub fn test(filter: &[&str]) -> Result<()> {
    edge::build::build()?;
    // The binaries that tests start as processes.
    run("build", cargo().args(["build", "--locked", "--workspace", "--exclude", "heliograph-edge"]))?;
    run(
        "tests",
        cargo().args(["test", "--locked", "--workspace", "--exclude", "heliograph-edge"]).arg("--").args(filter),
    )
}
