//! Analytics, statistics, exports, and an operator's actions on an agent (decision agent-exports).

use std::time::Duration;

use heliograph_core::Timestamp;
use heliograph_core::crypto::client::{Client as Sdk, Options};
use heliograph_tests::client::Client;
use heliograph_tests::relay::{Agent, SdkAgent, base58, letter, proof, seed, text, unique};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    minimum_fields_of_analytics_are_there_for_an_agent_that_did_nothing,
    analytics_count_what_the_agent_did_and_got,
    a_period_is_one_of_four,
    minimum_fields_of_stats_are_there_without_a_key,
    stats_follow_agents_as_they_come_and_go,
    an_export_holds_everything_and_is_on_record,
    an_export_of_an_agent_that_keeps_its_own_keys_holds_what_was_sent,
    a_mailbox_of_many_pages_is_exported_once_and_in_order,
    only_what_is_asked_for_is_exported,
    a_suspended_agent_is_inactive_to_others_and_comes_back_whole,
    a_suspended_agent_cannot_register_itself_free,
    the_streams_of_a_suspended_agent_end,
    an_erased_agent_leaves_nothing_but_its_did,
    an_erased_proved_did_is_never_given_out_again,
    an_operator_alone_decides_about_agents,
];

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The MCP server crashes when an inner object is missing.
fn minimum_fields_of_analytics_are_there_for_an_agent_that_did_nothing(suite: &Suite) {
    let ada = Agent::register(&suite.client(), &json!({ "name": format!("quiet {}", unique()) }));
    let found = ada.client.send("GET", "/v1/agent/analytics", Some("application/json"), b"").expect(200);
    assert_eq!((&found["agent"], &found["name"]), (&json!(ada.did), &ada.registration["name"]));
    assert_eq!((&found["period"], &found["member_since"]), (&json!("7d"), &ada.registration["created_at"]));
    let zeros: &[(&str, &[&str])] = &[
        ("messaging", &["sent", "received", "read", "channel_posts", "channels_joined"]),
        ("tasks", &["created", "received", "completed"]),
        ("attestations", &["made", "corroborations_received"]),
    ];
    for (part, names) in zeros {
        for name in *names {
            assert_eq!(found[part][name], 0, "{part}.{name} of {found}");
        }
    }
    assert_eq!((&found["messaging"]["read_rate"], &found["tasks"]["completion_rate"]), (&json!(0.0), &json!(0.0)));
    let trust = suite.client().get(&format!("/v1/agent/trust/{}", ada.did)).expect(200);
    assert_eq!(found["reputation"]["trust_score"], trust["trust_score"]);
    assert_eq!(found["reputation"]["trust_level"], trust["trust_level"]);
    suite.client().get("/v1/agent/analytics").expect_error(401, "UNAUTHORIZED");
}

/// Decision counts-in-memory.
fn analytics_count_what_the_agent_did_and_got(suite: &Suite) {
    let client = suite.client();
    let (ada, bob) = (Agent::server_side(&client), Agent::server_side(&client));
    let ids: Vec<String> = (0..3).map(|n| ada.say(&bob.did, &n.to_string())).collect();
    bob.mark_read(&ids[0]);
    bob.mark_read(&ids[0]);
    // The same text with the same key is one message.
    let again = |key: &str| {
        let said = json!({ "to": bob.did, "message": "once" });
        ada.client.with("idempotency-key", key).post("/v1/agent/send", &said).expect(201)
    };
    assert_eq!(again("k")["id"], again("k")["id"]);
    let name = format!("life-{}", unique());
    let channel = ada.client.post("/v1/agent/channels", &json!({ "name": name })).expect(201);
    let channel = text(&channel, "id");
    bob.client.post(&format!("/v1/agent/channels/{channel}/join"), &json!({})).expect(200);
    bob.client.post(&format!("/v1/agent/channels/{channel}/messages"), &json!({ "message": "hello" })).expect(201);
    let ask = |what: &str| {
        let body = json!({ "to": bob.did, "capability": "count", "input": { "what": what } });
        text(&ada.client.post("/v1/agent/tasks", &body).expect(201), "id").to_owned()
    };
    let (done, _open) = (ask("one"), ask("two"));
    bob.client.patch(&format!("/v1/agent/tasks/{done}"), &json!({ "status": "completed", "output": {} })).expect(200);
    let claim = json!({ "claim_type": "blocked", "claim_data": { "n": 1 }, "domain": "example.org", "country": "KE" });
    let made = ada.client.post("/v1/agent/attestations", &claim).expect(201);
    let vote = format!("/v1/agent/attestations/{}/corroborate", text(&made, "id"));
    bob.client.post(&vote, &json!({ "vote": "corroborate" })).expect(200);

    let seen = client.until(|| {
        let found = ada.client.get("/v1/agent/analytics?period=1d").expect(200);
        let all = found["attestations"] == json!({ "made": 1, "corroborations_received": 1 });
        (all && found["tasks"]["created"] == 2 && found["messaging"]["channels_joined"] == 1).then_some(found)
    });
    assert_eq!(number(&seen["messaging"]["sent"]), 4);
    assert_eq!(number(&seen["messaging"]["received"]), 0);
    let seen = client.until(|| {
        let found = bob.client.get("/v1/agent/analytics?period=all").expect(200);
        (found["messaging"]["channels_joined"] == 1 && found["tasks"]["completed"] == 1).then_some(found)
    });
    let messaging =
        json!({ "sent": 0, "received": 4, "read": 1, "read_rate": 0.25, "channel_posts": 1, "channels_joined": 1 });
    assert_eq!(seen["messaging"], messaging);
    assert_eq!(seen["tasks"], json!({ "created": 0, "received": 2, "completed": 1, "completion_rate": 0.5 }));
    assert_eq!(seen["since"], Value::Null);
}

