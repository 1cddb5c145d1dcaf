//! `POST /v1/relay/route`: an agent sends a message to the agent with a DID, here or at a peer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::find::{PeerAgent, find, instead_of};
use super::queue::{Delivery, DeliveryState, Queue, ReadDelivery};
use super::wire::{DeliverRequest, delivery_id};
use crate::agent::authentication::Calling;
use crate::agent::continuity;
use crate::agent::mailbox::{Appended, Body, Origin, RecipientFacts, append_error};
use crate::agent::pins::Prints;
use crate::agent::record::{self, ReadPublic};
use crate::agent::send::{Labels, MAX_LABEL, MAX_TTL, local_of};
use crate::agent::usage::Usage;
use crate::agent::wire;
use crate::{Error, Result};
use crypto::encoding::{
    BASE64_PATTERN, DID_PATTERN, base64_pattern, decode_base64, decode_base64_array, encode_base64, parse_did,
};
use crypto::envelope;
use crypto::signing;
use engine::http::{Cx, Response, Route, handler};
use engine::runtime;

pub const ROUTES: &[Route] = &[
    Route::post("/v1/relay/route", handler!(route))
        .agent()
        .max_body(256 * 1024)
        .accepts::<RouteRequest>()
        .creates::<Routed>()
        .summary("Send a message that the client encrypted to an agent here or at a peer of this relay."),
    Route::get("/v1/relay/route/{id}", handler!(status))
        .agent()
        .extension()
        .returns::<Routed>()
        .summary("The state of a message for an agent at a peer."),
];

/// A message that the client encrypted.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RouteRequest {
    /// DID of the recipient.
    #[schemars(regex(pattern = DID_PATTERN))]
    pub to: String,
    /// Base64 of a NaCl box.
    #[schemars(length(min = 1), regex(pattern = BASE64_PATTERN))]
    pub ciphertext: String,
    /// Base64 of 24 bytes.
    #[schemars(regex(pattern = base64_pattern(24)))]
    pub nonce: String,
    /// Base64, Ed25519 over the compact JSON of `from`, `to`, `nonce` and `ciphertext_hash` (hex SHA-256 of the base64
    /// text of the ciphertext).
    #[schemars(regex(pattern = base64_pattern(64)))]
    pub signature: String,
    /// Also read as `contentType`.
    #[serde(alias = "contentType")]
    #[schemars(length(max = MAX_LABEL))]
    pub content_type: Option<String>,
    /// Also read as `messageType`.
    #[serde(alias = "messageType")]
    #[schemars(length(max = MAX_LABEL))]
    pub message_type: Option<String>,
    /// Also read as `threadId`.
    #[serde(alias = "threadId")]
    #[schemars(length(max = MAX_LABEL))]
    pub thread_id: Option<String>,
    /// Also read as `replyTo`.
    #[serde(alias = "replyTo")]
    #[schemars(length(max = MAX_LABEL))]
    pub reply_to: Option<String>,
    /// Seconds, 1 to 604800; 86400 when absent.
    #[schemars(range(min = 1, max = MAX_TTL))]
    pub ttl: Option<i64>,
}

/// A message and its state.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MessageRouted")]
pub struct Routed {
    /// True when it is in the recipient's mailbox, or on its way there.
    pub routed: bool,
    /// The address of the recipient's relay.
    pub destination: String,
    /// The message's id when the recipient is here; otherwise the id for `GET /v1/relay/route/{id}`.
    pub id: String,
    pub from: String,
    pub to: String,
    /// `delivered`, `waiting`, `refused` or `expired`.
    pub status: &'static str,
    /// When the message was accepted, ISO 8601.
    pub timestamp: String,
    /// Attempts so far; 0 when the recipient is here.
    pub attempts: u32,
    /// The last HTTP status that the other relay answered.
    pub last_status: Option<u16>,
    /// When the next attempt is due; null after the end.
    pub next_attempt_at: Option<String>,
    /// When the delivery ended.
    pub ended_at: Option<String>,
    /// As in the answer of `POST /v1/agent/send`, for a recipient here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub key_changed: bool,
}

/// What the members of a request hold.
struct Content {
    ciphertext: Vec<u8>,
    nonce: [u8; 24],
    signature: Vec<u8>,
    labels: Labels,
}

fn content(request: &mut RouteRequest) -> Result<Content> {
    let ciphertext = decode_base64("ciphertext", &request.ciphertext)?;
    if ciphertext.is_empty() {
        return Err(Error::bad_request("`ciphertext` must not be empty."));
    }
    let signature = decode_base64("signature", &request.signature)?;
    if signature.len() != 64 {
        return Err(Error::bad_request("`signature` must be 64 bytes of Ed25519."));
    }
    let nonce: [u8; 24] = decode_base64_array("nonce", &request.nonce)?;
    let labels = Labels::check(
        request.content_type.take(),
        request.message_type.take(),
        request.thread_id.take(),
        request.reply_to.take(),
        request.ttl,
    )?;
    Ok(Content { ciphertext, nonce, signature, labels })
}

