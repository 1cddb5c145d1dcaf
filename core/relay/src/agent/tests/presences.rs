use super::*;

fn look(world: &World, agent: &Agent) -> Value {
    world.get(&format!("/v1/agent/ping/{}", agent.did), "").expect(200)
}

fn ping(world: &World, agent: &Agent) -> Value {
    world.post("/v1/agent/ping", &agent.key, Value::Null).expect(200)
}

/// Decision private-activity.
#[test]
fn only_the_last_heartbeat_shows_and_it_ages() {
    let world = World::patient();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let never = look(&world, &ada);
    assert_eq!((&never["online_status"], &never["last_seen"]), (&json!("offline"), &Value::Null));
    assert_eq!(never["minutes_since_seen"], Value::Null);
    assert!(never.get("message_count").is_none());
    ping(&world, &ada);
    for (after, status, minutes) in [(0, "online", 0), (299, "online", 4), (1, "idle", 5), (3_299, "idle", 59)] {
        world.wait(after);
        // Nothing else that she does is a heartbeat.
        world.send(&ada, &bob.did, "hello");
        world.get("/v1/agent/profile", &ada.key).expect(200);
        let seen = look(&world, &ada);
        assert_eq!((&seen["online_status"], &seen["minutes_since_seen"]), (&json!(status), &json!(minutes)));
        assert_eq!(seen["last_seen"], "2026-01-01T00:00:00.000Z");
    }
    world.wait(1);
    assert_eq!(look(&world, &ada)["online_status"], "offline");
    world.wait(2 * 86_400);
    let pong = ping(&world, &ada);
    assert_eq!(pong["uptime"], json!({ "days": 2, "hours": 1 }));
    assert_eq!(look(&world, &ada)["last_seen"], pong["server_time"]);
    assert_eq!(look(&world, &ada)["uptime_days"], 2);
}

/// Decision private-activity.
#[test]
fn presence_can_be_switched_off_in_the_profile() {
    let world = World::patient();
    let ada = world.server_agent("Ada");
    assert_eq!(world.get("/v1/agent/profile", &ada.key).expect(200)["presence"], true);
    ping(&world, &ada);
    let change = |on: bool| world.call("PATCH", "/v1/agent/profile", &ada.key, json!({ "presence": on })).expect(200);
    assert_eq!(change(false)["presence"], false);
    let hidden = || {
        let seen = look(&world, &ada);
        assert_eq!((&seen["online_status"], &seen["last_seen"]), (&json!("offline"), &Value::Null));
        assert_eq!(seen["minutes_since_seen"], Value::Null);
    };
    hidden();
    let pong = ping(&world, &ada);
    assert_eq!((&pong["pong"], &pong["status"]), (&json!(true), &json!("hidden")));
    hidden();
    // A change of something else does not bring it back, and switching it on shows nothing from before.
    world.call("PATCH", "/v1/agent/profile", &ada.key, json!({ "metadata": {} })).expect(200);
    hidden();
    assert_eq!(change(true)["presence"], true);
    hidden();
    ping(&world, &ada);
    assert_eq!(look(&world, &ada)["online_status"], "online");
    world.call("DELETE", "/v1/agent/deactivate", &ada.key, Value::Null).expect(200);
    hidden();
}

/// Decision counts-in-memory: `relay/info` and `agent/stats` show the sums that agents told.
#[test]
fn relay_info_and_stats_count_agents_and_the_messages_they_sent() {
    let world = World::patient();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    (0..3).for_each(|n| drop(world.send(&ada, &bob.did, &n.to_string())));
    world.send(&bob, &ada.did, "back");
    crate::agent::usage::flush(&*world.rt).now_or_never().unwrap().unwrap();
    world.wait(61);
    let info = world.get("/v1/relay/info", "").expect(200);
    assert_eq!(info["stats"], json!({ "agents": 2, "messages": 4 }));
    let stats = world.get("/v1/agent/stats", "").expect(200);
    assert_eq!((&stats["stats"]["total_agents"], &stats["stats"]["total_messages"]), (&json!(2), &json!(4)));
    assert!(stats["relay"]["identity"].as_str().unwrap().contains("base58"), "the form of the identity");
}
