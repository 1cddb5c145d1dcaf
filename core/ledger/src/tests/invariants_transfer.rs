//! The invariants of transfers, by number. T12 and T13 are tested over HTTP with many connections, and T2 beside the
//! other windows.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Party, World, hours, refused, settled, text, with};
use crate::book::{DAILY_CAP, PER_TX_CAP};
use crate::rows::{EVENTS, KEYS, KeyRow, WALLETS};
use crate::submit::{Answer, NamedKey, SubmissionResult, Submit};
use crypto::signing;
use engine::actor::{ActorId, Call, Kind, decode, host};
use engine::kv::fault::{FaultyStore, When, WriteFault};
use engine::kv::{MemoryStore, Store};
use engine::runtime::Runtime;
use relay::testing::TestRuntime;

/// One good envelope of every kind: schema, signer, members.
pub(super) fn every_kind<'a>(world: &World, a: &'a Party, b: &'a Party) -> Vec<(&'static str, &'a Party, Value)> {
    let listing = world.list(b, "one.thing", 10);
    let [escrow, claimed] = [(); 2].map(|()| world.open(a, b, 10, hours(2)).unwrap());
    let receipt = world.claim(b, a, &claimed, hours(1), true).unwrap();
    let close = json!({ "escrow_id": escrow, "signer_did": a.did() });
    let acceptance = json!({ "receipt_id": receipt, "signer_did": a.did(), "action": "accept", "rating": 4,
        "feedback": "fine" });
    vec![
        ("credit-transfer", a, with(&world.transfer_of(a, b, 5), json!({ "memo": "words" }))),
        ("batch-transfer", a, json!({ "from_did": a.did(), "items": [{ "to_did": b.did(), "amount_micro": 5 }] })),
        ("escrow-open", a, with(&world.escrow_of(a, b, 5, hours(2)), json!({ "memo": "words" }))),
        ("escrow-release", a, close.clone()),
        ("escrow-refund", a, with(&close, json!({ "reason": "words" }))),
        ("capability-list", b, with(&world.listing_of(b, "another.thing", 10), json!({ "tags": "[]" }))),
        ("hire-request", a, with(&world.hire_of(a, &listing), json!({ "input_json": "{}" }))),
        ("work-claim", b, world.claim_of(b, a, Some(&escrow), hours(1))),
        ("work-acceptance", a, acceptance),
        ("pay-faucet", b, json!({ "did": b.did() })),
    ]
}

/// Another value of the same form.
fn another(name: &str, value: &Value, stranger: &Party) -> Value {
    match value {
        Value::Bool(flag) => json!(!flag),
        Value::Array(items) => json!([items.as_slice(), items.as_slice()].concat()),
        Value::Number(number) => json!(number.as_i64().unwrap() + 1),
        Value::String(text) if name.ends_with("_at") => json!(text.replace(".000Z", ".001Z")),
        Value::String(_) if name == "did" || name.ends_with("_did") => json!(stranger.did()),
        Value::String(_) if name == "work_hash" => json!("cd".repeat(32)),
        Value::String(_) if ["escrow_id", "receipt_id", "capability_id"].contains(&name) => {
            json!("00000000-0000-4000-8000-000000000000")
        }
        Value::String(_) if name == "action" => json!("dispute"),
        Value::String(_) if name == "tags" => json!("[\"x\"]"),
        Value::String(text) => json!(format!("{text}x")),
        other => panic!("no member is {other}"),
    }
}

#[test]
fn t1_whatever_is_changed_after_signing_is_an_invalid_signature_and_changes_nothing() {
    let world = World::new();
    let (a, b, c) = (world.rich(1, 1_000), world.party(2), world.party(3));
    let kinds = every_kind(&world, &a, &b);
    let before = world.rt.rows(&ActorId::sole(Kind::Ledger));
    for (schema, by, members) in &kinds {
        let body = world.body(by, schema, members.clone());
        for (name, value) in body["envelope"].as_object().unwrap().iter().filter(|(name, _)| *name != "schema") {
            let mut changed = body.clone();
            changed["envelope"][name] = another(name, value, &c);
            assert_ne!(changed, body, "{name}");
            // For an acceptance the receipt is checked first.
            let reason = match (*schema, name.as_str()) {
                ("work-acceptance", "receipt_id") => "receipt_not_found",
                ("work-acceptance", "signer_did") => "receipt_signer_not_authorized",
                _ => "invalid_signature",
            };
            assert_eq!(world.post(schema, &changed).unwrap_err(), reason, "{schema} {name}");
        }
        for wrong in [by.signer.sign(&json!({})), c.signer.sign(&body["envelope"])] {
            refused(
                world.post(schema, &json!({ "envelope": body["envelope"], "signature": wrong })),
                "invalid_signature",
            );
        }
    }
    assert!(world.rt.rows(&ActorId::sole(Kind::Ledger)) == before, "a refused signature left something behind");
    // None of these requests used the nonce of the envelope that it was made from. Release and refund are about one
    // escrow, so only one of them would work, and both are left out.
    for (schema, by, members) in
        kinds.into_iter().filter(|(schema, ..)| !["escrow-release", "escrow-refund"].contains(schema))
    {
        world.act(by, schema, members).unwrap_or_else(|reason| panic!("{schema}: {reason}"));
    }
}

