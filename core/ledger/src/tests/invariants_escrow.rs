//! The invariants of escrows, by number. Random walks in `model` test conservation (E13, E14).

use std::time::Duration;

use serde_json::{Value, json};

use super::{Party, World, hours, minutes, refused, text, with};
use crate::client::Signer;
use crate::log::Event;
use crate::rows::{ESCROWS, EVENTS, EscrowState, id_text};
use crypto::Secret;
use engine::runtime::Runtime;

/// A payer with 1,000 micro-credits, a registered recipient without a wallet, a stranger.
fn three() -> (World, Party, Party, Party) {
    let world = World::new();
    let (a, b, c) = (world.rich(1, 1_000), world.party(2), world.party(3));
    (world, a, b, c)
}

/// Opens an escrow with changed members.
fn open_with(world: &World, from: &Party, to: &Party, changes: Value) -> Result<Value, String> {
    world.act(from, "escrow-open", with(&world.escrow_of(from, to, 10, hours(1)), changes))
}

#[test]
fn e1_an_escrow_is_opened_by_a_good_signature_in_its_window_with_an_amount() {
    let (world, a, b, _) = three();
    let mut forged = world.body(&a, "escrow-open", world.escrow_of(&a, &b, 10, hours(1)));
    forged["envelope"]["amount_micro"] = json!(11);
    refused(world.post("escrow-open", &forged), "invalid_signature");
    let at = |seconds: i64| world.rt.now().plus(seconds * 1_000_000).to_millis_text();
    for (issued, expires, reason) in
        [(-600, -1, "envelope_expired"), (31, 600, "envelope_not_yet_valid"), (0, 3_601, "envelope_window_too_long")]
    {
        refused(open_with(&world, &a, &b, json!({ "issued_at": at(issued), "expires_at": at(expires) })), reason);
    }
    refused(open_with(&world, &a, &b, json!({ "amount_micro": 0 })), "amount_out_of_range");
    assert!(world.rows(&ESCROWS).is_empty());
    open_with(&world, &a, &b, json!({})).unwrap();
}

#[test]
fn e2_a_nonce_opens_one_escrow_of_a_sender_and_is_free_for_transfers_and_for_others() {
    let (world, a, b, _) = three();
    let nonce = json!({ "nonce": "the-one" });
    open_with(&world, &a, &b, nonce.clone()).unwrap();
    refused(open_with(&world, &a, &b, nonce.clone()), "nonce_seen");
    refused(open_with(&world, &a, &b, with(&nonce, json!({ "amount_micro": 11 }))), "nonce_seen");
    world.act(&a, "credit-transfer", with(&world.transfer_of(&a, &b, 100), nonce.clone())).unwrap();
    open_with(&world, &b, &a, nonce).unwrap();
    assert_eq!((world.rows(&ESCROWS).len(), world.money(&a), world.money(&b)), (2, (890, 10), (90, 10)));
}

#[test]
fn e3_the_sender_has_a_wallet_that_is_not_frozen_in_a_system_that_is_not() {
    let (world, a, b, c) = three();
    refused(open_with(&world, &c, &b, json!({})), "sender_not_found");
    world.admin("freeze", json!({ "did": a.did(), "frozen": true })).unwrap();
    refused(open_with(&world, &a, &b, json!({})), "sender_frozen");
    world.admin("freeze", json!({ "did": a.did(), "frozen": false })).unwrap();
    world.admin("freeze_all", json!({ "frozen": true })).unwrap();
    refused(open_with(&world, &a, &b, json!({})), "system_frozen");
    world.admin("freeze_all", json!({ "frozen": false })).unwrap();
    open_with(&world, &a, &b, json!({})).unwrap();
}

#[test]
fn e4_money_that_is_set_aside_is_not_there_to_spend() {
    let (world, a, b, _) = three();
    world.open(&a, &b, 600, hours(1)).unwrap();
    refused(world.open(&a, &b, 401, hours(1)), "insufficient_balance");
    refused(world.pay(&a, &b, 401), "insufficient_balance");
    world.open(&a, &b, 400, hours(1)).unwrap();
    refused(world.pay(&a, &b, 1), "insufficient_balance");
    assert_eq!(world.money(&a), (0, 1_000));
}

#[test]
fn e5_an_escrow_meets_the_cap_of_one_payment() {
    let (world, a, b, _) = three();
    world.admin("cap", json!({ "did": a.did(), "per_tx_cap_micro": 50 })).unwrap();
    refused(world.open(&a, &b, 51, hours(1)), "per_tx_cap_exceeded");
    world.open(&a, &b, 50, hours(1)).unwrap();
}

