//! Escrows and receipts whose time runs out, and freezes in the middle of it.

use serde_json::json;

use std::time::Duration;

use super::{World, hours, minutes, refused, with};
use crate::rows::{DUE, HELD};
use engine::runtime::Runtime;
#[test]
fn e15_after_the_deadline_the_money_is_back_once() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let escrow = world.open(&a, &b, 400, hours(1)).unwrap();
    assert_eq!(world.money(&a), (600, 400));
    world.wait(hours(1));
    assert_eq!(world.escrow(&escrow), "open");
    world.wait(Duration::from_secs(2));
    assert_eq!((world.escrow(&escrow).as_str(), world.money(&a)), ("expired", (1_000, 0)));
    for late in [
        world.release(&a, &escrow),
        world.refund(&a, &escrow),
        world.admin("escrow_release", json!({ "escrow_id": escrow })),
    ] {
        refused(late, "escrow_not_open");
    }
    assert_eq!(world.money(&a), (1_000, 0));
}

/// Decision one-claim-at-a-time: a provider cannot be paid by a second claim after a dispute.
#[test]
fn after_a_dispute_no_second_claim_reaches_the_money() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let escrow = world.open(&a, &b, 400, hours(24)).unwrap();
    let first = world.claim(&b, &a, &escrow, minutes(10), true).unwrap();
    refused(world.claim(&b, &a, &escrow, minutes(10), true), "escrow_not_open");
    world.dispute(&a, &first).unwrap();
    refused(world.claim(&b, &a, &escrow, minutes(5), true), "escrow_not_open");
    world.wait(hours(12));
    assert_eq!((world.escrow(&escrow).as_str(), world.money(&a)), ("open", (600, 400)));
    world.wait(hours(13));
    assert_eq!((world.escrow(&escrow).as_str(), world.money(&a)), ("expired", (1_000, 0)));
}

/// Decision one-claim-at-a-time: another receipt may be filed only after the earlier one expired.
#[test]
fn after_an_expired_receipt_another_claim_may_be_filed() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let escrow = world.open(&a, &b, 400, hours(24)).unwrap();
    let first = world.claim(&b, &a, &escrow, minutes(10), false).unwrap();
    world.wait(minutes(11));
    assert_eq!(world.receipt(&first)["state"], "expired");
    let second = world.claim(&b, &a, &escrow, minutes(10), true).unwrap();
    world.accept(&a, &second).unwrap();
    assert_eq!((world.money(&a), world.money(&b)), ((600, 0), (400, 0)));
}

/// Decision due-before-anything: no outcome depends on when a sweep runs. The release comes in the instant after both
/// deadlines, before any timer.
#[test]
fn what_is_due_happens_before_anything_else_is_done() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let escrow = world.open(&a, &b, 400, minutes(20)).unwrap();
    let receipt = world.claim(&b, &a, &escrow, minutes(20), true).unwrap();
    refused(world.refund(&a, &escrow), "claim_pending");
    world.wait(minutes(20) + Duration::from_micros(1));
    // The timer comes up to a second later.
    refused(world.dispute(&a, &receipt), "receipt_not_pending");
    assert_eq!(world.receipt(&receipt)["state"], "accepted");
    assert_eq!(world.escrow(&escrow), "released");
    world.wait(minutes(1));
    assert_eq!((world.money(&a), world.money(&b)), ((600, 0), (400, 0)));
    assert_eq!(world.receipt(&receipt)["actor"], "system:timeout");
    let closed = &world.get(&format!("/v1/pay/escrow/{escrow}"))["escrow"]["refund_actor"];
    assert_eq!(*closed, format!("system:timeout:{receipt}"));
}

/// Decision due-before-anything: money that came back or was paid at a deadline can be seen and spent in the instant
/// after it.
#[test]
fn money_that_time_moved_is_spent_before_any_timer_comes() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let (back, paid) = (world.open(&a, &b, 600, minutes(20)).unwrap(), world.open(&a, &b, 400, minutes(20)).unwrap());
    world.claim(&b, &a, &paid, minutes(20), true).unwrap();
    refused(world.pay(&a, &b, 600), "insufficient_balance");
    world.wait(minutes(20) + Duration::from_micros(1));
    assert_eq!((world.money(&a), world.money(&b)), ((600, 0), (400, 0)));
    world.pay(&a, &b, 600).unwrap();
    world.pay(&b, &a, 1_000).unwrap();
    assert_eq!((world.escrow(&back).as_str(), world.escrow(&paid).as_str()), ("expired", "released"));
    assert_eq!((world.money(&a), world.money(&b)), ((1_000, 0), (0, 0)));
}

