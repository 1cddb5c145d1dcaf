//! `cargo xtask bench --alerts`: measures the alerts of one incident to 10,000 subscriptions, and their effect on a
//! mailbox.
//!
//! A receiver on loopback answers 200 at once and records what came. Two incidents happen one after the other: the
//! first is for subscriptions with one API key each, the second for keys with a hundred each. Before and meanwhile one
//! agent writes to another and reads at a steady pace, and the times are compared. `--number N` sets another number of
//! subscriptions.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use heliograph_core::engine::time::Timestamp;
use heliograph_tests::client::Client;
use heliograph_tests::process::{Server, built};
use heliograph_tests::relay::{Agent, letter, text};
use heliograph_tests::target::ADMIN_KEY;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::machine;

pub const SUBSCRIPTIONS: usize = 10_000;
pub const HEADING: &str = "\n## Alerts\n";
/// Country, number of subscriptions per key, and a name for that.
const SCENES: [(&str, usize, &str); 2] = [("KE", 1, "a key each"), ("SE", 100, "a hundred of each key")];
/// Requests at a time while subscriptions are made.
const WRITERS: usize = 16;
/// Messages per second between the two agents.
const PACE: u64 = 50;
/// How long the mailbox is measured alone.
const IDLE: Duration = Duration::from_secs(20);
/// Time after which the wait for all deliveries is given up.
const PATIENCE: Duration = Duration::from_secs(300);
/// Most seconds for all deliveries, and the largest factor over the idle p99 of the mailbox.
const BARS: (f64, f64) = (60.0, 2.0);

/// When each delivery came, by path and id.
type Came = Arc<Mutex<HashMap<(String, String), Vec<Instant>>>>;

/// Milliseconds of each send and each read.
#[derive(Debug, Default)]
struct Mailbox {
    sends: Vec<f64>,
    reads: Vec<f64>,
}

/// The results of one incident.
#[derive(Debug)]
struct IncidentResults {
    name: &'static str,
    subscriptions: usize,
    /// Seconds until the first, the middle and the last delivery.
    heard: [f64; 3],
    /// Deliveries that came more than once.
    repeated: usize,
    mailbox: Mailbox,
    /// CPU seconds of the server.
    cpu: Option<f64>,
}

/// The results of a whole run.
#[derive(Debug)]
pub struct Measured {
    idle: Mailbox,
    told: Vec<IncidentResults>,
    /// Resident bytes before, and at most.
    resident: [Option<u64>; 2],
}

/// Records what comes, as long as the process lives; returns its address.
fn receiver(came: Came) -> String {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(format!("http://{}", listener.local_addr().unwrap())).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(receive(stream, came.clone()));
            }
        });
    });
    told.recv().unwrap()
}

async fn receive(mut stream: TcpStream, came: Came) {
    let mut request = Vec::with_capacity(4_096);
    let whole = loop {
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
        let Some(head) = request.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let lines = String::from_utf8_lossy(&request[..head]).into_owned();
        let header = |name: &str| {
            let mut lines = lines.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
        };
        let length: usize = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        if request.len() >= head + 4 + length {
            let path = lines.split(' ').nth(1).unwrap_or_default().to_owned();
            break (path, header("webhook-id").unwrap_or_default());
        }
    };
    came.lock().unwrap().entry(whole).or_default().push(Instant::now());
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
}

fn start(data: &Path, pinned: Option<&machine::Cores>) -> Server {
    let program = built("heliograph");
    let mut command = pinned.map_or_else(|| machine::unpinned(&program), |cores| cores.server(&program));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    for (name, value) in [
        ("ADMIN_KEY", ADMIN_KEY),
        ("ACCESS_LOG", "false"),
        ("ALLOW_OUTBOUND", "127.0.0.0/8"),
        ("AGENT_PER_SECOND", "10000000"),
        ("AGENT_BURST", "100000000"),
        ("REGISTRATIONS_PER_HOUR", "1000000"),
        // All messages are from one sender.
        ("MAILBOX_MESSAGES", "10000000"),
    ] {
        command.env(format!("HELIOGRAPH_{name}"), value);
    }
    Server::start(command)
}

