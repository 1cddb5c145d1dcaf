//! `cargo xtask bench --large`: what a deployment of the size that the project is meant for costs (issue: cost).
//!
//! Five million observation rows over 180 countries, 2,000 sites and 3,000 networks, in the order of time as dumps come,
//! and as uneven as measurements are: a few countries, sites and networks give most of them. They are written to a file
//! row by row, imported by the command line into a new data file, and served; every public GET endpoint is then asked at
//! 32 connections. `--rows N` takes another number of rows.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use heliograph_core::starter::Country;
use heliograph_core::time::Timestamp;
use heliograph_tests::client::Client;
use heliograph_tests::process::{Server, built};
use heliograph_tests::simulation::Dice;
use heliograph_tests::synthetic::{HEADER, Seen, Session, observation};
use heliograph_tests::target::ADMIN_KEY;
use serde_json::{Value, json};

use crate::{load, machine, service};

pub const ROWS: u64 = 5_000_000;
const COUNTRIES: usize = 180;
const SITES: usize = 2_000;
const NETWORKS: usize = 3_000;
const DAYS: i64 = 30;
const CONNECTIONS: usize = 32;
/// First of the numbers kept for private networks (RFC 6996).
const FIRST_ASN: u32 = 4_200_000_000;

/// What a run measured.
#[derive(Debug)]
pub struct Large {
    pub rows: u64,
    /// Different (country, site, network, hour).
    pub aggregates: usize,
    pub import_seconds: f64,
    /// Resident bytes at most: of the import, and of the server.
    pub peak: [Option<u64>; 2],
    /// Resident bytes of the server at the end.
    pub resident: Option<u64>,
    /// Length of the file, and what it takes on the disk: redb doubles a file ahead of its use, and what was never written
    /// takes no space. After the import, and after all that follows from it.
    pub file: [machine::FileSize; 2],
    /// CPU seconds of the import, of all threads.
    pub import_cpu: Option<f64>,
    /// Until the server had computed everything that an import leads to; `None` when that took too long.
    pub settled_seconds: Option<f64>,
    pub endpoints: Vec<(String, load::Outcome)>,
}

/// A number below `n`; small ones are more likely, the first percent of them holds a tenth.
fn uneven(dice: &mut Dice, n: usize) -> usize {
    let share = (dice.draw() >> 11) as f64 / (1u64 << 53) as f64;
    ((share * share * n as f64) as usize).min(n - 1)
}

/// The networks of a country: the first has many, the last a few.
fn networks(country: usize) -> std::ops::Range<usize> {
    let bound = |country: usize| (NETWORKS as f64 * (country as f64 / COUNTRIES as f64).sqrt()) as usize;
    bound(country)..bound(country + 1)
}

/// Every fiftieth (country, site) is blocked, on half of the networks.
fn seen(country: usize, site: usize, network: usize) -> Seen {
    let blocked = (country * 31 + site * 17).is_multiple_of(50) && network.is_multiple_of(2);
    if blocked { Seen::TlsReset } else { Seen::Works }
}

/// Writes the rows; how many different aggregates they are.
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

pub fn run(folder: &Path, rows: u64, cores: &machine::Cores, window: Duration) -> Large {
    let (csv, store) = (folder.join("large.csv"), folder.join("large.redb"));
    eprintln!("writing {rows} rows");
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&csv).unwrap());
    let aggregates = generate(&mut out, rows, service::now()).unwrap();
    out.flush().unwrap();
    eprintln!("importing");
    let Imported { seconds: import_seconds, cpu: import_cpu, peak: import_peak } = import(&csv, &store);
    std::fs::remove_file(&csv).unwrap();
    let imported = machine::file_size(&store);
    eprintln!("imported in {import_seconds:.1} s, {import_cpu:?} s of CPU, {} MB; serving", imported.on_disk >> 20);
    let server = Server::start(command(&store, cores));
    let settled_seconds = settle(&Client::http(&server.base), rows);
    eprintln!("settled: {settled_seconds:?}");
    let endpoints = endpoints(&server, window);
    let resident = machine::resident_memory(server.id());
    let peak = [import_peak, machine::peak_memory(server.id())];
    server.stop();
    let file = [imported, machine::file_size(&store)];
    Large { rows, aggregates, import_seconds, import_cpu, peak, resident, file, settled_seconds, endpoints }
}

/// What an import took.
struct Imported {
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
    command
}

/// Waits until every summary has arrived: the index does not change any more for longer than its publish interval.
fn settle(client: &Client, rows: u64) -> Option<f64> {
    let start = Instant::now();
    let longest = Duration::from_secs(60 + rows / 10_000);
    // The tag changes with the time of generation alone, so the numbers are compared.
    let look = || {
        let mut body: Value = serde_json::from_slice(&client.get("/data/censorship-index.json").body).unwrap();
        body["generated"] = Value::Null;
        body["dateModified"] = Value::Null;
        body
    };
    let (mut before, mut since) = (look(), Instant::now());
    while start.elapsed() < longest {
        std::thread::sleep(Duration::from_secs(2));
        let now = look();
        if now != before {
            (before, since) = (now, Instant::now());
        } else if since.elapsed() > Duration::from_secs(26) {
            return Some((since - start).as_secs_f64());
        }
    }
    None
}

