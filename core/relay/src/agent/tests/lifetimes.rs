use super::*;
use crypto::encoding::encode_base64;

/// A message that a client encrypted; its number makes it distinct.
fn message(to: &Agent, n: u64) -> Value {
    let mut nonce = [0; 24];
    nonce[..8].copy_from_slice(&n.to_be_bytes());
    json!({ "to": to.did, "ciphertext": encode_base64(&[1; 40]), "nonce": encode_base64(&nonce),
        "signature": encode_base64(&[2; 64]), "content_type": "text/plain" })
}

fn post(world: &World, from: &Agent, body: &Value) -> Answer {
    world.post("/v1/agent/send/encrypted", &from.key, body.clone())
}

fn id(answer: Answer) -> String {
    answer.expect(201)["id"].as_str().unwrap().to_owned()
}

/// Decision timers-and-alarms.
#[test]
fn expired_messages_vanish_at_once_and_are_purged_with_their_minute() {
    let world = World::patient();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    for n in 0..250 {
        let mut body = message(&bob, n);
        body["ttl"] = 60.into();
        body["thread_id"] = "t".into();
        post(&world, &ada, &body).expect(201);
    }
    post(&world, &ada, &message(&bob, 999)).expect(201);
    world.wait(61);
    assert_eq!(world.messages(&bob, "unread=false").len(), 1);
    assert_eq!(world.events(&bob, "", None).drain().len(), 1);
    let settings = engine::settings::Settings::default();
    let name = crate::agent::wire::actor_of(&settings, &bob.did).unwrap();
    let actor = engine::actor::ActorId::new(engine::actor::Kind::Agent, name);
    let count = |table: u8| world.rt.rows(&actor).iter().filter(|(key, _)| key[0] == table).count();
    let tables = [32, 33, 34, 36, 37, 38, 39, 40];
    // Messages, the unread index and threads are deleted with the bucket; ids stay for repeats.
    world.wait(120);
    assert_eq!(tables.map(count), [251, 0, 1, 0, 1, 0, 1, 250]);
    // A day later nothing of them is left, and neither is the message that lived a day.
    world.wait(86_400 + 60);
    assert_eq!(tables.map(count), [0; 8]);
}

/// Decision message-repeats.
#[test]
fn an_exact_repeat_gets_the_first_id_for_24_hours_whatever_happens() {
    let world = World::new();
    let (ada, bob, eve) = (world.server_agent("Ada"), world.server_agent("Bob"), world.server_agent("Eve"));
    let mut body = message(&bob, 1);
    body["ttl"] = 60.into();
    let first = post(&world, &ada, &body).expect(201);
    assert_eq!(post(&world, &ada, &body).expect(201), first);
    assert_eq!(world.messages(&bob, "").len(), 1);
    // The same nonce and signature from another sender, or to another recipient, is another message.
    assert_ne!(post(&world, &eve, &body).expect(201)["id"], first["id"]);
    let mut other = body.clone();
    other["to"] = eve.did.clone().into();
    assert_ne!(post(&world, &ada, &other).expect(201)["id"], first["id"]);
    let path = format!("/v1/agent/messages/{}", first["id"].as_str().unwrap());
    world.call("DELETE", &path, &bob.key, Value::Null).expect(200);
    assert_eq!(post(&world, &ada, &body).expect(201), first);
    world.wait(86_399);
    assert_eq!(post(&world, &ada, &body).expect(201), first);
    assert!(world.messages(&bob, "unread=false").is_empty());
    world.wait(2);
    let later = post(&world, &ada, &body).expect(201);
    assert_ne!(later["timestamp"], first["timestamp"]);
    assert_eq!(world.messages(&bob, "").len(), 1);
    world.wait(200);
    assert!(world.messages(&bob, "unread=false").is_empty());
}

/// Decision message-repeats.
#[test]
fn an_idempotency_key_makes_a_repeated_send_one_message() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let send = |key: &str, text: &str| {
        let body = json!({ "to": bob.did, "message": text }).to_string();
        let headers = [("x-agent-key", ada.key.as_str()), ("idempotency-key", key)];
        world.raw("POST", "/v1/agent/send", &headers, body.as_bytes())
    };
    let first = send("k", "once").expect(201);
    assert_eq!(send("k", "once").expect(201), first);
    assert_ne!(send("l", "twice").expect(201)["id"], first["id"]);
    assert_eq!(world.texts(&bob), ["once", "twice"]);
    assert_eq!(world.get("/v1/agent/profile", &ada.key).expect(200)["message_count"], 2);
    for unusable in ["", "\u{e9}", &"x".repeat(256)] {
        send(unusable, "x").refused(400, "BAD_REQUEST");
    }
    // Without the header, two sends of the same text are two messages.
    world.send(&ada, &bob.did, "same");
    world.send(&ada, &bob.did, "same");
    assert_eq!(world.texts(&bob).len(), 4);
}

