//! Answers about claims in words. Parts that are meant for people stay JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `ClaimBody` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimVerdict {
    #[serde(default)]
    pub citation: Option<String>,
    pub claim: String,
    /// How sure the verdict is, 0 to 1; 0 without data.
    pub confidence: f64,
    /// The data decide the opposite of the claim.
    pub contradicted: bool,
    /// The verdict on the rest of the claim, where something is unchecked and nothing is contradicted.
    #[serde(default)]
    pub core: Option<ClaimCore>,
    #[serde(default)]
    pub evidence: Option<Vec<ClaimEvidence>>,
    pub generated_at: String,
    pub incidents: Vec<ClaimIncident>,
    pub license: String,
    #[serde(default)]
    pub parsed: Value,
    /// One sentence.
    pub reason: String,
    #[serde(default)]
    pub sentences: Value,
    pub topics: Vec<ClaimTopic>,
    /// What of the claim nobody checked, in its words: with any, `verdict` is `unconfirmed` at best.
    pub unchecked: Vec<String>,
    pub verdict: String,
}

/// The verdict on what was checked of a claim, where something of it was not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimCore {
    /// How sure that verdict is, 0 to 1; 0 without data.
    pub confidence: f64,
    pub verdict: String,
}

/// `ClaimEvidence` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimEvidence {
    /// What this row says.
    pub claim: String,
    pub confidence: f64,
    pub kind: String,
    #[serde(rename = "observedAt")]
    pub observed_at: String,
    #[serde(default)]
    pub permalink: Option<String>,
    #[serde(default)]
    pub sentences: Value,
    pub source: String,
}

/// An incident that bears on the claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimIncident {
    pub confidence: f64,
    /// Nobody said when it ended: it is known to have gone on until `lastConfirmedAt`.
    #[serde(rename = "endUnknown")]
    pub end_unknown: bool,
    pub id: String,
    #[serde(rename = "lastConfirmedAt", default)]
    pub last_confirmed_at: Option<String>,
    pub permalink: String,
    /// The code of `title`, unless an operator wrote it.
    #[serde(default)]
    pub sentences: Value,
    pub severity: String,
    #[serde(rename = "startTime")]
    pub start_time: String,
    /// It was there when it was first measured: it began before `startTime`.
    #[serde(rename = "startUnknown")]
    pub start_unknown: bool,
    pub status: String,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
}

/// What the data say to one of several topics, countries and statements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimTopic {
    pub confidence: f64,
    pub contradicted: bool,
    pub country_code: String,
    /// The statement is that it is not, or no longer, so.
    pub negated: bool,
    /// The network that was looked at, when the statement is about one.
    #[serde(default)]
    pub network: Option<ClaimNetwork>,
    pub reason: String,
    #[serde(default)]
    pub sentences: Value,
    pub service: String,
    pub verdict: String,
}

/// A network as the claim names it, with what measurements know of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimNetwork {
    /// `None` when only a name is known.
    #[serde(default)]
    pub asn: Option<i64>,
    #[serde(default)]
    pub name: Option<String>,
}
