use super::*;
use crate::ErrorCode;
use crate::agent::memory::{ExpireValues, PutValue, ReadMemoryKeys, ReadNamespaces, ReadValue};
use crate::agent::wire::actor_of;
use engine::actor::host::{self, Space};
use engine::actor::{ActorId, Call, Kind, Query, View};
use engine::kv::{Batch, MemoryStore, Store};
use engine::settings::Settings;
use engine::time::SECOND;

fn put(world: &World, agent: &Agent, place: &str, body: Value) -> Answer {
    world.call("PUT", &format!("/v1/agent/memory/{place}"), &agent.key, body)
}

fn actor_of_agent(agent: &Agent) -> ActorId {
    ActorId::new(Kind::Agent, actor_of(&Settings::default(), &agent.did).unwrap())
}

/// The rows of an actor as they are now.
fn store_of(world: &World, actor: &ActorId) -> MemoryStore {
    let mut store = MemoryStore::default();
    let mut batch = Batch::default();
    world.rt.rows(actor).into_iter().for_each(|(key, value)| batch.put(key, value));
    store.apply(batch).unwrap();
    store
}

/// Rows of the memory store.
fn rows(world: &World, agent: &Agent) -> usize {
    let own = |(key, _): &(Vec<u8>, Vec<u8>)| (72..=77).contains(&key[0]);
    world.rt.rows(&actor_of_agent(agent)).iter().filter(|row| own(row)).count()
}

#[test]
fn a_value_is_invisible_at_its_end_even_before_the_timer_and_then_frees_its_room() {
    let world = World::new();
    let ada = world.server_agent("Ada");
    assert_eq!(
        put(&world, &ada, "n/short", json!({ "value": "xx", "ttl": 60 })).expect(200)["expires_at"],
        "2026-01-01T00:01:00.000Z"
    );
    put(&world, &ada, "n/long", json!({ "value": "x" })).expect(200);
    // Reads the same rows a minute later, when no timer has run.
    let (actor, settings) = (actor_of_agent(&ada), Settings::default());
    let store = store_of(&world, &actor);
    let at = |seconds: i64| {
        View::new(&crate::testing::PROGRAM, &actor, &store, engine::testing::START.plus(seconds * SECOND), &settings)
    };
    let value = || ReadValue { namespace: "n".into(), key: "short".into() };
    let keys = || ReadMemoryKeys { namespace: "n".into(), prefix: String::new(), after: None, limit: 9 };
    assert!(value().run(&at(59)).is_ok());
    assert_eq!(value().run(&at(60)).unwrap_err().code, ErrorCode::NotFound);
    let (before, after) = (keys().run(&at(59)).unwrap(), keys().run(&at(60)).unwrap());
    assert_eq!((before.keys.len(), before.totals.keys, before.totals.bytes), (2, 2, 7));
    assert_eq!((after.keys.len(), after.totals.keys, after.totals.bytes), (1, 1, 3));
    let (namespaces, total) = ReadNamespaces.run(&at(60)).unwrap();
    assert_eq!((namespaces[0].1.bytes, total.bytes), (3, 3));
    // Rows of head, text, expiry and sums; the row of the expiry is deleted with its value.
    assert_eq!(rows(&world, &ada), 7);
    world.wait(60);
    assert_eq!(rows(&world, &ada), 4);
}

#[test]
fn another_value_takes_the_end_of_the_first_with_it() {
    let world = World::new();
    let ada = world.server_agent("Ada");
    let first = put(&world, &ada, "n/k", json!({ "value": 1, "ttl": 10 })).expect(200);
    world.wait(5);
    let second = put(&world, &ada, "n/k", json!({ "value": 2 })).expect(200);
    assert_eq!((&second["id"], &second["created_at"]), (&first["id"], &first["created_at"]));
    assert_ne!(second["updated_at"], first["updated_at"]);
    assert_eq!(second["expires_at"], Value::Null);
    world.wait(60);
    assert_eq!(world.get("/v1/agent/memory/n/k", &ada.key).expect(200)["value"], 2);
    // After the expiry of its value a key is free for a new value.
    put(&world, &ada, "n/k", json!({ "value": 3, "ttl": 10 })).expect(200);
    world.wait(10);
    world.get("/v1/agent/memory/n/k", &ada.key).refused(404, "NOT_FOUND");
    assert_ne!(put(&world, &ada, "n/k", json!({ "value": 4 })).expect(200)["id"], first["id"]);
}