fn a_period_is_one_of_four(suite: &Suite) {
    let ada = Agent::server_side(&suite.client());
    for (period, days) in [("1d", 1), ("7d", 7), ("30d", 30)] {
        let found = ada.client.get(&format!("/v1/agent/analytics?period={period}")).expect(200);
        assert_eq!(found["period"], period);
        let since = Timestamp::parse(text(&found, "since")).unwrap();
        let day = 86_400_000_000;
        assert_eq!(since.0 % day, 0, "whole days");
        assert_eq!(ada.client.now().0.div_euclid(day) - since.0.div_euclid(day), days);
    }
    ada.client.get("/v1/agent/analytics?period=2d").expect_error(400, "BAD_REQUEST");
}
fn minimum_fields_of_stats_are_there_without_a_key(suite: &Suite) {
    let target = suite.fresh(&[]);
    let stats = target.client().get("/v1/agent/stats").expect(200);
    for name in ["version", "encryption", "signing", "identity"] {
        assert!(!text(&stats["relay"], name).is_empty(), "{name} of {stats}");
    }
    let mut numbers = stats["stats"].clone();
    assert_eq!(numbers["capabilities"].take(), json!([]));
    let nobody = json!({ "total_agents": 0, "active_agents_24h": 0, "total_messages": 0, "capabilities": null });
    assert_eq!(numbers, nobody);
}

/// Decision counts-in-memory: totals are sums of differences.
fn stats_follow_agents_as_they_come_and_go(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let stats = || client.get("/v1/agent/stats").expect(200)["stats"].clone();
    let with = |names: &[&str]| Agent::register(&client, &json!({ "capabilities": names }));
    let (ada, bob) = (with(&["Translate", "sum"]), with(&["translate"]));
    client.until(|| (stats()["total_agents"] == 2).then_some(()));
    assert_eq!(stats()["capabilities"], json!(["translate", "sum"]), "the one that most have comes first");
    bob.client.patch("/v1/agent/profile", &json!({ "capabilities": ["paint"] })).expect(200);
    client.until(|| (stats()["capabilities"] == json!(["paint", "sum", "translate"])).then_some(()));
    bob.client.delete("/v1/agent/deactivate").expect(200);
    client.until(|| (stats()["total_agents"] == 1).then_some(()));
    assert_eq!(stats()["capabilities"], json!(["sum", "translate"]));
    let admin = client.admin();
    admin.post(&format!("/v1/admin/agents/{}/suspend", ada.did), &json!({})).expect(200);
    client.until(|| (stats()["total_agents"] == 0).then_some(()));
    admin.post(&format!("/v1/admin/agents/{}/restore", ada.did), &json!({})).expect(200);
    client.until(|| (stats()["total_agents"] == 1).then_some(()));
    assert_eq!(stats()["capabilities"], json!(["sum", "translate"]));
}

