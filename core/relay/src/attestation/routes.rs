//! The endpoints of attestations, with every spelling of the members that some client reads.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::query::{Agreement, Agreements, AttestationFilter, FindAttestations, ReadAttestation};
use super::record::{Attest, CastVote};
use super::{Attestation, MAX_DATA, MAX_LIFE, Measurable, Vote, is_shard, shard, shards, unknown, vote_word};
use crate::agent::Credentials;
use crate::agent::authentication::Calling;
use crate::agent::custody::HeldKeys;
use crate::agent::mailbox::Local;
use crate::agent::record::did_of;
use crate::agent::send::PROOF_WINDOW;
use crate::agent::trust::{self, ReadTrust};
use crate::agent::wire;
use crate::directory::Did;
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::encoding::{base64_pattern, decode_base64, encode_base64};
use crypto::{hash, signing};
use engine::http::{Cx, Param, Response, Route, handler};
use engine::number::round;
use engine::runtime;
use engine::settings::Settings;
use engine::time::{SECOND, time_pattern};
use facts::starter::Country;
use facts::subject::Subject;

const FILTERS: [Param; 4] = [
    Param::optional("country", "Code of a country, ISO 3166-1 alpha-2.").country(),
    Param::optional("domain", "Only attestations about this domain, exactly.").line().such_as("telegram.org"),
    Param::optional("type", "Only attestations of this claim type, exactly."),
    Param::optional("claim_type", "The same as `type`."),
];

pub const ROUTES: &[Route] = &[
    Route::post("/v1/agent/attestations", handler!(attest))
        .agent()
        .accepts::<AttestRequest>()
        .creates::<Detail>()
        .summary("State something about the network. A signature is checked; the service signs for agents whose keys it holds."),
    Route::get("/v1/agent/attestations", handler!(list))
        .params(&[
            FILTERS[0],
            FILTERS[1],
            FILTERS[2],
            FILTERS[3],
            Param::optional("agent", "Only attestations by the agent with this DID."),
            Param::optional("min_consensus", "Only attestations with at least this consensus, 0 to 1.").number(0, 1).default("0"),
            Param::optional("since", "Only attestations made after this time.").date(),
            Param::optional("limit", "Most entries of the answer: 1 to 100, default 50.").count(50, 100),
        ])
        .returns::<AttestationList>()
        .summary("Attestations, newest first."),
    Route::get("/v1/agent/attestations/consensus", handler!(consensus))
        .params(&FILTERS)
        .returns::<ConsensusList>()
        .summary("Consensus of attestations by type, domain and country; the largest groups first, at most 100."),
    Route::get("/v1/agent/attestations/{id}", handler!(look))
        .returns::<Detail>()
        .summary("One attestation, with the data to verify it and the first 100 votes on it."),
    Route::post("/v1/agent/attestations/{id}/corroborate", handler!(corroborate))
        .agent()
        .accepts::<VoteRequest>()
        .returns::<Voted>()
        .summary("Corroborate or refute another agent's attestation, once."),
];

/// A statement about the network.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct AttestRequest {
    /// At most 64 characters.
    #[schemars(length(min = 1, max = 64))]
    pub claim_type: String,
    /// A JSON object of at most 16 KB; returned exactly as it was sent.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub claim_data: Box<RawValue>,
    /// Base64 of an Ed25519 signature over the claim type, the JSON text of `claim_data` as it is sent, and the
    /// timestamp.
    #[schemars(regex(pattern = base64_pattern(64)))]
    pub signature: Option<String>,
    /// ISO 8601; required with a signature.
    #[schemars(regex(pattern = time_pattern()))]
    pub timestamp: Option<String>,
    /// ISO 3166-1 alpha-2; an empty text is the same as none.
    #[schemars(regex(pattern = "^([A-Za-z]{2})?$"))]
    pub country: Option<String>,
    #[schemars(length(max = 255))]
    pub domain: Option<String>,
    /// 0 to 1, default 1.
    #[schemars(range(min = 0, max = 1))]
    pub confidence: Option<f64>,
    /// Seconds, at least 1 and at most a year; a year when absent.
    #[schemars(range(min = 1))]
    pub expires_in: Option<u64>,
}

