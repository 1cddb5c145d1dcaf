//! `POST /v1/agent/register`: a new agent with its keys (decision signed-registrations).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::create::CreateAgent;
use super::custody::HeldKeys;
use super::proof::{self, PATIENCE, ProofRequest};
use super::record::SignedPrekey;
use super::standing::Standing;
use super::{KEY_KIND, wire};
use crate::above::Bookkeeping;
use crate::directory::{self, likeness};
use crate::{Error, Result};
use crypto::encoding::{self, BASE64_PATTERN, base64_pattern, decode_base64, decode_base64_array, encode_base64};
use crypto::{boxes, kem, signing};
use engine::http::{Cx, Limit, Response, Route, handler};
use engine::runtime;

pub const ROUTES: &[Route] = &[Route::post("/v1/agent/register", handler!(register))
    .limit(Limit::Registration)
    .accepts::<RegisterRequest>()
    .creates::<RegisterResponse>()
    .summary("Register an agent. The API key is shown once.")];

/// Most capability names of an agent.
pub const MAX_CAPABILITIES: usize = 32;
/// Most characters of one capability name; our choice.
pub const MAX_CAPABILITY: usize = 128;
/// Most bytes of metadata as JSON text.
const MAX_METADATA: usize = 4 * 1024;

/// A registration. With both public keys the private ones never leave the client; with neither the service makes the
/// keys.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RegisterRequest {
    /// Up to 128 visible characters, unique: names that differ only in case, compatibility forms or white space are the
    /// same name.
    #[schemars(length(max = directory::MAX_NAME))]
    pub name: Option<String>,
    /// Up to 32, each of 1 to 128 characters.
    #[schemars(length(max = MAX_CAPABILITIES), inner(length(min = 1, max = MAX_CAPABILITY)))]
    pub capabilities: Option<Vec<String>>,
    /// An object of at most 4 KB of JSON.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub metadata: Option<Box<RawValue>>,
    /// Base64, Ed25519, 32 bytes.
    #[schemars(regex(pattern = base64_pattern(32)))]
    pub signing_public_key: Option<String>,
    /// Base64, X25519, 32 bytes.
    #[schemars(regex(pattern = base64_pattern(32)))]
    pub encryption_public_key: Option<String>,
    /// Base64, ML-KEM-768, 1184 bytes.
    #[schemars(length(equal = kem::PUBLIC_BYTES.div_ceil(3) * 4), regex(pattern = BASE64_PATTERN))]
    pub mlkem_public_key: Option<String>,
    /// Base64, X25519, 32 bytes.
    #[schemars(regex(pattern = base64_pattern(32)))]
    pub signed_prekey_public: Option<String>,
    /// Base64, Ed25519 signature over the raw prekey, 64 bytes. It gives the registration the standing `signed`.
    #[schemars(regex(pattern = base64_pattern(64)))]
    pub signed_prekey_signature: Option<String>,
    pub signed_prekey_id: Option<i64>,
    /// Extension: proves that these keys belong together and are the caller's. A registration without a proof can be
    /// displaced by one that has it.
    pub proof: Option<ProofRequest>,
}

/// The new agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RegisterResponse {
    pub did: String,
    /// Shown once; cannot be retrieved later.
    pub api_key: String,
    pub signing_public_key: String,
    pub encryption_public_key: String,
    pub mlkem_public_key: Option<String>,
    pub name: Option<String>,
    pub capabilities: Vec<String>,
    pub client_side: bool,
    pub created_at: String,
}

/// Checks a list of capability names.
pub fn check_capabilities(names: &[String]) -> Result<()> {
    if names.len() > MAX_CAPABILITIES {
        return Err(Error::bad_request("`capabilities` must be at most 32 names."));
    }
    if names.iter().any(|name| name.trim().is_empty() || name.chars().count() > MAX_CAPABILITY) {
        return Err(Error::bad_request("Each of `capabilities` must be 1 to 128 characters."));
    }
    names.iter().try_for_each(|name| likeness::check("capabilities", name))
}

