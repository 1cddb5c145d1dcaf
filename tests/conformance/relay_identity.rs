//! Changes of an agent's keys, lost API keys, prekeys, DID documents.

use std::collections::BTreeSet;

use heliograph_core::crypto::client::{Client as Sdk, Meta, Options};
use heliograph_core::crypto::{Secret, encoding, signing};
use heliograph_core::relay::agent::{api_key, proof, rotate};
use heliograph_tests::client::Client;
use heliograph_tests::relay::{
    Agent, SdkAgent, actor_id, base64, bytes, deployment_id, encode, look_up, proof, seed, text, unique,
};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    two_keys_are_enough_to_rotate,
    a_rotation_replaces_signed_prekey_and_ml_kem_key_together,
    a_rotation_that_the_key_before_signed_is_proved,
    what_was_sent_before_a_rotation_opens_and_verifies_after_it,
    a_server_side_agent_rotates_with_an_empty_body_and_reads_its_old_mail,
    envelopes_of_an_earlier_key_verify_with_its_period,
    pins_of_others_report_new_keys,
    a_rotation_that_does_not_fit_the_agent_is_refused,
    the_newest_key_gets_another_one,
    a_revoked_key_ends_at_once,
    a_signature_gets_a_new_key_once,
    the_operator_makes_a_new_key,
    a_new_api_key_names_the_same_agent,
    a_bundle_shows_the_prekey_of_the_registration,
    uploaded_prekeys_are_given_one_by_one,
    an_upload_is_checked_and_a_repeat_changes_nothing,
    an_uploaded_signed_prekey_proves_a_registration,
    prekeys_are_given_exactly_once_to_a_hundred_fetchers,
    head_gives_no_prekey_away,
    a_caller_over_the_limit_gets_a_bundle_without_a_one_time_prekey,
    the_owner_is_told_when_prekeys_run_low,
    prekeys_of_nobody_and_of_an_ended_agent_are_404,
    a_did_document_shows_the_keys_and_the_did_key,
    an_unproven_key_is_no_other_name_of_the_agent,
];

/// Signs a rotation at this deployment with the previous key.
fn sign_rotation(client: &Client, did: &str, before: &Secret<32>, body: &mut Value) {
    let (issued_at, nonce) = (client.now().to_millis_text(), format!("nonce-{:010}", unique()));
    let key = |name: &str| -> [u8; 32] { bytes(&body[name]).try_into().unwrap() };
    let (signing, encryption) = (key("signing_public_key"), key("encryption_public_key"));
    let mlkem = body["mlkem_public_key"].is_string().then(|| bytes(&body["mlkem_public_key"]));
    let keys = proof::Keys { signing: &signing, encryption: &encryption, mlkem: mlkem.as_deref() };
    let signed = rotate::signed_text("svc", &deployment_id(client), did, keys, &issued_at, &nonce);
    body["rotation_signature"] = json!(base64(&heliograph_core::crypto::signing::sign(before, signed.as_bytes())));
    body["rotation_nonce"] = json!(nonce);
    body["rotation_issued_at"] = json!(issued_at);
}

fn rotate(agent: &Agent, body: &Value) -> Value {
    agent.client.post("/v1/agent/rotate-keys", body).expect(200)
}

/// An empty body with the content type that clients send.
fn rotate_held(agent: &Agent) -> Value {
    agent.client.send("POST", "/v1/agent/rotate-keys", Some("application/json"), b"").expect(200)
}

fn identity(client: &Client, did: &str) -> Value {
    client.get(&format!("/v1/agent/identity/{did}")).expect(200)
}

fn bundle(client: &Client, did: &str) -> Value {
    client.get(&format!("/v1/agent/prekeys/{}", encode(did))).expect(200)
}

/// The four members of the interface's own client-side mode.
fn two_keys(body: &Value) -> Value {
    json!({
        "signing_public_key": body["signing_public_key"],
        "encryption_public_key": body["encryption_public_key"],
    })
}

