//! Domain pages and their history.

use heliograph_tests::client::Client;
use heliograph_tests::synthetic::{BLOCKING, CLEAN, COUNTRY, HALF_BLOCKED, INSIDE, SITE};
use serde_json::{Value, json};

use crate::detect::with_blocked_site;
use crate::{Suite, cases};

cases![
    a_domain_page_has_what_clients_format,
    a_domain_that_nobody_measured_is_an_honest_empty_page,
    every_spelling_of_a_domain_is_one_page,
    what_is_no_domain_is_400,
    a_history_is_newest_first_with_totals_per_day,
    a_history_of_one_country_is_only_about_it,
    days_are_clamped_and_nonsense_is_400,
    past_pages_echo_their_time,
];

fn page(client: &Client) -> Value {
    client.get(&format!("/data/domain/{SITE}?as_of={INSIDE}")).expect(200)
}

fn history(client: &Client, query: &str) -> Value {
    client.get(&format!("/data/domain/{SITE}/history?as_of={INSIDE}{query}")).expect(200)
}

fn a_domain_page_has_what_clients_format(suite: &Suite) {
    let body = page(&suite.prepared("site", with_blocked_site));
    assert_eq!(body["domain"], SITE);
    assert!(body["generated"].is_string() && body["period"].is_string(), "{body}");
    assert_eq!(body["status"], "blocked", "it is blocked somewhere: {body}");
    let summary = &body["summary"];
    let blocked_in = body["blocked_in"].as_array().unwrap();
    let half = blocked_in.iter().find(|country| country["country"] == HALF_BLOCKED).unwrap();
    let mut networks: Vec<_> = half["isps"].as_array().unwrap().iter().collect();
    networks.sort_by_key(|network| network["asn"].to_string());
    assert_eq!(networks.len(), 2, "{body}");
    for (network, asn) in networks.iter().zip([BLOCKING, CLEAN[0]]) {
        assert!(network["asn"].to_string().contains(&asn.to_string()), "{body}");
        assert!(network["name"].is_string(), "{body}");
        assert_eq!(network["measurements"], 16, "{body}");
        assert!(network["block_rate"].as_f64().unwrap() > 0.7, "{body}");
    }
    let listed = blocked_in.iter().map(|country| country["isps"].as_array().unwrap().len()).sum::<usize>();
    assert_eq!(summary["blocked_in_countries"], 1, "{body}");
    assert!(summary["total_blocking_isps"].as_u64().unwrap() >= listed as u64, "{body}");
}

fn a_domain_that_nobody_measured_is_an_honest_empty_page(suite: &Suite) {
    let client = suite.client();
    let body = client.get("/data/domain/nobody.example").expect(200);
    assert_eq!((&body["blocked_in"], &body["summary"]["blocked_in_countries"]), (&json!([]), &json!(0)), "{body}");
    assert_ne!(body["status"], "accessible", "nobody measured it: {body}");
    let body = client.get("/data/domain/nobody.example/history").expect(200);
    assert_eq!((&body["timeline"], &body["countriesBlocking"]), (&json!([]), &json!([])), "{body}");
    assert_eq!(body["summary"]["totalDataPoints"], 0, "{body}");
}

fn every_spelling_of_a_domain_is_one_page(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let expected = page(&client);
    for spelling in
        ["DAILY-NEWS.example", "www.daily-news.example", "daily-news.example.", "https:%2F%2Fdaily-news.example%2F"]
    {
        let body = client.get(&format!("/data/domain/{spelling}?as_of={INSIDE}")).expect(200);
        assert_eq!((&body["domain"], &body["summary"]), (&expected["domain"], &expected["summary"]), "{spelling}");
    }
}

fn what_is_no_domain_is_400(suite: &Suite) {
    let client = suite.client();
    for domain in ["a..example", "exa%20mple.org", "%00", "%E2%80%AEgpj.example", "%20"] {
        client.get(&format!("/data/domain/{domain}")).expect_error(400, "BAD_REQUEST");
        client.get(&format!("/data/domain/{domain}/history")).expect_error(400, "BAD_REQUEST");
    }
}

fn a_history_is_newest_first_with_totals_per_day(suite: &Suite) {
    let body = history(&suite.prepared("site", with_blocked_site), "");
    assert_eq!(body["domain"], SITE);
    assert!(body["period"].is_string() && body["generated"].is_string() && body["currentStatus"].is_string(), "{body}");
    let timeline = body["timeline"].as_array().unwrap();
    let dates: Vec<_> = timeline.iter().map(|day| day["date"].as_str().unwrap()).collect();
    assert_eq!(dates, ["2024-03-12", "2024-03-11", "2024-03-10", "2024-03-09"], "{body}");
    for day in timeline {
        assert_eq!((&day["total_measurements"], &day["total_blocked"]), (&json!(32), &json!(12)), "{day}");
        let country = &day["countries"][COUNTRY];
        assert_eq!(country["measurements"], 16, "{day}");
        assert!((country["blockRate"].as_f64().unwrap() - 0.25).abs() < 0.01, "{day}");
        assert!(country["status"].is_string(), "{day}");
    }
    let summary = &body["summary"];
    assert!(summary["totalDataPoints"].is_u64(), "{body}");
    for name in ["countriesEverBlocked", "countriesCurrentlyBlocking"] {
        assert!(summary[name].is_u64(), "{name}: {body}");
    }
    assert!(body["countriesBlocking"].as_array().unwrap().iter().all(Value::is_string), "{body}");
}

fn a_history_of_one_country_is_only_about_it(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let days = |query: &str| history(&client, query)["timeline"].as_array().unwrap().len();
    assert_eq!(days("&country=no"), 4);
    assert_eq!(days("&country=SE"), 0);
    let path = format!("/data/domain/{SITE}/history?country=NOR");
    client.get(&path).expect_error(400, "BAD_REQUEST");
}

fn days_are_clamped_and_nonsense_is_400(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let days = |query: &str| history(&client, query)["timeline"].as_array().unwrap().len();
    assert!((1..=3).contains(&days("&days=2")), "{}", days("&days=2"));
    assert_eq!(days("&days=99999"), 4);
    for bad in ["0", "-1", "x", "1.5"] {
        let path = format!("/data/domain/{SITE}/history?days={bad}");
        client.get(&path).expect_error(400, "BAD_REQUEST");
    }
}

fn past_pages_echo_their_time(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    assert!(page(&client)["as_of"].is_string());
    assert!(history(&client, "")["as_of"].is_string());
    client.get(&format!("/data/domain/{SITE}?as_of=x")).expect_error(400, "BAD_REQUEST");
}
