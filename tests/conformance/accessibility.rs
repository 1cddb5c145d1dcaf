//! Accessibility checks of sites and platforms.

use heliograph_core::engine::time::Timestamp;
use heliograph_tests::client::Client;
use heliograph_tests::synthetic::{COUNTRY, INSIDE, SITE};
use serde_json::{Value, json};

use crate::detect::{research, with_blocked_site};
use crate::{Suite, cases};

cases![
    a_check_has_every_key_that_clients_read,
    a_check_needs_domain_and_country,
    no_key_is_asked_for_and_one_that_is_sent_is_ignored,
    an_unknown_country_is_200_unknown,
    what_is_not_two_letters_is_400,
    the_domain_is_echoed_as_asked_and_the_country_as_a_code,
    accessibility_score_follows_the_status,
    confidence_is_the_chance_of_being_right_and_evidence_strength_the_amount,
    as_of_works_on_checks_batches_and_summaries,
    a_known_block_of_a_country_is_shown_with_basis,
    answers_about_a_site_of_a_platform_name_it_and_lists_are_shown,
    a_service_name_may_stand_for_a_domain,
    a_batch_answers_in_the_order_of_the_request_with_a_summary,
    a_batch_is_limited_to_50_and_needs_both_members,
    a_summary_counts_what_was_measured,
    a_summary_of_a_country_without_data_is_200,
    a_summary_of_no_country_is_404,
    a_service_is_answered_for_every_country_that_is_known,
    an_unknown_service_is_404,
];

fn check(client: &Client, query: &str) -> Value {
    let body = client.get(&format!("/v1/accessibility/check?{query}")).expect(200);
    check_shape(&body);
    body
}

fn site(client: &Client, as_of: &str) -> Value {
    check(client, &format!("domain={SITE}&country={COUNTRY}&as_of={as_of}"))
}

/// Checks names and types of members; a client prints NaN when `accessibilityScore` is missing.
fn check_shape(body: &Value) {
    for name in ["domain", "country", "countryName", "status", "checkedAt"] {
        assert!(body[name].as_str().is_some_and(|text| !text.is_empty()), "{name}: {body}");
    }
    let status = body["status"].as_str().unwrap();
    assert!(["blocked", "accessible", "unknown"].contains(&status), "{body}");
    let score = body.get("accessibilityScore").unwrap_or_else(|| panic!("accessibilityScore is missing: {body}"));
    match status {
        "unknown" => assert_eq!(score, &Value::Null, "{body}"),
        "blocked" => assert!(score.as_f64().is_some_and(|score| (0.0..0.5).contains(&score)), "{body}"),
        _ => assert!(score.as_f64().is_some_and(|score| (0.5..=1.0).contains(&score)), "{body}"),
    }
    let method = body.get("blockingMethod").unwrap_or_else(|| panic!("blockingMethod is missing: {body}"));
    assert!(method.is_null() || (method.is_string() && status == "blocked"), "{body}");
    let methods = body["methods"].as_array().unwrap();
    assert!(methods.iter().all(Value::is_string), "{body}");
    assert!(method.is_null() || methods.contains(method), "{body}");
    assert!((0.0..=1.0).contains(&body["confidence"].as_f64().unwrap()), "{body}");
    assert_eq!(status == "unknown", body["confidence"] == 0.0, "{body}");
    assert!(body["evidenceCount"].is_u64(), "{body}");
    assert!(Timestamp::parse(body["checkedAt"].as_str().unwrap()).is_some(), "{body}");
}

fn a_check_has_every_key_that_clients_read(suite: &Suite) {
    let body = check(&suite.client(), "domain=nobody.example&country=SE");
    assert_eq!((&body["domain"], &body["country"]), (&json!("nobody.example"), &json!("SE")));
    assert_eq!(body["countryName"], "Sweden");
    assert_eq!((&body["status"], &body["evidenceCount"]), (&json!("unknown"), &json!(0)));
    assert_eq!(body["methods"], json!([]));
    site(&suite.prepared("site", with_blocked_site), INSIDE);
}

