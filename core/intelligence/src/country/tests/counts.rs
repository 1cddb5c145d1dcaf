//! What the numbers of measurements count.

use serde_json::Value;

use super::{HEADER, Server, incidents, rows};
use crate::import::{ImportKind, Options};
use engine::testing::real_data;

const RECENT: &str = "2025-12-30";

fn import(server: &Server, data: &[u8]) {
    server.import(ImportKind::OoniObservations, Options::default(), data);
    server.settle();
}

/// A measurement counts once, however many targets it is about. `measurementCount` is of the last seven days.
#[test]
fn a_measurement_counts_once_and_measurement_count_is_of_a_week() {
    let server = Server::start();
    // Eight visits to a page that redirects; each measures two hosts.
    let visits = rows("IT", 1, "short.example", RECENT, 0..8, false);
    let hops = visits.replace("192.0.2.7,443", "192.0.2.8,443").replace(",IT,1,short.example,", ",IT,1,long.example,");
    let older = rows("IT", 2, "short.example", "2025-12-10", 0..5, false);
    let oldest = rows("IT", 2, "short.example", "2025-06-10", 0..3, false);
    import(&server, format!("{HEADER}{visits}{hops}{older}{oldest}").as_bytes());
    for target in ["short.example", "long.example"] {
        let answer = server.detect("IT", target, None);
        assert_eq!(answer["evidenceCount"], if target == "short.example" { 13 } else { 8 }, "{answer}");
    }
    let page = server.ok("/data/country/IT");
    assert_eq!(page["ooni"]["measurementCount"], 8, "{page}");
    assert_eq!(page["data"]["ooni"]["measurementCount"], 8, "{page}");
    assert_eq!(server.ok("/v1/censorship-index/IT")["ooni"]["measurementCount"], 8);
    assert_eq!(server.ok("/v1/accessibility/country/IT/summary")["measurements"], 13);
    let metadata = &server.ok("/data/censorship-index.json")["metadata"];
    let counts = ["liveMeasurements", "historicalMeasurements", "totalMeasurements"].map(|name| metadata[name].clone());
    assert_eq!(counts, [13, 3, 16], "{metadata}");
    let then = &server.ok("/data/censorship-index.json?as_of=2025-12-31")["metadata"];
    assert_eq!(then["totalMeasurements"], 16, "the same about the past: {then}");
    let isps = server.ok("/data/country/IT/isps");
    let count = |asn: &str| {
        let mut rows = isps["isps"].as_array().unwrap().iter();
        rows.find(|isp| isp["asn"] == asn).unwrap()["measurements"].clone()
    };
    assert_eq!((count("AS1"), count("AS2")), (8.into(), 5.into()), "{isps}");
    let sources = server.ok("/data/methodology")["methodology"]["dataSources"]["ooni"]["coverage"].clone();
    assert_eq!(sources, "1 countries, 16 measurements");
    let then = server.ok("/data/country/IT?as_of=2025-12-12");
    assert_eq!(then["ooni"]["measurementCount"], 5, "{then}");
}

/// Decision index-with-little-data: a session counts once, however many sites it is about.
#[test]
fn the_floor_counts_each_session_once() {
    let server = Server::start();
    let mut text = HEADER.to_owned();
    for site in 0..20 {
        let visits = rows("IT", 1, &format!("site{site}.example"), RECENT, 0..6, false);
        let cdn = visits.replace("192.0.2.7,443", "192.0.2.8,443");
        text += &visits;
        text += &cdn.replace(&format!(",IT,1,site{site}.example,"), ",IT,1,cdn.example,");
    }
    import(&server, text.as_bytes());
    let page = server.ok("/data/country/IT");
    assert_eq!(page["score"], Value::Null, "{page}");
    assert!(page["reason"].as_str().unwrap().starts_with("too little data: 120 measurements and 21 sites"), "{page}");
}