#[test]
fn many_values_that_end_at_once_take_nothing_that_came_after_them() {
    let world = World::patient();
    let ada = world.server_agent("Ada");
    for n in 0..250 {
        put(&world, &ada, &format!("n/{n}"), json!({ "value": 1, "ttl": 60 })).expect(200);
    }
    // The timer is late: a put meets more expired values than it deletes itself.
    let (actor, settings) = (actor_of_agent(&ada), Settings::default());
    let mut store = store_of(&world, &actor);
    let later = engine::testing::START.plus(60 * SECOND);
    let run = |store: &MemoryStore, call: &Call| {
        let space = Space {
            program: &crate::testing::PROGRAM,
            actor: &actor,
            rows: store,
            now: later,
            seed: [9; 32],
            settings: &settings,
        };
        host::perform(&space, call).batch
    };
    let new = PutValue {
        namespace: "n".into(),
        key: "249".into(),
        text: "\"new\"".into(),
        value_type: None,
        client_nonce: None,
        ttl: None,
        size: 5,
    };
    let batch = run(&store, &Call::operation(actor.name.clone(), &new).unwrap());
    store.apply(batch).unwrap();
    for _ in 0..3 {
        let batch = run(&store, &Call::operation(actor.name.clone(), &ExpireValues).unwrap());
        store.apply(batch).unwrap();
    }
    let view = View::new(&crate::testing::PROGRAM, &actor, &store, later, &settings);
    let (head, text) = ReadValue { namespace: "n".into(), key: "249".into() }.run(&view).unwrap();
    assert_eq!((head.expires, text.as_str()), (None, "\"new\""));
    let (_, total) = ReadNamespaces.run(&view).unwrap();
    assert_eq!((total.keys, total.bytes), (1, 5));
}

#[test]
fn the_quota_counts_what_lives_to_the_byte() {
    let world = World::with(&[("memory_bytes", "10"), ("memory_keys", "3"), ("memory_value_bytes", "9")]);
    let ada = world.server_agent("Ada");
    let text = |length: usize| json!({ "value": "x".repeat(length - 2) });
    put(&world, &ada, "n/a", text(9)).expect(200);
    put(&world, &ada, "n/a", text(10)).refused(413, "PAYLOAD_TOO_LARGE");
    put(&world, &ada, "n/b", json!({ "value": 7, "ttl": 60 })).expect(200);
    put(&world, &ada, "m/c", json!({ "value": 7 })).refused(413, "PAYLOAD_TOO_LARGE");
    // A refused value changed nothing. A value that is replaced makes room first.
    let quota = || world.get("/v1/agent/memory", &ada.key).expect(200)["quota"].clone();
    assert_eq!(quota(), json!({ "used_bytes": 10, "quota_bytes": 10, "remaining_bytes": 0 }));
    put(&world, &ada, "n/b", json!({ "value": 8, "ttl": 60 })).expect(200);
    put(&world, &ada, "n/b", json!({ "value": 88 })).refused(413, "PAYLOAD_TOO_LARGE");
    world.wait(60);
    assert_eq!(quota()["remaining_bytes"], 1);
    put(&world, &ada, "n/a", text(2)).expect(200);
    put(&world, &ada, "n/b", json!({ "value": 1 })).expect(200);
    put(&world, &ada, "m/c", json!({ "value": 1 })).expect(200);
    put(&world, &ada, "m/d", json!({ "value": 1 })).refused(413, "PAYLOAD_TOO_LARGE");
    world.call("DELETE", "/v1/agent/memory/n/b", &ada.key, Value::Null).expect(200);
    put(&world, &ada, "m/d", json!({ "value": 1 })).expect(200);
}

#[test]
fn the_memory_of_an_agent_that_ends_goes_whole() {
    let world = World::patient();
    let ada = world.server_agent("Ada");
    for n in 0..250 {
        put(&world, &ada, &format!("n{}/{n}", n % 3), json!({ "value": n, "ttl": 1_000 + n })).expect(200);
    }
    world.call("DELETE", "/v1/agent/deactivate", &ada.key, Value::Null).expect(200);
    assert_eq!(rows(&world, &ada), 0);
    let actor = actor_of_agent(&ada);
    let due = world.rt.rows(&actor).iter().any(|(key, _)| key[0] == 7);
    assert!(!due, "no timer is left");
}

#[test]
fn a_list_of_keys_goes_on_where_the_last_page_ended() {
    let world = World::patient();
    let ada = world.server_agent("Ada");
    for n in 0..25 {
        put(&world, &ada, &format!("n/a{n:02}"), json!({ "value": n })).expect(200);
        put(&world, &ada, &format!("n/b{n:02}"), json!({ "value": n })).expect(200);
    }
    put(&world, &ada, "n/a", json!({ "value": 0 })).expect(200);
    put(&world, &ada, "nn/a", json!({ "value": 0 })).expect(200);
    let mut found: Vec<String> = Vec::new();
    loop {
        let after = found.last().map_or(String::new(), |key| format!("&after={key}"));
        let page = world.get(&format!("/v1/agent/memory/n?prefix=a&limit=10{after}"), &ada.key).expect(200);
        let keys = page["keys"].as_array().unwrap();
        found.extend(keys.iter().map(|key| key["key"].as_str().unwrap().to_owned()));
        assert_eq!((&page["total_keys"], &page["count"]), (&json!(51), &json!(keys.len())));
        if page["has_more"] == false {
            break;
        }
        assert_eq!(keys.len(), 10);
    }
    let expected: Vec<String> = std::iter::once("a".to_owned()).chain((0..25).map(|n| format!("a{n:02}"))).collect();
    assert_eq!(found, expected);
}
