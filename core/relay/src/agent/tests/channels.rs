use super::*;
use crate::agent::memberships::ReadMemberships;
use crate::agent::wire::actor_of;
use crate::channel::record::Join;
use crypto::Secret;
use crypto::sealing::{KeyRing, MasterKey};
use engine::actor::{ActorId, Kind};
use engine::runtime::{self, Runtime};
use engine::settings::Settings;

fn make(world: &World, owner: &Agent, body: Value) -> String {
    let made = world.post("/v1/agent/channels", &owner.key, body).expect(201);
    made["id"].as_str().unwrap().to_owned()
}

fn public(world: &World, owner: &Agent, name: &str) -> String {
    make(world, owner, json!({ "name": name }))
}

fn private(world: &World, owner: &Agent) -> String {
    make(world, owner, json!({ "name": "secret", "private": true }))
}

fn join(world: &World, agent: &Agent, channel: &str) -> Answer {
    world.post(&format!("/v1/agent/channels/{channel}/join"), &agent.key, Value::Null)
}

fn say(world: &World, agent: &Agent, channel: &str, text: &str) -> Answer {
    world.post(&format!("/v1/agent/channels/{channel}/messages"), &agent.key, json!({ "message": text }))
}

fn contents(world: &World, agent: &Agent, channel: &str) -> Vec<String> {
    let page = world.get(&format!("/v1/agent/channels/{channel}/messages?limit=100"), &agent.key).expect(200);
    page["messages"].as_array().unwrap().iter().map(|post| post["content"].as_str().unwrap().to_owned()).collect()
}

fn mine(world: &World, agent: &Agent) -> Vec<Value> {
    let list = world.get("/v1/agent/channels?mine=true&limit=100", &agent.key).expect(200);
    list["channels"].as_array().unwrap().clone()
}

fn listed(world: &World, query: &str) -> Vec<Value> {
    let list = world.get(&format!("/v1/agent/channels?limit=100&{query}"), "").expect(200);
    list["channels"].as_array().unwrap().clone()
}

fn invite(world: &World, from: &Agent, channel: &str, to: &Agent, hours: u32) -> Answer {
    let body = json!({ "did": to.did, "expires_hours": hours });
    world.post(&format!("/v1/agent/channels/{channel}/invite"), &from.key, body)
}

fn invites(world: &World, agent: &Agent, query: &str) -> Vec<Value> {
    let list = world.get(&format!("/v1/agent/invites?limit=1000&{query}"), &agent.key).expect(200);
    list["invites"].as_array().unwrap().clone()
}

fn respond(world: &World, agent: &Agent, invite: &Value, action: &str) -> Answer {
    let path = format!("/v1/agent/invites/{}/respond", invite["id"].as_str().unwrap());
    world.post(&path, &agent.key, json!({ "action": action }))
}

fn actor(channel: &str) -> ActorId {
    ActorId::new(Kind::Channel, channel)
}

fn agent_actor(agent: &Agent) -> ActorId {
    ActorId::new(Kind::Agent, actor_of(&Settings::default(), &agent.did).unwrap())
}

/// Rows of the channel itself, without those of the actor machinery.
fn own_rows(world: &World, actor: &ActorId) -> Vec<(Vec<u8>, Vec<u8>)> {
    world.rt.rows(actor).into_iter().filter(|(key, _)| key[0] >= 16).collect()
}

fn deactivate(world: &World, agent: &Agent) {
    world.call("DELETE", "/v1/agent/deactivate", &agent.key, Value::Null).expect(200);
}

