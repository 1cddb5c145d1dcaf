//! JSON-RPC 2.0 as the protocol uses it: one message a request, never a batch.

use std::borrow::Cow;

use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::IN_BODY;
use super::protocol::Era;
use crate::Result;
use crate::engine::http::Response;

/// Codes of JSON-RPC, then those of the protocol.
const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const METHOD_NOT_FOUND: i32 = -32_601;
const INVALID_PARAMS: i32 = -32_602;
const INTERNAL_ERROR: i32 = -32_603;
/// Of versions with a handshake only.
const RESOURCE_NOT_FOUND: i32 = -32_002;
const HEADER_MISMATCH: i32 = -32_020;
const UNSUPPORTED_VERSION: i32 = -32_022;

/// The id of a request: what its answer repeats.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "McpId")]
pub enum Id {
    Text(String),
    Number(i64),
}

/// A message that a client sends, for the documentation.
#[derive(JsonSchema)]
#[schemars(rename = "McpMessage")]
#[allow(dead_code)]
pub struct Received {
    /// `2.0`.
    #[schemars(regex(pattern = "^2[.]0$"))]
    jsonrpc: String,
    /// Absent in a notification, which is answered with 202 and no body.
    id: Option<Id>,
    /// Such as `server/discover`, `initialize`, `tools/list`, `tools/call`, `resources/list` or `resources/read`.
    method: String,
    params: Option<Map<String, Value>>,
}

/// The answer to a request: a result or an error.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "McpReply")]
pub struct Reply<'a> {
    /// `2.0`.
    jsonrpc: &'static str,
    /// Absent where the id could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcError<'a>>,
}

/// What went wrong with a request itself. What went wrong inside a tool is a result with `isError`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "McpError")]
pub struct RpcError<'a> {
    /// A code of JSON-RPC or of the protocol.
    code: i32,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Map<String, Value>>,
}

/// A request for an answer.
#[derive(Debug)]
pub struct Request {
    pub id: Id,
    pub method: String,
    pub params: Map<String, Value>,
}

#[derive(Debug)]
pub enum Message {
    Request(Request),
    /// A notification, or an answer of the client to something that nobody asked.
    Told,
}

/// A request that cannot be answered.
#[derive(Debug)]
pub struct Failure {
    status: StatusCode,
    code: i32,
    message: Cow<'static, str>,
    data: Map<String, Value>,
}

/// Reads the body of a request.
pub fn read(body: &[u8]) -> Result<Message, Failure> {
    let wrong = |message: &'static str| Failure::refused(INVALID_REQUEST, message);
    let message: Value = serde_json::from_slice(body)
        .map_err(|error| Failure::refused(PARSE_ERROR, format!("The body is not valid JSON: {error}.")))?;
    let Value::Object(mut message) = message else {
        return Err(wrong("The body must be one JSON-RPC message, an object; a batch is not read."));
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(wrong("`jsonrpc` must be \"2.0\"."));
    }
    let id = match message.remove("id") {
        None => None,
        Some(Value::String(text)) => Some(Id::Text(text)),
        Some(Value::Number(number)) if number.is_i64() => number.as_i64().map(Id::Number),
        Some(_) => return Err(wrong("`id` must be text or a whole number.")),
    };
    let params = match message.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err(wrong("`params` must be an object.")),
    };
    match (id, message.remove("method")) {
        (Some(id), Some(Value::String(method))) => Ok(Message::Request(Request { id, method, params })),
        (None, Some(Value::String(_))) => Ok(Message::Told),
        (Some(_), None) if message.contains_key("result") || message.contains_key("error") => Ok(Message::Told),
        _ => Err(wrong("`method` must be text.")),
    }
}

/// The answer to what needs none.
pub fn accepted() -> Response {
    let mut response = Response::new(StatusCode::ACCEPTED, "application/json", "");
    response.headers.clear();
    response
}

pub fn result(id: &Id, result: &Value) -> Result<Response> {
    Response::json(&Reply { jsonrpc: "2.0", id: Some(id), result: result.as_object(), error: None })
}

impl Failure {
    /// A request that was not looked into.
    fn refused(code: i32, message: impl Into<Cow<'static, str>>) -> Failure {
        Failure { status: StatusCode::BAD_REQUEST, code, message: message.into(), data: Map::new() }
    }

    /// A method that ended without a result.
    fn ended(code: i32, message: impl Into<Cow<'static, str>>) -> Failure {
        Failure { status: IN_BODY, ..Failure::refused(code, message) }
    }

    fn with(mut self, name: &str, value: Value) -> Failure {
        self.data.insert(name.to_owned(), value);
        self
    }

    /// Parameters of a method that do not fit.
    pub fn params(message: impl Into<Cow<'static, str>>) -> Failure {
        Failure::ended(INVALID_PARAMS, message)
    }

    /// `_meta` lacks what every request must have.
    pub fn meta(message: impl Into<Cow<'static, str>>) -> Failure {
        Failure::refused(INVALID_PARAMS, message)
    }

    pub fn header(message: impl Into<Cow<'static, str>>) -> Failure {
        Failure::refused(HEADER_MISMATCH, message)
    }

    pub fn version(requested: &str) -> Failure {
        Failure::refused(UNSUPPORTED_VERSION, "This version of the protocol is not served.")
            .with("supported", json!(super::protocol::VERSIONS))
            .with("requested", json!(requested))
    }

    /// Clients tell by the status whether it is the method or the path that does not exist.
    pub fn no_method(era: Era, method: &str) -> Failure {
        let method: String = method.chars().take(100).collect();
        let failure = Failure::ended(METHOD_NOT_FOUND, format!("There is no method {method:?} here."));
        match era {
            Era::Stateless => Failure { status: StatusCode::NOT_FOUND, ..failure },
            Era::Handshake => failure,
        }
    }

    pub fn no_resource(era: Era, uri: &str) -> Failure {
        let code = if era == Era::Stateless { INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
        Failure::ended(code, "There is no resource with this address.").with("uri", json!(uri))
    }

    /// A route that a resource is made of refused; `error` is the code of the interface.
    pub fn route(error: &str, message: String, retry_after: Option<u64>) -> Failure {
        let failure = Failure::ended(INTERNAL_ERROR, message).with("error", json!(error));
        match retry_after {
            Some(seconds) => failure.with("retryAfter", json!(seconds)),
            None => failure,
        }
    }

    pub fn response(&self, id: Option<&Id>) -> Result<Response> {
        let data = Some(&self.data).filter(|data| !data.is_empty());
        let error = RpcError { code: self.code, message: &self.message, data };
        Response::json_with(self.status, &Reply { jsonrpc: "2.0", id, result: None, error: Some(error) })
    }
}
