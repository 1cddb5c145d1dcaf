//! Histories of sites are made of the days that countries tell the world, and say what each country would say itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::FutureExt;
use http::Method;
use serde_json::{Value, json};

use super::{ADMIN, HEADER, Server, rows};
use crate::world::{self, Chronicle, ForgetTargets};
use engine::actor::Operation;
use engine::runtime;

const SITE: &str = "a.example";
const COUNTRIES: [&str; 3] = ["DE", "FR", "IT"];

fn add(server: &Server, parts: &[String]) {
    let (status, summary) = server.upload("ooni-observations", [HEADER, &parts.concat()].concat().as_bytes());
    assert_eq!(status, 200, "{summary}");
    settle(server);
}

fn settle(server: &Server) {
    for _ in 0..20 {
        server.settle();
    }
}

fn call<O: Operation>(server: &Server, operation: &O) -> O::Reply {
    runtime::call(&*server.0, world::actor().name, operation).now_or_never().unwrap().unwrap()
}

/// Countries that have told their days.
fn told(server: &Server) -> Vec<String> {
    let chronicle = Chronicle { target: SITE.to_owned() };
    let known = runtime::query(&*server.0, world::actor().name, &chronicle).now_or_never().unwrap().unwrap();
    known.into_iter().map(|(country, _)| country).collect()
}

/// The history of all countries, made of what each country says about itself.
fn asked(server: &Server, days: u32) -> (Vec<Value>, usize) {
    let mut timeline: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
    let mut ever = 0;
    for country in COUNTRIES {
        let own = server.ok(&format!("/data/domain/{SITE}/history?days={days}&country={country}"));
        ever += own["summary"]["countriesEverBlocked"].as_u64().unwrap() as usize;
        for day in own["timeline"].as_array().unwrap() {
            let entry = day["countries"][country].clone();
            timeline.entry(day["date"].as_str().unwrap().to_owned()).or_default().insert(country.to_owned(), entry);
        }
    }
    let day = |(date, countries): (String, BTreeMap<String, Value>)| json!({ "date": date, "countries": countries });
    (timeline.into_iter().rev().map(day).collect(), ever)
}

/// Compares both, and returns the number of days.
fn same(server: &Server, days: u32) -> usize {
    let whole = server.ok(&format!("/data/domain/{SITE}/history?days={days}"));
    let (expected, ever) = asked(server, days);
    let timeline = whole["timeline"].as_array().unwrap();
    assert_eq!(timeline.len(), expected.len(), "{whole}");
    for (day, expected) in timeline.iter().zip(&expected) {
        assert_eq!((&day["date"], &day["countries"]), (&expected["date"], &expected["countries"]));
        let sum: u64 =
            day["countries"].as_object().unwrap().values().map(|c| c["measurements"].as_u64().unwrap()).sum();
        assert_eq!(day["total_measurements"], sum, "{day}");
    }
    assert_eq!(whole["summary"]["countriesEverBlocked"], ever, "{whole}");
    timeline.len()
}

/// Measurements of 12 hours of some days on two networks.
fn measured(country: &str, days: &[&str], blocked: bool) -> String {
    let of = |day: &&str| [1, 2].map(|asn| rows(country, asn, SITE, day, 0..12, blocked)).concat();
    days.iter().map(of).collect()
}

