//! Requests and responses as the core sees them.

use std::net::IpAddr;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, StatusCode};
use serde::Serialize;

use crate::runtime::ByteStream;
use crate::{Error, Result};

/// A request whose body has been read within its limit.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: Method,
    /// The path as sent, still percent-encoded.
    pub path: String,
    /// The query as sent, without `?`; empty when absent.
    pub query: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The address of the client: the socket's peer, or what a trusted proxy says.
    pub client: Option<IpAddr>,
}

impl Request {
    /// A header as text; `None` when absent or not visible ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
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
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        Response { status, headers, body: Body::Bytes(body.into()), cause: None }
    }

    /// 200 with JSON.
    pub fn json(value: &impl Serialize) -> Result<Self> {
        Response::json_with(StatusCode::OK, value)
    }

    /// 201 with JSON.
    pub fn created(value: &impl Serialize) -> Result<Self> {
        Response::json_with(StatusCode::CREATED, value)
    }

    pub fn json_with(status: StatusCode, value: &impl Serialize) -> Result<Self> {
        let body = serde_json::to_vec(value).map_err(Error::internal)?;
        Ok(Response::new(status, "application/json", body))
    }

    /// The error body of interface section 7.
    pub fn error(error: Error) -> Self {
        let body = ErrorBody { error: error.code.as_str(), message: &error.message };
        // Two strings always serialize.
        let body = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = Response::new(error.code.status(), "application/json", body);
        if let Some(seconds) = error.retry_after {
            response.set("retry-after", &seconds.to_string());
        }
        response.cause = error.into_details().cause;
        response
    }

    /// Sets a header; a value that cannot stand in a header is left out.
    pub fn set(&mut self, name: &'static str, value: &str) {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.set(name, value);
        self
    }
}
