//! `cargo xtask bench --probes`: measures submissions of the probe network, and the pages made from them.
//!
//! Nodes on many networks in eight countries submit 20 rows each over 16 connections, as fast as the server accepts
//! them. Every submission is signed, and answered once it is on disk. Then every page of the network is requested on
//! one connection.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use heliograph_core::crypto::encoding::encode_hex;
use heliograph_core::crypto::hash::hmac_sha256;
use heliograph_tests::client::Client;
use heliograph_tests::process::{Server, built};
use heliograph_tests::relay::text;
use heliograph_tests::target::ADMIN_KEY;
use serde_json::{Value, json};

use crate::alerts::percentile;
use crate::machine;

pub const NODES: usize = 400;
pub const HEADING: &str = "\n## Probes\n";
const COUNTRIES: [&str; 8] = ["KE", "SE", "BR", "IN", "TR", "DE", "NG", "ID"];
const SITES: usize = 60;
/// Rows of a submission, as in one cycle of a probe.
const ROWS: usize = 20;
/// Submissions per node.
const CYCLES: usize = 10;
const WRITERS: usize = 16;
const SAMPLES: usize = 101;
const PAGES: [&str; 6] = [
    "/v1/probe/network",
    "/v1/probe/stats",
    "/v1/community/nodes?limit=500",
    "/v1/community/leaderboard",
    "/v1/probe/domain/site-1.example",
    "/v1/probe/domain/site-1.example/history",
];

/// The results of a run.
#[derive(Debug)]
pub struct Measured {
    nodes: usize,
    seconds: f64,
    /// Milliseconds of each submission.
    submissions: Vec<f64>,
    /// Milliseconds of each page.
    pages: Vec<(&'static str, Vec<f64>)>,
    peak: Option<u64>,
}

fn submission(client: &Client, node: &(String, String, usize), cycle: usize) -> Vec<u8> {
    let (id, _, number) = node;
    let now = client.now();
    let row = |at: usize| {
        let site = (cycle * ROWS + at + number) % SITES;
        let blocked = site < 5;
        json!({
            "targetUrl": format!("https://site-{site}.example/"), "domain": format!("site-{site}.example"),
            "category": "news", "success": !blocked, "latencyMs": 120, "httpStatus": if blocked { 0 } else { 200 },
            "isBlocked": blocked, "blockType": blocked.then_some("tcp-reset"), "sniBlocked": false,
            "timestamp": now.plus(-((cycle * 900 + at) as i64) * 1_000_000).to_string(),
        })
    };
    let body = json!({
        "nodeId": id, "nodeCountry": COUNTRIES[number % 8], "nodeType": "community", "timestamp": now.to_string(),
        "submissionId": format!("{cycle:032}"), "results": (0..ROWS).map(row).collect::<Vec<Value>>(),
    });
    body.to_string().into_bytes()
}

fn submit(client: &Client, nodes: &[(String, String, usize)]) -> Vec<f64> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let write = || {
            let mut times = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= nodes.len() * CYCLES {
                    return times;
                }
                let node = &nodes[at % nodes.len()];
                let body = submission(client, node, at / nodes.len());
                let tag = format!("sha256={}", encode_hex(&hmac_sha256(node.1.as_bytes(), &body)));
                let signed = client.with("authorization", &format!("Bearer {}", node.1)).with("x-svc-signature", &tag);
                let begun = Instant::now();
                let answer = signed.send("POST", "/v1/probe/results", Some("application/json"), &body).expect(200);
                times.push(begun.elapsed().as_secs_f64() * 1e3);
                assert_eq!(answer["accepted"], ROWS, "{answer}");
            }
        };
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(write)).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    })
}

pub fn run(folder: &Path, number: usize, cores: &machine::Cores) -> Measured {
    let mut command = cores.server(&built("heliograph"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder.join("probes.redb"));
    for (name, value) in
        [("ADMIN_KEY", ADMIN_KEY), ("ACCESS_LOG", "false"), ("PROBES_PER_HOUR", "0"), ("DATA_PER_MINUTE", "0")]
    {
        command.env(format!("HELIOGRAPH_{name}"), value);
    }
    let server = Server::start(command);
    let client = Client::http(&server.base);
    let register = |node: usize| {
        let body = json!({ "country": COUNTRIES[node % 8], "asn": 64_500 + node % 40 });
        let made = client.post("/v1/community/register", &body).expect(201);
        (text(&made, "nodeId").to_owned(), text(&made, "nodeToken").to_owned(), node)
    };
    let nodes: Vec<_> = (0..number).map(register).collect();
    let begun = Instant::now();
    let submissions = submit(&client, &nodes);
    let seconds = begun.elapsed().as_secs_f64();
    eprintln!("{} submissions in {seconds:.1} s", submissions.len());
    // Waits until the work that follows is done and the shards have reported to the board.
    std::thread::sleep(Duration::from_secs(75));
    let ask = |path: &'static str| {
        let one = |_| {
            let begun = Instant::now();
            client.get(path).expect(200);
            begun.elapsed().as_secs_f64() * 1e3
        };
        (path, (0..SAMPLES).map(one).collect())
    };
    let pages = PAGES.map(ask).into();
    assert_eq!(client.get("/v1/probe/network").expect(200)["total_nodes"], number);
    let peak = machine::peak_memory(server.id());
    server.stop();
    Measured { nodes: number, seconds, submissions, pages, peak }
}

pub fn render(measured: &Measured, machine: &[String]) -> String {
    let mut out = format!("{HEADING}\nWritten by `cargo xtask bench --probes`.\n\n");
    machine.iter().for_each(|line| writeln!(out, "- {line}").unwrap());
    let number = measured.submissions.len();
    let peak = measured.peak.map_or("unknown".to_owned(), |bytes| format!("{:.0} MB", bytes as f64 / 1e6));
    writeln!(
        out,
        "- {} nodes, {number} submissions of {ROWS} rows at {WRITERS} connections in {:.1} s; resident memory at most {peak}\n\n\
         | What | per second | p50, ms | p99, ms |\n|---|---|---|---|",
        measured.nodes, measured.seconds
    )
    .unwrap();
    let rate = number as f64 / measured.seconds;
    let (half, most) = (percentile(&measured.submissions, 0.5), percentile(&measured.submissions, 0.99));
    writeln!(out, "| `POST /v1/probe/results`, {ROWS} rows | {rate:.0} | {half:.2} | {most:.2} |").unwrap();
    for (path, times) in &measured.pages {
        let (half, most) = (percentile(times, 0.5), percentile(times, 0.99));
        writeln!(out, "| `GET {path}`, one connection | - | {half:.2} | {most:.2} |").unwrap();
    }
    out
}
