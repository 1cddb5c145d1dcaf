//! Key pins: an agent remembers the keys of its peers, so that it notices when they change.
//!
//! A pin keeps the keys that were seen first. When the peer's keys change, the pin stays, and so does the warning,
//! until the agent decides: `accept` pins the present keys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::{self, ReadPublic};
use super::{moderation, wire};
use crate::agent::authentication::Calling;
use crate::directory::Did;
use crate::{Error, Result, Timestamp};
use crypto::encoding::{self, DID_PATTERN};
use crypto::hash;
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::http::{Cx, Param, Response, Route, handler};
use engine::kv::{Direction, Read, Row, Table};
use engine::runtime;

pub const ROUTES: &[Route] = &[
    Route::post("/v1/agent/keys/pin", handler!(pin))
        .agent()
        .accepts::<PinRequest>()
        .returns::<PinResponse>()
        .summary("Remember a peer's keys, or compare them with those remembered; `accept` takes new ones."),
    Route::get("/v1/agent/keys/pins", handler!(pins))
        .agent()
        .params(&[Param::optional("status", "Only pins of this status.").one_of(&[VERIFIED, CHANGED])])
        .returns::<PinList>()
        .summary("All pins of the calling agent."),
    Route::get("/v1/agent/keys/verify/{did}", handler!(verify))
        .agent()
        .returns::<PinCheck>()
        .summary("Compare a peer's keys with its pin, changing nothing."),
];

/// Most pins of one agent; our choice.
const MAX_PINS: usize = 10_000;
/// The pinned keys are the peer's present ones.
const VERIFIED: &str = "verified";
/// The peer has other keys now.
const CHANGED: &str = "changed";
/// Clients test this exact word.
const NOT_PINNED: &str = "not_pinned";
const WARNING: &str = "The keys of this agent are not those pinned earlier. Unless it announced new keys, somebody may \
                       be posing as it.";

/// SHA-256 of each of a peer's keys, which identify them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prints {
    pub signing: [u8; 32],
    pub encryption: [u8; 32],
}

impl Row for Prints {}

impl Prints {
    /// The prints of an Ed25519 and an X25519 public key.
    pub fn of(signing: &[u8; 32], encryption: &[u8; 32]) -> Prints {
        Prints { signing: hash::sha256(signing), encryption: hash::sha256(encryption) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The peer's name at the last look.
    pub name: Option<String>,
    pub pinned: Prints,
    /// The peer's keys at the last look.
    pub current: Prints,
    pub first_seen: Timestamp,
    pub last_verified: Timestamp,
}
impl Row for Pin {}

impl Pin {
    fn status(&self) -> &'static str {
        if self.pinned == self.current { VERIFIED } else { CHANGED }
    }
}

const PINS: Table<(Did,), Pin> = Table::new(24);
/// Number of rows in `PINS`, so that a new pin need not count them.
const COUNT: Table<(), u64> = Table::new(25);

pub const ENTRIES: &[Entry] = &[operation::<PutPin>(), query::<ReadPins>(), query::<ReadPin>()];

/// Whether the agent pinned this peer and the peer still has the pinned keys. With other keys it may be somebody else.
/// When the present keys are unknown, those of the last look count.
pub(super) fn is_verified(view: &(impl Read + ?Sized), peer: Did, present: Option<Prints>) -> Result<bool> {
    Ok(PINS.get(view, &(peer,))?.is_some_and(|pin| pin.pinned == present.unwrap_or(pin.current)))
}

/// Pins a peer's keys, or notes the peer's present keys in the pin.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PutPin {
    pub peer: Did,
    pub name: Option<String>,
    pub current: Prints,
    /// Pins the present keys instead of the earlier ones.
    pub accept: bool,
}

impl Operation for PutPin {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "pin";
    type Reply = Pin;

    fn run(self, turn: &mut Turn<'_>) -> Result<Pin> {
        if moderation::is_erased(turn)? {
            return Err(record::gone());
        }
        let mut pin = match PINS.get(turn, &(self.peer,))? {
            Some(pin) => pin,
            None => {
                let count = COUNT.get(turn, &())?.unwrap_or(0);
                if count >= MAX_PINS as u64 {
                    return Err(Error::conflict("This agent has 10000 pins already."));
                }
                COUNT.put(turn, &(), &(count + 1))?;
                Pin {
                    name: None,
                    pinned: self.current,
                    current: self.current,
                    first_seen: turn.now,
                    last_verified: turn.now,
                }
            }
        };
        pin.name = self.name;
        pin.current = self.current;
        if self.accept {
            pin.pinned = self.current;
        }
        if pin.pinned == pin.current {
            pin.last_verified = turn.now;
        }
        PINS.put(turn, &(self.peer,), &pin)?;
        Ok(pin)
    }
}

/// Reads all pins, by peer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadPins;

impl Query for ReadPins {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "pins";
    type Reply = Vec<(Did, Pin)>;

    fn run(self, view: &View<'_>) -> Result<Vec<(Did, Pin)>> {
        let rows = PINS.scan(view, &PINS.range(), Direction::Ascending, MAX_PINS)?;
        Ok(rows.into_iter().map(|((peer,), pin)| (peer, pin)).collect())
    }
}

/// Reads the pin of one peer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadPin {
    pub peer: Did,
}

