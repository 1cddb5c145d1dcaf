//! `POST /v1/agent/rotate-keys`: new keys under the same DID (decisions master-key-file and money-key-settled).
//!
//! The earlier generation is kept: its signatures still verify, and where the service holds the private keys, messages
//! to them still open. The signed prekey and the ML-KEM key belong to a generation and are replaced with it. One-time
//! prekeys that wait are dropped. Other agents notice the change when they compare the keys with their pins.
//!
//! A DID is derived from the key that it was registered with. `rotation_signature`, by that key or by one reached from
//! it in this way, makes the new key speak for the DID. Without it the agent rotates as well, but the last proved key
//! stays the same.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::custody::HeldKeys;
use super::identity::Prekey;
use super::record::{self, AGENT, Agent, Credentials, EARLIER, EarlierKeys, Keys, MAX_EARLIER, SignedPrekey};
use super::register::{BroughtKeys, GivenKeys};
use super::standing::Standing;
use super::{continuity, listing, nonces, prekeys, proof, texts, waiting, wire};
use crate::above::{Account, Bookkeeping, KeyChange};
use crate::agent::authentication::Calling;
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::encoding::{base64_pattern, decode_base64, encode_base64, encode_hex};
use crypto::signing;
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::http::{Cx, Response, Route, handler};
use engine::kv::{Direction, Read, Row, Table};
use engine::runtime;
use engine::runtime::Runtime;
use engine::time::{DAY, MINUTE, SECOND};

pub const ROUTES: &[Route] = &[Route::post("/v1/agent/rotate-keys", handler!(rotate))
    .agent()
    .accepts::<RotateRequest>()
    .returns::<RotateResponse>()
    .summary("New keys under the same DID. Without a body the service makes them, for agents whose keys it holds.")];

/// How far the time of a `rotation_signature` may be from the service's time, in microseconds
/// (decision money-key-settled).
const WINDOW: i64 = 5 * MINUTE;
/// The lines of a rotation text after the first, for the error to a client that signed an outdated text.
const SIGNED_LINES: &str = "`deployment_id` of /health, DID, new signing key, new encryption key, new ML-KEM key or an empty \
                            line, `rotation_issued_at`, `rotation_nonce`";
/// How long a request waits for the ledger, in microseconds (decision one-deciding-operation).
const LEDGER_PATIENCE: i64 = 5 * SECOND;
/// An agent may have at most [`MAX_EARLIER`] earlier generations from this time, which is longer than any message
/// lives. So all keys that a message may be for are tried when it is opened.
const PERIOD: i64 = 8 * DAY;

/// Absent while the keys are still those of the registration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Root {
    registered: [u8; 32],
    /// The last key reached from `registered` by signed rotations.
    proved: [u8; 32],
}
impl Row for Root {}

/// The signature of a rotation, and what it covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RotationProof {
    pub nonce: String,
    /// The time, exactly as it was signed.
    pub issued_at: String,
    pub signature: Vec<u8>,
    /// The key that made the signature.
    pub signer: [u8; 32],
}

/// A rotation; its row is under the version it led to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rotation {
    pub at: Timestamp,
    pub from: [u8; 32],
    pub to: [u8; 32],
    pub proof: Option<RotationProof>,
}
impl Row for Rotation {}

const ROOT: Table<(), Root> = Table::new(100);
pub(super) const ROTATIONS: Table<(u64,), Rotation> = Table::new(104);

pub const ENTRIES: &[Entry] =
    &[operation::<Rotate>(), query::<ReadProvedKey>(), query::<ReadLedgerKey>(), query::<ReadRotations>()];

/// The signing key that the agent was registered with.
pub(super) fn registered_key(view: &(impl Read + ?Sized), agent: &Agent) -> Result<[u8; 32]> {
    Ok(ROOT.get(view, &())?.map_or(agent.keys.signing, |root| root.registered))
}

