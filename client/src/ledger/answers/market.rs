//! Answers about the market and receipts of work.

use serde::{Deserialize, Serialize};

/// `ListingMade` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListingMade {
    pub capability: Listing,
    pub capability_id: String,
    /// False when a listing of this slug was changed.
    pub created: bool,
    pub envelope_hash: String,
    pub ok: bool,
    pub schema: String,
}

/// `ListingBody` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    /// 1 or 0.
    pub active: i64,
    /// The slug.
    pub capability: String,
    pub description: String,
    /// The provider.
    pub did: String,
    pub id: String,
    #[serde(default)]
    pub input_schema: Option<String>,
    pub listed_at: String,
    pub name: String,
    #[serde(default)]
    pub output_schema: Option<String>,
    pub price_per_call_micro: i64,
    pub provider_did: String,
    /// The mean rating; null when nobody rated.
    #[serde(default)]
    pub rating_avg: Option<f64>,
    pub rating_count: i64,
    pub rating_sum: i64,
    pub sla_deadline_hours: i64,
    /// JSON text of a list.
    #[serde(default)]
    pub tags_json: Option<String>,
    pub total_completed: i64,
    pub total_disputed: i64,
    pub total_hires: i64,
    pub unit: String,
    pub updated_at: String,
}

/// `ListingAnswer` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListingAnswer {
    pub capability: Listing,
    pub schema: String,
}

/// `ListingsAnswer` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Listings {
    pub capabilities: Vec<Listing>,
    pub did: String,
    /// The `before` of the next page; null at the end.
    #[serde(default)]
    pub next_cursor: Option<String>,
    pub schema: String,
}

/// `SearchAnswer` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    pub capabilities: Vec<Listing>,
    /// The `before` of the next page; null at the end.
    #[serde(default)]
    pub next_cursor: Option<String>,
    /// The search as it was read.
    pub query: SearchTerms,
    pub schema: String,
    /// The search stopped at its limit, so there may be more offers; `next_cursor` goes on from there.
    pub truncated: bool,
}

/// `SearchTerms` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchTerms {
    #[serde(default)]
    pub capability: Option<String>,
    pub limit: i64,
    #[serde(default)]
    pub max_price_micro: Option<i64>,
    #[serde(default)]
    pub provider_did: Option<String>,
    #[serde(default)]
    pub q: Option<String>,
}

/// `HireMade` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HireMade {
    pub capability_id: String,
    pub created_at: String,
    pub delivery_deadline_at: String,
    pub envelope_hash: String,
    pub escrow_id: String,
    pub hire: Hire,
    pub hire_id: String,
    pub ok: bool,
    pub price_micro: i64,
    pub provider_did: String,
    pub schema: String,
}

/// `HireBody` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hire {
    pub capability: String,
    pub capability_id: String,
    #[serde(default)]
    pub claimed_at: Option<String>,
    #[serde(default)]
    pub completed_at: Option<String>,
    pub created_at: String,
    pub delivery_deadline_at: String,
    pub escrow_id: String,
    pub id: String,
    /// The same text as `input_json`.
    #[serde(default)]
    pub input: Option<String>,
    /// Null in lists of a requester unless the reader proved to be a party.
    #[serde(default)]
    pub input_json: Option<String>,
    pub price_micro: i64,
    pub provider_did: String,
    #[serde(default)]
    pub receipt_id: Option<String>,
    pub requester_did: String,
    /// `requested`, `claimed`, `completed`, `disputed` or `expired`
    pub state: String,
    pub task_id: String,
}

/// `HireAnswer` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HireAnswer {
    pub hire: Hire,
    pub schema: String,
}

/// `HiresAnswer` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hires {
    pub did: String,
    pub hires: Vec<Hire>,
    /// The `before` of the next page; null at the end.
    #[serde(default)]
    pub next_cursor: Option<String>,
    pub schema: String,
}

/// `ReceiptClaimed` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReceiptClaimed {
    pub acceptance_deadline_at: String,
    pub auto_accept_on_timeout: bool,
    pub claimed_at: String,
    pub envelope_hash: String,
    #[serde(default)]
    pub escrow_id: Option<String>,
    pub ok: bool,
    pub receipt: Receipt,
    pub receipt_id: String,
    pub schema: String,
    /// `pending_acceptance`
    pub state: String,
}

