use super::*;
use crate::agent::stream::{Framing, OpenStream};
use crate::agent::websocket;
use engine::runtime::Runtime;

#[test]
fn facts_2_and_3_backlog_then_live_in_the_exact_form() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    world.send(&ada, &bob.did, "backlog");
    let mut events = world.events(&bob, "", None);
    let Next::Piece(text) = events.next() else { panic!("no backlog") };
    let raw = &world.messages(&bob, "")[0];
    let (head, rest) = text.split_once('\n').unwrap();
    assert_eq!(head, "event: message");
    let (data, id) = rest.strip_prefix("data: ").unwrap().split_once('\n').unwrap();
    assert_eq!(serde_json::from_str::<Value>(data).unwrap(), *raw);
    assert_eq!(id, "id: 1767225600000000\n\n");
    assert!(!text.contains('\r'));
    assert_eq!(events.next(), Next::Nothing);
    world.send(&ada, &bob.did, "live");
    assert_eq!(events.drain().len(), 1);
    assert_eq!(events.next(), Next::Nothing);
}

#[test]
fn fact_4_a_stream_ends_30_seconds_after_its_own_opening() {
    let world = World::new();
    let bob = world.server_agent("Bob");
    let mut first = world.events(&bob, "", None);
    world.wait(10);
    let mut second = world.events(&bob, "", None);
    world.wait(19);
    assert_eq!((first.next(), second.next()), (Next::Nothing, Next::Nothing));
    world.wait(1);
    assert_eq!(first.next(), Next::Piece("event: reconnect\ndata: {}\n\n".into()));
    assert_eq!((first.next(), second.next()), (Next::End, Next::Nothing));
    world.wait(10);
    assert_eq!(second.next(), Next::Piece("event: reconnect\ndata: {}\n\n".into()));
    assert_eq!(second.next(), Next::End);
}

/// Decision wake-without-data.
#[test]
fn the_last_event_id_wins_over_since_and_nothing_comes_twice() {
    let world = World::patient();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    for n in 0..200 {
        world.send(&ada, &bob.did, &n.to_string());
    }
    let mut events = world.events(&bob, "", None);
    let Next::Piece(page) = events.next() else { panic!() };
    assert_eq!(page.matches("event: message").count(), crate::agent::stream::PAGE_MESSAGES);
    let last = page.rsplit("id: ").next().unwrap().trim().to_owned();
    drop(events);
    let mut events = world.events(&bob, "since=2020-01-01", Some(&last));
    world.send(&ada, &bob.did, "live");
    let got = events.drain();
    assert_eq!(got.len(), 201 - 64);
    let ids: std::collections::BTreeSet<_> = got.iter().map(|(_, m)| m["id"].clone().to_string()).collect();
    assert_eq!(ids.len(), got.len());
    let stamps: Vec<&str> = got.iter().map(|(_, m)| m["timestamp"].as_str().unwrap()).collect();
    assert!(stamps.is_sorted());
    let since = stamps[got.len() - 2];
    assert_eq!(world.events(&bob, &format!("since={since}"), None).drain().len(), 1);
    // A cursor that cannot be parsed counts as absent, since clients repeat a refused connection for ever.
    assert_eq!(world.events(&bob, "since=nonsense", Some("nonsense")).drain().len(), 201);
}

#[test]
fn a_page_of_a_stream_is_bounded_in_bytes() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    for _ in 0..5 {
        world.send(&ada, &bob.did, &"x".repeat(65_536));
    }
    let mut events = world.events(&bob, "", None);
    let Next::Piece(page) = events.next() else { panic!() };
    // The message is larger than the setting `stream_bytes`, so it is alone on its page.
    assert_eq!(page.matches("event: message").count(), 1);
    assert_eq!(events.drain().len(), 4);
}

#[test]
fn a_stream_filters_by_sender_and_leaves_out_what_is_read() {
    let world = World::new();
    let (ada, bob, eve) = (world.server_agent("Ada"), world.server_agent("Bob"), world.server_agent("Eve"));
    let mut events = world.events(&bob, &format!("from={}", eve.did), None);
    let mut none = world.events(&bob, "from=nobody", None);
    let read = world.send(&eve, &bob.did, "read")["id"].as_str().unwrap().to_owned();
    world.post(&format!("/v1/agent/messages/{read}/read"), &bob.key, Value::Null).expect(200);
    world.send(&ada, &bob.did, "other");
    world.send(&eve, &bob.did, "mine");
    let got = events.drain();
    assert_eq!(got.len(), 1);
    assert_eq!(got[0].1["from"], eve.did);
    assert_eq!(none.next(), Next::Nothing);
}

/// Decision stream-lifetimes.
#[test]
fn streams_are_served_in_opening_order() {
    use crate::agent::stream::{Emission, Hub};
    use engine::actor::{ActorId, Kind, View};
    use engine::kv::{Batch, MemoryStore, Store};
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let settings = &world.rt.environment().settings;
    let actor = ActorId::new(Kind::Agent, crate::agent::wire::actor_of(settings, &bob.did).unwrap());
    world.send(&ada, &bob.did, "x");
    let mut batch = Batch::default();
    for (key, value) in world.rt.rows(&actor) {
        batch.put(key, value);
    }
    let mut rows = MemoryStore::default();
    rows.apply(batch).unwrap();
    let mut hub = Hub::default();
    let open = OpenStream { agent: actor.name.clone(), version: 1, after: None, from: None, framing: Framing::Sse };
    let ids: Vec<_> = (0..5).map(|_| hub.open(open.clone(), world.rt.now())).collect();
    hub.close(ids[1]);
    let view = View::new(&crate::testing::PROGRAM, &actor, &rows, world.rt.now(), settings);
    let mut order = Vec::new();
    // The third stream is still busy with an earlier page: it gets this one when it is ready.
    let next = hub.turn(&view, &mut |id| id != ids[2], &mut |id, _| order.push(id)).unwrap();
    assert_eq!(order, [ids[0], ids[3], ids[4]]);
    assert_eq!(next, Some(world.rt.now().plus(30 * engine::time::SECOND)));
    let mut order = Vec::new();
    hub.turn(&view, &mut |_| true, &mut |id, _| order.push(id)).unwrap();
    assert_eq!(order, [ids[2]]);
    assert_eq!(hub.state(ids[2]).unwrap().after, Some(world.rt.now()));
    // All end at their time, whether they are ready or not.
    let later =
        View::new(&crate::testing::PROGRAM, &actor, &rows, world.rt.now().plus(30 * engine::time::SECOND), settings);
    let mut last = 0;
    let ended = hub.turn(&later, &mut |_| false, &mut |_, emission| {
        assert!(matches!(emission, Emission::Last(..)));
        last += 1;
    });
    assert_eq!((ended.unwrap(), last, hub.is_empty()), (None, 4, true));
}