/// Decision message-repeats.
#[test]
fn a_full_mailbox_is_503_with_retry_after_and_no_sender_fills_it_alone() {
    let world = World::with(&[("mailbox_messages", "200")]);
    let (bob, one) = (world.server_agent("Bob"), world.server_agent("One"));
    for n in 0..19 {
        id(post(&world, &one, &message(&bob, n)));
    }
    let refused = post(&world, &one, &message(&bob, 99));
    assert_eq!(refused.headers["retry-after"], "60");
    refused.refused(503, "MAILBOX_FULL");
    // Ten senders that the owner knows fill the mailbox up to its headroom: ten of two hundred, and one for silent
    // senders.
    let others: Vec<Agent> = (0..9).map(|n| world.server_agent(&format!("Other{n}"))).collect();
    for agent in others.iter().chain([&one]) {
        let path = format!("/v1/agent/consent/allowed/{}", agent.did);
        world.call("PUT", &path, &bob.key, Value::Null).expect(200);
    }
    for (m, other) in others.iter().enumerate() {
        for n in 0..if m == 8 { 18 } else { 19 } {
            id(post(&world, other, &message(&bob, 1_000 * m as u64 + n)));
        }
    }
    assert_eq!(world.messages(&bob, "limit=100").len(), 100);
    post(&world, &others[8], &message(&bob, 99)).refused(503, "MAILBOX_FULL");
    let last = world.server_agent("Last");
    post(&world, &last, &message(&bob, 7)).refused(503, "MAILBOX_FULL");
    // An exact repeat needs no room.
    id(post(&world, &one, &message(&bob, 0)));
    // Expiry makes room.
    world.wait(86_401 + 60);
    id(post(&world, &last, &message(&bob, 7)));
}

/// Decision message-repeats keeps ids for a day whatever happens to the message. They count against the sender's share;
/// otherwise messages that expire at once would fill a mailbox without limit.
#[test]
fn what_is_remembered_of_messages_that_are_gone_counts_until_it_is_forgotten() {
    let world = World::with(&[("mailbox_bytes", "200000")]);
    let (ada, bob, eve) = (world.server_agent("Ada"), world.server_agent("Bob"), world.server_agent("Eve"));
    let attempt = |n: u64| {
        let mut body = message(&bob, n);
        body["ttl"] = 1.into();
        post(&world, &ada, &body)
    };
    let mut sent = 0;
    while sent < 1_000 {
        let answer = attempt(sent);
        if answer.status != 201 {
            answer.refused(503, "MAILBOX_FULL");
            break;
        }
        sent += 1;
        if sent % 20 == 0 {
            world.wait(120);
        }
    }
    // A tenth of the mailbox less its headroom, at 128 bytes for each id.
    assert!((100..=19_000 / 128).contains(&sent), "{sent}");
    assert!(world.messages(&bob, "unread=false").len() <= 20);
    // Another sender has a share of its own, and a day later this sender has its share again.
    post(&world, &eve, &message(&bob, 5_000)).expect(201);
    world.wait(86_400 + 120);
    for n in 0..20 {
        attempt(6_000 + n).expect(201);
    }
}

/// Decision patient-sends.
#[test]
fn first_messages_of_hybrid_sessions_find_headroom() {
    let world = World::with(&[("mailbox_messages", "200")]);
    let bob = world.server_agent("Bob");
    let (mut ada, key) = world.client(1, Options::default());
    for n in 0..19 {
        id(post(&world, &key, &message(&bob, n)));
    }
    post(&world, &key, &message(&bob, 99)).refused(503, "MAILBOX_FULL");
    let peer = world.peer(&bob.did);
    let make = |ada: &mut Client| {
        let made = ada.send(&peer, "2026-01-01T00:00:00.000Z", "x", Default::default()).unwrap();
        serde_json::to_value(made).unwrap()
    };
    let first = make(&mut ada);
    assert!(first["envelope"].as_str().unwrap().contains("pq_ciphertext"));
    id(post(&world, &key, &first));
    post(&world, &key, &make(&mut ada)).refused(503, "MAILBOX_FULL");
}

