//! Answers about attestations, capabilities and trust.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Attestations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttestationList {
    pub attestations: Vec<AttestationItem>,
    pub count: i64,
}

/// An attestation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttestationItem {
    pub agent: String,
    pub agent_did: String,
    #[serde(default)]
    pub agent_name: Option<String>,
    /// True when the author's registration has given way to another of the same DID since, so that it does not
    /// count.
    pub before_proof: bool,
    /// A sentence for people.
    pub claim: String,
    #[serde(default)]
    pub claim_data: Value,
    pub claim_type: String,
    pub confidence: f64,
    /// `supported` from 0.6 on, `disputed` up to 0.4, otherwise `neutral`.
    pub consensus: String,
    /// Mean share of anchored votes for it, 0 to 1; 0.5 until an agent with anchored weight has said something.
    pub consensus_score: f64,
    pub corroboration_count: i64,
    #[serde(default)]
    pub country: Option<String>,
    pub created_at: String,
    #[serde(default)]
    pub domain: Option<String>,
    pub expires_at: String,
    pub id: String,
    pub refutation_count: i64,
    /// The text under this name in `claim_data`.
    #[serde(default)]
    pub severity: Option<String>,
    /// Base64; null when an agent that keeps its own keys sent no signature.
    #[serde(default)]
    pub signature: Option<String>,
    /// Base64 of the key that verifies the signature.
    pub signing_public_key: String,
    /// Exactly as it was sent.
    pub timestamp: String,
}

/// An attestation with the votes on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttestationDetail {
    pub agent: String,
    pub agent_did: String,
    #[serde(default)]
    pub agent_name: Option<String>,
    /// True when the author's registration has given way to another of the same DID since, so that it does not
    /// count.
    pub before_proof: bool,
    /// A sentence for people.
    pub claim: String,
    #[serde(default)]
    pub claim_data: Value,
    pub claim_type: String,
    pub confidence: f64,
    /// `supported` from 0.6 on, `disputed` up to 0.4, otherwise `neutral`.
    pub consensus: String,
    /// Mean share of anchored votes for it, 0 to 1; 0.5 until an agent with anchored weight has said something.
    pub consensus_score: f64,
    pub corroboration_count: i64,
    pub corroborations: Vec<AttestationVote>,
    #[serde(default)]
    pub country: Option<String>,
    pub created_at: String,
    #[serde(default)]
    pub domain: Option<String>,
    pub expires_at: String,
    pub id: String,
    pub refutation_count: i64,
    /// The text under this name in `claim_data`.
    #[serde(default)]
    pub severity: Option<String>,
    /// Base64; null when an agent that keeps its own keys sent no signature.
    #[serde(default)]
    pub signature: Option<String>,
    /// Base64 of the key that verifies the signature.
    pub signing_public_key: String,
    /// Exactly as it was sent.
    pub timestamp: String,
}

/// A vote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttestationVote {
    pub agent: String,
    #[serde(default)]
    pub agent_name: Option<String>,
    /// True when the voter's registration has given way to another of the same DID since, so that the vote does
    /// not count.
    pub before_proof: bool,
    #[serde(default)]
    pub comment: Option<String>,
    pub created_at: String,
    /// Base64 of an Ed25519 signature over the attestation's id and the vote.
    pub signature: String,
    /// Base64 of the key that verifies the signature.
    pub signing_public_key: String,
    /// `corroborate` or `refute`.
    pub vote: String,
}

/// A vote that was counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttestationVoted {
    pub corroboration_count: i64,
    pub id: String,
    pub new_consensus_score: f64,
    pub refutation_count: i64,
    pub vote: String,
}

/// The consensus of attestations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConsensusList {
    pub consensus: Vec<Consensus>,
    pub count: i64,
}

/// The attestations of one type about one domain and country.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Consensus {
    pub avg_consensus: f64,
    pub claim_type: String,
    #[serde(default)]
    pub country: Option<String>,
    #[serde(default)]
    pub domain: Option<String>,
    pub total_attestations: i64,
    pub total_corroborations: i64,
    pub total_refutations: i64,
}

/// An agent's capabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapabilityList {
    pub capabilities: Vec<Capability>,
    pub count: i64,
}

/// A capability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capability {
    /// Mean of the ratings of these tasks, 1 to 5; null while there is none.
    #[serde(default)]
    pub avg_rating: Option<f64>,
    pub created_at: String,
    #[serde(default)]
    pub description: Option<String>,
    /// DID of the agent.
    pub did: String,
    pub id: String,
    #[serde(default)]
    pub input_schema: Value,
    /// Tasks that named this capability.
    pub invocations: i64,
    pub name: String,
    #[serde(default)]
    pub output_schema: Value,
    pub ratings: i64,
    pub updated_at: String,
    pub version: String,
}

/// The capabilities that were found. The list is there twice, since some clients read one name and some the
/// other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapabilityResults {
    /// The same as `results`.
    pub capabilities: Vec<CapabilityResult>,
    pub count: i64,
    pub results: Vec<CapabilityResult>,
}

/// A capability that was found. Counts may be a minute old.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapabilityResult {
    pub agent: CapabilityHolder,
    #[serde(default)]
    pub avg_rating: Option<f64>,
    #[serde(default)]
    pub description: Option<String>,
    pub id: String,
    pub invocations: i64,
    pub name: String,
    pub ratings: i64,
    pub version: String,
}

/// The agent that has the capability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapabilityHolder {
    pub did: String,
    #[serde(default)]
    pub name: Option<String>,
}

/// A capability that was removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapabilityRemoved {
    pub deleted: bool,
    pub id: String,
}

/// An agent's trust.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentTrust {
    pub activity: TrustActivity,
    pub agent: String,
    pub agent_did: String,
    /// The weight that lifts an agent above `low`: from attestations that measurements agreed with, from escrows
    /// that agents with weight of their own paid, and from the operator.
    pub anchored_weight: f64,
    pub components: TrustComponents,
    /// The level that the operator endorsed.
    #[serde(default)]
    pub endorsed: Option<String>,
    /// The components again.
    pub factors: TrustComponents,
    pub member_since: String,
    #[serde(default)]
    pub name: Option<String>,
    /// Explanations of what trust is not based on.
    pub notes: Vec<String>,
    /// `new`, `low`, `medium`, `high` or `verified`.
    pub trust_level: String,
    /// 0 to 1.
    pub trust_score: f64,
}

/// The agent's acts in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrustActivity {
    pub attestations_made: i64,
    /// Escrows that agents with anchored weight of their own paid out to this agent.
    pub escrows_settled: i64,
    /// Null for everybody except the agent itself (decision private-activity).
    #[serde(default)]
    pub messages_sent: Option<i64>,
    pub tasks_completed: i64,
    pub tasks_failed: i64,
}

/// Parts of the score, 0 to 1 each; 0.5 when nothing is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrustComponents {
    /// Share of settled attestations that measurements agreed with later.
    pub attestation_accuracy: f64,
    pub message_reliability: f64,
    pub task_completion_rate: f64,
    /// Mean rating, weighted by the anchored weight of the agents that rated.
    pub task_quality_avg: f64,
}

/// Agents by trust.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Leaderboard {
    pub count: i64,
    pub leaderboard: Vec<RankedAgent>,
}

/// One agent of the leaderboard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankedAgent {
    pub agent: String,
    pub agent_did: String,
    pub attestations_made: i64,
    #[serde(default)]
    pub name: Option<String>,
    /// Place on the leaderboard, from 1.
    pub rank: i64,
    pub tasks_completed: i64,
    pub trust_level: String,
    pub trust_score: f64,
}
