//! Federation: relay info, routing, peers that are honest and peers that lie or flood (spec relay 15; ruling 13).

use std::time::{Duration, Instant};

use heliograph_core::crypto::signing;
use heliograph_tests::client::Client;
use heliograph_tests::peer::{FakePeer, Stranger, route_body, verified};
use heliograph_tests::relay::{Agent, SdkAgent, base64, letter, look_up, micros, text, to_raw};
use heliograph_tests::target::{Kind, Target};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    minimum_fields_of_relay_info_and_peers_are_there,
    ruling_21_head_makes_no_key,
    a_routed_message_for_an_agent_here_arrives_as_any_other,
    a_routed_message_that_is_repeated_is_one_message,
    malformed_messages_are_not_routed,
    the_operator_makes_lists_and_ends_peers,
    peers_inside_or_with_bad_keys_are_refused,
    ruling_13_a_did_unknown_here_is_asked_once_from_each_peer,
    ruling_13_an_answer_holds_five_minutes_also_a_negative_one,
    ruling_13_a_key_that_does_not_give_the_did_is_not_accepted,
    what_no_relay_would_say_of_an_agent_is_not_believed,
    a_did_that_is_local_here_is_asked_nowhere,
    a_question_of_a_peer_is_not_forwarded,
    questions_of_one_client_are_limited,
    ordinary_sends_to_an_agent_of_a_peer_are_404,
    a_message_for_an_agent_of_a_peer_is_delivered_and_its_sender_sees_it,
    a_peer_that_cannot_take_a_message_now_is_tried_again,
    a_peer_that_refuses_a_message_ends_it,
    a_message_for_a_peer_must_be_signed_by_its_sender,
    a_message_waits_no_longer_for_a_peer_that_was_removed,
    the_state_of_a_message_is_its_senders_alone,
    a_delivered_message_shows_as_a_local_one,
    ruling_13_an_exact_repeat_gets_the_same_answer,
    ruling_13_another_body_under_the_same_delivery_id_is_refused,
    ruling_13_deliveries_that_are_not_signed_right_are_refused,
    ruling_13_deliveries_out_of_their_time_are_refused,
    a_peer_cannot_bring_what_its_agent_did_not_write,
    a_peer_cannot_bring_messages_of_agents_here,
    a_peer_cannot_claim_the_agents_of_another,
    ruling_13_what_a_peer_brings_for_others_is_not_forwarded,
    the_operator_vouches_for_a_rotated_key,
    a_peer_that_floods_is_held_up_before_others_are,
    a_peer_that_changed_its_key_is_known_by_the_new_one,
    a_delivery_over_its_limit_is_413,
];

/// What lets a deployment reach the peers of these tests.
const LOOPBACK: &[(&str, &str)] = &[("allow_outbound", "127.0.0.0/8")];

fn fresh(suite: &Suite) -> (Target, Client) {
    let target = suite.fresh(LOOPBACK);
    let client = target.client();
    (target, client)
}

fn sdk(client: &Client) -> SdkAgent {
    SdkAgent::new(client, Default::default())
}

/// Waits until `done` has something to say.
#[track_caller]
fn until<T>(target: &Target, mut done: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        target.reach_out();
        if let Some(found) = done() {
            return found;
        }
        assert!(Instant::now() < end, "it never came so far");
    }
}

/// The state of a message for a peer once it is none of `not`.
#[track_caller]
fn settled(target: &Target, agent: &Agent, routed: &Value, done: impl Fn(&Value) -> bool) -> Value {
    let path = format!("/v1/relay/route/{}", text(routed, "id"));
    until(target, || Some(agent.client.get(&path).expect(200)).filter(|state| done(state)))
}

/// Spec relay 15, 20.
fn minimum_fields_of_relay_info_and_peers_are_there(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let info = client.get("/v1/relay/info").expect(200);
    for name in ["name", "protocol", "encryption", "identity_format", "url"] {
        assert!(info["relay"][name].is_string(), "{name} of {info}");
    }
    assert!(info["relay"]["features"].as_array().unwrap().iter().all(Value::is_string));
    assert!(info["stats"].get("agents").is_some() && info["stats"].get("messages").is_some(), "{info}");
    assert_eq!(info["federation"]["accepts_peers"], false);
    assert!(info["federation"]["sync_protocol"].is_string());
    assert_eq!(client.get("/v1/relay/info").expect(200), info, "the key is made once");
    assert_eq!(client.get("/v1/relay/peers").expect(200), json!({ "peers": [], "total": 0 }));
    let peer = FakePeer::start();
    peer.befriend(&client);
    assert_eq!(client.get("/v1/relay/info").expect(200)["federation"]["accepts_peers"], true);
    let list = client.get("/v1/relay/peers").expect(200);
    assert_eq!(list["total"], 1);
    assert_eq!(
        list["peers"][0],
        json!({
            "relay_name": "fake", "relay_url": peer.source.base, "status": "new", "agents_synced": 0,
            "messages_routed": 0,
        })
    );
}

/// Ruling foundation-relay 21: HEAD never runs what writes.
fn ruling_21_head_makes_no_key(suite: &Suite) {
    let (_target, client) = fresh(suite);
    assert_eq!(client.send("HEAD", "/v1/relay/info", None, b"").status, 200);
    let key = client.get("/v1/relay/info").expect(200)["relay"]["public_key"].clone();
    assert_eq!(heliograph_tests::relay::bytes(&key).len(), 32);
}