#[test]
fn e6_transfers_escrows_and_hires_share_one_cap_that_passes_when_it_is_met_exactly() {
    let (world, a, b, _) = three();
    let listing = world.list(&b, "one.thing", 30);
    world.admin("cap", json!({ "did": a.did(), "daily_cap_micro": 100 })).unwrap();
    world.pay(&a, &b, 30).unwrap();
    world.open(&a, &b, 30, hours(1)).unwrap();
    world.hire(&a, &listing).unwrap();
    refused(world.hire(&a, &listing), "daily_cap_exceeded");
    refused(world.open(&a, &b, 11, hours(1)), "daily_cap_exceeded");
    refused(world.pay(&a, &b, 11), "daily_cap_exceeded");
    world.open(&a, &b, 10, hours(1)).unwrap();
    refused(world.pay(&a, &b, 1), "daily_cap_exceeded");
}

#[test]
fn e7_the_recipient_is_a_registered_agent_whom_the_wallet_may_pay() {
    let (world, a, b, c) = three();
    world.send("POST", "/v1/pay/wallet", None, &json!({ "did": "did:svc:only.a.wallet" }));
    for to in ["nonsense", "did:svc:", "did:web:x", "did:svc:nobody", "did:svc:only.a.wallet", a.did()] {
        refused(open_with(&world, &a, &b, json!({ "to_did": to })), "recipient_invalid_did");
    }
    world.admin("cap", json!({ "did": a.did(), "allowlist": [c.did()] })).unwrap();
    refused(open_with(&world, &a, &b, json!({})), "recipient_not_allowed");
    open_with(&world, &a, &c, json!({})).unwrap();
    let (status, _) = world.send("DELETE", "/v1/agent/deactivate", Some(&c.key), &Value::Null);
    assert_eq!(status, 200);
    refused(open_with(&world, &a, &c, json!({})), "recipient_invalid_did");
}

/// Decision deadline-skew: the skew of clocks widens the upper bound.
#[test]
fn e8_a_deadline_is_later_than_now_and_at_most_a_week_and_half_a_minute_away() {
    let (world, a, b, _) = three();
    let (week, milli) = (hours(7 * 24) + Duration::from_secs(30), Duration::from_millis(1));
    refused(world.open(&a, &b, 1, Duration::ZERO), "escrow_deadline_past");
    let past = world.rt.now().plus(-1_000).to_millis_text();
    refused(open_with(&world, &a, &b, json!({ "deadline_at": past })), "escrow_deadline_past");
    refused(world.open(&a, &b, 1, week + milli), "escrow_deadline_exceeds_max");
    world.open(&a, &b, 1, milli).unwrap();
    world.open(&a, &b, 1, week).unwrap();
}

#[test]
fn e9_the_amount_of_an_escrow_is_that_of_any_payment() {
    let world = World::new();
    let most = 1_000_000_000_000_000_u64;
    let (a, b) = (world.rich(1, most), world.party(2));
    for amount in [json!(0), json!(-1), json!(most + 1)] {
        refused(open_with(&world, &a, &b, json!({ "amount_micro": amount })), "amount_out_of_range");
    }
    world.open(&a, &b, most, hours(1)).unwrap();
    assert_eq!(world.money(&a), (0, most));
}

#[test]
fn e10_only_the_sender_releases_or_an_admin_whose_role_is_all_or_freeze() {
    let (world, a, b, c) = three();
    let escrow = world.open(&a, &b, 10, hours(1)).unwrap();
    for stranger in [&b, &c] {
        refused(world.release(stranger, &escrow), "escrow_signer_not_authorized");
        refused(world.refund(stranger, &escrow), "escrow_signer_not_authorized");
    }
    world.release(&a, &escrow).unwrap();
    for (seed, role, may) in [(71, "grant", false), (72, "cap", false), (73, "freeze", true), (74, "all", true)] {
        let signer = Signer::new("svc", Secret::new([seed; 32]));
        let keyid = world.admin_key(&signer, role);
        for action in ["escrow_release", "escrow_refund"] {
            let escrow = world.open(&a, &b, 10, hours(1)).unwrap();
            let done = world.admin_by(&signer, &keyid, action, json!({ "escrow_id": escrow }));
            match may {
                true => drop(done.unwrap()),
                false => refused(done, "admin_role_not_authorized"),
            }
            assert_eq!(world.escrow(&escrow) == "open", !may);
        }
    }
}

