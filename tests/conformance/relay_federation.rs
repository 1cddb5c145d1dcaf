//! Federation: relay info, the operator's peers, questions to them, and messages for their agents. `relay_deliveries`
//! tests messages from peers.

use std::time::Duration;

use heliograph_core::crypto::signing;
use heliograph_tests::client::Client;
use heliograph_tests::peer::{FakePeer, Stranger, route_body, verified};
use heliograph_tests::relay::{Agent, SdkAgent, base64, letter, look_up, micros, text, to_raw};
use heliograph_tests::target::{Kind, Target};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    minimum_fields_of_relay_info_and_peers_are_there,
    relay_info_counts_agents,
    head_makes_no_key,
    a_routed_message_for_an_agent_here_arrives_as_any_other,
    routed_text_that_begins_with_v_arrives_whole,
    a_routed_message_that_is_repeated_is_one_message,
    malformed_messages_are_not_routed,
    the_operator_makes_lists_and_ends_peers,
    peers_inside_or_with_bad_keys_are_refused,
    a_did_unknown_here_is_asked_once_from_each_peer,
    who_comes_while_a_peer_is_asked_waits_for_that_answer,
    an_answer_holds_five_minutes_also_a_negative_one,
    a_key_that_does_not_give_the_did_is_not_accepted,
    what_no_relay_would_say_of_an_agent_is_not_believed,
    a_claim_about_a_did_that_is_here_counts_for_nothing,
    a_question_of_a_peer_is_not_forwarded,
    questions_of_one_client_are_limited,
    ordinary_sends_to_an_agent_of_a_peer_are_404,
    a_message_for_an_agent_of_a_peer_is_delivered_and_its_sender_sees_it,
    a_peer_that_cannot_take_a_message_now_is_tried_again,
    a_peer_that_refuses_a_message_ends_it,
    a_message_for_a_peer_must_be_signed_by_its_sender,
    a_message_waits_no_longer_for_a_peer_that_was_removed,
    the_state_of_a_message_is_its_senders_alone,
];

/// The setting that lets a deployment reach the peers of these tests.
pub(crate) const LOOPBACK: &[(&str, &str)] = &[("allow_outbound", "127.0.0.0/8")];

pub(crate) fn fresh(suite: &Suite) -> (Target, Client) {
    let target = suite.fresh(LOOPBACK);
    let client = target.client();
    (target, client)
}

pub(crate) fn sdk(client: &Client) -> SdkAgent {
    SdkAgent::new(client, Default::default())
}

