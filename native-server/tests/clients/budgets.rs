//! Budgets of clients: a client beyond a budget is told so, and other clients are served.

use std::time::{Duration, Instant};

use heliograph::testing::{Folder, folder};
use heliograph_core::engine::settings::Settings;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::HEALTH;
use crate::common::server::Server;

/// No address is a trusted proxy, so that addresses count.
async fn start(name: &str, settings: &[(&str, &str)]) -> (Folder, Server) {
    let folder = folder(name);
    let mut all = Settings::default();
    for (name, value) in [("trusted_proxies", ""), ("publish_interval", "0")].iter().chain(settings) {
        all.set(name, value).unwrap();
    }
    let server = Server::start(&folder.file("d.redb"), all).await;
    (folder, server)
}

/// Reads until the text has come, the server ends the connection, or some seconds have passed.
async fn said(socket: &mut TcpStream, until: &str) -> String {
    let (mut said, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    let reading = async {
        while !String::from_utf8_lossy(&said).contains(until) {
            match socket.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(length) => said.extend_from_slice(&piece[..length]),
            }
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(10), reading).await;
    String::from_utf8_lossy(&said).into_owned()
}

#[track_caller]
fn is_busy(answer: &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    assert!(head.starts_with("HTTP/1.1 503"), "{answer}");
    let seconds = head.lines().find_map(|line| line.strip_prefix("retry-after: ")).unwrap_or_else(|| panic!("{head}"));
    assert!((1..=60).contains(&seconds.parse::<u32>().unwrap()), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["error"], "BUSY", "{body}");
}

async fn healthy(socket: &mut TcpStream) -> bool {
    socket.write_all(HEALTH.as_bytes()).await.is_ok() && said(socket, "}").await.starts_with("HTTP/1.1 200")
}

#[tokio::test(flavor = "multi_thread")]
async fn past_the_connections_of_all_a_client_is_told_so_and_the_others_are_served() {
    let (_folder, server) = start("budget-connections", &[("connections", "3")]).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut socket = server.connect("").await;
        assert!(healthy(&mut socket).await);
        open.push(socket);
    }
    is_busy(&said(&mut server.connect(HEALTH).await, "\"}").await);
    assert!(healthy(&mut open[0]).await);
    drop(open.pop());
    // The server sees the end of the connections a moment later.
    for _ in 0..100 {
        if healthy(&mut server.connect("").await).await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the place of a connection that ended is never free");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_has_a_part_of_the_connections_but_a_trusted_proxy_all_of_them() {
    let (_folder, server) = start("budget-address", &[("connections_per_address", "2")]).await;
    let mut own = [server.connect("").await, server.connect("").await];
    for socket in &mut own {
        assert!(healthy(socket).await);
    }
    is_busy(&said(&mut server.connect(HEALTH).await, "\"}").await);
    let settings = [("connections_per_address", "2"), ("trusted_proxies", "127.0.0.1")];
    let (_folder, server) = start("budget-proxy", &settings).await;
    let mut open = Vec::new();
    for _ in 0..5 {
        open.push(server.connect("").await);
        assert!(healthy(open.last_mut().unwrap()).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_on_their_way_are_charged_and_one_address_has_a_quarter() {
    let (_folder, server) = start("budget-bodies", &[]).await;
    let (did, key) = server.agent("writer").await;
    let length = 1024 * 1024;
    let head = format!(
        "POST /v1/agent/send HTTP/1.1\r\nhost: x\r\nx-agent-key: {key}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n"
    );
    let mut waiting = Vec::new();
    // One address may hold eight megabytes; each body lacks its last byte.
    for _ in 0..8 {
        let mut socket = server.connect(&head).await;
        socket.write_all(&vec![b' '; length - 1]).await.unwrap();
        waiting.push(socket);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut socket = server.connect(&head).await;
    let _ = socket.write_all(&vec![b' '; length - 1]).await;
    is_busy(&said(&mut socket, "\"}").await);
    // The budget is free again once these clients left.
    drop(waiting);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let sent = server.post("/v1/agent/send", &key, json!({ "to": did, "message": "x".repeat(60_000) })).await;
    assert!(sent["id"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn half_heads_have_a_budget_and_whole_ones_never_need_it() {
    let (_folder, server) = start("budget-heads", &[("heads", "4"), ("trusted_proxies", "127.0.0.1")]).await;
    let mut halves = Vec::new();
    for _ in 0..4 {
        let mut socket = server.connect("GET /hydra/v1/health HTTP/1.1\r\n").await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        socket.write_all(b"x-a: b\r\n").await.unwrap();
        halves.push(socket);
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(healthy(&mut server.connect("").await).await);
    let mut fifth = server.connect("GET /hydra/v1/health HTTP/1.1\r\n").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    fifth.write_all(b"x-a: b\r\n").await.unwrap();
    is_busy(&said(&mut fifth, "\"}").await);
    // A half head that is completed is answered, and its place is free.
    halves[0].write_all(b"host: x\r\n\r\n").await.unwrap();
    assert!(said(&mut halves[0], "}").await.starts_with("HTTP/1.1 200"));
    let mut next = server.connect("GET /hydra/v1/health HTTP/1.1\r\n").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    next.write_all(b"host: x\r\n\r\n").await.unwrap();
    assert!(said(&mut next, "}").await.starts_with("HTTP/1.1 200"));
}

async fn listen(server: &Server, key: &str) -> TcpStream {
    server.connect(&format!("GET /v1/agent/receive/sse HTTP/1.1\r\nhost: x\r\nx-agent-key: {key}\r\n\r\n")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn past_the_streams_of_all_a_connect_waits_for_a_place_and_past_those_who_wait_it_is_busy() {
    let settings = [("streams", "2"), ("streams_waiting", "1"), ("stream_seconds", "4")];
    let (_folder, server) = start("budget-streams", &settings).await;
    let mut keys = Vec::new();
    for name in ["a", "b", "c", "d"] {
        keys.push(server.agent(name).await.1);
    }
    let begun = Instant::now();
    let mut open = [listen(&server, &keys[0]).await, listen(&server, &keys[1]).await];
    for socket in &mut open {
        assert!(said(socket, "\r\n\r\n").await.starts_with("HTTP/1.1 200"));
    }
    let mut waits = listen(&server, &keys[2]).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    is_busy(&said(&mut listen(&server, &keys[3]).await, "\"}").await);
    // The first two streams end at their time.
    assert!(said(&mut waits, "\r\n\r\n").await.starts_with("HTTP/1.1 200"));
    assert!(begun.elapsed() > Duration::from_millis(3_900), "{:?}", begun.elapsed());
}

/// Sends `count` messages of 60,000 characters to an agent.
async fn pour(server: &Server, did: &str, key: &str, count: usize) {
    for _ in 0..count {
        server.post("/v1/agent/send", key, json!({ "to": did, "message": "x".repeat(60_000) })).await;
    }
}

/// A socket with the smallest possible system buffers.
async fn small(server: &Server, request: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 * 1024).unwrap();
    let mut socket = socket.connect(server.address.parse().unwrap()).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    socket
}

async fn until_nobody_listens(server: &Server) {
    let streams = server.deployment.native().streams();
    let begun = Instant::now();
    while streams.listening() > 0 || streams.queue().bytes() > 0 {
        let left = (streams.listening(), streams.queue().bytes());
        assert!(begun.elapsed() < Duration::from_secs(15), "agents and bytes: {left:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_does_not_read_holds_a_page_and_is_cut_on_events_and_web_sockets() {
    // A WebSocket never ends by itself, and the streams here live longer than the test.
    let (_folder, server) = start("budget-deaf", &[("client_seconds", "2"), ("stream_seconds", "59")]).await;
    let (did, key) = server.agent("reader").await;
    let deaf = [
        format!("GET /v1/agent/receive/sse HTTP/1.1\r\nhost: x\r\nx-agent-key: {key}\r\n\r\n"),
        format!(
            "GET /v1/agent/receive/ws HTTP/1.1\r\nhost: x\r\nx-agent-key: {key}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        ),
    ];
    for request in deaf {
        let _deaf = small(&server, &request).await;
        pour(&server, &did, &key, 20).await;
        // A stream holds at most a page and a message, however many messages wait.
        assert!(server.deployment.native().streams().queue().bytes() < 64 * 1024 + 128 * 1024);
        until_nobody_listens(&server).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_are_served_beside_those_who_do_not_read_when_there_is_no_room_for_all() {
    let settings = [("streams_bytes", "1048576"), ("client_seconds", "59"), ("stream_seconds", "59")];
    let (_folder, server) = start("budget-room", &settings).await;
    let (did, key) = server.agent("reader").await;
    let request = format!("GET /v1/agent/receive/sse HTTP/1.1\r\nhost: x\r\nx-agent-key: {key}\r\n\r\n");
    let mut deaf = Vec::new();
    for _ in 0..30 {
        deaf.push(small(&server, &request).await);
    }
    pour(&server, &did, &key, 10).await;
    let mut reader = listen(&server, &key).await;
    let (mut all, begun) = (Vec::new(), Instant::now());
    let mut piece = vec![0; 64 << 10];
    let events = |all: &[u8]| String::from_utf8_lossy(all).matches("event: message\n").count();
    while events(&all) < 10 {
        let read = tokio::time::timeout(Duration::from_secs(15), reader.read(&mut piece)).await.expect("not served");
        let length = read.unwrap();
        assert!(length > 0, "the reader was cut after {} events and {:?}", events(&all), begun.elapsed());
        all.extend_from_slice(&piece[..length]);
        assert!(server.deployment.native().streams().queue().bytes() < 2 << 20);
    }
}
