//! Rules for every endpoint of the relay: absent and null members, large limits, and fixed words that win over path
//! parameters.

use heliograph_core::app::PROGRAM;
use heliograph_core::crypto::client::Options;
use heliograph_core::engine::http::{Auth, BodyKind, Route};
use heliograph_tests::client::{Answer, Client};
use heliograph_tests::relay::{Agent, SdkAgent, letter, text, unique};
use serde_json::{Value, json};

use crate::relay_tasks::agents;
use crate::routes::sample;
use crate::{Suite, cases};

cases![
    null_and_absent_are_alike_in_every_optional_member,
    unknown_parameters_and_empty_queries_do_not_matter,
    a_large_limit_is_clamped_and_a_senseless_one_is_400_on_every_list,
    fixed_segments_win_over_parameters,
    fact_10_an_empty_body_with_a_json_type_is_no_body_on_any_route,
    conflict_42_a_key_never_matters_where_none_is_needed,
    a_status_of_its_own_means_what_clients_take_it_for,
    conflict_44_what_is_made_is_201_and_the_rest_200,
    conflict_45_the_answer_to_a_deactivation_names_the_agent,
];

#[track_caller]
fn with_nulls(client: &Client, method: &str, path: &str, mut body: Value, nulls: &[&str]) -> Value {
    for name in nulls {
        body[*name] = Value::Null;
    }
    let answer = client.send(method, path, Some("application/json"), body.to_string().as_bytes());
    assert!([200, 201].contains(&answer.status), "{method} {path}: {}", answer.text());
    answer.json()
}

