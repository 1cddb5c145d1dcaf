//! Which envelopes move the money of a DID, whatever anybody registers for it. The attackers know everything public,
//! but no private key of the owner.

use heliograph_core::crypto::client::{Client as Sdk, Options};
use heliograph_tests::client::Client;
use heliograph_tests::ledger::{Operator, Party, refused};
use heliograph_tests::relay::{Agent, base64, bytes, made_up_like, proof, seed, text};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    money_paid_before_the_registration_is_the_owners_although_a_made_up_key_was_registered_first,
    a_registration_of_somebody_elses_public_key_locks_no_wallet,
    a_squatter_that_is_suspended_or_erased_takes_no_wallet_along,
    whoever_steals_an_api_key_and_rotates_gets_no_money,
    a_registration_with_a_proof_ends_a_freeze_that_a_rotation_caused,
];

/// An owner who is not registered here, with a wallet that received a payment.
fn paid_before(client: &Client) -> (Party, Sdk) {
    let sdk = Sdk::new("svc", seed(), Options::default());
    let signer = heliograph_tests::ledger::Signer::new("svc", sdk.keys.signing.clone());
    client.post("/v1/pay/wallet", &json!({ "did": signer.did })).expect(200);
    Party::funded(client).pay(&signer.did, 1_000).expect(200);
    let agent =
        Agent { did: signer.did.clone(), api_key: String::new(), client: client.clone(), registration: Value::Null };
    (Party { agent, signer, client: client.clone() }, sdk)
}

/// The registration of present payment clients: one key twice, and nothing signed.
fn pay_keys(owner: &Party) -> Value {
    let key = owner.signer.public_key();
    json!({ "signing_public_key": key, "encryption_public_key": key })
}

/// An attacker registers a made-up key that begins like the owner's.
fn squat(client: &Client, owner: &Party) -> Agent {
    let key: [u8; 32] = bytes(&json!(owner.signer.public_key())).try_into().unwrap();
    let made_up = base64(&made_up_like(&key));
    let squatter =
        Agent::register(client, &json!({ "signing_public_key": made_up, "encryption_public_key": base64(&[9; 32]) }));
    assert_eq!(squatter.did, owner.did());
    squatter
}

fn money_paid_before_the_registration_is_the_owners_although_a_made_up_key_was_registered_first(suite: &Suite) {
    let client = suite.client();
    let ((owner, _), friend) = (paid_before(&client), Party::new(&client));
    let squatter = squat(&client, &owner);
    let rotated = json!({ "signing_public_key": Party::new(&client).signer.public_key(), "encryption_public_key": base64(&[9; 32]) });
    let rotated = squatter.client.post("/v1/agent/rotate-keys", &rotated).expect(200);
    assert_eq!(rotated["wallet_frozen"], false, "{rotated}");
    Agent::register(&client, &pay_keys(&owner));
    owner.pay(friend.did(), 400).expect(200);
    assert_eq!((owner.money(), friend.money().0), ((600, 0), 400));
    // The made-up key cannot sign anything, so it no longer holds the DID.
    assert_eq!(squatter.client.get("/v1/agent/profile").status, 401);
    let identity = client.get(&format!("/v1/agent/identity/{}", owner.did())).expect(200);
    assert_eq!(identity["signing_public_key"], owner.signer.public_key());
}

fn a_registration_of_somebody_elses_public_key_locks_no_wallet(suite: &Suite) {
    let client = suite.client();
    let ((owner, _), friend) = (paid_before(&client), Party::new(&client));
    let mut copied = pay_keys(&owner);
    copied["encryption_public_key"] = json!(base64(&[9; 32]));
    let copycat = Agent::register(&client, &copied);
    let thiefs = Party::new(&client).signer.public_key();
    let rotation = json!({ "signing_public_key": thiefs, "encryption_public_key": base64(&[9; 32]) });
    assert_eq!(copycat.client.post("/v1/agent/rotate-keys", &rotation).expect(200)["wallet_frozen"], false);
    owner.pay(friend.did(), 100).expect(200);
    copycat.client.delete("/v1/agent/deactivate").expect(200);
    Agent::register(&client, &pay_keys(&owner));
    owner.pay(friend.did(), 100).expect(200);
    assert_eq!(owner.money(), (800, 0));
}

fn a_squatter_that_is_suspended_or_erased_takes_no_wallet_along(suite: &Suite) {
    let client = suite.client();
    let friend = Party::new(&client);
    for erase in [false, true] {
        let (owner, sdk) = paid_before(&client);
        squat(&client, &owner);
        let path = format!("/v1/admin/agents/{}", owner.did());
        match erase {
            true => client.admin().delete(&path).expect(200),
            false => client.admin().post(&format!("{path}/suspend"), &json!({ "reason": "spam" })).expect(200),
        };
        let mut body = sdk.key_body(None, 1);
        body["proof"] = proof(&client, &sdk, &body, None);
        Agent::register(&client, &body);
        owner.pay(friend.did(), 100).expect(200);
        assert_eq!(owner.money(), (900, 0));
    }
}

fn whoever_steals_an_api_key_and_rotates_gets_no_money(suite: &Suite) {
    let client = suite.client();
    let (owner, thief) = (Party::funded(&client), Party::new(&client));
    let key = thief.signer.public_key();
    let rotation = json!({ "signing_public_key": key, "encryption_public_key": key });
    assert_eq!(owner.agent.client.post("/v1/agent/rotate-keys", &rotation).expect(200)["wallet_frozen"], true);
    let mut stolen = owner.clone();
    stolen.signer.seed = thief.signer.seed.clone();
    refused(&stolen.pay(thief.did(), 1), 400, "invalid_signature");
    refused(&owner.pay(thief.did(), 1), 403, "sender_frozen");
    let operator = Operator::new(&client, "freeze");
    operator.act("freeze", json!({ "did": owner.did(), "frozen": false })).expect(200);
    refused(&stolen.pay(thief.did(), 1), 400, "invalid_signature");
    owner.pay(thief.did(), 1).expect(200);
}

/// A freeze by an admin stays.
fn a_registration_with_a_proof_ends_a_freeze_that_a_rotation_caused(suite: &Suite) {
    let client = suite.client();
    let friend = Party::new(&client);
    let operator = Operator::new(&client, "freeze");
    for by_admin in [false, true] {
        let sdk = Sdk::new("svc", seed(), Options::default());
        let signer = heliograph_tests::ledger::Signer::new("svc", sdk.keys.signing.clone());
        let agent = Agent::register(&client, &sdk.key_body(None, 1));
        let owner = Party { agent, signer, client: client.clone() };
        owner.act("pay-faucet", json!({ "did": owner.did() })).expect(200);
        let thiefs = Party::new(&client).signer.public_key();
        let rotation = json!({ "signing_public_key": thiefs, "encryption_public_key": thiefs });
        assert_eq!(owner.agent.client.post("/v1/agent/rotate-keys", &rotation).expect(200)["wallet_frozen"], true);
        if by_admin {
            operator.act("freeze", json!({ "did": owner.did(), "frozen": true })).expect(200);
        }
        let mut body = sdk.key_body(None, 1);
        body["proof"] = proof(&client, &sdk, &body, None);
        let again = Agent::register(&client, &body);
        assert_eq!(text(&again.registration, "did"), owner.did());
        match by_admin {
            true => refused(&owner.pay(friend.did(), 1), 403, "sender_frozen"),
            false => {
                owner.pay(friend.did(), 1).expect(200);
            }
        }
    }
}
