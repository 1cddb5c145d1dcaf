use super::*;
use crate::agent::consent::{PutListed, SenderList, Wrote};
use crypto::encoding::{actor_id, encode_base64, parse_did};
use engine::actor::{ActorId, Kind};

fn actor(agent: &Agent) -> String {
    actor_id(&parse_did("svc", &agent.did).unwrap())
}

fn accept_from(world: &World, agent: &Agent, who: &str) {
    world.call("PATCH", "/v1/agent/consent", &agent.key, json!({ "accept_from": who })).expect(200);
}

fn block(world: &World, agent: &Agent, did: &str) {
    world.call("PUT", &format!("/v1/agent/consent/blocked/{did}"), &agent.key, Value::Null).expect(200);
}

fn write(world: &World, from: &Agent, to: &Agent) -> u16 {
    world.post("/v1/agent/send", &from.key, json!({ "to": to.did, "message": "x" })).status
}

/// Rows of consent at an agent.
fn rows(world: &World, agent: &Agent) -> usize {
    let rows = world.rt.rows(&ActorId::new(Kind::Agent, actor(agent)));
    rows.iter().filter(|(key, _)| (96..=99).contains(&key[0])).count()
}

fn run<O: engine::actor::Operation>(world: &World, agent: &Agent, operation: &O) -> crate::Result<O::Reply> {
    engine::runtime::call(&*world.rt, actor(agent), operation).now_or_never().unwrap()
}

fn stranger(n: u64) -> crate::directory::Did {
    let mut did = [0xaa; 16];
    did[..8].copy_from_slice(&n.to_be_bytes());
    did
}

/// Decision who-may-write.
#[test]
fn lists_and_contacts_are_bounded_and_a_registration_that_ends_leaves_none() {
    let world = World::patient();
    let (ada, bob, carl) = (world.server_agent("Ada"), world.server_agent("Bob"), world.server_agent("Carl"));
    world.send(&ada, &bob.did, "the first contact");
    world.wait(1);
    for n in 0..10_000 {
        let list = if n % 2 == 0 { SenderList::Blocked } else { SenderList::Allowed };
        run(&world, &ada, &PutListed { list, peer: stranger(n) }).unwrap();
    }
    let path = format!("/v1/agent/consent/blocked/{}", bob.did);
    world.call("PUT", &path, &ada.key, Value::Null).refused(409, "CONFLICT");
    // An agent that is on a list already may change to the other list.
    run(&world, &ada, &PutListed { list: SenderList::Allowed, peer: stranger(0) }).unwrap();
    let consent = world.get("/v1/agent/consent", &ada.key).expect(200);
    assert_eq!((&consent["blocked_count"], &consent["allowed_count"]), (&json!(4_999), &json!(5_001)));

    accept_from(&world, &ada, "known");
    assert_eq!((write(&world, &bob, &ada), write(&world, &carl, &ada)), (201, 404));
    for n in 0..10_000 {
        run(&world, &ada, &Wrote { to: stranger(n) }).unwrap();
    }
    // The oldest contact was forgotten.
    assert_eq!(write(&world, &bob, &ada), 404);
    assert_eq!(rows(&world, &ada), 1 + 10_000 + 2 * 10_000);

    world.call("DELETE", "/v1/agent/deactivate", &ada.key, Value::Null).expect(200);
    world.wait(1);
    assert_eq!(rows(&world, &ada), 0);
}

/// Decision who-may-write: an agent that takes over a squatted DID does not inherit the squatter's block list and
/// contacts.
#[test]
fn a_registration_that_replaces_another_starts_open() {
    let world = World::patient();
    let bob = world.server_agent("Bob");
    let (owner, squatter) = unproved(&world, 1);
    accept_from(&world, &squatter, "listed");
    block(&world, &squatter, &bob.did);
    let more: Vec<_> = (0..200).map(stranger).collect();
    for peer in &more {
        run(&world, &squatter, &PutListed { list: SenderList::Blocked, peer: *peer }).unwrap();
    }
    assert_eq!(write(&world, &bob, &squatter), 404);
    world.wait(1);
    let taken = Agent::of(&world.post("/v1/agent/register", "", owner.key_body(None, 1)).expect(201));
    assert_eq!(taken.did, squatter.did);
    assert_eq!(write(&world, &bob, &taken), 201);
    let list = world.get("/v1/agent/consent/blocked", &taken.key).expect(200);
    assert_eq!((&list["agents"], &list["has_more"]), (&json!([]), &json!(false)));
    assert_eq!(rows(&world, &taken), 0);
}

