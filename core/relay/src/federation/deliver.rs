//! `POST /v1/relay/deliver`: a peer delivers a message of one of its agents for an agent here
//! (decision peer-deliveries).
//!
//! Checks are made in this order, cheap ones before costly ones: the budget of the client's address, the four headers,
//! the time, the peer's key, its signature, the peer's budget, the match of id and body, and only then the body. The
//! message itself must be signed by its sender, whose key must give the DID. So a peer cannot deliver anything in the
//! name of an agent that did not write it. Nobody can deliver in the name of an agent of this relay, and nothing is
//! forwarded.

use schemars::JsonSchema;
use serde::Serialize;

use super::find::instead_of;
use super::peers::{Peer, PeerOf, PinOf, PutPeerPin, is_key_of};
use super::wire::{self as relay_wire, DeliverRequest};
use super::{MAX_BODY, PeerId, WINDOW, actor};
use crate::agent::mailbox::{Append, Appended, Body, Origin, append_error};
use crate::agent::record::ReadPublic;
use crate::agent::send::{Labels, local_of};
use crate::agent::wire;
use crate::directory::Did;
use crate::federation::Tallies;
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::encoding::{actor_id, decode_base64, decode_base64_array, parse_did};
use crypto::envelope;
use crypto::{boxes, signing};
use engine::http::{Cx, Response, Route, handler};
use engine::limits::Rate;
use engine::runtime;

pub const ROUTES: &[Route] = &[Route::post(relay_wire::PATH, handler!(deliver))
    .extension()
    .max_body(MAX_BODY)
    .accepts::<DeliverRequest>()
    .creates::<Delivered>()
    .summary(
        "A peer delivers a message for an agent of this relay, signed by headers. A repeat gets the same answer.",
    )];

/// A message that was accepted.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MessageDelivered")]
pub struct Delivered {
    /// The id that the recipient sees.
    pub id: String,
    pub to: String,
    /// When it was accepted, ISO 8601; an exact repeat gets the first time.
    pub timestamp: String,
    pub expires_at: String,
}

fn refused(message: &'static str) -> Error {
    Error::unauthorized(message)
}

fn forbidden(message: &'static str) -> Error {
    Error::new(ErrorCode::Forbidden, message)
}

/// Takes from a budget in memory. On the edge each isolate has its own, as for all public routes
/// (decision caller-rate-limits).
fn spend(cx: &Cx, name: &str, share: u32) -> Result<()> {
    let settings = cx.settings();
    let rate = Rate::per_minute(settings.peer_per_second.saturating_mul(60).saturating_mul(share));
    let rate = rate.burst(settings.peer_burst.saturating_mul(share));
    let budget = cx.rt.environment().buckets.take(name, rate, cx.now());
    if budget.allowed {
        return Ok(());
    }
    let message = "Too many deliveries; wait, then retry.";
    Err(Error::new(ErrorCode::RateLimited, message).retry_after(budget.retry_after()))
}

/// The budget of an address is larger than that of a peer: several peers may share an address, and strangers must not
/// use up the peers' budget.
const ADDRESS_SHARE: u32 = 4;

/// Checks the request and returns the peer that signed it.
async fn peer(cx: &Cx) -> Result<(PeerId, Peer)> {
    spend(cx, &format!("deliveries from {}", cx.address()), ADDRESS_SHARE)?;
    let header = |name: &'static str| {
        let missing = || Error::unauthorized(format!("A delivery needs the header {name}."));
        cx.request.header(name).ok_or_else(missing)
    };
    let timestamp = header(relay_wire::TIMESTAMP)?;
    let delivery = header(relay_wire::DELIVERY)?;
    let bad = |_| refused("The headers of the delivery cannot be read.");
    let key: [u8; 32] = decode_base64_array("key", header(relay_wire::KEY)?).map_err(bad)?;
    let signature = decode_base64("signature", header(relay_wire::SIGNATURE)?).map_err(bad)?;
    let at = Timestamp::parse(timestamp).ok_or_else(|| refused("The time of the delivery cannot be read."))?;
    if at.since(cx.now()).abs() > WINDOW {
        return Err(refused("The time of the delivery must be within 5 minutes of this relay's time."));
    }
    let known = runtime::query(&*cx.rt, actor().name, &PeerOf { key }).await?;
    let known = known.ok_or_else(|| refused("This relay has no peer with that key."))?;
    let text = relay_wire::signed_text(&cx.settings().brand, &cx.request.body, timestamp, delivery);
    if !signing::verify(&key, text.as_bytes(), &signature) {
        return Err(refused("The signature of the delivery does not verify."));
    }
    spend(cx, &format!("deliveries of {}", super::peer_text(&known.0)), 1)?;
    if relay_wire::delivery_text(&relay_wire::delivery_id(&cx.request.body)) != delivery {
        return Err(Error::conflict("This delivery id does not belong to this body."));
    }
    Ok(known)
}

