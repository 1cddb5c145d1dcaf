//! Generations of keys, and the API keys that open an agent.

use super::*;
use crate::agent::custody::HeldKeys;
use crate::agent::record::Authorize;
use crate::agent::stream::{Framing, OpenStream};
use crate::agent::{api_key, proof, rotate};
use crypto::encoding::encode_base64;
use crypto::{Secret, boxes, signing};
use engine::runtime::Runtime;

fn public(seed: u8) -> String {
    encode_base64(&signing::signing_public_key(&Secret::new([seed; 32])))
}

fn box_key(seed: u8) -> String {
    encode_base64(&boxes::box_public_key(&Secret::new([seed; 32])))
}

/// A registration or a rotation with keys derived from a seed; with a prekey it counts as signed.
fn keys(seed: u8, prekey: bool) -> Value {
    let mut body = json!({ "signing_public_key": public(seed), "encryption_public_key": box_key(seed) });
    if prekey {
        let signature = signing::sign_prekey(&Secret::new([seed; 32]), &[9; 32]);
        body["signed_prekey_public"] = encode_base64(&[9; 32]).into();
        body["signed_prekey_signature"] = encode_base64(&signature).into();
    }
    body
}

/// The rotation to the keys of `to`, signed by those of `by`.
fn proved(world: &World, did: &str, to: u8, by: u8, nonce: &str) -> Value {
    let (now, nonce) = (world.rt.now().to_string(), format!("{nonce:_<16}"));
    let seed = Secret::new([to; 32]);
    let (signing, encryption) = (signing::signing_public_key(&seed), boxes::box_public_key(&seed));
    let new = proof::Keys { signing: &signing, encryption: &encryption, mlkem: None };
    let text = rotate::signed_text("svc", &world.rt.environment().deployment, did, new, &now, &nonce);
    let mut body = keys(to, true);
    body["rotation_signature"] = encode_base64(&signing::sign(&Secret::new([by; 32]), text.as_bytes())).into();
    body["rotation_nonce"] = nonce.into();
    body["rotation_issued_at"] = now.into();
    body
}

/// A request for a new API key signed by the keys of `by`.
fn signed(world: &World, did: &str, by: u8, nonce: &str) -> Value {
    let (now, nonce) = (world.rt.now().to_string(), format!("{nonce:_<16}"));
    let text = api_key::signed_text("svc", &world.rt.environment().deployment, did, &now, &nonce);
    let signature = encode_base64(&signing::sign(&Secret::new([by; 32]), text.as_bytes()));
    json!({ "did": did, "timestamp": now, "nonce": nonce, "signature": signature })
}

fn register(world: &World, body: Value) -> Agent {
    Agent::of(&world.post("/v1/agent/register", "", body).expect(201))
}

impl World {
    fn rotate(&self, agent: &Agent, body: Value) -> Answer {
        self.post("/v1/agent/rotate-keys", &agent.key, body)
    }

    fn new_key(&self, agent: &Agent, body: Value) -> Answer {
        self.post("/v1/agent/api-key", &agent.key, body)
    }

    fn opens(&self, key: &str) -> bool {
        match self.get("/v1/agent/profile", key).status {
            200 => true,
            401 => false,
            other => panic!("{other}"),
        }
    }
}

/// The exact bytes are pinned, since clients sign them too.
#[test]
fn the_texts_that_are_signed_for_keys_are_pinned() {
    let (signing, encryption) = ([0; 32], [255; 32]);
    let new = |mlkem| proof::Keys { signing: &signing, encryption: &encryption, mlkem };
    let text = |mlkem| rotate::signed_text("svc", "dep", "did:svc:x", new(mlkem), "2026-01-01T00:00:00Z", "n");
    let begin = "svc-key-rotation/v2\ndep\ndid:svc:x\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\
                 //////////////////////////////////////////8=\n";
    assert_eq!(text(Some(b"k")), format!("{begin}aw==\n2026-01-01T00:00:00Z\nn"));
    assert_eq!(text(None), format!("{begin}\n2026-01-01T00:00:00Z\nn"));
    let text = api_key::signed_text("svc", "dep", "did:svc:x", "2026-01-01T00:00:00Z", "n");
    assert_eq!(text, "svc-api-key/v2\ndep\ndid:svc:x\n2026-01-01T00:00:00Z\nn");
}

