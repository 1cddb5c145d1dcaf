//! `POST /v1/agent/verify`: checking a signature, also by earlier keys (decision earlier-keys-verify).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::{EarlierKeys, Keys, ReadKeys};
use super::wire;
use crate::Result;
use crate::federation::find::find;
use crypto::encoding::{BASE64_PATTERN, DID_PATTERN, actor_id, decode_base64, parse_did};
use crypto::signing::{self, SignedBy};
use engine::http::{Cx, Response, Route, handler};
use engine::runtime;

pub const ROUTES: &[Route] =
    &[Route::post("/v1/agent/verify", handler!(verify)).accepts::<VerifyRequest>().returns::<Verified>().summary(
        "Check an envelope's Ed25519 signature against its sender's present and earlier keys, here or at a peer.",
    )];

/// A signature to check.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct VerifyRequest {
    /// The exact text that was signed.
    pub envelope: String,
    /// Base64.
    #[schemars(regex(pattern = BASE64_PATTERN))]
    pub signature: String,
    #[schemars(regex(pattern = DID_PATTERN))]
    pub sender_did: String,
}

/// The result. An invalid signature is a result, not an error.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "EnvelopeVerified")]
pub struct Verified {
    pub valid: bool,
    pub sender_did: String,
    pub verified_at: String,
    /// When the verifying key was the sender's; null when no key verifies, and for agents at peers of this relay.
    pub key_period: Option<KeyPeriod>,
}

/// How long a key was in force.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeyPeriod {
    pub from: String,
    /// Null for the present key.
    pub until: Option<String>,
}

fn period(signed: SignedBy, current: &Keys, earlier: &[EarlierKeys]) -> Option<KeyPeriod> {
    match signed {
        SignedBy::Current => Some(KeyPeriod { from: current.since.to_string(), until: None }),
        SignedBy::Earlier(index) => {
            let keys = earlier.get(index)?;
            Some(KeyPeriod { from: keys.keys.since.to_string(), until: Some(keys.until.to_string()) })
        }
    }
}

async fn verify(cx: Cx) -> Result<Response> {
    let request: VerifyRequest = cx.json()?;
    let signature = decode_base64("signature", &request.signature)?;
    let did = parse_did(&cx.settings().brand, &request.sender_did).map_err(|_| wire::unknown_agent())?;
    let (signed, key_period) = match runtime::query(&*cx.rt, actor_id(&did), &ReadKeys).await? {
        Some((current, earlier)) => {
            let keys: Vec<[u8; 32]> = earlier.iter().map(|earlier| earlier.keys.signing).collect();
            let signed = signing::verify_envelope(&request.envelope, &signature, &current.signing, &keys);
            (signed.is_some(), signed.and_then(|signed| period(signed, &current, &earlier)))
        }
        // An agent of a peer, whose earlier keys are not known here.
        None => {
            let found = Box::pin(find(&*cx.rt, &did, &cx.address())).await?.ok_or_else(wire::unknown_agent)?;
            (signing::verify(&found.public.signing, request.envelope.as_bytes(), &signature), None)
        }
    };
    Response::json(&Verified {
        valid: signed,
        sender_did: request.sender_did,
        verified_at: cx.now().to_string(),
        key_period,
    })
}