fn subscribe(client: &Client, base: &str, number: usize) {
    let keys: Vec<(&str, usize)> =
        SCENES.iter().flat_map(|(country, each, _)| (0..number / each).map(move |_| (*country, *each))).collect();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let keys = &keys;
            scope.spawn(move || {
                for (at, (country, each)) in keys.iter().enumerate().skip(writer).step_by(WRITERS) {
                    let made = client.admin().post("/v1/admin/keys", &json!({ "tier": "bench" })).expect(201);
                    let key = client.key(text(&made, "api_key"));
                    for one in 0..*each {
                        let url = format!("{base}/{country}/{at}/{one}");
                        let body = json!({ "webhook_url": url, "country_code": country });
                        key.post("/api/alerts/subscribe", &body).expect(201);
                    }
                }
            });
        }
    });
}

/// One agent writes to another, who reads, at a steady pace until `over`.
fn exchange(ada: &Agent, bob: &Agent, over: impl Fn() -> bool) -> Mailbox {
    let (mut mailbox, began) = (Mailbox::default(), Instant::now());
    let took = |from: Instant| from.elapsed().as_secs_f64() * 1e3;
    for beat in 0.. {
        let at = began + Duration::from_micros(1_000_000 / PACE * beat);
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        if over() {
            return mailbox;
        }
        let body = letter(&bob.did, &"x".repeat(768));
        let from = Instant::now();
        ada.client.post("/v1/agent/send/encrypted", &body).expect(201);
        mailbox.sends.push(took(from));
        let from = Instant::now();
        bob.client.get("/v1/agent/receive/raw?limit=10").expect(200);
        mailbox.reads.push(took(from));
    }
    mailbox
}

fn tell(
    server: &Server,
    (ada, bob): (&Agent, &Agent),
    came: &Came,
    (country, name): (&str, &'static str),
    subscriptions: usize,
) -> IncidentResults {
    let client = Client::http(&server.base);
    let (done, cpu) = (AtomicBool::new(false), machine::cpu_seconds(server.id()));
    came.lock().unwrap().clear();
    let now = Timestamp::from_seconds(
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs().try_into().unwrap(),
    );
    let incident = json!({
        "country": country, "subject": "example.org", "reason": "bench", "start": now.to_string(), "severity": "high",
        "type": "censorship", "confidence": 0.6
    });
    let (mailbox, began) = std::thread::scope(|scope| {
        let mailbox = scope.spawn(|| exchange(ada, bob, || done.load(Ordering::Relaxed)));
        let began = Instant::now();
        client.admin().post("/v1/admin/incidents", &incident).expect(201);
        while came.lock().unwrap().len() < subscriptions && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
        done.store(true, Ordering::Relaxed);
        (mailbox.join().unwrap(), began)
    });
    let came = came.lock().unwrap();
    let mut first: Vec<f64> = came.values().map(|times| times[0].duration_since(began).as_secs_f64()).collect();
    first.sort_by(f64::total_cmp);
    assert_eq!(first.len(), subscriptions, "told within {} s", PATIENCE.as_secs());
    let repeated = came.values().filter(|times| times.len() > 1).count();
    let cpu = machine::cpu_seconds(server.id()).zip(cpu).map(|(now, before)| now - before);
    IncidentResults {
        name,
        subscriptions,
        heard: [0, first.len() / 2, first.len() - 1].map(|at| first[at]),
        repeated,
        mailbox,
        cpu,
    }
}

pub fn run(folder: &Path, number: usize, cores: &machine::Cores) -> Measured {
    let (data, came) = (folder.join("alerts.redb"), Came::default());
    let base = receiver(came.clone());
    let server = start(&data, None);
    let begun = Instant::now();
    subscribe(&Client::http(&server.base), &base, number);
    eprintln!("{} subscriptions in {:.0} s", 2 * number, begun.elapsed().as_secs_f64());
    server.stop();
    let server = start(&data, Some(cores));
    let client = Client::http(&server.base);
    let (ada, bob) = (Agent::server_side(&client), Agent::server_side(&client));
    // A first run that is not counted.
    let second = Instant::now();
    exchange(&ada, &bob, || second.elapsed() > Duration::from_secs(2));
    let from = Instant::now();
    let idle = exchange(&ada, &bob, || from.elapsed() > IDLE);
    let before = machine::resident_memory(server.id());
    let told = SCENES.map(|(country, each, name)| {
        let told = tell(&server, (&ada, &bob), &came, (country, name), number / each * each);
        eprintln!("{name}: {:?}", told.heard);
        // Records that are still written for the first incident are not part of the second.
        std::thread::sleep(Duration::from_secs(3));
        told
    });
    let resident = [before, machine::peak_memory(server.id())];
    server.stop();
    Measured { idle, told: told.into(), resident }
}

pub fn percentile(times: &[f64], share: f64) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.get(((times.len().max(1) - 1) as f64 * share) as usize).copied().unwrap_or(f64::NAN)
}