/// Texts from before texts named the deployment would work at every relay, so none is accepted now.
#[test]
fn what_was_signed_for_any_relay_is_refused_and_changes_nothing() {
    let world = World::new();
    let ada = register(&world, keys(1, true));
    let (did, now) = (ada.did.clone(), world.rt.now().to_string());
    let before = world.get("/v1/agent/profile", &ada.key).expect(200);
    let sign = |text: &str| encode_base64(&signing::sign(&Secret::new([1; 32]), text.as_bytes()));
    for nonce in ["rotation", "rotation-of-a-key"] {
        let key = public(2);
        let mut body = keys(2, true);
        body["rotation_signature"] = sign(&format!(
            r#"{{"did":"{did}","issued_at":"{now}","new_key":"{key}","nonce":"{nonce}","schema":"svc-key-rotation/v1"}}"#
        ))
        .into();
        body["rotation_nonce"] = nonce.into();
        body["rotation_issued_at"] = now.clone().into();
        let refused = world.rotate(&ada, body).expect(400);
        assert!(refused["message"].as_str().unwrap().contains("svc-key-rotation/v2"), "{refused}");
        let signature = sign(&format!("svc-api-key/v1\n{did}\n{now}\n{nonce}"));
        let body = json!({ "did": did, "timestamp": now, "nonce": nonce, "signature": signature });
        let refused = world.post("/v1/agent/api-key", "", body).expect(400);
        assert!(refused["message"].as_str().unwrap().contains("svc-api-key/v2"), "{refused}");
    }
    assert_eq!(world.get("/v1/agent/profile", &ada.key).expect(200), before);
}

/// A relay that gets a signed request from an owner must not be able to use it at another relay.
#[test]
fn what_was_signed_for_one_relay_does_nothing_at_another() {
    let (here, there) = (World::new(), World::at_another_relay());
    let (ada, away) = (register(&here, keys(1, true)), register(&there, keys(1, true)));
    let before = here.get("/v1/agent/profile", &ada.key).expect(200);
    let rotation = proved(&there, &away.did, 2, 1, "replayed-rotation");
    let key = signed(&there, &away.did, 1, "replayed-request");
    there.rotate(&away, rotation.clone()).expect(200);
    here.rotate(&ada, rotation).refused(400, "BAD_REQUEST");
    here.new_key(&ada, key).refused(401, "UNAUTHORIZED");
    assert_eq!(here.get("/v1/agent/profile", &ada.key).expect(200), before);
}

/// Decision money-key-settled: a rotation without a signature does not extend the chain of proved keys.
#[test]
fn only_signed_rotations_move_the_key_that_speaks_for_the_did() {
    let world = World::new();
    let ada = register(&world, keys(1, true));
    let did = ada.did.clone();
    // The rotation is signed: 2 speaks for the DID, and 1 does not any more.
    let rotated = world.rotate(&ada, proved(&world, &did, 2, 1, "first-nonce")).expect(200);
    assert_eq!((&rotated["rotation_proved"], &rotated["key_version"]), (&json!(true), &json!(2)));
    world.new_key(&ada, signed(&world, &did, 1, "nonce-by-1")).refused(401, "UNAUTHORIZED");
    // A thief with the API key rotates to 3 and gains nothing by it: 2 still speaks for the DID.
    let rotated = world.rotate(&ada, keys(3, true)).expect(200);
    assert_eq!(rotated["rotation_proved"], false);
    world.new_key(&ada, signed(&world, &did, 3, "nonce-by-3")).refused(401, "UNAUTHORIZED");
    let rotated = world.rotate(&ada, proved(&world, &did, 4, 3, "thief-nonce")).expect(200);
    assert_eq!(rotated["rotation_proved"], false);
    let mut body = signed(&world, &did, 2, "nonce-by-2");
    body["revoke"] = true.into();
    let key = world.new_key(&ada, body).expect(201);
    assert!(!world.opens(&ada.key));
    let ada = Agent::of(&key);
    // The owner signs for new keys by 2, not by the present key 4.
    let rotated = world.rotate(&ada, proved(&world, &did, 5, 2, "owner-nonce")).expect(200);
    assert_eq!((&rotated["rotation_proved"], &rotated["key_version"]), (&json!(true), &json!(5)));
    world.new_key(&ada, signed(&world, &did, 5, "nonce-by-5")).expect(201);
}

