//! Flags and subcommands.

use std::net::SocketAddr;
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
    /// Operator key; the default is HELIOGRAPH_ADMIN_KEY, or the key in the key file.
    #[arg(long, global = true, value_name = "KEY")]
    pub admin_key: Option<String>,
    /// Write one line per request to standard error.
    #[arg(long, global = true)]
    pub access_log: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the data file (the default without a subcommand).
    Serve,
    /// Print every setting with its value, source and meaning.
    Config {
        #[command(subcommand)]
        command: Option<ConfigCommand>,
    },
    /// Import measurements, lists and reference data. Importing twice changes nothing.
    Import(Import),
    /// Say what raw OONI documents show: accessible, blocked, down or unknown.
    Classify(Classify),
    /// Measure how well the classifier does on labelled measurements.
    Evaluate(Evaluate),
    /// Test the shutdown forecast on past years: for each year, train on what was known before it.
    Backtest(Backtest),
    /// Learn, list, promote and roll back forecast models.
    #[command(subcommand)]
    Forecast(ForecastCommand),
    /// Make, list and revoke API keys.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Add, list and remove peers: relays that this one exchanges messages with.
    #[command(subcommand)]
    Peers(PeersCommand),
    /// Measure sites from this host's own network for the probe network of a server.
    Probe(Probe),
    /// Serve the Model Context Protocol over standard input and output, by asking a running server. An agent's key comes
    /// from HELIOGRAPH_AGENT_KEY, an API key from HELIOGRAPH_API_KEY.
    Mcp {
        /// The server that is asked.
        #[arg(long, value_name = "URL", env = "HELIOGRAPH_URL", default_value = "http://127.0.0.1:8787")]
        url: String,
    },
    /// Inspect, check and copy the data file.
    #[command(subcommand)]
    Db(DbCommand),
    /// Suspend, restore and erase agents.
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Write the whole deployment to a file of JSON lines, which can be loaded into another one, here or on the edge. A
    /// server (--to) must run with the setting `closed`.
    Dump {
        /// The dump; must not exist yet.
        file: PathBuf,
    },
    /// Load a file that `dump` wrote. The master keys of that deployment must be here already. A server (--to) must run
    /// with the setting `closed`.
    Load {
        file: PathBuf,
        /// Load into a deployment that is not empty: actors of the dump replace those with the same id, others stay.
        #[arg(long)]
        replace: bool,
    },
    /// Compute verdicts again.
    #[command(subcommand)]
    Verdicts(VerdictsCommand),
    /// Check the credit ledger, and run operator actions on it, signed by an admin key.
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// List, create and change incidents. Each change is kept with its reason.
    #[command(subcommand)]
    Incidents(Box<IncidentsCommand>),
}

/// The kinds that `import` accepts.
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

