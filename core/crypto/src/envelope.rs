//! The envelope: a compact JSON text that travels as an opaque string. The sender signs this text.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conversation::prekeys::Used;
use super::{encoding, hash};

/// Longest `pq_ciphertext` that a client reads, in characters.
const PQ_CIPHERTEXT_MAX: usize = 65_536;
/// Longest `dh_ratchet_key` that a client reads, in characters.
const DH_KEY_MAX: usize = 256;

/// An envelope as it is composed. The order of members is part of the signed text, so do not reorder them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Compose<'a> {
    pub from: &'a str,
    pub to: &'a str,
    /// ISO 8601 by the sender's clock.
    pub timestamp: &'a str,
    /// Base64 of 24 bytes.
    pub nonce: &'a str,
    /// [`ciphertext_hash`] of the base64 text.
    pub ciphertext_hash: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratchet_step: Option<u32>,
    /// Only in the first message of a hybrid session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pq_ciphertext: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dh_ratchet_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pn: Option<u32>,
    /// In a session that began from prekeys, which no other client knows (decision one-time-prekeys).
    #[serde(rename = "x3dh", skip_serializing_if = "Option::is_none")]
    pub prekeys: Option<Used>,
}

impl<'a> Compose<'a> {
    /// The envelope of a message without a session.
    pub fn plain(from: &'a str, to: &'a str, timestamp: &'a str, nonce: &'a str, ciphertext_hash: &'a str) -> Self {
        let (ratchet_step, pq_ciphertext, dh_ratchet_key, pn, prekeys) = (None, None, None, None, None);
        Compose {
            from,
            to,
            timestamp,
            nonce,
            ciphertext_hash,
            ratchet_step,
            pq_ciphertext,
            dh_ratchet_key,
            pn,
            prekeys,
        }
    }

