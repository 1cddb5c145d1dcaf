//! Receive streams over real sockets: server-sent events and WebSockets.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::server::Server;
use futures_util::{SinkExt, StreamExt};
use heliograph::testing::folder;
use heliograph_core::engine::settings::Settings;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest};

/// A server whose streams live for `stream_seconds`.
async fn start(data: &Path, stream_seconds: u32) -> Server {
    let mut settings = Settings::default();
    settings.stream_seconds = stream_seconds;
    Server::start(data, settings).await
}

trait Receiving {
    async fn send(&self, key: &str, to: &str) -> String;
    async fn sse(&self, key: &str) -> BufReader<TcpStream>;
}

impl Receiving for Server {
    /// Sends a message. Streams carry it sealed, so the returned id identifies it.
    async fn send(&self, key: &str, to: &str) -> String {
        let sent = self.post("/v1/agent/send", key, json!({ "to": to, "message": "hello" })).await;
        sent["id"].as_str().unwrap().to_owned()
    }

    async fn sse(&self, key: &str) -> BufReader<TcpStream> {
        let request = format!("GET /v1/agent/receive/sse HTTP/1.1\r\nhost: x\r\nx-agent-key: {key}\r\n\r\n");
        let mut lines = BufReader::new(self.connect(&request).await);
        let mut line = String::new();
        lines.read_line(&mut line).await.unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        lines
    }
}

/// Reads until a line contains `text`.
async fn line_with(stream: &mut BufReader<TcpStream>, text: &str) -> String {
    let find = async {
        loop {
            let mut line = String::new();
            let read = stream.read_line(&mut line).await.unwrap();
            assert!(read > 0, "the stream ended before {text:?}");
            if line.contains(text) {
                return line;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), find).await.unwrap_or_else(|_| panic!("no {text:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_gets_the_backlog_then_what_comes_and_ends_at_its_time() {
    let folder = folder("sse");
    let server = start(&folder.file("d.redb"), 2).await;
    let (did, key) = server.agent("reader").await;
    let (_, writer) = server.agent("writer").await;
    let before = server.send(&writer, &did).await;
    let opened = Instant::now();
    let mut stream = server.sse(&key).await;
    line_with(&mut stream, &before).await;
    let during = server.send(&writer, &did).await;
    line_with(&mut stream, &during).await;
    line_with(&mut stream, "reconnect").await;
    let lived = opened.elapsed();
    assert!(lived > Duration::from_millis(1_900), "{lived:?}");
    // Nobody listens any more, so the task is gone.
    for _ in 0..100 {
        if server.deployment.native().streams().listening() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the task of a stream that ended is still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_of_many_pages_arrives_in_order_without_gaps() {
    let folder = folder("sse-pages");
    let server = start(&folder.file("d.redb"), 30).await;
    let (did, key) = server.agent("reader").await;
    let (_, writer) = server.agent("writer").await;
    let mut sent = Vec::new();
    for _ in 0..150 {
        sent.push(server.send(&writer, &did).await);
    }
    let mut stream = server.sse(&key).await;
    for id in sent {
        let line = line_with(&mut stream, "data: ").await;
        assert!(line.contains(&id), "{id}: {line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_end_at_once_when_the_server_stops() {
    let folder = folder("sse-stop");
    let server = start(&folder.file("d.redb"), 30).await;
    let (_, key) = server.agent("reader").await;
    let mut streams = Vec::new();
    for _ in 0..5 {
        streams.push(server.sse(&key).await);
    }
    let asked = Instant::now();
    let deployment = server.stop().await;
    assert!(asked.elapsed() < Duration::from_secs(25), "it waited for the time of the streams");
    for mut stream in streams {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
    }
    deployment.close().await;
}

/// Decision websocket-receive.
#[tokio::test(flavor = "multi_thread")]
async fn a_web_socket_takes_its_key_from_the_header_or_the_first_frame() {
    let folder = folder("ws");
    let server = start(&folder.file("d.redb"), 30).await;
    let (did, key) = server.agent("reader").await;
    let (_, writer) = server.agent("writer").await;
    let url = format!("ws://{}/v1/agent/receive/ws", server.address);

    let mut request = url.clone().into_client_request().unwrap();
    request.headers_mut().insert("x-agent-key", key.parse().unwrap());
    let (mut by_header, _) = tokio_tungstenite::connect_async(request).await.unwrap();
    let (mut by_frame, _) = tokio_tungstenite::connect_async(&url).await.unwrap();
    by_frame.send(Message::Text(json!({ "api_key": key }).to_string().into())).await.unwrap();

    let sent = server.send(&writer, &did).await;
    let mut ids = Vec::new();
    for socket in [&mut by_header, &mut by_frame] {
        let frame = tokio::time::timeout(Duration::from_secs(10), socket.next()).await.unwrap().unwrap().unwrap();
        let frame: Value = serde_json::from_str(frame.to_text().unwrap()).unwrap();
        assert_eq!(frame["event"], "message");
        assert_eq!(frame["data"]["id"], sent.as_str());
        ids.push(frame["id"].clone());
    }
    assert_eq!(ids[0], ids[1]);
}

/// Decision websocket-receive.
#[tokio::test(flavor = "multi_thread")]
async fn a_web_socket_without_a_right_key_is_refused() {
    let folder = folder("ws-refused");
    let server = start(&folder.file("d.redb"), 30).await;
    let url = format!("ws://{}/v1/agent/receive/ws", server.address);
    let mut request = url.clone().into_client_request().unwrap();
    request.headers_mut().insert("x-agent-key", "wrong".parse().unwrap());
    match tokio_tungstenite::connect_async(request).await {
        Err(tokio_tungstenite::tungstenite::Error::Http(response)) => assert_eq!(response.status().as_u16(), 401),
        other => panic!("{other:?}"),
    }
    for first in [json!({ "api_key": "wrong" }).to_string(), "nonsense".to_owned()] {
        let (mut socket, _) = tokio_tungstenite::connect_async(&url).await.unwrap();
        socket.send(Message::Text(first.into())).await.unwrap();
        match socket.next().await.unwrap().unwrap() {
            Message::Close(Some(frame)) => assert_eq!(u16::from(frame.code), 1008),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_agents_listen_at_once_and_each_hears_only_its_own() {
    let folder = folder("sse-many");
    let server = Arc::new(start(&folder.file("d.redb"), 30).await);
    let (_, writer) = server.agent("writer").await;
    let mut listeners = Vec::new();
    for n in 0..40 {
        let (did, key) = server.agent(&format!("reader-{n}")).await;
        listeners.push((did, server.sse(&key).await));
    }
    let mut sent = Vec::new();
    for (did, _) in &listeners {
        sent.push(server.send(&writer, did).await);
    }
    for ((_, stream), id) in listeners.iter_mut().zip(sent) {
        let line = line_with(stream, "data: ").await;
        assert!(line.contains(&id), "{line}");
    }
}
