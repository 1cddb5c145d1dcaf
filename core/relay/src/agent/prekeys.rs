//! Prekeys: keys with which somebody can begin a session with an agent that is away.
//!
//! A one-time prekey is given to one caller only. Giving it is the deciding operation of the request, durable before
//! the answer. The agent remembers the keys that were given, so a repeated upload does not bring one back. A caller
//! that asks too often gets the bundle without a one-time prekey (decision caller-rate-limits).
//!
//! One-time prekeys belong to the identity keys they were uploaded under: a rotation drops the ones that wait.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::identity::Prekey;
use super::record::{self, AGENT, Public, RegistrationPlace, SignedPrekey};
use super::{continuity, proof, waiting, wire};
use crate::agent::authentication::Calling;
use crate::{Error, Result};
use crypto::encoding::{base64_pattern, decode_base64_array, encode_base64};
use crypto::{boxes, signing};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::http::{Cx, Response, Route, handler};
use engine::kv::{Direction, Read, Row, Table};
use engine::limits::Rate;
use engine::runtime;

pub const ROUTES: &[Route] = &[
    Route::post("/v1/agent/prekeys", handler!(upload))
        .agent()
        .waiting()
        .accepts::<Upload>()
        .returns::<Uploaded>()
        .summary("Upload one-time prekeys, and a new signed prekey."),
    Route::get("/v1/agent/prekeys", handler!(own_stock))
        .agent()
        .extension()
        .returns::<OwnStock>()
        .summary("How many one-time prekeys of the calling agent wait to be given away."),
    Route::get("/v1/agent/prekeys/{did}", handler!(bundle))
        .effectful()
        .returns::<Bundle>()
        .summary("Keys to begin a session with an agent. Gives away one one-time prekey, while there are any."),
];

/// Most one-time prekeys in an upload.
pub const MAX_UPLOAD: usize = 100;
/// Most one-time prekeys that wait; our choice. All of them can be dropped in one operation.
pub const MAX_WAITING: u32 = 200;
/// A stock below this is reported as low; our choice, the smaller of the numbers that existing clients upload at once.
pub const LOW_STOCK: u32 = 10;
/// Most given keys that are remembered; our choice, 50 times the number that can wait.
const REMEMBERED: u64 = 10_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PublicKey {
    key: [u8; 32],
}
impl Row for PublicKey {}

/// The numbers of one-time prekeys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stock {
    pub waiting: u32,
    /// Keys given over the whole life of the actor; also the number of the last given key.
    pub given: u64,
}
impl Row for Stock {}

impl Stock {
    /// Whether the agent uses one-time prekeys and should upload more.
    pub fn is_low(&self) -> bool {
        self.waiting < LOW_STOCK && self.waiting as u64 + self.given > 0
    }
}

/// Keys that wait; the one with the lowest id is given first.
const WAITING: Table<(i64,), PublicKey> = Table::new(48);
/// Every key that waits (0), and the given keys that are remembered (their numbers).
const KNOWN: Table<([u8; 32],), u64> = Table::new(49);
/// Given keys by number; the oldest are forgotten.
const GIVEN: Table<(u64,), PublicKey> = Table::new(50);
const STOCK: Table<(), Stock> = Table::new(51);

pub const ENTRIES: &[Entry] =
    &[operation::<StorePrekeys>(), operation::<TakePrekey>(), query::<ReadBundle>(), query::<ReadStock>()];

pub(super) fn stock(view: &(impl Read + ?Sized)) -> Result<Stock> {
    Ok(STOCK.get(view, &())?.unwrap_or_default())
}

/// Drops the keys that wait: at most [`MAX_WAITING`], two rows each.
pub(super) fn ended(turn: &mut Turn<'_>) -> Result<()> {
    let mut stock = stock(turn)?;
    if stock.waiting == 0 {
        return Ok(());
    }
    for (id, PublicKey { key }) in WAITING.scan(turn, &WAITING.range(), Direction::Ascending, MAX_WAITING as usize)? {
        WAITING.delete(turn, &id);
        KNOWN.delete(turn, &(key,));
    }
    stock.waiting = 0;
    Ok(STOCK.put(turn, &(), &stock)?)
}

/// A one-time prekey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneTime {
    pub id: i64,
    pub public_key: [u8; 32],
}

/// Stores uploaded prekeys. When an id comes again, the last key stays. A key that was given is not stored again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StorePrekeys {
    /// At most [`MAX_UPLOAD`].
    pub one_time: Vec<OneTime>,
    /// The handler verified its signature under the keys of `version`.
    pub signed: Option<SignedPrekey>,
    pub version: u64,
}