/// Spec relay 15: the envelope reproduces the signed text, so the recipient finds the signature valid.
fn a_routed_message_for_an_agent_here_arrives_as_any_other(suite: &Suite) {
    let client = suite.client();
    let (ada, mut bob, carol) = (sdk(&client), sdk(&client), Agent::server_side(&client));
    let body = route_body(&ada.sdk, &look_up(&client, &bob.agent.did), "over here");
    let routed = ada.agent.client.post("/v1/relay/route", &body).expect(201);
    assert_eq!((&routed["routed"], &routed["status"]), (&json!(true), &json!("delivered")));
    assert!(text(&routed, "destination").starts_with("http"));
    let raw = bob.agent.raw().remove(0);
    assert_eq!((&raw["id"], &raw["thread_id"]), (&routed["id"], &json!("across")));
    assert_eq!(
        (&raw["ciphertext"], &raw["nonce"], &raw["signature"]),
        (&body["ciphertext"], &body["nonce"], &body["signature"])
    );
    assert_eq!(bob.texts(), ["over here"]);

    // Both spellings of what is two words.
    let mut body = route_body(&ada.sdk, &look_up(&client, &carol.did), "Grüße");
    let members = body.as_object_mut().unwrap();
    members.remove("content_type");
    members.remove("thread_id");
    members.insert("contentType".to_owned(), json!("text/markdown"));
    members.insert("threadId".to_owned(), json!("t-1"));
    ada.agent.client.post("/v1/relay/route", &body).expect(201);
    let got = carol.inbox().remove(0);
    assert_eq!((&got["content"], &got["signature_valid"]), (&json!("Grüße"), &json!(true)));
    assert_eq!((&got["content_type"], &got["thread_id"]), (&json!("text/markdown"), &json!("t-1")));
}

fn a_routed_message_that_is_repeated_is_one_message(suite: &Suite) {
    let client = suite.client();
    let (ada, bob) = (sdk(&client), Agent::server_side(&client));
    let body = route_body(&ada.sdk, &look_up(&client, &bob.did), "once");
    let first = ada.agent.client.post("/v1/relay/route", &body).expect(201);
    assert_eq!(ada.agent.client.post("/v1/relay/route", &body).expect(201), first);
    assert_eq!(bob.raw().len(), 1);
}

fn malformed_messages_are_not_routed(suite: &Suite) {
    let client = suite.client();
    let (ada, bob) = (sdk(&client), sdk(&client));
    let good = route_body(&ada.sdk, &look_up(&client, &bob.agent.did), "x");
    client.post("/v1/relay/route", &good).expect_error(401, "UNAUTHORIZED");
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        body
    };
    for body in [
        json!({}),
        with("ciphertext", json!("")),
        with("ciphertext", json!("__8=")),
        with("nonce", json!("AAAA")),
        with("signature", json!("AAAA")),
        with("signature", json!(null)),
        with("ttl", json!(0)),
        with("thread_id", json!("x".repeat(1_025))),
    ] {
        ada.agent.client.post("/v1/relay/route", &body).expect_error(400, "BAD_REQUEST");
    }
    for to in ["did:svc:nobody", "did:key:z6Mk", "", Stranger::new().did()] {
        ada.agent.client.post("/v1/relay/route", &with("to", json!(to))).expect_error(404, "NOT_FOUND");
    }
    bob.agent.client.delete("/v1/agent/deactivate").expect(200);
    ada.agent.client.post("/v1/relay/route", &good).expect_error(404, "NOT_FOUND");
}

fn the_operator_makes_lists_and_ends_peers(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let (one, two) = (FakePeer::start(), FakePeer::start());
    let (first, second) = (one.befriend(&client), two.befriend(&client));
    assert_eq!(one.befriend(&client), first, "the same again");
    let list = client.admin().get("/v1/admin/peers").expect(200);
    let ids: Vec<&str> = list["peers"].as_array().unwrap().iter().map(|peer| text(peer, "id")).collect();
    assert_eq!((ids, &list["total"]), (vec![first.as_str(), &second], &json!(2)));
    assert_eq!(list["peers"][0]["public_key"], one.public_key());
    let taken = json!({ "url": two.source.base, "public_key": one.public_key() });
    client.admin().post("/v1/admin/peers", &taken).expect_error(409, "CONFLICT");
    client.post("/v1/admin/peers", &taken).expect_error(401, "UNAUTHORIZED");
    client.get("/v1/admin/peers").expect_error(401, "UNAUTHORIZED");
    client.delete(&format!("/v1/admin/peers/{first}")).expect_error(401, "UNAUTHORIZED");
    client.post("/v1/admin/relay-key", &json!({})).expect_error(401, "UNAUTHORIZED");
    client.admin().delete(&format!("/v1/admin/peers/{first}")).expect(200);
    client.admin().delete(&format!("/v1/admin/peers/{first}")).expect_error(404, "NOT_FOUND");
    let by_address = two.source.base.replace('/', "%2F");
    client.admin().delete(&format!("/v1/admin/peers/{by_address}")).expect(200);
    assert_eq!(client.get("/v1/relay/peers").expect(200)["total"], 0);
}

