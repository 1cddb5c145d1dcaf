//! The HTTP shell: from a socket to the core's router and back.

use std::borrow::Cow;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::extract::ws::WebSocketUpgrade;
use bytes::{Bytes, BytesMut};
use futures_util::future::Either;
use futures_util::{FutureExt, StreamExt};
use heliograph_core::app::PROGRAM;
use heliograph_core::engine::http::{self as routes, Body, Matched, Origin, Preflight, Request, Response};
use heliograph_core::engine::runtime::{BoxFuture, Runtime};
use heliograph_core::engine::settings::Settings;
use heliograph_core::{Error, ErrorCode};
use http::{HeaderMap, Method, header};
use http_body_util::BodyDataStream;
use hyper::body::{Body as _, Incoming};
use tokio::net::TcpListener;

use crate::budgets::{Budgets, Charge};
use crate::connection::{self, Content, Door};
use crate::log;
use crate::metrics::Slot;
use crate::proxies::Watch;
use crate::runtime::Native;
use crate::trace::{self, Trace};
use crate::{host, websocket};

/// Longest time for a whole request body, in multiples of `client_seconds`. Each piece of the body has `client_seconds`
/// once.
const BODY: u32 = 10;

/// Most bytes of a refused body that are read and discarded. If the connection closed while the client is still
/// writing, the client would see a broken pipe in place of the refusal (RFC 9112 section 9.6).
const DISCARD_BYTES: usize = 4 * 1024 * 1024;

/// Longest time for discarding a refused body.
const DISCARD_TIME: Duration = Duration::from_secs(2);

/// Least bytes a second of a body, once it has taken [`SLOW_START`]: a slower client would hold resources that others
/// need.
const SLOWEST: u64 = 1_024;
const SLOW_START: Duration = Duration::from_secs(10);

/// Everything that is needed to answer a request.
struct Shell {
    native: Arc<Native>,
    runtime: Arc<dyn Runtime>,
    watch: Watch,
}

impl Shell {
    fn settings(&self) -> &Settings {
        &self.runtime.environment().settings
    }

    /// The budgets of the listener.
    fn budgets(&self) -> Option<&Budgets> {
        self.native.door.get().map(|door| &door.limits().budgets)
    }

    /// How long a client may keep a connection waiting.
    fn patience(&self) -> Duration {
        Duration::from_secs(self.settings().client_seconds.into())
    }
}

/// Time for open requests at the end where the next process gets the same socket. Clients in its queue wait so long, so a
/// single slow one must not hold them up.
const HANDED_OVER: Duration = Duration::from_secs(1);

/// Answers requests until `shutdown` ends, then lets open ones finish. Streams end at once. There are at most
/// `descriptors` connections. `waited_for` says that the service manager holds the socket and begins the next process.
pub async fn run(
    (listener, waited_for): (TcpListener, bool),
    native: Arc<Native>,
    descriptors: u64,
    shutdown: impl Future<Output = ()>,
) {
    // There is one listener for clients.
    let queue = native.streams().queue().clone();
    let door = native.door.get_or_init(|| Door::new(&native.environment().settings, descriptors, queue));
    let sweeping = tokio::spawn(sweep(native.clone()));
    let shell = Arc::new(Shell { runtime: native.clone(), native: native.clone(), watch: Watch::default() });
    let answer = move |peer, request| handle(&shell, peer, request);
    let listening = (listener, native.tls.get().cloned());
    let last = connection::accept(listening, || door.limits().clone(), answer, shutdown).await;
    native.streams().stop();
    let grace = Duration::from_secs(native.environment().settings.stop_seconds.into());
    let grace = if waited_for { grace.min(HANDED_OVER) } else { grace };
    if tokio::time::timeout(grace, last).await.is_err() {
        log::warning!("stopped with requests still open after {} s", grace.as_secs());
    }
    sweeping.abort();
}

/// Cuts clients that have read nothing for `client_seconds`.
async fn sweep(native: Arc<Native>) {
    loop {
        let patience = Duration::from_secs(native.environment().settings.client_seconds.into());
        tokio::time::sleep(patience / 3).await;
        native.streams().queue().cut_older(patience);
    }
}

