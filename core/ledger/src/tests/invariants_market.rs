//! The invariants of hires, listings and trust, by number.

use serde_json::{Value, json};

use super::invariants_transfer::{perform, submission};
use super::{Party, World, hours, minutes, refused, text, with};
use crate::hire::HIRES;
use crate::listing::LISTINGS;
use crate::reason::Reason;
use crate::rows::ESCROWS;
use crate::submit::{Answer, RefusalFacts};
use engine::kv::Overlay;
use engine::runtime::Runtime;

/// A requester with 1,000 micro-credits, a provider, a listing of 100.
fn scene() -> (World, Party, Party, Value) {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let listing = world.list(&b, "one.thing", 100);
    (world, a, b, listing)
}

/// Hires with changed members.
fn hire_with(world: &World, by: &Party, listing: &Value, changes: Value) -> Result<Value, String> {
    world.act(by, "hire-request", with(&world.hire_of(by, listing), changes))
}

/// Pauses the listing.
fn pause(world: &World, by: &Party) {
    let paused = with(&world.listing_of(by, "one.thing", 100), json!({ "active": false }));
    world.act(by, "capability-list", paused).unwrap();
}

#[test]
fn m1_nothing_is_hired_or_listed_while_the_system_is_frozen() {
    let (world, a, b, listing) = scene();
    world.admin("freeze_all", json!({ "frozen": true })).unwrap();
    refused(world.hire(&a, &listing), "system_frozen");
    refused(world.act(&b, "capability-list", world.listing_of(&b, "another.thing", 1)), "system_frozen");
    world.admin("freeze_all", json!({ "frozen": false })).unwrap();
    world.hire(&a, &listing).unwrap();
}

#[test]
fn m2_a_hire_needs_a_requester_with_an_active_key() {
    let (world, a, _, listing) = scene();
    let ghost = Party { signer: world.operator.clone(), key: String::new() };
    refused(world.hire(&ghost, &listing), "requester_pubkey_not_found");
    world.send("DELETE", "/v1/agent/deactivate", Some(&a.key), &Value::Null);
    refused(world.hire(&a, &listing), "requester_pubkey_not_found");
}

#[test]
fn m3_a_hire_is_signed_by_its_requester_within_its_window() {
    let (world, a, b, listing) = scene();
    let envelope = world.body(&a, "hire-request", world.hire_of(&a, &listing))["envelope"].clone();
    refused(world.post("hire-request", &b.signer.body(&envelope)), "invalid_signature");
    let at = |seconds: i64| world.rt.now().plus(seconds * 1_000_000).to_millis_text();
    for (issued, expires, reason) in
        [(-600, -1, "envelope_expired"), (31, 600, "envelope_not_yet_valid"), (0, 3_601, "envelope_window_too_long")]
    {
        let window = json!({ "issued_at": at(issued), "expires_at": at(expires) });
        refused(hire_with(&world, &a, &listing, window), reason);
    }
    world.post("hire-request", &a.signer.body(&envelope)).unwrap();
}

#[test]
fn m4_a_hire_names_a_listing_that_is_there() {
    let (world, a, _, listing) = scene();
    for unknown in ["undefined", "00000000-0000-4000-8000-000000000000"] {
        refused(hire_with(&world, &a, &listing, json!({ "capability_id": unknown })), "capability_not_found");
    }
}

#[test]
fn m5_a_paused_listing_is_not_hired_until_it_is_resumed() {
    let (world, a, b, listing) = scene();
    pause(&world, &b);
    refused(world.hire(&a, &listing), "capability_inactive");
    world.list(&b, "one.thing", 100);
    world.hire(&a, &listing).unwrap();
}

/// Decision reason-order: hiring oneself is refused after that.
#[test]
fn m6_slug_and_provider_of_a_hire_are_those_of_the_listing() {
    let (world, a, b, listing) = scene();
    refused(hire_with(&world, &a, &listing, json!({ "capability": "other.thing" })), "capability_mismatch");
    for other in [a.did(), "did:svc:nobody", "nonsense"] {
        refused(hire_with(&world, &a, &listing, json!({ "provider_did": other })), "provider_did_mismatch");
    }
    refused(world.hire(&b, &listing), "self_hire_not_allowed");
    refused(hire_with(&world, &b, &listing, json!({ "capability": "other.thing" })), "capability_mismatch");
}

