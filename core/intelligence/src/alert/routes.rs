//! `/api/alerts`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::desk::{AlertStats, DOCUMENT};
use super::news::{Event, test};
use super::secret;
use super::subscription::{
    Alter, ReadLog, ReadOne, Replay, Rotate, Subscribe, Subscription, SubscriptionWithHook, Subscriptions, Unsubscribe,
};
use crate::incidents::Severity;
use crate::{Error, ErrorCode, Result};
use engine::actor::{ActorId, Kind};
use engine::http::{Caller, Cx, Response, Route, handler};
use engine::limits::Rate;
use engine::runtime;
use engine::web::ADDRESS_PATTERN;
use facts::starter::Country;
use relay::agent::{custody, wire};
use relay::webhook::{self, Attempt, DeliveryList, Hook, Id, PURPOSE, Replayed, RotatedSecret, permitted};

pub const ROUTES: &[Route] = &[
    Route::post("/api/alerts/subscribe", handler!(subscribe))
        .key()
        .accepts::<SubscribeRequest>()
        .creates::<CreatedSubscription>()
        .summary("Have incidents sent to an https address. The secret that signs them is shown here only."),
    Route::get("/api/alerts/subscriptions", handler!(list))
        .key()
        .returns::<SubscriptionList>()
        .summary("The subscriptions of the key, oldest first."),
    Route::patch("/api/alerts/subscriptions/{id}", handler!(alter))
        .key()
        .accepts::<AlterRequest>()
        .returns::<SubscriptionBody>()
        .summary("Switch a subscription on or off, or change what it wants."),
    Route::delete("/api/alerts/subscriptions/{id}", handler!(delete))
        .key()
        .returns::<DeletedSubscription>()
        .summary("Delete a subscription; what waits for it is not sent."),
    Route::get("/api/alerts/subscriptions/{id}/deliveries", handler!(deliveries))
        .key()
        .extension()
        .returns::<DeliveryList>()
        .summary("The last 50 attempts to deliver to a subscription, newest first."),
    Route::post("/api/alerts/subscriptions/{id}/deliveries/{delivery_id}/replay", handler!(replay))
        .key()
        .bodiless()
        .extension()
        .returns::<Replayed>()
        .summary("Send a delivery of the log again, under its id."),
    Route::post("/api/alerts/subscriptions/{id}/rotate-secret", handler!(rotate))
        .key()
        .bodiless()
        .extension()
        .returns::<RotatedHmacSecret>()
        .summary("Get a new secret, shown here only. The one before signs too for a day."),
    Route::get("/api/alerts/stats", handler!(stats))
        .returns::<AlertStats>()
        .summary("Numbers over all subscriptions; a minute or two late."),
    Route::post("/api/alerts/webhook-test", handler!(webhook_test))
        .key()
        .accepts::<TestRequest>()
        .returns::<TestResult>()
        .effectful()
        .summary("Send `incident.test` to the address of a subscription of the key, once and at once."),
];

/// Bytes of a webhook address, at most; our choice.
const MAX_URL: usize = 2_048;
/// How often one key may send tests; our choice. Each test makes a request to somebody else's host.
const TESTS: Rate = Rate::per_minute(10);

/// The code of a country, or an empty text for every country.
const COUNTRY_OR_NONE: &str = "^([A-Za-z]{2})?$";

/// A request for a subscription.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SubscribeRequest {
    /// https, port 443 or 8443, a host of the open Internet; at most 2048 bytes.
    #[schemars(length(max = MAX_URL), regex(pattern = ADDRESS_PATTERN))]
    pub webhook_url: String,
    /// ISO 3166-1, two letters. If absent, the subscription is for every country.
    #[schemars(regex(pattern = COUNTRY_OR_NONE))]
    pub country_code: Option<String>,
    /// `low` (the default), `medium`, `high` or `critical`.
    #[schemars(with = "Option<Severity>")]
    pub min_severity: Option<String>,
}

