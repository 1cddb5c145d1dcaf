use super::*;
use crypto::encoding::encode_base64;
use crypto::{Secret, boxes, signing};
use engine::actor::{ActorId, Kind};

/// The body of a registration with keys derived from seeds.
fn keys(signing: u8, encryption: u8, prekey: bool) -> Value {
    let seed = Secret::new([signing; 32]);
    let public = boxes::box_public_key(&Secret::new([encryption; 32]));
    let mut body = json!({
        "signing_public_key": encode_base64(&signing::signing_public_key(&seed)),
        "encryption_public_key": encode_base64(&public),
    });
    if prekey {
        body["signed_prekey_public"] = encode_base64(&[9; 32]).into();
        body["signed_prekey_signature"] = encode_base64(&signing::sign_prekey(&seed, &[9; 32])).into();
        body["signed_prekey_id"] = 7.into();
    }
    body
}

#[test]
fn a_server_side_agent_gets_keys_and_an_identity_that_shows_them() {
    let world = World::new();
    let body = json!({ "name": "Ada", "capabilities": ["dns"], "metadata": { "b": 1, "a": [2] } });
    let made = world.post("/v1/agent/register", "", body).expect(201);
    assert_eq!(made["client_side"], false);
    assert_eq!((&made["name"], &made["capabilities"]), (&json!("Ada"), &json!(["dns"])));
    assert!(made["api_key"].as_str().unwrap().starts_with("svc_agent_"));
    let did = made["did"].as_str().unwrap();
    let identity = world.get(&format!("/v1/agent/identity/{did}"), "").expect(200);
    for field in ["did", "name", "capabilities", "signing_public_key", "encryption_public_key", "mlkem_public_key"] {
        assert_eq!(identity[field], made[field], "{field}");
    }
    assert_eq!(identity["metadata"], json!({ "b": 1, "a": [2] }));
    assert_eq!(identity["status"], "active");
    assert_eq!(identity["signed_prekey"], Value::Null);
    let encoded = did.replace(':', "%3A");
    assert_eq!(world.get(&format!("/v1/agent/identity/{encoded}"), "").expect(200), identity);
}

/// Decision private-activity.
#[test]
fn activity_shows_only_in_the_own_profile() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    world.send(&ada, &bob.did, "one");
    let identity = world.get(&format!("/v1/agent/identity/{}", ada.did), &bob.key).expect(200);
    assert!(identity.get("last_seen").is_none() && identity.get("message_count").is_none());
    let profile = world.get("/v1/agent/profile", &ada.key).expect(200);
    assert_eq!(profile["message_count"], 1);
    assert_eq!(profile["last_seen"], "2026-01-01T00:00:00.000Z");
    for field in ["did", "name", "status", "capabilities", "created_at", "signing_public_key", "metadata"] {
        assert!(!profile[field].is_null(), "{field}");
    }
}

/// Decision counts-in-memory.
#[test]
fn counters_are_written_by_flush_and_reads_write_nothing() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    world.send(&ada, &bob.did, "one");
    let actor = actor_of(&bob);
    let before = world.rt.rows(&actor);
    world.messages(&bob, "");
    world.texts(&bob);
    world.get("/v1/agent/profile", &bob.key).expect(200);
    assert_eq!(world.rt.rows(&actor), before);
    crate::agent::usage::flush(&*world.rt).now_or_never().unwrap().unwrap();
    assert_ne!(world.rt.rows(&actor), before);
    world.send(&ada, &bob.did, "two");
    assert_eq!(world.get("/v1/agent/profile", &ada.key).expect(200)["message_count"], 2);
}

fn actor_of(agent: &Agent) -> ActorId {
    let settings = engine::settings::Settings::default();
    ActorId::new(Kind::Agent, crate::agent::wire::actor_of(&settings, &agent.did).unwrap())
}

