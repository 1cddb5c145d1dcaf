//! The invariants of the faucet and of the whole ledger, by number.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value, json};

use super::invariants_transfer::{perform, submission};
use super::{Party, World, hours, minutes, refused, settled, text, with};
use crate::client::Signer;
use crate::pay::{Claimant, GRANT};
use crate::rows::{EVENTS, FAUCET, WALLETS};
use crate::submit::Answer;
use crypto::Secret;
use crypto::encoding::{encode_base64, encode_hex};
use engine::runtime::Runtime;

fn claim(world: &World, by: &Party) -> Result<Value, String> {
    world.act(by, "pay-faucet", json!({ "did": by.did() }))
}

#[test]
fn f1_the_faucet_gives_nothing_while_the_system_is_frozen_and_takes_no_claim() {
    let world = World::new();
    let a = world.party(1);
    world.admin("freeze_all", json!({ "frozen": true })).unwrap();
    refused(claim(&world, &a), "system_frozen");
    world.admin("freeze_all", json!({ "frozen": false })).unwrap();
    claim(&world, &a).unwrap();
}

#[test]
fn f2_the_faucet_has_a_switch_of_its_own() {
    let world = World::new();
    let (a, b) = (world.party(1), world.rich(2, 10));
    world.admin("freeze_all", json!({ "frozen": false, "faucet_disabled": true })).unwrap();
    refused(claim(&world, &a), "faucet_disabled");
    world.pay(&b, &a, 1).unwrap();
    // An action that does not name the switch leaves it as it is.
    world.admin("freeze_all", json!({ "frozen": false })).unwrap();
    refused(claim(&world, &a), "faucet_disabled");
    world.admin("freeze_all", json!({ "frozen": false, "faucet_disabled": false })).unwrap();
    claim(&world, &a).unwrap();
}

#[test]
fn f3_a_claim_needs_an_agent_with_an_active_key() {
    let world = World::new();
    let ghost = Party { signer: world.operator.clone(), key: String::new() };
    refused(claim(&world, &ghost), "agent_pubkey_not_found");
    let a = world.party(1);
    world.send("DELETE", "/v1/agent/deactivate", Some(&a.key), &Value::Null);
    refused(claim(&world, &a), "agent_pubkey_not_found");
    assert!(world.rows(&FAUCET).is_empty());
}

#[test]
fn f4_a_claim_is_signed_by_whom_it_is_for() {
    let world = World::new();
    let (a, b) = (world.party(1), world.party(2));
    let envelope = world.body(&a, "pay-faucet", json!({ "did": a.did() }))["envelope"].clone();
    refused(world.post("pay-faucet", &b.signer.body(&envelope)), "invalid_signature");
    world.post("pay-faucet", &a.signer.body(&envelope)).unwrap();
}

#[test]
fn f5_a_claim_is_made_within_its_window() {
    let world = World::new();
    let a = world.party(1);
    let at = |seconds: i64| world.rt.now().plus(seconds * 1_000_000).to_millis_text();
    for (issued, expires, reason) in
        [(-600, -1, "envelope_expired"), (31, 600, "envelope_not_yet_valid"), (0, 3_601, "envelope_window_too_long")]
    {
        let members = json!({ "did": a.did(), "issued_at": at(issued), "expires_at": at(expires) });
        refused(world.act(&a, "pay-faucet", members), reason);
    }
    claim(&world, &a).unwrap();
}

#[test]
fn f6_a_did_is_given_to_once_and_for_ever() {
    let world = World::new();
    let a = world.party(1);
    claim(&world, &a).unwrap();
    for _ in 0..3 {
        refused(claim(&world, &a), "already_claimed");
        world.wait(hours(400 * 24));
    }
    let world = world.restarted();
    refused(claim(&world, &a), "already_claimed");
    assert_eq!(world.money(&a), (GRANT, 0));
}

