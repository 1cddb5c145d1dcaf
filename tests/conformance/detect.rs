//! Detection.

use heliograph_core::engine::time::Timestamp;
use heliograph_core::facts::starter::{Country, known_blocks};
use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::synthetic::{BEFORE, BLOCKING, CLEAN, COUNTRY, HALF_BLOCKED, INSIDE, ROWS, SITE, blocked_site};
use serde_json::{Value, json};

use crate::analytics::wait;
use crate::{Suite, cases};

cases![
    an_unmeasured_domain_has_every_field_of_the_interface,
    a_documented_block_is_known_list_with_bounded_confidence_and_the_date_of_its_list,
    a_measured_block_is_blocked_with_networks_counts_and_method,
    the_national_answer_names_blocked_and_tested_networks,
    a_demo_key_gets_no_network_breakdown_and_is_told_so,
    missing_or_mistyped_members_are_400,
    a_missing_or_wrong_key_is_401,
    the_key_is_not_read_from_the_query_or_the_body,
    lower_case_countries_are_accepted,
    what_is_not_two_letters_is_400,
    two_letters_that_are_no_country_are_200_unmeasured,
    every_spelling_of_a_domain_is_one_target,
    a_subdomain_does_not_take_the_answer_of_its_parent,
    a_service_name_is_answered_from_its_roles,
    what_is_no_domain_is_400,
    as_of_is_echoed_and_means_what_is_known_about_that_time,
    old_evidence_decays_to_unknown_and_says_since_when,
    as_of_that_is_no_time_is_400,
    a_batch_has_counts_that_add_up,
    a_batch_collapses_duplicates,
    a_batch_of_more_than_50_or_none_is_400,
    a_batch_agrees_with_single_answers,
    one_bad_target_refuses_the_batch_and_names_it,
];

/// A client with a new key of tier `research`.
pub fn research(client: &Client) -> Client {
    let body = client.post("/api-keys/signup", &json!({ "email": "suite@example.org" })).expect(201);
    client.key(body["api_key"].as_str().unwrap())
}

/// Fills a deployment with the made-up blocked site.
pub fn with_blocked_site(client: &Client) {
    let counts = data::import(&client.admin(), "ooni-observations", "", blocked_site().as_bytes());
    assert_eq!((counts.accepted, counts.lines()), (ROWS, ROWS), "{counts:?}");
    // The countries answer the import; the world learns a moment later which countries a page must ask.
    let all = |body: &Value| body["timeline"][0]["countries"].as_object().is_some_and(|found| found.len() == 2);
    wait(client, &format!("/data/domain/{SITE}/history?as_of={INSIDE}"), all);
}

fn detect(client: &Client, country: &str, target: &str) -> Value {
    client.post("/hydra/v1/detect", &json!({ "country": country, "target": target })).expect(200)
}

fn at(client: &Client, as_of: &str) -> Value {
    let body = json!({ "country": COUNTRY, "target": SITE, "includeISPs": true, "as_of": as_of });
    client.post("/hydra/v1/detect", &body).expect(200)
}

/// Checks names and types of every member.
pub fn check_shape(body: &Value) {
    let status = body["status"].as_str().unwrap();
    assert!(["blocked", "accessible", "unknown"].contains(&status), "{body}");
    assert_eq!(body["blocked"], status == "blocked", "{body}");
    let confidence = body["confidence"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&confidence), "{body}");
    assert!(["measured", "known_list", "unmeasured"].contains(&body["basis"].as_str().unwrap()), "{body}");
    assert!(body["evidenceCount"].is_u64(), "{body}");
    let method =
        body.get("blockingMethod").unwrap_or_else(|| panic!("blockingMethod must be there, null or not: {body}"));
    assert!(method.is_null() || method.is_string(), "{body}");
    assert!(method.is_null() || status == "blocked", "{body}");
    assert!(body["sources"].as_array().unwrap().iter().all(Value::is_string), "{body}");
    assert!(Timestamp::parse(body["lastChecked"].as_str().unwrap()).is_some(), "{body}");
    if let Some(kind) = body.get("blockType") {
        assert!(["dpi_block", "dns_block", "ip_block", "none"].contains(&kind.as_str().unwrap()), "{body}");
        assert_eq!(kind == "none", status != "blocked", "{body}");
    }
    assert!(body["country"].is_string() && body["target"].is_string(), "{body}");
    // Decision confidence-of-status: confidence is about the status, so it is 0 for every `unknown`.
    assert_eq!(status == "unknown", confidence == 0.0, "{body}");
}