/// Measurements may come in any order, on the same day or weeks later.
#[test]
fn a_history_is_what_each_country_says_however_its_measurements_came() {
    let server = Server::start();
    let days = ["2025-12-01", "2025-12-10", "2025-12-11", "2025-12-30"];
    add(&server, &[measured("IT", &days, true), measured("FR", &days[1..], false), measured("DE", &days[2..3], true)]);
    assert_eq!(told(&server), COUNTRIES);
    assert_eq!((same(&server, 30), same(&server, 365), same(&server, 3), same(&server, 2)), (3, 4, 1, 0));
    // Later days, an earlier one, more of a day that was told already, and another result on that day.
    add(&server, &[measured("IT", &["2025-12-31"], false), measured("DE", &["2025-11-20"], false)]);
    assert_eq!(same(&server, 365), 6);
    add(&server, &[rows("IT", 3, SITE, "2025-12-10", 0..20, false), rows("IT", 1, SITE, "2025-12-30", 12..20, false)]);
    assert_eq!(same(&server, 365), 6);
    for _ in 0..4 {
        server.0.advance(Duration::from_secs(13 * 3_600));
        assert_eq!(same(&server, 365), 6);
    }
    assert_eq!(same(&server, 30), 4, "the window moves");
    let lines = server.request(Method::GET, &format!("/data/domain/{SITE}/history?days=365&format=csv"), &[], b"");
    let disposition = lines.headers["content-disposition"].to_str().unwrap().to_owned();
    assert_eq!(disposition, format!("attachment; filename=\"history-{SITE}.csv\""));
    let engine::http::Body::Bytes(text) = lines.body else { panic!("a stream") };
    let text = String::from_utf8(text.to_vec()).unwrap();
    let entries: usize = asked(&server, 365).0.iter().map(|day| day["countries"].as_object().unwrap().len()).sum();
    assert_eq!(text.lines().count(), 1 + entries, "{text}");
    assert!(text.starts_with("date,country,status,blockRate,measurements,license\r\n2025-12-31,IT,"), "{text}");
}

/// Decision licence-and-removal: measurements of a removed source are in no history either.
#[test]
fn a_removed_source_leaves_no_day() {
    let server = Server::start();
    add(&server, &[measured("IT", &["2025-12-30"], true)]);
    assert_eq!(same(&server, 30), 1);
    let path = "/v1/admin/sources/ooni";
    assert_eq!(server.request(Method::DELETE, path, &[("x-admin-key", ADMIN)], b"").status, 200);
    settle(&server);
    assert_eq!(told(&server), Vec::<String>::new());
    assert_eq!(same(&server, 365), 0);
}

/// A store from before the world had days: the days are told in full with the next change.
#[test]
fn a_world_that_knows_no_earlier_days_is_told_all() {
    let server = Server::start();
    add(&server, &[measured("IT", &["2025-12-01", "2025-12-29"], true), measured("FR", &["2025-12-29"], true)]);
    let targets = BTreeSet::from([SITE.to_owned()]);
    call(&server, &ForgetTargets { country: "IT".to_owned(), targets, country_too: false });
    assert_eq!(told(&server), ["FR"]);
    add(&server, &[measured("IT", &["2025-12-31"], true)]);
    assert_eq!(told(&server), ["FR", "IT"]);
    assert_eq!(same(&server, 365), 3);
}

/// RFC 9110 section 13.1.2: the tag stands for the written text, and changes with it.
#[test]
fn a_history_that_did_not_change_is_not_sent_again() {
    let server = Server::start();
    add(&server, &[measured("IT", &["2025-12-30"], true)]);
    let ask = |query: &str, tag: &str| {
        let path = format!("/data/domain/{SITE}/history{query}");
        let response = server.request(Method::GET, &path, &[("if-none-match", tag)], b"");
        (response.status.as_u16(), response.headers["etag"].to_str().unwrap().to_owned())
    };
    let (status, tag) = ask("", "\"x\"");
    assert_eq!(status, 200);
    assert_eq!(ask("", &tag), (304, tag.clone()));
    for query in ["?days=29", "?format=csv", "?country=FR"] {
        let (status, other) = ask(query, &tag);
        assert!(status == 200 && other != tag, "{query}");
    }
    add(&server, &[measured("IT", &["2025-12-31"], true)]);
    let (status, other) = ask("", &tag);
    assert!(status == 200 && other != tag);
    let past = server.request(Method::GET, &format!("/data/domain/{SITE}/history?as_of=2025-12-31"), &[], b"");
    assert_eq!((past.headers.get("etag"), past.headers["cache-control"].to_str().unwrap()), (None, "no-store"));
}
