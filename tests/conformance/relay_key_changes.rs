//! Keys that change without a signature by the previous key: senders who pinned those keys are refused, all others are
//! told. The attacker has a stolen API key, or knows only public keys.

use heliograph_core::crypto::client::Options;
use heliograph_core::crypto::{Secret, signing};
use heliograph_core::relay::agent::{proof, rotate};
use heliograph_tests::client::{Answer, Client};
use heliograph_tests::peer::route_body;
use heliograph_tests::relay::{Agent, SdkAgent, base64, bytes, deployment_id, letter, look_up, made_up_like, unique};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    whoever_pinned_a_key_is_refused_after_a_rotation_that_it_did_not_sign,
    a_rotation_that_the_pinned_key_signed_refuses_nobody,
    the_owner_who_rotates_a_thief_away_is_known_by_those_who_pinned_it,
    whoever_pinned_no_key_is_told_with_the_first_message,
    a_sender_whose_answer_was_lost_is_told_again,
    another_registration_of_the_did_is_not_who_was_pinned,
    a_broadcast_leaves_out_whose_keys_are_not_those_pinned,
];

/// Rotates to new keys, signed by `by` or unsigned.
fn rotate(client: &Client, agent: &mut SdkAgent, by: Option<&Secret<32>>) -> Value {
    agent.sdk.rotate_keys();
    let mut body = agent.sdk.key_body(None, 2);
    if let Some(by) = by {
        let (at, nonce) = (client.now().to_millis_text(), format!("rotation-nonce-{:06}", unique()));
        let key = |name: &str| -> [u8; 32] { bytes(&body[name]).try_into().unwrap() };
        let (signing_key, encryption) = (key("signing_public_key"), key("encryption_public_key"));
        let mlkem = body["mlkem_public_key"].is_string().then(|| bytes(&body["mlkem_public_key"]));
        let keys = proof::Keys { signing: &signing_key, encryption: &encryption, mlkem: mlkem.as_deref() };
        let text = rotate::signed_text("svc", &deployment_id(client), &agent.agent.did, keys, &at, &nonce);
        body["rotation_signature"] = json!(base64(&signing::sign(by, text.as_bytes())));
        body["rotation_nonce"] = json!(nonce);
        body["rotation_issued_at"] = json!(at);
    }
    agent.agent.client.post("/v1/agent/rotate-keys", &body).expect(200)
}

fn sdk(client: &Client) -> SdkAgent {
    SdkAgent::new(client, Options::default())
}

fn pin(by: &Client, did: &str, accept: bool) -> Value {
    by.post("/v1/agent/keys/pin", &json!({ "did": did, "accept": accept })).expect(200)
}

/// Every way in which these two can write to an agent here, each with its answer.
fn writes(held: &Agent, own: &SdkAgent, to: &str) -> Vec<(&'static str, Answer)> {
    let peer = look_up(&held.client.clone(), to);
    let own_client = &own.agent.client;
    vec![
        ("send", held.client.post("/v1/agent/send", &json!({ "to": to, "message": "x" }))),
        ("task", held.client.post("/v1/agent/tasks", &json!({ "to": to, "input": { "x": 1 } }))),
        ("send/encrypted", own_client.post("/v1/agent/send/encrypted", &letter(to, "x"))),
        ("route", own_client.post("/v1/relay/route", &route_body(&own.sdk, &peer, "x"))),
        (
            "encrypted task",
            own_client.post(
                "/v1/agent/tasks",
                &json!({ "to": to, "encrypted_input": base64(b"box"), "input_nonce": base64(&[7; 24]) }),
            ),
        ),
    ]
}

