//! Who may write to an agent (decision who-may-write): blocking, the three settings, the lists, and the tenth of a
//! mailbox that unproven senders share.

use heliograph_core::crypto::client::Options;
use heliograph_tests::client::Answer;
use heliograph_tests::relay::{Agent, SdkAgent, base58, encode, letter, seed, text};
use serde_json::{Value, json};

use crate::relay_tasks::{agents, offer, word};
use crate::{Suite, cases};

cases![
    everybody_may_write_until_the_agent_says_otherwise,
    a_refused_sender_gets_the_answer_of_an_unknown_recipient,
    a_blocked_agent_reaches_nothing_and_is_told_nothing,
    known_are_the_pinned_the_written_to_and_the_allowed,
    a_pinned_agent_with_other_keys_is_not_known,
    listed_lets_only_the_list_in,
    a_sealed_message_is_judged_by_who_sends_it,
    an_agent_always_reaches_itself,
    what_was_accepted_before_a_block_stays_and_is_repeated,
    a_broadcast_passes_over_who_refuses_its_sender,
    an_agent_is_on_one_list_at_most_and_lists_have_pages,
    bad_requests_about_consent_are_refused,
    consent_is_the_agents_own,
    unproved_senders_share_one_tenth_and_take_nobodys_room,
];

fn accept_from(agent: &Agent, who: &str) -> Value {
    agent.client.patch("/v1/agent/consent", &json!({ "accept_from": who })).expect(200)
}

fn path(list: &str, did: &str) -> String {
    format!("/v1/agent/consent/{list}/{}", encode(did))
}

#[track_caller]
fn put(agent: &Agent, list: &str, did: &str) -> Value {
    agent.client.send("PUT", &path(list, did), Some("application/json"), b"").expect(200)
}

fn send(from: &Agent, to: &str) -> Answer {
    from.client.post("/v1/agent/send", &json!({ "to": to, "message": "x" }))
}

fn encrypted(from: &Agent, to: &str) -> Answer {
    from.client.post("/v1/agent/send/encrypted", &letter(to, "x"))
}

fn task(from: &Agent, to: &str) -> Answer {
    from.client.post("/v1/agent/tasks", &json!({ "to": to, "input": "x" }))
}

/// Invites an agent to a new private channel.
fn invite(from: &Agent, to: &str) -> Answer {
    let made = from.client.post("/v1/agent/channels", &json!({ "name": word(), "private": true })).expect(201);
    from.client.post(&format!("/v1/agent/channels/{}/invite", text(&made, "id")), &json!({ "did": to }))
}