/// Decision faucet-addresses: grants are counted by address, IPv6 by its /64.
#[test]
fn f7_an_address_is_given_to_three_times_in_a_day_and_who_has_none_is_not_counted() {
    let world = World::with(&[("faucet_per_address", "3")]);
    world.wait(hours(12));
    let seeds = std::cell::Cell::new(0);
    let from = |address: Option<&str>| {
        seeds.set(seeds.get() + 1);
        let party = world.party(seeds.get());
        let body = world.body(&party, "pay-faucet", json!({ "did": party.did() }));
        let client = address.map(|address| address.parse().unwrap());
        settled(world.send_bytes("POST", "/v1/pay/faucet", None, Bytes::from(body.to_string()), client))
    };
    for _ in 0..3 {
        from(Some("192.0.2.1")).unwrap();
        from(Some("2001:db8:1:2::1")).unwrap();
    }
    refused(from(Some("192.0.2.1")), "ip_rate_limit_exceeded");
    refused(from(Some("2001:db8:1:2:ffff::9")), "ip_rate_limit_exceeded");
    from(Some("192.0.2.2")).unwrap();
    from(Some("2001:db8:1:3::1")).unwrap();
    for _ in 0..5 {
        from(None).unwrap();
    }
    // After midnight the addresses have other names, and are still counted.
    world.wait(hours(24) - minutes(1));
    refused(from(Some("192.0.2.1")), "ip_rate_limit_exceeded");
    world.wait(minutes(2));
    from(Some("192.0.2.1")).unwrap();
}

#[test]
fn f8_the_grant_is_ten_credits_and_nobody_names_an_amount() {
    let world = World::new();
    let a = world.party(1);
    for name in ["amount_micro", "amount"] {
        refused(world.act(&a, "pay-faucet", json!({ "did": a.did(), name: 1 })), "invalid_envelope");
    }
    let granted = claim(&world, &a).unwrap();
    assert_eq!((&granted["amount_micro"], &granted["new_balance_micro"]), (&json!(10_000_000), &json!(10_000_000)));
    assert_eq!(GRANT, 10_000_000);
}

#[test]
fn f9_wallet_credit_claim_and_audit_are_one_step() {
    let world = World::new();
    let (a, b) = (world.party(1), world.rich(2, 10));
    // With this the ledger knows the key.
    refused(world.pay(&a, &b, 1), "sender_not_found");
    let mut submit = submission(&world, &a, None, "pay-faucet", json!({ "did": a.did() }));
    submit.claimant = Some(Claimant { addresses: Vec::new(), per_address: 3, per_day: 3 });
    let (answer, batch) = perform(&world.rt, &world.store(), &submit);
    assert!(matches!(answer, Answer::Done(_)), "{answer:?}");
    for table in [FAUCET.range(), EVENTS.range()] {
        assert!(batch.iter().any(|(key, _)| table.contains(key)));
    }
    assert!(batch.iter().any(|(key, _)| WALLETS.holds(key)));
    claim(&world, &a).unwrap();
    assert_eq!(world.events(&a), [(a.name(), "faucet", GRANT as i64, true)]);
}

#[test]
fn f10_a_store_that_does_not_answer_is_not_a_claim_that_was_made() {
    let world = World::new();
    let a = world.party(1);
    let body = world.body(&a, "pay-faucet", json!({ "did": a.did() }));
    world.rt.close(true);
    let (status, answer) = world.send("POST", "/v1/pay/faucet", None, &body);
    assert!(status == 503 && answer["reason"] != "already_claimed", "{answer}");
    world.rt.close(false);
    world.post("pay-faucet", &body).unwrap();
}

#[test]
fn f11_a_frozen_wallet_is_refused_and_keeps_its_claim() {
    let world = World::new();
    let a = world.rich(1, 5);
    world.admin("freeze", json!({ "did": a.did(), "frozen": true })).unwrap();
    refused(claim(&world, &a), "sender_frozen");
    assert!(world.rows(&FAUCET).is_empty());
    world.admin("freeze", json!({ "did": a.did(), "frozen": false })).unwrap();
    claim(&world, &a).unwrap();
    assert_eq!(world.money(&a), (GRANT + 5, 0));
}

/// Balance and locked amount of every wallet.
fn balances(world: &World) -> BTreeMap<String, (u64, u64)> {
    world.wallets().into_iter().map(|(name, wallet)| (name, (wallet.balance, wallet.locked))).collect()
}

