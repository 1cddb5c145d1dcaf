//! Asks the peers for a DID that nobody here has, or that nobody here has proved.
//!
//! Each peer is asked once, at `GET /v1/agent/identity/{did}?local=true`, and asks nobody else. Its answer holds for
//! five minutes. Anybody can register a copy of somebody's public keys at any relay, also with a prekey that the owner
//! signed for another relay. So where answers contradict each other, a peer's answer alone decides nothing: a proof
//! that verifies for that very peer counts most, then what the agent itself signed and a peer delivered, then a claim
//! that nobody contradicts. Against an agent that is here only a proof counts.

use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::peers::{Ask, DidFacts, DidHolder, Learn, LookUpDid, Meet, Peer, PeerPin, ReadPeers, is_key_of};
use super::{ANSWERS_HOLD, MAX_PEERS, PeerId, SILENCE_HOLDS, actor};
use crate::agent::proof::{self, Proof};
use crate::agent::record::{self, Public, ReadPublic, SignedPrekey};
use crate::agent::standing::Standing;
use crate::agent::{identity, nonces, register, wire};
use crate::directory::{Did, MAX_NAME};
use crate::federation::Tallies;
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::encoding::{decode_base64, decode_base64_array, did_bytes, encode_base64};
use crypto::{boxes, kem, signing};
use engine::limits::Rate;
use engine::runtime::{self, BoxFuture, Runtime};
use engine::web::Incoming;
use engine::web::Networks;
use engine::web::Outgoing;
use engine::web::check_url;

/// How long a peer may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long a peer may take when an agent here has the DID already.
const BRIEFLY: Duration = Duration::from_millis(250);
/// How long one request alone may ask for a DID; longer than any peer may take.
const ASKING: Duration = Duration::from_secs(7);
/// How soon a request that waits for that answer looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Most characters of a deployment's id.
const MAX_DEPLOYMENT: usize = 64;
/// Most bytes of an answer.
const MAX_ANSWER: usize = 64 * 1024;
/// Questions to all peers that one process may ask: clients that make up DIDs must not turn this relay into a weapon.
const QUESTIONS: Rate = Rate::per_minute(20 * 60).burst(100);

/// An agent of a peer.
#[derive(Debug, Clone)]
pub struct PeerAgent {
    pub peer: PeerId,
    /// The beginning of the addresses of its relay.
    pub url: String,
    pub public: Public,
}

/// The answer of a peer about a DID.
enum PeerReply {
    /// The peer has it, with these keys.
    Has(Box<Public>),
    /// The peer does not have it, or its answer cannot be true.
    Not,
    /// The peer did not answer.
    Nothing,
}

/// The agent with this DID at one of the peers. The caller has checked that it is not an agent here. 409 when several
/// peers have it and nothing tells which of them is right.
///
/// `client` is the agent or address that pays for the question from its budget. A request that comes while another asks
/// waits for that answer.
pub async fn find(rt: &dyn Runtime, did: &Did, client: &str) -> Result<Option<PeerAgent>> {
    let mut looked = look(rt, did).await?;
    while looked.answer.is_none() && !looked.peers.is_empty() {
        if !looked.asking {
            within_budget(rt, client)?;
            if begin(rt, did, ASKING).await? {
                looked.answer = Some(ask(rt, did, &looked, TIMEOUT).await?);
                break;
            }
        }
        rt.sleep(LOOK_AGAIN).await;
        looked = look(rt, did).await?;
    }
    match looked.answer {
        Some(DidHolder::Contested) => {
            let message = "Several relays have this DID with different keys, and its owner proved none of them.";
            Err(Error::conflict(message))
        }
        Some(DidHolder::At(peer, public)) => Ok(found(looked.peers, peer, *public)),
        Some(DidHolder::Nobody) | None => Ok(None),
    }
}

/// The agent at a peer that proved to be the owner of a DID, when the agent here with that DID proved nothing. Peers
/// have a quarter of a second to answer. After that, and when the budget is used up, the agent here counts.
pub async fn proved_elsewhere(rt: &dyn Runtime, did: &Did, client: &str) -> Result<Option<PeerAgent>> {
    if is_alone(rt).await? {
        return Ok(None);
    }
    let end = rt.now().plus_duration(BRIEFLY);
    loop {
        let mut looked = look(rt, did).await?;
        if looked.answer.is_none() && !looked.asking {
            if within_budget(rt, client).is_err() {
                return Ok(None);
            }
            if begin(rt, did, ASKING).await? {
                looked.answer = Some(ask(rt, did, &looked, BRIEFLY).await?);
            }
        }
        match looked.answer {
            Some(DidHolder::At(peer, public)) if public.standing == Standing::Proved => {
                return Ok(found(looked.peers, peer, *public));
            }
            Some(_) => return Ok(None),
            None if rt.now() >= end => return Ok(None),
            None => rt.sleep(LOOK_AGAIN / 4).await,
        }
    }
}