/// Decision reason-order: a price of 0 is refused after a wrong one.
#[test]
fn m7_the_price_of_a_hire_is_the_present_one_exactly() {
    let (world, a, b, listing) = scene();
    for price in [99, 101, 0, -100] {
        refused(hire_with(&world, &a, &listing, json!({ "price_micro": price })), "price_mismatch");
    }
    world.list(&b, "one.thing", 50);
    refused(world.hire(&a, &listing), "price_mismatch");
    let free = world.list(&b, "one.thing", 0);
    refused(world.hire(&a, &free), "amount_out_of_range");
    refused(world.hire(&a, &listing), "price_mismatch");
    assert_eq!(world.money(&a), (1_000, 0));
}

/// The end of an agent pauses its listings, so this happens only if a listing outlives its provider.
#[test]
fn m8_a_provider_that_ended_is_not_hired_whatever_its_listing_says() {
    let (world, a, b, listing) = scene();
    let submit = submission(&world, &a, Some(&b), "hire-request", world.hire_of(&a, &listing));
    world.send("DELETE", "/v1/agent/deactivate", Some(&b.key), &Value::Null);
    refused(world.hire(&a, &listing), "capability_inactive");
    let store = world.store();
    let (key, row) = LISTINGS.scan(&store, &LISTINGS.range(), engine::kv::Direction::Ascending, 1).unwrap().remove(0);
    let mut space = Overlay::new(&store);
    LISTINGS.put(&mut space, &key, &crate::listing::Listing { active: true, ..row }).unwrap();
    let (mut active, batch) = (store.clone(), space.into_batch());
    engine::kv::Store::apply(&mut active, batch).unwrap();
    let (answer, _) = perform(&world.rt, &active, &submit);
    assert_eq!(answer, Answer::Refused(Reason::RecipientInvalidDid, RefusalFacts::default()));
}

#[test]
fn m9_the_wallet_of_a_requester_passes_the_rules_of_an_escrow() {
    let (world, a, b, listing) = scene();
    let c = world.party(3);
    refused(world.hire(&c, &listing), "sender_not_found");
    let dear = world.list(&b, "dear.thing", 1_001);
    refused(world.hire(&a, &dear), "insufficient_balance");
    let cap = |members: Value| drop(world.admin("cap", with(&json!({ "did": a.did() }), members)).unwrap());
    cap(json!({ "per_tx_cap_micro": 99, "daily_cap_micro": 99 }));
    refused(world.hire(&a, &listing), "per_tx_cap_exceeded");
    cap(json!({ "per_tx_cap_micro": 100 }));
    refused(world.hire(&a, &listing), "daily_cap_exceeded");
    cap(json!({ "daily_cap_micro": 100, "allowlist": [c.did()] }));
    refused(world.hire(&a, &listing), "recipient_not_allowed");
    cap(json!({ "allowlist": [b.did()] }));
    world.admin("freeze", json!({ "did": a.did(), "frozen": true })).unwrap();
    refused(world.hire(&a, &listing), "sender_frozen");
    world.admin("freeze", json!({ "did": a.did(), "frozen": false })).unwrap();
    world.hire(&a, &listing).unwrap();
    refused(world.hire(&a, &listing), "daily_cap_exceeded");
}

#[test]
fn m10_work_is_delivered_within_a_week() {
    let (world, a, _, listing) = scene();
    for hours in [169, 1_000_000, 9_007_199_254_740_991_u64] {
        let wanted = json!({ "delivery_deadline_hours": hours });
        refused(hire_with(&world, &a, &listing, wanted), "deadline_exceeds_escrow_max");
    }
    for hours in [0, -1] {
        refused(hire_with(&world, &a, &listing, json!({ "delivery_deadline_hours": hours })), "invalid_envelope");
    }
    hire_with(&world, &a, &listing, json!({ "delivery_deadline_hours": 168 })).unwrap();
    hire_with(&world, &a, &listing, json!({ "delivery_deadline_hours": 1 })).unwrap();
}

