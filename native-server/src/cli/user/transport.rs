//! How the client library makes its requests here: with the client that `--to` uses, so that the program has one.

use std::io::Read;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use heliograph_client::http::{Body, Request, Response, Transport};
use heliograph_client::{Error, Result};
use tokio::task::spawn_blocking;

use crate::trust;

/// Most bytes of one piece.
const PIECE: usize = 16 << 10;
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);

/// A future as the library's traits want it.
type Work<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Keeps connections open, and follows no redirects, since a key must not go to another address. Each request waits in
/// a thread of its own, of which a command has one or two.
#[derive(Debug)]
pub struct Ureq(ureq::Agent);

impl Ureq {
    /// Errors: [`Error::Usage`] if the certificates that it should trust cannot be read.
    pub fn new() -> Result<Ureq> {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT))
            .tls_config(trust::tls().map_err(Error::Usage)?)
            .user_agent(concat!("heliograph/", env!("CARGO_PKG_VERSION")));
        Ok(Ureq(config.build().new_agent()))
    }
}

fn failure(error: &ureq::Error, timeout: Option<Duration>) -> Error {
    match error {
        ureq::Error::Timeout(_) => Error::TimedOut(timeout.unwrap_or(CONNECT)),
        other => Error::Unreachable(trust::explained(other)),
    }
}

fn ended(error: impl std::fmt::Display) -> Error {
    Error::Unreachable(error.to_string())
}

impl Transport for Ureq {
    fn send(&self, request: Request) -> Work<'_, Result<Response>> {
        let agent = self.0.clone();
        Box::pin(async move {
            let timeout = request.timeout;
            let sent = spawn_blocking(move || {
                let url = request.url;
                let head =
                    request.headers.iter().fold(
                        http::Request::builder().method(request.method.as_str()).uri(&url),
                        |head, (name, value)| head.header(name, value),
                    );
                let wrong = |error: http::Error| Error::Usage(format!("{url}: {error}"));
                let answer = match request.body {
                    Some(body) => {
                        let request = head.body(body).map_err(wrong)?;
                        agent.run(agent.configure_request(request).timeout_global(timeout).build())
                    }
                    None => {
                        let request = head.body(()).map_err(wrong)?;
                        agent.run(agent.configure_request(request).timeout_global(timeout).build())
                    }
                };
                answer.map_err(|error| match failure(&error, timeout) {
                    Error::Unreachable(text) => Error::Unreachable(format!("{url}: {text}")),
                    other => other,
                })
            });
            let (head, body) = sent.await.map_err(ended)??.into_parts();
            let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
            let headers = head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
            let reader = body.into_with_config().limit(u64::MAX).reader();
            let body = Pieces { reader: Mutex::new(Some(Box::new(reader))), timeout };
            Ok(Response { status: head.status.as_u16(), headers, body: Box::new(body) })
        })
    }
}

/// A body that is read in a thread where it may wait. The lock only makes it one that threads may share.
struct Pieces {
    reader: Mutex<Option<Box<dyn Read + Send>>>,
    timeout: Option<Duration>,
}

impl Body for Pieces {
    fn piece(&mut self) -> Work<'_, Result<Option<Vec<u8>>>> {
        Box::pin(async move {
            let reader = self.reader.get_mut().unwrap_or_else(PoisonError::into_inner);
            let Some(mut from) = reader.take() else { return Ok(None) };
            let read = spawn_blocking(move || {
                let mut bytes = vec![0; PIECE];
                let read = from.read(&mut bytes);
                let read = read.map(|length| {
                    bytes.truncate(length);
                    bytes
                });
                (from, read)
            });
            let (from, read) = read.await.map_err(ended)?;
            let bytes = read.map_err(|error| failure(&ureq::Error::from(error), self.timeout))?;
            if bytes.is_empty() {
                return Ok(None);
            }
            *reader = Some(from);
            Ok(Some(bytes))
        })
    }
}
