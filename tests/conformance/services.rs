//! Platforms, networks, topics and tools over all countries.

use serde_json::Value;

use crate::analytics::{FIRST, array, at, past, prepared, row};
use crate::{Suite, cases};

cases![
    platform_scores_have_the_twelve_slugs,
    a_documented_block_of_a_platform_is_told_from_a_measured_one,
    a_platform_in_a_country_has_numbers_and_never_null,
    unknown_platforms_countries_and_networks_are_404_and_bad_ones_400,
    networks_of_a_country_are_ranked_by_the_formula,
    the_worst_networks_of_the_world_are_counted_and_limited,
    a_network_has_a_profile_with_and_without_prefix,
    networks_are_compared_side_by_side,
    the_topic_index_is_about_the_sites_of_a_topic,
    tools_without_tests_are_honestly_empty,
];

fn platform_scores_have_the_twelve_slugs(suite: &Suite) {
    let body = suite.client().get("/v1/platforms/scores").expect(200);
    let platforms = array(&body, "platforms");
    assert_eq!((body["count"].as_u64(), platforms.len()), (Some(12), 12), "{body}");
    for (at, platform) in platforms.iter().enumerate() {
        assert_eq!(platform["rank"], at + 1, "{platform}");
        assert!(platform["globalScore"].is_number() && platform["avgBlockRate"].is_number(), "{platform}");
        assert_eq!(platform["insufficientData"], platform["countriesMeasured"] == 0, "{platform}");
        assert!(platform["label"].is_string() && platform["methods"].is_array(), "{platform}");
    }
    assert!(body["generatedAt"].is_string(), "{body}");
}

fn a_documented_block_of_a_platform_is_told_from_a_measured_one(suite: &Suite) {
    use heliograph_core::facts::starter::{Country, Platform};
    let body = suite.client().get("/v1/platform/X/risk").expect(200);
    assert_eq!((&body["platform"], &body["countriesBlocking"]), (&"twitter".into(), &0.into()), "{body}");
    assert_eq!(body["globalScore"], 0.0, "{body}");
    let twitter = Platform::by_slug("twitter").unwrap();
    let documented = Country::all().iter().filter(|country| twitter.known_block(country).is_some()).count();
    assert!(documented > 0);
    let listed = array(&body, "blockedIn");
    assert!(listed.len() <= documented && body["countriesListed"] == listed.len(), "{body}");
    for country in listed {
        assert_eq!((&country["basis"], &country["evidenceCount"]), (&"known_list".into(), &0.into()), "{country}");
        assert!(country["score"].as_f64().is_some_and(|score| score <= 0.6), "{country}");
    }
}

