use super::*;

fn ask(world: &World, from: &Agent, to: &str, more: Value) -> Answer {
    let mut body = json!({ "to": to });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    world.post("/v1/agent/tasks", &from.key, body)
}

fn list(world: &World, agent: &Agent, role: &str) -> Vec<Value> {
    let page = world.get(&format!("/v1/agent/tasks?role={role}&limit=100"), &agent.key).expect(200);
    page["tasks"].as_array().unwrap().clone()
}

fn step(world: &World, agent: &Agent, task: &Value, status: &str) {
    let path = format!("/v1/agent/tasks/{}", task["id"].as_str().unwrap());
    world.call("PATCH", &path, &agent.key, json!({ "status": status })).expect(200);
}

/// The rows of tasks and broadcasts at an agent.
fn rows(world: &World, agent: &Agent) -> usize {
    let id = crypto::encoding::parse_did("svc", &agent.did).unwrap();
    let actor = engine::actor::ActorId::new(engine::actor::Kind::Agent, crypto::encoding::actor_id(&id));
    let kept = [60, 61, 62, 63, 64, 66, 67, 68, 69, 70, 71];
    world.rt.rows(&actor).iter().filter(|(key, _)| kept.contains(&key[0])).count()
}

#[test]
fn a_settled_task_is_forgotten_after_30_days_and_leaves_nothing_on_either_side() {
    let world = World::patient();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let task = ask(&world, &ada, &bob.did, json!({ "input": "x", "expires_in": 60 })).expect(201);
    step(&world, &bob, &task, "completed");
    world.wait(30 * 86_400 - 1);
    assert_eq!((list(&world, &ada, "requester").len(), list(&world, &bob, "assignee").len()), (1, 1));
    world.wait(2);
    assert_eq!((rows(&world, &ada), rows(&world, &bob)), (0, 0));
    let path = format!("/v1/agent/tasks/{}", task["id"].as_str().unwrap());
    world.get(&path, &ada.key).refused(404, "NOT_FOUND");
}

/// Decision task-moves: an expired task has failed, and a broadcast is completed when all its tasks are final.
#[test]
fn a_broadcast_ends_when_the_last_task_is_out_of_time() {
    let world = World::patient();
    let (ada, bob, carl) = (world.server_agent("Ada"), world.server_agent("Bob"), world.server_agent("Carl"));
    for agent in [&bob, &carl] {
        world.post("/v1/agent/capabilities", &agent.key, json!({ "name": "maps" })).expect(201);
    }
    let body = json!({ "capability": "maps", "expires_in": 60 });
    let made = world.post("/v1/agent/tasks/broadcast", &ada.key, body).expect(201);
    step(&world, &bob, &list(&world, &bob, "assignee")[0], "completed");
    let path = format!("/v1/agent/tasks/broadcasts/{}", made["broadcast_id"].as_str().unwrap());
    let seen = || world.get(&path, &ada.key).expect(200)["broadcast"].clone();
    assert_eq!((&seen()["status"], &seen()["tasks_completed"]), (&json!("active"), &json!(1)));
    world.wait(61);
    assert_eq!((&seen()["status"], &seen()["tasks_failed"]), (&json!("completed"), &json!(1)));
}

#[test]
fn one_requester_fills_a_tenth_of_an_assignee_and_no_more() {
    let world = World::patient();
    let (ada, bob, carl) = (world.server_agent("Ada"), world.server_agent("Bob"), world.server_agent("Carl"));
    for _ in 0..1_000 {
        ask(&world, &ada, &bob.did, json!({})).expect(201);
    }
    ask(&world, &ada, &bob.did, json!({})).refused(409, "CONFLICT");
    ask(&world, &carl, &bob.did, json!({})).expect(201);
    // Settled tasks make room after their time.
    for task in list(&world, &ada, "requester").iter().take(1) {
        step(&world, &ada, task, "cancelled");
    }
    world.wait(31 * 86_400);
    ask(&world, &ada, &bob.did, json!({})).expect(201);
}

#[test]
fn an_agent_that_ends_leaves_no_rows_and_lets_every_requester_know() {
    let world = World::patient();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    world.post("/v1/agent/capabilities", &ada.key, json!({ "name": "maps" })).expect(201);
    for _ in 0..70 {
        ask(&world, &ada, &bob.did, json!({ "input": "x" })).expect(201);
        ask(&world, &bob, &ada.did, json!({})).expect(201);
    }
    for _ in 0..7 {
        world.post("/v1/agent/tasks/broadcast", &bob.key, json!({ "capability": "maps" })).expect(201);
    }
    world.call("DELETE", "/v1/agent/deactivate", &bob.key, Value::Null).expect(200);
    world.wait(1);
    assert_eq!(rows(&world, &bob), 0);
    let asked = list(&world, &ada, "requester");
    assert_eq!(asked.len(), 70);
    assert!(asked.iter().all(|task| task["status"] == "failed"));
    assert_eq!(list(&world, &ada, "assignee").len(), 77);
}

/// Decision counts-in-memory: counts reach the directory once a minute, and the rank comes with them.
#[test]
fn the_search_hears_of_invocations_a_minute_later() {
    let world = World::patient();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    world.post("/v1/agent/capabilities", &bob.key, json!({ "name": "maps" })).expect(201);
    let invocations =
        || world.get("/v1/agent/capabilities/search?q=maps", "").expect(200)["results"][0]["invocations"].clone();
    for _ in 0..3 {
        ask(&world, &ada, &bob.did, json!({ "capability": "Maps" })).expect(201);
    }
    assert_eq!(invocations(), 0);
    world.wait(60);
    assert_eq!(invocations(), 3);
}