/// The Python client passes keyword arguments through, so nulls do occur.
fn null_and_absent_are_alike_in_every_optional_member(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let (did, client) = (&bob.did, &ada.client);
    let labels = ["content_type", "message_type", "thread_id", "reply_to", "ttl"];
    let post = |path: &str, body: Value, nulls: &[&str]| with_nulls(client, "POST", path, body, nulls);
    post("/v1/agent/send", json!({ "to": did, "message": "x" }), &labels);
    let mut encrypted = letter(did, "x");
    for name in labels {
        encrypted.as_object_mut().unwrap().remove(name);
    }
    post("/v1/agent/send/encrypted", encrypted.clone(), &[&labels[..], &["envelope"]].concat());
    encrypted["nonce"] = letter(did, "y")["nonce"].clone();
    encrypted.as_object_mut().unwrap().remove("envelope");
    post("/v1/relay/route", encrypted, &labels);
    let received = bob.inbox();
    let default = &received[0];
    assert_eq!((&default["content_type"], &default["message_type"]), (&json!("text/plain"), &json!("text")));
    assert_eq!((&default["thread_id"], &default["reply_to"]), (&Value::Null, &Value::Null));

    let name = format!("nulls-{}", unique());
    let channel = post("/v1/agent/channels", json!({ "name": name }), &["description", "topic", "private"]);
    assert_eq!(channel["type"], "public");
    let channel = format!("/v1/agent/channels/{}", text(&channel, "id"));
    post(&format!("{channel}/messages"), json!({ "message": "x" }), &["reply_to"]);
    let invite =
        post(&format!("{channel}/invite"), json!({ "did": did }), &["invitee_did", "message", "expires_hours"]);
    let stamp = |name: &str| heliograph_core::Timestamp::parse(text(&invite, name)).unwrap();
    let hours = stamp("expires_at").since(ada.client.now()) / 3_600_000_000;
    assert!((167..=168).contains(&hours), "{hours}");
    let nulls = ["description", "input_schema", "output_schema", "version"];
    let capability = post("/v1/agent/capabilities", json!({ "name": name }), &nulls);
    assert_eq!(capability["version"], "1.0.0");
    let nulls = ["capability", "encrypted_input", "input_nonce", "priority", "expires_in"];
    let task = post("/v1/agent/tasks", json!({ "to": did, "input": "x" }), &nulls);
    assert_eq!(task["priority"], "normal");
    let nulls =
        ["encrypted_output", "output_nonce", "output_signature", "output", "result", "rating", "rating_comment"];
    let path = format!("/v1/agent/tasks/{}", text(&task, "id"));
    with_nulls(&bob.client, "PATCH", &path, json!({ "status": "completed" }), &nulls);
    with_nulls(client, "PATCH", &path, json!({ "rating": 5 }), &["status", "rating_comment", "output"]);
    let nulls = [
        "encrypted_input",
        "input_nonce",
        "input_signature",
        "priority",
        "max_agents",
        "min_trust_level",
        "expires_in",
    ];
    post("/v1/agent/tasks/broadcast", json!({ "capability": "nobody-has-it", "input": "x" }), &nulls);
    let claim = json!({ "claim_type": "throttling", "claim_data": { "n": unique() }, "country": "ZM" });
    let nulls = ["signature", "timestamp", "domain", "confidence", "expires_in"];
    let attestation = post("/v1/agent/attestations", claim, &nulls);
    assert_eq!(attestation["confidence"], 1.0);
    let vote = format!("/v1/agent/attestations/{}/corroborate", text(&attestation, "id"));
    with_nulls(&bob.client, "POST", &vote, json!({ "vote": "corroborate" }), &["signature", "comment"]);
    let nulls = ["value_type", "ttl", "client_nonce"];
    with_nulls(client, "PUT", "/v1/agent/memory/nulls/k", json!({ "value": null }), &nulls);
    let kept = client.get("/v1/agent/memory/nulls/k").expect(200);
    assert_eq!((&kept["value"], &kept["expires_at"]), (&Value::Null, &Value::Null));
    let flags =
        ["messages", "channels", "tasks", "attestations", "memory", "trust"].map(|what| format!("include_{what}"));
    let export = post("/v1/agent/export", json!({}), &flags.each_ref().map(String::as_str));
    assert!(export["messages"].is_array() && export["memory"].is_array(), "everything is included");
    with_nulls(client, "PATCH", "/v1/agent/profile", json!({}), &["name", "capabilities", "metadata"]);
    let own = SdkAgent::new(&suite.client(), Options::default()).agent.client;
    with_nulls(&own, "POST", "/v1/agent/prekeys", json!({ "prekeys": [] }), &["signed_prekey"]);
}

fn unknown_parameters_and_empty_queries_do_not_matter(suite: &Suite) {
    let [ada] = agents::<1>(suite);
    let did = &ada.did;
    for path in [
        "/v1/agent/profile",
        "/v1/agent/receive",
        "/v1/agent/receive/raw",
        "/v1/agent/discover",
        "/v1/agent/channels",
        "/v1/agent/tasks",
        "/v1/agent/attestations",
        "/v1/agent/trust/leaderboard",
        "/v1/agent/memory",
        "/v1/agent/invites",
        "/v1/agent/keys/pins",
        "/v1/agent/stats",
        "/v1/agent/webhooks",
        "/v1/relay/info",
        &format!("/v1/agent/identity/{did}"),
        &format!("/v1/agent/trust/{did}"),
        &format!("/v1/agent/ping/{did}"),
    ] {
        for query in ["?", "?unknown=1&period=30d", "?=", "?&&"] {
            let answer = ada.client.get(&format!("{path}{query}"));
            assert_eq!(answer.status, 200, "{path}{query}: {}", answer.text());
        }
    }
}