/// Decision agent-exports.
fn an_export_holds_everything_and_is_on_record(suite: &Suite) {
    let client = suite.client();
    let name = format!("exporter {}", unique());
    let ada = Agent::register(&client, &json!({ "name": name }));
    let bob = Agent::server_side(&client);
    let read = ada.mark_read(&bob.say(&ada.did, "read before"));
    assert_eq!(read["read"], true);
    bob.say(&ada.did, "not read");
    let channel = json!({ "name": format!("export-{}", unique()) });
    let channel = ada.client.post("/v1/agent/channels", &channel).expect(201);
    let task = json!({ "to": ada.did, "capability": "sum", "input": { "a": 1 } });
    let task = bob.client.post("/v1/agent/tasks", &task).expect(201);
    let claim = json!({ "claim_type": "blocked", "claim_data": {}, "domain": "example.org", "country": "TZ" });
    let claim = ada.client.post("/v1/agent/attestations", &claim).expect(201);
    ada.client.post("/v1/agent/capabilities", &json!({ "name": "sum" })).expect(201);
    for (place, value) in [("a%2Fb/k%20y", json!("x")), ("a%2Fb/other", json!([1])), ("notes/n", json!({ "b": 1 }))] {
        let path = format!("/v1/agent/memory/{place}");
        ada.client
            .send("PUT", &path, Some("application/json"), json!({ "value": value }).to_string().as_bytes())
            .expect(200);
    }
    client.until(|| (ada.client.get("/v1/agent/channels?mine=true").expect(200)["count"] == 1).then_some(()));
    // The Python client sends no body but says that it is JSON.
    let answer = ada.client.send("POST", "/v1/agent/export", Some("application/json"), b"");
    let export = answer.expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!((&export["identity"]["did"], &export["identity"]["name"]), (&json!(ada.did), &json!(name)));
    assert!(export["relay"].is_string() && export["exported_at"].is_string(), "{export}");
    let stats = json!({ "messages": 2, "channels": 1, "memberships": 1, "tasks": 1, "attestations": 1,
        "capabilities": 1, "memory_entries": 3 });
    assert_eq!(export["stats"], stats);
    let contents: Vec<&str> = export["messages"].as_array().unwrap().iter().map(|m| text(m, "content")).collect();
    assert_eq!(contents, ["read before", "not read"]);
    assert_eq!((&export["channels"][0]["id"], &export["memberships"][0]["id"]), (&channel["id"], &channel["id"]));
    assert_eq!((&export["tasks"][0]["id"], &export["tasks"][0]["input"]), (&task["id"], &json!({ "a": 1 })));
    assert_eq!(export["attestations"][0]["id"], claim["id"]);
    assert_eq!(export["capabilities"][0]["name"], "sum");
    let memory: Vec<(&str, &str, &Value)> = export["memory"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (text(entry, "namespace"), text(entry, "key"), &entry["value"]))
        .collect();
    let (x, one, b) = (json!("x"), json!([1]), json!({ "b": 1 }));
    assert_eq!(memory, [("a/b", "k y", &x), ("a/b", "other", &one), ("notes", "n", &b)]);
    assert_eq!(export["trust"]["agent"], json!(ada.did));

    let list = ada.client.get("/v1/agent/exports").expect(200);
    assert_eq!(list["count"], 1);
    let record = &list["exports"][0];
    assert_eq!((&record["export_id"], &record["exported_at"]), (&export["export_id"], &export["exported_at"]));
    assert_eq!((&record["status"], &record["stats"]), (&json!("complete"), &export["stats"]));
    let time = |name: &str| Timestamp::parse(text(record, name)).unwrap();
    assert_eq!(time("expires_at").since(time("exported_at")), 30 * 86_400_000_000, "kept 30 days");
    assert_eq!(bob.client.get("/v1/agent/exports").expect(200)["exports"], json!([]), "another's are not shown");
}

fn an_export_of_an_agent_that_keeps_its_own_keys_holds_what_was_sent(suite: &Suite) {
    let client = suite.client();
    let (mut ada, bob) = (SdkAgent::new(&client, Options::default()), SdkAgent::new(&client, Options::default()));
    ada.say(&bob.agent.did, "sealed");
    let raw = bob.agent.everything();
    let export = bob.agent.client.post("/v1/agent/export", &json!({})).expect(200);
    assert_eq!(export["messages"], json!(raw), "to the letter, envelope and all");
    assert_eq!(export["identity"]["client_side"], true);
}

