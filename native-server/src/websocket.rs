//! `GET /v1/agent/receive/ws`: messages as WebSocket text frames (ruling foundation-relay 37).
//!
//! The key comes in the header `X-Agent-Key`, or, from browsers, in the first frame `{"api_key": ..., "since": ...}`
//! within five seconds; never in the address. No frame marks anything read.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use futures_util::{SinkExt, StreamExt};
use heliograph_core::agent::stream::Open;
use heliograph_core::agent::websocket::{FIRST_FRAME, MAX_FIRST_FRAME, PATH, close_code, open};
use heliograph_core::runtime::{ByteStream, Runtime};
use heliograph_core::{Error, Result};
use http::{HeaderMap, Method};

/// Time between pings; a client that answers none of two is gone.
const PING: Duration = Duration::from_secs(30);
/// Close code of a server that stops (RFC 6455, 7.4.1).
const AWAY: u16 = 1001;

/// Whether a request asks for an upgrade of the route.
pub fn is_upgrade(head: &http::request::Parts) -> bool {
    let header = head.headers.get(http::header::UPGRADE).and_then(|value| value.to_str().ok());
    head.method == Method::GET
        && head.uri.path() == PATH
        && header.is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
}

/// Accepts the upgrade. A wrong key in the header is refused before it, one in the first frame by closing.
pub async fn accept(
    runtime: Arc<dyn Runtime>,
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
        Some(key) => Some(open(&*runtime, Some(key), since.as_deref(), None).await?),
        None => None,
    };
    let upgrade = upgrade.max_message_size(MAX_FIRST_FRAME).max_frame_size(MAX_FIRST_FRAME);
    Ok(upgrade.on_upgrade(move |socket| run(runtime, socket, opened, since)))
}

async fn run(runtime: Arc<dyn Runtime>, mut socket: WebSocket, opened: Option<Open>, since: Option<String>) {
    let opened = match opened {
        Some(opened) => Ok(opened),
        None => {
            let frame = first_frame(&mut socket).await;
            open(&*runtime, None, since.as_deref(), frame.as_deref()).await
        }
    };
    let stream = match opened {
        Ok(opened) => runtime.stream(opened).await,
        Err(error) => Err(error),
    };
    match stream {
        Ok(stream) => pump(socket, stream).await,
        Err(error) => close(&mut socket, error).await,
    }
}

/// The first text frame, when it comes in time.
async fn first_frame(socket: &mut WebSocket) -> Option<String> {
    let frame = async {
        loop {
            match socket.recv().await {
                Some(Ok(Message::Text(text))) => return Some(text.as_str().to_owned()),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                _ => return None,
            }
        }
    };
    tokio::time::timeout(FIRST_FRAME, frame).await.ok().flatten()
}

async fn close(socket: &mut WebSocket, error: Error) {
    if let Some(cause) = &error.cause {
        eprintln!("error: {PATH}: {cause}");
    }
    let frame = CloseFrame { code: close_code(&error), reason: error.into_details().message.into_owned().into() };
    // A client that is gone needs no reason.
    let _ = socket.send(Message::Close(Some(frame))).await;
}

/// Sends each line of the stream as a text frame until one side ends.
async fn pump(socket: WebSocket, mut stream: ByteStream) {
    let (mut to, mut from) = socket.split();
    let mut ping = tokio::time::interval_at(tokio::time::Instant::now() + PING, PING);
    let mut unanswered = 0;
    loop {
        tokio::select! {
            page = stream.next() => match page {
                Some(page) => {
                    for line in page.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                        let Ok(text) = std::str::from_utf8(line) else { continue };
                        if to.feed(Message::Text(text.into())).await.is_err() {
                            return;
                        }
                    }
                    if to.flush().await.is_err() {
                        return;
                    }
                }
                None => {
                    let end = CloseFrame { code: AWAY, reason: "the server is stopping".into() };
                    let _ = to.send(Message::Close(Some(end))).await;
                    return;
                }
            },
            frame = from.next() => match frame {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => unanswered = 0,
            },
            _ = ping.tick() => {
                if unanswered == 2 || to.send(Message::Ping(bytes::Bytes::new())).await.is_err() {
                    return;
                }
                unanswered += 1;
            }
        }
    }
}