/// Changes of a subscription. Absent members stay as they are.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct AlterRequest {
    /// Switching a subscription on again resets its failures.
    pub enabled: Option<bool>,
    #[schemars(length(max = MAX_URL), regex(pattern = ADDRESS_PATTERN))]
    pub webhook_url: Option<String>,
    /// An empty text stands for every country.
    #[schemars(regex(pattern = COUNTRY_OR_NONE))]
    pub country_code: Option<String>,
    #[schemars(with = "Option<Severity>")]
    pub min_severity: Option<String>,
}

/// A subscription.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SubscriptionBody {
    pub id: String,
    pub webhook_url: String,
    /// Null for every country.
    pub country_code: Option<String>,
    pub min_severity: Severity,
    pub enabled: bool,
    pub created_at: String,
    /// The time of the last attempt to deliver something.
    pub last_delivery_at: Option<String>,
    /// The receiver's status at that attempt; null when it did not answer, or nothing was attempted.
    pub last_status: Option<u16>,
    /// Failed attempts since the last success.
    pub failure_count: u32,
    /// Whether it was switched off because of its receiver, which answered 410, or failed 20 attempts in a row over at
    /// least a day.
    pub disabled_by_failures: bool,
    /// Deliveries that wait. Beyond 10000 no more are added.
    pub pending: u32,
}

/// The new subscription, with its secret.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedSubscription {
    #[serde(flatten)]
    pub subscription: SubscriptionBody,
    /// Signs deliveries, and is the subscriber key for outcome reports. It is never shown again.
    pub hmac_secret: String,
}

/// The subscriptions of a key.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SubscriptionList {
    pub count: usize,
    pub subscriptions: Vec<SubscriptionBody>,
}

/// A deletion.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedSubscription {
    pub deleted: bool,
    pub id: String,
}

/// The new secret of a subscription, under the name that it has in a new subscription.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RotatedHmacSecret {
    pub id: String,
    /// It is never shown again.
    pub hmac_secret: String,
    /// Until this time the previous secret signs too, in `X-Svc-Signature-Previous` and as a second signature in
    /// `webhook-signature`.
    pub previous_valid_until: String,
}

/// The subscription to test, by id or by address. Without either it is the oldest subscription of the key.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TestRequest {
    #[schemars(regex(pattern = wire::ID_PATTERN))]
    pub subscription_id: Option<String>,
    /// The address of a subscription of the key.
    pub webhook_url: Option<String>,
}

/// The result of a test.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TestResult {
    /// Whether the receiver answered with a status from 200 to 299.
    pub delivered: bool,
    /// Null when the receiver did not answer.
    pub status_code: Option<u16>,
    pub latency_ms: u32,
    pub event: &'static str,
}

fn body(cx: &Cx, account: &str, (id, hook, subscription): SubscriptionWithHook) -> Result<SubscriptionBody> {
    let Subscription { country, least, tried, failed, .. } = subscription;
    let Hook { url, created, disabled, failures, waiting, .. } = hook;
    Ok(SubscriptionBody {
        id: wire::message_id(account, &id),
        webhook_url: webhook::address(&*cx.rt, &ActorId::new(Kind::Account, account), &url)?,
        country_code: country,
        min_severity: least,
        enabled: disabled.is_none(),
        created_at: created.to_string(),
        last_delivery_at: tried.map(|(at, _)| at.to_string()),
        last_status: tried.and_then(|(_, status)| status),
        failure_count: failures,
        disabled_by_failures: disabled.is_some() && failed,
        pending: waiting,
    })
}

/// The account of the caller. The demo key and the operator's key have none of their own.
fn account(cx: &Cx) -> Result<&str> {
    match &cx.caller {
        Caller::Key { account, .. } if !account.is_empty() => Ok(account),
        _ => Err(Error::new(
            ErrorCode::Forbidden,
            "Subscriptions belong to an API key of your own; get one at POST /api-keys/signup.",
        )),
    }
}

/// The local part of a subscription id that belongs to the account. An id of another account is answered as unknown.
fn own_id(account: &str, text: &str) -> Result<Id> {
    let named = wire::parse_message_id(text).filter(|(owner, _)| owner == account);
    named.map(|(_, id)| id).ok_or_else(unknown)
}

fn unknown() -> Error {
    Error::not_found("There is no such subscription.")
}

