//! Removing a source, computing verdicts again, and failures that are faults of the software.

use futures_util::FutureExt;
use http::Method;
use serde_json::Value;

use super::{ADMIN, HEADER, Server, json, rows};
use crate::country::Fold;
use crate::import::group::Groups;
use crate::import::{ImportKind, ListKind, Options};
use crate::{Timestamp, world};
use engine::actor::{ActorId, Kind};
use engine::runtime;
use engine::time::HOUR;
use facts::measurement::{Fingerprints, ooni_observations};
use facts::source::Source;

const RECENT: &str = "2025-12-30";

fn admin(server: &Server, method: Method, path: &str) -> Value {
    let (status, body) = json(server.request(method, path, &[("x-admin-key", ADMIN)], b""));
    assert_eq!(status, 200, "{path}: {body}");
    body
}

fn settle(server: &Server) {
    for _ in 0..60 {
        server.settle();
    }
}

/// Imports lists and networks, but no measurement.
fn reference(server: &Server) {
    let table = "asn,org,cc,ipv4_addresses\n1,Large,IT,16777216\n2,Small,IT,256\n";
    server.import(ImportKind::Asn, Options::default(), table.as_bytes());
    let options = Options { country: Some("IT".to_owned()), list_kind: Some(ListKind::Official), ..Options::default() };
    server.import(ImportKind::Blocklist, options, b"domain\nexample.org\nlisted.example\n");
}

/// Measurements of several countries that serve each other as controls.
fn measurements() -> String {
    let mut parts = vec![HEADER.to_owned()];
    for (at, country) in ["IT", "FR", "DE", "ES", "SE", "NO", "FI"].into_iter().enumerate() {
        let asn = 10 * at as u32;
        parts.push(rows(country, asn + 1, "example.org", RECENT, 0..9, at == 0));
        parts.push(rows(country, asn + 2, "telegram.org", RECENT, 0..9, at == 1));
        parts.push(rows(country, asn + 3, "other.example", "2025-11-20", 0..60, at % 2 == 0));
    }
    parts.concat()
}

/// The table with the numbers of removals. It stays, so that an import that began before is refused.
const EPOCHS: u8 = 36;

/// The rows of an actor, without those of the machinery and of the given tables.
fn stored(server: &Server, actor: &ActorId, without: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let rows = server.0.rows(actor).into_iter();
    rows.filter(|(key, _)| key[0] >= 16 && !without.contains(&key[0]) && key[0] != EPOCHS).collect()
}

#[test]
fn a_removed_source_leaves_what_stood_without_it() {
    let (without, with) = (Server::start(), Server::start());
    reference(&without);
    reference(&with);
    with.import(ImportKind::OoniObservations, Options::default(), measurements().as_bytes());
    settle(&with);
    assert_eq!(with.detect("FR", "example.org", None)["basis"], "measured");
    assert_eq!(with.ok("/data/country/IT")["ooni"]["measurementCount"].as_u64().map(|n| n > 0), Some(true));
    let started = admin(&with, Method::DELETE, "/v1/admin/sources/ooni");
    assert_eq!(started["complete"], false, "{started}");
    for server in [&with, &without] {
        settle(server);
        // Priors are sent at most hourly.
        server.0.advance(std::time::Duration::from_secs(7_200));
        settle(server);
    }
    let done = admin(&with, Method::GET, "/v1/admin/sources/ooni");
    assert_eq!((&done["complete"], done["handled"].as_u64()), (&true.into(), Some(7 * 78)), "{done}");
    for code in ["IT", "FR", "DE", "ES", "SE", "NO", "FI"] {
        let actor = ActorId::new(Kind::Country, code);
        // Numbers of events are never given twice (decision incident-ids), so the given ones stay known.
        assert_eq!(stored(&with, &actor, &[45, 46]), stored(&without, &actor, &[45, 46]), "{code}");
        for target in ["example.org", "telegram", "other.example", "listed.example"] {
            let mut answers = [with.detect(code, target, None), without.detect(code, target, None)];
            answers.iter_mut().for_each(|answer| answer["lastChecked"] = Value::Null);
            assert_eq!(answers[0], answers[1], "{code} {target}");
        }
    }
    // Except for the record of the removal itself, and the times at which priors were last sent and learning was last
    // tried.
    let apart = [20, 22, 24, 43, 58];
    assert_eq!(stored(&with, &world::actor(), &apart), stored(&without, &world::actor(), &apart));
    let index = with.ok("/data/censorship-index.json");
    assert!(index["countries"].as_array().is_some_and(Vec::is_empty), "{index}");

    admin(&with, Method::DELETE, "/v1/admin/sources/blocklist");
    settle(&with);
    assert_eq!(with.detect("IT", "listed.example", None)["basis"], "unmeasured");
    assert_eq!(stored(&with, &ActorId::new(Kind::Country, "IT"), &[45, 46]), []);
    let path = "/v1/admin/sources/fingerprints";
    let refused = with.request(Method::DELETE, path, &[("x-admin-key", ADMIN)], b"");
    assert_eq!(refused.status, 400, "their effect cannot be taken back");
    assert_eq!(with.request(Method::DELETE, "/v1/admin/sources/ooni", &[], b"").status, 401);
}

fn folds(text: &str, source: Option<u8>) -> Vec<(String, Fold)> {
    let mut groups = Groups::default();
    let mut sink = |parsed| groups.add(parsed);
    ooni_observations::import(&mut text.as_bytes(), u64::MAX, &Fingerprints::default(), &mut sink).unwrap();
    let folds = groups.folds(Source::Ooni, 0).into_iter();
    folds
        .flat_map(|(country, folds)| folds.into_iter().map(move |fold| (country.clone(), fold)))
        .map(|(country, mut fold)| {
            fold.cells.iter_mut().for_each(|cell| cell.source = source.unwrap_or(cell.source));
            (country, fold)
        })
        .collect()
}

