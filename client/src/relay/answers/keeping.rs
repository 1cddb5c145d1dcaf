//! Answers about memory, pins, presence, webhooks, exports and figures.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A value that was stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryStored {
    pub created_at: String,
    /// Null for a value without ttl.
    #[serde(default)]
    pub expires_at: Option<String>,
    pub id: String,
    pub key: String,
    pub namespace: String,
    pub size_bytes: i64,
    pub stored: bool,
    pub updated_at: String,
    pub value_type: String,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryValue {
    #[serde(default)]
    pub client_nonce: Option<String>,
    pub created_at: String,
    /// Null for a value without ttl.
    #[serde(default)]
    pub expires_at: Option<String>,
    pub id: String,
    pub key: String,
    pub namespace: String,
    /// Size of the JSON text.
    pub size_bytes: i64,
    pub updated_at: String,
    #[serde(default)]
    pub value: Value,
    /// The type that was given; without one, `string`, `number`, `boolean` or `json`.
    pub value_type: String,
}

/// A value that was deleted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryDeleted {
    pub deleted: bool,
    pub key: String,
    pub namespace: String,
}

/// Keys of a namespace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryKeys {
    pub count: i64,
    pub has_more: bool,
    pub keys: Vec<MemoryKey>,
    pub namespace: String,
    /// Bytes of the whole namespace.
    pub total_bytes: i64,
    /// Keys of the whole namespace.
    pub total_keys: i64,
}

/// One key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryKey {
    pub created_at: String,
    #[serde(default)]
    pub expires_at: Option<String>,
    pub key: String,
    pub size_bytes: i64,
    pub updated_at: String,
    pub value_type: String,
}

/// Namespaces of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryNamespaces {
    /// At most 1000.
    pub namespaces: Vec<MemoryNamespace>,
    pub quota: MemoryQuota,
}

/// One namespace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryNamespace {
    pub key_count: i64,
    pub last_updated: String,
    pub namespace: String,
    pub total_bytes: i64,
}

/// The quota: bytes of the JSON texts of all values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryQuota {
    pub quota_bytes: i64,
    pub remaining_bytes: i64,
    pub used_bytes: i64,
}

/// The state of a pin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PinResponse {
    /// Lower-case hex of SHA-256 of the present signing key.
    pub current_signing_hash: String,
    pub did: String,
    pub first_seen: String,
    /// The peer's keys are not the pinned ones. The pin stays until the caller accepts other keys.
    pub key_changed: bool,
    pub last_verified: String,
    pub pinned: bool,
    /// Lower-case hex of SHA-256 of the pinned signing key.
    pub previous_signing_hash: String,
    /// `verified` or `changed`.
    pub status: String,
    #[serde(default)]
    pub warning: Option<String>,
}

/// Pins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PinList {
    pub pins: Vec<ListedPin>,
    pub total: i64,
}

/// One pin of a list, as of the last look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListedPin {
    pub first_seen: String,
    pub last_verified: String,
    pub pinned_did: String,
    #[serde(default)]
    pub pinned_name: Option<String>,
    pub status: String,
}

/// The comparison of a peer's keys with its pin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PinCheck {
    pub did: String,
    #[serde(default)]
    pub first_seen: Option<String>,
    #[serde(default)]
    pub last_verified: Option<String>,
    pub pinned: bool,
    /// `verified`, `changed` or `not_pinned`.
    pub status: String,
    pub verified: bool,
    #[serde(default)]
    pub warning: Option<String>,
}

/// The answer to a heartbeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pong {
    pub did: String,
    /// Messages sent; those with a sealed sender are not counted.
    pub message_count: i64,
    #[serde(default)]
    pub name: Option<String>,
    pub pong: bool,
    pub server_time: String,
    /// `online`, or `hidden` when the profile has presence switched off.
    pub status: String,
    pub uptime: AgentUptime,
}

/// Time since the registration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentUptime {
    pub days: i64,
    /// The hours beyond the whole days, 0 to 23.
    pub hours: i64,
}

/// The public presence of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Presence {
    pub did: String,
    /// The last heartbeat; null when there was none or presence is switched off.
    #[serde(default)]
    pub last_seen: Option<String>,
    #[serde(default)]
    pub minutes_since_seen: Option<i64>,
    #[serde(default)]
    pub name: Option<String>,
    /// `online` for 5 minutes after a heartbeat, `idle` for 60 minutes, then `offline`.
    pub online_status: String,
    /// Days since the registration.
    pub uptime_days: i64,
}

/// Webhooks of the caller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WebhookList {
    pub count: i64,
    pub webhooks: Vec<Webhook>,
}

/// One webhook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Webhook {
    pub created_at: String,
    #[serde(default)]
    pub disabled_at: Option<String>,
    /// False after the receiver answered 410, or failed 20 attempts in a row over at least a day.
    pub enabled: bool,
    pub events: Vec<String>,
    /// Failed attempts since the last success.
    pub failure_count: i64,
    pub id: String,
    /// Deliveries that wait, at most 10000; further events are not delivered.
    pub pending: i64,
    pub webhook_url: String,
}

/// A deletion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeletedWebhook {
    pub deleted: bool,
    pub id: String,
}

/// Attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeliveryList {
    pub count: i64,
    pub deliveries: Vec<DeliveryAttempt>,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeliveryAttempt {
    pub at: String,
    /// 1 to 6.
    pub attempt: i64,
    pub delivered: bool,
    /// Header `webhook-id`; the same at every attempt of a delivery.
    pub delivery_id: String,
    pub event: String,
    pub latency_ms: i64,
    /// When the next attempt is due; null when there is none.
    #[serde(default)]
    pub next_attempt_at: Option<String>,
    /// The status that the receiver answered; null when it did not answer.
    #[serde(default)]
    pub status_code: Option<i64>,
}

/// A delivery that is sent again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replayed {
    pub delivery_id: String,
    pub replayed: bool,
}

/// Exports, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportList {
    pub count: i64,
    pub exports: Vec<ExportRecord>,
}

/// The record of an export.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportRecord {
    #[serde(default)]
    pub completed_at: Option<String>,
    /// When this record is deleted.
    pub expires_at: String,
    pub export_id: String,
    pub exported_at: String,
    /// The same as `export_id`.
    pub id: String,
    pub included: ExportParts,
    #[serde(default)]
    pub stats: Option<ExportStats>,
    /// `complete`, or `incomplete` for an export that is under way or broke off.
    pub status: String,
}

/// Parts of an export.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportParts {
    pub attestations: bool,
    pub channels: bool,
    pub memory: bool,
    pub messages: bool,
    pub tasks: bool,
    pub trust: bool,
}

/// How many items an export holds; null for a part that was left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportStats {
    #[serde(default)]
    pub attestations: Option<i64>,
    #[serde(default)]
    pub capabilities: Option<i64>,
    /// Channels that the agent created and is a member of.
    #[serde(default)]
    pub channels: Option<i64>,
    #[serde(default)]
    pub memberships: Option<i64>,
    #[serde(default)]
    pub memory_entries: Option<i64>,
    #[serde(default)]
    pub messages: Option<i64>,
    #[serde(default)]
    pub tasks: Option<i64>,
}

/// An agent's own numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Analytics {
    /// The agent's DID.
    pub agent: String,
    pub attestations: AttestationCounts,
    /// ISO 8601.
    pub member_since: String,
    pub messaging: MessageCounts,
    #[serde(default)]
    pub name: Option<String>,
    /// The period that was asked for.
    pub period: String,
    pub reputation: Standing,
    /// Start of the period, ISO 8601; null for `all`.
    #[serde(default)]
    pub since: Option<String>,
    pub tasks: TaskCounts,
}

/// Statements about the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttestationCounts {
    pub corroborations_received: i64,
    pub made: i64,
}

/// Messages and channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageCounts {
    pub channel_posts: i64,
    pub channels_joined: i64,
    /// Messages marked read for the first time.
    pub read: i64,
    /// `read` / `received`, 0 to 1; 0 when nothing was received.
    pub read_rate: f64,
    pub received: i64,
    /// Messages sent under the agent's own name; messages with a sealed sender are not counted.
    pub sent: i64,
}

/// The agent's reputation now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// `new`, `low`, `medium`, `high` or `verified`.
    pub trust_level: String,
    /// 0 to 1.
    pub trust_score: f64,
}

/// Work that agents asked of each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskCounts {
    /// Received tasks that were completed.
    pub completed: i64,
    /// `completed` / `received`, 0 to 1; 0 when nothing was received.
    pub completion_rate: f64,
    /// Tasks asked of other agents.
    pub created: i64,
    /// Tasks asked of this agent.
    pub received: i64,
}

/// Numbers over all agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelayStats {
    pub relay: RelayWords,
    pub stats: RelayTotals,
}

/// Version and cryptography of this relay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelayWords {
    pub encryption: String,
    pub identity: String,
    pub signing: String,
    pub version: String,
}

/// The use of the relay in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelayTotals {
    /// Agents that were seen in the last 24 whole hours or in the present hour.
    pub active_agents_24h: i64,
    /// The most frequent capabilities of active agents; at most 100 names, in lower case.
    pub capabilities: Vec<String>,
    /// Active agents.
    pub total_agents: i64,
    /// Messages ever sent under an agent's own name; messages with a sealed sender are not counted.
    pub total_messages: i64,
}

/// A relay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelayInfo {
    /// The id of this deployment in texts that are signed for it.
    pub deployment_id: String,
    pub federation: Federation,
    pub relay: RelayAbout,
    pub stats: RelayCounts,
}

/// The relay's dealings with other relays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Federation {
    /// Whether the operator has made any other relay a peer. Relays that are no peers are refused.
    pub accepts_peers: bool,
    pub peers: i64,
    pub sync_protocol: String,
}

/// Name, version and features of a relay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelayAbout {
    pub encryption: String,
    pub features: Vec<String>,
    pub identity_format: String,
    pub name: String,
    pub protocol: String,
    /// Base64, Ed25519: the key that operators give each other. Null only in an answer to HEAD before the first
    /// GET.
    #[serde(default)]
    pub public_key: Option<String>,
    pub url: String,
    pub version: String,
}

/// Sums over the agents of this relay, as in `GET /v1/agent/stats`; a minute or two old.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelayCounts {
    /// Active agents.
    pub agents: i64,
    /// Messages ever sent under an agent's own name.
    pub messages: i64,
}

/// Peers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerList {
    pub peers: Vec<PeerInfo>,
    pub total: i64,
}

/// A peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerInfo {
    /// Agents of the peer that are known here.
    pub agents_synced: i64,
    /// Messages in both directions; written once a minute.
    pub messages_routed: i64,
    pub relay_name: String,
    pub relay_url: String,
    /// `new` before any exchange, `active`, or `unreachable` when it did not answer the last time.
    pub status: String,
}
