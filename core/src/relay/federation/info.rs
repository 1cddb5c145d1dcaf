//! `GET /v1/relay/info` and `/v1/relay/peers`.

use http::Method;
use schemars::JsonSchema;
use serde::Serialize;

use super::peers::{List, Peer};
use super::{PeerId, actor, key};
use crate::crypto::encoding::encode_base64;
use crate::engine::http::{Cx, Response, Route, handler};
use crate::relay::directory::stats::{self, ReadTotals};
use crate::relay::federation::Tallies;
use crate::{Result, engine::runtime};

pub const ROUTES: &[Route] = &[
    Route::get("/v1/relay/info", handler!(info))
        .returns::<Info>()
        .summary("What this relay is and can, and the key that signs what it delivers."),
    Route::get("/v1/relay/peers", handler!(peers))
        .returns::<PeerList>()
        .summary("The relays that this one exchanges messages with."),
];

/// How messages travel between relays.
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
pub struct Info {
    /// Names this deployment in what is signed for it.
    pub deployment_id: String,
    pub relay: About,
    pub stats: Stats,
    pub federation: Federation,
}

/// What it is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct About {
    pub name: String,
    pub version: &'static str,
    pub url: String,
    pub protocol: &'static str,
    pub encryption: &'static str,
    pub identity_format: String,
    pub features: [&'static str; 14],
    /// Base64, Ed25519: what operators give each other. Null only in an answer to HEAD before the first GET.
    pub public_key: Option<String>,
}

/// Sums over the agents of this relay, as `GET /v1/agent/stats` has them; a minute or two late.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stats {
    /// Active ones.
    pub agents: u64,
    /// Ever sent under an agent's own name.
    pub messages: u64,
}

/// How it deals with others.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Federation {
    /// Whether the operator made any other relay a peer: others are not listened to.
    pub accepts_peers: bool,
    pub sync_protocol: &'static str,
    pub peers: usize,
}

async fn info(cx: Cx) -> Result<Response> {
    let peers = runtime::query(&*cx.rt, actor().name, &List).await?;
    // The first look makes the key; a HEAD never writes (decision caller-rate-limits).
    let own = match cx.request.method == Method::HEAD {
        true => runtime::query(&*cx.rt, actor().name, &key::ReadKey).await?,
        false => Some(key::own(&*cx.rt, false).await?),
    };
    let totals = runtime::query(&*cx.rt, stats::ACTOR, &ReadTotals).await?;
    let settings = cx.settings();
    Response::json(&Info {
        deployment_id: cx.rt.environment().deployment.clone(),
        relay: About {
            name: settings.brand.clone(),
            version: env!("CARGO_PKG_VERSION"),
            url: settings.base_url(),
            protocol: "agent-relay/v1",
            encryption: "X25519-XSalsa20-Poly1305, hybrid with ML-KEM-768",
            identity_format: format!("did:{}:<base58 of the first 16 bytes of the Ed25519 key>", settings.brand),
            features: FEATURES,
            public_key: own.map(|own| encode_base64(&own.public)),
        },
        stats: Stats { agents: totals.agents, messages: totals.messages },
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
    /// `new` before anything happened, `active`, or `unreachable` when it last did not answer.
    pub status: &'static str,
    /// Its agents that are known here.
    pub agents_synced: u64,
    /// Messages that went either way; written once a minute.
    pub messages_routed: u64,
}

/// A peer as everybody may know it.
pub(super) fn peer_info(cx: &Cx, id: &PeerId, peer: Peer) -> PeerInfo {
    let tally = peer.tally.plus(&Tallies::of(cx.rt.environment()).pending(id));
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
    let rows = runtime::query(&*cx.rt, actor().name, &List).await?;
    let peers: Vec<PeerInfo> = rows.into_iter().map(|(id, peer)| peer_info(&cx, &id, peer)).collect();
    Response::json(&PeerList { total: peers.len(), peers })
}
