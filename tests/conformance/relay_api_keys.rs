//! API keys of agents: rotation by themselves, and their form.

use heliograph_core::crypto::client::Options;
use heliograph_tests::relay::{Agent, SdkAgent, text};
use serde_json::{Value, json};

use crate::relay_identity::opens;
use crate::{Suite, cases};

cases![a_key_is_rotated_by_itself, where_the_operator_wants_it_new_keys_are_hex_digits_and_earlier_ones_still_work,];

/// Decision lost-agent-keys.
fn a_key_is_rotated_by_itself(suite: &Suite) {
    let client = suite.client();
    let ada = Agent::server_side(&client);
    let rotate = |key: &str, body: &Value| client.agent(key).post("/v1/agent/rotate-api-key", body);
    let made = rotate(&ada.api_key, &json!({})).expect(201);
    let second = text(&made, "api_key").to_owned();
    assert!(made["did"] == json!(ada.did) && made["previous_key_valid_until"].is_string(), "{made}");
    assert!(opens(&client, &ada.api_key) && opens(&client, &second));
    rotate(&ada.api_key, &json!({})).expect_error(401, "UNAUTHORIZED");
    let third = rotate(&second, &json!({ "revoke": true })).expect(201);
    assert!(third["previous_key_valid_until"].is_null(), "{third}");
    assert!(!opens(&client, &ada.api_key) && !opens(&client, &second) && opens(&client, text(&third, "api_key")));
    for nothing in ["x", ""] {
        rotate(nothing, &json!({})).expect_error(401, "UNAUTHORIZED");
    }
    rotate(text(&third, "api_key"), &json!({ "revoke": 1 })).expect_error(400, "BAD_REQUEST");
}

/// Decision hex-agent-keys.
fn where_the_operator_wants_it_new_keys_are_hex_digits_and_earlier_ones_still_work(suite: &Suite) {
    let target = suite.fresh(&[]);
    let before = Agent::server_side(&target.client());
    let target = target.restart(&[("agent_key_format", "hex")]);
    let client = target.client();
    let is_hex = |key: &str| key.len() == 64 && key.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    // Its keys are its own: after a restart the runtime in memory would make those of before again.
    let ada = SdkAgent::new(&client, Options::default()).agent;
    assert!(!is_hex(&before.api_key) && is_hex(&ada.api_key), "{}", ada.api_key.len());
    assert!(opens(&client, &before.api_key) && opens(&client, &ada.api_key));
    let profile = client.agent(&ada.api_key).get("/v1/agent/profile").expect(200);
    assert_eq!(text(&profile, "did"), ada.did);
    // A digit that was changed anywhere opens nothing.
    for at in [0, 31, 32, 51, 52, 63] {
        let mut other = ada.api_key.clone();
        other.replace_range(at..=at, if &other[at..=at] == "0" { "1" } else { "0" });
        assert!(!opens(&client, &other), "{at}");
    }
    // The one of before gets its next key in the new form.
    let next = text(&client.agent(&before.api_key).post("/v1/agent/rotate-api-key", &json!({})).expect(201), "api_key")
        .to_owned();
    assert!(is_hex(&next) && opens(&client, &next));
    let target = target.restart(&[]);
    let client = target.client();
    assert!(opens(&client, &next) && opens(&client, &ada.api_key));
}
