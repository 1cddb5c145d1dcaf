//! A key is checked before a body is read, so that a client without a key costs no memory, however much it sends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use heliograph_core::app::PROGRAM;
use heliograph_core::engine::http::{Auth, BodyKind, Route};
use heliograph_tests::relay::Agent;
use heliograph_tests::target::ADMIN_KEY;
use serde_json::{Value, json};

use crate::routes::sample;
use crate::{Suite, cases};

cases![
    a_body_over_its_limit_without_a_key_is_401_and_not_413,
    a_wrong_key_is_answered_before_the_body_is_sent,
    a_right_key_is_asked_for_its_body_and_answered,
];

/// Routes that need a key and read a body, one for each kind of key.
fn keyed() -> impl Iterator<Item = &'static Route> {
    PROGRAM.interface().filter(|route| {
        let keyed = matches!(route.auth, Auth::Key | Auth::Agent | Auth::Admin | Auth::Sentinel | Auth::Probe);
        keyed && route.body != BodyKind::None
    })
}

fn a_body_over_its_limit_without_a_key_is_401_and_not_413(suite: &Suite) {
    let client = suite.client();
    for route in keyed().filter(|route| route.max_body <= 1024 * 1024) {
        let (body, path) = (vec![b' '; route.max_body + 1], sample(route.path));
        client.send(route.method.as_str(), &path, Some("application/json"), &body).expect_error(401, "UNAUTHORIZED");
    }
}

/// The first bytes of the server's answer to this head. A server that waits for the body never answers.
fn said(address: &str, head: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    socket.write_all(head.as_bytes()).unwrap();
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while !answer.windows(2).any(|pair| pair == b"\"}") {
        match socket.read(&mut piece).expect("no answer before the body is sent") {
            0 => break,
            length => answer.extend_from_slice(&piece[..length]),
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

fn head(route: &Route, key: &str, framing: &str) -> String {
    let name = match route.auth {
        Auth::Key => "x-api-key",
        Auth::Agent => "x-agent-key",
        Auth::Admin => "x-admin-key",
        Auth::Probe => "authorization",
        _ => "x-sentinel-admin-key",
    };
    let (method, path) = (&route.method, sample(route.path));
    format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\n{name}: {key}\r\ncontent-type: application/json\r\n{framing}\r\n\r\n"
    )
}

fn a_wrong_key_is_answered_before_the_body_is_sent(suite: &Suite) {
    let client = suite.client();
    let Some(address) = client.base().and_then(|base| base.strip_prefix("http://")) else {
        eprintln!("skipped on memory: it has no sockets");
        return;
    };
    // A key in the right form, whose agent no longer exists.
    let gone = Agent::server_side(&client);
    gone.client.delete("/v1/agent/deactivate").expect(200);
    for auth in [Auth::Key, Auth::Agent, Auth::Admin, Auth::Sentinel, Auth::Probe] {
        // The operator's routes have the largest bodies.
        let route = keyed().filter(|route| route.auth == auth).max_by_key(|route| route.max_body).unwrap();
        let keys = [
            "wrong".to_owned(),
            match auth {
                Auth::Agent => gone.api_key.clone(),
                Auth::Probe => format!("Bearer pt-{}-{}", "a".repeat(16), "b".repeat(64)),
                _ => "x".repeat(90),
            },
        ];
        for key in keys {
            for framing in [format!("content-length: {}", 8 << 20), "transfer-encoding: chunked".to_owned()] {
                let answer = said(address, &head(route, &key, &framing));
                let shown = format!("{} {framing}: {answer}", route.path);
                assert!(answer.starts_with("HTTP/1.1 401"), "{shown}");
                let body: Value = serde_json::from_str(&answer[answer.find('{').unwrap()..=answer.rfind('}').unwrap()])
                    .unwrap_or_else(|error| panic!("{error}: {shown}"));
                assert_eq!(body["error"], "UNAUTHORIZED", "{shown}");
            }
        }
    }
    assert_eq!(client.get("/healthz").status, 200);
}

/// A body that comes in pieces, after a pause, is read completely.
fn a_right_key_is_asked_for_its_body_and_answered(suite: &Suite) {
    let client = suite.client();
    let Some(address) = client.base().and_then(|base| base.strip_prefix("http://")) else {
        eprintln!("skipped on memory: it has no sockets");
        return;
    };
    let agent = Agent::server_side(&client);
    let text = "long ".repeat(12_000);
    let message = json!({ "to": agent.did, "message": text }).to_string();
    let detect = json!({ "country": "SE", "target": "a.example" }).to_string();
    for (path, key, body, status) in
        [("/v1/agent/send", &agent.api_key, &message, 201), ("/hydra/v1/detect", &ADMIN_KEY.to_owned(), &detect, 200)]
    {
        let route = PROGRAM.interface().find(|route| route.path == path).unwrap();
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let framing = format!("content-length: {}", body.len());
        socket.write_all(head(route, key, &framing).as_bytes()).unwrap();
        for piece in body.as_bytes().chunks(body.len().div_ceil(4)) {
            std::thread::sleep(Duration::from_millis(100));
            socket.write_all(piece).unwrap();
        }
        let mut answer = [0; 12];
        socket.read_exact(&mut answer).unwrap();
        assert_eq!(String::from_utf8_lossy(&answer), format!("HTTP/1.1 {status}"), "{path}");
    }
    assert_eq!(agent.inbox()[0]["content"], text);
}