fn a_platform_in_a_country_has_numbers_and_never_null(suite: &Suite) {
    let client = suite.client();
    for platform in ["telegram", "tor", "wikipedia"] {
        let body = client.get(&format!("/v1/platform/{platform}/risk/se")).expect(200);
        assert_eq!((&body["country"], &body["countryName"]), (&"SE".into(), &"Sweden".into()), "{body}");
        assert!(body["score"].is_number() && body["blockRate"].is_number(), "a tool prints NaN: {body}");
        assert_eq!(body["insufficientData"], body["status"] == "unknown", "{body}");
        assert!(body["methods"].is_array() && body["evidenceCount"].is_u64(), "{body}");
        assert!(body["label"].is_string() && body["status"].is_string() && body["generatedAt"].is_string(), "{body}");
    }
    let body = client.get("/v1/platforms/country/IR").expect(200);
    let platforms = array(&body, "platforms");
    assert_eq!((body["count"].as_u64(), platforms.len()), (Some(12), 12), "{body}");
    let scores: Vec<f64> = platforms.iter().map(|platform| platform["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{body}");
    assert!(platforms.iter().all(|platform| platform["rank"].is_u64()), "{body}");
}

fn unknown_platforms_countries_and_networks_are_404_and_bad_ones_400(suite: &Suite) {
    let client = suite.client();
    for path in [
        "/v1/platform/myspace/risk",
        "/v1/platform/myspace/risk/NO",
        "/v1/platform/telegram/risk/ZZ",
        "/v1/platforms/country/ZZ",
        "/v1/isp/index?country=ZZ",
        "/v1/isp/AS64511/profile",
        "/v1/vpn-accessibility?country=ZZ",
        "/data/dumps?country=ZZ",
        "/data/dumps/ZZ-2024-03.csv",
        "/data/dumps/NO-2024-03.exe",
    ] {
        client.get(path).expect_error(404, "NOT_FOUND");
    }
    for path in [
        "/v1/platform/telegram/risk/NOR",
        "/v1/platforms/country/1",
        "/v1/isp/index",
        "/v1/isp/index?country=",
        "/v1/isp/index?country=NOR",
        "/v1/isp/x/profile",
        "/v1/isp/AS/profile",
        "/v1/isp/AS0/profile",
        "/v1/isp/AS99999999999/profile",
        "/v1/isp/compare",
        "/v1/isp/compare?asns=AS1",
        "/v1/isp/compare?asns=AS1,1",
        "/v1/isp/compare?asns=AS1,two",
        "/v1/isp/compare?asns=1,2,3,4,5,6,7,8,9,10,11",
        "/v1/isp/worst?limit=0",
        "/v1/isp/worst?limit=-1",
        "/v1/topic-censorship-index",
        "/v1/topic-censorship-index?topic=weather",
        "/v1/vpn-accessibility?provider=unheard-of",
        "/v1/vpn-accessibility?country=NOR",
    ] {
        client.get(path).expect_error(400, "BAD_REQUEST");
    }
}

fn networks_of_a_country_are_ranked_by_the_formula(suite: &Suite) {
    let body = past(suite, "/v1/isp/index?country=no");
    assert_eq!((&body["country"], &body["countryName"]), (&"NO".into(), &"Norway".into()), "{body}");
    let isps = array(&body, "isps");
    assert_eq!((body["ispCount"].as_u64(), isps.len()), (Some(5), 5), "{body}");
    for (at, isp) in isps.iter().enumerate() {
        assert_eq!((&isp["rank"], &isp["asn"]), (&(at + 1).into(), &(FIRST[0] as usize + at).into()), "{isp}");
        assert_eq!((&isp["measurements"], &isp["insufficientData"]), (&96.into(), &false.into()), "{isp}");
        if at < 3 {
            // Four of six sites, three categories, one method: 60 x 4/6 + 25 x 0.3 + 15 x 0.2.
            assert_eq!(isp["compositeScore"], 50.5, "{isp}");
            assert_eq!(isp["blockedCategories"], serde_json::json!(["ANON", "GMB", "NEWS"]), "{isp}");
            assert_eq!(
                (&isp["methods"], &isp["blockedDomains"]),
                (&serde_json::json!(["tls-reset"]), &4.into()),
                "{isp}"
            );
            assert!((isp["blockRate"].as_f64().unwrap() - 4.0 / 6.0).abs() < 1e-3, "{isp}");
        } else {
            assert_eq!((&isp["compositeScore"], &isp["blockRate"]), (&0.0.into(), &0.0.into()), "{isp}");
        }
    }
    assert_eq!(past(suite, "/v1/isp/index?country=DK")["ispCount"], 0);
}

fn the_worst_networks_of_the_world_are_counted_and_limited(suite: &Suite) {
    let body = past(suite, "/v1/isp/worst");
    let isps = array(&body, "isps");
    assert_eq!((body["count"].as_u64(), body["limit"].as_u64(), isps.len()), (Some(8), Some(20), 8), "{body}");
    assert_eq!((&isps[0]["asn"], &isps[0]["country"]), (&64_496.into(), &"NO".into()), "{body}");
    assert_eq!(isps[7]["country"], "SE", "{body}");
    let two = past(suite, "/v1/isp/worst?limit=2");
    assert_eq!((&two["limit"], array(&two, "isps").len()), (&2.into(), 2), "{two}");
    assert_eq!(past(suite, "/v1/isp/worst?limit=100000")["limit"], 500);
}

fn a_network_has_a_profile_with_and_without_prefix(suite: &Suite) {
    let body = past(suite, "/v1/isp/AS64497/profile");
    assert_eq!((&body["asn"], &body["asnLabel"]), (&64_497.into(), &"AS64497".into()), "{body}");
    assert_eq!((&body["country"], &body["isps_in_country"]), (&"NO".into(), &Value::Null), "{body}");
    assert_eq!((&body["rankInCountry"], &body["ispsInCountry"]), (&2.into(), &5.into()), "{body}");
    assert_eq!((&body["blockedDomainCount"], array(&body, "topBlockedDomains").len()), (&4.into(), 4), "{body}");
    assert_eq!(body["methods"], serde_json::json!([{ "method": "tls-reset", "share": 1.0 }]), "{body}");
    let news = row(array(&body, "blockedCategories"), "category", "NEWS");
    assert_eq!((&news["domains"], &news["blockRate"]), (&2.into(), &1.0.into()), "{body}");
    for other in ["as64497", "64497"] {
        let same = past(suite, &format!("/v1/isp/{other}/profile"));
        assert_eq!(same["topBlockedDomains"], body["topBlockedDomains"], "{same}");
    }
    prepared(suite).get(&at("/v1/isp/AS64511/profile")).expect_error(404, "NOT_FOUND");
}

fn networks_are_compared_side_by_side(suite: &Suite) {
    let body = past(suite, "/v1/isp/compare?asns=64501,AS64496,AS64511");
    assert_eq!((&body["count"], &body["missing"]), (&2.into(), &serde_json::json!(["AS64511"])), "{body}");
    assert_eq!(body["asns"], serde_json::json!(["AS64501", "AS64496", "AS64511"]), "{body}");
    let isps = array(&body, "isps");
    assert_eq!((&isps[0]["country"], &isps[1]["country"]), (&"FI".into(), &"NO".into()), "{body}");
    assert!(isps[0].get("topBlockedDomains").is_none(), "{body}");
    let shared = serde_json::json!(["bets.example", "first-news.example", "second-news.example"]);
    assert_eq!(body["sharedBlockedDomains"], shared, "{body}");
}

fn the_topic_index_is_about_the_sites_of_a_topic(suite: &Suite) {
    let body = past(suite, "/v1/topic-censorship-index?topic=news");
    let countries = array(&body, "countries");
    assert_eq!((&body["available"], countries.len()), (&true.into(), 3), "{body}");
    // (2 + 4 x 0.03) / (3 + 4) and (0 + 4 x 0.03) / (3 + 4).
    let scores: Vec<u64> = countries.iter().map(|country| country["score"].as_u64().unwrap()).collect();
    assert_eq!(scores, [30, 30, 2], "{body}");
    assert_eq!((&countries[0]["code"], &countries[0]["country"]), (&"FI".into(), &"Finland".into()), "{body}");
    assert_eq!((&countries[0]["samples"], &countries[0]["level"]), (&3.into(), &"low".into()), "{body}");
    // One gambling site is too few for a score.
    let gambling = past(suite, "/v1/topic-censorship-index?topic=gambling");
    assert_eq!(array(&gambling, "countries").len(), 0, "{gambling}");
    assert_eq!(gambling["metadata"]["insufficientData"], 3, "{gambling}");
    assert_eq!(gambling["available"], false, "{gambling}");
}

fn tools_without_tests_are_honestly_empty(suite: &Suite) {
    for query in ["", "?country=NO", "?provider=nordvpn", "?country=no&provider=Tor"] {
        let body = suite.client().get(&format!("/v1/vpn-accessibility{query}")).expect(200);
        assert_eq!((&body["available"], array(&body, "by_provider").len()), (&false.into(), 0), "{body}");
        for name in ["total_probes", "probe_nodes", "targets_tested", "total_accessible", "total_blocked"] {
            assert_eq!(body["stats"][name], 0, "{name}: {body}");
        }
        assert!(body["updated_at"].is_string() && body["query"].is_object(), "{body}");
    }
    let body = suite.client().get("/v1/vpn-accessibility?country=no&provider=Tor").expect(200);
    assert_eq!(body["query"], serde_json::json!({ "country": "NO", "provider": "tor" }), "{body}");
}
