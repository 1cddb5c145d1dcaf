//! One call of a route: its request, its tries, its answer.

use std::fmt::Display;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rand_chacha::rand_core::Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::client::Client;
use super::transport::{Method, Request, Response};
use crate::{Code, Error, Refusal, Result, platform};

/// The wait before the second try; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait that the service did not ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// A request that is being put together.
pub struct Call<'a> {
    client: &'a Client,
    method: Method,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
    /// Whether doing it twice has the effect of doing it once (decision what-is-tried-again).
    repeatable: bool,
    failed: Option<Error>,
}

impl<'a> Call<'a> {
    pub fn new(client: &'a Client, method: Method, path: String) -> Call<'a> {
        let repeatable = method == Method::Get;
        let headers = vec![("accept".to_owned(), "application/json".to_owned())];
        // The path is appended to the address: without its slash it would lead on with the name of the host, and a key of
        // an agent would go there.
        let is_path = path.starts_with('/') && !path.starts_with("//");
        let failed = (!is_path).then(|| Error::usage(format!("the path `{path}` must begin with one `/`")));
        Call { client, method, path, headers, body: None, repeatable, failed }
    }

    /// Adds a parameter, if there is a value.
    pub fn query(mut self, name: &str, value: Option<impl Display>) -> Self {
        if let Some(value) = value {
            self.path.push(if self.path.contains('?') { '&' } else { '?' });
            self.path.push_str(name);
            self.path.push('=');
            self.path.extend(utf8_percent_encode(&value.to_string(), NON_ALPHANUMERIC));
        }
        self
    }

    /// Adds a query as it is.
    pub fn raw_query(mut self, query: Option<&str>) -> Self {
        if let Some(query) = query {
            self.path.push(if self.path.contains('?') { '&' } else { '?' });
            self.path.push_str(query);
        }
        self
    }

    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub fn accept(mut self, media_type: &str) -> Self {
        self.headers.retain(|(name, _)| name != "accept");
        self.header("accept", media_type)
    }

    /// Sends the API key of an agent.
    pub fn key(self, key: &str) -> Self {
        self.header("x-agent-key", key)
    }

    /// Sends this value as JSON.
    pub fn json(self, body: &impl Serialize) -> Self {
        self.text(serde_json::to_vec(body))
    }

    fn text(mut self, body: serde_json::Result<Vec<u8>>) -> Self {
        match body {
            Ok(bytes) => self.body = Some(bytes),
            Err(error) => self.failed = Some(Error::usage(format!("the request cannot be written as JSON: {error}"))),
        }
        self.header("content-type", "application/json")
    }

    /// Says that the service does a repeat of this request once only.
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Makes a repeat harmless with a key of its own.
    pub fn once(mut self) -> Self {
        match platform::unique() {
            Ok(key) => self.header("idempotency-key", key).repeatable(),
            Err(error) => {
                self.failed = Some(error);
                self
            }
        }
    }

    fn request(&self, timeout: Option<Duration>) -> Request {
        Request {
            method: self.method,
            url: format!("{}{}", self.client.inner.base, self.path),
            headers: self.headers.clone(),
            body: self.body.clone(),
            timeout,
        }
    }

    /// Sends, tries again where that is safe, and reads the answer.
    pub async fn send<T: DeserializeOwned>(self) -> Result<T> {
        // Only this is compiled for each type: what a page loads depends on it.
        let bytes = self.bytes().await?;
        serde_json::from_slice(&bytes).map_err(|error| Error::Answer(error.to_string()))
    }

    /// [`Call::send`] without reading the answer.
    pub async fn bytes(mut self) -> Result<Vec<u8>> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let config = self.client.inner.config;
        let mut tries = 1;
        loop {
            let failure = match self.attempt(config.timeout).await {
                Ok(bytes) => return Ok(bytes),
                Err(failure) => failure,
            };
            match self.wait_before_next(&failure, tries)? {
                Some(wait) if tries < config.tries => platform::pause(wait).await,
                _ => return Err(failure),
            }
            tries += 1;
        }
    }

