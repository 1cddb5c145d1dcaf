//! What numbers of measurements count.

use serde_json::Value;

use super::{HEADER, Server, rows, shared};
use crate::import::{ImportKind, Options};

const RECENT: &str = "2025-12-30";

fn import(server: &Server, data: &[u8]) {
    server.import(ImportKind::OoniObservations, Options::default(), data);
    server.settle();
}

/// Spec intelligence 0.4 and 3.3-3.7: measurements are measurements, whatever they say of how many targets, and
/// `measurementCount` is of the last seven days.
#[test]
fn spec_intelligence_3_a_measurement_counts_once_and_measurement_count_is_of_a_week() {
    let server = Server::start();
    // Eight visits to a page that redirects: each measures two hosts.
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

/// Ruling intelligence 33: sessions are sessions, not what they say of how many sites.
#[test]
fn ruling_intelligence_33_the_floor_counts_each_session_once() {
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
fn spec_intelligence_3_9_a_day_of_a_service_counts_each_measurement_once() {
    let Some(telegram) = shared("ooni/observations_KE_2023_telegram.csv.gz") else { return };
    let server = Server::start();
    import(&server, &telegram);
    let metadata = &server.ok("/data/censorship-index.json")["metadata"];
    assert_eq!(metadata["totalMeasurements"], 2_344, "ruling intelligence 13: 2,344 measurements: {metadata}");
    let path = "/data/domain/telegram/history?country=KE&days=60&as_of=2023-12-10T00:00:00Z";
    let history = server.ok(path);
    assert!(history["summary"]["totalDataPoints"].as_u64().unwrap() <= 2_344, "{}", history["summary"]);
}

/// Spec intelligence 3.8: `total_blocking_isps` is what it is called, also where a country is accessible as a whole.
#[test]
fn spec_intelligence_3_8_total_blocking_isps_counts_networks_of_every_country() {
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
