//! The command line: one module for each subcommand.
//!
//! | Module | What |
//! |---|---|
//! | `agents` | suspends, restores, erases and shows agents |
//! | `args` | flags and subcommands |
//! | `backtest` | tests the shutdown forecast on past years |
//! | `classify` | judges single OONI documents |
//! | `client` | the data file in this process, or a running server |
//! | `config` | shows settings, and checks a file of them |
//! | `db` | inspects, checks and copies the data file |
//! | `evaluate` | measures the classifier on labelled measurements |
//! | `exit` | how commands end, and with which number |
//! | `import` | measurements, lists and reference data |
//! | `incidents` | lists, creates and changes incidents |
//! | `keys` | API keys and the master key |
//! | `ledger` | the credit ledger |
//! | `mcp` | the Model Context Protocol over standard input and output |
//! | `models` | forecast models |
//! | `moving` | `dump` and `load` |
//! | `peers` | peers of the relay |
//! | `probe` | a measuring probe |
//! | `restore` | checks a backup and puts it in the place of the data file |
//! | `serve` | the server |
//! | `shell` | completions and manual pages |
//! | `spill` | the file of sorted runs of an import |
//! | `sweep` | background work over all countries |
//! | `user` | commands for users: they ask a server by the client library |
//! | `world` | `evaluate --world` |

/// Like `println!`, but if the reader stops (`heliograph ... | head`), the output ends without a panic and the work
/// goes on.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        drop(writeln!(std::io::stdout(), $($text)*));
    }};
}

/// Like [`say`], without a line break.
macro_rules! write_out {
    ($($text:tt)*) => {{
        use std::io::Write;
        drop(write!(std::io::stdout(), $($text)*));
    }};
}

mod agents;
mod args;
mod backtest;
mod classify;
mod client;
mod config;
mod db;
mod dump;
mod evaluate;
mod exit;
mod import;
mod incidents;
mod keys;
mod ledger;
mod mcp;
mod models;
mod peers;
mod probe;
mod restore;
mod serve;
mod shell;
mod spill;
mod sweep;
mod user;
mod world;

use std::process::ExitCode;

use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue};

pub use args::{Cli, Command};
use exit::Failure;

use crate::log;

/// Runs the program and returns its exit code.
pub fn main() -> ExitCode {
    let parsed = args::help::command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            // Where nobody reads any more, nothing is left to do.
            let _ = error.print();
            if error.use_stderr() {
                tip(&error);
            }
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(exit::USAGE));
        }
    };
    log::install();
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.text.is_empty() {
                // It may quote what a server says.
                log::error!("{}", user::clean(&failure.text));
            }
            ExitCode::from(failure.code)
        }
    }
}

/// After a command that was not understood: where commands that gave way are now, and what a file looks like.
fn tip(error: &clap::Error) {
    let moved = [("incidents", "incidents"), ("forecast", "models"), ("agents", "agents")];
    let wrong = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(wrong)) => wrong.as_str(),
        _ => "",
    };
    match moved.iter().find(|(old, _)| *old == wrong) {
        Some((_, now)) => eprintln!("\n  tip: what an operator changes is under `heliograph admin {now}`"),
        None => import::hint(std::env::args_os().skip(1)),
    }
}

fn run(cli: &Cli) -> Result<(), Failure> {
    let common = &cli.common;
    match &cli.command {
        Some(Command::Check(command)) => return user::check(command),
        Some(Command::Country(command)) => return user::country(command),
        Some(Command::Claim(command)) => return user::claim(command),
        Some(Command::Aggregate(command)) => return user::aggregate(command),
        Some(Command::Watch(command)) => return user::watch(command),
        Some(Command::Agent(command)) => return user::agent(command),
        Some(Command::Pay(command)) => return user::pay(command),
        Some(Command::Profile(command)) => return user::profile(command),
        Some(Command::Completions { shell }) => return shell::completions(*shell),
        Some(Command::Man { path, folder }) => return shell::man(path, folder.as_ref()),
        None | Some(Command::Serve) => serve::run(common),
        Some(Command::Config { command }) => config::run(common, command.as_ref()),
        Some(Command::Classify(command)) => classify::run(common, command),
        Some(Command::Evaluate(command)) => evaluate::run(common, command),
        Some(Command::Import(command)) => import::run(common, command),
        Some(Command::Backtest(command)) => backtest::run(common, command),
        Some(Command::Keys(command)) => keys::run(common, command),
        Some(Command::Peers(command)) => peers::run(common, command),
        Some(Command::Probe(command)) => probe::run(command),
        Some(Command::Mcp { url }) => mcp::run(url),
        Some(Command::Db(command)) => db::run(common, command),
        Some(Command::Dump { file }) => dump::dump(common, file),
        Some(Command::Load { file, replace }) => dump::load(common, file, *replace),
        Some(Command::Ledger(command)) => ledger::run(common, command),
        Some(Command::Verdicts(command)) => sweep::verdicts(common, command),
        Some(Command::Admin(command)) => admin(common, command),
    }
    .map_err(Failure::from)
}

/// `heliograph admin`: what an operator changes by hand.
fn admin(common: &args::Common, command: &args::AdminCommand) -> Result<(), String> {
    match command {
        args::AdminCommand::Incidents(command) => incidents::run(common, command),
        args::AdminCommand::Models(command) => models::run(common, command),
        args::AdminCommand::Agents(command) => agents::run(common, command),
        args::AdminCommand::Ledger(command) => ledger::run_admin(common, command),
    }
}