#[test]
fn a_rotation_signature_that_does_not_fit_changes_nothing() {
    let world = World::new();
    let ada = register(&world, keys(1, true));
    let before = world.get("/v1/agent/profile", &ada.key).expect(200);
    let good = proved(&world, &ada.did, 2, 1, "some-nonce");
    let other = proved(&world, &ada.did, 2, 7, "some-nonce");
    let wrong = [
        ("rotation_signature", other["rotation_signature"].clone()),
        ("rotation_signature", json!("AAAA")),
        ("rotation_nonce", json!("another-nonce-of-16")),
        ("rotation_nonce", json!("short")),
        ("mlkem_public_key", json!(encode_base64(&HeldKeys::generate(&*world.rt).public().mlkem))),
        ("rotation_nonce", Value::Null),
        ("rotation_issued_at", json!("2026-01-01T00:05:01Z")),
        ("rotation_issued_at", json!("2025-12-31T23:54:59Z")),
        ("rotation_issued_at", json!("yesterday")),
        ("signed_prekey_signature", keys(3, true)["signed_prekey_signature"].clone()),
        ("signed_prekey_signature", Value::Null),
        ("encryption_public_key", Value::Null),
    ];
    for (member, value) in wrong {
        let mut body = good.clone();
        body[member] = value;
        world.rotate(&ada, body).refused(400, "BAD_REQUEST");
    }
    world.rotate(&ada, Value::Null).refused(400, "BAD_REQUEST");
    assert_eq!(world.get("/v1/agent/profile", &ada.key).expect(200), before);
    // A nonce works only once, even when the same keys come again.
    world.rotate(&ada, good.clone()).expect(200);
    world.rotate(&ada, proved(&world, &ada.did, 1, 2, "other-nonce")).expect(200);
    world.rotate(&ada, good).refused(409, "CONFLICT");
}

/// Decision one-deciding-operation: a repeat with the same key and body is accepted and changes nothing more.
#[test]
fn a_repeated_rotation_is_the_same_rotation() {
    let world = World::new();
    let ada = register(&world, keys(1, true));
    let body = proved(&world, &ada.did, 2, 1, "some-nonce");
    let first = world.rotate(&ada, body.clone()).expect(200);
    world.wait(60);
    assert_eq!(world.rotate(&ada, body).expect(200), first);
}

/// Decision signed-registrations: a squatter that registered another's key and rotated it away still gives way to the
/// key's holder.
#[test]
fn a_squatter_cannot_rotate_out_of_reach() {
    let world = World::new();
    let squatted = register(&world, keys(1, false));
    world.rotate(&squatted, keys(2, true)).expect(200);
    // Keys of its own prove nothing about the key the DID comes from: neither a prekey nor an upload does.
    let upload = json!({ "prekeys": [], "signed_prekey": {
        "public_key": encode_base64(&[9; 32]),
        "signature": encode_base64(&signing::sign_prekey(&Secret::new([2; 32]), &[9; 32])),
        "id": 2,
    } });
    world.post("/v1/agent/prekeys", &squatted.key, upload).expect(200);
    let owner = register(&world, keys(1, true));
    assert_eq!(owner.did, squatted.did);
    assert!(world.opens(&owner.key) && !world.opens(&squatted.key));
    // None of the squatter's keys counts as an earlier key.
    let verify = json!({
        "envelope": "{}",
        "signature": encode_base64(&signing::sign(&Secret::new([2; 32]), b"{}")),
        "sender_did": owner.did,
    });
    assert_eq!(world.post("/v1/agent/verify", "", verify).expect(200)["valid"], false);
    world.rotate(&owner, proved(&world, &owner.did, 3, 1, "some-nonce")).expect(200);
}

/// Decision master-key-file: the limit on rotations keeps every generation reachable for which mail may still exist.
#[test]
fn every_generation_of_a_week_still_opens_its_mail() {
    let world = World::patient();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    for n in 0..64 {
        let body = json!({ "to": bob.did, "message": n.to_string(), "ttl": 604_800 });
        world.post("/v1/agent/send", &ada.key, body).expect(201);
        world.rotate(&bob, Value::Null).expect(200);
    }
    let refused = world.rotate(&bob, Value::Null);
    assert_eq!(refused.headers["retry-after"], "3600");
    refused.refused(429, "RATE_LIMITED");
    assert_eq!(world.texts(&bob), (0..64).map(|n| n.to_string()).collect::<Vec<_>>());
    world.wait(8 * 24 * 3_600 + 1);
    world.rotate(&bob, Value::Null).expect(200);
}

