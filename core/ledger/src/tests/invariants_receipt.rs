//! The invariants of claims and acceptances, by number.

use std::time::Duration;

use serde_json::{Value, json};

use super::invariants_transfer::{perform, submission};
use super::{Party, World, hours, minutes, refused, text, with};
use crate::hire::{HIRES, HireState};
use crate::reason::Reason;
use crate::receipt::{RECEIPTS, RECEIPTS_FROM, RECEIPTS_OF, RECEIPTS_TO};
use crate::rows::DUE;
use crate::submit::{Answer, RefusalFacts};
use engine::runtime::Runtime;

/// A requester with 1,000 micro-credits, a provider, an escrow of 100 between them for a day.
fn scene() -> (World, Party, Party, String) {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let escrow = world.open(&a, &b, 100, hours(24)).unwrap();
    (world, a, b, escrow)
}

/// Claims work without an escrow, with changed members.
fn alone(world: &World, by: &Party, of: &Party, changes: Value) -> Result<Value, String> {
    world.act(by, "work-claim", with(&world.claim_of(by, of, None, hours(1)), changes))
}

/// Answers a receipt with changed members.
fn answer(world: &World, by: &Party, receipt: &str, changes: Value) -> Result<Value, String> {
    let members = json!({ "receipt_id": receipt, "signer_did": by.did(), "action": "accept" });
    world.act(by, "work-acceptance", with(&members, changes))
}