fn two_keys_are_enough_to_rotate(suite: &Suite) {
    let client = suite.client();
    let mut ada = SdkAgent::new(&client, Options::default());
    ada.sdk.rotate_keys();
    let body = two_keys(&ada.sdk.key_body(None, 2));
    let answer = rotate(&ada.agent, &body);
    assert_eq!((&answer["did"], &answer["client_side"]), (&json!(ada.agent.did), &json!(true)));
    // DID and API key stay; everything that belonged to the old keys is gone.
    let identity = identity(&client, &ada.agent.did);
    for member in ["signing_public_key", "encryption_public_key"] {
        assert_eq!(identity[member], body[member], "{member}");
    }
    assert_eq!((&identity["signed_prekey"], &identity["mlkem_public_key"]), (&Value::Null, &Value::Null));
    let profile = ada.agent.client.get("/v1/agent/profile").expect(200);
    assert_eq!(profile["signing_public_key"], body["signing_public_key"]);
    // The same again, from a client whose answer was lost.
    assert_eq!(rotate(&ada.agent, &body), answer);
}

fn a_rotation_replaces_signed_prekey_and_ml_kem_key_together(suite: &Suite) {
    let client = suite.client();
    let mut ada = SdkAgent::new(&client, Options::default());
    let upload = ada.sdk.prekeys_body(5, 1_800_000_000_000, 2);
    ada.agent.client.post("/v1/agent/prekeys", &upload).expect(200);
    ada.sdk.rotate_keys();
    let body = ada.sdk.key_body(None, 3);
    rotate(&ada.agent, &body);
    let identity = identity(&client, &ada.agent.did);
    let bundle = bundle(&client, &ada.agent.did);
    assert_eq!(identity["mlkem_public_key"], body["mlkem_public_key"]);
    assert_eq!(bundle["mlkem_public_key"], body["mlkem_public_key"]);
    assert_eq!(identity["signed_prekey"], bundle["signed_prekey"]);
    assert_eq!(bundle["signed_prekey"]["public_key"], body["signed_prekey_public"]);
    assert_eq!(bundle["signed_prekey"]["id"], 3);
    assert_eq!(bundle["identity_key"], body["encryption_public_key"]);
    assert_eq!(bundle["signing_key"], body["signing_public_key"]);
    // Prekeys of the old keys are gone.
    assert_eq!(bundle["one_time_prekey"], Value::Null);
    // The SDK continues with ten new prekeys and another signed prekey.
    let upload = ada.sdk.prekeys_body(10, 1_800_000_001_000, 4);
    let answer = ada.agent.client.post("/v1/agent/prekeys", &upload).expect(200);
    assert_eq!((&answer["uploaded"], &answer["signed_prekey_updated"]), (&json!(10), &json!(true)));
}

/// Decision money-key-settled.
fn a_rotation_that_the_key_before_signed_is_proved(suite: &Suite) {
    let client = suite.client();
    let mut ada = SdkAgent::new(&client, Options::default());
    let before = ada.sdk.keys.signing.clone();
    ada.sdk.rotate_keys();
    let mut body = ada.sdk.key_body(None, 2);
    sign_rotation(&client, &ada.agent.did, &before, &mut body);
    let mut wrong = body.clone();
    wrong["rotation_nonce"] = json!("a-nonce-nobody-signed");
    ada.agent.client.post("/v1/agent/rotate-keys", &wrong).expect_error(400, "BAD_REQUEST");
    let answer = rotate(&ada.agent, &body);
    assert_eq!(answer["rotation_proved"], true);
    assert_eq!(rotate(&ada.agent, &body), answer);
    ada.sdk.rotate_keys();
    assert_eq!(rotate(&ada.agent, &ada.sdk.key_body(None, 3))["rotation_proved"], false);
    // The service signs for the keys that it holds itself.
    assert_eq!(rotate_held(&Agent::server_side(&client))["rotation_proved"], true);
}