/// The sources that `db drop-source` accepts.
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
    /// Kind of the files.
    #[arg(value_parser = KINDS)]
    pub kind: String,
    /// Files, plain or gzip.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Block lists: the country of the list (required). All other kinds: import only this country, and use it for rows
    /// without a country.
    #[arg(long, value_name = "CC")]
    pub country: Option<String>,
    /// Test lists: `global`, or another name for the list. Fingerprints as JSON lines: `blockpage_signatures` or
    /// `false_positive_signatures`. The default is the name of the file.
    #[arg(long, value_name = "NAME")]
    pub list: Option<String>,
    /// Block lists: official, court, leak or community (default).
    #[arg(long, value_name = "KIND", value_parser = ["official", "court", "leak", "community"])]
    pub list_kind: Option<String>,
    /// Block lists: date of the list, such as 2026-01-31, not in the future; default today.
    #[arg(long, value_name = "DATE")]
    pub date: Option<String>,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
    /// Count the rows, but store nothing.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct Probe {
    /// Address of the server that gets the results.
    pub server: String,
    /// Folder for the identity and for results that wait to be sent.
    #[arg(long, value_name = "FOLDER", default_value = "heliograph-probe")]
    pub state: PathBuf,
    /// Country of this host, such as NO; without it the results count for no country.
    #[arg(long, value_name = "CC", default_value = "XX")]
    pub country: String,
    #[arg(long)]
    pub city: Option<String>,
    /// AS number of this host's network; without it the results count for no network.
    #[arg(long, value_name = "NUMBER")]
    pub asn: Option<u32>,
    /// You have read the consent text, which is printed without this flag, and agree.
    #[arg(long)]
    pub consent: bool,
    /// This host pays for its traffic, so measure nothing.
    #[arg(long, env = "HELIOGRAPH_PROBE_METERED")]
    pub metered: bool,
    /// Measure even on a metered host.
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
    /// Time limit of each step, in milliseconds.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 10_000)]
    pub patience: u64,
    /// The resolver that users of this network have; the default is the first one of /etc/resolv.conf.
    #[arg(long, value_name = "ADDRESS")]
    pub resolver: Option<String>,
    /// A resolver outside of this network.
    #[arg(long, value_name = "ADDRESS", default_value = "9.9.9.9")]
    pub public_resolver: String,
    /// The server's brand, used in the name of the signature header.
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
    /// Judge the method by simulated worlds, which need no data.
    #[arg(long)]
    pub world: bool,
    /// Seed of the worlds.
    #[arg(long, requires = "world", default_value_t = 1)]
    pub seed: u64,
    /// Number of worlds for each row of the table.
    #[arg(long, requires = "world", value_name = "N")]
    pub worlds: Option<u64>,
    /// Use a few small worlds.
    #[arg(long, requires = "world")]
    pub short: bool,
    /// Print every number as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Backtest {
    /// First tested year.
    #[arg(long, value_name = "YEAR")]
    pub from: i64,
    /// Last tested year. Here `--to` is not an address, as it is in other commands.
    #[arg(long = "to", id = "to", value_name = "YEAR", required = true)]
    pub last: Option<String>,
    /// Print every number as JSON.
    #[arg(long)]
    pub json: bool,
    /// Run no test; compare penalties for exams on the rows before the first year, leaving out countries in turn.
    #[arg(long)]
    pub penalties: bool,
}

