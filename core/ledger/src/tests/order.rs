//! The reason that is told when more than one thing is wrong (decision reason-order). Each list is in the order of
//! checks: every fault alone gives its reason, and of any two faults the earlier one gives its reason.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Party, World, hours, minutes, path_of, settled, text, with};
use crate::client::Signer;
use crypto::Secret;
use engine::runtime::Runtime;
use engine::time::{MINUTE, SECOND};

/// A fault: the reason that it gives, and how it is made.
type Fault<C> = (&'static str, fn(&mut C));

/// Sends a request without faults, then each fault alone, then each pair. The state of the earlier fault is made last,
/// so that it holds whatever the later one did.
fn judge<C>(make: impl Fn() -> C, send: impl Fn(&C) -> Result<Value, String>, faults: &[Fault<C>]) {
    send(&make()).unwrap();
    for (at, (reason, spoil)) in faults.iter().enumerate() {
        let mut alone = make();
        spoil(&mut alone);
        assert_eq!(send(&alone).unwrap_err(), *reason);
        for (later, spoil_more) in &faults[at + 1..] {
            let mut case = make();
            spoil_more(&mut case);
            spoil(&mut case);
            assert_eq!(send(&case).unwrap_err(), *reason, "with {later}");
        }
    }
}

/// An envelope that is being sent, with the agents that it may be about.
struct Case {
    world: World,
    schema: &'static str,
    /// The member that names the signer.
    signer: &'static str,
    by: Party,
    members: Value,
    forged: bool,
    /// Has 1,000 micro-credits.
    payer: Party,
    payee: Party,
    /// Registered, without a wallet.
    other: Party,
}

impl Case {
    /// The payer signs these members. Every possible signer has used the nonce `used` before.
    fn new(schema: &'static str, signer: &'static str, members: impl FnOnce(&World, &Party, &Party) -> Value) -> Case {
        let world = World::with(&[("faucet_per_address", "1")]);
        let (payer, payee, other) = (world.rich(1, 1_000), world.party(2), world.party(3));
        let members = members(&world, &payer, &payee);
        Case { by: payer.clone(), world, schema, signer, members, forged: false, payer, payee, other }
    }

    fn sign_as(&mut self, by: &Party) {
        self.members[self.signer] = json!(by.did());
        self.by = by.clone();
    }

    fn set(&mut self, changes: Value) {
        self.members = with(&self.members, changes);
    }

    /// The time `seconds` from now.
    fn at(&self, seconds: i64) -> String {
        self.world.rt.now().plus(seconds * SECOND).to_millis_text()
    }

    fn freeze_payer(&mut self) {
        self.world.admin("freeze", json!({ "did": self.payer.did(), "frozen": true })).unwrap();
    }

    fn cap(&mut self, caps: Value) {
        self.world.admin("cap", with(&json!({ "did": self.payer.did() }), caps)).unwrap();
    }

    /// Changes the provider's listing to this price.
    fn relist(&mut self, price: u64, active: bool) {
        let listing = with(&self.world.listing_of(&self.payee, "one.thing", price), json!({ "active": active }));
        self.world.act(&self.payee, "capability-list", listing).unwrap();
        self.members["price_micro"] = json!(price);
    }

    fn send(&self) -> Result<Value, String> {
        let mut body = self.world.body(&self.by, self.schema, self.members.clone());
        if self.forged {
            body["signature"] = json!(self.payer.signer.sign(&json!({ "something": "else" })));
        }
        self.world.post(self.schema, &body)
    }
}

fn malformed(case: &mut Case) {
    case.set(json!({ "owner": "somebody" }));
}

fn frozen_system(case: &mut Case) {
    case.world.admin("freeze_all", json!({ "frozen": true })).unwrap();
}

fn ghost() -> Party {
    Party { signer: Signer::new("svc", Secret::new([99; 32])), key: String::new() }
}

fn unknown_signer(case: &mut Case) {
    case.sign_as(&ghost());
}

fn no_did_of_a_signer(case: &mut Case) {
    case.set(json!({ case.signer: "nonsense" }));
}

fn forged(case: &mut Case) {
    case.forged = true;
}

fn expired(case: &mut Case) {
    case.set(json!({ "issued_at": case.at(-600), "expires_at": case.at(-1) }));
}

fn used_nonce(case: &mut Case) {
    case.set(json!({ "nonce": "used" }));
}

fn no_wallet(case: &mut Case) {
    let other = case.other.clone();
    case.sign_as(&other);
}

/// The checks of a wallet that pays. The caps are in the order in which an escrow checks them.
const WALLET: [Fault<Case>; 2] = [("sender_not_found", no_wallet), ("sender_frozen", Case::freeze_payer)];
const PER_TX: Fault<Case> = ("per_tx_cap_exceeded", |case| case.cap(json!({ "per_tx_cap_micro": 1 })));
const DAILY: Fault<Case> = ("daily_cap_exceeded", |case| case.cap(json!({ "daily_cap_micro": 1 })));
const ALLOWLIST: Fault<Case> = ("recipient_not_allowed", |case| case.cap(json!({ "allowlist": [] })));
const POOR: Fault<Case> = ("insufficient_balance", |case| case.set(json!({ "amount_micro": 5_000 })));

#[test]
fn the_order_of_checks_of_a_transfer() {
    let make = || {
        Case::new("credit-transfer", "from_did", |world, a, b| {
            world.act(a, "credit-transfer", with(&world.transfer_of(a, b, 1), json!({ "nonce": "used" }))).unwrap();
            world.transfer_of(a, b, 10)
        })
    };
    let of_the_other = |case: &Case| {
        // A refused transfer uses the nonce of an agent without a wallet.
        let members = with(&case.world.transfer_of(&case.other, &case.payee, 1), json!({ "nonce": "used" }));
        let _ = case.world.act(&case.other, "credit-transfer", members);
        case.send()
    };
    judge::<Case>(
        make,
        |case| if case.by.did() == case.other.did() { of_the_other(case) } else { case.send() },
        &[
            ("invalid_envelope", malformed),
            ("system_frozen", frozen_system),
            ("sender_pubkey_not_found", no_did_of_a_signer),
            ("sender_pubkey_not_found", unknown_signer),
            ("invalid_signature", forged),
            ("envelope_expired", expired),
            ("amount_out_of_range", |case| case.set(json!({ "amount_micro": 1_000_000_000_000_001_u64 }))),
            ("recipient_invalid_did", |case| case.set(json!({ "to_did": "nonsense" }))),
            ("nonce_seen", used_nonce),
            WALLET[0],
            WALLET[1],
            POOR,
            DAILY,
            PER_TX,
            ALLOWLIST,
        ],
    );
}

#[test]
fn the_order_of_checks_of_an_escrow() {
    let make = || {
        Case::new("escrow-open", "from_did", |world, a, b| {
            world.act(a, "escrow-open", with(&world.escrow_of(a, b, 1, hours(1)), json!({ "nonce": "used" }))).unwrap();
            world.escrow_of(a, b, 10, hours(1))
        })
    };
    judge::<Case>(
        make,
        Case::send,
        &[
            ("invalid_envelope", malformed),
            ("system_frozen", frozen_system),
            ("sender_pubkey_not_found", no_did_of_a_signer),
            ("sender_pubkey_not_found", unknown_signer),
            ("invalid_signature", forged),
            ("envelope_expired", expired),
            ("amount_out_of_range", |case| case.set(json!({ "amount_micro": 0 }))),
            ("recipient_invalid_did", |case| case.set(json!({ "to_did": "did:svc:nobody" }))),
            ("escrow_deadline_past", |case| case.set(json!({ "deadline_at": case.at(-1) }))),
            ("escrow_deadline_exceeds_max", |case| case.set(json!({ "deadline_at": case.at(8 * 86_400) }))),
            ("nonce_seen", |case| {
                let payer = case.payer.clone();
                case.sign_as(&payer);
                used_nonce(case);
            }),
            WALLET[0],
            WALLET[1],
            POOR,
            PER_TX,
            DAILY,
            ALLOWLIST,
        ],
    );
}

#[test]
fn the_order_of_checks_of_a_hire() {
    let make = || {
        Case::new("hire-request", "requester_did", |world, a, b| {
            let listing = world.list(b, "one.thing", 10);
            world.act(a, "hire-request", with(&world.hire_of(a, &listing), json!({ "nonce": "used" }))).unwrap();
            world.hire_of(a, &listing)
        })
    };
    judge::<Case>(
        make,
        Case::send,
        &[
            ("invalid_envelope", malformed),
            ("system_frozen", frozen_system),
            ("requester_pubkey_not_found", no_did_of_a_signer),
            ("requester_pubkey_not_found", unknown_signer),
            ("invalid_signature", forged),
            ("envelope_expired", expired),
            ("capability_not_found", |case| case.set(json!({ "capability_id": "undefined" }))),
            ("capability_inactive", |case| {
                let price = case.members["price_micro"].as_u64().unwrap();
                case.relist(price, false);
            }),
            ("capability_mismatch", |case| case.set(json!({ "capability": "other.thing" }))),
            ("provider_did_mismatch", |case| case.set(json!({ "provider_did": case.other.did() }))),
            ("self_hire_not_allowed", |case| {
                let payee = case.payee.clone();
                case.sign_as(&payee);
            }),
            ("price_mismatch", |case| case.set(json!({ "price_micro": 77 }))),
            ("amount_out_of_range", |case| case.relist(0, true)),
            WALLET[0],
            WALLET[1],
            ("insufficient_balance", |case| case.relist(5_000, true)),
            PER_TX,
            DAILY,
            ALLOWLIST,
            ("deadline_exceeds_escrow_max", |case| case.set(json!({ "delivery_deadline_hours": 169 }))),
            ("nonce_seen", used_nonce),
        ],
    );
}

#[test]
fn the_order_of_checks_of_a_claim() {
    let make = || {
        let mut case = Case::new("work-claim", "to_did", |world, a, b| {
            world
                .act(b, "work-claim", with(&world.claim_of(b, a, None, hours(1)), json!({ "nonce": "used" })))
                .unwrap();
            let escrow = world.open(a, b, 10, hours(24)).unwrap();
            world.claim_of(b, a, Some(&escrow), hours(1))
        });
        case.by = case.payee.clone();
        case
    };
    judge::<Case>(
        make,
        Case::send,
        &[
            ("invalid_envelope", malformed),
            ("system_frozen", frozen_system),
            ("provider_pubkey_not_found", no_did_of_a_signer),
            ("provider_pubkey_not_found", unknown_signer),
            ("invalid_signature", forged),
            ("requester_pubkey_not_found", |case| case.set(json!({ "from_did": "did:svc:nobody" }))),
            ("envelope_expired", expired),
            ("acceptance_window_too_short", |case| {
                let issued = case.members["issued_at"].as_str().map(|text| crate::Timestamp::parse(text).unwrap());
                let deadline = issued.unwrap_or(case.world.rt.now()).plus(MINUTE).to_millis_text();
                case.set(json!({ "acceptance_deadline_at": deadline }));
            }),
            ("acceptance_window_too_long", |case| case.set(json!({ "acceptance_deadline_at": case.at(8 * 86_400) }))),
            ("acceptance_deadline_past", |case| {
                case.set(json!({ "issued_at": case.at(-600), "acceptance_deadline_at": case.at(-1),
                    "expires_at": case.at(60) }));
            }),
            ("invalid_work_hash", |case| case.set(json!({ "work_hash": "x" }))),
            ("escrow_not_found", |case| case.set(json!({ "escrow_id": "undefined" }))),
            ("escrow_not_open", |case| {
                let escrow = text(&case.members, "escrow_id");
                case.world.release(&case.payer, &escrow).unwrap();
            }),
            ("escrow_did_mismatch", |case| case.set(json!({ "from_did": case.other.did() }))),
            ("acceptance_deadline_exceeds_escrow", |case| {
                case.set(json!({ "acceptance_deadline_at": case.at(24 * 3_600 + 31) }));
            }),
            ("nonce_seen", used_nonce),
            ("escrow_not_open", |case| {
                let escrow = text(&case.members, "escrow_id");
                case.world.claim(&case.payee, &case.payer, &escrow, hours(1), true).unwrap();
            }),
        ],
    );
}

#[test]
fn the_order_of_checks_of_an_acceptance() {
    let make = || {
        Case::new("work-acceptance", "signer_did", |world, a, b| {
            let escrow = world.open(a, b, 10, hours(24)).unwrap();
            let receipt = world.claim(b, a, &escrow, minutes(5), true).unwrap();
            json!({ "receipt_id": receipt, "signer_did": a.did(), "action": "accept" })
        })
    };
    judge::<Case>(
        make,
        Case::send,
        &[
            ("invalid_envelope", malformed),
            ("system_frozen", frozen_system),
            ("receipt_not_found", |case| case.set(json!({ "receipt_id": "undefined" }))),
            ("receipt_not_pending", |case| case.world.wait(minutes(6))),
            ("receipt_signer_not_authorized", |case| {
                let payee = case.payee.clone();
                case.sign_as(&payee);
            }),
            ("requester_pubkey_not_found", |case| {
                case.world.send("DELETE", "/v1/agent/deactivate", Some(&case.payer.key), &Value::Null);
            }),
            ("invalid_signature", |case| {
                case.forged = true;
            }),
            ("envelope_expired", expired),
            ("dispute_reason_required", |case| case.set(json!({ "action": "dispute" }))),
        ],
    );
}

#[test]
fn the_order_of_checks_of_the_end_of_an_escrow() {
    for schema in ["escrow-release", "escrow-refund"] {
        let make = || {
            Case::new(
                schema,
                "signer_did",
                |world, a, b| json!({ "escrow_id": world.open(a, b, 10, hours(24)).unwrap(), "signer_did": a.did() }),
            )
        };
        let last: Fault<Case> = match schema {
            "escrow-release" => ("sender_frozen", Case::freeze_payer),
            _ => ("claim_pending", |case| {
                let escrow = text(&case.members, "escrow_id");
                case.world.claim(&case.payee, &case.payer, &escrow, hours(1), true).unwrap();
            }),
        };
        judge::<Case>(
            make,
            Case::send,
            &[
                ("invalid_envelope", malformed),
                ("system_frozen", frozen_system),
                ("sender_pubkey_not_found", no_did_of_a_signer),
                ("sender_pubkey_not_found", unknown_signer),
                ("invalid_signature", forged),
                ("envelope_expired", expired),
                ("escrow_not_found", |case| case.set(json!({ "escrow_id": "undefined" }))),
                ("escrow_signer_not_authorized", |case| {
                    let payee = case.payee.clone();
                    case.sign_as(&payee);
                }),
                ("escrow_not_open", |case| {
                    let escrow = case.members["escrow_id"].clone();
                    case.world.admin("escrow_refund", json!({ "escrow_id": escrow })).unwrap();
                }),
                last,
            ],
        );
    }
}

#[test]
fn the_order_of_checks_of_a_listing() {
    let make = || {
        let mut case = Case::new("capability-list", "provider_did", |world, _, b| {
            world
                .act(b, "capability-list", with(&world.listing_of(b, "one.thing", 1), json!({ "nonce": "used" })))
                .unwrap();
            world.listing_of(b, "another.thing", 1)
        });
        case.by = case.payee.clone();
        case
    };
    judge::<Case>(
        make,
        Case::send,
        &[
            ("invalid_envelope", malformed),
            ("system_frozen", frozen_system),
            ("provider_pubkey_not_found", no_did_of_a_signer),
            ("provider_pubkey_not_found", unknown_signer),
            ("invalid_signature", forged),
            ("envelope_expired", expired),
            ("amount_out_of_range", |case| case.set(json!({ "price_per_call_micro": 100_000_000_001_u64 }))),
            ("nonce_seen", used_nonce),
        ],
    );
}

#[test]
fn the_order_of_checks_of_the_faucet() {
    let make = || {
        let mut case = Case::new("pay-faucet", "did", |_, _, _| json!({}));
        let other = case.other.clone();
        case.sign_as(&other);
        case
    };
    judge::<Case>(
        make,
        Case::send,
        &[
            ("invalid_envelope", malformed),
            ("system_frozen", frozen_system),
            ("faucet_disabled", |case| {
                case.world.admin("freeze_all", json!({ "frozen": false, "faucet_disabled": true })).unwrap();
            }),
            ("agent_pubkey_not_found", no_did_of_a_signer),
            ("agent_pubkey_not_found", unknown_signer),
            ("invalid_signature", forged),
            ("envelope_expired", expired),
            ("already_claimed", |case| {
                // The wallet is frozen only after the grant.
                let frozen = case.world.wallet(&case.other).is_some_and(|wallet| wallet.frozen);
                let freeze = |frozen: bool| {
                    case.world.admin("freeze", json!({ "did": case.other.did(), "frozen": frozen })).unwrap();
                };
                if frozen {
                    freeze(false);
                }
                let body = case.world.body(&case.other, "pay-faucet", json!({ "did": case.other.did() }));
                let elsewhere = Some([192, 0, 2, 1].into());
                let path = path_of("pay-faucet");
                settled(case.world.send_bytes("POST", path, None, Bytes::from(body.to_string()), elsewhere)).unwrap();
                if frozen {
                    freeze(true);
                }
            }),
            ("ip_rate_limit_exceeded", |case| {
                case.world.act(&case.payee, "pay-faucet", json!({ "did": case.payee.did() })).unwrap();
            }),
            ("sender_frozen", |case| {
                case.world.send("POST", "/v1/pay/wallet", None, &json!({ "did": case.other.did() }));
                case.world.admin("freeze", json!({ "did": case.other.did(), "frozen": true })).unwrap();
            }),
        ],
    );
}

/// An action of an operator.
struct Order {
    world: World,
    by: Signer,
    keyid: String,
    members: Value,
    forged: bool,
}

#[test]
fn the_order_of_checks_of_an_operators_action() {
    let make = || {
        let world = World::new();
        let a = world.rich(1, 1);
        let by = Signer::new("svc", Secret::new([71; 32]));
        let keyid = world.admin_key(&by, "freeze");
        let used = json!({ "did": a.did(), "frozen": false, "action_nonce": "used" });
        world.admin_by(&by, &keyid, "freeze", used).unwrap();
        Order { members: json!({ "did": a.did(), "frozen": true }), world, by, keyid, forged: false }
    };
    let send = |order: &Order| {
        let action = if order.members.get("amount_micro").is_some() { "grant" } else { "freeze" };
        let members = with(&order.members, json!({ "action": action }));
        let audience = &order.world.rt.environment().deployment;
        let mut body = order.by.action(&order.keyid, audience, &order.world.nonce(), order.world.rt.now(), members);
        if order.forged {
            body["signature_base64"] = json!(order.by.sign(&json!({})));
        }
        settled(order.world.send("POST", &format!("/v1/pay/admin/{action}"), None, &body))
    };
    judge::<Order>(
        make,
        send,
        &[
            ("admin_invalid_body", |order| order.members["owner"] = json!("somebody")),
            ("admin_key_not_found", |order| order.keyid = "0".repeat(16)),
            ("admin_signature_invalid", |order| order.forged = true),
            ("admin_expired", |order| {
                let now = order.world.rt.now();
                order.members["valid_until_ts"] = json!(now.plus(-SECOND).to_millis_text());
            }),
            ("admin_window_too_long", |order| {
                let now = order.world.rt.now();
                order.members["issued_at"] = json!(now.plus(-10 * MINUTE).to_millis_text());
                order.members["valid_until_ts"] = json!(now.plus(MINUTE).to_millis_text());
            }),
            // The DID stays the same, so that only the action changes.
            ("admin_role_not_authorized", |order| {
                order.members["amount_micro"] = json!(1);
                order.members.as_object_mut().unwrap().remove("frozen");
            }),
            ("admin_nonce_seen", |order| order.members["action_nonce"] = json!("used")),
            ("wallet_not_found", |order| order.members["did"] = json!("did:svc:nobody")),
        ],
    );
}
