//! The command line.

/// As `println!`, but who stops reading (`heliograph ... | head`) ends what is printed, not what is done: no panic.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        drop(writeln!(std::io::stdout(), $($text)*));
    }};
}

/// As [`say`], without a new line.
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
mod db;
mod evaluate;
mod forecast;
mod import;
mod incidents;
mod keys;
mod ledger;
mod moving;
mod peers;
mod probe;
mod serve;
mod spill;
mod sweep;
mod world;

use std::process::ExitCode;

use clap::Parser;

pub use args::{Cli, Command};

/// Runs the program and returns its exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.command {
        None | Some(Command::Serve) => serve::run(&cli.common),
        Some(Command::Config) => config(&cli.common),
        Some(Command::Classify(command)) => classify::run(&cli.common, command),
        Some(Command::Evaluate(command)) => evaluate::run(&cli.common, command),
        Some(Command::Import(command)) => import::run(&cli.common, command),
        Some(Command::Backtest(command)) => backtest::run(&cli.common, command),
        Some(Command::Forecast(command)) => forecast::run(&cli.common, command),
        Some(Command::Keys(command)) => keys::run(&cli.common, command),
        Some(Command::Peers(command)) => peers::run(&cli.common, command),
        Some(Command::Probe(command)) => probe::run(command),
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
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn config(common: &args::Common) -> Result<(), String> {
    write_out!("{}", common.config()?.listing());
    Ok(())
}
