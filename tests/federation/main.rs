//! Three relays on loopback: two native servers and one Worker if `HELIOGRAPH_TEST_TARGETS` names `edge`, otherwise a
//! third native server. Agents of each write to agents of the others with their own encryption. Meanwhile a fourth
//! relay, which all three made a peer, lies and floods (decision peer-deliveries).

use std::time::{Duration, Instant};

use heliograph_tests::client::Client;
use heliograph_tests::peer::{FakePeer, Stranger, route_body};
use heliograph_tests::relay::{Agent, SdkAgent, base64, letter, look_up, text};
use heliograph_tests::target::{Kind, Target};
use serde_json::{Value, json};

/// A relay with one agent that keeps its own keys, and one whose keys the relay holds.
struct Relay {
    target: Target,
    client: Client,
    ada: SdkAgent,
    bob: Agent,
}

impl Relay {
    fn start(kind: Kind) -> Relay {
        let target =
            Target::start(kind, &[("allow_outbound", "127.0.0.0/8"), ("peer_per_second", "1"), ("peer_burst", "40")]);
        let client = target.client();
        let (ada, bob) = (SdkAgent::new(&client, Default::default()), Agent::server_side(&client));
        Relay { target, client, ada, bob }
    }

    fn base(&self) -> &str {
        self.target.base().unwrap()
    }

    /// Makes `other` a peer of this relay.
    fn befriend(&self, other: &Relay, name: &str) {
        let key = other.client.get("/v1/relay/info").expect(200)["relay"]["public_key"].clone();
        let body = json!({ "url": other.base(), "public_key": key, "name": name });
        self.client.admin().post("/v1/admin/peers", &body).expect(201);
    }

    /// Ada writes to an agent of another relay, whom she looks up at her own.
    fn write(&self, to: &str, text: &str) -> Value {
        let peer = look_up(&self.client, to);
        let body = route_body(&self.ada.sdk, &peer, text);
        self.ada.agent.client.post("/v1/relay/route", &body).expect(201)
    }

