//! Signed statements, and votes on them.

use crypto::encoding::{decode_base64, decode_base64_array, encode_base64};
use crypto::signing;
use serde_json::{Map, Value, json};

use super::agent::Agent;
use super::answers::{AttestationDetail, AttestationItem, AttestationList, AttestationVoted, ConsensusList};
use crate::http::{Client, Method};
use crate::{Result, platform};

/// A statement to be made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Claim {
    /// Such as `domain-blocked` or `service-accessible`.
    pub claim_type: String,
    pub claim_data: Map<String, Value>,
    /// Two capital letters.
    pub country: Option<String>,
    pub domain: Option<String>,
    /// 0 to 1; 1 without it.
    pub confidence: Option<f64>,
    /// Seconds.
    pub expires_in: Option<u32>,
}

/// Which statements are asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClaimFilter {
    pub country: Option<String>,
    pub domain: Option<String>,
    pub claim_type: Option<String>,
    /// The DID of the author.
    pub agent: Option<String>,
    /// 0 to 1.
    pub min_consensus: Option<f64>,
    pub since: Option<String>,
    pub limit: Option<u32>,
}

/// The text that the author of a statement signs.
fn signed_text(claim_type: &str, data: &Value, timestamp: &str) -> String {
    format!("{claim_type}{data}{timestamp}")
}

/// Whether the statement was signed by the key that is given with it, as it is shown. Compare the key with one that you
/// trust.
pub fn is_signed(item: &AttestationItem) -> bool {
    let read = || {
        let key = decode_base64_array("signing_public_key", &item.signing_public_key).ok()?;
        Some((key, decode_base64("signature", item.signature.as_deref()?).ok()?))
    };
    let text = signed_text(&item.claim_type, &item.claim_data, &item.timestamp);
    read().is_some_and(|(key, signature)| signing::verify(&key, text.as_bytes(), &signature))
}

impl Client {
    /// Statements, newest first.
    pub async fn attestations(&self, filter: &ClaimFilter) -> Result<AttestationList> {
        let call = self.agent(Method::Get, &["attestations"]);
        let call = call.query("country", filter.country.as_deref()).query("domain", filter.domain.as_deref());
        let call = call.query("type", filter.claim_type.as_deref()).query("agent", filter.agent.as_deref());
        let call = call.query("min_consensus", filter.min_consensus).query("since", filter.since.as_deref());
        call.query("limit", filter.limit).send().await
    }

    /// One statement with its votes.
    pub async fn attestation(&self, id: &str) -> Result<AttestationDetail> {
        self.agent(Method::Get, &["attestations", id]).send().await
    }

    /// How far agents agree about a country, a domain or a kind of statement.
    pub async fn consensus(
        &self,
        country: Option<&str>,
        domain: Option<&str>,
        claim_type: Option<&str>,
    ) -> Result<ConsensusList> {
        let call = self.agent(Method::Get, &["attestations", "consensus"]);
        call.query("country", country).query("domain", domain).query("type", claim_type).send().await
    }
}

impl Agent {
    /// Makes a statement, signed here if the agent holds its keys.
    pub async fn attest(&self, claim: &Claim) -> Result<AttestationDetail> {
        let data = Value::Object(claim.claim_data.clone());
        let timestamp = platform::time();
        let mut body = json!({
            "claim_type": claim.claim_type,
            "claim_data": data,
            "timestamp": timestamp,
            "country": claim.country,
            "domain": claim.domain,
            "confidence": claim.confidence,
            "expires_in": claim.expires_in,
        });
        if self.holds_keys() {
            let text = signed_text(&claim.claim_type, &data, &timestamp);
            body["signature"] = encode_base64(&signing::sign(&self.keys()?.signing, text.as_bytes())).into();
        }
        self.call(Method::Post, &["attestations"]).json(&body).send().await
    }

    /// Votes on the statement of another agent: for it, or against it.
    pub async fn vote(&self, id: &str, corroborate: bool, comment: Option<&str>) -> Result<AttestationVoted> {
        let vote = if corroborate { "corroborate" } else { "refute" };
        let mut body = json!({ "vote": vote, "comment": comment });
        if self.holds_keys() {
            let signature = signing::sign(&self.keys()?.signing, format!("{id}{vote}").as_bytes());
            body["signature"] = encode_base64(&signature).into();
        }
        self.call(Method::Post, &["attestations", id, "corroborate"]).json(&body).send().await
    }
}