#[test]
fn posts_are_sealed_at_rest_and_only_the_channel_has_the_key() {
    let world = World::patient();
    let ada = world.server_agent("Ada");
    let (one, two) = (public(&world, &ada, "one"), public(&world, &ada, "two"));
    let text = "nobody reads this on the disk";
    say(&world, &ada, &one, text).expect(201);
    say(&world, &ada, &two, text).expect(201);
    for actor in world.rt.actors() {
        for (key, value) in world.rt.rows(&actor) {
            let holds = |bytes: &[u8]| bytes.windows(7).any(|part| part == b"nobody ");
            assert!(!holds(&key) && !holds(&value), "{actor} shows the text of a post");
        }
    }
    // Puts the rows of one channel's posts into the other channel. They cannot be opened there, since they were sealed
    // for their own channel.
    let post = |channel: &str| own_rows(&world, &actor(channel)).into_iter().find(|(key, _)| key[0] == 20).unwrap();
    let key = |channel: &str| own_rows(&world, &actor(channel)).into_iter().find(|(key, _)| key[0] == 16).unwrap();
    assert_ne!(post(&one).1, post(&two).1);
    assert_ne!(key(&one).1, key(&two).1);
    assert_eq!(contents(&world, &ada, &one), [text]);
}

/// Decision master-key-file: the channel key moves under the new master key after a rotation.
#[test]
fn a_channel_key_moves_under_a_new_master_key_when_somebody_comes_by() {
    let world = World::patient();
    let ada = world.server_agent("Ada");
    let (read, posted, silent) = (public(&world, &ada, "read"), public(&world, &ada, "posted"), private(&world, &ada));
    for channel in [&read, &posted, &silent] {
        say(&world, &ada, channel, "before").expect(201);
    }
    let master = |byte: u8| MasterKey::new(Secret::new([byte; 32]));
    let replace = |ring: KeyRing| world.rt.environment().secrets.replace(ring);
    replace(KeyRing::new(master(43), vec![master(42)]));
    assert_eq!(contents(&world, &ada, &read), ["before"]);
    say(&world, &ada, &posted, "after").expect(201);
    // The task of a runtime that visits every channel.
    let visit = || crate::channel::key::reseal(&*world.rt, &silent).now_or_never().unwrap().unwrap();
    assert_eq!((visit().resealed, visit().resealed), (1, 0));
    // Without the earlier master key all three channels still open. (The agents' API keys have a MAC of the earlier
    // key.)
    let did = crate::agent::record::did_of(&agent_actor(&ada).name).unwrap();
    replace(KeyRing::new(master(43), Vec::new()));
    for channel in [&read, &posted, &silent] {
        let look = crate::channel::record::ReadChannel { did };
        let seen = runtime::query(&*world.rt, channel.as_str(), &look).now_or_never().unwrap().unwrap();
        let opened = crate::channel::key::ChannelKey::open(&*world.rt, channel, &seen.key);
        assert!(opened.now_or_never().unwrap().is_ok(), "{channel}");
    }
    // With only a different master key, none of them opens.
    replace(KeyRing::new(master(44), Vec::new()));
    let seen = crate::channel::key::reseal(&*world.rt, &read).now_or_never().unwrap().unwrap();
    assert_eq!((seen.resealed, seen.unopened), (0, 1));
}

/// Decision one-deciding-operation: any number of reads, then exactly one deciding operation.
#[test]
fn each_request_makes_one_deciding_operation() {
    let world = World::patient();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let operations = || -> Vec<(Kind, String)> {
        let reads = [
            "authorize",
            "public",
            "peer",
            "has_room",
            "look",
            "posts",
            "memberships",
            "find_channels",
            "invites",
            "keyed/query",
        ];
        let calls = world.rt.calls().into_iter().map(|(actor, name)| (actor.kind, name));
        calls.filter(|(_, name)| !reads.contains(&name.as_str())).collect()
    };
    operations();
    let channel = private(&world, &ada);
    assert_eq!(operations(), [(Kind::Channel, "create".to_owned())]);
    let asked = invite(&world, &ada, &channel, &bob, 1).expect(201);
    assert_eq!(operations(), [(Kind::Channel, "invite".to_owned())]);
    respond(&world, &bob, &asked, "accept").expect(200);
    assert_eq!(operations(), [(Kind::Channel, "respond".to_owned())]);
    say(&world, &bob, &channel, "x").expect(201);
    assert_eq!(operations(), [(Kind::Channel, "post".to_owned())]);
    contents(&world, &ada, &channel);
    mine(&world, &ada);
    invites(&world, &bob, "");
    assert_eq!(operations(), []);
}

