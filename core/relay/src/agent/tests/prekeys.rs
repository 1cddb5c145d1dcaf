//! Prekeys, usernames and the listing of an agent, where time matters.

use std::collections::BTreeSet;

use super::*;
use crate::agent::listing::SetRank;
use crate::agent::prekeys::TakePrekey;
use crypto::encoding::encode_base64;

/// Prekeys whose ids and keys are made from these numbers.
fn upload(numbers: std::ops::Range<u16>) -> Value {
    let key = |number: u16| {
        let mut key = [7; 32];
        key[..2].copy_from_slice(&number.to_be_bytes());
        json!({ "id": 1_800_000_000_000_i64 + i64::from(number), "public_key": encode_base64(&key) })
    };
    json!({ "prekeys": numbers.map(key).collect::<Vec<_>>() })
}

impl World {
    fn bundle(&self, agent: &Agent) -> Value {
        self.get(&format!("/v1/agent/prekeys/{}", agent.did), "").expect(200)
    }

    fn actor(&self, agent: &Agent) -> String {
        use engine::runtime::Runtime;
        crate::agent::wire::actor_of(&self.rt.environment().settings, &agent.did).unwrap()
    }

    fn run<O: engine::actor::Operation>(&self, agent: &Agent, operation: &O) -> O::Reply {
        engine::runtime::call(&*self.rt, self.actor(agent), operation).now_or_never().unwrap().unwrap()
    }
}

#[test]
fn a_key_that_was_given_does_not_come_back_with_a_repeated_upload() {
    let world = World::with(&[("prekeys_per_hour", "0")]);
    let ada = world.server_agent("Ada");
    let body = upload(0..20);
    assert_eq!(world.post("/v1/agent/prekeys", &ada.key, body.clone()).expect(200)["uploaded"], 20);
    let mut given: Vec<Value> = (0..5).map(|_| world.bundle(&ada)["one_time_prekey"].clone()).collect();
    let again = world.post("/v1/agent/prekeys", &ada.key, body).expect(200);
    assert_eq!((&again["uploaded"], &again["one_time_prekeys_remaining"]), (&json!(15), &json!(15)));
    given.extend((0..20).map(|_| world.bundle(&ada)["one_time_prekey"].clone()).filter(|key| !key.is_null()));
    let distinct: BTreeSet<String> = given.iter().map(|key| key["public_key"].to_string()).collect();
    assert_eq!((given.len(), distinct.len()), (20, 20));
    // In the order of their ids.
    let ids: Vec<i64> = given.iter().map(|key| key["id"].as_i64().unwrap()).collect();
    assert!(ids.is_sorted() && ids[0] == 1_800_000_000_000, "{ids:?}");
}

#[test]
fn an_id_that_comes_again_keeps_its_last_key_and_one_key_waits_once() {
    let world = World::with(&[("prekeys_per_hour", "0")]);
    let ada = world.server_agent("Ada");
    let key = |byte: u8| encode_base64(&[byte; 32]);
    let prekeys = json!([
        { "id": 5, "public_key": key(8) }, { "id": 5, "public_key": key(9) }, { "id": 6, "public_key": key(9) },
        { "id": i64::MAX, "public_key": key(10) }, { "id": 7, "public_key": key(8) },
    ]);
    let answer = world.post("/v1/agent/prekeys", &ada.key, json!({ "prekeys": prekeys })).expect(200);
    assert_eq!(answer["one_time_prekeys_remaining"], 3);
    let given: Vec<Value> = (0..4).map(|_| world.bundle(&ada)["one_time_prekey"].clone()).collect();
    let expected = [json!({ "id": 5, "public_key": key(9) }), json!({ "id": 7, "public_key": key(8) })];
    assert_eq!(given[..2], expected);
    assert_eq!(given[2..], [json!({ "id": i64::MAX, "public_key": key(10) }), Value::Null]);
}

#[test]
fn what_is_remembered_of_given_keys_is_bounded() {
    let world = World::with(&[("agent_burst", "1000000"), ("agent_per_second", "100000")]);
    let ada = world.server_agent("Ada");
    let actor = engine::actor::ActorId::new(engine::actor::Kind::Agent, world.actor(&ada));
    for round in 0..102u16 {
        world.post("/v1/agent/prekeys", &ada.key, upload(round * 100..round * 100 + 100)).expect(200);
        for _ in 0..100 {
            assert!(world.run(&ada, &TakePrekey).unwrap().1.is_some());
        }
    }
    let rows = world.rt.rows(&actor).into_iter().filter(|(key, _)| (48..=51).contains(&key[0])).count();
    assert_eq!(rows, 2 * 10_000 + 1);
}

