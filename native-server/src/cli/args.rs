//! Flags and subcommands.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::ledger::LedgerCommand;
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
    /// Test the shutdown forecast on past years: trained on what was known before each, tested on it.
    Backtest(Backtest),
    /// Learn, list and take back forecast models.
    #[command(subcommand)]
    Forecast(ForecastCommand),
    /// Make, list and revoke API keys.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Make, list and end peers: relays that this one exchanges messages with.
    #[command(subcommand)]
    Peers(PeersCommand),
    /// Measure sites from this host's own network for the probe network of a server.
    Probe(Probe),
    /// Look at, check and copy the data file.
    #[command(subcommand)]
    Db(DbCommand),
    /// Suspend, restore and erase agents.
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Write the whole deployment to a file of JSON lines, to be loaded into another one, here or on the edge. A server
    /// (--to) must run with the setting `closed`.
    Dump {
        /// The dump; must not exist yet.
        file: PathBuf,
    },
    /// Take what `dump` wrote. The master keys of that deployment must be here already. A server (--to) must run with the
    /// setting `closed`.
    Load {
        file: PathBuf,
        /// Load into a deployment that is not empty: actors of the dump replace those there, others stay.
        #[arg(long)]
        replace: bool,
    },
    /// Compute verdicts again.
    #[command(subcommand)]
    Verdicts(VerdictsCommand),
    /// Check the credit ledger, and do to it what operators do, with a key that signs for it.
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// List, make and change incidents. Each change is kept with the reason.
    #[command(subcommand)]
    Incidents(Box<IncidentsCommand>),
}

/// What `import` accepts.
pub const KINDS: [&str; 16] = [
    "ooni-measurements",
    "ooni-observations",
    "ooni-fastpath",
    "ooni-aggregation",
    "censored-planet",
    "shutdowns",
    "ioda",
    "radar",
    "outages",
    "ooni-incidents",
    "test-list",
    "fingerprints",
    "blocklist",
    "asn",
    "targets",
    "elections",
];

/// What `db drop-source` accepts.
pub const SOURCES: [&str; 14] = [
    "ooni",
    "ooni-aggregation",
    "censoredplanet",
    "access-now",
    "ioda",
    "cloudflare-radar",
    "outages",
    "ooni-incidents",
    "probe",
    "blocklist",
    "asn",
    "test-list",
    "targets",
    "elections",
];