/// The agent at a peer that proved the keys of this DID, when the agent here did not.
pub async fn instead_of(rt: &dyn Runtime, did: &Did, here: &Public, client: &str) -> Result<Option<PeerAgent>> {
    match here.standing {
        Standing::Proved => Ok(None),
        Standing::Silent | Standing::Signed => Box::pin(proved_elsewhere(rt, did, client)).await,
    }
}

/// Whether there is no peer. Most deployments have none, so they need not ask an actor for each message.
async fn is_alone(rt: &dyn Runtime) -> Result<bool> {
    let known = Tallies::of(rt.environment());
    if known.is_alone(rt.now()) {
        return Ok(true);
    }
    let alone = runtime::query(rt, actor().name, &ReadPeers).await?.is_empty();
    if alone {
        known.found_none(rt.now());
    }
    Ok(alone)
}

/// Refuses to give an agent here a message for the owner of its DID, when the owner proved the DID at a peer. The
/// answer is 404, as for every agent that only `POST /v1/relay/route` reaches.
pub async fn check_here(rt: &dyn Runtime, actor_name: &str, client: &str) -> Result<()> {
    if is_alone(rt).await? {
        return Ok(());
    }
    let did = record::did_of(actor_name)?;
    let Some(here) = runtime::query(rt, actor_name, &ReadPublic).await? else { return Ok(()) };
    match instead_of(rt, &did, &here, client).await? {
        None => Ok(()),
        Some(_) => Err(Error::not_found("The owner of this DID proved it at another relay: use POST /v1/relay/route.")),
    }
}

fn found(peers: Vec<(PeerId, Peer)>, id: PeerId, public: Public) -> Option<PeerAgent> {
    let (peer, row) = peers.into_iter().find(|(peer, _)| *peer == id)?;
    Some(PeerAgent { peer, url: row.url, public })
}

async fn look(rt: &dyn Runtime, did: &Did) -> Result<DidFacts> {
    runtime::query(rt, actor().name, &LookUpDid { did: *did }).await
}

/// Takes over the question for this request; false while another request asks, or when it was just answered.
async fn begin(rt: &dyn Runtime, did: &Did, at_most: Duration) -> Result<bool> {
    runtime::call(rt, actor().name, &Ask { did: *did, until: rt.now().plus_duration(at_most) }).await
}

/// Asks the peers, and stores the result.
async fn ask(rt: &dyn Runtime, did: &Did, looked: &DidFacts, timeout: Duration) -> Result<DidHolder> {
    let answers = answers(rt, did, &looked.peers, timeout).await;
    let silent = answers.iter().any(|(_, said)| matches!(said, PeerReply::Nothing));
    let heard = believe(did, answers, looked.pin.as_ref());
    let holds = if silent && !matches!(heard, DidHolder::At(..)) { SILENCE_HOLDS } else { ANSWERS_HOLD };
    let learn = Learn { did: *did, until: rt.now().plus(holds), heard };
    runtime::call(rt, actor().name, &learn).await?;
    Ok(learn.heard)
}

/// Asks all peers at the same time; returns the answers in the order of the peers.
async fn answers(rt: &dyn Runtime, did: &Did, peers: &[(PeerId, Peer)], timeout: Duration) -> Vec<(PeerId, PeerReply)> {
    let mut work: Vec<BoxFuture<'_, (PeerId, PeerReply)>> = Vec::with_capacity(peers.len());
    for (id, peer) in peers {
        work.push(Box::pin(async move { (*id, said(rt, did, id, peer, timeout).await) }));
    }
    stream::iter(work).buffered(MAX_PEERS).collect().await
}

