//! Methodology and health.

use heliograph_core::engine::time::Timestamp;
use serde_json::Value;

use crate::index::check_caching;
use crate::{Suite, cases};

cases![
    the_methodology_has_the_members_that_readers_know,
    the_methodology_is_cached_by_its_tag,
    the_methodology_names_the_licences_of_sources,
    the_methodology_names_the_weight_of_networks,
    the_methodology_carries_no_accuracy_figure_without_a_source,
    health_is_200_without_a_key_and_says_what_was_checked,
    probes_of_the_platform_are_answered,
];

fn the_methodology_has_the_members_that_readers_know(suite: &Suite) {
    let body = suite.client().get("/data/methodology").expect(200);
    assert_eq!(body["@type"], "TechArticle", "{body}");
    assert!(body["@context"].is_string() || body["@context"].is_object(), "{body}");
    for name in ["name", "url", "datePublished", "dateModified"] {
        assert!(body[name].as_str().is_some_and(|text| !text.is_empty()), "{name}: {body}");
    }
    assert!(body["author"]["name"].is_string(), "{body}");
    let methodology = &body["methodology"];
    assert!(methodology["overview"].is_string(), "{body}");
    let sources = methodology["dataSources"].as_object().expect("a map keyed by source (conflict C6)");
    assert!(sources["ooni"]["name"].is_string(), "{body}");
    assert!(sources.values().all(Value::is_object), "{body}");
    assert!(methodology["scoring"].is_object(), "{body}");
    assert!(methodology["limitations"].as_array().is_some_and(|list| !list.is_empty()), "{body}");
}

fn the_methodology_is_cached_by_its_tag(suite: &Suite) {
    check_caching(&suite.client(), "/data/methodology", "application/json");
}

fn the_methodology_names_the_licences_of_sources(suite: &Suite) {
    let body = suite.client().get("/data/methodology").expect(200);
    let text = body.to_string();
    let license = body.pointer("/license").or(body.pointer("/methodology/license"));
    assert!(
        license.and_then(Value::as_str).is_some_and(|name| name.contains("by/4.0") || name.contains("BY 4.0")),
        "{body}"
    );
    assert!(text.contains("sourceLicenses") && text.contains("effectiveLicense"), "{body}");
}

fn the_methodology_names_the_weight_of_networks(suite: &Suite) {
    let text = suite.client().get("/data/methodology").expect(200).to_string().to_lowercase();
    assert!(text.contains("square root") && text.contains("ipv4"), "{text}");
}

fn the_methodology_carries_no_accuracy_figure_without_a_source(suite: &Suite) {
    let body = suite.client().get("/data/methodology").expect(200);
    let classifier = &body["methodology"]["model"]["classifier"];
    if !classifier.is_null() {
        for figure in ["f1", "aucRoc"] {
            let unexplained = classifier[figure].is_number() && !classifier["validationNote"].is_string();
            assert!(!unexplained, "{classifier}");
        }
    }
}

fn health_is_200_without_a_key_and_says_what_was_checked(suite: &Suite) {
    for path in ["/health", "/hydra/v1/health"] {
        let answer = suite.client().get(path);
        let body = answer.expect(200);
        assert_eq!(body["status"], "ok", "{body}");
        assert!(body["version"].is_string(), "{body}");
        assert!(Timestamp::parse(body["time"].as_str().unwrap()).is_some(), "{body}");
        assert!(body["checks"].as_object().is_some_and(|checks| checks.contains_key("database")), "{body}");
        assert!(answer.header("cache-control").is_none_or(|value| value.contains("no-store")), "health must be fresh");
    }
    assert_eq!(suite.client().key("wrong").get("/hydra/v1/health").status, 200);
    assert_eq!(suite.client().send("HEAD", "/health", None, b"").status, 200);
}

fn probes_of_the_platform_are_answered(suite: &Suite) {
    if suite.kind == heliograph_tests::target::Kind::Memory {
        return; // Process and readiness belong to the shells.
    }
    let alive = suite.client().get("/healthz");
    assert_eq!(alive.status, 200);
    if suite.kind == heliograph_tests::target::Kind::Native {
        let ready = suite.client().get("/readyz");
        assert_eq!(ready.status, 200);
    }
}
