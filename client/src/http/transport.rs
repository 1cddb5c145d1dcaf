//! What carries requests. [`DefaultTransport`](super::DefaultTransport) is the one of the platform; tests and special
//! networks bring their own.

use std::fmt;
use std::time::Duration;

use crate::platform::{Shared, Work};
use crate::{Error, Result};

/// Most bytes of an answer that is read whole.
pub const MAX_ANSWER: usize = 64 << 20;

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// The method of this name, in capital or small letters.
    pub fn of(name: &str) -> Option<Method> {
        let all = [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete];
        all.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(name))
    }

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }
}

/// One request.
#[derive(Clone)]
pub struct Request {
    pub method: Method,
    pub url: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    /// How long the whole answer may take; `None` for a stream.
    pub timeout: Option<Duration>,
}

impl fmt::Debug for Request {
    /// Shows no values of headers and no body, since they hold keys and texts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

/// The body of an answer, piece by piece.
pub trait Body: Shared {
    /// The next piece; `None` at the end.
    fn piece(&mut self) -> Work<'_, Result<Option<Vec<u8>>>>;
}

/// The head of an answer, and its body to be read.
pub struct Response {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Box<dyn Body>,
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response").field("status", &self.status).finish_non_exhaustive()
    }
}

impl Response {
    /// The value of a header, whose name is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// Reads the whole body, at most [`MAX_ANSWER`] bytes.
    pub async fn bytes(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.body.piece().await? {
            if bytes.len() + piece.len() > MAX_ANSWER {
                return Err(Error::Answer(format!("it is longer than {MAX_ANSWER} bytes")));
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }
}

/// Sends requests.
pub trait Transport: Shared {
    /// Sends one request and reads the head of the answer. Any status is an answer.
    ///
    /// Errors: [`Error::Unreachable`], [`Error::TimedOut`].
    fn send(&self, request: Request) -> Work<'_, Result<Response>>;
}