fn whoever_pinned_a_key_is_refused_after_a_rotation_that_it_did_not_sign(suite: &Suite) {
    let client = suite.client();
    let (held, own, mut bob) = (Agent::server_side(&client), sdk(&client), sdk(&client));
    let did = bob.agent.did.clone();
    for by in [&held.client, &own.agent.client] {
        pin(by, &did, false);
    }
    for (way, answer) in writes(&held, &own, &did) {
        assert_eq!((answer.status, answer.expect(201).get("key_changed")), (201, None), "{way}");
    }
    let task = held.client.post("/v1/agent/tasks", &json!({ "to": own.agent.did, "input": {} })).expect(201);
    let before = bob.agent.everything().len();
    rotate(&client, &mut bob, None);
    for (way, answer) in writes(&held, &own, &did) {
        assert_eq!(answer.expect(409)["error"], "KEY_CHANGED", "{way}");
    }
    assert_eq!(bob.agent.everything().len(), before, "nothing was stored");
    // An answer to a task is encrypted to the requester's keys in the same way.
    let mut held_by_thief = sdk(&client);
    let asked = held_by_thief
        .agent
        .client
        .post(
            "/v1/agent/tasks",
            &json!({ "to": held.did, "encrypted_input": base64(b"box"), "input_nonce": base64(&[7; 24]) }),
        )
        .expect(201);
    pin(&held.client, &held_by_thief.agent.did, false);
    rotate(&client, &mut held_by_thief, None);
    let done = json!({ "status": "completed", "output": { "x": 1 } });
    let path = format!("/v1/agent/tasks/{}", asked["id"].as_str().or(asked["task_id"].as_str()).unwrap());
    held.client.patch(&path, &json!({ "status": "accepted" }));
    assert_eq!(held.client.patch(&path, &done).expect(409)["error"], "KEY_CHANGED");
    drop(task);
    // No agent that pinned the old keys sees the new ones without a warning.
    for path in [format!("/v1/agent/identity/{did}"), format!("/v1/agent/prekeys/{did}")] {
        assert_eq!(held.client.get(&path).expect(200)["key_changed"], true, "{path}");
        assert_eq!(client.get(&path).expect(200).get("key_changed"), None, "{path}");
        assert_eq!(client.agent("nonsense").get(&path).expect(200).get("key_changed"), None, "{path}");
    }
    assert_eq!(pin(&held.client, &did, false)["status"], "changed");
    // A sender that accepted the new keys can continue.
    for by in [&held.client, &own.agent.client] {
        assert_eq!(pin(by, &did, true)["status"], "verified");
    }
    for (way, answer) in writes(&held, &own, &did) {
        assert_eq!(answer.status, 201, "{way}: {}", answer.text());
    }
    assert_eq!(held.client.get(&format!("/v1/agent/identity/{did}")).expect(200).get("key_changed"), None);
}

fn a_rotation_that_the_pinned_key_signed_refuses_nobody(suite: &Suite) {
    let client = suite.client();
    let (held, own, mut bob, server) =
        (Agent::server_side(&client), sdk(&client), sdk(&client), Agent::server_side(&client));
    for did in [&bob.agent.did, &server.did] {
        pin(&held.client, did, false);
        pin(&own.agent.client, did, false);
    }
    for _ in 0..2 {
        let before = bob.sdk.keys.signing.clone();
        assert_eq!(rotate(&client, &mut bob, Some(&before))["rotation_proved"], true);
        server.client.post("/v1/agent/rotate-keys", &json!({})).expect(200);
    }
    for did in [&bob.agent.did, &server.did] {
        for (way, answer) in writes(&held, &own, did) {
            assert_eq!((answer.status, answer.expect(201).get("key_changed")), (201, None), "{way}");
        }
        assert_eq!(held.client.get(&format!("/v1/agent/identity/{did}")).expect(200).get("key_changed"), None);
    }
}

fn the_owner_who_rotates_a_thief_away_is_known_by_those_who_pinned_it(suite: &Suite) {
    let client = suite.client();
    let (held, own, deceived, mut bob) =
        (Agent::server_side(&client), sdk(&client), Agent::server_side(&client), sdk(&client));
    let did = bob.agent.did.clone();
    pin(&held.client, &did, false);
    pin(&own.agent.client, &did, false);
    let key = bob.sdk.keys.signing.clone();
    rotate(&client, &mut bob, None);
    let thiefs = bob.sdk.keys.signing.clone();
    pin(&deceived.client, &did, false);
    rotate(&client, &mut bob, Some(&thiefs));
    deceived.client.post("/v1/agent/send", &json!({ "to": did, "message": "x" })).expect(201);
    held.client.post("/v1/agent/send", &json!({ "to": did, "message": "x" })).expect_error(409, "KEY_CHANGED");
    rotate(&client, &mut bob, Some(&key));
    for (way, answer) in writes(&held, &own, &did) {
        assert_eq!(answer.status, 201, "{way}: {}", answer.text());
    }
    deceived.client.post("/v1/agent/send", &json!({ "to": did, "message": "x" })).expect_error(409, "KEY_CHANGED");
}