/// Decision request-size-limits: a limit over the maximum is clamped.
fn a_large_limit_is_clamped_and_a_senseless_one_is_400_on_every_list(suite: &Suite) {
    let [ada] = agents::<1>(suite);
    for path in [
        "/v1/agent/discover?",
        "/v1/agent/receive?",
        "/v1/agent/receive/raw?",
        "/v1/agent/channels?",
        "/v1/agent/capabilities/search?q=a&",
        "/v1/agent/tasks?",
        "/v1/agent/tasks/broadcasts?",
        "/v1/agent/attestations?country=ZM&",
        "/v1/agent/trust/leaderboard?",
        "/v1/agent/memory/none?",
        "/v1/agent/consent/blocked?",
    ] {
        for large in ["101", "100000", "99999999999999999999999"] {
            let answer = ada.client.get(&format!("{path}limit={large}"));
            assert_eq!(answer.status, 200, "{path}limit={large}: {}", answer.text());
        }
        for senseless in ["0", "-1", "x", "1.5"] {
            ada.client.get(&format!("{path}limit={senseless}")).expect_error(400, "BAD_REQUEST");
        }
    }
}
fn fixed_segments_win_over_parameters(suite: &Suite) {
    let [ada] = agents::<1>(suite);
    for (path, member) in [
        ("/v1/agent/trust/leaderboard", "leaderboard"),
        ("/v1/agent/tasks/broadcasts", "broadcasts"),
        ("/v1/agent/attestations/consensus", "consensus"),
        ("/v1/agent/capabilities/search", "results"),
        ("/v1/agent/receive/raw", "messages"),
        ("/v1/agent/keys/pins", "pins"),
        ("/v1/agent/memory", "namespaces"),
        ("/v1/agent/memory/ns", "keys"),
    ] {
        let answer = ada.client.get(path);
        assert!(answer.json()[member].is_array(), "{path}: {}", answer.text());
    }
    assert_eq!(ada.client.get("/v1/agent/messages/unread-count").expect(200)["unread_count"], 0);
    let batch = ada.client.post("/v1/agent/messages/read-batch", &json!({ "message_ids": [] })).expect(200);
    assert_eq!((&batch["updated"], &batch["marked"], &batch["total_requested"]), (&json!(0), &json!(0), &json!(0)));
    ada.client.get("/v1/agent/tasks/broadcasts/none").expect_error(404, "NOT_FOUND");
}

fn of_the_relay() -> impl Iterator<Item = &'static Route> {
    let ours = |route: &&Route| route.path.starts_with("/v1/agent/") || route.path.starts_with("/v1/relay/");
    PROGRAM.routes().filter(ours).filter(|route| !route.path.ends_with("/sse"))
}

/// The status of an answer, and its body if it is an error.
fn judged(answer: &Answer) -> (u16, Option<Value>) {
    (answer.status, (answer.status >= 400).then(|| answer.json()))
}

/// Clients send the content type of a body that they do not have, with every method.
fn fact_10_an_empty_body_with_a_json_type_is_no_body_on_any_route(suite: &Suite) {
    let open = suite.client();
    for route in of_the_relay() {
        let (method, path) = (route.method.as_str(), sample(route.path));
        // Each request has its own agent, because some of these requests end the agent.
        let ask = |media: Option<&str>, body: &[u8]| {
            let client = if route.auth == Auth::Agent { Agent::server_side(&open).client } else { open.clone() };
            judged(&client.send(method, &path, media, body))
        };
        let empty = ask(Some("application/json"), b"");
        let usual = if route.body == BodyKind::Json { ask(Some("application/json"), b"{}") } else { ask(None, b"") };
        assert_eq!(empty, usual, "{method} {path}");
    }
}

/// One client sends its key with every request.
fn conflict_42_a_key_never_matters_where_none_is_needed(suite: &Suite) {
    let client = suite.client();
    for route in of_the_relay().filter(|route| route.auth == Auth::None) {
        let (method, path) = (route.method.as_str(), sample(route.path));
        let media = (route.body == BodyKind::Json).then_some("application/json");
        let body = if media.is_some() { "{}" } else { "" };
        let ask = |client: &Client| judged(&client.send(method, &path, media, body.as_bytes()));
        let without = ask(&client);
        for key in ["nonsense", "", "svc_agent_AAAAAAAAAAAAAAAAAAAAAA_00000000000000000000000000000000"] {
            assert_eq!(ask(&client.agent(key)), without, "{method} {path} {key}");
        }
    }
}