#[test]
fn t3_one_row_per_sender_and_nonce_whatever_else_is_signed_with_it() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.rich(2, 1_000));
    let pay = |from: &Party, to: &Party, micro: u64, nonce: &str| {
        world.act(from, "credit-transfer", with(&world.transfer_of(from, to, micro), json!({ "nonce": nonce })))
    };
    pay(&a, &b, 5, "one").unwrap();
    refused(pay(&a, &b, 5, "one"), "nonce_seen");
    refused(pay(&a, &b, 6, "one"), "nonce_seen");
    pay(&b, &a, 5, "one").unwrap();
    // A refused transfer was recorded, so its nonce is used.
    refused(pay(&a, &b, 10_000, "two"), "insufficient_balance");
    refused(pay(&a, &b, 5, "two"), "nonce_seen");
    assert_eq!((world.transfers().len(), world.money(&a)), (3, (1_000, 0)));
}

#[test]
fn t4_each_missing_condition_of_a_settlement_has_its_own_reason() {
    let world = World::new();
    let (a, b, c) = (world.rich(1, 1_000), world.party(2), world.party(3));
    refused(world.pay(&c, &b, 1), "sender_not_found");
    refused(world.pay(&a, &b, 1_001), "insufficient_balance");
    world.admin("freeze", json!({ "did": a.did(), "frozen": true })).unwrap();
    refused(world.pay(&a, &b, 1), "sender_frozen");
    world.admin("freeze", json!({ "did": a.did(), "frozen": false })).unwrap();
    world.admin("freeze_all", json!({ "frozen": true })).unwrap();
    refused(world.pay(&a, &b, 1), "system_frozen");
    world.admin("freeze_all", json!({ "frozen": false })).unwrap();
    world.pay(&a, &b, 1_000).unwrap();
    assert_eq!((world.money(&a), world.money(&b)), ((0, 0), (1_000, 0)));
}

/// Decision cap-window: a payment that is exactly 24 hours old still counts.
#[test]
fn t5_rolling_cap_counts_exactly_24_hours_and_not_a_microsecond_more() {
    let world = World::new();
    let (a, b) = (world.rich(1, 10_000), world.party(2));
    world.admin("cap", json!({ "did": a.did(), "daily_cap_micro": 100 })).unwrap();
    // The payment is half a minute before midnight, so that a cap by calendar days would forget it.
    world.wait(hours(24) - Duration::from_secs(30));
    let paid = world.pay(&a, &b, 100).unwrap();
    assert_eq!(text(&paid, "settled_at"), world.rt.now().to_micros_text());
    world.wait(Duration::from_secs(60));
    refused(world.pay(&a, &b, 1), "daily_cap_exceeded");
    world.wait(hours(24) - Duration::from_secs(60) - Duration::from_micros(1));
    refused(world.pay(&a, &b, 1), "daily_cap_exceeded");
    world.wait(Duration::from_micros(1));
    refused(world.pay(&a, &b, 1), "daily_cap_exceeded");
    world.wait(Duration::from_micros(1));
    refused(world.pay(&a, &b, 101), "daily_cap_exceeded");
    world.pay(&a, &b, 100).unwrap();
    assert_eq!(world.money(&b), (200, 0));
}

#[test]
fn t6_the_cap_of_one_payment_passes_when_it_is_met_exactly() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    world.admin("cap", json!({ "did": a.did(), "per_tx_cap_micro": 50 })).unwrap();
    refused(world.pay(&a, &b, 51), "per_tx_cap_exceeded");
    world.pay(&a, &b, 50).unwrap();
    assert_eq!(world.money(&b), (50, 0));
}

