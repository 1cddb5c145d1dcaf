//! Texts at rest: new ones are sealed, earlier ones are read unsealed, and rotations move them.

use super::*;
use crate::agent::reseal::{CountSealed, reseal};
use crypto::Secret;
use crypto::encoding::{actor_id, parse_did};
use crypto::sealing::{KeyRing, MasterKey};
use engine::actor::{ActorId, Kind};
use engine::kv::{self, Batch};
use engine::runtime::{self, Runtime};

fn actor(agent: &Agent) -> ActorId {
    ActorId::new(Kind::Agent, actor_id(&parse_did("svc", &agent.did).unwrap()))
}

/// Whether a text is in some row of some actor.
fn is_stored(world: &World, text: &str) -> bool {
    let holds = |part: &[u8]| part.windows(text.len()).any(|window| window == text.as_bytes());
    world.rt.actors().iter().flat_map(|actor| world.rt.rows(actor)).any(|(key, value)| holds(&key) || holds(&value))
}

fn put(world: &World, agent: &Agent, path: &str, value: &str) {
    world.call("PUT", &format!("/v1/agent/memory/{path}"), &agent.key, json!({ "value": value })).expect(200);
}

fn get(world: &World, agent: &Agent, path: &str) -> Value {
    world.get(&format!("/v1/agent/memory/{path}"), &agent.key).expect(200)["value"].clone()
}

fn rotate(world: &World) {
    let master = |byte| MasterKey::new(Secret::new([byte; 32]));
    world.rt.environment().secrets.replace(KeyRing::new(master(43), vec![master(42)]));
}

/// The number of all sealed values, and of those that are not under the current key.
fn counted(world: &World, agent: &Agent) -> (u64, u64) {
    let count = CountSealed { current: world.rt.environment().secrets.sealing().current().id() };
    let counted = runtime::query(&*world.rt, actor(agent).name, &count).now_or_never().unwrap().unwrap();
    (counted.all, counted.earlier)
}

/// Replaces a sealed text by a plain one, as an earlier version wrote it.
fn unseal(world: &World, actor: &ActorId, table: u8, plain: &str) {
    const SEALED: &[u8] = b"\x01sealed/1:";
    let mut batch = Batch::default();
    for (key, value) in world.rt.rows(actor).into_iter().filter(|(key, _)| key[0] == table) {
        let Some(at) = value.windows(SEALED.len()).position(|window| window == SEALED) else { continue };
        // The length of a text comes before it, in one byte while the text is short.
        let length = value[at - 1];
        assert!(length < 128);
        let rest = &value[at + usize::from(length)..];
        batch.put(key, [&value[..at - 1], &postcard::to_allocvec(plain).unwrap(), rest].concat());
    }
    assert!(!batch.is_empty(), "there is no such text");
    world.rt.edit(actor, batch);
}

#[test]
fn values_of_memory_are_sealed_in_their_place_and_those_from_before_are_read_and_sealed() {
    let world = World::new();
    let ada = world.server_agent("Ada");
    put(&world, &ada, "notes/plan", "canary of memory");
    assert!(!is_stored(&world, "canary"));
    assert_eq!(get(&world, &ada, "notes/plan"), "canary of memory");
    let size = world.get("/v1/agent/memory/notes/plan", &ada.key).expect(200)["size_bytes"].clone();
    assert_eq!(size, "\"canary of memory\"".len());
    // The row as the earlier version wrote it.
    let (key, _) = world.rt.rows(&actor(&ada)).into_iter().find(|(key, _)| key[0] == 73).unwrap();
    let mut batch = Batch::default();
    batch.put(key, kv::encode_row(&"\"canary of before\"".to_owned()).unwrap());
    world.rt.edit(&actor(&ada), batch);
    assert!(is_stored(&world, "canary of before"));
    assert_eq!(counted(&world, &ada).1, 1);
    // Where no task visits all agents, reading the text seals it.
    assert_eq!(get(&world, &ada, "notes/plan"), "canary of before");
    assert!(!is_stored(&world, "canary"));
    assert_eq!(get(&world, &ada, "notes/plan"), "canary of before");
    assert_eq!(counted(&world, &ada).1, 0);
}