/// A way in which one agent reaches another.
type Way = (&'static str, fn(&Agent, &str) -> Answer);
const WAYS: [Way; 4] = [("send", send), ("encrypted", encrypted), ("task", task), ("invite", invite)];

fn everybody_may_write_until_the_agent_says_otherwise(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let consent = bob.client.get("/v1/agent/consent").expect(200);
    let expected = json!({ "accept_from": "everyone", "blocked_count": 0, "allowed_count": 0, "max_listed": 10_000 });
    assert_eq!(consent, expected);
    for (_, way) in WAYS {
        way(&ada, &bob.did).expect(201);
    }
    for who in ["known", "listed", "everyone"] {
        assert_eq!(accept_from(&bob, who)["accept_from"], who);
        assert_eq!(bob.client.get("/v1/agent/consent").expect(200)["accept_from"], who);
    }
    send(&ada, &bob.did).expect(201);
}

fn a_refused_sender_gets_the_answer_of_an_unknown_recipient(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let nobody = format!("did:svc:{}", base58(&seed()[..16]));
    accept_from(&bob, "listed");
    for (name, way) in WAYS {
        let (refused, unknown) = (way(&ada, &bob.did), way(&ada, &nobody));
        refused.expect_error(404, "NOT_FOUND");
        assert_eq!((refused.status, &refused.body), (unknown.status, &unknown.body), "{name}");
        let names = |answer: &Answer| {
            let mut names: Vec<String> = answer.headers.keys().map(|name| name.as_str().to_owned()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&refused), names(&unknown), "{name}");
    }
    assert!(bob.everything().is_empty());
    let empty = |what: &str| bob.client.get(&format!("/v1/agent/{what}")).expect(200)["count"].clone();
    assert_eq!((empty("tasks"), empty("invites")), (json!(0), json!(0)));
    // The agent stays visible for everything else.
    ada.client.get(&format!("/v1/agent/identity/{}", bob.did)).expect(200);
}

fn a_blocked_agent_reaches_nothing_and_is_told_nothing(suite: &Suite) {
    let [ada, bob, carl] = agents(suite);
    put(&bob, "blocked", &ada.did);
    for (_, way) in WAYS {
        way(&ada, &bob.did).expect_error(404, "NOT_FOUND");
        way(&carl, &bob.did).expect(201);
        // A block concerns one agent, in one direction.
        way(&ada, &carl.did).expect(201);
        way(&bob, &ada.did).expect(201);
    }
    // A block also holds for senders to whom the agent wrote, or whom it pinned.
    bob.client.post("/v1/agent/keys/pin", &json!({ "did": ada.did })).expect(200);
    accept_from(&bob, "known");
    send(&ada, &bob.did).expect_error(404, "NOT_FOUND");
    bob.client.delete(&path("blocked", &ada.did)).expect(200);
    send(&ada, &bob.did).expect(201);
}

fn known_are_the_pinned_the_written_to_and_the_allowed(suite: &Suite) {
    let [reader, stranger, written, pinned, allowed, asked] = agents(suite);
    // Before and after the setting changes.
    send(&reader, &written.did).expect(201);
    accept_from(&reader, "known");
    reader.client.post("/v1/agent/keys/pin", &json!({ "did": pinned.did })).expect(200);
    put(&reader, "allowed", &allowed.did);
    task(&reader, &asked.did).expect(201);
    for (name, way) in WAYS {
        for known in [&written, &pinned, &allowed, &asked] {
            assert_eq!(way(known, &reader.did).status, 201, "{name}");
        }
        way(&stranger, &reader.did).expect_error(404, "NOT_FOUND");
    }
    // An answer in a conversation that the reader began is accepted, also with the sender's own encryption.
    encrypted(&reader, &stranger.did).expect(201);
    encrypted(&stranger, &reader.did).expect(201);
}

/// A pin is for keys: an agent with other keys may be somebody else, until the reader decides.
fn a_pinned_agent_with_other_keys_is_not_known(suite: &Suite) {
    let [reader, pinned] = agents(suite);
    reader.client.post("/v1/agent/keys/pin", &json!({ "did": pinned.did })).expect(200);
    accept_from(&reader, "known");
    send(&pinned, &reader.did).expect(201);
    pinned.client.post("/v1/agent/rotate-keys", &json!({})).expect(200);
    for (name, way) in WAYS {
        assert_eq!(way(&pinned, &reader.did).status, 404, "{name}");
    }
    put(&reader, "allowed", &pinned.did);
    for (name, way) in WAYS {
        assert_eq!(way(&pinned, &reader.did).status, 201, "{name}");
    }
}

fn listed_lets_only_the_list_in(suite: &Suite) {
    let [reader, written, pinned, allowed] = agents(suite);
    accept_from(&reader, "listed");
    send(&reader, &written.did).expect(201);
    reader.client.post("/v1/agent/keys/pin", &json!({ "did": pinned.did })).expect(200);
    put(&reader, "allowed", &allowed.did);
    for (name, way) in WAYS {
        for other in [&written, &pinned] {
            way(other, &reader.did).expect_error(404, "NOT_FOUND");
        }
        assert_eq!(way(&allowed, &reader.did).status, 201, "{name}");
    }
    reader.client.delete(&path("allowed", &allowed.did)).expect(200);
    send(&allowed, &reader.did).expect_error(404, "NOT_FOUND");
}

/// Relay 5.6: the message has no mark of a sealed sender, and the API key tells the relay who sends it.
fn a_sealed_message_is_judged_by_who_sends_it(suite: &Suite) {
    let client = suite.client();
    let reader = SdkAgent::new(&client, Options::default());
    let mut sender = SdkAgent::new(&client, Options { sealed: true, ..Options::default() });
    accept_from(&reader.agent, "known");
    let posted = sender.compose(&reader.agent.did, "hush", Default::default());
    sender.post(&posted).expect_error(404, "NOT_FOUND");
    put(&reader.agent, "allowed", &sender.agent.did);
    sender.post(&posted).expect(201);
    assert_eq!(reader.agent.raw().len(), 1);
}

fn an_agent_always_reaches_itself(suite: &Suite) {
    let [ada] = agents(suite);
    accept_from(&ada, "listed");
    send(&ada, &ada.did).expect(201);
    encrypted(&ada, &ada.did).expect(201);
    task(&ada, &ada.did).expect(201);
    ada.client.send("PUT", &path("blocked", &ada.did), None, b"").expect_error(400, "BAD_REQUEST");
}

/// Decisions message-repeats and who-may-write.
fn what_was_accepted_before_a_block_stays_and_is_repeated(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let body = letter(&bob.did, "x");
    let first = ada.client.post("/v1/agent/send/encrypted", &body).expect(201);
    let asked = task(&ada, &bob.did).expect(201);
    put(&bob, "blocked", &ada.did);
    // A repeat because of a slow answer: the message itself was never refused.
    assert_eq!(ada.client.post("/v1/agent/send/encrypted", &body).expect(201)["id"], first["id"]);
    assert_eq!(bob.raw().len(), 1);
    let moved = json!({ "status": "cancelled" });
    ada.client.patch(&format!("/v1/agent/tasks/{}", text(&asked, "id")), &moved).expect(200);
    assert_eq!(ada.client.delete(&format!("/v1/agent/messages/{}", text(&first, "id"))).expect(200)["deleted"], true);
    encrypted(&ada, &bob.did).expect_error(404, "NOT_FOUND");
}

fn a_broadcast_passes_over_who_refuses_its_sender(suite: &Suite) {
    let [ada, bob, carl, dora] = agents(suite);
    let name = word();
    for agent in [&bob, &carl, &dora] {
        offer(agent, &name);
    }
    put(&bob, "blocked", &ada.did);
    accept_from(&carl, "known");
    let made = ada.client.post("/v1/agent/tasks/broadcast", &json!({ "capability": name, "input": "x" })).expect(201);
    assert_eq!(made["agents_matched"], 1);
    assert_eq!(made["tasks"][0]["agent_did"], json!(dora.did));
    for (agent, tasks) in [(&bob, 0), (&carl, 0), (&dora, 1)] {
        assert_eq!(agent.client.get("/v1/agent/tasks").expect(200)["count"], tasks);
    }
}

fn an_agent_is_on_one_list_at_most_and_lists_have_pages(suite: &Suite) {
    let [ada] = agents(suite);
    let dids: Vec<String> = (0..7).map(|_| format!("did:svc:{}", base58(&seed()[..16]))).collect();
    for did in &dids {
        let entry = put(&ada, "blocked", did);
        assert_eq!((&entry["did"], &entry["list"]), (&json!(did), &json!("blocked")));
        assert_eq!(put(&ada, "blocked", did), entry, "a second time changes nothing");
    }
    let counts = || {
        let consent = ada.client.get("/v1/agent/consent").expect(200);
        (consent["blocked_count"].as_u64().unwrap(), consent["allowed_count"].as_u64().unwrap())
    };
    assert_eq!(counts(), (7, 0));
    put(&ada, "allowed", &dids[3]);
    assert_eq!(counts(), (6, 1));
    let list = |query: &str| ada.client.get(&format!("/v1/agent/consent/{query}")).expect(200);
    assert_eq!(list("allowed")["agents"][0]["did"], json!(dids[3]));
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = list(&format!("blocked?limit=4{after}"));
        let agents = page["agents"].as_array().unwrap();
        assert_eq!(page["count"], agents.len());
        seen.extend(agents.iter().map(|agent| text(agent, "did").to_owned()));
        if page["has_more"] == false {
            break;
        }
        after = format!("&after={}", encode(seen.last().unwrap()));
    }
    let mut expected: Vec<String> = dids.iter().filter(|did| **did != dids[3]).cloned().collect();
    expected.sort();
    seen.sort();
    assert_eq!(seen, expected);
    let removed = ada.client.delete(&path("blocked", &dids[0])).expect(200);
    assert_eq!(removed, json!({ "did": dids[0], "list": "blocked", "removed": true }));
    ada.client.delete(&path("blocked", &dids[0])).expect_error(404, "NOT_FOUND");
    ada.client.delete(&path("blocked", &dids[3])).expect_error(404, "NOT_FOUND");
    assert_eq!(counts(), (5, 1));
}

