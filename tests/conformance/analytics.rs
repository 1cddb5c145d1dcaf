//! Open data over all countries: measurement group, dumps, and rules that hold for all tables. `services` tests
//! platforms, networks, topics and tools.

use std::time::Duration;

use heliograph_core::crypto::hash::sha256;
use heliograph_core::engine::time::{HOUR, Timestamp};
use heliograph_core::facts::starter::basket;
use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::synthetic::{HEADER, INSIDE, Session, SiteResult, observation};
use serde_json::{Value, json};

use crate::index::check_caching;
use crate::{Suite, cases};

cases![
    a_first_start_answers_every_ranking_with_nothing_and_says_so,
    rankings_are_cached_by_their_tags,
    the_summary_counts_what_is_there,
    the_intent_profile_has_shares_of_nationally_blocked_domains,
    category_leaders_need_a_category_that_exists,
    pairs_of_countries_carry_expected_overlap_and_significance,
    most_blocked_domains_are_ordered_by_countries,
    network_depth_and_techniques_take_a_country,
    quality_has_its_components_and_the_coverage_of_categories,
    regions_come_at_two_levels,
    rankings_of_a_past_time_echo_it_and_are_not_cached,
    every_table_comes_as_csv_too,
    every_public_answer_has_a_tag_and_every_table_of_the_interface_a_csv,
    lists_hold_exactly_as_many_as_the_limit,
    monthly_dumps_have_a_list_a_codebook_and_a_checksum,
    the_methodology_prints_the_numbers_of_the_rankings,
    rankings_follow_new_measurements_and_their_removal,
];

const COUNTRIES: [&str; 3] = ["NO", "FI", "SE"];
/// First of five networks in each country, with AS numbers reserved for documentation.
pub const FIRST: [u32; 3] = [64_496, 64_501, 64_506];
const SITES: [(&str, &str); 6] = [
    ("first-news.example", "NEWS"),
    ("second-news.example", "NEWS"),
    ("third-news.example", "NEWS"),
    ("hide-me.example", "ANON"),
    ("bets.example", "GMB"),
    ("paintings.example", "CULTR"),
];
/// For each site, the number of networks that reset it in each country.
const RESET: [[usize; 6]; 3] = [[3, 3, 0, 3, 3, 0], [3, 3, 0, 0, 3, 0], [0, 0, 0, 0, 2, 0]];
/// Measurements of a site in a country: five networks, four days, four times a day.
const PER_SITE: u64 = 80;

/// Fills a deployment with six sites in three countries.
fn with_three_countries(client: &Client) {
    let mut list = "url,category_code,category_description,date_added,source,notes\n".to_owned();
    for (site, code) in SITES {
        list.push_str(&format!("https://{site}/,{code},,2024-01-01,,\n"));
    }
    data::import(&client.admin(), "test-list", "", list.as_bytes());
    let mut out = HEADER.to_owned();
    let mut number = 0;
    for (at, country) in COUNTRIES.into_iter().enumerate() {
        for ((host, _), reset) in SITES.into_iter().zip(RESET[at]) {
            for (day, hour) in (9..=12).flat_map(|day| [1, 5, 9, 11].map(|hour| (day, hour))) {
                for network in 0..5 {
                    let seen = if network < reset { SiteResult::TlsReset } else { SiteResult::Works };
                    number += 1;
                    let time = format!("2024-03-{day:02} {hour:02}:{:02}:{:02}", number % 60, number % 53);
                    let asn = FIRST[at] + network as u32;
                    observation(&mut out, &Session { country, asn, host, time: &time, number, seen });
                }
            }
        }
    }
    let counts = data::import(&client.admin(), "ooni-observations", "", out.as_bytes());
    assert_eq!(counts.accepted, PER_SITE * 18, "{counts:?}");
}

/// An answer about the time of the data, from a deployment with three countries.
pub fn past(suite: &Suite, path: &str) -> Value {
    prepared(suite).get(&at(path)).expect(200)
}

pub fn prepared(suite: &Suite) -> Client {
    suite.prepared("three countries", with_three_countries)
}

pub fn at(path: &str) -> String {
    format!("{path}{}as_of={INSIDE}", if path.contains('?') { '&' } else { '?' })
}

