//! The Model Context Protocol: how language models ask this server, at `/mcp` (decision mcp-without-sessions).
//!
//! A tool or a resource asks the program's own routes, as the client itself would (decision mcp-asks-routes). So there is
//! one way to do each thing, with the same limits, keys and errors. What is written here is the protocol, and how an answer
//! is put into a sentence and the few members that matter.
//!
//! | Module | What |
//! |---|---|
//! | [`asking`] | requests to the program's own routes, with the caller's keys |
//! | `guard` | which hosts and web pages may ask |
//! | `message` | JSON-RPC: what came, what goes back, what went wrong |
//! | `protocol` | versions of the protocol, the handshake and the headers |
//! | `resources` | incidents and the method, as documents to read |
//! | [`tools`] | the tools |

mod asking;
mod guard;
mod message;
mod protocol;
mod resources;
pub mod tools;

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::Result;
use crate::engine::http::{Cx, Response, Route, handler};
use asking::Asking;
use message::{Failure, Message, Request};
use protocol::Era;

pub const PATH: &str = "/mcp";

/// As much as a route for messages takes, since `send` sends one.
const MAX_BODY: usize = 1 << 20;

pub const ROUTES: &[Route] = &[Route::post(PATH, handler!(mcp))
    .extension()
    .max_body(MAX_BODY)
    .accepts::<message::Received>()
    .returns::<message::Reply<'static>>()
    .own_failures()
    .summary(
        "The Model Context Protocol, versions 2026-07-28 and 2025-11-25, without sessions. What was read as a message is \
         answered in JSON-RPC, errors too.",
    )];

/// What a method answers with.
pub struct Answer {
    result: Map<String, Value>,
    /// How long clients may keep it, in milliseconds, and for whom; only of what they may keep.
    fresh: Option<(u32, Scope)>,
}

/// For whom an answer may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Anybody,
    /// The same keys only.
    Caller,
}

impl Answer {
    fn of(result: Map<String, Value>) -> Answer {
        Answer { result, fresh: None }
    }

    fn fresh(result: Map<String, Value>, milliseconds: u32, scope: Scope) -> Answer {
        Answer { result, fresh: Some((milliseconds, scope)) }
    }

    /// The result as a version of the protocol has it.
    fn written(self, era: Era) -> Value {
        let mut result = self.result;
        if era == Era::Stateless {
            result.insert("resultType".into(), json!("complete"));
            result.insert("_meta".into(), json!({ protocol::SERVER_INFO: protocol::server_info() }));
            if let Some((milliseconds, scope)) = self.fresh {
                result.insert("ttlMs".into(), json!(milliseconds));
                let scope = if scope == Scope::Anybody { "public" } else { "private" };
                result.insert("cacheScope".into(), json!(scope));
            }
        }
        Value::Object(result)
    }
}

async fn mcp(cx: Cx) -> Result<Response> {
    guard::check(&cx)?;
    let request = match message::read(&cx.request.body) {
        Ok(Message::Request(request)) => request,
        // Nothing that a client may tell changes anything here.
        Ok(Message::Told) => return Ok(message::accepted()),
        Err(failure) => return failure.response(None),
    };
    match answer(&cx, &request).await {
        Ok(result) => message::result(&request.id, &result),
        Err(failure) => failure.response(Some(&request.id)),
    }
}

async fn answer(cx: &Cx, request: &Request) -> Result<Value, Failure> {
    let era = protocol::era(cx, request)?;
    let (params, asking) = (&request.params, Asking::of(cx));
    let answer = match (era, request.method.as_str()) {
        (Era::Stateless, "server/discover") => protocol::discover(),
        (Era::Handshake, "initialize") => protocol::initialize(params)?,
        (Era::Handshake, "ping") => Answer::of(Map::new()),
        (_, "tools/list") => tools::list(&asking, params)?,
        (_, "tools/call") => tools::call(&asking, params).await?,
        (_, "resources/list") => resources::list(&asking, params).await?,
        (_, "resources/templates/list") => resources::templates(&asking, params)?,
        (_, "resources/read") => resources::read(&asking, era, params).await?,
        (era, method) => return Err(Failure::no_method(era, method)),
    };
    Ok(answer.written(era))
}

/// Where a page of a list begins. `None`: at its beginning.
fn cursor(params: &Map<String, Value>) -> Result<Option<u64>, Failure> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(None),
        Some(cursor) => match cursor.as_str().and_then(|text| text.parse().ok()) {
            Some(place) => Ok(Some(place)),
            None => Err(Failure::params("`cursor` must be the `nextCursor` of an earlier page.")),
        },
    }
}

/// Of a list that has one page.
fn no_cursor(params: &Map<String, Value>) -> Result<(), Failure> {
    match cursor(params)? {
        None => Ok(()),
        Some(_) => Err(Failure::params("This list has one page and no `cursor`.")),
    }
}

/// The status of an answer in JSON-RPC that a method gave: success and failure stand in its body.
const IN_BODY: StatusCode = StatusCode::OK;