/// Checks metadata and returns its text; `None` when it is absent.
pub fn check_metadata(metadata: Option<&RawValue>) -> Result<Option<String>> {
    let Some(text) = metadata.map(RawValue::get).filter(|text| *text != "null") else { return Ok(None) };
    if text.len() > MAX_METADATA {
        return Err(Error::bad_request("`metadata` must be at most 4096 bytes of JSON."));
    }
    // Parsed once more as a value, since a raw text may be nested more deeply than readers can follow.
    match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text) {
        Ok(_) => Ok(Some(text.to_owned())),
        Err(_) => Err(Error::bad_request("`metadata` must be an object of valid JSON.")),
    }
}

/// The keys of a registration, given by the caller or made by the service.
struct Keys {
    client_side: bool,
    standing: Standing,
    signing: [u8; 32],
    encryption: [u8; 32],
    mlkem: Option<Vec<u8>>,
    signed_prekey: Option<SignedPrekey>,
    held: Option<HeldKeys>,
}

impl Keys {
    fn public(&self) -> proof::Keys<'_> {
        proof::Keys { signing: &self.signing, encryption: &self.encryption, mlkem: self.mlkem.as_deref() }
    }

    fn fresh(cx: &Cx) -> Keys {
        let held = HeldKeys::generate(&*cx.rt);
        let public = held.public();
        Keys {
            client_side: false,
            standing: Standing::Proved,
            signing: public.signing,
            encryption: public.encryption,
            mlkem: Some(public.mlkem),
            signed_prekey: None,
            held: Some(held),
        }
    }

    fn of(cx: &Cx, request: &RegisterRequest) -> Result<Keys> {
        let given = GivenKeys {
            signing: request.signing_public_key.as_deref(),
            encryption: request.encryption_public_key.as_deref(),
            mlkem: request.mlkem_public_key.as_deref(),
            prekey: request.signed_prekey_public.as_deref(),
            prekey_signature: request.signed_prekey_signature.as_deref(),
            prekey_id: request.signed_prekey_id,
        };
        let Some(BroughtKeys { signing, encryption, mlkem, signed_prekey }) = given.check()? else {
            return Ok(Keys::fresh(cx));
        };
        let standing = if signed_prekey.is_some() { Standing::Signed } else { Standing::Silent };
        Ok(Keys { client_side: true, standing, signing, encryption, mlkem, signed_prekey, held: None })
    }
}

/// Public keys as a client sends them.
pub(super) struct GivenKeys<'a> {
    pub signing: Option<&'a str>,
    pub encryption: Option<&'a str>,
    pub mlkem: Option<&'a str>,
    pub prekey: Option<&'a str>,
    pub prekey_signature: Option<&'a str>,
    pub prekey_id: Option<i64>,
}

/// Public keys that were checked.
pub(super) struct BroughtKeys {
    pub signing: [u8; 32],
    pub encryption: [u8; 32],
    pub mlkem: Option<Vec<u8>>,
    pub signed_prekey: Option<SignedPrekey>,
}

