//! API keys (decisions invented-names-leave-nothing, commands-on-servers and api-key-form).

use heliograph_tests::client::Client;
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    sign_up_gives_a_key_that_is_shown_once,
    a_sign_up_without_a_plausible_address_is_refused,
    a_new_key_works_at_once_and_every_changed_character_is_401,
    the_operator_makes_keys_of_every_tier_but_demo,
    a_key_of_no_tier_is_400,
    a_revoked_key_is_401_at_once_and_stays_so,
    a_leaked_key_is_revoked_as_it_was_found,
    revoking_what_does_not_exist_is_404,
    the_list_of_keys_is_paged_and_has_no_secrets,
    operator_routes_need_the_operator_key_and_nothing_else_opens_them,
    an_empty_demo_key_switches_it_off,
    a_demo_key_may_have_any_form,
    a_key_of_another_deployment_is_401,
    the_operator_rotates_the_master_key_and_moves_what_an_agent_has_sealed,
];

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

/// Status of a request that needs an API key.
fn used(client: &Client, key: &str) -> u16 {
    client.key(key).post("/hydra/v1/detect", &json!({ "country": "SE", "target": "a.example" })).status
}

fn make(client: &Client, tier: &str, label: &str) -> String {
    let body = client.admin().post("/v1/admin/keys", &json!({ "tier": tier, "label": label })).expect(201);
    assert_eq!(body["tier"], tier, "{body}");
    body["api_key"].as_str().unwrap().to_owned()
}

/// Every listed key, over all pages.
fn list(client: &Client, limit: u32) -> Vec<Value> {
    let mut keys = Vec::new();
    let mut after = String::new();
    loop {
        let page = client.admin().get(&format!("/v1/admin/keys?limit={limit}{after}")).expect(200);
        let part = page["keys"].as_array().unwrap();
        assert!(part.len() <= limit as usize, "{page}");
        keys.extend(part.iter().cloned());
        let Some(next) = page["next"].as_str() else { return keys };
        assert!(!part.is_empty(), "a page without keys has a next one");
        after = format!("&after={next}");
    }
}

fn account(client: &Client, label: &str) -> String {
    let keys = list(client, 100);
    let found = keys.iter().find(|key| key["label"] == label).unwrap_or_else(|| panic!("{label} is not listed"));
    found["account"].as_str().unwrap().to_owned()
}

fn a_new_key_works_at_once_and_every_changed_character_is_401(suite: &Suite) {
    let client = suite.client();
    let key = make(&client, "enterprise", "changed characters");
    assert_eq!(used(&client, &key), 200);
    for at in (0..key.len()).step_by(if suite.kind == heliograph_tests::target::Kind::Edge { 9 } else { 1 }) {
        let mut changed = key.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        assert_eq!(used(&client, &changed), 401, "character {at} may be anything: {changed}");
    }
    for wrong in [&key[..key.len() - 1], &format!("{key}A"), &key.to_uppercase(), &key.replace("_key_", "_agent_")] {
        assert_eq!(used(&client, wrong), 401, "{wrong}");
    }
}

fn the_operator_makes_keys_of_every_tier_but_demo(suite: &Suite) {
    let client = suite.client();
    for (tier, limit) in [("research", "1000"), ("enterprise", "10000"), ("bench", "60000000")] {
        let key = make(&client, tier, tier);
        let answer = client.key(&key).post("/hydra/v1/detect", &json!({ "country": "SE", "target": "a.example" }));
        assert_eq!(answer.status, 200, "{tier}");
        assert_eq!(answer.header("x-ratelimit-limit"), Some(limit), "{tier}");
    }
}

fn a_key_of_no_tier_is_400(suite: &Suite) {
    let client = suite.client().admin();
    for body in [
        json!({}),
        json!({ "tier": "demo" }),
        json!({ "tier": "Research" }),
        json!({ "tier": "gold" }),
        json!({ "tier": 1 }),
        json!({ "tier": "research", "label": "x".repeat(501) }),
    ] {
        client.post("/v1/admin/keys", &body).expect_error(400, "BAD_REQUEST");
    }
}

/// Decision hops-of-a-route.
fn a_revoked_key_is_401_at_once_and_stays_so(suite: &Suite) {
    let client = suite.client();
    let (key, other) = (make(&client, "research", "to be revoked"), make(&client, "research", "to be kept"));
    assert_eq!((used(&client, &key), used(&client, &other)), (200, 200));
    let path = format!("/v1/admin/keys/{}", account(&client, "to be revoked"));
    client.admin().delete(&path).expect(200);
    assert_eq!((used(&client, &key), used(&client, &other)), (401, 200));
    // Revoking twice is no error and restores nothing.
    client.admin().delete(&path).expect(200);
    assert_eq!(used(&client, &key), 401);
    let listed = list(&client, 100);
    let revoked = |label: &str| listed.iter().find(|key| key["label"] == label).unwrap()["revoked"].clone();
    assert_eq!((revoked("to be revoked"), revoked("to be kept")), (json!(true), json!(false)));
}

fn a_leaked_key_is_revoked_as_it_was_found(suite: &Suite) {
    let client = suite.client();
    let key = make(&client, "research", "leaked");
    client.admin().delete(&format!("/v1/admin/keys/{key}")).expect(200);
    assert_eq!(used(&client, &key), 401);
}

