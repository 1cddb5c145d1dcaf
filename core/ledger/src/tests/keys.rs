//! The key whose signature counts, through rotations and ends of agents.

use serde_json::{Value, json};

use super::{Party, World, refused};
use crate::client::Signer;
use crypto::client::{Client, Options};
use crypto::encoding::encode_base64;
use crypto::{Secret, signing};
use engine::runtime::Runtime;
use relay::agent::proof::Keys;
use relay::agent::rotate::signed_text;

/// Rotates an agent to the key of this seed, signed by `by` or not at all.
fn rotate(world: &World, party: &Party, seed: u8, by: Option<&Signer>) -> Value {
    rotate_to(world, party, &Signer::new("svc", Secret::new([seed; 32])), by)
}

fn rotate_to(world: &World, party: &Party, to: &Signer, by: Option<&Signer>) -> Value {
    let mut body = json!({ "signing_public_key": to.public_key(), "encryption_public_key": to.public_key() });
    if let Some(by) = by {
        let (nonce, at) = (world.nonce(), world.rt.now().to_millis_text());
        let (key, deployment) = (signing::signing_public_key(&to.seed), &world.rt.environment().deployment);
        let keys = Keys { signing: &key, encryption: &key, mlkem: None };
        let text = signed_text("svc", deployment, &party.signer.did, keys, &at, &nonce);
        body["rotation_signature"] = json!(encode_base64(&signing::sign(&by.seed, text.as_bytes())));
        body["rotation_nonce"] = json!(nonce);
        body["rotation_issued_at"] = json!(at);
    }
    let (status, answer) = world.send("POST", "/v1/agent/rotate-keys", Some(&party.key), &body);
    assert_eq!(status, 200, "{answer}");
    answer
}

/// The same agent with the key of another seed.
fn with_seed(party: &Party, seed: u8) -> Party {
    let signer = Signer { seed: Secret::new([seed; 32]), ..party.signer.clone() };
    Party { signer, key: party.key.clone() }
}

/// Decisions money-key-settled and signer-key-table: after the answer of rotate-keys the earlier key pays nothing.
#[test]
fn a_rotation_that_was_signed_for_moves_the_wallet_at_once() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    world.pay(&a, &b, 1).unwrap();
    let answer = rotate(&world, &a, 50, Some(&a.signer));
    assert_eq!((&answer["rotation_proved"], &answer["wallet_frozen"]), (&json!(true), &json!(false)));
    refused(world.pay(&a, &b, 1), "invalid_signature");
    world.pay(&with_seed(&a, 50), &b, 1).unwrap();
}

/// Decision money-key-settled: the API key alone cannot spend, and the wallet is frozen until an admin unfreezes it.
#[test]
fn an_unproved_rotation_freezes_the_wallet_and_gives_no_key() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    assert_eq!(rotate(&world, &a, 66, None)["wallet_frozen"], true);
    refused(world.pay(&with_seed(&a, 66), &b, 1), "invalid_signature");
    refused(world.pay(&a, &b, 1), "sender_frozen");
    world.admin("freeze", json!({ "did": a.signer.did, "frozen": false })).unwrap();
    refused(world.pay(&with_seed(&a, 66), &b, 1), "invalid_signature");
    world.pay(&a, &b, 1).unwrap();
}

/// Decision registered-recipients: an agent that asks for a wallet first and registers later keeps it, if it asks again
/// or has signed anything.
#[test]
fn a_wallet_stays_once_its_did_is_registered() {
    let world = World::new();
    let did = |seed| Signer::new("svc", Client::new("svc", [seed; 32], Options::default()).keys.signing.clone()).did;
    let dids = [11, 12, 13].map(did);
    let open = |did: &str| world.send("POST", "/v1/pay/wallet", None, &json!({ "did": did })).0;
    dids.iter().for_each(|did| assert_eq!(open(did), 200));
    let (again, signing) = (world.party(11), world.party(12));
    assert_eq!((again.did(), signing.did()), (dids[0].as_str(), dids[1].as_str()));
    assert_eq!(open(again.did()), 200);
    world.list(&signing, "work", 1);
    world.wait(super::hours(24 * 8));
    world.send("POST", "/v1/pay/escrow/sweep", None, &Value::Null);
    let there = dids.iter().map(|did| world.send("GET", &format!("/v1/pay/wallet/{did}"), None, &Value::Null).0);
    assert_eq!(there.collect::<Vec<_>>(), [200, 200, 404]);
}