/// Relay 5.5: messages keep the sender keys of their time.
fn what_was_sent_before_a_rotation_opens_and_verifies_after_it(suite: &Suite) {
    let client = suite.client();
    let mut ada = SdkAgent::new(&client, Options::default());
    let mut bob = SdkAgent::new(&client, Options::default());
    ada.say(&bob.agent.did, "by the old keys");
    ada.sdk.rotate_keys();
    rotate(&ada.agent, &ada.sdk.key_body(None, 2));
    ada.say(&bob.agent.did, "in the old session");
    ada.sdk.forget_sessions();
    ada.say(&bob.agent.did, "by the new keys");
    assert_eq!(bob.texts(), ["by the old keys", "in the old session", "by the new keys"]);
}

/// Decision master-key-file.
fn a_server_side_agent_rotates_with_an_empty_body_and_reads_its_old_mail(suite: &Suite) {
    let client = suite.client();
    let held = Agent::server_side(&client);
    let mut ada = SdkAgent::new(&client, Options::default());
    let mut bob = SdkAgent::new(&client, Options::default());
    let old = look_up(&client, &held.did);
    ada.say(&held.did, "one");
    held.say(&held.did, "to myself");
    held.say(&bob.agent.did, "before");
    let answer = rotate_held(&held);
    let new = look_up(&client, &held.did);
    assert_eq!(text(&answer, "signing_public_key"), base64(&new.signing_key));
    for (before, after) in [(&old.signing_key[..], &new.signing_key[..]), (&old.encryption_key, &new.encryption_key)] {
        assert_ne!(before, after);
    }
    assert_ne!(old.kem_key, new.kem_key);
    // Clients cache an identity for five minutes: a first message to the old keys still opens.
    let mut late = SdkAgent::new(&client, Options::default());
    let posted = late.sdk.send(&old, &client.now().to_millis_text(), "to the old keys", Meta::default()).unwrap();
    late.post(&posted).expect(201);
    ada.say(&held.did, "in the old session");
    ada.sdk.forget_sessions();
    ada.say(&held.did, "to the new keys");
    let opened: Vec<(Value, Value)> =
        held.inbox().iter().map(|item| (item["content"].clone(), item["signature_valid"].clone())).collect();
    let expected = ["one", "to myself", "to the old keys", "in the old session", "to the new keys"];
    assert_eq!(opened, expected.map(|content| (json!(content), json!(true))));
    held.say(&bob.agent.did, "after");
    assert_eq!(bob.texts(), ["before", "after"]);
    // After another rotation.
    rotate_held(&held);
    assert_eq!(held.inbox().len(), 5);
    assert!(held.inbox().iter().all(|item| item["decrypted"] == true));
}

/// Decision earlier-keys-verify.
fn envelopes_of_an_earlier_key_verify_with_its_period(suite: &Suite) {
    let client = suite.client();
    let held = Agent::server_side(&client);
    held.say(&held.did, "signed by the first key");
    let rotated = rotate_held(&held);
    held.say(&held.did, "signed by the second key");
    let items = held.inbox();
    let verify = |item: &Value| {
        let body = json!({ "envelope": item["envelope"], "signature": item["signature"], "sender_did": held.did });
        client.post("/v1/agent/verify", &body).expect(200)
    };
    let (first, second) = (verify(&items[0]), verify(&items[1]));
    assert_eq!((&first["valid"], &second["valid"]), (&json!(true), &json!(true)));
    assert_eq!(first["key_period"]["until"], rotated["rotated_at"]);
    assert_eq!(second["key_period"], json!({ "from": rotated["rotated_at"], "until": null }));
}

