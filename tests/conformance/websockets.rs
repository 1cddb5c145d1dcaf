//! The receive stream over a WebSocket (ruling 37), for servers with a real socket.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use heliograph_tests::relay::{Agent, letter, text};
use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

use crate::{Suite, cases};

cases![
    ruling_37_a_key_in_the_header_opens_the_stream,
    ruling_37_a_key_in_the_first_frame_opens_the_stream,
    ruling_37_the_first_frame_may_say_since_when,
    ruling_37_a_wrong_key_gets_nothing,
    ruling_37_no_key_within_five_seconds_ends_the_connection,
    ruling_37_a_key_in_the_url_is_ignored,
    ruling_37_no_frame_marks_anything_read,
    ruling_7_a_backlog_of_300_arrives_once_and_in_order,
    frames_of_a_client_that_make_no_sense_do_not_stop_the_stream,
    a_plain_get_is_no_websocket,
];

const PATH: &str = "/v1/agent/receive/ws";

type Socket = WebSocket<TcpStream>;

/// The address of the server; none where a conformance target has no sockets.
fn address(suite: &Suite) -> Option<String> {
    let address = suite.client().base().and_then(|base| base.strip_prefix("http://")).map(str::to_owned);
    if address.is_none() {
        eprintln!("skipped on memory: it has no sockets");
    }
    address
}

pub fn connect(address: &str, path: &str, key: Option<&str>) -> Result<Socket, u16> {
    let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
    if let Some(key) = key {
        request.headers_mut().insert("x-agent-key", key.parse().unwrap());
    }
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
    match tungstenite::client(request, stream) {
        Ok((socket, response)) => {
            assert_eq!(response.status(), 101);
            Ok(socket)
        }
        Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(response))) => {
            Err(response.status().as_u16())
        }
        Err(error) => panic!("{error}"),
    }
}

