//! Flags and subcommands.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::config::Config;

/// Censorship intelligence and an encrypted relay for agents, on one data file.
#[derive(Debug, Parser)]
#[command(name = "heliograph", version, about)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Clone, Args)]
pub struct Common {
    /// The data file; its keys are beside it, in FILE.key.
    #[arg(long, global = true, value_name = "FILE", env = "HELIOGRAPH_DATA", default_value = "heliograph.redb")]
    pub data: PathBuf,
    /// A file of lines `name = value`.
    #[arg(long, global = true, value_name = "FILE", env = "HELIOGRAPH_CONFIG")]
    pub config: Option<PathBuf>,
    /// Any setting; `heliograph config` lists them.
    #[arg(long = "set", global = true, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Word that stands for this service in DIDs and header names; fixed at first start.
    #[arg(long, global = true, value_name = "WORD")]
    pub brand: Option<String>,
    /// Address that links in answers begin with.
    #[arg(long, global = true, value_name = "URL")]
    pub public_url: Option<String>,
    /// Work at the running server with this address instead of on the data file.
    #[arg(long, global = true, value_name = "URL")]
    pub to: Option<String>,
    /// Operator key; without it HELIOGRAPH_ADMIN_KEY, else the one in the key file.
    #[arg(long, global = true, value_name = "KEY")]
    pub admin_key: Option<String>,
    /// Write one line per request to standard error.
    #[arg(long, global = true)]
    pub access_log: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the data file (what happens without a subcommand).
    Serve,
    /// Print every setting with its value, source and meaning.
    Config,
    /// Import measurements, lists and reference data. Importing twice changes nothing.
    Import(Import),
    /// Say what raw OONI documents show: accessible, blocked, down or unknown.
    Classify(Classify),
    /// Say how well the classifier does on labelled measurements.
    Evaluate(Evaluate),
    /// Make, list and revoke API keys.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Look at, check and copy the data file.
    #[command(subcommand)]
    Db(DbCommand),
    /// Compute verdicts again.
    #[command(subcommand)]
    Verdicts(VerdictsCommand),
}

/// What `import` accepts.
pub const KINDS: [&str; 7] =
    ["ooni-measurements", "ooni-observations", "ooni-fastpath", "test-list", "fingerprints", "blocklist", "asn"];

#[derive(Debug, Args)]
pub struct Import {
    /// What the files are.
    #[arg(value_parser = KINDS)]
    pub kind: String,
    /// Files, plain or gzip.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Block lists: the country they are about (required). Measurements: this country only.
    #[arg(long, value_name = "CC")]
    pub country: Option<String>,
    /// Test lists: `global`, or what the list is named after; default the name of the file.
    #[arg(long, value_name = "NAME")]
    pub list: Option<String>,
    /// Block lists: official, court, leak or community (default).
    #[arg(long, value_name = "KIND", value_parser = ["official", "court", "leak", "community"])]
    pub list_kind: Option<String>,
    /// Block lists: the date they speak of, such as 2026-01-31; default today.
    #[arg(long, value_name = "DATE")]
    pub date: Option<String>,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
    /// Count, change nothing.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct Classify {
    /// Files of JSON documents, plain or gzip.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Print JSON with everything known about each document.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Evaluate {
    /// Files of labels, one JSON object a line with `label` and `measurement`, plain or gzip.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Print every number as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Make a key; it is printed once.
    Create {
        /// What the key may do.
        #[arg(long, value_parser = ["research", "enterprise", "bench"])]
        tier: String,
        /// Whom it is for.
        #[arg(long, default_value = "")]
        label: String,
    },
    /// List keys: account, tier, state, time, label.
    List,
    /// Make a new master key and move what is sealed under it. Earlier ones stay in the key file: they are needed.
    RotateMaster,
    /// End a key at once.
    Revoke {
        /// The account as listed, or the whole key.
        key: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum DbCommand {
    /// Show what the file holds.
    Info {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check every page of a file that no server uses.
    Check,
    /// Write a consistent copy, of a running server too (with --to).
    Backup {
        /// The copy; must not exist yet.
        file: PathBuf,
    },
    /// Remove everything that came from one source.
    DropSource {
        /// Which one.
        #[arg(value_parser = ["ooni", "blocklist", "asn", "test-list"])]
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum VerdictsCommand {
    /// Judge everything again after a change of the rules, and say which answers changed.
    Recompute {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

impl Common {
    /// The settings in force.
    pub fn config(&self) -> Result<Config, String> {
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
        Config::load(self.config.as_deref(), |name| std::env::var(name).ok(), &flags)
    }
}