/// An attestation.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AttestationItem")]
pub struct AttestationItem {
    pub id: String,
    pub agent: String,
    pub agent_did: String,
    pub agent_name: Option<String>,
    pub claim_type: String,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub claim_data: Box<RawValue>,
    /// A sentence for people.
    pub claim: String,
    /// The text under this name in `claim_data`.
    pub severity: Option<String>,
    pub country: Option<String>,
    pub domain: Option<String>,
    pub confidence: f64,
    /// Mean share of anchored votes for it, 0 to 1; 0.5 until an agent with anchored weight has said something.
    pub consensus_score: f64,
    /// `supported` from 0.6 on, `disputed` up to 0.4, otherwise `neutral`.
    pub consensus: &'static str,
    pub corroboration_count: u32,
    pub refutation_count: u32,
    /// Exactly as it was sent.
    pub timestamp: String,
    /// Base64; null when an agent that keeps its own keys sent no signature.
    pub signature: Option<String>,
    /// Base64 of the key that verifies the signature.
    pub signing_public_key: String,
    pub created_at: String,
    pub expires_at: String,
    /// True when the author's registration has given way to another of the same DID since, so that it does not count.
    pub before_proof: bool,
}

/// Attestations.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AttestationList")]
pub struct AttestationList {
    pub attestations: Vec<AttestationItem>,
    pub count: usize,
}

/// An attestation with the votes on it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AttestationDetail")]
pub struct Detail {
    #[serde(flatten)]
    pub item: AttestationItem,
    pub corroborations: Vec<Corroboration>,
}

/// A vote.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AttestationVote")]
pub struct Corroboration {
    pub agent: String,
    pub agent_name: Option<String>,
    /// `corroborate` or `refute`.
    pub vote: &'static str,
    pub comment: Option<String>,
    /// Base64 of an Ed25519 signature over the attestation's id and the vote.
    pub signature: String,
    /// Base64 of the key that verifies the signature.
    pub signing_public_key: String,
    pub created_at: String,
    /// True when the voter's registration has given way to another of the same DID since, so that the vote does not
    /// count.
    pub before_proof: bool,
}

/// A vote on another's attestation.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct VoteRequest {
    /// `corroborate` or `refute`.
    #[schemars(regex(pattern = "^(corroborate|refute)$"))]
    pub vote: String,
    /// Base64 of an Ed25519 signature over the attestation's id and the vote. Only agents whose keys the service holds
    /// may omit it.
    #[schemars(regex(pattern = base64_pattern(64)))]
    pub signature: Option<String>,
    /// At most 1,000 characters.
    #[schemars(length(max = 1000))]
    pub comment: Option<String>,
}

/// A vote that was counted.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AttestationVoted")]
pub struct Voted {
    pub id: String,
    pub vote: &'static str,
    pub new_consensus_score: f64,
    pub corroboration_count: u32,
    pub refutation_count: u32,
}

/// The consensus of attestations.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConsensusList {
    pub consensus: Vec<Consensus>,
    pub count: usize,
}

/// The attestations of one type about one domain and country.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Consensus {
    pub claim_type: String,
    pub domain: Option<String>,
    pub country: Option<String>,
    pub total_attestations: u32,
    pub avg_consensus: f64,
    pub total_corroborations: u32,
    pub total_refutations: u32,
}

/// Most groups in an answer of [`consensus`].
const MAX_GROUPS: usize = 100;

/// The member of `claim_data` that clients show in lists.
#[derive(Deserialize)]
struct Words {
    severity: Option<serde_json::Value>,
}

fn item(settings: &Settings, shard: &str, local: &Local, attestation: Attestation) -> Result<AttestationItem> {
    let (consensus_score, agent) = (attestation.consensus(), wire::did_text(settings, &attestation.author));
    let about = match (&attestation.domain, &attestation.country) {
        (Some(domain), Some(country)) => format!("{domain} in {country}"),
        (Some(one), None) | (None, Some(one)) => one.clone(),
        (None, None) => "the network".to_owned(),
    };
    let words: Option<Words> = serde_json::from_str(&attestation.claim_data).ok();
    let severity = words.and_then(|words| words.severity?.as_str().map(str::to_owned));
    Ok(AttestationItem {
        id: wire::message_id(shard, local),
        agent_did: agent.clone(),
        agent,
        agent_name: attestation.name,
        claim: format!("{}: {about}", attestation.claim_type),
        claim_type: attestation.claim_type,
        claim_data: RawValue::from_string(attestation.claim_data).map_err(Error::internal)?,
        severity,
        country: attestation.country,
        domain: attestation.domain,
        confidence: attestation.confidence,
        consensus_score: round(consensus_score),
        consensus: match consensus_score {
            score if score >= 0.6 => "supported",
            score if score <= 0.4 => "disputed",
            _ => "neutral",
        },
        corroboration_count: attestation.votes.corroborations,
        refutation_count: attestation.votes.refutations,
        timestamp: attestation.timestamp,
        signature: attestation.signature.as_deref().map(encode_base64),
        signing_public_key: encode_base64(&attestation.signing_key),
        created_at: attestation.created.to_string(),
        expires_at: attestation.expires.to_string(),
        before_proof: attestation.displaced,
    })
}