/// Decision master-key-file.
#[test]
fn private_keys_are_nowhere_in_clear() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    world.send(&ada, &bob.did, "secret");
    assert_eq!(world.texts(&bob), ["secret"]);
    // The registration draws from a fixed generator: two halves of the ML-KEM seed, then signing and encryption
    // secrets. The test opens the sealed keys and looks for their parts.
    let credentials = crate::agent::Authorize {
        secret_hash: world.rt.environment().secrets.parse_key("svc", "agent", &ada.key).unwrap().secret_hash(),
    };
    use engine::runtime::Runtime;
    let found = engine::runtime::query(&*world.rt, actor_of(&ada).name, &credentials).now_or_never().unwrap();
    let sealed = found.unwrap().unwrap().keys.sealed.unwrap();
    let held = crate::agent::custody::HeldKeys::open(&world.rt.environment().secrets, &ada.did, &sealed).unwrap();
    let secret = ada.key.get(ada.key.len() - 49..ada.key.len() - 17).unwrap();
    for actor in world.rt.actors() {
        for (_, value) in world.rt.rows(&actor) {
            let holds = |part: &[u8]| value.windows(part.len()).any(|window| window == part);
            assert!(!holds(held.signing.expose()) && !holds(held.encryption.expose()), "{actor}");
            assert!(!holds(&held.kem.expose()[..32]) && !holds(&held.kem.expose()[32..]), "{actor}");
            assert!(!holds(secret.as_bytes()), "{actor}");
        }
    }
    assert!(!format!("{held:?}").contains(&held.signing.expose()[0].to_string()));
}

/// Decision invented-names-leave-nothing.
#[test]
fn invented_names_and_keys_leave_nothing_behind() {
    let world = World::new();
    let before = world.rt.actors();
    let nobody = crypto::encoding::did("svc", &[5; 16]);
    world.get(&format!("/v1/agent/identity/{nobody}"), "").refused(404, "NOT_FOUND");
    world.get("/v1/agent/identity/did:other:x", "").refused(404, "NOT_FOUND");
    world.get("/v1/agent/profile", "svc_agent_nonsense").refused(401, "UNAUTHORIZED");
    world.raw("GET", "/v1/agent/profile", &[], b"").refused(401, "UNAUTHORIZED");
    let other = World::with(&[]);
    let ada = other.server_agent("Ada");
    let forged = ada.key.replacen("svc_agent_A", "svc_agent_B", 1);
    world.get("/v1/agent/profile", &forged).refused(401, "UNAUTHORIZED");
    assert_eq!(world.rt.actors(), before);
}

#[test]
fn names_are_unique_whatever_their_case() {
    let world = World::new();
    let ada = world.server_agent("Ada");
    world.post("/v1/agent/register", "", json!({ "name": "aDA" })).refused(409, "CONFLICT");
    // An agent may write its own name in another case, and others still cannot take it.
    let renamed = world.call("PATCH", "/v1/agent/profile", &ada.key, json!({ "name": "ADA" })).expect(200);
    assert_eq!(renamed["name"], "ADA");
    world.post("/v1/agent/register", "", json!({ "name": "ada" })).refused(409, "CONFLICT");
    // A rename releases the old name at once and takes the new one.
    let renamed = world.call("PATCH", "/v1/agent/profile", &ada.key, json!({ "name": "Grace" })).expect(200);
    assert_eq!(renamed["name"], "Grace");
    let bob = world.server_agent("ada");
    world.call("PATCH", "/v1/agent/profile", &bob.key, json!({ "name": "grace" })).refused(409, "CONFLICT");
    assert_eq!(world.get("/v1/agent/profile", &bob.key).expect(200)["name"], "ada");
}

#[test]
fn a_registration_that_fails_gives_its_name_back_at_once() {
    let world = World::new();
    world.post("/v1/agent/register", "", keys(1, 2, true)).expect(201);
    let mut again = keys(1, 2, true);
    again["name"] = "Ada".into();
    world.post("/v1/agent/register", "", again).refused(409, "CONFLICT");
    world.server_agent("ada");
}