#[test]
fn m11_escrow_hire_counter_and_lock_are_there_together_or_not_at_all() {
    let (world, a, b, listing) = scene();
    let state = || {
        let count = world.rows(&LISTINGS).remove(0).1.hires;
        (world.rows(&HIRES).len(), world.rows(&ESCROWS).len(), count, world.wallet(&a).unwrap().locked)
    };
    for refusal in [json!({ "price_micro": 1 }), json!({ "delivery_deadline_hours": 169 })] {
        hire_with(&world, &a, &listing, refusal).unwrap_err();
        assert_eq!(state(), (0, 0, 0, 0));
    }
    // It is one batch, so a store writes all of it or nothing.
    let submit = submission(&world, &a, Some(&b), "hire-request", world.hire_of(&a, &listing));
    let (answer, batch) = perform(&world.rt, &world.store(), &submit);
    assert!(matches!(answer, Answer::Done(_)));
    for table in [HIRES.range(), ESCROWS.range(), LISTINGS.range()] {
        assert!(batch.iter().any(|(key, _)| table.contains(key)));
    }
    assert!(batch.iter().any(|(key, _)| crate::rows::WALLETS.holds(key)));
    world.hire(&a, &listing).unwrap();
    assert_eq!(state(), (1, 1, 1, 100));
    let hire = world.rows(&HIRES).remove(0);
    let escrow = world.rows(&ESCROWS).remove(0);
    assert_eq!((hire.1.escrow, escrow.1.hire), (escrow.0.0, Some(hire.0.0)));
}

#[test]
fn m12_the_same_nonce_hires_once_whatever_else_is_signed_with_it() {
    let (world, a, _, listing) = scene();
    let nonce = json!({ "nonce": "the-one" });
    hire_with(&world, &a, &listing, nonce.clone()).unwrap();
    refused(hire_with(&world, &a, &listing, nonce.clone()), "nonce_seen");
    refused(hire_with(&world, &a, &listing, with(&nonce, json!({ "task_id": "else" }))), "nonce_seen");
    assert_eq!((world.rows(&HIRES).len(), world.money(&a)), (1, (900, 100)));
}

#[test]
fn m13_listing_again_keeps_one_row_one_id_and_its_counts() {
    let (world, a, b, listing) = scene();
    world.hire(&a, &listing).unwrap();
    world.wait(hours(1));
    let again = world.list(&b, "one.thing", 70);
    assert_eq!(
        (&again["id"], &again["listed_at"], &again["total_hires"]),
        (&listing["id"], &listing["listed_at"], &json!(1))
    );
    assert_ne!(again["updated_at"], listing["updated_at"]);
    assert_eq!(world.rows(&LISTINGS).len(), 1);
    // The same slug of another provider is another listing.
    let other = world.list(&a, "one.thing", 70);
    assert_ne!(other["id"], listing["id"]);
}

/// Each state leads to the right ones, and the final ones lead nowhere.
#[test]
fn m15_final_states_of_hires_never_change() {
    let (world, a, b, listing) = scene();
    let hire = || {
        let hired = hire_with(&world, &a, &listing, json!({ "delivery_deadline_hours": 2 })).unwrap();
        (text(&hired, "hire_id"), text(&hired, "escrow_id"))
    };
    let [completed, disputed, refunded, expired] = [(); 4].map(|()| hire());
    let states = || {
        [&completed, &disputed, &refunded, &expired]
            .map(|(id, _)| text(&world.get(&format!("/v1/pay/hire/{id}"))["hire"], "state"))
    };
    assert_eq!(states(), ["requested"; 4]);
    for (_, escrow) in [&completed, &disputed] {
        world.claim(&b, &a, escrow, hours(1), true).unwrap();
    }
    assert_eq!(states(), ["claimed", "claimed", "requested", "requested"]);
    let receipt = |hire: &str| text(&world.get(&format!("/v1/pay/hire/{hire}"))["hire"], "receipt_id");
    world.accept(&a, &receipt(&completed.0)).unwrap();
    let rated = json!({ "receipt_id": receipt(&disputed.0), "signer_did": a.did(), "action": "dispute",
        "dispute_reason": "not what was asked", "rating": 1 });
    world.act(&a, "work-acceptance", rated).unwrap();
    let row = world.get(&format!("/v1/pay/capability/{}", text(&listing, "id")))["capability"].clone();
    assert_eq!((&row["total_disputed"], &row["rating_count"]), (&json!(1), &json!(1)), "only accepted work is rated");
    world.refund(&a, &refunded.1).unwrap();
    world.wait(hours(1));
    // A disputed hire's escrow can still be paid, without a change of the hire.
    world.release(&a, &disputed.1).unwrap();
    world.wait(hours(2));
    assert_eq!(states(), ["completed", "disputed", "expired", "expired"]);
    assert_eq!(world.escrow(&disputed.1), "released");
}