fn detail(cx: &Cx, shard: &str, local: &Local, found: Attestation, votes: Vec<(Did, Vote)>) -> Result<Detail> {
    let corroboration = |(voter, vote): (Did, Vote)| Corroboration {
        agent: wire::did_text(cx.settings(), &voter),
        agent_name: vote.name,
        vote: vote_word(vote.corroborates),
        comment: vote.comment,
        signature: encode_base64(&vote.signature),
        signing_public_key: encode_base64(&vote.signing_key),
        created_at: vote.at.to_string(),
        before_proof: vote.displaced,
    };
    let corroborations = votes.into_iter().map(corroboration).collect();
    Ok(Detail { item: item(cx.settings(), shard, local, found)?, corroborations })
}

/// The caller's signature of `text`: the one that was sent, if it is valid, or one made with the key that the service
/// holds.
fn signed(cx: &Cx, caller: &Credentials, text: &[u8], sent: Option<&str>) -> Result<Option<Vec<u8>>> {
    if let Some(sent) = sent {
        let signature = decode_base64("signature", sent)?;
        return match signing::verify(&caller.keys.signing, text, &signature) {
            true => Ok(Some(signature)),
            false => Err(Error::bad_request("`signature` must be the caller's signature over this text.")),
        };
    }
    let Some(sealed) = &caller.keys.sealed else { return Ok(None) };
    let held = HeldKeys::open(&cx.rt.environment().secrets, &caller.did, sealed)?;
    Ok(Some(signing::sign(&held.signing, text).to_vec()))
}

fn short(name: &str, text: &str, most: usize) -> Result<()> {
    match text.chars().count() {
        0 => Err(Error::bad_request(format!("`{name}` must not be empty."))),
        count if count > most => Err(Error::bad_request(format!("`{name}` must be at most {most} characters."))),
        _ if text.chars().any(char::is_control) => {
            Err(Error::bad_request(format!("`{name}` must not contain control characters.")))
        }
        _ => Ok(()),
    }
}

fn country(text: Option<&str>) -> Result<Option<String>> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    if text.len() != 2 || !text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Err(Error::bad_request("`country` must be two letters, an ISO 3166-1 alpha-2 code."));
    }
    Ok(Some(text.to_ascii_uppercase()))
}

/// The form in which a domain is stored and asked for: the name that measurements use, or the given text in lower case.
fn domain(text: Option<&str>) -> Result<Option<String>> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    short("domain", text, 255)?;
    Ok(Some(Subject::parse(text).map_or_else(|_| text.to_ascii_lowercase(), |subject| subject.name)))
}

/// The part of a claim that measurements can settle: that a site is blocked in some way, or that it works.
fn measurable(claim_type: &str, domain: Option<&str>, country: Option<&str>) -> Option<Measurable> {
    let blocked = match claim_type.to_ascii_lowercase().replace('_', "-").as_str() {
        "domain-blocked" | "ip-blocked" | "dns-poisoning" | "content-filtered" | "tls-interception"
        | "protocol-blocked" => true,
        "service-accessible" => false,
        _ => return None,
    };
    Country::by_code(country?)?;
    let subject = Subject::parse(domain?).ok()?;
    let series = subject.roles.into_iter().find(|role| role.essential)?.key;
    Some(Measurable { series, blocked })
}

/// The local part of an id. The same signed statement about the same domain and country is the same attestation when it
/// comes again; the signature does not cover these two. Everything else is a new attestation.
fn local_of(cx: &Cx, author: &Did, sent: Option<&str>, country: Option<&str>, domain: Option<&str>) -> Local {
    let part = |text: Option<&str>| hash::sha256(text.unwrap_or_default().as_bytes());
    let bytes = match sent {
        Some(_) => hash::sha256_of(&[author, &part(sent), &part(country), &part(domain)]),
        None => cx.rt.random(),
    };
    let mut local = Local::default();
    local.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    local
}

