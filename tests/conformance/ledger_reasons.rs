//! Every reason for a refusal of the ledger (decision reason-order): a request that causes it, the status, and the body
//! of the error. A reason without a row fails the test.

use std::collections::BTreeSet;

use heliograph_core::ledger::reason::Reason;
use heliograph_tests::client::{Answer, Client};
use heliograph_tests::ledger::{Operator, Party, Signer, nonce, refused};
use heliograph_tests::relay::text;
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![every_reason_is_raised_with_its_status_and_body];

/// The parties and rows that exist when a refusal is tested.
struct Scene {
    client: Client,
    operator: Operator,
    /// These have the grant of the faucet.
    payer: Party,
    rich: Party,
    /// Registered, without a wallet.
    payee: Party,
    other: Party,
    ghost: Party,
    listing: Value,
    /// Escrows between payer and payee: open, with a pending claim, with an answered claim, closed.
    open: String,
    claimed: String,
    pending: String,
    answered: String,
    closed: String,
}

impl Scene {
    fn new(client: &Client) -> Scene {
        let (payer, rich) = (Party::funded(client), Party::funded(client));
        let [payee, other, mut ghost] = [(); 3].map(|()| Party::new(client));
        ghost.signer = Signer::new("svc", heliograph_core::crypto::Secret::new(heliograph_tests::relay::seed()));
        let listing =
            payee.act("capability-list", payee.listing("reasons.test", 1_000)).expect(200)["capability"].clone();
        let [open, claimed, done, closed] = [(); 4].map(|()| payer.open(payee.did(), 100));
        let claim = |escrow: &str| {
            let claim = payee.act("work-claim", payee.claim(payer.did(), Some(escrow))).expect(200);
            text(&claim, "receipt_id").to_owned()
        };
        let (pending, answered) = (claim(&claimed), claim(&done));
        payer.act("work-acceptance", answer(&payer, &answered)).expect(200);
        payer.close("escrow-release", &closed).expect(200);
        let operator = Operator::new(client, "all");
        let client = client.clone();
        Scene { client, operator, payer, rich, payee, other, ghost, listing, open, claimed, pending, answered, closed }
    }

    /// The time in `seconds` from now.
    fn at(&self, seconds: i64) -> String {
        self.client.now().plus(seconds * 1_000_000).to_millis_text()
    }

    fn transfer(&self, changes: Value) -> Answer {
        self.payer.act("credit-transfer", with(self.payer.transfer(self.payee.did(), 1), changes))
    }

    fn escrow(&self, changes: Value) -> Answer {
        let members = self.payer.escrow(self.payee.did(), 1, std::time::Duration::from_secs(3_600));
        self.payer.act("escrow-open", with(members, changes))
    }

    fn claim(&self, by: &Party, escrow: &str, changes: Value) -> Answer {
        by.act("work-claim", with(by.claim(self.payer.did(), Some(escrow)), changes))
    }

    fn accept(&self, by: &Party, receipt: &str, changes: Value) -> Answer {
        by.act("work-acceptance", with(answer(by, receipt), changes))
    }

    fn hire(&self, by: &Party, changes: Value) -> Answer {
        by.act("hire-request", with(by.hire(&self.listing), changes))
    }

    /// A payment of 10 from a wallet with these caps.
    fn capped(&self, caps: Value) -> Answer {
        self.operator.act("cap", with(json!({ "did": self.rich.did() }), caps)).expect(200);
        self.rich.pay(self.payee.did(), 10)
    }

    /// A grant whose body has some members changed.
    fn grant(&self, changes: Value) -> Answer {
        let members = json!({ "action": "grant", "did": self.other.did(), "amount_micro": 1 });
        self.client.post("/v1/pay/admin/grant", &self.operator.body(with(members, changes)))
    }

    fn faucet(&self, of: &Party) -> Answer {
        of.act("pay-faucet", json!({ "did": of.did() }))
    }
}