/// Decides which answer counts, among those with a key that may speak for the DID.
fn believe(did: &Did, answers: Vec<(PeerId, PeerReply)>, pin: Option<&PeerPin>) -> DidHolder {
    let home = pin.filter(|pin| pin.strong).map(|pin| pin.peer);
    let is_away = answers.iter().any(|(id, said)| home == Some(*id) && matches!(said, PeerReply::Nothing));
    let mut claims: Vec<(PeerId, Box<Public>)> = Vec::new();
    for (id, said) in answers {
        match said {
            PeerReply::Has(public) if is_key_of(did, &public.signing, &id, pin) => claims.push((id, public)),
            _ => {}
        }
    }
    let at = |claims: &[(PeerId, Box<Public>)], is: &dyn Fn(&PeerId, &Public) -> bool| {
        let found = claims.iter().find(|(id, public)| is(id, public));
        found.map(|(id, public)| DidHolder::At(*id, public.clone()))
    };
    // After a rotation the key no longer gives the DID, and only the operator's pin says which key is right.
    let named = pin.is_some_and(|pin| pin.strong && did_bytes(&pin.signing) != *did);
    let proved = at(&claims, &|_, public| public.standing == Standing::Proved);
    if let Some(proved) = proved.filter(|_| !named) {
        return proved;
    }
    if is_away {
        return DidHolder::Nobody;
    }
    if let Some(at_home) = at(&claims, &|id, _| home == Some(*id)) {
        return at_home;
    }
    let keys = |public: &Public| (public.signing, public.encryption, public.mlkem.clone());
    match claims.first() {
        None => DidHolder::Nobody,
        Some((_, first)) if claims.iter().any(|(_, other)| keys(other) != keys(first)) => DidHolder::Contested,
        Some((id, first)) => DidHolder::At(*id, first.clone()),
    }
}

fn within_budget(rt: &dyn Runtime, client: &str) -> Result<()> {
    let environment = rt.environment();
    let rate = Rate::per_minute(environment.settings.peer_questions_per_minute);
    let budget = environment.buckets.take(&format!("questions of {client}"), rate, rt.now());
    if !budget.allowed {
        let message = "Too many questions for agents of other relays; wait, then retry.";
        return Err(Error::new(ErrorCode::RateLimited, message).retry_after(budget.retry_after()));
    }
    if !environment.buckets.take("questions to peers", QUESTIONS, rt.now()).allowed {
        return Err(Error::unavailable("too many questions to peers"));
    }
    Ok(())
}

/// Asks one peer; `None` when it does not answer.
async fn get(rt: &dyn Runtime, peer: &Peer, path: &str, timeout: Duration) -> Option<Incoming> {
    let settings = &rt.environment().settings;
    let url = format!("{}{path}", peer.url);
    let beyond = Networks::parse(&settings.allow_outbound).unwrap_or_default();
    check_url(&url, &beyond).ok()?;
    let headers = vec![("accept".to_owned(), "application/json".to_owned()), super::send::user_agent(settings)];
    rt.fetch(Outgoing { url, headers, body: None, timeout, max_bytes: MAX_ANSWER, beyond }).await.ok()
}

async fn said(rt: &dyn Runtime, did: &Did, id: &PeerId, peer: &Peer, timeout: Duration) -> PeerReply {
    let did_text = wire::did_text(&rt.environment().settings, did);
    let answer = get(rt, peer, &format!("/v1/agent/identity/{did_text}?local=true"), timeout).await;
    match answer {
        Some(answer) if answer.status == 200 => match read(&did_text, &answer.body) {
            Some(public) => PeerReply::Has(Box::new(weighed(rt, id, peer, public, timeout).await)),
            None => PeerReply::Not,
        },
        Some(answer) if answer.status == 404 => PeerReply::Not,
        _ => PeerReply::Nothing,
    }
}

/// An agent as a peer shows it, with the standing that it has here: a peer's claim is not a proof.
async fn weighed(rt: &dyn Runtime, id: &PeerId, peer: &Peer, mut public: Public, timeout: Duration) -> Public {
    let claimed = if public.signed_prekey.is_some() { Standing::Signed } else { Standing::Silent };
    public.standing = claimed;
    let Some(proof) = public.proof.take() else { return public };
    let keys = proof::Keys { signing: &public.signing, encryption: &public.encryption, mlkem: public.mlkem.as_deref() };
    let verifies = |deployment: &str| {
        let brand = &rt.environment().settings.brand;
        let text = proof::text(brand, deployment, &public.did, keys, &proof.timestamp, &proof.nonce);
        signing::verify(&public.signing, text.as_bytes(), &proof.signature)
    };
    let mut proves = peer.deployment.as_deref().is_some_and(verifies);
    if !proves {
        // The deployment id is not known yet, or has changed.
        let deployment = meet(rt, id, peer, timeout).await;
        proves = deployment.as_deref().is_some_and(verifies);
    }
    if proves {
        public.standing = Standing::Proved;
        public.proof = Some(proof);
    }
    public
}

