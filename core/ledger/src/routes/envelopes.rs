//! The envelopes as the OpenAPI document describes them (`docs/envelopes.md`). [`crate::envelope`] reads them; a test
//! holds both to the same members.
//!
//! The document cannot say everything: the schema's name begins with the brand of the deployment, an envelope lives at
//! most 60 minutes, and some members are bounded together.

use schemars::JsonSchema;

use crate::admin::{KEYID_PATTERN, MAX_ALLOWED};
use crate::batch::MAX_ITEMS;
use crate::book::DID_PATTERN;
use crate::envelope::{MAX_DATA, MAX_DID, MAX_NONCE, MAX_TEXT, SLUG};
use crypto::encoding::base64_pattern;

/// A body that carries a signature, as JSON.
#[derive(JsonSchema)]
#[schemars(rename = "Signed{E}")]
#[allow(dead_code)]
pub struct SignedBody<E> {
    /// It has no members but these.
    envelope: E,
    /// Base64, Ed25519 over the canonical form of the envelope.
    #[schemars(regex(pattern = base64_pattern(64)))]
    signature: String,
}

/// Declares an envelope: its members follow those that all have.
macro_rules! envelope {
    ($(#[$meta:meta])* $name:ident, $schema:literal, { $($members:tt)* }) => {
        $(#[$meta])*
        #[derive(JsonSchema)]
        #[allow(dead_code)]
        pub struct $name {
            #[doc = concat!("`<brand>-", $schema, "/v1`")]
            #[schemars(regex(pattern = concat!("^.+-", $schema, "/v1$")))]
            schema: String,
            /// Such as `2026-01-31T12:00:00.000Z`; clocks may differ by 30 seconds.
            #[schemars(length(min = 1, max = 40))]
            issued_at: String,
            /// At most 60 minutes after `issued_at`.
            #[schemars(length(min = 1, max = 40))]
            expires_at: String,
            /// The `deployment_id` of `/v1/pay/health`: only this deployment takes the envelope.
            #[schemars(length(max = MAX_NONCE))]
            aud: Option<String>,
            $($members)*
        }
    };
}

envelope!(
    /// Asks the faucet for credits.
    FaucetEnvelope, "pay-faucet", {
        #[schemars(length(min = 1, max = MAX_DID))]
        did: String,
        #[schemars(length(min = 1, max = MAX_NONCE))]
        nonce: String,
    }
);

envelope!(
    /// Pays an agent. The sender signs it.
    TransferEnvelope, "credit-transfer", {
        #[schemars(length(min = 1, max = MAX_DID))]
        from_did: String,
        #[schemars(length(min = 1, max = MAX_DID))]
        to_did: String,
        /// Micro-credits, 1 to 10^15.
        amount_micro: i64,
        #[schemars(length(min = 1, max = MAX_NONCE))]
        nonce: String,
        #[schemars(length(max = MAX_TEXT))]
        memo: Option<String>,
    }
);

/// One transfer of a batch.
#[derive(JsonSchema)]
#[schemars(rename = "BatchEnvelopeItem")]
#[allow(dead_code)]
pub struct ItemEnvelope {
    #[schemars(length(min = 1, max = MAX_DID))]
    to_did: String,
    /// Micro-credits, 1 to 10^15.
    amount_micro: i64,
    #[schemars(length(max = MAX_TEXT))]
    memo: Option<String>,
}

envelope!(
    /// Pays many agents: all transfers settle, or none. The sender signs it.
    BatchEnvelope, "batch-transfer", {
        #[schemars(length(min = 1, max = MAX_DID))]
        from_did: String,
        #[schemars(length(min = 1, max = MAX_NONCE))]
        batch_id: String,
        #[schemars(length(min = 1, max = MAX_ITEMS))]
        items: Vec<ItemEnvelope>,
    }
);

envelope!(
    /// Sets money aside. The sender signs it.
    EscrowOpenEnvelope, "escrow-open", {
        #[schemars(length(min = 1, max = MAX_DID))]
        from_did: String,
        #[schemars(length(min = 1, max = MAX_DID))]
        to_did: String,
        /// Micro-credits, 1 to 10^15.
        amount_micro: i64,
        #[schemars(length(min = 1, max = MAX_NONCE))]
        nonce: String,
        /// Within 7 days; in the form of `issued_at`.
        #[schemars(length(min = 1, max = 40))]
        deadline_at: String,
        #[schemars(length(max = MAX_TEXT))]
        memo: Option<String>,
    }
);

envelope!(
    /// Pays an escrow out. Its sender signs it, with `signer_did` and `action_nonce`, or with `actor_did` and `nonce`.
    EscrowReleaseEnvelope, "escrow-release", {
        #[schemars(length(min = 1, max = MAX_NONCE))]
        escrow_id: String,
        #[schemars(length(min = 1, max = MAX_DID))]
        signer_did: Option<String>,
        #[schemars(length(min = 1, max = MAX_NONCE))]
        action_nonce: Option<String>,
        #[schemars(length(min = 1, max = MAX_DID))]
        actor_did: Option<String>,
        #[schemars(length(min = 1, max = MAX_NONCE))]
        nonce: Option<String>,
    }
);

envelope!(
    /// Takes an escrow back. Its sender signs it, with `signer_did` and `action_nonce`, or with `actor_did` and `nonce`.
    EscrowRefundEnvelope, "escrow-refund", {
        #[schemars(length(min = 1, max = MAX_NONCE))]
        escrow_id: String,
        #[schemars(length(min = 1, max = MAX_DID))]
        signer_did: Option<String>,
        #[schemars(length(min = 1, max = MAX_NONCE))]
        action_nonce: Option<String>,
        #[schemars(length(min = 1, max = MAX_DID))]
        actor_did: Option<String>,
        #[schemars(length(min = 1, max = MAX_NONCE))]
        nonce: Option<String>,
        #[schemars(length(max = MAX_TEXT))]
        reason: Option<String>,
    }
);

envelope!(
    /// Says that work is done. Who worked signs it.
    ClaimEnvelope, "work-claim", {
        #[schemars(length(min = 1, max = MAX_NONCE))]
        task_id: String,
        /// Who asked.
        #[schemars(length(min = 1, max = MAX_DID))]
        from_did: String,
        /// Who worked.
        #[schemars(length(min = 1, max = MAX_DID))]
        to_did: String,
        /// SHA-256, 64 hexadecimal digits.
        #[schemars(length(max = MAX_TEXT))]
        work_hash: String,
        #[schemars(length(min = 1, max = MAX_NONCE))]
        nonce: String,
        /// From 5 minutes to 7 days ahead, and not after the escrow's; in the form of `issued_at`.
        #[schemars(length(min = 1, max = 40))]
        acceptance_deadline_at: String,
        auto_accept_on_timeout: bool,
        #[schemars(length(max = MAX_NONCE))]
        escrow_id: Option<String>,
        #[schemars(length(max = MAX_TEXT))]
        summary: Option<String>,
    }
);

/// What becomes of a claim.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code)]
pub enum AcceptanceAction {
    Accept,
    Dispute,
}

envelope!(
    /// Accepts work or disputes it. Who asked for it signs it.
    AcceptanceEnvelope, "work-acceptance", {
        #[schemars(length(min = 1, max = MAX_NONCE))]
        receipt_id: String,
        #[schemars(length(min = 1, max = MAX_DID))]
        signer_did: String,
        action: AcceptanceAction,
        #[schemars(length(min = 1, max = MAX_NONCE))]
        action_nonce: String,
        #[schemars(range(min = 1, max = 5))]
        rating: Option<i64>,
        #[schemars(length(max = MAX_TEXT))]
        feedback: Option<String>,
        /// A dispute needs it.
        #[schemars(length(max = MAX_TEXT))]
        dispute_reason: Option<String>,
    }
);

envelope!(
    /// Offers a capability, or changes the offer. The provider signs it.
    ListingEnvelope, "capability-list", {
        #[schemars(length(min = 1, max = MAX_DID))]
        provider_did: String,
        #[schemars(regex(pattern = SLUG))]
        capability: String,
        #[schemars(length(min = 1, max = 80))]
        name: String,
        #[schemars(length(max = 560))]
        description: String,
        /// Micro-credits, 1 to 10^15.
        price_per_call_micro: i64,
        #[schemars(length(min = 1, max = 24))]
        unit: String,
        #[schemars(range(min = 1, max = 168))]
        sla_deadline_hours: i64,
        active: bool,
        #[schemars(length(min = 1, max = MAX_NONCE))]
        nonce: String,
        #[schemars(length(max = MAX_DATA))]
        input_schema: Option<String>,
        #[schemars(length(max = MAX_DATA))]
        output_schema: Option<String>,
        /// A JSON list of texts, as a text.
        #[schemars(length(max = 512))]
        tags: Option<String>,
    }
);

envelope!(
    /// Hires a provider at the price of its offer. Who asks signs it.
    HireEnvelope, "hire-request", {
        #[schemars(length(min = 1, max = MAX_NONCE))]
        capability_id: String,
        #[schemars(regex(pattern = SLUG))]
        capability: String,
        #[schemars(length(min = 1, max = MAX_DID))]
        requester_did: String,
        #[schemars(length(min = 1, max = MAX_DID))]
        provider_did: String,
        /// The price of the offer.
        price_micro: i64,
        #[schemars(length(min = 1, max = MAX_NONCE))]
        task_id: String,
        /// At most 168, and not less than the offer's.
        #[schemars(range(min = 1))]
        delivery_deadline_hours: i64,
        #[schemars(length(min = 1, max = MAX_NONCE))]
        nonce: String,
        #[schemars(length(max = MAX_DATA))]
        input_json: Option<String>,
    }
);

/// A body that an admin key signed, as JSON.
#[derive(JsonSchema)]
#[schemars(rename = "Directed{A}")]
#[allow(dead_code)]
pub struct DirectedBody<A> {
    /// Id of the key.
    #[schemars(regex(pattern = KEYID_PATTERN))]
    keyid: String,
    /// Base64, Ed25519 over the canonical form of `body`.
    #[schemars(regex(pattern = base64_pattern(64)))]
    signature_base64: String,
    body: A,
}

/// Declares an action: its members follow those that all have.
macro_rules! action {
    ($(#[$meta:meta])* $name:ident, $action:literal, { $($members:tt)* }) => {
        $(#[$meta])*
        #[derive(JsonSchema)]
        #[allow(dead_code)]
        pub struct $name {
            /// `<brand>-pay-admin-action/v1`
            #[schemars(regex(pattern = "^.+-pay-admin-action/v1$"))]
            schema: String,
            #[doc = concat!("`", $action, "`")]
            #[schemars(regex(pattern = concat!("^", $action, "$")))]
            action: String,
            /// The `deployment_id` of `/v1/pay/health`.
            #[schemars(length(min = 1, max = MAX_NONCE))]
            audience: String,
            #[schemars(length(min = 1, max = MAX_NONCE))]
            action_nonce: String,
            /// Such as `2026-01-31T12:00:00.000Z`, or whole milliseconds since 1970 as a number.
            #[schemars(length(min = 1, max = 40))]
            issued_at: String,
            /// At most 10 minutes after `issued_at`.
            #[schemars(length(min = 1, max = 40))]
            valid_until_ts: String,
            /// Why, for the log.
            #[schemars(length(max = MAX_TEXT))]
            reason: Option<String>,
            $($members)*
        }
    };
}

action!(
    /// Gives an agent credits.
    GrantAction, "grant", {
        #[schemars(length(min = 1, max = MAX_DID))]
        did: String,
        /// Micro-credits, 1 to 10^15.
        amount_micro: i64,
    }
);

action!(
    /// Freezes a wallet, or ends that.
    FreezeAction, "freeze", {
        #[schemars(length(min = 1, max = MAX_DID))]
        did: String,
        frozen: bool,
    }
);

/// To whom a wallet may pay.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
pub enum Allowlist {
    Dids(
        #[schemars(length(max = MAX_ALLOWED), inner(length(max = MAX_DID), regex(pattern = DID_PATTERN)))] Vec<String>,
    ),
    /// `none` lifts the limit.
    Word(#[schemars(regex(pattern = "^none$"))] String),
}

action!(
    /// Limits a wallet. At least one of the limits is given.
    CapAction, "cap", {
        #[schemars(length(min = 1, max = MAX_DID))]
        did: String,
        /// Micro-credits within a day.
        daily_cap_micro: Option<i64>,
        /// Micro-credits of one transfer.
        per_tx_cap_micro: Option<i64>,
        allowlist: Option<Allowlist>,
    }
);

action!(
    /// Freezes the whole ledger, or ends that.
    FreezeAllAction, "freeze_all", {
        frozen: bool,
        faucet_disabled: Option<bool>,
    }
);

action!(
    /// Pays an escrow out in place of its sender.
    EscrowReleaseAction, "escrow_release", {
        #[schemars(length(min = 1, max = MAX_NONCE))]
        escrow_id: String,
    }
);

action!(
    /// Takes an escrow back in place of its sender.
    EscrowRefundAction, "escrow_refund", {
        #[schemars(length(min = 1, max = MAX_NONCE))]
        escrow_id: String,
    }
);

#[cfg(test)]
mod tests {
    use schemars::{JsonSchema, SchemaGenerator};
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::admin::Action;
    use crate::envelope::Envelope;
    use crate::json::{self, Json};

    fn reads(envelope: &Map<String, Value>) -> bool {
        match json::parse(Value::Object(envelope.clone()).to_string().as_bytes(), json::MAX_DEPTH) {
            Some(Json::Object(members)) => Envelope::of("svc", members).is_some(),
            _ => false,
        }
    }

    fn names(of: &Value) -> Vec<&str> {
        of.as_object().unwrap().keys().map(String::as_str).collect()
    }

    /// `whole` has all members and is read; without one of them, just where the document does not demand it.
    fn agrees_with<T: JsonSchema>(whole: &Value, reads: impl Fn(&Map<String, Value>) -> bool) {
        let schema = SchemaGenerator::default().into_root_schema_for::<T>().to_value();
        assert!(reads(whole.as_object().unwrap()), "{whole}");
        let mut described = names(&schema["properties"]);
        described.sort_unstable();
        let mut given = names(whole);
        given.sort_unstable();
        assert_eq!(described, given);
        for name in described {
            let mut less = whole.as_object().unwrap().clone();
            less.remove(name);
            let required = schema["required"].as_array().unwrap().iter().any(|one| one == name);
            assert_eq!(reads(&less), !required, "{whole} without `{name}`");
        }
    }

    fn agrees<E: JsonSchema>(kind: &str, members: &Value) {
        let mut whole = json!({
            "schema": format!("svc-{kind}/v1"),
            "issued_at": "2026-01-31T12:00:00.000Z",
            "expires_at": "2026-01-31T12:10:00.000Z",
            "aud": "a",
        });
        whole.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        agrees_with::<E>(&whole, reads);
    }

    #[test]
    fn the_document_demands_the_members_that_are_read_and_no_others() {
        agrees::<FaucetEnvelope>("pay-faucet", &json!({ "did": "d", "nonce": "n" }));
        let transfer = json!({ "from_did": "a", "to_did": "b", "amount_micro": 1, "nonce": "n", "memo": "m" });
        agrees::<TransferEnvelope>("credit-transfer", &transfer);
        let items = json!([{ "to_did": "b", "amount_micro": 1, "memo": "m" }]);
        agrees::<BatchEnvelope>("batch-transfer", &json!({ "from_did": "a", "batch_id": "b", "items": items }));
        let mut open = transfer;
        open["deadline_at"] = json!("2026-02-01T12:00:00.000Z");
        agrees::<EscrowOpenEnvelope>("escrow-open", &open);
        agrees::<ClaimEnvelope>(
            "work-claim",
            &json!({
                "task_id": "t", "from_did": "a", "to_did": "b", "work_hash": "00", "nonce": "n",
                "acceptance_deadline_at": "2026-02-01T12:00:00.000Z", "auto_accept_on_timeout": true,
                "escrow_id": "e", "summary": "s",
            }),
        );
        agrees::<AcceptanceEnvelope>(
            "work-acceptance",
            &json!({
                "receipt_id": "r", "signer_did": "a", "action": "dispute", "action_nonce": "n", "rating": 5,
                "feedback": "f", "dispute_reason": "d",
            }),
        );
        agrees::<ListingEnvelope>(
            "capability-list",
            &json!({
                "provider_did": "a", "capability": "c", "name": "n", "description": "d", "price_per_call_micro": 1,
                "unit": "u", "sla_deadline_hours": 1, "active": true, "nonce": "n", "input_schema": "{}",
                "output_schema": "{}", "tags": "[]",
            }),
        );
        agrees::<HireEnvelope>(
            "hire-request",
            &json!({
                "capability_id": "i", "capability": "c", "requester_did": "a", "provider_did": "b", "price_micro": 1,
                "task_id": "t", "delivery_deadline_hours": 1, "nonce": "n", "input_json": "{}",
            }),
        );
    }

    fn directs(action: &Map<String, Value>) -> bool {
        let text = Value::Object(action.clone()).to_string();
        json::parse(text.as_bytes(), json::MAX_DEPTH)
            .and_then(|json| json.canonical())
            .is_some_and(|canonical| Action::read("svc", &canonical).is_some())
    }

    #[test]
    fn the_document_demands_the_members_of_actions_that_are_read_and_no_others() {
        let did = "did:svc:VanTWgMccx3BpGjeJ6TyZA";
        let action = |action: &str, members: &Value| {
            let mut whole = json!({
                "schema": "svc-pay-admin-action/v1", "action": action, "audience": "here", "action_nonce": "n",
                "issued_at": "2026-01-31T12:00:00.000Z", "valid_until_ts": "2026-01-31T12:10:00.000Z", "reason": "r",
            });
            whole.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            whole
        };
        let grant = action("grant", &json!({ "did": did, "amount_micro": 1 }));
        agrees_with::<GrantAction>(&grant, directs);
        agrees_with::<FreezeAction>(&action("freeze", &json!({ "did": did, "frozen": true })), directs);
        let caps = json!({ "did": did, "daily_cap_micro": 1, "per_tx_cap_micro": 1, "allowlist": [did] });
        agrees_with::<CapAction>(&action("cap", &caps), directs);
        agrees_with::<FreezeAllAction>(
            &action("freeze_all", &json!({ "frozen": true, "faucet_disabled": true })),
            directs,
        );
        let escrow = json!({ "escrow_id": "00000000-0000-0000-0000-000000000000" });
        agrees_with::<EscrowReleaseAction>(&action("escrow_release", &escrow), directs);
        agrees_with::<EscrowRefundAction>(&action("escrow_refund", &escrow), directs);
    }

    /// The two forms of who closes an escrow cannot both be demanded, so each is tried as a whole.
    #[test]
    fn an_escrow_is_closed_with_either_pair_of_names() {
        let closes = |kind: &str, signer: &str, nonce: &str| {
            let common = json!({
                "schema": format!("svc-{kind}/v1"),
                "issued_at": "2026-01-31T12:00:00.000Z",
                "expires_at": "2026-01-31T12:10:00.000Z",
                "escrow_id": "e", signer: "a", nonce: "n",
            });
            reads(common.as_object().unwrap())
        };
        for kind in ["escrow-release", "escrow-refund"] {
            assert!(closes(kind, "signer_did", "action_nonce") && closes(kind, "actor_did", "nonce"), "{kind}");
            assert!(!closes(kind, "signer_did", "nonce"), "{kind}");
        }
    }
}