/// Relay 12.
fn pins_of_others_report_new_keys(suite: &Suite) {
    let client = suite.client();
    let (ada, held) = (Agent::server_side(&client), Agent::server_side(&client));
    let pin = || ada.client.post("/v1/agent/keys/pin", &json!({ "did": held.did })).expect(200);
    let first = pin();
    assert_eq!(first["key_changed"], false);
    rotate_held(&held);
    let check = ada.client.get(&format!("/v1/agent/keys/verify/{}", encode(&held.did))).expect(200);
    assert_eq!((&check["pinned"], &check["verified"]), (&json!(true), &json!(false)));
    assert!(check["warning"].is_string());
    let second = pin();
    assert_eq!(second["key_changed"], true);
    assert_eq!(second["previous_signing_hash"], first["current_signing_hash"]);
    assert_ne!(second["current_signing_hash"], first["current_signing_hash"]);
    // The warning stays until the agent decides.
    let decide =
        |accept: bool| ada.client.post("/v1/agent/keys/pin", &json!({ "did": held.did, "accept": accept })).expect(200);
    assert_eq!(decide(false), second);
    let accepted = decide(true);
    assert_eq!((&accepted["key_changed"], &accepted["warning"]), (&json!(false), &Value::Null));
    assert_eq!(
        (&accepted["previous_signing_hash"], &accepted["first_seen"]),
        (&second["current_signing_hash"], &first["first_seen"])
    );
    assert_eq!(pin()["status"], "verified");
    let check = ada.client.get(&format!("/v1/agent/keys/verify/{}", encode(&held.did))).expect(200);
    assert_eq!((&check["verified"], &check["warning"]), (&json!(true), &Value::Null));
}

fn a_rotation_that_does_not_fit_the_agent_is_refused(suite: &Suite) {
    let client = suite.client();
    let held = Agent::server_side(&client);
    let sdk = Sdk::new("svc", seed(), Options::default());
    let ada = SdkAgent::new(&client, Options::default());
    let refuse = |agent: &Agent, body: &Value| {
        agent.client.post("/v1/agent/rotate-keys", body).expect_error(400, "BAD_REQUEST");
    };
    refuse(&held, &sdk.key_body(None, 2));
    refuse(&ada.agent, &json!({}));
    let good = sdk.key_body(None, 2);
    for missing in ["signing_public_key", "encryption_public_key", "signed_prekey_public", "signed_prekey_signature"] {
        let mut body = good.clone();
        body[missing] = Value::Null;
        refuse(&ada.agent, &body);
    }
    let mut small = good.clone();
    small["signing_public_key"] = json!(base64(&[0; 32]));
    refuse(&ada.agent, &small);
    // Signed by the old key instead of the new one.
    let mut body = good.clone();
    body["signed_prekey_signature"] = ada.sdk.key_body(None, 2)["signed_prekey_signature"].clone();
    refuse(&ada.agent, &body);
    assert_eq!(
        identity(&client, &ada.agent.did)["signing_public_key"],
        ada.sdk.key_body(None, 1)["signing_public_key"]
    );
    client.post("/v1/agent/rotate-keys", &good).expect_error(401, "UNAUTHORIZED");
}

fn new_key(client: &Client, body: &Value) -> String {
    let answer = client.post("/v1/agent/api-key", body).expect(201);
    text(&answer, "api_key").to_owned()
}

pub fn opens(client: &Client, key: &str) -> bool {
    match client.agent(key).get("/v1/agent/profile").status {
        200 => true,
        401 => false,
        other => panic!("{other}"),
    }
}

/// Decision lost-agent-keys.
fn the_newest_key_gets_another_one(suite: &Suite) {
    let client = suite.client();
    let ada = Agent::server_side(&client);
    let second = new_key(&ada.client, &json!({}));
    assert_ne!(second, ada.api_key);
    // The previous key works for a while, but cannot get another key.
    assert!(opens(&client, &ada.api_key) && opens(&client, &second));
    ada.client.post("/v1/agent/api-key", &json!({})).expect_error(401, "UNAUTHORIZED");
    let third = client.agent(&second).send("POST", "/v1/agent/api-key", Some("application/json"), b"").expect(201);
    assert_eq!(third["did"], json!(ada.did));
    assert!(third["previous_key_valid_until"].is_string());
    for nothing in [client.clone(), client.agent("x"), client.agent("")] {
        nothing.post("/v1/agent/api-key", &json!({})).expect_error(401, "UNAUTHORIZED");
    }
}

