//! Clients that keep their own keys talk with agents whose keys the server holds, and with each other.

use super::*;
use crypto::client::Meta;

const TIME: &str = "2026-01-01T00:00:00.000Z";

fn post(world: &World, client: &mut Client, key: &Agent, to: &str, text: &str) -> Value {
    let posted = client.send(&world.peer(to), TIME, text, Meta::default()).unwrap();
    world.post("/v1/agent/send/encrypted", &key.key, serde_json::to_value(posted).unwrap()).expect(201)
}

fn every_option() -> Vec<Options> {
    let mut all = Vec::new();
    for bits in 0..32 {
        let on = |bit: u32| bits & (1 << bit) != 0;
        all.push(Options {
            post_quantum: on(0),
            double_ratchet: on(1),
            padding: on(2),
            sealed: on(3),
            deniable: on(4),
        });
    }
    all
}

/// Decision server-side-sessions.
#[test]
fn every_kind_of_client_session_opens_for_a_server_side_agent() {
    for (n, options) in every_option().into_iter().enumerate() {
        let world = World::new();
        let bob = world.server_agent("Bob");
        let (mut ada, key) = world.client(n as u8 + 1, options);
        assert!(world.peer(&bob.did).kem_key.is_some());
        for text in ["one", "two", "three"] {
            let id = post(&world, &mut ada, &key, &bob.did, text)["id"].as_str().unwrap().to_owned();
            let page = world.get("/v1/agent/receive", &bob.key).expect(200);
            let message = &page["messages"][0];
            assert_eq!((&message["content"], &message["signature_valid"]), (&json!(text), &json!(true)), "{options:?}");
            world.post(&format!("/v1/agent/messages/{id}/read"), &bob.key, Value::Null).expect(200);
        }
    }
}

#[test]
fn reading_the_same_unread_messages_again_opens_them_again() {
    for options in [Options::default(), Options { double_ratchet: false, ..Options::default() }] {
        let world = World::new();
        let bob = world.server_agent("Bob");
        let (mut ada, key) = world.client(1, options);
        for text in ["a", "b", "c"] {
            post(&world, &mut ada, &key, &bob.did, text);
        }
        ada.forget_sessions();
        for text in ["d", "e"] {
            post(&world, &mut ada, &key, &bob.did, text);
        }
        for _ in 0..3 {
            assert_eq!(world.texts(&bob), ["a", "b", "c", "d", "e"], "{options:?}");
        }
    }
}

#[test]
fn a_session_survives_its_first_message_and_the_senders_rotation_of_sessions() {
    let world = World::new();
    let bob = world.server_agent("Bob");
    let (mut ada, key) = world.client(1, Options::default());
    let first = post(&world, &mut ada, &key, &bob.did, "first");
    assert_eq!(world.texts(&bob), ["first"]);
    let path = format!("/v1/agent/messages/{}", first["id"].as_str().unwrap());
    world.call("DELETE", &path, &bob.key, Value::Null).expect(200);
    post(&world, &mut ada, &key, &bob.did, "second");
    assert_eq!(world.texts(&bob), ["second"]);
    // After 29 days without messages the session is still there; 31 days after its last message it is not.
    world.wait(29 * 86_400);
    post(&world, &mut ada, &key, &bob.did, "third");
    assert_eq!(world.texts(&bob), ["third"]);
    world.wait(32 * 86_400);
    post(&world, &mut ada, &key, &bob.did, "fourth");
    assert_eq!(world.texts(&bob), [""]);
}

/// Decision server-side-sessions.
#[test]
fn a_step_far_ahead_costs_nothing() {
    let world = World::new();
    let bob = world.server_agent("Bob");
    let (mut ada, key) = world.client(1, Options::default());
    let mut posted = ada.send(&world.peer(&bob.did), TIME, "x", Meta::default()).unwrap();
    posted.envelope = posted.envelope.replace("\"ratchet_step\":1", "\"ratchet_step\":4294967295");
    world.post("/v1/agent/send/encrypted", &key.key, serde_json::to_value(posted).unwrap()).expect(201);
    assert_eq!(world.texts(&bob), [""]);
}

#[test]
fn two_clients_talk_through_the_relay_in_both_directions() {
    // Without its double ratchet the SDK cannot answer an answer, since nothing begins a second session.
    for options in every_option().into_iter().filter(|options| options.double_ratchet) {
        let world = World::new();
        let (mut ada, ada_key) = world.client(1, options);
        let (mut bob, bob_key) = world.client(2, options);
        for round in 0..3 {
            let text = format!("ping {round}");
            post(&world, &mut ada, &ada_key, &bob_key.did, &text);
            let message = world.messages(&bob_key, "").pop().unwrap();
            let got = bob.receive(&raw_of(&message)).unwrap();
            assert_eq!((got.payload.content.as_str(), got.signature_valid), (text.as_str(), true));
            post(&world, &mut bob, &bob_key, &ada_key.did, "pong");
            let message = world.messages(&ada_key, "").pop().unwrap();
            assert_eq!(ada.receive(&raw_of(&message)).unwrap().payload.content, "pong");
        }
        assert_eq!((ada.failures, bob.failures), (0, 0));
    }
}

#[test]
fn what_the_server_encrypts_opens_in_the_client_whatever_the_text() {
    let world = World::new();
    let bob = world.server_agent("Bob");
    let (mut ada, key) = world.client(1, Options::default());
    let sealed = json!({ "v": 3, "from": "did:svc:victim", "msg": "spoofed" }).to_string();
    for text in ["", "V", "Vxyz", &sealed, &"x".repeat(32_768), &"\0\u{1}".repeat(128)] {
        world.send(&bob, &key.did, text);
        let message = world.messages(&key, "limit=100").pop().unwrap();
        let got = ada.receive(&raw_of(&message)).unwrap();
        assert_eq!((got.payload.content.as_str(), got.from.as_str()), (text, bob.did.as_str()));
        assert!(got.signature_valid);
    }
    // The service has no keys here to decrypt with.
    world.get("/v1/agent/receive", &key.key).refused(400, "BAD_REQUEST");
}

#[test]
fn a_sealed_claim_of_another_sender_is_not_believed() {
    let world = World::new();
    let bob = world.server_agent("Bob");
    let (mut ada, key) = world.client(1, Options { sealed: true, ..Options::default() });
    let peer = world.peer(&bob.did);
    ada.did = world.server_agent("Victim").did;
    let posted = ada.send(&peer, TIME, "as another", Meta::default()).unwrap();
    world.post("/v1/agent/send/encrypted", &key.key, serde_json::to_value(posted).unwrap()).expect(201);
    let message = &world.get("/v1/agent/receive", &bob.key).expect(200)["messages"][0];
    assert_eq!((&message["from"], &message["signature_valid"]), (&json!(key.did), &json!(false)));
}
