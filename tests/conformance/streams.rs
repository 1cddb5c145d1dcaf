//! Receive streams: server-sent events and WebSockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use heliograph_tests::client::{Client, Event};
use heliograph_tests::relay::{Agent, encode, letter, text};
use heliograph_tests::target::Kind;
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    a_stream_has_the_one_form_that_clients_parse,
    an_event_carries_the_raw_message_and_reading_marks_nothing,
    a_stream_without_a_valid_key_is_401,
    the_backlog_comes_first_and_then_what_arrives,
    a_stream_begins_after_since,
    last_event_id_wins_over_since,
    a_stream_may_be_of_one_sender_only,
    read_messages_are_not_in_the_backlog,
    a_backlog_of_300_arrives_once_and_in_order,
    pages_of_large_messages_lose_nothing,
    a_stream_asks_to_reconnect_and_closes_after_its_own_time,
    siblings_end_each_at_its_own_time,
    reconnecting_with_the_last_id_loses_and_doubles_nothing,
    every_connection_of_an_agent_gets_each_message,
    the_connection_opened_first_is_served_first,
    past_the_budget_of_an_agent_its_oldest_stream_ends_and_the_new_one_is_served,
    a_page_holds_no_more_than_the_budget_of_a_stream_and_one_message_always_fits,
    a_stream_of_a_deactivated_agent_brings_nothing_more,
    a_place_that_cannot_be_read_never_refuses_a_connect,
];

const SSE: &str = "/v1/agent/receive/sse";

fn pair(client: &Client) -> (Agent, Agent) {
    (Agent::server_side(client), Agent::server_side(client))
}

fn say(from: &Agent, to: &Agent, message: &str) -> String {
    let body = letter(&to.did, message);
    text(&from.client.post("/v1/agent/send/encrypted", &body).expect(201), "id").to_owned()
}

fn say_many(from: &Agent, to: &Agent, count: usize) -> Vec<String> {
    (0..count).map(|at| say(from, to, &format!("message {at}"))).collect()
}

#[track_caller]
fn message(event: &Event) -> Value {
    assert_eq!(event.event, "message");
    assert!(event.id.as_ref().is_some_and(|id| !id.is_empty()), "{event:?}");
    serde_json::from_str(&event.data).unwrap()
}

#[track_caller]
fn id(event: Option<Event>) -> String {
    text(&message(&event.expect("the stream ended")), "id").to_owned()
}

/// The bytes of a whole stream from a server with short streams, without the HTTP head.
fn whole_stream(agent: &Agent) -> (String, String) {
    let base = agent.client.base().unwrap().strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(base).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let key = &agent.api_key;
    write!(socket, "GET {SSE} HTTP/1.0\r\nhost: {base}\r\nx-agent-key: {key}\r\n\r\n").unwrap();
    let mut all = String::new();
    socket.read_to_string(&mut all).unwrap();
    let (head, body) = all.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), body.to_owned())
}

fn a_stream_has_the_one_form_that_clients_parse(suite: &Suite) {
    let target = suite.fresh(&[("stream_seconds", "1")]);
    let (a, b) = pair(&target.client());
    let sent = say_many(&a, &b, 2);
    let body = if suite.kind == Kind::Memory {
        let answer = b.client.get(SSE);
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        answer.text().to_owned()
    } else {
        let (head, body) = whole_stream(&b);
        assert!(head.starts_with("http/1.") && head.contains(" 200 "), "{head}");
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        assert!(body.contains("event: reconnect\n"), "{body}");
        assert!(body.ends_with("\n\n"));
        // Chunks of HTTP/1.1 would show as extra lines below; HTTP/1.0 has none.
        body
    };
    assert!(!body.contains('\r'), "CRLF loses every message of a known client");
    for line in body.lines() {
        let known = ["event: ", "data: ", "id: ", ":", "retry: "].iter().any(|prefix| line.starts_with(prefix));
        assert!(known || line.is_empty(), "{line:?}");
    }
    let blocks: Vec<&str> = body.split("\n\n").filter(|block| block.contains("event: message\n")).collect();
    assert_eq!(blocks.len(), 2);
    for (block, id) in blocks.iter().zip(&sent) {
        let data = block.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(data).unwrap()["id"], json!(id));
        assert_eq!(block.lines().filter(|line| line.starts_with("id: ")).count(), 1);
    }
}

