//! Tasks and broadcasts (relay 8): every spelling that a client reads, permissions, progress.

use std::time::Duration;

use heliograph_core::crypto::{Secret, boxes, signing};
use heliograph_tests::client::Answer;
use heliograph_tests::relay::{Agent, actor_id, base58, base64, bytes, encode, seed, text, unique};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    a_task_between_agents_of_the_service_is_read_by_both_and_by_nobody_else,
    input_that_is_no_json_is_wrapped_for_an_agent_with_its_own_keys,
    conflict_33_and_36_boxes_of_clients_come_back_to_the_letter,
    conflict_34_and_35_lists_have_both_spellings_and_show_the_assignee_first,
    every_move_over_http,
    one_rating_by_the_requester_at_the_end,
    strangers_and_the_wrong_participant,
    the_id_of_a_task_leads_to_its_assignee,
    a_task_that_is_not_settled_in_time_has_failed,
    a_repeat_with_an_idempotency_key_is_one_task,
    tasks_are_open_to_both_after_their_keys_rotate,
    a_task_fails_when_its_assignee_ends,
    an_agent_may_give_itself_a_task,
    a_broadcast_reaches_who_has_the_capability_and_hears_of_the_end,
    conflict_38_a_broadcast_takes_a_box_that_only_its_sender_opens,
    a_broadcast_asks_no_more_agents_than_it_may_and_never_its_sender,
    minimum_fields_of_a_broadcast_without_agents_are_there,
    bad_requests_about_tasks_are_400,
    pages_of_tasks_follow_each_other,
    settled_tasks_are_activity_and_lift_nobody_above_low,
];

pub fn agents<const N: usize>(suite: &Suite) -> [Agent; N] {
    let client = suite.client();
    std::array::from_fn(|_| Agent::server_side(&client))
}

/// An agent with its own keys.
struct SealingAgent {
    agent: Agent,
    signing: Secret<32>,
    encryption: Secret<32>,
}

impl SealingAgent {
    #[track_caller]
    fn new(suite: &Suite) -> SealingAgent {
        let (signing, encryption) = (Secret::new(seed()), Secret::new(seed()));
        let body = json!({
            "signing_public_key": base64(&signing::signing_public_key(&signing)),
            "encryption_public_key": base64(&boxes::box_public_key(&encryption)),
        });
        SealingAgent { agent: Agent::register(&suite.client(), &body), signing, encryption }
    }

    fn seal(&self, peer: &Value, plain: &str) -> (String, String) {
        let nonce = [7; 24];
        let sealed = boxes::box_seal(&key(peer), &self.encryption, &nonce, plain.as_bytes()).unwrap();
        (base64(&sealed), base64(&nonce))
    }

    #[track_caller]
    fn open(&self, peer: &Value, item: &Value, name: &str) -> String {
        let nonce: [u8; 24] = bytes(&item[format!("{name}_nonce")]).try_into().unwrap();
        let sealed = bytes(&item[format!("encrypted_{name}")]);
        let plain = boxes::box_open(&key(peer), &self.encryption, &nonce, &sealed).unwrap();
        String::from_utf8(plain.to_vec()).unwrap()
    }
}

fn key(identity: &Value) -> [u8; 32] {
    bytes(&identity["encryption_public_key"]).try_into().unwrap()
}

pub fn word() -> String {
    format!("skill{}", unique())
}

#[track_caller]
fn identity(suite: &Suite, did: &str) -> Value {
    suite.client().get(&format!("/v1/agent/identity/{did}")).expect(200)
}

#[track_caller]
pub fn offer(agent: &Agent, name: &str) -> Value {
    agent.client.post("/v1/agent/capabilities", &json!({ "name": name })).expect(201)
}

#[track_caller]
fn ask(from: &Agent, to: &str, more: Value) -> Value {
    let mut body = json!({ "to": to });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    from.client.post("/v1/agent/tasks", &body).expect(201)
}

fn patch(agent: &Agent, task: &Value, body: Value) -> Answer {
    agent.client.patch(&format!("/v1/agent/tasks/{}", text(task, "id")), &body)
}

fn step(agent: &Agent, task: &Value, status: &str) -> Answer {
    patch(agent, task, json!({ "status": status }))
}