/// The signing key that speaks for the DID: the last one reached from the registered key by signed rotations
/// (decision money-key-settled).
pub(super) fn proved_key(view: &(impl Read + ?Sized), agent: &Agent) -> Result<[u8; 32]> {
    Ok(ROOT.get(view, &())?.map_or(agent.keys.signing, |root| root.proved))
}

/// Reads the key that speaks for the DID; `None` when there is no such agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadProvedKey;

impl Query for ReadProvedKey {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "proved_key";
    type Reply = Option<[u8; 32]>;

    fn run(self, view: &View<'_>) -> Result<Option<[u8; 32]>> {
        AGENT.get(view, &())?.map(|agent| proved_key(view, &agent)).transpose()
    }
}

/// The keys of an agent, as the ledger is told of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerKey {
    pub version: u64,
    pub proved: [u8; 32],
    /// Whether the present signing key is the proved one, or the agent is inactive and cannot rotate.
    pub current: bool,
    pub active: bool,
    /// Keys under which an envelope of this DID may verify: the key that a signed rotation named, or else the key of
    /// each registration of the DID.
    pub keys: Vec<[u8; 32]>,
}

fn ledger_key(view: &(impl Read + ?Sized), agent: &Agent) -> Result<LedgerKey> {
    let proved = proved_key(view, agent)?;
    let keys = match proved == registered_key(view, agent)? {
        true => waiting::signing_keys(view)?,
        false => vec![proved],
    };
    // When an unproved registration ends, those that wait may still be active.
    let others = agent.standing < Standing::Proved && keys.iter().any(|key| *key != proved);
    Ok(LedgerKey {
        // The latest version of any registration of the DID.
        version: waiting::next_version(view)? - 1,
        proved,
        current: proved == agent.keys.signing || !agent.is_active(),
        active: agent.is_active() || others,
        keys,
    })
}

/// [`ledger_key`] while the rows of an earlier registration are being deleted and nobody holds the DID.
fn ledger_key_of_waiting(view: &(impl Read + ?Sized)) -> Result<Option<LedgerKey>> {
    let keys = waiting::signing_keys(view)?;
    let Some(proved) = keys.first().copied() else { return Ok(None) };
    let version = waiting::next_version(view)? - 1;
    Ok(Some(LedgerKey { version, proved, current: true, active: true, keys }))
}

/// Reads the [`LedgerKey`]; `None` when there is no such agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadLedgerKey;

impl Query for ReadLedgerKey {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "ledger_key";
    type Reply = Option<LedgerKey>;

    fn run(self, view: &View<'_>) -> Result<Option<LedgerKey>> {
        match AGENT.get(view, &())? {
            Some(agent) => ledger_key(view, &agent).map(Some),
            None => ledger_key_of_waiting(view),
        }
    }
}

/// Tells the ledger of a registration or of its end, in the order of the changes.
pub(super) fn tell_ledger(turn: &mut Turn<'_>, agent: &Agent) -> Result<()> {
    tell_of_rotation(turn, agent, None)
}

/// Tells the ledger of a rotation that `signer` signed for.
fn tell_of_rotation(turn: &mut Turn<'_>, agent: &Agent, signer: Option<[u8; 32]>) -> Result<()> {
    let LedgerKey { version, proved, current, active, .. } = ledger_key(turn, agent)?;
    let did = wire::did_text(turn.settings, &record::did_of(&turn.actor().name)?);
    let (silent, shown) = (!agent.standing.has_signed(), agent.proof.is_some());
    let change = KeyChange { did, version, proved, current, active, signer, silent, shown };
    (Bookkeeping::of(turn.program).keys_changed)(turn, change)
}