fn peers_inside_or_with_bad_keys_are_refused(suite: &Suite) {
    let admin = suite.client().admin();
    let key = base64(&signing::signing_public_key(&heliograph_core::crypto::Secret::new([9; 32])));
    for url in [
        "http://relay.example.org",
        "http://127.0.0.1:8080",
        "https://127.0.0.1",
        "https://169.254.169.254",
        "https://localhost",
        "https://user@relay.example.org",
        "https://relay.example.org:22",
        "https://relay.example.org/?x=1",
        "https://relay.example.org/#x",
        "relay.example.org",
        "",
    ] {
        let body = json!({ "url": url, "public_key": key });
        admin.post("/v1/admin/peers", &body).expect_error(400, "BAD_REQUEST");
    }
    let own = admin.get("/v1/relay/info").expect(200)["relay"]["public_key"].clone();
    for key in [json!(null), json!(""), json!("AAAA"), json!(base64(&[0; 32])), own] {
        let body = json!({ "url": "https://relay.example.org", "public_key": key });
        admin.post("/v1/admin/peers", &body).expect_error(400, "BAD_REQUEST");
    }
}

/// Ruling foundation-relay 13.
fn ruling_13_a_did_unknown_here_is_asked_once_from_each_peer(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let (one, two, xena) = (FakePeer::start(), FakePeer::start(), Stranger::new());
    one.befriend(&client);
    two.befriend(&client);
    two.has(&[xena.identity()], 201);
    let nobody = Stranger::new();
    for _ in 0..3 {
        let found = client.get(&format!("/v1/agent/identity/{}", xena.did())).expect(200);
        assert_eq!(found["encryption_public_key"], xena.identity()["encryption_public_key"]);
        assert_eq!((&found["relay"], &found["did"]), (&json!(two.source.base), &json!(xena.did())));
        client.get(&format!("/v1/agent/identity/{}", nobody.did())).expect_error(404, "NOT_FOUND");
    }
    for peer in [&one, &two] {
        assert_eq!((peer.questions(xena.did()), peer.questions(nobody.did())), (1, 1));
    }
    let ada = Agent::server_side(&client);
    assert!(client.get(&format!("/v1/agent/identity/{}", ada.did)).expect(200).get("relay").is_none());
    assert_eq!(client.get("/v1/relay/peers").expect(200)["peers"][1]["agents_synced"], 1);
}

/// Ruling foundation-relay 13. Only in memory does time pass as a test wants.
fn ruling_13_an_answer_holds_five_minutes_also_a_negative_one(suite: &Suite) {
    if suite.kind != Kind::Memory {
        return;
    }
    let (_target, client) = fresh(suite);
    let (peer, xena, nobody) = (FakePeer::start(), Stranger::new(), Stranger::new());
    peer.befriend(&client);
    peer.has(&[xena.identity()], 201);
    let ask = || {
        client.get(&format!("/v1/agent/identity/{}", xena.did())).expect(200);
        client.get(&format!("/v1/agent/identity/{}", nobody.did())).expect(404);
        (peer.questions(xena.did()), peer.questions(nobody.did()))
    };
    assert_eq!(ask(), (1, 1));
    client.wait(Duration::from_secs(299));
    assert_eq!(ask(), (1, 1));
    client.wait(Duration::from_secs(2));
    assert_eq!(ask(), (2, 2));
    // A peer that says nothing has not said that it has nobody.
    peer.answer(|_| (503, json!({})));
    let other = Stranger::new();
    client.get(&format!("/v1/agent/identity/{}", other.did())).expect(404);
    client.wait(Duration::from_secs(31));
    client.get(&format!("/v1/agent/identity/{}", other.did())).expect(404);
    assert_eq!(peer.questions(other.did()), 2);
}

/// Ruling foundation-relay 13: accepted only if the first 16 bytes of the key give that DID.
fn ruling_13_a_key_that_does_not_give_the_did_is_not_accepted(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let (liar, xena, eve) = (FakePeer::start(), Stranger::new(), Stranger::new());
    liar.befriend(&client);
    let mut claim = eve.identity();
    claim["did"] = json!(xena.did());
    liar.has(&[claim], 201);
    client.get(&format!("/v1/agent/identity/{}", xena.did())).expect_error(404, "NOT_FOUND");
    let ada = sdk(&client);
    let body = route_body(&ada.sdk, &xena.sdk.as_peer(), "for Xena");
    ada.agent.client.post("/v1/relay/route", &body).expect_error(404, "NOT_FOUND");
    assert_eq!(liar.deliveries().len(), 0);
}

fn what_no_relay_would_say_of_an_agent_is_not_believed(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let liar = FakePeer::start();
    liar.befriend(&client);
    for (name, value) in [
        ("did", json!(Stranger::new().did())),
        ("status", json!("inactive")),
        ("signing_public_key", json!("AAAA")),
        ("signing_public_key", json!(base64(&[0; 32]))),
        ("encryption_public_key", json!(base64(&[0; 32]))),
        ("encryption_public_key", json!(null)),
        ("mlkem_public_key", json!("AAAA")),
        ("name", json!("x".repeat(129))),
        ("capabilities", json!(vec!["x"; 33])),
        ("metadata", json!([])),
        ("metadata", json!({ "x": "y".repeat(5_000) })),
        ("capabilities", json!("x".repeat(100_000))),
    ] {
        let xena = Stranger::new();
        let mut claim = xena.identity();
        claim[name] = value;
        liar.answer(move |_| (200, claim.clone()));
        let answer = client.get(&format!("/v1/agent/identity/{}", xena.did()));
        assert_eq!((answer.status, liar.questions(xena.did())), (404, 1), "{name}");
    }
    let xena = Stranger::new();
    let elsewhere = FakePeer::start();
    let location = elsewhere.source.base.clone();
    liar.answer(move |_| (302, json!({ "location": location })));
    client.get(&format!("/v1/agent/identity/{}", xena.did())).expect_error(404, "NOT_FOUND");
    assert_eq!(elsewhere.source.heard().len(), 0);
}

