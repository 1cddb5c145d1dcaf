//! Requests to the program's own routes, on behalf of whoever asks over the protocol.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::Value;

use crate::engine::http::{Body, Cx, Request};
use crate::relay::agent::KEY_KIND;

const AGENT_KEY: &str = "x-agent-key";
const API_KEY: &str = "x-api-key";

/// What a route refused, in the words of the interface.
#[derive(Debug)]
pub struct Refusal {
    pub code: String,
    pub message: String,
    /// Seconds.
    pub retry_after: Option<u64>,
}

impl Refusal {
    pub fn new(code: &str, message: impl Into<String>) -> Refusal {
        Refusal { code: code.to_owned(), message: message.into(), retry_after: None }
    }
}

/// Which keys go along with a request. One that a route does not read would only keep its answer from being shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum With {
    Nothing,
    Api,
    Agent,
}

/// Asks on behalf of one caller.
pub struct Asking<'a> {
    cx: &'a Cx,
    agent_key: Option<HeaderValue>,
    api_key: Option<HeaderValue>,
}

impl<'a> Asking<'a> {
    pub fn of(cx: &'a Cx) -> Asking<'a> {
        let header = |name: &str| cx.request.headers.get(name).cloned();
        let bearer = cx.request.bearer();
        // Clients that know only bearer tokens send either key as one.
        let environment = cx.rt.environment();
        let is_agents = |key: &str| environment.secrets.parse_key(&environment.settings.brand, KEY_KIND, key).is_some();
        let (agent, api) = match bearer {
            Some(key) if is_agents(key) => (HeaderValue::from_str(key).ok(), None),
            Some(key) => (None, HeaderValue::from_str(key).ok()),
            None => (None, None),
        };
        Asking { cx, agent_key: header(AGENT_KEY).or(agent), api_key: header(API_KEY).or(api) }
    }

    pub fn has_agent_key(&self) -> bool {
        self.agent_key.is_some()
    }

    pub fn has_api_key(&self) -> bool {
        self.api_key.is_some()
    }

    /// What addresses in answers begin with.
    pub fn base(&self) -> String {
        self.cx.settings().base_url()
    }

    /// The address of a GET, for citations.
    pub fn address(&self, path: &str, query: &str) -> String {
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{path}{mark}{query}", self.base())
    }

    /// The JSON that a GET answers.
    pub async fn get(&self, path: &str, query: &str, with: With) -> Result<Value, Refusal> {
        read(&self.text(path, query, with).await?)
    }

    /// The body that a GET answers.
    pub async fn text(&self, path: &str, query: &str, with: With) -> Result<Bytes, Refusal> {
        let (path, query) = (path.to_owned(), query.to_owned());
        self.send(Request { method: Method::GET, path, query, ..Request::default() }, with).await
    }

    /// The JSON that a POST answers.
    pub async fn post(
        &self,
        path: &str,
        body: &Value,
        with: With,
        idempotency_key: Option<&str>,
    ) -> Result<Value, Refusal> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = idempotency_key {
            let wrong = |_| Refusal::new("BAD_REQUEST", "`idempotency_key` must be visible ASCII characters.");
            headers.insert(HeaderName::from_static("idempotency-key"), HeaderValue::from_str(key).map_err(wrong)?);
        }
        let (path, body) = (path.to_owned(), Bytes::from(body.to_string()));
        read(&self.send(Request { method: Method::POST, path, headers, body, ..Request::default() }, with).await?)
    }

    async fn send(&self, mut request: Request, with: With) -> Result<Bytes, Refusal> {
        let key = match with {
            With::Nothing => None,
            With::Api => Some((API_KEY, &self.api_key)),
            With::Agent => Some((AGENT_KEY, &self.agent_key)),
        };
        if let Some((name, Some(key))) = key {
            request.headers.insert(HeaderName::from_static(name), key.clone());
        }
        let response = self.cx.pass_on(request).await;
        let seconds = |value: &HeaderValue| value.to_str().ok()?.parse().ok();
        let retry_after = response.headers.get(RETRY_AFTER).and_then(seconds);
        let Body::Bytes(body) = response.body else {
            return Err(Refusal::new("INTERNAL", "The answer came in pieces."));
        };
        if response.status.is_success() {
            return Ok(body);
        }
        let said: Value = serde_json::from_slice(&body).unwrap_or_default();
        let text = |name: &str| said.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Err(Refusal { code: text("error"), message: text("message"), retry_after })
    }
}

fn read(body: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(body).map_err(|_| Refusal::new("INTERNAL", "The answer was not JSON."))
}
