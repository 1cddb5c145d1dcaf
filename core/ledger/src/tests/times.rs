//! Windows of envelopes, caps of 24 hours, and how long rows are kept.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Party, World, hours, minutes, refused};
use crate::rows::{BURNT, BURNT_UNTIL, WALLETS};
use engine::actor::{ActorId, Kind};
use engine::runtime::Runtime;

/// An envelope with a window given in milliseconds from now.
fn windowed(world: &World, a: &Party, b: &Party, issued: i64, expires: i64) -> Value {
    let now = world.rt.now();
    let members = json!({ "from_did": a.signer.did, "to_did": b.signer.did, "amount_micro": 1, "nonce": world.nonce(),
        "issued_at": now.plus(issued * 1_000).to_millis_text(), "expires_at": now.plus(expires * 1_000).to_millis_text() });
    a.signer.signed("credit-transfer", now, members)
}
#[test]
fn t2_outside_the_window_the_outcome_is_exactly_one_of_three_and_nothing_is_burnt() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    for (issued, expires, reason) in [
        (-60_000, -1, Some("envelope_expired")),
        (-60_000, 0, None),
        (30_000, 60_000, None),
        (30_001, 60_000, Some("envelope_not_yet_valid")),
        (0, 3_600_000, None),
        (0, 3_600_001, Some("envelope_window_too_long")),
        (0, 0, Some("envelope_expired")),
        (10_000, 9_000, Some("envelope_expired")),
    ] {
        let body = windowed(&world, &a, &b, issued, expires);
        let (status, answer) = world.send("POST", "/v1/pay/transfer", None, &body);
        assert_eq!(
            (answer.get("reason").and_then(Value::as_str), status == 200),
            (reason, reason.is_none()),
            "{answer}"
        );
        if status != 200 {
            assert_eq!(answer.get("transfer_id"), None);
        }
    }
    assert_eq!(world.money(&b), (3, 0));
}

/// Decision cap-window: an outflow counts while it is not older than 24 hours, to the millisecond.
#[test]
fn the_cap_rolls_to_the_millisecond() {
    let world = World::new();
    let (a, b) = (world.rich(1, 10_000), world.party(2));
    world.admin("cap", json!({ "did": a.signer.did, "daily_cap_micro": 100 })).unwrap();
    world.pay(&a, &b, 60).unwrap();
    world.wait(hours(5));
    world.pay(&a, &b, 40).unwrap();
    refused(world.pay(&a, &b, 1), "daily_cap_exceeded");
    world.wait(hours(19));
    // The first payment is exactly 24 hours old.
    refused(world.pay(&a, &b, 1), "daily_cap_exceeded");
    world.wait(Duration::from_millis(1));
    world.pay(&a, &b, 60).unwrap();
    refused(world.pay(&a, &b, 1), "daily_cap_exceeded");
    world.wait(hours(5));
    world.pay(&a, &b, 40).unwrap();
    assert_eq!(world.money(&b), (200, 0));
}

/// Invariant E6: an escrow counts against the cap from its opening on, refunded or not.
#[test]
fn e6_escrows_count_against_the_cap_even_when_refunded() {
    let world = World::new();
    let (a, b) = (world.rich(1, 10_000), world.party(2));
    world.admin("cap", json!({ "did": a.signer.did, "daily_cap_micro": 100 })).unwrap();
    let escrow = world.open(&a, &b, 60, hours(1)).unwrap();
    world.refund(&a, &escrow).unwrap();
    refused(world.pay(&a, &b, 41), "daily_cap_exceeded");
    world.pay(&a, &b, 40).unwrap();
    refused(world.open(&a, &b, 1, hours(1)), "daily_cap_exceeded");
}