async fn attest(cx: Cx) -> Result<Response> {
    let request: AttestRequest = cx.json()?;
    let caller = cx.caller.agent()?;
    short("claim_type", &request.claim_type, 64)?;
    let data = request.claim_data.get();
    if !data.starts_with('{') {
        return Err(Error::bad_request("`claim_data` must be an object."));
    }
    if data.len() > MAX_DATA {
        return Err(Error::new(ErrorCode::PayloadTooLarge, "`claim_data` must be at most 16 KB of JSON."));
    }
    let confidence = request.confidence.unwrap_or(1.0);
    if !(0.0..=1.0).contains(&confidence) {
        return Err(Error::bad_request("`confidence` must be 0 to 1."));
    }
    if request.expires_in == Some(0) {
        return Err(Error::bad_request("`expires_in` must be at least 1 second."));
    }
    let (country, domain) = (country(request.country.as_deref())?, domain(request.domain.as_deref())?);
    if request.signature.is_some() && request.timestamp.is_none() {
        return Err(Error::bad_request("`timestamp` is required with a signature, which covers it."));
    }
    // In milliseconds, as clients see it, so that `created_at` sent back as `since` leaves this attestation out.
    let now = Timestamp::from_millis(cx.now().millis());
    let timestamp = request.timestamp.unwrap_or_else(|| now.to_millis_text());
    let made =
        Timestamp::parse(&timestamp).ok_or_else(|| Error::bad_request("`timestamp` must be an ISO 8601 time."))?;
    let text = [request.claim_type.as_bytes(), data.as_bytes(), timestamp.as_bytes()].concat();
    let signature = signed(&cx, caller, &text, request.signature.as_deref())?;
    let fresh = request.signature.is_some() && made.since(now).abs() <= PROOF_WINDOW;
    let known = runtime::query(&*cx.rt, caller.actor.as_str(), &ReadTrust).await?.ok_or_else(wire::unknown_agent)?;
    let author = did_of(&caller.actor)?;
    let local = local_of(&cx, &author, request.signature.as_deref(), country.as_deref(), domain.as_deref());
    let seconds = i64::try_from(request.expires_in.unwrap_or(u64::MAX)).unwrap_or(i64::MAX);
    let actor = shard(country.as_deref());
    let attestation = Attestation {
        author,
        name: known.name,
        measurable: measurable(&request.claim_type, domain.as_deref(), country.as_deref()),
        claim_type: request.claim_type,
        claim_data: data.to_owned(),
        timestamp,
        signature,
        signing_key: caller.keys.signing,
        country,
        domain,
        confidence,
        weight: trust::vote(known.standing.anchored()),
        created: now,
        expires: now.plus(seconds.saturating_mul(SECOND).min(MAX_LIFE)),
        votes: Default::default(),
        displaced: false,
    };
    let proves = (fresh && !caller.standing.has_signed()).then_some(caller.keys.version);
    let stored = runtime::call(&*cx.rt, actor.as_str(), &Attest { local, attestation, proves }).await?;
    Response::created(&detail(&cx, &actor, &local, stored, Vec::new())?)
}

/// The shard and local part of an attestation's id.
fn parse_id(id: &str) -> Result<(String, Local)> {
    wire::parse_message_id(id).filter(|(actor, _)| is_shard(actor)).ok_or_else(unknown)
}

async fn look(cx: Cx) -> Result<Response> {
    let (actor, local) = parse_id(cx.path("id")?)?;
    let (found, votes) =
        runtime::query(&*cx.rt, actor.as_str(), &ReadAttestation { local }).await?.ok_or_else(unknown)?;
    Response::json(&detail(&cx, &actor, &local, found, votes)?)
}

async fn corroborate(cx: Cx) -> Result<Response> {
    let request: VoteRequest = cx.json()?;
    let caller = cx.caller.agent()?;
    let (actor, local) = parse_id(cx.path("id")?)?;
    let corroborates = match request.vote.as_str() {
        "corroborate" => true,
        "refute" => false,
        _ => return Err(Error::bad_request("`vote` must be `corroborate` or `refute`.")),
    };
    if let Some(comment) = &request.comment
        && comment.chars().count() > 1_000
    {
        return Err(Error::bad_request("`comment` must be at most 1000 characters."));
    }
    let id = wire::message_id(&actor, &local);
    let text = [id.as_bytes(), request.vote.as_bytes()].concat();
    let signature = signed(&cx, caller, &text, request.signature.as_deref())?
        .ok_or_else(|| Error::bad_request("`signature` is required: Ed25519 over the id and the vote."))?;
    let known = runtime::query(&*cx.rt, caller.actor.as_str(), &ReadTrust).await?.ok_or_else(wire::unknown_agent)?;
    let vote = Vote {
        name: known.name,
        corroborates,
        signature,
        signing_key: caller.keys.signing,
        comment: request.comment,
        at: cx.now(),
        weight: trust::vote(known.standing.anchored()),
        displaced: false,
    };
    let cast = CastVote { local, voter: did_of(&caller.actor)?, vote };
    let now = runtime::call(&*cx.rt, actor.as_str(), &cast).await?;
    Response::json(&Voted {
        id,
        vote: vote_word(corroborates),
        new_consensus_score: round(now.consensus()),
        corroboration_count: now.votes.corroborations,
        refutation_count: now.votes.refutations,
    })
}

