//! Profile, peers, rotation of keys, prekeys, API keys, the end of an agent.

use crypto::conversation::prekeys::Bundle;
use crypto::conversation::{AgentKeys, Peer};
use crypto::encoding::{decode_base64, decode_base64_array, encode_base64};
use crypto::{Secret, boxes, signing, texts};
use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use super::agent::{Agent, Known};
use super::answers::{
    Deactivated, Discovered, EnvelopeVerified, Identity, OwnStock, PrekeysUploaded, Profile, RotateResponse, Username,
    UsernameHolder, UsernameReleased,
};
use super::keyring::ApiKey;
use super::register::{METADATA, PREKEY_SESSIONS, PublicKeys, prove};
use crate::http::{Client, Method};
use crate::{Error, Result, platform};

/// Most one-time prekeys of one upload.
const MAX_UPLOAD: usize = 100;

/// What of a profile is changed. What is `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ProfileChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Whether others may see when the agent was last here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence: Option<bool>,
}

/// Of an identity, what it takes to write to the agent. A page that uses the library loads no more than that.
#[derive(Deserialize)]
struct PeerKeys {
    did: String,
    signing_public_key: String,
    encryption_public_key: String,
    #[serde(default)]
    mlkem_public_key: Option<String>,
    #[serde(default)]
    metadata: Value,
}

/// Of a bundle, the prekeys.
#[derive(Deserialize)]
struct Prekeys {
    #[serde(default)]
    signed_prekey: Option<Prekey>,
    #[serde(default)]
    one_time_prekey: Option<Prekey>,
}

#[derive(Deserialize)]
struct Prekey {
    id: u64,
    public_key: String,
    /// Of a signed one.
    #[serde(default)]
    signature: String,
}

/// Reads the keys of a peer.
fn peer_of(identity: PeerKeys) -> Result<Known> {
    let kem_key = match &identity.mlkem_public_key {
        Some(text) => Some(decode_base64("mlkem_public_key", text)?),
        None => None,
    };
    let opens = identity.metadata.get(METADATA).and_then(Value::as_array);
    Ok(Known {
        opens_prekeys: opens.is_some_and(|names| names.iter().any(|name| name == PREKEY_SESSIONS)),
        peer: Peer {
            did: identity.did,
            signing_key: decode_base64_array("signing_public_key", &identity.signing_public_key)?,
            encryption_key: decode_base64_array("encryption_public_key", &identity.encryption_public_key)?,
            kem_key,
        },
        at: platform::now(),
    })
}

impl Client {
    /// What everybody may know of an agent.
    pub async fn identity(&self, did: &str) -> Result<Identity> {
        self.agent(Method::Get, &["identity", did]).send().await
    }

    /// Searches agents by name or DID, and by capability; at most `limit`, 1 to 100.
    pub async fn discover(&self, query: Option<&str>, capability: Option<&str>, limit: u32) -> Result<Discovered> {
        let call = self.agent(Method::Get, &["discover"]).query("query", query).query("capability", capability);
        call.query("limit", Some(limit)).send().await
    }

    /// Who has a username.
    pub async fn username(&self, name: &str) -> Result<UsernameHolder> {
        self.agent(Method::Get, &["username", name]).send().await
    }

    /// Asks the service whether an agent signed an envelope, now or with an earlier key.
    pub async fn verify_envelope(&self, sender: &str, envelope: &str, signature: &str) -> Result<EnvelopeVerified> {
        let body = json!({ "sender_did": sender, "envelope": envelope, "signature": signature });
        self.agent(Method::Post, &["verify"]).json(&body).repeatable().send().await
    }
}

impl Agent {
    /// What the service knows of this agent.
    pub async fn profile(&self) -> Result<Profile> {
        self.call(Method::Get, &["profile"]).send().await
    }

    /// Changes the profile.
    pub async fn change_profile(&self, change: &ProfileChange) -> Result<Profile> {
        self.call(Method::Patch, &["profile"]).json(change).repeatable().send().await
    }

    /// Takes a username, or another one in place of the one before; 3 to 32 of `a-z`, `0-9` and `_`.
    pub async fn take_username(&self, name: &str) -> Result<Username> {
        self.call(Method::Put, &["username"]).json(&json!({ "username": name })).repeatable().send().await
    }

    /// Gives the username back.
    pub async fn release_username(&self) -> Result<UsernameReleased> {
        self.call(Method::Delete, &["username"]).send().await
    }

    /// Proves the keys of a registration that was made without a proof.
    pub async fn prove(&self) -> Result<Profile> {
        let proof = prove(self.client(), &self.did(), &self.keys()?).await?;
        self.call(Method::Post, &["prove"]).json(&proof).send().await
    }

    /// The keys of a peer, at most five minutes old.
    pub(crate) async fn peer(&self, did: &str) -> Result<Known> {
        if let Some(known) = self.known(did) {
            return Ok(known);
        }
        let identity: PeerKeys = self.call(Method::Get, &["identity", did]).send().await?;
        if identity.did != did {
            return Err(Error::Answer("the identity is that of another agent".to_owned()));
        }
        let known = peer_of(identity)?;
        self.remember_peer(known.clone());
        Ok(known)
    }

    /// Takes prekeys of a peer, which the service then gives to nobody else.
    pub(crate) async fn bundle(&self, known: &Known) -> Result<Bundle> {
        let did = &known.peer.did;
        let given: Prekeys = self.call(Method::Get, &["prekeys", did]).send().await?;
        let signed =
            given.signed_prekey.ok_or_else(|| Error::usage(format!("{did} has published no signed prekey")))?;
        let one_time = match given.one_time_prekey {
            Some(key) => Some((key.id, decode_base64_array("public_key", &key.public_key)?)),
            None => None,
        };
        Ok(Bundle {
            signed_id: signed.id,
            signed: decode_base64_array("public_key", &signed.public_key)?,
            signature: decode_base64_array("signature", &signed.signature)?,
            one_time,
        })
    }