fn an_event_carries_the_raw_message_and_reading_marks_nothing(suite: &Suite) {
    let (a, b) = pair(&suite.client());
    let mut body = letter(&b.did, "x");
    body["envelope"] = json!("{\"odd\":\r\n \"\u{2028}\u{1f600}\",\"data: \":1}\n\nevent: message\n\n");
    body["thread_id"] = json!("t\n");
    a.client.post("/v1/agent/send/encrypted", &body).expect(201);
    let mut events = b.client.events(SSE);
    assert_eq!(message(&events.next().unwrap()), b.raw()[0]);
    assert_eq!(b.unread_count(), 1);
    let mut again = b.client.events(SSE);
    assert_eq!(message(&again.next().unwrap()), b.raw()[0]);
}

fn a_stream_without_a_valid_key_is_401(suite: &Suite) {
    let client = suite.client();
    client.get(SSE).expect_error(401, "UNAUTHORIZED");
    client.agent("svc_agent_x").get(SSE).expect_error(401, "UNAUTHORIZED");
}

fn the_backlog_comes_first_and_then_what_arrives(suite: &Suite) {
    let (a, b) = pair(&suite.client());
    let backlog = say_many(&a, &b, 3);
    let mut events = b.client.events(SSE);
    for expected in &backlog {
        assert_eq!(&id(events.next()), expected);
    }
    for at in 0..3 {
        let sent = say(&a, &b, &format!("live {at}"));
        assert_eq!(id(events.next()), sent);
    }
    let body = json!({ "to": b.did, "message": "from the service" });
    let sent = a.client.post("/v1/agent/send", &body).expect(201);
    assert_eq!(id(events.next()), text(&sent, "id"));
}

fn a_stream_begins_after_since(suite: &Suite) {
    let (a, b) = pair(&suite.client());
    let sent = say_many(&a, &b, 4);
    let since = encode(text(&b.raw()[1], "timestamp"));
    let mut events = b.client.events(&format!("{SSE}?since={since}"));
    assert_eq!(id(events.next()), sent[2]);
    assert_eq!(id(events.next()), sent[3]);
}

/// Decision wake-without-data.
fn last_event_id_wins_over_since(suite: &Suite) {
    let (a, b) = pair(&suite.client());
    let sent = say_many(&a, &b, 5);
    let mut events = b.client.events(SSE);
    let cursors: Vec<String> = (0..5).map(|_| events.next().unwrap().id.unwrap()).collect();
    let items = b.raw();
    for (cursor, since) in [(2, 0), (0, 3), (2, 2)] {
        let path = format!("{SSE}?since={}", encode(text(&items[since], "timestamp")));
        let mut events = b.client.with("last-event-id", &cursors[cursor]).events(&path);
        assert_eq!(id(events.next()), sent[cursor + 1], "after {cursor}, since {since}");
    }
    // A cursor of another time, or a broken one, must not cause a connection that fails for ever.
    let mut events = b.client.with("last-event-id", &cursors[4]).events(SSE);
    let live = say(&a, &b, "live");
    assert_eq!(id(events.next()), live);
}

fn a_stream_may_be_of_one_sender_only(suite: &Suite) {
    let client = suite.client();
    let ((a, b), c) = (pair(&client), Agent::server_side(&client));
    let first = say(&a, &b, "1");
    say(&c, &b, "2");
    let mut events = b.client.events(&format!("{SSE}?from={}", encode(&a.did)));
    assert_eq!(id(events.next()), first);
    say(&c, &b, "3");
    let second = say(&a, &b, "4");
    assert_eq!(id(events.next()), second);
}

fn read_messages_are_not_in_the_backlog(suite: &Suite) {
    let (a, b) = pair(&suite.client());
    let sent = say_many(&a, &b, 3);
    b.mark_read(&sent[0]);
    b.client.delete(&format!("/v1/agent/messages/{}", sent[1])).expect(200);
    let mut events = b.client.events(SSE);
    assert_eq!(id(events.next()), sent[2]);
}

/// Decision wake-without-data.
fn a_backlog_of_300_arrives_once_and_in_order(suite: &Suite) {
    let (a, b) = pair(&suite.client());
    let sent = say_many(&a, &b, 300);
    let mut events = b.client.events(SSE);
    let received: Vec<String> = (0..300).map(|_| id(events.next())).collect();
    assert_eq!(received, sent);
    let live = say(&a, &b, "live");
    assert_eq!(id(events.next()), live);
}

