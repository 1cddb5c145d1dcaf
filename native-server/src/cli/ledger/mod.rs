//! `heliograph ledger verify` checks the credit ledger; `heliograph admin ledger` runs signed operator actions on it.
//!
//! | Module | What |
//! |---|---|
//! | `admin` | actions that an admin key signs |
//! | `key` | admin keys and their files |
//! | `verify` | the check of the whole log |

mod admin;
mod key;
mod verify;

use clap::Subcommand;

use super::args::Common;

#[derive(Debug, Subcommand)]
pub enum LedgerAdminCommand {
    /// Add, end and list the keys that sign operator actions on the ledger.
    #[command(subcommand)]
    AdminKey(key::KeyCommand),
    #[command(flatten)]
    Act(admin::Act),
}

#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Check the whole log of events: positions, hashes, signatures, balances, the signed head, and the wallets. It
    /// reads the data file or a server. With --to it asks as the server's operator, who sees free texts and so can
    /// check every signature; with --url it asks as anybody. If an event is wrong, it names the first one and ends with
    /// 1.
    Verify {
        /// The server to check, with public requests only.
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// Base64 of the key that must have signed the head. The default is the key that the server names.
        #[arg(long, value_name = "KEY")]
        head_key: Option<String>,
    },
}

pub fn run(common: &Common, command: &LedgerCommand) -> Result<(), String> {
    let LedgerCommand::Verify { url, head_key } = command;
    verify::run(common, url.as_deref(), head_key.as_deref())
}

pub fn run_admin(common: &Common, command: &LedgerAdminCommand) -> Result<(), String> {
    match command {
        LedgerAdminCommand::AdminKey(command) => key::run(common, command),
        LedgerAdminCommand::Act(act) => admin::run(common, act),
    }
}
