//! The HTTP shell: from a socket to the core's router and back.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{ConnectInfo, FromRequestParts, State};
use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, StreamExt};
use heliograph_core::http::{self as routes, Body, Preflight, Request, Response};
use heliograph_core::runtime::Runtime;
use heliograph_core::{Error, ErrorCode};
use http::{HeaderMap, header};
use tokio::net::TcpListener;

use crate::listener::{Listener, Peer};
use crate::runtime::Native;
use crate::websocket;

/// Longest pause between two pieces of a request body.
const BODY_PAUSE: Duration = Duration::from_secs(30);

/// Most bytes of a refused body that are read and thrown away. A client that is still writing when the connection closes
/// sees a broken pipe in place of the refusal (RFC 9112 section 9.6).
const DISCARD_BYTES: usize = 4 * 1024 * 1024;

/// Longest time spent on that.
const DISCARD_TIME: Duration = Duration::from_secs(2);

/// Longest that open requests may take to finish once the server stops.
const GRACE: Duration = Duration::from_secs(10);

struct Shell {
    runtime: Arc<dyn Runtime>,
}

/// Answers requests until `shutdown` ends, then lets open ones finish. Streams end at once.
pub async fn run(
    listener: TcpListener,
    native: Arc<Native>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let shell = Arc::new(Shell { runtime: native.clone() });
    let service = Router::new().fallback(handle).with_state(shell).into_make_service_with_connect_info::<Peer>();
    let (stopping, stopped) = tokio::sync::oneshot::channel();
    let shutdown = async move {
        shutdown.await;
        native.streams().stop();
        // The receiver waits below for as long as this function runs.
        let _ = stopping.send(());
    };
    let serving = axum::serve(Listener(listener), service).with_graceful_shutdown(shutdown).into_future();
    let overdue = async {
        match stopped.await {
            Ok(()) => tokio::time::sleep(GRACE).await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        result = serving => result,
        () = overdue => {
            eprintln!("warning: stopped with requests still open");
            Ok(())
        }
    }
}

async fn handle(
    State(shell): State<Arc<Shell>>,
    ConnectInfo(Peer(peer)): ConnectInfo<Peer>,
    request: axum::extract::Request,
) -> axum::response::Response {
    let started = Instant::now();
    let settings = &shell.runtime.environment().settings;
    let (mut head, body) = request.into_parts();
    let client = client(&head.headers, &settings.client_address_header, peer.ip());
    if websocket::is_upgrade(&head) {
        return upgrade(&shell, &mut head).await;
    }
    let log = settings.access_log.then(|| format!("{} {}", head.method, head.uri.path()));
    let response = match routes::preflight(&head.method, head.uri.path(), &head.headers, settings) {
        Preflight::Answer(response) => {
            discard(body.into_data_stream(), &head.headers).await;
            *response
        }
        Preflight::Read(limit) => match read(body, &head.headers, limit).await {
            Err(Unread::TooLarge) => Preflight::too_large(limit),
            Err(Unread::Broken) => routes::refusal(Error::bad_request("The body did not arrive completely.")),
            Ok(body) => {
                let request = Request {
                    path: head.uri.path().to_owned(),
                    query: head.uri.query().unwrap_or_default().to_owned(),
                    method: head.method,
                    headers: head.headers,
                    body,
                    client: Some(client),
                };
                answer(&shell.runtime, request).await
            }
        },
    };
    if let Some(line) = log {
        let micros = started.elapsed().as_micros();
        eprintln!("{client} {line} {} {micros} us", response.status.as_u16());
    }
    into_axum(response)
}

/// Turns the connection into a WebSocket, or says why not.
async fn upgrade(shell: &Shell, head: &mut http::request::Parts) -> axum::response::Response {
    let upgrade = match WebSocketUpgrade::from_request_parts(head, &()).await {
        Ok(upgrade) => upgrade,
        Err(rejection) => {
            return into_axum(routes::refusal(Error::bad_request(format!(
                "This is no WebSocket request: {rejection}."
            ))));
        }
    };
    let query = head.uri.query().unwrap_or_default();
    let accepted = websocket::accept(shell.runtime.clone(), upgrade, &head.headers, query).await;
    accepted.unwrap_or_else(|error| {
        report(head.uri.path(), error.cause.as_deref());
        into_axum(routes::refusal(error))
    })
}

/// Tells the operator, never the client.
fn report(route: &str, cause: Option<&str>) {
    if let Some(cause) = cause {
        eprintln!("error: {route}: {cause}");
    }
}

/// Asks the core; a panic becomes a 500 of this request, and causes go to the operator.
async fn answer(runtime: &Arc<dyn Runtime>, request: Request) -> Response {
    let route = format!("{} {}", request.method, request.path);
    let serving = AssertUnwindSafe(routes::serve(runtime.clone(), request)).catch_unwind();
    let response = serving.await.unwrap_or_else(|_| routes::refusal(Error::internal("panic in the handler")));
    report(&route, response.cause.as_deref());
    response
}

/// The client's address: the last one in the trusted header, which the proxy itself appended, else the socket's peer.
fn client(headers: &HeaderMap, trusted: &str, peer: IpAddr) -> IpAddr {
    if trusted.is_empty() {
        return peer;
    }
    let last = headers.get_all(trusted).iter().next_back().and_then(|value| value.to_str().ok());
    let stated = last.and_then(|value| value.rsplit(',').next()).and_then(|text| address(text.trim()));
    stated.unwrap_or(peer)
}

/// An address, possibly with a port.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip()))
}