/// Decision cap-window: the part of a wallet's row about its outflow does not grow with the number of payments.
#[test]
fn a_wallet_remembers_minutes_of_a_day_and_no_more() {
    let world = World::new();
    let (a, b) = (world.rich(1, 100_000), world.party(2));
    let flow = || {
        let rows = world.rt.rows(&ActorId::sole(Kind::Ledger));
        let name = a.signer.did.strip_prefix("did:svc:").unwrap().to_owned();
        let store = engine::kv::MemoryStore::default();
        let mut space = engine::kv::Overlay::new(&store);
        rows.into_iter().for_each(|(key, value)| engine::kv::Write::put(&mut space, key, value));
        WALLETS.get(&space, &(name,)).unwrap().unwrap().flow.len()
    };
    for _ in 0..200 {
        world.pay(&a, &b, 1).unwrap();
    }
    assert_eq!(flow(), 1);
    for _ in 0..50 {
        world.wait(hours(1));
        world.pay(&a, &b, 1).unwrap();
    }
    assert!((24..=25).contains(&flow()), "{}", flow());
}

/// Decision refusal-burns-nonce: nobody who reads a refused envelope in public rows can settle it.
#[test]
fn a_refused_envelope_stays_refused_when_the_reason_is_gone() {
    let world = World::new();
    let (a, b) = (world.party(1), world.party(2));
    let members =
        json!({ "from_did": a.signer.did, "to_did": b.signer.did, "amount_micro": 50, "nonce": "burnt-nonce-1" });
    let body = a.signer.signed("credit-transfer", world.rt.now(), members);
    let deadline = world.rt.now().plus_duration(hours(1)).to_millis_text();
    let members = json!({ "from_did": a.signer.did, "to_did": b.signer.did, "amount_micro": 50, "nonce": "burnt-nonce-2",
        "deadline_at": deadline });
    let open = a.signer.signed("escrow-open", world.rt.now(), members);
    let reason =
        |path: &str, body: &Value| world.send("POST", path, None, body).1["reason"].as_str().map(str::to_owned);
    assert_eq!(reason("/v1/pay/transfer", &body).as_deref(), Some("sender_not_found"));
    assert_eq!(reason("/v1/pay/escrow/open", &open).as_deref(), Some("sender_not_found"));
    world.admin("grant", json!({ "did": a.signer.did, "amount_micro": 1_000 })).unwrap();
    assert_eq!(reason("/v1/pay/transfer", &body).as_deref(), Some("nonce_seen"));
    assert_eq!(reason("/v1/pay/escrow/open", &open).as_deref(), Some("nonce_seen"));
    assert_eq!(world.money(&a), (1_000, 0));
}

/// Decision refusal-burns-nonce: only temporary refusals burn nothing, and burnt nonces are forgotten when their
/// envelopes can no longer be sent.
#[test]
fn a_freeze_burns_nothing_and_burnt_nonces_go() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let members =
        json!({ "from_did": a.signer.did, "to_did": b.signer.did, "amount_micro": 50, "nonce": "frozen-nonce" });
    let body = a.signer.signed("credit-transfer", world.rt.now(), members);
    world.admin("freeze_all", json!({ "frozen": true })).unwrap();
    assert_eq!(world.send("POST", "/v1/pay/transfer", None, &body).0, 503);
    world.admin("freeze_all", json!({ "frozen": false })).unwrap();
    assert_eq!(world.send("POST", "/v1/pay/transfer", None, &body).0, 200);
    refused(world.open(&a, &b, 10_000, hours(1)), "insufficient_balance");
    let burnt = || {
        let rows = world.rt.rows(&ActorId::sole(Kind::Ledger));
        let of = |prefix: Vec<u8>| rows.iter().filter(|(key, _)| key.starts_with(&prefix)).count();
        of(BURNT.range().start) + of(BURNT_UNTIL.range().start)
    };
    assert!(burnt() > 0);
    world.wait(hours(2));
    assert_eq!(burnt(), 0);
}