/// One test of a service measures several of its hosts.
#[test]
fn a_day_of_a_service_counts_each_measurement_once() {
    let Some(telegram) = real_data("ooni/observations_KE_2023_telegram.csv.gz") else { return };
    let server = Server::start();
    import(&server, &telegram);
    let metadata = &server.ok("/data/censorship-index.json")["metadata"];
    assert_eq!(metadata["totalMeasurements"], 2_344, "decision vote-per-hour: 2,344 measurements: {metadata}");
    let path = "/data/domain/telegram/history?country=KE&days=60&as_of=2023-12-10T00:00:00Z";
    let history = server.ok(path);
    assert!(history["summary"]["totalDataPoints"].as_u64().unwrap() <= 2_344, "{}", history["summary"]);
}

/// `total_blocking_isps` counts what its name says, also where a country as a whole is accessible.
#[test]
fn total_blocking_isps_counts_networks_of_every_country() {
    let server = Server::start();
    let mut text = HEADER.to_owned();
    text += &rows("IT", 1, "example.org", RECENT, 0..8, true);
    for (asn, blocked) in [(11, true), (12, false), (13, false), (14, false), (15, false)] {
        text += &rows("FR", asn, "example.org", RECENT, 0..8, blocked);
    }
    import(&server, text.as_bytes());
    for path in ["/data/domain/example.org", "/data/domain/example.org?as_of=2025-12-31T00:00:00Z"] {
        let page = server.ok(path);
        assert_eq!(page["summary"]["blocked_in_countries"], 1, "{page}");
        assert_eq!(page["summary"]["total_blocking_isps"], 2, "{page}");
        assert_eq!(page["blocked_in"][0]["isps"].as_array().unwrap().len(), 1, "{page}");
    }
}

/// Decision vote-per-hour: a vote is one per network, target and hour, so a probe that measures all the time does not
/// decide a rate. The rankings give the same numbers for a country as the country itself.
#[test]
fn a_probe_that_measures_all_the_time_has_no_greater_say() {
    let server = Server::start();
    let clear = ["one.example", "two.example"].map(|host| rows("IT", 1, host, RECENT, 0..5, false)).concat();
    // Fifty measurements in each of two hours.
    let chatty = rows("IT", 1, "three.example", RECENT, 0..2, true);
    let again = (0..50).map(|n| chatty.replace("IT1three", &format!("IT1x{n}three"))).collect::<String>();
    import(&server, format!("{HEADER}{clear}{again}").as_bytes());
    assert_eq!(server.detect("IT", "three.example", None)["evidenceCount"], 100);
    let isp = server.ok("/v1/isp/index?country=IT")["isps"][0].clone();
    assert_eq!((&isp["blockRate"], &isp["measurements"]), (&0.1667.into(), &110.into()), "2 of 12 votes: {isp}");
    let page = server.ok("/data/country/IT/isps")["isps"][0].clone();
    assert_eq!((&page["block_rate"], &page["threat_level"]), (&0.1667.into(), &"low".into()), "{page}");
    assert_eq!(page["blocked_count"], 100, "measurements behind blocked votes: {page}");
    assert_eq!(server.ok("/data/country/IT")["ooni"]["anomalyRate"], 0.1667);
    let quality = server.ok("/v1/measurement/quality");
    assert!(quality.to_string().contains("stability"), "{quality}");
}

/// The sites of a topic are all sites with a verdict, however rarely they were measured.
#[test]
fn a_site_that_is_blocked_at_its_second_measurement_counts_in_its_topic() {
    let server = Server::start();
    let clear = ["bbc.com", "dw.com", "rfa.org"].map(|host| rows("IT", 1, host, RECENT, 0..6, false)).concat();
    let blocked = rows("IT", 1, "nytimes.com", RECENT, 0..2, true);
    import(&server, format!("{HEADER}{clear}{blocked}").as_bytes());
    let topics = server.ok("/v1/topic-censorship-index?topic=news");
    let row = &topics["countries"][0];
    assert_eq!((&row["samples"], &row["blockRate"]), (&4.into(), &0.25.into()), "{topics}");
    assert_eq!(topics["metadata"]["untaggedSites"], 0, "{topics}");
}