impl StorePrekeys {
    /// Stores the keys, and returns how many of the uploaded keys wait now.
    fn store(&self, turn: &mut Turn<'_>, stock: &mut Stock) -> Result<u32> {
        let mut waiting = 0;
        for OneTime { id, public_key } in &self.one_time {
            match KNOWN.get(turn, &(*public_key,))? {
                Some(0) => waiting += 1,
                Some(_) => {}
                None => {
                    match WAITING.get(turn, &(*id,))? {
                        Some(PublicKey { key }) => KNOWN.delete(turn, &(key,)),
                        None => stock.waiting += 1,
                    }
                    WAITING.put(turn, &(*id,), &PublicKey { key: *public_key })?;
                    KNOWN.put(turn, &(*public_key,), &0)?;
                    waiting += 1;
                }
            }
        }
        Ok(waiting)
    }
}

impl Operation for StorePrekeys {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "store_prekeys";
    /// How many of the uploaded keys wait now, and the whole stock.
    type Reply = (u32, Stock);

    fn run(self, turn: &mut Turn<'_>) -> Result<(u32, Stock)> {
        let mut agent = record::active(turn)?.ok_or_else(record::gone)?;
        let mut all = stock(turn)?;
        let waiting = self.store(turn, &mut all)?;
        if all.waiting > MAX_WAITING {
            return Err(Error::conflict("At most 200 one-time prekeys may wait."));
        }
        if waiting > 0 {
            STOCK.put(turn, &(), &all)?;
        }
        if let Some(signed) = self.signed {
            if agent.keys.version != self.version {
                return Err(Error::conflict("The keys of this agent changed meanwhile."));
            }
            agent.signed_prekey = Some(signed);
            AGENT.put(turn, &(), &agent)?;
            // The prekey came with this registration's own API key.
            waiting::signed(turn, agent)?;
        }
        Ok((waiting, all))
    }
}

/// Takes one one-time prekey for one caller.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TakePrekey;

impl Operation for TakePrekey {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "take_prekey";
    /// `None` when there is no such agent.
    type Reply = Option<(Public, Option<OneTime>)>;

    fn run(self, turn: &mut Turn<'_>) -> Result<Self::Reply> {
        let Some(agent) = record::active(turn)? else { return Ok(None) };
        let taken = take(turn)?;
        Ok(Some((record::public(&turn.view(), agent, RegistrationPlace::Stands)?, taken)))
    }
}

fn take(turn: &mut Turn<'_>) -> Result<Option<OneTime>> {
    let Some(((id,), found)) = WAITING.first(turn, &WAITING.range())? else { return Ok(None) };
    let mut stock = stock(turn)?;
    stock.waiting = stock.waiting.saturating_sub(1);
    stock.given += 1;
    WAITING.delete(turn, &(id,));
    KNOWN.put(turn, &(found.key,), &stock.given)?;
    GIVEN.put(turn, &(stock.given,), &found)?;
    STOCK.put(turn, &(), &stock)?;
    if let Some(forgotten) = stock.given.checked_sub(REMEMBERED)
        && let Some(PublicKey { key }) = GIVEN.get(turn, &(forgotten,))?
    {
        GIVEN.delete(turn, &(forgotten,));
        KNOWN.delete(turn, &(key,));
    }
    Ok(Some(OneTime { id, public_key: found.key }))
}

/// Reads the bundle without taking a key, and whether there is a key to take.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadBundle;

impl Query for ReadBundle {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "bundle";
    type Reply = Option<(Public, bool)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let Some(agent) = record::active(view)? else { return Ok(None) };
        Ok(Some((record::public(view, agent, RegistrationPlace::Stands)?, stock(view)?.waiting > 0)))
    }
}

/// Reads how many one-time prekeys wait.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadStock;

impl Query for ReadStock {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "prekey_stock";
    type Reply = Stock;

    fn run(self, view: &View<'_>) -> Result<Stock> {
        stock(view)
    }
}

/// Prekeys of the calling agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "PrekeyUpload")]
pub struct Upload {
    /// At most 100.
    #[schemars(length(max = MAX_UPLOAD))]
    pub prekeys: Vec<UploadedKey>,
    pub signed_prekey: Option<UploadedSigned>,
}

/// A one-time prekey. A caller that was given this id gets no other key under it.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct UploadedKey {
    /// A 64-bit number; when two keys have the same id, the later one counts.
    pub id: i64,
    /// Base64, X25519, 32 bytes.
    #[schemars(regex(pattern = base64_pattern(32)))]
    pub public_key: String,
}

/// A signed prekey, which replaces the present one.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct UploadedSigned {
    /// Base64, X25519, 32 bytes.
    #[schemars(regex(pattern = base64_pattern(32)))]
    pub public_key: String,
    /// Base64, Ed25519 over the raw key by the agent's signing key, 64 bytes.
    #[schemars(regex(pattern = base64_pattern(64)))]
    pub signature: String,
    pub id: i64,
}

/// The result of an upload.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PrekeysUploaded")]
pub struct Uploaded {
    /// How many of the uploaded one-time prekeys wait to be given away now; keys that were given earlier do not come
    /// back.
    pub uploaded: u32,
    pub signed_prekey_updated: bool,
    #[serde(flatten)]
    pub stock: OwnStock,
}