fn a_did_that_is_local_here_is_asked_nowhere(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let (liar, ada, bob) = (FakePeer::start(), sdk(&client), sdk(&client));
    liar.befriend(&client);
    let eve = Stranger::new();
    let mut claim = bob.sdk.as_peer();
    claim.encryption_key = eve.sdk.as_peer().encryption_key;
    let mut identity = eve.identity();
    identity["did"] = json!(claim.did);
    identity["signing_public_key"] = json!(base64(&claim.signing_key));
    liar.has(&[identity], 201);
    let found = client.get(&format!("/v1/agent/identity/{}", bob.agent.did)).expect(200);
    assert_eq!(found["encryption_public_key"], base64(&bob.sdk.as_peer().encryption_key));
    let body = route_body(&ada.sdk, &bob.sdk.as_peer(), "for Bob");
    assert_eq!(ada.agent.client.post("/v1/relay/route", &body).expect(201)["status"], "delivered");
    assert_eq!((liar.source.heard().len(), bob.agent.raw().len()), (0, 1));
    // Nor is one that ended: its DID stays its own.
    bob.agent.client.delete("/v1/agent/deactivate").expect(200);
    ada.agent.client.post("/v1/relay/route", &body).expect_error(404, "NOT_FOUND");
    assert_eq!(client.get(&format!("/v1/agent/identity/{}", bob.agent.did)).expect(200)["status"], "inactive");
    assert_eq!(liar.source.heard().len(), 0);
}

/// Ruling foundation-relay 13: one hop.
fn a_question_of_a_peer_is_not_forwarded(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let (peer, xena) = (FakePeer::start(), Stranger::new());
    peer.befriend(&client);
    peer.has(&[xena.identity()], 201);
    client.get(&format!("/v1/agent/identity/{}?local=true", xena.did())).expect_error(404, "NOT_FOUND");
    assert_eq!(client.send("HEAD", &format!("/v1/agent/identity/{}", xena.did()), None, b"").status, 404);
    assert_eq!(peer.source.heard().len(), 0);
}

fn questions_of_one_client_are_limited(suite: &Suite) {
    let target = suite.fresh(&[LOOPBACK[0], ("peer_questions_per_minute", "3")]);
    let (client, peer) = (target.client(), FakePeer::start());
    peer.befriend(&client);
    for _ in 0..3 {
        client.get(&format!("/v1/agent/identity/{}", Stranger::new().did())).expect_error(404, "NOT_FOUND");
    }
    let refused = client.get(&format!("/v1/agent/identity/{}", Stranger::new().did()));
    refused.expect_error(429, "RATE_LIMITED");
    assert!(refused.header("retry-after").is_some_and(|seconds| seconds.parse::<u32>().is_ok()));
    assert_eq!(peer.source.heard().len(), 3);
    // What needs no question is answered.
    let ada = Agent::server_side(&client);
    client.get(&format!("/v1/agent/identity/{}", ada.did)).expect(200);
}

/// Spec relay 5.1, 5.2: 404 recipient unknown. What goes to other relays is routed.
fn ordinary_sends_to_an_agent_of_a_peer_are_404(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let (peer, xena) = (FakePeer::start(), Stranger::new());
    peer.befriend(&client);
    peer.has(&[xena.identity()], 201);
    client.get(&format!("/v1/agent/identity/{}", xena.did())).expect(200);
    let (ada, bob) = (sdk(&client), Agent::server_side(&client));
    let plain = json!({ "to": xena.did(), "message": "x" });
    bob.client.post("/v1/agent/send", &plain).expect_error(404, "NOT_FOUND");
    ada.agent.client.post("/v1/agent/send/encrypted", &letter(xena.did(), "x")).expect_error(404, "NOT_FOUND");
    assert_eq!(peer.deliveries().len(), 0);
}

fn a_message_for_an_agent_of_a_peer_is_delivered_and_its_sender_sees_it(suite: &Suite) {
    let (target, client) = fresh(suite);
    let (peer, mut xena, ada) = (FakePeer::start(), Stranger::new(), sdk(&client));
    peer.befriend(&client);
    peer.has(&[xena.identity()], 201);
    let body = route_body(&ada.sdk, &look_up(&client, xena.did()), "far away");
    let routed = ada.agent.client.post("/v1/relay/route", &body).expect(201);
    assert_eq!((&routed["routed"], &routed["destination"]), (&json!(true), &json!(peer.source.base)));
    assert_eq!((&routed["from"], &routed["to"]), (&json!(ada.agent.did), &json!(xena.did())));
    let state = settled(&target, &ada.agent, &routed, |state| state["status"] != "waiting");
    assert_eq!(
        (&state["status"], &state["last_status"], &state["attempts"]),
        (&json!("delivered"), &json!(201), &json!(1))
    );
    assert!(state["ended_at"].is_string() && state["next_attempt_at"].is_null());
    let key = client.get("/v1/relay/info").expect(200)["relay"]["public_key"].clone();
    let deliveries = peer.deliveries();
    assert_eq!(deliveries.len(), 1);
    let mut raw = verified(&deliveries[0], &key);
    assert_eq!((&raw["thread_id"], &raw["content_type"]), (&json!("across"), &json!("text/plain")));
    raw["timestamp"] = json!("2026-01-01T00:00:00.000Z");
    let signed =
        heliograph_tests::peer::route_text(&ada.agent.did, xena.did(), text(&raw, "nonce"), text(&raw, "ciphertext"));
    raw["envelope"] = json!(signed);
    let received = xena.sdk.receive(&to_raw(&raw)).expect("it opens");
    assert_eq!((received.payload.content.as_str(), received.signature_valid), ("far away", true));
    // The same again is the same message, and not sent twice.
    let again = ada.agent.client.post("/v1/relay/route", &body).expect(201);
    assert_eq!((&again["id"], &again["status"]), (&routed["id"], &json!("delivered")));
    target.reach_out();
    assert_eq!(peer.deliveries().len(), 1);
    let shown = client.get("/v1/relay/peers").expect(200)["peers"][0].clone();
    assert_eq!((&shown["status"], &shown["messages_routed"]), (&json!("active"), &json!(1)));
}