const RANKINGS: [&str; 14] = [
    "/v1/measurement/summary",
    "/v1/measurement/intent-profile",
    "/v1/measurement/category-leaders?category=NEWS",
    "/v1/measurement/co-blocking",
    "/v1/measurement/most-blocked-domains",
    "/v1/measurement/network-depth",
    "/v1/measurement/quality",
    "/v1/measurement/techniques",
    "/v1/measurement/by-region",
    "/v1/platforms/scores",
    "/v1/platform/telegram/risk",
    "/v1/isp/worst",
    "/v1/topic-censorship-index?topic=news",
    "/v1/vpn-accessibility",
];

pub fn array<'a>(body: &'a Value, name: &str) -> &'a Vec<Value> {
    body[name].as_array().unwrap_or_else(|| panic!("{name} is no list: {body}"))
}

pub fn row<'a>(rows: &'a [Value], name: &str, value: &str) -> &'a Value {
    rows.iter().find(|row| row[name] == value).unwrap_or_else(|| panic!("no {name} {value} in {rows:?}"))
}

fn a_first_start_answers_every_ranking_with_nothing_and_says_so(suite: &Suite) {
    let client = suite.client();
    for path in ["/data/censorship-index.json", "/data/country/IR/isps", "/v1/isp/index?country=IR"] {
        let body = client.get(path).expect(200);
        assert_eq!(body["available"], false, "{path}: {body}");
        assert!(body["reason"].as_str().is_some_and(|text| text.contains("heliograph import")), "{path}: {body}");
    }
    for path in RANKINGS {
        let body = client.get(path).expect(200);
        let license = body["license"].as_str().unwrap_or_else(|| panic!("{path}: {body}"));
        assert!(!license.is_empty() && !body.to_string().contains("NaN"), "{path}: {body}");
        let caveat = body["caveat"].as_str().unwrap_or_else(|| panic!("{path}: {body}"));
        assert!(caveat.contains("the 30 days (messaging services: 14 days)"), "which window? {path}: {body}");
        assert!(body["window_days"].is_u64() || body["windowDays"].is_u64(), "{path}: {body}");
        if ["/v1/platforms/scores", "/v1/isp/worst"].contains(&path) {
            assert_eq!(body["available"], false, "{path}: {body}");
            assert!(body["reason"].as_str().is_some_and(|text| text.contains("heliograph import")), "{path}: {body}");
        }
        if path.starts_with("/v1/measurement/") {
            assert_eq!(body["available"], false, "{path}: {body}");
            assert!(body["reason"].as_str().is_some_and(|text| text.contains("import")), "{path}: {body}");
            assert_eq!(body["confirmation_rule"], "3 networks", "{path}: {body}");
            assert!(body["schema"].is_string() && body["generated_at"].is_string(), "{path}: {body}");
        }
    }
    assert_eq!(array(&client.get("/v1/measurement/co-blocking").expect(200), "pairs").len(), 0);
    client.get("/v1/measurement/intent-profile?country=NO").expect_error(404, "NOT_FOUND");
    let isps = client.get("/v1/isp/index?country=NO").expect(200);
    assert_eq!((&isps["ispCount"], array(&isps, "isps").len()), (&Value::from(0), 0), "{isps}");
    let info = client.get("/v1/measurement/info").expect(200);
    assert_eq!(array(&info, "endpoints").len(), 11, "{info}");
    assert!(array(&info, "endpoints").contains(&json!("/v1/measurement/classify")), "{info}");
    assert_eq!(info["constants"]["CONFIRMED_NETWORKS"], 3.0, "{info}");
}

fn rankings_are_cached_by_their_tags(suite: &Suite) {
    for path in RANKINGS {
        check_caching(&suite.client(), path, "application/json");
    }
    check_caching(&suite.client(), "/v1/measurement/info", "application/json");
    check_caching(&suite.client(), "/v1/isp/index?country=SE", "application/json");
    check_caching(&suite.client(), "/v1/measurement/quality?format=csv", "text/csv");
}

