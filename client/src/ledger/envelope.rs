//! Signing: the canonical form, the window of time, the proof of a reader.

use std::time::Duration;

use crypto::encoding::encode_base64;
use crypto::{Secret, json, signing};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::http::call::Call;
use crate::http::{Client, Method};
use crate::relay::Agent;
use crate::{Error, Result, platform};

/// How long an envelope can be settled.
const LIFE: Duration = Duration::from_secs(10 * 60);
/// How long a reader's proof holds.
const READ_LIFE: Duration = Duration::from_secs(50);

/// The bytes that are signed: members sorted, no white space, members that are null left out, whole numbers in digits.
///
/// Errors: [`Error::Usage`] for a number that is not whole, or values that nest too deep.
pub fn canonical(value: &impl Serialize) -> Result<Vec<u8>> {
    canonical_to(value, json::MAX_DEPTH)
}

/// [`canonical`] for values that nest deeper than an envelope.
pub(crate) fn canonical_to(value: &impl Serialize, depth: usize) -> Result<Vec<u8>> {
    let text = serde_json::to_vec(value).map_err(|error| Error::usage(error.to_string()))?;
    let canonical = json::parse(&text, depth).and_then(|value| value.without_nulls().canonical());
    canonical.ok_or_else(|| Error::usage("what is signed must have whole numbers only, and not nest deep"))
}

/// An envelope and its signature: the body of every write.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Signed {
    pub envelope: Value,
    /// Base64 of an Ed25519 signature over the canonical form.
    pub signature: String,
}

/// Signs an envelope as it is.
pub fn sign(seed: &Secret<32>, envelope: Value) -> Result<Signed> {
    let signature = encode_base64(&signing::sign(seed, &canonical(&envelope)?));
    Ok(Signed { envelope, signature })
}

impl Agent {
    /// An envelope of this kind (such as `credit-transfer`) with these members, for this deployment (decision
    /// envelopes-name-deployment), valid for ten minutes from now.
    pub async fn envelope(&self, kind: &str, members: Value) -> Result<Signed> {
        self.envelope_for(kind, members, LIFE).await
    }

    async fn envelope_for(&self, kind: &str, members: Value, life: Duration) -> Result<Signed> {
        let deployment = self.client().deployment().await?;
        let mut envelope = Map::new();
        envelope.insert("schema".to_owned(), format!("{}-{kind}/v1", deployment.brand).into());
        envelope.insert("issued_at".to_owned(), platform::time().into());
        envelope.insert("expires_at".to_owned(), platform::time_in(life).into());
        envelope.insert("aud".to_owned(), deployment.id.into());
        if let Value::Object(members) = members {
            envelope.extend(members.into_iter().filter(|(_, value)| !value.is_null()));
        }
        sign(&self.keys()?.signing, Value::Object(envelope))
    }

    /// Signs an envelope and sends it, again if no answer comes.
    pub(crate) async fn act<T: DeserializeOwned>(&self, path: &[&str], kind: &str, members: Value) -> Result<T> {
        let bytes = self.act_bytes(path, kind, members).await?;
        serde_json::from_slice(&bytes).map_err(|error| Error::Answer(error.to_string()))
    }

    async fn act_bytes(&self, path: &[&str], kind: &str, members: Value) -> Result<Vec<u8>> {
        let signed = self.envelope(kind, members).await?;
        self.client().pay(Method::Post, path).json(&signed).once().bytes().await
    }

    /// Any signed write: `path` is that under `/v1/pay`, such as `escrow/open`, and `kind` the schema without brand and
    /// version. The members of each kind are in `docs/envelopes.md`.
    pub async fn write(&self, path: &str, kind: &str, members: Value) -> Result<Value> {
        self.act(&path.split('/').collect::<Vec<_>>(), kind, members).await
    }

    /// Any read of the ledger as a party, who sees the texts: `path` is that under `/v1/pay`, with its query.
    pub async fn read_as_party(&self, path: &str) -> Result<Value> {
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let call = self.read_pay(&path.split('/').collect::<Vec<_>>()).await?;
        call.raw_query(query).send().await
    }

    /// A read that shows this agent the texts that only parties see.
    pub(crate) async fn read_pay(&self, path: &[&str]) -> Result<Call<'_>> {
        let members = json!({ "did": self.did(), "nonce": platform::unique()? });
        let signed = self.envelope_for("pay-history-read", members, READ_LIFE).await?;
        let text = serde_json::to_vec(&signed).map_err(|error| Error::usage(error.to_string()))?;
        let header = format!("x-{}-proof", self.client().deployment().await?.brand.to_ascii_lowercase());
        Ok(self.client().pay(Method::Get, path).header(&header, encode_base64(&text)))
    }
}

/// A list of the ledger: how many rows, and where it goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// At most so many rows.
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    pub before: Option<String>,
}

impl Page {
    pub(crate) fn add<'a>(&self, call: Call<'a>) -> Call<'a> {
        call.query("limit", self.limit).query("before", self.before.as_deref())
    }
}

impl Client {
    pub(crate) fn read_list(&self, path: &[&str], page: &Page) -> Call<'_> {
        page.add(self.pay(Method::Get, path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_envelopes_have_the_recorded_bytes_hashes_and_signatures() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors/ledger/vectors.json");
        let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let vectors = file["vectors"].as_array().unwrap();
        assert!(vectors.len() >= 5);
        let seeds = [0_u8, 0x20].map(|first| Secret::new(std::array::from_fn(|n| first + n as u8)));
        for vector in vectors {
            let text = |name: &str| vector[name].as_str().unwrap();
            let value: Value = serde_json::from_str(text("input")).unwrap();
            let bytes = canonical(&value).unwrap();
            assert_eq!(String::from_utf8(bytes.clone()).unwrap(), text("canonical"), "{}", text("name"));
            assert_eq!(crypto::encoding::encode_hex(&crypto::hash::sha256(&bytes)), text("hash"));
            let hex = |seed: &Secret<32>| crypto::encoding::encode_hex(&signing::signing_public_key(seed));
            let seed = seeds.iter().find(|seed| hex(seed) == text("signing_public_key")).unwrap();
            assert_eq!(sign(seed, value).unwrap().signature, text("signature"), "{}", text("name"));
        }
    }

    #[test]
    fn a_number_that_is_not_whole_is_not_signed() {
        assert!(canonical(&json!({ "amount_micro": 1.5 })).is_err());
    }
}