fn an_unmeasured_domain_has_every_field_of_the_interface(suite: &Suite) {
    let before = std::time::SystemTime::now();
    let body = detect(&research(&suite.client()), "SE", "nobody-measured-this.example");
    check_shape(&body);
    assert_eq!(body["status"], "unknown");
    assert_eq!(body["basis"], "unmeasured");
    assert_eq!(body["confidence"], 0.0);
    assert_eq!(body["evidenceCount"], 0);
    assert_eq!(body["blockingMethod"], Value::Null);
    assert_eq!(body["sources"], json!([]));
    assert_eq!((&body["country"], &body["target"]), (&json!("SE"), &json!("nobody-measured-this.example")));
    // `lastChecked` of an unmeasured answer is the time of the answer (decision counts-and-basis); the memory runtime
    // has its own clock.
    if suite.kind != heliograph_tests::target::Kind::Memory {
        let before = before.duration_since(std::time::UNIX_EPOCH).unwrap().as_micros() as i64;
        let checked = Timestamp::parse(body["lastChecked"].as_str().unwrap()).unwrap().0;
        assert!((checked - before).abs() < 120_000_000, "{body}");
    }
}

/// Decision counts-and-basis: a listed answer has an evidence count of 0 and the list's date; decision
/// confidence-of-status: its confidence is at most 0.6.
fn a_documented_block_is_known_list_with_bounded_confidence_and_the_date_of_its_list(suite: &Suite) {
    let client = research(&suite.client());
    let now = Timestamp::parse(detect(&client, "SE", "now.example")["lastChecked"].as_str().unwrap()).unwrap();
    let rows: Vec<_> =
        known_blocks::all().iter().filter(|row| row.confirmed_on <= now && row.sets_status(now)).collect();
    assert!(rows.len() > 20, "only {} documented blocks are in force", rows.len());
    let countries: std::collections::BTreeSet<_> = rows.iter().map(|row| row.country).collect();
    for country in countries {
        let rows: Vec<_> = rows.iter().filter(|row| row.country == country).collect();
        for part in rows.chunks(50) {
            let targets: Vec<_> = part.iter().map(|row| row.target).collect();
            let batch = client.post("/hydra/v1/detect/batch", &json!({ "country": country, "targets": targets }));
            let batch = batch.expect(200);
            for (row, result) in part.iter().zip(batch["results"].as_array().unwrap()) {
                assert_eq!(result["target"], row.target);
                assert_eq!(
                    (&result["status"], &result["basis"]),
                    (&json!("blocked"), &json!("known_list")),
                    "{result}"
                );
            }
        }
        let body = detect(&client, country, rows[0].target);
        check_shape(&body);
        assert_eq!((&body["status"], &body["basis"]), (&json!("blocked"), &json!("known_list")), "{body}");
        assert!(body["confidence"].as_f64().unwrap() <= 0.6, "{body}");
        assert_eq!(body["evidenceCount"], 0, "{body}");
        assert!(body["sources"].as_array().unwrap().contains(&json!("known_list")), "{body}");
        let checked = Timestamp::parse(body["lastChecked"].as_str().unwrap()).unwrap();
        let dates: Vec<_> = rows.iter().map(|row| row.confirmed_on).collect();
        assert!(dates.contains(&checked), "lastChecked is not the date of a list: {body}");
    }
}

