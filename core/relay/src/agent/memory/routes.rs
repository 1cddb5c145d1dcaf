//! The endpoints of the memory store.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::{KeyPage, PutValue, ReadMemoryKeys, ReadNamespaces, ReadValue, RemoveValue, ValueHead, purpose};
use crate::agent::authentication::Calling;
use crate::agent::{Credentials, custody, reseal, wire};
use crate::{Error, ErrorCode, Result};
use engine::http::{Cx, Param, Response, Route, handler};
use engine::runtime;

/// Room for the largest value that the settings allow, and the other members of the request.
const MAX_BODY: usize = 2 * 1024 * 1024;
/// The key is the rest of the path, since some clients do not encode its slashes.
const VALUE: &str = "/v1/agent/memory/{namespace}/{*key}";

pub const ROUTES: &[Route] = &[
    Route::put(VALUE, handler!(put))
        .agent()
        .max_body(MAX_BODY)
        .accepts::<ValueRequest>()
        .returns::<StoredValue>()
        .summary("Store a JSON value. It replaces the earlier value of the key, and its ttl."),
    Route::get(VALUE, handler!(get))
        .agent()
        .returns::<Value>()
        .summary("A value of the agent's memory, exactly as it was put."),
    Route::delete(VALUE, handler!(delete))
        .agent()
        .returns::<Deleted>()
        .summary("Delete a value of the agent's memory."),
    Route::get("/v1/agent/memory/{namespace}", handler!(keys))
        .agent()
        .params(&[
            Param::optional("prefix", "Only keys that begin with this text, at most 600 bytes.")
                .length(0, MAX_KEY as u32),
            Param::optional("after", "Only keys after this one, in the order of the list; at most 600 bytes.")
                .length(0, MAX_KEY as u32),
            Param::optional("limit", "Most entries of the answer: 1 to 1000, default 100.").count(100, 1_000),
        ])
        .returns::<KeyList>()
        .summary("Keys of a namespace of the agent's memory, without their values."),
    Route::get("/v1/agent/memory", handler!(namespaces))
        .agent()
        .returns::<NamespaceList>()
        .summary("The namespaces of the agent's memory, and how much of its quota is used."),
];

/// Most bytes of a namespace and of a key; our choice, so that they fit into a key of the store.
pub const MAX_NAMESPACE: usize = 200;
pub const MAX_KEY: usize = 600;
/// Most characters of `value_type` and `client_nonce`; our choice.
const MAX_LABEL: usize = 128;
/// Most seconds of a ttl, ten years; our choice. A value that must stay longer needs no ttl.
const MAX_TTL: i64 = 10 * 365 * 86_400;

/// A value to store.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "MemoryRequest")]
pub struct ValueRequest {
    /// Any JSON, also null. Its text counts against the limits.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "serde_json::Value", required)]
    pub value: Option<Box<RawValue>>,
    /// Up to 128 characters.
    #[schemars(length(max = MAX_LABEL))]
    pub value_type: Option<String>,
    /// Seconds, 1 to 315360000; without it the value stays.
    #[schemars(range(min = 1, max = MAX_TTL))]
    pub ttl: Option<i64>,
    /// Up to 128 characters; returned as it was given.
    #[schemars(length(max = MAX_LABEL))]
    pub client_nonce: Option<String>,
}

/// `null` is a value, so only an absent member is `None`.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::deserialize(deserializer).map(Some)
}

/// A value that was stored.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemoryStored")]
pub struct StoredValue {
    pub stored: bool,
    pub id: String,
    pub namespace: String,
    pub key: String,
    pub value_type: String,
    pub size_bytes: u64,
    pub created_at: String,
    pub updated_at: String,
    /// Null for a value without ttl.
    pub expires_at: Option<String>,
}

/// A value.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemoryValue")]
pub struct Value {
    pub id: String,
    pub namespace: String,
    pub key: String,
    #[schemars(with = "serde_json::Value")]
    pub value: Box<RawValue>,
    /// The type that was given; without one, `string`, `number`, `boolean` or `json`.
    pub value_type: String,
    pub client_nonce: Option<String>,
    /// Size of the JSON text.
    pub size_bytes: u64,
    pub created_at: String,
    pub updated_at: String,
    /// Null for a value without ttl.
    pub expires_at: Option<String>,
}

