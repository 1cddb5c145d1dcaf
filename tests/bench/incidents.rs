//! `cargo xtask bench --incidents`: what readers of incidents wait for when there are 20,000 of them (issue: cost).
//!
//! They are made by the operator's route, so that the file holds what any other way would leave in it. Every public GET
//! endpoint about them is then asked at 32 connections, with filters, deep pages and changing words; last, the whole export
//! is read by several readers at once, with the memory that it takes.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use heliograph_core::starter::Country;
use heliograph_tests::client::Client;
use heliograph_tests::process::{Server, built};
use heliograph_tests::simulation::Dice;
use heliograph_tests::target::ADMIN_KEY;
use serde_json::{Value, json};

use crate::{load, machine};

pub const INCIDENTS: usize = 20_000;
const CONNECTIONS: usize = 32;
const COUNTRIES: usize = 180;
/// Readers of the whole export at once.
const READERS: usize = 8;

/// What a run measured.
#[derive(Debug)]
pub struct Incidents {
    pub number: usize,
    pub endpoints: Vec<(String, load::Outcome)>,
    /// Seconds and bytes of all exports at once, and resident bytes before and at most.
    pub export: (f64, u64, [Option<u64>; 2]),
}

const OCCASIONS: [&str; 6] = [
    "national school exams, against cheating",
    "a presidential election",
    "protests in the capital",
    "a military coup",
    "unrest after a verdict",
    "a religious holiday",
];

fn incident(number: usize, dice: &mut Dice) -> Value {
    let mut below = |n: usize| (dice.draw() >> 33) as usize % n;
    let country = Country::all()[below(COUNTRIES)].code;
    let subjects = ["telegram", "whatsapp", "internet", "signal"];
    let subject = match below(3) {
        0 => subjects[below(4)].to_owned(),
        _ => format!("site-{}.example", below(2_000)),
    };
    let (year, month, day) = (2016 + below(10), 1 + below(12), 1 + below(28));
    let start = format!("{year}-{month:02}-{day:02}T{:02}:00:00Z", below(24));
    let asns: Vec<String> =
        (0..1 + below(8)).map(|_| format!("AS{}", 4_200_000_000_u64 + below(3_000) as u64)).collect();
    let evidence = |n: usize| {
        let reference = format!("{number}-{n}");
        json!({
            "source": "ooni", "kind": "measurement", "source_ref": reference, "observed_at": start,
            "permalink": format!("https://explorer.example.org/m/{reference}"), "confidence": 0.9
        })
    };
    let severity = ["low", "medium", "high", "critical"][below(4)];
    let status = ["active", "resolved", "suspected"][below(3)];
    let method = ["dns-poison", "tls-reset", "http-timeout"][below(3)];
    let (occasion, confidence) = (OCCASIONS[below(6)], below(100) as f64 / 100.0);
    let description = format!("Networks cut access during {occasion}, word{} word{}.", below(900), below(900));
    let evidence: Vec<Value> = (0..below(4)).map(evidence).collect();
    json!({
        "country": country, "subject": subject, "start": start, "reason": "bench", "asns": asns,
        "severity": severity, "status": status, "confidence": confidence, "occasion": occasion,
        "description": description, "methods": [method], "evidence": evidence,
    })
}

fn fill(client: &Client, number: usize) {
    const WRITERS: usize = 32;
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let admin = client.admin();
            scope.spawn(move || {
                let mut dice = Dice::new(writer as u64 + 1);
                for at in (writer..number).step_by(WRITERS) {
                    admin.post("/v1/admin/incidents", &incident(at, &mut dice)).expect(201);
                }
            });
        }
    });
}