/// The schedule of the delivery engine (interface section 6).
fn a_peer_that_cannot_take_a_message_now_is_tried_again(suite: &Suite) {
    let (target, client) = fresh(suite);
    let (peer, xena, ada) = (FakePeer::start(), Stranger::new(), sdk(&client));
    peer.befriend(&client);
    peer.has(&[xena.identity()], 503);
    let body = route_body(&ada.sdk, &look_up(&client, xena.did()), "later");
    let routed = ada.agent.client.post("/v1/relay/route", &body).expect(201);
    let state = settled(&target, &ada.agent, &routed, |state| state["attempts"] == 1);
    assert_eq!((&state["status"], &state["last_status"]), (&json!("waiting"), &json!(503)));
    let wait = micros(&state["next_attempt_at"]) - micros(&routed["timestamp"]);
    assert!((120_000_000..180_000_000).contains(&wait), "{wait}");
    assert_eq!(client.get("/v1/relay/peers").expect(200)["peers"][0]["status"], "unreachable");
    if suite.kind == Kind::Memory {
        peer.has(&[xena.identity()], 401);
        client.wait(Duration::from_secs(130));
        let state = settled(&target, &ada.agent, &routed, |state| state["attempts"] == 2);
        assert_eq!(state["status"], "waiting", "a peer that does not know us may soon");
        peer.has(&[xena.identity()], 201);
        client.wait(Duration::from_secs(250));
        let state = settled(&target, &ada.agent, &routed, |state| state["attempts"] == 3);
        assert_eq!(state["status"], "delivered");
        let bodies: Vec<String> =
            peer.deliveries().iter().map(|got| got.split_once("\r\n\r\n").unwrap().1.to_owned()).collect();
        assert!(bodies.len() == 3 && bodies.iter().all(|body| *body == bodies[0]), "the same delivery");
    }
}

fn a_peer_that_refuses_a_message_ends_it(suite: &Suite) {
    let (target, client) = fresh(suite);
    let (peer, xena, ada) = (FakePeer::start(), Stranger::new(), sdk(&client));
    peer.befriend(&client);
    peer.has(&[xena.identity()], 404);
    let body = route_body(&ada.sdk, &look_up(&client, xena.did()), "never");
    let routed = ada.agent.client.post("/v1/relay/route", &body).expect(201);
    let state = settled(&target, &ada.agent, &routed, |state| state["status"] != "waiting");
    assert_eq!(
        (&state["status"], &state["routed"], &state["last_status"]),
        (&json!("refused"), &json!(false), &json!(404))
    );
    // Given again, it is tried again.
    peer.has(&[xena.identity()], 201);
    let again = ada.agent.client.post("/v1/relay/route", &body).expect(201);
    assert_eq!(again["id"], routed["id"]);
    settled(&target, &ada.agent, &routed, |state| state["status"] == "delivered");
}

fn a_message_for_a_peer_must_be_signed_by_its_sender(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let (peer, xena, ada) = (FakePeer::start(), Stranger::new(), sdk(&client));
    peer.befriend(&client);
    peer.has(&[xena.identity()], 201);
    let mut body = route_body(&ada.sdk, &look_up(&client, xena.did()), "x");
    body["signature"] = route_body(&xena.sdk, &xena.sdk.as_peer(), "x")["signature"].clone();
    ada.agent.client.post("/v1/relay/route", &body).expect_error(400, "BAD_REQUEST");
    assert_eq!(peer.deliveries().len(), 0);
}

fn a_message_waits_no_longer_for_a_peer_that_was_removed(suite: &Suite) {
    if suite.kind != Kind::Memory {
        return;
    }
    let (target, client) = fresh(suite);
    let (peer, xena, ada) = (FakePeer::start(), Stranger::new(), sdk(&client));
    let id = peer.befriend(&client);
    peer.has(&[xena.identity()], 503);
    let body = route_body(&ada.sdk, &look_up(&client, xena.did()), "later");
    let routed = ada.agent.client.post("/v1/relay/route", &body).expect(201);
    settled(&target, &ada.agent, &routed, |state| state["attempts"] == 1);
    client.admin().delete(&format!("/v1/admin/peers/{id}")).expect(200);
    client.wait(Duration::from_secs(130));
    let state = settled(&target, &ada.agent, &routed, |state| state["status"] != "waiting");
    assert_eq!((&state["status"], peer.deliveries().len()), (&json!("refused"), 1));
    client.get(&format!("/v1/agent/identity/{}", xena.did())).expect_error(404, "NOT_FOUND");
}

