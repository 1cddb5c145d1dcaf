use super::*;
use crate::agent::waiting::Spoke;
use crate::testing::PROGRAM;
use crypto::encoding::encode_base64;
use crypto::{Secret, boxes, signing};
use engine::http::{Preflight, admit, answer_admitted, preflight};
use engine::runtime::Runtime as _;

/// The body of a registration with keys derived from seeds; without the signed prekey nothing is signed.
fn body(signing: u8, encryption: u8, prekey: bool) -> Value {
    let client = Client::new("svc", [signing; 32], Options { post_quantum: false, ..Options::default() });
    let mut body = client.key_body(None, 1);
    body["encryption_public_key"] = encode_base64(&boxes::box_public_key(&Secret::new([encryption; 32]))).into();
    if !prekey {
        body.as_object_mut().unwrap().retain(|name, _| !name.starts_with("signed_prekey"));
    }
    body
}

fn key(body: &Value) -> [u8; 32] {
    crypto::encoding::decode_base64_array("key", body["signing_public_key"].as_str().unwrap()).unwrap()
}

/// A made-up key with the same first 16 bytes, of which nobody has the private half.
fn made_up(body: &Value, seed: u8) -> Value {
    let mut made = key(body);
    for n in 0u16.. {
        let random = crypto::hash::sha256_of(&[&[seed], &n.to_be_bytes()]);
        made[16..].copy_from_slice(&random[16..]);
        if signing::validate_signing_key("key", &made).is_ok() {
            break;
        }
    }
    json!({ "signing_public_key": encode_base64(&made), "encryption_public_key": body["encryption_public_key"] })
}

fn register(world: &World, body: Value) -> Agent {
    Agent::of(&world.post("/v1/agent/register", "", body).expect(201))
}

fn actor(agent: &Agent) -> String {
    crate::agent::wire::actor_of(&engine::settings::Settings::default(), &agent.did).unwrap()
}

fn spoke(world: &World, agent: &Agent, signing: [u8; 32]) {
    engine::runtime::call(&*world.rt, actor(agent), &Spoke { signing }).now_or_never().unwrap().unwrap();
}

fn shown(world: &World, did: &str) -> (String, String) {
    let identity = world.get(&format!("/v1/agent/identity/{did}"), "").expect(200);
    let text = |name: &str| identity[name].as_str().unwrap().to_owned();
    (text("signing_public_key"), text("standing"))
}

#[test]
fn an_envelope_of_the_ledger_ends_made_up_keys_and_nothing_else() {
    let world = World::new();
    let owner = body(1, 2, false);
    let squatter = register(&world, made_up(&owner, 1));
    let other = register(&world, made_up(&owner, 2));
    let real = register(&world, owner.clone());
    // A key that nobody registered changes nothing.
    spoke(&world, &squatter, [7; 32]);
    assert_eq!(shown(&world, &real.did).1, "silent");
    spoke(&world, &squatter, key(&owner));
    let text = owner["signing_public_key"].as_str().unwrap().to_owned();
    assert_eq!(shown(&world, &real.did), (text, "signed".to_owned()));
    world.get("/v1/agent/profile", &real.key).expect(200);
    for gone in [&squatter, &other] {
        world.get("/v1/agent/profile", &gone.key).refused(401, "UNAUTHORIZED");
    }
}

#[test]
fn an_envelope_of_the_ledger_never_chooses_between_registrations_of_one_key() {
    let world = World::new();
    let owner = body(1, 2, false);
    let squatter = register(&world, made_up(&owner, 1));
    // The thief copied the owner's signing key, and registered first.
    let thief = register(&world, body(1, 66, false));
    let real = register(&world, owner.clone());
    spoke(&world, &real, key(&owner));
    world.get("/v1/agent/profile", &squatter.key).refused(401, "UNAUTHORIZED");
    for stays in [&thief, &real] {
        let profile = world.get("/v1/agent/profile", &stays.key).expect(200);
        assert_eq!(profile["standing"], "silent");
    }
    // A signature by the owner that comes with its own API key decides.
    let prekey = signing::sign_prekey(&client_seed(1), &[9; 32]);
    let upload = json!({ "prekeys": [], "signed_prekey": {
        "public_key": encode_base64(&[9; 32]), "signature": encode_base64(&prekey), "id": 1,
    } });
    world.post("/v1/agent/prekeys", &real.key, upload).expect(200);
    world.get("/v1/agent/profile", &thief.key).refused(401, "UNAUTHORIZED");
    assert_eq!(shown(&world, &real.did).1, "signed");
}