/// Decision counts-in-memory.
#[test]
fn the_list_hears_of_posts_once_a_minute_and_members_see_them_at_once() {
    let world = World::patient();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let channel = public(&world, &ada, "busy");
    join(&world, &bob, &channel).expect(200);
    for n in 0..50 {
        say(&world, &ada, &channel, &n.to_string()).expect(201);
    }
    let counts =
        |channel: &Value| (channel["member_count"].as_u64().unwrap(), channel["message_count"].as_u64().unwrap());
    assert_eq!(counts(&listed(&world, "")[0]), (1, 0));
    assert_eq!(counts(&mine(&world, &bob)[0]), (2, 50));
    let list = ActorId::new(Kind::Directory, crate::channel::listing::SHARD);
    let before = world.rt.rows(&list);
    world.wait(59);
    assert_eq!(world.rt.rows(&list), before, "nothing is told within the minute");
    world.wait(1);
    assert_eq!(counts(&listed(&world, "")[0]), (2, 50));
    // A channel without posts tells the list nothing.
    let before = world.rt.rows(&list);
    world.wait(600);
    assert_eq!(world.rt.rows(&list), before);
}

#[test]
fn an_agent_that_ends_leaves_every_channel_and_the_longest_member_follows_an_owner() {
    let world = World::patient();
    let (ada, bob, eve) = (world.server_agent("Ada"), world.server_agent("Bob"), world.server_agent("Eve"));
    // More channels than are left in one step.
    let shared: Vec<String> = (0..70).map(|n| public(&world, &ada, &format!("room-{n}"))).collect();
    for channel in &shared {
        join(&world, &bob, channel).expect(200);
    }
    world.wait(1);
    join(&world, &eve, &shared[0]).expect(200);
    let alone = private(&world, &ada);
    say(&world, &ada, &alone, "last words").expect(201);
    let asked = invite(&world, &ada, &alone, &eve, 1).expect(201);
    assert_eq!(invites(&world, &eve, "").len(), 1);
    deactivate(&world, &ada);

    let left = mine(&world, &bob);
    assert_eq!(left.len(), 70);
    assert!(left.iter().all(|channel| channel["role"] == "owner"), "Bob was there before Eve");
    assert_eq!(mine(&world, &eve)[0]["role"], "member");
    assert_eq!(left.iter().find(|channel| channel["id"] == shared[0]).unwrap()["member_count"], 2);
    world.wait(60);
    assert!(listed(&world, "").iter().all(|channel| channel["creator"] == ada.did));
    // The channel in which she was alone is gone with all its rows, and so is the invite.
    assert_eq!(own_rows(&world, &actor(&alone)), []);
    assert_eq!(invites(&world, &eve, ""), Vec::<Value>::new());
    respond(&world, &eve, &asked, "accept").refused(404, "NOT_FOUND");
    // The posts of an agent that is gone stay in channels that have other members.
    deactivate(&world, &bob);
    assert_eq!(mine(&world, &eve)[0]["role"], "owner");
    assert_eq!(listed(&world, "").len(), 1);
}

#[test]
fn an_agent_is_in_so_many_channels_and_a_channel_has_so_many_members() {
    let settings = [("channels_per_agent", "2"), ("channel_members", "2")];
    let world = World::with(&settings);
    let [ada, bob, eve] = ["Ada", "Bob", "Eve"].map(|name| world.server_agent(name));
    let (one, two) = (public(&world, &ada, "one"), public(&world, &ada, "two"));
    let more = || world.post("/v1/agent/channels", &ada.key, json!({ "name": "three" }));
    more().refused(409, "CONFLICT");
    let other = public(&world, &bob, "other");
    join(&world, &ada, &other).refused(409, "CONFLICT");
    // A member may join again.
    assert_eq!(join(&world, &ada, &one).expect(200)["already_member"], true);
    join(&world, &bob, &one).expect(200);
    join(&world, &eve, &one).refused(409, "CONFLICT");
    let asked = invite(&world, &ada, &two, &bob, 1).expect(201);
    respond(&world, &bob, &asked, "accept").refused(409, "CONFLICT");
    world.post(&format!("/v1/agent/channels/{other}/leave"), &bob.key, Value::Null).expect(200);
    respond(&world, &bob, &asked, "accept").expect(200);
    // Two requests at the same time both see room. The second membership ends again, and a channel created that way
    // ends.
    let race = Join { did: crate::agent::record::did_of(&agent_actor(&ada).name).unwrap() };
    let third = public(&world, &eve, "third");
    runtime::call(&*world.rt, third.as_str(), &race).now_or_never().unwrap().unwrap();
    assert_eq!(mine(&world, &ada).len(), 2);
    assert_eq!(mine(&world, &eve)[0]["member_count"], 1);
}

