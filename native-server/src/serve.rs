//! The HTTP shell: from a socket to the core's router and back.

use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::extract::ws::WebSocketUpgrade;
use bytes::{Bytes, BytesMut};
use futures_util::future::Either;
use futures_util::{FutureExt, StreamExt};
use heliograph_core::http::{self as routes, Body, Matched, Preflight, Request, Response};
use heliograph_core::runtime::{BoxFuture, Runtime};
use heliograph_core::{Error, ErrorCode};
use http::{HeaderMap, Method, header};
use http_body_util::BodyDataStream;
use hyper::body::{Body as _, Incoming};
use tokio::net::TcpListener;

use crate::connection::{self, Content};
use crate::runtime::Native;
use crate::websocket;

/// Longest that a whole request body may take, in times of `client_seconds`, of which each of its pieces has one.
const BODY: u32 = 10;

/// Most bytes of a refused body that are read and thrown away. A client that is still writing when the connection closes
/// sees a broken pipe in place of the refusal (RFC 9112 section 9.6).
const DISCARD_BYTES: usize = 4 * 1024 * 1024;

/// Longest time spent on that.
const DISCARD_TIME: Duration = Duration::from_secs(2);

/// Longest that open requests may take to finish once the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// Answers requests until `shutdown` ends, then lets open ones finish. Streams end at once.
pub async fn run(listener: TcpListener, native: Arc<Native>, shutdown: impl Future<Output = ()>) {
    let runtime: Arc<dyn Runtime> = native.clone();
    let patience = patience(&runtime);
    let answer = move |peer, request| handle(&runtime, peer, request);
    let last = connection::accept(listener, patience, answer, shutdown).await;
    native.streams().stop();
    if tokio::time::timeout(GRACE, last).await.is_err() {
        eprintln!("warning: stopped with requests still open");
    }
}

/// How long a client may keep a connection waiting.
fn patience(runtime: &Arc<dyn Runtime>) -> Duration {
    Duration::from_secs(runtime.environment().settings.client_seconds.into())
}

/// The answer to a request. What can be decided from its head is, before anything is put into a future: a request with
/// all its headers is large, and moving it costs more than most of what is done with it.
fn handle(
    runtime: &Arc<dyn Runtime>,
    peer: IpAddr,
    request: http::Request<Incoming>,
) -> impl Future<Output = http::Response<Content>> + Send + use<> {
    let settings = &runtime.environment().settings;
    let (head, body) = request.into_parts();
    if websocket::is_upgrade(&head) {
        return Either::Left(Box::pin(upgrade(runtime.clone(), head)));
    }
    let client = client(&head.headers, &settings.client_address_header, peer);
    let started = settings.access_log.then(Instant::now);
    let (method, uri) = (head.method.clone(), head.uri.clone());
    let answering: BoxFuture<'static, Response> =
        match routes::preflight(&head.method, head.uri.path(), &head.headers, settings) {
            Preflight::Answer(response) => Box::pin(async move {
                discard(BodyDataStream::new(body), &head.headers).await;
                *response
            }),
            Preflight::Read(matched) if body.is_end_stream() => {
                routes::answer(runtime.clone(), matched, whole(head, Bytes::new(), client))
            }
            Preflight::Read(matched) => {
                let runtime = runtime.clone();
                Box::pin(async move {
                    match read(body, &head.headers, &matched, &runtime).await {
                        Ok(body) => routes::answer(runtime, matched, whole(head, body, client)).await,
                        Err(response) => *response,
                    }
                })
            }
        };
    Either::Right(async move {
        // A panic becomes a 500 of this request.
        let answered = AssertUnwindSafe(answering).catch_unwind().await;
        let response = answered.unwrap_or_else(|_| Response::error(Error::internal("panic in the handler")));
        report(&method, uri.path(), response.cause.as_deref());
        if let Some(started) = started {
            let micros = started.elapsed().as_micros();
            eprintln!("{client} {method} {} {} {micros} us", uri.path(), response.status.as_u16());
        }
        outgoing(response)
    })
}

/// The request as the core takes it.
fn whole(head: http::request::Parts, body: Bytes, client: IpAddr) -> Request {
    Request {
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        method: head.method,
        headers: head.headers,
        body,
        client: Some(client),
        network: None,
    }
}

/// Turns the connection into a WebSocket, or says why not.
async fn upgrade(runtime: Arc<dyn Runtime>, mut head: http::request::Parts) -> http::Response<Content> {
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut head, &()).await {
        Ok(upgrade) => upgrade,
        Err(rejection) => {
            return outgoing(routes::refusal(Error::bad_request(format!(
                "This is no WebSocket request: {rejection}."
            ))));
        }
    };
    let query = head.uri.query().unwrap_or_default();
    match websocket::accept(runtime, upgrade, &head.headers, query).await {
        // What changes the protocol has no body.
        Ok(response) => response.map(|_| Content::Whole(Bytes::new())),
        Err(error) => {
            report(&head.method, head.uri.path(), error.cause.as_deref());
            outgoing(Response::error(error))
        }
    }
}

/// Tells the operator, never the client.
fn report(method: &Method, path: &str, cause: Option<&str>) {
    if let Some(cause) = cause {
        eprintln!("error: {method} {path}: {cause}");
    }
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

/// Reads a body of at most `limit` bytes, each piece of it within `patience`; else the answer that says what is wrong.
async fn read(
    body: Incoming,
    headers: &HeaderMap,
    matched: &Matched,
    runtime: &Arc<dyn Runtime>,
) -> Result<Bytes, Box<Response>> {
    let (limit, settings, patience) = (matched.max_body(), &runtime.environment().settings, patience(runtime));
    let too_large = || Err(Box::new(routes::too_large(matched, settings)));
    let stated = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let mut pieces = BodyDataStream::new(body);
    if stated.is_some_and(|length| length > limit) {
        discard(pieces, headers).await;
        return too_large();
    }
    let end = tokio::time::Instant::now() + patience * BODY;
    let mut whole = BytesMut::new();
    loop {
        let next = end.min(tokio::time::Instant::now() + patience);
        let piece = match tokio::time::timeout_at(next, pieces.next()).await {
            Ok(Some(Ok(piece))) => piece,
            Ok(None) => return Ok(whole.freeze()),
            Ok(Some(Err(_))) | Err(_) => {
                let error = Error::bad_request("The body did not arrive completely.");
                return Err(Box::new(matched.refusal(error, settings)));
            }
        };
        if whole.len() + piece.len() > limit {
            discard(pieces, headers).await;
            return too_large();
        }
        // Most bodies come in one piece, which need not be copied.
        if whole.is_empty() && stated == Some(piece.len()) {
            return Ok(piece);
        }
        whole.extend_from_slice(&piece);
    }
}

/// Reads what the client is still sending of a body that nobody wants, within bounds.
async fn discard(mut pieces: BodyDataStream<Incoming>, headers: &HeaderMap) {
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

fn outgoing(response: Response) -> http::Response<Content> {
    let mut answer = http::Response::new(match response.body {
        Body::Bytes(bytes) => Content::Whole(bytes),
        Body::Stream(stream) => Content::Pieces(stream),
    });
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
