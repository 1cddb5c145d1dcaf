//! Owners at peers: which copy of a DID counts. The attacker registers others' public keys at a relay, with prekeys
//! that the owners signed, or runs a relay that shows proofs for another relay.

use heliograph_core::crypto::client::{Client as Sdk, Options};
use heliograph_tests::client::Client;
use heliograph_tests::peer::{FakePeer, Stranger, route_body};
use heliograph_tests::relay::{Agent, base64, letter, look_up, proof, text};
use serde_json::{Value, json};

use crate::relay_federation::{fresh, sdk};
use crate::{Suite, cases};

cases![
    a_copied_prekey_at_a_peer_wins_over_nobody_here,
    two_copies_at_peers_that_contradict_each_other_count_for_nobody,
    a_proof_at_a_peer_wins_over_an_unproved_registration_here,
    a_proof_for_another_relay_is_none,
    a_peer_that_says_to_be_another_deployment_is_not_believed,
    a_proof_at_a_peer_wins_over_a_copy_at_a_peer_that_was_added_first,
    what_is_proved_here_is_asked_nowhere,
    a_peer_that_answers_slowly_holds_up_nobody_who_is_here,
];

/// The deployment id that the test's relay claims.
const THERE: &str = "anotherdeployment00000";

/// The identity that a peer shows for this agent, with a prekey that the agent signed.
fn shown(sdk: &Sdk) -> Value {
    let body = sdk.key_body(None, 1);
    json!({
        "did": sdk.did, "name": null, "capabilities": [], "metadata": {}, "status": "active",
        "signing_public_key": body["signing_public_key"],
        "encryption_public_key": body["encryption_public_key"],
        "mlkem_public_key": body["mlkem_public_key"],
        "signed_prekey": {
            "public_key": body["signed_prekey_public"], "signature": body["signed_prekey_signature"], "id": 1,
        },
        "created_at": "2026-01-01T00:00:00.000Z", "standing": "signed", "proof": null,
    })
}

/// A copy of it with the attacker's encryption key.
fn copied(sdk: &Sdk) -> Value {
    let mut copy = shown(sdk);
    copy["encryption_public_key"] = json!(base64(&Stranger::new().sdk.as_peer().encryption_key));
    copy["mlkem_public_key"] = Value::Null;
    copy["standing"] = json!("proved");
    copy
}

/// The same with a proof for this deployment.
fn proved(client: &Client, sdk: &Sdk, deployment: &str) -> Value {
    let mut identity = shown(sdk);
    identity["proof"] = proof(client, sdk, &identity, Some(deployment));
    identity["standing"] = json!("proved");
    identity
}

/// A test relay that has these agents and claims this deployment id.
fn peer(client: &Client, deployment: &str, agents: &[Value]) -> FakePeer {
    let peer = FakePeer::start();
    peer.befriend(client);
    says(&peer, deployment, agents);
    peer
}

fn says(peer: &FakePeer, deployment: &str, agents: &[Value]) {
    let info = json!({ "deployment_id": deployment, "relay": { "public_key": peer.public_key() } });
    let agents = agents.to_vec();
    peer.answer(move |path| match path {
        "/v1/relay/info" => (200, info.clone()),
        "/v1/relay/deliver" => (201, json!({})),
        path => {
            let asked = |agent: &&Value| path.contains(agent["did"].as_str().unwrap());
            agents.iter().find(asked).map_or((404, json!({})), |agent| (200, agent.clone()))
        }
    });
}

fn identity(client: &Client, did: &str) -> Value {
    client.get(&format!("/v1/agent/identity/{did}")).expect(200)
}

fn key_of(sdk: &Sdk) -> Value {
    json!(base64(&sdk.as_peer().encryption_key))
}

