//! Identity, profile and the end of an agent (relay 2.3, 2.5, 2.6, 2.8).

use heliograph_core::crypto::client::{Client as Sdk, Options};
use heliograph_tests::relay::{Agent, SdkAgent, bytes, encode, seed, to_raw, unique};
use serde_json::{Value, json};

use crate::registration::object_of;
use crate::{Suite, cases};

cases![
    an_identity_shows_what_clients_need_to_write_to_the_agent,
    an_identity_without_optional_keys_shows_nulls,
    an_identity_hides_activity,
    an_identity_is_found_by_its_encoded_did,
    an_unknown_agent_is_404,
    a_key_sent_to_a_public_route_is_ignored,
    a_profile_shows_the_agent_to_itself,
    a_profile_needs_its_own_key,
    a_patch_changes_only_what_it_names,
    an_empty_patch_changes_nothing,
    a_patch_refuses_what_is_over_the_limits_and_changes_nothing,
    a_rename_takes_the_new_name_and_frees_the_old_one,
    a_rename_to_a_taken_name_is_409_and_changes_nothing,
    a_deactivated_agent_keeps_its_identity_as_inactive,
    a_deactivated_agent_loses_key_mail_and_stream,
    the_name_of_a_deactivated_agent_is_not_free_at_once,
    messages_of_a_deactivated_sender_can_still_be_verified,
    server_keys_never_leave_the_service,
];

fn identity_path(agent: &Agent) -> String {
    format!("/v1/agent/identity/{}", agent.did)
}

fn an_identity_shows_what_clients_need_to_write_to_the_agent(suite: &Suite) {
    let client = suite.client();
    let sdk = Sdk::new("svc", seed(), Options::default());
    let agent = Agent::register(&client, &sdk.key_body(None, 1));
    let identity = client.get(&identity_path(&agent)).expect(200);
    let given = sdk.key_body(None, 1);
    assert_eq!(identity["did"], json!(agent.did));
    for member in ["signing_public_key", "encryption_public_key", "mlkem_public_key"] {
        assert_eq!(identity[member], given[member], "{member}");
    }
    assert_eq!(identity["status"], "active");
    assert_eq!((&identity["name"], &identity["capabilities"]), (&Value::Null, &json!([])));
    assert_eq!(identity["metadata"], json!({}));
    let created = identity["created_at"].as_str().unwrap();
    assert!(heliograph_core::Timestamp::parse(created).is_some() && created.ends_with('Z'), "{created}");
}

fn an_identity_without_optional_keys_shows_nulls(suite: &Suite) {
    let client = suite.client();
    let sdk = Sdk::new("svc", seed(), Options { post_quantum: false, ..Options::default() });
    let agent = Agent::register(&client, &sdk.key_body(None, 1));
    let identity = client.get(&identity_path(&agent)).expect(200);
    assert_eq!(identity["mlkem_public_key"], Value::Null);
    assert!(identity["signed_prekey"].is_object());
}

/// Decision private-activity.
fn an_identity_hides_activity(suite: &Suite) {
    let client = suite.client();
    let agent = Agent::server_side(&client);
    agent.say(&agent.did, "to myself");
    for reader in [&client, &agent.client] {
        let identity = reader.get(&identity_path(&agent)).expect(200);
        for member in ["last_seen", "message_count", "api_key", "webhook_url"] {
            assert_eq!(identity[member], Value::Null, "{member}");
        }
    }
}

fn an_identity_is_found_by_its_encoded_did(suite: &Suite) {
    let client = suite.client();
    let agent = Agent::server_side(&client);
    let plain = client.get(&identity_path(&agent)).expect(200);
    let encoded = client.get(&format!("/v1/agent/identity/{}", encode(&agent.did))).expect(200);
    assert!(encode(&agent.did).contains("%3A"));
    assert_eq!(plain, encoded);
    // An empty query, and unknown parameters.
    assert_eq!(client.get(&format!("{}?", identity_path(&agent))).expect(200), plain);
    assert_eq!(client.get(&format!("{}?x=%20&&=", identity_path(&agent))).expect(200), plain);
}

fn an_unknown_agent_is_404(suite: &Suite) {
    let client = suite.client();
    let nobody = Sdk::new("svc", seed(), Options::default()).did;
    client.get(&format!("/v1/agent/identity/{nobody}")).expect_error(404, "NOT_FOUND");
    let agent = Agent::server_side(&client);
    for wrong in ["x", "did:svc:", "did:svc:0OIl", &agent.did[8..], &agent.did.to_uppercase()] {
        let answer = client.get(&format!("/v1/agent/identity/{wrong}"));
        assert!([400, 404].contains(&answer.status), "{wrong}: {}", answer.status);
    }
    let foreign = agent.did.replace(":svc:", ":other:");
    let answer = client.get(&format!("/v1/agent/identity/{foreign}"));
    assert!([400, 404].contains(&answer.status), "{}", answer.status);
}