fn the_state_of_a_message_is_its_senders_alone(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let (peer, xena, ada) = (FakePeer::start(), Stranger::new(), sdk(&client));
    peer.befriend(&client);
    peer.has(&[xena.identity()], 201);
    let body = route_body(&ada.sdk, &look_up(&client, xena.did()), "mine");
    let routed = ada.agent.client.post("/v1/relay/route", &body).expect(201);
    let path = format!("/v1/relay/route/{}", text(&routed, "id"));
    Agent::server_side(&client).client.get(&path).expect_error(404, "NOT_FOUND");
    client.get(&path).expect_error(401, "UNAUTHORIZED");
    ada.agent.client.get("/v1/relay/route/x").expect_error(404, "NOT_FOUND");
}

/// A deployment with a peer, an agent of the peer, and one here.
fn arrivals(suite: &Suite) -> (Target, Client, FakePeer, Stranger, Agent) {
    let (target, client) = fresh(suite);
    let (peer, xena, bob) = (FakePeer::start(), Stranger::new(), Agent::server_side(&client));
    peer.befriend(&client);
    (target, client, peer, xena, bob)
}

fn a_delivered_message_shows_as_a_local_one(suite: &Suite) {
    let (_target, client, peer, xena, bob) = arrivals(suite);
    let mut carol = sdk(&client);
    let sent = xena.letter(&look_up(&client, &bob.did), "from afar");
    let taken = peer.deliver(&client, &sent).expect(201);
    let raw = bob.raw().remove(0);
    assert_eq!((&raw["id"], &raw["from"], &raw["to"]), (&taken["id"], &json!(xena.did()), &json!(bob.did)));
    for (shown, given) in [
        ("ciphertext", "ciphertext"),
        ("nonce", "nonce"),
        ("signature", "signature"),
        ("thread_id", "thread_id"),
        ("content_type", "content_type"),
        ("sender_encryption_key", "sender_encryption_key"),
        ("sender_signing_key", "sender_signing_key"),
    ] {
        assert_eq!(raw[shown], sent[given], "{shown}");
    }
    let got = bob.inbox().remove(0);
    assert_eq!((&got["content"], &got["signature_valid"]), (&json!("from afar"), &json!(true)));
    assert_eq!((&got["decrypted"], &got["timestamp"]), (&json!(true), &taken["timestamp"]));
    let from = bob.items(&format!("/v1/agent/receive/raw?from={}", xena.did()));
    assert_eq!(from.len(), 1, "filters know the sender");
    peer.deliver(&client, &xena.letter(&look_up(&client, &carol.agent.did), "to the SDK")).expect(201);
    assert_eq!(carol.texts(), ["to the SDK"]);
    let shown = client.get("/v1/relay/peers").expect(200)["peers"][0].clone();
    assert_eq!((&shown["messages_routed"], &shown["agents_synced"]), (&json!(2), &json!(1)));
}

/// Ruling foundation-relay 13.
fn ruling_13_an_exact_repeat_gets_the_same_answer(suite: &Suite) {
    let (_target, client, peer, xena, bob) = arrivals(suite);
    let body = xena.letter(&look_up(&client, &bob.did), "once");
    let signed = peer.sign(client.now(), &body);
    let first = signed.send(&client).expect(201);
    assert_eq!(signed.send(&client).expect(201), first, "played again");
    let id = text(&first, "id");
    bob.client.delete(&format!("/v1/agent/messages/{id}")).expect(200);
    assert_eq!(peer.deliver(&client, &body).expect(201), first, "tried again after the recipient was done with it");
    assert_eq!(bob.items("/v1/agent/receive/raw?unread=false").len(), 0);
}

/// Ruling foundation-relay 13.
fn ruling_13_another_body_under_the_same_delivery_id_is_refused(suite: &Suite) {
    let (_target, client, peer, xena, bob) = arrivals(suite);
    let to = look_up(&client, &bob.did);
    let first = peer.sign(client.now(), &xena.letter(&to, "one"));
    first.send(&client).expect(201);
    let mut second = peer.sign(client.now(), &xena.letter(&to, "two"));
    second.delivery = first.delivery.clone();
    second.seal(&peer.key);
    second.send(&client).expect_error(409, "CONFLICT");
    assert_eq!(bob.raw().len(), 1);
}

/// Ruling foundation-relay 13: signed over method, path, body hash, timestamp and delivery id.
fn ruling_13_deliveries_that_are_not_signed_right_are_refused(suite: &Suite) {
    let (_target, client, peer, xena, bob) = arrivals(suite);
    let body = xena.letter(&look_up(&client, &bob.did), "x");
    let refused = |what: &str, signed: &heliograph_tests::peer::Signed| {
        let answer = signed.send(&client);
        assert_eq!(answer.status, 401, "{what}: {}", answer.text());
        answer.expect_error(401, "UNAUTHORIZED");
    };
    let good = peer.sign(client.now(), &body);
    let stranger = FakePeer::start();
    refused("a relay that is no peer", &stranger.sign(client.now(), &body));
    let mut bad = stranger.sign(client.now(), &body);
    bad.key = peer.public_key();
    refused("the signature of another", &bad);
    let mut bad = good.clone();
    bad.body = xena.letter(&look_up(&client, &bob.did), "y").to_string();
    refused("another body", &bad);
    let mut bad = good.clone();
    bad.delivery = "AAAAAAAAAAAAAAAA".to_owned();
    refused("another delivery id", &bad);
    let mut bad = good.clone();
    bad.timestamp = client.now().plus(1_000_000).to_millis_text();
    refused("another time", &bad);
    for broken in ["", "AAAA", "x"] {
        let mut bad = good.clone();
        bad.signature = broken.to_owned();
        refused("no signature", &bad);
        let mut bad = good.clone();
        bad.key = broken.to_owned();
        refused("no key", &bad);
        let mut bad = good.clone();
        bad.timestamp = broken.to_owned();
        refused("no time", &bad);
    }
    client.post("/v1/relay/deliver", &body).expect_error(401, "UNAUTHORIZED");
    assert_eq!(bob.raw().len(), 0);
    good.send(&client).expect(201);
}