    async fn attempt(&self, timeout: Duration) -> Result<Vec<u8>> {
        let mut answer = self.client.inner.transport.send(self.request(Some(timeout))).await?;
        let bytes = answer.bytes().await?;
        if (200..300).contains(&answer.status) { Ok(bytes) } else { Err(refusal(&answer, &bytes)) }
    }

    /// Opens a stream: no time-out for the whole, no repeats.
    pub async fn open(mut self) -> Result<Response> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let timeout = self.client.inner.config.timeout;
        let open = self.client.inner.transport.send(self.request(None));
        let mut answer = platform::within(timeout, open).await.ok_or(Error::TimedOut(timeout))??;
        if (200..300).contains(&answer.status) {
            return Ok(answer);
        }
        let bytes = answer.bytes().await?;
        Err(refusal(&answer, &bytes))
    }

    /// How long to wait before the next try; `None` if there must be none.
    fn wait_before_next(&self, failure: &Error, tries: u32) -> Result<Option<Duration>> {
        let asked = match failure {
            // The service did nothing, so any request may be repeated.
            Error::Refused(refusal) if refusal.status == 429 => refusal.retry_after,
            Error::Refused(refusal) if self.repeatable && refusal.status >= 500 => refusal.retry_after,
            Error::Unreachable(_) | Error::TimedOut(_) if self.repeatable => None,
            _ => return Ok(None),
        };
        match asked {
            Some(asked) if asked > self.client.inner.config.patience => Ok(None),
            Some(asked) => Ok(Some(asked)),
            None => back_off(tries).map(Some),
        }
    }
}

/// The wait after this many failures: twice as long each time, and different for each client.
pub fn back_off(failures: u32) -> Result<Duration> {
    let longest = FIRST_WAIT.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST_WAIT);
    let part = platform::random()?.next_u32();
    Ok(longest / 2 + longest.mul_f64(0.5 * f64::from(part) / f64::from(u32::MAX)))
}

/// Reads an error answer, in the form of the service or of something in between.
fn refusal(answer: &Response, body: &[u8]) -> Error {
    #[derive(Deserialize, Default)]
    struct Members {
        error: Option<String>,
        message: Option<String>,
        reason: Option<String>,
    }
    let members: Members = serde_json::from_slice(body).unwrap_or_default();
    let code = match members.error {
        Some(code) => Code::of(&code),
        None => Code::Other(format!("HTTP_{}", answer.status)),
    };
    let seconds = answer.header("retry-after").and_then(|text| text.trim().parse().ok());
    Error::Refused(Box::new(Refusal {
        status: answer.status,
        code,
        reason: members.reason,
        message: members.message.unwrap_or_else(|| "The answer says no reason.".to_owned()),
        retry_after: seconds.map(Duration::from_secs),
    }))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::super::transport::Transport;
    use super::super::{Config, Request};
    use super::*;
    use crate::platform::Work;

    /// Answers with the address that it was asked for.
    struct Mirror;

    impl Transport for Mirror {
        fn send(&self, request: Request) -> Work<'_, Result<Response>> {
            Box::pin(async move { Err(Error::Answer(request.url)) })
        }
    }

    #[test]
    fn no_path_leads_to_another_host() {
        let client = Client::with("http://relay.example", Config::default(), Mirror).unwrap();
        let asked = |path: &str| client.get(path).now_or_never().unwrap().unwrap_err();
        for path in ["@evil.example/x", ".evil.example/x", ":1/x", "v1/agent/profile", "//evil.example/x", ""] {
            assert!(matches!(asked(path), Error::Usage(_)), "{path}");
        }
        assert_eq!(asked("/x?y=1"), Error::Answer("http://relay.example/x?y=1".to_owned()));
    }
}
