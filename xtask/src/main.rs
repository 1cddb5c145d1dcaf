//! `cargo xtask <task>`: all tasks of this repository.
//!
//! Each task has one file. A task is a function from its arguments to `Result`; a failed command ends the run with its
//! name.
//!
//! | Module | What |
//! |---|---|
//! | `advisories` | security advisories about packages |
//! | `bench` | benchmarks |
//! | `browser` | the browsers that look at pages, and pictures of them |
//! | `cache` | the build folder in the user's cache |
//! | `check` | formatting, lints and policies |
//! | `ci` | everything that a change must pass |
//! | `client` | the packages of the client library |
//! | `compare` | the benchmark beside other servers |
//! | `debian` | packages of Debian, unpacked and not installed |
//! | `dist` | the program and its package for operators |
//! | `edge` | tasks for the Worker |
//! | `licences` | the dependency policy |
//! | `packages` | the packages in `Cargo.lock` |
//! | `project` | paths and files of the checkout |
//! | `prune` | limits the size of a target folder |
//! | `run` | runs other programs and records their times |
//! | `sim` | the simulation, and random walks over the ledger |
//! | `test` | all tests |
//! | `tools` | pinned tools of the Worker |
//! | `yanked` | yanked versions of packages |
#![forbid(unsafe_code)]

mod advisories;
mod bench;
mod browser;
mod cache;
mod check;
mod ci;
mod client;
mod compare;
mod debian;
mod dist;
mod edge;
mod licences;
mod packages;
mod project;
mod prune;
mod run;
mod sim;
mod test;
mod tools;
mod yanked;

use std::process::ExitCode;

use client::Wheel;
use run::Result;

const HELP: &str = "\
cargo xtask <task>

  check                 formatting, clippy for both targets (warnings are errors), licences, advisories, yanked versions
  test [FILTER]         install pinned tools, build everything, the packages of the client library too, and run every
                        test, the Workers runtime included
  client [js | python]  the packages of the client library, in target/client: for npm with its size, and a Python wheel
  ci                    all that a change must pass: check, test, edge dry-run; prints the time of each step
  sim [ARGS...]         the deterministic simulation
  sim ledger [STEPS]    ten million random operations on the ledger, compared with its rules after each
  bench [--large | --incidents | --agents | --mailbox | --alerts | --probes | --forecasts | --ledger | --ledger-grown |
         --ledger-edge | --overload | --fair | --races | --damage]
                        the benchmarks of tests/bench; the options choose others: five million rows, 20,000 incidents,
                        10,000 listeners, a full mailbox, 10,000 alerts, probes, the daily forecasts, the credit ledger
                        natively, with two million transfers, and under workerd, floods with limited memory, cheap
                        questions beside costly ones, owners against attackers, and 2,000 flips in a data file
  compare [--edge | --grown] [--quick] [--older PROGRAM] [--agents N] [--messages N]
                        durable writes and kept answers beside Redis, PostgreSQL and nginx, which are unpacked from
                        Debian's packages where they are not installed; on a machine that does nothing else, because a
                        run counts only if the rate of fdatasync stays within 1.3 times; --older lets an earlier build
                        of the program take part; --edge compares the Worker with a plain one in JavaScript, and
                        --grown a file with ten million messages with an almost empty one
  pictures FOLDER       write a picture of every page into a folder
  dist [--profile NAME] [--target TRIPLE] [--program FILE] [--twice] [--boot]
                        what operators get, in target/dist: the program, a package for Debian, an image for
                        containers, the list of what it is made of, and checksums; --twice makes all of it again,
                        from another folder, and compares; --boot tries the package in a Debian that
                        systemd-nspawn boots
  edge build            bundle the Worker into build/ and print its size
  edge size             size of the present bundle; fails above the limit
  edge start            time to the first answer, beside that of a bare JavaScript Worker
  edge steps [--rows N] CPU and memory of the Worker's events while a large country is imported
  edge serve [--listen 127.0.0.1:8788] [--state DIR]
                        run the bundle under workerd; prints `listening on http://<addr>` when it answers
                        (--test-routes: the bundle with routes that test the runtime)
  edge plain            run the smallest JavaScript Worker under workerd, to compare with
  edge dry-run          package for deployment with wrangler, without deploying
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[&str]) -> Result<()> {
    match args {
        ["check"] => check::check(),
        ["ci"] => ci::ci(),
        ["client"] => client::client(Wheel::Released),
        ["client", "js"] => client::js(),
        ["client", "python"] => client::python(Wheel::Released),
        ["test", filter @ ..] => test::test(filter),
        ["pictures", folder] => browser::pictures(folder),
        ["sim", rest @ ..] => sim::sim(rest),
        ["bench", rest @ ..] => bench::bench(rest),
        ["compare", rest @ ..] => compare::compare(rest),
        ["dist", options @ ..] => dist::dist(options),
        ["edge", "build"] => edge::build::build(),
        ["edge", "start"] => edge::start::start(),
        ["edge", "steps", options @ ..] => edge::steps::steps(options),
        ["edge", "size"] => edge::size::size(),
        ["edge", "serve", options @ ..] => edge::serve::serve(options),
        ["edge", "plain"] => edge::plain::plain(),
        ["edge", "dry-run"] => edge::dry_run::dry_run(),
        ["help" | "--help" | "-h"] | [] => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(format!("unknown task `{}`\n\n{HELP}", other.join(" "))),
    }
}
