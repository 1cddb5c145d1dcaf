//! `GET /v1/agent/receive/ws`: messages as WebSocket text frames (decision websocket-receive).
//!
//! The key comes in the header `X-Agent-Key`. Browsers send it in the first frame `{"api_key": ..., "since": ...}`
//! within five seconds. It never comes in the address. No frame marks anything read.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use bytes::Bytes;
use futures_util::stream::SplitSink;
use futures_util::{SinkExt, Stream, StreamExt};
use heliograph_core::relay::agent::stream::OpenStream;
use heliograph_core::relay::agent::websocket::{AWAY, FIRST_FRAME, MAX_FIRST_FRAME, PATH, close_code, end_code, open};
use heliograph_core::{Error, Result};
use http::{HeaderMap, Method};
use tokio::sync::Notify;

use crate::log;
use crate::runtime::Native;
use crate::streams::Outlet;

/// Time between pings; a client that answers neither of two pings is disconnected.
const PING: Duration = Duration::from_secs(30);
/// Longest time for the last frames of a connection: the Close of the client, and the server's own.
const CLOSING: Duration = Duration::from_secs(2);

/// True if a request asks to upgrade this route to a WebSocket.
pub fn is_upgrade(head: &http::request::Parts) -> bool {
    let header = head.headers.get(http::header::UPGRADE).and_then(|value| value.to_str().ok());
    head.method == Method::GET
        && head.uri.path() == PATH
        && header.is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
}

/// Accepts the upgrade. A wrong key in the header is refused before the upgrade, one in the first frame by closing the
/// connection.
pub async fn accept(
    native: Arc<Native>,
    upgrade: WebSocketUpgrade,
    headers: &HeaderMap,
    query: &str,
) -> Result<axum::response::Response> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let since = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("since="))
        .map(|since| percent_encoding::percent_decode_str(since).decode_utf8_lossy().into_owned());
    let since = text("last-event-id").map(str::to_owned).or(since);
    let opened = match text("x-agent-key") {
        Some(key) => Some(open(&*native, Some(key), since.as_deref(), None).await?),
        None => None,
    };
    let upgrade = upgrade.max_message_size(MAX_FIRST_FRAME).max_frame_size(MAX_FIRST_FRAME);
    Ok(upgrade.on_upgrade(move |socket| run(native, socket, opened, since)))
}

async fn run(native: Arc<Native>, mut socket: WebSocket, opened: Option<OpenStream>, since: Option<String>) {
    let opened = match opened {
        Some(opened) => Ok(opened),
        None => match first_frame(&mut socket).await {
            First::Text(text) => open(&*native, None, since.as_deref(), Some(&text)).await,
            First::Nothing => open(&*native, None, since.as_deref(), None).await,
            First::Left => return finish(socket).await,
        },
    };
    let cut = Arc::new(Notify::new());
    let stream = match opened {
        Ok(opened) => native.streams().open(opened, cut.clone()).await,
        Err(error) => Err(error),
    };
    match stream {
        Ok(stream) => {
            tokio::select! {
                () = pump(socket, stream) => {}
                // The client reads nothing, and other clients need the memory that it holds.
                () = cut.notified() => {}
            }
        }
        Err(error) => close(socket, error).await,
    }
}

/// The first thing that a client sent.
enum First {
    Text(String),
    /// No key in time, or another kind of frame.
    Nothing,
    /// The client closed the connection.
    Left,
}

async fn first_frame(socket: &mut WebSocket) -> First {
    let frame = async {
        loop {
            match socket.recv().await {
                Some(Ok(Message::Text(text))) => return First::Text(text.as_str().to_owned()),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_))) => return First::Nothing,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return First::Left,
            }
        }
    };
    tokio::time::timeout(FIRST_FRAME, frame).await.unwrap_or(First::Nothing)
}

/// Reads, within bounds, until both sides have closed. Reading sends the answer to a Close frame, so that a client that
/// closes first sees its Close answered (RFC 6455 section 5.5.1).
async fn finish(mut socket: impl Stream<Item = Result<Message, axum::Error>> + Unpin) {
    let rest = async { while let Some(Ok(_)) = socket.next().await {} };
    // A client that takes longer gets no answer to its Close.
    let _ = tokio::time::timeout(CLOSING, rest).await;
}

async fn close(mut socket: WebSocket, error: Error) {
    if let Some(cause) = &error.cause {
        log::error!("{PATH}: {cause}");
    }
    let frame = CloseFrame { code: close_code(&error), reason: error.into_details().message.into_owned().into() };
    // A client that is gone needs no reason.
    if socket.send(Message::Close(Some(frame))).await.is_ok() {
        finish(socket).await;
    }
}

/// Sends each line of the stream as a text frame until one side ends.
async fn pump(socket: WebSocket, mut stream: Outlet) {
    let (mut to, mut from) = socket.split();
    let mut ping = tokio::time::interval_at(tokio::time::Instant::now() + PING, PING);
    let mut unanswered = 0;
    loop {
        tokio::select! {
            page = stream.next() => match page {
                Some(page) => if send(&mut to, page).await.is_err() {
                    return;
                },
                None => {
                    let (code, reason) = stream.end().map_or((AWAY, "the server is stopping"), end_code);
                    let end = CloseFrame { code, reason: reason.into() };
                    let _ = to.send(Message::Close(Some(end))).await;
                    return finish(from).await;
                }
            },
            frame = from.next() => match frame {
                Some(Ok(Message::Close(_))) => return finish(from).await,
                Some(Err(_)) | None => return,
                Some(Ok(_)) => unanswered = 0,
            },
            _ = ping.tick() => {
                if unanswered == 2 || to.send(Message::Ping(Bytes::new())).await.is_err() {
                    return;
                }
                unanswered += 1;
            }
        }
    }
}

/// Sends a page, with one frame for each of its lines. Each frame is sent before the next is handed over, so that at
/// most one waits in the buffer of the library.
async fn send(to: &mut SplitSink<WebSocket, Message>, page: Bytes) -> Result<(), axum::Error> {
    for line in page.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let Ok(text) = std::str::from_utf8(line) else { continue };
        to.send(Message::Text(text.into())).await?;
    }
    Ok(())
}