/// The state of a routed message once `done` is true.
#[track_caller]
fn settled(target: &Target, agent: &Agent, routed: &Value, done: impl Fn(&Value) -> bool) -> Value {
    let path = format!("/v1/relay/route/{}", text(routed, "id"));
    target.until(|| Some(agent.client.get(&path).expect(200)).filter(|state| done(state)))
}
fn minimum_fields_of_relay_info_and_peers_are_there(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let info = client.get("/v1/relay/info").expect(200);
    for name in ["name", "protocol", "encryption", "identity_format", "url"] {
        assert!(info["relay"][name].is_string(), "{name} of {info}");
    }
    assert!(info["relay"]["features"].as_array().unwrap().iter().all(Value::is_string));
    assert_eq!(info["stats"], json!({ "agents": 0, "messages": 0 }));
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

/// The sums are the same as in `GET /v1/agent/stats`. Messages are added with the usage of a minute (decision
/// counts-in-memory), which another test checks.
fn relay_info_counts_agents(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let (_ada, bob) = (Agent::server_side(&client), Agent::server_side(&client));
    let counted = |agents: u64| {
        for _ in 0..200 {
            if client.get("/v1/relay/info").expect(200)["stats"]["agents"] == agents {
                return;
            }
            client.wait(Duration::from_millis(50));
        }
        panic!("{}", client.get("/v1/relay/info").text());
    };
    counted(2);
    bob.client.delete("/v1/agent/deactivate").expect(200);
    counted(1);
}

/// Decision caller-rate-limits: HEAD never runs what writes.
fn head_makes_no_key(suite: &Suite) {
    let (_target, client) = fresh(suite);
    assert_eq!(client.send("HEAD", "/v1/relay/info", None, b"").status, 200);
    let key = client.get("/v1/relay/info").expect(200)["relay"]["public_key"].clone();
    assert_eq!(heliograph_tests::relay::bytes(&key).len(), 32);
}

/// The envelope reproduces the signed text, so that the recipient finds the signature valid.
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

    // Both spellings of members with two words.
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

/// Decision plain-box-header: clients route text in a plain box without a header, and no first letter may be lost.
fn routed_text_that_begins_with_v_arrives_whole(suite: &Suite) {
    let client = suite.client();
    let (ada, bob) = (sdk(&client), Agent::server_side(&client));
    let texts = ["V", "Vab", "Viva", "Very well, at ten.", "V\u{1}\u{2}\u{3}x", "V\u{1}\u{0}\u{0}"];
    for text in texts {
        let body = route_body(&ada.sdk, &look_up(&client, &bob.did), text);
        ada.agent.client.post("/v1/relay/route", &body).expect(201);
    }
    let got: Vec<Value> = bob.inbox();
    let contents: Vec<&str> = got.iter().map(|message| text(message, "content")).collect();
    assert_eq!(contents, texts);
    assert!(got.iter().all(|message| message["decrypted"] == true && message["signature_valid"] == true));
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

/// Decision peer-deliveries.
fn a_did_unknown_here_is_asked_once_from_each_peer(suite: &Suite) {
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

/// Decision peer-deliveries: peers are asked once, also when many ask at one moment. In memory questions are asked one
/// after another.
fn who_comes_while_a_peer_is_asked_waits_for_that_answer(suite: &Suite) {
    if suite.kind == Kind::Memory {
        return;
    }
    let (_target, client) = fresh(suite);
    let (peer, xena, nobody) = (FakePeer::start(), Stranger::new(), Stranger::new());
    peer.befriend(&client);
    let (did, identity) = (xena.did().to_owned(), xena.identity());
    peer.answer(move |path| {
        std::thread::sleep(Duration::from_millis(700));
        if path.contains(&did) { (200, identity.clone()) } else { (404, json!({})) }
    });
    std::thread::scope(|scope| {
        for (stranger, status) in [(&xena, 200), (&nobody, 404)].repeat(4) {
            let client = &client;
            scope.spawn(move || client.get(&format!("/v1/agent/identity/{}", stranger.did())).expect(status));
        }
    });
    assert_eq!((peer.questions(xena.did()), peer.questions(nobody.did())), (1, 1));
}

/// Decision peer-deliveries. A test can let time pass only in memory.
fn an_answer_holds_five_minutes_also_a_negative_one(suite: &Suite) {
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
    // A peer that does not answer has not said that it lacks the agent.
    peer.answer(|_| (503, json!({})));
    let other = Stranger::new();
    client.get(&format!("/v1/agent/identity/{}", other.did())).expect(404);
    client.wait(Duration::from_secs(31));
    client.get(&format!("/v1/agent/identity/{}", other.did())).expect(404);
    assert_eq!(peer.questions(other.did()), 2);
}

/// Decision peer-deliveries: accepted only if the first 16 bytes of the key give that DID.
fn a_key_that_does_not_give_the_did_is_not_accepted(suite: &Suite) {
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

fn a_claim_about_a_did_that_is_here_counts_for_nothing(suite: &Suite) {
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
    // The peer is asked, because Bob proved nothing here.
    assert_eq!((liar.questions(&bob.agent.did), liar.deliveries().len(), bob.agent.raw().len()), (1, 0, 1));
    // The same holds after the registration ended: its DID stays its own.
    bob.agent.client.delete("/v1/agent/deactivate").expect(200);
    ada.agent.client.post("/v1/relay/route", &body).expect_error(404, "NOT_FOUND");
    assert_eq!(client.get(&format!("/v1/agent/identity/{}", bob.agent.did)).expect(200)["status"], "inactive");
    assert_eq!(liar.deliveries().len(), 0);
}

/// Decision peer-deliveries: one hop.
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
    // Requests that need no question are answered.
    let ada = Agent::server_side(&client);
    client.get(&format!("/v1/agent/identity/{}", ada.did)).expect(200);
}

/// 404 means recipient unknown: messages to other relays must be routed.
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
    // The same body again is the same message, and is not sent twice.
    let again = ada.agent.client.post("/v1/relay/route", &body).expect(201);
    assert_eq!((&again["id"], &again["status"]), (&routed["id"], &json!("delivered")));
    target.reach_out();
    assert_eq!(peer.deliveries().len(), 1);
    let shown = client.get("/v1/relay/peers").expect(200)["peers"][0].clone();
    assert_eq!((&shown["status"], &shown["messages_routed"]), (&json!("active"), &json!(1)));
}

/// The schedule of the delivery engine.
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
    // When it is sent again, it is tried again.
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
