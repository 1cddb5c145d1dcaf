//! Names: names that look alike count as one, a failed request keeps no name, and a name that two agents held goes to
//! the older one.

use serde_json::json;

use super::*;
use engine::actor::{ActorId, Kind};
use engine::kv::{self, Batch};

fn register(world: &World, name: &str) -> Answer {
    world.post("/v1/agent/register", "", json!({ "name": name }))
}

#[test]
fn a_name_that_looks_like_a_taken_one_is_409_and_one_that_cannot_be_seen_400() {
    let world = World::new();
    let ada = world.server_agent("Café Straße");
    let bob = world.server_agent("Bob");
    for alike in ["CAFE\u{301} STRASSE", "Ｃafé  Straße", "café\u{A0}straße"] {
        register(&world, alike).refused(409, "CONFLICT");
        world.call("PATCH", "/v1/agent/profile", &bob.key, json!({ "name": alike })).refused(409, "CONFLICT");
        // The holder may write its name in this way.
        world.call("PATCH", "/v1/agent/profile", &ada.key, json!({ "name": alike })).expect(200);
    }
    for bad in ["a\u{202E}b", "a\u{200B}b", "a\u{200D}b", "a\u{FEFF}", "a\u{7}b", "\u{2800}"] {
        register(&world, bad).refused(400, "BAD_REQUEST");
        world.call("PATCH", "/v1/agent/profile", &bob.key, json!({ "name": bad })).refused(400, "BAD_REQUEST");
        // A name of white space only is no name; inside a name white space is visible.
        if bad != "\u{2800}" {
            let channel = json!({ "name": format!("abc{bad}d") });
            world.post("/v1/agent/channels", &bob.key, channel).refused(400, "BAD_REQUEST");
            let capability = json!({ "name": bad });
            world.post("/v1/agent/capabilities", &bob.key, capability).refused(400, "BAD_REQUEST");
        }
    }
    register(&world, "\u{645}\u{6CC}\u{200C}\u{62E}\u{648}\u{627}\u{647}\u{645}").expect(201);
    register(&world, "\u{645}\u{6CC}\u{62E}\u{648}\u{627}\u{647}\u{645}").refused(409, "CONFLICT");
}

/// Otherwise names could be kept from others without cost, a minute at a time.
#[test]
fn a_registration_a_rename_and_a_username_that_fail_keep_no_name() {
    let world = World::new();
    let (client, owner) = world.client(9, Options::default());
    let again = client.key_body(Some("Wanted"), 1);
    world.post("/v1/agent/register", "", again).refused(409, "CONFLICT");
    register(&world, "wanted").expect(201);

    let ada = world.server_agent("Ada");
    world.post("/v1/agent/username", &ada.key, json!({ "username": "first" })).expect(201);
    world.post("/v1/agent/username", &ada.key, json!({ "username": "second" })).refused(409, "CONFLICT");
    world.post("/v1/agent/username", &owner.key, json!({ "username": "second" })).expect(201);
    // The agent keeps a username that it has when it asks for it again.
    world.post("/v1/agent/username", &ada.key, json!({ "username": "first" })).expect(201);
    world.get("/v1/agent/username/first", "").expect(200);
}

#[test]
fn of_two_agents_with_one_name_from_before_the_older_keeps_it_and_the_other_has_none() {
    let world = World::new();
    let older = world.server_agent("Straße");
    let directory = ActorId::new(Kind::Directory, "0");
    // The row of an earlier version: under the letters in lower case.
    let mut batch = Batch::default();
    let (from, to) = (b"strasse".as_slice(), "straße".as_bytes());
    for (key, value) in world.rt.rows(&directory) {
        if key[0] == 16 && key.windows(from.len()).any(|part| part == from) {
            batch.put([&[16], to, &key[1 + from.len()..]].concat(), value);
            batch.delete(key);
        }
    }
    world.rt.edit(&directory, batch);
    world.wait(1);
    let younger = world.server_agent("STRASSE");
    let name = |agent: &Agent| world.get("/v1/agent/profile", &agent.key).expect(200)["name"].clone();
    assert_eq!((name(&older), name(&younger)), (json!("Straße"), json!("STRASSE")));
    let mut batch = Batch::default();
    batch.put(vec![14], kv::encode_row(&2_u64).unwrap());
    world.rt.edit(&directory, batch);
    // The first operation after the upgrade may be of any agent.
    world.server_agent("Somebody");
    world.wait(1);
    assert_eq!((name(&older), name(&younger)), (json!("Straße"), Value::Null));
    for taken in ["straße", "strasse"] {
        register(&world, taken).refused(409, "CONFLICT");
    }
    let found = world.get("/v1/agent/discover?query=stra", "").expect(200);
    assert_eq!((&found["count"], &found["agents"][0]["did"]), (&json!(1), &json!(older.did)));
}

#[test]
fn a_capability_from_before_keeps_its_id_under_another_spelling() {
    let world = World::new();
    let ada = world.server_agent("Ada");
    let offer = |name: &str| world.post("/v1/agent/capabilities", &ada.key, json!({ "name": name }));
    let first = offer("Straße").expect(201);
    assert_eq!(offer("STRASSE").expect(200)["id"], first["id"]);
    assert_eq!(world.get("/v1/agent/capabilities", &ada.key).expect(200)["count"], 1);
    let path = format!("/v1/agent/capabilities/{}", first["id"].as_str().unwrap());
    world.call("DELETE", &path, &ada.key, Value::Null).expect(200);
    assert_ne!(offer("strasse").expect(201)["id"], first["id"]);
}
