//! `cargo xtask bench --large`: measures a deployment of the size that the project is meant for.
//!
//! Five million observation rows over 180 countries, 2,000 sites and 3,000 networks come in the order of time, as in
//! dumps. They are as uneven as real measurements: a few countries, sites and networks have most of them. They are
//! written to a file row by row, imported by the command line into a new data file, and served, with incidents of
//! [`crate::incidents`] beside those from the rows. Then every public endpoint is requested on 32 connections. `--rows
//! N` sets another number of rows, `--store FILE` keeps the data file or reuses one, and `HELIOGRAPH_BENCH_ONLY=text`
//! asks only questions whose name contains the text.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use heliograph_core::engine::time::Timestamp;
use heliograph_core::facts::starter::Country;
use heliograph_tests::client::Client;
use heliograph_tests::process::{Server, built};
use heliograph_tests::questions::QUESTIONS;
use heliograph_tests::simulation::Dice;
use heliograph_tests::synthetic::{HEADER, Session, SiteResult, observation};
use heliograph_tests::target::ADMIN_KEY;

use crate::asked::{self, Measured};
use crate::incidents::{self, INCIDENTS};
use crate::{machine, service};

pub const ROWS: u64 = 5_000_000;
const COUNTRIES: usize = 180;
const SITES: usize = 2_000;
const NETWORKS: usize = 3_000;
const DAYS: i64 = 30;
/// First AS number for private use (RFC 6996).
const FIRST_ASN: u32 = 4_200_000_000;

/// The results of a run.
#[derive(Debug)]
pub struct Large {
    pub rows: u64,
    /// Number of different (country, site, network, hour).
    pub aggregates: usize,
    pub import_seconds: f64,
    /// Peak resident bytes of the import, and of the server.
    pub peak: [Option<u64>; 2],
    /// Resident bytes of the server at the end.
    pub resident: Option<u64>,
    /// Length of the file, and its space on the disk: redb doubles a file ahead of its use, and parts that were never
    /// written take no space. Measured after the import, and after all work that follows from it.
    pub file: [machine::FileSize; 2],
    /// CPU seconds of all threads of the import.
    pub import_cpu: Option<f64>,
    /// CPU seconds of the server until all work that follows from the import was done; `None` if that took too long.
    pub followed_cpu: Option<f64>,
    pub questions: Vec<Measured>,
}

/// A random number below `n`. Small numbers are more likely: the first percent of them has a tenth of the draws.
fn uneven(dice: &mut Dice, n: usize) -> usize {
    let share = (dice.draw() >> 11) as f64 / (1u64 << 53) as f64;
    ((share * share * n as f64) as usize).min(n - 1)
}

/// The networks of a country: the first country has many, the last a few.
fn networks(country: usize) -> std::ops::Range<usize> {
    let bound = |country: usize| (NETWORKS as f64 * (country as f64 / COUNTRIES as f64).sqrt()) as usize;
    bound(country)..bound(country + 1)
}

/// Every fiftieth (country, site) is blocked, on half of the networks.
fn seen(country: usize, site: usize, network: usize) -> SiteResult {
    let blocked = (country * 31 + site * 17).is_multiple_of(50) && network.is_multiple_of(2);
    if blocked { SiteResult::TlsReset } else { SiteResult::Works }
}

/// Writes the rows; returns the number of different aggregates.
fn generate(out: &mut impl Write, rows: u64, end: Timestamp) -> std::io::Result<usize> {
    let codes: Vec<&str> = Country::all().iter().map(|country| country.code).take(COUNTRIES).collect();
    let hosts: Vec<String> = (0..SITES).map(|site| format!("site-{site}.example")).collect();
    let mut dice = Dice::new(7);
    let mut aggregates = HashSet::new();
    out.write_all(HEADER.as_bytes())?;
    let mut text = String::new();
    let seconds = DAYS * 86_400;
    for number in 0..rows {
        let (country, site) = (uneven(&mut dice, codes.len()), uneven(&mut dice, SITES));
        let own = networks(country);
        let network = own.start + uneven(&mut dice, own.len().max(1));
        let back = seconds - (number as i128 * i128::from(seconds) / i128::from(rows)) as i64;
        let time = Timestamp::from_seconds(end.0 / 1_000_000 - back);
        aggregates.insert((country as u16, site as u16, network as u16, time.hour() as u32));
        let time = time.to_string();
        let time = format!("{} {}", &time[..10], &time[11..19]);
        let session = Session {
            country: codes[country],
            asn: FIRST_ASN + network as u32,
            host: &hosts[site],
            time: &time,
            number: number as usize,
            seen: seen(country, site, network),
        };
        text.clear();
        observation(&mut text, &session);
        out.write_all(text.as_bytes())?;
    }
    Ok(aggregates.len())
}

