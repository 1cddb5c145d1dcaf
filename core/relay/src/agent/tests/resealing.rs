//! Sealed values after a rotation of the master key.

use super::*;
use crate::agent::custody::HeldKeys;
use crate::agent::mailbox::{StoreSessions, StoredSession};
use crate::agent::record::{EARLIER, EarlierKeys, ReadKeys};
use crate::agent::reseal::{
    CountSealed, PAGE, Progress, Reseal, Resealed, SealedCounts, SealedPlace, SealedValues, reseal,
};
use crate::{ErrorCode, Timestamp};
use crypto::Secret;
use crypto::client::Meta;
use crypto::sealing::{KeyRing, MasterKey, key_id};
use engine::actor::{ActorId, Kind, Operation};
use engine::kv::{MemoryStore, Overlay, Store};
use engine::runtime::{self, Runtime};
use engine::secrets::Secrets;
use engine::settings::Settings;

const TIME: &str = "2026-01-01T00:00:00.000Z";

fn master(byte: u8) -> MasterKey {
    MasterKey::new(Secret::new([byte; 32]))
}

/// The deployment of the tests starts with master key 42.
fn rotate(world: &World) {
    world.rt.environment().secrets.replace(KeyRing::new(master(43), vec![master(42)]));
}

fn actor_of(agent: &Agent) -> ActorId {
    ActorId::new(Kind::Agent, crate::agent::wire::actor_of(&Settings::default(), &agent.did).unwrap())
}

fn run(world: &World, agent: &Agent, pages: usize) -> crate::Result<Progress> {
    reseal(&*world.rt, &actor_of(agent).name, pages).now_or_never().unwrap()
}

fn ask<Q: engine::actor::Query>(world: &World, agent: &Agent, query: &Q) -> Q::Reply {
    runtime::query(&*world.rt, actor_of(agent).name, query).now_or_never().unwrap().unwrap()
}

fn call<O: Operation>(world: &World, agent: &Agent, operation: &O) -> O::Reply {
    runtime::call(&*world.rt, actor_of(agent).name, operation).now_or_never().unwrap().unwrap()
}

fn count(world: &World, agent: &Agent) -> SealedCounts {
    ask(world, agent, &CountSealed { current: world.rt.environment().secrets.sealing().current().id() })
}

fn look(world: &World, agent: &Agent) -> Vec<(SealedPlace, Vec<u8>)> {
    ask(world, agent, &SealedValues { current: master(43).id(), after: None }).values
}

fn post(world: &World, client: &mut Client, key: &Agent, to: &str, text: &str) {
    let posted = client.send(&world.peer(to), TIME, text, Meta::default()).unwrap();
    world.post("/v1/agent/send/encrypted", &key.key, serde_json::to_value(posted).unwrap()).expect(201);
}

/// Stores sessions with that many senders that never come back.
fn strangers(world: &World, agent: &Agent, many: usize) {
    let ring = world.rt.environment().secrets.sealing();
    let all: Vec<_> = (0..many)
        .map(|n| {
            let mut from = [0; 16];
            from[..8].copy_from_slice(&(n as u64).to_be_bytes());
            let key = (from, [1; 32]);
            let sealed = ring.seal(&agent.did, &crate::agent::decrypt::purpose(&key), &[n as u8; 24], b"state");
            StoredSession { key, sealed: sealed.unwrap(), stamp: world.rt.now() }
        })
        .collect();
    for sessions in all.chunks(100) {
        call(world, agent, &StoreSessions { sessions: sessions.to_vec() });
    }
}

/// Decision master-key-file.
#[test]
fn everything_sealed_moves_under_the_new_key_and_everything_still_opens() {
    let world = World::new();
    let bob = world.server_agent("Bob");
    let (mut ada, key) = world.client(1, Options::default());
    post(&world, &mut ada, &key, &bob.did, "one");
    assert_eq!(world.texts(&bob), ["one"]);
    rotate(&world);
    assert_eq!(count(&world, &bob), SealedCounts { all: 2, earlier: 2 });
    assert_eq!(run(&world, &bob, usize::MAX).unwrap(), Progress { resealed: 2, unopened: 0, complete: true });
    assert_eq!(count(&world, &bob), SealedCounts { all: 2, earlier: 0 });
    post(&world, &mut ada, &key, &bob.did, "two");
    assert_eq!(world.texts(&bob), ["one", "two"]);
    world.send(&bob, &key.did, "three");
    assert_eq!(ada.receive(&raw_of(&world.messages(&key, "")[0])).unwrap().payload.content, "three");
    // The earlier master key is not needed any more.
    let alone = Secrets::new(KeyRing::new(master(43), Vec::new()), String::new());
    let (keys, _) = ask(&world, &bob, &ReadKeys).unwrap();
    assert!(HeldKeys::open(&alone, &bob.did, &keys.sealed.unwrap()).is_ok());
    // A second run changes nothing.
    let rows = world.rt.rows(&actor_of(&bob));
    assert_eq!(run(&world, &bob, usize::MAX).unwrap(), Progress { resealed: 0, unopened: 0, complete: true });
    assert_eq!(world.rt.rows(&actor_of(&bob)), rows);
}

