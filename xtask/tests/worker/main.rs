//! The Worker's runtime below the application, proved on the real workerd: what a Durable Object, KV, an alarm, a
//! stream and a socket do, and that a panic neither hangs a request nor half-writes a batch.

// clippy's allowance for tests does not reach their helper functions.
#![allow(clippy::unwrap_used)]

mod client;

use std::time::{Duration, Instant};

use client::{Worker, request};

const ACTOR: &str = "/__test/actor/agent/alice";

fn apply(worker: &Worker, batch: &str) -> u16 {
    worker.send("POST", &format!("{ACTOR}/apply"), batch).status
}

fn value(worker: &Worker, key: &str) -> String {
    worker.get(&format!("{ACTOR}/get?key={key}")).body
}

fn scan(worker: &Worker, query: &str) -> String {
    worker.get(&format!("{ACTOR}/scan?{query}")).body
}

#[test]
fn rows_are_ordered_by_bytes_and_numbers_above_2_53_survive() {
    let worker = Worker::start("rows");
    let batch =
        r#"{"changes":[["ff","03"],["","00"],["00","01"],["0000","02"],["7f","ffffffffffffffff"],["80","04"]]}"#;
    assert_eq!(apply(&worker, batch), 200);
    assert_eq!(value(&worker, "7f"), r#""ffffffffffffffff""#);
    assert_eq!(
        scan(&worker, ""),
        r#"[["","00"],["00","01"],["0000","02"],["7f","ffffffffffffffff"],["80","04"],["ff","03"]]"#
    );
    assert_eq!(scan(&worker, "from=0000&to=80"), r#"[["0000","02"],["7f","ffffffffffffffff"]]"#);
    assert_eq!(scan(&worker, "reverse=1&limit=2"), r#"[["ff","03"],["80","04"]]"#);
    assert_eq!(scan(&worker, "limit=0"), "[]");
    assert_eq!(apply(&worker, r#"{"changes":[["00",null],["missing0",null]]}"#), 500);
    assert_eq!(apply(&worker, r#"{"changes":[["00",null],["aa",null]]}"#), 200);
    assert_eq!(value(&worker, "00"), "null");
}

#[test]
fn a_batch_that_fails_or_panics_after_its_writes_leaves_nothing() {
    let worker = Worker::start("batch");
    assert_eq!(apply(&worker, r#"{"changes":[["01","aa"]],"then":"error"}"#), 409);
    assert_eq!(value(&worker, "01"), "null");
    assert_eq!(apply(&worker, r#"{"changes":[["01","aa"]]}"#), 200);
    assert_eq!(apply(&worker, r#"{"changes":[["01","bb"],["02","cc"]],"then":"error"}"#), 409);
    assert_eq!(apply(&worker, r#"{"changes":[["01","bb"],["02","cc"]],"then":"panic"}"#), 500);
    assert_eq!(scan(&worker, ""), r#"[["01","aa"]]"#);
}

#[test]
fn ruling_foundation_5_looking_at_an_object_creates_no_table() {
    let worker = Worker::start("look");
    assert_eq!(worker.get(&format!("{ACTOR}/name")).body, "agent/alice");
    let before = worker.get(&format!("{ACTOR}/size")).body;
    assert_eq!((value(&worker, "00"), scan(&worker, "")), ("null".into(), "[]".into()));
    assert_eq!(apply(&worker, r#"{"changes":[]}"#), 200);
    assert_eq!(apply(&worker, r#"{"changes":[["00","00"]],"then":"error"}"#), 409);
    assert_eq!(worker.get(&format!("{ACTOR}/size")).body, before);
    assert_eq!(apply(&worker, r#"{"changes":[["00","00"]]}"#), 200);
    assert_ne!(worker.get(&format!("{ACTOR}/size")).body, before);
}

#[test]
fn a_panic_answers_at_once_and_the_next_request_works() {
    let worker = Worker::start("panic");
    assert_eq!(apply(&worker, r#"{"changes":[["01","aa"]]}"#), 200);
    for path in ["/__test/panic".to_owned(), format!("{ACTOR}/panic")] {
        let start = Instant::now();
        let answer = worker.get(&path);
        assert_eq!(answer.status, 500, "{}", answer.body);
        assert!(answer.body.contains(r#""error":"INTERNAL""#), "{}", answer.body);
        assert!(start.elapsed() < Duration::from_millis(1_400), "the trap was not noticed, only the time limit");
        assert_eq!(value(&worker, "01"), r#""aa""#);
    }
}

#[test]
fn a_request_that_never_ends_is_answered_504_and_a_stream_is_not_cut() {
    let worker = Worker::start("hang");
    let mut stream = worker.stream(&format!("{ACTOR}/events"));
    assert!(stream.any(|line| line == ": open"));
    let start = Instant::now();
    assert_eq!(worker.get("/__test/hang").status, 504);
    assert!(start.elapsed() >= Duration::from_millis(1_400));
    worker.send("POST", &format!("{ACTOR}/wake"), "");
    assert!(stream.any(|line| line == "event: wake"));
}

#[test]
fn ruling_foundation_17_an_alarm_set_with_a_batch_fires_and_wakes_streams() {
    let worker = Worker::start("alarm");
    let mut stream = worker.stream(&format!("{ACTOR}/events"));
    assert!(stream.any(|line| line == ": open"));
    assert_eq!(apply(&worker, r#"{"changes":[["01","aa"]],"alarm_in_ms":200}"#), 200);
    assert!(stream.any(|line| line == "event: wake"));
    // "alarms" in hexadecimal.
    assert_eq!(value(&worker, "616c61726d73"), r#""0000000000000001""#);
}

#[test]
fn a_socket_keeps_its_attachment_over_hibernation() {
    let worker = Worker::start("socket");
    let mut socket = worker.socket(&format!("{ACTOR}/socket"));
    socket.send("one");
    assert_eq!(socket.receive(), "1 one");
    // An idle object is put to sleep after ten seconds.
    std::thread::sleep(Duration::from_secs(12));
    socket.send("two");
    assert_eq!(socket.receive(), "2 two");
}

#[test]
fn documents_are_stored_listed_page_by_page_and_deleted() {
    let worker = Worker::start("documents");
    for name in ["a1", "a2", "a3", "b1"] {
        assert_eq!(worker.send("PUT", &format!("/__test/document/{name}"), name).status, 200);
    }
    let answer = worker.get("/__test/document/a2");
    assert_eq!(answer.body, "a2");
    assert!(answer.head.contains("ETag: \"a2\"") && answer.head.contains("X-Generation: 18446744073709551615"));
    let page: serde_json::Value = serde_json::from_str(&worker.get("/__test/documents?prefix=a&limit=2").body).unwrap();
    assert_eq!(page["keys"], serde_json::json!(["a1", "a2"]));
    let cursor = page["cursor"].as_str().unwrap();
    let rest = worker.get(&format!("/__test/documents?prefix=a&limit=2&cursor={cursor}")).body;
    assert_eq!(rest, r#"{"cursor":null,"keys":["a3"]}"#);
    assert_eq!(worker.send("DELETE", "/__test/document/a2", "").status, 200);
    assert_eq!(worker.get("/__test/document/a2").status, 404);
    // The platform refuses a life below a minute.
    assert_eq!(worker.send("PUT", "/__test/document/c?ttl=1", "c").status, 500);
    assert_eq!(worker.send("PUT", "/__test/document/c?ttl=60", "c").status, 200);
    assert_eq!(worker.get("/__test/document/c").body, "c");
}

#[test]
fn cron_reaches_the_worker_and_settings_are_bindings() {
    let worker = Worker::start("cron");
    assert_eq!(request(&worker.cron, "POST", "/?cron=*%20*%20*%20*%20*", "").status, 200);
    assert_eq!(worker.get("/__test/document/cron").body, "* * * * *");
    assert_eq!(worker.get("/__test/variable/HELIOGRAPH_BRAND").body, "svc");
    assert_eq!(worker.get("/__test/variable/HELIOGRAPH_MASTER_KEY").body.len(), 64);
    let address = format!("http://{}", worker.address);
    assert_eq!(worker.get("/__test/variable/HELIOGRAPH_PUBLIC_URL").body, address);
}

#[test]
fn state_survives_a_restart() {
    let worker = Worker::start("restart");
    assert_eq!(apply(&worker, r#"{"changes":[["01","aa"]]}"#), 200);
    assert_eq!(worker.send("PUT", "/__test/document/kept", "kept").status, 200);
    let secret = worker.get("/__test/variable/HELIOGRAPH_ADMIN_KEY").body;
    let worker = worker.restart();
    assert_eq!(value(&worker, "01"), r#""aa""#);
    assert_eq!(worker.get("/__test/document/kept").body, "kept");
    assert_eq!(worker.get("/__test/variable/HELIOGRAPH_ADMIN_KEY").body, secret);
}
