//! API keys (interface section 5).

use serde_json::json;

use crate::{Suite, cases};

cases![sign_up_gives_a_key_that_is_shown_once, a_sign_up_without_a_plausible_address_is_refused,];

fn sign_up_gives_a_key_that_is_shown_once(suite: &Suite) {
    let client = suite.client();
    let answer = client.post("/api-keys/signup", &json!({ "email": "ada@example.org", "use_case": "tests" }));
    let body = answer.expect(201);
    let key = body["api_key"].as_str().unwrap();
    assert!(key.starts_with("svc_key_"), "{key}");
    assert_eq!(
        (&body["tier"], &body["rate_limit_per_minute"], &body["burst"]),
        (&json!("research"), &json!(1000), &json!(100))
    );
}

fn a_sign_up_without_a_plausible_address_is_refused(suite: &Suite) {
    let client = suite.client();
    for body in [json!({}), json!({ "email": 1 }), json!({ "email": "ada" }), json!({ "email": "@x.y" }), json!([])] {
        client.post("/api-keys/signup", &body).expect_error(400, "BAD_REQUEST");
    }
}
