//! A client with the same interface for all targets: one request, one answer.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use heliograph_core::Timestamp;
use heliograph_core::engine::http as core_http;
use heliograph_core::engine::runtime::Runtime;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::Value;

use crate::{described, recorded};

/// Longest time that a test waits for one answer. workerd makes 250 objects for some, while other tests run.
const TIMEOUT: Duration = Duration::from_secs(180);

/// A client of one deployment.
#[derive(Clone)]
pub struct Client {
    transport: Transport,
    headers: Vec<(String, String)>,
}

#[derive(Clone)]
enum Transport {
    Memory(Arc<dyn Runtime>),
    Http(ureq::Agent, String),
}

/// A complete answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The body as JSON, whatever the status.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {} {:?}", self.status, self.body))
    }

    /// The JSON of an answer that must have this status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        let body = self.json();
        crate::sentences::check(&body);
        body
    }

    /// Checks an error body with this status and code.
    #[track_caller]
    pub fn expect_error(&self, status: u16, code: &str) {
        let body = self.expect(status);
        assert_eq!(body["error"], code, "{body}");
        assert!(body["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
        assert_eq!(self.header("content-type"), Some("application/json"));
    }
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub event: String,
    pub data: String,
    pub id: Option<String>,
}

impl Client {
    pub fn http(base: &str) -> Client {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(TIMEOUT))
            .allow_non_standard_methods(true)
            .build()
            .new_agent();
        Client { transport: Transport::Http(agent, base.to_owned()), headers: Vec::new() }
    }

    pub fn memory(runtime: Arc<dyn Runtime>) -> Client {
        Client { transport: Transport::Memory(runtime), headers: Vec::new() }
    }

    /// `http://<address>` of a server; `None` for a runtime in this process.
    pub fn base(&self) -> Option<&str> {
        match &self.transport {
            Transport::Memory(_) => None,
            Transport::Http(_, base) => Some(base),
        }
    }

    /// The time of the deployment: the machine's time; in memory it stands still until a test waits.
    pub fn now(&self) -> Timestamp {
        match &self.transport {
            Transport::Memory(runtime) => runtime.now(),
            Transport::Http(..) => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                Timestamp::from_millis(since.as_millis() as i64)
            }
        }
    }

    /// Lets this time pass, with everything that falls due in it.
    pub fn wait(&self, duration: Duration) {
        match &self.transport {
            Transport::Memory(runtime) => block_on(runtime.sleep(duration)),
            Transport::Http(..) => std::thread::sleep(duration),
        }
    }

    /// Looks again until something is there; later effects happen meanwhile.
    #[track_caller]
    pub fn until<T>(&self, look: impl FnMut() -> Option<T>) -> T {
        until(|| self.wait(Duration::from_millis(50)), look)
    }

    /// The same client with one more header on every request.
    pub fn with(&self, name: &str, value: &str) -> Client {
        let mut client = self.clone();
        client.headers.push((name.to_owned(), value.to_owned()));
        client
    }

    /// The same client with this agent's key.
    pub fn agent(&self, api_key: &str) -> Client {
        self.with("x-agent-key", api_key)
    }

    /// The same client with this API key.
    pub fn key(&self, api_key: &str) -> Client {
        self.with("x-api-key", api_key)
    }

    pub fn admin(&self) -> Client {
        self.with("x-admin-key", crate::target::ADMIN_KEY)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None, b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some("application/json"), body.to_string().as_bytes())
    }

    pub fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send("PATCH", path, Some("application/json"), body.to_string().as_bytes())
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, None, b"")
    }

    /// Sends any request. The answer must be one that the OpenAPI document declares.
    pub fn send(&self, method: &str, path: &str, content_type: Option<&str>, body: &[u8]) -> Answer {
        let answer =
            self.try_send(method, path, content_type, body).unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        // Benches measure the server, not this check.
        if cfg!(debug_assertions) && answer.header("content-encoding").is_none() {
            let media = answer.header("content-type");
            if let Err(problem) = described::differs(method, path, answer.status, media, &answer.body) {
                panic!("{problem}");
            }
            recorded::keep(method, path, body, &answer);
        }
        answer
    }

    /// [`Client::send`] to a server that may die meanwhile.
    pub fn try_send(
        &self,
        method: &str,
        path: &str,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Result<Answer, Box<dyn std::error::Error>> {
        match &self.transport {
            Transport::Memory(runtime) => {
                let response = block_on(self.in_memory(runtime.clone(), method, path, content_type, body));
                let body = match response.body {
                    core_http::Body::Bytes(bytes) => bytes,
                    core_http::Body::Stream(stream) => ready_bytes(stream),
                };
                Ok(Answer { status: response.status.as_u16(), headers: response.headers, body })
            }
            Transport::Http(agent, base) => {
                let mut response = agent.run(self.over_http(base, method, path, content_type, body))?;
                let mut bytes = Vec::new();
                response.body_mut().as_reader().read_to_end(&mut bytes)?;
                Ok(Answer {
                    status: response.status().as_u16(),
                    headers: response.headers().clone(),
                    body: bytes.into(),
                })
            }
        }
    }

    /// The status of a GET whose body, perhaps an endless one, is not read.
    pub fn status(&self, path: &str) -> u16 {
        match &self.transport {
            Transport::Memory(runtime) => {
                block_on(self.in_memory(runtime.clone(), "GET", path, None, b"")).status.as_u16()
            }
            Transport::Http(agent, base) => {
                agent.run(self.over_http(base, "GET", path, None, b"")).unwrap().status().as_u16()
            }
        }
    }

    fn over_http(
        &self,
        base: &str,
        method: &str,
        path: &str,
        content_type: Option<&str>,
        body: &[u8],
    ) -> http::Request<Vec<u8>> {
        let mut request = http::Request::builder().method(method).uri(format!("{base}{path}"));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        request.body(body.to_vec()).unwrap()
    }

    async fn in_memory(
        &self,
        runtime: Arc<dyn Runtime>,
        method: &str,
        path: &str,
        content_type: Option<&str>,
        body: &[u8],
    ) -> core_http::Response {
        let mut headers = HeaderMap::new();
        let pairs = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in pairs.chain(content_type.map(|value| ("content-type", value))) {
            headers.append(HeaderName::try_from(name).unwrap(), HeaderValue::from_str(value).unwrap());
        }
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let origin = runtime.environment().proxies.origin([127, 0, 0, 1].into(), &headers);
        let request = core_http::Request {
            method,
            path: path.to_owned(),
            query: query.to_owned(),
            headers,
            body: Bytes::copy_from_slice(body),
            client: Some(origin.client),
            forwarded: origin.forwarded,
            ..core_http::Request::default()
        };
        core_http::serve(runtime, request).await
    }

    /// Opens an event stream; it ends when the server closes it.
    pub fn events(&self, path: &str) -> Events {
        match &self.transport {
            Transport::Memory(runtime) => {
                let response = block_on(self.in_memory(runtime.clone(), "GET", path, None, b""));
                assert_eq!(response.status, 200);
                let stream = match response.body {
                    core_http::Body::Stream(stream) => stream,
                    core_http::Body::Bytes(_) => panic!("{path} is no stream"),
                };
                Events { lines: Lines::Memory(stream, Vec::new()) }
            }
            Transport::Http(agent, base) => {
                let response = agent.run(self.over_http(base, "GET", path, None, b"")).unwrap();
                assert_eq!(response.status(), 200);
                assert_eq!(response.headers()["content-type"], "text/event-stream");
                let reader: Box<dyn Read + Send> = Box::new(response.into_body().into_reader());
                Events { lines: Lines::Http(BufReader::new(reader)) }
            }
        }
    }
}