#[test]
fn m16_listings_hires_and_counts_are_read_without_a_key_and_no_score_is_among_them() {
    let (world, a, b, listing) = scene();
    let hired = world.hire(&a, &listing).unwrap();
    let answers = [
        format!("/v1/pay/capability/{}", text(&listing, "id")),
        "/v1/pay/capability/search?q=thing".to_owned(),
        format!("/v1/pay/capability/did/{}", b.did()),
        format!("/v1/pay/hire/{}", text(&hired, "hire_id")),
        format!("/v1/pay/hire/incoming/{}", b.did()),
        format!("/v1/pay/hire/outgoing/{}", a.did()),
        format!("/v1/pay/trust/{}", b.did()),
        "/v1/pay/stats".to_owned(),
    ]
    .map(|path| world.get(&path));
    for answer in &answers {
        let names = names_in(answer);
        assert!(!names.iter().any(|name| name.contains("score") || name.contains("rank")), "{answer}");
    }
}

/// The names of all members, at every depth.
fn names_in(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(names_in).collect(),
        Value::Object(members) => {
            members.iter().flat_map(|(name, value)| [vec![name.clone()], names_in(value)].concat()).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn x3_trust_has_counts_a_rate_and_a_mean_and_no_score_made_of_them() {
    let (world, _, b, _) = scene();
    let trust = world.get(&format!("/v1/pay/trust/{}", b.did()));
    let mut names = names_in(&trust["as_provider"]);
    names.sort();
    let mut known = [
        "total_hires",
        "total_completed",
        "total_disputed",
        "total_in_flight",
        "total_expired",
        "completion_rate",
        "rating_sum",
        "rating_count",
        "rating_avg",
        "total_earned_micro",
        "active_capabilities",
        "total_capabilities",
        "first_listed_at",
        "last_listed_at",
    ];
    known.sort_unstable();
    assert_eq!(names, known);
}

#[test]
fn x4_numbers_of_trust_and_stats_follow_each_event_at_once() {
    let (world, a, b, listing) = scene();
    let provider = |name: &str| world.get(&format!("/v1/pay/trust/{}", b.did()))["as_provider"][name].clone();
    let counts = || ["total_hires", "total_in_flight", "total_completed", "total_earned_micro"].map(provider);
    assert_eq!(counts(), [0, 0, 0, 0].map(|count| json!(count)));
    let escrow = text(&world.hire(&a, &listing).unwrap(), "escrow_id");
    assert_eq!(counts(), [1, 1, 0, 0].map(|count| json!(count)));
    let receipt = world.claim(&b, &a, &escrow, minutes(10), true).unwrap();
    assert_eq!(counts(), [1, 1, 0, 0].map(|count| json!(count)));
    world.accept(&a, &receipt).unwrap();
    assert_eq!(counts(), [1, 0, 1, 100].map(|count| json!(count)));
    assert_eq!((provider("rating_avg"), provider("completion_rate")), (json!(5.0), json!(1.0)));
    let hires = world.get("/v1/pay/stats")["hires"].clone();
    assert_eq!(
        (&hires["total"], &hires["total_completed"], &hires["total_in_flight"]),
        (&json!(1), &json!(1), &json!(0))
    );
    let wallet = world.get(&format!("/v1/pay/trust/{}", a.did()))["wallet"].clone();
    assert_eq!((&wallet["balance_micro"], &wallet["locked_micro"]), (&json!(900), &json!(0)));
}