fn whoever_pinned_no_key_is_told_with_the_first_message(suite: &Suite) {
    let client = suite.client();
    let (held, own, mut bob) = (Agent::server_side(&client), sdk(&client), sdk(&client));
    let did = bob.agent.did.clone();
    let say = |by: &Agent| by.client.post("/v1/agent/send", &json!({ "to": did, "message": "x" })).expect(201);
    let write = |by: &SdkAgent| by.agent.client.post("/v1/agent/send/encrypted", &letter(&did, "x")).expect(201);
    assert_eq!((say(&held).get("key_changed"), write(&own).get("key_changed")), (None, None));
    for _ in 0..2 {
        rotate(&client, &mut bob, None);
        assert_eq!((&say(&held)["key_changed"], &write(&own)["key_changed"]), (&json!(true), &json!(true)));
        assert_eq!((say(&held).get("key_changed"), write(&own).get("key_changed")), (None, None));
    }
    // A change that the agent signed itself causes no warning.
    let before = bob.sdk.keys.signing.clone();
    rotate(&client, &mut bob, Some(&before));
    assert_eq!((say(&held).get("key_changed"), write(&own).get("key_changed")), (None, None));
    let late = Agent::server_side(&client);
    let task = json!({ "to": did, "input": {} });
    assert_eq!(late.client.post("/v1/agent/tasks", &task).expect(201)["key_changed"], true);
    assert_eq!(late.client.post("/v1/agent/tasks", &task).expect(201).get("key_changed"), None);
    let other = sdk(&client);
    let routed = || {
        let body = route_body(&other.sdk, &look_up(&client, &did), "x");
        other.agent.client.post("/v1/relay/route", &body).expect(201)
    };
    assert_eq!((&routed()["key_changed"], routed().get("key_changed")), (&json!(true), None));
}

fn a_sender_whose_answer_was_lost_is_told_again(suite: &Suite) {
    let client = suite.client();
    let (own, mut bob) = (sdk(&client), sdk(&client));
    rotate(&client, &mut bob, None);
    let body = letter(&bob.agent.did, "x");
    let post = |body: &Value| own.agent.client.post("/v1/agent/send/encrypted", body).expect(201);
    let first = post(&body);
    assert_eq!((&first["key_changed"], &post(&body)), (&json!(true), &first));
    assert_eq!(post(&letter(&bob.agent.did, "y")).get("key_changed"), None);
    assert_eq!(post(&body), first);
}

fn another_registration_of_the_did_is_not_who_was_pinned(suite: &Suite) {
    let client = suite.client();
    let (held, own, free) = (Agent::server_side(&client), sdk(&client), Agent::server_side(&client));
    let owner =
        heliograph_core::crypto::client::Client::new("svc", heliograph_tests::relay::seed(), Options::default());
    let made_up = base64(&made_up_like(&owner.as_peer().signing_key));
    let squatter = json!({ "signing_public_key": made_up, "encryption_public_key": base64(&[9; 32]) });
    Agent::register(&client, &squatter);
    pin(&held.client, &owner.did, false);
    pin(&own.agent.client, &owner.did, false);
    Agent::register(&client, &owner.key_body(None, 1));
    for (way, answer) in writes(&held, &own, &owner.did) {
        assert_eq!(answer.expect(409)["error"], "KEY_CHANGED", "{way}");
    }
    let say = || free.client.post("/v1/agent/send", &json!({ "to": owner.did, "message": "x" })).expect(201);
    assert_eq!((&say()["key_changed"], say().get("key_changed")), (&json!(true), None));
}

fn a_broadcast_leaves_out_whose_keys_are_not_those_pinned(suite: &Suite) {
    let client = suite.client();
    let (held, mut bob, eve) = (Agent::server_side(&client), sdk(&client), sdk(&client));
    let capability = format!("key-changes-{}", unique());
    for agent in [&bob, &eve] {
        let listing = json!({ "name": capability, "description": "x" });
        agent.agent.client.post("/v1/agent/capabilities", &listing).expect(201);
        pin(&held.client, &agent.agent.did, false);
    }
    let ask = || {
        let body = json!({ "capability": capability, "input": {} });
        let tasks = held.client.post("/v1/agent/tasks/broadcast", &body).expect(201)["tasks"].clone();
        let mut dids: Vec<String> =
            tasks.as_array().unwrap().iter().map(|task| task["agent_did"].as_str().unwrap().to_owned()).collect();
        dids.sort();
        dids
    };
    let mut both = vec![bob.agent.did.clone(), eve.agent.did.clone()];
    both.sort();
    for _ in 0..200 {
        if ask() == both {
            break;
        }
        client.wait(std::time::Duration::from_millis(50));
    }
    assert_eq!(ask(), both);
    rotate(&client, &mut bob, None);
    assert_eq!(ask(), std::slice::from_ref(&eve.agent.did));
}
