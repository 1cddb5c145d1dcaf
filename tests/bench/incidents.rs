//! `cargo xtask bench --incidents`: measures readers of 20,000 incidents.
//!
//! The incidents are made by the operator's route, so that the file is the same as for other ways to make them. Then
//! every public GET endpoint about incidents is requested on 32 connections, with filters, deep pages and changing
//! words. Last, several readers read the whole export at once, and the memory is measured.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use heliograph_core::facts::starter::Country;
use heliograph_tests::client::Client;
use heliograph_tests::process::{Server, built};
use heliograph_tests::questions::QUESTIONS;
use heliograph_tests::simulation::Dice;
use heliograph_tests::target::ADMIN_KEY;
use serde_json::{Value, json};

use crate::asked::{self, Measured};
use crate::machine;

pub const INCIDENTS: usize = 20_000;
const COUNTRIES: usize = 180;
const SITES: usize = 2_000;
/// First AS number for private use (RFC 6996).
const FIRST_ASN: u64 = 4_200_000_000;
/// Readers of the whole export at once.
const READERS: usize = 8;

/// The results of a run.
#[derive(Debug)]
pub struct Incidents {
    pub number: usize,
    pub questions: Vec<Measured>,
    /// Seconds and bytes of all exports at once, and resident bytes before and at most.
    pub export: (f64, u64, [Option<u64>; 2]),
}

pub const OCCASIONS: [&str; 6] = [
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
        _ => format!("site-{}.example", below(SITES)),
    };
    let (year, month, day) = (2016 + below(10), 1 + below(12), 1 + below(28));
    let start = format!("{year}-{month:02}-{day:02}T{:02}:00:00Z", below(24));
    let asns: Vec<String> = (0..1 + below(8)).map(|_| format!("AS{}", FIRST_ASN + below(3_000) as u64)).collect();
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

pub fn fill(client: &Client, number: usize) {
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
    let known = asked::known(&client, COUNTRIES, SITES, vec![format!("AS{FIRST_ASN}")]);
    let own =
        QUESTIONS.iter().filter(|question| question.route.contains("incidents") || question.route.contains("evidence"));
    let questions = asked::run(&server, own, &known, window);
    let export = export(&server);
    server.stop();
    Incidents { number, questions, export }
}

/// Waits until the search index has all incidents that it can have.
pub fn indexed(client: &Client, number: usize) {
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

/// Heading of this part in `RESULTS.md`.
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
    out.push_str(&asked::render(&incidents.questions));
    out
}