#[test]
fn e11_what_is_not_open_is_not_released() {
    let (world, a, b, _) = three();
    let [released, refunded, expired] = [(); 3].map(|()| world.open(&a, &b, 10, hours(1)).unwrap());
    world.release(&a, &released).unwrap();
    world.refund(&a, &refunded).unwrap();
    world.wait(hours(1) + Duration::from_micros(1));
    for escrow in [&released, &refunded, &expired] {
        refused(world.release(&a, escrow), "escrow_not_open");
        refused(world.refund(&a, escrow), "escrow_not_open");
        refused(world.admin("escrow_release", json!({ "escrow_id": escrow })), "escrow_not_open");
        refused(world.admin("escrow_refund", json!({ "escrow_id": escrow })), "escrow_not_open");
    }
    refused(world.release(&a, "00000000-0000-4000-8000-000000000000"), "escrow_not_found");
    assert_eq!([&released, &refunded, &expired].map(|id| world.escrow(id)), ["released", "refunded", "expired"]);
    assert_eq!((world.money(&a), world.money(&b)), ((990, 0), (10, 0)));
}

#[test]
fn e12_the_sender_takes_back_until_the_deadline_and_an_admin_at_any_time() {
    let (world, a, b, _) = three();
    let [mine, forced, held] = [(); 3].map(|()| world.open(&a, &b, 10, hours(1)).unwrap());
    world.wait(hours(1));
    // Exactly at the deadline the escrow is not over.
    world.refund(&a, &mine).unwrap();
    world.admin("freeze", json!({ "did": a.did(), "frozen": true })).unwrap();
    world.wait(minutes(10));
    // The escrow of a frozen wallet is held, so that there is something to refund after the deadline.
    refused(world.refund(&a, &held), "escrow_not_open");
    world.admin("escrow_refund", json!({ "escrow_id": forced })).unwrap();
    assert_eq!([&mine, &forced, &held].map(|id| world.escrow(id)), ["refunded", "refunded", "open"]);
    assert_eq!(world.money(&a), (990, 10));
}

#[test]
fn e16_what_an_admin_does_to_an_escrow_is_recorded_under_the_key_with_the_signature() {
    let (world, a, b, _) = three();
    for (action, state) in [("escrow_release", EscrowState::Released), ("escrow_refund", EscrowState::Refunded)] {
        let escrow = world.open(&a, &b, 10, hours(1)).unwrap();
        let forced = world.admin(action, json!({ "escrow_id": escrow })).unwrap();
        assert_eq!(text(&forced, "actor"), format!("admin:{}", world.keyid));
        let (_, row) =
            world.rows(&ESCROWS).into_iter().find(|((id,), _)| super::super::rows::id_text(id) == escrow).unwrap();
        let closed = row.closed.unwrap();
        assert_eq!((row.state, closed.actor), (state, format!("admin:{}", world.keyid)));
        let of_it =
            |event: &Event| event.subject.is_some_and(|id| id_text(&id) == escrow) && event.what.as_str() == action;
        let (_, event) = world.rows(&EVENTS).into_iter().find(|(_, event)| of_it(event)).unwrap();
        assert_eq!(event.actor, format!("admin:{}", world.keyid));
        assert_eq!(event.changes.iter().map(|change| change.locked).sum::<i64>(), -10);
        assert_eq!(event.signed, closed.signed);
    }
}

#[test]
fn e17_a_release_makes_the_wallet_of_a_first_time_provider() {
    let (world, a, b, c) = three();
    for (to, by_admin) in [(&b, false), (&c, true)] {
        assert!(world.wallet(to).is_none());
        let escrow = world.open(&a, to, 10, hours(1)).unwrap();
        assert!(world.wallet(to).is_none());
        match by_admin {
            true => world.admin("escrow_release", json!({ "escrow_id": escrow })).unwrap(),
            false => world.release(&a, &escrow).unwrap(),
        };
        assert_eq!(world.money(to), (10, 0));
        let by = if by_admin { format!("admin:{}", world.keyid) } else { a.name() };
        assert_eq!(world.events(to), [(by, "escrow_release", 10, true)]);
    }
}

#[test]
fn e18_the_escrow_of_a_hire_has_its_signature_hash_and_deadline() {
    let (world, a, b, _) = three();
    let listing = world.list(&b, "one.thing", 10);
    let body =
        world.body(&a, "hire-request", with(&world.hire_of(&a, &listing), json!({ "delivery_deadline_hours": 5 })));
    let hired = world.post("hire-request", &body).unwrap();
    let escrow = world.get(&format!("/v1/pay/escrow/{}", text(&hired, "escrow_id")))["escrow"].clone();
    assert_eq!(
        (&escrow["open_signature"], &escrow["open_envelope_hash"]),
        (&body["signature"], &hired["envelope_hash"])
    );
    assert_eq!(text(&escrow, "nonce"), format!("hire:{}", text(&hired, "hire_id")));
    let (_, row) = world.rows(&ESCROWS).remove(0);
    assert_eq!(row.deadline.to_micros_text(), text(&hired, "delivery_deadline_at"));
    assert_eq!(escrow["deadline_at"], hired["delivery_deadline_at"]);
    assert_eq!(row.deadline, row.opened.plus_duration(hours(5)));
}
