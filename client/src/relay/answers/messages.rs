//! Answers about messages.

use serde::{Deserialize, Serialize};

/// An accepted message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// True when the client encrypted it.
    pub client_side: bool,
    pub encrypted: bool,
    pub expires_at: String,
    pub from: String,
    pub id: String,
    /// True when the recipient has new keys that its earlier keys did not sign, and this is the sender's first
    /// message since then. Make sure that it is still the agent you know. Otherwise absent.
    #[serde(default)]
    pub key_changed: bool,
    pub timestamp: String,
    pub to: String,
}

/// Raw messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RawReceived {
    pub count: i64,
    pub has_more: bool,
    /// The limit that was applied: the one asked for, at most 100.
    pub limit: i64,
    pub messages: Vec<RawMessage>,
    /// The `since` of the next request, when `has_more`.
    #[serde(default)]
    pub next_since: Option<String>,
}

/// A message as it was accepted, for clients that decrypt it themselves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RawMessage {
    /// Base64.
    pub ciphertext: String,
    #[serde(default)]
    pub content_type: Option<String>,
    /// The envelope text exactly as it was sent, or null.
    #[serde(default)]
    pub envelope: Option<String>,
    pub expires_at: String,
    /// DID of the sender.
    pub from: String,
    pub id: String,
    #[serde(default)]
    pub message_type: Option<String>,
    /// Base64 of 24 bytes.
    pub nonce: String,
    #[serde(default)]
    pub reply_to: Option<String>,
    /// Base64 of the sender's X25519 key when the message was sent.
    pub sender_encryption_key: String,
    /// Base64 of the sender's Ed25519 key when the message was sent.
    pub sender_signing_key: String,
    /// Base64 of an Ed25519 signature (64 bytes) or an HMAC (32).
    pub signature: String,
    #[serde(default)]
    pub thread_id: Option<String>,
    /// ISO 8601, six fractional digits; distinct and increasing within a mailbox.
    pub timestamp: String,
    /// DID of the recipient.
    pub to: String,
}

/// Decrypted messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReceivedMessages {
    pub count: i64,
    pub has_more: bool,
    /// The limit that was applied: the one asked for, at most 100.
    pub limit: i64,
    pub messages: Vec<OpenedMessage>,
    /// The `since` of the next request, when `has_more`.
    #[serde(default)]
    pub next_since: Option<String>,
}

/// A message that the service decrypted, or tried to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenedMessage {
    /// Empty when the service cannot decrypt it.
    pub content: String,
    pub content_type: String,
    /// Whether the service could decrypt it.
    pub decrypted: bool,
    /// The text that `POST /v1/agent/verify` takes.
    #[serde(default)]
    pub envelope: Option<String>,
    pub expires_at: String,
    /// DID of the sender.
    pub from: String,
    pub id: String,
    pub message_type: String,
    #[serde(default)]
    pub reply_to: Option<String>,
    /// Base64.
    pub signature: String,
    /// True when the sender signed the envelope and the envelope describes this very message.
    pub signature_valid: bool,
    #[serde(default)]
    pub thread_id: Option<String>,
    pub timestamp: String,
    /// DID of the recipient.
    pub to: String,
}

/// A message as it was sent; for an agent whose keys the service holds, with what the service decrypted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OneMessage {
    /// Base64.
    pub ciphertext: String,
    /// The text; absent for an agent that keeps its own keys.
    #[serde(default)]
    pub content: Option<String>,
    #[serde(default)]
    pub content_type: Option<String>,
    /// Whether the service could decrypt it; absent for an agent that keeps its own keys.
    #[serde(default)]
    pub decrypted: Option<bool>,
    /// The envelope text exactly as it was sent, or null.
    #[serde(default)]
    pub envelope: Option<String>,
    pub expires_at: String,
    /// DID of the sender.
    pub from: String,
    pub id: String,
    #[serde(default)]
    pub message_type: Option<String>,
    /// Base64 of 24 bytes.
    pub nonce: String,
    /// When it was marked as read; null if it was not.
    #[serde(default)]
    pub read_at: Option<String>,
    #[serde(default)]
    pub reply_to: Option<String>,
    /// Base64 of the sender's X25519 key when the message was sent.
    pub sender_encryption_key: String,
    /// Base64 of the sender's Ed25519 key when the message was sent.
    pub sender_signing_key: String,
    /// Base64 of an Ed25519 signature (64 bytes) or an HMAC (32).
    pub signature: String,
    /// Whether the sender signed the envelope and the envelope describes this very message; absent for an agent
    /// that keeps its own keys.
    #[serde(default)]
    pub signature_valid: Option<bool>,
    #[serde(default)]
    pub thread_id: Option<String>,
    /// ISO 8601, six fractional digits; distinct and increasing within a mailbox.
    pub timestamp: String,
    /// DID of the recipient.
    pub to: String,
}

/// A read mark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageRead {
    /// Whether it was marked before.
    pub already_read: bool,
    pub id: String,
    pub read: bool,
    pub read_at: String,
}

/// The result of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MarkedRead {
    /// The same number as `updated`, under the name that another client reads.
    pub marked: i64,
    pub total_requested: i64,
    /// Messages that were unread before.
    pub updated: i64,
}

/// Unread messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnreadCounts {
    /// At most 1,000 senders, those with the most messages first.
    pub by_sender: Vec<SenderCount>,
    pub unread_count: i64,
}

/// Unread messages of one sender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SenderCount {
    pub count: i64,
    pub from: String,
}

/// A deletion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageDeleted {
    pub deleted: bool,
    pub id: String,
}

/// A message and its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageRouted {
    /// Attempts so far; 0 when the recipient is here.
    pub attempts: i64,
    /// The address of the recipient's relay.
    pub destination: String,
    /// When the delivery ended.
    #[serde(default)]
    pub ended_at: Option<String>,
    pub from: String,
    /// The message's id when the recipient is here; otherwise the id for `GET /v1/relay/route/{id}`.
    pub id: String,
    /// As in the answer of `POST /v1/agent/send`, for a recipient here.
    #[serde(default)]
    pub key_changed: bool,
    /// The last HTTP status that the other relay answered.
    #[serde(default)]
    pub last_status: Option<i64>,
    /// When the next attempt is due; null after the end.
    #[serde(default)]
    pub next_attempt_at: Option<String>,
    /// True when it is in the recipient's mailbox, or on its way there.
    pub routed: bool,
    /// `delivered`, `waiting`, `refused` or `expired`.
    pub status: String,
    /// When the message was accepted, ISO 8601.
    pub timestamp: String,
    pub to: String,
}
