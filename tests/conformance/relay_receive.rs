//! Reading a mailbox: every combination of filters page by page, and answers that wait (relay 5.3, 5.4, 5.8).

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use heliograph_core::crypto::client::Options;
use heliograph_tests::relay::{Agent, SdkAgent, encode, text};
use heliograph_tests::target::Kind;
use serde_json::{Value, json};

use crate::relay_tasks::agents;
use crate::{Suite, cases};

cases![
    every_combination_of_filters_walks_its_own_messages_in_order,
    a_poll_with_the_last_timestamp_misses_and_doubles_nothing,
    a_wait_for_one_reply_in_a_thread_sees_only_that,
    nothing_is_held_without_the_parameter,
    a_wait_ends_with_the_ordinary_empty_answer,
    a_message_ends_the_wait_of_everybody_who_asked_for_it,
    a_message_that_is_not_asked_for_ends_no_wait,
    what_is_there_is_answered_at_once,
    the_end_of_the_key_ends_the_wait_without_mail,
    places_to_wait_are_bounded_and_a_client_that_leaves_frees_its_own,
    a_bad_wait_is_400,
    one_message_is_read_by_its_recipient_alone,
    where_the_operator_wants_it_what_is_delivered_is_marked_as_read,
];

const BOTH: [&str; 2] = ["/v1/agent/receive", "/v1/agent/receive/raw"];

fn ids(items: &[Value]) -> Vec<String> {
    items.iter().map(|item| text(item, "id").to_owned()).collect()
}

#[track_caller]
fn send(from: &Agent, to: &Agent, extra: Value) -> String {
    let mut body = json!({ "to": to.did, "message": "x" });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    text(&from.client.post("/v1/agent/send", &body).expect(201), "id").to_owned()
}

/// A message with the members that filters use.
struct Sent {
    id: String,
    from: usize,
    thread: Option<&'static str>,
    content: &'static str,
    kind: &'static str,
    read: bool,
    stamp: String,
}

/// Forty messages with all combinations of filter values.
fn fill(senders: &[Agent; 2], reader: &Agent) -> Vec<Sent> {
    let mut sent = Vec::new();
    for n in 0..40_usize {
        let from = n % 2;
        let thread = [None, Some("t"), Some("u")][n / 2 % 3];
        let (content, kind) = (["text/plain", "c/d"][n / 6 % 2], ["text", "task"][n / 12 % 2]);
        let extra = json!({ "thread_id": thread, "content_type": content, "message_type": kind });
        let id = send(&senders[from], reader, extra);
        sent.push(Sent { id, from, thread, content, kind, read: n % 5 == 0, stamp: String::new() });
    }
    for message in sent.iter().filter(|message| message.read) {
        reader.mark_read(&message.id);
    }
    for (message, item) in sent.iter_mut().zip(reader.everything()) {
        assert_eq!(message.id, item["id"].as_str().unwrap());
        message.stamp = text(&item, "timestamp").to_owned();
    }
    sent
}

fn every_combination_of_filters_walks_its_own_messages_in_order(suite: &Suite) {
    let [a, b, reader] = agents(suite);
    let senders = [a, b];
    let sent = fill(&senders, &reader);
    let stamp = &sent[17].stamp;
    for bits in 0..64_usize {
        let wants = |bit: usize| bits >> bit & 1 == 1;
        let chosen = sent.iter().filter(|message| {
            (wants(0) || !message.read)
                && (!wants(1) || message.from == 1)
                && (!wants(2) || message.thread == Some("t"))
                && (!wants(3) || message.content == "c/d")
                && (!wants(4) || message.kind == "task")
                && (!wants(5) || message.stamp > *stamp)
        });
        let expected: Vec<String> = chosen.map(|message| message.id.clone()).collect();
        let from = format!("&from={}", encode(&senders[1].did));
        let parts = ["&unread=false", &from, "&thread_id=t", "&content_type=c%2Fd", "&message_type=task"];
        let filter: String = (0..5).filter(|bit| wants(*bit)).map(|bit| parts[bit]).collect();
        let start = if wants(5) { format!("&since={stamp}") } else { String::new() };
        for route in BOTH {
            let whole = reader.client.get(&format!("{route}?limit=100{filter}{start}")).expect(200);
            let items = whole["messages"].as_array().unwrap();
            assert_eq!(ids(items), expected, "{route}?{filter}{start}");
            assert_eq!((&whole["has_more"], &whole["next_since"]), (&json!(false), &Value::Null));
            // The same in pages, by the answer's cursor.
            let (mut paged, mut since) = (Vec::new(), start.clone());
            loop {
                let page = reader.client.get(&format!("{route}?limit=7{filter}{since}")).expect(200);
                let items = ids(page["messages"].as_array().unwrap());
                assert!(items.len() <= 7);
                paged.extend(items);
                assert_eq!(page["has_more"], json!(paged.len() < expected.len()), "{route}?{filter}{since}");
                if page["has_more"] == false {
                    break;
                }
                since = format!("&since={}", text(&page, "next_since"));
            }
            assert_eq!(paged, expected, "{route}?{filter}{start}");
        }
    }
}

