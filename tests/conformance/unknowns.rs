//! Unknown names at every endpoint that takes one: a country, a domain, a network, a platform, an incident.
//!
//! An invalid name in a path is 404, and so is the country of a list. A question about a name is answered with
//! `unknown`, or with nothing.

use heliograph_tests::client::Client;
use serde_json::{Value, json};

use crate::detect::research;
use crate::{Suite, cases};

cases![
    every_endpoint_with_an_unknown_name_says_so,
    every_endpoint_that_takes_such_a_name_is_tried,
    bodies_with_unknown_names_are_answered_unknown,
];

/// The expected answer.
#[derive(Debug, Clone, Copy)]
enum ExpectedAnswer {
    Missing,
    /// 200, and the member at this JSON pointer has this value.
    Says(&'static str, &'static str),
    /// 200, and a feed without entries.
    NoEntry,
}

use ExpectedAnswer::{Missing, NoEntry, Says};

/// Route, its unknown parameter, a request, and the expected answer.
const TRIED: &[(&str, &str, &str, ExpectedAnswer)] = &[
    ("/data/country/{code}", "code", "/data/country/ZZ", Missing),
    ("/data/country/{code}/isps", "code", "/data/country/ZZ/isps", Missing),
    ("/data/country/{code}/history", "code", "/data/country/ZZ/history", Missing),
    ("/data/domain/{domain}", "domain", "/data/domain/nobody.example", Says("/status", "\"unknown\"")),
    ("/data/domain/{domain}/history", "domain", "/data/domain/nobody.example/history", Says("/timeline", "[]")),
    ("/data/domain/{domain}/history", "country", "/data/domain/a.example/history?country=ZZ", Missing),
    ("/data/dumps", "country", "/data/dumps?country=ZZ", Missing),
    ("/data/evidence/{id}", "id", "/data/evidence/0123456789abcdef", Missing),
    ("/data/incidents", "country", "/data/incidents?country=ZZ", Missing),
    ("/data/incidents", "domain", "/data/incidents?domain=nobody.example", Says("/total", "0")),
    ("/data/incidents", "service", "/data/incidents?service=friendster", Says("/total", "0")),
    ("/data/incidents/export", "country", "/data/incidents/export?country=ZZ", Missing),
    ("/data/incidents/feed.atom", "country", "/data/incidents/feed.atom?country=ZZ", Missing),
    ("/data/incidents/feed.atom", "domain", "/data/incidents/feed.atom?domain=nobody.example", NoEntry),
    ("/data/incidents/feed.atom", "service", "/data/incidents/feed.atom?service=friendster", NoEntry),
    ("/data/incidents/feed.rss", "country", "/data/incidents/feed.rss?country=ZZ", Missing),
    ("/data/incidents/feed.rss", "domain", "/data/incidents/feed.rss?domain=nobody.example", NoEntry),
    ("/data/incidents/feed.rss", "service", "/data/incidents/feed.rss?service=friendster", NoEntry),
    ("/data/incidents/{id}", "id", "/data/incidents/KE-1999-0001", Missing),
    ("/data/incidents/{id}", "id", "/data/incidents/0123456789ab", Missing),
    ("/data/incidents/{id}/evidence", "id", "/data/incidents/KE-1999-0001/evidence", Missing),
    ("/data/incidents/{id}/report", "id", "/data/incidents/KE-1999-0001/report", Missing),
    ("/data/measurements", "country", "/data/measurements?country=ZZ&target=a.example", Missing),
    (
        "/data/measurements",
        "asn",
        "/data/measurements?country=SE&target=a.example&asn=AS64511",
        Says("/measurements", "[]"),
    ),
    ("/data/network/{asn}/history", "asn", "/data/network/AS64511/history", Says("/timeline", "[]")),
    ("/data/network/{asn}/history", "country", "/data/network/AS64512/history?country=ZZ", Missing),
    ("/hydra/v1/threat-level/{country}", "country", "/hydra/v1/threat-level/ZZ", Missing),
    ("/v1/accessibility/check", "country", "/v1/accessibility/check?domain=a.example&country=ZZ", UNKNOWN),
    ("/v1/accessibility/check", "domain", "/v1/accessibility/check?domain=nobody.example&country=SE", UNKNOWN),
    ("/v1/accessibility/country/{country}/summary", "country", "/v1/accessibility/country/ZZ/summary", Missing),
    ("/v1/accessibility/service/{service}", "service", "/v1/accessibility/service/friendster", Missing),
    ("/v1/censorship-index/{code}", "code", "/v1/censorship-index/ZZ", Missing),
    ("/v1/forecast/asn-gnn", "country", "/v1/forecast/asn-gnn?country=ZZ", Missing),
    ("/v1/forecast/asn-gnn", "asn", "/v1/forecast/asn-gnn?asn=AS64511", Says("/results", "[]")),
    ("/v1/forecast/{country}/7day", "country", "/v1/forecast/ZZ/7day", Missing),
    ("/v1/forecast/{country}/multi-horizon", "country", "/v1/forecast/ZZ/multi-horizon", Missing),
    ("/v1/atlas/incidents/{id}/topic", "id", "/v1/atlas/incidents/KE-1999-0001/topic", Missing),
    ("/v1/atlas/score-v2/{country}", "country", "/v1/atlas/score-v2/ZZ", Missing),
    ("/v1/atlas/topics/{country}", "country", "/v1/atlas/topics/ZZ", Missing),
    ("/v1/elections/{country}/briefing", "country", "/v1/elections/ZZ/briefing", Missing),
    ("/v1/incidents/similar", "country", "/v1/incidents/similar?query=x&country=ZZ", Missing),
    ("/v1/isp/compare", "asns", "/v1/isp/compare?asns=64510,64511", Says("/missing", "[\"AS64510\",\"AS64511\"]")),
    ("/v1/isp/index", "country", "/v1/isp/index?country=ZZ", Missing),
    ("/v1/isp/{asn}/profile", "asn", "/v1/isp/AS64511/profile", Missing),
    ("/v1/probe/domain/{domain}", "domain", "/v1/probe/domain/nobody.example", Says("/nodes", "[]")),
    ("/v1/probe/domain/{domain}/history", "domain", "/v1/probe/domain/nobody.example/history", Says("/points", "[]")),
    (
        "/v1/probe/domain/{domain}/history",
        "country",
        "/v1/probe/domain/a.example/history?country=ZZ",
        Says("/points", "[]"),
    ),
    ("/v1/probe/domains", "country", "/v1/probe/domains?country=ZZ", Says("/country_domains", "[]")),
    ("/v1/measurement/intent-profile", "country", "/v1/measurement/intent-profile?country=ZZ", Missing),
    ("/v1/measurement/network-depth", "country", "/v1/measurement/network-depth?country=ZZ", Missing),
    ("/v1/measurement/techniques", "country", "/v1/measurement/techniques?country=ZZ", Missing),
    ("/v1/measurement/techniques", "country_code", "/v1/measurement/techniques?country_code=ZZ", Missing),
    ("/v1/platform/{platform}/risk", "platform", "/v1/platform/myspace/risk", Missing),
    ("/v1/platform/{platform}/risk/{country}", "platform", "/v1/platform/myspace/risk/SE", Missing),
    ("/v1/platform/{platform}/risk/{country}", "country", "/v1/platform/telegram/risk/ZZ", Missing),
    ("/v1/platforms/country/{country}", "country", "/v1/platforms/country/ZZ", Missing),
    (
        "/v1/sentinel/active-learning-queue",
        "country",
        "/v1/sentinel/active-learning-queue?country=ZZ",
        Says("/items", "[]"),
    ),
    ("/v1/sentinel/attribute", "country", "/v1/sentinel/attribute?country=ZZ&date=2026-01-01", UNSURE),
    ("/v1/sentinel/current_risk/{country}", "country", "/v1/sentinel/current_risk/ZZ", Missing),
    ("/v1/vpn-accessibility", "country", "/v1/vpn-accessibility?country=ZZ", Missing),
];