/// Endpoints with the paths that are asked in turn.
fn paths(client: &Client) -> Vec<(&'static str, Vec<String>)> {
    let one = |path: &'static str| (path, vec![path.to_owned()]);
    let page = client.get("/data/incidents?limit=200&offset=9000").expect(200);
    let incidents = page["incidents"].as_array().unwrap();
    let by_id = |path: &'static str| {
        let id = |row: &Value| path.replace("{id}", row["readableId"].as_str().unwrap());
        (path, incidents.iter().step_by(4).map(id).collect())
    };
    let codes = || Country::all().iter().take(COUNTRIES).step_by(7).map(|country| country.code);
    let newest = client.get("/data/incidents/delta?since=2000-01-01&limit=1000").expect(200);
    let mut cursor = newest["next_since"].as_str().unwrap().to_owned();
    loop {
        let next = client.get(&format!("/data/incidents/delta?since={cursor}&limit=1000")).expect(200);
        if next["has_more"] == false {
            let rows = next["incidents"].as_array().unwrap();
            let before = rows.len().saturating_sub(20);
            cursor = rows.get(before).map_or(cursor, |row| row["updatedAt"].as_str().unwrap().to_owned());
            break;
        }
        cursor = next["next_since"].as_str().unwrap().to_owned();
    }
    let evidence =
        client.get(&format!("/data/incidents/{}/evidence", incidents[0]["id"].as_str().unwrap())).expect(200);
    let mut all = vec![
        one("/data/incidents"),
        ("/data/incidents?country=", codes().map(|code| format!("/data/incidents?country={code}")).collect()),
        ("/data/incidents?status=&severity=", filters()),
        (
            "/data/incidents?since=",
            (0..40).map(|n| format!("/data/incidents?since=2025-{:02}-{:02}", 1 + n % 12, 1 + n % 28)).collect(),
        ),
        ("/data/incidents?offset=", (0..60).map(|n| format!("/data/incidents?offset={}", n * 331)).collect()),
        ("/data/incidents?topic=messaging", vec!["/data/incidents?topic=messaging".to_owned()]),
        ("/data/incidents?limit=200", vec!["/data/incidents?limit=200&offset=400".to_owned()]),
        one("/data/incidents/stats"),
        one("/data/incidents/feed.rss"),
        one("/data/incidents/feed.atom"),
        ("/data/incidents/delta (20 changes)", vec![format!("/data/incidents/delta?since={cursor}")]),
        ("/data/incidents/delta (100 changes)", vec!["/data/incidents/delta?since=2000-01-01&limit=100".to_owned()]),
        ("/v1/incidents/similar", words()),
        by_id("/data/incidents/{id}"),
        by_id("/data/incidents/{id}/evidence"),
        by_id("/data/incidents/{id}/report"),
        by_id("/data/incidents/{id}?explain=true"),
    ];
    if let Some(row) = evidence["evidence"].as_array().and_then(|rows| rows.first()) {
        all.push(("/data/evidence/{id}", vec![format!("/data/evidence/{}", row["id"].as_str().unwrap())]));
    }
    all
}

fn filters() -> Vec<String> {
    let mut all = Vec::new();
    for status in ["active", "resolved", "suspected", "confirmed"] {
        for severity in ["low", "high", "critical"] {
            all.push(format!("/data/incidents?status={status}&severity={severity}"));
        }
    }
    all
}

fn words() -> Vec<String> {
    let query = |n: usize| {
        let text = format!("{} word{} word{}", OCCASIONS[n % 6], n * 7 % 900, n * 13 % 900);
        format!("/v1/incidents/similar?query={}", text.replace(' ', "+").replace(',', "%2C"))
    };
    (0..60).map(query).collect()
}