fn a_key_sent_to_a_public_route_is_ignored(suite: &Suite) {
    let client = suite.client();
    let agent = Agent::server_side(&client);
    for key in [agent.api_key.as_str(), "nonsense", ""] {
        assert_eq!(client.agent(key).get(&identity_path(&agent)).status, 200, "{key:?}");
    }
    client.agent("nonsense").post("/v1/agent/register", &json!({})).expect(201);
}

fn a_profile_shows_the_agent_to_itself(suite: &Suite) {
    let client = suite.client();
    let sdk = SdkAgent::new(&client, Options::default());
    let profile = sdk.agent.client.get("/v1/agent/profile").expect(200);
    let identity = client.get(&identity_path(&sdk.agent)).expect(200);
    for (member, value) in identity.as_object().unwrap() {
        if !["last_seen", "message_count"].contains(&member.as_str()) {
            assert_eq!(&profile[member], value, "{member}");
        }
    }
    assert!(profile["message_count"].is_u64(), "{profile}");
    assert!(profile.as_object().unwrap().contains_key("last_seen"), "{profile}");
    assert_eq!(profile["api_key"], Value::Null, "shown once, at registration");
}

fn a_profile_needs_its_own_key(suite: &Suite) {
    let client = suite.client();
    client.get("/v1/agent/profile").expect_error(401, "UNAUTHORIZED");
    let (one, two) = (Agent::server_side(&client), Agent::server_side(&client));
    let profile = two.client.get("/v1/agent/profile").expect(200);
    assert_eq!(profile["did"], json!(two.did));
    assert_ne!(one.did, two.did);
}

fn profile(agent: &Agent) -> Value {
    let mut profile = agent.client.get("/v1/agent/profile").expect(200);
    for member in ["last_seen", "message_count"] {
        profile.as_object_mut().unwrap().remove(member);
    }
    profile
}

fn a_patch_changes_only_what_it_names(suite: &Suite) {
    let client = suite.client();
    let first = format!("Patched-{}", unique());
    let agent = Agent::register(&client, &json!({ "name": first, "capabilities": ["a"], "metadata": { "k": 1 } }));
    let second = format!("Renamed-{}", unique());
    for (body, member, value) in [
        (json!({ "name": second }), "name", json!(second)),
        (json!({ "capabilities": ["b", "c"] }), "capabilities", json!(["b", "c"])),
        (json!({ "metadata": { "other": [1, null] } }), "metadata", json!({ "other": [1, null] })),
        (json!({ "capabilities": [] }), "capabilities", json!([])),
        (json!({ "metadata": {} }), "metadata", json!({})),
    ] {
        let mut expected = profile(&agent);
        assert!(agent.client.patch("/v1/agent/profile", &body).expect(200).is_object());
        expected[member] = value;
        assert_eq!(profile(&agent), expected, "{body}");
    }
    let identity = client.get(&identity_path(&agent)).expect(200);
    assert_eq!((&identity["name"], &identity["capabilities"]), (&json!(second), &json!([])));
}

fn an_empty_patch_changes_nothing(suite: &Suite) {
    let client = suite.client();
    let name = format!("Still-{}", unique());
    let agent = Agent::register(&client, &json!({ "name": name, "capabilities": ["a"], "metadata": { "k": 1 } }));
    let before = profile(&agent);
    for body in [json!({}), json!({ "name": null, "capabilities": null, "metadata": null }), json!({ "unknown": 1 })] {
        assert!(agent.client.patch("/v1/agent/profile", &body).expect(200).is_object());
        assert_eq!(profile(&agent), before, "{body}");
    }
}

fn a_patch_refuses_what_is_over_the_limits_and_changes_nothing(suite: &Suite) {
    let client = suite.client();
    let agent = Agent::register(&client, &json!({ "capabilities": ["a"] }));
    let before = profile(&agent);
    let list = |count: usize| json!((0..count).map(|at| format!("c{at}")).collect::<Vec<_>>());
    let name = |count: usize| json!("n".repeat(count));
    for body in [
        json!({ "name": name(129) }),
        json!({ "capabilities": list(33) }),
        json!({ "metadata": [] }),
        json!({ "metadata": 1 }),
        json!({ "capabilities": [1] }),
        json!({ "name": 1 }),
        json!({ "name": format!("ok-{}", unique()), "capabilities": list(33) }),
    ] {
        agent.client.patch("/v1/agent/profile", &body).expect_error(400, "BAD_REQUEST");
    }
    let answer = agent.client.patch("/v1/agent/profile", &json!({ "metadata": object_of(4097) }));
    assert!([400, 413].contains(&answer.status), "{}", answer.status);
    assert_eq!(profile(&agent), before);
    let widest = json!({ "capabilities": list(32), "metadata": object_of(4096) });
    agent.client.patch("/v1/agent/profile", &widest).expect(200);
    assert_eq!(profile(&agent)["metadata"], object_of(4096));
}

