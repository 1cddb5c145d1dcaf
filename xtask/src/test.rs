//! `cargo xtask test`: every test. The Worker's bundles are built first, because tests run them under workerd.

use crate::edge::build::{self, Bundle};
use crate::project::cargo;
use crate::run::{Result, run};
use crate::tools;

pub fn test(filter: &[&str]) -> Result<()> {
    build::build()?;
    build::ensure(Bundle::Probe)?;
    tools::interop()?;
    // The binaries that tests start as processes.
    run("build", cargo().args(["build", "--locked", "--workspace", "--exclude", "heliograph-edge"]))?;
    run(
        "tests",
        cargo()
            .args(["test", "--locked", "--workspace", "--exclude", "heliograph-edge"])
            .env("HELIOGRAPH_TEST_TARGETS", "memory,native,edge")
            .arg("--")
            .args(filter),
    )
}
