//! `GET /v1/agent/identity/{did}`: the public keys and description of an agent.

use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::pins::Prints;
use super::proof::ProofRequest;
use super::record::{Public, ReadPublic, SignedPrekey};
use super::{continuity, wire};
use crate::federation::find;
use crate::{Error, Result};
use crypto::encoding::{self, encode_base64};
use engine::http::{Cx, Param, Response, Route, handler};
use engine::runtime;

pub const ROUTES: &[Route] = &[Route::get("/v1/agent/identity/{did}", handler!(identity))
    .params(&[Param::optional("local", "`true`: do not ask the peers of this relay.").boolean().default("false")])
    .returns::<Identity>()
    .summary("Public keys and description of an agent, here or at a peer of this relay.")];

/// The public data of an agent.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentIdentity")]
pub struct Identity {
    pub did: String,
    pub name: Option<String>,
    /// Base64, Ed25519.
    pub signing_public_key: String,
    /// Base64, X25519.
    pub encryption_public_key: String,
    /// Base64, ML-KEM-768. Present when hybrid sessions with this agent are possible.
    pub mlkem_public_key: Option<String>,
    pub signed_prekey: Option<Prekey>,
    pub capabilities: Vec<String>,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub metadata: Box<RawValue>,
    /// `active` or `inactive`; nobody can write to an inactive agent.
    pub status: &'static str,
    pub created_at: String,
    /// `silent`: the signing key has signed nothing here. `signed`: it signed something, which says nothing about the
    /// encryption key. `proved`: it signed these keys for this deployment, or the service made them.
    pub standing: &'static str,
    /// The proof of these keys for this deployment, so that anybody can check it; null when the service made the keys.
    pub proof: Option<ProofRequest>,
    /// The address of the agent's relay, when that is a peer of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relay: Option<String>,
    /// True when the caller sent X-Agent-Key and its agent pinned keys from which these do not follow. Otherwise
    /// absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub key_changed: bool,
}

/// A signed prekey.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SignedPrekey")]
pub struct Prekey {
    pub public_key: String,
    pub signature: String,
    pub id: i64,
}

impl From<SignedPrekey> for Prekey {
    fn from(prekey: SignedPrekey) -> Self {
        Prekey {
            public_key: encode_base64(&prekey.public_key),
            signature: encode_base64(&prekey.signature),
            id: prekey.id,
        }
    }
}

impl TryFrom<Public> for Identity {
    type Error = Error;

    fn try_from(public: Public) -> Result<Self> {
        Ok(Identity {
            did: public.did,
            name: public.name,
            signing_public_key: encode_base64(&public.signing),
            encryption_public_key: encode_base64(&public.encryption),
            mlkem_public_key: public.mlkem.as_deref().map(encode_base64),
            signed_prekey: public.signed_prekey.map(Prekey::from),
            capabilities: public.capabilities,
            metadata: RawValue::from_string(public.metadata).map_err(Error::internal)?,
            status: if public.active { "active" } else { "inactive" },
            created_at: public.created.to_string(),
            standing: public.standing.as_str(),
            proof: public.proof.map(ProofRequest::from),
            relay: None,
            key_changed: false,
        })
    }
}

async fn identity(cx: Cx) -> Result<Response> {
    let did = encoding::parse_did(&cx.settings().brand, cx.path("did")?).map_err(|_| wire::unknown_agent())?;
    let actor = encoding::actor_id(&did);
    let here = runtime::query(&*cx.rt, actor.as_str(), &ReadPublic).await?;
    // A request by a peer is not passed on to other peers, and a HEAD writes nothing (decisions peer-deliveries and
    // caller-rate-limits).
    let asks = !cx.flag("local")?.unwrap_or(false) && cx.request.method != Method::HEAD;
    let found = match &here {
        _ if !asks => None,
        Some(here) => find::instead_of(&*cx.rt, &did, here, &cx.address()).await?,
        None => Box::pin(find::find(&*cx.rt, &did, &cx.address())).await?,
    };
    if let Some(found) = found {
        let keys = Prints::of(&found.public.signing, &found.public.encryption);
        let key_changed = continuity::are_news_to_caller(&cx, did, keys).await?;
        let identity = Identity::try_from(found.public)?;
        return Response::json(&Identity { relay: Some(found.url), key_changed, ..identity });
    }
    let public = here.ok_or_else(wire::unknown_agent)?;
    let key_changed = continuity::is_news_to_caller(&cx, &actor).await?;
    Response::json(&Identity { key_changed, ..Identity::try_from(public)? })
}
