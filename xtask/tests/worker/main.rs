//! Tests the Worker on the real workerd: storage, effects, timers, streams and sockets of its objects, and that a panic
//! neither hangs a request nor writes half a batch. The conformance suite tests the answers of the routes.

// clippy's allowance for tests does not reach their helper functions.
#![allow(clippy::unwrap_used)]

mod client;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use client::{Worker, request};
use serde_json::{Value, json};

/// The counter and its log, once `ready` is true.
fn counter(worker: &Worker, name: &str, ready: impl Fn(&Value) -> bool) -> Value {
    let start = Instant::now();
    loop {
        let answer = worker.get(&format!("/__test/count/{name}/read"));
        let value: Value = serde_json::from_str(&answer.body).unwrap();
        if ready(&value) || start.elapsed() > Duration::from_secs(10) {
            return value;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn run(worker: &Worker, what: &str) -> (u16, String) {
    let answer = worker.get(&format!("/__test/count/{what}"));
    (answer.status, answer.body)
}

struct Agent {
    did: String,
    key: String,
}

fn register(worker: &Worker, name: &str) -> Agent {
    let answer = worker.post("/v1/agent/register", "", &json!({ "name": name }).to_string());
    assert_eq!(answer.status, 201, "{}", answer.body);
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    Agent { did: body["did"].as_str().unwrap().to_owned(), key: body["api_key"].as_str().unwrap().to_owned() }
}

fn send(worker: &Worker, from: &Agent, to: &Agent, text: &str) -> String {
    let answer = worker.post("/v1/agent/send", &from.key, &json!({ "to": to.did, "message": text }).to_string());
    assert_eq!(answer.status, 201, "{}", answer.body);
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    body["id"].as_str().unwrap().to_owned()
}

/// The message's id in a frame or an event's data.
fn id_of(text: &str) -> String {
    let value: Value = serde_json::from_str(text).unwrap();
    let message = if value["data"].is_object() { &value["data"] } else { &value };
    message["id"].as_str().unwrap().to_owned()
}

#[test]
fn the_storage_seam_conforms() {
    let worker = Worker::with("conformance", &[("HELIOGRAPH_REQUEST_LIMIT_MS", "60000")]);
    assert_eq!(worker.get("/__test/object/country/ZZ/conformance").body, "passed");
}

/// Decision invented-names-leave-nothing.
#[test]
fn looking_at_an_object_creates_no_table() {
    let worker = Worker::start("look");
    let size = || worker.get("/__test/object/deployment/new/size").body;
    let before = size();
    assert_eq!(counter(&worker, "new", |_| true), json!([0, []]));
    assert_eq!(run(&worker, "new/add?amount=1&fail=CONFLICT").0, 409);
    assert_eq!(size(), before);
    assert_eq!(run(&worker, "new/add?amount=1"), (200, "1".into()));
    assert_ne!(size(), before);
}

#[test]
fn a_failed_operation_leaves_nothing_and_errors_keep_their_code() {
    let worker = Worker::start("failed");
    assert_eq!(run(&worker, "a/add?amount=2&note=one"), (200, "2".into()));
    assert_eq!(run(&worker, "a/add?amount=5&note=two&fail=MAILBOX_FULL"), (503, "MAILBOX_FULL".into()));
    assert_eq!(counter(&worker, "a", |_| true), json!([2, ["one"]]));
}

#[test]
fn a_panic_answers_at_once_half_writes_nothing_and_the_next_request_works() {
    let worker = Worker::start("panic");
    assert_eq!(run(&worker, "a/add?amount=2"), (200, "2".into()));
    for path in ["panic", "object/deployment/a/panic", "object/deployment/a/panic-in-transaction", "count/a/panic"] {
        let answer = worker.get(&format!("/__test/{path}"));
        // A request that only the time limit ends is answered 503.
        assert_eq!(answer.status, 500, "{path}: {}", answer.body);
        assert!(answer.body.contains(r#""error":"INTERNAL""#), "{path}: {}", answer.body);
        assert_eq!(counter(&worker, "a", |_| true)[0], 2, "{path}");
    }
    assert_eq!(worker.get("/__test/object/deployment/a/half").body, "None");
}

#[test]
fn a_request_that_never_ends_is_answered_503_with_retry_after() {
    let worker = Worker::start("hang");
    let start = Instant::now();
    let answer = worker.get("/__test/hang");
    assert_eq!(answer.status, 503);
    assert!(answer.body.contains(r#""error":"UNAVAILABLE""#) && answer.head.contains("Retry-After: 1"));
    assert!(start.elapsed() >= Duration::from_millis(3_900));
}

/// Decision outbox-order.
#[test]
fn effects_arrive_once_in_order_before_the_answer_and_refusals_return() {
    let worker = Worker::start("effects");
    assert_eq!(run(&worker, "source/forward?to=target&count=5").0, 200);
    let expected = json!([5, ["source:0", "source:1", "source:2", "source:3", "source:4"]]);
    assert_eq!(counter(&worker, "target", |_| true), expected, "the first delivery precedes the answer");
    assert_eq!(run(&worker, "source/forward?to=target&count=2&fail=CONFLICT").0, 200);
    assert_eq!(counter(&worker, "source", |value| value[1][1].is_string()), json!([0, ["refused 0", "refused 1"]]));
    assert_eq!(counter(&worker, "target", |_| true), expected);
}

/// Decision timers-and-alarms.
#[test]
fn timers_fire_by_the_alarm_also_after_a_restart() {
    let worker = Worker::start("alarm");
    assert_eq!(run(&worker, "a/later?in_ms=300&amount=1&note=soon").0, 200);
    assert_eq!(counter(&worker, "a", |value| value[0] == 1), json!([1, ["soon"]]));
    assert_eq!(run(&worker, "b/later?in_ms=3000&amount=1&note=later").0, 200);
    let worker = worker.restart();
    assert_eq!(counter(&worker, "b", |value| value[0] == 1), json!([1, ["later"]]));
}

/// The core refuses literal addresses of private networks; only the runtime sees the address of a name.
#[test]
fn a_host_name_that_leads_to_a_private_network_opens_no_way_there() {
    let inside = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://localhost:{}/", inside.local_addr().unwrap().port());
    let asked = Arc::new(AtomicU32::new(0));
    let count = asked.clone();
    std::thread::spawn(move || {
        for stream in inside.incoming() {
            count.fetch_add(1, Ordering::SeqCst);
            let mut stream = stream.unwrap();
            // If the connection is closed before its request was read, it is reset and the answer is lost.
            let _ = stream.read(&mut [0; 4_096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret");
        }
    });
    let reach = |settings: &[(&'static str, &'static str)]| {
        let answer = Worker::with("reach", settings).get(&format!("/__test/reach?url={url}"));
        (answer.status, answer.body, asked.load(Ordering::SeqCst))
    };
    let (status, body, connections) = reach(&[]);
    assert_eq!((status, connections), (503, 0), "{body}");
    // The name leads to another network than this one.
    let (status, body, connections) = reach(&[("HELIOGRAPH_ALLOW_OUTBOUND", "10.0.0.0/8")]);
    assert_eq!((status, connections), (503, 0), "{body}");
    // The operator may allow the network: the name does lead there.
    let (status, body, _) = reach(&[("HELIOGRAPH_ALLOW_OUTBOUND", "127.0.0.0/8,::1/128")]);
    assert_eq!((status, body.as_str()), (200, "secret"));
}

#[test]
fn cron_succeeds() {
    let worker = Worker::start("cron");
    assert_eq!(request(&worker.cron, "POST", "/?cron=*%20*%20*%20*%20*", "").status, 200);
}

#[test]
fn messages_survive_a_restart() {
    let worker = Worker::start("restart");
    let (alice, bob) = (register(&worker, "alice"), register(&worker, "bob"));
    let id = send(&worker, &alice, &bob, "kept");
    let worker = worker.restart();
    let mut stream = worker.stream("/v1/agent/receive/sse", &bob.key);
    let data = stream.find_map(|line| line.strip_prefix("data: ").map(str::to_owned)).unwrap();
    assert_eq!(id_of(&data), id);
}

/// Decision stream-lifetimes.
#[test]
fn a_stream_says_its_head_at_once_and_ends_after_its_time() {
    let worker = Worker::with("stream", &[("HELIOGRAPH_STREAM_SECONDS", "4")]);
    let (alice, bob) = (register(&worker, "alice"), register(&worker, "bob"));
    let start = Instant::now();
    let mut stream = worker.stream("/v1/agent/receive/sse", &bob.key);
    assert!(stream.next().unwrap().starts_with("HTTP/1.1 200"));
    assert!(stream.any(|line| line.is_empty()));
    // Sent only now: a head that waited for the first event would have come with the end.
    let id = send(&worker, &alice, &bob, "live");
    let data = stream.find_map(|line| line.strip_prefix("data: ").map(str::to_owned)).unwrap();
    assert_eq!(id_of(&data), id);
    assert!(stream.any(|line| line == "event: reconnect"));
    assert!(start.elapsed() > Duration::from_millis(3_900), "{:?}", start.elapsed());
}

/// Decision websocket-receive.
#[test]
fn a_socket_gets_backlog_and_news_and_wakes_from_hibernation() {
    let worker = Worker::start("socket");
    let (alice, bob) = (register(&worker, "alice"), register(&worker, "bob"));
    let first = send(&worker, &alice, &bob, "backlog");
    let mut by_header = worker.socket("/v1/agent/receive/ws", &bob.key);
    let mut by_frame = worker.socket("/v1/agent/receive/ws", "");
    by_frame.send(&json!({ "api_key": bob.key }).to_string());
    assert_eq!([id_of(&by_header.receive()), id_of(&by_frame.receive())], [first.clone(), first]);
    let second = send(&worker, &alice, &bob, "news");
    assert_eq!([id_of(&by_header.receive()), id_of(&by_frame.receive())], [second.clone(), second]);
    // The platform puts an idle object to sleep after ten seconds.
    std::thread::sleep(Duration::from_secs(12));
    let third = send(&worker, &alice, &bob, "after a sleep");
    assert_eq!([id_of(&by_header.receive()), id_of(&by_frame.receive())], [third.clone(), third]);
    by_header.send("ping");
    assert_eq!(by_header.receive(), "pong");
}

/// Decision websocket-receive.
#[test]
fn a_socket_without_a_valid_key_is_closed() {
    let worker = Worker::start("refused");
    let mut wrong = worker.socket("/v1/agent/receive/ws", "");
    wrong.send(r#"{"api_key":"nonsense"}"#);
    assert_eq!(wrong.closed(), 1008);
    let start = Instant::now();
    assert_eq!(worker.socket("/v1/agent/receive/ws", "").closed(), 1008);
    assert!(start.elapsed() > Duration::from_millis(4_500), "{:?}", start.elapsed());
}