/// The members of `/v1/relay/info` that are read.
#[derive(Deserialize)]
struct About {
    deployment_id: String,
    relay: Key,
}

#[derive(Deserialize)]
struct Key {
    public_key: String,
}

/// Learns the deployment id of a peer. The answer must come from the address and with the key that the operator gave.
/// The id must not be this deployment's, nor that of another peer.
async fn meet(rt: &dyn Runtime, id: &PeerId, peer: &Peer, timeout: Duration) -> Option<String> {
    let answer = get(rt, peer, "/v1/relay/info", timeout).await.filter(|answer| answer.status == 200)?;
    let About { deployment_id, relay } = serde_json::from_slice(&answer.body).ok()?;
    let is_an_id = (1..=MAX_DEPLOYMENT).contains(&deployment_id.len())
        && deployment_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if !is_an_id || deployment_id == rt.environment().deployment || relay.public_key != encode_base64(&peer.key) {
        return None;
    }
    let meet = Meet { id: *id, key: peer.key, deployment: deployment_id };
    runtime::call(rt, actor().name, &meet).await.ok()?.then_some(meet.deployment)
}

/// The members of an identity that are read.
#[derive(Deserialize)]
struct PeerIdentity {
    did: String,
    name: Option<String>,
    signing_public_key: String,
    encryption_public_key: String,
    mlkem_public_key: Option<String>,
    signed_prekey: Option<identity::Prekey>,
    #[serde(default)]
    capabilities: Vec<String>,
    metadata: Option<Box<RawValue>>,
    status: String,
    created_at: Option<String>,
    proof: Option<PeerProof>,
}

#[derive(Deserialize)]
struct PeerProof {
    timestamp: String,
    nonce: String,
    signature: String,
}

impl PeerProof {
    /// The proof, if the members have the right form.
    fn proof(self) -> Option<Proof> {
        let PeerProof { timestamp, nonce, signature } = self;
        Timestamp::parse(&timestamp)?;
        nonces::check("nonce", &nonce).ok()?;
        let signature = decode_base64("signature", &signature).ok()?;
        Some(Proof { timestamp, nonce, signature })
    }
}

/// The identity in an answer; `None` when the answer is not one that a relay gives for an active agent.
fn read(did: &str, body: &[u8]) -> Option<Public> {
    let told: PeerIdentity = serde_json::from_slice(body).ok()?;
    let signing: [u8; 32] = decode_base64_array("key", &told.signing_public_key).ok()?;
    let encryption: [u8; 32] = decode_base64_array("key", &told.encryption_public_key).ok()?;
    signing::validate_signing_key("key", &signing).ok()?;
    boxes::validate_encryption_key("key", &encryption).ok()?;
    let mlkem = told.mlkem_public_key.map(|text| decode_base64("key", &text)).transpose().ok()?;
    if mlkem.as_ref().is_some_and(|key| kem::validate_kem_key("key", key).is_err()) {
        return None;
    }
    let named = told.name.as_ref().is_none_or(|name| name.chars().count() <= MAX_NAME);
    if told.did != did || told.status != "active" || !named || register::check_capabilities(&told.capabilities).is_err()
    {
        return None;
    }
    let metadata = register::check_metadata(told.metadata.as_deref()).ok()?.unwrap_or_else(|| "{}".to_owned());
    let prekey = |prekey: identity::Prekey| {
        let public_key: [u8; 32] = decode_base64_array("key", &prekey.public_key).ok()?;
        let signature = decode_base64("signature", &prekey.signature).ok()?;
        signing::verify_prekey(&signing, &public_key, &signature).ok()?;
        Some(SignedPrekey { public_key, signature, id: prekey.id })
    };
    Some(Public {
        did: told.did,
        name: told.name,
        capabilities: told.capabilities,
        metadata,
        active: true,
        created: told.created_at.as_deref().and_then(Timestamp::parse).unwrap_or(Timestamp::MIN),
        version: 0,
        signing,
        encryption,
        mlkem,
        signed_prekey: told.signed_prekey.and_then(prekey),
        standing: Standing::Silent,
        proof: told.proof.and_then(PeerProof::proof),
    })
}
