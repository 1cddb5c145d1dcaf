//! Why the ledger refuses: the closed list of reason codes (decision reason-order).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorCode, Result};
use engine::kv::StoreError;
use engine::limits::Admission;
use engine::runtime::Environment;

macro_rules! reasons {
    ($($name:ident = $wire:literal => $code:ident, $message:literal;)+) => {
        /// The value of `reason` in an answer.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Reason { $(#[doc = $message] $name,)+ }

        impl Reason {
            pub const ALL: &'static [Reason] = &[$(Reason::$name,)+];

            /// The string on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Reason::$name => $wire,)+ }
            }

            /// The code whose status the answer has.
            pub const fn code(self) -> ErrorCode {
                match self { $(Reason::$name => ErrorCode::$code,)+ }
            }

            /// A sentence for people.
            pub const fn message(self) -> &'static str {
                match self { $(Reason::$name => $message,)+ }
            }
        }
    };
}

// Rows and messages name a reason by its place: append only.
reasons! {
    InvalidEnvelope = "invalid_envelope" => BadRequest, "The envelope does not have the form that this route takes.";
    InvalidSignature = "invalid_signature" => BadRequest, "The signature does not verify.";
    EnvelopeExpired = "envelope_expired" => BadRequest, "The envelope has expired.";
    EnvelopeNotYetValid = "envelope_not_yet_valid" => BadRequest, "The envelope is not valid yet.";
    EnvelopeWindowTooLong = "envelope_window_too_long" => BadRequest, "The envelope is valid for more than 60 minutes.";
    NonceSeen = "nonce_seen" => Conflict, "This nonce was used.";
    SenderPubkeyNotFound = "sender_pubkey_not_found" => NotFound, "No active key of the signer is known.";
    RequesterPubkeyNotFound = "requester_pubkey_not_found" => NotFound, "No active key of the requester is known.";
    ProviderPubkeyNotFound = "provider_pubkey_not_found" => NotFound, "No active key of the provider is known.";
    AgentPubkeyNotFound = "agent_pubkey_not_found" => NotFound, "No active key of the agent is known.";
    SenderNotFound = "sender_not_found" => NotFound, "The sender has no wallet.";
    SenderFrozen = "sender_frozen" => Forbidden, "The sender's wallet is frozen.";
    SystemFrozen = "system_frozen" => Unavailable, "The ledger is frozen.";
    InsufficientBalance = "insufficient_balance" => PaymentRequired, "The balance is too small.";
    DailyCapExceeded = "daily_cap_exceeded" => RateLimited, "The wallet's cap for 24 hours would be exceeded.";
    PerTxCapExceeded = "per_tx_cap_exceeded" => BadRequest, "The wallet's cap for one payment would be exceeded.";
    RecipientNotAllowed = "recipient_not_allowed" => Forbidden, "The wallet may not pay this recipient.";
    RecipientInvalidDid = "recipient_invalid_did" => BadRequest,
        "The recipient is the sender itself, or no known agent.";
    AmountOutOfRange = "amount_out_of_range" => BadRequest, "The amount is out of range.";
    EscrowNotFound = "escrow_not_found" => NotFound, "There is no such escrow.";
    EscrowNotOpen = "escrow_not_open" => Conflict, "The escrow is not open for this.";
    EscrowDeadlineExceedsMax = "escrow_deadline_exceeds_max" => BadRequest, "The deadline is more than 7 days away.";
    EscrowDeadlinePast = "escrow_deadline_past" => BadRequest, "The deadline has passed.";
    EscrowSignerNotAuthorized = "escrow_signer_not_authorized" => Forbidden, "Only the sender may do this.";
    EscrowDidMismatch = "escrow_did_mismatch" => BadRequest, "The escrow is between other parties.";
    ClaimPending = "claim_pending" => Conflict, "A claim waits for acceptance or dispute.";
    AcceptanceDeadlineExceedsEscrow = "acceptance_deadline_exceeds_escrow" => BadRequest,
        "The acceptance deadline is after that of the escrow.";
    AcceptanceDeadlinePast = "acceptance_deadline_past" => BadRequest, "The acceptance deadline has passed.";
    AcceptanceWindowTooShort = "acceptance_window_too_short" => BadRequest,
        "The acceptance window is shorter than 5 minutes.";
    AcceptanceWindowTooLong = "acceptance_window_too_long" => BadRequest,
        "The acceptance window is longer than 7 days.";
    InvalidWorkHash = "invalid_work_hash" => BadRequest, "The work hash is not 64 hexadecimal digits.";
    ReceiptNotFound = "receipt_not_found" => NotFound, "There is no such receipt.";
    ReceiptNotPending = "receipt_not_pending" => Conflict, "The receipt is not pending.";
    ReceiptSignerNotAuthorized = "receipt_signer_not_authorized" => Forbidden, "Only the requester may do this.";
    DisputeReasonRequired = "dispute_reason_required" => BadRequest, "A dispute needs a reason.";
    CapabilityNotFound = "capability_not_found" => NotFound, "There is no such listing.";
    CapabilityInactive = "capability_inactive" => Conflict, "The listing is not active.";
    CapabilityMismatch = "capability_mismatch" => BadRequest, "The listing has another capability.";
    ProviderDidMismatch = "provider_did_mismatch" => BadRequest, "The listing belongs to another provider.";
    PriceMismatch = "price_mismatch" => BadRequest, "The listing has another price.";
    DeadlineExceedsEscrowMax = "deadline_exceeds_escrow_max" => BadRequest,
        "The delivery deadline is more than 7 days away.";
    SelfHireNotAllowed = "self_hire_not_allowed" => BadRequest, "An agent cannot hire itself.";
    AlreadyClaimed = "already_claimed" => Conflict, "This agent has already had its grant.";
    IpRateLimitExceeded = "ip_rate_limit_exceeded" => RateLimited,
        "This address has already had all its grants for 24 hours.";
    FaucetDisabled = "faucet_disabled" => Unavailable, "The faucet gives nothing now.";
    AdminKeyNotFound = "admin_key_not_found" => Unauthorized, "No active admin key has this id.";
    AdminSignatureInvalid = "admin_signature_invalid" => Unauthorized, "The signature does not verify.";
    AdminExpired = "admin_expired" => BadRequest, "The action has expired.";
    AdminWindowTooLong = "admin_window_too_long" => BadRequest, "The action is valid for more than 10 minutes.";
    AdminNonceSeen = "admin_nonce_seen" => Conflict, "An action with this nonce was already done.";
    AdminRoleNotAuthorized = "admin_role_not_authorized" => Forbidden, "The role of this key does not allow this.";
    AdminInvalidBody = "admin_invalid_body" => BadRequest, "The body is not an action of this route.";
    WalletNotFound = "wallet_not_found" => NotFound, "There is no such wallet.";
    TransferNotFound = "transfer_not_found" => NotFound, "There is no such transfer.";
    HireNotFound = "hire_not_found" => NotFound, "There is no such hire.";
    InvalidDid = "invalid_did" => BadRequest, "This is not a DID of this service.";
    RateLimited = "rate_limited" => RateLimited, "Too many requests; wait, then retry.";
    IdempotencyConflict = "idempotency_conflict" => Unprocessable,
        "The `Idempotency-Key` was used with another envelope.";
    StorageFull = "storage_full" => Unavailable, "The ledger is nearly full: it takes no new wallets or listings.";
    ListingLimit = "listing_limit" => Conflict, "This provider has 100 listings; change one of them.";
}