fn with(mut members: Value, changes: Value) -> Value {
    members.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    members
}

fn answer(by: &Party, receipt: &str) -> Value {
    json!({ "receipt_id": receipt, "signer_did": by.did(), "action": "accept" })
}

/// A body with a signature over something else.
fn forged(by: &Party, schema: &str, members: Value) -> Value {
    let mut body = by.body(schema, members);
    body["signature"] = json!(by.signer.sign(&json!({})));
    body
}

/// A reason, its status, and a request that causes it.
type Row = (Reason, u16, fn(&Scene) -> Answer);

/// Refusals of a deployment with the usual settings. Those that stop a wallet come last.
const USUAL: &[Row] = &[
    (Reason::InvalidEnvelope, 400, |s| s.transfer(json!({ "owner": "x" }))),
    (Reason::InvalidSignature, 400, |s| {
        let members = s.payer.transfer(s.payee.did(), 1);
        s.client.post("/v1/pay/transfer", &forged(&s.payer, "credit-transfer", members))
    }),
    (Reason::EnvelopeExpired, 400, |s| s.transfer(json!({ "issued_at": s.at(-600), "expires_at": s.at(-2) }))),
    (Reason::EnvelopeNotYetValid, 400, |s| s.transfer(json!({ "issued_at": s.at(120), "expires_at": s.at(600) }))),
    (Reason::EnvelopeWindowTooLong, 400, |s| s.transfer(json!({ "expires_at": s.at(3_900) }))),
    (Reason::NonceSeen, 409, |s| {
        s.transfer(json!({ "nonce": "seen-once" })).expect(200);
        s.transfer(json!({ "nonce": "seen-once" }))
    }),
    (Reason::IdempotencyConflict, 422, |s| {
        let client = s.client.with("idempotency-key", &nonce());
        let send = || {
            let body = s.payer.body("credit-transfer", s.payer.transfer(s.payee.did(), 1));
            client.post("/v1/pay/transfer", &body)
        };
        send().expect(200);
        send()
    }),
    (Reason::SenderPubkeyNotFound, 404, |s| s.ghost.pay(s.payee.did(), 1)),
    (Reason::RequesterPubkeyNotFound, 404, |s| s.hire(&s.ghost, json!({}))),
    (Reason::ProviderPubkeyNotFound, 404, |s| s.claim(&s.ghost, &s.open, json!({}))),
    (Reason::AgentPubkeyNotFound, 404, |s| s.faucet(&s.ghost)),
    (Reason::SenderNotFound, 404, |s| s.other.pay(s.payee.did(), 1)),
    (Reason::InsufficientBalance, 402, |s| s.transfer(json!({ "amount_micro": 50_000_000 }))),
    (Reason::RecipientInvalidDid, 400, |s| s.transfer(json!({ "to_did": "nonsense" }))),
    (Reason::AmountOutOfRange, 400, |s| s.transfer(json!({ "amount_micro": 0 }))),
    (Reason::EscrowNotFound, 404, |s| s.payer.close("escrow-release", "undefined")),
    (Reason::EscrowNotOpen, 409, |s| s.payer.close("escrow-release", &s.closed)),
    (Reason::EscrowDeadlineExceedsMax, 400, |s| s.escrow(json!({ "deadline_at": s.at(8 * 86_400) }))),
    (Reason::EscrowDeadlinePast, 400, |s| s.escrow(json!({ "deadline_at": s.at(-2) }))),
    (Reason::EscrowSignerNotAuthorized, 403, |s| s.payee.close("escrow-release", &s.open)),
    (Reason::EscrowDidMismatch, 400, |s| s.claim(&s.other, &s.open, json!({}))),
    (Reason::ClaimPending, 409, |s| s.payer.close("escrow-refund", &s.claimed)),
    (Reason::AcceptanceDeadlineExceedsEscrow, 400, |s| {
        s.claim(&s.payee, &s.open, json!({ "acceptance_deadline_at": s.at(2 * 86_400) }))
    }),
    (Reason::AcceptanceDeadlinePast, 400, |s| {
        let past = json!({ "issued_at": s.at(-1_800), "expires_at": s.at(600), "acceptance_deadline_at": s.at(-5) });
        s.claim(&s.payee, &s.open, past)
    }),
    (Reason::AcceptanceWindowTooShort, 400, |s| {
        s.claim(&s.payee, &s.open, json!({ "acceptance_deadline_at": s.at(200) }))
    }),
    (Reason::AcceptanceWindowTooLong, 400, |s| {
        s.claim(&s.payee, &s.open, json!({ "acceptance_deadline_at": s.at(8 * 86_400) }))
    }),
    (Reason::InvalidWorkHash, 400, |s| s.claim(&s.payee, &s.open, json!({ "work_hash": "x" }))),
    (Reason::ReceiptNotFound, 404, |s| s.accept(&s.payer, "undefined", json!({}))),
    (Reason::ReceiptNotPending, 409, |s| s.accept(&s.payer, &s.answered, json!({}))),
    (Reason::ReceiptSignerNotAuthorized, 403, |s| s.accept(&s.payee, &s.pending, json!({}))),
    (Reason::DisputeReasonRequired, 400, |s| s.accept(&s.payer, &s.pending, json!({ "action": "dispute" }))),
    (Reason::CapabilityNotFound, 404, |s| s.hire(&s.payer, json!({ "capability_id": "undefined" }))),
    (Reason::CapabilityInactive, 409, |s| {
        let members = with(s.payee.listing("paused.test", 1), json!({ "active": false }));
        let paused = s.payee.act("capability-list", members).expect(200)["capability"].clone();
        s.payer.act("hire-request", s.payer.hire(&paused))
    }),
    (Reason::CapabilityMismatch, 400, |s| s.hire(&s.payer, json!({ "capability": "other.test" }))),
    (Reason::ProviderDidMismatch, 400, |s| s.hire(&s.payer, json!({ "provider_did": s.other.did() }))),
    (Reason::PriceMismatch, 400, |s| s.hire(&s.payer, json!({ "price_micro": 1 }))),
    (Reason::DeadlineExceedsEscrowMax, 400, |s| s.hire(&s.payer, json!({ "delivery_deadline_hours": 169 }))),
    (Reason::SelfHireNotAllowed, 400, |s| s.hire(&s.payee, json!({}))),
    (Reason::AlreadyClaimed, 409, |s| s.faucet(&s.payer)),
    (Reason::AdminKeyNotFound, 401, |s| {
        let mut body = s.operator.body(json!({ "action": "grant", "did": s.other.did(), "amount_micro": 1 }));
        body["keyid"] = json!("0".repeat(16));
        s.client.post("/v1/pay/admin/grant", &body)
    }),
    (Reason::AdminSignatureInvalid, 401, |s| {
        let mut body = s.operator.body(json!({ "action": "grant", "did": s.other.did(), "amount_micro": 1 }));
        body["signature_base64"] = json!(s.operator.signer.sign(&json!({})));
        s.client.post("/v1/pay/admin/grant", &body)
    }),
    (Reason::AdminExpired, 400, |s| s.grant(json!({ "issued_at": s.at(-300), "valid_until_ts": s.at(-2) }))),
    (Reason::AdminWindowTooLong, 400, |s| s.grant(json!({ "valid_until_ts": s.at(700) }))),
    (Reason::AdminNonceSeen, 409, |s| {
        s.grant(json!({ "action_nonce": "seen-once" })).expect(200);
        s.grant(json!({ "action_nonce": "seen-once" }))
    }),
    (Reason::AdminRoleNotAuthorized, 403, |s| {
        let capper = Operator::new(&s.client, "cap");
        capper.act("grant", json!({ "did": s.other.did(), "amount_micro": 1 }))
    }),
    (Reason::AdminInvalidBody, 400, |s| s.grant(json!({ "owner": "x" }))),
    (Reason::WalletNotFound, 404, |s| s.client.get(&format!("/v1/pay/wallet/{}", s.ghost.did()))),
    (Reason::TransferNotFound, 404, |s| s.client.get("/v1/pay/transfer/undefined")),
    (Reason::HireNotFound, 404, |s| s.client.get("/v1/pay/hire/undefined")),
    (Reason::InvalidDid, 400, |s| s.client.post("/v1/pay/wallet", &json!({ "did": "did:web:x" }))),
    (Reason::DailyCapExceeded, 429, |s| s.capped(json!({ "daily_cap_micro": 9 }))),
    (Reason::PerTxCapExceeded, 400, |s| s.capped(json!({ "daily_cap_micro": 100, "per_tx_cap_micro": 9 }))),
    (Reason::RecipientNotAllowed, 403, |s| s.capped(json!({ "per_tx_cap_micro": 100, "allowlist": [s.other.did()] }))),
    (Reason::SenderFrozen, 403, |s| {
        s.operator.act("freeze", json!({ "did": s.rich.did(), "frozen": true })).expect(200);
        s.rich.pay(s.payee.did(), 1)
    }),
    (Reason::FaucetDisabled, 503, |s| {
        s.operator.act("freeze_all", json!({ "frozen": false, "faucet_disabled": true })).expect(200);
        s.faucet(&s.other)
    }),
    (Reason::SystemFrozen, 503, |s| {
        s.operator.act("freeze_all", json!({ "frozen": true })).expect(200);
        s.transfer(json!({}))
    }),
];