#[derive(Debug, Args)]
pub struct Import {
    /// What the files are.
    #[arg(value_parser = KINDS)]
    pub kind: String,
    /// Files, plain or gzip.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Block lists: the country they are about (required). All else: this country only, and the one of rows without any.
    #[arg(long, value_name = "CC")]
    pub country: Option<String>,
    /// Test lists: `global`, or what the list is named after. Fingerprints as JSON lines: `blockpage_signatures` or
    /// `false_positive_signatures`. Default the name of the file.
    #[arg(long, value_name = "NAME")]
    pub list: Option<String>,
    /// Block lists: official, court, leak or community (default).
    #[arg(long, value_name = "KIND", value_parser = ["official", "court", "leak", "community"])]
    pub list_kind: Option<String>,
    /// Block lists: the date they speak of, such as 2026-01-31, none ahead; default today.
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
pub struct Probe {
    /// Address of the server that gets the results.
    pub server: String,
    /// Folder of the identity, and of results that wait to be sent.
    #[arg(long, value_name = "FOLDER", default_value = "heliograph-probe")]
    pub state: PathBuf,
    /// Country of this host, such as NO; without it results count for no country.
    #[arg(long, value_name = "CC", default_value = "XX")]
    pub country: String,
    #[arg(long)]
    pub city: Option<String>,
    /// Number of the network that this host is in; without it results count for no network.
    #[arg(long, value_name = "NUMBER")]
    pub asn: Option<u32>,
    /// You read what is printed without it, and agree.
    #[arg(long)]
    pub consent: bool,
    /// This host pays for its traffic: measure nothing.
    #[arg(long, env = "HELIOGRAPH_PROBE_METERED")]
    pub metered: bool,
    /// Measure on a metered host all the same.
    #[arg(long)]
    pub allow_metered: bool,
    /// Measure once and end.
    #[arg(long)]
    pub once: bool,
    /// Seconds between two cycles, at least 300; up to a fifth more or less.
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    pub interval: u64,
    /// Sites per cycle.
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    pub sites: usize,
    /// Milliseconds between two sites; up to a fifth more or less.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1_500)]
    pub pause: u64,
    /// Milliseconds of patience with each step.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 10_000)]
    pub patience: u64,
    /// The resolver that users of this network have; without it the first one of /etc/resolv.conf.
    #[arg(long, value_name = "ADDRESS")]
    pub resolver: Option<String>,
    /// A resolver outside of this network.
    #[arg(long, value_name = "ADDRESS", default_value = "9.9.9.9")]
    pub public_resolver: String,
    /// Word of the server in the name of the signature header.
    #[arg(long = "header", value_name = "WORD", default_value = "svc")]
    pub header: String,
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
    #[arg(required_unless_present = "world", conflicts_with = "world")]
    pub files: Vec<PathBuf>,
    /// Judge the method by simulated worlds instead, which need no data.
    #[arg(long)]
    pub world: bool,
    /// What the worlds are made from.
    #[arg(long, requires = "world", default_value_t = 1)]
    pub seed: u64,
    /// Worlds of each row of the table.
    #[arg(long, requires = "world", value_name = "N")]
    pub worlds: Option<u64>,
    /// Few small worlds.
    #[arg(long, requires = "world")]
    pub short: bool,
    /// Print every number as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Backtest {
    /// First year that is tested.
    #[arg(long, value_name = "YEAR")]
    pub from: i64,
    /// Last year that is tested. Stands in place of the address that other commands take.
    #[arg(long = "to", id = "to", value_name = "YEAR", required = true)]
    pub last: Option<String>,
    /// Print every number as JSON.
    #[arg(long)]
    pub json: bool,
    /// Test nothing: compare penalties of exams on the rows before the first year, with countries left out in turn.
    #[arg(long)]
    pub penalties: bool,
}

#[derive(Debug, Subcommand)]
pub enum ForecastCommand {
    /// Learn a model now. It is served only when it is better on a temporal hold-out.
    Train,
    /// Judge forecasts whose week is over, and make today's anew; this happens every day by itself.
    Calibrate,
    /// List what was served, newest first: version, time of training, reason.
    Models,
    /// Serve a kept model, if it is better than the served one on days that neither has seen.
    Promote {
        /// Its number.
        number: u32,
    },
    /// List reports of outcomes, newest first: number, time, country, day of the forecast, outcome, words.
    Reports,
    /// Take back a report of an outcome that was wrong.
    DropReport {
        /// Its number.
        number: u64,
    },
    /// Serve an earlier model again.
    Rollback {
        /// Number of the model; the one before the served one without it.
        #[arg(long)]
        number: Option<u32>,
        /// Stands in the changelog.
        #[arg(long)]
        reason: String,
    },
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
    /// Make a new API key for an agent that lost its own; it is printed once. The one before works for ten minutes more.
    Agent {
        /// The agent's DID.
        did: String,
        /// End the earlier keys at once, as when one leaked.
        #[arg(long)]
        revoke: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum PeersCommand {
    /// Make another relay a peer, or change name and key of the peer with this address.
    Add {
        /// What its addresses begin with, such as https://relay.example.org.
        url: String,
        /// Its key, as `heliograph peers key` prints it there.
        key: String,
        /// How it is called here; its host when absent.
        #[arg(long)]
        name: Option<String>,
    },
    /// List peers: id, address, name, status, agents, messages, key.
    List,
    /// End a peer at once.
    Remove {
        /// Its id or its address.
        peer: String,
    },
    /// Say at which peer an agent is and by which key, as when it rotated its keys.
    Pin {
        /// The peer's id or its address.
        peer: String,
        /// The agent's DID.
        did: String,
        /// Base64 of its Ed25519 key.
        key: String,
    },
    /// Print the key of this relay, for the operators of its peers.
    Key {
        /// Make another one first. The peers take nothing more until their operators know it.
        #[arg(long)]
        rotate: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// Print DID, state, since when, and the reason.
    Show { did: String },
    /// Suspend an agent: its key opens nothing, and nobody finds it or can write to it. All it has stays.
    Suspend {
        did: String,
        /// For operators.
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// End a suspension.
    Restore { did: String },
    /// Erase an agent for ever. Nobody gets its DID again; its names are free after 30 days.
    Erase {
        did: String,
        /// Do it.
        #[arg(long)]
        yes: bool,
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
        #[arg(value_parser = SOURCES)]
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

/// Members of an incident that an operator may set.
#[derive(Debug, Args)]
pub struct Changes {
    #[arg(long)]
    pub title: Option<String>,
    #[arg(long)]
    pub description: Option<String>,
    #[arg(long = "type", value_parser = ["censorship", "disruption", "mixed"])]
    pub kind: Option<String>,
    #[arg(long, value_parser = ["low", "medium", "high", "critical"])]
    pub severity: Option<String>,
    #[arg(long, value_parser = ["suspected", "active", "resolved"])]
    pub status: Option<String>,
    /// 0 to 1.
    #[arg(long)]
    pub confidence: Option<f64>,
    /// When it ended, such as 2026-01-31 (through the end of that day) or 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub end: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum IncidentsCommand {
    /// List incidents: id, start, end, severity, status, title.
    List {
        #[arg(long, value_name = "CC")]
        country: Option<String>,
        /// Print JSON, one incident a line.
        #[arg(long)]
        json: bool,
    },
    /// Make an incident that no data showed; its id is printed.
    Create {
        #[arg(long, value_name = "CC")]
        country: String,
        /// A platform, a domain, or `internet`.
        #[arg(long)]
        subject: String,
        #[arg(long, value_name = "TIME")]
        start: String,
        /// A network that took part; may be repeated.
        #[arg(long)]
        asn: Vec<String>,
        /// A further domain; may be repeated.
        #[arg(long)]
        domain: Vec<String>,
        /// How it was done, such as dns-poison; may be repeated.
        #[arg(long)]
        method: Vec<String>,
        /// An affected area, when not the whole country is; may be repeated.
        #[arg(long)]
        area: Vec<String>,
        /// Such as an election or exams.
        #[arg(long)]
        occasion: Option<String>,
        /// A JSON list of evidence rows.
        #[arg(long, value_name = "FILE")]
        evidence: Option<PathBuf>,
        #[command(flatten)]
        changes: Changes,
        #[arg(long)]
        reason: String,
    },
    /// Change an incident; stands before later data until it is taken back.
    Amend {
        id: String,
        #[arg(long, value_name = "TIME")]
        start: Option<String>,
        #[command(flatten)]
        changes: Changes,
        #[arg(long)]
        reason: String,
    },
    /// Take changes back: those of the named members, or all.
    Restore {
        id: String,
        /// title, description, type, severity, status, confidence, start, end, merge or retraction; may be repeated.
        #[arg(long)]
        field: Vec<String>,
        #[arg(long)]
        reason: String,
    },
    /// Make an incident a part of another one; its ids lead there.
    Merge {
        id: String,
        #[arg(long, value_name = "ID")]
        into: String,
        #[arg(long)]
        reason: String,
    },
    /// Withdraw an incident; everybody reads the reason.
    Retract {
        id: String,
        #[arg(long)]
        reason: String,
    },
    /// List who changed an incident, newest first: version, time, action, key of the operator or `data`, reason.
    Versions { id: String },
    /// List what readers dispute, oldest first: id, incident, version, time, state, reason.
    Disputes {
        /// Those that were ended already.
        #[arg(long)]
        resolved: bool,
        /// Print JSON, one dispute a line.
        #[arg(long)]
        json: bool,
    },
    /// End a dispute. Changes no incident: amend or retract it beside this.
    Resolve {
        /// Id of the dispute.
        id: String,
        #[arg(long, value_parser = ["accepted", "rejected"])]
        outcome: String,
        #[arg(long)]
        note: Option<String>,
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