/// The next event; `None` when the server has ended the connection.
pub fn next(socket: &mut Socket) -> Option<Value> {
    loop {
        match socket.read() {
            Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
            Ok(Message::Ping(_) | Message::Pong(_)) => {}
            Ok(Message::Close(_)) => return None,
            Ok(other) => panic!("{other:?}"),
            Err(tungstenite::Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {
                panic!("nothing came")
            }
            Err(_) => return None,
        }
    }
}

#[track_caller]
fn next_id(socket: &mut Socket) -> String {
    let event = next(socket).expect("the connection ended");
    assert_eq!(event["event"], "message");
    assert!(event["id"].is_string(), "{event}");
    text(&event["data"], "id").to_owned()
}

fn say(from: &Agent, to: &Agent) -> String {
    text(&from.client.post("/v1/agent/send/encrypted", &letter(&to.did, "x")).expect(201), "id").to_owned()
}

fn pair(suite: &Suite) -> (Agent, Agent) {
    let client = suite.client();
    (Agent::server_side(&client), Agent::server_side(&client))
}

/// Ruling foundation-relay 37.
fn ruling_37_a_key_in_the_header_opens_the_stream(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let (a, b) = pair(suite);
    let backlog = [say(&a, &b), say(&a, &b)];
    let mut socket = connect(&address, PATH, Some(&b.api_key)).unwrap();
    for expected in backlog {
        assert_eq!(next_id(&mut socket), expected);
    }
    for _ in 0..3 {
        let live = say(&a, &b);
        let event = next(&mut socket).unwrap();
        assert_eq!(event["data"], *b.raw().last().unwrap(), "data is the raw message of relay 5.5");
        assert_eq!(event["data"]["id"], json!(live));
    }
}

/// Ruling foundation-relay 37.
fn ruling_37_a_key_in_the_first_frame_opens_the_stream(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let (a, b) = pair(suite);
    let sent = say(&a, &b);
    let mut socket = connect(&address, PATH, None).unwrap();
    socket.send(Message::text(json!({ "api_key": b.api_key }).to_string())).unwrap();
    assert_eq!(next_id(&mut socket), sent);
    let live = say(&a, &b);
    assert_eq!(next_id(&mut socket), live);
}

/// Ruling foundation-relay 37.
fn ruling_37_the_first_frame_may_say_since_when(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let (a, b) = pair(suite);
    let sent = [say(&a, &b), say(&a, &b), say(&a, &b)];
    let since = text(&b.raw()[1], "timestamp").to_owned();
    let mut socket = connect(&address, PATH, None).unwrap();
    socket.send(Message::text(json!({ "api_key": b.api_key, "since": since }).to_string())).unwrap();
    assert_eq!(next_id(&mut socket), sent[2]);
}

/// Ruling foundation-relay 37.
fn ruling_37_a_wrong_key_gets_nothing(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let (a, b) = pair(suite);
    say(&a, &b);
    assert_eq!(connect(&address, PATH, Some("svc_agent_x")).err(), Some(401));
    let mut changed = b.api_key.clone();
    changed.pop();
    for first in [
        json!({ "api_key": changed }).to_string(),
        json!({ "api_key": 1 }).to_string(),
        json!({}).to_string(),
        "no json".to_owned(),
        "[".repeat(10_000),
    ] {
        let mut socket = connect(&address, PATH, None).unwrap();
        socket.send(Message::text(first)).unwrap();
        while let Some(event) = next(&mut socket) {
            assert_ne!(event["event"], "message");
        }
    }
}

/// Ruling foundation-relay 37.
fn ruling_37_no_key_within_five_seconds_ends_the_connection(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let mut socket = connect(&address, PATH, None).unwrap();
    let started = Instant::now();
    while let Some(event) = next(&mut socket) {
        assert_ne!(event["event"], "message");
    }
    let waited = started.elapsed();
    assert!((4_000..10_000).contains(&waited.as_millis()), "{waited:?}");
}

/// Ruling foundation-relay 37.
fn ruling_37_a_key_in_the_url_is_ignored(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let (a, b) = pair(suite);
    say(&a, &b);
    // URLs end up in logs.
    let path = format!("{PATH}?api_key={}&x-agent-key={}", b.api_key, b.api_key);
    match connect(&address, &path, None) {
        Err(status) => assert_eq!(status, 401),
        Ok(mut socket) => {
            while let Some(event) = next(&mut socket) {
                assert_ne!(event["event"], "message");
            }
        }
    }
}

/// Ruling foundation-relay 37.
fn ruling_37_no_frame_marks_anything_read(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let (a, b) = pair(suite);
    let sent = say(&a, &b);
    let mut socket = connect(&address, PATH, Some(&b.api_key)).unwrap();
    assert_eq!(next_id(&mut socket), sent);
    for frame in [json!({ "read": sent }), json!({ "ack": sent }), json!({ "event": "read", "id": sent })] {
        socket.send(Message::text(frame.to_string())).unwrap();
    }
    let live = say(&a, &b);
    assert_eq!(next_id(&mut socket), live);
    assert_eq!(b.unread_count(), 2);
    let mut again = connect(&address, PATH, Some(&b.api_key)).unwrap();
    assert_eq!(next_id(&mut again), sent);
}

/// Ruling foundation-relay 7.
fn ruling_7_a_backlog_of_300_arrives_once_and_in_order(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let (a, b) = pair(suite);
    let sent: Vec<String> = (0..300).map(|_| say(&a, &b)).collect();
    let mut socket = connect(&address, PATH, Some(&b.api_key)).unwrap();
    let received: Vec<String> = (0..300).map(|_| next_id(&mut socket)).collect();
    assert_eq!(received, sent);
    let live = say(&a, &b);
    assert_eq!(next_id(&mut socket), live);
}

fn frames_of_a_client_that_make_no_sense_do_not_stop_the_stream(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let (a, b) = pair(suite);
    let mut socket = connect(&address, PATH, Some(&b.api_key)).unwrap();
    for frame in [Message::text("x"), Message::text("{"), Message::Ping(vec![1].into()), Message::text("\u{1f600}")] {
        socket.send(frame).unwrap();
    }
    let sent = say(&a, &b);
    assert_eq!(next_id(&mut socket), sent);
    socket.close(None).unwrap();
    while next(&mut socket).is_some() {}
}

fn a_plain_get_is_no_websocket(suite: &Suite) {
    let client = suite.client();
    let agent = Agent::server_side(&client);
    let answer = agent.client.get(PATH);
    assert!((400..500).contains(&answer.status), "{}", answer.status);
    let body = answer.json();
    assert!(body["error"].is_string() && body["message"].is_string(), "{body}");
}
