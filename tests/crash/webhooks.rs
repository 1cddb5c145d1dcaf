//! Webhooks under kill -9: every accepted message is delivered at least once, under one id.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use heliograph_tests::client::Client;
use heliograph_tests::process;
use heliograph_tests::relay::{Agent, text};
use heliograph_tests::source::{Source, response};
use serde_json::{Value, json};

use super::Identity;

/// The requests that came, as (id of the delivery, id of the message).
fn told(source: &Source) -> Vec<(String, String)> {
    let one = |request: String| {
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        let (_, id) = lines.find(|(name, _)| name.eq_ignore_ascii_case("webhook-id")).unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        (id.to_owned(), text(&body["message"], "id").to_owned())
    };
    source.heard().into_iter().map(one).collect()
}

/// The receiver holds the first delivery when the server dies; the others wait behind it.
#[test]
fn a_kill_between_commit_delivery_and_record_loses_no_delivery() {
    let silent = Arc::new(AtomicBool::new(true));
    let hangs = silent.clone();
    let source = Source::start(move |_| {
        if hangs.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_secs(30));
        }
        response("200 OK", "", "")
    });
    let dir = tempfile::TempDir::new().unwrap();
    let data = dir.path().join("data.redb");
    let settings = [("allow_outbound", "127.0.0.0/8")];
    let server = process::native(&data, &settings);
    let client = Client::http(&server.base);
    let (ada, bob) = (Agent::server_side(&client), Identity::register(&client));
    bob.agent(&client).client.post("/v1/agent/webhooks", &json!({ "webhook_url": source.base })).expect(201);
    let sent: BTreeSet<String> = (0..5).map(|n| ada.say(&bob.did, &n.to_string())).collect();
    let end = Instant::now() + Duration::from_secs(10);
    while told(&source).is_empty() {
        assert!(Instant::now() < end, "nothing was delivered");
        std::thread::sleep(Duration::from_millis(10));
    }
    server.kill();
    silent.store(false, Ordering::SeqCst);

    let server = process::native(&data, &settings);
    let bob = bob.agent(&Client::http(&server.base));
    let end = Instant::now() + Duration::from_secs(90);
    let waiting = || bob.client.get("/v1/agent/webhooks").expect(200)["webhooks"][0]["pending"].clone();
    while waiting() != 0 {
        assert!(Instant::now() < end, "{} wait, told were {:?}", waiting(), told(&source));
        std::thread::sleep(Duration::from_millis(100));
    }
    let told = told(&source);
    assert_eq!(told.len(), 6, "one twice: {told:?}");
    let ids: BTreeSet<&String> = told.iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), 5, "under one id: {told:?}");
    assert_eq!(told.iter().map(|(_, message)| message.clone()).collect::<BTreeSet<_>>(), sent);
}