fn the_summary_counts_what_is_there(suite: &Suite) {
    let body = past(suite, "/v1/measurement/summary");
    assert_eq!(body["available"], true, "{body}");
    assert_eq!((&body["countries_measured"], &body["measurements"]), (&3.into(), &(PER_SITE * 18).into()), "{body}");
    assert_eq!(body["measurements_30d"], PER_SITE * 18, "{body}");
    assert_eq!((&body["domains_tracked"], &body["networks_tracked"]), (&18.into(), &15.into()), "{body}");
    assert_eq!(body["confirmed_national_blocks"], 7, "{body}");
    assert_eq!(body["countries_with_confirmed_blocks"], 2, "{body}");
    assert_eq!(body["block_fraction"], 0.4444, "{body}");
    assert_eq!(body["freshness"]["live"], 3, "{body}");
    assert_eq!(body["top_categories"][0]["category"], "NEWS", "{body}");
    assert_eq!(body["top_categories"][0]["domains"], 4, "{body}");
    assert_eq!(body["sources"][0]["source"], "ooni", "{body}");
    // Decision licence-and-removal: the licence is the strictest of the data in it.
    assert!(body["license"].as_str().unwrap().contains("NC"), "{body}");
}

fn the_intent_profile_has_shares_of_nationally_blocked_domains(suite: &Suite) {
    let body = past(suite, "/v1/measurement/intent-profile");
    assert_eq!(body["n_countries"], 3, "{body}");
    let countries = array(&body, "countries");
    let norway = row(countries, "country", "NO");
    assert_eq!(norway["n_confirmed_domains"], 4, "{body}");
    assert_eq!(norway["focus"]["political_speech"], 0.5, "{body}");
    assert_eq!(norway["focus"]["regulated_morality"], 0.25, "{body}");
    assert_eq!(norway["focus"]["circumvention_tooling"], 0.25, "{body}");
    assert_eq!(norway["dominant_focus"], "political_speech", "{body}");
    assert_eq!(norway["category_mix"]["NEWS"], 0.5, "{body}");
    // Two networks block it; three would confirm it.
    let sweden = row(countries, "country", "SE");
    assert_eq!((&sweden["n_confirmed_domains"], &sweden["dominant_focus"]), (&0.into(), &Value::Null), "{body}");
    let one = past(suite, "/v1/measurement/intent-profile?country=no");
    assert_eq!((one["n_countries"].as_u64(), &one["countries"][0]), (Some(1), norway));
    prepared(suite).get(&at("/v1/measurement/intent-profile?country=DK")).expect_error(404, "NOT_FOUND");
    prepared(suite).get("/v1/measurement/intent-profile?country=ZZ").expect_error(404, "NOT_FOUND");
    prepared(suite).get("/v1/measurement/intent-profile?country=NOR").expect_error(400, "BAD_REQUEST");
}

fn category_leaders_need_a_category_that_exists(suite: &Suite) {
    let body = past(suite, "/v1/measurement/category-leaders?category=news");
    assert_eq!((&body["category"], &body["category_name"]), (&"NEWS".into(), &"News media".into()), "{body}");
    let leaders = array(&body, "leaders");
    assert_eq!(leaders.len(), 2, "{body}");
    assert_eq!((&leaders[0]["rank"], &leaders[0]["n_domains"]), (&1.into(), &2.into()), "{body}");
    assert!(array(&leaders[0], "example_domains").contains(&"first-news.example".into()), "{body}");
    let tools = past(suite, "/v1/measurement/category-leaders?category=ANON");
    assert_eq!((array(&tools, "leaders").len(), &tools["leaders"][0]["country"]), (1, &"NO".into()), "{tools}");
    assert_eq!(past(suite, "/v1/measurement/category-leaders?category=HUMR")["n_countries"], 0);
    for path in ["", "?category=", "?category=NOPE", "?category=NEWS%20X"] {
        let path = format!("/v1/measurement/category-leaders{path}");
        suite.client().get(&path).expect_error(400, "BAD_REQUEST");
    }
}

fn pairs_of_countries_carry_expected_overlap_and_significance(suite: &Suite) {
    let body = past(suite, "/v1/measurement/co-blocking");
    assert_eq!((&body["n_pairs"], &body["n_pairs_tested"]), (&3.into(), &3.into()), "{body}");
    let pairs = array(&body, "pairs");
    let pair = row(pairs, "country_b", "NO");
    let nordic = pairs.iter().find(|pair| pair["country_a"] == "FI" && pair["country_b"] == "NO").unwrap_or(pair);
    assert_eq!((&nordic["shared"], &nordic["shared_political"]), (&3.into(), &2.into()), "{body}");
    assert_eq!((&nordic["shared_tooling"], &nordic["tested_in_both"]), (&0.into(), &4.into()), "{body}");
    assert_eq!(nordic["jaccard"], 0.75, "{body}");
    for pair in pairs {
        for name in ["expected", "p_value", "q_value"] {
            assert!(pair[name].as_f64().is_some_and(|value| value >= 0.0), "{name}: {pair}");
        }
        assert!(pair["q_value"].as_f64() >= pair["p_value"].as_f64(), "{pair}");
        // Three countries and four domains are too few for significance.
        assert_eq!(pair["significant"], false, "{pair}");
    }
}

