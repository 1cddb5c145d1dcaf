//! Nothing is left of an agent that was erased (decision agent-exports).

use std::collections::BTreeSet;

use super::*;
use crate::agent::consent::Wrote;
use crate::agent::mailbox::{StoreSessions, StoredSession};
use crate::agent::moderation::{Erase, Wipe};
use crate::agent::pins::{Prints, PutPin};
use crypto::encoding::{actor_id, parse_did};
use engine::actor::{ActorId, Call, FIRST_OWN_TABLE, Kind, Operation, encode, rows};
use engine::runtime::{self, Runtime};

/// The table with the note that the agent was erased.
const TOMBSTONE: u8 = 95;

fn actor(agent: &Agent) -> ActorId {
    ActorId::new(Kind::Agent, actor_id(&parse_did("svc", &agent.did).unwrap()))
}

fn run<O: Operation>(world: &World, agent: &Agent, operation: &O) -> crate::Result<O::Reply> {
    runtime::call(&*world.rt, actor(agent).name, operation).now_or_never().unwrap()
}

/// The agent's own tables that have rows.
fn tables(world: &World, agent: &Agent) -> BTreeSet<u8> {
    let rows = world.rt.rows(&actor(agent));
    rows.iter().map(|(key, _)| key[0]).filter(|table| *table >= FIRST_OWN_TABLE).collect()
}

fn erase(world: &World, agent: &Agent) {
    let answer = world.raw("DELETE", &format!("/v1/admin/agents/{}", agent.did), &[("x-admin-key", ADMIN)], b"");
    assert_eq!(answer.expect(200)["state"], "erased");
}

const ADMIN: &str = "erasing";

fn patient() -> World {
    let loopback = ("allow_outbound", "127.0.0.0/8");
    World::with(&[("admin_key", ADMIN), ("agent_burst", "1000000"), ("agent_per_second", "100000"), loopback])
}

/// Decision agent-exports: every table is emptied, whatever its number of rows, also tables of later versions.
#[test]
fn an_erasure_empties_every_table_there_can_be() {
    let world = patient();
    let ada = world.server_agent("Ada");
    run(&world, &ada, &Erase).unwrap();
    for table in (FIRST_OWN_TABLE..=255).filter(|table| *table != TOMBSTONE) {
        let pairs: Vec<(Vec<u8>, Vec<u8>)> = (0..20).map(|n| (vec![table, n], vec![n; 1_000])).collect();
        let call = Call { actor: actor(&ada), name: rows::PUT.to_owned(), arguments: encode(&pairs).unwrap() };
        world.rt.call(call).now_or_never().unwrap().unwrap();
    }
    assert_eq!(tables(&world, &ada).len(), 240, "there is something to take out");
    run(&world, &ada, &Wipe).unwrap();
    world.wait(5);
    assert_eq!(tables(&world, &ada), BTreeSet::from([TOMBSTONE]));
}

/// Gives an agent everything that it can have, by its own routes and those of other agents.
fn busy(world: &World, ada: &Agent, bob: &Agent) {
    let (mut client, client_key) = world.client(9, Options::default());
    let put = |path: &str, body: Value| drop(world.call("PUT", path, &ada.key, body).expect(200));
    let make = |who: &Agent, path: &str, body: Value| -> Value {
        let answer = world.post(path, &who.key, body);
        assert!((200..300).contains(&answer.status), "{path}: {}", answer.body);
        answer.body
    };
    world.send(bob, &ada.did, "to ada");
    world.send(ada, &bob.did, "to bob");
    let letter = client.send(&world.peer(&ada.did), "2026-01-01T00:00:00.000Z", "m", Default::default()).unwrap();
    make(&client_key, "/v1/agent/send/encrypted", serde_json::to_value(letter).unwrap());
    let read = world.get("/v1/agent/receive", &ada.key).expect(200);
    let id = read["messages"][0]["id"].as_str().unwrap();
    make(ada, &format!("/v1/agent/messages/{id}/read"), Value::Null);
    make(ada, "/v1/agent/rotate-keys", Value::Null);
    make(ada, "/v1/agent/api-key", Value::Null);
    put("/v1/agent/memory/n/k", json!({ "value": 1, "ttl": 3600 }));
    put(&format!("/v1/agent/consent/blocked/{}", client_key.did), Value::Null);
    make(ada, "/v1/agent/keys/pin", json!({ "did": bob.did }));
    let prekey = crypto::encoding::encode_base64(&[9; 32]);
    let prekeys: Vec<Value> = (0..2).map(|id| json!({ "id": id, "public_key": prekey })).collect();
    world.post("/v1/agent/prekeys", &ada.key, json!({ "prekeys": prekeys[..1] }));
    make(ada, "/v1/agent/username", json!({ "username": "ada_l" }));
    make(ada, "/v1/agent/capabilities", json!({ "name": "sum" }));
    make(bob, "/v1/agent/capabilities", json!({ "name": "paint" }));
    make(ada, "/v1/agent/tasks/broadcast", json!({ "capability": "paint", "input": "x" }));
    make(bob, "/v1/agent/tasks", json!({ "to": ada.did, "capability": "sum", "input": "x", "expires_in": 60 }));
    let channel = make(ada, "/v1/agent/channels", json!({ "name": "erased" }));
    make(bob, &format!("/v1/agent/channels/{}/join", channel["id"].as_str().unwrap()), Value::Null);
    let other = make(bob, "/v1/agent/channels", json!({ "name": "other", "private": true }));
    let invite = format!("/v1/agent/channels/{}/invite", other["id"].as_str().unwrap());
    make(bob, &invite, json!({ "did": ada.did }));
    make(ada, "/v1/agent/webhooks", json!({ "webhook_url": "http://127.0.0.1:9/hook" }));
    world.send(bob, &ada.did, "for the webhook");
    make(ada, "/v1/agent/ping", Value::Null);
    make(ada, "/v1/agent/export", json!({}));
    let claim = json!({ "claim_type": "blocked", "claim_data": {}, "domain": "example.org", "country": "KE" });
    make(ada, "/v1/agent/attestations", claim);
    world.wait(61);
}