#[test]
fn limits_of_a_profile_hold_at_registration_and_at_change() {
    let world = World::new();
    let ada = world.server_agent("Ada");
    let many: Vec<String> = (0..33).map(|n| format!("c{n}")).collect();
    let exact: Vec<String> = many[..32].to_vec();
    let bad = [
        json!({ "name": "x".repeat(129) }),
        json!({ "name": "   " }),
        json!({ "name": "a\u{7}b" }),
        json!({ "capabilities": many }),
        json!({ "metadata": { "k": "x".repeat(4_090) } }),
        json!({ "metadata": [1] }),
        json!({ "metadata": "text" }),
        json!({ "name": 5 }),
    ];
    for body in bad {
        world.post("/v1/agent/register", "", body.clone()).refused(400, "BAD_REQUEST");
        world.call("PATCH", "/v1/agent/profile", &ada.key, body).refused(400, "BAD_REQUEST");
    }
    let good = json!({ "name": "é".repeat(128), "capabilities": exact, "metadata": { "k": "x".repeat(4_088) } });
    world.post("/v1/agent/register", "", good).expect(201);
    // Null and absent are the same, and an empty change changes nothing.
    let nulls = json!({ "name": null, "capabilities": null, "metadata": null });
    let before = world.get("/v1/agent/profile", &ada.key).expect(200);
    assert_eq!(world.call("PATCH", "/v1/agent/profile", &ada.key, nulls).expect(200), before);
    assert_eq!(world.call("PATCH", "/v1/agent/profile", &ada.key, json!({})).expect(200), before);
    world.post("/v1/agent/register", "", Value::Null).expect(201);
}

#[test]
fn fact_10_an_empty_body_is_no_body() {
    let world = World::new();
    world.raw("POST", "/v1/agent/register", &[("content-type", "application/json")], b"").expect(201);
}

/// Decision signed-registrations.
#[test]
fn keys_that_are_no_keys_are_refused() {
    let world = World::new();
    let mut identity = [0; 32];
    identity[0] = 1;
    let mut second = [0xff; 32];
    second[0] = 0xf0;
    second[31] = 0x7f;
    let good = keys(1, 2, true);
    let with = |field: &str, value: Value| {
        let mut body = good.clone();
        body[field] = value;
        body
    };
    let bad = [
        with("signing_public_key", encode_base64(&identity).into()),
        with("signing_public_key", encode_base64(&second).into()),
        with("signing_public_key", encode_base64(&[0; 31]).into()),
        with("signing_public_key", encode_base64(&[0xfb; 32]).replace('+', "-").into()),
        with("signing_public_key", Value::Null),
        with("encryption_public_key", encode_base64(&[0; 32]).into()),
        with("encryption_public_key", Value::Null),
        with("mlkem_public_key", encode_base64(&[0; 1183]).into()),
        with("mlkem_public_key", encode_base64(&[0xff; 1184]).into()),
        with("signed_prekey_public", encode_base64(&[8; 32]).into()),
        with("signed_prekey_signature", Value::Null),
        with("signed_prekey_signature", encode_base64(&[0; 64]).into()),
        with("signed_prekey_id", "one".into()),
    ];
    for body in bad {
        world.post("/v1/agent/register", "", body).refused(400, "BAD_REQUEST");
    }
    let made = world.post("/v1/agent/register", "", good).expect(201);
    assert_eq!(made["client_side"], true);
    let identity = world.get(&format!("/v1/agent/identity/{}", made["did"].as_str().unwrap()), "").expect(200);
    assert_eq!(identity["signed_prekey"]["id"], 7);
    assert_eq!(identity["signed_prekey"]["public_key"], encode_base64(&[9; 32]));
}

#[test]
fn equal_signing_and_encryption_keys_are_accepted() {
    let world = World::new();
    let mut body = keys(1, 2, false);
    body["encryption_public_key"] = body["signing_public_key"].clone();
    world.post("/v1/agent/register", "", body).expect(201);
}