/// Decision counts-and-basis: `evidenceCount` counts distinct measurements, and `lastChecked` is the newest of them.
fn a_measured_block_is_blocked_with_networks_counts_and_method(suite: &Suite) {
    let body = at(&research(&suite.prepared("site", with_blocked_site)), INSIDE);
    check_shape(&body);
    assert_eq!(body["basis"], "measured", "{body}");
    assert!(body["sources"].as_array().unwrap().contains(&json!("ooni")), "{body}");
    // The last hour of the data (11 o'clock on the 12th) counts for 12:00 of that day.
    assert_eq!(body["evidenceCount"], 64, "{body}");
    assert!(body["lastChecked"].as_str().unwrap().starts_with("2024-03-12T11:"), "{body}");
    let networks = body["isps"].as_array().unwrap();
    assert_eq!(body["ispCount"], networks.len(), "{body}");
    assert_eq!(networks.len(), 4, "{body}");
    for network in networks {
        let asn = network["asn"].as_u64().unwrap();
        assert!(network["name"].is_string(), "{network}");
        let blocked = asn == u64::from(BLOCKING);
        assert_eq!(network["status"], if blocked { "blocked" } else { "accessible" }, "{network}");
        assert_eq!(network["blocked"], blocked);
        let rate = network["blockRate"].as_f64().unwrap();
        assert!(if blocked { rate > 0.9 } else { rate < 0.1 }, "{network}");
        assert_eq!(network["blockingMethod"], if blocked { json!("tls-reset") } else { Value::Null }, "{network}");
        assert_eq!(network["measurements"], 16, "{network}");
        assert!(network["lastChecked"].as_str().unwrap().starts_with("2024-03-12T11:"), "{network}");
        assert!(blocked || CLEAN.iter().any(|clean| u64::from(*clean) == asn), "{network}");
    }
}

fn the_national_answer_names_blocked_and_tested_networks(suite: &Suite) {
    let body = at(&research(&suite.prepared("site", with_blocked_site)), INSIDE);
    assert_eq!((&body["networksBlocked"], &body["networksTested"]), (&json!(1), &json!(4)), "{body}");
    // One of four networks with equal weight has 25% of the weight, but there must be two networks: the country is not
    // blocked.
    assert_eq!(body["status"], "accessible", "{body}");
    // Two of four networks are enough.
    let body = json!({ "country": HALF_BLOCKED, "target": SITE, "as_of": INSIDE });
    let body = research(&suite.prepared("site", with_blocked_site)).post("/hydra/v1/detect", &body).expect(200);
    check_shape(&body);
    assert_eq!((&body["networksBlocked"], &body["networksTested"]), (&json!(2), &json!(4)), "{body}");
    assert_eq!((&body["status"], &body["blockingMethod"]), (&json!("blocked"), &json!("tls-reset")), "{body}");
}

fn a_demo_key_gets_no_network_breakdown_and_is_told_so(suite: &Suite) {
    let body = at(&suite.prepared("site", with_blocked_site).key("svc_demo"), INSIDE);
    check_shape(&body);
    assert!(body.get("isps").is_none(), "{body}");
    assert_eq!(body["ispsOmitted"], "tier", "{body}");
    let client = research(&suite.prepared("site", with_blocked_site));
    let plain = client.post("/hydra/v1/detect", &json!({ "country": COUNTRY, "target": SITE, "as_of": INSIDE }));
    let plain = plain.expect(200);
    assert!(plain.get("isps").is_none() && plain.get("ispsOmitted").is_none(), "{plain}");
}

fn missing_or_mistyped_members_are_400(suite: &Suite) {
    let client = research(&suite.client());
    for body in [
        json!({}),
        json!({ "country": "KE" }),
        json!({ "target": "example.org" }),
        json!({ "country": null, "target": "example.org" }),
        json!({ "country": "KE", "target": null }),
        json!({ "country": 1, "target": "example.org" }),
        json!({ "country": "KE", "target": ["example.org"] }),
        json!({ "country": "KE", "target": "example.org", "includeISPs": "yes" }),
        json!([]),
        json!("KE"),
    ] {
        client.post("/hydra/v1/detect", &body).expect_error(400, "BAD_REQUEST");
    }
    for raw in [&b"{"[..], b"\xff\xfe", b"{\"country\":\"KE\",\"target\":\"\xff\"}", b"nul"] {
        client.send("POST", "/hydra/v1/detect", Some("application/json"), raw).expect_error(400, "BAD_REQUEST");
    }
}

fn a_missing_or_wrong_key_is_401(suite: &Suite) {
    let client = suite.client();
    let body = json!({ "country": "KE", "target": "example.org" });
    for path in ["/hydra/v1/detect", "/hydra/v1/detect/batch"] {
        client.post(path, &body).expect_error(401, "UNAUTHORIZED");
        for key in ["", "svc_demo ", "SVC_DEMO", "svc_demo2", "null"] {
            let key = client.key(key);
            // Header values are trimmed in transit, so the second one may arrive as the demo key.
            let answer = key.post(path, &json!({}));
            assert!(matches!(answer.status, 401 | 400), "{}", answer.status);
        }
        client.key("svc_demo2").post(path, &body).expect_error(401, "UNAUTHORIZED");
    }
}