fn a_mailbox_of_many_pages_is_exported_once_and_in_order(suite: &Suite) {
    let client = suite.client();
    let (ada, bob) = (Agent::server_side(&client), Agent::server_side(&client));
    let sent: Vec<String> = (0..230).map(|n| ada.say(&bob.did, &n.to_string())).collect();
    let export = bob.client.post("/v1/agent/export", &json!({ "include_messages": true })).expect(200);
    let got: Vec<&str> = export["messages"].as_array().unwrap().iter().map(|m| text(m, "id")).collect();
    assert_eq!(got, sent);
    assert_eq!(export["stats"]["messages"], 230);
    for n in 0..60 {
        let body = json!({ "to": bob.did, "capability": "sum", "input": { "n": n } });
        ada.client.post("/v1/agent/tasks", &body).expect(201);
    }
    let export = bob.client.post("/v1/agent/export", &json!({ "include_tasks": true })).expect(200);
    let inputs: Vec<u64> = export["tasks"].as_array().unwrap().iter().map(|t| number(&t["input"]["n"])).collect();
    assert_eq!(inputs, (0..60).rev().collect::<Vec<u64>>());
}

/// Only members that are set are sent.
fn only_what_is_asked_for_is_exported(suite: &Suite) {
    let ada = Agent::server_side(&suite.client());
    let parts = ["messages", "channels", "memberships", "tasks", "attestations", "memory", "trust"];
    let has = |body: Value| {
        let export = ada.client.post("/v1/agent/export", &body).expect(200);
        assert!(export["identity"].is_object() && export["capabilities"].is_array(), "{export}");
        parts.iter().filter(|part| export.get(part).is_some()).copied().collect::<Vec<&str>>()
    };
    assert_eq!(has(json!({})), parts);
    assert_eq!(has(json!({ "include_memory": true })), ["memory"]);
    assert_eq!(has(json!({ "include_channels": true, "include_tasks": false })), ["channels", "memberships"]);
    // Where time has passed, the newest export is the first of the list.
    ada.client.wait(std::time::Duration::from_millis(2));
    assert_eq!(has(json!({ "include_messages": false })), &parts[1..]);
    let record = ada.client.get("/v1/agent/exports").expect(200)["exports"][0].clone();
    assert_eq!((&record["included"]["messages"], &record["stats"]["messages"]), (&json!(false), &Value::Null));
    ada.client.post("/v1/agent/export", &json!({ "include_tasks": "yes" })).expect_error(400, "BAD_REQUEST");
}

struct Moderated {
    admin: Client,
    ada: Agent,
    bob: Agent,
}

impl Moderated {
    fn new(client: &Client) -> Moderated {
        let ada = Agent::register(client, &json!({ "name": format!("ada-{}", unique()), "capabilities": ["weave"] }));
        Moderated { admin: client.admin(), ada, bob: Agent::server_side(client) }
    }

    #[track_caller]
    fn order(&self, action: &str) -> Value {
        self.admin
            .post(&format!("/v1/admin/agents/{}/{action}", self.ada.did), &json!({ "reason": "spam" }))
            .expect(200)
    }

    fn found(&self) -> bool {
        let path = format!("/v1/agent/discover?query={}", self.ada.did);
        self.bob.client.get(&path).expect(200)["agents"].as_array().unwrap().len() == 1
    }
}

/// A path, and the body for an agent.
type Way<'a> = (&'a str, fn(&str) -> Value);

/// Every request about a suspended or erased agent gets exactly the same answer as for an agent that never existed.
#[track_caller]
fn nobody_reaches(did: &str, by: &Agent) {
    let channel = by.client.post("/v1/agent/channels", &json!({ "name": format!("n-{}", unique()) })).expect(201);
    let invite = format!("/v1/agent/channels/{}/invite", text(&channel, "id"));
    let ways: [Way<'_>; 5] = [
        ("/v1/agent/send", |to| json!({ "to": to, "message": "x" })),
        ("/v1/agent/send/encrypted", |to| letter(to, "x")),
        ("/v1/relay/route", |to| letter(to, "x")),
        ("/v1/agent/tasks", |to| json!({ "to": to, "input": "x" })),
        (&invite, |to| json!({ "did": to })),
    ];
    let nobody = format!("did:svc:{}", base58(&seed()[..16]));
    for (path, body) in ways {
        let refused = by.client.post(path, &body(did));
        refused.expect_error(404, "NOT_FOUND");
        assert_eq!(refused.text(), by.client.post(path, &body(&nobody)).text(), "{path}");
    }
}

