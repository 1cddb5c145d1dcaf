//! Clients that stall or want too much, over real sockets: the resources that they hold are released, and patient
//! clients keep their connection.
//!
//! The module `budgets` tests the budgets of clients.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod budgets;
#[path = "../common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use common::server::Server;
use heliograph::testing::folder;
use heliograph_core::engine::settings::Settings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Setting `client_seconds` in these tests.
const PATIENCE: u64 = 1;

/// The server counts from the time when it accepted or read, which is a little earlier.
const AT_LEAST: Duration = Duration::from_millis(PATIENCE * 1_000 - 100);
/// Far more than one and a third times that: only a connection that stays open takes so long, also on a busy machine.
const AT_MOST: Duration = Duration::from_secs(25);

const HEALTH: &str = "GET /hydra/v1/health HTTP/1.1\r\nhost: x\r\n\r\n";

async fn start(name: &str, stream_seconds: u32) -> (heliograph::testing::Folder, Server) {
    let folder = folder(name);
    let mut settings = Settings::default();
    (settings.client_seconds, settings.stream_seconds, settings.publish_interval) =
        (PATIENCE as u32, stream_seconds, 0);
    let server = Server::start(&folder.file("d.redb"), settings).await;
    (folder, server)
}

/// How long the server keeps the connection open, and what it sends until then.
async fn until_closed(socket: &mut TcpStream) -> (Duration, String) {
    let (begun, mut said) = (Instant::now(), Vec::new());
    let end = tokio::time::timeout(AT_MOST, socket.read_to_end(&mut said)).await;
    // A connection that closes with unread bytes may be reported as a reset.
    drop(end.expect("the connection stays open"));
    (begun.elapsed(), String::from_utf8_lossy(&said).into_owned())
}

/// Sends a request and reads its whole answer of a few bytes.
async fn ask(socket: &mut TcpStream, request: &str) -> String {
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 64 << 10];
    let mut length = 0;
    loop {
        let read = tokio::time::timeout(AT_MOST, socket.read(&mut answer[length..])).await;
        let read = read.expect("no answer").unwrap();
        assert!(read > 0, "closed after {}", String::from_utf8_lossy(&answer[..length]));
        length += read;
        if answer[..length].ends_with(b"}") {
            return String::from_utf8_lossy(&answer[..length]).into_owned();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_without_a_whole_head_is_closed_after_its_time() {
    let (_folder, server) = start("clients-head", 30).await;
    for begun in ["", "GET /hydra/v1/health HTTP/1.1\r\nhost: x\r\n", "P", "PRI * HTTP/2.0\r\n"] {
        let (open, said) = until_closed(&mut server.connect(begun).await).await;
        assert!(open >= AT_LEAST, "{begun:?}: {open:?}");
        assert_eq!(said, "", "{begun:?}");
    }
}

/// Single bytes are no progress: the whole head must come in time.
#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_trickles_in_is_closed_all_the_same() {
    let (_folder, server) = start("clients-trickle", 30).await;
    let mut socket = server.connect("GET /hydra/v1/health HTTP/1.1\r\nx-slow: ").await;
    let begun = Instant::now();
    while socket.write_all(b"a").await.is_ok() {
        assert!(begun.elapsed() < AT_MOST, "still open");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_may_be_used_again_within_its_time_and_is_closed_after_it() {
    let (_folder, server) = start("clients-reuse", 30).await;
    let mut socket = server.connect("").await;
    // In total this takes longer than one head may take.
    for _ in 0..4 {
        assert!(ask(&mut socket, HEALTH).await.starts_with("HTTP/1.1 200"));
        tokio::time::sleep(Duration::from_millis(PATIENCE * 600)).await;
    }
    assert!(ask(&mut socket, HEALTH).await.starts_with("HTTP/1.1 200"));
    let (open, said) = until_closed(&mut socket).await;
    assert!(open >= Duration::from_millis(PATIENCE * 900), "{open:?}");
    assert_eq!(said, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_stops_coming_is_answered_400_and_its_connection_closed() {
    let (_folder, server) = start("clients-body", 30).await;
    let head = "POST /v1/agent/register HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    for rest in ["content-length: 30\r\n\r\n{\"name\":", "transfer-encoding: chunked\r\n\r\n8\r\n{\"name\":\r\n"] {
        let (open, said) = until_closed(&mut server.connect(&format!("{head}{rest}")).await).await;
        assert!(open >= AT_LEAST, "{open:?}");
        assert!(said.starts_with("HTTP/1.1 400") && said.contains("did not arrive completely"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_trickles_in_ends_at_ten_times_the_pause() {
    let (_folder, server) = start("clients-body-trickle", 30).await;
    let head = "POST /v1/agent/register HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 60000";
    let begun = Instant::now();
    let mut socket = server.connect(&format!("{head}\r\n\r\n")).await;
    let (mut from, mut to) = socket.split();
    let trickle = async {
        while to.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        std::future::pending::<()>().await;
    };
    let mut first = [0; 12];
    tokio::select! {
        read = from.read_exact(&mut first) => { read.unwrap(); }
        () = trickle => {}
        () = tokio::time::sleep(Duration::from_secs(60)) => panic!("still reading"),
    }
    assert_eq!(&first, b"HTTP/1.1 400");
    assert!(begun.elapsed() >= Duration::from_secs(10 * PATIENCE), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_outlive_the_time_for_a_head_on_both_protocols() {
    let (_folder, server) = start("clients-streams", 4).await;
    let (_, key) = server.agent("reader").await;
    let path = "/v1/agent/receive/sse HTTP/1.1\r\nhost: x";
    let mut events = server.connect(&format!("GET {path}\r\nx-agent-key: {key}\r\n\r\n")).await;
    let upgrade = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                   sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let path = "/v1/agent/receive/ws HTTP/1.1\r\nhost: x";
    let mut socket = server.connect(&format!("GET {path}\r\nx-agent-key: {key}\r\n{upgrade}")).await;
    let ((ended, _), still) = tokio::join!(
        until_closed(&mut events),
        tokio::time::timeout(Duration::from_secs(4), until_closed(&mut socket)),
    );
    // A stream of events ends at its time, and its connection ends when no other request follows; a WebSocket goes on.
    assert!(ended > Duration::from_secs(3 + PATIENCE), "{ended:?}");
    assert!(still.is_err(), "the WebSocket was closed");
}

/// A client that asks and never reads holds memory and a descriptor until it is disconnected.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_nobody_takes_ends_its_connection() {
    let (_folder, server) = start("clients-deaf", 30).await;
    // Requests one answer after the other, until no system buffer takes more.
    let get = "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut socket = server.connect("").await;
    let begun = Instant::now();
    let fill = async { while socket.write_all(get.as_bytes()).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(30), fill).await.expect("the connection stays open");
    assert!(begun.elapsed() >= AT_LEAST, "{:?}", begun.elapsed());
}