fn client_seed(seed: u8) -> Secret<32> {
    Client::new("svc", [seed; 32], Options { post_quantum: false, ..Options::default() }).keys.signing
}

#[test]
fn an_heir_stands_only_when_nothing_of_the_earlier_holder_is_left() {
    let world = World::patient();
    let owner = body(1, 2, true);
    let squatter = register(&world, made_up(&owner, 1));
    let bob = world.server_agent("Bob");
    for n in 0..300 {
        world.send(&bob, &squatter.did, &n.to_string());
    }
    let real = register(&world, owner.clone());
    world.get("/v1/agent/profile", &squatter.key).refused(401, "UNAUTHORIZED");
    for _ in 0..10 {
        world.wait(1);
    }
    assert_eq!(world.get("/v1/agent/profile", &real.key).expect(200)["waiting"], false);
    assert_eq!(world.messages(&real, "?unread=false"), Vec::<Value>::new());
    world.send(&bob, &real.did, "for the heir");
    assert_eq!(world.messages(&real, "").len(), 1);
    assert_eq!(shown(&world, &real.did).1, "signed");
}

/// A request of the earlier holder that was admitted before the heir came, and whose body comes afterwards.
fn finish_late(
    world: &World,
    (method, path): (&str, &str),
    agent: &Agent,
    body: &Value,
    meanwhile: impl FnOnce(),
) -> Response {
    let mut headers = HeaderMap::new();
    headers.insert("x-agent-key", agent.key.parse().unwrap());
    let mut request = Request {
        method: method.parse().unwrap(),
        path: path.to_owned(),
        headers,
        body: Bytes::new(),
        ..Request::default()
    };
    let settings = &world.rt.environment().settings;
    let Preflight::Read(matched) = preflight(&PROGRAM, &request.method, path, &request.headers, settings) else {
        panic!("{path} was answered from its head")
    };
    let admitted = admit(&*world.rt, &matched, &request).now_or_never().unwrap();
    let admitted = admitted.unwrap_or_else(|refusal| panic!("{path}: {}", refusal.status));
    meanwhile();
    request.body = body.to_string().into();
    answer_admitted(world.rt.clone(), matched, admitted, request).now_or_never().unwrap()
}

#[test]
fn a_request_that_was_let_in_before_the_heir_came_writes_nothing_for_it() {
    let requests = [
        (
            "POST",
            "/v1/agent/webhooks",
            json!({ "webhook_url": "https://attacker.example/hook", "events": ["message"] }),
        ),
        ("POST", "/v1/agent/keys/pin", json!({ "did": "", "accept": true })),
        ("PUT", "/v1/agent/memory/n/k", json!({ "value": "v" })),
        ("DELETE", "/v1/agent/deactivate", json!({})),
    ];
    for (method, path, mut body) in requests {
        // The body comes at once, or when the check of the key is no longer fresh.
        for pause in [0, 30] {
            let world = World::new();
            let owner = body_of_owner();
            let squatter = register(&world, made_up(&owner, 1));
            let bob = world.server_agent("Bob");
            if !body["did"].is_null() {
                body["did"] = bob.did.clone().into();
            }
            let mut heir = None;
            let answer = finish_late(&world, (method, path), &squatter, &body, || {
                heir = Some(register(&world, owner.clone()));
                world.wait(pause);
            });
            assert_eq!(answer.status, 401, "{path}");
            let heir = heir.unwrap();
            let kept = |path: &str| world.get(path, &heir.key).expect(200).to_string();
            assert!(!kept("/v1/agent/webhooks").contains("attacker"), "{path}");
            assert!(!kept("/v1/agent/keys/pins").contains(&bob.did), "{path}");
            assert!(!kept("/v1/agent/memory/n").contains("\"k\""), "{path}");
            world.get("/v1/agent/profile", &heir.key).expect(200);
        }
    }
}

fn body_of_owner() -> Value {
    body(1, 2, true)
}

/// The owner's registration with a proof: [`body`] with the seeds 1 and 2.
fn proved(world: &World, owner: &Value, did: &str) -> Value {
    let keys = crate::agent::proof::Keys {
        signing: &key(owner),
        encryption: &boxes::box_public_key(&Secret::new([2; 32])),
        mlkem: None,
    };
    let (timestamp, nonce) = ("2026-01-01T00:00:00Z", "0123456789abcdef");
    let text = crate::agent::proof::text("svc", &world.rt.environment().deployment, did, keys, timestamp, nonce);
    let signature = signing::sign(&client_seed(1), text.as_bytes());
    let mut proved = owner.clone();
    proved["proof"] = json!({ "timestamp": timestamp, "nonce": nonce, "signature": encode_base64(&signature) });
    proved
}

