//! Kenya 2023, end to end (data/README.md of the shared data).

use serde_json::Value;

use super::{Server, shared};
use crate::actor::{ActorId, Kind};
use crate::import::{ImportKind, Options, Summary};

const INSIDE: [&str; 5] = ["2023-11-15", "2023-11-17", "2023-11-21", "2023-11-23", "2023-11-24"];
const OUTSIDE: [&str; 2] = ["2023-11-06", "2023-11-28"];
const BLOCKING: [u64; 3] = [33771, 12455, 37061];
const CLEAN: [u64; 2] = [30844, 15399];
/// Named at will, never graded.
const UNGRADED: u64 = 36926;

fn counts(summary: &Summary) -> (u64, u64, u64) {
    (
        summary.counts.accepted,
        summary.counts.duplicate,
        summary.counts.unsupported + summary.counts.unusable + summary.counts.refused,
    )
}

fn status_of(answer: &Value, asn: u64) -> Option<&str> {
    answer["isps"].as_array().unwrap().iter().find(|isp| isp["asn"] == asn).map(|isp| isp["status"].as_str().unwrap())
}

#[test]
fn rulings_intelligence_1_2_4_5_6_11_kenya_2023_is_found_where_and_when_it_was() {
    let Some(telegram) = shared("ooni/observations_KE_2023_telegram.csv.gz") else { return };
    let Some(web) = shared("ooni/observations_KE_2023_web_connectivity.csv.gz") else { return };
    let Some(asn) = shared("asn/asn_name_country.csv.gz") else { return };
    let server = Server::start();
    let summary = server.import(ImportKind::OoniObservations, Options::default(), &telegram);
    assert_eq!(counts(&summary), (62_056, 63_385, 0), "{summary:?}");
    let summary = server.import(ImportKind::OoniObservations, Options::default(), &web);
    assert_eq!(counts(&summary), (3_032, 3_023, 0), "{summary:?}");

    // Without as_of the data is old: unknown, and it says since when.
    let now = server.detect("KE", "telegram/pool", None);
    assert_eq!((&now["status"], &now["basis"]), (&"unknown".into(), &"unmeasured".into()), "{now}");
    assert!(now["lastChecked"].as_str().unwrap().starts_with("2023-11-2"), "{now}");
    assert!(now["staleSince"].is_string());

    grade(&server);
    for target in ["telegram/pool", "telegram"] {
        for day in INSIDE {
            let answer = server.detect("ke", target, Some(&format!("{day}T12:00:00Z")));
            let named = answer["summary"].as_str().unwrap();
            assert!(named.contains("Kenya"), "{named}");
            assert_eq!(answer["as_of"], format!("{day}T12:00:00.000Z"));
        }
    }

    // With the network table, the answer is weighted; the networks stay what they are.
    server.import(ImportKind::Asn, Options::default(), &asn);
    grade(&server);
    let answer = server.detect("KE", "telegram/pool", Some("2023-11-23T12:00:00Z"));
    let safaricom = answer["isps"].as_array().unwrap().iter().find(|isp| isp["asn"] == 33771).unwrap();
    assert!(safaricom["name"].as_str().unwrap().to_lowercase().contains("safaricom"), "{safaricom}");

    for day in INSIDE {
        let answer = server.detect("KE", "telegram", Some(&format!("{day}T12:00:00Z")));
        assert_eq!((&answer["status"], &answer["scope"]), (&"blocked".into(), &"several".into()), "{day}: {answer}");
        assert!(answer["confidence"].as_f64().unwrap() > 0.7, "{answer}");
    }

    let before = server.0.rows(&ActorId::new(Kind::Country, "KE"));
    let again = server.import(ImportKind::OoniObservations, Options::default(), &telegram);
    assert_eq!(counts(&again), (0, 125_441, 0), "{again:?}");
    assert_eq!(before, server.0.rows(&ActorId::new(Kind::Country, "KE")), "a second import changed rows");

    pages(&server);
}

fn grade(server: &Server) {
    for day in INSIDE {
        let answer = server.detect("KE", "telegram/pool", Some(&format!("{day}T12:00:00Z")));
        for asn in BLOCKING {
            assert_eq!(status_of(&answer, asn), Some("blocked"), "AS{asn} on {day}");
        }
        for isp in answer["isps"].as_array().unwrap() {
            let asn = isp["asn"].as_u64().unwrap();
            if isp["status"] == "blocked" {
                assert!(BLOCKING.contains(&asn) || asn == UNGRADED, "AS{asn} on {day}: {isp}");
                assert_eq!(isp["technique"].as_str().unwrap().split('.').next_back(), Some("timeout"), "{isp}");
            }
        }
    }
    for day in OUTSIDE {
        let answer = server.detect("KE", "telegram/pool", Some(&format!("{day}T12:00:00Z")));
        for asn in BLOCKING {
            assert_ne!(status_of(&answer, asn), Some("blocked"), "AS{asn} on {day}");
        }
        assert_ne!(answer["status"], "blocked", "{day}");
    }
    for day in INSIDE.iter().chain(&OUTSIDE) {
        for target in ["telegram/pool", "telegram.org", "web.telegram.org", "telegram"] {
            let answer = server.detect("KE", target, Some(&format!("{day}T12:00:00Z")));
            for asn in CLEAN {
                assert_ne!(status_of(&answer, asn), Some("blocked"), "{target}: AS{asn} on {day}");
            }
        }
    }
}

/// The other pages over the same data.
fn pages(server: &Server) {
    let history = server.ok("/data/domain/telegram/history?country=KE&days=20&as_of=2023-11-24T12:00:00Z");
    assert!(history["timeline"].as_array().unwrap().len() > 10, "{history}");
    assert!(history["timeline"][0]["date"].as_str() > history["timeline"][1]["date"].as_str());
    let isps = server.ok("/data/country/KE/isps?as_of=2023-11-23T12:00:00Z");
    assert!(isps["isps"].as_array().unwrap().iter().any(|isp| isp["asn"] == "AS12455"), "{isps}");
    let domain = server.ok("/data/domain/telegram?as_of=2023-11-23T12:00:00Z&explain=1");
    assert_eq!(domain["license"], "CC-BY-NC-SA-4.0");
    let check = server.ok("/v1/accessibility/check?domain=telegram&country=KE&as_of=2023-11-23T12:00:00Z&explain=1");
    let text = check["explanation"].to_string();
    assert!(text.contains("http.timeout.pool") && text.contains("explorer.ooni.org"), "{text}");
}
