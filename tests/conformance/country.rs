//! Country pages and their networks.

use heliograph_core::facts::starter::Country;
use heliograph_tests::client::{Answer, Client};
use heliograph_tests::synthetic::{BLOCKING, CLEAN, INSIDE, SITE};
use serde_json::{Value, json};

use crate::analytics::wait;
use crate::detect::with_blocked_site;
use crate::incidents::{create, readable, site};
use crate::index::check_caching;
use crate::{Suite, cases};

cases![
    a_country_page_has_both_layouts_that_clients_read,
    a_country_without_data_is_200_with_score_null_and_a_reason,
    every_iso_country_has_a_page,
    no_country_is_404_and_no_code_is_400,
    a_country_page_is_cached_by_its_tag,
    a_country_page_follows_its_data_soon,
    a_past_country_page_is_computed_and_echoes_the_time,
    networks_of_a_country_have_what_clients_format,
    networks_of_a_country_without_data_are_an_empty_list,
    pages_name_the_incidents_that_go_on_and_no_others,
];

fn page(client: &Client, path: &str) -> Value {
    client.get(path).expect(200)
}

fn check_page(body: &Value, code: &str) {
    assert_eq!(body["@type"], "Country", "{body}");
    assert!(body["@context"].is_string(), "{body}");
    assert_eq!(body["identifier"], code, "{body}");
    let country = Country::by_code(code).unwrap();
    assert_eq!(body["name"], country.name, "{body}");
    assert_eq!(body["data"]["country"].as_str().map(str::is_empty), Some(false), "{body}");
    // There is one score, in both scales (conflict C5).
    let (top, inner) = (body.get("score").unwrap(), body["data"].get("score").unwrap());
    match (top.as_f64(), inner.as_f64()) {
        (Some(top), Some(inner)) => assert!((top * 100.0 - inner).abs() < 0.51 && inner.fract() == 0.0, "{body}"),
        (None, None) => assert!(top.is_null() && inner.is_null(), "{body}"),
        _ => panic!("only one of the two scores is there: {body}"),
    }
    assert!(body["data"]["status"].is_string(), "{body}");
    assert!(body["data"]["affectedServices"].as_array().unwrap().iter().all(Value::is_string), "{body}");
    for ooni in [&body["ooni"], &body["data"]["ooni"]] {
        assert!(ooni["measurementCount"].is_u64(), "{body}");
        assert!((0.0..=1.0).contains(&ooni["anomalyRate"].as_f64().unwrap()), "{body}");
    }
}

fn a_country_page_has_both_layouts_that_clients_read(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    check_page(&page(&client, "/data/country/NO"), "NO");
    let past = page(&client, &format!("/data/country/NO?as_of={INSIDE}"));
    check_page(&past, "NO");
    assert_eq!(past["ooni"]["measurementCount"], 64, "{past}");
    assert_eq!(past["data"]["ooni"]["measurementCount"], 64, "{past}");
}

fn a_country_without_data_is_200_with_score_null_and_a_reason(suite: &Suite) {
    let body = page(&suite.client(), "/data/country/se");
    check_page(&body, "SE");
    assert_eq!((&body["score"], &body["data"]["score"]), (&Value::Null, &Value::Null), "{body}");
    let reason = body.get("reason").or(body["data"].get("reason"));
    assert!(reason.and_then(Value::as_str).is_some_and(|text| !text.is_empty()), "{body}");
    assert_eq!(body["ooni"]["measurementCount"], 0);
}

fn every_iso_country_has_a_page(suite: &Suite) {
    let client = suite.client();
    for country in Country::all().iter().step_by(9) {
        let body = page(&client, &format!("/data/country/{}", country.code));
        check_page(&body, country.code);
    }
}

fn no_country_is_404_and_no_code_is_400(suite: &Suite) {
    let client = suite.client();
    for code in ["ZZ", "QQ", "xx", "AA"] {
        client.get(&format!("/data/country/{code}")).expect_error(404, "NOT_FOUND");
        client.get(&format!("/data/country/{code}/isps")).expect_error(404, "NOT_FOUND");
    }
    for code in ["N", "NOR", "N1", "12", "%C3%A9%C3%A9", "..", "%00%00"] {
        let answer = client.get(&format!("/data/country/{code}"));
        // A client may resolve `..` itself and then asks for another route.
        if code != ".." {
            answer.expect_error(400, "BAD_REQUEST");
        }
    }
}

fn a_country_page_is_cached_by_its_tag(suite: &Suite) {
    check_caching(&suite.client(), "/data/country/SE", "application/json");
    check_caching(&suite.prepared("site", with_blocked_site), "/data/country/NO", "application/json");
}