/// Decision lost-agent-keys.
fn a_revoked_key_ends_at_once(suite: &Suite) {
    let client = suite.client();
    let ada = Agent::server_side(&client);
    let second = new_key(&ada.client, &json!({}));
    let third = new_key(&client.agent(&second), &json!({ "revoke": true }));
    assert!(!opens(&client, &ada.api_key) && !opens(&client, &second) && opens(&client, &third));
    // Mail and identity stay the agent's own.
    ada.client.post("/v1/agent/send", &json!({ "to": ada.did, "message": "x" })).expect_error(401, "UNAUTHORIZED");
    client.agent(&third).post("/v1/agent/send", &json!({ "to": ada.did, "message": "x" })).expect(201);
}

/// Decision lost-agent-keys.
fn a_signature_gets_a_new_key_once(suite: &Suite) {
    let client = suite.client();
    let ada = SdkAgent::new(&client, Options::default());
    let deployment = deployment_id(&client);
    let signed = |nonce: &str, at: &str| {
        let lines = api_key::signed_text("svc", &deployment, &ada.agent.did, at, nonce);
        assert_eq!(lines, format!("svc-api-key/v2\n{deployment}\n{}\n{at}\n{nonce}", ada.agent.did));
        let signature = base64(&signing::sign(&ada.sdk.keys.signing, lines.as_bytes()));
        json!({ "did": ada.agent.did, "timestamp": at, "nonce": nonce, "signature": signature, "revoke": true })
    };
    let now = client.now();
    let body = signed("lost-and-found-again", &now.to_millis_text());
    let key = new_key(&client, &body);
    assert!(opens(&client, &key) && !opens(&client, &ada.agent.api_key));
    client.post("/v1/agent/api-key", &body).expect_error(409, "CONFLICT");
    for seconds in [-302, 302] {
        let body = signed("out-of-time-nonce", &now.plus(seconds * 1_000_000).to_millis_text());
        client.post("/v1/agent/api-key", &body).expect_error(401, "UNAUTHORIZED");
    }
    let mut forged = signed("forged-nonce-one", &now.to_millis_text());
    forged["nonce"] = json!("forged-nonce-other");
    client.post("/v1/agent/api-key", &forged).expect_error(401, "UNAUTHORIZED");
    assert!(opens(&client, &key));
}

/// Decision lost-agent-keys.
fn the_operator_makes_a_new_key(suite: &Suite) {
    let client = suite.client();
    let ada = Agent::server_side(&client);
    let path = format!("/v1/admin/agents/{}/api-key", ada.did);
    client.post(&path, &json!({})).expect_error(401, "UNAUTHORIZED");
    let kept = client.admin().send("POST", &path, Some("application/json"), b"").expect(201);
    assert!(opens(&client, &ada.api_key) && opens(&client, text(&kept, "api_key")));
    let made = client.admin().post(&path, &json!({ "revoke": true })).expect(201);
    assert!(!opens(&client, &ada.api_key) && !opens(&client, text(&kept, "api_key")));
    let made = client.agent(text(&made, "api_key"));
    made.delete("/v1/agent/deactivate").expect(200);
    client.admin().post(&path, &json!({})).expect_error(409, "CONFLICT");
    let nobody = Sdk::new("svc", seed(), Options::default()).did;
    client.admin().post(&format!("/v1/admin/agents/{nobody}/api-key"), &json!({})).expect_error(404, "NOT_FOUND");
}

/// Decision ids-lead-to-actors: an issued id leads to its actor by position.
fn a_new_api_key_names_the_same_agent(suite: &Suite) {
    let client = suite.client();
    let ada = Agent::server_side(&client);
    let actor = actor_id(&bytes(&ada.registration["signing_public_key"])[..16]);
    // This also holds after the signing key changed: the DID is that of the first key.
    rotate_held(&ada);
    for key in [new_key(&ada.client, &json!({})), ada.api_key.clone()] {
        assert_eq!(key["svc_agent_".len()..].split_at(22).0, actor);
    }
}