fn checked_url(cx: &Cx, url: &str) -> Result<()> {
    if url.len() > MAX_URL {
        return Err(Error::bad_request("`webhook_url` must be at most 2048 bytes."));
    }
    permitted(cx.settings(), url).map(|_| ())
}

/// Reads a country code; an empty text stands for every country.
fn country(text: Option<String>) -> Result<Option<Option<String>>> {
    let Some(text) = text else { return Ok(None) };
    if text.is_empty() {
        return Ok(Some(None));
    }
    let code = text.to_ascii_uppercase();
    match Country::all().iter().any(|country| country.code == code) {
        true => Ok(Some(Some(code))),
        false => Err(Error::bad_request("`country_code` must be an ISO 3166-1 code of two letters.")),
    }
}

fn severity(text: Option<String>) -> Result<Option<Severity>> {
    let refuse = || Error::bad_request("`min_severity` must be low, medium, high or critical.");
    text.map(|text| Severity::parse(&text).ok_or_else(refuse)).transpose()
}

async fn subscribe(cx: Cx) -> Result<Response> {
    let SubscribeRequest { webhook_url: url, country_code, min_severity } = cx.json()?;
    let account = account(&cx)?;
    checked_url(&cx, &url)?;
    let (country, least) = (country(country_code)?.flatten(), severity(min_severity)?.unwrap_or(Severity::Low));
    let rt = &*cx.rt;
    let (id, secret) = (webhook::short(rt.random()), fresh(&cx, account)?);
    let sealed = seal(&cx, account, &secret)?;
    let secret_hash = secret::hash(&secret);
    let url = webhook::seal_url(rt, &ActorId::new(Kind::Account, account), &url)?;
    let asked = Subscribe { id, url, country, least, sealed, secret_hash };
    runtime::call(rt, account, &asked).await?;
    let whole = runtime::query(rt, account, &ReadOne { id }).await?.ok_or_else(unknown)?;
    Response::created(&CreatedSubscription {
        subscription: body(&cx, account, whole)?,
        hmac_secret: secret.to_string(),
    })
}

fn fresh(cx: &Cx, account: &str) -> Result<zeroize::Zeroizing<String>> {
    secret::make(&cx.rt.environment().secrets, account, cx.rt.random())
}

fn seal(cx: &Cx, account: &str, secret: &str) -> Result<Vec<u8>> {
    let owner = webhook::owner(cx.settings(), &ActorId::new(Kind::Account, account))?;
    custody::seal(&*cx.rt, &owner, PURPOSE, secret.as_bytes())
}

async fn list(cx: Cx) -> Result<Response> {
    let account = account(&cx)?;
    let found = runtime::query(&*cx.rt, account, &Subscriptions).await?;
    let subscriptions = found.into_iter().map(|whole| body(&cx, account, whole));
    let subscriptions: Vec<SubscriptionBody> = subscriptions.collect::<Result<_>>()?;
    Response::json(&SubscriptionList { count: subscriptions.len(), subscriptions })
}

async fn alter(cx: Cx) -> Result<Response> {
    let account = account(&cx)?;
    let id = own_id(account, cx.path("id")?)?;
    let AlterRequest { enabled, webhook_url: url, country_code, min_severity } = cx.json()?;
    let seal = |url: String| {
        checked_url(&cx, &url)?;
        webhook::seal_url(&*cx.rt, &ActorId::new(Kind::Account, account), &url)
    };
    let url = url.map(seal).transpose()?;
    let alter = Alter { id, enabled, url, country: country(country_code)?, least: severity(min_severity)? };
    if (alter.enabled.is_none(), &alter.url, &alter.country, alter.least) == (true, &None, &None, None) {
        return Err(Error::bad_request("Give `enabled`, `webhook_url`, `country_code` or `min_severity`."));
    }
    Response::json(&body(&cx, account, runtime::call(&*cx.rt, account, &alter).await?)?)
}

async fn delete(cx: Cx) -> Result<Response> {
    let account = account(&cx)?;
    let id = own_id(account, cx.path("id")?)?;
    match runtime::call(&*cx.rt, account, &Unsubscribe { id }).await? {
        true => Response::json(&DeletedSubscription { deleted: true, id: wire::message_id(account, &id) }),
        false => Err(unknown()),
    }
}