/// A value that was deleted.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemoryDeleted")]
pub struct Deleted {
    pub deleted: bool,
    pub namespace: String,
    pub key: String,
}

/// Keys of a namespace.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemoryKeys")]
pub struct KeyList {
    pub namespace: String,
    pub keys: Vec<ListedKey>,
    pub count: usize,
    pub has_more: bool,
    /// Keys of the whole namespace.
    pub total_keys: u64,
    /// Bytes of the whole namespace.
    pub total_bytes: u64,
}

/// One key.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemoryKey")]
pub struct ListedKey {
    pub key: String,
    pub value_type: String,
    pub size_bytes: u64,
    pub created_at: String,
    pub updated_at: String,
    pub expires_at: Option<String>,
}

/// Namespaces of an agent.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemoryNamespaces")]
pub struct NamespaceList {
    /// At most 1000.
    pub namespaces: Vec<Namespace>,
    pub quota: Quota,
}

/// One namespace.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemoryNamespace")]
pub struct Namespace {
    pub namespace: String,
    pub key_count: u64,
    pub total_bytes: u64,
    pub last_updated: String,
}

/// The quota: bytes of the JSON texts of all values.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemoryQuota")]
pub struct Quota {
    pub used_bytes: u64,
    pub quota_bytes: u64,
    pub remaining_bytes: u64,
}

/// A checked part of a place.
fn part(cx: &Cx, name: &str, max: usize) -> Result<String> {
    let text = cx.path(name)?;
    if text.is_empty() || text.len() > max || text.chars().any(char::is_control) {
        let message = format!("`{name}` must be 1 to {max} bytes of UTF-8 without control characters.");
        return Err(Error::bad_request(message));
    }
    Ok(text.to_owned())
}

fn place(cx: &Cx) -> Result<(String, String)> {
    Ok((part(cx, "namespace", MAX_NAMESPACE)?, part(cx, "key", MAX_KEY)?))
}

/// The type of a value that was given without one, by the first character of its JSON.
fn inferred(text: &str) -> &'static str {
    match text.as_bytes().first() {
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'-' | b'0'..=b'9') => "number",
        _ => "json",
    }
}

async fn put(cx: Cx) -> Result<Response> {
    let (namespace, key) = place(&cx)?;
    let request: ValueRequest = cx.json()?;
    let value = request.value.ok_or_else(|| Error::bad_request("`value` is required; it may be null."))?;
    for (name, text) in [("value_type", &request.value_type), ("client_nonce", &request.client_nonce)] {
        if text.as_ref().is_some_and(|text| text.chars().count() > MAX_LABEL) {
            return Err(Error::bad_request(format!("`{name}` must be at most {MAX_LABEL} characters.")));
        }
    }
    let ttl = match request.ttl {
        None => None,
        Some(ttl) if (1..=MAX_TTL).contains(&ttl) => Some(u32::try_from(ttl).map_err(Error::internal)?),
        Some(_) => return Err(Error::bad_request("`ttl` must be from 1 to 315360000 seconds.")),
    };
    let max = cx.settings().memory_value_bytes;
    if value.get().len() as u64 > max {
        let message = format!("`value` is larger than {max} bytes of JSON.");
        return Err(Error::new(ErrorCode::PayloadTooLarge, message));
    }
    // Without a given type, the type is inferred from the value. An empty type counts as not given.
    let value_type = request.value_type.filter(|given| !given.is_empty());
    let shown = value_type.clone().unwrap_or_else(|| inferred(value.get()).to_owned());
    let Credentials { actor, did, .. } = cx.caller.agent()?.clone();
    let value_type = Some(shown.clone());
    let (client_nonce, size) = (request.client_nonce, value.get().len() as u64);
    let text = custody::seal_text(&*cx.rt, &did, &purpose(&namespace, &key), value.get())?;
    let put = PutValue { namespace: namespace.clone(), key: key.clone(), text, value_type, client_nonce, ttl, size };
    let head = runtime::call(&*cx.rt, actor.as_str(), &put).await?;
    Response::json(&StoredValue {
        stored: true,
        id: wire::message_id(&actor, &head.local),
        namespace,
        key,
        value_type: shown,
        size_bytes: head.size,
        created_at: head.created.to_string(),
        updated_at: head.updated.to_string(),
        expires_at: head.expires.map(|end| end.to_string()),
    })
}