/// Paths of the public GET endpoints, asked in turn for several countries, sites and networks.
fn paths() -> Vec<(&'static str, Vec<String>)> {
    let codes: Vec<&str> = Country::all().iter().map(|country| country.code).take(COUNTRIES).collect();
    let some = |step: usize| codes.iter().step_by(step).copied();
    let sites = || (0..SITES).step_by(97);
    let one = |path: &'static str| (path, vec![path.to_owned()]);
    let by_country = |path: &'static str| (path, some(9).map(|code| path.replace("{country}", code)).collect());
    let by_site = |path: &'static str| {
        (path, sites().map(|site| path.replace("{domain}", &format!("site-{site}.example"))).collect())
    };
    vec![
        one("/data/censorship-index.json"),
        one("/data/censorship-index.csv"),
        one("/v1/censorship-index"),
        one("/data/methodology"),
        one("/data/incidents"),
        one("/health"),
        by_country("/v1/censorship-index/{country}"),
        by_country("/data/country/{country}"),
        by_country("/data/country/{country}/isps"),
        by_country("/v1/accessibility/country/{country}/summary"),
        by_country("/v1/accessibility/check?domain=site-31.example&country={country}"),
        by_site("/data/domain/{domain}"),
        by_site("/data/domain/{domain}/history"),
        by_site("/v1/accessibility/service/{domain}"),
        one("/hydra/v1/scores"),
        by_country("/hydra/v1/threat-level/{country}?includeHistory=true"),
        one("/hydra/v1/model/info"),
    ]
}

fn endpoints(server: &Server, window: Duration) -> Vec<(String, load::Outcome)> {
    let client = Client::http(&server.base);
    let key = client.admin().post("/v1/admin/keys", &json!({ "tier": "bench" })).expect(201);
    let key = key["api_key"].as_str().unwrap().to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let run = |name: &str, plan: &load::Plan| {
        // Once without counting.
        runtime.block_on(load::run(&server.base, CONNECTIONS, window / 2, plan, 1));
        let outcome = runtime.block_on(load::run(&server.base, CONNECTIONS, window, plan, 2));
        eprintln!("{name}: {:.0}/s, p99 {:.2} ms", outcome.rate, f64::from(outcome.p99) / 1e3);
        (name.to_owned(), outcome)
    };
    let measure = |(name, paths): (&str, Vec<String>)| {
        let first = client.key(&key).get(&paths[0]);
        if first.status != 200 {
            eprintln!("{name}: answers {}, not measured", first.status);
            return None;
        }
        let plan = load::Plan::gets(&server.base, &paths, &[("x-api-key", &key)]);
        Some(run(name, &plan))
    };
    let mut all: Vec<_> = paths().into_iter().filter_map(measure).collect();
    for (name, path, bodies) in posts() {
        all.push(run(name, &load::Plan::posts(&server.base, path, &[("x-api-key", &key)], bodies.into_iter())));
    }
    all
}

/// Questions with a body: name, path, bodies in turn.
fn posts() -> Vec<(&'static str, &'static str, Vec<String>)> {
    let codes = || Country::all().iter().map(|country| country.code).take(COUNTRIES).step_by(9);
    let site = |number: usize| format!("site-{number}.example");
    let detect = codes().flat_map(|code| {
        (0..SITES).step_by(97).map(move |number| json!({ "country": code, "target": site(number) }).to_string())
    });
    let batch = codes().map(|code| {
        let targets: Vec<String> = (0..SITES).step_by(SITES / 50).map(site).collect();
        json!({ "country": code, "targets": targets }).to_string()
    });
    vec![
        ("POST /hydra/v1/detect", "/hydra/v1/detect", detect.collect()),
        ("POST /hydra/v1/detect/batch, 50 targets", "/hydra/v1/detect/batch", batch.collect()),
    ]
}

/// Where this part stands in `RESULTS.md`; the rest of the file is the other bench's.
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
        let yes = if value.is_some_and(met) { "yes" } else { "**no**" };
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
    row("bytes on disk per aggregate row, verdicts, blocks and world included", "< 150", each(settled.on_disk), met);
    row("peak memory of the import, MB", "< 400", mb(large.peak[0]), |v| v < 400.0);
    row("peak memory of the server, MB", "< 400", mb(large.peak[1]), |v| v < 400.0);
    row("memory of the server at the end, MB", "< 400", mb(large.resident), |v| v < 400.0);
    let slowest = large.endpoints.iter().map(|(_, outcome)| f64::from(outcome.p99) / 1e3).reduce(f64::max);
    row("p99 of the slowest endpoint, 32 connections, ms", "< 20", slowest, |v| v < 20.0);
    let settled = large.settled_seconds.map_or("not reached".to_owned(), |seconds| format!("{seconds:.0} s"));
    // Of all threads; the writer alone takes most of it, so halving it says nothing of two cores.
    let cpu = large.import_cpu.map_or("not measured".to_owned(), |seconds| format!("{seconds:.0} s"));
    writeln!(out, "\nCPU time of the import, all threads: {cpu}.").unwrap();
    writeln!(out, "\nAll verdicts and rankings after the import, computed by a server on one core: {settled}.\n")
        .unwrap();
    out.push_str("| Endpoint, 32 connections | per second | p50, ms | p99, ms |\n|---|---|---|---|\n");
    for (name, outcome) in &large.endpoints {
        let ms = |us: u32| f64::from(us) / 1e3;
        writeln!(out, "| `{name}` | {:.0} | {:.2} | {:.2} |", outcome.rate, ms(outcome.p50), ms(outcome.p99)).unwrap();
    }
    out
}