fn a_bundle_shows_the_prekey_of_the_registration(suite: &Suite) {
    let client = suite.client();
    let sdk = Sdk::new("svc", seed(), Options::default());
    let body = sdk.key_body(None, 1);
    let ada = Agent::register(&client, &body);
    let bundle = bundle(&client, &ada.did);
    assert_eq!(bundle["did"], json!(ada.did));
    assert_eq!(bundle["identity_key"], body["encryption_public_key"]);
    assert_eq!(bundle["signing_key"], body["signing_public_key"]);
    assert_eq!(bundle["mlkem_public_key"], body["mlkem_public_key"]);
    let signed = json!({
        "public_key": body["signed_prekey_public"],
        "signature": body["signed_prekey_signature"],
        "id": 1,
    });
    assert_eq!(bundle["signed_prekey"], signed);
    let members = bundle.as_object().unwrap();
    assert!(members.contains_key("one_time_prekey") && bundle["one_time_prekey"].is_null());
    let held = self::bundle(&client, &Agent::server_side(&client).did);
    assert_eq!((&held["signed_prekey"], &held["one_time_prekey"]), (&Value::Null, &Value::Null));
}

fn uploaded_prekeys_are_given_one_by_one(suite: &Suite) {
    let client = suite.client();
    let mut ada = SdkAgent::new(&client, Options::default());
    let upload = ada.sdk.prekeys_body(3, 1_893_456_000_000, 2);
    let answer = ada.agent.client.post("/v1/agent/prekeys", &upload).expect(200);
    assert_eq!((&answer["uploaded"], &answer["signed_prekey_updated"]), (&json!(3), &json!(true)));
    let given: Vec<Value> = (0..4).map(|_| bundle(&client, &ada.agent.did)).collect();
    for (given, uploaded) in given.iter().zip(upload["prekeys"].as_array().unwrap()) {
        assert_eq!(&given["one_time_prekey"], uploaded);
        assert_eq!(given["signed_prekey"], upload["signed_prekey"]);
    }
    assert_eq!(given[3]["one_time_prekey"], Value::Null);
    assert_eq!(given[3]["signed_prekey"], upload["signed_prekey"]);
    assert_eq!(identity(&client, &ada.agent.did)["signed_prekey"], upload["signed_prekey"]);
}

fn an_upload_is_checked_and_a_repeat_changes_nothing(suite: &Suite) {
    let client = suite.client();
    let mut ada = SdkAgent::new(&client, Options::default());
    let good = ada.sdk.prekeys_body(100, 1_893_456_000_000, 2);
    let post = |body: &Value| ada.agent.client.post("/v1/agent/prekeys", body);
    let other = Sdk::new("svc", seed(), Options::default()).prekeys_body(1, 1, 1);
    let mut wrong = vec![json!({}), json!({ "prekeys": null }), json!({ "prekeys": {} }), json!({ "prekeys": [1] })];
    for (pointer, value) in [
        ("/prekeys/0/public_key", json!("AAAA")),
        ("/prekeys/0/public_key", json!(base64(&[0; 32]))),
        ("/prekeys/0/id", json!("1")),
        ("/prekeys/0/id", json!(1.5)),
        ("/signed_prekey/signature", other["signed_prekey"]["signature"].clone()),
        ("/signed_prekey/public_key", other["signed_prekey"]["public_key"].clone()),
        ("/signed_prekey/id", Value::Null),
    ] {
        let mut body = good.clone();
        *body.pointer_mut(pointer).unwrap() = value;
        wrong.push(body);
    }
    let mut many = good.clone();
    many["prekeys"].as_array_mut().unwrap().push(other["prekeys"][0].clone());
    wrong.push(many);
    for body in &wrong {
        post(body).expect_error(400, "BAD_REQUEST");
    }
    client.post("/v1/agent/prekeys", &good).expect_error(401, "UNAUTHORIZED");
    assert_eq!(bundle(&client, &ada.agent.did)["one_time_prekey"], Value::Null);
    let answer = post(&good).expect(200);
    assert_eq!(answer["uploaded"], 100);
    assert_eq!(post(&good).expect(200), answer);
    // An upload without one-time prekeys, only with a signed prekey.
    let mut only_signed = good.clone();
    only_signed["prekeys"] = json!([]);
    assert_eq!(post(&only_signed).expect(200)["uploaded"], 0);
}