fn a_copied_prekey_at_a_peer_wins_over_nobody_here(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let (ada, mut bob) = (sdk(&client), sdk(&client));
    let liar = peer(&client, THERE, &[copied(&bob.sdk)]);
    let found = identity(&client, &bob.agent.did);
    assert_eq!((&found["encryption_public_key"], found.get("relay")), (&key_of(&bob.sdk), None));
    let body = route_body(&ada.sdk, &look_up(&client, &bob.agent.did), "for Bob");
    assert_eq!(ada.agent.client.post("/v1/relay/route", &body).expect(201)["status"], "delivered");
    assert_eq!((bob.texts(), liar.deliveries().len()), (vec!["for Bob".to_owned()], 0));
    // The peer was asked once, because Bob proved nothing here either.
    assert_eq!(liar.questions(&bob.agent.did), 1);
}

fn two_copies_at_peers_that_contradict_each_other_count_for_nobody(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let xena = Stranger::new();
    let (liar, home) = (peer(&client, THERE, &[copied(&xena.sdk)]), peer(&client, "home00000000000000", &[]));
    says(&home, "home00000000000000", &[shown(&xena.sdk)]);
    let ada = sdk(&client);
    client.get(&format!("/v1/agent/identity/{}", xena.did())).expect_error(409, "CONFLICT");
    let body = route_body(&ada.sdk, &xena.sdk.as_peer(), "for Xena");
    ada.agent.client.post("/v1/relay/route", &body).expect_error(409, "CONFLICT");
    assert_eq!((liar.deliveries().len(), home.deliveries().len()), (0, 0));
    // A message that Xena signed and that came through her relay shows where she is.
    let bob = Agent::server_side(&client);
    home.deliver(&client, &xena.letter(&look_up(&client, &bob.did), "from Xena")).expect(201);
    assert_eq!(identity(&client, xena.did())["relay"], home.source.base);
    ada.agent.client.post("/v1/relay/route", &body).expect(201);
}

fn a_proof_at_a_peer_wins_over_an_unproved_registration_here(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let (ada, held, xena) = (sdk(&client), Agent::server_side(&client), Stranger::new());
    // An attacker who knows everything public registers her DID here.
    let copy = copied(&xena.sdk);
    let copycat = Agent::register(
        &client,
        &json!({
            "signing_public_key": copy["signing_public_key"],
            "encryption_public_key": copy["encryption_public_key"],
            "signed_prekey_public": copy["signed_prekey"]["public_key"],
            "signed_prekey_signature": copy["signed_prekey"]["signature"],
            "signed_prekey_id": 1,
        }),
    );
    assert_eq!(copycat.did, xena.did());
    let home = peer(&client, THERE, &[proved(&client, &xena.sdk, THERE)]);
    let found = identity(&client, xena.did());
    assert_eq!((&found["encryption_public_key"], &found["relay"]), (&key_of(&xena.sdk), &json!(home.source.base)));
    assert_eq!((text(&found, "standing"), found["proof"].is_object()), ("proved", true));
    // A question from a peer is about local agents only.
    let local = client.get(&format!("/v1/agent/identity/{}?local=true", xena.did())).expect(200);
    assert_eq!((text(&local, "standing"), local.get("relay")), ("signed", None));
    let body = route_body(&ada.sdk, &xena.sdk.as_peer(), "for Xena");
    let routed = ada.agent.client.post("/v1/relay/route", &body).expect(201);
    assert_eq!(routed["destination"], home.source.base);
    held.client.post("/v1/agent/send", &json!({ "to": xena.did(), "message": "x" })).expect_error(404, "NOT_FOUND");
    ada.agent.client.post("/v1/agent/send/encrypted", &letter(xena.did(), "x")).expect_error(404, "NOT_FOUND");
    assert!(copycat.raw().is_empty());
    // Messages that Xena signed are accepted from the relay where she proved herself.
    home.deliver(&client, &xena.letter(&look_up(&client, &held.did), "from Xena")).expect(201);
    assert_eq!(held.inbox()[0]["content"], "from Xena");
}

fn a_proof_for_another_relay_is_none(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let bob = sdk(&client);
    // A complete copy from another relay, with the key that the proof names, shown by a relay that it is not for.
    let mut shown = proved(&client, &bob.sdk, "somewhereelse000000000");
    shown["encryption_public_key"] = copied(&bob.sdk)["encryption_public_key"].clone();
    let liar = peer(&client, THERE, &[shown, proved(&client, &bob.sdk, "somewhereelse000000000")]);
    let found = identity(&client, &bob.agent.did);
    assert_eq!((found.get("relay"), liar.questions(&bob.agent.did)), (None, 1));
    let xena = Stranger::new();
    says(&liar, THERE, &[proved(&client, &xena.sdk, "somewhereelse000000000")]);
    let found = identity(&client, xena.did());
    assert_eq!((text(&found, "standing"), &found["proof"]), ("signed", &Value::Null));
}