fn the_key_is_not_read_from_the_query_or_the_body(suite: &Suite) {
    let body = json!({ "country": "KE", "target": "example.org", "api_key": "svc_demo", "X-API-Key": "svc_demo" });
    suite
        .client()
        .post("/hydra/v1/detect?api_key=svc_demo&X-API-Key=svc_demo", &body)
        .expect_error(401, "UNAUTHORIZED");
}

fn lower_case_countries_are_accepted(suite: &Suite) {
    let client = research(&suite.client());
    for country in ["ke", "Ke", "kE"] {
        let body = detect(&client, country, "lower.example");
        assert_eq!((&body["country"], &body["basis"]), (&json!("KE"), &json!("unmeasured")));
    }
}

fn what_is_not_two_letters_is_400(suite: &Suite) {
    let client = research(&suite.client());
    for country in ["", "K", "KEN", "K1", "12", "K ", "K E", "K\u{e9}", "\u{ff2b}\u{ff25}", "--", "K\0"] {
        let body = json!({ "country": country, "target": "example.org" });
        client.post("/hydra/v1/detect", &body).expect_error(400, "BAD_REQUEST");
        let body = json!({ "country": country, "targets": ["example.org"] });
        client.post("/hydra/v1/detect/batch", &body).expect_error(400, "BAD_REQUEST");
    }
}

fn two_letters_that_are_no_country_are_200_unmeasured(suite: &Suite) {
    let client = research(&suite.client());
    for country in ["QQ", "ZZ", "xx"] {
        assert!(Country::by_code(&country.to_uppercase()).is_none());
        let body = detect(&client, country, "example.org");
        check_shape(&body);
        assert_eq!((&body["status"], &body["basis"]), (&json!("unknown"), &json!("unmeasured")));
    }
}

fn every_spelling_of_a_domain_is_one_target(suite: &Suite) {
    let client = research(&suite.prepared("site", with_blocked_site));
    let expected = at(&client, INSIDE);
    for target in [
        "DAILY-news.Example",
        "daily-news.example.",
        "www.daily-news.example",
        "WWW.daily-news.example.",
        "https://daily-news.example/",
        "http://www.daily-news.example:8080/a/b?c=d#e",
        "HTTPS://Daily-News.Example",
        "  daily-news.example  ",
    ] {
        let body = json!({ "country": COUNTRY, "target": target, "includeISPs": true, "as_of": INSIDE });
        let mut body = client.post("/hydra/v1/detect", &body).expect(200);
        body["target"] = expected["target"].clone();
        assert_eq!(body, expected, "{target:?}");
    }
    // Internationalised names: the U-label, its A-label, and both in other cases.
    for target in ["b\u{fc}cher.example", "B\u{dc}CHER.example", "xn--bcher-kva.example", "XN--BCHER-KVA.EXAMPLE"] {
        let batch = json!({ "country": "SE", "targets": [target, "xn--bcher-kva.example"] });
        let batch = client.post("/hydra/v1/detect/batch", &batch).expect(200);
        assert_eq!(batch["count"], 1, "{target:?} is not the same target as its A-label: {batch}");
    }
}

fn a_subdomain_does_not_take_the_answer_of_its_parent(suite: &Suite) {
    let client = research(&suite.prepared("site", with_blocked_site));
    for target in ["news.daily-news.example", "www.www.daily-news.example", "wwwdaily-news.example", "example"] {
        let body = json!({ "country": COUNTRY, "target": target, "as_of": INSIDE });
        let answer = client.post("/hydra/v1/detect", &body);
        if answer.status == 200 {
            assert_eq!(answer.json()["basis"], "unmeasured", "{target}");
        } else {
            answer.expect_error(400, "BAD_REQUEST");
        }
    }
}