fn a_check_needs_domain_and_country(suite: &Suite) {
    let client = suite.client();
    for query in [
        "",
        "?domain=a.example",
        "?country=SE",
        "?domain=&country=SE",
        "?domain=a.example&country=",
        "?Domain=a.example&Country=SE",
    ] {
        client.get(&format!("/v1/accessibility/check{query}")).expect_error(400, "BAD_REQUEST");
    }
    client.get("/v1/accessibility/check?domain=%ff&country=SE").expect_error(400, "BAD_REQUEST");
    client.get("/v1/accessibility/check?domain=exa%20mple.org&country=SE").expect_error(400, "BAD_REQUEST");
}

fn no_key_is_asked_for_and_one_that_is_sent_is_ignored(suite: &Suite) {
    let client = suite.client();
    let path = "/v1/accessibility/check?domain=a.example&country=SE";
    for (name, value) in [("authorization", "Bearer something"), ("x-api-key", "wrong"), ("x-agent-key", "wrong")] {
        assert_eq!(client.with(name, value).get(path).status, 200, "{name}");
    }
    let body = json!({ "domains": ["a.example"], "country": "SE" });
    assert_eq!(client.with("authorization", "Bearer x").post("/v1/accessibility/batch", &body).status, 200);
}

fn an_unknown_country_is_200_unknown(suite: &Suite) {
    for country in ["ZZ", "QQ", "qq"] {
        let body = check(&suite.client(), &format!("domain=a.example&country={country}"));
        assert_eq!(body["status"], "unknown");
    }
}

fn what_is_not_two_letters_is_400(suite: &Suite) {
    let client = suite.client();
    for country in ["K", "KEN", "K1", "12", "%20", "%C3%A9%C3%A9", "--", "Kenya"] {
        let path = format!("/v1/accessibility/check?domain=a.example&country={country}");
        client.get(&path).expect_error(400, "BAD_REQUEST");
        client.get(&format!("/v1/accessibility/country/{country}/summary")).expect_error(400, "BAD_REQUEST");
    }
}

fn the_domain_is_echoed_as_asked_and_the_country_as_a_code(suite: &Suite) {
    // Agents compare the echoed domain with what they sent.
    let client = suite.client();
    for domain in ["https://WWW.Nobody.example/path", "NOBODY.example.", "nobody.example"] {
        let body = check(&client, &format!("domain={}&country=se", domain.replace(':', "%3A").replace('/', "%2F")));
        assert_eq!((&body["domain"], &body["country"]), (&json!(domain), &json!("SE")));
    }
}

fn accessibility_score_follows_the_status(suite: &Suite) {
    let body = site(&suite.prepared("site", with_blocked_site), INSIDE);
    assert_eq!(body["status"], "accessible", "{body}");
    assert!(body["accessibilityScore"].as_f64().unwrap() >= 0.5, "{body}");
    let known = check(&suite.client(), "domain=youtube.com&country=CN");
    assert_eq!(known["status"], "blocked", "{known}");
    assert_eq!(known["accessibilityScore"], 0.0, "{known}");
}

fn confidence_is_the_chance_of_being_right_and_evidence_strength_the_amount(suite: &Suite) {
    let body = site(&suite.prepared("site", with_blocked_site), INSIDE);
    assert!(body["confidence"].as_f64().unwrap() > 0.5, "a decided status is more likely right than wrong: {body}");
    assert!((0.0..=1.0).contains(&body["evidenceStrength"].as_f64().unwrap()), "{body}");
}

