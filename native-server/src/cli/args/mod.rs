//! Flags and subcommands.
//!
//! | Module | What |
//! |---|---|
//! | `user` | for whoever asks a server or acts as an agent |
//! | `operator` | for the operator: settings, the data file, keys, peers |
//! | `admin` | what an operator changes by hand: incidents, models, agents, the ledger |
//! | `data` | commands that read files, and the probe |
//! | `help` | groups, examples and exit codes in the help |

pub mod admin;
pub mod data;
pub mod help;
pub mod operator;
pub mod user;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

pub use admin::{AdminCommand, AgentsCommand, IncidentsCommand, ModelsCommand, NewIncidentArgs};
pub use data::{Backtest, Classify, Evaluate, Import, Probe};
pub use operator::{ConfigCommand, DbCommand, KeysCommand, PeersCommand, VerdictsCommand};

use super::ledger::LedgerCommand;
use crate::config::Config;

/// Is it blocked, and how do you know? Censorship intelligence, and an encrypted relay for agents.
#[derive(Debug, Parser)]
#[command(name = "heliograph", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What all commands of operators take. Commands that know nothing of a data file hide it, see `help`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Common {
    /// The data file; its keys are beside it, in FILE.key.
    #[arg(long, global = true, value_name = "FILE", env = "HELIOGRAPH_DATA", default_value = "heliograph.redb")]
    pub data: PathBuf,
    /// A settings file: TOML with lines `name = value`.
    #[arg(long, global = true, value_name = "FILE", env = "HELIOGRAPH_CONFIG")]
    pub config: Option<PathBuf>,
    /// Any setting; `heliograph config` lists them.
    #[arg(long = "set", global = true, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Word for this service in DIDs and header names; fixed at the first start.
    #[arg(long, global = true, value_name = "WORD")]
    pub brand: Option<String>,
    /// Base address of links in answers.
    #[arg(long, global = true, value_name = "URL")]
    pub public_url: Option<String>,
    /// Send the command to the running server at this address instead of using the data file.
    #[arg(long, global = true, value_name = "URL")]
    pub to: Option<String>,
    /// Operator key [env: HELIOGRAPH_ADMIN_KEY] [default: that of the key file].
    #[arg(long, global = true, value_name = "KEY")]
    pub admin_key: Option<String>,
    /// Write one line per request to standard error.
    #[arg(long, global = true)]
    pub access_log: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say whether sites or services can be reached in a country.
    Check(user::Check),
    /// Show how a country stands: its score, and what is blocked there now.
    Country(user::Country),
    /// Compare a claim in words with the data.
    Claim(user::Claim),
    /// Count measurements by day, country, network or domain.
    Aggregate(user::Aggregate),
    /// Follow incidents as they change, or a check until its answer changes.
    #[command(subcommand)]
    Watch(user::Watch),
    /// Register an agent, send and receive encrypted messages.
    #[command(subcommand)]
    Agent(user::AgentCommand),
    /// Pay other agents, and hire them.
    #[command(subcommand)]
    Pay(user::PayCommand),
    /// Name servers, each with its agent, so that commands find them by name.
    #[command(subcommand)]
    Profile(user::ProfileCommand),
    /// Serve the data file (the default without a command).
    Serve,
    /// Print every setting with its value, source and meaning.
    Config {
        #[command(subcommand)]
        command: Option<ConfigCommand>,
    },
    /// Import measurements, lists and reference data. Importing twice changes nothing.
    Import(Import),
    /// Inspect, check and copy the data file.
    #[command(subcommand)]
    Db(DbCommand),
    /// Write the whole deployment to a file of JSON lines. It can be loaded into another one, here or on the edge. A
    /// server (--to) must run with the setting `closed`.
    Dump {
        /// The dump; must not exist yet.
        file: PathBuf,
    },
    /// Load a file that `dump` wrote. The master keys of that deployment must be here already. A server (--to) must run
    /// with the setting `closed`.
    Load {
        /// A file that `dump` wrote.
        file: PathBuf,
        /// Load into a deployment that is not empty: actors of the dump replace those with the same id, others stay.
        #[arg(long)]
        replace: bool,
    },
    /// Make, list and revoke API keys.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Add, list and remove peers: relays that this one exchanges messages with.
    #[command(subcommand)]
    Peers(PeersCommand),
    /// Compute verdicts again.
    #[command(subcommand)]
    Verdicts(VerdictsCommand),
    /// Change incidents, forecast models, agents and the ledger by hand.
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Check the log of the credit ledger.
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Measure sites from this host's own network for the probe network of a server.
    Probe(Probe),
    /// Say what raw OONI documents show: accessible, blocked, down or unknown.
    Classify(Classify),
    /// Measure how well the classifier does on labelled measurements.
    Evaluate(Evaluate),
    /// Test the shutdown forecast on past years, each with what was known before it.
    Backtest(Backtest),
    /// Serve the Model Context Protocol on standard input and output, for a running server. An agent's key comes
    /// from HELIOGRAPH_AGENT_KEY, an API key from HELIOGRAPH_API_KEY.
    Mcp {
        /// Server to ask.
        #[arg(long, value_name = "URL", env = "HELIOGRAPH_URL", default_value = "http://127.0.0.1:8787")]
        url: String,
    },
    /// Print a script that completes commands and flags in a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page of a command, or write all of them.
    Man {
        /// The command, such as `agent send`; without it the page of the program.
        #[arg(value_name = "COMMAND")]
        path: Vec<String>,
        /// Write the pages of all commands into this folder.
        #[arg(long, value_name = "FOLDER", conflicts_with = "path")]
        folder: Option<PathBuf>,
    },
}

impl Common {
    /// The settings in force.
    pub fn config(&self) -> Result<Config, String> {
        self.config_at(None)
    }

    /// The same for a server whose service manager listens on this address.
    pub fn config_at(&self, at: Option<SocketAddr>) -> Result<Config, String> {
        Config::load(self.config.as_deref(), |name| std::env::var(name).ok(), &self.flags(at)?)
    }

    /// The same for a server that runs already and listens on `running`.
    pub fn config_again(&self, at: Option<SocketAddr>, running: &str) -> Result<Config, String> {
        Config::load_again(self.config.as_deref(), |name| std::env::var(name).ok(), &self.flags(at)?, running)
    }

    fn flags(&self, at: Option<SocketAddr>) -> Result<Vec<(String, String)>, String> {
        let mut flags = Vec::new();
        for pair in &self.set {
            let (name, value) = pair.split_once('=').ok_or_else(|| format!("--set takes NAME=VALUE, not {pair:?}"))?;
            flags.push((name.trim().to_owned(), value.to_owned()));
        }
        let named = [
            ("listen", &self.listen),
            ("brand", &self.brand),
            ("public_url", &self.public_url),
            ("admin_key", &self.admin_key),
        ];
        for (name, value) in named {
            flags.extend(value.as_ref().map(|value| (name.to_owned(), value.clone())));
        }
        if self.access_log {
            flags.push(("access_log".to_owned(), "true".to_owned()));
        }
        flags.extend(at.map(|address| ("listen".to_owned(), address.to_string())));
        Ok(flags)
    }
}