/// The polling listener: `since` of the last message, only unread ones, 50 at a time.
fn a_poll_with_the_last_timestamp_misses_and_doubles_nothing(suite: &Suite) {
    let [a, b, reader] = agents(suite);
    let (mut sent, mut seen, mut since) = (Vec::new(), Vec::new(), String::new());
    for round in 0..12 {
        for n in 0..round % 4 * 20 {
            sent.push(send(if n % 3 == 0 { &a } else { &b }, &reader, json!({ "ttl": 60 })));
        }
        let items = reader.items(&format!("/v1/agent/receive/raw?unread=true&limit=50{since}"));
        seen.extend(ids(&items));
        if let Some(last) = items.last() {
            since = format!("&since={}", encode(text(last, "timestamp")));
        }
    }
    loop {
        let items = reader.items(&format!("/v1/agent/receive/raw?unread=true&limit=50{since}"));
        let Some(last) = items.last() else { break };
        since = format!("&since={}", encode(text(last, "timestamp")));
        seen.extend(ids(&items));
    }
    assert_eq!(seen, sent);
}

fn a_wait_for_one_reply_in_a_thread_sees_only_that(suite: &Suite) {
    let [a, b, reader] = agents(suite);
    let thread = "rpc-1-abcdefgh";
    let poll = format!("/v1/agent/receive/raw?from={}&thread_id={thread}&unread=true&limit=1", encode(&a.did));
    send(&a, &reader, json!({}));
    send(&b, &reader, json!({ "thread_id": thread }));
    assert!(reader.items(&poll).is_empty());
    let reply = send(&a, &reader, json!({ "thread_id": thread, "message_type": "rpc-response" }));
    assert_eq!(ids(&reader.items(&poll)), [reply.as_str()]);
    reader.mark_read(&reply);
    assert!(reader.items(&poll).is_empty());
    // `history` reads without `unread`, which would mean only unread ones.
    let history = format!("/v1/agent/receive/raw?from={}&thread_id={thread}&limit=100", encode(&a.did));
    assert!(reader.items(&history).is_empty());
    assert_eq!(ids(&reader.items(&format!("{history}&unread=false"))), [reply.as_str()]);
}

/// The answer, and the time that the request took by the deployment's clock.
fn timed(reader: &Agent, path: &str) -> (Value, Duration) {
    let before = reader.client.now();
    let body = reader.client.get(path).expect(200);
    (body, before.until(reader.client.now()))
}

fn nothing_is_held_without_the_parameter(suite: &Suite) {
    let [reader] = agents(suite);
    for route in BOTH {
        for query in ["", "?unread=true&limit=50", "?wait=0", "?wait="] {
            // A request that is held takes at least a second every time; one that is not may meet a busy machine.
            let (pages, times): (Vec<_>, Vec<_>) = (0..3).map(|_| timed(&reader, &format!("{route}{query}"))).unzip();
            assert!(pages.iter().all(|page| page["count"] == 0), "{query}: {pages:?}");
            assert!(times.iter().any(|time| *time < Duration::from_millis(900)), "{query}: {times:?}");
        }
    }
}