/// Ruling foundation-relay 13.
fn ruling_13_deliveries_out_of_their_time_are_refused(suite: &Suite) {
    let (_target, client, peer, xena, bob) = arrivals(suite);
    let to = look_up(&client, &bob.did);
    for (seconds, status) in [(-310, 401), (310, 401), (-290, 201), (290, 201)] {
        let at = client.now().plus(seconds * 1_000_000);
        let answer = peer.sign(at, &xena.letter(&to, "x")).send(&client);
        assert_eq!(answer.status, status, "{seconds}: {}", answer.text());
    }
    assert_eq!(bob.raw().len(), 2);
}

fn a_peer_cannot_bring_what_its_agent_did_not_write(suite: &Suite) {
    let (_target, client, peer, xena, bob) = arrivals(suite);
    let (eve, to) = (Stranger::new(), look_up(&client, &bob.did));
    // Its own keys under the DID of another.
    let mut forged = eve.letter(&to, "x");
    forged["from"] = json!(xena.did());
    peer.deliver(&client, &forged).expect_error(403, "FORBIDDEN");
    // The key of the DID, which is public, and a signature of its own.
    let mut forged = eve.letter(&to, "x");
    forged["from"] = json!(xena.did());
    forged["sender_signing_key"] = xena.letter(&to, "x")["sender_signing_key"].clone();
    peer.deliver(&client, &forged).expect_error(403, "FORBIDDEN");
    // A signature of the agent over the DID of another and the keys of a third.
    let mut forged = eve.letter(&to, "x");
    let text =
        heliograph_tests::peer::route_text(xena.did(), &bob.did, text(&forged, "nonce"), text(&forged, "ciphertext"));
    forged["from"] = json!(xena.did());
    forged["signature"] = json!(base64(&signing::sign(&eve.sdk.keys.signing, text.as_bytes())));
    peer.deliver(&client, &forged).expect_error(403, "FORBIDDEN");
    // What an agent wrote to one is no message to another.
    let carol = Agent::server_side(&client);
    let mut moved = xena.letter(&to, "x");
    moved["to"] = json!(carol.did);
    peer.deliver(&client, &moved).expect_error(403, "FORBIDDEN");
    let mut other = xena.letter(&to, "x");
    other["from"] = json!("did:other:1111111111111111");
    peer.deliver(&client, &other).expect_error(403, "FORBIDDEN");
    for (name, value) in
        [("ciphertext", json!("")), ("nonce", json!("AAAA")), ("sender_encryption_key", json!(base64(&[0; 32])))]
    {
        let mut bad = xena.letter(&to, "x");
        bad[name] = value;
        peer.deliver(&client, &bad).expect_error(400, "BAD_REQUEST");
    }
    peer.deliver(&client, &json!({})).expect_error(400, "BAD_REQUEST");
    assert_eq!((bob.raw().len(), carol.raw().len()), (0, 0));
}

fn a_peer_cannot_bring_messages_of_agents_here(suite: &Suite) {
    let (_target, client, peer, _, bob) = arrivals(suite);
    let ada = sdk(&client);
    let letter = Stranger { sdk: ada.sdk.clone() }.letter(&look_up(&client, &bob.did), "as Ada");
    peer.deliver(&client, &letter).expect_error(403, "FORBIDDEN");
    assert_eq!(bob.raw().len(), 0);
}

/// The first of the peers is the liar, so it is the first to be believed.
fn a_peer_cannot_claim_the_agents_of_another(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let (liar, home, xena, eve) = (FakePeer::start(), FakePeer::start(), Stranger::new(), Stranger::new());
    liar.befriend(&client);
    home.befriend(&client);
    let bob = Agent::server_side(&client);
    home.has(&[xena.identity()], 201);
    let mut claim = xena.identity();
    claim["encryption_public_key"] = eve.identity()["encryption_public_key"].clone();
    liar.has(&[claim], 201);
    // Xena wrote something, which came by her own relay.
    home.deliver(&client, &xena.letter(&look_up(&client, &bob.did), "hello")).expect(201);
    let found = client.get(&format!("/v1/agent/identity/{}", xena.did())).expect(200);
    assert_eq!(found["encryption_public_key"], xena.identity()["encryption_public_key"]);
    assert_eq!(found["relay"], home.source.base);
    // What was claimed first gives way to what the agent itself shows.
    let yuri = Stranger::new();
    let mut claim = yuri.identity();
    claim["encryption_public_key"] = eve.identity()["encryption_public_key"].clone();
    liar.has(&[claim], 201);
    home.has(&[xena.identity(), yuri.identity()], 201);
    let found = client.get(&format!("/v1/agent/identity/{}", yuri.did())).expect(200);
    assert_eq!(found["relay"], liar.source.base);
    home.deliver(&client, &yuri.letter(&look_up(&client, &bob.did), "it is me")).expect(201);
    let found = client.get(&format!("/v1/agent/identity/{}", yuri.did())).expect(200);
    assert_eq!((&found["relay"], bob.raw().len()), (&json!(home.source.base), 2));
}

