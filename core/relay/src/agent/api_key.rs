//! `POST /v1/agent/api-key` and `/rotate-api-key`: a new API key for an agent whose key is lost or leaked (decision lost-agent-keys).
//!
//! The holder of the newest API key gets another one. So does a caller that signs, with Ed25519, the lines
//!
//! ```text
//! <brand>-api-key/v2
//! <deployment id>
//! <did>
//! <timestamp>
//! <nonce>
//! ```
//!
//! without a line feed at the end. The signing key is the one the DID is derived from, or one that it signed for in a
//! rotation (decision money-key-settled). So a thief who rotates the keys cannot keep the owner out. The operator can
//! make a new key for any agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::access::{Claim, ReplaceKey, refused};
use super::nonces::Nonce;
use super::waiting::SigningKeys;
use super::{KEY_KIND, nonces, texts, wire};
use crate::above::Bookkeeping;
use crate::{Error, Result, Timestamp};
use crypto::encoding::{base64_pattern, decode_base64};
use crypto::signing;
use engine::http::{Cx, Limit, Response, Route, handler};
use engine::runtime;

pub const ROUTES: &[Route] = &[
    Route::post("/v1/agent/api-key", handler!(replace))
        .extension()
        .limit(Limit::Registration)
        .accepts::<NewKeyRequest>()
        .creates::<NewKey>()
        .summary("A new API key, by the newest one in X-Agent-Key or by a signature. It is shown once."),
    Route::post("/v1/agent/rotate-api-key", handler!(rotate))
        .agent()
        .waiting()
        .extension()
        .accepts::<RotateKeyRequest>()
        .creates::<NewKey>()
        .summary("A new API key in place of the one in X-Agent-Key, which must be the newest. It is shown once."),
    Route::post("/v1/admin/agents/{did}/api-key", handler!(replace_for))
        .admin()
        .extension()
        .accepts::<OperatorRequest>()
        .creates::<NewKey>()
        .summary("A new API key for an agent that lost its own. It is shown once."),
];

/// The proof that the caller may have the key, when it does not send the newest API key.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct NewKeyRequest {
    /// With a signature: the DID of the agent.
    pub did: Option<String>,
    /// With a signature: RFC 3339, within 5 minutes of the service's time.
    pub timestamp: Option<String>,
    /// With a signature: 16 to 64 of `A-Z a-z 0-9 _ -`, never used before.
    pub nonce: Option<String>,
    /// Base64, Ed25519 over the lines `<brand>-api-key/v2`, `deployment_id` of `/health`, DID, timestamp and nonce,
    /// joined by one line feed.
    #[schemars(regex(pattern = base64_pattern(64)))]
    pub signature: Option<String>,
    /// End the earlier keys at once, not after ten minutes.
    pub revoke: Option<bool>,
}

/// The body of a rotation; may be absent.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RotateKeyRequest {
    /// End the earlier keys at once, not after ten minutes.
    pub revoke: Option<bool>,
}

/// The body of the operator's request.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OperatorRequest {
    /// End the earlier keys at once, not after ten minutes.
    pub revoke: Option<bool>,
}

/// The new key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NewAgentKey")]
pub struct NewKey {
    pub did: String,
    /// Shown once; cannot be retrieved later.
    pub api_key: String,
    /// When the key before this one stops working; null when it ended already.
    pub previous_key_valid_until: Option<String>,
}

/// The lines of the signed text after the first, for the error to a client that signed an outdated text.
const SIGNED_LINES: &str = "`deployment_id` of /health, `did`, `timestamp`, `nonce`";

// The text that is signed to get a new API key for a DID in this deployment.
pub use crypto::texts::api_key as signed_text;

/// The text that was signed before texts named the deployment. It gets no key, only an error that names the lines.
fn earlier_text(brand: &str, did: &str, timestamp: &str, nonce: &str) -> String {
    texts::lines([&format!("{brand}-api-key/v1"), did, timestamp, nonce])
}