#[test]
fn other_sources_of_the_same_cells_stay() {
    let others = format!("{HEADER}{}", rows("IT", 11, "example.org", RECENT, 3..9, true));
    let ours = format!(
        "{HEADER}{}{}{}",
        rows("IT", 11, "example.org", "2025-12-28", 0..90, true),
        rows("IT", 12, "example.org", RECENT, 0..5, false),
        rows("IT", 11, "gone.example", RECENT, 0..5, false)
    );
    let (without, with) = (Server::start(), Server::start());
    // A number that no source of today has: what such a source stored must stay.
    let more = folds(&others, Some(9)).into_iter();
    let ours = folds(&ours, None).into_iter();
    for (server, folds) in [(&without, more.clone().collect::<Vec<_>>()), (&with, more.chain(ours).collect())] {
        for (country, fold) in folds {
            runtime::call(&*server.0, country, &fold).now_or_never().unwrap().unwrap();
        }
        settle(server);
    }
    assert_eq!(with.detect("IT", "gone.example", None)["status"], "accessible");
    admin(&with, Method::DELETE, "/v1/admin/sources/ooni");
    settle(&with);
    let italy = ActorId::new(Kind::Country, "IT");
    // Verdicts and their next look (23, 24), and reports and the next one (45, 46), differ by the time at which they
    // were made.
    let skipped = [23, 24, 31, 45, 46];
    assert_eq!(stored(&with, &italy, &skipped), stored(&without, &italy, &skipped));
    assert_eq!(with.detect("IT", "example.org", None), without.detect("IT", "example.org", None));
    assert_eq!(with.detect("IT", "gone.example", None)["basis"], "unmeasured");
}

#[test]
fn recomputing_judges_everything_and_lists_what_changed() {
    let server = Server::start();
    server.import(ImportKind::OoniObservations, Options::default(), measurements().as_bytes());
    settle(&server);
    let run = || {
        admin(&server, Method::POST, "/v1/admin/verdicts/recompute");
        settle(&server);
        admin(&server, Method::GET, "/v1/admin/verdicts/recompute")
    };
    let same = run();
    assert_eq!((&same["complete"], &same["countries"], &same["changed"]), (&true.into(), &7.into(), &0.into()));
    assert_eq!(same["handled"], 21, "every target of every country: {same}");
    let again = run();
    assert_eq!((&again["complete"], &again["handled"]), (&true.into(), &21.into()), "{again}");
}

/// Rows of a Signal test by one version of its software.
fn signal(asn: u32, version: &str, hours: std::ops::Range<i64>, failure: &str) -> String {
    let start = Timestamp::parse(RECENT).unwrap();
    let ok = if failure.is_empty() { "1" } else { "0" };
    let row = |hour: i64| {
        let time = start.plus(hour * HOUR);
        format!(
            "signal,{asn}-{version}-{hour},,u{asn}-{version}-{hour},{time},IT,{asn},android,{version},chat.signal.org,\
             192.0.2.9,443,1,,{ok},{failure}\n"
        )
    };
    hours.map(row).collect()
}

const SIGNAL_HEADER: &str = "test_name,report_id,input,measurement_uid,measurement_start_time,probe_cc,probe_asn,\
    platform,software_version,hostname,ip,port,tcp_success,tcp_failure,tls_success,tls_failure\n";

#[test]
fn failures_of_one_software_version_over_networks_block_nothing() {
    let answer = |parts: &[String]| {
        let server = Server::start();
        let text = format!("{SIGNAL_HEADER}{}", parts.concat());
        server.import(ImportKind::OoniObservations, Options::default(), text.as_bytes());
        let body = serde_json::json!({ "country": "IT", "target": "signal/backend", "explain": true });
        server.post("/hydra/v1/detect", &body).1
    };
    let new: Vec<String> = (1..=4).map(|asn| signal(asn, "3.20", 0..8, "")).collect();
    let old = |networks: std::ops::RangeInclusive<u32>| -> Vec<String> {
        networks.map(|asn| signal(asn, "2.1", 0..8, "connection_reset")).collect()
    };
    // On only two networks: these networks may interfere with the traffic of that version.
    let two = answer(&[new.clone(), old(1..=2)].concat());
    assert_eq!(two["networksBlocked"], 2, "{two}");
    let four = answer(&[new.clone(), old(1..=4)].concat());
    assert_eq!((&four["status"], &four["networksBlocked"]), (&"accessible".into(), &0.into()), "{four}");
    let role = &four["explanation"]["roles"][0];
    assert_eq!(role["instrument_fault"]["measurements"], 32, "{role}");
    assert!(four["explanation"]["not_known"].to_string().contains("a fault of the software"), "{four}");
    // The pinned authority of old Signal probes is known and needs no comparison.
    let pinned: Vec<String> = (1..=4).map(|asn| signal(asn, "2.1", 0..8, "ssl_unknown_authority")).collect();
    let known = answer(&[new, pinned].concat());
    assert_eq!((&known["status"], &known["networksBlocked"]), (&"accessible".into(), &0.into()), "{known}");
    assert_eq!(known["explanation"]["roles"][0]["instrument_fault"], Value::Null);
    // A block that begins when a version is rolled out is no fault of that version.
    let later: Vec<String> = (1..=4).map(|asn| signal(asn, "4.0", 12..24, "connection_reset")).collect();
    let before: Vec<String> = (1..=6).map(|asn| signal(asn, "3.20", 0..8, "")).collect();
    let block = answer(&[before, later].concat());
    assert_eq!(block["networksBlocked"], 4, "{block}");
}