/// Ruling foundation-relay 13: one hop.
fn ruling_13_what_a_peer_brings_for_others_is_not_forwarded(suite: &Suite) {
    let (_target, client, peer, xena, _) = arrivals(suite);
    let (other, yuri) = (FakePeer::start(), Stranger::new());
    other.befriend(&client);
    other.has(&[yuri.identity()], 201);
    client.get(&format!("/v1/agent/identity/{}", yuri.did())).expect(200);
    peer.deliver(&client, &xena.letter(&yuri.sdk.as_peer(), "pass it on")).expect_error(404, "NOT_FOUND");
    peer.deliver(&client, &xena.letter(&Stranger::new().sdk.as_peer(), "x")).expect_error(404, "NOT_FOUND");
    assert_eq!(other.deliveries().len(), 0);
}

/// Ruling foundation-relay 13: "or the key was pinned before".
fn the_operator_vouches_for_a_rotated_key(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let (peer, mut xena, bob) = (FakePeer::start(), Stranger::new(), Agent::server_side(&client));
    let id = peer.befriend(&client);
    xena.sdk.rotate_keys();
    peer.has(&[xena.identity()], 201);
    let letter = xena.letter(&look_up(&client, &bob.did), "with new keys");
    peer.deliver(&client, &letter).expect_error(403, "FORBIDDEN");
    client.get(&format!("/v1/agent/identity/{}", xena.did())).expect_error(404, "NOT_FOUND");
    let pin = json!({ "did": xena.did(), "signing_public_key": xena.identity()["signing_public_key"] });
    let path = format!("/v1/admin/peers/{id}/pins");
    client.post(&path, &pin).expect_error(401, "UNAUTHORIZED");
    client.admin().post(&path, &pin).expect(201);
    peer.deliver(&client, &letter).expect(201);
    assert_eq!(bob.inbox()[0]["content"], "with new keys");
    assert_eq!(client.get(&format!("/v1/agent/identity/{}", xena.did())).expect(200)["relay"], peer.source.base);
    // Only there: another peer may not speak with that key.
    let other = FakePeer::start();
    other.befriend(&client);
    other.deliver(&client, &xena.letter(&look_up(&client, &bob.did), "x")).expect_error(403, "FORBIDDEN");
    let nowhere = format!("/v1/admin/peers/{}/pins", "A".repeat(22));
    client.admin().post(&nowhere, &pin).expect_error(404, "NOT_FOUND");
}

fn a_peer_that_floods_is_held_up_before_others_are(suite: &Suite) {
    let target = suite.fresh(&[LOOPBACK[0], ("peer_per_second", "1"), ("peer_burst", "5")]);
    let client = target.client();
    let (flood, honest, xena, bob) =
        (FakePeer::start(), FakePeer::start(), Stranger::new(), Agent::server_side(&client));
    flood.befriend(&client);
    honest.befriend(&client);
    let to = look_up(&client, &bob.did);
    let answers: Vec<_> = (0..12).map(|n| flood.deliver(&client, &xena.letter(&to, &n.to_string()))).collect();
    let taken = answers.iter().filter(|answer| answer.status == 201).count();
    assert!((5..=10).contains(&taken), "{taken}");
    let last = answers.last().unwrap();
    last.expect_error(429, "RATE_LIMITED");
    assert!(last.header("retry-after").is_some_and(|seconds| seconds.parse::<u32>().is_ok()));
    let before = bob.raw().len();
    assert_eq!(before, taken);
    honest.deliver(&client, &Stranger::new().letter(&to, "in between")).expect(201);
    assert_eq!(bob.raw().len(), taken + 1);
    // Whoever is no peer does not use up what a peer has; the address has a budget of its own.
    let stranger = FakePeer::start();
    let refused: Vec<u16> = (0..30).map(|_| stranger.deliver(&client, &xena.letter(&to, "x")).status).collect();
    assert!(refused.iter().all(|status| [401, 429].contains(status)) && refused.contains(&429), "{refused:?}");
}

fn a_peer_that_changed_its_key_is_known_by_the_new_one(suite: &Suite) {
    let (_target, client, mut peer, xena, bob) = arrivals(suite);
    let to = look_up(&client, &bob.did);
    let id = peer.befriend(&client);
    let old = peer.sign(client.now(), &xena.letter(&to, "with the old key"));
    peer.key = heliograph_core::crypto::Secret::new(heliograph_tests::relay::seed());
    peer.deliver(&client, &xena.letter(&to, "x")).expect_error(401, "UNAUTHORIZED");
    assert_eq!(peer.befriend(&client), id);
    peer.deliver(&client, &xena.letter(&to, "with the new key")).expect(201);
    old.send(&client).expect_error(401, "UNAUTHORIZED");
    assert_eq!(bob.inbox()[0]["content"], "with the new key");
    // And our own key.
    let key = || client.get("/v1/relay/info").expect(200)["relay"]["public_key"].clone();
    let before = key();
    let made = client.admin().send("POST", "/v1/admin/relay-key", None, b"").expect(201);
    assert!(made["public_key"] == key() && key() != before);
}

/// Spec relay 18 and ruling foundation-relay 28.
fn a_delivery_over_its_limit_is_413(suite: &Suite) {
    let (_target, client, peer, xena, bob) = arrivals(suite);
    let to = look_up(&client, &bob.did);
    let large = "x".repeat(180_000);
    peer.deliver(&client, &xena.letter(&to, &large)).expect(201);
    assert_eq!(bob.inbox()[0]["content"].as_str().unwrap().len(), 180_000);
    let over = "x".repeat(220_000);
    peer.deliver(&client, &xena.letter(&to, &over)).expect_error(413, "PAYLOAD_TOO_LARGE");
}
