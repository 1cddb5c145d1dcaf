//! Requests of a native program: reqwest, with TLS by rustls and ring and the roots of Mozilla.

use std::sync::Arc;
use std::time::Duration;

use super::transport::{Body, Method, Request, Response, Transport};
use crate::platform::Work;
use crate::{Error, Result};

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);

/// The transport of native programs. It keeps connections open and follows no redirects, since a key must not go to
/// another address.
#[derive(Debug, Clone)]
pub struct Native(reqwest::Client);

impl Native {
    /// Errors: [`Error::Unreachable`] if TLS cannot be set up.
    pub fn new() -> Result<Native> {
        let mut roots = rustls::RootCertStore::empty();
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Unreachable(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("heliograph-client/", env!("CARGO_PKG_VERSION")))
            .build();
        client.map(Native).map_err(|error| unreachable(&error))
    }
}

/// The whole chain of causes: the first one alone says only that sending failed.
fn unreachable(error: &reqwest::Error) -> Error {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    Error::Unreachable(text)
}

struct Pieces {
    answer: reqwest::Response,
    timeout: Option<Duration>,
}

fn failure(error: &reqwest::Error, timeout: Option<Duration>) -> Error {
    match timeout {
        Some(timeout) if error.is_timeout() => Error::TimedOut(timeout),
        _ if error.is_connect() && error.is_timeout() => Error::TimedOut(CONNECT),
        _ => unreachable(error),
    }
}

impl Body for Pieces {
    fn piece(&mut self) -> Work<'_, Result<Option<Vec<u8>>>> {
        Box::pin(async move {
            let piece = self.answer.chunk().await.map_err(|error| failure(&error, self.timeout))?;
            Ok(piece.map(|bytes| bytes.to_vec()))
        })
    }
}

impl Transport for Native {
    fn send(&self, request: Request) -> Work<'_, Result<Response>> {
        Box::pin(async move {
            let method = match request.method {
                Method::Get => reqwest::Method::GET,
                Method::Post => reqwest::Method::POST,
                Method::Put => reqwest::Method::PUT,
                Method::Patch => reqwest::Method::PATCH,
                Method::Delete => reqwest::Method::DELETE,
            };
            let timeout = request.timeout;
            let mut call = self.0.request(method, &request.url);
            for (name, value) in &request.headers {
                call = call.header(name, value);
            }
            if let Some(timeout) = timeout {
                call = call.timeout(timeout);
            }
            if let Some(body) = request.body {
                call = call.body(body);
            }
            let answer = call.send().await.map_err(|error| failure(&error, timeout))?;
            let text = |value: &reqwest::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
            let headers = answer.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
            Ok(Response { status: answer.status().as_u16(), headers, body: Box::new(Pieces { answer, timeout }) })
        })
    }
}