/// The API key alone takes no wallet from anybody, not even before there is one.
#[test]
fn an_unproved_rotation_of_a_did_without_wallet_leaves_it_the_key_it_has() {
    for told in [false, true] {
        let world = World::new();
        let (a, b) = (world.party(1), world.rich(2, 10));
        if told {
            // The ledger has a row of the key, but no wallet.
            refused(world.pay(&a, &b, 1), "sender_not_found");
        }
        rotate(&world, &a, 66, None);
        let claim = json!({ "did": a.signer.did });
        refused(world.act(&with_seed(&a, 66), "pay-faucet", claim.clone()), "invalid_signature");
        world.pay(&b, &a, 5).unwrap();
        world.pay(&a, &b, 1).unwrap();
        rotate(&world, &a, 67, Some(&a.signer));
        refused(world.act(&a, "pay-faucet", claim.clone()), "invalid_signature");
        world.act(&with_seed(&a, 67), "pay-faucet", claim).unwrap();
    }
}

/// A rotation that the key of the wallet did not sign names no key, whoever else signed it.
#[test]
fn a_chain_of_rotations_that_begins_without_a_signature_never_reaches_the_wallet() {
    let world = World::new();
    let (a, b) = (world.party(1), world.rich(2, 10));
    rotate(&world, &a, 66, None);
    rotate(&world, &a, 67, Some(&with_seed(&a, 66).signer));
    world.pay(&b, &a, 5).unwrap();
    for thief in [66, 67] {
        refused(world.pay(&with_seed(&a, thief), &b, 1), "invalid_signature");
    }
    world.pay(&a, &b, 1).unwrap();
}

/// A wallet follows signed rotations, also back to an earlier key.
#[test]
fn a_signed_rotation_to_an_earlier_key_moves_the_wallet_too() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    rotate(&world, &a, 66, Some(&a.signer));
    world.pay(&with_seed(&a, 66), &b, 1).unwrap();
    let back = rotate_to(&world, &a, &a.signer, Some(&with_seed(&a, 66).signer));
    assert_eq!(back["rotation_proved"], true);
    refused(world.pay(&with_seed(&a, 66), &b, 1), "invalid_signature");
    world.pay(&a, &b, 1).unwrap();
}

/// Decision hireable-offers: a search returns offers that somebody can deliver, and a rotation without a signature
/// removes none of them.
#[test]
fn who_keeps_its_key_keeps_its_offers() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let listing = world.list(&b, "one.thing", 10);
    let found = || world.get("/v1/pay/capability/search")["capabilities"].as_array().unwrap().len();
    assert_eq!(found(), 1);
    rotate(&world, &b, 66, None);
    assert_eq!(found(), 1);
    world.hire(&a, &listing).unwrap();
    rotate(&world, &b, 67, Some(&b.signer));
    let listing = world.list(&with_seed(&b, 67), "one.other", 10);
    assert_eq!(found(), 2);
    world.hire(&a, &listing).unwrap();
}

/// Decision deactivated-wallets: the end of an agent ends its key and its listings, and leaves the money.
#[test]
fn deactivation_ends_key_and_listings_and_still_receives() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.rich(2, 500));
    let listing = json!({ "provider_did": b.signer.did, "capability": "echo.lite", "name": "Echo", "description": "",
        "price_per_call_micro": 10, "unit": "call", "sla_deadline_hours": 1, "active": true });
    let listed = world.act(&b, "capability-list", listing).unwrap();
    let found = || world.get("/v1/pay/capability/search")["capabilities"].as_array().unwrap().len();
    assert_eq!(found(), 1);
    let (status, answer) = world.send("DELETE", "/v1/agent/deactivate", Some(&b.key), &Value::Null);
    assert_eq!((status, &answer["balance_micro"]), (200, &json!(500)), "{answer}");
    assert_eq!(found(), 0);
    let id = listed["capability_id"].as_str().unwrap();
    assert_eq!(world.get(&format!("/v1/pay/capability/{id}"))["capability"]["active"], 0);
    refused(world.pay(&b, &a, 1), "sender_pubkey_not_found");
    world.pay(&a, &b, 5).unwrap();
    assert_eq!(world.money(&b), (505, 0));
    let hire = json!({ "capability_id": id, "capability": "echo.lite", "requester_did": a.signer.did,
        "provider_did": b.signer.did, "price_micro": 10, "task_id": "t", "delivery_deadline_hours": 1 });
    refused(world.act(&a, "hire-request", hire), "capability_inactive");
}
