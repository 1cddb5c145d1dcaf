//! One attempt of a delivery to a peer.

use super::peers::Link;
use super::queue::{Next, Record};
use super::{PeerId, actor, key, wire};
use crate::federation::Tallies;
use crate::webhook::{Attempt, LATEST, LEASE, TIMEOUT};
use crate::{Error, ErrorCode, Result};
use crypto::encoding::decode_hex_array;
use engine::actor::ActorId;
use engine::runtime::{self, Runtime};
use engine::settings::Settings;
use engine::web::Networks;
use engine::web::Outgoing;
use engine::web::check_url;

/// The `User-Agent` header of this deployment.
pub(super) fn user_agent(settings: &Settings) -> (String, String) {
    let agent = format!("heliograph/{} (+{})", env!("CARGO_PKG_VERSION"), settings.base_url());
    ("user-agent".to_owned(), agent)
}

/// Makes the request that the agent `sender` asked for, to the peer named by `lane`, and records its outcome. After an
/// error nothing was recorded, and the agent's timer asks again.
pub async fn attempt(rt: &dyn Runtime, sender: &ActorId, lane: &str) -> Result<()> {
    let peer: PeerId = decode_hex_array("lane", lane).map_err(Error::internal)?;
    let Some(job) = runtime::query(rt, sender.name.as_str(), &Next { peer }).await? else { return Ok(()) };
    let began = rt.now();
    // It is too late to finish within the lease. The end of the lease starts a new attempt, so that two are never under
    // way.
    if job.until.since(began) < LEASE - LATEST {
        return Ok(());
    }
    let outcome = make(rt, peer, &job.body).await?;
    let tallies = Tallies::of(rt.environment());
    match outcome {
        Attempt::Status(200..=299) => tallies.routed(peer, rt.now()),
        // The peer answered: it refused the message.
        Attempt::Status(400..=499) | Attempt::Gone => {}
        Attempt::Status(_) | Attempt::Failed => tallies.failed(peer, rt.now()),
    }
    let record = Record { peer, id: job.id, began, outcome };
    runtime::call(rt, sender.name.as_str(), &record).await
}

async fn make(rt: &dyn Runtime, peer: PeerId, body: &[u8]) -> Result<Attempt> {
    let environment = rt.environment();
    let settings = &environment.settings;
    let Some((peer, own)) = runtime::query(rt, actor().name, &Link { id: peer }).await? else {
        return Ok(Attempt::Gone);
    };
    let own = match own {
        Some(own) => own,
        None => key::own(rt, false).await?,
    };
    let url = format!("{}{}", peer.url, wire::PATH);
    let beyond = Networks::parse(&settings.allow_outbound).unwrap_or_default();
    // Settings may have changed since the address was accepted.
    if check_url(&url, &beyond).is_err() {
        return Ok(Attempt::Failed);
    }
    let mut headers = wire::headers(&settings.brand, &own.open(rt)?, body, rt.now());
    headers.push(user_agent(settings));
    let body = Some(body.to_vec().into());
    let outgoing = Outgoing { url, headers, body, timeout: TIMEOUT, max_bytes: 0, beyond };
    let outcome = match rt.fetch(outgoing).await {
        Ok(answer) => Attempt::Status(answer.status),
        // Nothing was sent, since this process has no room for the request.
        Err(error) if error.code == ErrorCode::RateLimited => return Err(error),
        Err(_) => Attempt::Failed,
    };
    key::passing_by(rt, &own).await;
    Ok(outcome)
}