/// The actor and the claim of a signed request.
async fn by_signature(cx: &Cx, request: &NewKeyRequest, signature: &str) -> Result<(String, Claim)> {
    let (Some(did), Some(timestamp), Some(nonce)) = (&request.did, &request.timestamp, &request.nonce) else {
        return Err(Error::bad_request("A `signature` needs `did`, `timestamp` and `nonce`."));
    };
    let at = Timestamp::parse(timestamp).ok_or_else(|| Error::bad_request("`timestamp` must be an ISO 8601 time."))?;
    let signature = decode_base64("signature", signature)?;
    let actor = wire::known_actor(cx.settings(), did)?;
    // The key may be of any registration of this DID: a made-up key cannot sign.
    let signers = runtime::query(&*cx.rt, actor.as_str(), &SigningKeys).await?;
    if signers.is_empty() {
        return Err(wire::unknown_agent());
    }
    let (brand, deployment) = texts::here(cx);
    let signer = |text: String| signers.iter().find(|key| signing::verify(key, text.as_bytes(), &signature)).copied();
    if signer(earlier_text(brand, did, timestamp, nonce)).is_some() {
        return Err(texts::outdated("signature", &format!("{brand}-api-key"), SIGNED_LINES));
    }
    nonces::check("nonce", nonce)?;
    let text = signed_text(brand, deployment, did, timestamp, nonce);
    let nonce = Nonce::new("api-key", nonce, at);
    if !nonce.in_time(cx.now()) {
        return Err(refused());
    }
    Ok((actor, Claim::Signature { signer: signer(text).ok_or_else(refused)?, nonce }))
}

async fn replace(cx: Cx) -> Result<Response> {
    let request: NewKeyRequest = cx.json()?;
    // Some clients send a key with every call, so a signature takes precedence over the key.
    let (actor, claim) = match &request.signature {
        Some(signature) => by_signature(&cx, &request, signature).await?,
        None => by_key(&cx)?,
    };
    answer(&cx, actor, claim, request.revoke).await
}

/// The actor and the claim of a request with an API key.
fn by_key(cx: &Cx) -> Result<(String, Claim)> {
    let environment = cx.rt.environment();
    let given = cx.request.header("x-agent-key").ok_or_else(refused)?;
    let key = environment.secrets.parse_key(&environment.settings.brand, KEY_KIND, given).ok_or_else(refused)?;
    Ok((key.actor().to_owned(), Claim::Key(key.secret_hash())))
}

async fn rotate(cx: Cx) -> Result<Response> {
    let RotateKeyRequest { revoke } = cx.json()?;
    let (actor, claim) = by_key(&cx)?;
    answer(&cx, actor, claim, revoke).await
}

async fn replace_for(cx: Cx) -> Result<Response> {
    let request: OperatorRequest = cx.json()?;
    let actor = wire::known_actor(cx.settings(), cx.path("did")?)?;
    if (Bookkeeping::of(cx.rt.environment().program).is_own_agent)(&*cx.rt, cx.path("did")?).await? {
        return Err(Error::conflict("The deployment's own provider has no API key."));
    }
    answer(&cx, actor, Claim::Operator, request.revoke).await
}

async fn answer(cx: &Cx, actor: String, claim: Claim, revoke: Option<bool>) -> Result<Response> {
    let environment = cx.rt.environment();
    let did = wire::did_text(cx.settings(), &super::record::did_of(&actor)?);
    let key = environment.secrets.new_agent_key(&environment.settings, KEY_KIND, &actor, cx.rt.random())?;
    let replace = ReplaceKey { secret_hash: key.secret_hash(), revoke: revoke.unwrap_or(false), claim };
    let until = runtime::call(&*cx.rt, actor, &replace).await?;
    Response::created(&NewKey {
        did,
        api_key: key.expose().to_owned(),
        previous_key_valid_until: until.map(|until| until.to_string()),
    })
}
