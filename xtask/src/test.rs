//! `cargo xtask test`: runs every test. The Worker's bundles are built before the tests that run them under workerd.

use std::process::Command;

use crate::browser;
use crate::client::{self, Wheel};
use crate::edge::build::{self, Bundle};
use crate::packages;
use crate::project::cargo;
use crate::run::{self, Result, run};
use crate::tools;

/// Tests beside the code, which start nothing and need no bundle.
const UNITS: &[&str] = &["--lib", "--bins"];
/// The test in a `tests` folder that takes about as long as all others together.
const CONFORMANCE: &str = "conformance";
/// The test that runs the packages of the client library.
const LANGUAGES: &str = "languages";
/// Tests in `tests` folders that measure memory, or wait for many connections at once: nothing else runs beside them.
const ALONE: [&str; 2] = ["floods", "listeners"];

/// Tests whose name contains the filter, or all.
pub fn test(filter: &[&str]) -> Result<()> {
    // The conformance takes one and no more.
    if filter.len() > 1 {
        return Err(format!("one filter at a time: `{}` is too much", filter[1..].join(" ")));
    }
    // Each of the two uses only one core for minutes while it links or compiles the core. Together they take hardly
    // longer than one.
    let (bundles, units) = std::thread::scope(|scope| {
        let bundles = scope.spawn(|| build::build().and_then(|()| build::ensure(Bundle::TestRoutes)));
        let units = programs().map(|()| run::tests("tests of units", tests(UNITS).arg("--").args(filter)));
        (bundles.join(), units)
    });
    let units = units?;
    bundles.map_err(|_| "building the bundles panicked")??;
    // One run names all that fails.
    let servers = servers(filter);
    units.and(servers)
}

/// Tests that start servers: the conformance beside the others, because both wait for servers and timers a third of the time,
/// and beside them what compiles the packages of the client library.
fn servers(filter: &[&str]) -> Result<()> {
    let mut others = packages::test_programs()?;
    let apart = [&[CONFORMANCE, LANGUAGES][..], &ALONE].concat();
    others.retain(|name| !apart.contains(&name.as_str()));
    let (conformance, others, runner, languages) = std::thread::scope(|scope| {
        let conformance = scope.spawn(|| run::tests("conformance", &mut programs_named(&[CONFORMANCE], filter)));
        let runner = scope
            .spawn(|| run::tests("tests of the task runner and of workerd", runner_tests().arg("--").args(filter)));
        let languages = scope.spawn(|| languages(filter));
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let mut others = programs_named(&others, filter);
        browser::provide(&mut others);
        let others = run::tests("tests of programs", &mut others);
        (conformance.join(), others, runner.join(), languages.join())
    });
    let alone = run::tests("tests that run alone", &mut programs_named(&ALONE, filter));
    let conformance = conformance.map_err(|_| "testing the conformance panicked")?;
    let languages = languages.map_err(|_| "testing the packages panicked")?;
    let runner = runner.map_err(|_| "testing the task runner panicked")?;
    conformance.and(others).and(alone).and(runner).and(languages)
}

/// Builds the packages of the client library, and runs the quick starts and the examples as they are written.
fn languages(filter: &[&str]) -> Result<()> {
    client::client(Wheel::Tested)?;
    let mut programs = programs_named(&[LANGUAGES], filter);
    browser::provide(&mut programs);
    run::tests("programs in every language", programs.env("HELIOGRAPH_CLIENT_WHEELS", Wheel::Tested.folder()))
}

/// Runs these tests of `tests` folders on every runtime.
fn programs_named(names: &[&str], filter: &[&str]) -> Command {
    let mut command = tests(&[]);
    command.args(names.iter().flat_map(|name| ["--test", name]));
    command.env("HELIOGRAPH_TEST_TARGETS", "memory,native,edge").arg("--").args(filter);
    command
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