fn a_wait_ends_with_the_ordinary_empty_answer(suite: &Suite) {
    let [a, reader] = agents(suite);
    let read = send(&a, &reader, json!({}));
    reader.mark_read(&read);
    for route in BOTH {
        let (empty, _) = timed(&reader, route);
        let (page, time) = timed(&reader, &format!("{route}?wait=1"));
        assert_eq!(page, empty);
        assert!(time >= Duration::from_millis(900), "{time:?}");
    }
}

/// Runs `act` while requests wait; returns their answers and the time that each took. `None` in memory, where nothing
/// waits.
fn during(suite: &Suite, reader: &Agent, paths: &[String], act: impl FnOnce()) -> Option<Vec<(Value, Duration)>> {
    if suite.kind == Kind::Memory {
        return None;
    }
    Some(std::thread::scope(|scope| {
        let waiting: Vec<_> = paths.iter().map(|path| scope.spawn(move || timed(reader, path))).collect();
        std::thread::sleep(Duration::from_millis(700));
        act();
        waiting.into_iter().map(|request| request.join().unwrap()).collect()
    }))
}

fn a_message_ends_the_wait_of_everybody_who_asked_for_it(suite: &Suite) {
    let [a, reader] = agents(suite);
    let from = encode(&a.did);
    let paths: Vec<String> = BOTH
        .iter()
        .flat_map(|route| {
            let filters = ["".to_owned(), format!("&from={from}&thread_id=t&limit=1"), "&unread=false".to_owned()];
            filters.map(|filter| format!("{route}?wait=20{filter}"))
        })
        .collect();
    let answers = during(suite, &reader, &paths, || drop(send(&a, &reader, json!({ "thread_id": "t" }))));
    for (page, time) in answers.into_iter().flatten() {
        assert_eq!((&page["count"], &page["has_more"]), (&json!(1), &json!(false)));
        assert!(time < Duration::from_secs(19), "{time:?}");
    }
}

fn a_message_that_is_not_asked_for_ends_no_wait(suite: &Suite) {
    let [a, b, reader] = agents(suite);
    let paths = [format!("/v1/agent/receive/raw?wait=12&message_type=rpc-response&from={}", encode(&a.did))];
    let mut reply = String::new();
    let answers = during(suite, &reader, &paths, || {
        send(&a, &reader, json!({}));
        send(&b, &reader, json!({ "message_type": "rpc-response" }));
        std::thread::sleep(Duration::from_millis(600));
        reply = send(&a, &reader, json!({ "message_type": "rpc-response" }));
    });
    for (page, time) in answers.into_iter().flatten() {
        assert_eq!(ids(page["messages"].as_array().unwrap()), [reply.as_str()]);
        assert!(time > Duration::from_millis(1_200), "{time:?}");
    }
}

fn what_is_there_is_answered_at_once(suite: &Suite) {
    let [a, reader] = agents(suite);
    let id = send(&a, &reader, json!({}));
    for route in BOTH {
        let (page, time) = timed(&reader, &format!("{route}?wait=25"));
        assert_eq!(page["messages"][0]["id"], json!(id));
        assert!(time < Duration::from_secs(24), "{time:?}");
    }
}

fn the_end_of_the_key_ends_the_wait_without_mail(suite: &Suite) {
    let [a, reader] = agents(suite);
    let paths = ["/v1/agent/receive/raw?wait=20".to_owned()];
    let answers = during(suite, &reader, &paths, || {
        reader.client.post("/v1/agent/api-key", &json!({ "revoke": true })).expect(201);
        send(&a, &reader, json!({}));
    });
    for (page, time) in answers.into_iter().flatten() {
        assert_eq!(page["count"], 0, "mail that came after the key had ended");
        assert!(time < Duration::from_secs(19), "{time:?}");
    }
}