/// Decision published-documents.
fn a_country_page_follows_its_data_soon(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let before = client.get("/data/country/NO");
    with_blocked_site(&client);
    // The page is published at most 10 s later, and visible on the edge within 30 s (decision published-documents).
    let generation = |answer: &Answer| answer.json()["generation"].as_u64().unwrap();
    for _ in 0..60 {
        let after = client.get("/data/country/NO");
        if generation(&after) > generation(&before) {
            let tag = before.header("etag").unwrap();
            assert_eq!(client.with("if-none-match", tag).get("/data/country/NO").status, 200);
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    panic!("the page never changed: {}", before.text());
}

fn a_past_country_page_is_computed_and_echoes_the_time(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    for path in ["/data/country/NO", "/data/country/NO/isps"] {
        let body = page(&client, &format!("{path}?as_of={INSIDE}"));
        assert!(body["as_of"].is_string(), "{path}: {body}");
        client.get(&format!("{path}?as_of=then")).expect_error(400, "BAD_REQUEST");
    }
}

fn networks_of_a_country_have_what_clients_format(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let body = page(&client, &format!("/data/country/no/isps?as_of={INSIDE}"));
    assert_eq!(body["country"], "NO");
    assert!(body["generated"].is_string() && body["period"].is_string(), "{body}");
    let networks = body["isps"].as_array().unwrap();
    let summary = &body["summary"];
    assert_eq!((summary["total_isps"].as_u64(), networks.len()), (Some(4), 4), "{body}");
    let by_level =
        ["critical", "high", "medium", "low"].map(|level| summary[format!("{level}_isps")].as_u64().unwrap());
    assert_eq!(by_level, [1, 0, 0, 3], "{body}");
    assert!((summary["average_block_rate"].as_f64().unwrap() - 0.25).abs() < 0.1, "{body}");
    for network in networks {
        let asn = network["asn"].as_str().unwrap();
        let number: u32 = asn.strip_prefix("AS").unwrap().parse().unwrap();
        let rate = network["block_rate"].as_f64().unwrap();
        assert_eq!(network["threat_level"], if number == BLOCKING { "critical" } else { "low" }, "{network}");
        assert!(number == BLOCKING && rate > 0.7 || CLEAN.contains(&number) && rate < 0.3, "{network}");
        assert!(network["name"].is_string(), "{network}");
        assert_eq!(network["measurements"], 16, "{network}");
        assert_eq!(network["blocked_count"], if number == BLOCKING { 16 } else { 0 }, "{network}");
        let top = network["top_blocked_domains"].as_array().expect("a client crashes without the list");
        if number == BLOCKING {
            assert_eq!(top[0]["domain"], SITE, "{network}");
            assert!(top[0]["block_rate"].is_number() && top[0]["measurements"].is_u64(), "{network}");
        }
    }
}

/// A client reads the severity of every active incident.
fn pages_name_the_incidents_that_go_on_and_no_others(suite: &Suite) {
    let target = suite.fresh(&[("publish_interval", "1")]);
    let client = target.client();
    for path in ["/data/country/IR", "/v1/censorship-index/IR"] {
        assert_eq!(of(&page(&client, path)), &json!([]), "{path}");
    }
    let made = create(&client, &site("IR", "nytimes.com", "2025-03-01"));
    let mut over = site("IR", "example.org", "2025-03-01");
    over["end"] = json!("2025-03-02T00:00:00Z");
    create(&client, &over);
    let expected = json!([{ "id": readable(&made), "title": made["title"], "type": "censorship", "severity": "low" }]);
    for path in ["/data/country/IR", "/v1/censorship-index/IR"] {
        let mut body = wait(&client, path, |body| of(body) != &json!([]));
        let pointer = if path.starts_with("/data") { "/data/activeIncidents/0" } else { "/activeIncidents/0" };
        let sentences = body.pointer_mut(pointer).and_then(|one| one.as_object_mut()?.remove("sentences"));
        assert_eq!(sentences.unwrap()[0]["code"], "incident.title");
        assert_eq!(of(&body), &expected, "{body}");
        // Decision answers-about-a-time: a page about the past names the incidents that were active then.
        assert_eq!(of(&page(&client, &format!("{path}?as_of={INSIDE}"))), &json!([]), "{path}");
        let both = page(&client, &format!("{path}?as_of=2025-03-01T12:00:00Z"));
        assert_eq!(of(&both).as_array().map(Vec::len), Some(2), "{both}");
    }
    // A shutdown of the whole country is its status, on the page and in the overview.
    let mut shutdown = site("IR", "internet", "2025-04-01");
    shutdown["severity"] = json!("critical");
    create(&client, &shutdown);
    wait(&client, "/data/country/IR", |body| body["data"]["status"] == "full_outage");
    wait(&client, "/v1/censorship-index/IR", |body| body["status"] == "full_outage");
    let all = wait(&client, "/v1/censorship-index", |body| body["summary"]["fullOutage"] == 1);
    let iran = all["countries"].as_array().unwrap().iter().find(|country| country["country"] == "IR").unwrap();
    assert_eq!(iran["status"], "full_outage", "{iran}");
    let retract = format!("/v1/admin/incidents/{}/retract", readable(&made));
    client.admin().post(&retract, &json!({ "reason": "wrong" })).expect(200);
    wait(&client, "/data/country/IR", |body| of(body).as_array().unwrap().len() == 1);
}

fn of(page: &Value) -> &Value {
    page.pointer("/data/activeIncidents").or(page.get("activeIncidents")).unwrap_or_else(|| panic!("{page}"))
}

fn networks_of_a_country_without_data_are_an_empty_list(suite: &Suite) {
    let body = page(&suite.client(), "/data/country/SE/isps");
    assert_eq!((&body["isps"], &body["summary"]["total_isps"]), (&json!([]), &json!(0)), "{body}");
    assert_eq!(body["summary"]["average_block_rate"], 0.0, "{body}");
}