/// Decision due-before-anything: a sender gets nothing back while a claim waits, and can dispute it first.
#[test]
fn a_refund_needs_the_dispute_of_a_claim() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let escrow = world.open(&a, &b, 400, hours(2)).unwrap();
    let receipt = world.claim(&b, &a, &escrow, hours(1), true).unwrap();
    refused(world.refund(&a, &escrow), "claim_pending");
    world.dispute(&a, &receipt).unwrap();
    world.refund(&a, &escrow).unwrap();
    assert_eq!(world.money(&a), (1_000, 0));
}

/// Decision due-before-anything: an escrow whose receipt was accepted never expires; its release is tried again.
#[test]
fn an_accepted_receipt_whose_release_failed_is_paid_after_the_unfreeze() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let escrow = world.open(&a, &b, 400, hours(2)).unwrap();
    let receipt = world.claim(&b, &a, &escrow, hours(1), true).unwrap();
    world.admin("freeze", json!({ "did": a.signer.did, "frozen": true })).unwrap();
    let accepted = world.accept(&a, &receipt).unwrap();
    assert_eq!(
        (&accepted["escrow_released"], &accepted["escrow_release_error"]),
        (&json!(false), &json!("sender_frozen"))
    );
    world.wait(hours(10));
    assert_eq!((world.escrow(&escrow).as_str(), world.money(&a)), ("open", (600, 400)));
    let answer = world.admin("freeze", json!({ "did": a.signer.did, "frozen": false })).unwrap();
    assert_eq!((&answer["wallet"]["locked_micro"], &answer["wallet"]["spent_24h_micro"]), (&json!(0), &json!(400)));
    assert_eq!((world.escrow(&escrow).as_str(), world.money(&a), world.money(&b)), ("released", (600, 0), (400, 0)));
    assert_eq!(world.rows(&HELD), []);
    assert_eq!(world.receipt(&receipt)["escrow_released"], 1);
}

/// Decision freeze-stops-clocks: escrows of a frozen requester are held.
#[test]
fn escrows_of_a_frozen_requester_are_held_until_the_unfreeze_or_an_admin() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let [one, two] = [(); 2].map(|()| world.open(&a, &b, 100, hours(1)).unwrap());
    world.admin("freeze", json!({ "did": a.signer.did, "frozen": true })).unwrap();
    refused(world.release(&a, &one), "sender_frozen");
    world.wait(hours(5));
    assert_eq!((world.escrow(&one).as_str(), world.escrow(&two).as_str()), ("open", "open"));
    refused(world.refund(&a, &one), "escrow_not_open");
    world.admin("escrow_release", json!({ "escrow_id": one })).unwrap();
    assert_eq!(world.money(&b), (100, 0));
    let actor = &world.get(&format!("/v1/pay/escrow/{one}"))["escrow"]["refund_actor"];
    assert_eq!(*actor, format!("admin:{}", world.keyid));
    world.admin("freeze", json!({ "did": a.signer.did, "frozen": false })).unwrap();
    assert_eq!((world.escrow(&two).as_str(), world.money(&a)), ("expired", (900, 0)));
    assert_eq!(world.rows(&HELD), []);
}

/// Decisions due-before-anything and freeze-stops-clocks: from the unfreeze on, stored and read rows agree, for any
/// number of escrows.
#[test]
fn all_that_a_freeze_held_ends_with_it() {
    let world = World::new();
    let (a, b) = (world.rich(1, 10_000), world.rich(2, 1));
    let escrows: Vec<String> = (0..50).map(|_| world.open(&a, &b, 100, minutes(20)).unwrap()).collect();
    for escrow in &escrows[..25] {
        world.claim(&b, &a, escrow, minutes(10), true).unwrap();
    }
    world.admin("freeze", json!({ "did": a.did(), "frozen": true })).unwrap();
    world.wait(hours(1));
    assert_eq!((world.money(&a), world.money(&b), world.rows(&HELD).len()), ((5_000, 5_000), (1, 0), 50));
    assert_eq!(world.rows(&DUE), []);
    world.admin("freeze", json!({ "did": a.did(), "frozen": false })).unwrap();
    // There are more than one run handles. The timer comes after a second.
    world.wait(minutes(1));
    assert_eq!((world.money(&a), world.money(&b)), ((7_500, 0), (2_501, 0)));
    assert_eq!((world.rows(&HELD), world.rows(&DUE)), (vec![], vec![]));
}