fn letter(to: &str, n: u64) -> Value {
    let mut nonce = [0; 24];
    nonce[..8].copy_from_slice(&n.to_be_bytes());
    json!({ "to": to, "ciphertext": encode_base64(&[1; 40]), "nonce": encode_base64(&nonce),
        "signature": encode_base64(&[2; 64]), "content_type": "text/plain", "ttl": 3_600 })
}

/// A client whose registration has proved nothing yet.
fn unproved(world: &World, seed: u8) -> (Client, Agent) {
    let client = Client::new("svc", [seed; 32], Options::default());
    let mut body = client.key_body(None, 1);
    body.as_object_mut().unwrap().retain(|name, _| !name.starts_with("signed"));
    let agent = Agent::of(&world.post("/v1/agent/register", "", body).expect(201));
    (client, agent)
}

/// Decision signed-registrations: senders that have signed nothing share a tenth of the strangers' room, less its
/// headroom, by count and by bytes.
#[test]
fn silent_senders_share_a_tenth_of_the_room_for_strangers() {
    let world = World::with(&[("mailbox_messages", "400"), ("agent_burst", "1000"), ("agent_per_second", "1000")]);
    let bob = world.server_agent("Bob");
    let (mut ada, ada_key) = unproved(&world, 11);
    let (_, eve) = unproved(&world, 12);
    let post = |from: &Agent, n: u64| world.post("/v1/agent/send/encrypted", &from.key, letter(&bob.did, n));
    for n in 0..10 {
        post(&ada_key, n).expect(201);
    }
    let sent: Vec<Value> = (0..9).map(|n| post(&eve, n).expect(201)).collect();
    for agent in [&ada_key, &eve] {
        let refused = post(agent, 99);
        assert_eq!(refused.headers["retry-after"], "60");
        refused.refused(503, "MAILBOX_FULL");
    }
    // A sender that has signed has a tenth of its own.
    let carl = world.server_agent("Carl");
    (0..38).for_each(|n| drop(post(&carl, n).expect(201)));
    post(&carl, 99).refused(503, "MAILBOX_FULL");
    // A deletion makes room, but only once.
    let path = format!("/v1/agent/messages/{}", sent[0]["id"].as_str().unwrap());
    world.call("DELETE", &path, &bob.key, Value::Null).expect(200);
    post(&ada_key, 20).expect(201);
    post(&eve, 20).refused(503, "MAILBOX_FULL");
    // When a sender shows its key, its messages move to its new share with its next message.
    world.call("DELETE", &format!("/v1/agent/messages/{}", sent[1]["id"].as_str().unwrap()), &bob.key, Value::Null);
    let proof = ada.send(&world.peer(&bob.did), "2026-01-01T00:00:01.000Z", "me", Default::default()).unwrap();
    world.post("/v1/agent/send/encrypted", &ada_key.key, serde_json::to_value(&proof).unwrap()).expect(201);
    post(&eve, 21).refused(503, "MAILBOX_FULL");
    post(&ada_key, 21).expect(201);
    (22..34).for_each(|n| drop(post(&eve, n).expect(201)));
    post(&eve, 34).refused(503, "MAILBOX_FULL");
    // All messages expire, and the whole share is free again.
    world.wait(86_400 * 2);
    for n in 100..119 {
        post(&eve, n).expect(201);
    }
    post(&eve, 119).refused(503, "MAILBOX_FULL");

    let world = World::with(&[("mailbox_bytes", "200000"), ("agent_burst", "1000")]);
    let bob = world.server_agent("Bob");
    let agents: Vec<Agent> = (20..40).map(|seed| unproved(&world, seed).1).collect();
    let mut taken = 0;
    for (n, agent) in agents.iter().enumerate() {
        let mut body = letter(&bob.did, n as u64);
        body["ciphertext"] = encode_base64(&[1; 900]).into();
        taken += usize::from(world.post("/v1/agent/send/encrypted", &agent.key, body).status == 201);
    }
    assert_eq!(taken, 9_500 / (900 + 64 + 10 + 256));
}

