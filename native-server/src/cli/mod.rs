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
//! | `forecast` | forecast models |
//! | `import` | measurements, lists and reference data |
//! | `incidents` | lists, creates and changes incidents |
//! | `keys` | API keys and the master key |
//! | `ledger` | the credit ledger |
//! | `mcp` | the Model Context Protocol over standard input and output |
//! | `moving` | `dump` and `load` |
//! | `peers` | peers of the relay |
//! | `probe` | a measuring probe |
//! | `restore` | checks a backup and puts it in the place of the data file |
//! | `serve` | the server |
//! | `spill` | the file of sorted runs of an import |
//! | `sweep` | background work over all countries |
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
mod evaluate;
mod forecast;
mod import;
mod incidents;
mod keys;
mod ledger;
mod mcp;
mod moving;
mod peers;
mod probe;
mod restore;
mod serve;
mod spill;
mod sweep;
mod world;

use std::process::ExitCode;

use clap::Parser;

pub use args::{Cli, Command};

use crate::log;

/// Runs the program and returns its exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    log::install();
    let result = match &cli.command {
        None | Some(Command::Serve) => serve::run(&cli.common),
        Some(Command::Config { command }) => config::run(&cli.common, command.as_ref()),
        Some(Command::Classify(command)) => classify::run(&cli.common, command),
        Some(Command::Evaluate(command)) => evaluate::run(&cli.common, command),
        Some(Command::Import(command)) => import::run(&cli.common, command),
        Some(Command::Backtest(command)) => backtest::run(&cli.common, command),
        Some(Command::Forecast(command)) => forecast::run(&cli.common, command),
        Some(Command::Keys(command)) => keys::run(&cli.common, command),
        Some(Command::Peers(command)) => peers::run(&cli.common, command),
        Some(Command::Probe(command)) => probe::run(command),
        Some(Command::Mcp { url }) => mcp::run(url),
        Some(Command::Db(command)) => db::run(&cli.common, command),
        Some(Command::Incidents(command)) => incidents::run(&cli.common, command),
        Some(Command::Agents(command)) => agents::run(&cli.common, command),
        Some(Command::Dump { file }) => moving::dump(&cli.common, file),
        Some(Command::Load { file, replace }) => moving::load(&cli.common, file, *replace),
        Some(Command::Ledger(command)) => ledger::run(&cli.common, command),
        Some(Command::Verdicts(command)) => sweep::verdicts(&cli.common, command),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log::error!("{error}");
            ExitCode::FAILURE
        }
    }
}