fn as_of_works_on_checks_batches_and_summaries(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let as_of = Timestamp::parse(INSIDE);
    let echoed = |body: &Value| Timestamp::parse(body["as_of"].as_str().unwrap_or_else(|| panic!("no as_of: {body}")));
    assert_eq!(echoed(&site(&client, INSIDE)), as_of);
    assert_eq!(echoed(&site(&client, "2024-03-12T13:00:00%2B01:00")), as_of);
    let batch = json!({ "domains": [SITE], "country": COUNTRY, "as_of": INSIDE });
    let batch = client.post("/v1/accessibility/batch", &batch).expect(200);
    assert_eq!(echoed(&batch), as_of);
    assert_eq!(batch["results"][0]["status"], "accessible", "{batch}");
    let summary = client.get(&format!("/v1/accessibility/country/{COUNTRY}/summary?as_of={INSIDE}")).expect(200);
    assert_eq!(echoed(&summary), as_of);
    // At the server's present time the same data is years old.
    assert_eq!(check(&client, &format!("domain={SITE}&country={COUNTRY}"))["status"], "unknown");
    for bad in ["x", "2024-99-01"] {
        let path = format!("/v1/accessibility/check?domain={SITE}&country={COUNTRY}&as_of={bad}");
        client.get(&path).expect_error(400, "BAD_REQUEST");
    }
}

fn a_known_block_of_a_country_is_shown_with_basis(suite: &Suite) {
    let body = check(&suite.client(), "domain=youtube.com&country=CN");
    assert_eq!((&body["status"], &body["evidenceCount"]), (&json!("blocked"), &json!(0)), "{body}");
    assert!(body["confidence"].as_f64().unwrap() <= 0.6, "{body}");
    assert_eq!(body["basis"], "known_list", "{body}");
    let elsewhere = check(&suite.client(), "domain=youtube.com&country=SE");
    assert_eq!(elsewhere["status"], "unknown");
}

fn answers_about_a_site_of_a_platform_name_it_and_lists_are_shown(suite: &Suite) {
    let client = suite.client();
    let answers = [
        check(&client, "domain=telegram.org&country=SE"),
        research(&client).post("/hydra/v1/detect", &json!({ "country": "SE", "target": "telegram.org" })).expect(200),
        client.get("/data/domain/telegram.org").expect(200),
    ];
    for body in answers {
        let platform = &body["platform"];
        assert_eq!((&platform["slug"], &platform["role"]), (&json!("telegram"), &json!("website")), "{body}");
        assert!(platform["status"].is_string(), "{body}");
    }
    assert!(check(&client, "domain=nobody.example&country=SE")["platform"].is_null());
    let china = client.get("/data/country/CN").expect(200)["data"].clone();
    let listed = china["listedBlocked"].as_array().unwrap();
    assert!(listed.iter().any(|row| row["target"] == "youtube" && row["basis"] == "known_list"), "{china}");
    assert!(china["listedCount"].as_u64().unwrap() >= listed.len() as u64, "{china}");
    let sweden = client.get("/data/country/SE").expect(200)["data"].clone();
    assert_eq!((&sweden["listedBlocked"], &sweden["listedCount"]), (&json!([]), &json!(0)), "{sweden}");
}

fn a_service_name_may_stand_for_a_domain(suite: &Suite) {
    for service in ["whatsapp", "Telegram", "signal"] {
        let body = check(&suite.client(), &format!("domain={service}&country=SE"));
        assert_eq!(body["status"], "unknown");
        assert!(body["domain"].as_str().unwrap().eq_ignore_ascii_case(service), "{body}");
    }
}

fn a_batch_answers_in_the_order_of_the_request_with_a_summary(suite: &Suite) {
    let client = suite.client();
    let body = json!({ "domains": ["b.example", "youtube.com", "a.example"], "country": "cn" });
    let answer = client.post("/v1/accessibility/batch", &body);
    let body = answer.expect(200);
    let results = body["results"].as_array().unwrap();
    results.iter().for_each(check_shape);
    let domains: Vec<_> = results.iter().map(|result| result["domain"].as_str().unwrap()).collect();
    assert_eq!(domains, ["b.example", "youtube.com", "a.example"]);
    assert_eq!((&body["country"], &body["count"]), (&json!("CN"), &json!(3)));
    assert_eq!(body["countryName"], "China");
    assert_eq!(body["summary"], json!({ "blocked": 1, "accessible": 0, "unknown": 2 }));
    assert!(body["checkedAt"].is_string());
}