const UNSURE: ExpectedAnswer = Says("/evidence_class", "\"insufficient\"");
const UNKNOWN: ExpectedAnswer = Says("/status", "\"unknown\"");

fn client(suite: &Suite) -> Client {
    research(&suite.client())
}

fn every_endpoint_with_an_unknown_name_says_so(suite: &Suite) {
    let client = client(suite);
    for (_, parameter, path, wanted) in TRIED {
        let answer = client.get(path);
        match wanted {
            Missing => {
                answer.expect_error(404, "NOT_FOUND");
            }
            Says(pointer, value) => {
                let body = answer.expect(200);
                let value: Value = serde_json::from_str(value).unwrap();
                assert_eq!(body.pointer(pointer), Some(&value), "{parameter} of {path}: {body}");
            }
            NoEntry => {
                let feed = answer.text();
                assert_eq!(answer.status, 200, "{path}: {feed}");
                assert!(feed.contains("<rights>") || feed.contains("<copyright>"), "{path}: {feed}");
                assert!(!feed.contains("<entry>") && !feed.contains("<item>"), "{path}: {feed}");
            }
        }
    }
}

/// A new endpoint that takes such a name needs a row above.
fn every_endpoint_that_takes_such_a_name_is_tried(suite: &Suite) {
    let names = ["country", "country_code", "code", "domain", "asn", "asns", "platform", "service", "id"];
    let groups = ["/data/", "/hydra/", "/v1/accessibility", "/v1/censorship", "/v1/incidents", "/v1/isp"];
    let more = [
        "/v1/measurement",
        "/v1/platform",
        "/v1/probe",
        "/v1/topic",
        "/v1/vpn",
        "/v1/forecast",
        "/v1/elections",
        "/v1/sentinel",
        "/v1/atlas",
    ];
    let document = suite.client().get("/openapi.json").expect(200);
    let mut seen = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let Some(get) = methods.get("get") else { continue };
        if !groups.iter().chain(&more).any(|group| path.starts_with(group)) {
            continue;
        }
        for parameter in get["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap();
            if names.contains(&name) {
                seen += 1;
                let tried = TRIED.iter().any(|(route, known, ..)| route == path && *known == name);
                assert!(tried, "{path} is not tried with an unknown {name}");
            }
        }
    }
    assert!(seen >= 30, "{seen}");
}