/// Decision lost-agent-keys.
#[test]
fn the_old_key_dies_after_ten_minutes_and_what_it_opened_ends() {
    let world = World::new();
    let ada = world.server_agent("Ada");
    let mut stream = world.events(&ada, "", None);
    let made = world.new_key(&ada, Value::Null).expect(201);
    assert_eq!(made["previous_key_valid_until"], "2026-01-01T00:10:00.000Z");
    let new = Agent::of(&made);
    assert_eq!(stream.next(), Next::Nothing);
    // Only the newest key gets another one.
    world.new_key(&ada, Value::Null).refused(401, "UNAUTHORIZED");
    world.wait(599);
    assert!(world.opens(&ada.key) && world.opens(&new.key));
    let socket = OpenStream {
        agent: crate::agent::wire::actor_of(&world.rt.environment().settings, &ada.did).unwrap(),
        version: 1,
        after: None,
        from: None,
        framing: Framing::WebSocket,
    };
    let mut socket = Events { stream: world.rt.stream(socket).now_or_never().unwrap().unwrap() };
    assert_eq!(socket.next(), Next::Nothing);
    world.wait(1);
    assert!(!world.opens(&ada.key) && world.opens(&new.key));
    assert_eq!(socket.next(), Next::End);
}

/// Decision lost-agent-keys.
#[test]
fn revoking_ends_every_earlier_key_and_its_streams_at_once() {
    let world = World::new();
    let first = world.server_agent("Ada");
    let second = Agent::of(&world.new_key(&first, Value::Null).expect(201));
    let mut stream = world.events(&first, "", None);
    assert_eq!(stream.next(), Next::Nothing);
    let made = world.new_key(&second, json!({ "revoke": true })).expect(201);
    assert_eq!(made["previous_key_valid_until"], Value::Null);
    assert!(!world.opens(&first.key) && !world.opens(&second.key) && world.opens(&Agent::of(&made).key));
    assert_eq!(stream.next(), Next::Piece("event: reconnect\ndata: {}\n\n".into()));
    assert_eq!(stream.next(), Next::End);
}

/// Decision lost-agent-keys.
#[test]
fn a_signed_request_is_fresh_and_serves_once() {
    let world = World::new();
    let ada = register(&world, keys(1, true));
    let request = signed(&world, &ada.did, 1, "only-once");
    let ask = |body: &Value| world.post("/v1/agent/api-key", "nonsense", body.clone());
    world.wait(301);
    ask(&request).refused(401, "UNAUTHORIZED");
    let request = signed(&world, &ada.did, 1, "only-once");
    world.wait(300);
    ask(&request).expect(201);
    ask(&request).refused(409, "CONFLICT");
    ask(&signed(&world, &ada.did, 1, "only-once")).refused(409, "CONFLICT");
    let good = signed(&world, &ada.did, 1, "another-one");
    for (member, value) in [
        ("nonce", json!("yet-another-nonce")),
        ("did", json!(register(&world, keys(2, true)).did)),
        ("timestamp", json!(world.rt.now().plus(1_000_000).to_string())),
        ("signature", json!(encode_base64(&[0; 64]))),
    ] {
        let mut body = good.clone();
        body[member] = value;
        ask(&body).refused(401, "UNAUTHORIZED");
    }
    for member in ["nonce", "did", "timestamp"] {
        let mut body = good.clone();
        body[member] = Value::Null;
        ask(&body).refused(400, "BAD_REQUEST");
    }
    ask(&good).expect(201);
    world.call("DELETE", "/v1/agent/deactivate", &ada.key, Value::Null).expect(200);
    ask(&signed(&world, &ada.did, 1, "after-the-end")).refused(409, "CONFLICT");
}

/// Decision lost-agent-keys: keys beyond the limit end early, the oldest first.
#[test]
fn many_new_keys_in_a_row_end_the_oldest() {
    let world = World::new();
    let mut all = vec![world.server_agent("Ada")];
    for _ in 0..10 {
        let made = world.new_key(all.last().unwrap(), Value::Null).expect(201);
        all.push(Agent::of(&made));
    }
    let open: Vec<bool> = all.iter().map(|agent| world.opens(&agent.key)).collect();
    assert_eq!(open, [[false; 2].as_slice(), &[true; 9]].concat());
}

/// Decision lost-agent-keys.
#[test]
fn nothing_stored_gives_a_new_key_away() {
    let world = World::new();
    let ada = world.server_agent("Ada");
    let key = Agent::of(&world.new_key(&ada, Value::Null).expect(201)).key;
    let secret = key[key.len() - 49..key.len() - 17].to_owned();
    for actor in world.rt.actors() {
        for (_, value) in world.rt.rows(&actor) {
            assert!(!value.windows(secret.len()).any(|window| window == secret.as_bytes()), "{actor}");
        }
    }
    let parsed = world.rt.environment().secrets.parse_key("svc", "agent", &key).unwrap();
    let query = Authorize { secret_hash: parsed.secret_hash() };
    let found = engine::runtime::query(&*world.rt, parsed.actor(), &query).now_or_never().unwrap().unwrap().unwrap();
    assert!(found.newest_key);
}
