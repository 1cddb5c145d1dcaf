//! Finding agents: discover and usernames.

use heliograph_core::crypto::client::{Client as Sdk, Options};
use heliograph_tests::client::Client;
use heliograph_tests::relay::{Agent, encode, seed, text, unique};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    a_name_is_found_by_its_beginning_and_by_that_of_a_word_whatever_the_case,
    exact_comes_before_beginning_before_word_and_then_the_older_one,
    a_did_is_found_whole_and_by_its_beginning,
    a_cursor_brings_every_agent_once,
    an_agent_is_found_by_a_capability_of_its_profile,
    the_search_knows_at_once_what_was_answered,
    the_search_shows_no_activity,
    a_search_is_bounded_and_says_what_is_wrong,
    a_username_is_taken_changed_and_given_up,
    a_username_is_one_per_agent_and_one_agents,
    a_username_of_another_shape_is_refused,
    a_username_shows_last_seen_to_its_own_agent_only,
    a_username_is_there_at_once_and_ends_with_its_agent,
];

fn discover(client: &Client, query: &str) -> Value {
    let body = client.get(&format!("/v1/agent/discover?{query}")).expect(200);
    assert_eq!(body["count"], body["agents"].as_array().unwrap().len());
    body
}

fn dids(client: &Client, query: &str) -> Vec<String> {
    let body = discover(client, query);
    body["agents"].as_array().unwrap().iter().map(|agent| text(agent, "did").to_owned()).collect()
}

/// A word that is unique in this run, also as the beginning of a word.
fn word() -> String {
    format!("q{}z", unique())
}

fn named(client: &Client, name: &str) -> Agent {
    Agent::register(client, &json!({ "name": name }))
}

/// Decision agent-search-order.
fn a_name_is_found_by_its_beginning_and_by_that_of_a_word_whatever_the_case(suite: &Suite) {
    let client = suite.client();
    let word = word();
    let ada = named(&client, &format!("{word}Ämter von-Ort{word}end"));
    let found = |query: &str| dids(&client, &format!("query={}", encode(query))) == std::slice::from_ref(&ada.did);
    for query in [
        word.clone(),
        word.to_uppercase(),
        format!("{word}ä"),
        format!("  {word}ÄMTER VON"),
        format!("ort{word}"),
        format!("ORT{word}END"),
        format!("{word}Ämter von-Ort{word}end"),
    ] {
        assert!(found(&query), "{query}");
    }
    for query in
        [format!("rt{word}"), format!("{word}end"), format!("{word}Ämter von-Ort{word}end."), format!("mter {word}")]
    {
        assert!(!found(&query), "{query} is inside a word, or not there");
    }
    let all = discover(&client, &format!("query={word}"));
    let agent = &all["agents"][0];
    assert_eq!(agent["name"], ada.registration["name"]);
    for member in ["did", "capabilities", "signing_public_key", "encryption_public_key"] {
        assert_eq!(agent[member], ada.registration[member], "{member}");
    }
    assert_eq!((&agent["status"], &all["cursor"]), (&json!("active"), &Value::Null));
}

/// Decision agent-search-order.
fn exact_comes_before_beginning_before_word_and_then_the_older_one(suite: &Suite) {
    let client = suite.client();
    let word = word();
    let names =
        [format!("x {word}"), format!("{word}b"), format!("y {word}a"), format!("{word}a"), word.to_uppercase()];
    let mut agents = Vec::new();
    for name in &names {
        agents.push(named(&client, name).did);
        client.wait(std::time::Duration::from_millis(2));
    }
    let expected = [4, 1, 3, 0, 2].map(|at: usize| agents[at].clone());
    assert_eq!(dids(&client, &format!("query={word}")), expected);
    // The same page by page.
    for limit in 1..6 {
        let (mut paged, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = discover(&client, &format!("query={word}&limit={limit}&cursor={cursor}"));
            let found = page["agents"].as_array().unwrap();
            assert!(found.len() <= limit);
            paged.extend(found.iter().map(|agent| text(agent, "did").to_owned()));
            match page["cursor"].as_str() {
                Some(next) => cursor = next.to_owned(),
                None => break,
            }
        }
        assert_eq!(paged, expected, "by {limit}");
    }
}