/// Fills a mailbox of 200 messages with the messages that strangers may have: 100, less 1 and 5 that are kept for first
/// messages of silent and other strangers.
fn flood(world: &World, to: &Agent) -> Vec<Agent> {
    let strangers: Vec<Agent> = (0..6).map(|n| world.server_agent(&format!("Stranger{n}"))).collect();
    let mut sent = 0;
    for stranger in &strangers {
        for n in 0..19 {
            sent += u64::from(world.post("/v1/agent/send/encrypted", &stranger.key, letter(&to.did, n)).status == 201);
        }
    }
    assert_eq!(sent, 94);
    strangers
}

#[test]
fn a_friend_gets_through_a_mailbox_that_strangers_have_filled() {
    let world = World::with(&[("mailbox_messages", "200"), ("agent_burst", "1000"), ("agent_per_second", "1000")]);
    let bob = world.server_agent("Bob");
    let [allowed, pinned, wrote, invited, nobody] =
        ["Allowed", "Pinned", "Wrote", "Invited", "Nobody"].map(|name| world.server_agent(name));
    world.call("PUT", &format!("/v1/agent/consent/allowed/{}", allowed.did), &bob.key, Value::Null).expect(200);
    world.post("/v1/agent/keys/pin", &bob.key, json!({ "did": pinned.did })).expect(200);
    world.send(&bob, &wrote.did, "hello");
    let channel = world.post("/v1/agent/channels", &bob.key, json!({ "name": "ours", "private": true })).expect(201);
    let path = format!("/v1/agent/channels/{}/invite", channel["id"].as_str().unwrap());
    let invite = world.post(&path, &bob.key, json!({ "did": invited.did })).expect(201);
    let path = format!("/v1/agent/invites/{}/respond", invite["id"].as_str().unwrap());
    world.post(&path, &invited.key, json!({ "action": "accept" })).expect(200);
    let strangers = flood(&world, &bob);
    for (n, friend) in [&allowed, &pinned, &wrote, &invited].into_iter().enumerate() {
        assert_eq!(write(&world, friend, &bob), 201, "friend {n}");
    }
    world.post("/v1/agent/send", &nobody.key, json!({ "to": bob.did, "message": "x" })).refused(503, "MAILBOX_FULL");
    // A change of whom the owner knows takes effect with the sender's next message.
    let path = format!("/v1/agent/consent/allowed/{}", strangers[5].did);
    world.call("PUT", &path, &bob.key, Value::Null).expect(200);
    assert_eq!(write(&world, &strangers[5], &bob), 201);
    let path = format!("/v1/agent/consent/allowed/{}", allowed.did);
    world.call("DELETE", &path, &bob.key, Value::Null).expect(200);
    assert_eq!(write(&world, &allowed, &bob), 503);
}

#[test]
fn unread_mail_of_strangers_goes_by_one_call_and_that_of_friends_stays() {
    let world = World::with(&[("agent_burst", "10000"), ("agent_per_second", "10000")]);
    let bob = world.server_agent("Bob");
    let (friend, eve, mallory) =
        (world.server_agent("Friend"), world.server_agent("Eve"), world.server_agent("Mallory"));
    world.call("PUT", &format!("/v1/agent/consent/allowed/{}", friend.did), &bob.key, Value::Null).expect(200);
    for n in 0..150 {
        for from in [&friend, &eve, &mallory] {
            world.post("/v1/agent/send/encrypted", &from.key, letter(&bob.did, n)).expect(201);
        }
    }
    let read = world.messages(&bob, &format!("from={}&limit=1", eve.did))[0]["id"].as_str().unwrap().to_owned();
    world.post(&format!("/v1/agent/messages/{read}/read"), &bob.key, Value::Null).expect(200);
    accept_from(&world, &bob, "listed");
    let path = "/v1/agent/consent/strangers/unread";
    let first = world.call("DELETE", path, &bob.key, Value::Null).expect(200);
    assert_eq!(first, json!({ "dropped": 100, "complete": false }));
    world.wait(1);
    let count = world.get("/v1/agent/messages/unread-count", &bob.key).expect(200);
    assert_eq!((&count["unread_count"], &count["by_sender"][0]["from"]), (&json!(150), &json!(friend.did)));
    assert_eq!(world.messages(&bob, &format!("from={}&unread=false", eve.did)).len(), 1, "what was read stays");
    assert_eq!(
        world.call("DELETE", path, &bob.key, Value::Null).expect(200),
        json!({ "dropped": 0, "complete": true })
    );
    // An exact repeat brings nothing back. Later messages stay until they are dropped in turn.
    accept_from(&world, &bob, "everyone");
    world.post("/v1/agent/send/encrypted", &eve.key, letter(&bob.did, 7)).expect(201);
    world.post("/v1/agent/send/encrypted", &eve.key, letter(&bob.did, 777)).expect(201);
    assert_eq!(world.messages(&bob, &format!("from={}", eve.did)).len(), 1);
    world.call("DELETE", path, "", Value::Null).refused(401, "UNAUTHORIZED");
}