/// Refusals that need tight limits.
fn tight(suite: &Suite) -> [(Reason, u16, Answer); 4] {
    let target = suite.fresh(&[("pay_writes_per_minute", "1"), ("faucet_per_address", "1")]);
    // A Worker reads the client's address from this header; other targets ignore it.
    let client = target.client().with("cf-connecting-ip", "192.0.2.1");
    let a = Party::funded(&client);
    let limited = a.pay(a.did(), 1);
    let b = Party::new(&client);
    let by_address = b.act("pay-faucet", json!({ "did": b.did() }));
    let many = suite.fresh(&[("pay_writes_per_minute", "0")]);
    let provider = Party::new(&many.client());
    let list = |n: usize| provider.act("capability-list", provider.listing(&format!("slug{n}"), 1));
    (0..100).for_each(|n| drop(list(n).expect(200)));
    let full = suite.fresh(&[("ledger_storage_bytes", "1")]);
    let open = |did: &str| full.client().post("/v1/pay/wallet", &json!({ "did": did }));
    // The first request finds an empty store in memory.
    open("did:svc:x");
    let wallet = open("did:svc:y");
    [
        (Reason::RateLimited, 429, limited),
        (Reason::IpRateLimitExceeded, 429, by_address),
        (Reason::StorageFull, 503, wallet),
        (Reason::ListingLimit, 409, list(100)),
    ]
}

fn check(reason: Reason, status: u16, answer: &Answer) {
    refused(answer, status, reason.as_str());
    let body = answer.json();
    assert_eq!(reason.code().status().as_u16(), status);
    assert_eq!(body["message"], reason.message());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(body["schema"].as_str().is_some_and(|schema| schema.starts_with("svc-pay-")), "{body}");
}

fn every_reason_is_raised_with_its_status_and_body(suite: &Suite) {
    let target = suite.fresh(&[("pay_writes_per_minute", "0")]);
    let scene = Scene::new(&target.client());
    let mut raised = BTreeSet::new();
    for (reason, status, raise) in USUAL {
        check(*reason, *status, &raise(&scene));
        raised.insert(*reason);
    }
    for (reason, status, answer) in tight(suite) {
        check(reason, status, &answer);
        raised.insert(reason);
    }
    for reason in Reason::ALL {
        assert!(raised.contains(reason), "{} is raised by no row", reason.as_str());
    }
}