/// Decision agent-exports: nothing is left, and nothing comes back by timers, by effects of other actors, or by
/// requests that were under way.
#[test]
fn nothing_of_an_erased_agent_is_left_or_comes_back() {
    let world = patient();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    busy(&world, &ada, &bob);
    let had = tables(&world, &ada);
    assert!(had.len() >= 40, "the agent has rows in many tables: {had:?}");
    let by_bob = world.get("/v1/agent/tasks?role=requester", &bob.key).expect(200)["tasks"][0]["id"].clone();
    let asked = world.get("/v1/agent/tasks", &bob.key).expect(200)["tasks"][0]["id"].clone();
    erase(&world, &ada);
    world.wait(60);
    let left = BTreeSet::from([TOMBSTONE]);
    assert_eq!(tables(&world, &ada), left);

    // Acts of another agent that would have told this agent something.
    for (id, status) in [(&asked, "completed"), (&by_bob, "cancelled")] {
        let path = format!("/v1/agent/tasks/{}", id.as_str().unwrap());
        world.call("PATCH", &path, &bob.key, json!({ "status": status }));
    }
    for (path, body) in [
        ("/v1/agent/send", json!({ "to": ada.did, "message": "x" })),
        ("/v1/agent/tasks", json!({ "to": ada.did, "input": "x" })),
    ] {
        world.post(path, &bob.key, body).refused(404, "NOT_FOUND");
    }
    // Its own requests that had been admitted when it was erased.
    let did = parse_did("svc", &bob.did).unwrap();
    let prints = Prints { signing: [1; 32], encryption: [2; 32] };
    assert!(run(&world, &ada, &PutPin { peer: did, name: None, current: prints, accept: false }).is_err());
    let session =
        StoredSession { key: (did, [1; 32]), sealed: vec![1], stamp: engine::runtime::Runtime::now(&*world.rt) };
    run(&world, &ada, &StoreSessions { sessions: vec![session] }).unwrap();
    run(&world, &ada, &Wrote { to: did }).unwrap();
    world.wait(60);
    assert_eq!(tables(&world, &ada), left);
    // Nothing comes back from anything that was scheduled for later.
    world.wait(40 * 86_400);
    assert_eq!(tables(&world, &ada), left);
    let timers = world.rt.rows(&actor(&ada)).into_iter().filter(|(key, _)| [2, 6, 7].contains(&key[0])).count();
    assert_eq!(timers, 0, "no timer and nothing to be sent");
}

/// Decision agent-exports: the record of an export is kept for 30 days, and no row of it longer.
#[test]
fn the_record_of_an_export_is_kept_30_days() {
    let world = patient();
    let ada = world.server_agent("Ada");
    let export = world.raw("POST", "/v1/agent/export", &[("x-agent-key", &ada.key)], b"{}");
    assert!((200..300).contains(&export.status), "{}", export.body);
    let known = || world.get("/v1/agent/exports", &ada.key).expect(200)["count"].clone();
    world.wait(30 * 86_400 - 60);
    assert_eq!(known(), 1);
    world.wait(120);
    assert_eq!(known(), 0);
    assert!(!tables(&world, &ada).contains(&94));
}
