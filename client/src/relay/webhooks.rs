//! Webhooks: addresses that the service tells of messages and events.

use std::fmt;

use crypto::{encoding, hash};
use serde::Deserialize;
use serde_json::json;
use zeroize::Zeroizing;

use super::agent::Agent;
use super::answers::{DeletedWebhook, DeliveryList, Replayed, WebhookList};
use crate::Result;
use crate::http::Method;

/// The secret that signs what a webhook delivers. It is shown once, and by no `Debug`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct WebhookSecret(Zeroizing<String>);

impl WebhookSecret {
    /// A secret that was kept.
    pub fn new(text: String) -> WebhookSecret {
        WebhookSecret(Zeroizing::new(text))
    }

    /// The text, to be kept.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the header `X-<Brand>-Signature` of a delivery fits its body, byte for byte as it came. Compares in
    /// constant time.
    ///
    /// ```
    /// use heliograph_client::relay::webhooks::WebhookSecret;
    ///
    /// assert!(!WebhookSecret::new("whsec_1".to_owned()).verify(b"{}", "sha256=00"));
    /// ```
    pub fn verify(&self, body: &[u8], signature: &str) -> bool {
        let hex = signature.strip_prefix("sha256=");
        let tag = hex.and_then(|hex| encoding::decode_hex_array::<32>("signature", hex).ok());
        tag.is_some_and(|tag| hash::hmac_sha256_verify(self.0.as_bytes(), body, &tag))
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(..)")
    }
}

/// A webhook that was made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NewWebhook {
    pub id: String,
    pub webhook_url: String,
    pub events: Vec<String>,
    pub secret: WebhookSecret,
}

/// A secret in place of the one before.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NewSecret {
    pub id: String,
    pub secret: WebhookSecret,
    /// How long the one before signs too.
    pub previous_valid_until: String,
}

impl Agent {
    /// Makes a webhook for these events; `message` without any.
    pub async fn add_webhook(&self, url: &str, events: &[&str]) -> Result<NewWebhook> {
        let events = if events.is_empty() { &["message"] } else { events };
        self.call(Method::Post, &["webhooks"]).json(&json!({ "webhook_url": url, "events": events })).send().await
    }

    /// The webhooks of this agent.
    pub async fn webhooks(&self) -> Result<WebhookList> {
        self.call(Method::Get, &["webhooks"]).send().await
    }

    /// Removes a webhook.
    pub async fn remove_webhook(&self, id: &str) -> Result<DeletedWebhook> {
        self.call(Method::Delete, &["webhooks", id]).send().await
    }

    /// Replaces the secret of a webhook.
    pub async fn rotate_webhook_secret(&self, id: &str) -> Result<NewSecret> {
        self.call(Method::Post, &["webhooks", id, "rotate-secret"]).json(&json!({})).send().await
    }

    /// The last deliveries of a webhook.
    pub async fn deliveries(&self, webhook: &str) -> Result<DeliveryList> {
        self.call(Method::Get, &["webhooks", webhook, "deliveries"]).send().await
    }

    /// Delivers something again.
    pub async fn replay_delivery(&self, webhook: &str, delivery: &str) -> Result<Replayed> {
        let path = ["webhooks", webhook, "deliveries", delivery, "replay"];
        self.call(Method::Post, &path).json(&json!({})).send().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_is_genuine_only_with_its_whole_body_and_the_exact_form_of_the_signature() {
        let secret = WebhookSecret::new("whsec_abc".to_owned());
        let body = b"{\"event\":\"message\"}";
        let hex = encoding::encode_hex(&hash::hmac_sha256(b"whsec_abc", body));
        assert!(secret.verify(body, &format!("sha256={hex}")));
        for wrong in [hex.clone(), format!("sha256={}", hex.to_uppercase()), format!("sha256={}", &hex[..62])] {
            assert!(!secret.verify(body, &wrong), "{wrong}");
        }
        assert!(!secret.verify(&body[1..], &format!("sha256={hex}")));
        assert!(!WebhookSecret::new("other".to_owned()).verify(body, &format!("sha256={hex}")));
        assert_eq!(format!("{secret:?}"), "WebhookSecret(..)");
    }
}