#[test]
fn what_changes_between_reading_and_replacing_is_never_undone() {
    let world = World::new();
    let bob = world.server_agent("Bob");
    let (mut ada, key) = world.client(1, Options::default());
    post(&world, &mut ada, &key, &bob.did, "one");
    assert_eq!(world.texts(&bob), ["one"]);
    rotate(&world);
    let read = look(&world, &bob);
    assert!(matches!(read[..], [(SealedPlace::Session(_), _), (SealedPlace::Present, _)]));
    // The session goes on before the values that were read come back under the new key.
    post(&world, &mut ada, &key, &bob.did, "two");
    assert_eq!(world.texts(&bob), ["one", "two"]);
    let rows = world.rt.rows(&actor_of(&bob));
    let late = |(place, old): (SealedPlace, Vec<u8>)| Resealed { place, old, new: b"stale".to_vec() };
    let values: Vec<_> = read.into_iter().map(late).collect();
    let of_session = values[..1].to_vec();
    assert_eq!(call(&world, &bob, &Reseal { values: of_session }), 0);
    // The caller's own request has moved the present keys already.
    assert_eq!(call(&world, &bob, &Reseal { values }), 0);
    let missing = Resealed { place: SealedPlace::Earlier(9), old: Vec::new(), new: b"stale".to_vec() };
    assert_eq!(call(&world, &bob, &Reseal { values: vec![missing] }), 0);
    assert_eq!(world.rt.rows(&actor_of(&bob)), rows);
    post(&world, &mut ada, &key, &bob.did, "three");
    assert_eq!(world.texts(&bob), ["one", "two", "three"]);
}

#[test]
fn a_stop_in_the_middle_leaves_every_value_readable_and_the_next_attempt_goes_on() {
    let world = World::new();
    let bob = world.server_agent("Bob");
    strangers(&world, &bob, 2 * PAGE + 50);
    rotate(&world);
    let all = 2 * PAGE as u64 + 51;
    assert_eq!(run(&world, &bob, 1).unwrap(), Progress { resealed: PAGE as u64, unopened: 0, complete: false });
    assert_eq!(count(&world, &bob), SealedCounts { all, earlier: all - PAGE as u64 });
    world.rt.close(true);
    assert_eq!(run(&world, &bob, usize::MAX).unwrap_err().code, ErrorCode::Unavailable);
    world.rt.close(false);
    // The keys of the agent itself come last, and open at any time.
    assert!(look(&world, &bob).is_empty());
    let ring = world.rt.environment().secrets.sealing();
    let (keys, _) = ask(&world, &bob, &ReadKeys).unwrap();
    assert_eq!(key_id(keys.sealed.as_ref().unwrap()), Some(master(42).id()));
    assert!(HeldKeys::open(&world.rt.environment().secrets, &bob.did, &keys.sealed.unwrap()).is_ok());
    assert!(ring.earlier() == 1);
    let rest = Progress { resealed: all - PAGE as u64, unopened: 0, complete: true };
    assert_eq!(run(&world, &bob, usize::MAX).unwrap(), rest);
    assert_eq!(count(&world, &bob), SealedCounts { all, earlier: 0 });
}

/// On the edge no task visits all agents.
#[test]
fn where_no_task_visits_all_agents_each_request_of_an_agent_moves_a_page_until_none_is_left() {
    let world = World::new();
    let bob = world.server_agent("Bob");
    strangers(&world, &bob, 2 * PAGE + 50);
    let all = 2 * PAGE as u64 + 51;
    world.get("/v1/agent/profile", &bob.key).expect(200);
    assert_eq!(count(&world, &bob), SealedCounts { all, earlier: 0 });
    rotate(&world);
    let mut left = Vec::new();
    for _ in 0..4 {
        world.get("/v1/agent/profile", &bob.key).expect(200);
        left.push(count(&world, &bob).earlier);
    }
    assert_eq!(left, [all - PAGE as u64, all - 2 * PAGE as u64, 0, 0]);
    // From then on a request costs as much as before.
    world.rt.calls();
    world.get("/v1/agent/profile", &bob.key).expect(200);
    let asked = world.rt.calls();
    assert!(asked.iter().all(|(_, name)| name != "sealed_values" && name != "reseal"), "{asked:?}");
}