/// Decision signed-registrations.
#[test]
fn an_unproven_registration_gives_way_to_its_keys_holder_only() {
    let world = World::new();
    let mut squatted = keys(1, 66, false);
    squatted["name"] = "Ada".into();
    let squatter = Agent::of(&world.post("/v1/agent/register", "", squatted).expect(201));
    let mut listening = world.events(&squatter, "", None);
    let waiting = Agent::of(&world.post("/v1/agent/register", "", keys(1, 77, false)).expect(201));
    let mut owner = keys(1, 2, true);
    owner["name"] = "Grace".into();
    let owner = Agent::of(&world.post("/v1/agent/register", "", owner).expect(201));
    assert_eq!(owner.did, squatter.did);
    world.get("/v1/agent/profile", &squatter.key).refused(401, "UNAUTHORIZED");
    world.get("/v1/agent/profile", &waiting.key).refused(401, "UNAUTHORIZED");
    world.get("/v1/agent/profile", &owner.key).expect(200);
    // The squatter's name is free again, and the stream that it had open ends without the owner's mail.
    let bob = world.server_agent("ada");
    world.send(&bob, &owner.did, "for the owner");
    assert_eq!(listening.next(), Next::Piece("event: reconnect\ndata: {}\n\n".into()));
    assert_eq!(listening.next(), Next::End);
    // The owner's key has signed, so another signature does not replace its registration any more.
    world.post("/v1/agent/register", "", keys(1, 3, true)).refused(409, "CONFLICT");
}

/// Decision signed-registrations.
#[test]
fn a_fresh_signed_envelope_proves_a_registration() {
    let world = World::new();
    let bob = world.server_agent("Bob");
    let mut ada = Client::new("svc", [3; 32], Options::default());
    let mut body = ada.key_body(None, 1);
    for field in ["signed_prekey_public", "signed_prekey_signature", "signed_prekey_id"] {
        body.as_object_mut().unwrap().remove(field);
    }
    let key = Agent::of(&world.post("/v1/agent/register", "", body).expect(201)).key;
    let peer = world.peer(&bob.did);
    let stale = ada.send(&peer, "2025-12-31T23:00:00.000Z", "old", Default::default()).unwrap();
    world.post("/v1/agent/send/encrypted", &key, serde_json::to_value(&stale).unwrap()).expect(201);
    let claimed = ada.key_body(None, 1);
    let fresh = ada.send(&peer, "2026-01-01T00:00:01.000Z", "new", Default::default()).unwrap();
    world.post("/v1/agent/send/encrypted", &key, serde_json::to_value(&fresh).unwrap()).expect(201);
    // The stale envelope proved nothing, or this would have been refused before. After the fresh one it is refused.
    world.post("/v1/agent/register", "", claimed).refused(409, "CONFLICT");

    let other = World::new();
    let bob = other.server_agent("Bob");
    let mut ada = Client::new("svc", [3; 32], Options::default());
    let mut body = ada.key_body(None, 1);
    body.as_object_mut().unwrap().retain(|name, _| !name.starts_with("signed"));
    let key = Agent::of(&other.post("/v1/agent/register", "", body).expect(201)).key;
    let stale = ada.send(&other.peer(&bob.did), "2025-12-31T23:00:00.000Z", "old", Default::default()).unwrap();
    other.post("/v1/agent/send/encrypted", &key, serde_json::to_value(&stale).unwrap()).expect(201);
    other.post("/v1/agent/register", "", ada.key_body(None, 1)).expect(201);
}

#[test]
fn deactivation_ends_the_key_keeps_the_identity_and_frees_the_name_after_30_days() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let sent = world.send(&ada, &bob.did, "before");
    let ended = world.call("DELETE", "/v1/agent/deactivate", &ada.key, Value::Null).expect(200);
    assert_eq!((&ended["did"], &ended["status"]), (&json!(ada.did), &json!("inactive")));
    world.get("/v1/agent/profile", &ada.key).refused(401, "UNAUTHORIZED");
    let identity = world.get(&format!("/v1/agent/identity/{}", ada.did), "").expect(200);
    assert_eq!(identity["status"], "inactive");
    let body = json!({ "to": ada.did, "message": "x" });
    world.post("/v1/agent/send", &bob.key, body).refused(404, "NOT_FOUND");
    // Old signatures still verify.
    let message = &world.messages(&bob, "")[0];
    assert_eq!(message["id"], sent["id"]);
    let check = json!({ "envelope": message["envelope"], "signature": message["signature"], "sender_did": ada.did });
    assert_eq!(world.post("/v1/agent/verify", "", check).expect(200)["valid"], true);
    world.wait(29 * 86_400);
    world.post("/v1/agent/register", "", json!({ "name": "ada" })).refused(409, "CONFLICT");
    world.wait(86_401);
    world.server_agent("ada");
}