    /// The compact text.
    pub fn to_text(&self) -> String {
        // A struct of strings and integers has no way to fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What the sender of a message to another relay signs. It becomes the envelope of the stored message, so that the
/// recipient finds the signature valid.
pub fn routed(from: &str, to: &str, nonce: &str, ciphertext: &str) -> String {
    // DIDs, base64 and hex need no escapes in JSON.
    let hash = ciphertext_hash(ciphertext);
    format!(r#"{{"from":"{from}","to":"{to}","nonce":"{nonce}","ciphertext_hash":"{hash}"}}"#)
}

/// Lower-case hex of SHA-256 over the base64 TEXT of a ciphertext, not over its bytes.
pub fn ciphertext_hash(ciphertext_text: &str) -> String {
    encoding::encode_hex(&hash::sha256(ciphertext_text.as_bytes()))
}

/// The text that a client rebuilds for a message stored without an envelope; `timestamp` is the relay's.
pub fn rebuild(from: &str, to: &str, timestamp: &str, nonce: &str, ciphertext: &str) -> String {
    let hash = ciphertext_hash(ciphertext);
    Compose::plain(from, to, timestamp, nonce, &hash).to_text()
}

/// An envelope as it is read. Every member is optional, and members out of range are ignored, as clients do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Envelope {
    pub from: Option<String>,
    pub to: Option<String>,
    pub timestamp: Option<String>,
    pub nonce: Option<String>,
    pub ciphertext_hash: Option<String>,
    /// 1 and up. Absent or 0 on the wire (`None` here) means a plain box without a session.
    pub ratchet_step: Option<u32>,
    pub pq_ciphertext: Option<String>,
    pub dh_ratchet_key: Option<String>,
    /// The prekeys that the session began from (decision one-time-prekeys).
    pub prekeys: Option<Used>,
}

impl Envelope {
    /// Reads a text. A text that is not a JSON object gives an envelope without members.
    pub fn parse(text: &str) -> Envelope {
        let Ok(Value::Object(members)) = serde_json::from_str::<Value>(text) else { return Envelope::default() };
        let string = |name: &str, max: usize| {
            members.get(name).and_then(Value::as_str).filter(|text| text.chars().count() <= max).map(str::to_owned)
        };
        Envelope {
            from: string("from", usize::MAX),
            to: string("to", usize::MAX),
            timestamp: string("timestamp", usize::MAX),
            nonce: string("nonce", usize::MAX),
            ciphertext_hash: string("ciphertext_hash", usize::MAX),
            ratchet_step: members.get("ratchet_step").and_then(integer_u32).filter(|step| *step > 0),
            pq_ciphertext: string("pq_ciphertext", PQ_CIPHERTEXT_MAX).filter(|text| !text.is_empty()),
            dh_ratchet_key: string("dh_ratchet_key", DH_KEY_MAX).filter(|text| !text.is_empty()),
            prekeys: members.get("x3dh").and_then(|used| Used::deserialize(used).ok()),
        }
    }

    /// True if the envelope belongs to exactly this message. Otherwise a signature over the envelope proves nothing
    /// about the ciphertext.
    pub fn is_bound_to(&self, from: &str, to: &str, nonce: &str, ciphertext: &str) -> bool {
        self.from.as_deref() == Some(from)
            && self.to.as_deref() == Some(to)
            && self.nonce.as_deref() == Some(nonce)
            && self.ciphertext_hash.as_deref() == Some(&ciphertext_hash(ciphertext))
    }
}

/// A JSON number that JavaScript takes for an integer from 0 to 2^32-1, which includes `1.0`.
fn integer_u32(value: &Value) -> Option<u32> {
    if let Some(value) = value.as_u64() {
        return u32::try_from(value).ok();
    }
    let float = value.as_f64()?;
    let whole = float.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&float);
    // In range and whole, so the conversion is exact.
    whole.then_some(float as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stand_in_the_signed_order() {
        let full = Compose {
            from: "did:svc:a",
            to: "did:svc:b",
            timestamp: "2026-01-02T03:04:05.678Z",
            nonce: "n",
            ciphertext_hash: "h",
            ratchet_step: Some(1),
            pq_ciphertext: Some("p"),
            dh_ratchet_key: Some("d"),
            pn: Some(0),
            prekeys: None,
        };
        assert_eq!(
            full.to_text(),
            r#"{"from":"did:svc:a","to":"did:svc:b","timestamp":"2026-01-02T03:04:05.678Z","nonce":"n","ciphertext_hash":"h","ratchet_step":1,"pq_ciphertext":"p","dh_ratchet_key":"d","pn":0}"#
        );
        assert_eq!(
            rebuild("a", "b", "t", "n", ""),
            r#"{"from":"a","to":"b","timestamp":"t","nonce":"n","ciphertext_hash":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}"#
        );
    }

    #[test]
    fn members_out_of_range_are_ignored() {
        let step = |text: &str| Envelope::parse(&format!("{{\"ratchet_step\":{text}}}")).ratchet_step;
        assert_eq!(step("1"), Some(1));
        assert_eq!(step("1.0"), Some(1));
        assert_eq!(step("4294967295"), Some(u32::MAX));
        for ignored in ["0", "-1", "4294967296", "1.5", "1e300", "\"1\"", "null", "[1]"] {
            assert_eq!(step(ignored), None, "{ignored}");
        }
        let long = "k".repeat(257);
        assert_eq!(Envelope::parse(&format!("{{\"dh_ratchet_key\":\"{long}\"}}")).dh_ratchet_key, None);
        for junk in ["", "null", "[]", "{", "\"x\""] {
            assert_eq!(Envelope::parse(junk), Envelope::default());
        }
    }

    #[test]
    fn an_envelope_of_another_message_is_not_bound() {
        let text = rebuild("a", "b", "t", "n", "c");
        let envelope = Envelope::parse(&text);
        assert!(envelope.is_bound_to("a", "b", "n", "c"));
        assert!(!envelope.is_bound_to("x", "b", "n", "c"));
        assert!(!envelope.is_bound_to("a", "x", "n", "c"));
        assert!(!envelope.is_bound_to("a", "b", "x", "c"));
        assert!(!envelope.is_bound_to("a", "b", "n", "x"));
        assert!(!Envelope::default().is_bound_to("a", "b", "n", "c"));
    }

    #[test]
    fn the_text_an_agent_signs_has_four_members_in_this_order() {
        assert_eq!(
            routed("did:svc:a", "did:svc:b", "bm9uY2U=", ""),
            r#"{"from":"did:svc:a","to":"did:svc:b","nonce":"bm9uY2U=","ciphertext_hash":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}"#
        );
    }
}
