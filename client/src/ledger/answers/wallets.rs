//! Answers about wallets and payments.

use serde::{Deserialize, Serialize};

/// `WalletAnswer` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WalletState {
    pub balance_micro: i64,
    /// This request made the wallet.
    #[serde(default)]
    pub created: Option<bool>,
    pub daily_cap_micro: i64,
    pub did: String,
    pub frozen: bool,
    pub locked_micro: i64,
    pub ok: bool,
    pub per_tx_cap_micro: i64,
    pub schema: String,
    pub wallet: Wallet,
}

/// A wallet, with its members in every spelling that clients read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wallet {
    /// In micro-credits, like all amounts.
    pub balance_credits: i64,
    pub balance_micro: i64,
    pub created_at: String,
    pub daily_cap_credits: i64,
    pub daily_cap_micro: i64,
    pub did: String,
    /// 1 or 0.
    pub frozen: i64,
    pub locked_credits: i64,
    pub locked_micro: i64,
    #[serde(default)]
    pub owner_did: Option<String>,
    pub per_tx_cap_credits: i64,
    pub per_tx_cap_micro: i64,
    /// The sum that left the wallet in the last 24 hours.
    pub spent_24h_micro: i64,
    pub updated_at: String,
}

/// The answer to a settled transfer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transferred {
    pub envelope_hash: String,
    pub ok: bool,
    pub recipient_new_balance_micro: i64,
    pub schema: String,
    pub sender_new_balance_micro: i64,
    pub settled_at: String,
    /// `settled`
    pub status: String,
    /// The row of the transfer, which some clients read.
    pub transfer: Transfer,
    pub transfer_id: String,
}

/// A transfer as a row of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    pub amount_micro: i64,
    /// For a transfer of a batch: the batch that it was signed and settled with. Its nonce is then the id of the
    /// batch.
    #[serde(default)]
    pub batch: Option<BatchPlace>,
    /// Null, like the signature, where a memo is hidden even from readers by id.
    #[serde(default)]
    pub envelope_hash: Option<String>,
    pub expires_at: String,
    pub from_did: String,
    pub id: String,
    pub issued_at: String,
    /// Null in lists unless the reader proved to be a party.
    #[serde(default)]
    pub memo: Option<String>,
    pub nonce: String,
    #[serde(default)]
    pub reason: Option<String>,
    #[serde(default)]
    pub settled_at: Option<String>,
    #[serde(default)]
    pub signature: Option<String>,
    /// `settled` or `failed`
    pub status: String,
    pub submitted_at: String,
    pub to_did: String,
}

/// A place in a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchPlace {
    pub id: String,
    /// From 0.
    pub index: i64,
}

/// The answer to a settled batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchTransferred {
    pub batch_id: String,
    pub envelope_hash: String,
    /// Id of the whole batch, for the audit log.
    pub id: String,
    pub ok: bool,
    pub schema: String,
    pub sender_new_balance_micro: i64,
    pub settled_at: String,
    /// `settled`
    pub status: String,
    pub total_micro: i64,
    /// In the order of the envelope.
    pub transfers: Vec<BatchTransfer>,
}

/// `BatchTransfer` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchTransfer {
    /// From 0.
    pub index: i64,
    pub transfer_id: String,
}

/// `TransferAnswer` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransferState {
    #[serde(default)]
    pub envelope_hash: Option<String>,
    pub ok: bool,
    #[serde(default)]
    pub recipient_new_balance_micro: Option<i64>,
    pub schema: String,
    #[serde(default)]
    pub sender_new_balance_micro: Option<i64>,
    #[serde(default)]
    pub settled_at: Option<String>,
    pub status: String,
    pub transfer: Transfer,
    pub transfer_id: String,
}

/// `HistoryAnswer` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transfers {
    pub did: String,
    /// The `before` of the next page; null at the end.
    #[serde(default)]
    pub next_cursor: Option<String>,
    pub schema: String,
    pub transfers: Vec<Transfer>,
}

/// `StatementAnswer` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    pub did: String,
    pub lines: Vec<StatementLine>,
    /// The `before` of the next page; null at the end.
    #[serde(default)]
    pub next_cursor: Option<String>,
    pub schema: String,
}

/// One change of the wallet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatementLine {
    /// A DID, `admin:<keyid>`, or a word of the system.
    pub actor: String,
    /// Change of the balance; `locked_change_micro` is the change of the money in escrows.
    pub amount_micro: i64,
    pub at: String,
    /// Balance after the change; `locked_micro` is the money in escrows after it.
    pub balance_micro: i64,
    #[serde(default)]
    pub counterparty_did: Option<String>,
    /// The transfer or the escrow.
    #[serde(default)]
    pub id: Option<String>,
    /// `transfer`, `batch`, `faucet`, `grant`, `escrow_open`, `hire`, `escrow_release`, `escrow_refund` or
    /// `escrow_expire`
    pub kind: String,
    pub locked_change_micro: i64,
    pub locked_micro: i64,
    /// Memo, or the reason for the end of an escrow. Null unless the reader proved to be a party.
    #[serde(default)]
    pub memo: Option<String>,
    /// Place of its event in the audit log.
    pub seq: i64,
}