#[test]
fn a_deactivated_unproved_registration_frees_its_did() {
    let world = World::new();
    let first = Agent::of(&world.post("/v1/agent/register", "", keys(1, 2, false)).expect(201));
    world.call("DELETE", "/v1/agent/deactivate", &first.key, Value::Null).expect(200);
    world.post("/v1/agent/register", "", keys(1, 3, false)).expect(201);
    let second = Agent::of(&world.post("/v1/agent/register", "", keys(4, 5, true)).expect(201));
    world.call("DELETE", "/v1/agent/deactivate", &second.key, Value::Null).expect(200);
    world.post("/v1/agent/register", "", keys(4, 5, true)).expect(201);
    world.get("/v1/agent/profile", &second.key).refused(401, "UNAUTHORIZED");
}

#[test]
fn registration_is_limited_by_address() {
    let world = World::with(&[("registrations_per_hour", "60")]);
    for _ in 0..60 {
        world.post("/v1/agent/register", "", json!({})).expect(201);
    }
    let refused = world.post("/v1/agent/register", "", json!({}));
    assert_eq!(refused.headers["retry-after"], "60");
    refused.refused(429, "RATE_LIMITED");
}

/// Decision one-deciding-operation.
#[test]
fn register_reserves_then_decides_and_the_rest_is_an_effect() {
    let world = World::new();
    world.rt.calls();
    let ada = world.server_agent("Ada");
    let names: Vec<String> = world.rt.calls().into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["reserve_name", "create"]);
    world.call("PATCH", "/v1/agent/profile", &ada.key, json!({ "name": "Grace" })).expect(200);
    let names: Vec<String> = world.rt.calls().into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["authorize", "reserve_name", "keyed/operation"]);
}

/// Decision one-deciding-operation.
#[test]
fn a_name_lost_to_a_quicker_agent_is_given_up() {
    use crate::agent::record::Update;
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    // As if Bob's reservation of Ada's name had lapsed before his operation ran.
    let update = Update { name: Some("ada".into()), capabilities: None, metadata: None, presence: None };
    let call = engine::runtime::call(&*world.rt, actor_of(&bob).name, &update);
    call.now_or_never().unwrap().unwrap();
    assert_eq!(world.get("/v1/agent/profile", &bob.key).expect(200)["name"], Value::Null);
    assert_eq!(world.get("/v1/agent/profile", &ada.key).expect(200)["name"], "Ada");
    // Bob's earlier name is free.
    world.server_agent("bob");
}

/// Decision hops-of-a-route.
#[test]
fn a_route_costs_one_read_of_the_caller_and_the_target() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let (a, b) = (actor_of(&ada), actor_of(&bob));
    let encode = |n: usize| encode_base64(&vec![3; n]);
    let body = json!({ "to": bob.did, "ciphertext": encode(40), "nonce": encode(24), "signature": encode(64) });
    world.rt.calls();
    let id = world.post("/v1/agent/send/encrypted", &ada.key, body).expect(201)["id"].as_str().unwrap().to_owned();
    let call = |actor: &ActorId, name: &str| (actor.clone(), name.to_owned());
    assert_eq!(world.rt.calls(), [call(&a, "authorize"), call(&b, "append")]);
    world.send(&ada, &bob.did, "x");
    assert_eq!(world.rt.calls(), [call(&a, "authorize"), call(&b, "public"), call(&b, "append")]);
    world.messages(&bob, "");
    assert_eq!(world.rt.calls(), [call(&b, "authorize"), call(&b, "keyed/query")]);
    world.call("DELETE", &format!("/v1/agent/messages/{id}"), &ada.key, Value::Null).expect(200);
    assert_eq!(world.rt.calls(), [call(&a, "authorize"), call(&b, "delete")]);
}