fn windows(world: &World) -> [(Value, &'static str); 3] {
    let at = |seconds: i64| world.rt.now().plus(seconds * 1_000_000).to_millis_text();
    [(-600, -1, "envelope_expired"), (31, 600, "envelope_not_yet_valid"), (0, 3_601, "envelope_window_too_long")]
        .map(|(issued, expires, reason)| (json!({ "issued_at": at(issued), "expires_at": at(expires) }), reason))
}

/// Decision reason-order, for acceptances too.
#[test]
fn r1_nothing_is_claimed_or_answered_while_the_system_is_frozen() {
    let (world, a, b, escrow) = scene();
    let receipt = text(&alone(&world, &b, &a, json!({})).unwrap(), "receipt_id");
    world.admin("freeze_all", json!({ "frozen": true })).unwrap();
    refused(world.claim(&b, &a, &escrow, hours(1), true), "system_frozen");
    refused(answer(&world, &a, &receipt, json!({})), "system_frozen");
    refused(answer(&world, &a, "undefined", json!({})), "system_frozen");
    world.admin("freeze_all", json!({ "frozen": false })).unwrap();
    world.claim(&b, &a, &escrow, hours(1), true).unwrap();
    answer(&world, &a, &receipt, json!({})).unwrap();
}

#[test]
fn r2_a_claim_needs_a_provider_with_an_active_key() {
    let (world, a, b, _) = scene();
    let ghost = Party { signer: world.operator.clone(), key: String::new() };
    refused(alone(&world, &ghost, &a, json!({})), "provider_pubkey_not_found");
    alone(&world, &b, &a, json!({})).unwrap();
    world.send("DELETE", "/v1/agent/deactivate", Some(&b.key), &Value::Null);
    refused(alone(&world, &b, &a, json!({})), "provider_pubkey_not_found");
}

#[test]
fn r3_a_claim_is_signed_by_its_provider() {
    let (world, a, b, escrow) = scene();
    let envelope = world.body(&b, "work-claim", world.claim_of(&b, &a, Some(&escrow), hours(1)))["envelope"].clone();
    refused(world.post("work-claim", &a.signer.body(&envelope)), "invalid_signature");
    world.post("work-claim", &b.signer.body(&envelope)).unwrap();
}

/// Decision deactivated-wallets: open escrows run out by the rules. A requester that hires and leaves does not take the
/// pay for the work along.
#[test]
fn r4_a_requester_who_left_was_registered_and_can_be_claimed_from() {
    let (world, a, b, escrow) = scene();
    world.send("DELETE", "/v1/agent/deactivate", Some(&a.key), &Value::Null);
    world.claim(&b, &a, &escrow, hours(1), true).unwrap();
    world.wait(hours(2));
    assert_eq!(world.escrow(&escrow), "released");
}

#[test]
fn r4_the_requester_of_a_claim_is_a_registered_agent() {
    let (world, a, b, _) = scene();
    for nobody in ["did:svc:nobody", "did:web:x", "nonsense"] {
        refused(alone(&world, &b, &a, json!({ "from_did": nobody })), "requester_pubkey_not_found");
    }
    alone(&world, &b, &a, json!({})).unwrap();
}

#[test]
fn r5_a_claim_is_made_within_its_window() {
    let (world, a, b, _) = scene();
    for (window, reason) in windows(&world) {
        refused(alone(&world, &b, &a, window), reason);
    }
}

/// Decision deadline-skew: the skew of clocks widens the upper bound.
#[test]
fn r6_the_requester_has_from_five_minutes_to_a_week_to_look_at_the_work() {
    let (world, a, b, _) = scene();
    let milli = Duration::from_millis(1);
    let week = hours(7 * 24) + Duration::from_secs(30);
    let claim = |window: Duration| world.act(&b, "work-claim", world.claim_of(&b, &a, None, window));
    refused(claim(minutes(5) - milli), "acceptance_window_too_short");
    refused(claim(week + milli), "acceptance_window_too_long");
    claim(minutes(5)).unwrap();
    claim(week).unwrap();
    // The window is counted from the time at which the claim was issued, and must not be over yet.
    let at = |seconds: i64| world.rt.now().plus(seconds * 1_000_000).to_millis_text();
    let late = json!({ "issued_at": at(-600), "expires_at": at(60), "acceptance_deadline_at": at(0) });
    refused(alone(&world, &b, &a, late), "acceptance_deadline_past");
}

#[test]
fn r7_a_work_hash_is_64_hexadecimal_digits_and_kept_in_lower_case() {
    let (world, a, b, _) = scene();
    for wrong in ["", "ab", &"ab".repeat(31), &"ab".repeat(33), &"xy".repeat(32), &format!("{}é", "a".repeat(62))] {
        refused(alone(&world, &b, &a, json!({ "work_hash": wrong })), "invalid_work_hash");
    }
    let claimed = alone(&world, &b, &a, json!({ "work_hash": "AbCd".repeat(16) })).unwrap();
    assert_eq!(world.receipt(&text(&claimed, "receipt_id"))["work_hash"], "abcd".repeat(16));
}

/// Decision one-claim-at-a-time: one claim at a time.
#[test]
fn r8_a_linked_escrow_is_open_between_the_same_two_and_has_no_other_claim() {
    let (world, a, b, escrow) = scene();
    let c = world.party(3);
    for unknown in ["undefined", "00000000-0000-4000-8000-000000000000"] {
        refused(world.claim(&b, &a, unknown, hours(1), true), "escrow_not_found");
    }
    refused(world.claim(&c, &a, &escrow, hours(1), true), "escrow_did_mismatch");
    refused(world.claim(&b, &c, &escrow, hours(1), true), "escrow_did_mismatch");
    let [released, refunded] = [(); 2].map(|()| world.open(&a, &b, 10, hours(24)).unwrap());
    world.release(&a, &released).unwrap();
    world.refund(&a, &refunded).unwrap();
    for closed in [&released, &refunded] {
        refused(world.claim(&b, &a, closed, hours(1), true), "escrow_not_open");
    }
    world.claim(&b, &a, &escrow, hours(1), true).unwrap();
    refused(world.claim(&b, &a, &escrow, hours(1), true), "escrow_not_open");
}

/// Decision deadline-skew: within the skew of clocks the signed deadline is shown, and the escrow's deadline counts.
#[test]
fn r9_an_acceptance_deadline_is_not_after_that_of_the_escrow() {
    let (world, a, b, escrow) = scene();
    let (day, skew) = (hours(24), Duration::from_secs(30));
    refused(
        world.claim(&b, &a, &escrow, day + skew + Duration::from_millis(1), true),
        "acceptance_deadline_exceeds_escrow",
    );
    let receipt = world.claim(&b, &a, &escrow, day + skew, true).unwrap();
    let signed = world.rt.now().plus_duration(day + skew).to_millis_text();
    assert_eq!(text(&world.receipt(&receipt), "acceptance_deadline_at"), signed);
    world.wait(day + Duration::from_micros(1));
    assert_eq!((world.escrow(&escrow).as_str(), world.money(&b)), ("released", (100, 0)));
}

#[test]
fn r10_a_nonce_makes_one_receipt_of_a_provider() {
    let (world, a, b, _) = scene();
    let nonce = json!({ "nonce": "the-one" });
    alone(&world, &b, &a, nonce.clone()).unwrap();
    refused(alone(&world, &b, &a, nonce.clone()), "nonce_seen");
    refused(alone(&world, &b, &a, with(&nonce, json!({ "summary": "else" }))), "nonce_seen");
    alone(&world, &a, &b, nonce).unwrap();
    assert_eq!(world.rows(&RECEIPTS).len(), 2);
}

#[test]
fn r11_free_texts_have_at_most_280_characters() {
    let (world, a, b, _) = scene();
    let claimed = alone(&world, &b, &a, json!({ "summary": "é".repeat(280) })).unwrap();
    let receipt = text(&claimed, "receipt_id");
    refused(alone(&world, &b, &a, json!({ "summary": "é".repeat(281) })), "invalid_envelope");
    let dispute = json!({ "action": "dispute", "dispute_reason": "x" });
    for name in ["feedback", "dispute_reason"] {
        refused(answer(&world, &a, &receipt, with(&dispute, json!({ name: "é".repeat(281) }))), "invalid_envelope");
    }
    let most = json!({ "feedback": "é".repeat(280), "dispute_reason": "é".repeat(280) });
    answer(&world, &a, &receipt, with(&dispute, most)).unwrap();
    for (schema, name) in [("credit-transfer", "memo"), ("escrow-open", "memo"), ("escrow-refund", "reason")] {
        let members = match schema {
            "credit-transfer" => world.transfer_of(&a, &b, 1),
            "escrow-open" => world.escrow_of(&a, &b, 1, hours(1)),
            _ => json!({ "escrow_id": world.open(&a, &b, 1, hours(1)).unwrap(), "signer_did": a.did() }),
        };
        refused(world.act(&a, schema, with(&members, json!({ name: "é".repeat(281) }))), "invalid_envelope");
        world.act(&a, schema, with(&members, json!({ name: "é".repeat(280) }))).unwrap();
    }
}

#[test]
fn r12_a_claim_writes_all_its_rows_or_none() {
    let (world, a, b, _) = scene();
    let hired = world.hire(&a, &world.list(&b, "one.thing", 10)).unwrap();
    let escrow = text(&hired, "escrow_id");
    let state = |world: &World| {
        let hire = world.rows(&HIRES).remove(0).1;
        let indices =
            [world.rows(&RECEIPTS_FROM).len(), world.rows(&RECEIPTS_TO).len(), world.rows(&RECEIPTS_OF).len()];
        (world.rows(&RECEIPTS).len(), indices, world.rows(&DUE).len(), hire.state, hire.receipt.is_some())
    };
    let before = state(&world);
    assert_eq!((before.0, before.3, before.4), (0, HireState::Requested, false));
    refused(alone(&world, &b, &a, json!({ "escrow_id": escrow, "work_hash": "x" })), "invalid_work_hash");
    refused(world.claim(&b, &a, &escrow, hours(30), true), "acceptance_deadline_exceeds_escrow");
    assert_eq!(state(&world), before);
    // It is one batch, so a store writes all of it or nothing.
    let submit = submission(&world, &b, Some(&a), "work-claim", world.claim_of(&b, &a, Some(&escrow), hours(1)));
    let (done, batch) = perform(&world.rt, &world.store(), &submit);
    assert!(matches!(done, Answer::Done(_)) && batch.len() >= 6);
    world.claim(&b, &a, &escrow, hours(1), true).unwrap();
    assert_eq!(state(&world), (1, [1; 3], before.2 + 1, HireState::Claimed, true));
}

#[test]
fn r13_only_a_receipt_that_is_there_and_pending_is_answered() {
    let (world, a, b, escrow) = scene();
    for unknown in ["undefined", "00000000-0000-4000-8000-000000000000"] {
        refused(answer(&world, &a, unknown, json!({})), "receipt_not_found");
    }
    let receipt = world.claim(&b, &a, &escrow, hours(1), true).unwrap();
    answer(&world, &a, &receipt, json!({})).unwrap();
    refused(answer(&world, &a, &receipt, json!({})), "receipt_not_pending");
}

#[test]
fn r14_only_the_requester_answers() {
    let (world, a, b, escrow) = scene();
    let c = world.party(3);
    let receipt = world.claim(&b, &a, &escrow, hours(1), true).unwrap();
    for other in [&b, &c] {
        refused(answer(&world, other, &receipt, json!({})), "receipt_signer_not_authorized");
    }
    assert_eq!(world.receipt(&receipt)["state"], "pending_acceptance");
}

#[test]
fn r15_an_answer_is_signed_by_the_requester() {
    let (world, a, b, escrow) = scene();
    let receipt = world.claim(&b, &a, &escrow, hours(1), true).unwrap();
    let members = json!({ "receipt_id": receipt, "signer_did": a.did(), "action": "accept" });
    let envelope = world.body(&a, "work-acceptance", members)["envelope"].clone();
    refused(world.post("work-acceptance", &b.signer.body(&envelope)), "invalid_signature");
    assert_eq!(world.money(&a), (900, 100));
    world.post("work-acceptance", &a.signer.body(&envelope)).unwrap();
}

#[test]
fn r16_an_answer_is_given_within_its_window() {
    let (world, a, b, escrow) = scene();
    let receipt = world.claim(&b, &a, &escrow, hours(1), true).unwrap();
    for (window, reason) in windows(&world) {
        refused(answer(&world, &a, &receipt, window), reason);
    }
    assert_eq!(world.receipt(&receipt)["state"], "pending_acceptance");
}

/// Two answers were both checked against the pending receipt, and the second one is refused.
#[test]
fn r17_who_loses_the_race_for_a_receipt_is_told_that_it_is_not_pending() {
    let (world, a, b, escrow) = scene();
    let receipt = world.claim(&b, &a, &escrow, hours(1), true).unwrap();
    let members = |action: &str| {
        json!({ "receipt_id": receipt, "signer_did": a.did(), "action": action,
        "dispute_reason": "late" })
    };
    let late = submission(&world, &a, None, "work-acceptance", members("dispute"));
    answer(&world, &a, &receipt, json!({})).unwrap();
    let (lost, _) = perform(&world.rt, &world.store(), &late);
    assert_eq!(lost, Answer::Refused(Reason::ReceiptNotPending, RefusalFacts::default()));
    // An answer that loses against the deadline is refused too.
    let escrow = world.open(&a, &b, 10, hours(24)).unwrap();
    let receipt = world.claim(&b, &a, &escrow, minutes(5), true).unwrap();
    world.wait(minutes(5) + Duration::from_micros(1));
    refused(
        answer(&world, &a, &receipt, json!({ "action": "dispute", "dispute_reason": "late" })),
        "receipt_not_pending",
    );
    assert_eq!(world.money(&b), (110, 0));
}

#[test]
fn r18_an_acceptance_stands_when_its_release_fails_and_says_why() {
    let (world, a, b, escrow) = scene();
    let receipt = world.claim(&b, &a, &escrow, hours(1), true).unwrap();
    world.admin("freeze", json!({ "did": a.did(), "frozen": true })).unwrap();
    let accepted = answer(&world, &a, &receipt, json!({})).unwrap();
    assert_eq!(
        (&accepted["escrow_released"], text(&accepted, "escrow_release_error")),
        (&json!(false), "sender_frozen".to_owned())
    );
    let row = world.receipt(&receipt);
    assert_eq!(
        (text(&row, "state"), text(&row, "escrow_release_error")),
        ("accepted".to_owned(), "sender_frozen".to_owned())
    );
    assert_eq!((world.escrow(&escrow).as_str(), world.money(&a)), ("open", (900, 100)));
}

#[test]
fn r19_only_an_accepted_receipt_with_an_escrow_moves_money_and_exactly_what_was_locked() {
    let (world, a, b, escrow) = scene();
    let money = |a_and_b| assert_eq!((world.money(&a), world.wallet(&b).map_or(0, |wallet| wallet.balance)), a_and_b);
    let free = text(&alone(&world, &b, &a, json!({})).unwrap(), "receipt_id");
    answer(&world, &a, &free, json!({})).unwrap();
    money(((900, 100), 0));
    let [disputed, expired] = [(); 2].map(|()| world.open(&a, &b, 10, hours(24)).unwrap());
    let receipt = world.claim(&b, &a, &disputed, hours(1), true).unwrap();
    world.dispute(&a, &receipt).unwrap();
    world.claim(&b, &a, &expired, minutes(5), false).unwrap();
    world.wait(minutes(6));
    money(((880, 120), 0));
    let receipt = world.claim(&b, &a, &escrow, hours(1), true).unwrap();
    money(((880, 120), 0));
    world.accept(&a, &receipt).unwrap();
    money(((880, 20), 100));
}

#[test]
fn r20_time_accepts_or_expires_by_the_flag_once_however_often_it_is_swept() {
    let (world, a, b, paid) = scene();
    let kept = world.open(&a, &b, 10, hours(24)).unwrap();
    let accepted = world.claim(&b, &a, &paid, minutes(5), true).unwrap();
    let expired = world.claim(&b, &a, &kept, minutes(5), false).unwrap();
    // The sweep runs a microsecond too early, then on time, then again.
    let sweep = || world.send("POST", "/v1/pay/receipt/sweep", None, &Value::Null).1;
    world.wait(minutes(5));
    assert_eq!(
        (sweep()["accepted"].clone(), world.receipt(&accepted)["state"].clone()),
        (json!(0), json!("pending_acceptance"))
    );
    world.wait(Duration::from_micros(1));
    let swept = sweep();
    assert_eq!(
        ["accepted", "expired", "released", "release_errors"].map(|name| swept[name].as_u64().unwrap()),
        [1, 1, 1, 0]
    );
    let states = || [&accepted, &expired].map(|id| text(&world.receipt(id), "state"));
    assert_eq!(states(), ["accepted", "expired"]);
    for _ in 0..3 {
        world.wait(minutes(1));
        let again = sweep();
        assert_eq!(["accepted", "expired", "released"].map(|name| again[name].as_u64().unwrap()), [0; 3]);
    }
    assert_eq!(
        (states(), world.money(&a), world.money(&b)),
        (["accepted", "expired"].map(str::to_owned), (890, 10), (100, 0))
    );
}

#[test]
fn r21_a_dispute_needs_a_reason_and_never_moves_money() {
    let (world, a, b, escrow) = scene();
    let receipt = world.claim(&b, &a, &escrow, hours(1), true).unwrap();
    for wrong in [json!({}), json!({ "dispute_reason": "" }), json!({ "dispute_reason": " \t" })] {
        refused(answer(&world, &a, &receipt, with(&wrong, json!({ "action": "dispute" }))), "dispute_reason_required");
    }
    assert_eq!(world.receipt(&receipt)["state"], "pending_acceptance");
    world.dispute(&a, &receipt).unwrap();
    assert_eq!((world.money(&a), world.escrow(&escrow).as_str()), ((900, 100), "open"));
    world.wait(hours(23));
    assert_eq!(world.money(&a), (900, 100));
}

#[test]
fn r22_a_rating_is_a_whole_number_from_one_to_five_or_absent() {
    let (world, a, b, _) = scene();
    for wrong in [json!(0), json!(6), json!(-1), json!(4.5), json!("5"), json!(true)] {
        let receipt = text(&alone(&world, &b, &a, json!({})).unwrap(), "receipt_id");
        refused(answer(&world, &a, &receipt, json!({ "rating": wrong })), "invalid_envelope");
    }
    for rating in [json!(1), json!(2), json!(3), json!(4), json!(5), Value::Null] {
        let receipt = text(&alone(&world, &b, &a, json!({})).unwrap(), "receipt_id");
        answer(&world, &a, &receipt, json!({ "rating": rating })).unwrap();
        assert_eq!(world.receipt(&receipt)["rating"], rating);
    }
}
