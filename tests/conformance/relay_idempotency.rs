//! `Idempotency-Key` outside of the ledger: the same request again, or 422.

use heliograph_tests::relay::{Agent, text};
use serde_json::{Value, json};

use crate::relay_tasks::{agents, offer, word};
use crate::{Suite, cases};

cases![
    another_body_under_a_used_key_is_422_and_nothing_of_it_is_stored,
    a_used_key_with_another_recipient_is_422,
    a_key_counts_per_route_and_agent,
    bodies_that_race_under_one_key_make_one_message,
];

/// Each route that accepts the header, with two bodies.
fn routes(to: &Agent, capability: &str) -> [(&'static str, Value, Value); 3] {
    [
        ("/v1/agent/send", json!({ "to": to.did, "message": "one" }), json!({ "to": to.did, "message": "two" })),
        ("/v1/agent/tasks", json!({ "to": to.did, "input": "one" }), json!({ "to": to.did, "input": "two" })),
        (
            "/v1/agent/tasks/broadcast",
            json!({ "capability": capability, "input": "one" }),
            json!({ "capability": capability, "input": "two" }),
        ),
    ]
}

fn tasks(agent: &Agent) -> usize {
    agent.client.get("/v1/agent/tasks").expect(200)["tasks"].as_array().map_or(0, Vec::len)
}

fn another_body_under_a_used_key_is_422_and_nothing_of_it_is_stored(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let skill = word();
    offer(&bob, &skill);
    for (path, one, two) in routes(&bob, &skill) {
        let client = ada.client.with("idempotency-key", "order-7");
        let first = client.post(path, &one).expect(201);
        client.post(path, &two).expect_error(422, "IDEMPOTENCY_MISMATCH");
        // The refusal changes nothing: the first request still gets its answer.
        assert_eq!(client.post(path, &one).expect(201), first, "{path}");
    }
    assert_eq!(bob.inbox().len(), 1);
    suite.client().until(|| (tasks(&bob) == 2).then_some(()));
}

fn a_used_key_with_another_recipient_is_422(suite: &Suite) {
    let [ada, bob, eve] = agents(suite);
    for (path, member) in [("/v1/agent/send", "message"), ("/v1/agent/tasks", "input")] {
        let client = ada.client.with("idempotency-key", "k");
        client.post(path, &json!({ "to": bob.did, member: "x" })).expect(201);
        client.post(path, &json!({ "to": eve.did, member: "x" })).expect_error(422, "IDEMPOTENCY_MISMATCH");
    }
    assert_eq!((eve.inbox().len(), tasks(&eve)), (0, 0));
}

fn a_key_counts_per_route_and_agent(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let skill = word();
    offer(&bob, &skill);
    let mut ids = Vec::new();
    for (path, one, two) in routes(&bob, &skill) {
        for (agent, body) in [(&ada, &one), (&bob, &two)] {
            let made = agent.client.with("idempotency-key", "k").post(path, body).expect(201);
            ids.push(made.get("id").or(made.get("broadcast_id")).cloned());
        }
    }
    let all = ids.len();
    ids.sort_by_key(|id| id.as_ref().map(Value::to_string));
    ids.dedup();
    assert_eq!((ids.len(), ids.contains(&None)), (all, false));
}

/// When several bodies come at once under one key, exactly one wins; the others are refused, and none is lost.
fn bodies_that_race_under_one_key_make_one_message(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let send = |n: usize| {
            let client = ada.client.with("idempotency-key", "race");
            let body = json!({ "to": bob.did, "message": format!("text {}", n % 2) });
            scope.spawn(move || (n % 2, client.post("/v1/agent/send", &body)))
        };
        let running: Vec<_> = (0..8).map(send).collect();
        running.into_iter().map(|running| running.join().unwrap()).collect()
    });
    let won = answers.iter().find(|(_, answer)| answer.status == 201).map(|(which, _)| *which).unwrap();
    let mut ids = Vec::new();
    for (which, answer) in answers {
        match which == won {
            true => ids.push(answer.expect(201)["id"].clone()),
            false => answer.expect_error(422, "IDEMPOTENCY_MISMATCH"),
        }
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    let inbox = bob.inbox();
    assert_eq!(inbox.len(), 1);
    assert_eq!(text(&inbox[0], "content"), format!("text {won}"));
}