enum Unread {
    TooLarge,
    Broken,
}

async fn read(body: axum::body::Body, headers: &HeaderMap, limit: usize) -> Result<Bytes, Unread> {
    let stated = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if stated == Some(0) || (stated.is_none() && !headers.contains_key(header::TRANSFER_ENCODING)) {
        return Ok(Bytes::new());
    }
    let mut pieces = body.into_data_stream();
    if stated.is_some_and(|length| length > limit) {
        discard(pieces, headers).await;
        return Err(Unread::TooLarge);
    }
    let mut whole = BytesMut::new();
    loop {
        let piece = match tokio::time::timeout(BODY_PAUSE, pieces.next()).await {
            Ok(Some(Ok(piece))) => piece,
            Ok(None) => return Ok(whole.freeze()),
            Ok(Some(Err(_))) | Err(_) => return Err(Unread::Broken),
        };
        if whole.len() + piece.len() > limit {
            discard(pieces, headers).await;
            return Err(Unread::TooLarge);
        }
        // Most bodies come in one piece, which need not be copied.
        if whole.is_empty() && stated == Some(piece.len()) {
            return Ok(piece);
        }
        whole.extend_from_slice(&piece);
    }
}

/// Reads what the client is still sending of a body that nobody wants, within bounds.
async fn discard(mut pieces: axum::body::BodyDataStream, headers: &HeaderMap) {
    // A client that asks first sends nothing when it is refused, unless we read.
    if headers.contains_key(header::EXPECT) {
        return;
    }
    let mut left = DISCARD_BYTES;
    let reading = async {
        while let Some(Ok(piece)) = pieces.next().await {
            match left.checked_sub(piece.len()) {
                Some(rest) => left = rest,
                None => break,
            }
        }
    };
    // Whoever is slower than that may see the broken pipe.
    let _ = tokio::time::timeout(DISCARD_TIME, reading).await;
}

fn into_axum(response: Response) -> axum::response::Response {
    let body = match response.body {
        Body::Bytes(bytes) => axum::body::Body::from(bytes),
        Body::Stream(stream) => axum::body::Body::from_stream(stream.map(Ok::<_, Infallible>)),
    };
    let mut answer = axum::response::Response::new(body);
    *answer.status_mut() = response.status;
    *answer.headers_mut() = response.headers;
    if response.status == ErrorCode::PayloadTooLarge.status() {
        // The rest of the body is not read, so the connection cannot be used again.
        answer.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_address_comes_from_the_trusted_header_only() {
        let peer: IpAddr = "10.0.0.1".parse().unwrap();
        let mut headers = HeaderMap::new();
        headers.append("x-forwarded-for", "1.1.1.1, 2.2.2.2".parse().unwrap());
        assert_eq!(client(&headers, "", peer), peer);
        assert_eq!(client(&headers, "x-forwarded-for", peer), "2.2.2.2".parse::<IpAddr>().unwrap());
        assert_eq!(client(&headers, "x-real-ip", peer), peer);
        headers.append("x-forwarded-for", "[2001:db8::1]:4711".parse().unwrap());
        assert_eq!(client(&headers, "x-forwarded-for", peer), "2001:db8::1".parse::<IpAddr>().unwrap());
        headers.insert("x-forwarded-for", "unknown".parse().unwrap());
        assert_eq!(client(&headers, "x-forwarded-for", peer), peer);
    }
}