fn places_to_wait_are_bounded_and_a_client_that_leaves_frees_its_own(suite: &Suite) {
    let Some(base) = suite.client().base().map(str::to_owned) else { return };
    let [reader] = agents(suite);
    let host = base.strip_prefix("http://").unwrap();
    let request = format!(
        "GET /v1/agent/receive/raw?wait=12 HTTP/1.1\r\nhost: {host}\r\nx-agent-key: {}\r\n\r\n",
        reader.api_key
    );
    let mut waiting: Vec<TcpStream> = Vec::new();
    for _ in 0..8 {
        let mut socket = TcpStream::connect(host).unwrap();
        socket.write_all(request.as_bytes()).unwrap();
        waiting.push(socket);
    }
    std::thread::sleep(Duration::from_secs(3));
    let (page, time) = timed(&reader, "/v1/agent/receive/raw?wait=12");
    assert_eq!(page["count"], 0);
    assert!(time < Duration::from_millis(11_500), "a ninth request was held for {time:?}");
    // Another agent has its own places.
    let [other] = agents(suite);
    assert!(timed(&other, "/v1/agent/receive/raw?wait=1").1 >= Duration::from_millis(900));
    drop(waiting);
    let begun = Instant::now();
    while timed(&reader, "/v1/agent/receive/raw?wait=1").1 < Duration::from_millis(900) {
        assert!(begun.elapsed() < Duration::from_secs(60), "the places never come back");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn a_bad_wait_is_400(suite: &Suite) {
    let [reader] = agents(suite);
    for route in BOTH {
        for wait in ["-1", "x", "1.5", "1s", "%ff"] {
            reader.client.get(&format!("{route}?wait={wait}")).expect_error(400, "BAD_REQUEST");
        }
    }
}

fn one_message_is_read_by_its_recipient_alone(suite: &Suite) {
    let [a, b, c] = agents(suite);
    let id = send(&a, &b, json!({ "thread_id": "t" }));
    let path = format!("/v1/agent/messages/{}", encode(&id));
    let message = b.client.get(&path).expect(200);
    assert_eq!((text(&message, "content"), &message["decrypted"]), ("x", &json!(true)), "{message}");
    assert_eq!((&message["signature_valid"], &message["read_at"]), (&json!(true), &Value::Null), "{message}");
    // Everything else is as `receive/raw` has it.
    let raw = &b.client.get("/v1/agent/receive/raw").expect(200)["messages"][0];
    for (name, value) in raw.as_object().unwrap() {
        assert_eq!(message[name], *value, "{name}");
    }
    b.mark_read(&id);
    assert!(b.client.get(&path).expect(200)["read_at"].is_string());
    for other in [&a, &c] {
        other.client.get(&path).expect_error(404, "NOT_FOUND");
    }
    for id in ["x".to_owned(), format!("{id}0"), encode("\u{0}")] {
        b.client.get(&format!("/v1/agent/messages/{id}")).expect_error(404, "NOT_FOUND");
    }
    b.client.send("DELETE", &path, None, b"").expect(200);
    b.client.get(&path).expect_error(404, "NOT_FOUND");
    // An agent that keeps its own keys gets it as it was sent, without what only it can know.
    let keeper = SdkAgent::new(&suite.client(), Options::default());
    let id = send(&a, &keeper.agent, json!({}));
    let message = keeper.agent.client.get(&format!("/v1/agent/messages/{}", encode(&id))).expect(200);
    assert!(message["ciphertext"].is_string() && message.get("content").is_none(), "{message}");
}

fn where_the_operator_wants_it_what_is_delivered_is_marked_as_read(suite: &Suite) {
    let target = suite.fresh(&[("receive_marks_read", "true")]);
    let client = target.client();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    for route in BOTH {
        let all: Vec<String> = (0..3).map(|_| send(&a, &b, json!({}))).collect();
        assert_eq!(ids(&b.items(&format!("{route}?limit=2"))), all[..2]);
        assert_eq!(ids(&b.items(route)), all[2..], "what was delivered is not delivered again");
        assert!(b.items(route).is_empty());
    }
    assert_eq!(b.items("/v1/agent/receive/raw?unread=false").len(), 6, "they are still there");
    assert_eq!(b.client.get("/v1/agent/messages/unread-count").expect(200)["unread_count"], 0);
}