pub fn render(measured: &Measured, machine: &[String]) -> String {
    let mut out = format!("{HEADING}\nWritten by `cargo xtask bench --alerts`.\n\n");
    machine.iter().for_each(|line| writeln!(out, "- {line}").unwrap());
    let mb = |bytes: Option<u64>| bytes.map_or("unknown".to_owned(), |bytes| format!("{:.0} MB", bytes as f64 / 1e6));
    let [before, peak] = measured.resident.map(mb);
    writeln!(
        out,
        "- one receiver on loopback that answers at once; meanwhile {PACE} messages of 768 bytes a second from one agent to \
         another, each read at once, on one connection\n- resident memory of the server: {before} before, {peak} at most"
    )
    .unwrap();
    out.push_str("\n| What | Target | Measured | Met |\n|---|---|---|---|\n");
    let yes = |met: bool| if met { "yes" } else { "**no**" };
    for told in &measured.told {
        let (seconds, name) = (told.heard[2], told.name);
        let met = yes(seconds <= BARS.0);
        let what = format!("seconds until {} subscriptions heard, {name}", told.subscriptions);
        writeln!(out, "| {what} | <= {:.0} | {seconds:.1} | {met} |", BARS.0).unwrap();
        let sends = ("durable send", &told.mailbox.sends, &measured.idle.sends);
        let reads = ("read of the mailbox", &told.mailbox.reads, &measured.idle.reads);
        for (part, meanwhile, idle) in [sends, reads] {
            let p99 = percentile(meanwhile, 0.99) / percentile(idle, 0.99);
            let met = yes(p99 <= BARS.1);
            writeln!(out, "| p99 of a {part} meanwhile / idle, {name} | <= {:.0} | {p99:.2} | {met} |", BARS.1)
                .unwrap();
        }
    }
    out.push_str(
        "\n| Phase | first heard, s | half, s | last, s | repeated | server, CPU s | sends: p50, ms | p99 | reads: p50, ms | \
         p99 |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let times = |mailbox: &Mailbox| {
        let at = |times: &Vec<f64>| format!("{:.2} | {:.2}", percentile(times, 0.5), percentile(times, 0.99));
        format!("{} | {}", at(&mailbox.sends), at(&mailbox.reads))
    };
    writeln!(out, "| idle | - | - | - | - | - | {} |", times(&measured.idle)).unwrap();
    for told in &measured.told {
        let [first, half, last] = told.heard;
        let cpu = told.cpu.map_or("-".to_owned(), |cpu| format!("{cpu:.1}"));
        let (name, repeated, times) = (told.name, told.repeated, times(&told.mailbox));
        writeln!(out, "| {name} | {first:.2} | {half:.2} | {last:.2} | {repeated} | {cpu} | {times} |").unwrap();
    }
    out
}
