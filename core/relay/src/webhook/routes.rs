//! The endpoints of an agent's webhooks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{
    Add, Hook, Id, PURPOSE, ReadLog, ReadWebhooks, RemoveWebhook, Replay, RotateSecret, SECRET, Tried, address, owner,
    permitted, seal_url,
};
use crate::above::Bookkeeping;
use crate::agent::authentication::Calling;
use crate::agent::{custody, wire};
use crate::{Error, Result};
use crypto::encoding::encode_base64;
use engine::actor::{ActorId, Kind};
use engine::http::{Cx, Response, Route, handler};
use engine::runtime;
use engine::runtime::Runtime;
use engine::web::ADDRESS_PATTERN;

pub const ROUTES: &[Route] = &[
    Route::post("/v1/agent/webhooks", handler!(create))
        .agent()
        .accepts::<WebhookRequest>()
        .creates::<CreatedWebhook>()
        .summary("Have events sent to an https address. The secret that signs them is shown only here."),
    Route::get("/v1/agent/webhooks", handler!(list))
        .agent()
        .returns::<WebhookList>()
        .summary("The caller's webhooks, oldest first."),
    Route::delete("/v1/agent/webhooks/{id}", handler!(delete))
        .agent()
        .returns::<DeletedWebhook>()
        .summary("Delete a webhook; deliveries that wait are not sent."),
    Route::get("/v1/agent/webhooks/{id}/deliveries", handler!(deliveries))
        .agent()
        .extension()
        .returns::<DeliveryList>()
        .summary("The last 50 attempts to deliver to a webhook, newest first."),
    Route::post("/v1/agent/webhooks/{id}/deliveries/{delivery_id}/replay", handler!(replay))
        .agent()
        .bodiless()
        .extension()
        .returns::<Replayed>()
        .summary("Send a delivery of the log again, under its id. A message that is gone by then is not sent."),
    Route::post("/v1/agent/webhooks/{id}/rotate-secret", handler!(rotate))
        .agent()
        .bodiless()
        .extension()
        .returns::<RotatedSecret>()
        .summary("Get a new secret, shown only here. The earlier secret still signs too for a day."),
];

/// The event of a webhook that names no events.
const DEFAULT: &str = "message";
/// Most bytes of an address; our choice.
const MAX_URL: usize = 2_048;

/// A new webhook.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct WebhookRequest {
    /// https, port 443 or 8443, a host of the open Internet; at most 2048 bytes.
    #[schemars(length(max = MAX_URL), regex(pattern = ADDRESS_PATTERN))]
    pub webhook_url: String,
    /// Any of `message` (the default), `hire.created`, `hire.claimed`, `receipt.disputed` and `transfer.settled`.
    #[schemars(length(min = 1), inner(regex(pattern = "^[a-z]+([.][a-z]+)?$")))]
    pub events: Option<Vec<String>>,
}

/// A new webhook with its secret.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedWebhook {
    pub id: String,
    /// The whole text is the key of the header `X-Svc-Signature`. Never shown again.
    pub secret: String,
    pub webhook_url: String,
    pub events: Vec<String>,
    pub enabled: bool,
    pub failure_count: u32,
    pub created_at: String,
}

/// One webhook.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Webhook {
    pub id: String,
    pub webhook_url: String,
    pub events: Vec<String>,
    /// False after the receiver answered 410, or failed 20 attempts in a row over at least a day.
    pub enabled: bool,
    /// Failed attempts since the last success.
    pub failure_count: u32,
    /// Deliveries that wait, at most 10000; further events are not delivered.
    pub pending: u32,
    pub created_at: String,
    pub disabled_at: Option<String>,
}

/// Webhooks of the caller.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WebhookList {
    pub webhooks: Vec<Webhook>,
    pub count: usize,
}

/// A deletion.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedWebhook {
    pub id: String,
    pub deleted: bool,
}

/// Attempts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeliveryList {
    pub deliveries: Vec<DeliveryAttempt>,
    pub count: usize,
}

/// One attempt.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeliveryAttempt {
    /// Header `webhook-id`; the same at every attempt of a delivery.
    pub delivery_id: String,
    pub event: String,
    /// 1 to 6.
    pub attempt: u32,
    pub at: String,
    pub latency_ms: u32,
    pub delivered: bool,
    /// The status that the receiver answered; null when it did not answer.
    pub status_code: Option<u16>,
    /// When the next attempt is due; null when there is none.
    pub next_attempt_at: Option<String>,
}

/// A delivery that is sent again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Replayed {
    pub replayed: bool,
    pub delivery_id: String,
}

/// A new secret.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RotatedSecret {
    pub id: String,
    /// Never shown again.
    pub secret: String,
    /// How long the earlier secret signs too, in `X-Svc-Signature-Previous` and as a second entry of
    /// `webhook-signature`.
    pub previous_valid_until: String,
}

impl RotatedSecret {
    pub fn new(actor: &str, id: Id, secret: &str, hook: Hook) -> Result<RotatedSecret> {
        let previous = hook.previous.ok_or_else(|| Error::internal("a rotation left no secret before it"))?;
        let id = wire::message_id(actor, &id);
        Ok(RotatedSecret { id, secret: secret.to_owned(), previous_valid_until: previous.until.to_string() })
    }
}

fn webhook(rt: &dyn Runtime, actor: &str, (id, hook): (Id, Hook)) -> Result<Webhook> {
    Ok(Webhook {
        id: wire::message_id(actor, &id),
        webhook_url: address(rt, &ActorId::new(Kind::Agent, actor), &hook.url)?,
        events: hook.events,
        enabled: hook.disabled.is_none(),
        failure_count: hook.failures,
        pending: hook.waiting,
        created_at: hook.created.to_string(),
        disabled_at: hook.disabled.map(|at| at.to_string()),
    })
}

