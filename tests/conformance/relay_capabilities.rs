//! Capabilities, and the search for them (relay 7).

use heliograph_tests::relay::{Agent, text};
use serde_json::{Value, json};

use crate::relay_tasks::{agents, offer, word};
use crate::{Suite, cases};

cases![
    a_capability_is_registered_listed_changed_and_taken_back,
    conflict_27_a_search_answers_under_both_names_to_both_questions,
    capabilities_end_with_their_agent_and_are_capped,
    the_search_for_agents_knows_registered_capabilities,
    bad_capabilities_are_400,
];

#[track_caller]
fn search(suite: &Suite, query: &str) -> Vec<Value> {
    let answer = suite.client().get(&format!("/v1/agent/capabilities/search?{query}")).expect(200);
    let results = answer["results"].as_array().unwrap().clone();
    assert_eq!(answer["capabilities"], answer["results"]);
    assert_eq!(answer["count"], results.len());
    results
}

fn a_capability_is_registered_listed_changed_and_taken_back(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let name = word();
    let body = json!({
        "name": name, "description": "first", "input_schema": { "z": 1.0, "a": 2 }, "output_schema": {}, "version": "2.1",
    });
    let made = ada.client.post("/v1/agent/capabilities", &body).expect(201);
    assert_eq!((text(&made, "name"), text(&made, "did")), (name.as_str(), ada.did.as_str()));
    assert_eq!(made["input_schema"].to_string(), json!({ "z": 1.0, "a": 2 }).to_string());
    // The same name again in upper case is the same capability, stated again.
    let again = ada.client.post("/v1/agent/capabilities", &json!({ "name": name.to_uppercase() })).expect(200);
    assert_eq!((&again["id"], &again["version"]), (&made["id"], &json!("1.0.0")));
    let own = ada.client.get("/v1/agent/capabilities").expect(200);
    assert_eq!((&own["count"], &own["capabilities"][0]), (&json!(1), &again));
    for member in ["id", "name", "version", "description", "invocations", "avg_rating"] {
        assert!(again.get(member).is_some(), "{member}");
    }
    let path = format!("/v1/agent/capabilities/{}", text(&made, "id"));
    bob.client.delete(&path).expect_error(404, "NOT_FOUND");
    ada.client.delete(&path).expect(200);
    ada.client.delete(&path).expect_error(404, "NOT_FOUND");
    assert_eq!(ada.client.get("/v1/agent/capabilities").expect(200)["count"], 0);
    assert!(search(suite, &format!("q={name}")).is_empty());
}

/// `agent` is an object in every result.
fn conflict_27_a_search_answers_under_both_names_to_both_questions(suite: &Suite) {
    let client = suite.client();
    let name = word();
    let ada = Agent::register(&client, &json!({ "name": format!("Ada {name}") }));
    let [bob] = agents(suite);
    ada.client
        .post("/v1/agent/capabilities", &json!({ "name": name, "description": "Turns maps into words" }))
        .expect(201);
    offer(&bob, &format!("{name}-large"));
    for question in [format!("q={name}"), format!("query={name}"), format!("q={}", name.to_uppercase())] {
        let found = search(suite, &question);
        assert_eq!(found.len(), 2, "{question}");
        assert_eq!(found[0]["agent"], json!({ "did": ada.did, "name": format!("Ada {name}") }));
        assert_eq!((&found[0]["invocations"], &found[0]["avg_rating"]), (&json!(0), &Value::Null));
        assert_eq!(found[1]["agent"], json!({ "did": bob.did, "name": null }));
    }
    assert_eq!(search(suite, &format!("name={name}")).len(), 1);
    assert_eq!(search(suite, &format!("q={name}&limit=1")).len(), 1);
    assert_eq!(search(suite, &format!("q={name}&limit=100000")).len(), 2);
    assert_eq!(search(suite, &format!("q=map%20{name}")).len(), 1);
    assert!(search(suite, &format!("name={}", &name[..5])).is_empty());
    // Conflict 42: a wrong key does not matter on a public route.
    client.agent("nonsense").get(&format!("/v1/agent/capabilities/search?q={name}")).expect(200);
    // A new name of the agent shows here too.
    ada.client.patch("/v1/agent/profile", &json!({ "name": format!("Lovelace {name}") })).expect(200);
    assert_eq!(search(suite, &format!("name={name}"))[0]["agent"]["name"], format!("Lovelace {name}"));
}

fn capabilities_end_with_their_agent_and_are_capped(suite: &Suite) {
    let [ada] = agents(suite);
    let name = word();
    for n in 0..32 {
        offer(&ada, &format!("{name} {n}"));
    }
    ada.client.post("/v1/agent/capabilities", &json!({ "name": name })).expect_error(409, "CONFLICT");
    ada.client.post("/v1/agent/capabilities", &json!({ "name": format!("{name} 31") })).expect(200);
    assert_eq!(search(suite, &format!("q={name}&limit=100")).len(), 32);
    ada.client.delete("/v1/agent/deactivate").expect(200);
    assert!(search(suite, &format!("q={name}")).is_empty());
}

fn the_search_for_agents_knows_registered_capabilities(suite: &Suite) {
    let [ada] = agents(suite);
    let name = word();
    let made = offer(&ada, &name);
    let found = || suite.client().get(&format!("/v1/agent/discover?capability={name}")).expect(200);
    assert_eq!(found()["agents"][0]["did"], ada.did);
    ada.client.delete(&format!("/v1/agent/capabilities/{}", text(&made, "id"))).expect(200);
    assert_eq!(found()["count"], 0);
}

fn bad_capabilities_are_400(suite: &Suite) {
    let [ada] = agents(suite);
    for body in [
        json!({}),
        json!({ "name": "" }),
        json!({ "name": "x".repeat(129) }),
        json!({ "name": "x", "input_schema": [] }),
        json!({ "name": "x", "description": "x".repeat(1_025) }),
    ] {
        ada.client.post("/v1/agent/capabilities", &body).expect_error(400, "BAD_REQUEST");
    }
}