impl Reason {
    /// Whether a refusal for this reason burns no nonce, so that the same envelope may be sent again (decision
    /// refusal-burns-nonce).
    pub const fn is_temporary(self) -> bool {
        matches!(self, Reason::SystemFrozen | Reason::FaucetDisabled | Reason::RateLimited | Reason::StorageFull)
    }

    /// Seconds for `Retry-After`.
    pub const fn retry_after(self) -> Option<u32> {
        match self {
            Reason::SystemFrozen | Reason::FaucetDisabled | Reason::RateLimited => Some(60),
            Reason::DailyCapExceeded | Reason::IpRateLimitExceeded | Reason::StorageFull => Some(3_600),
            _ => None,
        }
    }
}

/// Counts of refusals, in memory.
#[derive(Debug, Default)]
pub struct RefusalCounts(std::sync::Mutex<std::collections::BTreeMap<Reason, u64>>);

impl RefusalCounts {
    /// The one of this process.
    pub fn of(environment: &Environment) -> Arc<RefusalCounts> {
        environment.shared()
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, std::collections::BTreeMap<Reason, u64>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub fn count(&self, reason: Reason) {
        *self.counts().entry(reason).or_default() += 1;
    }

    pub fn all(&self) -> Vec<(Reason, u64)> {
        self.counts().iter().map(|(reason, count)| (*reason, *count)).collect()
    }
}

/// Why something was not done: a reason that the caller is told, or a fault of this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    No(Reason),
    /// The signer sends too much; the state of its budget.
    Over(Admission),
    Fault(Error),
}

impl Refusal {
    /// The reason, or the fault.
    pub fn reason(self) -> Result<Reason> {
        match self {
            Refusal::No(reason) => Ok(reason),
            Refusal::Over(_) => Ok(Reason::RateLimited),
            Refusal::Fault(error) => Err(error),
        }
    }
}

/// The result of something that the ledger may refuse.
pub type Ruled<T> = std::result::Result<T, Refusal>;

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Refusal {
        Refusal::No(reason)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Fault(error)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        Refusal::Fault(error.into())
    }
}

/// `Ok` when `holds`, else the reason.
pub fn ensure(holds: bool, reason: Reason) -> Ruled<()> {
    if holds { Ok(()) } else { Err(Refusal::No(reason)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decision reason-order: codes that existing clients know, with their statuses, and the three that were added;
    /// `escrow_window_too_long` is not in the list.
    #[test]
    fn every_reason_has_the_status_that_clients_know() {
        let of = |reason: Reason| (reason.as_str(), reason.code().status().as_u16());
        let known = Reason::ALL.iter().copied().map(of).collect::<std::collections::BTreeMap<_, _>>();
        assert_eq!(known.len(), Reason::ALL.len());
        for (word, status) in [
            ("insufficient_balance", 402),
            ("sender_frozen", 403),
            ("system_frozen", 503),
            ("daily_cap_exceeded", 429),
            ("per_tx_cap_exceeded", 400),
            ("nonce_seen", 409),
            ("already_claimed", 409),
            ("ip_rate_limit_exceeded", 429),
            ("faucet_disabled", 503),
            ("capability_inactive", 409),
            ("escrow_signer_not_authorized", 403),
            ("claim_pending", 409),
            ("rate_limited", 429),
            ("idempotency_conflict", 422),
            ("storage_full", 503),
            ("listing_limit", 409),
            ("admin_key_not_found", 401),
        ] {
            assert_eq!(known.get(word), Some(&status), "{word}");
        }
        assert!(!known.contains_key("escrow_window_too_long"));
    }
}