pub fn run(folder: &Path, number: usize, cores: &machine::Cores, window: Duration) -> Incidents {
    let store = folder.join("incidents.redb");
    let start = |pinned: bool| {
        let program = built("heliograph");
        let mut command = if pinned { cores.server(&program) } else { machine::unpinned(&program) };
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&store);
        command.env("HELIOGRAPH_ADMIN_KEY", ADMIN_KEY).env("HELIOGRAPH_ACCESS_LOG", "false");
        command.env("HELIOGRAPH_INCIDENTS_PER_MINUTE", "0");
        Server::start(command)
    };
    let server = start(false);
    let begun = Instant::now();
    fill(&Client::http(&server.base), number);
    eprintln!("{number} incidents in {:.0} s", begun.elapsed().as_secs_f64());
    indexed(&Client::http(&server.base), number);
    server.stop();
    let server = start(true);
    let client = Client::http(&server.base);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let measure = |(name, paths): (&str, Vec<String>)| {
        assert_eq!(client.get(&paths[0]).status, 200, "{}", paths[0]);
        let plan = load::Plan::gets(&server.base, &paths, &[]);
        runtime.block_on(load::run(&server.base, CONNECTIONS, window / 2, &plan, 1));
        let outcome = runtime.block_on(load::run(&server.base, CONNECTIONS, window, &plan, 2));
        eprintln!("{name}: {:.0}/s, p99 {:.2} ms", outcome.rate, f64::from(outcome.p99) / 1e3);
        (name.to_owned(), outcome)
    };
    let endpoints = paths(&client).into_iter().map(measure).collect();
    let export = export(&server);
    server.stop();
    Incidents { number, endpoints, export }
}

/// Waits until the index of the search knows as many as it can.
fn indexed(client: &Client, number: usize) {
    let begun = Instant::now();
    let wanted = number.min(5_000) as u64;
    while client.get("/v1/incidents/similar?query=exams").expect(200)["indexed"] != wanted {
        assert!(begun.elapsed() < Duration::from_secs(900), "never indexed");
        std::thread::sleep(Duration::from_secs(1));
    }
    eprintln!("indexed after {:.0} s", begun.elapsed().as_secs_f64());
}

fn export(server: &Server) -> (f64, u64, [Option<u64>; 2]) {
    let before = machine::resident_memory(server.id());
    let begun = Instant::now();
    let base = &server.base;
    let read =
        |format: &str| Client::http(base).get(&format!("/data/incidents/export?format={format}")).body.len() as u64;
    let bytes = std::thread::scope(|scope| {
        let readers: Vec<_> =
            (0..READERS).map(|n| scope.spawn(move || read(["json", "jsonl", "csv"][n % 3]))).collect();
        readers.into_iter().map(|reader| reader.join().unwrap()).sum()
    });
    let result = (begun.elapsed().as_secs_f64(), bytes, [before, machine::peak_memory(server.id())]);
    eprintln!("export: {result:?}");
    result
}

/// Where this part stands in `RESULTS.md`.
pub const HEADING: &str = "\n## Incidents\n";

pub fn render(incidents: &Incidents, machine: &[String]) -> String {
    let mut out = format!("{HEADING}\nWritten by `cargo xtask bench --incidents`.\n\n");
    machine.iter().for_each(|line| writeln!(out, "- {line}").unwrap());
    let (seconds, bytes, [before, peak]) = incidents.export;
    let mb = |bytes: Option<u64>| bytes.map_or("unknown".to_owned(), |bytes| format!("{:.0} MB", bytes as f64 / 1e6));
    writeln!(
        out,
        "- {} incidents; {READERS} readers of the whole export at once: {:.0} MB in {seconds:.1} s, resident {} before, {} at most",
        incidents.number,
        bytes as f64 / 1e6,
        mb(before),
        mb(peak)
    )
    .unwrap();
    let slowest = incidents.endpoints.iter().map(|(_, outcome)| f64::from(outcome.p99) / 1e3).fold(0.0, f64::max);
    let met = if slowest < 20.0 { "yes" } else { "**no**" };
    writeln!(
        out,
        "- p99 of the slowest endpoint at {CONNECTIONS} connections, target < 20 ms: {slowest:.1} ms, met: {met}\n"
    )
    .unwrap();
    out.push_str("| Endpoint, 32 connections | per second | p50, ms | p99, ms |\n|---|---|---|---|\n");
    for (name, outcome) in &incidents.endpoints {
        let ms = |us: u32| f64::from(us) / 1e3;
        writeln!(out, "| `{name}` | {:.0} | {:.2} | {:.2} |", outcome.rate, ms(outcome.p50), ms(outcome.p99)).unwrap();
    }
    out
}
