//! The receive stream over a WebSocket, for servers with a real socket.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use heliograph_tests::relay::{Agent, letter, text};
use heliograph_tests::target::Kind;
use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Message, WebSocket};

use crate::{Suite, cases};

cases![
    a_key_in_the_header_opens_the_stream,
    a_key_in_the_first_frame_opens_the_stream,
    the_first_frame_may_say_since_when,
    a_wrong_key_gets_nothing,
    no_key_within_five_seconds_ends_the_connection,
    a_key_in_the_url_is_ignored,
    no_frame_marks_anything_read,
    a_backlog_of_300_arrives_once_and_in_order,
    on_the_edge_a_socket_that_was_sent_much_is_closed_and_the_next_goes_on_where_it_ended,
    past_the_budget_of_an_agent_its_oldest_socket_is_closed_with_the_reason,
    a_client_that_closes_gets_its_close_frame_back,
    a_client_that_closes_before_it_said_who_it_is_gets_its_close_frame_back,
    frames_of_a_client_that_make_no_sense_do_not_stop_the_stream,
    a_plain_get_is_no_websocket,
];

const PATH: &str = "/v1/agent/receive/ws";

type Socket = WebSocket<TcpStream>;

/// The address of the server; `None` for a target without sockets.
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
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
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

/// Decision websocket-receive.
fn a_key_in_the_header_opens_the_stream(suite: &Suite) {
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

/// Decision websocket-receive.
fn a_key_in_the_first_frame_opens_the_stream(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let (a, b) = pair(suite);
    let sent = say(&a, &b);
    let mut socket = connect(&address, PATH, None).unwrap();
    socket.send(Message::text(json!({ "api_key": b.api_key }).to_string())).unwrap();
    assert_eq!(next_id(&mut socket), sent);
    let live = say(&a, &b);
    assert_eq!(next_id(&mut socket), live);
}

/// Decision websocket-receive.
fn the_first_frame_may_say_since_when(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let (a, b) = pair(suite);
    let sent = [say(&a, &b), say(&a, &b), say(&a, &b)];
    let since = text(&b.raw()[1], "timestamp").to_owned();
    let mut socket = connect(&address, PATH, None).unwrap();
    socket.send(Message::text(json!({ "api_key": b.api_key, "since": since }).to_string())).unwrap();
    assert_eq!(next_id(&mut socket), sent[2]);
}

/// Decision websocket-receive.
fn a_wrong_key_gets_nothing(suite: &Suite) {
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

/// Decision websocket-receive.
fn no_key_within_five_seconds_ends_the_connection(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    // The server's clock begins when it accepts, which may be long before a busy client has read the answer.
    let started = Instant::now();
    let mut socket = connect(&address, PATH, None).unwrap();
    let ended = socket.read();
    let waited = started.elapsed();
    assert!(
        matches!(&ended, Ok(Message::Close(Some(frame))) if frame.code == CloseCode::Policy),
        "{ended:?}, {waited:?}"
    );
    assert!(waited > Duration::from_secs(4), "{waited:?}");
}

/// Decision websocket-receive.
fn a_key_in_the_url_is_ignored(suite: &Suite) {
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

/// Decision websocket-receive.
fn no_frame_marks_anything_read(suite: &Suite) {
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

/// Decision wake-without-data.
fn a_backlog_of_300_arrives_once_and_in_order(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let (a, b) = pair(suite);
    let sent: Vec<String> = (0..300).map(|_| say(&a, &b)).collect();
    let mut socket = connect(&address, PATH, Some(&b.api_key)).unwrap();
    let received: Vec<String> = (0..300).map(|_| next_id(&mut socket)).collect();
    assert_eq!(received, sent);
    let live = say(&a, &b);
    assert_eq!(next_id(&mut socket), live);
}

/// The platform buffers the bytes for a socket and does not say how many.
fn on_the_edge_a_socket_that_was_sent_much_is_closed_and_the_next_goes_on_where_it_ended(suite: &Suite) {
    if suite.kind != Kind::Edge {
        eprintln!("skipped: here bytes that a client has not taken are counted");
        return;
    }
    let target = suite.fresh(&[("stream_bytes", "1024")]);
    let client = target.client();
    let address = client.base().unwrap().strip_prefix("http://").unwrap();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    let sent: Vec<String> = (0..100).map(|_| say(&a, &b)).collect();
    let (mut received, mut since, mut closings) = (Vec::new(), None, 0);
    while received.len() < sent.len() {
        let path = since.as_ref().map_or(PATH.to_owned(), |since| format!("{PATH}?since={since}"));
        let mut socket = connect(address, &path, Some(&b.api_key)).unwrap();
        while let Some(event) = next(&mut socket) {
            since = Some(event["id"].as_str().unwrap().to_owned());
            received.push(text(&event["data"], "id").to_owned());
            if received.len() == sent.len() {
                break;
            }
        }
        closings += 1;
    }
    assert_eq!(received, sent);
    assert!((2..20).contains(&closings), "{closings}");
}

fn past_the_budget_of_an_agent_its_oldest_socket_is_closed_with_the_reason(suite: &Suite) {
    let target = suite.fresh(&[("streams_per_agent", "2")]);
    let client = target.client();
    let Some(address) = client.base().and_then(|base| base.strip_prefix("http://")) else {
        eprintln!("skipped on memory: it has no sockets");
        return;
    };
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    let mut sockets = Vec::new();
    for _ in 0..3 {
        let mut socket = connect(address, PATH, Some(&b.api_key)).unwrap();
        // The socket was served, so that the order of opening is the order here.
        let sent = say(&a, &b);
        while next_id(&mut socket) != sent {}
        sockets.push(socket);
    }
    let mut oldest = sockets.remove(0);
    let frame = loop {
        match oldest.read() {
            Ok(Message::Close(frame)) => break frame.expect("a Close frame without a code"),
            Ok(_) => {}
            Err(error) => panic!("no Close frame: {error}"),
        }
    };
    assert_eq!(u16::from(frame.code), 1008, "{frame:?}");
    assert!(frame.reason.contains("more streams"), "{frame:?}");
    let sent = say(&a, &b);
    for socket in &mut sockets {
        while next_id(socket) != sent {}
    }
}

/// Closes with this code; returns the code of the server's Close frame.
#[track_caller]
fn closed(socket: &mut Socket, code: u16) -> u16 {
    let frame = CloseFrame { code: code.into(), reason: "done".into() };
    socket.close(Some(frame)).unwrap();
    loop {
        match socket.read() {
            Ok(Message::Close(Some(frame))) => return frame.code.into(),
            Ok(Message::Close(None)) => panic!("a Close frame without a code"),
            Ok(_) => {}
            Err(error) => panic!("no Close frame came back: {error}"),
        }
    }
}

/// RFC 6455 section 5.5.1.
fn a_client_that_closes_gets_its_close_frame_back(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let (a, b) = pair(suite);
    for (code, by_frame) in [(1000, false), (3001, false), (1000, true), (3001, true)] {
        let mut socket = connect(&address, PATH, (!by_frame).then_some(b.api_key.as_str())).unwrap();
        if by_frame {
            socket.send(Message::text(json!({ "api_key": b.api_key }).to_string())).unwrap();
        }
        // The stream is open, and a message may be in transit when the client closes.
        let sent = say(&a, &b);
        while next_id(&mut socket) != sent {}
        say(&a, &b);
        assert_eq!(closed(&mut socket, code), code, "by frame: {by_frame}");
    }
}

fn a_client_that_closes_before_it_said_who_it_is_gets_its_close_frame_back(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let mut socket = connect(&address, PATH, None).unwrap();
    assert_eq!(closed(&mut socket, 1000), 1000);
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
