//! A closed-loop HTTP/1.1 generator: each of N connections sends its next request when the last answer is complete.
//!
//! It runs on one thread and does as little as possible per request: requests are written before the run, and only the
//! few bytes that must differ are replaced.

use std::cell::Cell;
use std::time::{Duration, Instant};

use heliograph_tests::questions::QuestionRequest;
use heliograph_tests::simulation::Dice;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The results of a run.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    pub connections: usize,
    pub answers: usize,
    /// Answers per second.
    pub rate: f64,
    /// Microseconds from the first byte sent to the last byte read.
    pub p50: u32,
    pub p99: u32,
}

/// The prepared requests of a run.
pub struct Plan {
    requests: Vec<Vec<u8>>,
    /// Ranges that get new random base64 digits each time.
    fresh: Vec<std::ops::Range<usize>>,
    /// True if a connection repeats its own request (of its own agent); false if it goes through all.
    own: bool,
    status: &'static [u8],
}

impl Plan {
    pub fn get(base: &str, path: &str, headers: &[(&str, &str)]) -> Plan {
        Plan { requests: vec![request(base, "GET", path, headers, "")], fresh: Vec::new(), own: false, status: b"200" }
    }

    /// The requests in turn: POST if there is a body, otherwise GET.
    pub fn mixed(base: &str, all: &[QuestionRequest], headers: &[(&str, &str)]) -> Plan {
        let method = |body: &str| if body.is_empty() { "GET" } else { "POST" };
        let one = |asked: &QuestionRequest| request(base, method(&asked.body), &asked.path, headers, &asked.body);
        Plan { requests: all.iter().map(one).collect(), fresh: Vec::new(), own: false, status: b"200" }
    }

    /// Like [`Plan::get`], but expects 304.
    pub fn get_unchanged(base: &str, path: &str, tag: &str) -> Plan {
        Plan { status: b"304", ..Plan::get(base, path, &[("if-none-match", tag)]) }
    }

    /// The bodies in turn, as POST.
    pub fn posts(base: &str, path: &str, headers: &[(&str, &str)], bodies: impl Iterator<Item = String>) -> Plan {
        let requests = bodies.map(|body| request(base, "POST", path, headers, &body)).collect();
        Plan { requests, fresh: Vec::new(), own: false, status: b"200" }
    }

    /// Each key with its body, as POST; expects 201.
    pub fn posts_of(base: &str, path: &str, all: impl Iterator<Item = (String, String)>) -> Plan {
        let requests = all.map(|(key, body)| request(base, "POST", path, &[("x-agent-key", &key)], &body)).collect();
        Plan { requests, fresh: Vec::new(), own: false, status: b"201" }
    }

    /// The same plan with another expected status than 200.
    pub fn expecting(self, status: &'static [u8]) -> Plan {
        Plan { status, ..self }
    }

    /// Each key with its GET of a path; a connection repeats its own.
    pub fn own_gets(base: &str, path: &str, keys: impl Iterator<Item = String>) -> Plan {
        let requests = keys.map(|key| request(base, "GET", path, &[("x-agent-key", &key)], "")).collect();
        Plan { requests, fresh: Vec::new(), own: true, status: b"200" }
    }

    /// One request per connection, with random digits in place of every run of `~`; expects 201.
    pub fn own_posts(base: &str, path: &str, all: impl Iterator<Item = (String, String)>) -> Plan {
        let requests: Vec<_> =
            all.map(|(key, body)| request(base, "POST", path, &[("x-agent-key", &key)], &body)).collect();
        Plan { fresh: Vec::new(), requests, own: true, status: b"201" }
    }
}

fn request(base: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let host = base.trim_start_matches("http://");
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if method == "POST" {
        text.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
    }
    format!("{text}\r\n{body}").into_bytes()
}

/// Runs of the placeholder `~` in a request.
fn placeholders(request: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, _) in request.iter().enumerate().filter(|(_, byte)| **byte == b'~') {
        match ranges.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => ranges.push(at..at + 1),
        }
    }
    ranges
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    After(Duration),
    /// When each request was sent once.
    Asked,
}

/// Drives `connections` connections for `window`.
pub async fn run(base: &str, connections: usize, window: Duration, plan: &Plan, seed: u64) -> Outcome {
    run_until(base, connections, Ends::After(window), plan, seed).await
}

pub async fn run_until(base: &str, connections: usize, ends: Ends, plan: &Plan, seed: u64) -> Outcome {
    let address = base.trim_start_matches("http://");
    let start = Instant::now();
    let sent = Cell::new(0);
    let clients = (0..connections).map(|number| {
        let random = Dice::new(seed * 1_000 + number as u64 + 1);
        let more = || match ends {
            Ends::After(window) => start.elapsed() < window,
            Ends::Asked => sent.get() < plan.requests.len(),
        };
        connection(address, plan, number, random, &sent, more)
    });
    let latencies = futures_util::future::join_all(clients).await.concat();
    outcome(connections, plain(latencies), start.elapsed().as_secs_f64())
}

/// Like [`run`], and asks `is_special` every [`LOOK`] whether the server is in a special state. Also returns the p99 of
/// the requests while it was and of those while it was not, if there were enough of both.
pub async fn run_watching(
    base: &str,
    connections: usize,
    window: Duration,
    plan: &Plan,
    seed: u64,
    is_special: impl Fn() -> bool,
) -> (Outcome, Option<(u32, u32)>) {
    let address = base.trim_start_matches("http://");
    let (start, sent, special) = (Instant::now(), Cell::new(0), Cell::new(false));
    let clients = (0..connections).map(|number| {
        let random = Dice::new(seed * 1_000 + number as u64 + 1);
        connection_with(address, plan, number, random, (&sent, &special), || start.elapsed() < window, Duration::ZERO)
    });
    let watch = async {
        while start.elapsed() < window {
            special.set(is_special());
            tokio::time::sleep(LOOK).await;
        }
    };
    let (latencies, ()) = tokio::join!(futures_util::future::join_all(clients), watch);
    let (latencies, seconds) = (latencies.concat(), start.elapsed().as_secs_f64());
    let (during, between): (Vec<_>, Vec<_>) = latencies.iter().partition(|(_, special)| *special);
    let enough = during.len().min(between.len()) >= 1_000;
    let p99 = |latencies| outcome(connections, plain(latencies), seconds).p99;
    let both = enough.then(|| (p99(during), p99(between)));
    (outcome(connections, plain(latencies), seconds), both)
}

