//! `GET /.well-known/did/{did}`: an agent as a DID document (W3C DID Core 1.0), with its `did:key` once the
//! registration is proved.

use schemars::JsonSchema;
use serde::Serialize;

use super::record::{Public, ReadPublic};
use super::standing::Standing;
use super::wire;
use crate::Result;
use crypto::encoding::{self, ED25519, X25519};
use engine::http::{Cx, Response, Route, handler};
use engine::runtime;

pub const ROUTES: &[Route] = &[Route::get("/.well-known/did/{did}", handler!(document))
    .answers(&["application/did+json"])
    .extension()
    .returns::<DidDocument>()
    .summary("An agent as a DID document.")];

/// A DID document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DidDocument {
    #[serde(rename = "@context")]
    pub context: [&'static str; 2],
    pub id: String,
    /// The `did:key` of the signing key. Like all keys here, it is listed only once the registration was proved.
    pub also_known_as: Vec<String>,
    pub verification_method: Vec<VerificationMethod>,
    /// Empty for a deactivated agent, as are all other members with keys except `verification_method`: its earlier
    /// signatures stay valid.
    pub authentication: Vec<String>,
    pub assertion_method: Vec<String>,
    pub key_agreement: Vec<String>,
    pub service: Vec<Service>,
}

/// A public key.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerificationMethod {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub controller: String,
    /// Multibase base58 of the multicodec prefix and the key.
    pub public_key_multibase: String,
}

/// The address where the agent is reached.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DidService")]
pub struct Service {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub service_endpoint: String,
}

fn of(public: Public, base_url: &str) -> DidDocument {
    let did = public.did;
    let method = |fragment: &str, codec, key: &[u8; 32]| VerificationMethod {
        id: format!("{did}#{fragment}"),
        kind: "Multikey",
        controller: did.clone(),
        public_key_multibase: encoding::multikey(codec, key),
    };
    let signing = method("signing", ED25519, &public.signing);
    let encryption = method("encryption", X25519, &public.encryption);
    let service = Service {
        id: format!("{did}#relay"),
        kind: "AgentRelay",
        service_endpoint: format!("{base_url}/v1/agent/identity/{did}"),
    };
    let when = |wanted: bool, id: &str| if wanted { vec![id.to_owned()] } else { Vec::new() };
    // Anybody can register a key, so only a proved key speaks for the DID.
    let proved = public.standing == Standing::Proved;
    let active = public.active && proved;
    DidDocument {
        context: ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1"],
        also_known_as: when(active, &encoding::did_key(&public.signing)),
        authentication: when(active, &signing.id),
        assertion_method: when(active, &signing.id),
        key_agreement: when(active, &encryption.id),
        service: if public.active { vec![service] } else { Vec::new() },
        verification_method: if proved { vec![signing, encryption] } else { Vec::new() },
        id: did,
    }
}

async fn document(cx: Cx) -> Result<Response> {
    let actor = wire::known_actor(cx.settings(), cx.path("did")?)?;
    let public = runtime::query(&*cx.rt, actor, &ReadPublic).await?.ok_or_else(wire::unknown_agent)?;
    let mut response = Response::json(&of(public, &cx.settings().base_url()))?;
    response.set("content-type", "application/did+json");
    Ok(response)
}