/// `CreditGranted` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Granted {
    pub amount_micro: i64,
    pub claimed_at: String,
    pub did: String,
    pub new_balance_micro: i64,
    pub ok: bool,
    pub schema: String,
}

/// `EscrowOpened` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EscrowOpened {
    pub amount_micro: i64,
    pub deadline_at: String,
    pub envelope_hash: String,
    pub escrow: Escrow,
    pub escrow_id: String,
    pub from_did: String,
    pub ok: bool,
    pub opened_at: String,
    pub schema: String,
    /// In micro-credits.
    pub sender_locked_credits: i64,
    pub sender_new_balance_micro: i64,
    /// `open`
    pub state: String,
    pub to_did: String,
}

/// `EscrowBody` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Escrow {
    pub amount_micro: i64,
    pub deadline_at: String,
    #[serde(default)]
    pub expired_at: Option<String>,
    #[serde(default)]
    pub expires_at: Option<String>,
    pub from_did: String,
    pub id: String,
    #[serde(default)]
    pub issued_at: Option<String>,
    /// Null in lists unless the reader proved to be a party.
    #[serde(default)]
    pub memo: Option<String>,
    pub nonce: String,
    #[serde(default)]
    pub open_envelope_hash: Option<String>,
    /// Null, like every hash and signature over a text, where the text is hidden even from readers by id.
    #[serde(default)]
    pub open_signature: Option<String>,
    pub opened_at: String,
    #[serde(default)]
    pub reason: Option<String>,
    /// The actor that ended it: a DID, `admin:<keyid>` or a word of the system.
    #[serde(default)]
    pub refund_actor: Option<String>,
    #[serde(default)]
    pub refund_signature: Option<String>,
    #[serde(default)]
    pub refunded_at: Option<String>,
    #[serde(default)]
    pub release_signature: Option<String>,
    #[serde(default)]
    pub released_at: Option<String>,
    pub schema_version: i64,
    /// `open`, `released`, `refunded` or `expired`
    pub state: String,
    pub to_did: String,
}

/// `EscrowEnded` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EscrowEnded {
    #[serde(default)]
    pub actor: Option<String>,
    pub escrow: Escrow,
    pub escrow_id: String,
    pub ok: bool,
    #[serde(default)]
    pub recipient_new_balance_micro: Option<i64>,
    #[serde(default)]
    pub refunded_at: Option<String>,
    #[serde(default)]
    pub released_at: Option<String>,
    pub schema: String,
    /// In micro-credits.
    pub sender_locked_credits: i64,
    #[serde(default)]
    pub sender_new_balance_micro: Option<i64>,
    /// `released` or `refunded`
    pub state: String,
}

/// `EscrowAnswer` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EscrowAnswer {
    pub escrow: Escrow,
    pub schema: String,
}

/// `EscrowHistoryAnswer` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Escrows {
    pub did: String,
    pub escrows: Vec<Escrow>,
    /// The `before` of the next page; null at the end.
    #[serde(default)]
    pub next_cursor: Option<String>,
    pub schema: String,
}

/// `LedgerHealth` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerHealth {
    /// First 16 hexadecimal digits of the SHA-256 of each active admin key.
    pub admin_key_fingerprints: Vec<String>,
    pub counts: HealthCounts,
    /// The `audience` of admin actions and, where they name one, of envelopes.
    pub deployment: String,
    /// The same id, under its name in `/health` and `/v1/relay/info`.
    pub deployment_id: String,
    pub faucet_disabled: bool,
    pub generated_at: String,
    pub ok: bool,
    pub schema: String,
    pub schema_version: i64,
    pub storage: Storage,
    pub system_frozen: bool,
}

/// `HealthCounts` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HealthCounts {
    pub active_admin_keys: i64,
    pub transfers_settled_24h: i64,
    pub wallets: i64,
}

/// Storage: natively the data file and its disk, on the edge the ledger's own object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Storage {
    /// Number of the sealed events, from the first on, that were moved out of the ledger's own store; 0 natively.
    pub archived_events: i64,
    /// The bytes that there are, or fewer if the setting `ledger_storage_bytes` allows fewer.
    #[serde(default)]
    pub bytes_limit: Option<i64>,
    #[serde(default)]
    pub bytes_used: Option<i64>,
    /// Whole days until the limit, by the growth of the last days.
    #[serde(default)]
    pub days_left: Option<i64>,
    /// Why `days_left` is null.
    #[serde(default)]
    pub days_unknown: Option<String>,
    /// Number of events in the log.
    pub events: i64,
    /// Number of these, from the first on, that are packed in sealed segments: those older than
    /// `ledger_seal_days`, 30 days by default.
    pub sealed_events: i64,
    /// False from 90 % of the limit on: new wallets and listings are refused, while payments, releases and
    /// refunds work.
    pub takes_new: bool,
}
