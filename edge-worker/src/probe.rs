//! Routes that test the runtime below the application: storage, alarm, streams, sockets, KV, cron, and what a panic
//! does. They answer only under the binding `HELIOGRAPH_TEST_ROUTES`, which no deployment sets.
//!
//! `/__test/actor/<kind>/<name>/<operation>` goes to the object `kind/name`, `/__test/document/<key>` to KV.

use std::ops::Bound;

use futures_channel::mpsc;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::json;
use worker::{
    Date, Env, Error, Method, Request, Response, ResponseBuilder, Result, WebSocket, WebSocketIncomingMessage,
    WebSocketPair,
};

use crate::kv_documents::{Document, Documents, Metadata};
use crate::object::Actor;
use crate::sqlite::{Change, Direction};

pub const PREFIX: &str = "/__test/";

/// Whether the test routes exist in this deployment.
pub fn enabled(env: &Env) -> bool {
    env.var("HELIOGRAPH_TEST_ROUTES").is_ok_and(|value| value.to_string() == "1")
}

pub async fn fetch(mut request: Request, env: Env) -> Result<Response> {
    let path = request.path();
    let parts: Vec<&str> = path.trim_start_matches(PREFIX).split('/').collect();
    match parts.as_slice() {
        ["actor", kind, name, _] => {
            let stub = env.durable_object("ACTOR")?.get_by_name(&format!("{kind}/{name}"))?;
            stub.fetch_with_request(request).await
        }
        ["document", key] => document(&mut request, key, &Documents::new(&env)?).await,
        ["documents"] => {
            let query = Query::of(&request)?;
            let limit = query.number("limit")?.unwrap_or(1_000) as u64;
            let page = Documents::new(&env)?
                .list(query.text("prefix").unwrap_or_default(), query.text("cursor").map(str::to_owned), limit)
                .await?;
            Response::from_json(&json!({ "keys": page.keys, "cursor": page.cursor }))
        }
        ["variable", name] => match env.var(name) {
            Ok(value) => Response::ok(value.to_string()),
            Err(_) => Response::error("not set", 404),
        },
        ["panic"] => panic_now(),
        ["hang"] => std::future::pending().await,
        _ => Response::error("no such test route", 404),
    }
}

/// Leaves a mark that a test can read: the cron expression as a document.
pub async fn scheduled(cron: &str, env: &Env) -> Result<()> {
    let metadata = Metadata { etag: "\"cron\"".into(), content_type: "text/plain".into(), generation: "0".into() };
    Documents::new(env)?.put("cron", &Document { body: cron.into(), metadata }, None).await
}

async fn document(request: &mut Request, key: &str, documents: &Documents) -> Result<Response> {
    match request.method() {
        Method::Get => match documents.get(key).await? {
            Some(document) => {
                let response = ResponseBuilder::new()
                    .with_header("ETag", &document.metadata.etag)?
                    .with_header("X-Generation", &document.metadata.generation)?;
                Ok(response.fixed(document.body))
            }
            None => Response::error("no such document", 404),
        },
        Method::Put => {
            let ttl = Query::of(request)?.number("ttl")?.map(|seconds| seconds as u64);
            let metadata = Metadata {
                etag: format!("\"{key}\""),
                content_type: "application/octet-stream".into(),
                generation: u64::MAX.to_string(),
            };
            let document = Document { body: request.bytes().await?, metadata };
            documents.put(key, &document, ttl).await?;
            Response::empty()
        }
        Method::Delete => {
            documents.delete(key).await?;
            Response::empty()
        }
        _ => Response::error("method not allowed", 405),
    }
}

/// A batch as a test writes it: keys and values in hexadecimal, no value deletes.
#[derive(Deserialize)]
struct Batch {
    changes: Vec<(String, Option<String>)>,
    /// Fail after the writes, inside the transaction: `error` or `panic`.
    then: Option<String>,
    /// Set the alarm that many milliseconds from now in the same turn.
    alarm_in_ms: Option<f64>,
}

pub async fn object_fetch(actor: &Actor, mut request: Request) -> Result<Response> {
    let path = request.path();
    match path.rsplit('/').next().unwrap_or_default() {
        "name" => Response::ok(actor.name().unwrap_or_default()),
        "size" => Response::ok(actor.sqlite.database_size().to_string()),
        "get" => {
            let key = unhex(Query::of(&request)?.text("key").unwrap_or_default())?;
            Response::from_json(&actor.sqlite.get(&key)?.map(|value| hex(&value)))
        }
        "scan" => scan(actor, &Query::of(&request)?),
        "apply" => apply(actor, request.json().await?),
        "events" => events(actor),
        "wake" => {
            actor.wake_streams();
            Response::empty()
        }
        "socket" => socket(actor),
        "panic" => panic_now(),
        _ => Response::error("no such operation", 404),
    }
}