#[test]
fn t7_a_wallet_with_an_allowlist_pays_nobody_else_and_one_without_pays_anybody() {
    let world = World::new();
    let (a, b, c) = (world.rich(1, 1_000), world.party(2), world.party(3));
    for (list, to_b, to_c) in
        [(json!([b.did()]), true, false), (json!([]), false, false), (json!([b.did(), c.did()]), true, true)]
    {
        world.admin("cap", json!({ "did": a.did(), "allowlist": list })).unwrap();
        for (to, allowed) in [(&b, to_b), (&c, to_c)] {
            let paid = world.pay(&a, to, 1).map(|_| ());
            assert_eq!(paid, if allowed { Ok(()) } else { Err("recipient_not_allowed".to_owned()) });
        }
    }
    world.admin("cap", json!({ "did": a.did(), "allowlist": "none" })).unwrap();
    world.pay(&a, &c, 1).unwrap();
}

/// Decision registered-recipients: the settlement of a transfer makes the wallet, and a refused transfer never does.
#[test]
fn t8_the_wallet_of_a_recipient_is_made_with_the_usual_caps_and_an_audit_row() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    refused(world.pay(&a, &b, 2_000), "insufficient_balance");
    refused(
        world.act(&a, "credit-transfer", with(&world.transfer_of(&a, &b, 1), json!({ "to_did": "did:svc:" }))),
        "recipient_invalid_did",
    );
    assert!(world.wallet(&b).is_none() && world.events(&b).is_empty());
    world.pay(&a, &b, 7).unwrap();
    let made = world.wallet(&b).unwrap();
    assert_eq!((made.balance, made.locked, made.daily_cap, made.per_tx_cap), (7, 0, DAILY_CAP, PER_TX_CAP));
    assert!(!made.frozen && made.allowlist.is_none() && made.lasting);
    assert_eq!(world.events(&b), [(a.name(), "transfer", 7, true)]);
    world.pay(&a, &b, 1).unwrap();
    assert_eq!(world.events(&b)[1..], [(a.name(), "transfer", 1, false)]);
}

#[test]
fn t9_an_amount_is_at_least_one_micro_and_at_most_ten_to_the_fifteen() {
    let world = World::new();
    let most = 1_000_000_000_000_000_u64;
    let (a, b) = (world.rich(1, most), world.rich(2, 1));
    world.admin("grant", json!({ "did": a.did(), "amount_micro": 1 })).unwrap();
    for amount in [json!(0), json!(-1), json!(most + 1), json!(-9_007_199_254_740_991_i64)] {
        let members = with(&world.transfer_of(&a, &b, 1), json!({ "amount_micro": amount }));
        refused(world.act(&a, "credit-transfer", members), "amount_out_of_range");
    }
    world.pay(&a, &b, most).unwrap();
    // The daily cap is no larger.
    world.wait(hours(25));
    world.pay(&a, &b, 1).unwrap();
    assert_eq!((world.money(&a), world.money(&b)), ((0, 0), (most + 2, 0)));
}

/// An envelope whose signature was verified, as a handler hands it to the ledger.
pub(super) fn submission(world: &World, by: &Party, other: Option<&Party>, schema: &str, members: Value) -> Submit {
    let known = |party: &Party| {
        let row = KEYS.get(&world.store(), &(party.name(),)).unwrap();
        let first = KeyRow::of(1, Some(signing::signing_public_key(&party.signer.seed)), true);
        NamedKey { name: party.name(), row: row.unwrap_or(first) }
    };
    let envelope = world.body(by, schema, members)["envelope"].clone();
    Submit {
        canonical: envelope.to_string().into_bytes(),
        signature: vec![0; 64],
        signer: known(by),
        others: other.map(known).into_iter().collect(),
        claimant: None,
        repeat: None,
    }
}

/// The ledger's answer to it on these rows, and the batch to write.
pub(super) fn perform(rt: &TestRuntime, store: &MemoryStore, submit: &Submit) -> (Answer, engine::kv::Batch) {
    let actor = ActorId::sole(Kind::Ledger);
    let settings = &rt.environment().settings;
    let space = host::Space {
        program: &crate::testing::PROGRAM,
        actor: &actor,
        rows: store,
        now: rt.now(),
        seed: [1; 32],
        settings,
    };
    let outcome = host::perform(&space, &Call::operation("main", submit).unwrap());
    (decode(&outcome.reply.unwrap()).unwrap(), outcome.batch)
}

