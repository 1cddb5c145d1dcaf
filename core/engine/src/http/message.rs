//! Requests and responses as the core sees them.

use std::net::IpAddr;

use bytes::Bytes;
use http::header::{self, CONTENT_TYPE, HeaderValue, IntoHeaderName, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, Method, StatusCode};
use serde::Serialize;

use super::MadeKey;
use crate::runtime::ByteStream;
use crate::{Error, Result};

/// A request whose body has been read within its limit. The default asks for nothing, of nobody in particular.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub method: Method,
    /// The path as sent, still percent-encoded.
    pub path: String,
    /// The query as sent, without `?`; empty when absent.
    pub query: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The address of the client: the socket's peer, or what a trusted proxy says ([`super::Proxies`]).
    pub client: Option<IpAddr>,
    /// Whether a trusted proxy passed it on, so that it comes from the world and not from this machine.
    pub forwarded: bool,
    /// The number of the network that the client is in, where the platform knows it.
    pub network: Option<u32>,
    /// The agent key in the headers, if it was checked before the request was handed on ([`super::handed_on`]).
    pub key: Option<MadeKey>,
}

impl Request {
    /// A header as text; `None` when absent or not visible ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The token of the `Authorization` header, unless it is empty; the name of the scheme in any case (RFC 9110 section
    /// 11.1).
    pub fn bearer(&self) -> Option<&str> {
        let (scheme, token) = self.header("authorization")?.split_once(' ')?;
        let token = token.trim();
        (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
    }
}

/// What a response carries.
pub enum Body {
    Bytes(Bytes),
    /// Pieces as they come, for server-sent events and exports.
    Stream(ByteStream),
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Body::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Body::Stream(_) => f.write_str("stream"),
        }
    }
}

/// An answer.
#[derive(Debug)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Body,
    /// The operator's view of a failure; logged, never sent.
    pub cause: Option<String>,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    error: &'static str,
    message: &'a str,
}

impl Response {
    pub fn new(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        // Room for what the router adds.
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        Response { status, headers, body: Body::Bytes(body.into()), cause: None }
    }

    /// 200 with JSON.
    pub fn json(value: &impl Serialize) -> Result<Self> {
        Response::json_with(StatusCode::OK, value)
    }

    /// 200 with what is JSON already.
    pub fn json_text(body: impl Into<Bytes>) -> Self {
        Response::new(StatusCode::OK, "application/json", body)
    }

    /// 200 with JSON about the past, which is computed anew for every request and not to be kept.
    pub fn uncached(value: &impl Serialize) -> Result<Self> {
        Ok(Response::json(value)?.with(header::CACHE_CONTROL, "no-store"))
    }

    /// 201 with JSON.
    pub fn created(value: &impl Serialize) -> Result<Self> {
        Response::json_with(StatusCode::CREATED, value)
    }

    pub fn json_with(status: StatusCode, value: &impl Serialize) -> Result<Self> {
        let body = serde_json::to_vec(value).map_err(Error::internal)?;
        Ok(Response::new(status, "application/json", body))
    }

    /// 303 to another place, which nobody keeps.
    pub fn see_other(to: &str) -> Self {
        let response = Response::new(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", Bytes::new());
        response.with(header::LOCATION, to).with(header::CACHE_CONTROL, "no-store")
    }

    /// The error body.
    pub fn error(error: Error) -> Self {
        let body = ErrorBody { error: error.code.as_str(), message: &error.message };
        // Two strings always serialize.
        let body = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = Response::new(error.code.status(), "application/json", body);
        if let Some(seconds) = error.retry_after {
            response.headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.cause = error.into_details().cause;
        response
    }

    /// Sets a header; a value that cannot stand in a header is left out.
    pub fn set(&mut self, name: impl IntoHeaderName, value: &str) {
        set(&mut self.headers, name, value);
    }

    pub fn with(mut self, name: impl IntoHeaderName, value: &str) -> Self {
        self.set(name, value);
        self
    }
}

/// Sets a header; a value that cannot stand in a header is left out.
pub(super) fn set(headers: &mut HeaderMap, name: impl IntoHeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// What a page of any origin may read of an answer.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, ETag, Content-Disposition, Date, Link, \
     Deprecation, Sunset, X-Generated-At, X-License",
);

/// The media type of metrics in the text format of Prometheus.
pub const METRICS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The headers of an answer that any page may read (decision any-origin).
pub(super) fn open_to_all(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    no_sniffing(headers);
}

/// Every answer says that its media type is meant.
pub(super) fn no_sniffing(headers: &mut HeaderMap) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}