/// Empty texts would look like messages.
#[test]
fn an_agent_with_its_own_keys_is_told_to_ask_for_raw_messages() {
    let world = World::new();
    let (client, own) = world.client(3, Options::default());
    let ada = world.server_agent("Ada");
    world.send(&ada, &client.did, "hello");
    for query in ["", "?unread=false", "?wait=1"] {
        let refused = world.get(&format!("/v1/agent/receive{query}"), &own.key);
        assert!(refused.body["message"].as_str().unwrap().contains("/v1/agent/receive/raw"));
        refused.refused(400, "BAD_REQUEST");
    }
    assert_eq!(world.messages(&own, "").len(), 1);
}

/// In memory, sleeping moves the clock, so the test can measure exactly how long a request waits.
#[test]
fn a_wait_lasts_as_long_as_asked_and_25_seconds_at_most() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let waited = |query: &str| {
        let before = engine::runtime::Runtime::now(&*world.rt);
        let page = world.get(&format!("/v1/agent/receive/raw?{query}"), &bob.key).expect(200);
        (page["count"].clone(), engine::runtime::Runtime::now(&*world.rt).since(before))
    };
    for (query, seconds) in [
        ("", 0),
        ("unread=true&limit=50", 0),
        ("wait=0", 0),
        ("wait=3", 3),
        ("wait=25", 25),
        ("wait=26", 25),
        ("wait=99999999999", 25),
        ("wait=3&from=nobody", 0),
    ] {
        assert_eq!(waited(query), (json!(0), seconds * 1_000_000), "{query}");
    }
    world.send(&ada, &bob.did, "x");
    assert_eq!(waited("wait=20"), (json!(1), 0));
    assert_eq!(waited("wait=2&message_type=other"), (json!(0), 2_000_000));
    // A stream with a shorter life ends the wait early.
    let world = World::with(&[("stream_seconds", "1")]);
    let bob = world.server_agent("Bob");
    world.get("/v1/agent/receive?wait=20", &bob.key).expect(200);
}

/// Decision mailbox-pages: when a call stops after 10,000 rows, `has_more` and `next_since` tell where to go on, also
/// when the page has no message.
#[test]
fn an_empty_page_that_has_more_says_where_to_go_on() {
    let world =
        World::with(&[("agent_burst", "1000000"), ("agent_per_second", "100000"), ("mailbox_messages", "1000000")]);
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    for n in 0..10_005 {
        let mut body = letter(&bob.did, n);
        body["message_type"] = if n == 10_003 { "rare".into() } else { "common".into() };
        world.post("/v1/agent/send/encrypted", &ada.key, body).expect(201);
    }
    for route in ["/v1/agent/receive", "/v1/agent/receive/raw"] {
        let page = world.get(&format!("{route}?message_type=rare"), &bob.key).expect(200);
        assert_eq!((&page["count"], &page["has_more"]), (&json!(0), &json!(true)));
        let since = page["next_since"].as_str().unwrap();
        let rest = world.get(&format!("{route}?message_type=rare&since={since}"), &bob.key).expect(200);
        assert_eq!((&rest["count"], &rest["has_more"]), (&json!(1), &json!(false)));
        assert_eq!((&rest["messages"][0]["message_type"], &rest["next_since"]), (&json!("rare"), &Value::Null));
        // There are more rows to read, so the request does not wait.
        let before = engine::runtime::Runtime::now(&*world.rt);
        world.get(&format!("{route}?message_type=rare&wait=20"), &bob.key).expect(200);
        assert_eq!(engine::runtime::Runtime::now(&*world.rt), before);
    }
}
