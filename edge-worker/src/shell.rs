//! Requests and responses between the platform's types and the core's.

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use heliograph_core::http::{Body, Request, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use worker::{Headers, ResponseBuilder, Result, js_sys};

use crate::errand::ADDRESS;

/// A request without its body.
pub struct Head {
    pub method: Method,
    /// As sent, still percent-encoded.
    pub path: String,
    pub query: String,
    pub headers: HeaderMap,
    /// The number of the network that the request came from, as the platform says.
    pub network: Option<u32>,
}

pub fn head(request: &worker::Request) -> Result<Head> {
    let url = request.url()?;
    let mut headers = HeaderMap::new();
    for (name, value) in request.headers().entries() {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&value)) {
            headers.append(name, value);
        }
    }
    let method = Method::from_bytes(request.inner().method().as_bytes()).map_err(|error| error.to_string())?;
    let (path, query) = (url.path().to_owned(), url.query().unwrap_or_default().to_owned());
    let network = request.cf().and_then(worker::Cf::asn);
    Ok(Head { method, path, query, headers, network })
}

impl Head {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The client's address: what a trusted proxy says where one is configured, else what the platform says. A client
    /// cannot set the platform's header, except on a machine that has no platform around it.
    pub fn client(&self, trusted: &str) -> Option<std::net::IpAddr> {
        let name = if trusted.is_empty() { "cf-connecting-ip" } else { trusted };
        let stated = self.headers.get_all(name).iter().next_back()?.to_str().ok()?;
        stated.rsplit(',').next()?.trim().parse().ok()
    }

    pub fn with_body(self, body: Bytes, client: Option<std::net::IpAddr>) -> Request {
        let Head { method, path, query, headers, network } = self;
        Request { method, path, query, headers, body, client, network }
    }

    /// A request that the Worker forwarded to an object.
    pub fn forwarded(mut self, body: Bytes) -> Request {
        let address = self.headers.remove(ADDRESS);
        let client = address.and_then(|value| value.to_str().ok()?.parse().ok());
        self.with_body(body, client)
    }
}

pub enum Unread {
    TooLarge,
    Broken,
}

/// Most of an unwanted body that is read.
const DISCARD: usize = 32 * 1024 * 1024;

/// Reads and forgets a body: the runtime closes a connection whose request was not read to its end, and a client that
/// is still sending would never see the answer.
pub async fn discard(request: &mut worker::Request) {
    if let Ok(pieces) = request.stream() {
        drain(pieces).await;
    }
}

async fn drain(mut pieces: worker::ByteStream) {
    let mut read = 0;
    while let Some(Ok(piece)) = pieces.next().await {
        read += piece.len();
        if read > DISCARD {
            return;
        }
    }
}

/// Reads a body of at most `limit` bytes.
pub async fn body(request: &mut worker::Request, head: &Head, limit: usize) -> Result<Bytes, Unread> {
    let stated = head.header("content-length").and_then(|value| value.parse::<usize>().ok());
    if stated.is_some_and(|length| length > limit) {
        discard(request).await;
        return Err(Unread::TooLarge);
    }
    if stated.is_some() {
        return request.bytes().await.map(Bytes::from).map_err(|_| Unread::Broken);
    }
    // The platform says so when there is no body.
    let Ok(mut pieces) = request.stream() else { return Ok(Bytes::new()) };
    let mut whole = BytesMut::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| Unread::Broken)?;
        if whole.len() + piece.len() > limit {
            drain(pieces).await;
            return Err(Unread::TooLarge);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

pub fn response(response: Response) -> Result<worker::Response> {
    let headers = Headers::new();
    for (name, value) in &response.headers {
        headers.append(name.as_str(), value.to_str().map_err(|error| error.to_string())?)?;
    }
    // Clients compare their clocks with it (spec ledger 5). The platform's network adds it, the runtime alone does not.
    headers.set("date", &String::from(js_sys::Date::new_0().to_utc_string()))?;
    let builder = ResponseBuilder::new().with_status(response.status.as_u16()).with_headers(headers);
    match response.body {
        Body::Bytes(bytes) if bytes.is_empty() => Ok(builder.empty()),
        Body::Bytes(bytes) => Ok(builder.fixed(bytes.into())),
        Body::Stream(stream) => builder.from_stream(stream.map(Ok::<_, worker::Error>)),
    }
}

/// Tells the operator the cause of a failure, which never leaves the Worker.
pub fn logged(route: &str, response: Response) -> Response {
    if let Some(cause) = &response.cause {
        worker::console_error!("{route}: {cause}");
    }
    response
}