/// Decision due-before-anything: a freeze holds what falls due in it, not what was due before, whether or not the timer
/// had run.
#[test]
fn what_was_due_before_a_freeze_is_not_held_by_it() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let escrow = world.open(&a, &b, 400, minutes(20)).unwrap();
    world.wait(minutes(20) + Duration::from_micros(1));
    world.admin("freeze", json!({ "did": a.did(), "frozen": true })).unwrap();
    assert_eq!((world.escrow(&escrow).as_str(), world.money(&a)), ("expired", (1_000, 0)));
}

/// Decisions due-before-anything and unique-event-times: a question before the timer has run is answered with the time
/// that is written later.
#[test]
fn times_that_are_read_before_the_timer_are_those_that_stay() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let (over, silent) = (world.open(&a, &b, 1, minutes(20)).unwrap(), world.open(&a, &b, 2, minutes(20)).unwrap());
    let receipt = world.claim(&b, &a, &silent, minutes(20), true).unwrap();
    let read = || {
        let [over, silent] = [&over, &silent].map(|id| world.get(&format!("/v1/pay/escrow/{id}"))["escrow"].clone());
        let receipt = world.receipt(&receipt)["accepted_at"].clone();
        [over["expired_at"].clone(), silent["released_at"].clone(), receipt]
    };
    world.wait(minutes(20) + Duration::from_micros(10));
    let early = read();
    assert!(early.iter().all(serde_json::Value::is_string), "{early:?}");
    world.wait(Duration::from_millis(500));
    assert_eq!(read(), early);
    world.wait(minutes(5));
    assert_eq!(read(), early);
    let history = world.get(&format!("/v1/pay/escrow/history/{}", a.did()));
    assert!(early.contains(&history["escrows"][1]["expired_at"]), "{history}");
}

/// Decision due-before-anything: lists, trust and counts are as of now, as single rows are.
#[test]
fn lists_and_counts_do_not_wait_for_the_timer() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let listing = world.list(&b, "work", 10);
    world.hire(&a, &listing).unwrap();
    let deadline = world.rows(&DUE)[0].0.0;
    world.wait(Duration::from_micros(u64::try_from(deadline.since(world.rt.now())).unwrap() + 1));
    for (side, party) in [("incoming", &b), ("outgoing", &a)] {
        let list =
            |state: &str| world.get(&format!("/v1/pay/hire/{side}/{}?state={state}", party.did()))["hires"].clone();
        assert_eq!(list("requested"), json!([]));
        assert_eq!(list("expired")[0]["state"], "expired");
    }
    let provider = world.get(&format!("/v1/pay/trust/{}", b.did()))["as_provider"].clone();
    assert_eq!((&provider["total_expired"], &provider["total_in_flight"]), (&json!(1), &json!(0)));
    let stats = world.get("/v1/pay/stats");
    assert_eq!(
        (&stats["hires"]["total_in_flight"], &stats["recent_hires"][0]["state"]),
        (&json!(0), &json!("expired"))
    );
}

#[test]
fn a_sweep_counts_as_failed_only_releases_that_failed() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let alone = world.claim_of(&b, &a, None, minutes(10));
    world.act(&b, "work-claim", with(&alone, json!({ "auto_accept_on_timeout": true }))).unwrap();
    world.wait(minutes(10) + Duration::from_micros(1));
    let swept = world.send("POST", "/v1/pay/receipt/sweep", None, &json!(null)).1;
    assert_eq!((&swept["accepted"], &swept["release_errors"]), (&json!(1), &json!(0)));
    let held = world.open(&a, &b, 5, hours(1)).unwrap();
    world.claim(&b, &a, &held, minutes(10), true).unwrap();
    world.admin("freeze", json!({ "did": a.did(), "frozen": true })).unwrap();
    world.wait(minutes(10) + Duration::from_micros(1));
    let swept = world.send("POST", "/v1/pay/receipt/sweep", None, &json!(null)).1;
    assert_eq!((&swept["accepted"], &swept["release_errors"]), (&json!(1), &json!(1)));
}