/// Decision stream-lifetimes.
#[test]
fn a_connect_is_never_429_and_its_401_touches_no_storage() {
    let world = World::with(&[("agent_per_second", "1"), ("agent_burst", "1")]);
    let bob = world.server_agent("Bob");
    world.get("/v1/agent/profile", &bob.key).expect(200);
    world.get("/v1/agent/profile", &bob.key).refused(429, "RATE_LIMITED");
    for _ in 0..20 {
        world.events(&bob, "", None);
    }
    world.rt.close(true);
    let refused = world.response("GET", "/v1/agent/receive/sse", &[("x-agent-key", "svc_agent_wrong")], b"");
    assert_eq!(refused.status, 401);
}

/// Decision stream-lifetimes.
#[test]
fn a_connect_is_held_20_seconds_while_storage_is_closed() {
    let world = World::new();
    let bob = world.server_agent("Bob");
    world.rt.close(true);
    let before = world.rt.now();
    let held = world.response("GET", "/v1/agent/receive/sse", &[("x-agent-key", &bob.key)], b"");
    assert_eq!(held.status, 503);
    assert_eq!(world.rt.now().since(before), 20 * engine::time::SECOND);
    // Other routes answer that at once.
    world.get("/v1/agent/profile", &bob.key).refused(503, "UNAVAILABLE");
    assert_eq!(world.rt.now().since(before), 20 * engine::time::SECOND);
}

/// Decision caller-rate-limits.
#[test]
fn head_never_opens_a_stream() {
    let world = World::new();
    let bob = world.server_agent("Bob");
    let answer = world.response("HEAD", "/v1/agent/receive/sse", &[("x-agent-key", &bob.key)], b"");
    assert_eq!(answer.status, 405);
    assert_eq!(answer.headers["allow"], "GET, OPTIONS");
}

/// Decision websocket-receive.
#[test]
fn a_websocket_opens_by_header_or_first_frame() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    world.send(&ada, &bob.did, "one");
    let open = |header: Option<&str>, since: Option<&str>, frame: Option<&str>| {
        websocket::open(&*world.rt, header, since, frame).now_or_never().unwrap()
    };
    let by_header = open(Some(&bob.key), None, None).unwrap();
    let frame = json!({ "api_key": bob.key }).to_string();
    assert_eq!(open(None, None, Some(&frame)).unwrap(), by_header);
    let mut stream = world.rt.stream(by_header).now_or_never().unwrap().unwrap();
    let page = stream.next().now_or_never().unwrap().unwrap();
    let lines: Vec<&[u8]> = page.split(|byte| *byte == b'\n').collect();
    assert_eq!((lines.len(), lines[1]), (2, &b""[..]));
    let message: Value = serde_json::from_slice(lines[0]).unwrap();
    assert_eq!(message["event"], "message");
    assert_eq!(message["data"], world.messages(&bob, "")[0]);
    // A WebSocket does not end by itself.
    world.wait(3_600);
    world.send(&ada, &bob.did, "two");
    assert!(stream.next().now_or_never().unwrap().is_some());
    // A stream can go on after a frame's id, or after a timestamp.
    for since in [message["id"].as_str().unwrap(), message["data"]["timestamp"].as_str().unwrap()] {
        let frame = json!({ "api_key": bob.key, "since": since }).to_string();
        let opened = open(None, None, Some(&frame)).unwrap();
        assert_eq!(opened.after.unwrap().0.to_string(), message["id"].as_str().unwrap());
    }
    for frame in [None, Some("{"), Some("{}"), Some("{\"api_key\":\"svc_agent_wrong\"}"), Some("[]")] {
        let error = open(None, None, frame).unwrap_err();
        assert_eq!(websocket::close_code(&error), websocket::REFUSED, "{frame:?}");
    }
    let long = json!({ "api_key": bob.key, "x": "x".repeat(websocket::MAX_FIRST_FRAME) }).to_string();
    assert!(open(None, None, Some(&long)).is_err());
    world.get("/v1/agent/receive/ws", "").refused(400, "BAD_REQUEST");
    world.rt.close(true);
    let error = open(Some(&bob.key), None, None).unwrap_err();
    assert_eq!(websocket::close_code(&error), websocket::TRY_LATER);
}

#[test]
fn deactivation_ends_open_streams() {
    let world = World::new();
    let bob = world.server_agent("Bob");
    let mut events = world.events(&bob, "", None);
    assert_eq!(events.next(), Next::Nothing);
    world.call("DELETE", "/v1/agent/deactivate", &bob.key, Value::Null).expect(200);
    assert!(matches!(events.next(), Next::Piece(_)));
    assert_eq!(events.next(), Next::End);
}