/// The time between two looks at the server.
const LOOK: Duration = Duration::from_millis(2);

/// One connection that asks for `window` with a pause after each answer, like a client that asks for little.
pub async fn steady(base: &str, window: Duration, pause: Duration, plan: &Plan, seed: u64) -> Outcome {
    let address = base.trim_start_matches("http://");
    let (start, sent) = (Instant::now(), Cell::new(0));
    let random = Dice::new(seed);
    let counts = (&sent, &Cell::new(false));
    let latencies = connection_with(address, plan, 0, random, counts, || start.elapsed() < window, pause).await;
    outcome(1, plain(latencies), start.elapsed().as_secs_f64())
}

/// Sends each request once, at a fixed rate, whether or not the earlier ones were answered. Times count from when a
/// request is due, which shows a server that falls behind.
pub async fn paced(base: &str, connections: usize, rate: f64, plan: &Plan) -> Outcome {
    let address = base.trim_start_matches("http://");
    let (start, next) = (tokio::time::Instant::now(), Cell::new(0));
    let clients = (0..connections).map(|_| async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (mut answer, mut latencies) = (Vec::with_capacity(64 << 10), Vec::new());
        loop {
            let number = next.replace(next.get() + 1);
            let Some(request) = plan.requests.get(number) else { return latencies };
            let due = start + Duration::from_secs_f64(number as f64 / rate);
            tokio::time::sleep_until(due).await;
            stream.write_all(request).await.unwrap();
            read_answer(&mut stream, &mut answer, plan.status).await;
            latencies.push(u32::try_from(due.elapsed().as_micros()).unwrap_or(u32::MAX));
        }
    });
    let latencies = futures_util::future::join_all(clients).await.concat();
    outcome(connections, latencies, start.elapsed().as_secs_f64())
}

/// The outcome of a run in which these times passed, in microseconds.
pub fn outcome(connections: usize, mut latencies: Vec<u32>, seconds: f64) -> Outcome {
    latencies.sort_unstable();
    assert!(!latencies.is_empty(), "no answer");
    let answers = latencies.len();
    let at = |share: f64| latencies[((answers - 1) as f64 * share) as usize];
    Outcome { connections, answers, rate: answers as f64 / seconds, p50: at(0.5), p99: at(0.99) }
}

/// `sent` counts the requests of all connections.
async fn connection(
    address: &str,
    plan: &Plan,
    number: usize,
    random: Dice,
    sent: &Cell<usize>,
    more: impl Fn() -> bool,
) -> Vec<Latency> {
    connection_with(address, plan, number, random, (sent, &Cell::new(false)), more, Duration::ZERO).await
}

/// The time of a request in microseconds, and whether the server was in a special state at its beginning or end.
type Latency = (u32, bool);

fn plain(latencies: Vec<Latency>) -> Vec<u32> {
    latencies.into_iter().map(|(micros, _)| micros).collect()
}

async fn connection_with(
    address: &str,
    plan: &Plan,
    number: usize,
    mut random: Dice,
    (sent, special): (&Cell<usize>, &Cell<bool>),
    more: impl Fn() -> bool,
    pause: Duration,
) -> Vec<Latency> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut own = plan.requests[number % plan.requests.len()].clone();
    let fresh = if plan.own { placeholders(&own) } else { plan.fresh.clone() };
    let mut answer = Vec::with_capacity(64 << 10);
    let mut latencies = Vec::with_capacity(1 << 16);
    while more() {
        let next = sent.replace(sent.get() + 1);
        let request: &[u8] = if plan.own {
            for place in &fresh {
                own[place.clone()].fill_with(|| DIGITS[random.draw() as usize >> 58 & 63]);
            }
            &own
        } else {
            &plan.requests[next % plan.requests.len()]
        };
        let (before, was_special) = (Instant::now(), special.get());
        stream.write_all(request).await.unwrap();
        read_answer(&mut stream, &mut answer, plan.status).await;
        let micros = u32::try_from(before.elapsed().as_micros()).unwrap_or(u32::MAX);
        latencies.push((micros, was_special || special.get()));
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
    latencies
}

/// Reads one answer to its end; it must have the expected status.
async fn read_answer(stream: &mut TcpStream, answer: &mut Vec<u8>, status: &[u8]) {
    answer.clear();
    let mut whole = usize::MAX;
    while answer.len() < whole {
        let read = stream.read_buf(answer).await.unwrap();
        assert!(read > 0, "the server closed: {}", String::from_utf8_lossy(answer));
        if whole == usize::MAX
            && let Some(head) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")
        {
            assert_eq!(&answer[9..12], status, "{}", String::from_utf8_lossy(answer));
            whole = head + 4 + content_length(&answer[..head]);
        }
    }
}

fn content_length(head: &[u8]) -> usize {
    const NAME: &[u8] = b"content-length:";
    let line = head
        .split(|byte| *byte == b'\n')
        .find(|line| line.get(..NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME)));
    line.map_or(0, |line| String::from_utf8_lossy(&line[NAME.len()..]).trim().parse().unwrap())
}