#[test]
fn posts_of_a_registration_that_is_gone_are_marked_in_channels_that_it_had_left_too() {
    // The agent leaves, deactivates itself, or is erased by the operator.
    for way in ["leave", "deactivate", "erase"] {
        let world = World::with(&[("admin_key", "erasing")]);
        let owner = body_of_owner();
        let squatter = register(&world, made_up(&owner, 1));
        let bob = world.server_agent("Bob");
        let channel = world.post("/v1/agent/channels", &bob.key, json!({ "name": "open" })).expect(201);
        let channel = format!("/v1/agent/channels/{}", channel["id"].as_str().unwrap());
        world.post(&format!("{channel}/join"), &squatter.key, Value::Null).expect(200);
        world.post(&format!("{channel}/messages"), &squatter.key, json!({ "message": "false" })).expect(201);
        match way {
            "leave" => world.post(&format!("{channel}/leave"), &squatter.key, Value::Null).expect(200),
            "deactivate" => world.call("DELETE", "/v1/agent/deactivate", &squatter.key, Value::Null).expect(200),
            _ => {
                let path = format!("/v1/admin/agents/{}", squatter.did);
                world.raw("DELETE", &path, &[("x-admin-key", "erasing")], &[]).expect(200)
            }
        };
        world.wait(2);
        let real = register(&world, proved(&world, &owner, &squatter.did));
        world.wait(2);
        let posts = || world.get(&format!("{channel}/messages"), &bob.key).expect(200)["messages"].clone();
        assert_eq!(posts()[0]["before_proof"], true, "{way}: {}", posts());
        world.post(&format!("{channel}/join"), &real.key, Value::Null).expect(200);
        world.post(&format!("{channel}/messages"), &real.key, json!({ "message": "true" })).expect(201);
        let marks: Vec<bool> = posts().as_array().unwrap().iter().map(|post| post["before_proof"] == true).collect();
        assert_eq!(marks.iter().filter(|mark| **mark).count(), 1, "{way}: {}", posts());
    }
}

#[test]
fn what_a_displaced_registration_attested_and_voted_counts_nothing() {
    let world = World::new();
    let owner = body(1, 2, true);
    let mut copy = owner.clone();
    copy["encryption_public_key"] = encode_base64(&boxes::box_public_key(&Secret::new([66; 32]))).into();
    let thief = register(&world, copy);
    let bob = world.server_agent("Bob");
    let claim = json!({ "claim_type": "censorship", "claim_data": { "domain": "example.com" }, "country": "KE" });
    let theirs =
        world.post("/v1/agent/attestations", &bob.key, claim.clone()).expect(201)["id"].as_str().unwrap().to_owned();
    let vote = signing::sign(&client_seed(1), format!("{theirs}corroborate").as_bytes());
    let cast = json!({ "vote": "corroborate", "signature": encode_base64(&vote) });
    world.post(&format!("/v1/agent/attestations/{theirs}/corroborate"), &thief.key, cast.clone()).expect(200);
    let channel = world.post("/v1/agent/channels", &bob.key, json!({ "name": "open" })).expect(201);
    let channel = format!("/v1/agent/channels/{}", channel["id"].as_str().unwrap());
    world.post(&format!("{channel}/join"), &thief.key, Value::Null).expect(200);
    world.post(&format!("{channel}/messages"), &thief.key, json!({ "message": "false" })).expect(201);
    let look = |id: &str| world.get(&format!("/v1/agent/attestations/{id}"), "").expect(200);
    assert_eq!(look(&theirs)["corroboration_count"], 1);

    let real = register(&world, proved(&world, &owner, &thief.did));
    world.wait(1);
    let posts = world.get(&format!("{channel}/messages"), &bob.key).expect(200);
    assert_eq!(posts["messages"][0]["before_proof"], true, "{posts}");
    let after = look(&theirs);
    assert_eq!(after["corroboration_count"], 0);
    assert_eq!(after["corroborations"][0]["before_proof"], true, "{after}");
    // The owner has a vote of its own.
    world.post(&format!("/v1/agent/attestations/{theirs}/corroborate"), &real.key, cast).expect(200);
    assert_eq!(look(&theirs)["corroboration_count"], 1);
}