/// Waits until the ledger has heard of this generation of keys, or of the agent's end. An answer before that would be a
/// promise that an envelope under the earlier key could still break (decisions one-deciding-operation and
/// signer-key-table).
pub(super) async fn heard_by_ledger(rt: &dyn Runtime, did: &str, version: u64, active: bool) -> Result<Account> {
    let settings = &rt.environment().settings;
    // When one registration ends, the DID may still have another.
    let told = match wire::actor_of(settings, did) {
        Some(actor) => runtime::query(rt, actor, &ReadLedgerKey).await?,
        None => None,
    };
    let (version, active) = told.map_or((version, active), |told| (told.version, told.active));
    let end = rt.now().plus(LEDGER_PATIENCE);
    loop {
        let account = (Bookkeeping::of(rt.environment().program).account)(rt, did).await?;
        let heard = |(known, stands): (u64, bool)| known > version || (known == version && stands == active);
        if account.key.is_some_and(heard) {
            return Ok(account);
        }
        if rt.now() >= end {
            return Err(Error::unavailable("the ledger has not heard of the change of keys yet"));
        }
        rt.sleep(Duration::from_millis(50)).await;
    }
}

/// Reads the rotations of an agent, newest first, at most [`MAX_EARLIER`], with the version that each led to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadRotations;

impl Query for ReadRotations {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "rotations";
    type Reply = Vec<(u64, Rotation)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let rows = ROTATIONS.scan(view, &ROTATIONS.range(), Direction::Descending, MAX_EARLIER)?;
        Ok(rows.into_iter().map(|((version,), rotation)| (version, rotation)).collect())
    }
}

/// Replaces the keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rotate {
    /// The version of the keys that the proof was verified against.
    pub version: u64,
    pub signing: [u8; 32],
    pub encryption: [u8; 32],
    pub mlkem: Option<Vec<u8>>,
    pub sealed: Option<Vec<u8>>,
    /// The prekey, whose signature was verified under the new key.
    pub signed_prekey: Option<SignedPrekey>,
    /// The proof, verified by the handler.
    pub proof: Option<RotationProof>,
}

/// The keys after a rotation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rotated {
    pub version: u64,
    pub since: Timestamp,
    /// Whether the signing key speaks for the DID.
    pub proved: bool,
    pub signed_prekey: Option<SignedPrekey>,
    pub stock: prekeys::Stock,
}

impl Rotate {
    fn is_in_force(&self, keys: &Keys) -> bool {
        (keys.signing, keys.encryption) == (self.signing, self.encryption) && keys.mlkem == self.mlkem
    }

    /// Refuses a rotation that would make earlier generations unreachable while messages to them may live.
    fn check_pace(turn: &Turn<'_>, agent: &Agent) -> Result<()> {
        let earlier = EARLIER.scan(turn, &EARLIER.range(), Direction::Descending, MAX_EARLIER)?;
        let oldest = earlier.last().filter(|_| earlier.len() == MAX_EARLIER).map(|(_, oldest)| oldest.until);
        if oldest.is_some_and(|until| !agent.standing.has_signed() || turn.now.since(until) < PERIOD) {
            let message = "This agent rotated its keys 64 times lately; wait, then retry.";
            return Err(Error::new(ErrorCode::RateLimited, message).retry_after(3_600));
        }
        Ok(())
    }

    /// Follows the chain of proved keys. Returns whether the holder of the last proved key was seen to act: it signed
    /// for the new key, or it is the new key and signed a prekey.
    fn follow(&self, turn: &mut Turn<'_>, agent: &Agent) -> Result<bool> {
        let mut root = Root { registered: registered_key(turn, agent)?, proved: proved_key(turn, agent)? };
        let signed = self.proof.as_ref().filter(|proof| proof.signer == root.proved);
        if let Some(proof) = signed {
            for (_, rotation) in ROTATIONS.scan(turn, &ROTATIONS.range(), Direction::Descending, MAX_EARLIER)? {
                if rotation.proof.is_some_and(|used| used.nonce == proof.nonce) {
                    return Err(Error::conflict("This `rotation_nonce` was used before."));
                }
            }
            root.proved = self.signing;
        }
        ROOT.put(turn, &(), &root)?;
        Ok(signed.is_some() || (root.proved == self.signing && self.signed_prekey.is_some()))
    }
}