/// A site that only one network blocks is shared with no other network.
#[test]
fn networks_side_by_side_share_nothing_with_one_that_was_never_measured() {
    let server = Server::start();
    import(&server, format!("{HEADER}{}", rows("IT", 1, "one.example", RECENT, 0..8, true)).as_bytes());
    let compared = server.ok("/v1/isp/compare?asns=AS1,AS2");
    assert_eq!((&compared["count"], &compared["missing"]), (&1.into(), &serde_json::json!(["AS2"])), "{compared}");
    assert_eq!(compared["sharedBlockedDomains"], serde_json::json!([]), "{compared}");
}

/// An answer about one country says how much was measured in that country. An import about another country does not
/// change it.
#[test]
fn answers_about_one_country_count_that_country_alone_and_keep_their_tag() {
    let server = Server::start();
    import(&server, format!("{HEADER}{}", rows("IT", 1, "one.example", RECENT, 0..8, true)).as_bytes());
    let paths =
        ["intent-profile", "network-depth", "techniques"].map(|name| format!("/v1/measurement/{name}?country=IT"));
    let tags = || {
        let tag = |path: &String| {
            let response = server.request(http::Method::GET, path, &[], b"");
            response.headers.get(http::header::ETAG).unwrap().to_str().unwrap().to_owned()
        };
        paths.iter().map(tag).collect::<Vec<_>>()
    };
    let before = tags();
    assert!(before.iter().all(|tag| tag.starts_with("W/")), "{before:?}");
    server.0.advance(std::time::Duration::from_secs(120));
    assert_eq!(tags(), before, "time alone changes no tag");
    import(&server, format!("{HEADER}{}", rows("FR", 1, "one.example", RECENT, 0..8, false)).as_bytes());
    assert_eq!(tags(), before);
    for path in &paths {
        let body = server.ok(path);
        assert_eq!((&body["countries_measured"], &body["measurements"]), (&1.into(), &8.into()), "{path}: {body}");
    }
}

/// Decision answers-about-a-time: measurements that have just come in are not too old.
#[test]
fn what_has_just_come_in_is_not_stale() {
    let server = Server::start();
    let text = format!("{HEADER}{}", rows("IT", 1, "one.example", RECENT, 0..8, true));
    server.import(ImportKind::OoniObservations, Options::default(), text.as_bytes());
    for path in ["/data/country/IT", "/v1/censorship-index/IT", "/data/country/IT/isps", "/v1/isp/index?country=IT"] {
        assert!(server.ok(path).get("staleSince").is_none(), "{path}: {}", server.ok(path));
    }
}

/// Decision order-of-data: an incident that is over has the same numbers however an import was split.
#[test]
fn an_incident_that_is_over_counts_late_measurements_at_once() {
    let part = |second: u32| -> String {
        let start = format!("2025-11-10T00:00:0{second}Z");
        let on = |asn: u32| {
            [
                rows("IT", asn, "gazette.example", &start, 0..24, true),
                rows("IT", asn, "gazette.example", &start, 24..240, false),
            ]
        };
        (1..=3).flat_map(on).collect()
    };
    let (split, whole) = (Server::start(), Server::start());
    for second in 1..=3 {
        incidents::add(&split, &[part(second)]);
        split.settle();
    }
    incidents::add(&whole, &[part(1), part(2), part(3)]);
    let (split, whole) = (incidents::one(&split, "IT").draft, incidents::one(&whole, "IT").draft);
    assert_eq!((split.measurements, split.evidence_total), (whole.measurements, whole.evidence_total));
    assert_eq!((split.networks, split.end), (whole.networks, whole.end));
    assert!(split.measurements > 3 * 24, "{}", split.measurements);
}
