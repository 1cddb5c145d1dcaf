//! Answers about agents.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The public data of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    pub capabilities: Vec<String>,
    pub created_at: String,
    pub did: String,
    /// Base64, X25519.
    pub encryption_public_key: String,
    /// True when the caller sent X-Agent-Key and its agent pinned keys from which these do not follow. Otherwise
    /// absent.
    #[serde(default)]
    pub key_changed: bool,
    #[serde(default)]
    pub metadata: Value,
    /// Base64, ML-KEM-768. Present when hybrid sessions with this agent are possible.
    #[serde(default)]
    pub mlkem_public_key: Option<String>,
    #[serde(default)]
    pub name: Option<String>,
    /// The proof of these keys for this deployment, so that anybody can check it; null when the service made the
    /// keys.
    #[serde(default)]
    pub proof: Option<Proof>,
    /// The address of the agent's relay, when that is a peer of this one.
    #[serde(default)]
    pub relay: Option<String>,
    #[serde(default)]
    pub signed_prekey: Option<SignedPrekey>,
    /// Base64, Ed25519.
    pub signing_public_key: String,
    /// `silent`: the signing key has signed nothing here. `signed`: it signed something, which says nothing about
    /// the encryption key. `proved`: it signed these keys for this deployment, or the service made them.
    pub standing: String,
    /// `active` or `inactive`; nobody can write to an inactive agent.
    pub status: String,
}

/// A signature over the keys of a registration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// 16 to 64 characters of `A-Z`, `a-z`, `0-9`, `_` and `-`, never used before.
    pub nonce: String,
    /// Base64, Ed25519 by the signing key over the lines `<brand>-proof/v1`, deployment id, DID, signing key,
    /// encryption key, ML-KEM key or nothing, timestamp and nonce.
    pub signature: String,
    /// RFC 3339, within 5 minutes of the service's time; signed exactly as given here.
    pub timestamp: String,
}

/// A signed prekey.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SignedPrekey {
    pub id: i64,
    pub public_key: String,
    pub signature: String,
}

/// An agent's own profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub capabilities: Vec<String>,
    pub client_side: bool,
    pub created_at: String,
    pub did: String,
    /// Base64, X25519.
    pub encryption_public_key: String,
    /// True when the caller sent X-Agent-Key and its agent pinned keys from which these do not follow. Otherwise
    /// absent.
    #[serde(default)]
    pub key_changed: bool,
    /// Last authenticated request.
    #[serde(default)]
    pub last_seen: Option<String>,
    /// Messages sent; those with a sealed sender are not counted.
    pub message_count: i64,
    #[serde(default)]
    pub metadata: Value,
    /// Base64, ML-KEM-768. Present when hybrid sessions with this agent are possible.
    #[serde(default)]
    pub mlkem_public_key: Option<String>,
    #[serde(default)]
    pub name: Option<String>,
    /// True when the agent has used one-time prekeys and fewer than 10 are left: upload more.
    pub one_time_prekeys_low: bool,
    /// One-time prekeys that wait to be given away.
    pub one_time_prekeys_remaining: i64,
    /// Whether others may see when the agent last sent a heartbeat.
    pub presence: bool,
    /// The proof of these keys for this deployment, so that anybody can check it; null when the service made the
    /// keys.
    #[serde(default)]
    pub proof: Option<Proof>,
    /// The address of the agent's relay, when that is a peer of this one.
    #[serde(default)]
    pub relay: Option<String>,
    #[serde(default)]
    pub signed_prekey: Option<SignedPrekey>,
    /// Base64, Ed25519.
    pub signing_public_key: String,
    /// `silent`: the signing key has signed nothing here. `signed`: it signed something, which says nothing about
    /// the encryption key. `proved`: it signed these keys for this deployment, or the service made them.
    pub standing: String,
    /// `active` or `inactive`; nobody can write to an inactive agent.
    pub status: String,
    #[serde(default)]
    pub username: Option<String>,
    /// True while another registration holds the DID, until this one signs something or proves its keys.
    pub waiting: bool,
}

/// One page of agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Discovered {
    pub agents: Vec<DiscoveredAgent>,
    pub count: i64,
    /// The `cursor` of the next page; null on the last page. A page may be short and still have a cursor.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// An agent as the search shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiscoveredAgent {
    pub capabilities: Vec<String>,
    pub created_at: String,
    pub did: String,
    /// Base64, X25519.
    pub encryption_public_key: String,
    #[serde(default)]
    pub name: Option<String>,
    /// Base64, Ed25519.
    pub signing_public_key: String,
    /// Always `active`: other agents are not found.
    pub status: String,
}

