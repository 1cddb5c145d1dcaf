//! `GET /v1/agent/receive/ws`: messages as WebSocket text frames (ruling foundation-relay 37).
//!
//! The key comes in the header `X-Agent-Key`, or, from browsers, in the first frame `{"api_key": ..., "since": ...}`
//! within five seconds; never in the address. No frame marks anything read.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use futures_util::{SinkExt, StreamExt};
use heliograph_core::agent::stream::{Framing, Open};
use heliograph_core::agent::{Authorize, KEY_KIND};
use heliograph_core::runtime::{self, ByteStream, Runtime};
use heliograph_core::{Error, Result, Timestamp};
use http::HeaderMap;
use serde::Deserialize;

/// The route that is upgraded.
pub const PATH: &str = "/v1/agent/receive/ws";

/// Longest a client may take to send its key.
const FIRST_FRAME: Duration = Duration::from_secs(5);
/// Time between pings; a client that answers none of two is gone.
const PING: Duration = Duration::from_secs(30);
/// Largest frame a client may send: a key and a time.
const MAX_FRAME: usize = 4_096;

/// Close codes (RFC 6455, 7.4.1).
const POLICY: u16 = 1008;
const AWAY: u16 = 1001;
const TRY_AGAIN: u16 = 1013;

#[derive(Deserialize)]
struct First {
    api_key: String,
    since: Option<String>,
}

/// Whether a request asks for an upgrade.
pub fn is_upgrade(headers: &HeaderMap) -> bool {
    headers
        .get(http::header::UPGRADE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
}

/// Accepts the upgrade. A wrong key in the header is refused before it.
pub async fn accept(
    runtime: Arc<dyn Runtime>,
    upgrade: WebSocketUpgrade,
    headers: &HeaderMap,
    query: &str,
) -> Result<axum::response::Response> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let since = text("last-event-id").map(str::to_owned).or_else(|| since_of(query));
    let open = match text("x-agent-key") {
        Some(key) => Some(authorize(&*runtime, key, since.as_deref()).await?),
        None => None,
    };
    let upgrade = upgrade.max_message_size(MAX_FRAME).max_frame_size(MAX_FRAME);
    Ok(upgrade.on_upgrade(move |socket| async move {
        // What goes wrong from here on is told in a close frame.
        run(runtime, socket, open).await;
    }))
}

fn since_of(query: &str) -> Option<String> {
    query.split('&').find_map(|pair| pair.strip_prefix("since=")).map(|value| value.replace("%3A", ":"))
}

/// The stream that this key may open.
async fn authorize(runtime: &dyn Runtime, key: &str, since: Option<&str>) -> Result<Open> {
    let environment = runtime.environment();
    let refuse = || Error::unauthorized("The agent key is not valid.");
    let key = environment.secrets.parse_key(&environment.settings.brand, KEY_KIND, key).ok_or_else(refuse)?;
    let check = Authorize { secret_hash: key.secret_hash() };
    runtime::query(runtime, key.actor(), &check).await?.ok_or_else(refuse)?;
    let after = match since.filter(|since| !since.is_empty()) {
        None => None,
        Some(since) => {
            let bad = || Error::bad_request("`since` must be an ISO 8601 time.");
            Some(Timestamp::parse(since).ok_or_else(bad)?)
        }
    };
    Ok(Open { agent: key.actor().to_owned(), after, from: None, framing: Framing::WebSocket })
}

async fn run(runtime: Arc<dyn Runtime>, mut socket: WebSocket, open: Option<Open>) {
    let open = match open {
        Some(open) => Ok(open),
        None => first_frame(&*runtime, &mut socket).await,
    };
    let stream = match open {
        Ok(open) => runtime.stream(open).await,
        Err(error) => Err(error),
    };
    match stream {
        Ok(stream) => pump(socket, stream).await,
        Err(error) => {
            let code = if error.retry_after.is_some() { TRY_AGAIN } else { POLICY };
            close(&mut socket, code, error.message.into_owned()).await;
        }
    }
}

async fn first_frame(runtime: &dyn Runtime, socket: &mut WebSocket) -> Result<Open> {
    let missing = || Error::unauthorized("The first frame must be {\"api_key\": ..., \"since\": ...}.");
    let frame = tokio::time::timeout(FIRST_FRAME, async {
        loop {
            match socket.recv().await {
                Some(Ok(Message::Text(text))) => return Some(text),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                _ => return None,
            }
        }
    });
    let text = frame.await.ok().flatten().ok_or_else(missing)?;
    let first: First = serde_json::from_str(text.as_str()).map_err(|_| missing())?;
    authorize(runtime, &first.api_key, first.since.as_deref()).await
}

async fn close(socket: &mut WebSocket, code: u16, reason: String) {
    // A client that is gone needs no reason.
    let _ = socket.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
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
