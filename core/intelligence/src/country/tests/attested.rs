//! Attestations beside measurements, and measurements that settle them.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::{HEADER, Server, json as read, rows};
use crate::import::{ImportKind, Options};

/// An agent whose keys the service holds.
struct Agent {
    did: String,
    key: String,
}

impl Server {
    fn agent(&self) -> Agent {
        let headers = [("content-type", "application/json")];
        let (_, made) = read(self.request(Method::POST, "/v1/agent/register", &headers, b"{}"));
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        Agent { did: text("did"), key: text("api_key") }
    }

    fn attest(&self, agent: &Agent, kind: &str, domain: &str) -> Value {
        let body = json!({ "claim_type": kind, "claim_data": {}, "country": "IT", "domain": domain }).to_string();
        let headers = [("x-agent-key", agent.key.as_str()), ("content-type", "application/json")];
        let (status, made) = read(self.request(Method::POST, "/v1/agent/attestations", &headers, body.as_bytes()));
        assert_eq!(status, 201, "{made}");
        made
    }

    fn trust(&self, agent: &Agent) -> Value {
        self.ok(&format!("/v1/agent/trust/{}", agent.did))
    }

    fn endorse(&self, agent: &Agent, level: &str) {
        let headers = [("x-admin-key", super::ADMIN), ("content-type", "application/json")];
        let path = format!("/v1/admin/agents/{}/endorse", agent.did);
        let body = json!({ "level": level }).to_string();
        let (status, body) = read(self.request(Method::POST, &path, &headers, body.as_bytes()));
        assert_eq!((status.as_u16(), &body["trust_level"]), (200, &json!(level)));
    }

    fn days(&self, days: u64) {
        self.0.advance(Duration::from_secs(days * 24 * 3600));
    }

    fn measure(&self, domain: &str, day: &str, blocked: bool, networks: std::ops::Range<u32>) {
        let parts: Vec<String> = networks.map(|asn| rows("IT", asn, domain, day, 0..12, blocked)).collect();
        let data = format!("{HEADER}{}", parts.concat());
        let summary = self.import(ImportKind::OoniObservations, Options::default(), data.as_bytes());
        assert!(summary.complete && summary.counts.refused + summary.counts.unusable == 0, "{summary:?}");
    }
}

/// Attestations are shown as a source of their own, weighted by trust, and decide nothing.
#[test]
fn attestations_stand_beside_measurements_weighted_by_trust_and_never_decide() {
    let server = Server::start();
    let trusted: Vec<Agent> = (0..5).map(|_| server.agent()).collect();
    let fresh = server.agent();
    for agent in &trusted {
        server.endorse(agent, "verified");
        server.attest(agent, "domain-blocked", "example.org");
        server.attest(agent, "domain-blocked", "example.org");
    }
    server.attest(&fresh, "service-accessible", "https://www.example.org/page");
    server.attest(&fresh, "throttling", "example.org");
    let answer = server.detect("IT", "example.org", None);
    assert_eq!((&answer["status"], &answer["basis"]), (&json!("unknown"), &json!("unmeasured")), "{answer}");
    assert_eq!((&answer["confidence"], &answer["sources"]), (&json!(0.0), &json!([])));
    let said = &answer["attestations"];
    assert_eq!((&said["source"], &said["decides"]), (&json!("attestation"), &json!(false)));
    assert_eq!((&said["agentsBlocked"], &said["agentsAccessible"], &said["count"]), (&json!(5), &json!(1), &json!(11)));
    // 30 of anchored weight is 30/33 of a vote, five times. A fresh agent has no weight.
    assert_eq!((&said["weightBlocked"], &said["weightAccessible"]), (&json!(4.5455), &json!(0.0)));
    assert_eq!(said["statements"], json!([]));
    let body = json!({ "country": "IT", "target": "example.org", "explain": true });
    let (_, explained) = server.post("/hydra/v1/detect", &body);
    let first = &explained["attestations"]["statements"][0];
    assert_eq!((&first["says"], &first["weight"]), (&json!("blocked"), &json!(0.9091)), "{explained}");
    // Attestations that contradict measurements change no number.
    server.measure("example.org", "2025-12-31", false, 1..4);
    let with = server.detect("IT", "example.org", None);
    let without = Server::start();
    without.measure("example.org", "2025-12-31", false, 1..4);
    let mut alone = without.detect("IT", "example.org", None);
    assert_eq!((&with["status"], &alone["attestations"]), (&json!("accessible"), &Value::Null));
    alone["attestations"] = with["attestations"].clone();
    assert_eq!(with, alone);
    assert!(server.detect("IT", "other.org", None)["attestations"].is_null());
    server.days(31);
    assert!(server.detect("IT", "example.org", None)["attestations"].is_null(), "they are old by now");
}