fn most_blocked_domains_are_ordered_by_countries(suite: &Suite) {
    let body = past(suite, "/v1/measurement/most-blocked-domains");
    let domains = array(&body, "domains");
    assert_eq!((body["n_domains"].as_u64(), domains.len()), (Some(4), 4), "{body}");
    let first = &domains[0];
    assert_eq!((&first["domain"], &first["category"]), (&"bets.example".into(), &"GMB".into()), "{body}");
    assert_eq!((&first["n_countries"], &first["n_countries_confirmed"]), (&3.into(), &2.into()), "{body}");
    assert_eq!(first["countries"], serde_json::json!(["FI", "NO", "SE"]), "{body}");
    // Three, three and two networks have votes in the last 72 hours: four a day for two and a half days.
    assert!(first["n_blocked_obs"].as_u64().is_some_and(|n| n >= 8 * 8), "{body}");
    let (confidence, rate) = (first["avg_confidence"].as_f64().unwrap(), first["block_rate"].as_f64().unwrap());
    assert!((rate - (0.6 + 0.6 + 0.4) / 3.0).abs() < 1e-3 && confidence > 0.5, "{body}");
    // Nothing is older than a day, so the weight of an observation is between exp(-1/30) and 1.
    let observations = first["n_blocked_obs"].as_f64().unwrap();
    let importance = first["importance"].as_f64().unwrap();
    let (least, most) =
        (3.0 * (1.0 + observations * 0.96).ln() * confidence, 3.0 * (1.0 + observations).ln() * confidence);
    assert!(least - 1e-3 <= importance && importance <= most + 1e-3, "{body}");
    let news = past(suite, "/v1/measurement/most-blocked-domains?category=NEWS");
    assert_eq!((&news["category_filter"], array(&news, "domains").len()), (&"NEWS".into(), 2), "{news}");
    suite.client().get("/v1/measurement/most-blocked-domains?category=XYZ").expect_error(400, "BAD_REQUEST");
}

fn network_depth_and_techniques_take_a_country(suite: &Suite) {
    let body = past(suite, "/v1/measurement/network-depth");
    let countries = array(&body, "countries");
    assert_eq!((body["n_countries"].as_u64(), countries.len()), (Some(3), 3), "{body}");
    for country in countries {
        assert_eq!((&country["n_networks"], &country["n_measurements"]), (&5.into(), &480.into()), "{country}");
        assert_eq!((&country["can_confirm"], &country["band"]), (&true.into(), &"moderate".into()), "{country}");
    }
    assert_eq!(past(suite, "/v1/measurement/network-depth?country=FI")["n_countries"], 1);
    assert_eq!(past(suite, "/v1/measurement/network-depth?country=DK")["n_countries"], 0);
    let all = past(suite, "/v1/measurement/techniques");
    assert_eq!(array(&all, "countries").len(), 3, "{all}");
    for query in ["country", "country_code"] {
        let body = past(suite, &format!("/v1/measurement/techniques?{query}=NO"));
        assert_eq!((&body["country_filter"], body.get("countries")), (&"NO".into(), None), "{body}");
        let techniques = array(&body, "techniques");
        assert_eq!((techniques.len(), &techniques[0]["share"]), (1, &1.0.into()), "{body}");
        assert_eq!(techniques[0]["label"], "TCP-reset injection", "{body}");
    }
    for path in ["network-depth?country=", "techniques?country=", "techniques?country_code="] {
        suite.client().get(&format!("/v1/measurement/{path}ZZ")).expect_error(404, "NOT_FOUND");
        suite.client().get(&format!("/v1/measurement/{path}12")).expect_error(400, "BAD_REQUEST");
    }
}