/// Looks after each pause until something is there, for at most a minute.
#[track_caller]
pub(crate) fn until<T>(mut pause: impl FnMut(), mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "it never came so far");
        pause();
    }
}

/// The bytes that a stream of the memory runtime has ready; the stream would continue only when something happens.
fn ready_bytes(mut stream: BoxStream<'static, Bytes>) -> Bytes {
    let mut all = Vec::new();
    while let Some(Some(bytes)) = futures_util::FutureExt::now_or_never(stream.next()) {
        all.extend_from_slice(&bytes);
    }
    all.into()
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    futures_util::FutureExt::now_or_never(futures_util::FutureExt::map(future, Some))
        .flatten()
        .expect("the memory runtime never waits")
}

enum Lines {
    Memory(BoxStream<'static, Bytes>, Vec<u8>),
    Http(BufReader<Box<dyn Read + Send>>),
}

/// The events of one stream, read like the strictest known client: LF line ends, one space after the colon.
pub struct Events {
    lines: Lines,
}

impl Events {
    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        match &mut self.lines {
            Lines::Http(reader) => {
                reader.read_until(b'\n', &mut line).unwrap();
            }
            Lines::Memory(stream, rest) => loop {
                if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    line = rest.drain(..=end).collect();
                    break;
                }
                match futures_util::FutureExt::now_or_never(stream.next()) {
                    Some(Some(bytes)) => rest.extend_from_slice(&bytes),
                    Some(None) | None => break,
                }
            },
        }
        if line.pop() != Some(b'\n') {
            return None;
        }
        assert!(!line.ends_with(b"\r"), "CRLF loses every message of a known client");
        Some(String::from_utf8(line).unwrap())
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut event = Event { event: String::new(), data: String::new(), id: None };
        loop {
            let line = self.line()?;
            if let Some(value) = line.strip_prefix("event: ") {
                event.event = value.to_owned();
            } else if let Some(value) = line.strip_prefix("data: ") {
                event.data.push_str(value);
            } else if let Some(value) = line.strip_prefix("id: ") {
                event.id = Some(value.to_owned());
            } else if line.is_empty() && !(event.event.is_empty() && event.data.is_empty()) {
                return Some(event);
            } else {
                assert!(line.is_empty() || line.starts_with(':') || line.starts_with("retry:"), "{line:?}");
            }
        }
    }
}