/// The local part of an id that belongs to the caller; any other id is unknown.
fn own_id(cx: &Cx, name: &str, actor: &str) -> Result<Id> {
    let named = wire::parse_message_id(cx.path(name)?).filter(|(owner, _)| owner == actor);
    named.map(|(_, id)| id).ok_or_else(unknown)
}

fn unknown() -> Error {
    Error::not_found("There is no such webhook.")
}

/// The first bytes of random bytes, as an id.
pub fn short<const N: usize>(random: [u8; 32]) -> [u8; N] {
    let mut id = [0; N];
    id.iter_mut().zip(random).for_each(|(to, from)| *to = from);
    id
}

async fn create(cx: Cx) -> Result<Response> {
    let WebhookRequest { webhook_url: url, events } = cx.json()?;
    if url.len() > MAX_URL {
        return Err(Error::bad_request("`webhook_url` must be at most 2048 bytes."));
    }
    permitted(cx.settings(), &url)?;
    let mut events = events.unwrap_or_else(|| vec![DEFAULT.to_owned()]);
    events.sort_unstable();
    events.dedup();
    let others = Bookkeeping::of(cx.rt.environment().program).events;
    let known = |event: &String| event == DEFAULT || others.contains(&event.as_str());
    if events.is_empty() || !events.iter().all(known) {
        let others = others.join(", ");
        return Err(Error::bad_request(format!("`events` must be a list of events: {DEFAULT}, {others}.")));
    }
    let rt = &*cx.rt;
    let actor = cx.caller.agent()?.actor.as_str();
    let id = short(rt.random());
    let (secret, sealed) = fresh(&cx, actor)?;
    let kept = seal_url(rt, &ActorId::new(Kind::Agent, actor), &url)?;
    let add = Add { id, url: kept, events: events.clone(), sealed };
    runtime::call(rt, actor, &add).await?;
    Response::created(&CreatedWebhook {
        id: wire::message_id(actor, &id),
        secret: secret.to_string(),
        webhook_url: url,
        events,
        enabled: true,
        failure_count: 0,
        created_at: cx.now().to_string(),
    })
}

/// A new secret, plain and sealed.
fn fresh(cx: &Cx, actor: &str) -> Result<(Zeroizing<String>, Vec<u8>)> {
    let secret = Zeroizing::new(format!("{SECRET}{}", encode_base64(&cx.rt.random())));
    let owner = owner(cx.settings(), &ActorId::new(Kind::Agent, actor))?;
    let sealed = custody::seal(&*cx.rt, &owner, PURPOSE, secret.as_bytes())?;
    Ok((secret, sealed))
}

async fn rotate(cx: Cx) -> Result<Response> {
    let actor = cx.caller.agent()?.actor.as_str();
    let id = own_id(&cx, "id", actor)?;
    let (secret, sealed) = fresh(&cx, actor)?;
    let hook = runtime::call(&*cx.rt, actor, &RotateSecret { id, sealed }).await?;
    Response::json(&RotatedSecret::new(actor, id, &secret, hook)?)
}

async fn replay(cx: Cx) -> Result<Response> {
    let actor = cx.caller.agent()?.actor.as_str();
    let (id, delivery) = (own_id(&cx, "id", actor)?, own_id(&cx, "delivery_id", actor)?);
    runtime::call(&*cx.rt, actor, &Replay { id, delivery }).await?;
    Response::json(&Replayed { replayed: true, delivery_id: wire::message_id(actor, &delivery) })
}

async fn list(cx: Cx) -> Result<Response> {
    let actor = cx.caller.agent()?.actor.as_str();
    let hooks = runtime::query(&*cx.rt, actor, &ReadWebhooks).await?;
    let webhooks = hooks.into_iter().map(|hook| webhook(&*cx.rt, actor, hook));
    let webhooks: Vec<Webhook> = webhooks.collect::<Result<_>>()?;
    Response::json(&WebhookList { count: webhooks.len(), webhooks })
}

async fn delete(cx: Cx) -> Result<Response> {
    let actor = cx.caller.agent()?.actor.as_str();
    let id = own_id(&cx, "id", actor)?;
    match runtime::call(&*cx.rt, actor, &RemoveWebhook { id }).await? {
        true => Response::json(&DeletedWebhook { id: wire::message_id(actor, &id), deleted: true }),
        false => Err(unknown()),
    }
}

async fn deliveries(cx: Cx) -> Result<Response> {
    let actor = cx.caller.agent()?.actor.as_str();
    let tried =
        runtime::query(&*cx.rt, actor, &ReadLog { id: own_id(&cx, "id", actor)? }).await?.ok_or_else(unknown)?;
    Response::json(&attempts(actor, tried))
}

/// A log for its owner, newest first.
pub fn attempts(actor: &str, tried: Vec<Tried>) -> DeliveryList {
    let shown = |tried: Tried| DeliveryAttempt {
        delivery_id: wire::message_id(actor, &tried.delivery),
        event: tried.event,
        attempt: tried.attempt,
        at: tried.at.to_string(),
        latency_ms: tried.latency,
        delivered: tried.status.is_some_and(|status| (200..300).contains(&status)),
        status_code: tried.status,
        next_attempt_at: tried.next.map(|next| next.to_string()),
    };
    let deliveries: Vec<DeliveryAttempt> = tried.into_iter().rev().map(shown).collect();
    DeliveryList { count: deliveries.len(), deliveries }
}