impl Query for ReadPin {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "pin_of";
    type Reply = Option<Pin>;

    fn run(self, view: &View<'_>) -> Result<Option<Pin>> {
        Ok(PINS.get(view, &(self.peer,))?)
    }
}

/// The peer to pin.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PinRequest {
    #[schemars(regex(pattern = DID_PATTERN))]
    pub did: String,
    /// Extension: true when the agent has looked into a change and trusts the peer's present keys, which are pinned
    /// from now on.
    pub accept: Option<bool>,
}

/// The state of a pin.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PinResponse {
    pub did: String,
    pub pinned: bool,
    /// The peer's keys are not the pinned ones. The pin stays until the caller accepts other keys.
    pub key_changed: bool,
    /// `verified` or `changed`.
    pub status: &'static str,
    pub warning: Option<&'static str>,
    /// Lower-case hex of SHA-256 of the pinned signing key.
    pub previous_signing_hash: String,
    /// Lower-case hex of SHA-256 of the present signing key.
    pub current_signing_hash: String,
    pub first_seen: String,
    pub last_verified: String,
}

/// Pins.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PinList {
    pub pins: Vec<ListedPin>,
    pub total: usize,
}

/// One pin of a list, as of the last look.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedPin {
    pub pinned_did: String,
    pub pinned_name: Option<String>,
    pub status: &'static str,
    pub first_seen: String,
    pub last_verified: String,
}

/// The comparison of a peer's keys with its pin.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PinCheck {
    pub did: String,
    pub pinned: bool,
    pub verified: bool,
    /// `verified`, `changed` or `not_pinned`.
    pub status: &'static str,
    pub warning: Option<&'static str>,
    pub first_seen: Option<String>,
    pub last_verified: Option<String>,
}

/// Name and key prints of a peer; `None` when there is no such agent.
async fn look(cx: &Cx, actor: &str) -> Result<Option<(Option<String>, Prints)>> {
    let public = runtime::query(&*cx.rt, actor, &ReadPublic).await?;
    Ok(public.map(|public| {
        let prints = Prints::of(&public.signing, &public.encryption);
        (public.name, prints)
    }))
}

async fn pin(cx: Cx) -> Result<Response> {
    let request: PinRequest = cx.json()?;
    let peer_actor = wire::known_actor(cx.settings(), &request.did)?;
    let (name, current) = look(&cx, &peer_actor).await?.ok_or_else(wire::unknown_agent)?;
    let accept = request.accept.unwrap_or(false);
    let put = PutPin { peer: record::did_of(&peer_actor)?, name, current, accept };
    let pin = runtime::call(&*cx.rt, cx.caller.agent()?.actor.clone(), &put).await?;
    let key_changed = pin.status() == CHANGED;
    Response::json(&PinResponse {
        did: request.did,
        pinned: true,
        key_changed,
        status: pin.status(),
        warning: key_changed.then_some(WARNING),
        previous_signing_hash: encoding::encode_hex(&pin.pinned.signing),
        current_signing_hash: encoding::encode_hex(&pin.current.signing),
        first_seen: pin.first_seen.to_string(),
        last_verified: pin.last_verified.to_string(),
    })
}

async fn pins(cx: Cx) -> Result<Response> {
    let wanted = cx.query("status")?;
    if wanted.as_deref().is_some_and(|wanted| ![VERIFIED, CHANGED].contains(&wanted)) {
        return Err(Error::bad_request(format!("Query parameter `status` must be {VERIFIED} or {CHANGED}.")));
    }
    let all = runtime::query(&*cx.rt, cx.caller.agent()?.actor.clone(), &ReadPins).await?;
    let pins: Vec<ListedPin> = all
        .into_iter()
        .filter(|(_, pin)| wanted.as_deref().is_none_or(|wanted| wanted == pin.status()))
        .map(|(peer, pin)| ListedPin {
            pinned_did: wire::did_text(cx.settings(), &peer),
            status: pin.status(),
            first_seen: pin.first_seen.to_string(),
            last_verified: pin.last_verified.to_string(),
            pinned_name: pin.name,
        })
        .collect();
    let total = pins.len();
    Response::json(&PinList { pins, total })
}

async fn verify(cx: Cx) -> Result<Response> {
    let did = cx.path("did")?.to_owned();
    let not_pinned = PinCheck {
        did: did.clone(),
        pinned: false,
        verified: false,
        status: NOT_PINNED,
        warning: None,
        first_seen: None,
        last_verified: None,
    };
    let Some(peer_actor) = wire::actor_of(cx.settings(), &did) else { return Response::json(&not_pinned) };
    let peer = record::did_of(&peer_actor)?;
    let pin = runtime::query(&*cx.rt, cx.caller.agent()?.actor.clone(), &ReadPin { peer }).await?;
    let Some(pin) = pin else { return Response::json(&not_pinned) };
    let current = look(&cx, &peer_actor).await?.map(|(_, current)| current);
    let verified = current == Some(pin.pinned);
    Response::json(&PinCheck {
        did,
        pinned: true,
        verified,
        status: if verified { VERIFIED } else { CHANGED },
        warning: (!verified).then_some(WARNING),
        first_seen: Some(pin.first_seen.to_string()),
        last_verified: Some(pin.last_verified.to_string()),
    })
}