/// The answer to a request. Everything that the head decides is decided before a future is made: a request with all its
/// headers is large, and moving it costs more than most of the work on it.
fn handle(
    shell: &Arc<Shell>,
    peer: IpAddr,
    request: http::Request<Incoming>,
) -> impl Future<Output = http::Response<Content>> + Send + use<> {
    let (settings, runtime) = (shell.settings(), &shell.runtime);
    let (head, body) = request.into_parts();
    let origin = runtime.environment().proxies.origin(peer, &head.headers);
    shell.watch.look(peer, &origin);
    let trace = Trace::of(&head.headers);
    let (method, uri) = (head.method.clone(), head.uri.clone());
    let (started, mut slot) = (Instant::now(), Slot::None);
    let answering: BoxFuture<'static, Response> = if let Some(error) = host::wrong(&head) {
        discard(body, &head.headers);
        Box::pin(std::future::ready(routes::refusal(error)))
    } else if websocket::is_upgrade(&head) {
        return Either::Left(Box::pin(trace::within(trace, upgrade(shell.native.clone(), head, started))));
    } else {
        match routes::preflight(&PROGRAM, &head.method, head.uri.path(), &head.headers, settings) {
            Preflight::Answer(response) => {
                discard(body, &head.headers);
                Box::pin(std::future::ready(*response))
            }
            Preflight::Read(matched) if body.is_end_stream() => {
                slot = Slot::Route(matched.number());
                routes::answer(runtime.clone(), matched, bodiless(head, &origin))
            }
            Preflight::Read(matched) => {
                slot = Slot::Route(matched.number());
                Box::pin(reading(shell.clone(), matched, bodiless(head, &origin), body))
            }
        }
    };
    let native = shell.native.clone();
    Either::Right(trace::within(trace, async move {
        // A panic becomes a 500 of this request.
        let answered = AssertUnwindSafe(answering).catch_unwind().await;
        let response = answered.unwrap_or_else(|_| Response::error(Error::internal("panic in the handler")));
        report(&method, &named(uri.path()), response.cause.as_deref());
        let time = started.elapsed();
        native.counted().requests.count(slot, response.status.as_u16(), time);
        if log::has_requests() {
            access(&origin, &method, &named(uri.path()), response.status.as_u16(), time);
        }
        let mut response = outgoing(response);
        // Who named a trace, and who has to tell of a failure, learns what the log calls the request.
        if (trace.given || response.status().is_server_error())
            && let Some(value) = trace.header()
        {
            response.headers_mut().insert(trace::HEADER, value);
        }
        response
    }))
}