#[test]
fn g1_only_transfers_escrows_the_faucet_and_grants_change_a_balance() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.rich(2, 10));
    let escrow = world.open(&a, &b, 100, hours(24)).unwrap();
    let before = balances(&world);
    let same = |what: &str| assert_eq!(balances(&world), before, "{what}");
    world.list(&b, "one.thing", 10);
    same("a listing");
    let receipt = world.claim(&b, &a, &escrow, hours(2), true).unwrap();
    same("a claim");
    world.dispute(&a, &receipt).unwrap();
    same("a dispute");
    for (action, members) in [
        ("freeze", json!({ "frozen": true })),
        ("freeze", json!({ "frozen": false })),
        ("cap", json!({ "daily_cap_micro": 1, "per_tx_cap_micro": 1, "allowlist": [] })),
    ] {
        world.admin(action, with(&members, json!({ "did": a.did() }))).unwrap();
        same(action);
    }
    world.admin("freeze_all", json!({ "frozen": true })).unwrap();
    same("a freeze of all");
    world.admin("freeze_all", json!({ "frozen": false })).unwrap();
    for path in ["escrow", "receipt"] {
        world.send("POST", &format!("/v1/pay/{path}/sweep"), None, &Value::Null);
        same("a sweep with nothing due");
    }
    world.admin_key(&Signer::new("svc", Secret::new([77; 32])), "grant");
    same("an admin key");
    world.send("POST", "/v1/pay/wallet", None, &json!({ "did": a.did() }));
    same("a wallet that is there");
    refused(world.pay(&a, &b, 5), "daily_cap_exceeded");
    same("a refused transfer");
    world.send("DELETE", "/v1/agent/deactivate", Some(&b.key), &Value::Null);
    same("the end of an agent");
    let (status, _) = world.send(
        "POST",
        "/v1/agent/rotate-keys",
        Some(&a.key),
        &json!({
        "signing_public_key": world.operator.public_key(), "encryption_public_key": world.operator.public_key() }),
    );
    assert_eq!(status, 200);
    same("a rotation");
}

/// No private key of admins, or of agents that keep their own keys, is stored or shown.
#[test]
fn g2_no_private_key_is_in_any_row_or_answer() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let listing = world.list(&b, "one.thing", 10);
    let hired = world.hire(&a, &listing).unwrap();
    let receipt = world.claim(&b, &a, &text(&hired, "escrow_id"), hours(1), true).unwrap();
    let mut texts = vec![world.accept(&a, &receipt).unwrap().to_string(), world.get("/v1/pay/health").to_string()];
    texts.push(world.pay(&a, &b, 1).unwrap().to_string());
    let mut rows = Vec::new();
    for actor in world.rt.actors() {
        rows.extend(world.rt.rows(&actor).into_iter().flat_map(|(key, value)| [key, value]));
    }
    let holds = |part: &[u8], whole: &[u8]| whole.windows(part.len()).any(|window| window == part);
    // Public keys are found, which shows that the search works.
    assert!(rows.iter().any(|row| holds(&crypto::signing::signing_public_key(&a.signer.seed), row)));
    for signer in [&a.signer, &b.signer, &world.operator] {
        let seed = signer.seed.expose();
        let forms = [
            seed.to_vec(),
            encode_hex(seed).into_bytes(),
            encode_base64(seed).trim_end_matches('=').as_bytes()[..42].to_vec(),
        ];
        for form in &forms {
            assert!(!rows.iter().any(|row| holds(form, row)) && !texts.iter().any(|text| holds(form, text.as_bytes())));
        }
    }
}

#[test]
fn g5_the_kill_switch_stops_every_outflow_at_once_and_nothing_but_an_admin_clears_it() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let listing = world.list(&b, "one.thing", 10);
    let [escrow, claimed] = [(); 2].map(|()| world.open(&a, &b, 10, hours(2)).unwrap());
    let receipt = world.claim(&b, &a, &claimed, hours(1), true).unwrap();
    world.admin("freeze_all", json!({ "frozen": true })).unwrap();
    let before = balances(&world);
    let stopped = |world: &World| {
        for attempt in [
            world.pay(&a, &b, 1),
            world.open(&a, &b, 1, hours(1)).map(Value::from),
            world.release(&a, &escrow),
            world.refund(&a, &escrow),
            world.hire(&a, &listing),
            world.claim(&b, &a, &escrow, hours(1), true).map(Value::from),
            world.accept(&a, &receipt),
            claim(world, &b),
        ] {
            refused(attempt, "system_frozen");
        }
        assert_eq!(balances(world), before);
        assert_eq!(world.get("/v1/pay/health")["system_frozen"], true);
    };
    stopped(&world);
    world.wait(hours(400 * 24));
    stopped(&world);
    let world = world.restarted();
    stopped(&world);
    world.admin("freeze_all", json!({ "frozen": false })).unwrap();
    world.pay(&a, &b, 1).unwrap();
}
