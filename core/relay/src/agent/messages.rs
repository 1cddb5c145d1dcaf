//! Single messages: reading one, read marks, unread counts and deletion.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mailbox::{Delete, Local, MAX_MARKS, MarkRead, ReadMessage, UnreadCount};
use super::wire::RawMessage;
use super::{decrypt, record, wire};
use crate::agent::authentication::Calling;
use crate::{Error, Result};
use crypto::encoding;
use engine::http::{Cx, Param, Response, Route, handler};
use engine::runtime;

pub const ROUTES: &[Route] = &[
    Route::get("/v1/agent/messages/{id}", handler!(one))
        .agent()
        .extension()
        .returns::<OneMessage>()
        .summary("One message of the calling agent's mailbox. Marks nothing read."),
    Route::post("/v1/agent/messages/{id}/read", handler!(read))
        .agent()
        .bodiless()
        .returns::<Read>()
        .summary("Mark one message as read."),
    Route::post("/v1/agent/messages/read-batch", handler!(read_batch))
        .agent()
        .accepts::<ReadBatchRequest>()
        .returns::<ReadBatch>()
        .summary("Mark up to 100 messages as read; unknown ids are skipped."),
    Route::get("/v1/agent/messages/unread-count", handler!(unread_count))
        .agent()
        .params(&[Param::optional("from", "Only messages of the agent with this DID.")])
        .returns::<UnreadCounts>()
        .summary("How many messages are unread, by sender."),
    Route::delete("/v1/agent/messages/{id}", handler!(delete))
        .agent()
        .returns::<Deleted>()
        .summary("Delete a message that the calling agent received or sent."),
];

/// A message as it was sent; for an agent whose keys the service holds, with what the service decrypted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OneMessage {
    #[serde(flatten)]
    pub raw: RawMessage,
    /// When it was marked as read; null if it was not.
    pub read_at: Option<String>,
    /// The text; absent for an agent that keeps its own keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Whether the service could decrypt it; absent for an agent that keeps its own keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decrypted: Option<bool>,
    /// Whether the sender signed the envelope and the envelope describes this very message; absent for an agent that
    /// keeps its own keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature_valid: Option<bool>,
}

/// A read mark.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MessageRead")]
pub struct Read {
    pub id: String,
    pub read: bool,
    pub read_at: String,
    /// Whether it was marked before.
    pub already_read: bool,
}

/// Messages to mark.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ReadBatchRequest {
    /// At most 100.
    #[schemars(length(max = MAX_MARKS))]
    pub message_ids: Vec<String>,
}

/// The result of a batch.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReadBatch {
    /// Messages that were unread before.
    pub updated: usize,
    /// The same number as `updated`, under the name that another client reads.
    pub marked: usize,
    pub total_requested: usize,
}

/// Unread messages.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnreadCounts {
    pub unread_count: u64,
    /// At most 1,000 senders, those with the most messages first.
    pub by_sender: Vec<SenderCount>,
}

/// Unread messages of one sender.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SenderCount {
    pub from: String,
    /// Number of messages of this sender.
    pub count: u64,
}

/// A deletion.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MessageDeleted")]
pub struct Deleted {
    pub id: String,
    pub deleted: bool,
}

fn unknown() -> Error {
    Error::not_found("There is no such message.")
}

/// The local part of a message id in the mailbox of `actor`.
fn own(actor: &str, id: &str) -> Option<Local> {
    wire::parse_message_id(id).filter(|(owner, _)| owner == actor).map(|(_, local)| local)
}

async fn one(cx: Cx) -> Result<Response> {
    let caller = cx.caller.agent()?;
    let local = own(&caller.actor, cx.path("id")?).ok_or_else(unknown)?;
    let item = runtime::query(&*cx.rt, caller.actor.as_str(), &ReadMessage { local }).await?.ok_or_else(unknown)?;
    let opened = if caller.client_side {
        None
    } else {
        let mut opener = decrypt::MessageOpener::new(&*cx.rt, caller, std::slice::from_ref(&item)).await?;
        let opened = opener.open(&item)?;
        opener.finish().await?;
        Some(opened)
    };
    let read_at = item.head.read_at.map(|at| at.to_string());
    let raw = wire::raw_message(cx.settings(), &caller.actor, &caller.did, item);
    let (decrypted, signature_valid) = match &opened {
        Some(opened) => (Some(opened.decrypted), Some(opened.signature_valid)),
        None => (None, None),
    };
    Response::json(&OneMessage {
        raw,
        read_at,
        content: opened.map(|opened| opened.content),
        decrypted,
        signature_valid,
    })
}

async fn read(cx: Cx) -> Result<Response> {
    let actor = cx.caller.agent()?.actor.clone();
    let id = cx.path("id")?.to_owned();
    let local = own(&actor, &id).ok_or_else(unknown)?;
    let marks = runtime::call(&*cx.rt, actor, &MarkRead { locals: vec![local] }).await?;
    let mark = marks.into_iter().next().flatten().ok_or_else(unknown)?;
    Response::json(&Read { id, read: true, read_at: mark.read_at.to_string(), already_read: mark.already })
}

async fn read_batch(cx: Cx) -> Result<Response> {
    let request: ReadBatchRequest = cx.json()?;
    let total_requested = request.message_ids.len();
    if total_requested > MAX_MARKS {
        return Err(Error::bad_request("`message_ids` must be at most 100 ids."));
    }
    let actor = cx.caller.agent()?.actor.clone();
    let locals: Vec<Local> = request.message_ids.iter().filter_map(|id| own(&actor, id)).collect();
    let marks =
        if locals.is_empty() { Vec::new() } else { runtime::call(&*cx.rt, actor, &MarkRead { locals }).await? };
    let updated = marks.iter().flatten().filter(|mark| !mark.already).count();
    Response::json(&ReadBatch { updated, marked: updated, total_requested })
}

async fn unread_count(cx: Cx) -> Result<Response> {
    let actor = cx.caller.agent()?.actor.clone();
    let from = match cx.query("from")? {
        None => None,
        Some(did) => match encoding::parse_did(&cx.settings().brand, &did) {
            Ok(did) => Some(did),
            Err(_) => return Response::json(&UnreadCounts { unread_count: 0, by_sender: Vec::new() }),
        },
    };
    let unread = runtime::query(&*cx.rt, actor, &UnreadCount { from }).await?;
    let name = |(from, count)| SenderCount { from: wire::did_text(cx.settings(), &from), count };
    let by_sender = unread.by_sender.into_iter().map(name).collect();
    Response::json(&UnreadCounts { unread_count: unread.total, by_sender })
}

async fn delete(cx: Cx) -> Result<Response> {
    let id = cx.path("id")?.to_owned();
    let (recipient, local) = wire::parse_message_id(&id).ok_or_else(unknown)?;
    let by = record::did_of(&cx.caller.agent()?.actor)?;
    runtime::call(&*cx.rt, recipient, &Delete { local, by }).await?;
    Response::json(&Deleted { id, deleted: true })
}