/// `ReceiptBody` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    pub acceptance_deadline_at: String,
    #[serde(default)]
    pub acceptance_envelope_hash: Option<String>,
    #[serde(default)]
    pub acceptance_signature: Option<String>,
    #[serde(default)]
    pub accepted_at: Option<String>,
    #[serde(default)]
    pub actor: Option<String>,
    /// Amount of the escrow.
    #[serde(default)]
    pub amount_micro: Option<i64>,
    /// 1 or 0.
    pub auto_accept_on_timeout: i64,
    #[serde(default)]
    pub claim_envelope_hash: Option<String>,
    #[serde(default)]
    pub claim_signature: Option<String>,
    pub claimed_at: String,
    #[serde(default)]
    pub dispute_reason: Option<String>,
    #[serde(default)]
    pub disputed_at: Option<String>,
    #[serde(default)]
    pub escrow_id: Option<String>,
    #[serde(default)]
    pub escrow_release_error: Option<String>,
    /// 1 or 0.
    pub escrow_released: i64,
    #[serde(default)]
    pub expired_at: Option<String>,
    #[serde(default)]
    pub feedback: Option<String>,
    /// The requester.
    pub from_did: String,
    pub id: String,
    pub nonce: String,
    #[serde(default)]
    pub rating: Option<i64>,
    /// `pending_acceptance`, `accepted`, `disputed` or `expired`
    pub state: String,
    /// This and the other texts are null in lists unless the reader proved to be a party.
    #[serde(default)]
    pub summary: Option<String>,
    pub task_id: String,
    /// The provider.
    pub to_did: String,
    /// Null, like every hash and signature over a text, where the text is hidden even from readers by id.
    #[serde(default)]
    pub work_hash: Option<String>,
}

/// `ReceiptAccepted` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReceiptAccepted {
    #[serde(default)]
    pub at: Option<String>,
    #[serde(default)]
    pub escrow_release_error: Option<String>,
    pub escrow_released: bool,
    pub ok: bool,
    pub receipt: Receipt,
    pub receipt_id: String,
    pub schema: String,
    /// `accepted` or `disputed`
    pub state: String,
}

/// `ReceiptAnswer` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReceiptAnswer {
    pub receipt: Receipt,
    pub schema: String,
}

/// `ReceiptsAnswer` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipts {
    /// The `before` of the next page; null at the end.
    #[serde(default)]
    pub next_cursor: Option<String>,
    pub receipts: Vec<Receipt>,
    pub schema: String,
}

/// `TrustAnswer` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub as_provider: AsProvider,
    pub as_requester: AsRequester,
    pub did: String,
    pub generated_at: String,
    pub notes: Vec<String>,
    pub schema: String,
    pub wallet: TrustWallet,
}

/// `AsProvider` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AsProvider {
    pub active_capabilities: i64,
    /// Share of completed hires among those that ended, 0 to 1; 1 when none has ended.
    pub completion_rate: f64,
    #[serde(default)]
    pub first_listed_at: Option<String>,
    #[serde(default)]
    pub last_listed_at: Option<String>,
    #[serde(default)]
    pub rating_avg: Option<f64>,
    pub rating_count: i64,
    pub rating_sum: i64,
    pub total_capabilities: i64,
    pub total_completed: i64,
    pub total_disputed: i64,
    pub total_earned_micro: i64,
    pub total_expired: i64,
    pub total_hires: i64,
    pub total_in_flight: i64,
}

/// `AsRequester` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AsRequester {
    pub total_accepted: i64,
    pub total_disputed: i64,
    pub total_expired: i64,
    pub total_hires_posted: i64,
    pub total_in_flight: i64,
    pub total_spent_micro: i64,
}

/// `TrustWallet` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrustWallet {
    pub balance_micro: i64,
    #[serde(default)]
    pub created_at: Option<String>,
    pub exists: bool,
    pub frozen: bool,
    pub locked_micro: i64,
}

/// `StatsAnswer` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    pub capabilities: StatsCapabilities,
    pub generated_at: String,
    pub hires: StatsHires,
    /// The newest 20.
    pub recent_hires: Vec<RecentHire>,
    pub schema: String,
    /// The listings that were hired most often first.
    pub top_capabilities: Vec<Listing>,
    pub top_providers_by_earnings: Vec<TopProvider>,
    pub value_settled: StatsValue,
    pub wallets: StatsWallets,
}

/// `StatsCapabilities` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatsCapabilities {
    /// Listings that can be hired.
    pub active: i64,
    pub distinct_providers: i64,
    pub total: i64,
}

/// `StatsHires` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatsHires {
    pub last_1h: i64,
    pub last_24h: i64,
    pub total: i64,
    pub total_completed: i64,
    pub total_disputed: i64,
    pub total_in_flight: i64,
}

/// `RecentHire` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecentHire {
    pub capability: String,
    #[serde(default)]
    pub completed_at: Option<String>,
    pub created_at: String,
    pub id: String,
    pub price_micro: i64,
    pub state: String,
}

/// `TopProvider` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopProvider {
    pub active_capabilities: i64,
    pub did: String,
    pub total_completed: i64,
    pub total_earned_micro: i64,
}

/// Prices of completed hires.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatsValue {
    pub last_24h_micro: i64,
    pub total_micro: i64,
}

/// `StatsWallets` in the document of the interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatsWallets {
    /// Wallets whose money moved.
    pub active_24h: i64,
    pub total: i64,
}
