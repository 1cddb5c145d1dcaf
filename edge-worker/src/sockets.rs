//! `GET /v1/agent/receive/ws` in the Worker (decision websocket-receive).
//!
//! A client that sends its key as a header is connected directly to its agent's object, which may sleep while nothing
//! arrives. A browser cannot do this: it sends its key in the first frame, after the connection was accepted. Before
//! that nobody knows its agent, so the Worker accepts the connection itself and passes on the frames of a second socket
//! to the object.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{self, Either};
use heliograph_core::engine::actor::{ActorId, Kind, encode};
use heliograph_core::engine::runtime::Runtime;
use heliograph_core::relay::agent::stream::OpenStream;
use heliograph_core::relay::agent::websocket::{self, FIRST_FRAME, REFUSED};
use heliograph_core::{Error, Result};
use percent_encoding::percent_decode_str;
use worker::{Env, Method, Response, WebSocket, WebSocketPair, WebsocketEvent};

use crate::errand::{self, ERRAND, OPEN, SOCKET};
use crate::shell::Head;
use crate::{clock, shell};

/// True if this request opens a WebSocket on this route.
pub fn is_upgrade(head: &Head) -> bool {
    let upgrade = head.header("upgrade").is_some_and(|value| value.eq_ignore_ascii_case("websocket"));
    upgrade && head.path == websocket::PATH
}

/// Answers an upgrade.
pub async fn connect(env: Env, runtime: Arc<dyn Runtime>, head: &Head) -> worker::Result<Response> {
    let since = head.header("last-event-id").map(str::to_owned).or_else(|| since(&head.query));
    if let Some(key) = head.header("x-agent-key") {
        let opened = match websocket::open(&*runtime, Some(key), since.as_deref(), None).await {
            Ok(open) => at_object(&env, &open).await,
            Err(error) => Err(error),
        };
        // A key in the header is refused before the upgrade.
        return opened.or_else(|error| {
            shell::response(shell::logged(websocket::PATH, heliograph_core::engine::http::refusal(error)))
        });
    }
    let pair = WebSocketPair::new()?;
    pair.server.accept()?;
    worker::wasm_bindgen_futures::spawn_local(async move {
        if let Err(error) = pass_on(&env, &*runtime, &pair.server, since.as_deref()).await {
            close(&pair.server, &error);
        }
    });
    Response::from_websocket(pair.client)
}

fn since(query: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| pair.strip_prefix("since="))?;
    Some(percent_decode_str(value).decode_utf8_lossy().into_owned())
}

fn close(socket: &WebSocket, error: &Error) {
    if let Some(cause) = &error.cause {
        worker::console_error!("{}: {cause}", websocket::PATH);
    }
    // A client that is gone needs no reason.
    let _ = socket.close(Some(websocket::close_code(error)), Some(error.message.as_ref()));
}

/// Answers a client's Close frame with its own code (RFC 6455 section 5.5.1), or with 1000 if that code must not be
/// sent.
pub fn answer_close(socket: &WebSocket, code: usize) {
    let sendable = |code: &u16| (1000..5000).contains(code) && !matches!(code, 1004..=1006 | 1015);
    let code = u16::try_from(code).ok().filter(sendable).unwrap_or(1000);
    // A closed socket needs no answer.
    let _ = socket.close(Some(code), Some(""));
}

/// Opens the stream at its agent's object.
async fn at_object(env: &Env, open: &OpenStream) -> Result<Response> {
    let headers = errand::header(OPEN, &encode(open)?)?;
    headers.set("upgrade", "websocket").map_err(Error::internal)?;
    let request = errand::request(&format!("https://{ERRAND}{SOCKET}"), Method::Get, headers, None)?;
    let object = errand::object(env, &ActorId::new(Kind::Agent, open.agent.as_str()))?;
    object.fetch_with_request(request).await.map_err(Error::unavailable)
}

/// Takes the first frame, then passes on what the object sends until one side ends.
async fn pass_on(env: &Env, runtime: &dyn Runtime, client: &WebSocket, since: Option<&str>) -> Result<()> {
    let mut frames = client.events().map_err(Error::internal)?;
    let first = future::select(frames.next(), Box::pin(clock::sleep(FIRST_FRAME))).await;
    let text = match first {
        Either::Left((Some(Ok(WebsocketEvent::Message(message))), _)) => message.text(),
        Either::Left((Some(Ok(WebsocketEvent::Close(event))), _)) => {
            answer_close(client, event.code().into());
            return Ok(());
        }
        Either::Left(_) => return Ok(()),
        Either::Right(_) => None,
    };
    let open = websocket::open(runtime, None, since, text.as_deref()).await?;
    let response = at_object(env, &open).await?;
    let object = response.websocket().ok_or_else(|| Error::unavailable("the object opened no socket"))?;
    let mut events = object.events().map_err(Error::internal)?;
    object.accept().map_err(Error::unavailable)?;
    loop {
        match future::select(events.next(), frames.next()).await {
            Either::Left((Some(Ok(WebsocketEvent::Message(message))), _)) => {
                if let Some(text) = message.text() {
                    client.send_with_str(text).map_err(Error::unavailable)?;
                }
            }
            Either::Left((Some(Ok(WebsocketEvent::Close(event))), _)) => {
                let code = if event.code() == REFUSED { REFUSED } else { websocket::TRY_LATER };
                let _ = client.close(Some(code), Some(event.reason()));
                return Ok(());
            }
            Either::Left((Some(Err(_)) | None, _)) => return Err(Error::unavailable("the object's socket broke")),
            // A client's own ping gets the same answer as from the object's sockets.
            Either::Right((Some(Ok(WebsocketEvent::Message(message))), _)) => {
                if message.text().as_deref() == Some("ping") {
                    client.send_with_str("pong").map_err(Error::unavailable)?;
                }
            }
            Either::Right((left, _)) => {
                let _ = object.close(Some(1000), Some(""));
                let code = match left {
                    Some(Ok(WebsocketEvent::Close(event))) => event.code(),
                    _ => 1000,
                };
                answer_close(client, code.into());
                return Ok(());
            }
        }
    }
}