/// Decision registered-recipients: a wallet of an unregistered DID that never held anything is removed.
#[test]
fn a_wallet_of_an_unregistered_did_that_never_held_credit_goes_after_a_week() {
    let world = World::new();
    let a = world.rich(1, 1_000);
    let make = |did: &str| world.send("POST", "/v1/pay/wallet", None, &json!({ "did": did })).1["created"].clone();
    for did in ["did:svc:mkt-b-1", "did:svc:mkt-b-2", &world.party(3).signer.did] {
        assert_eq!((make(did), make(did)), (json!(true), json!(false)));
    }
    // A wallet of an unregistered DID can be paid, and stays then.
    let members = json!({ "from_did": a.signer.did, "to_did": "did:svc:mkt-b-2", "amount_micro": 5 });
    world.act(&a, "credit-transfer", members).unwrap();
    let health = || world.get("/v1/pay/health")["counts"]["wallets"].as_u64().unwrap();
    assert_eq!(health(), 4);
    world.wait(hours(7 * 24) + minutes(1));
    assert_eq!(health(), 3);
    assert_eq!(world.send("GET", "/v1/pay/wallet/did:svc:mkt-b-1", None, &Value::Null).0, 404);
    world.get("/v1/pay/wallet/did:svc:mkt-b-2");
}

/// Decisions unique-event-times and ledger-room: rows of one millisecond are each on exactly one page, refused ones
/// too, and only a bounded number of refused ones is kept a day.
#[test]
fn a_thousand_rows_of_one_instant_page_out_once() {
    let world = World::new();
    let (a, b) = (world.rich(1, 700), world.party(2));
    for n in 0..1_200 {
        let paid = world.pay(&a, &b, if n < 700 { 1 } else { 1_000 });
        assert_eq!(paid.is_ok(), n < 700);
    }
    for (of, expected) in [(&a, 1_200), (&b, 700)] {
        let (mut seen, mut next) = (std::collections::BTreeSet::new(), String::new());
        loop {
            let page = world.get(&format!("/v1/pay/history/{}?limit=170{next}", of.signer.did));
            for row in page["transfers"].as_array().unwrap() {
                assert!(seen.insert(row["id"].as_str().unwrap().to_owned()));
            }
            match page["next_cursor"].as_str() {
                Some(cursor) => next = format!("&before={cursor}"),
                None => break,
            }
        }
        assert_eq!(seen.len(), expected);
    }
}

/// Decision faucet-addresses: the faucet counts addresses, and forgets them.
#[test]
fn three_grants_per_address_and_day() {
    let world = World::with(&[("faucet_per_address", "3"), ("faucet_daily_total", "5")]);
    let claim = |seed: u8| {
        let party = world.party(seed);
        world
            .act(&party, "pay-faucet", json!({ "did": party.signer.did }))
            .map(|body| body["new_balance_micro"].clone())
    };
    for seed in 1..4 {
        assert_eq!(claim(seed).unwrap(), 10_000_000);
    }
    refused(claim(4), "ip_rate_limit_exceeded");
    world.wait(hours(24) + minutes(1));
    for seed in 5..8 {
        claim(seed).unwrap();
    }
    let repeat = Party { signer: world.operator.clone(), key: String::new() };
    refused(world.act(&repeat, "pay-faucet", json!({ "did": repeat.signer.did })), "agent_pubkey_not_found");
    world.wait(hours(48));
    let rows = world.rt.rows(&ActorId::sole(Kind::Ledger));
    let left = crate::rows::FAUCET_BY_ADDRESS.range().start;
    assert_eq!(rows.iter().filter(|(key, _)| key.starts_with(&left)).count(), 0);
    let other = World::with(&[("faucet_daily_total", "1")]);
    let party = other.party(1);
    other.act(&party, "pay-faucet", json!({ "did": party.signer.did })).unwrap();
    refused(other.act(&party, "pay-faucet", json!({ "did": party.signer.did })), "faucet_disabled");
}
