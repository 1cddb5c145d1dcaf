//! The bytes on the socket of the native server when the other side is not a proper client. The platform handles the
//! Worker's sockets.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use heliograph_tests::relay::{Agent, letter};
use heliograph_tests::target::Kind;
use serde_json::Value;

use crate::{Suite, cases};

cases![
    bytes_that_are_no_http_end_the_connection,
    a_request_that_nobody_can_read_gets_the_error_body_too,
    a_body_that_breaks_off_is_no_message,
    framing_that_contradicts_itself_is_refused,
    a_request_with_two_hosts_or_none_is_refused,
    a_client_that_writes_too_much_sees_the_413,
    a_client_that_asks_first_is_told_before_it_sends,
    half_a_request_keeps_nobody_waiting,
    requests_on_one_connection_are_answered_in_order,
];

/// The server's address; `None` for other targets.
fn address(suite: &Suite) -> Option<String> {
    if suite.kind != Kind::Native {
        return None;
    }
    suite.rough().base().and_then(|base| base.strip_prefix("http://")).map(str::to_owned)
}

fn connect(address: &str) -> TcpStream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(45))).unwrap();
    socket
}

/// Writes, closes its sending side, and reads to the end. A refusal while writing is fine.
fn exchange(address: &str, bytes: &[u8]) -> String {
    let mut socket = connect(address);
    let _ = socket.write_all(bytes);
    let _ = socket.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// The status of an answer; `None` if the connection just ended.
fn status(answer: &str) -> Option<u16> {
    answer.strip_prefix("HTTP/1.")?.get(2..5)?.parse().ok()
}

fn works(suite: &Suite) {
    assert_eq!(suite.rough().get("/healthz").status, 200);
}

fn bytes_that_are_no_http_end_the_connection(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let long = format!("GET / HTTP/1.1\r\nhost: x\r\nx-long: {}\r\n\r\n", "x".repeat(2_000_000));
    let many = format!("GET / HTTP/1.1\r\nhost: x\r\n{}\r\n", "a: b\r\n".repeat(20_000));
    let path = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "p".repeat(1_000_000));
    for bytes in [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".as_slice(),
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET /v1/agent/profile HTTP/1.1\r\nhost: x\r\nx-agent-key: \xff\xfe\r\n\r\n",
        b"G\0T / HTTP/1.1\r\nhost: x\r\n\r\n",
        long.as_bytes(),
        many.as_bytes(),
        path.as_bytes(),
    ] {
        let answer = exchange(&address, bytes);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        assert!(status(&answer).is_none_or(|status| (400..500).contains(&status)), "{shown:?}: {answer}");
    }
    works(suite);
}

/// All errors are JSON with `error` and `message`, including those of the HTTP library below the router.
fn a_request_that_nobody_can_read_gets_the_error_body_too(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let uri = format!("GET /health?{} HTTP/1.1\r\nhost: x\r\n\r\n", "q".repeat(70_000));
    let many = format!("GET /health HTTP/1.1\r\nhost: x\r\n{}\r\n", "a: b\r\n".repeat(150));
    let twice = "POST /v1/agent/register HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{} ";
    for bytes in [
        b"GET /\xff\xfe HTTP/1.1\r\nhost: x\r\n\r\n".as_slice(),
        b"GET /a b HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET /health HTTP/1.1\r\nbad header\r\n\r\n",
        uri.as_bytes(),
        many.as_bytes(),
        twice.as_bytes(),
    ] {
        let answer = exchange(&address, bytes);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{shown:?}: {answer}"));
        assert_eq!(status(head), Some(400), "{shown:?}: {answer}");
        assert!(head.contains("content-type: application/json"), "{shown:?}: {head}");
        assert!(head.contains("access-control-allow-origin: *"), "{shown:?}: {head}");
        let error: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{shown:?}: {answer}"));
        assert_eq!(error["error"], "BAD_REQUEST", "{shown:?}");
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{shown:?}");
    }
    works(suite);
}