    /// Waits until her relay reports the message as delivered.
    fn delivered(&self, routed: &Value) {
        let path = format!("/v1/relay/route/{}", text(routed, "id"));
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let state = self.ada.agent.client.get(&path).expect(200);
            match state["status"].as_str().unwrap() {
                "delivered" => return,
                "waiting" => assert!(Instant::now() < end, "{state}"),
                _ => panic!("{state}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn third() -> Kind {
    if Kind::chosen().contains(&Kind::Edge) {
        return Kind::Edge;
    }
    eprintln!("the third relay is a native server: HELIOGRAPH_TEST_TARGETS does not name edge");
    Kind::Native
}

/// Decision peer-deliveries.
#[test]
fn three_relays_exchange_messages_while_a_fourth_lies_and_floods() {
    let mut relays = [Relay::start(Kind::Native), Relay::start(Kind::Native), Relay::start(third())];
    let fake = FakePeer::start();
    for relay in &relays {
        // The liar is added first, so that it would be believed first.
        fake.befriend(&relay.client);
    }
    for (from, to) in pairs() {
        relays[from].befriend(&relays[to], &format!("relay {to}"));
    }
    flood(&fake, &relays);

    let mut routed = Vec::new();
    for (from, to) in pairs() {
        for recipient in [&relays[to].bob.did, &relays[to].ada.agent.did] {
            let answer = relays[from].write(recipient, &format!("from {from} to {to}"));
            assert_eq!((&answer["routed"], text(&answer, "destination")), (&json!(true), relays[to].base()));
            routed.push((from, answer));
        }
    }
    for (from, answer) in &routed {
        relays[*from].delivered(answer);
    }
    for (to, relay) in relays.iter_mut().enumerate() {
        let mut expected: Vec<String> =
            (0..3).filter(|from| *from != to).map(|from| format!("from {from} to {to}")).collect();
        expected.sort();
        let inbox: Vec<Value> = relay
            .bob
            .items("/v1/agent/receive?limit=100")
            .into_iter()
            .filter(|item| !text(item, "content").starts_with("flood"))
            .collect();
        assert!(inbox.iter().all(|item| item["signature_valid"] == true), "{inbox:?}");
        let mut got: Vec<String> = inbox.iter().map(|item| text(item, "content").to_owned()).collect();
        got.sort();
        assert_eq!(got, expected, "opened by the relay");
        let mut got = relay.ada.texts();
        got.sort();
        assert_eq!(got, expected, "opened by the agent");
    }
    lies(&fake, &relays);
    answers(&mut relays);
}

fn pairs() -> impl Iterator<Item = (usize, usize)> {
    (0..3).flat_map(|from| (0..3).filter(move |to| *to != from).map(move |to| (from, to)))
}

/// Brings far more than a peer may: everything beyond its budget is refused, and nobody else waits for it.
fn flood(fake: &FakePeer, relays: &[Relay; 3]) {
    let sender = Stranger::new();
    std::thread::scope(|scope| {
        for relay in relays {
            let (to, sender) = (look_up(&relay.client, &relay.bob.did), &sender);
            scope.spawn(move || {
                let answers: Vec<u16> = (0..100)
                    .map(|n| fake.deliver(&relay.client, &sender.letter(&to, &format!("flood {n}"))).status)
                    .collect();
                assert!(answers.iter().all(|status| [201, 429].contains(status)), "{answers:?}");
                assert!(answers.contains(&429), "a flood has an end");
            });
        }
    });
}

/// The fourth relay claims agents of the others, and brings messages in their names.
fn lies(fake: &FakePeer, relays: &[Relay; 3]) {
    let (eve, nobody) = (Stranger::new(), Stranger::new());
    let mut claims = Vec::new();
    for relay in relays {
        let keys = relay.ada.sdk.as_peer();
        let mut claim = eve.identity();
        claim["did"] = json!(keys.did);
        claim["signing_public_key"] = json!(base64(&keys.signing_key));
        claims.push(claim);
    }
    let mut wrong = eve.identity();
    wrong["did"] = json!(nobody.did());
    claims.push(wrong);
    fake.has(&claims, 201);
    // Waits until the budget that the flood used up has recovered: each relay gets six lies.
    std::thread::sleep(Duration::from_secs(7));
    for (from, to) in pairs() {
        let (home, here) = (&relays[from], &relays[to]);
        let found = here.client.get(&format!("/v1/agent/identity/{}", home.ada.agent.did)).expect(200);
        assert_eq!(
            (text(&found, "relay"), &found["encryption_public_key"]),
            (home.base(), &json!(base64(&home.ada.sdk.as_peer().encryption_key)))
        );
        let to = look_up(&here.client, &here.bob.did);
        let mut forged = eve.letter(&to, "forged");
        forged["from"] = json!(home.ada.agent.did);
        fake.deliver(&here.client, &forged).expect_error(403, "FORBIDDEN");
        // One lie is in the name of an agent that is here, another for an agent that is elsewhere.
        let own = Stranger { sdk: here.ada.sdk.clone() };
        fake.deliver(&here.client, &own.letter(&to, "forged")).expect_error(403, "FORBIDDEN");
        let there = home.ada.sdk.as_peer();
        fake.deliver(&here.client, &eve.letter(&there, "pass it on")).expect_error(404, "NOT_FOUND");
        here.bob
            .client
            .post("/v1/agent/send", &json!({ "to": there.did, "message": "x" }))
            .expect_error(404, "NOT_FOUND");
        here.ada.agent.client.post("/v1/agent/send/encrypted", &letter(&there.did, "x")).expect_error(404, "NOT_FOUND");
    }
    for relay in relays {
        relay.client.get(&format!("/v1/agent/identity/{}", nobody.did())).expect_error(404, "NOT_FOUND");
        let texts: Vec<String> = relay
            .bob
            .items("/v1/agent/receive?limit=100")
            .iter()
            .map(|item| text(item, "content").to_owned())
            .filter(|text| text == "forged")
            .collect();
        assert!(texts.is_empty());
    }
}

/// Afterwards everybody can still write back, and each relay shows the right peers.
fn answers(relays: &mut [Relay; 3]) {
    for (from, to) in pairs() {
        let did = relays[to].ada.agent.did.clone();
        let routed = relays[from].write(&did, &format!("again from {from}"));
        relays[from].delivered(&routed);
    }
    for (at, relay) in relays.iter_mut().enumerate() {
        let mut got = relay.ada.texts();
        got.sort();
        let expected: Vec<String> =
            (0..3).filter(|from| *from != at).map(|from| format!("again from {from}")).collect();
        assert_eq!(got, expected);
        let peers = relay.client.get("/v1/relay/peers").expect(200);
        assert_eq!(peers["total"], 3);
        for peer in peers["peers"].as_array().unwrap().iter().filter(|peer| peer["relay_name"] != "fake") {
            assert!(peer["status"] == "active" && peer["messages_routed"].as_u64().unwrap() >= 3, "{peer}");
            assert!(peer["agents_synced"].as_u64().unwrap() >= 1, "{peer}");
        }
    }
}
