//! Answers that must be computed have their own budget, which kept answers do not use.

use std::time::Duration;

use heliograph_tests::client::{Answer, Client};
use heliograph_tests::target::{ADMIN_KEY, Kind};
use heliograph_tests::{data, synthetic};
use serde_json::json;

use crate::{Suite, cases};

cases![
    what_is_computed_is_limited_per_address_and_says_so,
    what_is_kept_or_published_draws_on_no_budget_of_what_is_computed,
    a_question_about_the_past_is_computed_once_and_then_kept,
    every_kind_of_question_that_computes_draws_on_the_budget,
    the_operator_has_no_budget_of_what_is_computed,
    without_a_limit_nothing_that_computes_is_refused,
];

/// A deployment that computes three answers a minute for an address.
const THREE: &[(&str, &str)] = &[("computing_per_minute", "3")];

/// The same with one answer, which is available again only after a minute.
const ONE: &[(&str, &str)] = &[("computing_per_minute", "1")];

/// A question about the past that was not asked before.
fn then(number: usize) -> String {
    format!("/v1/accessibility/check?domain=site-{number}.example&country=NO&as_of=2024-03-10T00:00:00Z")
}

/// Asks for computed answers until one is refused; returns their number and the refusal.
fn spend(client: &Client) -> (usize, Answer) {
    for number in 0..60 {
        let answer = client.get(&then(number));
        if answer.status != 200 {
            return (number, answer);
        }
    }
    panic!("all were computed")
}

fn number(answer: &Answer, name: &str) -> i64 {
    answer.header(name).and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{name}: {:?}", answer.headers))
}

fn what_is_computed_is_limited_per_address_and_says_so(suite: &Suite) {
    let target = suite.fresh(THREE);
    let (computed, refusal) = spend(&target.client());
    assert!(computed >= 3, "the bucket holds a minute's questions: {computed}");
    refusal.expect_error(429, "RATE_LIMITED");
    assert_eq!((number(&refusal, "x-ratelimit-limit"), number(&refusal, "x-ratelimit-remaining")), (3, 0));
    assert!((1..=20).contains(&number(&refusal, "retry-after")), "a token comes every twenty seconds");
    assert!(number(&refusal, "x-ratelimit-reset") > 0);
    // With `POST` and in a batch it is the same question.
    let batch = json!({ "domains": ["a.example"], "country": "NO", "as_of": "2024-03-10" });
    assert_eq!(target.client().post("/v1/accessibility/batch", &batch).status, 429);
    let asked = json!({ "country": "NO", "target": "a.example", "as_of": "2024-03-10" });
    assert_eq!(target.client().key("svc_demo").post("/hydra/v1/detect", &asked).status, 429);
}

fn what_is_kept_or_published_draws_on_no_budget_of_what_is_computed(suite: &Suite) {
    let target = suite.fresh(&[("computing_per_minute", "3"), ("publish_interval", "3600")]);
    let client = target.client();
    // The work after a start may change documents in the first moments.
    client.wait(Duration::from_secs(1));
    let page = "/v1/accessibility/service/telegram";
    let mut little = vec!["/health", "/v1/accessibility/check?domain=a.example&country=NO", page];
    if suite.kind != Kind::Edge {
        // On the edge the document may not be published yet, and only its owner knows that it was rendered.
        little.push("/data/censorship-index.json");
    }
    little.iter().for_each(|path| assert_eq!(client.get(path).status, 200, "{path}"));
    spend(&client);
    for path in little.iter().cycle().take(20) {
        assert_eq!(client.get(path).status, 200, "{path}");
    }
    assert_eq!(client.get("/v1/accessibility/service/whatsapp").status, 429, "nobody asked before");
}

/// On the edge the Worker must ask first, so that a repeated question counts there.
fn a_question_about_the_past_is_computed_once_and_then_kept(suite: &Suite) {
    if suite.kind == Kind::Edge {
        return;
    }
    let target = suite.fresh(THREE);
    let client = target.client();
    let first = client.get(&then(0)).expect(200);
    for _ in 0..20 {
        let again = client.get(&then(0)).expect(200);
        assert_eq!(again["status"], first["status"]);
    }
    // The same site alone or with others.
    let batch = json!({ "domains": ["site-0.example"], "country": "NO", "as_of": "2024-03-10T00:00:00Z" });
    for _ in 0..5 {
        assert_eq!(client.post("/v1/accessibility/batch", &batch).status, 200);
    }
}

fn every_kind_of_question_that_computes_draws_on_the_budget(suite: &Suite) {
    let target = suite.fresh(ONE);
    let client = target.client();
    let made = client.post("/v1/agent/register", &json!({ "name": "exporter" })).expect(201);
    let agent = made["api_key"].as_str().unwrap().to_owned();
    // Questions about all countries ask those that have measurements.
    data::import(&client.admin(), "ooni-observations", "", synthetic::blocked_site().as_bytes());
    let measured =
        || client.admin().get("/data/censorship-index.json?as_of=2024-03-13").expect(200)["metadata"].clone();
    client.until(|| (measured()["totalMeasurements"].as_u64() > Some(0)).then_some(()));
    spend(&client);
    let past = "as_of=2024-03-13";
    for path in [
        format!("/data/censorship-index.json?{past}"),
        format!("/data/censorship-index.csv?{past}"),
        format!("/v1/censorship-index?{past}"),
        format!("/data/country/NO?{past}"),
        format!("/data/country/NO/isps?{past}"),
        format!("/v1/accessibility/country/NO/summary?{past}"),
        format!("/v1/accessibility/service/telegram?{past}"),
        format!("/v1/isp/index?country=NO&{past}"),
        "/data/incidents/export".to_owned(),
        "/data/incidents?country=NO".to_owned(),
        "/data/dumps/NO-2024-03.csv".to_owned(),
        "/v1/incidents/similar?query=shutdown".to_owned(),
        "/data/domain/a.example".to_owned(),
    ] {
        let answer = client.get(&path);
        assert_eq!(answer.status, 429, "{path}: {}", answer.text());
        assert_eq!(number(&answer, "x-ratelimit-limit"), 1, "{path}");
    }
    let claim = json!({ "claim": "Telegram is blocked in Norway." });
    client.post("/verify-claim", &claim).expect_error(429, "RATE_LIMITED");
    client.post("/v1/incidents/similar", &json!({ "query": "shutdown" })).expect_error(429, "RATE_LIMITED");
    let export = client.agent(&agent).post("/v1/agent/export", &json!({}));
    export.expect_error(429, "RATE_LIMITED");
}

fn the_operator_has_no_budget_of_what_is_computed(suite: &Suite) {
    let target = suite.fresh(ONE);
    let client = target.client();
    spend(&client);
    for number in 0..10 {
        assert_eq!(client.admin().get(&then(number)).status, 200);
    }
    assert_eq!(client.with("x-admin-key", "wrong").get(&then(11)).status, 429);
    assert_eq!(client.with("x-admin-key", ADMIN_KEY).get("/data/incidents/export").status, 200);
}

fn without_a_limit_nothing_that_computes_is_refused(suite: &Suite) {
    let client = suite.client();
    for number in 0..150 {
        assert_eq!(client.get(&then(number)).status, 200);
    }
}