fn quality_has_its_components_and_the_coverage_of_categories(suite: &Suite) {
    let body = past(suite, "/v1/measurement/quality");
    assert_eq!(body["category_coverage"], serde_json::json!({ "tagged": 18, "untagged": 0, "share": 1.0 }), "{body}");
    let countries = array(&body, "countries");
    assert_eq!(countries.len(), 3, "{body}");
    for country in countries {
        let score = country["score"].as_f64().unwrap();
        let part = |name: &str| country["components"][name].as_f64().unwrap_or_else(|| panic!("{name}: {country}"));
        let sum = 30.0 * part("freshness")
            + 30.0 * part("volume")
            + 20.0 * part("stability")
            + 20.0 * part("source_diversity");
        assert!((sum - score).abs() < 0.06, "{country}");
        // Each network of the data always gives the same result.
        assert_eq!(part("stability"), 1.0, "{country}");
        assert_eq!(country["freshness_band"], "live", "{country}");
        assert_eq!(country["band"], if score >= 70.0 { "high" } else { "medium" }, "{country}");
        assert!(country["last_measured_at"].is_string(), "{country}");
    }
}

fn regions_come_at_two_levels(suite: &Suite) {
    let body = past(suite, "/v1/measurement/by-region");
    assert_eq!(body["level"], "continent", "{body}");
    let europe = row(array(&body, "regions"), "region", "Europe");
    assert_eq!((&europe["countries_measured"], &europe["n_measurements"]), (&3.into(), &1440.into()), "{body}");
    assert_eq!((&europe["block_fraction"], &europe["confirmed_blocks"]), (&0.4444.into(), &7.into()), "{body}");
    let asia = row(array(&body, "regions"), "region", "Asia");
    assert_eq!((&asia["countries_measured"], &asia["block_fraction"]), (&0.into(), &Value::Null), "{body}");
    assert!(asia["countries_total"].as_u64().is_some_and(|n| n > 40), "{body}");
    let fine = past(suite, "/v1/measurement/by-region?level=subregion");
    assert_eq!(row(array(&fine, "regions"), "region", "Northern Europe")["countries_measured"], 3, "{fine}");
    suite.client().get("/v1/measurement/by-region?level=planet").expect_error(400, "BAD_REQUEST");
}