/// `kept` is the data file of an earlier run that is used again, or that this run keeps.
pub fn run(folder: &Path, kept: Option<&Path>, rows: u64, cores: &machine::Cores, window: Duration) -> Large {
    let store = kept.map_or_else(|| folder.join("large.redb"), Path::to_owned);
    let (aggregates, import) = match store.exists() {
        true => (0, Imported { seconds: f64::NAN, cpu: None, peak: None }),
        false => generate_and_import(folder, &store, rows),
    };
    let imported = machine::file_size(&store);
    let server = Server::start(command(&store, cores));
    let client = Client::http(&server.base);
    import_categories(&client);
    let followed_cpu = settle(&server, rows);
    eprintln!("settled after {followed_cpu:?} s of CPU");
    let file = [imported, machine::file_size(&store)];
    if client.get("/data/incidents").expect(200)["total"].as_u64() < Some(INCIDENTS as u64) {
        incidents::fill(&client, INCIDENTS);
    }
    incidents::indexed(&client, INCIDENTS);
    let asns = (0..NETWORKS).map(|network| format!("AS{}", FIRST_ASN as usize + network)).collect();
    let known = asked::known(&client, COUNTRIES, SITES, measured(&client, asns));
    let questions = asked::run(&server, QUESTIONS.iter(), &known, window);
    let resident = machine::resident_memory(server.id());
    let peak = [import.peak, machine::peak_memory(server.id())];
    server.stop();
    let (import_seconds, import_cpu) = (import.seconds, import.cpu);
    Large { rows, aggregates, import_seconds, import_cpu, peak, resident, file, followed_cpu, questions }
}

pub fn generate_and_import(folder: &Path, store: &Path, rows: u64) -> (usize, Imported) {
    let csv = folder.join("large.csv");
    eprintln!("writing {rows} rows");
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&csv).unwrap());
    let aggregates = generate(&mut out, rows, service::now()).unwrap();
    out.flush().unwrap();
    eprintln!("importing");
    let imported = import(&csv, store);
    std::fs::remove_file(&csv).unwrap();
    eprintln!("imported in {:.1} s, {:?} s of CPU", imported.seconds, imported.cpu);
    (aggregates, imported)
}

/// The cost of an import.
pub struct Imported {
    seconds: f64,
    cpu: Option<f64>,
    peak: Option<u64>,
}

