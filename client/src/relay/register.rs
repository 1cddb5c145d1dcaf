//! Registration with proof of the keys.

use std::collections::BTreeMap;

use crypto::conversation::AgentKeys;
use crypto::encoding::encode_base64;
use crypto::{boxes, signing, texts};
use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::agent::{Agent, keep};
use super::answers::Proof;
use super::keyring::{ApiKey, Keyring};
use crate::http::{Client, Method};
use crate::store::Store;
use crate::{Result, platform};

/// The member of an agent's metadata that says which sessions it opens beyond those of the public clients.
pub(crate) const METADATA: &str = "sessions";
/// Sessions that begin from prekeys (decision one-time-prekeys).
pub(crate) const PREKEY_SESSIONS: &str = "x3dh";

/// What a new agent says of itself, and how its keys are held.
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    /// Unique among agents, at most 128 characters.
    pub name: Option<String>,
    pub capabilities: Vec<String>,
    /// At most 4 KB of JSON.
    pub metadata: Map<String, Value>,
    /// Keys made and held here. Otherwise the service makes and holds them, and can read every message.
    pub own_keys: bool,
    /// Publishes an ML-KEM-768 key, too, so that others can send messages that a quantum computer cannot open.
    pub post_quantum: bool,
    /// Publishes so many one-time prekeys, 0 to 100, and says in the metadata that the agent opens sessions that begin
    /// from them.
    pub one_time_prekeys: usize,
}

impl Default for Registration {
    fn default() -> Registration {
        Registration {
            name: None,
            capabilities: Vec::new(),
            metadata: Map::new(),
            own_keys: true,
            post_quantum: true,
            one_time_prekeys: 20,
        }
    }
}

impl Registration {
    /// An agent with keys of its own and this name.
    pub fn named(name: &str) -> Registration {
        Registration { name: Some(name.to_owned()), ..Registration::default() }
    }

    /// An agent whose keys the service makes and holds.
    pub fn by_service() -> Registration {
        Registration { own_keys: false, post_quantum: false, one_time_prekeys: 0, ..Registration::default() }
    }
}

/// The public keys of an agent as routes take them.
#[derive(Debug, Serialize)]
pub(crate) struct PublicKeys {
    signing_public_key: String,
    encryption_public_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mlkem_public_key: Option<String>,
    signed_prekey_public: String,
    signed_prekey_signature: String,
    signed_prekey_id: u64,
}

impl PublicKeys {
    pub fn of(keys: &AgentKeys, signed_prekey_id: u64) -> PublicKeys {
        let peer = keys.as_peer("");
        let prekey = boxes::box_public_key(&keys.prekey);
        PublicKeys {
            signing_public_key: encode_base64(&peer.signing_key),
            encryption_public_key: encode_base64(&peer.encryption_key),
            mlkem_public_key: peer.kem_key.as_deref().map(encode_base64),
            signed_prekey_public: encode_base64(&prekey),
            signed_prekey_signature: encode_base64(&signing::sign_prekey(&keys.signing, &prekey)),
            signed_prekey_id,
        }
    }
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    capabilities: &'a [String],
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
    #[serde(flatten)]
    keys: Option<PublicKeys>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<Proof>,
}

#[derive(Deserialize)]
struct Registered {
    did: String,
    api_key: Zeroizing<String>,
}

/// The proof that the holder of the signing key chose these keys, for this deployment.
pub(crate) async fn prove(client: &Client, did: &str, keys: &AgentKeys) -> Result<Proof> {
    let deployment = client.deployment().await?;
    let (timestamp, nonce) = (platform::time(), platform::unique()?);
    let peer = keys.as_peer(did);
    let public =
        texts::Keys { signing: &peer.signing_key, encryption: &peer.encryption_key, mlkem: peer.kem_key.as_deref() };
    let text = texts::proof(&deployment.brand, &deployment.id, did, public, &timestamp, &nonce);
    Ok(Proof { timestamp, nonce, signature: encode_base64(&signing::sign(&keys.signing, text.as_bytes())) })
}

impl Client {
    /// Registers an agent and keeps its keys in the store, which must hold no agent yet.
    ///
    /// Errors: [`Code::Conflict`](crate::Code::Conflict) if the name is taken.
    pub async fn register(&self, store: impl Store + 'static, registration: Registration) -> Result<Agent> {
        let mut random = platform::random()?;
        let mut keyring = Keyring {
            did: String::new(),
            api_key: ApiKey::new(String::new()),
            generations: Vec::new(),
            signed_prekeys: BTreeMap::new(),
            one_time_prekeys: BTreeMap::new(),
            next: None,
        };
        let (mut public, mut proof, mut metadata) = (None, None, registration.metadata.clone());
        if registration.own_keys {
            let keys = AgentKeys::generate(&mut |bytes| random.fill_bytes(bytes), registration.post_quantum);
            let did = keys.did(&self.deployment().await?.brand);
            proof = Some(prove(self, &did, &keys).await?);
            public = Some(PublicKeys::of(&keys, 1));
            keyring.add_signed_prekey(1, keys.prekey.clone());
            keyring.renew(keys);
            if registration.one_time_prekeys > 0 {
                metadata.entry(METADATA).or_insert_with(|| vec![PREKEY_SESSIONS].into());
            }
        }
        let body = Body {
            name: registration.name.as_deref(),
            capabilities: &registration.capabilities,
            metadata,
            keys: public,
            proof,
        };
        let registered: Registered = self.agent(Method::Post, &["register"]).json(&body).send().await?;
        (keyring.did, keyring.api_key) = (registered.did, ApiKey::new(registered.api_key.to_string()));
        keep(&store, &keyring).await?;
        let agent = Agent::new(self.clone(), Box::new(store), keyring);
        if agent.holds_keys() && registration.one_time_prekeys > 0 {
            agent.publish_prekeys(registration.one_time_prekeys).await?;
        }
        Ok(agent)
    }
}