#[test]
fn at_most_200_prekeys_wait_and_an_upload_beyond_changes_nothing() {
    let world = World::new();
    let ada = world.server_agent("Ada");
    for numbers in [0..100, 100..200] {
        world.post("/v1/agent/prekeys", &ada.key, upload(numbers)).expect(200);
    }
    world.post("/v1/agent/prekeys", &ada.key, upload(200..201)).refused(409, "CONFLICT");
    world.post("/v1/agent/prekeys", &ada.key, upload(300..401)).refused(400, "BAD_REQUEST");
    // Keys that wait already may be uploaded again.
    let again = world.post("/v1/agent/prekeys", &ada.key, upload(150..200)).expect(200);
    assert_eq!((&again["uploaded"], &again["one_time_prekeys_remaining"]), (&json!(50), &json!(200)));
    // All prekeys are dropped with the keys that they belong to.
    let rotated = world.post("/v1/agent/rotate-keys", &ada.key, Value::Null).expect(200);
    assert_eq!(rotated["one_time_prekeys_remaining"], 0);
    assert_eq!(world.bundle(&ada)["one_time_prekey"], Value::Null);
    world.post("/v1/agent/prekeys", &ada.key, upload(0..100)).expect(200);
    assert!(world.bundle(&ada)["one_time_prekey"].is_object());
}

/// Decision caller-rate-limits: over the limit the bundle comes without a one-time prekey, and an hour later with one.
#[test]
fn one_caller_cannot_drain_a_stock() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    for agent in [&ada, &bob] {
        world.post("/v1/agent/prekeys", &agent.key, upload(0..100)).expect(200);
    }
    let given = |agent: &Agent| (0..60).filter(|_| world.bundle(agent)["one_time_prekey"].is_object()).count();
    assert_eq!((given(&ada), given(&ada), given(&bob)), (20, 0, 20));
    world.wait(3_600);
    assert_eq!((given(&ada), given(&bob)), (20, 20));
}

#[test]
fn the_owner_sees_how_many_prekeys_are_left_and_when_there_are_few() {
    let world = World::with(&[("prekeys_per_hour", "0")]);
    let ada = world.server_agent("Ada");
    let seen = || {
        let profile = world.get("/v1/agent/profile", &ada.key).expect(200);
        let stock = world.get("/v1/agent/prekeys", &ada.key).expect(200);
        for member in ["one_time_prekeys_remaining", "one_time_prekeys_low"] {
            assert_eq!(profile[member], stock[member]);
        }
        (stock["one_time_prekeys_remaining"].as_u64().unwrap(), stock["one_time_prekeys_low"] == true)
    };
    assert_eq!(seen(), (0, false), "who never had any lacks none");
    world.post("/v1/agent/prekeys", &ada.key, upload(0..11)).expect(200);
    assert_eq!(seen(), (11, false));
    for left in [10, 9] {
        world.bundle(&ada);
        assert_eq!(seen(), (left, left < 10));
    }
    (0..9).for_each(|_| drop(world.bundle(&ada)));
    assert_eq!(seen(), (0, true));
}

#[test]
fn a_username_of_an_agent_that_ended_is_free_after_30_days() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let claim = |agent: &Agent| world.post("/v1/agent/username", &agent.key, json!({ "username": "ada_1" }));
    claim(&ada).expect(201);
    world.call("DELETE", "/v1/agent/deactivate", &ada.key, Value::Null).expect(200);
    world.get("/v1/agent/username/ada_1", "").refused(404, "NOT_FOUND");
    claim(&bob).refused(409, "CONFLICT");
    world.wait(30 * 24 * 3_600);
    claim(&bob).expect(201);
}

/// Decision one-deciding-operation: an agent gives up a username that a quicker agent got.
#[test]
fn a_username_lost_to_a_quicker_agent_is_given_up() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    world.post("/v1/agent/username", &ada.key, json!({ "username": "first" })).expect(201);
    // As if Bob's reservation had lapsed before his operation ran.
    world.run(&bob, &crate::agent::username::SetUsername { username: Some("first".into()), only_first: true });
    assert_eq!(world.get("/v1/agent/profile", &bob.key).expect(200)["username"], Value::Null);
    assert_eq!(world.get("/v1/agent/username/first", "").expect(200)["did"], json!(ada.did));
}

/// Decision agent-search-order: a rank reaches the search at most once an hour, and the last one always reaches it.
#[test]
fn the_rank_in_the_search_changes_at_most_hourly() {
    let world = World::new();
    let agents: Vec<Agent> = ["rank a", "rank b", "rank c"].map(|name| world.server_agent(name)).into();
    let order = || {
        let found = world.get("/v1/agent/discover?query=rank", "").expect(200);
        let names =
            found["agents"].as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap()[5..].to_owned());
        names.collect::<String>()
    };
    // They registered at the same time, so only their DIDs order them until they have ranks.
    let at_first = order();
    assert_eq!(at_first.len(), 3);
    world.run(&agents[2], &SetRank { rank: 2 });
    world.run(&agents[1], &SetRank { rank: 1 });
    assert_eq!(order(), "cba");
    world.wait(600);
    for rank in [3, 4, 5] {
        world.run(&agents[1], &SetRank { rank });
        assert_eq!(order(), "cba");
    }
    world.wait(2_999);
    assert_eq!(order(), "cba");
    world.wait(1);
    assert_eq!(order(), "bca");
    // Another change of the agent updates the rank too.
    world.run(&agents[0], &SetRank { rank: 9 });
    assert_eq!(order(), "abc");
    world.run(&agents[0], &SetRank { rank: 0 });
    assert_eq!(order(), "abc");
    world.call("PATCH", "/v1/agent/profile", &agents[0].key, json!({ "capabilities": ["x"] })).expect(200);
    assert_eq!(order(), "bca");
}
