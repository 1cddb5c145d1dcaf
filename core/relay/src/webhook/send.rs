//! One attempt of a delivery: its body, its signatures, the request.

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::queue;
use super::{Attempt, Id, LATEST, LEASE, Record, Subject, TIMEOUT};
use crate::above::Subscriptions;
use crate::agent::wire::{self, RawMessage};
use crate::agent::{custody, mailbox, record, reseal};
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::encoding::{decode_base64, decode_hex_array, encode_base64, encode_hex};
use crypto::hash::hmac_sha256;
use crypto::sealing;
use engine::actor::{ActorId, Call, Kind, Operation, Query, View, decode, encode};
use engine::runtime::Runtime;
use engine::settings::Settings;
use engine::web::Networks;
use engine::web::Outgoing;
use engine::web::check_url;
use facts::measurement::domain::host_of;

/// The purpose for which the secret is sealed.
pub const PURPOSE: &str = "webhook/1";
/// The purpose for which the address is sealed.
pub const URL_PURPOSE: &str = "webhook-url/1";
/// The beginning of every secret (Standard Webhooks); the rest is base64.
pub const SECRET: &str = "whsec_";

/// The data for one attempt of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The address as it is stored.
    pub url: String,
    pub sealed: Vec<u8>,
    /// The secret before a rotation, while both sign.
    pub previous: Option<Vec<u8>>,
    pub delivery: Id,
    /// JSON, the same at every attempt; `None` when there is nothing left to deliver.
    pub body: Option<String>,
    /// When the lease ends.
    pub until: Timestamp,
}

/// Reads the delivery under way of a webhook.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Next {
    pub hook: Id,
}

impl Query for Next {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "webhook_next";
    type Reply = Option<Job>;

    fn run(self, view: &View<'_>) -> Result<Option<Job>> {
        if queue::is_silent(view)? {
            return Ok(None);
        }
        let Some((hook, delivery, until, row)) = queue::under_way(view, self.hook)? else { return Ok(None) };
        let body = body(view, &row.subject)?;
        let previous = hook.previous.filter(|previous| previous.until > view.now).map(|previous| previous.sealed);
        Ok(Some(Job { url: hook.url, sealed: hook.sealed, previous, delivery, body, until }))
    }
}

/// The body for a message: the raw message as the recipient could read it, and nothing that only the service can
/// decrypt.
#[derive(Serialize)]
struct MessageEvent<'a> {
    event: &'a str,
    timestamp: String,
    message: RawMessage,
}

fn body(view: &View<'_>, subject: &Subject) -> Result<Option<String>> {
    let actor = &view.actor().name;
    let (local, stamp) = match subject {
        Subject::Message { local, stamp } => (local, *stamp),
        Subject::Event { body, .. } => return Ok(Some(body.clone())),
    };
    let Some(item) = mailbox::item(view, local, stamp)? else { return Ok(None) };
    let to = wire::did_text(view.settings, &record::did_of(actor)?);
    let message = wire::raw_message(view.settings, actor, &to, item);
    let told = MessageEvent { event: subject.event(), timestamp: wire::stamp_text(stamp), message };
    serde_json::to_string(&told).map(Some).map_err(Error::internal)
}

/// Refuses addresses to which nothing may be sent: see [`check_url`]. The deployment's own address is refused too,
/// since it would send events to itself.
pub fn permitted(settings: &Settings, url: &str) -> Result<Networks> {
    let beyond = Networks::parse(&settings.allow_outbound).unwrap_or_default();
    check_url(url, &beyond)?;
    let host = |url: &str| host_of(url).trim_end_matches('.').to_ascii_lowercase();
    if host(url) == host(&settings.base_url()) && check_url(url, &Networks::default()).is_ok() {
        return Err(Error::bad_request("The address must not lead to this service."));
    }
    Ok(beyond)
}

/// A body to be sent, with the data that its signatures cover.
pub struct SignedBody<'a> {
    pub brand: &'a str,
    /// The same at every attempt of a delivery.
    pub id: &'a str,
    /// The id of the delivery, the same at every attempt.
    pub seconds: i64,
    pub body: &'a str,
}