/// Decision wake-without-data.
fn pages_of_large_messages_lose_nothing(suite: &Suite) {
    let (a, b) = pair(&suite.client());
    // Two of the larger messages are more than a page of 256 KiB.
    let sizes = [40_000, 1, 30_000, 40_000, 40_000, 2, 3, 40_000, 20_000, 40_000];
    let sent: Vec<(String, usize)> = sizes
        .iter()
        .map(|groups| {
            let mut body = letter(&b.did, "x");
            body["ciphertext"] = json!("QUJD".repeat(*groups));
            let answer = a.client.post("/v1/agent/send/encrypted", &body).expect(201);
            (text(&answer, "id").to_owned(), groups * 4)
        })
        .collect();
    let mut events = b.client.events(SSE);
    for (id, length) in sent {
        let message = message(&events.next().unwrap());
        assert_eq!((text(&message, "id"), text(&message, "ciphertext").len()), (id.as_str(), length));
    }
}

/// The clock of the memory runtime does not move while a test waits for a stream.
fn needs_real_time(suite: &Suite) -> bool {
    let skip = suite.kind == Kind::Memory;
    if skip {
        eprintln!("skipped on memory: it has no time that passes by itself");
    }
    skip
}

/// Decision stream-lifetimes.
fn a_stream_asks_to_reconnect_and_closes_after_its_own_time(suite: &Suite) {
    if needs_real_time(suite) {
        return;
    }
    let target = suite.fresh(&[("stream_seconds", "2")]);
    let (a, b) = pair(&target.client());
    let sent = say(&a, &b, "x");
    let started = Instant::now();
    let mut events = b.client.events(SSE);
    assert_eq!(id(events.next()), sent);
    assert_eq!(events.next().unwrap().event, "reconnect");
    assert_eq!(events.next(), None, "a stream left open after `reconnect` loses the next message");
    let lived = started.elapsed();
    assert!(lived > Duration::from_millis(1_900), "{lived:?}");
}