#[test]
fn a_value_that_no_key_opens_stays_and_holds_nothing_up() {
    let world = World::new();
    let bob = world.server_agent("Bob");
    strangers(&world, &bob, 3);
    let lost = KeyRing::new(master(9), Vec::new()).seal(&bob.did, "x", &[0; 24], b"y").unwrap();
    for (n, sealed) in [lost, Vec::new()].into_iter().enumerate() {
        let stored = StoredSession { key: ([n as u8 + 1; 16], [9; 32]), sealed, stamp: world.rt.now() };
        call(&world, &bob, &StoreSessions { sessions: vec![stored] });
    }
    rotate(&world);
    assert_eq!(run(&world, &bob, usize::MAX).unwrap(), Progress { resealed: 4, unopened: 2, complete: true });
    assert_eq!(count(&world, &bob), SealedCounts { all: 6, earlier: 2 });
}

#[test]
fn earlier_generations_of_an_agents_keys_are_found_page_by_page_and_replaced() {
    use engine::actor::host::{Space, answer, perform};
    use engine::actor::{Call, View, decode};
    let actor = ActorId::new(Kind::Agent, "AAAAAAAAAAAAAAAAAAAAAA");
    let settings = Settings::default();
    let mut rows = MemoryStore::default();
    let seal = |ring: &KeyRing, n: u64| ring.seal("did", "p", &[n as u8; 24], &n.to_be_bytes()).unwrap();
    let (old, new) = (KeyRing::new(master(1), Vec::new()), KeyRing::new(master(2), Vec::new()));
    let mut writes = Overlay::new(&rows);
    let total = PAGE as u64 + 10;
    for version in 0..total {
        let keys = crate::agent::record::Keys {
            version,
            since: Timestamp(0),
            signing: [0; 32],
            encryption: [0; 32],
            mlkem: None,
            // Clients' own generations are not sealed here, and some are under the current key already.
            sealed: (version % 10 != 0).then(|| seal(if version % 10 == 1 { &new } else { &old }, version)),
        };
        EARLIER.put(&mut writes, &(version,), &EarlierKeys { keys, until: Timestamp(1) }).unwrap();
    }
    let batch = writes.into_batch();
    rows.apply(batch).unwrap();
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let look = SealedValues { current: master(2).id(), after };
        let call = Call::query(actor.name.clone(), &look).unwrap();
        let view = View::new(&crate::testing::PROGRAM, &actor, &rows, Timestamp(0), &settings);
        let page: crate::agent::reseal::SealedPage = decode(&answer(&view, &call).unwrap()).unwrap();
        found.extend(page.values);
        match page.next {
            None => break,
            next => after = next,
        }
    }
    let wanted = (0..total).filter(|version| version % 10 > 1).map(SealedPlace::Earlier);
    assert!(found.iter().map(|(place, _)| place.clone()).eq(wanted));
    let (place, old) = found.swap_remove(5);
    let SealedPlace::Earlier(version) = place else { panic!("{place:?}") };
    let values = vec![Resealed { place, old, new: seal(&new, version) }];
    let call = Call::operation(actor.name.clone(), &Reseal { values }).unwrap();
    let space = Space {
        program: &crate::testing::PROGRAM,
        actor: &actor,
        rows: &rows,
        now: Timestamp(0),
        seed: [0; 32],
        settings: &settings,
    };
    let outcome = perform(&space, &call);
    assert_eq!(decode::<u32>(&outcome.reply.unwrap()).unwrap(), 1);
    rows.apply(outcome.batch).unwrap();
    let moved = EARLIER.get(&rows, &(version,)).unwrap().unwrap().keys.sealed.unwrap();
    assert_eq!(moved, seal(&new, version));
}

#[test]
fn the_operator_moves_one_agent() {
    let world = World::with(&[("admin_key", "operator-operator")]);
    let bob = world.server_agent("Bob");
    strangers(&world, &bob, 5);
    rotate(&world);
    let admin = |path: &str| world.raw("POST", path, &[("x-admin-key", "operator-operator")], b"");
    let done = admin(&format!("/v1/admin/agents/{}/reseal", bob.did)).expect(200);
    assert_eq!(done, json!({ "resealed": 6, "unopened": 0, "complete": true }));
    admin("/v1/admin/agents/did:svc:nobody/reseal").refused(404, "NOT_FOUND");
}