/// A missing thing is 404, nothing answers 204, and every time is ISO 8601 in UTC with milliseconds.
fn a_status_of_its_own_means_what_clients_take_it_for(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let nobody = "did:svc:1111111111111111";
    for path in [format!("identity/{nobody}"), "memory/none/none".to_owned(), format!("prekeys/{nobody}")] {
        ada.client.get(&format!("/v1/agent/{path}")).expect_error(404, "NOT_FOUND");
    }
    let id = ada.say(&bob.did, "x");
    let put = ada.client.send("PUT", "/v1/agent/memory/n/k", Some("application/json"), br#"{"value":1,"ttl":60}"#);
    let heart = ada.client.post("/v1/agent/ping", &json!({})).expect(200);
    let deleted = [
        ada.client.delete("/v1/agent/memory/n/k").expect(200),
        bob.client.delete(&format!("/v1/agent/messages/{id}")).expect(200),
    ];
    assert!(deleted.iter().all(|answer| answer["deleted"] == true), "{deleted:?}");
    let profile = ada.client.get("/v1/agent/profile").expect(200);
    let trust = ada.client.get(&format!("/v1/agent/trust/{}", ada.did)).expect(200);
    for time in [&put.expect(200)["expires_at"], &heart["server_time"], &profile["created_at"], &trust["member_since"]]
    {
        let time = time.as_str().unwrap_or_else(|| panic!("{time}"));
        assert_eq!((time.len(), &time[10..11], &time[23..]), (24, "T", "Z"), "{time}");
    }
}

fn conflict_44_what_is_made_is_201_and_the_rest_200(suite: &Suite) {
    let mut ada = SdkAgent::new(&suite.client(), Options::default());
    let client = ada.agent.client.clone();
    let letter = letter(&ada.agent.did, "x");
    let id = client.post("/v1/agent/send/encrypted", &letter).expect(201)["id"].clone();
    client.post("/v1/agent/prekeys", &ada.sdk.prekeys_body(1, 1, 1)).expect(200);
    ada.sdk.rotate_keys();
    client.post("/v1/agent/rotate-keys", &ada.sdk.key_body(None, 2)).expect(200);
    client.post("/v1/agent/ping", &json!({})).expect(200);
    client.post("/v1/agent/messages/read-batch", &json!({ "message_ids": [id] })).expect(200);
    let [bob] = agents::<1>(suite);
    bob.client.post("/v1/agent/send", &json!({ "to": bob.did, "message": "x" })).expect(201);
    let made = [
        ("/v1/agent/channels", json!({ "name": format!("made-{}", unique()) })),
        ("/v1/agent/capabilities", json!({ "name": "made" })),
        ("/v1/agent/tasks", json!({ "to": bob.did, "input": "x" })),
        ("/v1/agent/tasks/broadcast", json!({ "capability": "nobody-has-it", "input": "x" })),
        ("/v1/agent/attestations", json!({ "claim_type": "throttling", "claim_data": { "n": unique() } })),
        ("/v1/agent/webhooks", json!({ "webhook_url": "https://example.org/hook" })),
    ];
    for (path, body) in made {
        assert_eq!(bob.client.post(path, &body).status, 201, "{path}");
    }
}

fn conflict_45_the_answer_to_a_deactivation_names_the_agent(suite: &Suite) {
    let [ada] = agents::<1>(suite);
    let Agent { client, did, .. } = &ada;
    let answer = client.send("DELETE", "/v1/agent/deactivate", Some("application/json"), b"").expect(200);
    assert_eq!((&answer["did"], &answer["status"]), (&json!(did), &json!("inactive")));
    client.get("/v1/agent/profile").expect_error(401, "UNAUTHORIZED");
}