fn head(path: &str, agent: &Agent, more: &str) -> String {
    let key = &agent.api_key;
    format!("POST {path} HTTP/1.1\r\nhost: x\r\nx-agent-key: {key}\r\ncontent-type: application/json\r\n{more}\r\n")
}

fn a_body_that_breaks_off_is_no_message(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let client = suite.rough();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    let body = letter(&b.did, "x").to_string();
    let short = &body[..body.len() - 1];
    let stated = format!("content-length: {}\r\n", body.len());
    let chunk = format!("{:x}\r\n{short}\r\n", short.len());
    for (more, sent) in [
        (stated.as_str(), short),
        (stated.as_str(), ""),
        ("transfer-encoding: chunked\r\n", chunk.as_str()),
        ("transfer-encoding: chunked\r\n", "5\r\nab"),
    ] {
        let answer = exchange(&address, format!("{}{sent}", head("/v1/agent/send/encrypted", &a, more)).as_bytes());
        assert!(status(&answer).is_none_or(|status| (400..500).contains(&status)), "{answer}");
    }
    assert_eq!(b.unread_count(), 0);
    works(suite);
}

fn framing_that_contradicts_itself_is_refused(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let agent = Agent::server_side(&suite.rough());
    for more in [
        "content-length: 2\r\ncontent-length: 3\r\n",
        "content-length: -1\r\n",
        "content-length: 18446744073709551616\r\n",
        "content-length: 0x2\r\n",
        "transfer-encoding: chunked, identity\r\n",
    ] {
        let answer = exchange(&address, format!("{}{{}}", head("/v1/agent/send", &agent, more)).as_bytes());
        assert!(status(&answer).is_none_or(|status| (400..500).contains(&status)), "{more}: {answer}");
    }
    for chunks in ["zz\r\n{}\r\n0\r\n\r\n", "ffffffffffffffffff\r\n{}", "2\r\n{}XX0\r\n\r\n", "-2\r\n{}\r\n0\r\n\r\n"] {
        let head = head("/v1/agent/send", &agent, "transfer-encoding: chunked\r\n");
        let answer = exchange(&address, format!("{head}{chunks}").as_bytes());
        assert!(status(&answer).is_none_or(|status| (400..500).contains(&status)), "{chunks:?}: {answer}");
    }
    works(suite);
}

/// RFC 9112 section 3.2: a program that reads the first Host and one that reads the second would answer for different
/// sites.
fn a_request_with_two_hosts_or_none_is_refused(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let asked = |version: &str, hosts: &str| {
        write_then_read(&address, format!("GET /healthz HTTP/{version}\r\n{hosts}\r\n").as_bytes())
    };
    for (version, hosts) in [
        ("1.1", ""),
        ("1.1", "host: a.example\r\nhost: b.example\r\n"),
        ("1.1", "host: a.example\r\nhost: a.example\r\n"),
        ("1.0", "host: a.example\r\nhost: b.example\r\n"),
        ("1.1", "host: a.example, b.example\r\n"),
        ("1.1", "host: a.example/x\r\n"),
    ] {
        let answer = asked(version, hosts);
        assert_eq!(status(&answer), Some(400), "{version} {hosts:?}: {answer}");
        let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        assert_eq!(body["error"], "BAD_REQUEST", "{answer}");
        assert!(answer.contains("access-control-allow-origin: *"), "{answer}");
    }
    // A request for a WebSocket is no exception.
    let upgrade = "GET /v1/agent/receive/ws HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                   sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    assert_eq!(status(&write_then_read(&address, upgrade.as_bytes())), Some(400));
    for (version, hosts) in [("1.0", ""), ("1.0", "host: x\r\n"), ("1.1", "host: x:80\r\n"), ("1.1", "host:\r\n")] {
        assert_eq!(status(&asked(version, hosts)), Some(200), "{version} {hosts:?}");
    }
}