fn a_service_name_is_answered_from_its_roles(suite: &Suite) {
    let client = research(&suite.client());
    for service in ["telegram", "Telegram", "WHATSAPP", "signal", "tor", "twitter", "x"] {
        let body = detect(&client, "SE", service);
        check_shape(&body);
        assert_eq!(body["basis"], "unmeasured", "{service}");
    }
    // A documented block of a platform is also the answer for its essential hosts (decision keys-and-roles).
    let now = Timestamp::parse(detect(&client, "SE", "now.example")["lastChecked"].as_str().unwrap()).unwrap();
    let platform = known_blocks::all()
        .iter()
        .filter(|row| row.confirmed_on <= now && row.sets_status(now))
        .find_map(|row| heliograph_core::facts::starter::Platform::by_slug(row.target).map(|platform| (row, platform)));
    let (row, platform) = platform.unwrap();
    let host = platform.essential_roles().find(|role| role.is_host()).unwrap().key;
    assert_eq!(detect(&client, row.country, platform.slug)["status"], "blocked");
    assert_eq!(detect(&client, row.country, host)["status"], "blocked", "{host} in {}", row.country);
}

fn what_is_no_domain_is_400(suite: &Suite) {
    let client = research(&suite.client());
    let long_label = format!("{}.example", "a".repeat(64));
    let long_name = format!("{}example", "abcdefghi.".repeat(26));
    for target in [
        "",
        " ",
        ".",
        "..",
        "a..example",
        "exa mple.org",
        "http://",
        "https:///path",
        "exa\u{0}mple.org",
        "<script>.example",
        "\u{202e}gpj.example",
        "xn--\u{fc}.example",
        &long_label,
        &long_name,
        &"a".repeat(100_000)[..60_000],
    ] {
        let answer = client.post("/hydra/v1/detect", &json!({ "country": "SE", "target": target }));
        assert_eq!(answer.status, 400, "{:?}: {}", &target[..target.len().min(80)], answer.text());
        answer.expect_error(400, "BAD_REQUEST");
    }
    // An address is no domain, but web_connectivity tests addresses too: they are refused or answered, but never cause
    // an internal error.
    for target in ["192.0.2.1", "[2001:db8::1]", "http://192.0.2.1/", "1.1.1.1:443"] {
        let answer = client.post("/hydra/v1/detect", &json!({ "country": "SE", "target": target }));
        assert!(matches!(answer.status, 200 | 400), "{target}: {}", answer.text());
    }
}

fn as_of_is_echoed_and_means_what_is_known_about_that_time(suite: &Suite) {
    let client = research(&suite.prepared("site", with_blocked_site));
    let body = at(&client, INSIDE);
    assert_eq!(Timestamp::parse(body["as_of"].as_str().unwrap()), Timestamp::parse(INSIDE), "{body}");
    // The same moment in another notation.
    let other = at(&client, "2024-03-12T14:00:00+02:00");
    assert_eq!(other["isps"], body["isps"]);
    // Nothing is known before the data begin.
    let before = at(&client, BEFORE);
    check_shape(&before);
    assert_eq!((&before["basis"], &before["evidenceCount"]), (&json!("unmeasured"), &json!(0)), "{before}");
    // Without `as_of` the window ends at the server's present time, and no `as_of` is echoed.
    let now = detect(&client, COUNTRY, SITE);
    assert!(now.get("as_of").is_none(), "{now}");
    // A question about the past changes nothing.
    assert_eq!(at(&client, INSIDE), body);
}

fn old_evidence_decays_to_unknown_and_says_since_when(suite: &Suite) {
    let client = research(&suite.prepared("site", with_blocked_site));
    // The votes are from 9 to 12 March 2024. Three weeks later they still count; 31 days after the last vote they do
    // not.
    let young = at(&client, "2024-04-02T12:00:00Z");
    assert_eq!(young["status"], "accessible", "{young}");
    for as_of in ["2024-04-12T12:00:00Z", "2024-06-12T12:00:00Z", "2025-06-12T12:00:00Z"] {
        let old = at(&client, as_of);
        check_shape(&old);
        assert_eq!(old["status"], "unknown", "{old}");
        assert!(old["lastChecked"].as_str().unwrap().starts_with("2024-03-12T11:"), "{old}");
        assert!(old["staleSince"].is_string(), "{old}");
        assert!(Timestamp::parse(old["staleSince"].as_str().unwrap()) < Timestamp::parse(as_of), "{old}");
    }
}