#[test]
fn every_text_moves_under_a_new_master_key_page_by_page() {
    let world = World::patient();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    for n in 0..450 {
        put(&world, &ada, &format!("many/{n}"), &format!("canary {n}"));
    }
    let hook = json!({ "webhook_url": "https://example.org/canary" });
    world.post("/v1/agent/webhooks", &ada.key, hook).expect(201);
    let made = world.post("/v1/agent/channels", &bob.key, json!({ "name": "abc", "private": true })).expect(201);
    let channel = made["id"].as_str().unwrap();
    let invite = json!({ "did": ada.did, "message": "canary of an invite" });
    world.post(&format!("/v1/agent/channels/{channel}/invite"), &bob.key, invite).expect(201);
    assert!(!is_stored(&world, "canary"));
    // Sealed are the keys, the secret and the address of a webhook, an invite, and the values.
    assert_eq!(counted(&world, &ada), (1 + 2 + 1 + 450, 0));
    rotate(&world);
    assert_eq!(counted(&world, &ada).1, 454);
    let first = reseal(&*world.rt, &actor(&ada).name, 1).now_or_never().unwrap().unwrap();
    assert!(!first.complete && first.resealed <= 200, "{first:?}");
    let rest = reseal(&*world.rt, &actor(&ada).name, usize::MAX).now_or_never().unwrap().unwrap();
    assert_eq!((first.resealed + rest.resealed, rest.unopened, rest.complete), (454, 0, true));
    assert_eq!(counted(&world, &ada), (454, 0));
    let moved = crate::channel::key::reseal(&*world.rt, channel).now_or_never().unwrap().unwrap();
    assert_eq!((moved.resealed, moved.complete), (2, true), "the key and the text");
    assert_eq!(get(&world, &ada, "many/449"), "canary 449");
    let invites = world.get("/v1/agent/invites", &ada.key).expect(200);
    assert_eq!(invites["invites"][0]["message"], "canary of an invite");
    let hooks = world.get("/v1/agent/webhooks", &ada.key).expect(200);
    assert_eq!(hooks["webhooks"][0]["webhook_url"], "https://example.org/canary");
}

#[test]
fn addresses_and_invites_from_before_are_read_and_sealed() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    world.post("/v1/agent/webhooks", &ada.key, json!({ "webhook_url": "https://example.org/x" })).expect(201);
    unseal(&world, &actor(&ada), 80, "https://example.org/canary");
    let made = world.post("/v1/agent/channels", &bob.key, json!({ "name": "abc", "private": true })).expect(201);
    let channel = made["id"].as_str().unwrap();
    let invite = json!({ "did": ada.did, "message": "x" });
    world.post(&format!("/v1/agent/channels/{channel}/invite"), &bob.key, invite).expect(201);
    unseal(&world, &ActorId::new(Kind::Channel, channel), 21, "canary");
    unseal(&world, &actor(&ada), 53, "canary");
    let check = || {
        let hooks = world.get("/v1/agent/webhooks", &ada.key).expect(200);
        assert_eq!(hooks["webhooks"][0]["webhook_url"], "https://example.org/canary");
        let invites = world.get("/v1/agent/invites", &ada.key).expect(200);
        assert_eq!(invites["invites"][0]["message"], "canary");
    };
    check();
    assert_eq!(counted(&world, &ada).1, 2);
    reseal(&*world.rt, &actor(&ada).name, usize::MAX).now_or_never().unwrap().unwrap();
    crate::channel::key::reseal(&*world.rt, channel).now_or_never().unwrap().unwrap();
    assert_eq!(counted(&world, &ada).1, 0);
    assert!(!is_stored(&world, "canary"));
    check();
}