#[test]
fn t10_a_write_that_fails_leaves_neither_balance_nor_row_and_one_that_is_not_acknowledged_all_of_them() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.rich(2, 1_000));
    world.pay(&a, &b, 100).unwrap();
    let submit = submission(&world, &a, None, "credit-transfer", world.transfer_of(&a, &b, 300));
    let store = world.store();
    let (answer, batch) = perform(&world.rt, &store, &submit);
    let Answer::Done(SubmissionResult::Transfer(id, _)) = answer else { panic!("{answer:?}") };
    let state = |store: &FaultyStore<MemoryStore>| {
        let balance = |party: &Party| WALLETS.get(store, &(party.name(),)).unwrap().unwrap().balance;
        (balance(&a), balance(&b), EVENTS.contains(store, &(id,)).unwrap())
    };
    for (fault, expected) in [(WriteFault::Lost, (900, 1_100, false)), (WriteFault::Unacknowledged, (600, 1_400, true))]
    {
        let mut store = FaultyStore::new(store.clone());
        store.fail(When::Nth(0), fault);
        assert_eq!(state(&store), (900, 1_100, false));
        store.apply(batch.clone()).unwrap_err();
        assert_eq!(state(&store), expected);
        store.heal();
        // A client that got no answer sends it again.
        let (again, batch) = perform(&world.rt, &store.inner, &submit);
        assert_eq!(matches!(again, Answer::Done(_)), fault == WriteFault::Lost);
        store.apply(batch).unwrap();
        assert_eq!(state(&store), (600, 1_400, true));
    }
}

#[test]
fn t11_every_refused_transfer_leaves_one_row_with_its_reason_that_stays() {
    let world = World::new();
    let (a, b, c) = (world.rich(1, 1_000), world.party(2), world.party(3));
    world
        .admin(
            "cap",
            json!({ "did": a.did(), "daily_cap_micro": 500, "per_tx_cap_micro": 400, "allowlist": [b.did()] }),
        )
        .unwrap();
    let mut refusals = Vec::new();
    let mut attempt = |by: &Party, changes: Value, reason: &str| {
        let body = world.body(by, "credit-transfer", with(&world.transfer_of(by, &b, 1), changes));
        let (status, answer) = world.send("POST", "/v1/pay/transfer", None, &body);
        assert!(status != 200 && answer["reason"] == reason, "{answer}");
        refusals.push((text(&answer, "transfer_id"), reason.to_owned()));
    };
    attempt(&a, json!({ "amount_micro": 0 }), "amount_out_of_range");
    attempt(&a, json!({ "to_did": "did:svc:nobody.at.all" }), "recipient_invalid_did");
    attempt(&b, json!({ "to_did": a.did() }), "sender_not_found");
    attempt(&a, json!({ "amount_micro": 1_001 }), "insufficient_balance");
    attempt(&a, json!({ "amount_micro": 501 }), "daily_cap_exceeded");
    attempt(&a, json!({ "amount_micro": 401 }), "per_tx_cap_exceeded");
    attempt(&a, json!({ "to_did": c.did() }), "recipient_not_allowed");
    world.admin("freeze", json!({ "did": a.did(), "frozen": true })).unwrap();
    attempt(&a, json!({}), "sender_frozen");
    assert_eq!(world.transfers().len(), refusals.len());
    world.wait(hours(100 * 24));
    for (id, reason) in &refusals {
        let row = world.get(&format!("/v1/pay/transfer/{id}"))["transfer"].clone();
        assert_eq!((text(&row, "status"), text(&row, "reason")), ("failed".to_owned(), reason.clone()));
    }
    let listed = world.get(&format!("/v1/pay/history/{}?limit=200", a.did()))["transfers"].as_array().unwrap().len();
    assert_eq!(listed, refusals.len() - 1);
    // A request that was refused before it reached the ledger leaves no row, because its sender is not proved.
    let mut forged = world.body(&a, "credit-transfer", world.transfer_of(&a, &b, 1));
    forged["envelope"]["amount_micro"] = json!(2);
    refused(settled(world.send("POST", "/v1/pay/transfer", None, &forged)), "invalid_signature");
    assert_eq!(world.transfers().len(), refusals.len());
}

#[test]
fn t14_a_settled_transfer_is_readable_from_its_answer_on_also_after_a_restart() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let paid = world.pay(&a, &b, 5).unwrap();
    let id = text(&paid, "transfer_id");
    let read = |world: &World| world.get(&format!("/v1/pay/transfer/{id}"));
    let first = read(&world);
    for name in ["status", "settled_at", "envelope_hash", "sender_new_balance_micro", "recipient_new_balance_micro"] {
        assert_eq!(first[name], paid[name], "{name}");
    }
    let world = world.restarted();
    assert_eq!(read(&world), first);
    let (_, event) = world.transfers().remove(0);
    assert_eq!([&a, &b].map(|party| event.change(&party.name()).unwrap().balance_after), [995, 5]);
}