fn as_of_that_is_no_time_is_400(suite: &Suite) {
    let client = research(&suite.client());
    for as_of in [json!("yesterday"), json!(""), json!(17), json!("2024-13-01T00:00:00Z"), json!("2024-02-30")] {
        let body = json!({ "country": "SE", "target": "a.example", "as_of": as_of });
        client.post("/hydra/v1/detect", &body).expect_error(400, "BAD_REQUEST");
        let body = json!({ "country": "SE", "targets": ["a.example"], "as_of": as_of });
        client.post("/hydra/v1/detect/batch", &body).expect_error(400, "BAD_REQUEST");
    }
}

fn batch(client: &Client, targets: &[&str]) -> Value {
    client.post("/hydra/v1/detect/batch", &json!({ "country": "CN", "targets": targets })).expect(200)
}

fn a_batch_has_counts_that_add_up(suite: &Suite) {
    let client = research(&suite.client());
    let body = batch(&client, &["youtube.com", "nobody.example", "facebook.com", "other.example"]);
    assert_eq!((&body["country"], &body["count"]), (&json!("CN"), &json!(4)));
    let results = body["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    let order: Vec<_> = results.iter().map(|result| result["target"].as_str().unwrap()).collect();
    assert_eq!(order, ["youtube.com", "nobody.example", "facebook.com", "other.example"], "the order of the request");
    for status in ["blocked", "accessible", "unknown"] {
        let count = results.iter().filter(|result| result["status"] == status).count();
        assert_eq!(body["summary"][status], count, "{body}");
    }
    for result in results {
        assert_eq!(result["blocked"], result["status"] == "blocked");
        assert!(result["basis"].is_string(), "{result}");
        assert!(result["methods"].as_array().unwrap().iter().all(Value::is_string), "{result}");
        assert!(result["confidence"].is_number() && result["evidenceCount"].is_u64(), "{result}");
        assert!(result["lastChecked"].is_string(), "{result}");
    }
}

fn a_batch_collapses_duplicates(suite: &Suite) {
    let client = research(&suite.client());
    let body =
        batch(&client, &["a.example", "A.example", "www.a.example", "https://a.example/x", "a.example.", "b.example"]);
    assert_eq!((&body["count"], body["results"].as_array().unwrap().len()), (&json!(2), 2), "{body}");
    assert_eq!(body["summary"]["unknown"], 2);
}

fn a_batch_of_more_than_50_or_none_is_400(suite: &Suite) {
    let client = research(&suite.client());
    let names: Vec<String> = (0..51).map(|number| format!("n{number}.example")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(batch(&client, &all[..50])["count"], 50);
    for targets in [json!(all), json!(vec!["same.example"; 51]), json!([]), json!("a.example"), json!([1]), json!(null)]
    {
        let answer = client.post("/hydra/v1/detect/batch", &json!({ "country": "CN", "targets": targets }));
        answer.expect_error(400, "BAD_REQUEST");
    }
    client.post("/hydra/v1/detect/batch", &json!({ "country": "CN" })).expect_error(400, "BAD_REQUEST");
    client.post("/hydra/v1/detect/batch", &json!({ "targets": ["a.example"] })).expect_error(400, "BAD_REQUEST");
}

fn a_batch_agrees_with_single_answers(suite: &Suite) {
    let client = research(&suite.prepared("site", with_blocked_site));
    let single = at(&client, INSIDE);
    let batch = json!({ "country": COUNTRY, "targets": [SITE, "other.example"], "as_of": INSIDE });
    let batch = client.post("/hydra/v1/detect/batch", &batch).expect(200);
    let result = &batch["results"][0];
    for member in ["status", "blocked", "basis", "confidence", "evidenceCount", "lastChecked"] {
        assert_eq!(result[member], single[member], "{member}");
    }
}

fn one_bad_target_refuses_the_batch_and_names_it(suite: &Suite) {
    let client = research(&suite.client());
    let body = json!({ "country": "CN", "targets": ["a.example", "exa mple.org"] });
    let answer = client.post("/hydra/v1/detect/batch", &body);
    answer.expect_error(400, "BAD_REQUEST");
    assert!(answer.json()["message"].as_str().unwrap().contains("exa mple.org"), "{}", answer.text());
}