fn look(agent: &Agent, task: &Value) -> Answer {
    agent.client.get(&format!("/v1/agent/tasks/{}", text(task, "id")))
}

#[track_caller]
fn list(agent: &Agent, query: &str) -> Vec<Value> {
    let list = agent.client.send("GET", &format!("/v1/agent/tasks?{query}"), Some("application/json"), b"").expect(200);
    let tasks = list["tasks"].as_array().unwrap().clone();
    assert_eq!(list["count"], tasks.len());
    tasks
}

fn a_task_between_agents_of_the_service_is_read_by_both_and_by_nobody_else(suite: &Suite) {
    let [ada, bob, eve] = agents(suite);
    let name = word();
    offer(&bob, &name);
    let body = json!({ "capability": name, "input": "Translate \u{e4}", "priority": "high", "expires_in": 600 });
    let task = ask(&ada, &bob.did, body);
    assert_eq!((text(&task, "status"), text(&task, "priority")), ("pending", "high"));
    assert_eq!((text(&task, "to"), text(&task, "capability")), (bob.did.as_str(), name.as_str()));
    for agent in [&ada, &bob] {
        let seen = look(agent, &task).expect(200);
        assert_eq!(seen["input"], "Translate \u{e4}", "{seen}");
        assert!(seen["encrypted_input"].is_string() && seen["input_nonce"].is_string());
        assert!(seen["encrypted_output"].is_null() && seen["output"].is_null());
        assert_eq!(text(&seen, "from"), ada.did);
    }
    look(&eve, &task).expect_error(404, "NOT_FOUND");
    step(&bob, &task, "accepted").expect(200);
    let done = patch(&bob, &task, json!({ "status": "completed", "result": { "text": "\u{fc}" } })).expect(200);
    assert_eq!((&done["updated"], text(&done, "status")), (&json!(true), "completed"));
    for agent in [&ada, &bob] {
        let seen = look(agent, &task).expect(200);
        assert_eq!(seen["output"], json!({ "text": "\u{fc}" }));
        assert_eq!(seen["result"], seen["output"]);
        assert_eq!(seen["output_signature_valid"], true);
    }
    patch(&ada, &task, json!({ "rating": 4 })).expect(200);
    let own = bob.client.get("/v1/agent/capabilities").expect(200);
    assert_eq!(own["capabilities"][0]["invocations"], 1);
    assert_eq!(own["capabilities"][0]["avg_rating"], 4.0);
}