fn a_rename_takes_the_new_name_and_frees_the_old_one(suite: &Suite) {
    let client = suite.client();
    let (old, new) = (format!("Old-{}", unique()), format!("New-{}", unique()));
    let agent = Agent::register(&client, &json!({ "name": old }));
    agent.client.patch("/v1/agent/profile", &json!({ "name": new })).expect(200);
    client.post("/v1/agent/register", &json!({ "name": new.to_lowercase() })).expect_error(409, "CONFLICT");
    Agent::register(&client, &json!({ "name": old }));
    // The agent's own name in upper case, and then the same again.
    for again in [new.to_uppercase(), new.to_uppercase()] {
        agent.client.patch("/v1/agent/profile", &json!({ "name": again })).expect(200);
        assert_eq!(profile(&agent)["name"], json!(again));
    }
}

fn a_rename_to_a_taken_name_is_409_and_changes_nothing(suite: &Suite) {
    let client = suite.client();
    let taken = format!("Taken-{}", unique());
    Agent::register(&client, &json!({ "name": taken }));
    let own = format!("Own-{}", unique());
    let agent = Agent::register(&client, &json!({ "name": own, "capabilities": ["a"] }));
    let body = json!({ "name": taken.to_uppercase(), "capabilities": ["b"] });
    agent.client.patch("/v1/agent/profile", &body).expect_error(409, "CONFLICT");
    assert_eq!((&profile(&agent)["name"], &profile(&agent)["capabilities"]), (&json!(own), &json!(["a"])));
    client.post("/v1/agent/register", &json!({ "name": own })).expect_error(409, "CONFLICT");
}

fn a_deactivated_agent_keeps_its_identity_as_inactive(suite: &Suite) {
    let client = suite.client();
    let agent = SdkAgent::new(&client, Options::default()).agent;
    let before = client.get(&identity_path(&agent)).expect(200);
    let answer = agent.client.send("DELETE", "/v1/agent/deactivate", Some("application/json"), b"").expect(200);
    assert_eq!(answer["did"], json!(agent.did));
    assert_eq!(answer["status"], "inactive");
    let after = client.get(&identity_path(&agent)).expect(200);
    assert_eq!(after["status"], "inactive");
    for member in ["did", "signing_public_key", "encryption_public_key", "created_at"] {
        assert_eq!(after[member], before[member], "old signatures must verify: {member}");
    }
}

fn a_deactivated_agent_loses_key_mail_and_stream(suite: &Suite) {
    let client = suite.client();
    let (agent, peer) = (Agent::server_side(&client), Agent::server_side(&client));
    agent.client.delete("/v1/agent/deactivate").expect(200);
    for path in ["/v1/agent/profile", "/v1/agent/receive", "/v1/agent/receive/raw", "/v1/agent/receive/sse"] {
        agent.client.get(path).expect_error(401, "UNAUTHORIZED");
    }
    agent.client.delete("/v1/agent/deactivate").expect_error(401, "UNAUTHORIZED");
    let body = json!({ "to": agent.did, "message": "anybody there?" });
    peer.client.post("/v1/agent/send", &body).expect_error(404, "NOT_FOUND");
    let body = heliograph_tests::relay::letter(&agent.did, "anybody there?");
    peer.client.post("/v1/agent/send/encrypted", &body).expect_error(404, "NOT_FOUND");
}

fn the_name_of_a_deactivated_agent_is_not_free_at_once(suite: &Suite) {
    let client = suite.client();
    let name = format!("Gone-{}", unique());
    let agent = Agent::register(&client, &json!({ "name": name }));
    agent.client.delete("/v1/agent/deactivate").expect(200);
    client.post("/v1/agent/register", &json!({ "name": name })).expect_error(409, "CONFLICT");
}

fn messages_of_a_deactivated_sender_can_still_be_verified(suite: &Suite) {
    let client = suite.client();
    let (sender, mut reader) = (Agent::server_side(&client), SdkAgent::new(&client, Options::default()));
    sender.say(&reader.agent.did, "last words");
    sender.client.delete("/v1/agent/deactivate").expect(200);
    let item = reader.agent.raw().remove(0);
    let opened = reader.sdk.receive(&to_raw(&item)).unwrap();
    assert!(opened.signature_valid);
    assert_eq!(opened.payload.content, "last words");
    let body = json!({ "envelope": item["envelope"], "signature": item["signature"], "sender_did": sender.did });
    assert_eq!(client.post("/v1/agent/verify", &body).expect(200)["valid"], true);
}

fn server_keys_never_leave_the_service(suite: &Suite) {
    let client = suite.client();
    let agent = Agent::server_side(&client);
    let shown = [
        agent.registration.clone(),
        agent.client.get("/v1/agent/profile").json(),
        client.get(&identity_path(&agent)).json(),
    ];
    for answer in shown {
        // Only names are searched: a public key may contain any of these words by chance.
        for name in answer.as_object().unwrap().keys() {
            for word in ["private", "secret", "sealed", "seed"] {
                assert!(!name.to_lowercase().contains(word), "{name} in {answer}");
            }
        }
    }
    assert_eq!(bytes(&agent.registration["signing_public_key"]).len(), 32);
}