fn bodies_with_unknown_names_are_answered_unknown(suite: &Suite) {
    let client = client(suite);
    for (country, target) in [("ZZ", "a.example"), ("SE", "nobody.example")] {
        let one = client.post("/hydra/v1/detect", &json!({ "country": country, "target": target })).expect(200);
        assert_eq!((&one["status"], &one["confidence"]), (&json!("unknown"), &json!(0.0)), "{one}");
        let many = json!({ "country": country, "targets": [target] });
        let many = client.post("/hydra/v1/detect/batch", &many).expect(200);
        assert_eq!(many["summary"], json!({ "blocked": 0, "accessible": 0, "unknown": 1 }), "{many}");
        let batch = json!({ "country": country, "domains": [target] });
        let batch = client.post("/v1/accessibility/batch", &batch).expect(200);
        assert_eq!(batch["summary"], json!({ "blocked": 0, "accessible": 0, "unknown": 1 }), "{batch}");
        let ahead = client.post("/hydra/v1/predict", &json!({ "country": country, "target": target }));
        if country == "ZZ" {
            // A code that is no country has no base rate.
            ahead.expect_error(404, "NOT_FOUND");
            continue;
        }
        let ahead = ahead.expect(200);
        assert_eq!((&ahead["currentStatus"], &ahead["confidence"]), (&json!("unknown"), &json!(0.0)), "{ahead}");
    }
    let similar = json!({ "query": "x", "country": "ZZ" });
    client.post("/v1/incidents/similar", &similar).expect_error(404, "NOT_FOUND");
    let dispute = json!({ "reason": "There is no such incident at all." });
    client.post("/data/incidents/KE-1999-0001/dispute", &dispute).expect_error(404, "NOT_FOUND");
    let claim = client.post("/verify-claim", &json!({ "claim": "Friendster is blocked in Sweden" })).expect(200);
    assert_eq!(
        (&claim["verdict"], &claim["parsed"]["service"]),
        (&json!("insufficient_data"), &Value::Null),
        "{claim}"
    );
}
