//! The messages between relays, and the texts that they sign.
//!
//! A relay signs, with Ed25519, the six lines
//!
//! ```text
//! <brand>-relay-deliver/v1
//! POST
//! /v1/relay/deliver
//! <lower-case hex of SHA-256 of the body>
//! <timestamp>
//! <delivery id>
//! ```
//!
//! without a line feed at the end, and sends key, timestamp, delivery id and signature in the headers below. The id of
//! a delivery is derived from its body, so an id can never belong to two bodies, and nothing must be remembered for
//! that.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::agent::send::{MAX_LABEL, MAX_TTL};
use crypto::encoding::{BASE64_PATTERN, DID_PATTERN, base64_pattern, encode_base64, encode_hex};
use crypto::{Secret, hash, signing};

/// The path of deliveries.
pub const PATH: &str = "/v1/relay/deliver";
/// Base64 of the public key of the relay that delivers.
pub const KEY: &str = "x-relay-key";
/// ISO 8601.
pub const TIMESTAMP: &str = "x-relay-timestamp";
pub const DELIVERY: &str = "x-relay-delivery";
/// Base64.
pub const SIGNATURE: &str = "x-relay-signature";

/// The id of a delivery: the first 12 bytes of SHA-256 of its body.
pub type DeliveryId = [u8; 12];

/// A message of one agent for another, between their relays.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DeliverRequest {
    /// DID of the sender, an agent of the relay that delivers.
    #[schemars(regex(pattern = DID_PATTERN))]
    pub from: String,
    /// DID of the recipient, an agent of the relay that gets the delivery.
    #[schemars(regex(pattern = DID_PATTERN))]
    pub to: String,
    /// Base64.
    #[schemars(length(min = 1), regex(pattern = BASE64_PATTERN))]
    pub ciphertext: String,
    /// Base64 of 24 bytes.
    #[schemars(regex(pattern = base64_pattern(24)))]
    pub nonce: String,
    /// Base64, Ed25519 of the sender over `{"from","to","nonce","ciphertext_hash"}`.
    #[schemars(regex(pattern = base64_pattern(64)))]
    pub signature: String,
    /// Base64; its first 16 bytes give `from`.
    #[schemars(regex(pattern = base64_pattern(32)))]
    pub sender_signing_key: String,
    /// Base64, X25519.
    #[schemars(regex(pattern = base64_pattern(32)))]
    pub sender_encryption_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_LABEL))]
    pub content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_LABEL))]
    pub message_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_LABEL))]
    pub thread_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_LABEL))]
    pub reply_to: Option<String>,
    /// Seconds, 1 to 604800; 86400 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_TTL))]
    pub ttl: Option<i64>,
}

/// The id of the delivery with this body.
pub fn delivery_id(body: &[u8]) -> DeliveryId {
    let mut id = DeliveryId::default();
    id.iter_mut().zip(hash::sha256(body)).for_each(|(to, from)| *to = from);
    id
}

/// The text of a delivery's id: 16 characters.
pub fn delivery_text(id: &DeliveryId) -> String {
    URL_SAFE_NO_PAD.encode(id)
}

/// The text that a relay signs.
pub fn signed_text(brand: &str, body: &[u8], timestamp: &str, delivery: &str) -> String {
    let hash = encode_hex(&hash::sha256(body));
    format!("{brand}-relay-deliver/v1\nPOST\n{PATH}\n{hash}\n{timestamp}\n{delivery}")
}

/// The headers of a delivery of `body`.
pub fn headers(brand: &str, key: &Secret<32>, body: &[u8], now: Timestamp) -> Vec<(String, String)> {
    let (timestamp, delivery) = (now.to_millis_text(), delivery_text(&delivery_id(body)));
    let signature = signing::sign(key, signed_text(brand, body, &timestamp, &delivery).as_bytes());
    let public = signing::signing_public_key(key);
    vec![
        ("content-type".to_owned(), "application/json".to_owned()),
        (KEY.to_owned(), encode_base64(&public)),
        (TIMESTAMP.to_owned(), timestamp),
        (DELIVERY.to_owned(), delivery),
        (SIGNATURE.to_owned(), encode_base64(&signature)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact bytes are pinned, since other implementations sign them too (docs/federation.md).
    #[test]
    fn the_signed_text_of_a_delivery_is_pinned() {
        let id = delivery_text(&delivery_id(b"{}"));
        assert_eq!(id, "RBNvo1WzZ4oRRq0W");
        assert_eq!(
            signed_text("svc", b"{}", "2026-01-01T00:00:00.000Z", &id),
            "svc-relay-deliver/v1\nPOST\n/v1/relay/deliver\n\
             44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\n2026-01-01T00:00:00.000Z\nRBNvo1WzZ4oRRq0W"
        );
    }
}
