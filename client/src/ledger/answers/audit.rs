//! Answers from the audit log.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A signed tree head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogHead {
    pub deployment: String,
    /// Base64, Ed25519: the deployment's own key, that of /v1/relay/info.
    pub key: String,
    /// Merkle tree hash of RFC 9162, hexadecimal.
    pub root: String,
    pub schema: String,
    /// Base64, Ed25519 over the canonical form of the members above it, without `key`.
    pub signature: String,
    /// Number of events.
    pub size: i64,
    pub time: String,
}

/// `EventProof` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventProof {
    #[serde(default)]
    pub event: Value,
    pub leaf: String,
    /// Hexadecimal, from the leaf to the root (RFC 9162, 2.1.3).
    pub path: Vec<String>,
    pub schema: String,
    pub seq: i64,
    pub size: i64,
    /// Only for the operator, and for a reader that proves to be a party.
    #[serde(default)]
    pub texts: Option<Vec<LedgerText>>,
}

/// A text that the log shows as a hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerText {
    /// Its place in `signed.form`: names and places in lists, with `/` between them. `../hash` and `../signature`
    /// are beside it.
    pub path: String,
    /// 32 bytes in hexadecimal. The log has the SHA-256 of these bytes and the text.
    pub salt: String,
    pub text: String,
}

/// `Consistency` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Consistency {
    pub from: i64,
    /// Hexadecimal (RFC 9162, 2.1.4).
    pub path: Vec<String>,
    pub schema: String,
    pub to: i64,
}

/// `LogPage` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogPage {
    pub events: Vec<LogEntry>,
    /// The `from` of the next page; null at the end.
    #[serde(default)]
    pub next: Option<i64>,
    pub schema: String,
    /// Number of events in the whole log.
    pub size: i64,
}

/// An event of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    /// The rows that existing readers of audit logs look for: new wallets and new credit.
    #[serde(default)]
    pub audit: Vec<AuditRow>,
    /// `seq`, `time`, `kind`, `actor`, `changes` by DID, and, where there are, `id`, `reason`, `signed`,
    /// `details`.
    #[serde(default)]
    pub event: Value,
    /// Hexadecimal: SHA-256 of a zero byte and the canonical form of `event`.
    pub leaf: String,
    /// Only for the operator.
    #[serde(default)]
    pub texts: Option<Vec<LedgerText>>,
}

/// A part of an event, in the words that clients read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditRow {
    /// `create_wallet` or `credit_grant`.
    pub action: String,
    /// `system:create`, `system:auto_create_on_receive`, `system:faucet` or `admin:<keyid>`.
    pub actor: String,
    /// The DID of the wallet.
    pub did: String,
}

/// `BalanceList` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BalanceList {
    /// The `after` of the next page; null at the end.
    #[serde(default)]
    pub next: Option<String>,
    pub schema: String,
    /// Number of events that led to these balances.
    pub size: i64,
    pub wallets: Vec<WalletBalance>,
}

/// `WalletBalance` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WalletBalance {
    pub balance_micro: i64,
    pub did: String,
    pub locked_micro: i64,
}