impl SignedBody<'_> {
    /// The HMAC keyed with the text of the secret.
    fn plain(&self, secret: &str) -> String {
        format!("sha256={}", encode_hex(&hmac_sha256(secret.as_bytes(), self.body.as_bytes())))
    }

    /// The HMAC keyed with the bytes that the secret encodes (Standard Webhooks).
    fn standard(&self, secret: &str) -> Result<String> {
        let key = secret.strip_prefix(SECRET).unwrap_or_default();
        let key = Zeroizing::new(decode_base64("secret", key).map_err(Error::internal)?);
        let content = format!("{}.{}.{}", self.id, self.seconds, self.body);
        Ok(format!("v1,{}", encode_base64(&hmac_sha256(&key, content.as_bytes()))))
    }

    /// Headers that tell the receiver who sent a body and which delivery it is. After a rotation the earlier secret
    /// signs too: Standard Webhooks has a list for that, and our own signature gets a second header.
    pub fn headers(&self, secret: &str, previous: Option<&str>) -> Result<Vec<(String, String)>> {
        let name = format!("x-{}-signature", self.brand);
        let mut standard = self.standard(secret)?;
        let mut headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            (name.clone(), self.plain(secret)),
            ("webhook-id".to_owned(), self.id.to_owned()),
            ("webhook-timestamp".to_owned(), self.seconds.to_string()),
        ];
        if let Some(previous) = previous {
            standard = format!("{standard} {}", self.standard(previous)?);
            headers.push((format!("{name}-previous"), self.plain(previous)));
        }
        headers.push(("webhook-signature".to_owned(), standard));
        Ok(headers)
    }
}

/// Makes the request that an actor asked for under `key` ([`engine::actor::Turn::reach_out`]) and records its
/// outcome. After an error nothing was recorded, and the actor's timer asks again.
pub async fn attempt(rt: &dyn Runtime, actor: &ActorId, key: &str) -> Result<()> {
    let hook: Id = decode_hex_array("key", key).map_err(Error::internal)?;
    let call = |name: &str, arguments| Call { actor: actor.clone(), name: name.to_owned(), arguments };
    let next = rt.query(call(Next::NAME, encode(&Next { hook })?)).await?;
    let began = rt.now();
    let Some(job) = decode::<Option<Job>>(&next)? else { return Ok(()) };
    // It is too late to finish within the lease. The end of the lease starts a new attempt, so that two are never under
    // way.
    if job.until.since(began) < LEASE - LATEST {
        return Ok(());
    }
    let delivery = job.delivery;
    let outcome = match &job.body {
        None => Attempt::Gone,
        Some(body) => make(rt, actor, &job, body).await?,
    };
    let latency = u32::try_from(rt.now().since(began) / 1_000).unwrap_or(u32::MAX);
    let record = Record { hook, delivery, began, latency, outcome };
    rt.call(call(Record::NAME, encode(&record)?)).await?;
    // Where no maintenance task visits all actors, an actor moves its secrets when it uses one.
    let current = rt.environment().secrets.sealing().current().id();
    let behind = rt.maintenance().is_none() && sealing::key_id(&job.sealed) != Some(current);
    if behind || custody::is_behind(rt, &job.url) {
        match actor.kind {
            Kind::Account => (Subscriptions::of(rt.environment().program).reseal_account)(rt, &actor.name).await,
            _ => Box::pin(reseal::passing_by(rt, &actor.name)).await,
        }
    }
    Ok(())
}

async fn make(rt: &dyn Runtime, actor: &ActorId, job: &Job, body: &str) -> Result<Attempt> {
    let id = wire::message_id(&actor.name, &job.delivery);
    let secret = unsealed(rt, actor, &job.sealed)?;
    let previous = job.previous.as_deref().map(|sealed| unsealed(rt, actor, sealed)).transpose()?;
    post(rt, &address(rt, actor, &job.url)?, &id, body, Some(&secret), previous.as_deref().map(String::as_str)).await
}

/// Opens a secret, as its holder knows it.
pub fn unsealed(rt: &dyn Runtime, actor: &ActorId, sealed: &[u8]) -> Result<Zeroizing<String>> {
    let environment = rt.environment();
    let owner = owner(&environment.settings, actor)?;
    let secret = environment.secrets.sealing().open(&owner, PURPOSE, sealed).map_err(Error::internal)?;
    std::str::from_utf8(&secret).map(|text| Zeroizing::new(text.to_owned())).map_err(Error::internal)
}

/// Seals the address of a webhook.
pub fn seal_url(rt: &dyn Runtime, actor: &ActorId, url: &str) -> Result<String> {
    custody::seal_text(rt, &owner(&rt.environment().settings, actor)?, URL_PURPOSE, url)
}

/// Opens the address of a webhook, as its owner gave it.
pub fn address(rt: &dyn Runtime, actor: &ActorId, stored: &str) -> Result<String> {
    custody::open_text(rt, &owner(&rt.environment().settings, actor)?, URL_PURPOSE, stored)
}