fn rankings_of_a_past_time_echo_it_and_are_not_cached(suite: &Suite) {
    let client = prepared(suite);
    for path in RANKINGS {
        let answer = client.get(&at(path));
        assert!(answer.expect(200)["as_of"].is_string(), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        let bad = format!("{path}{}as_of=then", if path.contains('?') { '&' } else { '?' });
        client.get(&bad).expect_error(400, "BAD_REQUEST");
    }
    let before = client.get("/v1/measurement/summary?as_of=2024-03-01T00:00:00Z").expect(200);
    assert_eq!((&before["measurements_30d"], &before["available"]), (&0.into(), &false.into()), "{before}");
    assert_eq!((&before["measurements_total"], &before["sources"]), (&0.into(), &serde_json::json!([])), "{before}");
    // Half of the data: no count includes later data, and no source was seen after `as_of`.
    let half = client.get("/v1/measurement/summary?as_of=2024-03-10T12:00:00Z").expect(200);
    assert_eq!((&half["measurements_total"], &half["measurements_30d"]), (&720.into(), &720.into()), "{half}");
    assert_eq!(half["sources"][0]["measurements"], 720, "{half}");
    assert!(half["sources"][0]["last_seen"].as_str().unwrap().starts_with("2024-03-10T11"), "{half}");
}

fn every_table_comes_as_csv_too(suite: &Suite) {
    let client = prepared(suite);
    for path in RANKINGS {
        let join = if path.contains('?') { '&' } else { '?' };
        let answer = client.get(&at(&format!("{path}{join}format=csv")));
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/csv; charset=utf-8")), "{path}");
        assert!(answer.header("content-disposition").is_some_and(|value| value.ends_with(".csv\"")), "{path}");
        let header = answer.text().lines().next().unwrap().to_owned();
        assert!(header.ends_with(",license"), "{path}: {header}");
        client.get(&format!("{path}{join}format=xml")).expect_error(400, "BAD_REQUEST");
    }
    let csv = client.get(&at("/v1/measurement/most-blocked-domains?format=csv"));
    let mut lines = csv.text().lines().map(str::to_owned).collect::<Vec<_>>().into_iter();
    assert!(lines.next().unwrap().starts_with("rank,domain,category,n_countries,"));
    assert!(lines.next().unwrap().starts_with("1,bets.example,GMB,3,2,FI;NO;SE,"));
    assert_eq!(lines.count(), 3);
}

/// Groups of the interface whose answers are tables.
const GROUPS: [&str; 10] = [
    "/v1/measurement/",
    "/v1/platform",
    "/v1/isp/",
    "/v1/topic-censorship-index",
    "/v1/vpn-accessibility",
    "/v1/censorship-index",
    "/v1/accessibility/",
    "/data/censorship-index",
    "/data/country/",
    "/data/domain/",
];
/// Routes of these groups that are no table, or whose CSV is a separate route; the alias of another group; a route
/// about one site that is never kept.
const NO_TABLE: [&str; 8] = [
    "/v1/measurement/info",
    "/v1/platform/{platform}/risk/{country}",
    "/v1/censorship-index/{code}",
    "/v1/censorship-index/incidents/stats",
    "/v1/accessibility/check",
    "/data/censorship-index.json",
    "/data/censorship-index.csv",
    "/data/country/{code}",
];
/// This route answers 404 without data, so it is tested where there are data.
const PROFILE: &str = "/v1/isp/AS64496/profile";

/// Reads the description of the interface, so that a new table without CSV or without validators fails here.
fn every_public_answer_has_a_tag_and_every_table_of_the_interface_a_csv(suite: &Suite) {
    let target = suite.fresh(&[("data_per_minute", "100000"), ("accessibility_per_minute", "100000")]);
    let client = target.client();
    let description = client.get("/openapi.json").expect(200);
    let (mut tables, mut others) = (0, 0);
    for (path, methods) in description["paths"].as_object().unwrap() {
        let Some(get) = methods.get("get").filter(|_| GROUPS.iter().any(|group| path.starts_with(group))) else {
            continue;
        };
        let parameters = get["parameters"].as_array().map_or(&[][..], Vec::as_slice);
        let has = |name: &str| parameters.iter().any(|parameter| parameter["name"] == name);
        assert_eq!(has("format"), !NO_TABLE.contains(&path.as_str()), "{path}: a table has a CSV");
        let sample = path
            .replace("{code}", "NO")
            .replace("{country}", "IR")
            .replace("{domain}", "youtube.com")
            .replace("{platform}", "twitter")
            .replace("{service}", "telegram");
        let required = |name: &str| parameters.iter().any(|p| p["name"] == name && p["required"] == true);
        let given =
            [("category", "NEWS"), ("country", "NO"), ("asns", "1,2"), ("topic", "news"), ("domain", "a.example")];
        let query: Vec<String> =
            given.iter().filter(|(name, _)| required(name)).map(|(name, value)| format!("{name}={value}")).collect();
        if sample.contains('{') {
            assert_eq!(path, "/v1/isp/{asn}/profile", "{path} is not looked at");
            continue;
        }
        if path == "/v1/accessibility/check" || path.ends_with("incidents/stats") {
            continue;
        }
        let sample = format!("{sample}?{}", query.join("&"));
        if path.ends_with(".csv") {
            check_caching(&client, &sample, "text/csv");
            continue;
        }
        check_caching(&client, &sample, "application/json");
        others += 1;
        if has("as_of") {
            let past = client.get(&format!("{sample}&as_of={INSIDE}"));
            assert_eq!((past.status, past.header("etag")), (200, None), "{path}");
            assert_eq!(past.header("cache-control"), Some("no-store"), "{path}");
        }
        if has("format") {
            let path = format!("{sample}&format=csv");
            check_caching(&client, &path, "text/csv; charset=utf-8");
            let answer = client.get(&path);
            let file = answer.header("content-disposition").unwrap_or_else(|| panic!("{path} is no download"));
            assert!(file.starts_with("attachment; filename=\"") && file.ends_with(".csv\""), "{path}: {file}");
            assert!(answer.text().lines().next().is_some_and(|line| line.ends_with(",license")), "{path}");
            client.get(&format!("{sample}&format=xml")).expect_error(400, "BAD_REQUEST");
            tables += 1;
        }
    }
    assert!(tables >= 22 && others > tables, "{tables} tables, {others} answers");
    // A documented block is also a row of a table.
    let csv = client.get("/data/domain/youtube.com?format=csv");
    assert!(csv.text().contains("\nCN,China,known_list,"), "{}", csv.text());
    let csv = client.get("/v1/accessibility/service/twitter?format=csv");
    assert!(csv.text().lines().count() > 1 && csv.text().contains(",blocked,0"), "{}", csv.text());
}

/// As many as the limit allows, and then one more.
fn lists_hold_exactly_as_many_as_the_limit(suite: &Suite) {
    let asns = |n: u32| (1..=n).map(|asn| asn.to_string()).collect::<Vec<_>>().join(",");
    let client = suite.client();
    let compare = |n: u32| client.get(&format!("/v1/isp/compare?asns={}", asns(n)));
    assert_eq!(compare(10).expect(200)["missing"].as_array().map(Vec::len), Some(10));
    assert_eq!(compare(2).expect(200)["count"], 0);
    compare(11).expect_error(400, "BAD_REQUEST");
    compare(1).expect_error(400, "BAD_REQUEST");
    for (asked, given) in [(1, 1), (20, 20), (500, 500), (501, 500)] {
        assert_eq!(client.get(&format!("/v1/isp/worst?limit={asked}")).expect(200)["limit"], given);
    }
    let history = |days: u32| client.get(&format!("/data/domain/a.example/history?days={days}")).expect(200);
    for (asked, given) in [(1, 1), (365, 365), (366, 365)] {
        assert_eq!(history(asked)["days"], given);
    }
}

fn monthly_dumps_have_a_list_a_codebook_and_a_checksum(suite: &Suite) {
    let client = prepared(suite);
    let countries = client.get("/data/dumps").expect(200);
    row(array(&countries, "countries"), "country", "FI");
    let list = client.get("/data/dumps?country=fi").expect(200);
    assert_eq!(array(&list, "files").len(), 2, "{list}");
    assert!(list["dataset_version"].as_str().is_some_and(|version| !version.is_empty()), "{list}");
    let codebook = client.get("/data/dumps/codebook.json").expect(200);
    let names: Vec<&str> = array(&codebook, "columns").iter().map(|column| column["name"].as_str().unwrap()).collect();
    for file in array(&list, "files") {
        let path = file["path"].as_str().unwrap();
        let answer = client.get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.header("content-disposition").is_some_and(|value| value.contains("FI-2024-03")), "{path}");
        assert_eq!(answer.header("x-dataset-version"), list["dataset_version"].as_str(), "{path}");
        let sum: String = sha256(&answer.body).iter().map(|byte| format!("{byte:02x}")).collect();
        let checksum = client.get(file["checksum_path"].as_str().unwrap());
        assert!(checksum.text().starts_with(&sum), "{path}: {} {sum}", checksum.text());
        let tag = answer.header("etag").unwrap();
        let again = client.with("if-none-match", tag).get(path);
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        let text = answer.text();
        if path.ends_with(".csv") {
            let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
            assert_eq!(header, names, "{path}");
            assert_eq!(text.lines().count(), 31, "six sites on five networks: {text}");
            assert!(text.contains("FI,2024-03,bets.example,64501,ooni,16,16,"), "{text}");
            assert!(text.lines().skip(1).all(|line| line.contains("CC-BY-NC-SA-4.0")), "{text}");
        } else {
            let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(rows.iter().map(|row| row["measurements"].as_u64().unwrap()).sum::<u64>(), 480, "{text}");
            for row in &rows {
                let rules: u64 = row["rules"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
                assert_eq!(row["measurements"], rules, "{row}");
            }
        }
    }
    assert_eq!(client.get("/data/dumps/FI-2023-01.csv").text().lines().count(), 1, "a month without data has a header");
    assert_eq!(array(&client.get("/data/dumps?country=DK").expect(200), "files").len(), 0);
}

fn the_methodology_prints_the_numbers_of_the_rankings(suite: &Suite) {
    let body = suite.client().get("/data/methodology").expect(200);
    let info = suite.client().get("/v1/measurement/info").expect(200);
    assert_eq!(body["methodology"]["analytics"], info["constants"], "{body}");
    assert_eq!(body["methodology"]["analytics"]["ISP_WEIGHT_RATE"], 0.6, "{body}");
    let speech = array(&body["methodology"]["focusGroups"], "political_speech");
    assert!(speech.contains(&"NEWS".into()), "{body}");
    assert_eq!(body["methodology"]["topics"]["lgbtq"], serde_json::json!(["LGBT"]), "{body}");
}

/// 25 sites of the basket on five networks in the last days; three of the sites are reset on three networks.
pub fn recent(now: Timestamp) -> String {
    let mut out = HEADER.to_owned();
    let mut number = 0;
    for (at, site) in basket::all().iter().filter(|site| site.category != "CTRL").take(25).enumerate() {
        for hours in [50, 40, 30, 20, 10, 4] {
            for network in 0..5_u32 {
                let seen = if at < 3 && network < 3 { SiteResult::TlsReset } else { SiteResult::Works };
                number += 1;
                let time = now.plus(-hours * HOUR).to_string();
                let time = time.get(..19).unwrap().replace('T', " ");
                let host = site.domain;
                observation(
                    &mut out,
                    &Session { country: "NO", asn: 64_496 + network, host, time: &time, number, seen },
                );
            }
        }
    }
    out
}

/// Asks again until the answer is as wanted. Documents are published at most 10 s later, and are visible on the edge
/// within 30 s.
pub fn wait(client: &Client, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..180 {
        let body = client.get(path).expect(200);
        if wanted(&body) {
            return body;
        }
        client.wait(Duration::from_millis(500));
    }
    panic!("{path} never changed: {}", client.get(path).text());
}

/// Decision published-documents: published documents follow their data.
fn rankings_follow_new_measurements_and_their_removal(suite: &Suite) {
    let target = suite.fresh(&[("publish_interval", "1")]);
    let client = target.client();
    let before = client.get("/v1/measurement/most-blocked-domains");
    data::import(&client.admin(), "ooni-observations", "", recent(client.now()).as_bytes());
    let body = wait(&client, "/v1/measurement/most-blocked-domains", |body| body["n_domains"] == 3);
    assert_eq!(body["domains"][0]["countries"], serde_json::json!(["NO"]), "{body}");
    assert!(body["domains"][0]["category"].is_string(), "of the basket: {body}");
    let tag = before.header("etag").unwrap();
    assert_eq!(client.with("if-none-match", tag).get("/v1/measurement/most-blocked-domains").status, 200);
    let summary = wait(&client, "/v1/measurement/summary", |body| body["measurements_30d"] == 750);
    assert_eq!(summary["confirmed_national_blocks"], 3, "{summary}");
    let isps = wait(&client, "/v1/isp/index?country=NO", |body| body["ispCount"] == 5);
    assert_eq!(isps["isps"][0]["blockedDomains"], 3, "{isps}");
    let profile = client.get("/v1/isp/AS64496/profile").expect(200);
    let day = |hours: i64| client.now().plus(-hours * HOUR).to_date_text();
    let first = profile["firstSeen"].as_str().unwrap();
    assert!([day(50), day(51)].iter().any(|day| first == format!("{day}T00:00:00.000Z")), "{profile}");
    wait(&client, "/v1/isp/worst", |body| body["count"] == 3);
    assert_eq!(client.get("/v1/isp/64496/profile").expect(200)["country"], "NO");
    let compared = client.get("/v1/isp/compare?asns=64496,64497").expect(200);
    assert_eq!(array(&compared, "sharedBlockedDomains").len(), 3, "{compared}");
    for (isp, rank) in array(&compared, "isps").iter().zip(1..) {
        assert_eq!((&isp["rankInCountry"], &isp["ispsInCountry"]), (&rank.into(), &5.into()), "{compared}");
    }
    let country = wait(&client, "/data/country/NO", |body| body["data"]["rank"] == 1);
    assert!(country["data"]["score"].is_u64(), "{country}");
    for path in ["/v1/measurement/quality", "/v1/platforms/scores", "/v1/isp/worst", "/v1/measurement/co-blocking"] {
        check_caching(&client, path, "application/json");
    }
    check_caching(&client, PROFILE, "application/json");
    check_caching(&client, &format!("{PROFILE}?format=csv"), "text/csv");
    let csv = client.get("/data/country/NO/isps?format=csv");
    assert_eq!(csv.text().lines().count(), 6, "a line for each network: {}", csv.text());
    assert_eq!(client.admin().send("DELETE", "/v1/admin/sources/ooni", None, b"").status / 100, 2);
    wait(&client, "/v1/measurement/summary", |body| body["available"] == false);
    wait(&client, "/v1/isp/worst", |body| body["count"] == 0);
    wait(&client, "/data/country/NO", |body| body["data"]["rank"].is_null());
}