async fn deliver(cx: Cx) -> Result<Response> {
    let (peer, _) = peer(&cx).await?;
    let request: DeliverRequest = cx.json()?;
    let brand = &cx.settings().brand;
    let from = parse_did(brand, &request.from).map_err(|_| forbidden("`from` must be a valid DID."))?;
    let to = parse_did(brand, &request.to).map_err(|_| append_error())?;
    let message = message(&cx, &peer, from, &request).await?;
    let recipient = actor_id(&to);
    let append = message.append(&request)?;
    let (stamp, expires, new) = match runtime::call(&*cx.rt, recipient.as_str(), &append).await? {
        Appended::Stored { stamp, expires, .. } => (stamp, expires, true),
        Appended::Repeated { stamp, expires, .. } => (stamp, expires, false),
        Appended::KeysChanged | Appended::Ask => return Err(Error::internal("an unexpected change of keys")),
    };
    if new {
        Tallies::of(cx.rt.environment()).routed(peer, cx.now());
    }
    if !message.pinned {
        let pin = PutPeerPin { did: from, peer, signing: message.signing, strong: true };
        // The message is stored. If this pin fails, the sender's next message pins.
        let _ = runtime::call(&*cx.rt, actor().name, &pin).await;
    }
    Response::created(&Delivered {
        id: wire::message_id(&recipient, &append.local),
        to: request.to,
        timestamp: wire::stamp_text(stamp),
        expires_at: wire::stamp_text(expires),
    })
}

/// A message that was checked.
struct Message {
    from: Did,
    ciphertext: Vec<u8>,
    nonce: [u8; 24],
    signature: Vec<u8>,
    signing: [u8; 32],
    encryption: [u8; 32],
    envelope: String,
    /// Whether a strong pin at this peer exists already.
    pinned: bool,
}

/// Checks that the sender is not an agent of this relay, wrote this message, and may be at this peer.
async fn message(cx: &Cx, peer: &PeerId, from: Did, request: &DeliverRequest) -> Result<Message> {
    let ciphertext = decode_base64("ciphertext", &request.ciphertext)?;
    let nonce = decode_base64_array("nonce", &request.nonce)?;
    let signature = decode_base64("signature", &request.signature)?;
    let signing: [u8; 32] = decode_base64_array("sender_signing_key", &request.sender_signing_key)?;
    let encryption: [u8; 32] = decode_base64_array("sender_encryption_key", &request.sender_encryption_key)?;
    if ciphertext.is_empty() {
        return Err(Error::bad_request("`ciphertext` must not be empty."));
    }
    signing::validate_signing_key("sender_signing_key", &signing)?;
    boxes::validate_encryption_key("sender_encryption_key", &encryption)?;
    let envelope = envelope::routed(&request.from, &request.to, &request.nonce, &request.ciphertext);
    if !signing::verify(&signing, envelope.as_bytes(), &signature) {
        return Err(forbidden("The message is not signed by the key of its sender."));
    }
    let pin = runtime::query(&*cx.rt, actor().name, &PinOf { did: from }).await?;
    if !is_key_of(&from, &signing, peer, pin.as_ref()) {
        return Err(forbidden("The key of the sender does not give its DID."));
    }
    // An agent here that registered somebody else's key, and never showed that it holds the key, does not shut out the
    // owner. Neither does a signature that anybody can copy shut out an agent that proved the key at this peer.
    if let Some(ours) = runtime::query(&*cx.rt, actor_id(&from), &ReadPublic).await?
        && ours.standing.has_signed()
        && instead_of(&*cx.rt, &from, &ours, &cx.address()).await?.is_none_or(|found| found.peer != *peer)
    {
        return Err(forbidden("The sender is an agent of this relay."));
    }
    let pinned = pin.is_some_and(|pin| pin.strong && pin.peer == *peer);
    Ok(Message { from, ciphertext, nonce, signature, signing, encryption, envelope, pinned })
}

impl Message {
    fn append(&self, request: &DeliverRequest) -> Result<Append> {
        let labels = Labels::check(
            request.content_type.clone(),
            request.message_type.clone(),
            request.thread_id.clone(),
            request.reply_to.clone(),
            request.ttl,
        )?;
        let body = Body {
            ciphertext: self.ciphertext.clone(),
            nonce: self.nonce,
            signature: self.signature.clone(),
            envelope: Some(self.envelope.clone()),
            sender_signing: self.signing,
            sender_encryption: self.encryption,
        };
        let local = local_of(&[b"message", &self.from, &self.nonce, &self.signature]);
        Ok(labels.append(local, self.from, body, Origin::Elsewhere))
    }
}