impl Operation for Rotate {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "rotate";
    type Reply = Rotated;

    fn run(self, turn: &mut Turn<'_>) -> Result<Rotated> {
        let mut agent = record::active(turn)?.ok_or_else(record::gone)?;
        if self.is_in_force(&agent.keys) {
            // The request is a repeat of one whose answer was lost.
            return rotated(turn, agent);
        }
        if agent.keys.version != self.version {
            return Err(Error::conflict("The keys of this agent changed meanwhile."));
        }
        Self::check_pace(turn, &agent)?;
        // Only the key that speaks for the DID can name another one.
        let speaks = proved_key(turn, &agent)?;
        let signer = self.proof.as_ref().map(|proof| proof.signer).filter(|signer| *signer == speaks);
        // The signature shows that the caller holds the key, so the registration counts as signed
        // (decision signed-registrations).
        if self.follow(turn, &agent)? {
            agent.standing = agent.standing.max(Standing::Signed);
        }
        // The proof was for the earlier keys.
        agent.proof = None;
        let from = agent.keys.signing;
        let keys = Keys {
            version: waiting::next_version(turn)?,
            since: turn.now,
            signing: self.signing,
            encryption: self.encryption,
            mlkem: self.mlkem,
            sealed: self.sealed,
        };
        let earlier = std::mem::replace(&mut agent.keys, keys);
        EARLIER.put(turn, &(earlier.version,), &EarlierKeys { keys: earlier, until: turn.now })?;
        agent.signed_prekey = self.signed_prekey;
        AGENT.put(turn, &(), &agent)?;
        if agent.standing.has_signed() {
            waiting::end_all(turn, &agent)?;
        }
        if self.proof.as_ref().is_none_or(|proof| proof.signer != from) {
            continuity::broke(turn, agent.keys.version)?;
        }
        let rotation = Rotation { at: turn.now, from, to: self.signing, proof: self.proof };
        ROTATIONS.put(turn, &(agent.keys.version,), &rotation)?;
        prekeys::ended(turn)?;
        listing::changed(turn, &agent)?;
        tell_of_rotation(turn, &agent, signer)?;
        turn.wake();
        rotated(turn, agent)
    }
}

fn rotated(turn: &Turn<'_>, agent: Agent) -> Result<Rotated> {
    Ok(Rotated {
        version: agent.keys.version,
        since: agent.keys.since,
        proved: proved_key(turn, &agent)? == agent.keys.signing,
        signed_prekey: agent.signed_prekey,
        stock: prekeys::stock(turn)?,
    })
}

/// The new keys; empty for an agent whose keys the service holds.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RotateRequest {
    /// Base64, Ed25519, 32 bytes.
    #[schemars(regex(pattern = base64_pattern(32)))]
    pub signing_public_key: Option<String>,
    /// Base64, X25519, 32 bytes.
    #[schemars(regex(pattern = base64_pattern(32)))]
    pub encryption_public_key: Option<String>,
    /// Base64, ML-KEM-768, 1184 bytes. Without it the agent has no ML-KEM key any more.
    pub mlkem_public_key: Option<String>,
    /// Base64, X25519, 32 bytes. Without it the agent has no signed prekey any more.
    pub signed_prekey_public: Option<String>,
    /// Base64, Ed25519 signature over the raw prekey by the new signing key, 64 bytes.
    pub signed_prekey_signature: Option<String>,
    pub signed_prekey_id: Option<i64>,
    /// Base64, Ed25519 by the earlier signing key, over the lines `<brand>-key-rotation/v2`, `deployment_id` of
    /// `/health`, DID, the three new keys as sent (an empty line without an ML-KEM key), `rotation_issued_at` and
    /// `rotation_nonce`, joined by one line feed. It makes the new key speak for the DID.
    pub rotation_signature: Option<String>,
    /// With `rotation_signature`: 16 to 64 of `A-Z a-z 0-9 _ -`, never used before.
    pub rotation_nonce: Option<String>,
    /// With `rotation_signature`: RFC 3339, within 5 minutes of the service's time.
    pub rotation_issued_at: Option<String>,
}

