//! Probes in a deployment: what honest probes and others can do (decision probes-confirm-probes).

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};

use super::{ADMIN, HEADER, Server, json as read, rows};
use crate::import::{ImportKind, Options};
use crate::probe::board;
use crate::testing::PROGRAM;
use crypto::encoding::encode_hex;
use crypto::hash::hmac_sha256;
use engine::actor::ActorId;
use engine::http::{Request, serve};
use engine::runtime::Runtime;
use engine::testing::Dice;
use relay::testing::TestRuntime;

/// A node of a test, at an address of its own.
struct Probe {
    id: String,
    token: String,
    address: IpAddr,
    lies: bool,
}

impl Server {
    fn send(&self, path: &str, address: IpAddr, headers: &[(&'static str, &str)], body: &Value) -> (u16, Value) {
        let mut map = HeaderMap::new();
        map.insert("content-type", HeaderValue::from_static("application/json"));
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        let request = Request {
            method: if path.starts_with("/v1/admin/") { Method::PATCH } else { Method::POST },
            path: path.to_owned(),
            headers: map,
            body: body.to_string().into_bytes().into(),
            client: Some(address),
            ..Request::default()
        };
        let (status, body) = read(serve(self.0.clone(), request).now_or_never().expect("nothing waits in memory"));
        (status.as_u16(), body)
    }

    /// A node on this network. Nodes with the same `place` share a block of addresses.
    fn probe(&self, asn: u32, place: u32, lies: bool) -> Probe {
        let address = IpAddr::V4(Ipv4Addr::from(0x0a00_0001 + (place << 8)));
        let body = json!({ "country": "NO", "asn": asn });
        let (status, made) = self.send("/v1/community/register", address, &[], &body);
        assert_eq!(status, 201, "{made}");
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        Probe { id: text("nodeId"), token: text("nodeToken"), address, lies }
    }

    /// What the probe says now about each site: whether it is blocked. A liar says the opposite.
    fn submission(&self, probe: &Probe, sites: &[(&str, bool)]) -> Value {
        let now = self.0.now();
        let row = |(site, blocked): &(&str, bool)| {
            let says = *blocked != probe.lies;
            json!({
                "targetUrl": format!("https://{site}/"), "domain": site, "success": !says, "latencyMs": 80,
                "httpStatus": if says { Value::Null } else { json!(200) }, "isBlocked": says, "sniBlocked": says,
                "blockType": if says { json!("sni-filtering") } else { Value::Null }, "timestamp": now.to_string(),
            })
        };
        json!({
            "nodeId": probe.id, "nodeCountry": "NO", "nodeType": "community", "timestamp": now.to_string(),
            "submissionId": format!("{}{}", now.0, probe.id), "results": sites.iter().map(row).collect::<Vec<_>>(),
        })
    }

    fn submit(&self, probe: &Probe, body: &Value) -> Value {
        let signature = hmac_sha256(probe.token.as_bytes(), body.to_string().as_bytes());
        let signature = format!("sha256={}", encode_hex(&signature));
        let bearer = format!("Bearer {}", probe.token);
        let headers = [("authorization", bearer.as_str()), ("x-svc-signature", signature.as_str())];
        let (status, answer) = self.send("/v1/probe/results", probe.address, &headers, body);
        assert_eq!(status, 200, "{answer}");
        answer
    }

    fn measures(&self, probe: &Probe, sites: &[(&str, bool)]) {
        let answer = self.submit(probe, &self.submission(probe, sites));
        assert_eq!(answer["accepted"], sites.len(), "{answer}");
    }

    fn vouch(&self, probe: &Probe, standing: &str) {
        let path = format!("/v1/admin/probes/{}", probe.id);
        let headers = [("x-admin-key", ADMIN)];
        let (status, body) = self.send(&path, probe.address, &headers, &json!({ "standing": standing }));
        assert_eq!(status, 200, "{body}");
    }

    fn hours(&self, hours: u64) {
        self.0.advance(Duration::from_secs(hours * 3600));
    }

    /// Lets probes measure twice a day for some days.
    fn days_of(&self, days: u64, probes: &[(&Probe, &[(&str, bool)])]) {
        for _ in 0..days * 2 {
            for (probe, sites) in probes {
                self.measures(probe, sites);
            }
            self.hours(12);
        }
    }

    fn trust_of(&self, probe: &Probe) -> f64 {
        self.ok(&format!("/v1/community/nodes/{}", probe.id))["node"]["trust_score"].as_f64().unwrap()
    }

    /// Volunteers of another source find the site open on these networks.
    fn open_elsewhere(&self, site: &str, day: &str, networks: std::ops::Range<u32>) {
        let parts: Vec<String> = networks.map(|asn| rows("NO", asn, site, day, 0..12, false)).collect();
        let data = format!("{HEADER}{}", parts.concat());
        self.import(ImportKind::OoniObservations, Options::default(), data.as_bytes());
    }
}

/// The status of a network in an answer; `None` if the answer does not have it.
fn network(answer: &Value, asn: u32) -> Option<&str> {
    let isps = answer["isps"].as_array().unwrap();
    isps.iter().find(|isp| isp["asn"] == asn)?["status"].as_str()
}

const SITE: &str = "bbc.com";

#[test]
fn what_two_probes_agree_on_is_evidence_and_what_one_says_is_none() {
    let server = Server::start();
    let probes = [server.probe(50, 1, false), server.probe(50, 2, false)];
    probes.iter().for_each(|probe| server.vouch(probe, "vouched"));
    for _ in 0..3 {
        server.measures(&probes[0], &[(SITE, true)]);
        server.hours(1);
    }
    let answer = server.detect("NO", SITE, None);
    assert_eq!((&answer["status"], &answer["evidenceCount"]), (&json!("unknown"), &json!(3)), "{answer}");
    for _ in 0..3 {
        server.measures(&probes[1], &[(SITE, true)]);
        server.hours(1);
    }
    let answer = server.detect("NO", SITE, None);
    assert_eq!(
        (&answer["status"], &answer["blockingMethod"]),
        (&json!("blocked"), &json!("sni-filtering")),
        "{answer}"
    );
    assert_eq!((&answer["sources"], network(&answer, 50)), (&json!(["probe"]), Some("blocked")), "{answer}");
    // A probe that the operator ends counts for nothing, not even before that time.
    server.vouch(&probes[1], "suspended");
    server.settle();
    assert_eq!(server.detect("NO", SITE, None)["status"], "unknown");
}

/// A submission is idempotent by its id for 24 hours and more. Clients send from their cache for a day, and any answer
/// but 200 makes them send again.
#[test]
fn a_submission_that_comes_again_days_later_is_never_stored_twice() {
    let server = Server::start();
    let probe = server.probe(50, 1, false);
    let body = server.submission(&probe, &[(SITE, true)]);
    let counts = |answer: Value| ["accepted", "duplicates", "rejected"].map(|name| answer[name].as_u64().unwrap());
    assert_eq!(counts(server.submit(&probe, &body)), [1, 0, 0]);
    for hours in [0, 25, 40] {
        server.hours(hours);
        assert_eq!(counts(server.submit(&probe, &body)), [0, 1, 0], "{hours} hours later");
    }
    // A submission whose id is no longer known is too old to be accepted.
    server.hours(24 * 4);
    assert_eq!(counts(server.submit(&probe, &body)), [0, 0, 1]);
    assert_eq!(server.ok(&format!("/v1/community/nodes/{}", probe.id))["node"]["total_probes"], 1);
}

/// Decision probes-confirm-probes: if 2 of 3 nodes on one network lie, the answer of that network is `unknown`, and the
/// country is unchanged.
#[test]
fn two_liars_of_three_leave_their_network_unknown_and_the_country_as_it_was() {
    let server = Server::start();
    let probes = [server.probe(50, 1, false), server.probe(50, 2, true), server.probe(50, 3, true)];
    let all: Vec<(&Probe, &[(&str, bool)])> = probes.iter().map(|probe| (probe, &[(SITE, false)][..])).collect();
    server.days_of(10, &all);
    server.open_elsewhere(SITE, "2026-01-10T00:00:00Z", 1..5);
    let answer = server.detect("NO", SITE, None);
    assert!([None, Some("unknown")].contains(&network(&answer, 50)), "{answer}");
    let facts = (&answer["status"], &answer["networksTested"], &answer["networksBlocked"]);
    assert_eq!(facts, (&json!("accessible"), &json!(4), &json!(0)), "{answer}");
    // Those two do not lower the trust in the honest probe.
    assert!((server.trust_of(&probes[0]) - 0.5).abs() < 1e-9);
}

/// Decision probes-confirm-probes: 200 fresh nodes on one network.
#[test]
fn two_hundred_fresh_nodes_on_one_network_change_nothing() {
    let server = Server::start();
    let honest = [server.probe(50, 1, false), server.probe(50, 2, false)];
    let all: Vec<(&Probe, &[(&str, bool)])> = honest.iter().map(|probe| (probe, &[(SITE, false)][..])).collect();
    server.days_of(8, &all);
    let before = server.detect("NO", SITE, None);
    assert_eq!((&before["status"], network(&before, 50)), (&json!("accessible"), Some("accessible")), "{before}");
    // Each node has an address far from the others.
    let crowd: Vec<Probe> = (10..210).map(|place| server.probe(50, place, true)).collect();
    for _ in 0..2 {
        crowd.iter().chain(&honest).for_each(|probe| server.measures(probe, &[(SITE, false)]));
        server.hours(6);
    }
    let after = server.detect("NO", SITE, None);
    assert_eq!((&after["status"], network(&after, 50)), (&json!("accessible"), Some("accessible")), "{after}");
    // Behind one block of addresses they count as one node, even when they are no longer fresh.
    let crowd: Vec<Probe> = (0..200).map(|_| server.probe(60, 300, true)).collect();
    for _ in 0..2 {
        crowd.iter().for_each(|probe| server.measures(probe, &[(SITE, false)]));
        server.hours(60);
    }
    let after = server.detect("NO", SITE, None);
    assert!([None, Some("unknown")].contains(&network(&after, 60)), "{after}");
}

/// A fifth of all nodes lie. The seed spreads them over the networks, at most two on one, because whoever has most
/// nodes of a network decides it.
fn with_liars(seed: u64) {
    const BLOCKED: &str = "dw.com";
    let server = Server::start();
    let mut dice = Dice(seed);
    let mut draw = |below: u64| dice.below(below);
    let mut liars = [false; 40];
    while liars.iter().filter(|lies| **lies).count() < 8 {
        let at = draw(40) as usize;
        let network = at / 5 * 5;
        liars[at] |= liars[network..network + 5].iter().filter(|lies| **lies).count() < 2;
    }
    let probes: Vec<Probe> = (0..40).map(|n| server.probe(50 + n / 5, n, liars[n as usize])).collect();
    let truth = [(SITE, false), (BLOCKED, true)];
    let all: Vec<(&Probe, &[(&str, bool)])> = probes.iter().map(|probe| (probe, &truth[..])).collect();
    server.days_of(8, &all);
    for (site, status, other) in [(SITE, "accessible", "blocked"), (BLOCKED, "blocked", "accessible")] {
        let answer = server.detect("NO", site, None);
        assert_eq!(answer["status"], status, "seed {seed}: {answer}");
        for asn in 50..58 {
            assert_ne!(network(&answer, asn), Some(other), "seed {seed}, AS{asn}: {answer}");
        }
    }
    let mean = |lies: bool| {
        let trusts: Vec<f64> = probes.iter().filter(|p| p.lies == lies).map(|p| server.trust_of(p)).collect();
        trusts.iter().sum::<f64>() / trusts.len() as f64
    };
    assert!(mean(false) > 0.7 && mean(true) < 0.4, "seed {seed}: {} {}", mean(false), mean(true));
}

/// Decision probes-confirm-probes: with 20% liars, every verdict is right or unknown.
#[test]
fn a_fifth_of_liars_turns_no_verdict() {
    with_liars(1);
}

/// A block of addresses stands for one network, so one machine cannot be on many.
#[test]
fn one_place_cannot_speak_for_several_networks() {
    let server = Server::start();
    let probes: Vec<Probe> =
        (0..6).flat_map(|n| [server.probe(50 + n, 1, true), server.probe(50 + n, 2, true)]).collect();
    let all: Vec<(&Probe, &[(&str, bool)])> = probes.iter().map(|probe| (probe, &[(SITE, false)][..])).collect();
    server.days_of(6, &all);
    let answer = server.detect("NO", SITE, None);
    assert!(answer["networksBlocked"].as_u64().unwrap() <= 1, "{answer}");
}

/// When a probe turns out to be a liar, what it said elsewhere stops counting at once, even if nobody measures that
/// again: the stored verdict changes within minutes. Who claims the probe, and that it is forgotten, changes no
/// verdict.
#[test]
fn what_a_probe_is_worth_now_decides_what_it_said_of_sites_that_nobody_measures_any_more() {
    const OTHER: &str = "dw.com";
    let server = Server::start();
    let liars = [server.probe(50, 1, true), server.probe(50, 2, true)];
    let of_other: Vec<(&Probe, &[(&str, bool)])> = liars.iter().map(|probe| (probe, &[(OTHER, false)][..])).collect();
    server.days_of(6, &of_other);
    let stored = || server.ok(&format!("/data/domain/{OTHER}"))["summary"]["blocked_in_countries"].clone();
    let detected = || server.detect("NO", OTHER, None)["status"].clone();
    assert_eq!((detected(), stored()), (json!("blocked"), json!(1)), "two known probes agree");

    let claim = json!({ "nodeId": liars[0].id, "nodeToken": liars[0].token, "handle": "ada" });
    assert_eq!(server.send("/v1/community/validate-token", liars[0].address, &[], &claim).0, 200);
    server.settle();
    assert_eq!((detected(), stored()), (json!("blocked"), json!(1)), "a name is no trust");

    // Another source finds a third site open, while one of the probes says the opposite.
    server.days_of(1, &[(&liars[0], &[(SITE, false)])]);
    server.open_elsewhere(SITE, "2026-01-07T00:00:00Z", 50..54);
    let mut minutes = 0;
    while detected() != "unknown" {
        server.0.advance(Duration::from_secs(600));
        minutes += 10;
        assert!(minutes < 4 * 24 * 60, "{}", server.trust_of(&liars[0]));
    }
    assert!(server.trust_of(&liars[0]) < 0.5);
    server.0.advance(Duration::from_secs(60));
    assert_eq!(stored(), json!(0), "the stored verdict follows after {minutes} minutes");
}

/// Another source is as good as a second probe. A probe that contradicts it does not count.
#[test]
fn another_source_confirms_a_probe_or_stops_it() {
    let server = Server::start();
    let probe = server.probe(2, 1, true);
    server.days_of(5, &[(&probe, &[(SITE, false)])]);
    server.open_elsewhere(SITE, "2026-01-05T00:00:00Z", 1..5);
    server.hours(40);
    let answer = server.detect("NO", SITE, None);
    assert_eq!((&answer["status"], network(&answer, 2)), (&json!("accessible"), Some("accessible")), "{answer}");
    assert!(server.trust_of(&probe) < 0.5);
}

/// One actor holds the lists and pages about the network. The shards tell it once a minute. The status of a node on
/// these pages changes with time alone.
#[test]
fn shards_tell_the_board_once_a_minute() {
    let server = Server(TestRuntime::start(&PROGRAM, &[("admin_key", ADMIN), ("publish_interval", "10")]));
    let probe = server.probe(50, 1, false);
    let page = |path: &str| server.ok(path);
    let counts = || {
        let network = page("/v1/probe/network");
        let stats = page("/v1/probe/stats");
        let listed = page("/v1/community/nodes")["nodes"][0]["totalProbes"].clone();
        let foremost = page("/v1/community/leaderboard")["leaderboard"][0]["totalProbes"].clone();
        [&network["probes_24h"], &stats["total_probes"], &stats["domains_tested"], &listed, &foremost].map(Value::clone)
    };
    assert_eq!(counts(), [json!(0), json!(0), json!(0), Value::Null, Value::Null], "who never submitted is on no page");
    server.measures(&probe, &[(SITE, false)]);
    server.settle();
    assert_eq!(counts(), [1, 1, 1, 1, 1].map(|count| json!(count)), "the first time at once");
    for second in 2..=20 {
        server.measures(&probe, &[(SITE, false), ("dw.com", true)]);
        server.0.advance(Duration::from_secs(second % 2 + 1));
    }
    let told = |deeds: Vec<(ActorId, String)>| deeds.iter().filter(|(actor, _)| *actor == board::actor()).count();
    server.0.deeds();
    server.0.advance(Duration::from_secs(60));
    assert!((1..=6).contains(&told(server.0.deeds())), "nineteen submissions are told at once");
    server.0.advance(Duration::from_secs(11));
    assert_eq!(counts(), [39, 39, 2, 39, 39].map(|count| json!(count)));
    for (hours, status) in [(0, "active"), (3, "degraded"), (24, "inactive")] {
        server.hours(hours);
        let network = page("/v1/probe/network");
        assert_eq!(network["nodes"][0]["status"], status, "after {hours} hours: {network}");
    }
    assert_eq!(page("/v1/probe/network")["probes_24h"], 0);
    server.hours(24 * 31);
    let network = page("/v1/probe/network");
    assert_eq!((&network["total_nodes"], &network["nodes"]), (&json!(0), &json!([])), "{network}");
}

#[test]
fn nodes_that_say_nothing_for_long_are_forgotten() {
    let server = Server::start();
    let [unused, silent, vouched] = [1, 2, 3].map(|place| server.probe(50, place, false));
    server.vouch(&vouched, "vouched");
    server.measures(&silent, &[(SITE, false)]);
    let status = |probe: &Probe| server.get(&format!("/v1/community/nodes/{}", probe.id)).0.as_u16();
    server.hours(24 * 29);
    assert_eq!([status(&unused), status(&silent), status(&vouched)], [200, 200, 200]);
    server.hours(24 * 2);
    assert_eq!([status(&unused), status(&silent), status(&vouched)], [404, 200, 200]);
    // The day before and the day after: the node's measurements say the same with the node and without it.
    let said = || {
        let answer = server.detect("NO", SITE, None);
        let summary = server.ok(&format!("/data/domain/{SITE}"))["summary"].clone();
        (["status", "confidence", "evidenceCount", "sources", "isps"].map(|name| answer[name].clone()), summary)
    };
    server.hours(24 * 369);
    assert_eq!(status(&silent), 200);
    let before = said();
    server.hours(24 * 2);
    assert_eq!([status(&unused), status(&silent), status(&vouched)], [404, 404, 200]);
    assert_eq!(said(), before);
    assert_eq!(server.ok("/v1/community/leaderboard")["leaderboard"], json!([]));
    assert_eq!(server.ok("/v1/probe/stats")["domains_tested"], 0, "nor is what nobody measured for a year counted");
}

/// If the platform knows the network of a request, a node cannot choose another one.
#[test]
fn the_network_that_the_platform_knows_counts() {
    let server = Server::start();
    let network = |asn: Option<u32>| {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        let request = Request {
            method: Method::POST,
            path: "/v1/community/register".to_owned(),
            headers,
            body: json!({ "country": "NO", "asn": 50 }).to_string().into_bytes().into(),
            client: Some([192, 0, 2, 1].into()),
            network: asn,
            ..Request::default()
        };
        read(serve(server.0.clone(), request).now_or_never().expect("nothing waits in memory")).1["asn"].clone()
    };
    assert_eq!((network(None), network(Some(7))), (json!(50), json!(7)));
}
