//! `Idempotency-Key`: a repeat is answered like the first request, and another body is refused.

use futures_util::FutureExt;
use serde_json::json;

use super::*;
use crate::agent::mailbox::{Append, Body as Message, Origin};
use crate::agent::send::local_of;
use crate::agent::wire;
use crypto::encoding::{actor_id, parse_did};
use engine::actor::{ActorId, Kind};
use engine::kv::{self, Batch};
use engine::runtime;

fn post(world: &World, agent: &Agent, path: &str, key: &str, body: &str) -> Answer {
    let headers = [("x-agent-key", agent.key.as_str()), ("idempotency-key", key)];
    world.raw("POST", path, &headers, body.as_bytes())
}

fn routes(to: &Agent) -> [(&'static str, [String; 2]); 3] {
    let message = |text: &str| json!({ "to": to.did, "message": text }).to_string();
    let task = |text: &str| json!({ "to": to.did, "input": text }).to_string();
    let broadcast = |priority: &str| json!({ "capability": "count", "priority": priority }).to_string();
    [
        ("/v1/agent/send", [message("one"), message("two")]),
        ("/v1/agent/tasks", [task("one"), task("two")]),
        ("/v1/agent/tasks/broadcast", [broadcast("low"), broadcast("high")]),
    ]
}

#[test]
fn another_body_under_a_used_key_is_422_on_every_route_and_does_nothing() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    world.post("/v1/agent/capabilities", &bob.key, json!({ "name": "count" })).expect(201);
    for (path, [one, two]) in routes(&bob) {
        let first = post(&world, &ada, path, "k", &one).expect(201);
        post(&world, &ada, path, "k", &two).refused(422, "IDEMPOTENCY_MISMATCH");
        assert_eq!(post(&world, &ada, path, "k", &one).expect(201), first, "{path}");
        // The same key of another agent, and another key of the same agent, are other requests.
        assert_ne!(post(&world, &ada, path, "l", &two).expect(201), first, "{path}");
        post(&world, &bob, path, "k", &two).expect(201);
    }
    assert_eq!(world.texts(&bob), ["one", "two", "two"]);
}

/// Otherwise the second recipient would get nothing while the sender gets an answer of success.
#[test]
fn another_recipient_under_a_used_key_is_422() {
    let world = World::new();
    let [ada, bob, eve] = ["Ada", "Bob", "Eve"].map(|name| world.server_agent(name));
    for (path, member) in [("/v1/agent/send", "message"), ("/v1/agent/tasks", "input")] {
        let body = |to: &Agent| json!({ "to": to.did, member: "x" }).to_string();
        post(&world, &ada, path, "k", &body(&bob)).expect(201);
        post(&world, &ada, path, "k", &body(&eve)).refused(422, "IDEMPOTENCY_MISMATCH");
    }
    assert!(world.texts(&eve).is_empty());
}

#[test]
fn a_key_lives_for_a_day_after_it_was_last_sent_and_leaves_nothing() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    world.post("/v1/agent/capabilities", &bob.key, json!({ "name": "count" })).expect(201);
    let rows = || world.rt.rows(&ActorId::new(Kind::Agent, actor_id(&parse_did("svc", &ada.did).unwrap())));
    let of_keys = || rows().iter().filter(|(key, _)| (150..=153).contains(&key[0])).count();
    for (path, [one, two]) in routes(&bob) {
        let first = post(&world, &ada, path, "k", &one).expect(201);
        world.wait(86_000);
        post(&world, &ada, path, "k", &two).refused(422, "IDEMPOTENCY_MISMATCH");
        post(&world, &ada, path, "k", &one).expect(201);
        world.wait(86_000);
        // The task stays longer than its key is remembered.
        post(&world, &ada, path, "k", &two).refused(422, "IDEMPOTENCY_MISMATCH");
        world.wait(2_000);
        assert_ne!(post(&world, &ada, path, "k", &two).expect(201), first, "{path}");
    }
    assert!(of_keys() > 0);
    world.wait(90_000);
    assert_eq!(of_keys(), 0);
}

/// A reader of the data file must not learn a body from its digest: nobody can compute the digest of a text without the
/// master key. A new master key forgets no key.
#[test]
fn a_body_is_remembered_under_the_master_key_and_across_its_rotation() {
    use crypto::Secret;
    use crypto::sealing::{KeyRing, MasterKey};
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let body = json!({ "to": bob.did, "message": "yes" }).to_string();
    let first = post(&world, &ada, "/v1/agent/send", "k", &body).expect(201);
    let plain = crypto::hash::sha256(body.as_bytes());
    let actor = ActorId::new(Kind::Agent, actor_id(&parse_did("svc", &ada.did).unwrap()));
    for (_, value) in world.rt.rows(&actor) {
        assert!(!value.windows(8).any(|window| window == &plain[..8]));
    }
    let secrets = &runtime::Runtime::environment(&*world.rt).secrets;
    let master = |byte| MasterKey::new(Secret::new([byte; 32]));
    secrets.replace(KeyRing::new(master(43), vec![master(42)]));
    assert_eq!(post(&world, &ada, "/v1/agent/send", "k", &body).expect(201), first);
    let other = body.replace("yes", "no");
    post(&world, &ada, "/v1/agent/send", "k", &other).refused(422, "IDEMPOTENCY_MISMATCH");
}

/// Before keys were stored with a digest, the id of a message was derived from its key.
#[test]
fn a_repeat_of_a_request_from_before_digests_is_the_same_message() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let from = parse_did("svc", &ada.did).unwrap();
    let (own, to) = (actor_id(&from), actor_id(&parse_did("svc", &bob.did).unwrap()));
    let local = local_of(&[b"key", &from, b"old"]);
    let body = Message {
        ciphertext: vec![1],
        nonce: [0; 24],
        signature: vec![0; 64],
        envelope: None,
        sender_signing: world.peer(&ada.did).signing_key,
        sender_encryption: world.peer(&ada.did).encryption_key,
    };
    let append = Append {
        local,
        from,
        body,
        content_type: None,
        message_type: None,
        thread_id: None,
        reply_to: None,
        ttl: 86_400,
        expected_version: None,
        opens_session: false,
        origin: Origin::Proved,
        proves: None,
        asked: None,
        alone: false,
    };
    runtime::call(&*world.rt, to.as_str(), &append).now_or_never().unwrap().unwrap();
    // The agent's rows as the earlier version had them.
    let mut batch = Batch::default();
    batch.put(vec![14], kv::encode_row(&2_u64).unwrap());
    world.rt.edit(&ActorId::new(Kind::Agent, own), batch);
    let body = json!({ "to": bob.did, "message": "again" }).to_string();
    let repeat = post(&world, &ada, "/v1/agent/send", "old", &body).expect(201);
    assert_eq!(repeat["id"], wire::message_id(&to, &local));
    assert_eq!(world.messages(&bob, "").len(), 1);
    // From here on the digest of the body is stored.
    let other = json!({ "to": bob.did, "message": "another" }).to_string();
    post(&world, &ada, "/v1/agent/send", "old", &other).refused(422, "IDEMPOTENCY_MISMATCH");
    world.wait(88_000);
    let later = post(&world, &ada, "/v1/agent/send", "old", &other).expect(201);
    assert_ne!(later["id"], wire::message_id(&to, &local));
}

/// A key that came with a malformed request stays free.
#[test]
fn a_bad_request_takes_no_key() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    for (path, [one, _]) in routes(&bob) {
        post(&world, &ada, path, "k", "{}").refused(400, "BAD_REQUEST");
        post(&world, &ada, path, "k", &one).expect(201);
    }
}
