//! `heliograph ledger`.

mod admin;
mod key;

use clap::Subcommand;

use super::args::Common;

#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Add, end and list the keys that sign what operators do to the ledger.
    #[command(subcommand)]
    AdminKey(key::KeyCommand),
    #[command(flatten)]
    Act(admin::Act),
}

pub fn run(common: &Common, command: &LedgerCommand) -> Result<(), String> {
    match command {
        LedgerCommand::AdminKey(command) => key::run(common, command),
        LedgerCommand::Act(act) => admin::run(common, act),
    }
}