#[test]
fn when_a_channel_is_full_the_oldest_posts_give_way() {
    let world = World::with(&[("channel_posts", "3"), ("channel_bytes", "2000"), ("agent_burst", "1000")]);
    let ada = world.server_agent("Ada");
    let channel = public(&world, &ada, "small");
    for n in 0..5 {
        say(&world, &ada, &channel, &n.to_string()).expect(201);
    }
    assert_eq!(contents(&world, &ada, &channel), ["2", "3", "4"]);
    assert_eq!(mine(&world, &ada)[0]["message_count"], 3);
    let long = "x".repeat(1_700);
    say(&world, &ada, &channel, &long).expect(201);
    assert_eq!(contents(&world, &ada, &channel), ["4", long.as_str()]);
    // A post that is larger than all the room is kept alone.
    let longer = "y".repeat(5_000);
    say(&world, &ada, &channel, &longer).expect(201);
    assert_eq!(contents(&world, &ada, &channel), [longer]);
}

#[test]
fn an_invite_expires_and_is_forgotten_on_both_sides_after_30_days() {
    let world = World::patient();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let channel = private(&world, &ada);
    let asked = invite(&world, &ada, &channel, &bob, 1).expect(201);
    assert_eq!(asked["expires_at"], "2026-01-01T01:00:00.000Z");
    world.wait(3_599);
    assert_eq!(invites(&world, &bob, "status=pending").len(), 1);
    world.wait(1);
    assert_eq!(invites(&world, &bob, "status=pending"), Vec::<Value>::new());
    assert_eq!(invites(&world, &bob, "status=expired").len(), 1);
    respond(&world, &bob, &asked, "accept").refused(409, "CONFLICT");
    join(&world, &bob, &channel).refused(404, "NOT_FOUND");
    // A second invite may follow, and waits for its own time.
    let again = invite(&world, &ada, &channel, &bob, 168).expect(201);
    assert_ne!(again["id"], asked["id"]);
    world.wait(30 * 86_400);
    assert_eq!(invites(&world, &bob, "").len(), 1);
    respond(&world, &bob, &asked, "accept").refused(404, "NOT_FOUND");
    world.wait(8 * 86_400);
    assert_eq!(invites(&world, &bob, "").len(), 0);
    let tables = |actor: &ActorId| own_rows(&world, actor).iter().map(|(key, _)| key[0]).collect::<Vec<_>>();
    assert_eq!(tables(&actor(&channel)), [16, 17, 18, 19]);
    assert!(!tables(&agent_actor(&bob)).contains(&53));
}

#[test]
fn one_agent_cannot_fill_the_invites_of_another() {
    let world = World::with(&[("channels_per_agent", "1000"), ("agent_burst", "10000")]);
    let [ada, bob, eve] = ["Ada", "Bob", "Eve"].map(|name| world.server_agent(name));
    for n in 0..101 {
        let channel = public(&world, &eve, &format!("spam-{n}"));
        invite(&world, &eve, &channel, &bob, 8_760).expect(201);
        if n == 100 {
            // Bob did not accept the last invite, so the channel has forgotten it.
            assert!(own_rows(&world, &actor(&channel)).iter().all(|(key, _)| ![21, 22, 23].contains(&key[0])));
        }
    }
    assert_eq!(invites(&world, &bob, "").len(), 100);
    let channel = public(&world, &ada, "friendly");
    invite(&world, &ada, &channel, &bob, 1).expect(201);
    assert_eq!(invites(&world, &bob, "").len(), 101);
}

