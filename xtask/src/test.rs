//! `cargo xtask test`: every test. The Worker's bundles are built first, because tests run them under workerd.

use std::process::Command;

use crate::edge::build::{self, Bundle};
use crate::project::cargo;
use crate::run::{Result, run};
use crate::tools;

pub fn test(filter: &[&str]) -> Result<()> {
    // Either is on one core for minutes where it links or compiles the core: together they need not much longer than one.
    let (bundles, programs) = std::thread::scope(|scope| {
        let bundles = scope.spawn(|| build::build().and_then(|()| build::ensure(Bundle::Probe)));
        let programs = programs();
        (bundles.join(), programs)
    });
    programs?;
    bundles.map_err(|_| "building the bundles panicked")??;
    run("tests", tests().env("HELIOGRAPH_TEST_TARGETS", "memory,native,edge").arg("--").args(filter))
}

/// Everything that tests start as processes, and the tests.
fn programs() -> Result<()> {
    tools::interop()?;
    run("build", cargo().args(["build", "--locked", "--workspace", "--exclude", "heliograph-edge"]))?;
    run("build tests", tests().arg("--no-run"))
}

fn tests() -> Command {
    let mut command = cargo();
    command.args(["test", "--locked", "--workspace", "--exclude", "heliograph-edge"]);
    command
}