/// The conditions of a query string, and the shards to ask.
fn wanted(cx: &Cx) -> Result<(AttestationFilter, Vec<String>)> {
    let country = country(cx.query("country")?.as_deref())?;
    let claim_type = match cx.query("type")? {
        Some(kind) => Some(kind),
        None => cx.query("claim_type")?,
    };
    let actors = if country.is_some() { vec![shard(country.as_deref())] } else { shards().collect() };
    let domain = domain(cx.query("domain")?.as_deref())?;
    Ok((AttestationFilter { country, domain, claim_type, ..AttestationFilter::default() }, actors))
}

async fn list(cx: Cx) -> Result<Response> {
    let limit = cx.count("limit", 50, 100)?;
    let (mut wanted, mut actors) = wanted(&cx)?;
    wanted.since = cx.time("since")?;
    if let Some(text) = cx.query("min_consensus")? {
        let least = text.parse::<f64>().ok().filter(|least| (0.0..=1.0).contains(least));
        wanted.min_consensus =
            least.ok_or_else(|| Error::bad_request("Query parameter `min_consensus` must be 0 to 1."))?;
    }
    if let Some(agent) = cx.query("agent")? {
        match wire::actor_of(cx.settings(), &agent) {
            Some(actor) => wanted.agent = Some(did_of(&actor)?),
            None => actors.clear(),
        }
    }
    let find = FindAttestations { wanted, limit };
    let mut found = Vec::new();
    for actor in &actors {
        let page = runtime::query(&*cx.rt, actor.as_str(), &find).await?;
        found.extend(page.into_iter().map(|(local, attestation)| (actor, local, attestation)));
    }
    found.sort_by_key(|(_, local, attestation)| (Reverse(attestation.created), *local));
    found.truncate(limit as usize);
    let items = found.into_iter().map(|(actor, local, attestation)| item(cx.settings(), actor, &local, attestation));
    let attestations = items.collect::<Result<Vec<AttestationItem>>>()?;
    Response::json(&AttestationList { count: attestations.len(), attestations })
}

/// Attestations in one page of an export.
const EXPORTED: u32 = 50;

/// The newest matching attestations of a shard, and the `before` of the next page.
pub async fn shown(cx: &Cx, shard: &str, wanted: AttestationFilter) -> Result<(Vec<Box<RawValue>>, Option<Timestamp>)> {
    let page = runtime::query(&*cx.rt, shard, &FindAttestations { wanted, limit: EXPORTED }).await?;
    let next = page.last().filter(|_| page.len() == EXPORTED as usize).map(|(_, last)| last.created);
    let shown = |(local, attestation)| {
        let item = item(cx.settings(), shard, &local, attestation)?;
        serde_json::value::to_raw_value(&item).map_err(Error::internal)
    };
    Ok((page.into_iter().map(shown).collect::<Result<_>>()?, next))
}

async fn consensus(cx: Cx) -> Result<Response> {
    let (wanted, actors) = wanted(&cx)?;
    let asked = Agreements { wanted };
    // A country is in one shard only, so no group is in two.
    let mut groups: Vec<Agreement> = Vec::new();
    for actor in &actors {
        groups.extend(runtime::query(&*cx.rt, actor.as_str(), &asked).await?);
    }
    groups.sort_by_key(|group| Reverse(group.attestations));
    groups.truncate(MAX_GROUPS);
    let shown = |group: Agreement| Consensus {
        avg_consensus: round(group.consensus / f64::from(group.attestations.max(1))),
        claim_type: group.claim_type,
        domain: group.domain,
        country: group.country,
        total_attestations: group.attestations,
        total_corroborations: group.corroborations,
        total_refutations: group.refutations,
    };
    let consensus: Vec<Consensus> = groups.into_iter().map(shown).collect();
    Response::json(&ConsensusList { count: consensus.len(), consensus })
}