#[test]
fn bytes_count_against_the_quota_and_deleting_frees_them() {
    let world = World::with(&[("mailbox_bytes", "100000")]);
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let send = || {
        let body = json!({ "to": bob.did, "message": "x".repeat(3_000) });
        world.post("/v1/agent/send", &ada.key, body)
    };
    let first = id(send());
    id(send());
    send().refused(503, "MAILBOX_FULL");
    world.call("DELETE", &format!("/v1/agent/messages/{first}"), &bob.key, Value::Null).expect(200);
    id(send());
}

/// Decision patient-sends.
#[test]
fn an_encrypted_send_over_budget_waits_and_is_never_429() {
    let world = World::with(&[("agent_per_second", "1"), ("agent_burst", "2")]);
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let before = engine::runtime::Runtime::now(&*world.rt);
    for n in 0..6 {
        id(post(&world, &ada, &message(&bob, n)));
    }
    assert_eq!(engine::runtime::Runtime::now(&*world.rt).since(before), 4 * engine::time::SECOND);
    // Other routes answer 429.
    world.get("/v1/agent/receive/raw", &ada.key).refused(429, "RATE_LIMITED");
}

/// Decision one-deciding-operation.
#[test]
fn a_send_notices_that_the_recipients_keys_changed() {
    use crate::agent::mailbox::{Append, Appended, Body, Origin};
    let world = World::new();
    let bob = world.server_agent("Bob");
    let name = crate::agent::wire::actor_of(&engine::settings::Settings::default(), &bob.did).unwrap();
    let body = Body {
        ciphertext: vec![1],
        nonce: [0; 24],
        signature: vec![0; 64],
        envelope: None,
        sender_signing: [0; 32],
        sender_encryption: [0; 32],
    };
    let append = Append {
        local: [1; 12],
        from: [2; 16],
        body,
        content_type: None,
        message_type: None,
        thread_id: None,
        reply_to: None,
        ttl: 60,
        expected_version: Some(0),
        opens_session: false,
        origin: Origin::Elsewhere,
        proves: None,
        asked: None,
        alone: true,
    };
    let run =
        |append: &Append| engine::runtime::call(&*world.rt, name.as_str(), append).now_or_never().unwrap().unwrap();
    assert_eq!(run(&append), Appended::KeysChanged);
    assert!(world.messages(&bob, "").is_empty());
    let right = Append { expected_version: Some(1), ..append };
    let actors = world.rt.actors();
    assert!(matches!(run(&right), Appended::Stored { .. }));
    assert_eq!(world.rt.actors(), actors, "a sender of another relay gets no actor here");
    assert!(matches!(run(&right), Appended::Repeated { .. }));
}

/// Decision rows-of-a-message.
#[test]
fn a_send_into_a_used_mailbox_changes_four_rows() {
    let world = World::patient();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let settings = engine::settings::Settings::default();
    let name = crate::agent::wire::actor_of(&settings, &bob.did).unwrap();
    let actor = engine::actor::ActorId::new(engine::actor::Kind::Agent, name);
    // The clock starts at the beginning of a minute; the first message after it finds no row of its minute yet.
    for n in 0..2 {
        post(&world, &ada, &message(&bob, n)).expect(201);
    }
    let before = world.rt.rows(&actor);
    post(&world, &ada, &message(&bob, 2)).expect(201);
    let after = world.rt.rows(&actor);
    // The message and its id are new; the rows of mailbox and sender changed.
    let changed = after.iter().filter(|row| !before.contains(row)).map(|(key, _)| key[0]);
    assert_eq!(changed.collect::<Vec<_>>(), [32, 34, 35, 37]);
}

/// Otherwise a registration that ends could leave records behind.
#[test]
fn the_oldest_records_of_exports_give_way_to_new_ones() {
    let world = World::patient();
    let ada = world.server_agent("Ada");
    for _ in 0..21 {
        for _ in 0..20 {
            world.post("/v1/agent/export", &ada.key, json!({ "include_memory": true })).expect(200);
        }
        world.wait(3_601);
    }
    assert_eq!(world.get("/v1/agent/exports", &ada.key).expect(200)["count"], 400);
    world.post("/v1/agent/export", &ada.key, json!({ "include_memory": true })).expect(200);
    assert_eq!(world.get("/v1/agent/exports", &ada.key).expect(200)["count"], 400);
}