/// The keys after the rotation.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RotateResponse {
    pub did: String,
    pub client_side: bool,
    pub signing_public_key: String,
    pub encryption_public_key: String,
    pub mlkem_public_key: Option<String>,
    pub signed_prekey: Option<Prekey>,
    /// Numbers the generations of keys of this DID.
    pub key_version: u64,
    pub rotated_at: String,
    /// Whether the signing key is the registered one, or was reached from it by signed rotations.
    pub rotation_proved: bool,
    /// True when the agent's wallet cannot pay: the rotation was not signed, or an operator froze the wallet.
    pub wallet_frozen: bool,
    #[serde(flatten)]
    pub stock: prekeys::OwnStock,
}

// The text that the earlier key signs. It says that in this deployment these keys are the keys of the DID.
pub use crypto::texts::rotation as signed_text;

/// The text that was signed before texts named the deployment: only the new signing key, for any relay. It is not
/// accepted any more.
fn earlier_text(brand: &str, did: &str, signing: &str, issued_at: &str, nonce: &str) -> Result<String> {
    let nonce = serde_json::to_string(nonce).map_err(Error::internal)?;
    let issued_at = serde_json::to_string(issued_at).map_err(Error::internal)?;
    // Neither a DID nor base64 needs an escape.
    Ok(format!(
        r#"{{"did":"{did}","issued_at":{issued_at},"new_key":"{signing}","nonce":{nonce},"schema":"{brand}-key-rotation/v1"}}"#
    ))
}

/// The proof that a client sent for these keys, verified under the key that speaks for the DID, or under the present
/// one.
async fn brought_proof(
    cx: &Cx,
    caller: &Credentials,
    request: &RotateRequest,
    to: proof::Keys<'_>,
) -> Result<Option<RotationProof>> {
    let (signature, nonce, issued_at) =
        match (&request.rotation_signature, &request.rotation_nonce, &request.rotation_issued_at) {
            (None, ..) => return Ok(None),
            (Some(signature), Some(nonce), Some(issued_at)) => (signature, nonce, issued_at),
            _ => {
                let message = "A `rotation_signature` needs `rotation_nonce` and `rotation_issued_at`.";
                return Err(Error::bad_request(message));
            }
        };
    let signature = decode_base64("rotation_signature", signature)?;
    let proved = runtime::query(&*cx.rt, caller.actor.as_str(), &ReadProvedKey).await?;
    // A client that repeats a rotation whose answer was lost sends the same signature that led to the present keys.
    let last = runtime::query(&*cx.rt, caller.actor.as_str(), &ReadRotations).await?.into_iter().next();
    let last = last.and_then(|(_, last)| last.proof).filter(|proof| proof.signature == signature);
    let signers = [proved, Some(caller.keys.signing), last.map(|proof| proof.signer)];
    let signer =
        |text: &str| signers.into_iter().flatten().find(|key| signing::verify(key, text.as_bytes(), &signature));
    let (brand, deployment) = texts::here(cx);
    if signer(&earlier_text(brand, &caller.did, &encode_base64(to.signing), issued_at, nonce)?).is_some() {
        return Err(texts::outdated("rotation_signature", &format!("{brand}-key-rotation"), SIGNED_LINES));
    }
    nonces::check("rotation_nonce", nonce)?;
    if Timestamp::parse(issued_at).is_none_or(|at| at.since(cx.now()).abs() > WINDOW) {
        return Err(Error::bad_request("`rotation_issued_at` must be a time within 5 minutes of the service's time."));
    }
    let text = signed_text(brand, deployment, &caller.did, to, issued_at, nonce);
    let signer = signer(&text).ok_or_else(|| {
        Error::bad_request(format!(
            "`rotation_signature` does not verify under the earlier signing key. It covers the lines \
             `{brand}-key-rotation/v2`, {SIGNED_LINES}."
        ))
    })?;
    Ok(Some(RotationProof { nonce: nonce.clone(), issued_at: issued_at.clone(), signature, signer }))
}