fn input_that_is_no_json_is_wrapped_for_an_agent_with_its_own_keys(suite: &Suite) {
    let [ada] = agents(suite);
    let bob = SealingAgent::new(suite);
    let from = identity(suite, &ada.did);
    for (input, boxed) in [
        (json!("plain words"), r#""plain words""#),
        (json!(r#"{"b": 1,  "a": 2}"#), r#"{"b": 1,  "a": 2}"#),
        (json!({ "a": [1] }), r#"{"a":[1]}"#),
    ] {
        let task = ask(&ada, &bob.agent.did, json!({ "input": input }));
        let seen = look(&bob.agent, &task).expect(200);
        assert_eq!(bob.open(&from, &seen, "input"), boxed);
        assert!(seen["input"].is_null(), "the service cannot open what it has no key for");
    }
    // An agent that keeps its own keys must encrypt: the service has no keys for it.
    let body = json!({ "to": ada.did, "input": "x" });
    bob.agent.client.post("/v1/agent/tasks", &body).expect_error(400, "BAD_REQUEST");
}

fn conflict_33_and_36_boxes_of_clients_come_back_to_the_letter(suite: &Suite) {
    let (ada, bob) = (SealingAgent::new(suite), SealingAgent::new(suite));
    let [carl] = agents(suite);
    let (to, from) = (identity(suite, &bob.agent.did), identity(suite, &ada.agent.did));
    let (sealed, nonce) = ada.seal(&to, r#"{"n":1}"#);
    let task = ask(&ada.agent, &bob.agent.did, json!({ "encrypted_input": sealed, "input_nonce": nonce }));
    let seen = look(&bob.agent, &task).expect(200);
    assert_eq!((text(&seen, "encrypted_input"), text(&seen, "input_nonce")), (sealed.as_str(), nonce.as_str()));
    assert_eq!(bob.open(&from, &seen, "input"), r#"{"n":1}"#);
    let (output, output_nonce) = bob.seal(&from, "[2]");
    let signature = base64(&signing::sign(&bob.signing, b"[2]"));
    let body = json!({
        "status": "failed", "encrypted_output": output, "output_nonce": output_nonce, "output_signature": signature,
    });
    patch(&bob.agent, &task, body).expect(200);
    let seen = look(&ada.agent, &task).expect(200);
    assert_eq!((text(&seen, "output_signature"), text(&seen, "status")), (signature.as_str(), "failed"));
    assert_eq!(ada.open(&to, &seen, "output"), "[2]");
    // A service-held assignee opens the task and answers in a box that the client opens.
    let to = identity(suite, &carl.did);
    let (sealed, nonce) = ada.seal(&to, r#"{"n":3}"#);
    let task = ask(&ada.agent, &carl.did, json!({ "encrypted_input": sealed, "input_nonce": nonce }));
    assert_eq!(look(&carl, &task).expect(200)["input"], json!({ "n": 3 }));
    patch(&carl, &task, json!({ "status": "completed", "output": "done" })).expect(200);
    let seen = look(&ada.agent, &task).expect(200);
    assert_eq!(ada.open(&to, &seen, "output"), r#""done""#);
    let signer: [u8; 32] = bytes(&to["signing_public_key"]).try_into().unwrap();
    assert!(signing::verify(&signer, br#""done""#, &bytes(&seen["output_signature"])));
}

fn conflict_34_and_35_lists_have_both_spellings_and_show_the_assignee_first(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let first = ask(&ada, &bob.did, json!({ "capability": "Maps" }));
    let second = ask(&ada, &bob.did, json!({ "priority": "medium" }));
    assert_eq!(text(&second, "priority"), "normal");
    let tasks = list(&bob, "");
    assert_eq!(tasks.iter().map(|task| &task["id"]).collect::<Vec<_>>(), [&second["id"], &first["id"]]);
    for (member, value) in [("from", &ada.did), ("from_did", &ada.did), ("to", &bob.did), ("to_did", &bob.did)] {
        assert_eq!(text(&tasks[1], member), value, "{member}");
    }
    assert_eq!(tasks[1]["title"], "Maps");
    assert!(tasks[1]["created_at"].is_string());
    assert!(list(&ada, "").is_empty());
    assert_eq!(list(&ada, "role=requester").len(), 2);
    step(&bob, &first, "accepted").expect(200);
    for (agent, role) in [(&ada, "requester"), (&bob, "assignee")] {
        assert_eq!(list(agent, &format!("role={role}&status=accepted")).len(), 1);
        assert_eq!(list(agent, &format!("role={role}&capability=maps")).len(), 1);
        assert_eq!(list(agent, &format!("role={role}&capability=maps&status=pending")).len(), 0);
        assert_eq!(agent.client.get(&format!("/v1/agent/tasks?role={role}")).expect(200)["role"], role);
    }
}

/// Decision task-moves. The core tests the table of all pairs.
fn every_move_over_http(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let task = ask(&ada, &bob.did, json!({}));
    step(&bob, &task, "in_progress").expect_error(409, "CONFLICT");
    for status in ["accepted", "in_progress", "completed"] {
        assert_eq!(text(&step(&bob, &task, status).expect(200), "status"), status);
        step(&bob, &task, status).expect_error(409, "CONFLICT");
    }
    for (agent, status) in [(&bob, "failed"), (&bob, "pending"), (&ada, "cancelled")] {
        step(agent, &task, status).expect_error(409, "CONFLICT");
    }
    let task = ask(&ada, &bob.did, json!({}));
    step(&bob, &task, "completed").expect(200);
    let task = ask(&ada, &bob.did, json!({}));
    step(&ada, &task, "cancelled").expect(200);
    patch(&ada, &task, json!({ "rating": 5 })).expect_error(409, "CONFLICT");
    assert_eq!(list(&ada, "role=requester&status=cancelled").len(), 1);
}

/// Decision task-moves.
fn one_rating_by_the_requester_at_the_end(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let task = ask(&ada, &bob.did, json!({}));
    patch(&ada, &task, json!({ "rating": 5 })).expect_error(409, "CONFLICT");
    step(&bob, &task, "failed").expect(200);
    patch(&bob, &task, json!({ "rating": 5 })).expect_error(403, "FORBIDDEN");
    for rating in [json!(0), json!(6), json!(-1), json!(2.5), json!("5")] {
        patch(&ada, &task, json!({ "rating": rating })).expect_error(400, "BAD_REQUEST");
    }
    let rated = patch(&ada, &task, json!({ "rating": 2, "rating_comment": "late" })).expect(200);
    assert_eq!((&rated["updated"], &rated["rating"]), (&json!(true), &json!(2)));
    patch(&ada, &task, json!({ "rating": 2 })).expect_error(409, "CONFLICT");
    let seen = look(&bob, &task).expect(200);
    assert_eq!((&seen["rating"], &seen["rating_comment"]), (&json!(2), &json!("late")));
    assert_eq!(list(&ada, "role=requester")[0]["rating"], 2);
}

/// Decision foreign-is-404.
fn strangers_and_the_wrong_participant(suite: &Suite) {
    let [ada, bob, eve] = agents(suite);
    let task = ask(&ada, &bob.did, json!({}));
    step(&eve, &task, "cancelled").expect_error(404, "NOT_FOUND");
    patch(&eve, &task, json!({ "status": "completed", "output": "x" })).expect_error(404, "NOT_FOUND");
    patch(&eve, &task, json!({ "rating": 1 })).expect_error(404, "NOT_FOUND");
    step(&bob, &task, "cancelled").expect_error(403, "FORBIDDEN");
    step(&ada, &task, "accepted").expect_error(403, "FORBIDDEN");
    for id in ["x", &format!("{}-AAAAAAAAAAAAAAAA", actor_id(&seed()[..16])), &"A".repeat(500)] {
        let path = format!("/v1/agent/tasks/{id}");
        ada.client.get(&path).expect_error(404, "NOT_FOUND");
        ada.client.patch(&path, &json!({ "status": "accepted" })).expect_error(404, "NOT_FOUND");
    }
    let nobody = format!("did:svc:{}", base58(&seed()[..16]));
    ada.client.post("/v1/agent/tasks", &json!({ "to": nobody })).expect_error(404, "NOT_FOUND");
    ada.client.post("/v1/agent/tasks", &json!({ "to": "bob" })).expect_error(404, "NOT_FOUND");
}

/// Decision ids-lead-to-actors.
fn the_id_of_a_task_leads_to_its_assignee(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let id = |made: &Value, name: &str| text(made, name).to_owned();
    let task = id(&ask(&ada, &bob.did, json!({})), "id");
    let capability = id(&offer(&bob, &word()), "id");
    let broadcast = ada.client.post("/v1/agent/tasks/broadcast", &json!({ "capability": word() })).expect(201);
    let own = |agent: &Agent| agent.api_key.split('_').nth(2).unwrap_or_default().to_owned();
    for (id, agent) in [(task, &bob), (capability, &bob), (id(&broadcast, "broadcast_id"), &ada)] {
        assert_eq!((id.len(), id.as_bytes()[22]), (39, b'-'), "{id}");
        assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'));
        // The third part of an API key is the actor, whose own underscores split it further.
        assert!(agent.api_key.contains(&id[..22]) && id.starts_with(&own(agent)), "{id}");
    }
}

fn a_task_that_is_not_settled_in_time_has_failed(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let task = ask(&ada, &bob.did, json!({ "expires_in": 1 }));
    assert!(task["expires_at"].is_string());
    suite.client().wait(Duration::from_millis(1_500));
    step(&bob, &task, "accepted").expect_error(409, "CONFLICT");
    for agent in [&ada, &bob] {
        assert_eq!(look(agent, &task).expect(200)["status"], "failed");
    }
    assert_eq!(list(&ada, "role=requester&status=failed").len(), 1);
    patch(&ada, &task, json!({ "rating": 1 })).expect(200);
}

fn a_repeat_with_an_idempotency_key_is_one_task(suite: &Suite) {
    let [ada, bob] = agents(suite);
    offer(&bob, "anything");
    let client = ada.client.with("idempotency-key", "k1");
    let body = json!({ "to": bob.did, "input": "once" });
    let first = client.post("/v1/agent/tasks", &body).expect(201);
    assert_eq!(client.post("/v1/agent/tasks", &body).expect(201)["id"], first["id"]);
    assert_eq!(list(&bob, "").len(), 1);
    let name = word();
    offer(&bob, &name);
    let body = json!({ "capability": name });
    let first = client.post("/v1/agent/tasks/broadcast", &body).expect(201);
    assert_eq!(client.post("/v1/agent/tasks/broadcast", &body).expect(201), first);
    suite.client().until(|| (list(&bob, "").len() == 2).then_some(()));
}

fn tasks_are_open_to_both_after_their_keys_rotate(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let task = ask(&ada, &bob.did, json!({ "input": "before" }));
    for agent in [&ada, &bob] {
        agent.client.post("/v1/agent/rotate-keys", &json!({})).expect(200);
    }
    patch(&bob, &task, json!({ "status": "completed", "output": "after" })).expect(200);
    ada.client.post("/v1/agent/rotate-keys", &json!({})).expect(200);
    for agent in [&ada, &bob] {
        let seen = look(agent, &task).expect(200);
        assert_eq!((&seen["input"], &seen["output"]), (&json!("before"), &json!("after")));
        assert_eq!(seen["output_signature_valid"], true);
    }
}

fn a_task_fails_when_its_assignee_ends(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let task = ask(&ada, &bob.did, json!({}));
    bob.client.delete("/v1/agent/deactivate").expect(200);
    suite.client().until(|| (list(&ada, "role=requester")[0]["status"] == "failed").then_some(()));
    step(&ada, &task, "cancelled").expect_error(404, "NOT_FOUND");
    ada.client.post("/v1/agent/tasks", &json!({ "to": bob.did })).expect_error(404, "NOT_FOUND");
}

fn an_agent_may_give_itself_a_task(suite: &Suite) {
    let [ada] = agents(suite);
    let task = ask(&ada, &ada.did, json!({ "input": "later" }));
    assert_eq!(look(&ada, &task).expect(200)["input"], "later");
    patch(&ada, &task, json!({ "status": "completed", "output": 1, "rating": 5 })).expect(200);
    assert_eq!(list(&ada, "role=requester")[0]["rating"], 5);
}

#[track_caller]
fn broadcast(from: &Agent, body: Value) -> Value {
    let made = from.client.post("/v1/agent/tasks/broadcast", &body).expect(201);
    assert_eq!(made["agents_matched"], made["tasks"].as_array().unwrap().len());
    made
}

fn detail(from: &Agent, made: &Value) -> Answer {
    from.client.get(&format!("/v1/agent/tasks/broadcasts/{}", text(made, "broadcast_id")))
}

/// Decisions one-deciding-operation and task-moves, for broadcasts.
fn a_broadcast_reaches_who_has_the_capability_and_hears_of_the_end(suite: &Suite) {
    let client = suite.client();
    let name = word();
    let [ada, bob] = agents(suite);
    let carl = Agent::register(&client, &json!({ "name": format!("Carl {name}"), "capabilities": [name] }));
    let dora = SealingAgent::new(suite);
    offer(&bob, &name);
    offer(&dora.agent, &name);
    let made = broadcast(&ada, json!({ "capability": name, "input": "all of you", "priority": "urgent" }));
    assert_eq!((text(&made, "capability"), text(&made, "priority")), (name.as_str(), "urgent"));
    let reached: Vec<&str> = made["tasks"].as_array().unwrap().iter().map(|task| text(task, "agent_did")).collect();
    assert_eq!(reached.len(), 3);
    assert!([&bob.did, &carl.did, &dora.agent.did].iter().all(|did| reached.contains(&did.as_str())));
    suite.client().until(|| (!list(&bob, "").is_empty() && !list(&dora.agent, "").is_empty()).then_some(()));
    let (of_bob, of_dora) = (list(&bob, "")[0].clone(), list(&dora.agent, "")[0].clone());
    assert_eq!(look(&bob, &of_bob).expect(200)["input"], "all of you");
    let seen = look(&dora.agent, &of_dora).expect(200);
    assert_eq!(dora.open(&identity(suite, &ada.did), &seen, "input"), r#""all of you""#);
    assert_eq!(seen["broadcast_id"], made["broadcast_id"]);
    suite.client().until(|| (list(&ada, "role=requester").len() == 3).then_some(()));

    step(&bob, &of_bob, "completed").expect(200);
    patch(&ada, &of_bob, json!({ "rating": 3 })).expect(200);
    step(&dora.agent, &of_dora, "failed").expect(200);
    let seen = detail(&ada, &made).expect(200);
    for (member, value) in [
        ("id", made["broadcast_id"].clone()),
        ("capability", json!(name)),
        ("status", json!("active")),
        ("tasks_created", json!(3)),
        ("tasks_completed", json!(1)),
        ("tasks_failed", json!(1)),
    ] {
        assert_eq!(seen["broadcast"][member], value, "{member}");
    }
    let tasks = seen["tasks"].as_array().unwrap();
    let of = |did: &str| tasks.iter().find(|task| task["agent"] == did).unwrap();
    assert_eq!((&of(&bob.did)["status"], &of(&bob.did)["rating"]), (&json!("completed"), &json!(3)));
    assert_eq!(
        (&of(&carl.did)["status"], text(of(&carl.did), "agent_name")),
        (&json!("pending"), &*format!("Carl {name}"))
    );
    let active = ada.client.get("/v1/agent/tasks/broadcasts?status=active").expect(200);
    assert_eq!((&active["count"], &active["broadcasts"][0]["id"]), (&json!(1), &made["broadcast_id"]));
    // The sender cancels the last task, so that all are final.
    step(&ada, &list(&carl, "")[0], "cancelled").expect(200);
    assert_eq!(detail(&ada, &made).expect(200)["broadcast"]["status"], "completed");
    let none = ada.client.get("/v1/agent/tasks/broadcasts?status=active").expect(200);
    assert_eq!(none["count"], 0);
    detail(&bob, &made).expect_error(404, "NOT_FOUND");
}

fn conflict_38_a_broadcast_takes_a_box_that_only_its_sender_opens(suite: &Suite) {
    let ada = SealingAgent::new(suite);
    let [bob] = agents(suite);
    let name = word();
    offer(&bob, &name);
    let nonce = [9; 24];
    let own = boxes::shared_key(&boxes::box_public_key(&ada.encryption), &ada.encryption).unwrap();
    let sealed = base64(&boxes::secretbox_seal(&own, &nonce, b"{}").unwrap());
    let signature = base64(&signing::sign(&ada.signing, b"{}"));
    let body = json!({
        "capability": name, "encrypted_input": sealed, "input_nonce": base64(&nonce), "input_signature": signature,
    });
    let made = broadcast(&ada.agent, body);
    assert_eq!((&made["priority"], &made["agents_matched"]), (&json!("normal"), &json!(1)));
    suite.client().until(|| (!list(&bob, "").is_empty()).then_some(()));
    let seen = look(&bob, &list(&bob, "")[0]).expect(200);
    assert_eq!((text(&seen, "encrypted_input"), text(&seen, "input_signature")), (sealed.as_str(), signature.as_str()));
    assert!(seen["input"].is_null());
}

fn a_broadcast_asks_no_more_agents_than_it_may_and_never_its_sender(suite: &Suite) {
    let name = word();
    let all: Vec<Agent> = (0..12).map(|_| Agent::server_side(&suite.client())).collect();
    all.iter().for_each(|agent| drop(offer(agent, &name)));
    let matched = |more: Value| {
        let mut body = json!({ "capability": name.to_uppercase() });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        broadcast(&all[0], body)["agents_matched"].clone()
    };
    assert_eq!(matched(json!({})), 10);
    assert_eq!(matched(json!({ "max_agents": 3 })), 3);
    assert_eq!(matched(json!({ "max_agents": 1_000 })), 11);
    assert_eq!(matched(json!({ "min_trust_level": "new" })), 10);
    assert_eq!(matched(json!({ "min_trust_level": "verified" })), 0);
    assert!(list(&all[0], "").is_empty());
}

/// `tasks` is an array even when it is empty, and `broadcast` is an object.
fn minimum_fields_of_a_broadcast_without_agents_are_there(suite: &Suite) {
    let [ada] = agents(suite);
    let made = broadcast(&ada, json!({ "capability": word(), "input": "anybody" }));
    assert_eq!((&made["tasks"], &made["agents_matched"]), (&json!([]), &json!(0)));
    let seen = detail(&ada, &made).expect(200);
    assert_eq!((&seen["tasks"], &seen["broadcast"]["status"]), (&json!([]), &json!("completed")));
    let all = ada.client.send("GET", "/v1/agent/tasks/broadcasts", Some("application/json"), b"").expect(200);
    assert_eq!(all["count"], 1);
}

fn bad_requests_about_tasks_are_400(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let nonce = base64(&[1; 24]);
    for more in [
        json!({ "priority": "asap" }),
        json!({ "expires_in": 0 }),
        json!({ "expires_in": 2_592_001 }),
        json!({ "capability": " " }),
        json!({ "encrypted_input": "AAAA" }),
        json!({ "input_nonce": nonce }),
        json!({ "encrypted_input": "AAA", "input_nonce": nonce }),
        json!({ "encrypted_input": "AAAA", "input_nonce": "AAAA" }),
        json!({ "encrypted_input": "AAAA", "input_nonce": nonce, "input": "x" }),
    ] {
        let mut body = json!({ "to": bob.did });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ada.client.post("/v1/agent/tasks", &body).expect_error(400, "BAD_REQUEST");
    }
    ada.client.post("/v1/agent/tasks", &json!({})).expect_error(400, "BAD_REQUEST");
    let task = ask(&ada, &bob.did, json!({}));
    for body in [
        json!({}),
        json!({ "status": "done" }),
        json!({ "output": "x" }),
        json!({ "status": "accepted", "output": "x" }),
        json!({ "rating_comment": "x" }),
        json!({ "status": "completed", "encrypted_output": "AAAA" }),
    ] {
        patch(&bob, &task, body).expect_error(400, "BAD_REQUEST");
    }
    for query in ["role=both", "status=done", "limit=0", "before=now"] {
        ada.client.get(&format!("/v1/agent/tasks?{query}")).expect_error(400, "BAD_REQUEST");
    }
    for body in [
        json!({}),
        json!({ "capability": "x", "max_agents": 0 }),
        json!({ "capability": "x", "min_trust_level": "huge" }),
    ] {
        ada.client.post("/v1/agent/tasks/broadcast", &body).expect_error(400, "BAD_REQUEST");
    }
}

fn pages_of_tasks_follow_each_other(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let made: Vec<Value> = (0..7).map(|_| ask(&ada, &bob.did, json!({}))["id"].clone()).collect();
    for (agent, role) in [(&ada, "requester"), (&bob, "assignee")] {
        let mut seen = Vec::new();
        let mut before = String::new();
        loop {
            let page = agent.client.get(&format!("/v1/agent/tasks?role={role}&limit=3{before}")).expect(200);
            let tasks = page["tasks"].as_array().unwrap();
            seen.extend(tasks.iter().map(|task| task["id"].clone()));
            if page["has_more"] == false {
                break;
            }
            before = format!("&before={}", encode(text(tasks.last().unwrap(), "created_at")));
        }
        assert_eq!(seen, made.iter().rev().cloned().collect::<Vec<_>>());
    }
}

/// Work that agents do for each other shows, but does not raise trust (decision anchored-weight).
fn settled_tasks_are_activity_and_lift_nobody_above_low(suite: &Suite) {
    let [asks, works] = agents(suite);
    for end in ["completed", "completed", "failed", "cancelled"] {
        let task = ask(&asks, &works.did, json!({}));
        if end == "cancelled" {
            step(&asks, &task, end).expect(200);
            continue;
        }
        step(&works, &task, "accepted").expect(200);
        step(&works, &task, end).expect(200);
        patch(&asks, &task, json!({ "rating": 5 })).expect(200);
    }
    let own = ask(&works, &works.did, json!({}));
    step(&works, &own, "completed").expect(200);
    let trust = suite.client().get(&format!("/v1/agent/trust/{}", works.did)).expect(200);
    let activity = &trust["activity"];
    assert_eq!((&activity["tasks_completed"], &activity["tasks_failed"]), (&json!(2), &json!(1)), "{trust}");
    assert_eq!(trust["trust_level"], "low", "{trust}");
}