async fn get(cx: Cx) -> Result<Response> {
    let (namespace, key) = place(&cx)?;
    let actor = cx.caller.agent()?.actor.as_str();
    let read = ReadValue { namespace: namespace.clone(), key: key.clone() };
    let (head, stored) = runtime::query(&*cx.rt, actor, &read).await?;
    let text = custody::open_text(&*cx.rt, &cx.caller.agent()?.did, &purpose(&namespace, &key), &stored)?;
    if custody::is_behind(&*cx.rt, &stored) {
        reseal::passing_by(&*cx.rt, actor).await;
    }
    Response::json(&Value {
        id: wire::message_id(actor, &head.local),
        namespace,
        key,
        value: RawValue::from_string(text).map_err(Error::internal)?,
        value_type: head.value_type.unwrap_or_default(),
        client_nonce: head.client_nonce,
        size_bytes: head.size,
        created_at: head.created.to_string(),
        updated_at: head.updated.to_string(),
        expires_at: head.expires.map(|end| end.to_string()),
    })
}

async fn delete(cx: Cx) -> Result<Response> {
    let (namespace, key) = place(&cx)?;
    let remove = RemoveValue { namespace: namespace.clone(), key: key.clone() };
    runtime::call(&*cx.rt, cx.caller.agent()?.actor.as_str(), &remove).await?;
    Response::json(&Deleted { deleted: true, namespace, key })
}

async fn keys(cx: Cx) -> Result<Response> {
    let namespace = part(&cx, "namespace", MAX_NAMESPACE)?;
    let (prefix, after) = (cx.query("prefix")?.unwrap_or_default(), cx.query("after")?);
    if [Some(prefix.as_str()), after.as_deref()].into_iter().flatten().any(|text| text.len() > MAX_KEY) {
        return Err(Error::bad_request("`prefix` and `after` must be at most 600 bytes."));
    }
    let read = ReadMemoryKeys { namespace: namespace.clone(), prefix, after, limit: cx.count("limit", 100, 1_000)? };
    let KeyPage { keys, has_more, totals } = runtime::query(&*cx.rt, cx.caller.agent()?.actor.as_str(), &read).await?;
    let listed = |(key, head): (String, ValueHead)| ListedKey {
        key,
        value_type: head.value_type.unwrap_or_default(),
        size_bytes: head.size,
        created_at: head.created.to_string(),
        updated_at: head.updated.to_string(),
        expires_at: head.expires.map(|end| end.to_string()),
    };
    let keys: Vec<ListedKey> = keys.into_iter().map(listed).collect();
    let count = keys.len();
    Response::json(&KeyList { namespace, keys, count, has_more, total_keys: totals.keys, total_bytes: totals.bytes })
}

async fn namespaces(cx: Cx) -> Result<Response> {
    let (all, total) = runtime::query(&*cx.rt, cx.caller.agent()?.actor.as_str(), &ReadNamespaces).await?;
    let namespaces = all.into_iter().map(|(namespace, totals)| Namespace {
        namespace,
        key_count: totals.keys,
        total_bytes: totals.bytes,
        last_updated: totals.updated.to_string(),
    });
    let quota_bytes = cx.settings().memory_bytes;
    Response::json(&NamespaceList {
        namespaces: namespaces.collect(),
        quota: Quota { used_bytes: total.bytes, quota_bytes, remaining_bytes: quota_bytes.saturating_sub(total.bytes) },
    })
}