impl GivenKeys<'_> {
    /// Checks that the keys are valid and fit together; `None` when no key was given.
    pub fn check(&self) -> Result<Option<BroughtKeys>> {
        let (signing, encryption) = match (self.signing, self.encryption) {
            (Some(signing), Some(encryption)) => (signing, encryption),
            (None, None) if [self.mlkem, self.prekey, self.prekey_signature].iter().all(Option::is_none) => {
                return Ok(None);
            }
            (None, None) => {
                let message = "An ML-KEM key or a prekey needs `signing_public_key` and `encryption_public_key` too.";
                return Err(Error::bad_request(message));
            }
            _ => {
                let message = "Give both `signing_public_key` and `encryption_public_key`, or neither.";
                return Err(Error::bad_request(message));
            }
        };
        let signing = decode_base64_array("signing_public_key", signing)?;
        signing::validate_signing_key("signing_public_key", &signing)?;
        let encryption = decode_base64_array("encryption_public_key", encryption)?;
        boxes::validate_encryption_key("encryption_public_key", &encryption)?;
        let mlkem = self.mlkem.map(|text| decode_base64("mlkem_public_key", text)).transpose()?;
        if let Some(key) = &mlkem {
            kem::validate_kem_key("mlkem_public_key", key)?;
        }
        let signed_prekey = self.signed_prekey(&signing)?;
        Ok(Some(BroughtKeys { signing, encryption, mlkem, signed_prekey }))
    }

    /// The signed prekey, if there is one; its signature is verified strictly.
    fn signed_prekey(&self, signing_key: &[u8; 32]) -> Result<Option<SignedPrekey>> {
        let (public_key, signature) = match (self.prekey, self.prekey_signature) {
            (Some(public_key), Some(signature)) => (public_key, signature),
            (None, None) => return Ok(None),
            _ => {
                let message = "Give both `signed_prekey_public` and `signed_prekey_signature`, or neither.";
                return Err(Error::bad_request(message));
            }
        };
        let public_key = decode_base64_array("signed_prekey_public", public_key)?;
        let signature = decode_base64_array::<64>("signed_prekey_signature", signature)?;
        signing::verify_prekey(signing_key, &public_key, &signature).map_err(|_| {
            Error::bad_request("`signed_prekey_signature` is not a signature of the prekey by the signing key.")
        })?;
        Ok(Some(SignedPrekey { public_key, signature: signature.to_vec(), id: self.prekey_id.unwrap_or(1) }))
    }
}

async fn register(cx: Cx) -> Result<Response> {
    let mut request: RegisterRequest = cx.json()?;
    // A client without a name may send an empty one.
    request.name = request.name.filter(|name| !name.is_empty());
    if let Some(name) = &request.name {
        directory::check_name(name)?;
        (Bookkeeping::of(cx.rt.environment().program).check_name)(cx.settings(), name)?;
    }
    let capabilities = request.capabilities.take().unwrap_or_default();
    check_capabilities(&capabilities)?;
    let metadata = check_metadata(request.metadata.as_deref())?.unwrap_or_else(|| "{}".to_owned());
    let keys = Keys::of(&cx, &request)?;

    let environment = cx.rt.environment();
    let id = encoding::did_bytes(&keys.signing);
    let (did, actor) = (wire::did_text(cx.settings(), &id), encoding::actor_id(&id));
    let proof = match &request.proof {
        None => None,
        Some(_) if !keys.client_side => {
            return Err(Error::bad_request("A `proof` needs the keys that it is about; the service proves its own."));
        }
        Some(proof) => Some(proof.verify(environment, &did, keys.public(), cx.now())?),
    };
    let standing = if proof.is_some() { Standing::Proved } else { keys.standing };
    let sealed = keys.held.as_ref().map(|held| held.seal(&*cx.rt, &did)).transpose()?;
    let api_key = environment.secrets.new_agent_key(&environment.settings, KEY_KIND, &actor, cx.rt.random())?;
    let reserved = match &request.name {
        Some(name) => Some(directory::reserve(&*cx.rt, name.clone(), id).await?),
        None => None,
    };
    let create = CreateAgent {
        name: request.name.clone(),
        capabilities: capabilities.clone(),
        metadata,
        client_side: keys.client_side,
        standing,
        signing: keys.signing,
        encryption: keys.encryption,
        mlkem: keys.mlkem.clone(),
        sealed,
        signed_prekey: keys.signed_prekey,
        api_key_hash: api_key.secret_hash(),
        proof,
    };
    let made = runtime::retry_unavailable(&*cx.rt, PATIENCE, || runtime::call(&*cx.rt, actor.clone(), &create)).await;
    let created = directory::settled(&*cx.rt, reserved, made).await?;
    Response::created(&RegisterResponse {
        did,
        api_key: api_key.expose().to_owned(),
        signing_public_key: encode_base64(&keys.signing),
        encryption_public_key: encode_base64(&keys.encryption),
        mlkem_public_key: keys.mlkem.as_deref().map(encode_base64),
        name: request.name,
        capabilities,
        client_side: keys.client_side,
        created_at: created.to_string(),
    })
}