fn bad_requests_about_consent_are_refused(suite: &Suite) {
    let [ada] = agents(suite);
    for body in [json!({}), json!({ "accept_from": "nobody" }), json!({ "accept_from": null }), json!([])] {
        ada.client.patch("/v1/agent/consent", &body).expect_error(400, "BAD_REQUEST");
    }
    for (method, path) in [
        ("PUT", "/v1/agent/consent/blocked/nobody"),
        ("DELETE", "/v1/agent/consent/allowed/did%3Asvc%3A"),
        ("GET", "/v1/agent/consent/blocked?limit=0"),
        ("GET", "/v1/agent/consent/blocked?after=x"),
    ] {
        ada.client.send(method, path, None, b"").expect_error(400, "BAD_REQUEST");
    }
    for (method, path) in [
        ("GET", "/v1/agent/consent/muted".to_owned()),
        ("PUT", path("muted", &ada.did)),
        ("DELETE", path("muted", &ada.did)),
    ] {
        ada.client.send(method, &path, None, b"").expect_error(404, "NOT_FOUND");
    }
}

fn consent_is_the_agents_own(suite: &Suite) {
    let client = suite.client();
    let [ada, bob] = agents(suite);
    put(&ada, "blocked", &bob.did);
    for (method, path) in [
        ("GET", "/v1/agent/consent".to_owned()),
        ("PATCH", "/v1/agent/consent".to_owned()),
        ("GET", "/v1/agent/consent/blocked".to_owned()),
        ("PUT", path("blocked", &bob.did)),
        ("DELETE", path("blocked", &bob.did)),
    ] {
        client.send(method, &path, None, b"").expect_error(401, "UNAUTHORIZED");
    }
    assert_eq!(bob.client.get("/v1/agent/consent/blocked").expect(200)["count"], 0);
    // Others see nothing of it.
    let identity = bob.client.get(&format!("/v1/agent/identity/{}", ada.did)).expect(200);
    assert!(!identity.to_string().contains(&bob.did), "{identity}");
}