async fn deliveries(cx: Cx) -> Result<Response> {
    let account = account(&cx)?;
    let id = own_id(account, cx.path("id")?)?;
    let tried = runtime::query(&*cx.rt, account, &ReadLog { id }).await?.ok_or_else(unknown)?;
    Response::json(&webhook::attempts(account, tried))
}

async fn replay(cx: Cx) -> Result<Response> {
    let account = account(&cx)?;
    let id = own_id(account, cx.path("id")?)?;
    let delivery = own_id(account, cx.path("delivery_id")?)?;
    runtime::call(&*cx.rt, account, &Replay { id, delivery }).await?;
    Response::json(&Replayed { replayed: true, delivery_id: wire::message_id(account, &delivery) })
}

async fn rotate(cx: Cx) -> Result<Response> {
    let account = account(&cx)?;
    let id = own_id(account, cx.path("id")?)?;
    let secret = fresh(&cx, account)?;
    let sealed = seal(&cx, account, &secret)?;
    let rotate = Rotate { id, sealed, secret_hash: secret::hash(&secret) };
    let hook = runtime::call(&*cx.rt, account, &rotate).await?;
    let RotatedSecret { id, secret, previous_valid_until } = RotatedSecret::new(account, id, &secret, hook)?;
    Response::json(&RotatedHmacSecret { id, hmac_secret: secret, previous_valid_until })
}

async fn stats(cx: Cx) -> Result<Response> {
    cx.document(DOCUMENT).await
}

async fn webhook_test(cx: Cx) -> Result<Response> {
    let account = account(&cx)?;
    let TestRequest { subscription_id, webhook_url } = cx.json()?;
    let rt = &*cx.rt;
    let all = runtime::query(rt, account, &Subscriptions).await?;
    let actor = ActorId::new(Kind::Account, account);
    let open = |hook: &Hook| webhook::address(rt, &actor, &hook.url);
    let (url, hook) = match (subscription_id, webhook_url) {
        (Some(text), _) => {
            let id = own_id(account, &text)?;
            let (_, hook, _) = all.into_iter().find(|(known, ..)| *known == id).ok_or_else(unknown)?;
            (open(&hook)?, hook)
        }
        (None, Some(url)) => {
            checked_url(&cx, &url)?;
            let mut hook = None;
            for (_, known, _) in all {
                hook = hook.or(Some(known).filter(|known| open(known).is_ok_and(|address| address == url)));
            }
            // Otherwise a key could make the service send requests to hosts of others, ten a minute.
            let refuse = || Error::bad_request("`webhook_url` must be the address of a subscription of this key.");
            (url, hook.ok_or_else(refuse)?)
        }
        (None, None) => {
            let (_, hook, _) = all.into_iter().next().ok_or_else(|| {
                Error::bad_request("Name a `subscription_id` or a `webhook_url`: this key has no subscription.")
            })?;
            (open(&hook)?, hook)
        }
    };
    let budget = rt.environment().buckets.take(&format!("webhook test {account}"), TESTS, rt.now());
    if !budget.allowed {
        let error = Error::new(ErrorCode::RateLimited, "At most 10 tests a minute; wait, then retry.");
        return Err(error.retry_after(budget.retry_after()));
    }
    let secret = webhook::unsealed(rt, &actor, &hook.sealed)?;
    let id = wire::message_id(account, &webhook::short(rt.random()));
    let (began, said) = (rt.now(), test(rt.now(), &cx.settings().base_url())?);
    let outcome = webhook::post(rt, &url, &id, &said, Some(&secret), None).await?;
    let status_code = match outcome {
        Attempt::Status(status) => Some(status),
        Attempt::Failed | Attempt::Gone => None,
    };
    Response::json(&TestResult {
        delivered: status_code.is_some_and(|status| (200..300).contains(&status)),
        status_code,
        latency_ms: u32::try_from(rt.now().since(began) / 1_000).unwrap_or(u32::MAX),
        event: Event::Test.as_str(),
    })
}
