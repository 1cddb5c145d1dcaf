//! `GET /v1/pay/private-session/config`: the provider of private sessions here, signed by the provider itself. Its rail
//! has no value: nothing is paid on it.

use crate::routes::pay_route;
use schemars::JsonSchema;
use serde::Serialize;

use super::{agent_name, own};
use crate::json;
use crate::{Error, ErrorCode, Result};
use crypto::encoding::encode_base64;
use crypto::signing;
use engine::http::{Auth, Cx, Limit, Response, Route, handler};

pub const ROUTES: &[Route] =
    &[pay_route(Route::get("/v1/pay/private-session/config", handler!(config)), Auth::None, Limit::PayRead)
        .returns::<SessionConfig>()
        .summary("The provider of private sessions, signed by itself; the sessions cost nothing.")];

/// Longest life of an envelope, in minutes.
const WINDOW: u32 = 60;

#[derive(Serialize, JsonSchema)]
struct SessionProvider {
    did: String,
    signing_public_key: String,
    encryption_public_key: String,
    name: String,
}

#[derive(Serialize, JsonSchema)]
struct SessionConfig {
    schema: String,
    enabled: bool,
    /// `zero_value`
    rail: &'static str,
    price_micro: u64,
    currency: String,
    provider_did: String,
    provider: SessionProvider,
    /// Base64, Ed25519; the DID derives from it.
    signing_public_key_base64: String,
    /// Base64, X25519.
    encryption_public_key_base64: String,
    identity_url: String,
    max_envelope_window_minutes: u32,
    generated_at: String,
    /// Base64, Ed25519 over the canonical form of all other members.
    #[serde(skip_serializing_if = "Option::is_none")]
    signature_base64: Option<String>,
}

async fn config(cx: Cx) -> Result<Response> {
    let settings = cx.settings();
    if !settings.first_party_services {
        return Err(Error::not_found("This deployment provides no private sessions."));
    }
    let not_yet = || Error::new(ErrorCode::Unavailable, "The provider is being set up; retry.").retry_after(1);
    let own = own(&*cx.rt).await?.ok_or_else(not_yet)?;
    let (signing_key, encryption_key) = (encode_base64(&own.signing), encode_base64(&own.encryption));
    let mut config = SessionConfig {
        schema: format!("{}-pay-private-session-config/v1", settings.brand),
        enabled: true,
        rail: "zero_value",
        price_micro: 0,
        currency: format!("{}-credit", settings.brand),
        provider_did: own.did.clone(),
        provider: SessionProvider {
            did: own.did.clone(),
            signing_public_key: signing_key.clone(),
            encryption_public_key: encryption_key.clone(),
            name: agent_name(&settings.brand),
        },
        signing_public_key_base64: signing_key,
        encryption_public_key_base64: encryption_key,
        identity_url: format!("{}/v1/agent/identity/{}", settings.base_url(), own.did),
        max_envelope_window_minutes: WINDOW,
        generated_at: cx.now().to_millis_text(),
        signature_base64: None,
    };
    let unsigned = serde_json::to_vec(&config).map_err(Error::internal)?;
    let canonical = json::parse(&unsigned, json::MAX_DEPTH).and_then(|value| value.canonical());
    let canonical = canonical.ok_or_else(|| Error::internal("the configuration has no canonical form"))?;
    config.signature_base64 = Some(encode_base64(&signing::sign(&own.held.signing, &canonical)));
    Response::json(&config)
}