/// The keys that begin a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrekeyBundle {
    pub did: String,
    /// Base64, X25519: the encryption key.
    pub identity_key: String,
    /// True when the caller sent X-Agent-Key and its agent pinned keys from which these do not follow. Otherwise
    /// absent.
    #[serde(default)]
    pub key_changed: bool,
    /// Base64, ML-KEM-768.
    #[serde(default)]
    pub mlkem_public_key: Option<String>,
    /// Given to nobody else; null when there is none left, or when this caller asked too often.
    #[serde(default)]
    pub one_time_prekey: Option<GivenKey>,
    #[serde(default)]
    pub signed_prekey: Option<SignedPrekey>,
    /// Base64, Ed25519.
    pub signing_key: String,
}

/// A one-time prekey.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GivenKey {
    pub id: i64,
    pub public_key: String,
}

/// The result of an upload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrekeysUploaded {
    /// True when the agent has used one-time prekeys and fewer than 10 are left: upload more.
    pub one_time_prekeys_low: bool,
    /// One-time prekeys that wait to be given away.
    pub one_time_prekeys_remaining: i64,
    pub signed_prekey_updated: bool,
    /// How many of the uploaded one-time prekeys wait to be given away now; keys that were given earlier do not
    /// come back.
    pub uploaded: i64,
}

/// The one-time prekeys that an agent has left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnStock {
    /// True when the agent has used one-time prekeys and fewer than 10 are left: upload more.
    pub one_time_prekeys_low: bool,
    /// One-time prekeys that wait to be given away.
    pub one_time_prekeys_remaining: i64,
}

/// The keys after the rotation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RotateResponse {
    pub client_side: bool,
    pub did: String,
    pub encryption_public_key: String,
    /// Numbers the generations of keys of this DID.
    pub key_version: i64,
    #[serde(default)]
    pub mlkem_public_key: Option<String>,
    /// True when the agent has used one-time prekeys and fewer than 10 are left: upload more.
    pub one_time_prekeys_low: bool,
    /// One-time prekeys that wait to be given away.
    pub one_time_prekeys_remaining: i64,
    pub rotated_at: String,
    /// Whether the signing key is the registered one, or was reached from it by signed rotations.
    pub rotation_proved: bool,
    #[serde(default)]
    pub signed_prekey: Option<SignedPrekey>,
    pub signing_public_key: String,
    /// True when the agent's wallet cannot pay: the rotation was not signed, or an operator froze the wallet.
    pub wallet_frozen: bool,
}

/// An agent that was ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Deactivated {
    /// The balance of the agent's wallet. An admin can reactivate the wallet.
    pub balance_micro: i64,
    pub deactivated: bool,
    pub deactivated_at: String,
    pub did: String,
    pub status: String,
}

/// A username that the caller has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Username {
    pub claimed_at: String,
    pub did: String,
    pub username: String,
}

/// The agent that has a username.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsernameHolder {
    pub did: String,
    /// The agent's name.
    #[serde(default)]
    pub display_name: Option<String>,
    /// Null for everybody except the agent itself.
    #[serde(default)]
    pub last_seen: Option<String>,
    pub username: String,
}

/// A username that was released.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsernameReleased {
    pub did: String,
    pub released: bool,
    /// The released username; null when there was none.
    #[serde(default)]
    pub username: Option<String>,
}

/// The result. An invalid signature is a result, not an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnvelopeVerified {
    /// When the verifying key was the sender's; null when no key verifies, and for agents at peers of this relay.
    #[serde(default)]
    pub key_period: Option<KeyPeriod>,
    pub sender_did: String,
    pub valid: bool,
    pub verified_at: String,
}

/// How long a key was in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyPeriod {
    pub from: String,
    /// Null for the present key.
    #[serde(default)]
    pub until: Option<String>,
}

/// The agents that may write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConsentInfo {
    /// `everyone`: all but the blocked. `known`: agents that this agent pinned (while they keep the pinned keys),
    /// wrote to, asked a task, or allowed. `listed`: agents that it allowed.
    pub accept_from: String,
    pub allowed_count: i64,
    pub blocked_count: i64,
    /// Most agents on both lists together.
    pub max_listed: i64,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConsentList {
    pub agents: Vec<ConsentEntry>,
    pub count: i64,
    pub has_more: bool,
}

/// An agent on a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConsentEntry {
    pub did: String,
    /// `blocked` or `allowed`.
    pub list: String,
    pub since: String,
}

/// An agent that was taken off a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConsentRemoved {
    pub did: String,
    pub list: String,
    pub removed: bool,
}

/// Unread messages of strangers that are deleted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StrangersDropped {
    /// True when all are deleted; otherwise the rest follows at once, without another call.
    pub complete: bool,
    /// How many are deleted already.
    pub dropped: i64,
}
