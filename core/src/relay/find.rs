//! Asking the peers for a DID that nobody here has (ruling foundation-relay 13).
//!
//! Each peer is asked once, at `GET /v1/agent/identity/{did}?local=true`, which asks nobody further. What they say holds
//! for five minutes. The peer that a DID is pinned to is believed first; of the others the one that was added first, and
//! none with a key that does not give the DID.

use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::peers::{Ask, Learn, Look, Looked, Peer, Pin, is_key_of};
use super::{ANSWERS_HOLD, MAX_PEERS, PeerId, SILENCE_HOLDS, actor};
use crate::agent::record::{Public, SignedPrekey};
use crate::agent::standing::Standing;
use crate::agent::{identity, register, wire};
use crate::crypto::encoding::{decode_base64, decode_base64_array};
use crate::crypto::{boxes, kem, signing};
use crate::directory::{Did, MAX_NAME};
use crate::fetch::{Networks, Outgoing, check_url};
use crate::limits::Rate;
use crate::runtime::{self, BoxFuture, Runtime};
use crate::{Error, ErrorCode, Result, Timestamp};

/// How long a peer may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long nobody else asks for a DID while one request does; longer than any peer may take.
const ASKING: Duration = Duration::from_secs(7);
/// How soon whoever waits for that answer looks for it again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Most bytes of an answer.
const MAX_ANSWER: usize = 64 * 1024;
/// Questions to all peers that a process asks: whoever makes up DIDs must not make this relay a weapon.
const QUESTIONS: Rate = Rate::per_minute(20 * 60).burst(100);

/// An agent of a peer.
#[derive(Debug, Clone)]
pub struct Found {
    pub peer: PeerId,
    /// What the addresses of its relay begin with.
    pub url: String,
    pub public: Public,
}

/// What a peer says of a DID.
enum Said {
    /// It has it, with these keys.
    Has(Box<Public>),
    /// It has not, or says what cannot be.
    Not,
    /// Nothing.
    Nothing,
}

/// The agent with this DID at one of the peers. The caller has looked that it is none of ours.
///
/// `client` is whose budget of questions it comes out of: an agent, or an address. Who comes while another asks waits for
/// that answer.
pub async fn find(rt: &dyn Runtime, did: &Did, client: &str) -> Result<Option<Found>> {
    let mut looked = look(rt, did).await?;
    while looked.answer.is_none() && !looked.peers.is_empty() {
        if !looked.asking {
            within_budget(rt, client)?;
            let until = rt.now().plus(i64::try_from(ASKING.as_micros()).unwrap_or(0));
            if runtime::call(rt, actor().name, &Ask { did: *did, until }).await? {
                looked.answer = Some(ask(rt, did, &looked).await?);
                break;
            }
        }
        rt.sleep(LOOK_AGAIN).await;
        looked = look(rt, did).await?;
    }
    let Some((id, public)) = looked.answer.flatten() else { return Ok(None) };
    let peer = looked.peers.into_iter().find(|(peer, _)| *peer == id);
    Ok(peer.map(|(peer, row)| Found { peer, url: row.url, public }))
}

async fn look(rt: &dyn Runtime, did: &Did) -> Result<Looked> {
    runtime::query(rt, actor().name, &Look { did: *did }).await
}

/// Asks the peers, and keeps what counts of their answers.
async fn ask(rt: &dyn Runtime, did: &Did, looked: &Looked) -> Result<Option<(PeerId, Public)>> {
    let answers = answers(rt, did, &looked.peers).await;
    let silent = answers.iter().any(|(_, said)| matches!(said, Said::Nothing));
    let found = believe(did, answers, looked.pin.as_ref());
    let holds = if found.is_none() && silent { SILENCE_HOLDS } else { ANSWERS_HOLD };
    let learn = Learn { did: *did, until: rt.now().plus(holds), found: found.clone() };
    runtime::call(rt, actor().name, &learn).await?;
    Ok(found)
}

/// Asks all peers at once; the answers in the order of the peers.
async fn answers(rt: &dyn Runtime, did: &Did, peers: &[(PeerId, Peer)]) -> Vec<(PeerId, Said)> {
    let mut work: Vec<BoxFuture<'_, (PeerId, Said)>> = Vec::with_capacity(peers.len());
    for (id, peer) in peers {
        work.push(Box::pin(async move { (*id, said(rt, did, peer).await) }));
    }
    stream::iter(work).buffered(MAX_PEERS).collect().await
}

/// Which answer counts: that of the peer that the DID is pinned to, even when it is away; else the first with a key that
/// gives the DID.
fn believe(did: &Did, answers: Vec<(PeerId, Said)>, pin: Option<&Pin>) -> Option<(PeerId, Public)> {
    let at_home = |id: &PeerId| pin.is_some_and(|pin| pin.peer == *id);
    if answers.iter().any(|(id, said)| at_home(id) && matches!(said, Said::Nothing)) {
        return None;
    }
    let mut found = None;
    for (id, said) in answers {
        match said {
            Said::Has(public) if is_key_of(did, &public.signing, &id, pin) && (found.is_none() || at_home(&id)) => {
                found = Some((id, *public));
            }
            _ => {}
        }
    }
    found
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

async fn said(rt: &dyn Runtime, did: &Did, peer: &Peer) -> Said {
    let settings = &rt.environment().settings;
    let did_text = wire::did_text(settings, did);
    let url = format!("{}/v1/agent/identity/{did_text}?local=true", peer.url);
    let beyond = Networks::parse(&settings.allow_outbound).unwrap_or_default();
    if check_url(&url, &beyond).is_err() {
        return Said::Nothing;
    }
    let headers = vec![("accept".to_owned(), "application/json".to_owned()), super::send::user_agent(settings)];
    let outgoing = Outgoing { url, headers, body: None, timeout: TIMEOUT, max_bytes: MAX_ANSWER, beyond };
    match rt.fetch(outgoing).await {
        Ok(answer) if answer.status == 200 => {
            read(&did_text, &answer.body).map_or(Said::Not, |public| Said::Has(Box::new(public)))
        }
        Ok(answer) if answer.status == 404 => Said::Not,
        _ => Said::Nothing,
    }
}

/// The members of an identity that are read.
#[derive(Deserialize)]
struct Told {
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
}

/// The identity in an answer; `None` for what no relay would say of an agent that one can write to.
fn read(did: &str, body: &[u8]) -> Option<Public> {
    let told: Told = serde_json::from_slice(body).ok()?;
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
        proof: None,
    })
}
