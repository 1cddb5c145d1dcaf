//! Rows per second and peak memory of `heliograph import`, on made-up rows and on real data if it is available.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use heliograph_core::engine::time::Timestamp;
use heliograph_tests::data;
use heliograph_tests::process::built;
use heliograph_tests::synthetic::{HEADER, Session, SiteResult, observation};

use crate::{machine, service};

/// One import of one file.
#[derive(Debug, Clone)]
pub struct Import {
    pub name: String,
    pub lines: usize,
    pub seconds: f64,
    /// Peak memory in bytes; `None` if the system does not provide it.
    pub peak: Option<u64>,
}

impl Import {
    pub fn rate(&self) -> f64 {
        self.lines as f64 / self.seconds
    }
}

/// All imports; an error is a sentence for the report.
#[derive(Debug, Default)]
pub struct Imports {
    /// The made-up rows, once per round, each into a new data file.
    pub made_up: Vec<Import>,
    /// The real data, all into one file.
    pub real: Vec<Import>,
    pub error: Option<String>,
}

/// Made-up observation rows that end at a given time, and their (country, site) pairs.
pub struct Set {
    pub text: String,
    pub cells: Vec<(String, String)>,
}

const COUNTRIES: [&str; 10] = ["NO", "SE", "FI", "DK", "DE", "FR", "ES", "PT", "CH", "AT"];
const SITES: usize = 100;
const NETWORKS: usize = 8;
const HOURS: usize = 72;

/// `rows` sessions of the last three days with ten countries, a hundred sites and eight networks each; every tenth site
/// is reset on two of the networks.
pub fn dataset(rows: usize, end: Timestamp) -> Set {
    let mut text = HEADER.to_owned();
    let hosts: Vec<String> = (0..SITES).map(|site| format!("site-{site}.example")).collect();
    for row in 0..rows {
        let (country, site) = (row % COUNTRIES.len(), row / COUNTRIES.len() % SITES);
        let network = row / (COUNTRIES.len() * SITES) % NETWORKS;
        // The step has no common factor with the hours, so that a cell meets all of them.
        let back = (row * 7 / NETWORKS % HOURS * 3_600 + row % 3_541) as i64;
        let time = Timestamp::from_seconds(end.0 / 1_000_000 - back).to_string();
        let time = format!("{} {}", &time[..10], &time[11..19]);
        let blocked = site % 10 == 0 && network < 2;
        let seen = if blocked { SiteResult::TlsReset } else { SiteResult::Works };
        let asn = 64_496 + u32::try_from(network).unwrap();
        let session = Session { country: COUNTRIES[country], asn, host: &hosts[site], time: &time, number: row, seen };
        observation(&mut text, &session);
    }
    let all = COUNTRIES.iter().flat_map(|country| hosts.iter().map(move |site| ((*country).to_owned(), site.clone())));
    Set { text, cells: all.collect() }
}

/// Real files by kind with further arguments, for the kinds that the command line reads.
const REAL: [(&str, &[&str], &str); 12] = [
    ("asn", &[], "asn/asn_name_country.csv.gz"),
    ("fingerprints", &[], "ooni/fingerprints_dns.csv"),
    ("fingerprints", &[], "ooni/fingerprints_http.csv"),
    ("ooni-measurements", &[], "ooni/measurements.jsonl.gz"),
    ("ooni-fastpath", &[], "ooni/fastpath_2024-01-01.jsonl.gz"),
    ("ooni-observations", &[], "ooni/observations_KE_2023_telegram.csv.gz"),
    ("ooni-observations", &[], "ooni/observations_KE_2023_web_connectivity.csv.gz"),
    ("test-list", &[], "test-lists/global.csv"),
    ("blocklist", &["--country", "IR", "--date", "2023-06-01"], "blocklists/iran_ir-blocked-domain_2023.txt.gz"),
    ("blocklist", &["--country", "RU", "--date", "2026-01-01"], "blocklists/russia_refilter_domains_all_2026.txt.gz"),
    ("blocklist", &["--country", "CN", "--date", "2024-01-01"], "blocklists/gfwlist_decoded_list.txt"),
    ("blocklist", &["--country", "LT", "--date", "2022-01-01"], "blocklists/lithuania_isp_blocked_domains_2022.csv"),
];

pub fn run(folder: &Path, rows: usize, rounds: usize) -> Imports {
    let mut imports = Imports::default();
    if let Err(error) = measure(folder, rows, rounds, &mut imports) {
        imports.error = Some(error);
    }
    imports
}

fn measure(folder: &Path, rows: usize, rounds: usize, imports: &mut Imports) -> Result<(), String> {
    let file = folder.join("made-up.csv");
    std::fs::write(&file, dataset(rows, service::now()).text).map_err(|error| error.to_string())?;
    for round in 0..rounds {
        let store = folder.join(format!("import-{round}.redb"));
        let name = format!("{rows} made-up observation rows");
        imports.made_up.push(import(name, rows, "ooni-observations", &[], &file, &store)?);
        std::fs::remove_file(&store).map_err(|error| error.to_string())?;
    }
    let store = folder.join("real.redb");
    for (kind, arguments, path) in REAL {
        let Some(text) = data::real(path) else { return Ok(()) };
        let header = usize::from(data::has_header(kind));
        let lines = data::records(&text, data::has_header(kind)).len() - header;
        let file = data::folder().join(path);
        imports.real.push(import(format!("{kind}: {path}"), lines, kind, arguments, &file, &store)?);
    }
    Ok(())
}

/// Imports one file by the command line, and watches its memory.
fn import(
    name: String,
    lines: usize,
    kind: &str,
    arguments: &[&str],
    file: &Path,
    store: &Path,
) -> Result<Import, String> {
    let mut command = machine::unpinned(&built("heliograph"));
    command.args(["import", kind]).arg(file).args(arguments).args(["--json", "--data"]).arg(store);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("cannot start heliograph: {error}"))?;
    let mut peak = None;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            if !status.success() {
                return Err(format!("{name}: {status}"));
            }
            return Ok(Import { name, lines, seconds: start.elapsed().as_secs_f64(), peak });
        }
        // The peak only rises; the last look may miss the last few milliseconds.
        peak = machine::peak_memory(child.id()).max(peak);
        std::thread::sleep(Duration::from_millis(2));
    }
}
