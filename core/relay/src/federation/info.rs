//! `GET /v1/relay/info` and `/v1/relay/peers`: this relay and its peers, for everybody.

use http::Method;
use schemars::JsonSchema;
use serde::Serialize;

use super::peers::{Peer, ReadPeers};
use super::tally::{self, Tally};
use super::{actor, key};
use crate::Result;
use crate::directory::stats::{self, ReadTotals};
use crate::unwritten::Pending;
use crypto::encoding::encode_base64;
use engine::http::{Cx, Response, Route, handler};
use engine::runtime;

pub const ROUTES: &[Route] = &[
    Route::get("/v1/relay/info", handler!(info))
        .returns::<Info>()
        .summary("This relay, its features, and the key that signs its deliveries."),
    Route::get("/v1/relay/peers", handler!(peers))
        .returns::<PeerList>()
        .summary("The relays that this one exchanges messages with."),
];

/// The protocol by which messages travel between relays.
const PROTOCOL: &str = "relay-deliver/v1";
const FEATURES: [&str; 14] = [
    "send",
    "send_encrypted",
    "sse",
    "websocket",
    "prekeys",
    "channels",
    "tasks",
    "attestations",
    "trust",
    "memory",
    "webhooks",
    "key_pinning",
    "usernames",
    "federation",
];

/// A relay.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RelayInfo")]
pub struct Info {
    /// The id of this deployment in texts that are signed for it.
    pub deployment_id: String,
    pub relay: RelayAbout,
    pub stats: RelayCounts,
    pub federation: Federation,
}

/// Name, version and features of a relay.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RelayAbout")]
pub struct RelayAbout {
    pub name: String,
    pub version: &'static str,
    pub url: String,
    pub protocol: &'static str,
    pub encryption: &'static str,
    pub identity_format: String,
    pub features: [&'static str; 14],
    /// Base64, Ed25519: the key that operators give each other. Null only in an answer to HEAD before the first GET.
    pub public_key: Option<String>,
}

/// Sums over the agents of this relay, as in `GET /v1/agent/stats`; a minute or two old.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RelayCounts")]
pub struct RelayCounts {
    /// Active agents.
    pub agents: u64,
    /// Messages ever sent under an agent's own name.
    pub messages: u64,
}

/// The relay's dealings with other relays.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Federation {
    /// Whether the operator has made any other relay a peer. Relays that are no peers are refused.
    pub accepts_peers: bool,
    pub sync_protocol: &'static str,
    pub peers: usize,
}

async fn info(cx: Cx) -> Result<Response> {
    let peers = runtime::query(&*cx.rt, actor().name, &ReadPeers).await?;
    // The first GET makes the key; a HEAD never writes (decision caller-rate-limits).
    let own = match cx.request.method == Method::HEAD {
        true => runtime::query(&*cx.rt, actor().name, &key::ReadRelayKey).await?,
        false => Some(key::own(&*cx.rt, false).await?),
    };
    let totals = runtime::query(&*cx.rt, stats::ACTOR, &ReadTotals).await?;
    let settings = cx.settings();
    Response::json(&Info {
        deployment_id: cx.rt.environment().deployment.clone(),
        relay: RelayAbout {
            name: settings.brand.clone(),
            version: env!("CARGO_PKG_VERSION"),
            url: settings.base_url(),
            protocol: "agent-relay/v1",
            encryption: "X25519-XSalsa20-Poly1305, hybrid with ML-KEM-768",
            identity_format: format!("did:{}:<base58 of the first 16 bytes of the Ed25519 key>", settings.brand),
            features: FEATURES,
            public_key: own.map(|own| encode_base64(&own.public)),
        },
        stats: RelayCounts { agents: totals.agents, messages: totals.messages },
        federation: Federation { accepts_peers: !peers.is_empty(), sync_protocol: PROTOCOL, peers: peers.len() },
    })
}

/// Peers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PeerList {
    pub peers: Vec<PeerInfo>,
    pub total: usize,
}

/// A peer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PeerInfo {
    pub relay_name: String,
    pub relay_url: String,
    /// `new` before any exchange, `active`, or `unreachable` when it did not answer the last time.
    pub status: &'static str,
    /// Agents of the peer that are known here.
    pub agents_synced: u64,
    /// Messages in both directions; written once a minute.
    pub messages_routed: u64,
}

/// A peer, as everybody may see it. `pending` is what its row lacks.
pub(super) fn peer_info(peer: Peer, pending: Option<&Pending<Tally>>) -> PeerInfo {
    let since = pending.into_iter().flat_map(|pending| pending.beside(peer.last_batch));
    let tally = since.fold(peer.tally.clone(), |sum, since| sum.plus(since));
    let status = match (tally.reached, tally.failed) {
        (None, None) => "new",
        (reached, failed) if failed > reached => "unreachable",
        _ => "active",
    };
    PeerInfo {
        relay_name: peer.name,
        relay_url: peer.url,
        status,
        agents_synced: peer.agents,
        messages_routed: tally.routed,
    }
}

async fn peers(cx: Cx) -> Result<Response> {
    let pending = tally::pending(&*cx.rt);
    let rows = runtime::query(&*cx.rt, actor().name, &ReadPeers).await?;
    let peers: Vec<PeerInfo> = rows.into_iter().map(|(id, peer)| peer_info(peer, pending.get(&id))).collect();
    Response::json(&PeerList { total: peers.len(), peers })
}