/// Decision freeze-stops-clocks: while everything is frozen no deadline comes nearer.
#[test]
fn deadlines_stand_still_while_the_system_is_frozen() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let escrow = world.open(&a, &b, 100, hours(2)).unwrap();
    let claimed = world.open(&a, &b, 100, hours(2)).unwrap();
    let receipt = world.claim(&b, &a, &claimed, hours(1), true).unwrap();
    world.wait(minutes(30));
    world.admin("freeze_all", json!({ "frozen": true })).unwrap();
    for refusal in [world.release(&a, &escrow), world.dispute(&a, &receipt), world.pay(&a, &b, 1)] {
        refused(refusal, "system_frozen");
    }
    world.wait(hours(100));
    assert_eq!(world.send("POST", "/v1/pay/escrow/sweep", None, &json!(null)).1["system_frozen"], true);
    world.admin("freeze_all", json!({ "frozen": false })).unwrap();
    assert_eq!(
        (world.escrow(&escrow).as_str(), &world.receipt(&receipt)["state"]),
        ("open", &json!("pending_acceptance"))
    );
    world.wait(minutes(29));
    assert_eq!(world.receipt(&receipt)["state"], "pending_acceptance");
    world.wait(minutes(2));
    assert_eq!((&world.receipt(&receipt)["state"], world.money(&b)), (&json!("accepted"), (100, 0)));
    world.wait(hours(1));
    assert_eq!((world.escrow(&escrow).as_str(), world.money(&a)), ("expired", (900, 0)));
}

/// Decision deadline-skew: clocks of clients run slightly ahead, and their spans are a millisecond too long.
#[test]
fn upper_bounds_have_the_skew_of_clocks() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let week = hours(7 * 24);
    world.open(&a, &b, 1, week + Duration::from_secs(30)).unwrap();
    refused(world.open(&a, &b, 1, week + Duration::from_millis(30_001)), "escrow_deadline_exceeds_max");
    refused(world.open(&a, &b, 1, Duration::ZERO), "escrow_deadline_past");
    let escrow = world.open(&a, &b, 1, hours(1)).unwrap();
    let (more, most) = (Duration::from_millis(30_001), Duration::from_secs(30));
    refused(world.claim(&b, &a, &escrow, hours(1) + more, true), "acceptance_deadline_exceeds_escrow");
    refused(world.claim(&b, &a, &escrow, week + more, true), "acceptance_window_too_long");
    refused(world.claim(&b, &a, &escrow, minutes(5) - Duration::from_millis(1), true), "acceptance_window_too_short");
    let receipt = world.claim(&b, &a, &escrow, hours(1) + most, true).unwrap();
    // The signed deadline is shown; the escrow's own deadline counts.
    world.wait(hours(1) + Duration::from_secs(2));
    assert_eq!((world.receipt(&receipt)["state"].as_str(), world.money(&b)), (Some("accepted"), (1, 0)));
}

/// Hires follow their escrow and their receipt.
#[test]
fn m15_a_hire_ends_with_its_escrow_and_counts_once() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let listing = json!({ "provider_did": b.signer.did, "capability": "hash.sha256", "name": "Hasher", "description": "d",
        "price_per_call_micro": 10, "unit": "call", "sla_deadline_hours": 24, "active": true });
    let listed = world.act(&b, "capability-list", listing).unwrap();
    let hire = || {
        let members = json!({ "capability_id": listed["capability_id"], "capability": "hash.sha256",
            "requester_did": a.signer.did, "provider_did": b.signer.did, "price_micro": 10, "task_id": "t",
            "delivery_deadline_hours": 1 });
        world.act(&a, "hire-request", members).unwrap()
    };
    let state = |hire: &serde_json::Value| {
        world.get(&format!("/v1/pay/hire/{}", hire["hire_id"].as_str().unwrap()))["hire"]["state"].clone()
    };
    let id = |hire: &serde_json::Value| hire["escrow_id"].as_str().unwrap().to_owned();
    let [expired, refunded, disputed, accepted, silent] = std::array::from_fn(|_| hire());
    world.refund(&a, &id(&refunded)).unwrap();
    let receipt = world.claim(&b, &a, &id(&disputed), minutes(30), true).unwrap();
    world.dispute(&a, &receipt).unwrap();
    let receipt = world.claim(&b, &a, &id(&accepted), minutes(30), true).unwrap();
    assert_eq!(state(&accepted), "claimed");
    world.accept(&a, &receipt).unwrap();
    world.claim(&b, &a, &id(&silent), minutes(30), true).unwrap();
    world.wait(hours(2));
    let states = [&expired, &refunded, &disputed, &accepted, &silent].map(state);
    assert_eq!(states, ["expired", "expired", "disputed", "completed", "completed"]);
    let trust = world.get(&format!("/v1/pay/trust/{}", b.signer.did));
    let provider = &trust["as_provider"];
    let counts =
        ["total_hires", "total_completed", "total_disputed", "total_expired", "total_in_flight", "rating_count"];
    assert_eq!(counts.map(|name| provider[name].as_u64().unwrap()), [5, 2, 1, 2, 0, 1]);
    assert_eq!((&provider["completion_rate"], &provider["total_earned_micro"]), (&json!(0.4), &json!(20)));
    assert_eq!((world.money(&a), world.money(&b)), ((980, 0), (20, 0)));
}