fn a_batch_is_limited_to_50_and_needs_both_members(suite: &Suite) {
    let client = suite.client();
    let names: Vec<String> = (0..51).map(|number| format!("n{number}.example")).collect();
    let body = json!({ "domains": &names[..50], "country": "SE" });
    assert_eq!(client.post("/v1/accessibility/batch", &body).expect(200)["results"].as_array().unwrap().len(), 50);
    for body in [
        json!({ "domains": names, "country": "SE" }),
        json!({ "domains": [], "country": "SE" }),
        json!({ "domains": ["a.example"] }),
        json!({ "country": "SE" }),
        json!({ "domains": "a.example", "country": "SE" }),
        json!({ "domains": [null], "country": "SE" }),
        json!({ "domains": ["a.example"], "country": "SWE" }),
        json!({}),
    ] {
        client.post("/v1/accessibility/batch", &body).expect_error(400, "BAD_REQUEST");
    }
}

fn a_summary_counts_what_was_measured(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let body = client.get(&format!("/v1/accessibility/country/no/summary?as_of={INSIDE}")).expect(200);
    assert_eq!((&body["country"], &body["countryName"]), (&json!("NO"), &json!("Norway")));
    let count = |name: &str| body[name].as_u64().unwrap_or_else(|| panic!("{name}: {body}"));
    assert_eq!(count("totalDomainsChecked"), 1, "{body}");
    assert_eq!(count("blockedCount") + count("accessibleCount") + count("unknownCount"), 1, "{body}");
    assert_eq!((count("accessibleCount"), count("degradedCount")), (1, 0), "{body}");
    assert!((0.0..=1.0).contains(&body["blockRate"].as_f64().unwrap()), "{body}");
    assert!(body["lastUpdated"].as_str().unwrap().starts_with("2024-03-12T11:"), "{body}");
    assert!(body["topBlocked"].is_array(), "{body}");
}

fn a_summary_of_a_country_without_data_is_200(suite: &Suite) {
    let body = suite.client().get("/v1/accessibility/country/SE/summary").expect(200);
    assert_eq!((&body["totalDomainsChecked"], &body["blockedCount"]), (&json!(0), &json!(0)), "{body}");
    assert_eq!(body["topBlocked"], json!([]));
}

fn a_summary_of_no_country_is_404(suite: &Suite) {
    for country in ["ZZ", "QQ", "xx"] {
        let path = format!("/v1/accessibility/country/{country}/summary");
        suite.client().get(&path).expect_error(404, "NOT_FOUND");
    }
}

fn a_service_is_answered_for_every_country_that_is_known(suite: &Suite) {
    let client = suite.client();
    for service in ["telegram", "Telegram", "youtube"] {
        let body = client.get(&format!("/v1/accessibility/service/{service}")).expect(200);
        assert_eq!(body["service"], service.to_lowercase());
        assert!(body["label"].is_string());
        assert!(body["domains"].as_array().unwrap().iter().all(Value::is_string), "{body}");
        assert!(!body["domains"].as_array().unwrap().is_empty(), "{body}");
        let countries = body["countries"].as_array().unwrap();
        let count = |status: &str| countries.iter().filter(|country| country["status"] == status).count();
        assert_eq!(body["countriesChecked"], countries.len(), "{body}");
        assert_eq!(body["countriesBlocking"], count("blocked"), "{body}");
        assert_eq!(body["countriesAccessible"], count("accessible"), "{body}");
        assert!(count("blocked") > 0, "documented blocks count: {body}");
        assert!(body.get("globalScore").is_some_and(|score| score.is_null() || score.is_number()), "{body}");
        assert!(body["generatedAt"].is_string(), "{body}");
        for country in countries {
            for name in ["country", "countryName", "status", "checkedAt"] {
                assert!(country[name].is_string(), "{name}: {country}");
            }
            assert!(country.get("accessibilityScore").is_some(), "{country}");
            assert!(country["methods"].is_array() && country["evidenceCount"].is_u64(), "{country}");
        }
    }
}

fn an_unknown_service_is_404(suite: &Suite) {
    for service in ["friendster", "%20", "a.example", "telegram.org%00"] {
        let answer = suite.client().get(&format!("/v1/accessibility/service/{service}"));
        answer.expect_error(404, "NOT_FOUND");
    }
}