fn a_peer_that_says_to_be_another_deployment_is_not_believed(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let here = text(&client.get("/health").expect(200), "deployment_id").to_owned();
    let (xena, yara, zora) = (Stranger::new(), Stranger::new(), Stranger::new());
    let home = peer(&client, THERE, &[proved(&client, &xena.sdk, THERE)]);
    assert_eq!(identity(&client, xena.did())["standing"], "proved");
    // The claimed ids: this deployment's, a known peer's, and one with a line feed that would shift lines.
    for (says_to_be, agent) in [(here.as_str(), &yara), (THERE, &zora), ("x\ny", &Stranger::new())] {
        let liar = peer(&client, says_to_be, &[proved(&client, &agent.sdk, says_to_be)]);
        let found = identity(&client, agent.did());
        assert_eq!((text(&found, "standing"), &found["relay"]), ("signed", &json!(liar.source.base)), "{says_to_be}");
    }
    assert_eq!(home.questions(xena.did()), 1);
}

fn a_proof_at_a_peer_wins_over_a_copy_at_a_peer_that_was_added_first(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let xena = Stranger::new();
    let liar = peer(&client, "liar000000000000000000", &[copied(&xena.sdk)]);
    let home = peer(&client, THERE, &[proved(&client, &xena.sdk, THERE)]);
    let ada = sdk(&client);
    assert_eq!(identity(&client, xena.did())["relay"], home.source.base);
    let body = route_body(&ada.sdk, &xena.sdk.as_peer(), "for Xena");
    assert_eq!(ada.agent.client.post("/v1/relay/route", &body).expect(201)["destination"], home.source.base);
    assert_eq!(liar.deliveries().len(), 0);
}

fn what_is_proved_here_is_asked_nowhere(suite: &Suite) {
    let (_target, client) = fresh(suite);
    let held = Agent::server_side(&client);
    let sdk = Sdk::new("svc", heliograph_tests::relay::seed(), Options::default());
    let mut body = sdk.key_body(None, 1);
    body["proof"] = proof(&client, &sdk, &body, None);
    let own = Agent::register(&client, &body);
    let home = peer(&client, THERE, &[proved(&client, &sdk, THERE)]);
    for did in [&held.did, &own.did] {
        assert_eq!(identity(&client, did).get("relay"), None);
        held.client.post("/v1/agent/send", &json!({ "to": did, "message": "x" })).expect(201);
    }
    assert_eq!(home.source.heard().len(), 0);
}

/// In memory nothing takes time.
fn a_peer_that_answers_slowly_holds_up_nobody_who_is_here(suite: &Suite) {
    if suite.kind == heliograph_tests::target::Kind::Memory {
        return;
    }
    let (target, client) = fresh(suite);
    let (ada, bob) = (sdk(&client), sdk(&client));
    let slow = FakePeer::start();
    slow.befriend(&client);
    slow.answer(|_| {
        std::thread::sleep(std::time::Duration::from_secs(40));
        (404, json!({}))
    });
    // The relay gives the peer up after a few seconds, and a busy machine may need as long for the rest: not three times.
    let overtaken = (0..3).any(|_| {
        let stranger = Stranger::new();
        std::thread::scope(|scope| {
            let asks = scope.spawn(|| client.get(&format!("/v1/agent/identity/{}", stranger.did())));
            target.until(|| (slow.questions(stranger.did()) > 0).then_some(()));
            assert_eq!(identity(&client, &bob.agent.did)["did"], bob.agent.did);
            ada.agent.client.post("/v1/agent/send/encrypted", &letter(&bob.agent.did, "x")).expect(201);
            !asks.is_finished()
        })
    });
    assert!(overtaken, "those who are here waited for a peer");
}