#[derive(Debug, Subcommand)]
pub enum ForecastCommand {
    /// Learn a model now. It is served only if it is better on later days that it has not seen.
    Train,
    /// Judge forecasts whose week is over, and make today's forecasts again; the server also does this every day.
    Calibrate,
    /// List served models, newest first: version, time of training, reason.
    Models,
    /// Serve a kept model if it is better than the served one on days that neither has seen.
    Promote {
        /// Number of the model.
        number: u32,
    },
    /// List reports of outcomes, newest first: number, time, country, day of the forecast, outcome, words.
    Reports,
    /// Remove a wrong report of an outcome.
    DropReport {
        /// Number of the report.
        number: u64,
    },
    /// Serve an earlier model again.
    Rollback {
        /// Number of the model; the default is the one before the served model.
        #[arg(long)]
        number: Option<u32>,
        /// Reason for the changelog.
        #[arg(long)]
        reason: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Create a key; it is printed once.
    Create {
        /// Tier of the key.
        #[arg(long, value_parser = ["research", "enterprise", "bench"])]
        tier: String,
        /// Label that says whom the key is for.
        #[arg(long, default_value = "")]
        label: String,
    },
    /// List keys: account, tier, state, time, label.
    List,
    /// Create a new master key and re-seal all values under it. The earlier keys stay in the key file, because they are
    /// needed.
    RotateMaster,
    /// Revoke a key at once.
    Revoke {
        /// The account as listed, or the whole key.
        key: String,
    },
    /// Create a new API key for an agent that lost its own; it is printed once. The previous key works for another ten
    /// minutes.
    Agent {
        /// The agent's DID.
        did: String,
        /// Revoke the earlier keys at once, for example when one leaked.
        #[arg(long)]
        revoke: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum PeersCommand {
    /// Make another relay a peer, or change the name and key of the peer with this address.
    Add {
        /// Base address of the relay, such as https://relay.example.org.
        url: String,
        /// Key of the relay, as `heliograph peers key` prints it there.
        key: String,
        /// Name of the peer here; the default is its host.
        #[arg(long)]
        name: Option<String>,
    },
    /// List peers: id, address, name, status, agents, messages, key.
    List,
    /// Remove a peer at once.
    Remove {
        /// Id or address of the peer.
        peer: String,
    },
    /// State at which peer an agent is and which key it has, for example after it rotated its keys.
    Pin {
        /// Id or address of the peer.
        peer: String,
        /// The agent's DID.
        did: String,
        /// The agent's Ed25519 key in base64.
        key: String,
    },
    /// Print the key of this relay, for the operators of its peers.
    Key {
        /// Create a new key first. Peers refuse messages until their operators know it.
        #[arg(long)]
        rotate: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// Print DID, state, since when, and the reason.
    Show { did: String },
    /// Suspend an agent: its key opens nothing, and nobody finds it or can write to it. All its data stays.
    Suspend {
        did: String,
        /// Reason, shown to operators.
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// End a suspension.
    Restore { did: String },
    /// Erase an agent for ever. Nobody gets its DID again; its names are free after 30 days.
    Erase {
        did: String,
        /// Confirm the erasure.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print a settings file with every setting, its default and its unit as comments.
    Init,
    /// Say what is wrong with a settings file, and with the files that it names.
    Check {
        /// The settings file.
        file: PathBuf,
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
    /// Write a consistent copy; with --to also of a running server.
    Backup {
        /// The copy; must not exist yet.
        file: PathBuf,
    },
    /// Write a file that no server uses anew, without the space that removed rows left.
    Compact,
    /// Put a backup in the place of the data file. It is checked first.
    Restore {
        /// The backup; its keys are beside it, in FILE.key.
        file: PathBuf,
        /// Only check that the backup can be restored.
        #[arg(long)]
        check: bool,
        /// Put it in the place of a data file that exists; what is in that file only is lost.
        #[arg(long, conflicts_with = "check")]
        replace: bool,
    },
    /// Remove everything that came from one source.
    DropSource {
        /// Name of the source.
        #[arg(value_parser = SOURCES)]
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum VerdictsCommand {
    /// Judge everything again after a change of the rules, and show which answers changed.
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
    /// Time of the end, such as 2026-01-31 (through the end of that day) or 2026-01-31T12:00:00Z.
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
    /// Create an incident that no data showed; its id is printed.
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
        /// Method, such as dns-poison; may be repeated.
        #[arg(long)]
        method: Vec<String>,
        /// An affected area, if not the whole country is affected; may be repeated.
        #[arg(long)]
        area: Vec<String>,
        /// Occasion, such as an election or exams.
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
    /// Change an incident; the change overrides later data until it is restored.
    Amend {
        id: String,
        #[arg(long, value_name = "TIME")]
        start: Option<String>,
        #[command(flatten)]
        changes: Changes,
        #[arg(long)]
        reason: String,
    },
    /// Undo changes of the named members, or of all.
    Restore {
        id: String,
        /// title, description, type, severity, status, confidence, start, end, merge or retraction; may be repeated.
        #[arg(long)]
        field: Vec<String>,
        #[arg(long)]
        reason: String,
    },
    /// Make an incident a part of another one; its ids then lead there.
    Merge {
        id: String,
        #[arg(long, value_name = "ID")]
        into: String,
        #[arg(long)]
        reason: String,
    },
    /// Withdraw an incident; the reason is public.
    Retract {
        id: String,
        #[arg(long)]
        reason: String,
    },
    /// List the versions of an incident, newest first: version, time, action, key of the operator or `data`, reason.
    Versions { id: String },
    /// List disputes of readers, oldest first: id, incident, version, time, state, reason.
    Disputes {
        /// List the disputes that were ended already.
        #[arg(long)]
        resolved: bool,
        /// Print JSON, one dispute a line.
        #[arg(long)]
        json: bool,
    },
    /// End a dispute. This changes no incident; amend or retract the incident separately.
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
        self.config_at(None)
    }

    /// The same for a server whose service manager listens on this address.
    pub fn config_at(&self, at: Option<SocketAddr>) -> Result<Config, String> {
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
        Config::load(self.config.as_deref(), |name| std::env::var(name).ok(), &flags)
    }
}