fn revoking_what_does_not_exist_is_404(suite: &Suite) {
    for account in ["nobody", "AAAAAAAAAAAAAAAAAAAAAA", "%00", "svc_demo"] {
        suite.client().admin().delete(&format!("/v1/admin/keys/{account}")).expect_error(404, "NOT_FOUND");
    }
}

fn the_list_of_keys_is_paged_and_has_no_secrets(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let keys: Vec<_> = (0..7).map(|number| make(&client, "research", &format!("key {number}"))).collect();
    for limit in [1, 2, 7, 8] {
        let listed = list(&client, limit);
        let labels: std::collections::BTreeSet<_> = listed.iter().map(|key| key["label"].to_string()).collect();
        assert_eq!((listed.len(), labels.len()), (7, 7), "limit {limit}");
    }
    let text = Value::from(list(&client, 100)).to_string();
    for key in &keys {
        let (_, secret) = key.rsplit_once('_').unwrap();
        assert!(!text.contains(secret) && !text.contains(key.as_str()), "{text}");
    }
    for bad in ["0", "-1", "x"] {
        client.admin().get(&format!("/v1/admin/keys?limit={bad}")).expect_error(400, "BAD_REQUEST");
    }
}

/// Decision commands-on-servers.
fn operator_routes_need_the_operator_key_and_nothing_else_opens_them(suite: &Suite) {
    let client = suite.client();
    let key = make(&client, "bench", "not the operator");
    let body = json!({ "tier": "bench" });
    let attempts = [
        client.clone(),
        client.with("x-admin-key", ""),
        client.with("x-admin-key", "wrong"),
        client.with("x-admin-key", &format!("{}x", heliograph_tests::target::ADMIN_KEY)),
        client.with("x-admin-key", &key),
        client.with("x-admin-key", "svc_demo"),
        client.key(&key),
        client.key(heliograph_tests::target::ADMIN_KEY),
        client.with("authorization", &format!("Bearer {}", heliograph_tests::target::ADMIN_KEY)),
    ];
    for attempt in attempts {
        attempt.get("/v1/admin/keys").expect_error(401, "UNAUTHORIZED");
        attempt.post("/v1/admin/keys", &body).expect_error(401, "UNAUTHORIZED");
        attempt.delete("/v1/admin/keys/x").expect_error(401, "UNAUTHORIZED");
        let import = attempt.send("POST", "/v1/admin/import/asn", Some("text/csv"), b"asn,org\n1,x\n");
        import.expect_error(401, "UNAUTHORIZED");
    }
}

fn an_empty_demo_key_switches_it_off(suite: &Suite) {
    let target = suite.fresh(&[("demo_key", "")]);
    assert_eq!((used(&target.client(), "svc_demo"), used(&target.client(), "")), (401, 401));
}

/// Decision api-key-form.
fn a_demo_key_may_have_any_form(suite: &Suite) {
    let target = suite.fresh(&[("demo_key", "Try it: 100% free!")]);
    assert_eq!((used(&target.client(), "Try it: 100% free!"), used(&target.client(), "svc_demo")), (200, 401));
}

fn a_key_of_another_deployment_is_401(suite: &Suite) {
    if suite.kind == heliograph_tests::target::Kind::Memory {
        return; // Its randomness has a fixed seed, so two deployments in memory have the same secrets.
    }
    let (one, two) = (suite.fresh(&[]), suite.client());
    assert_eq!(used(&two, &make(&one.client(), "research", "elsewhere")), 401);
}

/// Decision master-key-file.
fn the_operator_rotates_the_master_key_and_moves_what_an_agent_has_sealed(suite: &Suite) {
    use heliograph_tests::target::Kind;
    let target = suite.fresh(&[]);
    let client = target.client();
    let agent = client.post("/v1/agent/register", &json!({})).expect(201);
    let (did, key) = (agent["did"].as_str().unwrap(), agent["api_key"].as_str().unwrap());
    let write = |text: &str| {
        client.agent(key).post("/v1/agent/send", &json!({ "to": did, "message": text })).expect(201);
    };
    write("before");
    let rotated = client.admin().send("POST", "/v1/admin/master-key", None, b"");
    match suite.kind {
        Kind::Native => {
            let body = rotated.expect(201);
            assert_eq!((&body["earlier_keys"], body["key_id"].as_str().unwrap().len()), (&json!(1), 16));
        }
        // If the platform holds the keys, only the platform can change them.
        Kind::Memory | Kind::Edge => rotated.expect_error(404, "NOT_FOUND"),
    }
    let reseal = |did: &str| client.admin().send("POST", &format!("/v1/admin/agents/{did}/reseal"), None, b"");
    // The server may have been faster; after the second request nothing is left in any case.
    reseal(did).expect(200);
    assert_eq!(reseal(did).expect(200), json!({ "resealed": 0, "unopened": 0, "complete": true }));
    for nobody in ["did:svc:nobody", "x"] {
        reseal(nobody).expect_error(404, "NOT_FOUND");
    }
    write("after");
    let page = client.agent(key).get("/v1/agent/receive").expect(200);
    let texts: Vec<_> = page["messages"].as_array().unwrap().iter().map(|message| &message["content"]).collect();
    assert_eq!(texts, ["before", "after"]);
}