/// Writes everything before it reads anything, as many clients do.
fn write_then_read(address: &str, bytes: &[u8]) -> String {
    let mut socket = connect(address);
    socket.write_all(bytes).expect("the connection broke while the client was writing");
    let mut answer = vec![0; 64 * 1024];
    let length = socket.read(&mut answer).expect("the connection broke before the client could read");
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

/// Decision request-size-limits.
fn a_client_that_writes_too_much_sees_the_413(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let agent = Agent::server_side(&suite.rough());
    let body = " ".repeat(2 * 1024 * 1024);
    for _ in 0..5 {
        let stated = format!("content-length: {}\r\n", body.len());
        let request = format!("{}{body}", head("/v1/agent/send/encrypted", &agent, &stated));
        assert_eq!(status(&write_then_read(&address, request.as_bytes())), Some(413));
        let chunked = head("/v1/agent/send/encrypted", &agent, "transfer-encoding: chunked\r\n");
        let request = format!("{chunked}{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        assert_eq!(status(&write_then_read(&address, request.as_bytes())), Some(413));
        let typed = head("/v1/agent/send", &agent, &stated).replace("application/json", "text/xml");
        assert_eq!(status(&write_then_read(&address, format!("{typed}{body}").as_bytes())), Some(415));
    }
}

fn a_client_that_asks_first_is_told_before_it_sends(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let client = suite.rough();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    let ask = |length: usize| format!("expect: 100-continue\r\ncontent-length: {length}\r\n");
    // The body is too large: the refusal comes at once, without asking for any byte of the body.
    let mut socket = connect(&address);
    socket.write_all(head("/v1/agent/send/encrypted", &a, &ask(10_000_000)).as_bytes()).unwrap();
    let mut answer = vec![0; 4_096];
    let length = socket.read(&mut answer).unwrap();
    assert_eq!(status(&String::from_utf8_lossy(&answer[..length])), Some(413));

    let body = letter(&b.did, "x").to_string();
    let mut socket = connect(&address);
    socket.write_all(head("/v1/agent/send/encrypted", &a, &ask(body.len())).as_bytes()).unwrap();
    let length = socket.read(&mut answer).unwrap();
    assert_eq!(status(&String::from_utf8_lossy(&answer[..length])), Some(100));
    socket.write_all(body.as_bytes()).unwrap();
    let length = socket.read(&mut answer).unwrap();
    assert_eq!(status(&String::from_utf8_lossy(&answer[..length])), Some(201));
}

fn half_a_request_keeps_nobody_waiting(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let agent = Agent::server_side(&suite.rough());
    let half = head("/v1/agent/send", &agent, "content-length: 100\r\n");
    let sockets: Vec<TcpStream> = (0..200)
        .map(|at| {
            let mut socket = connect(&address);
            let part = if at % 2 == 0 { &half[..30] } else { half.as_str() };
            socket.write_all(part.as_bytes()).unwrap();
            socket
        })
        .collect();
    let started = Instant::now();
    for _ in 0..20 {
        works(suite);
    }
    // Half requests are given up after 30 s.
    assert!(started.elapsed() < Duration::from_secs(25), "{:?}", started.elapsed());
    drop(sockets);
    works(suite);
}

fn requests_on_one_connection_are_answered_in_order(suite: &Suite) {
    let Some(address) = address(suite) else { return };
    let agent = Agent::server_side(&suite.rough());
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: x\r\nx-agent-key: {}\r\n\r\n", agent.api_key);
    let last = get("/nothing").replace("host: x", "host: x\r\nconnection: close");
    let all = format!("{}{}{last}", get("/v1/agent/profile"), get("/v1/agent/messages/unread-count"));
    let mut socket = connect(&address);
    socket.write_all(all.as_bytes()).unwrap();
    let mut answers = String::new();
    socket.read_to_string(&mut answers).unwrap();
    let statuses: Vec<u16> = answers.match_indices("HTTP/1.1 ").filter_map(|(at, _)| status(&answers[at..])).collect();
    assert_eq!(statuses, [200, 200, 404], "{answers}");
    let bodies: Vec<Value> = answers
        .split("\r\n\r\n")
        .skip(1)
        .filter_map(|part| serde_json::Deserializer::from_str(part).into_iter::<Value>().next()?.ok())
        .collect();
    assert_eq!(bodies[0]["did"], agent.did.as_str());
    assert_eq!(bodies[1]["unread_count"], 0);
}