/// Decision anchored-weight: an attestation that independent measured verdicts agree with later anchors its author, the
/// first author most.
#[test]
fn measurements_that_agree_later_anchor_the_first_who_said_so() {
    let server = Server::start();
    let [first, second, wrong, late] = [(); 4].map(|()| server.agent());
    for domain in ["a.org", "b.org", "c.org", "d.org"] {
        server.attest(&first, "domain-blocked", domain);
        server.attest(&first, "domain-blocked", domain);
    }
    // If both came at one instant, the ids would decide which was first.
    server.0.advance(Duration::from_secs(1));
    server.attest(&second, "domain-blocked", "a.org");
    server.attest(&wrong, "service-accessible", "a.org");
    server.days(2);
    for domain in ["a.org", "b.org", "c.org", "d.org"] {
        server.measure(domain, "2026-01-02", true, 1..4);
    }
    assert_eq!(server.detect("IT", "a.org", None)["status"], "blocked");
    let trust = server.trust(&first);
    assert_eq!((&trust["anchored_weight"], &trust["trust_level"]), (&json!(4.0), &json!("medium")), "{trust}");
    assert_eq!(server.trust(&second)["anchored_weight"], 0.5);
    // What is known already is no discovery.
    server.attest(&late, "domain-blocked", "a.org");
    server.days(1);
    server.measure("a.org", "2026-01-03", true, 1..4);
    server.days(1);
    let trust = server.trust(&late);
    assert_eq!((&trust["anchored_weight"], &trust["trust_level"]), (&json!(0.0), &json!("low")), "{trust}");
    assert!(trust["components"]["attestation_accuracy"].as_f64().unwrap() > 0.6, "{trust}");
    server.days(5);
    let trust = server.trust(&wrong);
    assert!(trust["components"]["attestation_accuracy"].as_f64().unwrap() < 0.4, "{trust}");
}

/// Decision anchored-weight: one network is not independent evidence, nor is a measurement from before the attestation.
/// It is no news that a site works which nobody had measured.
#[test]
fn nothing_is_earned_by_saying_what_was_known_or_likely() {
    let server = Server::start();
    let [lone, reader, guesser] = [(); 3].map(|()| server.agent());
    server.attest(&lone, "domain-blocked", "lone.org");
    server.attest(&reader, "domain-blocked", "read.org");
    server.attest(&guesser, "service-accessible", "works.org");
    server.days(2);
    server.measure("lone.org", "2026-01-02", true, 1..2);
    // Another reader saw these measurements before this service did.
    server.measure("read.org", "2025-12-31", true, 1..4);
    server.measure("read.org", "2026-01-02", true, 1..4);
    server.measure("works.org", "2026-01-02", false, 1..4);
    for (agent, level) in [(&lone, "new"), (&reader, "low"), (&guesser, "low")] {
        let trust = server.trust(agent);
        assert_eq!((&trust["anchored_weight"], &trust["trust_level"]), (&json!(0.0), &json!(level)), "{trust}");
    }
}
