//! A client of the ledger for tests. It makes the canonical form with the JSON library, which sorts members and writes
//! the same escapes, so that a fault of [`super::json`] cannot hide.

use serde_json::{Map, Value, json};

use crate::Timestamp;
use crypto::encoding::{did, did_bytes, encode_base64};
use crypto::{Secret, signing};
use engine::time::MINUTE;

/// An agent that signs.
#[derive(Clone)]
pub struct Signer {
    pub brand: String,
    pub did: String,
    pub seed: Secret<32>,
}

impl Signer {
    /// The signer whose Ed25519 key has this seed.
    pub fn new(brand: &str, seed: Secret<32>) -> Signer {
        let did = did(brand, &did_bytes(&signing::signing_public_key(&seed)));
        Signer { brand: brand.to_owned(), did, seed }
    }

    /// Base64 of the public key.
    pub fn public_key(&self) -> String {
        encode_base64(&signing::signing_public_key(&self.seed))
    }

    /// Base64 of the signature over the canonical form.
    pub fn sign(&self, value: &Value) -> String {
        encode_base64(&signing::sign(&self.seed, without_nulls(value).to_string().as_bytes()))
    }

    /// An envelope of this schema, valid for ten minutes from `at`, with these members.
    pub fn envelope(&self, schema: &str, at: Timestamp, members: Value) -> Value {
        let mut envelope = json!({
            "schema": format!("{}-{schema}/v1", self.brand),
            "issued_at": at.to_millis_text(),
            "expires_at": at.plus(10 * MINUTE).to_millis_text(),
        });
        if let (Value::Object(envelope), Value::Object(members)) = (&mut envelope, members) {
            envelope.extend(members);
        }
        envelope
    }

    /// A body with an envelope and its signature.
    pub fn body(&self, envelope: &Value) -> Value {
        json!({ "envelope": envelope, "signature": self.sign(envelope) })
    }

    /// [`Signer::envelope`] and [`Signer::body`] in one.
    pub fn signed(&self, schema: &str, at: Timestamp, members: Value) -> Value {
        self.body(&self.envelope(schema, at, members))
    }

    /// A body that this admin key signs, with the common members and these.
    pub fn action(&self, keyid: &str, audience: &str, nonce: &str, at: Timestamp, members: Value) -> Value {
        let mut body = json!({
            "schema": format!("{}-pay-admin-action/v1", self.brand),
            "audience": audience,
            "action_nonce": nonce,
            "issued_at": at.to_millis_text(),
            "valid_until_ts": at.plus(5 * MINUTE).to_millis_text(),
        });
        if let (Value::Object(body), Value::Object(members)) = (&mut body, members) {
            body.extend(members);
        }
        json!({ "keyid": keyid, "signature_base64": self.sign(&body), "body": body })
    }
}

/// The value without members that are null.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        Value::Object(members) => {
            let given = members.iter().filter(|(_, value)| !value.is_null());
            Value::Object(given.map(|(name, value)| (name.clone(), without_nulls(value))).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}
