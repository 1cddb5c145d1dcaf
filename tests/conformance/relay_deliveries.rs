//! Federation: messages from peers, honest ones and those that lie or flood.

use heliograph_core::crypto::signing;
use heliograph_tests::client::Client;
use heliograph_tests::peer::{FakePeer, Stranger};
use heliograph_tests::relay::{Agent, base64, look_up, text};
use heliograph_tests::target::Target;
use serde_json::{Value, json};

use crate::relay_federation::{LOOPBACK, fresh, sdk};
use crate::{Suite, cases};

cases![
    a_delivered_message_shows_as_a_local_one,
    the_signature_of_an_agent_at_a_peer_can_be_checked,
    an_exact_repeat_gets_the_same_answer,
    another_body_under_the_same_delivery_id_is_refused,
    deliveries_that_are_not_signed_right_are_refused,
    deliveries_out_of_their_time_are_refused,
    a_peer_cannot_bring_what_its_agent_did_not_write,
    a_peer_cannot_bring_messages_of_agents_here,
    a_peer_cannot_claim_the_agents_of_another,
    what_a_peer_brings_for_others_is_not_forwarded,
    the_operator_vouches_for_a_rotated_key,
    a_peer_that_floods_is_held_up_before_others_are,
    a_peer_that_changed_its_key_is_known_by_the_new_one,
    a_delivery_over_its_limit_is_413,
];

/// A deployment with a peer, an agent of the peer, and a local agent.
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

/// The sender is not registered here.
fn the_signature_of_an_agent_at_a_peer_can_be_checked(suite: &Suite) {
    let (_target, client, peer, xena, bob) = arrivals(suite);
    peer.has(&[xena.identity()], 201);
    peer.deliver(&client, &xena.letter(&look_up(&client, &bob.did), "from afar")).expect(201);
    let got = bob.inbox().remove(0);
    let valid = |signature: &Value| {
        let body = json!({ "envelope": got["envelope"], "signature": signature, "sender_did": got["from"] });
        let checked = client.post("/v1/agent/verify", &body).expect(200);
        assert_eq!((&checked["sender_did"], &checked["key_period"]), (&json!(xena.did()), &Value::Null));
        checked["valid"].clone()
    };
    assert_eq!((valid(&got["signature"]), valid(&json!(base64(&[1; 64])))), (json!(true), json!(false)));
    let nobody = json!({ "envelope": "{}", "signature": got["signature"], "sender_did": Stranger::new().did() });
    client.post("/v1/agent/verify", &nobody).expect_error(404, "NOT_FOUND");
}

/// Decision peer-deliveries.
fn an_exact_repeat_gets_the_same_answer(suite: &Suite) {
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

/// Decision peer-deliveries.
fn another_body_under_the_same_delivery_id_is_refused(suite: &Suite) {
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

/// Decision peer-deliveries: signed over method, path, body hash, timestamp and delivery id.
fn deliveries_that_are_not_signed_right_are_refused(suite: &Suite) {
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

/// Decision peer-deliveries.
fn deliveries_out_of_their_time_are_refused(suite: &Suite) {
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
    // The attacker's own keys under the DID of another agent.
    let mut forged = eve.letter(&to, "x");
    forged["from"] = json!(xena.did());
    peer.deliver(&client, &forged).expect_error(403, "FORBIDDEN");
    // The public key of the DID, with a signature of the attacker.
    let mut forged = eve.letter(&to, "x");
    forged["from"] = json!(xena.did());
    forged["sender_signing_key"] = xena.letter(&to, "x")["sender_signing_key"].clone();
    peer.deliver(&client, &forged).expect_error(403, "FORBIDDEN");
    // The attacker's signature over the DID of another agent and the keys of a third.
    let mut forged = eve.letter(&to, "x");
    let text =
        heliograph_tests::peer::route_text(xena.did(), &bob.did, text(&forged, "nonce"), text(&forged, "ciphertext"));
    forged["from"] = json!(xena.did());
    forged["signature"] = json!(base64(&signing::sign(&eve.sdk.keys.signing, text.as_bytes())));
    peer.deliver(&client, &forged).expect_error(403, "FORBIDDEN");
    // A message to one recipient is no message to another.
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

/// The liar is the first peer, so that it would be believed first.
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
    // Xena wrote a message, which came through her own relay.
    home.deliver(&client, &xena.letter(&look_up(&client, &bob.did), "hello")).expect(201);
    let found = client.get(&format!("/v1/agent/identity/{}", xena.did())).expect(200);
    assert_eq!(found["encryption_public_key"], xena.identity()["encryption_public_key"]);
    assert_eq!(found["relay"], home.source.base);
    // Claims that contradict each other count less than what the agent itself shows.
    let yuri = Stranger::new();
    let mut claim = yuri.identity();
    claim["encryption_public_key"] = eve.identity()["encryption_public_key"].clone();
    liar.has(&[claim], 201);
    home.has(&[xena.identity(), yuri.identity()], 201);
    client.get(&format!("/v1/agent/identity/{}", yuri.did())).expect_error(409, "CONFLICT");
    home.deliver(&client, &yuri.letter(&look_up(&client, &bob.did), "it is me")).expect(201);
    let found = client.get(&format!("/v1/agent/identity/{}", yuri.did())).expect(200);
    assert_eq!((&found["relay"], bob.raw().len()), (&json!(home.source.base), 2));
}

/// Decision peer-deliveries: one hop.
fn what_a_peer_brings_for_others_is_not_forwarded(suite: &Suite) {
    let (_target, client, peer, xena, _) = arrivals(suite);
    let (other, yuri) = (FakePeer::start(), Stranger::new());
    other.befriend(&client);
    other.has(&[yuri.identity()], 201);
    client.get(&format!("/v1/agent/identity/{}", yuri.did())).expect(200);
    peer.deliver(&client, &xena.letter(&yuri.sdk.as_peer(), "pass it on")).expect_error(404, "NOT_FOUND");
    peer.deliver(&client, &xena.letter(&Stranger::new().sdk.as_peer(), "x")).expect_error(404, "NOT_FOUND");
    assert_eq!(other.deliveries().len(), 0);
}

/// Decision peer-deliveries: "or the key was pinned before".
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
    // The key counts only at that peer: another peer may not use it.
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
    // A caller that is no peer does not use up a peer's budget; its address has a budget of its own.
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
    // The relay's own key is rotated too.
    let key = || client.get("/v1/relay/info").expect(200)["relay"]["public_key"].clone();
    let before = key();
    let made = client.admin().send("POST", "/v1/admin/relay-key", None, b"").expect(201);
    assert!(made["public_key"] == key() && key() != before);
}

/// Decision request-size-limits.
fn a_delivery_over_its_limit_is_413(suite: &Suite) {
    let (_target, client, peer, xena, bob) = arrivals(suite);
    let to = look_up(&client, &bob.did);
    let large = "x".repeat(180_000);
    peer.deliver(&client, &xena.letter(&to, &large)).expect(201);
    assert_eq!(bob.inbox()[0]["content"].as_str().unwrap().len(), 180_000);
    let over = "x".repeat(220_000);
    peer.deliver(&client, &xena.letter(&to, &over)).expect_error(413, "PAYLOAD_TOO_LARGE");
}