/// Decision signed-registrations.
fn an_uploaded_signed_prekey_proves_a_registration(suite: &Suite) {
    let client = suite.client();
    let mut sdk = Sdk::new("svc", seed(), Options::default());
    let ada = Agent::register(&client, &two_keys(&sdk.key_body(None, 1)));
    ada.client.post("/v1/agent/prekeys", &sdk.prekeys_body(1, 1, 1)).expect(200);
    client.post("/v1/agent/register", &sdk.key_body(None, 1)).expect_error(409, "CONFLICT");
    assert!(opens(&client, &ada.api_key));
}

fn prekeys_are_given_exactly_once_to_a_hundred_fetchers(suite: &Suite) {
    let client = suite.client();
    let mut ada = SdkAgent::new(&client, Options::default());
    let upload = ada.sdk.prekeys_body(40, 1_893_456_000_000, 2);
    ada.agent.client.post("/v1/agent/prekeys", &upload).expect(200);
    let fetch = || bundle(&client, &ada.agent.did)["one_time_prekey"].clone();
    let fetched: Vec<Value> = std::thread::scope(|scope| {
        let fetchers: Vec<_> = (0..100).map(|_| scope.spawn(fetch)).collect();
        fetchers.into_iter().map(|fetcher| fetcher.join().unwrap()).collect()
    });
    let given: Vec<String> = fetched.iter().filter(|key| !key.is_null()).map(Value::to_string).collect();
    let distinct: BTreeSet<String> = given.iter().cloned().collect();
    let uploaded: BTreeSet<String> = upload["prekeys"].as_array().unwrap().iter().map(Value::to_string).collect();
    assert_eq!(given.len(), 40, "as many as there were");
    assert_eq!(distinct, uploaded);
    // The same upload again restores none of them.
    let again = ada.agent.client.post("/v1/agent/prekeys", &upload).expect(200);
    assert_eq!((&again["uploaded"], &again["one_time_prekeys_remaining"]), (&json!(0), &json!(0)));
    assert_eq!(fetch(), Value::Null);
}

/// Decision caller-rate-limits.
fn head_gives_no_prekey_away(suite: &Suite) {
    let client = suite.client();
    let mut ada = SdkAgent::new(&client, Options::default());
    ada.agent.client.post("/v1/agent/prekeys", &ada.sdk.prekeys_body(1, 1, 2)).expect(200);
    for _ in 0..3 {
        let head = client.send("HEAD", &format!("/v1/agent/prekeys/{}", ada.agent.did), None, b"");
        assert_eq!(head.status, 405);
    }
    assert!(bundle(&client, &ada.agent.did)["one_time_prekey"].is_object());
}

/// Decision caller-rate-limits.
fn a_caller_over_the_limit_gets_a_bundle_without_a_one_time_prekey(suite: &Suite) {
    let target = suite.fresh(&[("prekeys_per_hour", "3")]);
    let client = target.client();
    for _ in 0..2 {
        let mut ada = SdkAgent::new(&client, Options::default());
        ada.agent.client.post("/v1/agent/prekeys", &ada.sdk.prekeys_body(10, 1, 2)).expect(200);
        let given = (0..10).filter(|_| bundle(&client, &ada.agent.did)["one_time_prekey"].is_object()).count();
        // Three at once, and one more for every 20 minutes on a slow machine.
        assert_eq!(given, 3, "of each agent");
        let left = ada.agent.client.get("/v1/agent/prekeys").expect(200);
        assert_eq!(left["one_time_prekeys_remaining"], 7);
    }
}