/// Decision stream-lifetimes.
fn siblings_end_each_at_its_own_time(suite: &Suite) {
    if needs_real_time(suite) {
        return;
    }
    let target = suite.fresh(&[("stream_seconds", "3")]);
    let (_, b) = pair(&target.client());
    let ends: Vec<Duration> = std::thread::scope(|scope| {
        let started = Instant::now();
        let threads: Vec<_> = (0..3)
            .map(|at| {
                let b = &b;
                scope.spawn(move || {
                    std::thread::sleep(Duration::from_millis(800 * at));
                    let opened = Instant::now();
                    b.client.events(SSE).for_each(drop);
                    let lived = opened.elapsed();
                    assert!(lived > Duration::from_millis(2_800), "stream {at} lived {lived:?}");
                    started.elapsed()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for pair in ends.windows(2) {
        assert!(pair[1] - pair[0] > Duration::from_millis(300), "closed together: {ends:?}");
    }
}

fn reconnecting_with_the_last_id_loses_and_doubles_nothing(suite: &Suite) {
    if needs_real_time(suite) {
        return;
    }
    let target = suite.fresh(&[("stream_seconds", "1")]);
    let (a, b) = pair(&target.client());
    const COUNT: usize = 60;
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            (0..COUNT)
                .map(|at| {
                    std::thread::sleep(Duration::from_millis(70));
                    say(&a, &b, &at.to_string())
                })
                .collect::<Vec<_>>()
        });
        let (mut received, mut connections) = (Vec::new(), 0);
        let mut last: Option<String> = None;
        let started = Instant::now();
        while received.len() < COUNT && started.elapsed() < Duration::from_secs(50) {
            connections += 1;
            let client = match &last {
                Some(cursor) => b.client.with("last-event-id", cursor),
                None => b.client.clone(),
            };
            for event in client.events(SSE) {
                if event.event == "message" {
                    received.push(text(&message(&event), "id").to_owned());
                    last = event.id;
                }
            }
        }
        assert_eq!(received, sender.join().unwrap());
        assert!(connections >= 3, "{connections}");
    });
}

fn every_connection_of_an_agent_gets_each_message(suite: &Suite) {
    let (a, b) = pair(&suite.client());
    let mut streams: Vec<_> = (0..3).map(|_| b.client.events(SSE)).collect();
    for at in 0..5 {
        let sent = say(&a, &b, &format!("{at}"));
        for stream in &mut streams {
            assert_eq!(id(stream.next()), sent);
        }
    }
    // A stream that ends takes nothing from the others.
    streams.remove(0);
    let sent = say(&a, &b, "after one left");
    for stream in &mut streams {
        assert_eq!(id(stream.next()), sent);
    }
}

/// Opens a stream on a plain socket, so that the socket can be inspected.
fn open_socket(agent: &Agent) -> TcpStream {
    let base = agent.client.base().unwrap().strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(base).unwrap();
    socket.set_nodelay(true).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(socket, "GET {SSE} HTTP/1.1\r\nhost: {base}\r\nx-agent-key: {}\r\n\r\n", agent.api_key).unwrap();
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    // Waits for anything that comes with the head, such as a comment.
    std::thread::sleep(Duration::from_millis(300));
    drain(&mut socket);
    socket
}

/// Reads what has arrived; returns the number of bytes.
fn drain(socket: &mut TcpStream) -> usize {
    socket.set_nonblocking(true).unwrap();
    let (mut total, mut buffer) = (0, [0; 65_536]);
    while let Ok(length) = socket.read(&mut buffer) {
        assert_ne!(length, 0, "the stream ended");
        total += length;
    }
    socket.set_nonblocking(false).unwrap();
    total
}

/// Decision stream-lifetimes.
fn the_connection_opened_first_is_served_first(suite: &Suite) {
    if needs_real_time(suite) {
        return;
    }
    let (a, b) = pair(&suite.client());
    let (mut first, mut second) = (open_socket(&b), open_socket(&b));
    // When the second connection has bytes, the first must have some too. The kernel and the scheduler can reorder, so
    // this must hold in most of many rounds, not in all.
    const ROUNDS: usize = 30;
    let mut served = 0;
    for at in 0..ROUNDS {
        say(&a, &b, &at.to_string());
        let mut byte = [0];
        second.read_exact(&mut byte).unwrap();
        served += usize::from(drain(&mut first) > 0);
        std::thread::sleep(Duration::from_millis(30));
        drain(&mut first);
        drain(&mut second);
    }
    assert!(served * 2 > ROUNDS, "the first connection had the message first in {served} of {ROUNDS} rounds");
}

/// A client that is refused would come back at once.
fn past_the_budget_of_an_agent_its_oldest_stream_ends_and_the_new_one_is_served(suite: &Suite) {
    let target = suite.fresh(&[("streams_per_agent", "2")]);
    let (a, b) = pair(&target.client());
    let mut streams = Vec::new();
    for round in 0..4 {
        streams.push(b.client.events(SSE));
        // The stream was served, so that the order of opening is the order here.
        let sent = say(&a, &b, &format!("round {round}"));
        let newest = streams.last_mut().unwrap();
        while id(newest.next()) != sent {}
        if streams.len() > 2 {
            let ended: Vec<Event> = streams.remove(0).collect();
            assert_eq!(ended.last().map(|event| event.event.as_str()), Some("reconnect"), "{ended:?}");
        }
    }
    assert_eq!(streams.len(), 2);
    let last = say(&a, &b, "both");
    for stream in &mut streams {
        while id(stream.next()) != last {}
    }
    // Another agent has its own budget.
    let sent = say(&b, &a, "x");
    assert_eq!(id(a.client.events(SSE).next()), sent);
}

fn a_page_holds_no_more_than_the_budget_of_a_stream_and_one_message_always_fits(suite: &Suite) {
    let target = suite.fresh(&[("stream_bytes", "1024")]);
    let (a, b) = pair(&target.client());
    let sent: Vec<String> = (0..20).map(|at| say(&a, &b, &"long ".repeat(1 + at * 40))).collect();
    let mut events = b.client.events(SSE);
    for expected in sent {
        assert_eq!(id(events.next()), expected);
    }
}

fn a_stream_of_a_deactivated_agent_brings_nothing_more(suite: &Suite) {
    let target = suite.fresh(&[("stream_seconds", "2")]);
    let (a, b) = pair(&target.client());
    let sent = say(&a, &b, "before");
    let mut events = b.client.events(SSE);
    assert_eq!(id(events.next()), sent);
    b.client.delete("/v1/agent/deactivate").expect(200);
    let body = letter(&b.did, "after");
    a.client.post("/v1/agent/send/encrypted", &body).expect_error(404, "NOT_FOUND");
    assert!(events.all(|event| event.event != "message"));
}

/// Decision stream-lifetimes.
fn a_place_that_cannot_be_read_never_refuses_a_connect(suite: &Suite) {
    // Otherwise a client would repeat a refused connect every half second for ever.
    let (a, b) = pair(&suite.client());
    let sent = say(&a, &b, "x");
    for query in ["?since=yesterday", "?since=%ff", "?since=", ""] {
        for last in ["yesterday", "", "-1", "99999999999999999999999999", "%00"] {
            let mut events = b.client.with("last-event-id", last).events(&format!("{SSE}{query}"));
            assert_eq!(id(events.next()), sent, "{query} {last}");
        }
    }
}