/// The one-time prekeys that an agent has left.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OwnStock {
    /// One-time prekeys that wait to be given away.
    pub one_time_prekeys_remaining: u32,
    /// True when the agent has used one-time prekeys and fewer than 10 are left: upload more.
    pub one_time_prekeys_low: bool,
}

impl From<Stock> for OwnStock {
    fn from(stock: Stock) -> Self {
        OwnStock { one_time_prekeys_remaining: stock.waiting, one_time_prekeys_low: stock.is_low() }
    }
}

/// The keys that begin a session.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PrekeyBundle")]
pub struct Bundle {
    pub did: String,
    /// Base64, X25519: the encryption key.
    pub identity_key: String,
    /// Base64, Ed25519.
    pub signing_key: String,
    pub signed_prekey: Option<Prekey>,
    /// Given to nobody else; null when there is none left, or when this caller asked too often.
    pub one_time_prekey: Option<GivenKey>,
    /// Base64, ML-KEM-768.
    pub mlkem_public_key: Option<String>,
    /// True when the caller sent X-Agent-Key and its agent pinned keys from which these do not follow. Otherwise
    /// absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub key_changed: bool,
}

/// A one-time prekey.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GivenKey {
    pub id: i64,
    pub public_key: String,
}

async fn upload(cx: Cx) -> Result<Response> {
    let upload: Upload = cx.json()?;
    if upload.prekeys.len() > MAX_UPLOAD {
        return Err(Error::bad_request("`prekeys` must be at most 100 keys."));
    }
    let caller = cx.caller.agent()?;
    let one_time = |prekey: &UploadedKey| {
        let public_key = decode_base64_array("prekeys.public_key", &prekey.public_key)?;
        boxes::validate_encryption_key("prekeys.public_key", &public_key)?;
        Ok(OneTime { id: prekey.id, public_key })
    };
    let one_time: Vec<OneTime> = upload.prekeys.iter().map(one_time).collect::<Result<_>>()?;
    let signed = match upload.signed_prekey {
        None => None,
        Some(UploadedSigned { public_key, signature, id }) => {
            let public_key = decode_base64_array("signed_prekey.public_key", &public_key)?;
            let signature = decode_base64_array::<64>("signed_prekey.signature", &signature)?;
            signing::verify_prekey(&caller.keys.signing, &public_key, &signature).map_err(|_| {
                Error::bad_request("`signed_prekey.signature` is not a signature of the prekey by the signing key.")
            })?;
            Some(SignedPrekey { public_key, signature: signature.to_vec(), id })
        }
    };
    let signed_prekey_updated = signed.is_some();
    let mut standing = None;
    if caller.place == RegistrationPlace::Waits {
        if !signed_prekey_updated {
            return Err(waiting::waits());
        }
        runtime::call(&*cx.rt, caller.actor.clone(), &waiting::Sign { version: caller.keys.version }).await?;
        standing = Some(proof::settled(&cx).await?);
    }
    let caller = standing.as_deref().unwrap_or(caller);
    let store = StorePrekeys { one_time, signed, version: caller.keys.version };
    let (uploaded, stock) = runtime::call(&*cx.rt, caller.actor.clone(), &store).await?;
    Response::json(&Uploaded { uploaded, signed_prekey_updated, stock: stock.into() })
}

async fn own_stock(cx: Cx) -> Result<Response> {
    let stock = runtime::query(&*cx.rt, cx.caller.agent()?.actor.clone(), &ReadStock).await?;
    Response::json(&OwnStock::from(stock))
}

/// Whether the rate limit lets this caller take one more one-time prekey of this agent.
fn may_take(cx: &Cx, actor: &str) -> bool {
    let amount = cx.settings().prekeys_per_hour;
    let bucket = || format!("prekeys of {actor} for {}", cx.address());
    amount == 0 || cx.rt.environment().buckets.take(&bucket(), Rate::per(amount, 60), cx.now()).allowed
}

async fn bundle(cx: Cx) -> Result<Response> {
    let actor = wire::known_actor(cx.settings(), cx.path("did")?)?;
    let (mut public, waiting) =
        runtime::query(&*cx.rt, actor.as_str(), &ReadBundle).await?.ok_or_else(wire::unknown_agent)?;
    let key_changed = continuity::is_news_to_caller(&cx, &actor).await?;
    let mut taken = None;
    // The bucket is used only when a key is about to be given, so invented DIDs make no buckets.
    if waiting && may_take(&cx, &actor) {
        (public, taken) = runtime::call(&*cx.rt, actor, &TakePrekey).await?.ok_or_else(wire::unknown_agent)?;
    }
    Response::json(&Bundle {
        did: public.did,
        identity_key: encode_base64(&public.encryption),
        signing_key: encode_base64(&public.signing),
        signed_prekey: public.signed_prekey.map(Prekey::from),
        one_time_prekey: taken.map(|key| GivenKey { id: key.id, public_key: encode_base64(&key.public_key) }),
        mlkem_public_key: public.mlkem.as_deref().map(encode_base64),
        key_changed,
    })
}
