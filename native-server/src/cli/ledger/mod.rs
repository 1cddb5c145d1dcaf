//! `heliograph ledger`.

mod admin;
mod key;
mod verify;

use clap::Subcommand;

use super::args::Common;

#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Add, end and list the keys that sign what operators do to the ledger.
    #[command(subcommand)]
    AdminKey(key::KeyCommand),
    #[command(flatten)]
    Act(admin::Act),
    /// Check the whole log of events: places, hashes, signatures, balances, the signed head, and wallets against it. On the
    /// data file, or at a server: with --to as its operator, who is shown free texts and so can check every signature; with
    /// --url as anybody. Ends with 1 and names the first event that is wrong.
    Verify {
        /// The server to check, as anybody may.
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// Base64: the key that must have signed the head. Without it the one that the server names.
        #[arg(long, value_name = "KEY")]
        head_key: Option<String>,
    },
}

pub fn run(common: &Common, command: &LedgerCommand) -> Result<(), String> {
    match command {
        LedgerCommand::AdminKey(command) => key::run(common, command),
        LedgerCommand::Act(act) => admin::run(common, act),
        LedgerCommand::Verify { url, head_key } => verify::run(common, url.as_deref(), head_key.as_deref()),
    }
}
