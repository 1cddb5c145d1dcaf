//! What an agent keeps with the service, encrypted here if the agent holds its keys.

use crypto::encoding::{decode_base64, decode_base64_array, encode_base64};
use crypto::{Secret, boxes, hash};
use serde::Deserialize;
use serde_json::{Value, json};

use super::agent::Agent;
use super::answers::{MemoryDeleted, MemoryKeys, MemoryNamespaces, MemoryStored};
use crate::http::Method;
use crate::{Error, Result, platform};

/// What `value_type` begins with when the value was encrypted by its owner.
const ENCRYPTED: &str = "encrypted:";

/// The key of an agent's memory, as the public clients derive it.
fn key(encryption: &Secret<32>) -> Secret<32> {
    Secret::new(hash::sha256_of(&[encryption.expose(), b"MEM"]))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "boolean",
        _ => "json",
    }
}

impl Agent {
    /// Stores any JSON under a namespace and a key, for `ttl` seconds or for good.
    pub async fn remember(&self, namespace: &str, name: &str, value: &Value, ttl: Option<u32>) -> Result<MemoryStored> {
        let body = match self.keys() {
            Ok(keys) => {
                let nonce: [u8; 24] = platform::random_bytes()?;
                let sealed = boxes::secretbox_seal(&key(&keys.encryption), &nonce, value.to_string().as_bytes())?;
                json!({
                    "value": encode_base64(&sealed),
                    "client_nonce": encode_base64(&nonce),
                    "value_type": format!("{ENCRYPTED}{}", type_of(value)),
                    "ttl": ttl,
                })
            }
            Err(_) => json!({ "value": value, "value_type": type_of(value), "ttl": ttl }),
        };
        self.call(Method::Put, &["memory", namespace, name]).json(&body).repeatable().send().await
    }

    /// The value under a key; `None` if there is none.
    ///
    /// Errors: [`Error::Crypto`] if it was encrypted with keys that the agent does not have any more.
    pub async fn recall(&self, namespace: &str, name: &str) -> Result<Option<Value>> {
        #[derive(Deserialize)]
        struct Stored {
            #[serde(default)]
            value: Value,
            value_type: String,
            #[serde(default)]
            client_nonce: Option<String>,
        }
        let stored: Stored = match self.call(Method::Get, &["memory", namespace, name]).send().await {
            Ok(stored) => stored,
            Err(Error::Refused(refusal)) if refusal.status == 404 => return Ok(None),
            Err(error) => return Err(error),
        };
        let (Some(nonce), Some(text), true) =
            (&stored.client_nonce, stored.value.as_str(), stored.value_type.starts_with(ENCRYPTED))
        else {
            return Ok(Some(stored.value));
        };
        let (sealed, nonce) = (decode_base64("value", text)?, decode_base64_array("client_nonce", nonce)?);
        let generations = self.with_keyring(|keyring| keyring.generations.clone());
        let opened =
            generations.iter().find_map(|keys| boxes::secretbox_open(&key(&keys.encryption), &nonce, &sealed).ok());
        let text = opened.ok_or(crypto::CryptoError::Undecryptable)?;
        serde_json::from_slice(&text).map(Some).map_err(|error| Error::Answer(error.to_string()))
    }

    /// Removes a value.
    pub async fn forget(&self, namespace: &str, name: &str) -> Result<MemoryDeleted> {
        self.call(Method::Delete, &["memory", namespace, name]).send().await
    }

    /// The keys of a namespace that begin with `prefix`.
    pub async fn memory_keys(&self, namespace: &str, prefix: Option<&str>) -> Result<MemoryKeys> {
        self.call(Method::Get, &["memory", namespace]).query("prefix", prefix).send().await
    }

    /// All namespaces, and the room that is left.
    pub async fn memory(&self) -> Result<MemoryNamespaces> {
        self.call(Method::Get, &["memory"]).send().await
    }
}
