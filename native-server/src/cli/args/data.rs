//! Flags of the commands that read files: imports, probes, and what judges the methods.

use std::path::PathBuf;

use clap::Args;

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
    /// Kind of the files; leave it out to be told what they look like.
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
    /// City of this host.
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
    /// Only the rows of the table that contain this text, such as `4 a day` or `in bursts`.
    #[arg(long, requires = "world", value_name = "TEXT")]
    pub rows: Option<String>,
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
