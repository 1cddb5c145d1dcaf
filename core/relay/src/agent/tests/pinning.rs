use super::*;
use crypto::encoding::encode_hex;
use crypto::hash::sha256;

#[test]
fn a_pin_remembers_the_first_keys_and_warns_until_somebody_decides() {
    let world = World::new();
    let bob = world.server_agent("Bob");
    let ada = Client::new("svc", [1; 32], Options::default());
    // Somebody registers Ada's signing key with an encryption key of their own.
    let mut squatted = ada.key_body(Some("Ada"), 1);
    squatted.as_object_mut().unwrap().retain(|name, _| !name.starts_with("signed"));
    squatted["encryption_public_key"] =
        crypto::encoding::encode_base64(&crypto::boxes::box_public_key(&crypto::Secret::new([77; 32]))).into();
    world.post("/v1/agent/register", "", squatted).expect(201);

    let unpinned = world.get(&format!("/v1/agent/keys/verify/{}", ada.did), &bob.key).expect(200);
    assert_eq!((&unpinned["pinned"], &unpinned["status"]), (&json!(false), &json!("not_pinned")));
    assert_eq!(unpinned["verified"], false);

    let pin = || world.post("/v1/agent/keys/pin", &bob.key, json!({ "did": ada.did })).expect(200);
    let first = pin();
    assert_eq!(
        (&first["pinned"], &first["key_changed"], &first["warning"]),
        (&json!(true), &json!(false), &Value::Null)
    );
    assert_eq!(first["current_signing_hash"], encode_hex(&sha256(&ada.as_peer().signing_key)));
    world.wait(60);
    let again = pin();
    assert_eq!(again["first_seen"], first["first_seen"]);
    assert_eq!(again["last_verified"], "2026-01-01T00:01:00.000Z");
    let encoded = ada.did.replace(':', "%3A");
    let verified = world.get(&format!("/v1/agent/keys/verify/{encoded}"), &bob.key).expect(200);
    assert_eq!((&verified["verified"], &verified["status"]), (&json!(true), &json!("verified")));

    // Ada herself registers: the same signing key, another encryption key.
    world.post("/v1/agent/register", "", ada.key_body(Some("Ada"), 1)).expect(201);
    let verified = world.get(&format!("/v1/agent/keys/verify/{encoded}"), &bob.key).expect(200);
    assert_eq!((&verified["pinned"], &verified["verified"]), (&json!(true), &json!(false)));
    assert!(verified["warning"].is_string());
    for _ in 0..2 {
        let changed = pin();
        assert_eq!((&changed["key_changed"], &changed["status"]), (&json!(true), &json!("changed")));
        assert!(changed["warning"].is_string());
        assert_eq!(changed["last_verified"], again["last_verified"]);
    }
    let list = |query: &str| world.get(&format!("/v1/agent/keys/pins{query}"), &bob.key).expect(200);
    assert_eq!(list("")["total"], 1);
    let listed = &list("?status=changed")["pins"][0];
    assert_eq!((&listed["pinned_did"], &listed["pinned_name"]), (&json!(ada.did), &json!("Ada")));
    assert_eq!((&listed["status"], &listed["first_seen"]), (&json!("changed"), &first["first_seen"]));
    assert_eq!(list("?status=verified"), json!({ "pins": [], "total": 0 }));
}

#[test]
fn pinning_oneself_works_and_pinning_nobody_is_404() {
    let world = World::new();
    let bob = world.server_agent("Bob");
    let own = world.post("/v1/agent/keys/pin", &bob.key, json!({ "did": bob.did })).expect(200);
    assert_eq!(own["key_changed"], false);
    world.post("/v1/agent/keys/pin", &bob.key, json!({ "did": "nobody" })).refused(404, "NOT_FOUND");
    let nobody = crypto::encoding::did("svc", &[9; 16]);
    world.post("/v1/agent/keys/pin", &bob.key, json!({ "did": nobody })).refused(404, "NOT_FOUND");
    let check = world.get("/v1/agent/keys/verify/nobody", &bob.key).expect(200);
    assert_eq!(check["status"], "not_pinned");
    world.post("/v1/agent/keys/pin", &bob.key, json!({})).refused(400, "BAD_REQUEST");
}

/// Decision bounded-commits: an operation touches few rows. The number of pins is stored, not counted each time.
#[test]
fn an_agent_has_at_most_10_000_pins() {
    use crate::agent::pins::{Prints, PutPin};
    use engine::actor::host::{Space, perform};
    use engine::actor::{ActorId, Call, Kind};
    use engine::kv::{MemoryStore, Store};

    let (actor, settings) = (ActorId::new(Kind::Agent, "x"), engine::settings::Settings::default());
    let mut rows = MemoryStore::default();
    let mut pin = |n: u32| {
        let mut peer = [0; 16];
        peer[..4].copy_from_slice(&n.to_be_bytes());
        let current = Prints { signing: [1; 32], encryption: [2; 32] };
        let call = Call::operation("x", &PutPin { peer, name: None, current, accept: false }).unwrap();
        let space = Space {
            program: &crate::testing::PROGRAM,
            actor: &actor,
            rows: &rows,
            now: crate::Timestamp(1),
            seed: [0; 32],
            settings: &settings,
        };
        let outcome = perform(&space, &call);
        rows.apply(outcome.batch).unwrap();
        outcome.reply.map(|_| ()).map_err(|error| error.code)
    };
    for n in 0..10_000 {
        pin(n).unwrap();
    }
    assert_eq!(pin(10_000), Err(crate::ErrorCode::Conflict));
    // Peers that are pinned already may be pinned again.
    pin(9_999).unwrap();
}