/// Decision agent-exports.
fn a_suspended_agent_is_inactive_to_others_and_comes_back_whole(suite: &Suite) {
    let client = suite.client();
    let scene = Moderated::new(&client);
    let Moderated { ada, bob, admin } = &scene;
    bob.say(&ada.did, "before");
    ada.client.post("/v1/agent/capabilities", &json!({ "name": format!("weaving-{}", ada.did) })).expect(201);
    ada.client.send("PUT", "/v1/agent/memory/n/k", Some("application/json"), br#"{"value":1}"#).expect(200);
    let search = format!("/v1/agent/capabilities/search?name=weaving-{}", ada.did);
    let offers = || client.get(&search).expect(200)["count"] == 1;
    client.until(|| (scene.found() && offers()).then_some(()));

    let state = scene.order("suspend");
    assert_eq!((&state["state"], &state["reason"]), (&json!("suspended"), &json!("spam")));
    assert_eq!(scene.order("suspend")["since"], state["since"], "once is enough");
    ada.client.get("/v1/agent/profile").expect_error(401, "UNAUTHORIZED");
    let identity = client.get(&format!("/v1/agent/identity/{}", ada.did)).expect(200);
    assert_eq!(identity["status"], "inactive");
    nobody_reaches(&ada.did, bob);
    client.until(|| (!scene.found() && !offers()).then_some(()));
    client.get(&format!("/v1/agent/prekeys/{}", ada.did)).expect_error(404, "NOT_FOUND");

    assert_eq!(scene.order("restore")["state"], "active");
    assert_eq!(ada.inbox()[0]["content"], "before");
    assert_eq!(ada.client.get("/v1/agent/memory/n/k").expect(200)["value"], 1);
    bob.say(&ada.did, "after");
    client.until(|| (scene.found() && offers()).then_some(()));
    assert_eq!(scene.order("restore")["state"], "active", "nothing to end");
    bob.client.delete("/v1/agent/deactivate").expect(200);
    let order = |action: &str| admin.post(&format!("/v1/admin/agents/{}/{action}", bob.did), &json!({}));
    order("suspend").expect_error(409, "CONFLICT");
    bob.client.get("/v1/agent/profile").expect_error(401, "UNAUTHORIZED");
    assert_eq!(order("restore").expect(200)["state"], "active", "decision deactivated-wallets");
    bob.client.get("/v1/agent/profile").expect(200);
}

/// A proved registration, whose suspension holds for the DID.
fn a_suspended_agent_cannot_register_itself_free(suite: &Suite) {
    let client = suite.client();
    let sdk = Sdk::new("svc", seed(), Options::default());
    let mut body = sdk.key_body(None, 1);
    let signed = body.clone();
    body["proof"] = proof(&client, &sdk, &body, None);
    Agent::register(&client, &body);
    let path = format!("/v1/admin/agents/{}/suspend", sdk.did);
    client.admin().post(&path, &json!({})).expect(200);
    client.post("/v1/agent/register", &signed).expect_error(409, "CONFLICT");
    body["proof"] = proof(&client, &sdk, &body, None);
    client.post("/v1/agent/register", &body).expect_error(409, "CONFLICT");
}

fn the_streams_of_a_suspended_agent_end(suite: &Suite) {
    let client = suite.client();
    let scene = Moderated::new(&client);
    let mut events = scene.ada.client.events("/v1/agent/receive/sse");
    scene.order("suspend");
    let last = events.next().map(|event| event.event);
    assert_eq!(last.as_deref(), Some("reconnect"));
    assert!(events.next().is_none(), "the stream is closed");
}

/// Decision agent-exports: keys, mail, memory, webhooks, tasks and memberships are gone.
fn an_erased_agent_leaves_nothing_but_its_did(suite: &Suite) {
    let client = suite.client();
    let scene = Moderated::new(&client);
    let Moderated { ada, bob, admin } = &scene;
    bob.say(&ada.did, "mail");
    ada.client.send("PUT", "/v1/agent/memory/n/k", Some("application/json"), br#"{"value":1}"#).expect(200);
    let username = format!("ada_{}", unique());
    ada.client.post("/v1/agent/username", &json!({ "username": username })).expect(201);
    let channel = bob.client.post("/v1/agent/channels", &json!({ "name": format!("e-{}", unique()) })).expect(201);
    let channel = format!("/v1/agent/channels/{}", text(&channel, "id"));
    ada.client.post(&format!("{channel}/join"), &json!({})).expect(200);
    let members = || {
        let mine = bob.client.get("/v1/agent/channels?mine=true").expect(200);
        mine["channels"][0]["member_count"].clone()
    };
    client.until(|| (members() == 2).then_some(()));
    let task = json!({ "to": ada.did, "capability": "sum", "input": {} });
    let task = text(&bob.client.post("/v1/agent/tasks", &task).expect(201), "id").to_owned();

    let path = format!("/v1/admin/agents/{}", ada.did);
    let state = admin.delete(&path).expect(200);
    assert_eq!(state["state"], "erased");
    assert_eq!(admin.delete(&path).expect(200)["since"], state["since"], "once is enough");
    ada.client.get("/v1/agent/profile").expect_error(401, "UNAUTHORIZED");
    for path in ["identity", "trust", "prekeys", "ping"] {
        client.get(&format!("/v1/agent/{path}/{}", ada.did)).expect_error(404, "NOT_FOUND");
    }
    nobody_reaches(&ada.did, bob);
    client.until(|| (members() == 1).then_some(()));
    client.until(|| {
        let requested = bob.client.get("/v1/agent/tasks?role=requester").expect(200);
        let mine = requested["tasks"].as_array().unwrap().iter().find(|one| one["id"] == json!(task)).cloned();
        mine.is_none_or(|one| one["status"] == "failed").then_some(())
    });
    client.get(&format!("/v1/agent/username/{username}")).expect_error(404, "NOT_FOUND");
    // Its names are free after 30 days, and not before.
    let name = json!({ "name": ada.registration["name"] });
    client.post("/v1/agent/register", &name).expect_error(409, "CONFLICT");
    bob.client.post("/v1/agent/username", &json!({ "username": username })).expect_error(409, "CONFLICT");
    for action in ["suspend", "restore"] {
        let status = admin.post(&format!("{path}/{action}"), &json!({})).status;
        assert!([404, 409].contains(&status), "{status}");
    }
}

/// Decision agent-exports.
fn an_erased_proved_did_is_never_given_out_again(suite: &Suite) {
    let client = suite.client();
    let mut sdk = SdkAgent::new(&client, Options::default());
    let proof = proof(&client, &sdk.sdk, &sdk.sdk.key_body(None, 1), None);
    sdk.agent.client.post("/v1/agent/prove", &proof).expect(200);
    let bob = Agent::server_side(&client);
    sdk.say(&bob.did, "a message outlives its sender");
    client.admin().delete(&format!("/v1/admin/agents/{}", sdk.agent.did)).expect(200);
    client.post("/v1/agent/register", &sdk.sdk.key_body(None, 2)).expect_error(409, "CONFLICT");
    assert_eq!(bob.raw().len(), 1);
    // This also holds after the rest of the agent's data was removed.
    client.wait(Duration::from_secs(2));
    client.post("/v1/agent/register", &sdk.sdk.key_body(None, 3)).expect_error(409, "CONFLICT");
    let state = client.admin().get(&format!("/v1/admin/agents/{}", sdk.agent.did)).expect(200);
    assert_eq!(state["state"], "erased");
}

fn an_operator_alone_decides_about_agents(suite: &Suite) {
    let client = suite.client();
    let ada = Agent::server_side(&client);
    let path = format!("/v1/admin/agents/{}", ada.did);
    for caller in [&client, &ada.client] {
        caller.get(&path).expect_error(401, "UNAUTHORIZED");
        caller.post(&format!("{path}/suspend"), &json!({})).expect_error(401, "UNAUTHORIZED");
        caller.delete(&path).expect_error(401, "UNAUTHORIZED");
    }
    assert_eq!(client.admin().get(&path).expect(200)["state"], "active");
    let nobody = "/v1/admin/agents/did:svc:4vJ9JU1bJJE96FWSJKvHsmmF";
    client.admin().get(nobody).expect_error(404, "NOT_FOUND");
    client.admin().post(&format!("{nobody}/suspend"), &json!({})).expect_error(404, "NOT_FOUND");
    let long = json!({ "reason": "x".repeat(501) });
    client.admin().post(&format!("{path}/suspend"), &long).expect_error(400, "BAD_REQUEST");
}