/// Counts alarms in a row, as an 8-byte big-endian number, and wakes the streams.
pub fn object_alarm(actor: &Actor) -> Result<()> {
    let key = b"alarms";
    let count = match actor.sqlite.get(key)? {
        Some(bytes) => u64::from_be_bytes(bytes.try_into().map_err(|_| Error::RustError("not a counter".into()))?),
        None => 0,
    };
    let value = count.wrapping_add(1).to_be_bytes().to_vec();
    actor.sqlite.apply(&[Change::Put { key: key.to_vec(), value }])?;
    actor.wake_streams();
    Ok(())
}

/// Echoes with the number of messages so far, which survives hibernation in the socket's attachment.
pub fn object_message(socket: &WebSocket, message: WebSocketIncomingMessage) -> Result<()> {
    #[derive(Default, Serialize, Deserialize)]
    struct Attachment {
        received: u32,
    }
    let WebSocketIncomingMessage::String(text) = message else { return Ok(()) };
    let mut attachment: Attachment = socket.deserialize_attachment()?.unwrap_or_default();
    attachment.received += 1;
    socket.serialize_attachment(&attachment)?;
    socket.send_with_str(format!("{} {text}", attachment.received))
}

fn scan(actor: &Actor, query: &Query) -> Result<Response> {
    let from = query.text("from").map(unhex).transpose()?;
    let to = query.text("to").map(unhex).transpose()?;
    let direction = if query.text("reverse").is_some() { Direction::Backward } else { Direction::Forward };
    let limit = query.number("limit")?.unwrap_or(usize::MAX);
    let start = from.as_deref().map_or(Bound::Unbounded, Bound::Included);
    let end = to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let rows = actor.sqlite.scan(start, end, direction, limit)?;
    Response::from_json(&rows.iter().map(|(key, value)| (hex(key), hex(value))).collect::<Vec<_>>())
}

fn apply(actor: &Actor, batch: Batch) -> Result<Response> {
    let mut changes = Vec::new();
    for (key, value) in &batch.changes {
        let key = unhex(key)?;
        changes.push(match value {
            Some(value) => Change::Put { key, value: unhex(value)? },
            None => Change::Delete { key },
        });
    }
    if let Some(then) = &batch.then {
        // The batch is a nested transaction of this one, so the failure must take it back.
        let outcome = actor.sqlite.transaction(|| {
            actor.sqlite.apply(&changes)?;
            if then == "panic" { panic_now().map(|_| ()) } else { Err(Error::RustError("refused".into())) }
        });
        return match outcome {
            Ok(()) => Response::empty(),
            Err(error) => Response::error(error.to_string(), 409),
        };
    }
    actor.sqlite.apply(&changes)?;
    if let Some(delay) = batch.alarm_in_ms {
        actor.set_alarm(Date::now().as_millis() as f64 + delay)?;
    }
    Response::empty()
}

/// A server-sent event per wake-up, with the number of rows at that moment.
fn events(actor: &Actor) -> Result<Response> {
    let (sender, receiver) = mpsc::unbounded();
    actor.streams.borrow_mut().push(sender);
    let first = futures_util::stream::once(async { Ok::<_, Error>(b": open\n\n".to_vec()) });
    let wakes = receiver.map(|()| Ok::<_, Error>(b"event: wake\ndata: {}\n\n".to_vec()));
    let response = ResponseBuilder::new().with_header("Content-Type", "text/event-stream")?;
    response.from_stream(first.chain(wakes))
}

fn socket(actor: &Actor) -> Result<Response> {
    let pair = WebSocketPair::new()?;
    actor.state.accept_web_socket(&pair.server);
    Response::from_websocket(pair.client)
}

/// Kills the wasm instance in the middle of a request, as a bug would.
#[allow(clippy::panic)]
fn panic_now() -> Result<Response> {
    panic!("asked for by a test")
}

/// Query parameters, which a test sends without percent-encoding.
struct Query(Vec<(String, String)>);

impl Query {
    fn of(request: &Request) -> Result<Self> {
        Ok(Query(request.url()?.query_pairs().into_owned().collect()))
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Result<Option<usize>> {
        let parse = |text: &str| text.parse().map_err(|_| Error::RustError(format!("{name} is not a number")));
        self.text(name).map(parse).transpose()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Result<Vec<u8>> {
    let digit = |index: usize| {
        let pair = text.get(index..index + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        pair.ok_or_else(|| Error::RustError("not hexadecimal".into()))
    };
    (0..text.len()).step_by(2).map(digit).collect()
}