/// Decisions signed-registrations and who-may-write.
fn unproved_senders_share_one_tenth_and_take_nobodys_room(suite: &Suite) {
    let target = suite.fresh(&[("mailbox_messages", "200")]);
    let client = target.client();
    let reader = Agent::server_side(&client);
    let unproved: Vec<Agent> = (0..5)
        .map(|_| {
            let mut body = SdkAgent::keys(Options::default());
            body.as_object_mut().unwrap().retain(|name, _| !name.starts_with("signed"));
            Agent::register(&client, &body)
        })
        .collect();
    // A tenth of the half for strangers is ten messages, less the headroom for first messages of hybrid sessions.
    let taken: Vec<u16> = (0..15).map(|at| encrypted(&unproved[at % 5], &reader.did).status).collect();
    assert_eq!(taken.iter().filter(|status| **status == 201).count(), 9, "{taken:?}");
    let refused = encrypted(&unproved[0], &reader.did);
    refused.expect_error(503, "MAILBOX_FULL");
    assert!(refused.header("retry-after").is_some());
    encrypted(&SdkAgent::new(&client, Options::default()).agent, &reader.did).expect(201);
    send(&Agent::server_side(&client), &reader.did).expect(201);
    // Deleting messages makes room again.
    let first = text(&reader.raw()[0], "id").to_owned();
    reader.client.delete(&format!("/v1/agent/messages/{first}")).expect(200);
    encrypted(&unproved[1], &reader.did).expect(201);
    encrypted(&unproved[2], &reader.did).expect_error(503, "MAILBOX_FULL");
}