/// Decision agent-search-order.
fn a_did_is_found_whole_and_by_its_beginning(suite: &Suite) {
    let client = suite.client();
    let ada = Agent::server_side(&client);
    assert_eq!(dids(&client, &format!("query={}", ada.did)), std::slice::from_ref(&ada.did));
    assert_eq!(dids(&client, &format!("query={}", encode(&ada.did))), std::slice::from_ref(&ada.did));
    for length in ["did:svc:".len() + 5, ada.did.len() - 1] {
        let beginning = &ada.did[..length];
        assert!(dids(&client, &format!("query={beginning}&limit=100")).contains(&ada.did), "{beginning}");
        let other_case = format!("query={}&limit=100", beginning.to_uppercase());
        assert!(dids(&client, &other_case).contains(&ada.did), "{beginning}");
    }
    // The middle of a DID does not find it.
    assert!(!dids(&client, &format!("query={}", &ada.did[9..])).contains(&ada.did));
    let foreign = ada.did.replace(":svc:", ":other:");
    assert!(dids(&client, &format!("query={foreign}")).is_empty());
    assert!(dids(&client, &format!("query={}x", ada.did)).is_empty());
}

/// Decision agent-search-order: this also holds when so many agents share a beginning that the directory keeps them in
/// order.
fn a_cursor_brings_every_agent_once(suite: &Suite) {
    let client = suite.client();
    let word = word();
    let agents: Vec<String> = (0..150).map(|number| named(&client, &format!("{word}-{number}")).did).collect();
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = discover(&client, &format!("query={word}&limit=100&cursor={cursor}"));
        found.extend(page["agents"].as_array().unwrap().iter().map(|agent| text(agent, "did").to_owned()));
        match page["cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    found.sort();
    let mut expected = agents;
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(dids(&client, &format!("query={word}-149")).len(), 1);
    assert_eq!(dids(&client, &format!("query={word}-14&limit=100")).len(), 11);
}

fn an_agent_is_found_by_a_capability_of_its_profile(suite: &Suite) {
    let client = suite.client();
    let (capability, word) = (format!("svc.{}", word()), word());
    let body = json!({ "name": format!("{word} one"), "capabilities": ["other", capability] });
    let ada = Agent::register(&client, &body);
    let bob = Agent::register(&client, &json!({ "capabilities": [capability.to_uppercase()] }));
    let mut both = dids(&client, &format!("capability={capability}"));
    both.sort();
    let mut expected = [ada.did.clone(), bob.did.clone()];
    expected.sort();
    assert_eq!(both, expected);
    assert_eq!(dids(&client, &format!("capability={capability}&query={word}")), std::slice::from_ref(&ada.did));
    assert_eq!(dids(&client, &format!("capability={capability}&query=one&limit=100")), std::slice::from_ref(&ada.did));
    assert_eq!(dids(&client, &format!("capability={capability}&query={}", bob.did)), std::slice::from_ref(&bob.did));
    assert!(dids(&client, &format!("capability=none&query={word}")).is_empty());
    // Only the whole name of a capability finds it, not its beginning.
    assert!(dids(&client, &format!("capability={}", &capability[..capability.len() - 1])).is_empty());
    ada.client.patch("/v1/agent/profile", &json!({ "capabilities": [] })).expect(200);
    assert_eq!(dids(&client, &format!("capability={capability}")), [bob.did]);
}

/// Decision one-deciding-operation.
fn the_search_knows_at_once_what_was_answered(suite: &Suite) {
    let client = suite.client();
    let (old, new) = (word(), word());
    let ada = named(&client, &old);
    assert_eq!(dids(&client, &format!("query={old}")), std::slice::from_ref(&ada.did));
    ada.client.patch("/v1/agent/profile", &json!({ "name": new })).expect(200);
    assert!(dids(&client, &format!("query={old}")).is_empty());
    assert_eq!(dids(&client, &format!("query={new}")), std::slice::from_ref(&ada.did));
    let rotated = ada.client.post("/v1/agent/rotate-keys", &json!({})).expect(200);
    let found = discover(&client, &format!("query={new}"));
    for member in ["signing_public_key", "encryption_public_key"] {
        assert_eq!(found["agents"][0][member], rotated[member]);
    }
    ada.client.delete("/v1/agent/deactivate").expect(200);
    assert!(dids(&client, &format!("query={new}")).is_empty());
    assert!(dids(&client, &format!("query={}", ada.did)).is_empty());
}

/// Decision private-activity (relay 17.3).
fn the_search_shows_no_activity(suite: &Suite) {
    let client = suite.client();
    let word = word();
    let ada = named(&client, &word);
    ada.say(&ada.did, "x");
    let agent = discover(&ada.client, &format!("query={word}"))["agents"][0].clone();
    for member in ["last_seen", "message_count", "api_key", "metadata", "one_time_prekeys_remaining"] {
        assert_eq!(agent[member], Value::Null, "{member}");
    }
    assert!(agent["capabilities"].is_array());
}

fn a_search_is_bounded_and_says_what_is_wrong(suite: &Suite) {
    let client = suite.client();
    (0..21).for_each(|_| drop(Agent::server_side(&client)));
    assert_eq!(discover(&client, "")["count"], 20);
    assert_eq!(discover(&client, "query=&capability=&limit=&cursor=&more=x")["count"], 20);
    assert!(discover(&client, "limit=1000")["count"].as_u64().unwrap() <= 100);
    assert_eq!(discover(&client, "query=did:svc:&limit=3")["count"], 3);
    for wrong in ["limit=0", "limit=x", "cursor=x", "cursor=AAAA%00", "cursor=%ff"] {
        client.get(&format!("/v1/agent/discover?{wrong}")).expect_error(400, "BAD_REQUEST");
    }
    assert_eq!(discover(&client.agent("nonsense"), "limit=1")["count"], 1);
    let long = "x".repeat(4_000);
    assert_eq!(discover(&client, &format!("query={long}&capability={long}"))["count"], 0);
}

fn username() -> String {
    format!("user_{}", unique())
}

fn claim(agent: &Agent, username: &str) -> heliograph_tests::client::Answer {
    agent.client.post("/v1/agent/username", &json!({ "username": username }))
}

fn a_username_is_taken_changed_and_given_up(suite: &Suite) {
    let client = suite.client();
    let name = word();
    let ada = named(&client, &name);
    let (first, second) = (username(), username());
    let claimed = claim(&ada, &first).expect(201);
    assert_eq!((&claimed["username"], &claimed["did"]), (&json!(first), &json!(ada.did)));
    assert!(heliograph_core::Timestamp::parse(text(&claimed, "claimed_at")).is_some());
    let found = client.get(&format!("/v1/agent/username/{first}")).expect(200);
    let expected = json!({ "username": first, "did": ada.did, "display_name": name, "last_seen": null });
    assert_eq!(found, expected);
    assert_eq!(ada.client.get("/v1/agent/profile").expect(200)["username"], json!(first));
    let put = |username: &str| {
        let body = json!({ "username": username }).to_string();
        ada.client.send("PUT", "/v1/agent/username", Some("application/json"), body.as_bytes())
    };
    let changed = put(&second).expect(200);
    assert_eq!((&changed["username"], &changed["did"]), (&json!(second), &json!(ada.did)));
    client.get(&format!("/v1/agent/username/{first}")).expect_error(404, "NOT_FOUND");
    assert_eq!(client.get(&format!("/v1/agent/username/{second}")).expect(200)["did"], json!(ada.did));
    let released = ada.client.delete("/v1/agent/username").expect(200);
    assert_eq!((&released["released"], &released["username"]), (&json!(true), &json!(second)));
    client.get(&format!("/v1/agent/username/{second}")).expect_error(404, "NOT_FOUND");
    assert_eq!(ada.client.delete("/v1/agent/username").expect(200)["released"], false);
    // The username is free for others, and PUT also claims a first one.
    claim(&Agent::server_side(&client), &first).expect(201);
    put(&second).expect(200);
}

fn a_username_is_one_per_agent_and_one_agents(suite: &Suite) {
    let client = suite.client();
    let (ada, bob) = (Agent::server_side(&client), Agent::server_side(&client));
    let (first, second) = (username(), username());
    let claimed = claim(&ada, &first).expect(201);
    assert_eq!(claim(&ada, &first).expect(201), claimed, "again the same");
    claim(&bob, &first).expect_error(409, "CONFLICT");
    claim(&ada, &second).expect_error(409, "CONFLICT");
    assert_eq!(client.get(&format!("/v1/agent/username/{first}")).expect(200)["did"], json!(ada.did));
    // Names are separate from usernames: an agent may have a name that equals a username.
    named(&client, &first);
    assert_eq!(client.get(&format!("/v1/agent/username/{first}")).expect(200)["did"], json!(ada.did));
}

fn a_username_of_another_shape_is_refused(suite: &Suite) {
    let client = suite.client();
    let ada = Agent::server_side(&client);
    let long = format!("{}{}", username(), "x".repeat(32));
    for good in [&long[..32], "_00", "a_0"] {
        let body = json!({ "username": good }).to_string();
        ada.client.send("PUT", "/v1/agent/username", Some("application/json"), body.as_bytes()).expect(200);
    }
    for bad in ["", "ab", &long[..33], "Abc", "a-b", "a b", "\u{e4}bc", "abc\n", "a.c"] {
        claim(&ada, bad).expect_error(400, "BAD_REQUEST");
        let path = format!("/v1/agent/username/{}", encode(bad));
        assert_eq!(client.get(&path).status, 404, "{bad:?}");
    }
    for bad in [json!({}), json!({ "username": null }), json!({ "username": 123 })] {
        ada.client.post("/v1/agent/username", &bad).expect_error(400, "BAD_REQUEST");
    }
    client.post("/v1/agent/username", &json!({ "username": "abc" })).expect_error(401, "UNAUTHORIZED");
}

/// Decision private-activity.
fn a_username_shows_last_seen_to_its_own_agent_only(suite: &Suite) {
    let client = suite.client();
    let (ada, bob) = (Agent::server_side(&client), Agent::server_side(&client));
    let username = username();
    claim(&ada, &username).expect(201);
    let seen = |client: &Client| client.get(&format!("/v1/agent/username/{username}")).expect(200)["last_seen"].clone();
    for other in [&client, &bob.client, &client.agent("nonsense"), &client.agent("")] {
        assert_eq!(seen(other), Value::Null);
    }
    let own = seen(&ada.client);
    // On the edge the use is counted in the agent's object, and written once a minute.
    assert!(own.is_null() || heliograph_core::Timestamp::parse(own.as_str().unwrap()).is_some(), "{own}");
    if suite.kind != heliograph_tests::target::Kind::Edge {
        assert!(own.is_string());
    }
}

/// Decision one-deciding-operation.
fn a_username_is_there_at_once_and_ends_with_its_agent(suite: &Suite) {
    let client = suite.client();
    let sdk = Sdk::new("svc", seed(), Options::default());
    let ada = Agent::register(&client, &sdk.key_body(None, 1));
    let username = username();
    claim(&ada, &username).expect(201);
    assert_eq!(client.get(&format!("/v1/agent/username/{username}")).expect(200)["did"], json!(ada.did));
    ada.client.delete("/v1/agent/deactivate").expect(200);
    client.get(&format!("/v1/agent/username/{username}")).expect_error(404, "NOT_FOUND");
    // It is not free at once: nobody may take the place of an agent that has just ended.
    claim(&Agent::server_side(&client), &username).expect_error(409, "CONFLICT");
}
