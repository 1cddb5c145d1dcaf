//! `cargo xtask test`: runs every test. The Worker's bundles are built before the tests that run them under workerd.

use std::process::Command;

use crate::browser;
use crate::edge::build::{self, Bundle};
use crate::project::cargo;
use crate::run::{Result, run};
use crate::tools;

/// Tests beside the code, which start nothing and need no bundle.
const UNITS: &[&str] = &["--lib", "--bins"];
/// Tests in `tests` folders, which start servers.
const PROGRAMS: &[&str] = &["--test", "*"];

pub fn test(filter: &[&str]) -> Result<()> {
    // Each of the two uses only one core for minutes while it links or compiles the core. Together they take hardly
    // longer than one.
    let (bundles, units) = std::thread::scope(|scope| {
        let bundles = scope.spawn(|| build::build().and_then(|()| build::ensure(Bundle::Probe)));
        let units = programs().map(|()| run("tests of units", tests(UNITS).arg("--").args(filter)));
        (bundles.join(), units)
    });
    let units = units?;
    bundles.map_err(|_| "building the bundles panicked")??;
    // The task runner's tests start workerd and wait for its timers most of the time, so they cost the other ones little.
    let (programs, runner) = std::thread::scope(|scope| {
        let runner =
            scope.spawn(|| run("tests of the task runner and of workerd", runner_tests().arg("--").args(filter)));
        let mut programs = tests(PROGRAMS);
        programs.env("HELIOGRAPH_TEST_TARGETS", "memory,native,edge").arg("--").args(filter);
        browser::provide(&mut programs);
        (run("tests of programs", &mut programs), runner.join())
    });
    // One run names all that fails.
    units.and(programs).and(runner.map_err(|_| "testing the task runner panicked")?)
}

/// Runs the tests together with the programs that they start: Cargo builds the programs of a package with its tests.
/// Building the programs first would compile most libraries twice, since tests need other features of them.
fn programs() -> Result<()> {
    tools::interop()?;
    tools::mcp()?;
    tools::clients()?;
    tools::pages()?;
    run("build", tests(&[]).arg("--no-run"))?;
    // Tests of the edge start this program, as it is beside them.
    run("build the task runner", runner_tests().arg("--no-run"))
}

/// The tests of everything but the Worker, which compiles for wasm32 alone, and this program.
pub fn tests(targets: &[&str]) -> Command {
    let mut command = cargo();
    command
        .args(["test", "--locked", "--no-fail-fast", "--workspace"])
        .args(["--exclude", "heliograph-edge", "--exclude", "xtask"])
        .args(targets);
    command
}

fn runner_tests() -> Command {
    let mut command = cargo();
    command.args(["test", "--locked", "--package", "xtask"]);
    command
}