    /// Makes a new signed prekey and so many one-time prekeys, 1 to 100, stores their secrets and publishes them.
    pub async fn publish_prekeys(&self, count: usize) -> Result<PrekeysUploaded> {
        if !(1..=MAX_UPLOAD).contains(&count) {
            return Err(Error::usage("one upload has 1 to 100 prekeys"));
        }
        let keys = self.keys()?;
        let mut random = platform::random()?;
        let mut draw = || {
            let mut bytes = [0; 32];
            random.fill_bytes(&mut bytes);
            Secret::new(bytes)
        };
        let signed = draw();
        // Ids of the public clients are the time in milliseconds. They must be new, also after a clock was set back.
        let first = u64::try_from(platform::now()).unwrap_or(1);
        let last = self.with_keyring(|keyring| keyring.one_time_prekeys.last_key_value().map_or(0, |(id, _)| *id));
        let fresh: Vec<(u64, Secret<32>)> = (first.max(last + 1)..).take(count).map(|id| (id, draw())).collect();
        let public: Vec<Value> = fresh
            .iter()
            .map(|(id, secret)| json!({ "id": id, "public_key": encode_base64(&boxes::box_public_key(secret)) }))
            .collect();
        let public_signed = boxes::box_public_key(&signed);
        let signed_id = self
            .change_keyring(|keyring| {
                let id = keyring.next_signed_id();
                keyring.add_signed_prekey(id, signed);
                keyring.one_time_prekeys.extend(fresh);
                id
            })
            .await?;
        let signature = encode_base64(&signing::sign_prekey(&keys.signing, &public_signed));
        let signed = json!({ "public_key": encode_base64(&public_signed), "signature": signature, "id": signed_id });
        let body = json!({ "prekeys": public, "signed_prekey": signed });
        self.call(Method::Post, &["prekeys"]).json(&body).repeatable().send().await
    }

    /// How many one-time prekeys others may still take.
    pub async fn prekey_stock(&self) -> Result<OwnStock> {
        self.call(Method::Get, &["prekeys"]).send().await
    }

    /// Replaces all keys under the same DID, signed by the key before. Sessions begin again; messages that are on their
    /// way still open.
    ///
    /// The new keys are stored first. If no answer comes, call this again: it finishes the same rotation.
    pub async fn rotate_keys(&self) -> Result<RotateResponse> {
        let current = self.keys()?;
        let mut random = platform::random()?;
        let fresh = AgentKeys::generate(&mut |bytes| random.fill_bytes(bytes), current.kem.is_some());
        let (next, id) = self
            .change_keyring(|keyring| {
                let next = keyring.next.get_or_insert(fresh).clone();
                (next, keyring.next_signed_id())
            })
            .await?;
        let deployment = self.client().deployment().await?;
        let (did, issued_at, nonce) = (self.did(), platform::time(), platform::unique()?);
        let peer = next.as_peer(&did);
        let public = texts::Keys {
            signing: &peer.signing_key,
            encryption: &peer.encryption_key,
            mlkem: peer.kem_key.as_deref(),
        };
        let text = texts::rotation(&deployment.brand, &deployment.id, &did, public, &issued_at, &nonce);
        #[derive(Serialize)]
        struct Body {
            #[serde(flatten)]
            keys: PublicKeys,
            rotation_signature: String,
            rotation_issued_at: String,
            rotation_nonce: String,
        }
        let body = Body {
            keys: PublicKeys::of(&next, id),
            rotation_signature: encode_base64(&signing::sign(&current.signing, text.as_bytes())),
            rotation_issued_at: issued_at,
            rotation_nonce: nonce,
        };
        // An earlier try may have been done although its answer was lost. Then these keys are the agent's already.
        #[derive(Deserialize)]
        struct Shown {
            signing_public_key: String,
        }
        let shown: Shown = self.call(Method::Get, &["profile"]).send().await?;
        let answer = match shown.signing_public_key == encode_base64(&peer.signing_key) {
            true => self.call(Method::Post, &["rotate-keys"]).json(&PublicKeys::of(&next, id)).send().await?,
            false => self.call(Method::Post, &["rotate-keys"]).json(&body).send().await?,
        };
        self.change_keyring(|keyring| {
            keyring.next = None;
            keyring.add_signed_prekey(id, next.prekey.clone());
            keyring.renew(next);
        })
        .await?;
        Ok(answer)
    }

    /// Replaces the API key, by a signature: also when the present one is lost or stolen. With `revoke`, the earlier key
    /// ends at once.
    pub async fn renew_api_key(&self, revoke: bool) -> Result<()> {
        #[derive(Deserialize)]
        struct New {
            api_key: Zeroizing<String>,
        }
        let deployment = self.client().deployment().await?;
        let (did, timestamp, nonce) = (self.did(), platform::time(), platform::unique()?);
        let text = texts::api_key(&deployment.brand, &deployment.id, &did, &timestamp, &nonce);
        let signature = encode_base64(&signing::sign(&self.keys()?.signing, text.as_bytes()));
        let body = json!({
            "did": did, "timestamp": timestamp, "nonce": nonce, "signature": signature, "revoke": revoke,
        });
        let new: New = self.client().agent(Method::Post, &["api-key"]).json(&body).send().await?;
        self.change_keyring(|keyring| keyring.api_key = ApiKey::new(new.api_key.to_string())).await
    }

    /// Ends the agent: its key, memberships and webhooks end, and nobody can write to it.
    pub async fn deactivate(&self) -> Result<Deactivated> {
        self.call(Method::Delete, &["deactivate"]).send().await
    }
}
