//! The operator's routes: the peers, their pins, and the relay's own key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::info::peer_info;
use super::peers::{Peer, PutPeer, PutPeerPin, ReadPeers, RemovePeer};
use super::tally::{self, Tally};
use super::{PeerId, actor, key, peer_id, peer_text};
use crate::agent::wire;
use crate::federation::Tallies;
use crate::unwritten::Pending;
use crate::webhook::permitted;
use crate::{Error, Result};
use crypto::encoding::{DID_PATTERN, base64_pattern, decode_base64_array, encode_base64, parse_actor_id, parse_did};
use crypto::signing;
use engine::http::{Cx, LINE, Response, Route, handler};
use engine::runtime;
use engine::web::ADDRESS_PATTERN;
use facts::measurement::domain::host_of;

pub const ROUTES: &[Route] = &[
    Route::get("/v1/admin/peers", handler!(list))
        .admin()
        .extension()
        .returns::<AdminPeers>()
        .summary("The peers of this relay with their keys, in the order in which they are asked."),
    Route::post("/v1/admin/peers", handler!(put))
        .admin()
        .extension()
        .accepts::<NewPeer>()
        .creates::<AdminPeer>()
        .summary("Make another relay a peer, or change name and key of the peer with this address."),
    Route::delete("/v1/admin/peers/{peer}", handler!(remove))
        .admin()
        .extension()
        .returns::<RemovedPeer>()
        .summary("End a peer at once."),
    Route::post("/v1/admin/peers/{peer}/pins", handler!(pin))
        .admin()
        .extension()
        .accepts::<NewPin>()
        .creates::<MadePin>()
        .summary("Pin an agent to a peer and a key, for example after it rotated its keys."),
    Route::post("/v1/admin/relay-key", handler!(rotate))
        .admin()
        .extension()
        .bodiless()
        .creates::<RelayKey>()
        .summary("Make a new key for this relay. Its peers accept nothing more until their operators know the key."),
];

/// Most bytes of an address; our choice.
const MAX_URL: usize = 512;
/// Most characters of a name; our choice.
const MAX_NAME: usize = 128;

/// Another relay.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct NewPeer {
    /// The beginning of its addresses, such as `https://relay.example.org`.
    #[schemars(length(max = MAX_URL), regex(pattern = ADDRESS_PATTERN))]
    pub url: String,
    /// `public_key` of its `/v1/relay/info`: base64, Ed25519.
    #[schemars(regex(pattern = base64_pattern(32)))]
    pub public_key: String,
    /// The host of its address when absent.
    #[schemars(length(max = MAX_NAME), regex(pattern = LINE))]
    pub name: Option<String>,
}

/// A peer.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AdminPeer {
    pub id: String,
    pub url: String,
    pub name: String,
    /// Base64, Ed25519.
    pub public_key: String,
    pub added_at: String,
    pub status: String,
    pub agents_synced: u64,
    pub messages_routed: u64,
}

/// Peers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AdminPeers {
    pub peers: Vec<AdminPeer>,
    pub total: usize,
}

/// A peer that was removed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RemovedPeer {
    pub id: String,
    pub removed: bool,
}

/// The key of an agent at a peer.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct NewPin {
    #[schemars(regex(pattern = DID_PATTERN))]
    pub did: String,
    /// Base64, Ed25519.
    #[schemars(regex(pattern = base64_pattern(32)))]
    pub signing_public_key: String,
}

/// A pin that was made.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct MadePin {
    pub did: String,
    pub peer: String,
}

/// The relay's key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RelayKey {
    /// Base64, Ed25519.
    pub public_key: String,
}

fn admin_peer(id: &PeerId, peer: Peer, pending: Option<&Pending<Tally>>) -> AdminPeer {
    let (public_key, added_at) = (encode_base64(&peer.key), peer.added.to_string());
    let info = peer_info(peer, pending);
    AdminPeer {
        id: peer_text(id),
        url: info.relay_url,
        name: info.relay_name,
        public_key,
        added_at,
        status: info.status.to_owned(),
        agents_synced: info.agents_synced,
        messages_routed: info.messages_routed,
    }
}

async fn list(cx: Cx) -> Result<Response> {
    let pending = tally::pending(&*cx.rt);
    let rows = runtime::query(&*cx.rt, actor().name, &ReadPeers).await?;
    let peers: Vec<AdminPeer> = rows.into_iter().map(|(id, peer)| admin_peer(&id, peer, pending.get(&id))).collect();
    Response::json(&AdminPeers { total: peers.len(), peers })
}

/// The address without trailing slashes, and with its host in lower case.
fn address(cx: &Cx, url: &str) -> Result<String> {
    let url = url.trim().trim_end_matches('/');
    if url.len() > MAX_URL || url.contains(['?', '#']) {
        return Err(Error::bad_request("`url` must be at most 512 bytes, without query and fragment."));
    }
    permitted(cx.settings(), url)?;
    let host = host_of(url);
    Ok(url.replacen(host, &host.to_ascii_lowercase(), 1))
}

async fn put(cx: Cx) -> Result<Response> {
    let wanted: NewPeer = cx.json()?;
    let url = address(&cx, &wanted.url)?;
    let key: [u8; 32] = decode_base64_array("public_key", &wanted.public_key)?;
    signing::validate_signing_key("public_key", &key)?;
    if key == key::own(&*cx.rt, false).await?.public {
        return Err(Error::bad_request("`public_key` is the key of this relay."));
    }
    let name = wanted.name.filter(|name| !name.is_empty()).unwrap_or_else(|| host_of(&url).to_owned());
    if name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(Error::bad_request("`name` must be at most 128 characters."));
    }
    let pending = tally::pending(&*cx.rt);
    let (id, peer) = runtime::call(&*cx.rt, actor().name, &PutPeer { url, name, key }).await?;
    Tallies::of(cx.rt.environment()).added();
    Response::created(&admin_peer(&id, peer, pending.get(&id)))
}

/// The peer that the path names by its id or its address.
fn named(cx: &Cx) -> Result<PeerId> {
    let text = cx.path("peer")?;
    match text.contains("://") {
        true => Ok(peer_id(text.trim_end_matches('/'))),
        false => parse_actor_id(text).ok_or_else(unknown),
    }
}

fn unknown() -> Error {
    Error::not_found("There is no such peer.")
}

async fn remove(cx: Cx) -> Result<Response> {
    let id = named(&cx)?;
    if !runtime::call(&*cx.rt, actor().name, &RemovePeer { id }).await? {
        return Err(unknown());
    }
    Response::json(&RemovedPeer { id: peer_text(&id), removed: true })
}

async fn pin(cx: Cx) -> Result<Response> {
    let peer = named(&cx)?;
    let wanted: NewPin = cx.json()?;
    let did = parse_did(&cx.settings().brand, &wanted.did).map_err(|_| wire::unknown_agent())?;
    let signing: [u8; 32] = decode_base64_array("signing_public_key", &wanted.signing_public_key)?;
    signing::validate_signing_key("signing_public_key", &signing)?;
    let rows = runtime::query(&*cx.rt, actor().name, &ReadPeers).await?;
    if !rows.iter().any(|(id, _)| *id == peer) {
        return Err(unknown());
    }
    runtime::call(&*cx.rt, actor().name, &PutPeerPin { did, peer, signing, strong: true }).await?;
    Response::created(&MadePin { did: wanted.did, peer: peer_text(&peer) })
}

async fn rotate(cx: Cx) -> Result<Response> {
    let made = key::own(&*cx.rt, true).await?;
    Response::created(&RelayKey { public_key: encode_base64(&made.public) })
}
