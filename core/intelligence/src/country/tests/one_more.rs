//! One more measurement costs as much in a world of many countries as in a small one.

use std::collections::BTreeMap;

use http::{Method, StatusCode};

use super::{HEADER, Server, rows};
use engine::actor::{ActorId, Kind};
use engine::http::Body;
use facts::starter::Country;

/// Sites that are measured in every country, and one site that only one country measures.
const SITES: [&str; 3] = ["news.example", "chat.example", "video.example"];

/// A world in which `countries` were measured and everything that follows was computed.
fn world(countries: usize) -> (Server, Vec<&'static str>) {
    let server = Server::start();
    let mut codes: Vec<&str> = Country::all().iter().map(|country| country.code).filter(|code| *code != "IT").collect();
    codes.truncate(countries - 1);
    codes.push("IT");
    let mut data = HEADER.to_owned();
    for (at, code) in codes.iter().enumerate() {
        let own = format!("{}.example", code.to_lowercase());
        for (number, site) in SITES.iter().copied().chain([own.as_str()]).enumerate() {
            for asn in 1..=2 {
                let blocked = (at + number).is_multiple_of(3);
                data.push_str(&rows(code, asn, site, "2025-12-29", 0..12, blocked));
            }
        }
    }
    let (status, summary) = server.upload("ooni-observations", data.as_bytes());
    assert_eq!(status, StatusCode::OK, "{summary}");
    server.0.advance(std::time::Duration::from_secs(3_600));
    server.0.deeds();
    (server, codes)
}

/// The work of each actor after one more measurement of the site that only Italy measures.
fn deeds(server: &Server) -> BTreeMap<ActorId, Vec<String>> {
    let data = format!("{HEADER}{}", rows("IT", 1, "it.example", "2025-12-29", 20..21, true));
    let (_, summary) = server.upload("ooni-observations", data.as_bytes());
    assert_eq!(summary["accepted"], 1, "{summary}");
    server.0.advance(std::time::Duration::from_secs(600));
    let mut by_actor: BTreeMap<ActorId, Vec<String>> = BTreeMap::new();
    for (actor, deed) in server.0.deeds() {
        by_actor.entry(actor).or_default().push(deed);
    }
    by_actor
}

/// Tag and body of a published document.
fn document(server: &Server, path: &str) -> (String, Vec<u8>) {
    let response = server.request(Method::GET, path, &[], b"");
    assert_eq!(response.status, StatusCode::OK, "{path}");
    let tag = response.headers.get("etag").unwrap().to_str().unwrap().to_owned();
    let Body::Bytes(body) = response.body else { panic!("a stream") };
    (tag, body.to_vec())
}

/// All published documents are refreshed incrementally: the country and the rankings that it is in, not the world.
#[test]
fn one_more_measurement_touches_its_country_and_the_rankings_and_no_other_country() {
    let (server, codes) = world(24);
    let pages = |code: &str| [format!("/data/country/{code}"), format!("/v1/censorship-index/{code}")];
    let others: Vec<String> = codes.iter().filter(|code| **code != "IT").flat_map(|code| pages(code)).collect();
    let before: Vec<_> = others.iter().map(|path| document(&server, path)).collect();
    let italy: Vec<_> = pages("IT").iter().map(|path| document(&server, path)).collect();
    let index = document(&server, "/data/censorship-index.json");
    let deeds = deeds(&server);
    for actor in deeds.keys() {
        let other = actor.kind == Kind::Country && actor.name != "IT";
        assert!(!other, "{actor} was touched: {:?}", deeds[actor]);
    }
    assert!(deeds.contains_key(&ActorId::new(Kind::Country, "IT")));
    for (path, (tag, body)) in others.iter().zip(before) {
        let after = document(&server, path);
        assert_eq!((&after.0, after.1 == body), (&tag, true), "{path}");
    }
    assert_ne!(document(&server, "/data/country/IT").0, italy[0].0);
    assert_ne!(document(&server, "/data/censorship-index.json").0, index.0);
}

/// The same in numbers: the work does not grow with the world.
#[test]
fn one_more_measurement_is_as_much_work_in_a_large_world_as_in_a_small_one() {
    let work = |countries| {
        let (server, _) = world(countries);
        let mut counts: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
        for (actor, deeds) in deeds(&server) {
            for deed in deeds {
                *counts.entry(actor.to_string()).or_default().entry(deed).or_default() += 1;
            }
        }
        counts
    };
    // The site is blocked in both worlds.
    let (small, large) = (work(7), work(40));
    assert_eq!(small, large);
    let total: usize = large.values().flat_map(BTreeMap::values).sum();
    assert!(total < 80, "{total} steps after one measurement: {large:#?}");
    // Nothing is published twice.
    for (deed, times) in large.values().flatten().filter(|(deed, _)| deed.starts_with("publish ")) {
        assert_eq!(*times, 1, "{deed}");
    }
}
