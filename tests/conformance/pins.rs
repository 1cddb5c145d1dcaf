//! Key pins, which clients ask for before their first message to anybody (relay 12).

use heliograph_core::crypto::client::{Client as Sdk, Options};
use heliograph_tests::relay::{Agent, SdkAgent, encode, seed, text, unique};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    a_first_pin_remembers_the_peer,
    a_second_pin_of_the_same_keys_reports_no_change,
    a_peer_that_is_not_pinned_verifies_as_not_pinned,
    a_pinned_peer_verifies,
    pins_belong_to_the_agent_that_made_them,
    an_agent_may_pin_itself,
    an_unknown_peer_cannot_be_pinned,
    a_deactivated_peer_stays_pinned,
];

fn pin(agent: &Agent, did: &str) -> Value {
    agent.client.post("/v1/agent/keys/pin", &json!({ "did": did })).expect(200)
}

fn pins(agent: &Agent) -> Vec<Value> {
    let body = agent.client.send("GET", "/v1/agent/keys/pins", Some("application/json"), b"").expect(200);
    let pins = body["pins"].as_array().unwrap().clone();
    assert_eq!(body["total"], pins.len());
    pins
}

fn verify(agent: &Agent, did: &str) -> Value {
    agent.client.get(&format!("/v1/agent/keys/verify/{}", encode(did))).expect(200)
}

fn a_first_pin_remembers_the_peer(suite: &Suite) {
    let client = suite.client();
    let name = format!("Pinned-{}", unique());
    let (a, b) = (Agent::server_side(&client), Agent::register(&client, &json!({ "name": name })));
    assert!(pins(&a).is_empty());
    let answer = pin(&a, &b.did);
    assert_eq!((&answer["pinned"], &answer["key_changed"]), (&json!(true), &json!(false)));
    assert!(answer["status"].is_string(), "{answer}");
    assert_eq!(answer["warning"], Value::Null);
    let listed = pins(&a).remove(0);
    assert_eq!((&listed["pinned_did"], &listed["pinned_name"]), (&json!(b.did), &json!(name)));
    assert_eq!(listed["status"], answer["status"]);
    for member in ["first_seen", "last_verified"] {
        assert!(heliograph_core::Timestamp::parse(text(&listed, member)).is_some(), "{listed}");
    }
    // By status: the pin's own, and one that no pin has.
    let by = |status: &str| a.client.get(&format!("/v1/agent/keys/pins?status={status}"));
    assert_eq!(by(text(&answer, "status")).expect(200)["total"], 1);
    by("not_pinned").expect_error(400, "BAD_REQUEST");
}

fn a_second_pin_of_the_same_keys_reports_no_change(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Agent::server_side(&client), SdkAgent::new(&client, Options::default()).agent);
    let first = pin(&a, &b.did);
    let before = pins(&a).remove(0);
    let second = pin(&a, &b.did);
    for member in ["pinned", "key_changed", "status", "warning"] {
        assert_eq!(first[member], second[member], "{member}");
    }
    let after = pins(&a);
    assert_eq!(after.len(), 1);
    assert_eq!(after[0]["first_seen"], before["first_seen"]);
    assert!(text(&after[0], "last_verified") >= text(&before, "last_verified"));
}

fn a_peer_that_is_not_pinned_verifies_as_not_pinned(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    let answer = verify(&a, &b.did);
    assert_eq!(answer["did"], json!(b.did));
    assert_eq!((&answer["pinned"], &answer["verified"]), (&json!(false), &json!(false)));
    assert_eq!(answer["status"], "not_pinned");
    // The same status for an unknown agent: clients treat any other status as an error.
    let nobody = Sdk::new("svc", seed(), Options::default()).did;
    assert_eq!(verify(&a, &nobody)["status"], "not_pinned");
}

fn a_pinned_peer_verifies(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    let pinned = pin(&a, &b.did);
    let answer = verify(&a, &b.did);
    assert_eq!(answer["did"], json!(b.did));
    assert_eq!((&answer["pinned"], &answer["verified"]), (&json!(true), &json!(true)));
    assert_eq!(answer["status"], pinned["status"]);
    assert_eq!(answer["warning"], Value::Null);
    assert_eq!(answer["first_seen"], pins(&a)[0]["first_seen"]);
    let raw = a.client.get(&format!("/v1/agent/keys/verify/{}", b.did)).expect(200);
    assert_eq!(raw["pinned"], true);
}

fn pins_belong_to_the_agent_that_made_them(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    pin(&a, &b.did);
    assert!(pins(&b).is_empty());
    assert_eq!(verify(&b, &a.did)["pinned"], false);
    client.get("/v1/agent/keys/pins").expect_error(401, "UNAUTHORIZED");
}

fn an_agent_may_pin_itself(suite: &Suite) {
    let a = Agent::server_side(&suite.client());
    assert_eq!(pin(&a, &a.did)["key_changed"], false);
    assert_eq!(verify(&a, &a.did)["verified"], true);
}

fn an_unknown_peer_cannot_be_pinned(suite: &Suite) {
    let a = Agent::server_side(&suite.client());
    let nobody = Sdk::new("svc", seed(), Options::default()).did;
    a.client.post("/v1/agent/keys/pin", &json!({ "did": nobody })).expect_error(404, "NOT_FOUND");
    for body in [json!({}), json!({ "did": null }), json!({ "did": 1 })] {
        a.client.post("/v1/agent/keys/pin", &body).expect_error(400, "BAD_REQUEST");
    }
    assert!(pins(&a).is_empty());
}

fn a_deactivated_peer_stays_pinned(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    pin(&a, &b.did);
    b.client.delete("/v1/agent/deactivate").expect(200);
    assert_eq!(pins(&a).len(), 1);
    assert_eq!(verify(&a, &b.did)["pinned"], true);
}