/// Makes one request to a receiver, signed when there is a secret.
pub async fn post(
    rt: &dyn Runtime,
    url: &str,
    id: &str,
    body: &str,
    secret: Option<&str>,
    previous: Option<&str>,
) -> Result<Attempt> {
    let settings = &rt.environment().settings;
    // Settings may have changed since the address was accepted.
    let Ok(beyond) = permitted(settings, url) else { return Ok(Attempt::Failed) };
    let message = SignedBody { brand: &settings.brand, id, seconds: rt.now().seconds(), body };
    let mut headers = match secret {
        Some(secret) => message.headers(secret, previous)?,
        None => vec![("content-type".to_owned(), "application/json".to_owned())],
    };
    let agent = format!("heliograph/{} (+{})", env!("CARGO_PKG_VERSION"), settings.base_url());
    headers.push(("user-agent".to_owned(), agent));
    let body = Some(body.to_owned().into());
    let outgoing = Outgoing { url: url.to_owned(), headers, body, timeout: TIMEOUT, max_bytes: 0, beyond };
    match rt.fetch(outgoing).await {
        Ok(answer) => Ok(Attempt::Status(answer.status)),
        // Nothing was sent, since this process has no room for the request.
        Err(error) if error.code == ErrorCode::RateLimited => Err(error),
        Err(_) => Ok(Attempt::Failed),
    }
}

/// The owner that the secrets of an actor are sealed for: the DID of an agent, or the name of another actor.
pub fn owner(settings: &Settings, actor: &ActorId) -> Result<String> {
    Ok(match actor.kind {
        Kind::Agent => wire::did_text(settings, &record::did_of(&actor.name)?),
        _ => actor.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python's hmac computed the expected values; the second is the published example of Standard Webhooks.
    #[test]
    fn signatures_are_those_that_other_implementations_compute() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = r#"{"test": 2432232314}"#;
        let message = SignedBody { brand: "svc", id: "msg_p5jXN8AQM9LWM0D4loKWxJek", seconds: 1_614_265_330, body };
        let headers = message.headers(secret, None).unwrap();
        let header = |name: &str| headers.iter().find(|(known, _)| known == name).unwrap().1.as_str();
        assert_eq!(header("webhook-signature"), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!(header("x-svc-signature"), PLAIN);
        assert_eq!((header("webhook-id"), header("webhook-timestamp")), ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330"));
    }

    /// During a rotation, a receiver that knows either secret can verify.
    #[test]
    fn during_a_rotation_both_secrets_sign() {
        let (old, new) = ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
        let message = SignedBody { brand: "svc", id: "a", seconds: 1, body: "{}" };
        let find = |headers: &[(String, String)], name: &str| {
            headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()).unwrap()
        };
        let (before, after) = (message.headers(old, None).unwrap(), message.headers(new, None).unwrap());
        let both = message.headers(new, Some(old)).unwrap();
        let name = "webhook-signature";
        assert_eq!(find(&both, name), format!("{} {}", find(&after, name), find(&before, name)));
        assert_eq!(find(&both, "x-svc-signature"), find(&after, "x-svc-signature"));
        assert_eq!(find(&both, "x-svc-signature-previous"), find(&before, "x-svc-signature"));
    }

    const PLAIN: &str = "sha256=80ec8a89ce3cd22133a1066caecb4d04fea7467657c8514d717ec42c38a5c94c";

    /// Decision recorded-vectors: libsodium computes the same signatures over the same bodies.
    #[test]
    fn recorded_signatures_of_webhooks_are_byte_identical() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../../../tests/vectors/nacl/signatures.json")).unwrap();
        for vector in vectors["webhooks"].as_array().unwrap() {
            let text = |name: &str| vector[name].as_str().unwrap();
            let seconds = vector["timestamp"].as_i64().unwrap();
            let message = SignedBody { brand: "svc", id: text("id"), seconds, body: text("body") };
            let headers = message.headers(text("secret"), None).unwrap();
            let header = |name: &str| headers.iter().find(|(known, _)| known == name).unwrap().1.as_str();
            assert_eq!((header("x-svc-signature"), header("webhook-signature")), (text("plain"), text("standard")));
        }
    }

    #[test]
    fn nothing_is_sent_to_the_service_itself() {
        let mut settings = Settings::default();
        settings.set("public_url", "https://relay.example.org/").unwrap();
        permitted(&settings, "https://example.org/hook").unwrap();
        for url in ["https://relay.example.org/v1", "https://RELAY.example.org.:8443/", "http://example.org/"] {
            assert!(permitted(&settings, url).is_err(), "{url}");
        }
    }
}