/// Decision signed-registrations: a registration of somebody else's signing key gives way, and nothing of it stays.
#[test]
fn a_registration_that_takes_anothers_place_inherits_no_channels_memory_or_heartbeat() {
    let world = World::patient();
    let bob = world.server_agent("Bob");
    let ada = Client::new("svc", [1; 32], Options::default());
    let mut squatted = ada.key_body(Some("Ada"), 1);
    squatted.as_object_mut().unwrap().retain(|name, _| !name.starts_with("signed"));
    let squatter = Agent::of(&world.post("/v1/agent/register", "", squatted).expect(201));
    let channel = public(&world, &bob, "room");
    join(&world, &squatter, &channel).expect(200);
    let secret = private(&world, &bob);
    invite(&world, &bob, &secret, &squatter, 1).expect(201);
    world.post("/v1/agent/ping", &squatter.key, Value::Null).expect(200);
    world.call("PUT", "/v1/agent/memory/a/b", &squatter.key, json!({ "value": 1 })).expect(200);

    let ada = Agent::of(&world.post("/v1/agent/register", "", ada.key_body(Some("Ada"), 1)).expect(201));
    assert_eq!(ada.did, squatter.did);
    let actor = agent_actor(&ada).name;
    assert_eq!(runtime::query(&*world.rt, actor, &ReadMemberships).now_or_never().unwrap().unwrap(), []);
    assert_eq!(invites(&world, &ada, ""), Vec::<Value>::new());
    assert_eq!(mine(&world, &bob).iter().find(|found| found["id"] == channel).unwrap()["member_count"], 1);
    say(&world, &ada, &channel, "x").refused(403, "FORBIDDEN");
    world.get("/v1/agent/memory/a/b", &ada.key).refused(404, "NOT_FOUND");
    assert_eq!(world.get("/v1/agent/memory", &ada.key).expect(200)["quota"]["used_bytes"], 0);
    assert_eq!(world.get(&format!("/v1/agent/ping/{}", ada.did), "").expect(200)["last_seen"], Value::Null);
}

#[test]
fn a_search_brings_the_very_name_first_then_its_beginnings_then_the_rest() {
    let world = World::patient();
    let ada = world.server_agent("Ada");
    let named = |name: &str, description: &str, topic: &str| {
        world.wait(1);
        make(&world, &ada, json!({ "name": name, "description": description, "topic": topic }));
    };
    named("general", "", "Talk");
    named("general-iran", "", "IR");
    named("news", "in general", "Talk");
    named("attorney-general", "", "law");
    named("other", "", "");
    let names = |query: &str| -> Vec<String> {
        listed(&world, query).iter().map(|channel| channel["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("q=General"), ["general", "general-iran", "attorney-general", "news"]);
    assert_eq!(names("q=general&limit=1"), ["general"]);
    assert_eq!(names("q=general&limit=3"), ["general", "general-iran", "attorney-general"]);
    assert_eq!(names("topic=talk"), ["news", "general"]);
    assert_eq!(names("topic=TALK&q=general"), ["general", "news"]);
    assert_eq!(names("topic=tal"), Vec::<String>::new());
    assert_eq!(names(""), ["other", "attorney-general", "news", "general-iran", "general"]);
    assert_eq!(names("q=%25"), Vec::<String>::new());
}

#[test]
fn the_ids_of_a_channel_its_posts_and_its_invites_begin_with_its_actor() {
    // Decision ids-lead-to-actors.
    let world = World::patient();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let channel = private(&world, &ada);
    let post = say(&world, &ada, &channel, "x").expect(201);
    let asked = invite(&world, &ada, &channel, &bob, 1).expect(201);
    assert_eq!(channel.len(), 22);
    for id in [&post["id"], &asked["id"]] {
        let id = id.as_str().unwrap();
        assert_eq!((id.len(), &id[..23]), (39, format!("{channel}-").as_str()));
        assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'));
    }
}