/// New keys for an agent whose keys the service holds, with the proof that the service signs with the earlier key.
fn fresh(cx: &Cx, caller: &Credentials, sealed: &[u8]) -> Result<Rotate> {
    let before = HeldKeys::open(&cx.rt.environment().secrets, &caller.did, sealed)?;
    let held = HeldKeys::generate(&*cx.rt);
    let public = held.public();
    let (nonce, issued_at) = (encode_hex(&cx.rt.random()), cx.now().to_millis_text());
    let keys = proof::Keys { signing: &public.signing, encryption: &public.encryption, mlkem: Some(&public.mlkem) };
    let (brand, deployment) = texts::here(cx);
    let text = signed_text(brand, deployment, &caller.did, keys, &issued_at, &nonce);
    let signature = signing::sign(&before.signing, text.as_bytes()).to_vec();
    Ok(Rotate {
        version: caller.keys.version,
        signing: public.signing,
        encryption: public.encryption,
        mlkem: Some(public.mlkem),
        sealed: Some(held.seal(&*cx.rt, &caller.did)?),
        signed_prekey: None,
        proof: Some(RotationProof { nonce, issued_at, signature, signer: caller.keys.signing }),
    })
}

async fn brought(cx: &Cx, caller: &Credentials, request: &RotateRequest) -> Result<Rotate> {
    let given = GivenKeys {
        signing: request.signing_public_key.as_deref(),
        encryption: request.encryption_public_key.as_deref(),
        mlkem: request.mlkem_public_key.as_deref(),
        prekey: request.signed_prekey_public.as_deref(),
        prekey_signature: request.signed_prekey_signature.as_deref(),
        prekey_id: request.signed_prekey_id,
    };
    let keys = given.check()?.ok_or_else(|| {
        Error::bad_request("This agent keeps its own keys: give `signing_public_key` and `encryption_public_key`.")
    })?;
    let BroughtKeys { signing, encryption, mlkem, signed_prekey } = keys;
    let new = proof::Keys { signing: &signing, encryption: &encryption, mlkem: mlkem.as_deref() };
    let proof = brought_proof(cx, caller, request, new).await?;
    Ok(Rotate { version: caller.keys.version, signing, encryption, mlkem, sealed: None, signed_prekey, proof })
}

async fn rotate(cx: Cx) -> Result<Response> {
    let request: RotateRequest = cx.json()?;
    let caller = cx.caller.agent()?;
    let rotate = match &caller.keys.sealed {
        None => brought(&cx, caller, &request).await?,
        Some(sealed) if request.signing_public_key.is_none() && request.encryption_public_key.is_none() => {
            fresh(&cx, caller, sealed)?
        }
        Some(_) => {
            let message = "The service makes the keys of this agent: send no keys.";
            return Err(Error::bad_request(message));
        }
    };
    let rotated = runtime::call(&*cx.rt, caller.actor.clone(), &rotate).await?;
    let account = heard_by_ledger(&*cx.rt, &caller.did, rotated.version, true).await?;
    Response::json(&RotateResponse {
        did: wire::did_text(cx.settings(), &record::did_of(&caller.actor)?),
        client_side: caller.client_side,
        signing_public_key: encode_base64(&rotate.signing),
        encryption_public_key: encode_base64(&rotate.encryption),
        mlkem_public_key: rotate.mlkem.as_deref().map(encode_base64),
        signed_prekey: rotated.signed_prekey.map(Prekey::from),
        key_version: rotated.version,
        rotated_at: rotated.since.to_string(),
        rotation_proved: rotated.proved,
        wallet_frozen: account.wallet.is_some_and(|(_, frozen)| frozen),
        stock: rotated.stock.into(),
    })
}