async fn route(cx: Cx) -> Result<Response> {
    let mut request: RouteRequest = cx.json()?;
    let caller = cx.caller.agent()?;
    let Content { ciphertext, nonce, signature, labels } = content(&mut request)?;
    let to = parse_did(&cx.settings().brand, &request.to).map_err(|_| append_error())?;
    let actor = crypto::encoding::actor_id(&to);
    let envelope = envelope::routed(&caller.did, &request.to, &request.nonce, &request.ciphertext);
    let here = runtime::query(&*cx.rt, actor.as_str(), &ReadPublic).await?;
    let found = match &here {
        Some(here) => instead_of(&*cx.rt, &to, here, &caller.actor).await?,
        None => Some(Box::pin(find(&*cx.rt, &to, &caller.actor)).await?.ok_or_else(append_error)?),
    };
    if let Some(found) = found {
        let delivery = Outgoing { request, labels, signature, envelope, to };
        return Box::pin(elsewhere(&cx, delivery, found)).await;
    }
    let from = record::did_of(&caller.actor)?;
    let local = local_of(&[b"message", &from, &nonce, &signature]);
    let body = Body {
        ciphertext,
        nonce,
        signature,
        envelope: Some(envelope),
        sender_signing: caller.keys.signing,
        sender_encryption: caller.keys.encryption,
    };
    let mut append = labels.append(local, from, body, Origin::of(caller.standing));
    append.asked = Some(RecipientFacts { pinned: continuity::pinned(&cx, to).await? });
    let (stamp, stored, key_changed) = match runtime::call(&*cx.rt, actor.as_str(), &append).await? {
        Appended::Stored { stamp, key_changed, .. } => (stamp, true, key_changed),
        Appended::Repeated { stamp, key_changed, .. } => (stamp, false, key_changed),
        Appended::KeysChanged | Appended::Ask => return Err(Error::internal("an unexpected change of keys")),
    };
    if stored {
        Usage::of(cx.rt.environment()).sent(&caller.actor);
    }
    Response::created(&Routed {
        routed: true,
        destination: cx.settings().base_url(),
        id: wire::message_id(&actor, &local),
        from: caller.did.clone(),
        to: request.to,
        status: "delivered",
        timestamp: wire::stamp_text(stamp),
        attempts: 0,
        last_status: None,
        next_attempt_at: None,
        ended_at: Some(wire::stamp_text(stamp)),
        key_changed,
    })
}

/// A message for an agent that is not here.
struct Outgoing {
    request: RouteRequest,
    labels: Labels,
    signature: Vec<u8>,
    envelope: String,
    to: crate::directory::Did,
}

async fn elsewhere(cx: &Cx, outgoing: Outgoing, found: PeerAgent) -> Result<Response> {
    let Outgoing { request, labels, signature, envelope, to } = outgoing;
    let caller = cx.caller.agent()?;
    let keys = Prints::of(&found.public.signing, &found.public.encryption);
    if continuity::pinned(cx, to).await?.is_some_and(|pinned| pinned != keys) {
        return Err(continuity::changed());
    }
    // A relay accepts messages from another relay only when it can verify their sender, so the other relay would refuse
    // this one.
    if !signing::verify(&caller.keys.signing, envelope.as_bytes(), &signature) {
        let message = "`signature` does not verify; another relay accepts only messages whose sender it can verify.";
        return Err(Error::bad_request(message));
    }
    let deliver = DeliverRequest {
        from: caller.did.clone(),
        to: request.to,
        ciphertext: request.ciphertext,
        nonce: request.nonce,
        signature: request.signature,
        sender_signing_key: encode_base64(&caller.keys.signing),
        sender_encryption_key: encode_base64(&caller.keys.encryption),
        content_type: labels.content_type,
        message_type: labels.message_type,
        thread_id: labels.thread_id,
        reply_to: labels.reply_to,
        ttl: request.ttl,
    };
    let body = serde_json::to_vec(&deliver).map_err(Error::internal)?;
    let id = delivery_id(&body);
    let queue = Queue { id, peer: found.peer, to, destination: found.url, body };
    let delivery = runtime::call(&*cx.rt, caller.actor.clone(), &queue).await?;
    if delivery.attempts == 0 && delivery.made == delivery.due {
        Usage::of(cx.rt.environment()).sent(&caller.actor);
    }
    Response::created(&routed(cx, &id, &delivery)?)
}

fn routed(cx: &Cx, id: &super::wire::DeliveryId, delivery: &Delivery) -> Result<Routed> {
    let caller = cx.caller.agent()?;
    let (status, ended) = match delivery.state {
        DeliveryState::Waiting => ("waiting", None),
        DeliveryState::Delivered(at) => ("delivered", Some(at)),
        DeliveryState::Refused(at) => ("refused", Some(at)),
        DeliveryState::Expired(at) => ("expired", Some(at)),
    };
    let waiting = ended.is_none();
    Ok(Routed {
        routed: matches!(delivery.state, DeliveryState::Waiting | DeliveryState::Delivered(_)),
        destination: delivery.destination.clone(),
        id: wire::message_id(&caller.actor, id),
        from: caller.did.clone(),
        to: wire::did_text(cx.settings(), &delivery.to),
        status,
        timestamp: wire::stamp_text(delivery.made),
        attempts: delivery.attempts,
        last_status: delivery.status,
        next_attempt_at: waiting.then(|| wire::stamp_text(delivery.due)),
        ended_at: ended.map(wire::stamp_text),
        key_changed: false,
    })
}

async fn status(cx: Cx) -> Result<Response> {
    let caller = cx.caller.agent()?;
    let unknown = || Error::not_found("There is no such message, or its delivery ended more than a day ago.");
    let (actor, id) = wire::parse_message_id(cx.path("id")?).ok_or_else(unknown)?;
    if actor != caller.actor {
        return Err(unknown());
    }
    let delivery = runtime::query(&*cx.rt, actor, &ReadDelivery { id }).await?.ok_or_else(unknown)?;
    Response::json(&routed(&cx, &id, &delivery)?)
}