/// A path for the log, without keys that somebody put there.
fn named(path: &str) -> Cow<'_, str> {
    let is_key = |part: &str| {
        let secret = ["_key_", "_agent_"].iter().any(|mark| part.contains(mark));
        secret || part.starts_with("whsec_") || (part.len() >= 64 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    match path.split('/').any(is_key) {
        false => Cow::Borrowed(path),
        true => {
            path.split('/').map(|part| if is_key(part) { "..." } else { part }).collect::<Vec<_>>().join("/").into()
        }
    }
}

/// The line of the log that every request gets when the operator wants that.
fn access(origin: &Origin, method: &Method, path: &str, status: u16, time: Duration) {
    let (client, micros) = (origin.client, u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    log::info!(
        client = %client, method = %method, path, status, micros,
        "{client} {method} {path} {status} {micros} us"
    );
}

/// The request as the core takes it, before its body is read.
fn bodiless(mut head: http::request::Parts, origin: &Origin) -> Request {
    host::stated(&mut head);
    Request {
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        method: head.method,
        headers: head.headers,
        body: Bytes::new(),
        client: Some(origin.client),
        forwarded: origin.forwarded,
        ..Request::default()
    }
}

/// The answer to a request with a body. The body is read only when the key is known to be valid.
async fn reading(shell: Arc<Shell>, matched: Matched, mut request: Request, body: Incoming) -> Response {
    let admitted = match routes::admit(&*shell.runtime, &matched, &request).await {
        Ok(admitted) => admitted,
        Err(refusal) => {
            discard(body, &request.headers);
            return *refusal;
        }
    };
    // Charged for as long as the body may be in memory.
    let charge = shell
        .budgets()
        .and_then(|budgets| budgets.bodies.take(request.client.and_then(|client| budgets.address(client)), 0));
    let Some(mut charge) = charge else { return matched.refusal(no_room(), shell.settings()) };
    match read(body, &request.headers, &matched, &shell, &mut charge).await {
        Ok(body) => request.body = body,
        Err(response) => return *response,
    }
    let response = routes::answer_admitted(shell.runtime.clone(), matched, admitted, request).await;
    drop(charge);
    response
}

fn no_room() -> Error {
    Error::busy("The server holds as many bytes of request bodies as it may; wait, then send the request again.")
}

/// Turns the connection into a WebSocket, or answers with the reason why not.
async fn upgrade(native: Arc<Native>, head: http::request::Parts, started: Instant) -> http::Response<Content> {
    let answer = upgraded(native.clone(), head).await;
    let metrics = native.counted();
    metrics.requests.count(metrics.websockets, answer.status().as_u16(), started.elapsed());
    answer
}

async fn upgraded(native: Arc<Native>, mut head: http::request::Parts) -> http::Response<Content> {
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut head, &()).await {
        Ok(upgrade) => upgrade,
        Err(rejection) => {
            return outgoing(routes::refusal(Error::bad_request(format!(
                "This is not a WebSocket request: {rejection}."
            ))));
        }
    };
    let query = head.uri.query().unwrap_or_default();
    match websocket::accept(native, upgrade, &head.headers, query).await {
        // An answer that changes the protocol has no body.
        Ok(response) => response.map(|_| Content::Whole(Bytes::new())),
        Err(error) => {
            report(&head.method, &named(head.uri.path()), error.cause.as_deref());
            outgoing(Response::error(error))
        }
    }
}

/// Logs the cause of an error for the operator; the client never sees it.
fn report(method: &Method, path: &str, cause: Option<&str>) {
    if let Some(cause) = cause {
        log::error!("{method} {path}: {cause}");
    }
}

/// Reads a body up to its limit. Each piece must come in time and is charged when it arrives. The error is the answer
/// to the client.
async fn read(
    body: Incoming,
    headers: &HeaderMap,
    matched: &Matched,
    shell: &Shell,
    charge: &mut Charge,
) -> Result<Bytes, Box<Response>> {
    let (limit, settings) = (matched.max_body(), shell.settings());
    let refused = |error| Err(Box::new(matched.refusal(error, settings)));
    let too_large = || Err(Box::new(routes::too_large(matched, settings)));
    let stated = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if stated.is_some_and(|length| length > limit) {
        discard(body, headers);
        return too_large();
    }
    let mut pieces = BodyDataStream::new(body);
    let pace = Pace::new(shell.patience());
    let mut whole = BytesMut::new();
    loop {
        let piece = match tokio::time::timeout_at(pace.next(whole.len()), pieces.next()).await {
            Ok(Some(Ok(piece))) => piece,
            Ok(None) => return Ok(whole.freeze()),
            Ok(Some(Err(_))) | Err(_) => {
                return refused(Error::bad_request("The body did not arrive completely, or too slowly."));
            }
        };
        if whole.len() + piece.len() > limit {
            discard_rest(pieces, headers);
            return too_large();
        }
        if !charge.grow(piece.len() as u64) {
            discard_rest(pieces, headers);
            return refused(no_room());
        }
        // Most bodies come in one piece, which need not be copied.
        if whole.is_empty() && stated == Some(piece.len()) {
            return Ok(piece);
        }
        whole.extend_from_slice(&piece);
    }
}

/// The times at which the pieces of a body are due.
struct Pace {
    begun: tokio::time::Instant,
    patience: Duration,
}

impl Pace {
    fn new(patience: Duration) -> Pace {
        Pace { begun: tokio::time::Instant::now(), patience }
    }

    /// The time at which the next piece is due, when `bytes` bytes have arrived.
    fn next(&self, bytes: usize) -> tokio::time::Instant {
        let slow = SLOW_START.max(Duration::from_secs(bytes as u64 / SLOWEST));
        (tokio::time::Instant::now() + self.patience).min(self.begun + slow.min(self.patience * BODY))
    }
}

/// Reads, within bounds, the rest of a refused body while the refusal is sent.
fn discard(body: Incoming, headers: &HeaderMap) {
    if !body.is_end_stream() {
        discard_rest(BodyDataStream::new(body), headers);
    }
}

fn discard_rest(mut pieces: BodyDataStream<Incoming>, headers: &HeaderMap) {
    // A client that sent `Expect` sends no body after a refusal, unless the server reads.
    if headers.contains_key(header::EXPECT) {
        return;
    }
    let mut left = DISCARD_BYTES;
    let reading = async move {
        while let Some(Ok(piece)) = pieces.next().await {
            match left.checked_sub(piece.len()) {
                Some(rest) => left = rest,
                None => break,
            }
        }
    };
    // A slower client may see the broken pipe.
    tokio::spawn(tokio::time::timeout(DISCARD_TIME, reading));
}

pub(crate) fn outgoing(response: Response) -> http::Response<Content> {
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
    fn a_key_in_a_path_is_not_in_the_log() {
        for (path, said) in [
            ("/v1/admin/keys/svc_key_abc", "/v1/admin/keys/..."),
            ("/x/svc_agent_abc/y", "/x/.../y"),
            ("/v1/agent/did:svc:VanTWgMccx3BpGjeJ6TyZA", "/v1/agent/did:svc:VanTWgMccx3BpGjeJ6TyZA"),
        ] {
            assert_eq!(named(path), said);
        }
        assert_eq!(named(&format!("/{}", "a1".repeat(32))), "/...");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_has_ten_seconds_and_then_a_second_for_each_kilobyte() {
        let seconds = Duration::from_secs;
        let pace = Pace::new(seconds(30));
        let left = |bytes| pace.next(bytes).saturating_duration_since(pace.begun);
        assert_eq!(
            (left(0), left(10_000), left(12 << 10), left(20 << 10)),
            (seconds(10), seconds(10), seconds(12), seconds(20))
        );
        // No piece may take longer than `client_seconds`, and no body longer than ten times that.
        assert_eq!(left(1 << 20), seconds(30));
        tokio::time::advance(seconds(290)).await;
        assert_eq!(left(8 << 20), seconds(300));
    }
}