fn the_owner_is_told_when_prekeys_run_low(suite: &Suite) {
    let client = suite.client();
    let mut ada = SdkAgent::new(&client, Options::default());
    let told = |agent: &Agent| {
        let profile = agent.client.get("/v1/agent/profile").expect(200);
        (profile["one_time_prekeys_remaining"].as_u64().unwrap(), profile["one_time_prekeys_low"].as_bool().unwrap())
    };
    assert_eq!(told(&ada.agent), (0, false));
    let answer = ada.agent.client.post("/v1/agent/prekeys", &ada.sdk.prekeys_body(10, 1, 2)).expect(200);
    assert_eq!((&answer["one_time_prekeys_remaining"], &answer["one_time_prekeys_low"]), (&json!(10), &json!(false)));
    bundle(&client, &ada.agent.did);
    assert_eq!(told(&ada.agent), (9, true));
    // Nobody else sees the number.
    assert_eq!(identity(&client, &ada.agent.did)["one_time_prekeys_remaining"], Value::Null);
    client.get("/v1/agent/prekeys").expect_error(401, "UNAUTHORIZED");
}

fn prekeys_of_nobody_and_of_an_ended_agent_are_404(suite: &Suite) {
    let client = suite.client();
    let nobody = Sdk::new("svc", seed(), Options::default()).did;
    client.get(&format!("/v1/agent/prekeys/{nobody}")).expect_error(404, "NOT_FOUND");
    let mut ada = SdkAgent::new(&client, Options::default());
    ada.agent.client.post("/v1/agent/prekeys", &ada.sdk.prekeys_body(1, 1, 2)).expect(200);
    ada.agent.client.delete("/v1/agent/deactivate").expect(200);
    client.get(&format!("/v1/agent/prekeys/{}", ada.agent.did)).expect_error(404, "NOT_FOUND");
}

fn a_did_document_shows_the_keys_and_the_did_key(suite: &Suite) {
    let client = suite.client();
    let ada = SdkAgent::new(&client, Options::default());
    let proof = proof(&client, &ada.sdk, &ada.sdk.key_body(None, 1), None);
    ada.agent.client.post("/v1/agent/prove", &proof).expect(200);
    let peer = look_up(&client, &ada.agent.did);
    let answer = client.get(&format!("/.well-known/did/{}", encode(&ada.agent.did)));
    assert_eq!(answer.header("content-type"), Some("application/did+json"));
    let document = answer.expect(200);
    assert_eq!(document["id"], json!(ada.agent.did));
    assert_eq!(document["alsoKnownAs"], json!([encoding::did_key(&peer.signing_key)]));
    let method = |at: usize| &document["verificationMethod"][at];
    assert_eq!(
        format!("did:key:{}", text(method(0), "publicKeyMultibase")),
        encoding::did_key(&peer.signing_key),
        "the same text as in did:key"
    );
    assert!(text(method(1), "publicKeyMultibase").starts_with("z6LS"), "{document}");
    assert_eq!(document["authentication"], json!([method(0)["id"]]));
    assert_eq!(document["keyAgreement"], json!([method(1)["id"]]));
    assert!(text(&document["service"][0], "serviceEndpoint").ends_with(&ada.agent.did));

    ada.agent.client.delete("/v1/agent/deactivate").expect(200);
    let ended = client.get(&format!("/.well-known/did/{}", ada.agent.did)).expect(200);
    assert_eq!(ended["verificationMethod"], document["verificationMethod"]);
    assert_eq!((&ended["authentication"], &ended["alsoKnownAs"]), (&json!([]), &json!([])));
    let nobody = Sdk::new("svc", seed(), Options::default()).did;
    client.get(&format!("/.well-known/did/{nobody}")).expect_error(404, "NOT_FOUND");
}

/// Decision signed-registrations.
fn an_unproven_key_is_no_other_name_of_the_agent(suite: &Suite) {
    let client = suite.client();
    let sdk = Sdk::new("svc", seed(), Options::default());
    let squatter = Agent::register(&client, &two_keys(&sdk.key_body(None, 1)));
    let document = client.get(&format!("/.well-known/did/{}", squatter.did)).expect(200);
    assert_eq!(document["alsoKnownAs"], json!([]));
}