fn import(csv: &Path, store: &Path) -> Imported {
    let mut command = machine::unpinned(&built("heliograph"));
    command.args(["import", "ooni-observations"]).arg(csv).args(["--json", "--data"]).arg(store);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().unwrap();
    let (mut peak, mut cpu) = (None, None);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "the import ended with {status}");
            return Imported { seconds: start.elapsed().as_secs_f64(), cpu, peak };
        }
        cpu = machine::cpu_seconds(child.id()).or(cpu);
        peak = machine::peak_memory(child.id()).max(peak);
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn command(store: &Path, cores: &machine::Cores) -> Command {
    let mut command = cores.server(&built("heliograph"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(store);
    command.env("HELIOGRAPH_ADMIN_KEY", ADMIN_KEY).env("HELIOGRAPH_ACCESS_LOG", "false");
    command.env("HELIOGRAPH_ACCESSIBILITY_PER_MINUTE", "0");
    // Incidents are stored as they are written in answers, with their links. At another port all of them would be
    // written again.
    command.env("HELIOGRAPH_PUBLIC_URL", "http://bench.example");
    command
}

/// Waits until the server has been idle for longer than the work after an import is put off (six publish intervals),
/// and again after sixty intervals, when some work is done again for late data. Returns the CPU seconds used.
fn settle(server: &Server, rows: u64) -> Option<f64> {
    const IDLE: Duration = Duration::from_secs(75);
    const ANEW: Duration = Duration::from_secs(615);
    const TICK: Duration = Duration::from_secs(2);
    /// CPU seconds in a tick above which the server counts as busy.
    const BUSY: f64 = 0.1;
    let start = Instant::now();
    let longest = ANEW + Duration::from_secs(60 + rows / 2_500);
    let (mut before, mut since) = (machine::cpu_seconds(server.id())?, Instant::now());
    let mut first: Option<Instant> = None;
    while start.elapsed() < longest {
        std::thread::sleep(TICK);
        let now = machine::cpu_seconds(server.id())?;
        if now - before > BUSY {
            since = Instant::now();
        } else if since.elapsed() > IDLE && first.get_or_insert(since).elapsed() > ANEW {
            return Some(now);
        }
        before = now;
    }
    None
}

/// The networks that have measurements.
fn measured(client: &Client, mut asns: Vec<String>) -> Vec<String> {
    asns.retain(|asn| client.get(&format!("/v1/isp/{asn}/profile")).status == 200);
    asns
}

/// Imports a test list with a category for every site, as deployments have one.
fn import_categories(client: &Client) {
    let mut list = "url,category_code,category_description,date_added,source,notes\n".to_owned();
    for site in 0..SITES {
        let category = asked::CATEGORIES[site % asked::CATEGORIES.len()];
        writeln!(list, "https://site-{site}.example/,{category},,2020-01-01,bench,").unwrap();
    }
    let path = "/v1/admin/import/test-list?list=global";
    assert_eq!(client.admin().send("POST", path, Some("text/csv"), list.as_bytes()).status, 200);
}

/// Heading of this part in `RESULTS.md`; other benches write the rest of the file.
pub const HEADING: &str = "\n## A large deployment\n";

pub fn render(large: &Large, machine: &[String]) -> String {
    let mut out = format!("{HEADING}\nWritten by `cargo xtask bench --large`.\n\n");
    machine.iter().for_each(|line| writeln!(out, "- {line}").unwrap());
    writeln!(
        out,
        "- {} rows of {DAYS} days over {COUNTRIES} countries, {SITES} sites and {NETWORKS} networks, unevenly; {} different \
         (country, site, network, hour)\n",
        large.rows, large.aggregates
    )
    .unwrap();
    out.push_str("| What | Target | Measured | Met |\n|---|---|---|---|\n");
    let mut row = |what: &str, target: &str, value: Option<f64>, met: fn(f64) -> bool| {
        let text = value.map_or("not measured".to_owned(), |value| format!("{value:.1}"));
        let yes = match target {
            "-" => "reported",
            _ if value.is_some_and(met) => "yes",
            _ => "**no**",
        };
        writeln!(out, "| {what} | {target} | {text} | {yes} |").unwrap();
    };
    let mb = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64 / 1e6);
    row("rows imported per second", ">= 100000", Some(large.rows as f64 / large.import_seconds), |v| v >= 1e5);
    let each = |bytes: u64| Some(bytes as f64 / large.aggregates as f64);
    let met = |v: f64| v < 150.0;
    let [imported, settled] = large.file;
    row(
        "bytes on disk per aggregate row after the import, witnesses and free pages included",
        "< 150",
        each(imported.on_disk),
        met,
    );
    row("the same by the length of the file, which grows ahead of its use", "< 150", each(imported.length), met);
    row(
        "the same with all that follows from the rows: verdicts, changes, rankings, incidents",
        "-",
        each(settled.on_disk),
        |_| true,
    );
    row("peak memory of the import, MB", "< 400", mb(large.peak[0]), |v| v < 400.0);
    row("peak memory of the server, MB", "< 400", mb(large.peak[1]), |v| v < 400.0);
    row("memory of the server at the end, MB", "< 400", mb(large.resident), |v| v < 400.0);
    let followed = large.followed_cpu.map_or("not reached".to_owned(), |seconds| format!("{seconds:.0} s"));
    // CPU time of all threads. The writer alone takes most of it, so halving the figure says nothing about two cores.
    let cpu = large.import_cpu.map_or("not measured".to_owned(), |seconds| format!("{seconds:.0} s"));
    writeln!(out, "\nCPU time of the import, all threads: {cpu}.").unwrap();
    writeln!(
        out,
        "\nCPU time of the server for all that follows from the import (verdicts, days, changes, incidents, rankings): \
         {followed}.\n"
    )
    .unwrap();
    out.push_str(&asked::render(&large.questions));
    out
}
