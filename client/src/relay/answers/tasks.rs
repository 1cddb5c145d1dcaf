//! Answers about tasks and broadcasts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskList {
    pub count: i64,
    pub has_more: bool,
    /// `assignee` or `requester`.
    pub role: String,
    pub tasks: Vec<Task>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The broadcast that the task is part of.
    #[serde(default)]
    pub broadcast_id: Option<String>,
    #[serde(default)]
    pub capability: Option<String>,
    /// ISO 8601, six fractional digits.
    pub created_at: String,
    #[serde(default)]
    pub expires_at: Option<String>,
    /// DID of the requester.
    pub from: String,
    /// The same as `from`.
    pub from_did: String,
    pub id: String,
    /// `low`, `normal`, `high` or `urgent`.
    pub priority: String,
    #[serde(default)]
    pub rating: Option<i64>,
    #[serde(default)]
    pub rating_comment: Option<String>,
    /// `pending`, `accepted`, `in_progress`, `completed`, `failed` or `cancelled`.
    pub status: String,
    /// The same as `capability`.
    #[serde(default)]
    pub title: Option<String>,
    /// DID of the assignee.
    pub to: String,
    /// The same as `to`.
    pub to_did: String,
    pub updated_at: String,
}

/// A task with input and output. The plain forms are for agents whose keys the service holds, and null for
/// others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskDetail {
    /// The broadcast that the task is part of.
    #[serde(default)]
    pub broadcast_id: Option<String>,
    #[serde(default)]
    pub capability: Option<String>,
    /// ISO 8601, six fractional digits.
    pub created_at: String,
    #[serde(default)]
    pub encrypted_input: Option<String>,
    #[serde(default)]
    pub encrypted_output: Option<String>,
    #[serde(default)]
    pub expires_at: Option<String>,
    /// DID of the requester.
    pub from: String,
    /// The same as `from`.
    pub from_did: String,
    pub id: String,
    #[serde(default)]
    pub input: Value,
    #[serde(default)]
    pub input_nonce: Option<String>,
    /// Base64 of the X25519 key that the requester had when it made the input.
    #[serde(default)]
    pub input_sender_encryption_key: Option<String>,
    #[serde(default)]
    pub input_signature: Option<String>,
    #[serde(default)]
    pub output: Value,
    #[serde(default)]
    pub output_nonce: Option<String>,
    /// Base64 of the X25519 key that the assignee had when it made the output.
    #[serde(default)]
    pub output_sender_encryption_key: Option<String>,
    /// Ed25519 over the JSON text of the output.
    #[serde(default)]
    pub output_signature: Option<String>,
    /// Whether the assignee signed exactly this output; null when the output is not decrypted here or not signed.
    #[serde(default)]
    pub output_signature_valid: Option<bool>,
    /// `low`, `normal`, `high` or `urgent`.
    pub priority: String,
    #[serde(default)]
    pub rating: Option<i64>,
    #[serde(default)]
    pub rating_comment: Option<String>,
    /// The same as `output`.
    #[serde(default)]
    pub result: Value,
    /// `pending`, `accepted`, `in_progress`, `completed`, `failed` or `cancelled`.
    pub status: String,
    /// The same as `capability`.
    #[serde(default)]
    pub title: Option<String>,
    /// DID of the assignee.
    pub to: String,
    /// The same as `to`.
    pub to_did: String,
    pub updated_at: String,
}

/// A changed task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskUpdated {
    /// The broadcast that the task is part of.
    #[serde(default)]
    pub broadcast_id: Option<String>,
    #[serde(default)]
    pub capability: Option<String>,
    /// ISO 8601, six fractional digits.
    pub created_at: String,
    #[serde(default)]
    pub expires_at: Option<String>,
    /// DID of the requester.
    pub from: String,
    /// The same as `from`.
    pub from_did: String,
    pub id: String,
    /// `low`, `normal`, `high` or `urgent`.
    pub priority: String,
    #[serde(default)]
    pub rating: Option<i64>,
    #[serde(default)]
    pub rating_comment: Option<String>,
    /// `pending`, `accepted`, `in_progress`, `completed`, `failed` or `cancelled`.
    pub status: String,
    /// The same as `capability`.
    #[serde(default)]
    pub title: Option<String>,
    /// DID of the assignee.
    pub to: String,
    /// The same as `to`.
    pub to_did: String,
    pub updated: bool,
    pub updated_at: String,
}

/// A new broadcast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskBroadcasted {
    pub agents_matched: i64,
    pub broadcast_id: String,
    pub capability: String,
    pub priority: String,
    pub tasks: Vec<BroadcastedTask>,
}

/// A task that a broadcast made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BroadcastedTask {
    pub agent_did: String,
    pub task_id: String,
}

/// Broadcasts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BroadcastList {
    pub broadcasts: Vec<Broadcast>,
    pub count: i64,
}

/// A broadcast and its progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Broadcast {
    pub capability: String,
    pub created_at: String,
    pub id: String,
    pub priority: String,
    /// `active`, or `completed` when all tasks are completed, failed or cancelled.
    pub status: String,
    pub tasks_cancelled: i64,
    pub tasks_completed: i64,
    pub tasks_created: i64,
    pub tasks_failed: i64,
}

/// A broadcast with its tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BroadcastDetail {
    pub broadcast: Broadcast,
    pub tasks: Vec<BroadcastTask>,
}

/// A task in a broadcast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BroadcastTask {
    /// DID of the assignee.
    pub agent: String,
    #[serde(default)]
    pub agent_name: Option<String>,
    #[serde(default)]
    pub rating: Option<i64>,
    pub status: String,
    pub task_id: String,
}
