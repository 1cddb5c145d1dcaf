//! Kenya 2023, end to end (data/README.md of the shared data).

use serde_json::{Value, json};

use super::Server;
use crate::import::{ImportKind, Options, Summary};
use engine::actor::{ActorId, Kind};
use engine::testing::real_data;

const INSIDE: [&str; 5] = ["2023-11-15", "2023-11-17", "2023-11-21", "2023-11-23", "2023-11-24"];
const OUTSIDE: [&str; 2] = ["2023-11-06", "2023-11-28"];
const BLOCKING: [u64; 3] = [33771, 12455, 37061];
const CLEAN: [u64; 2] = [30844, 15399];
/// A network that may be named or not; the test does not grade it.
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
fn kenya_2023_is_found_where_and_when_it_was() {
    let Some(telegram) = real_data("ooni/observations_KE_2023_telegram.csv.gz") else { return };
    let Some(web) = real_data("ooni/observations_KE_2023_web_connectivity.csv.gz") else { return };
    let Some(asn) = real_data("asn/asn_name_country.csv.gz") else { return };
    let server = Server::start();
    let summary = server.import(ImportKind::OoniObservations, Options::default(), &telegram);
    assert_eq!(counts(&summary), (62_056, 63_385, 0), "{summary:?}");
    let summary = server.import(ImportKind::OoniObservations, Options::default(), &web);
    assert_eq!(counts(&summary), (3_032, 3_023, 0), "{summary:?}");

    // Without `as_of` the data are too old: the status is unknown, and the answer says since when.
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

    // With the network table the answer is weighted. The networks stay the same.
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
    leads(&server);
    evidence(&server);
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

/// Decision answers-lead-on: the answer about today names where to read on.
fn leads(server: &Server) {
    let check = server.ok("/v1/accessibility/check?domain=telegram.org&country=KE");
    assert_eq!((&check["status"], &check["platform"]["slug"]), (&"unknown".into(), &"telegram".into()), "{check}");
    assert_eq!(check["platform"]["status"], "unknown", "{check}");
    assert!(check["staleSince"].is_string() || check["platform"]["staleSince"].is_string(), "{check}");
    let incident = &check["latestIncident"];
    assert!(incident["startTime"].as_str().unwrap().starts_with("2023-11-"), "{check}");
    assert!(incident["endTime"].as_str().unwrap().starts_with("2023-11-"), "{check}");
    let (said, id) = (check["summary"].as_str().unwrap(), incident["id"].as_str().unwrap());
    for part in ["part of Telegram", "last measured on", "Nov 2023", id] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(server.ok(&format!("/data/incidents/{id}"))["readableId"], id);
    assert_eq!(server.detect("KE", "telegram.org", None)["latestIncident"]["id"], id);
    let page = server.ok("/data/domain/telegram.org");
    assert_eq!(page["platform"]["slug"], "telegram", "{page}");

    // A network that was measured only then has a profile, as of its last day.
    let profile = server.ok("/v1/isp/AS33771/profile");
    assert!(profile["lastSeen"].as_str().unwrap().starts_with("2023-1"), "{profile}");
    assert!(profile["staleSince"].is_string() && profile["measurements"].as_u64() > Some(0), "{profile}");
    assert_eq!(server.get("/v1/isp/AS64500/profile").0, 404);
    // Its numbers are those of the index at that time, and the profile says which time that is.
    let as_of = profile["numbersAsOf"].as_str().unwrap();
    let index = server.ok(&format!("/v1/isp/index?country=KE&as_of={as_of}"));
    let row = index["isps"].as_array().unwrap().iter().find(|row| row["asn"] == 33771).unwrap();
    for (of_profile, of_index) in [
        ("rankInCountry", "rank"),
        ("compositeScore", "compositeScore"),
        ("blockRate", "blockRate"),
        ("measurements", "measurements"),
        ("targets", "targets"),
        ("blockedDomainCount", "blockedDomains"),
        ("lastSeen", "lastSeen"),
    ] {
        assert_eq!(profile[of_profile], row[of_index], "{of_profile}: {profile} {row}");
    }
    assert_eq!(profile["ispsInCountry"], index["ispCount"]);
    let caveat = profile["caveat"].as_str().unwrap();
    assert!(caveat.contains("measured on it any more") && !caveat.contains("before the answer"), "{caveat}");
    let compared = server.ok("/v1/isp/compare?asns=AS33771,AS64500");
    assert_eq!((&compared["missing"], &compared["isps"][0]["numbersAsOf"]), (&json!(["AS64500"]), &json!(as_of)));
}

/// Decision what-numbers-mean: the pages of evidence give all blocked measurements that can be looked up, each once, and
/// say how many these are and where the others are.
fn evidence(server: &Server) {
    let found = server.ok("/v1/accessibility/check?domain=telegram.org&country=KE");
    let id = found["latestIncident"]["id"].as_str().unwrap();
    let first = server.ok(&format!("/data/incidents/{id}/evidence"));
    let (mut page, mut all, mut pages) = (first.clone(), Vec::new(), 0);
    loop {
        all.extend(page["evidence"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()));
        assert_eq!(page["count"], first["count"]);
        assert_eq!(page["has_more"], page["next_cursor"].is_string(), "{page}");
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        pages += 1;
        assert!(pages < 1_000, "it never ends");
        page = server.ok(&format!("/data/incidents/{id}/evidence?limit=200&cursor={cursor}"));
        for row in page["evidence"].as_array().unwrap() {
            assert!(row["permalink"].as_str().unwrap().starts_with("https://explorer.ooni.org/"), "{row}");
            assert!(row["observedAt"].as_str().unwrap().starts_with("2023-11-"), "{row}");
            assert!(row["source"] == "ooni" && row["confidence"].is_number(), "{row}");
        }
    }
    let kept = first["evidence"].as_array().unwrap().len();
    assert!(kept <= 50 && all.len() > 2 * kept, "{} of {}, {kept} kept", all.len(), first["count"]);
    assert_eq!(first["listed"], all.len(), "the rows of all pages");
    assert!(first["count"].as_u64() >= first["listed"].as_u64(), "{} of {}", all.len(), first["count"]);
    let note = first["note"].as_str().unwrap();
    assert!(note.contains(&format!("{} rows", all.len())) && note.contains("`measurements`"), "{note}");
    rest_of_evidence(server, &first);
    let mut once = all.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), all.len(), "no row comes twice");
    // Small pages give the same rows.
    let (mut small, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = server.ok(&format!("/data/incidents/{id}/evidence?limit=7{cursor}"));
        small.extend(page["evidence"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(small, all);
    assert_eq!(server.get(&format!("/data/incidents/{id}/evidence?cursor=x")).0, 400);
}

/// The addresses in the answer lead to at least as many blocked measurements as it counts votes for a block.
fn rest_of_evidence(server: &Server, first: &Value) {
    let mut blocked = 0;
    let networks = ["AS33771", "AS12455", "AS36926", "AS37061"];
    let addresses = first["measurements"].as_array().unwrap();
    assert_eq!((addresses.len(), &addresses[0]["target"]), (1, &json!("telegram")), "{first}");
    let url = addresses[0]["url"].as_str().unwrap();
    let address = url.get(url.find("/data/measurements?").unwrap()..).unwrap();
    let mut cursor = String::new();
    loop {
        let page = server.ok(&format!("{address}&limit=5000{cursor}"));
        for row in page["measurements"].as_array().unwrap() {
            assert!(networks.contains(&row["asn"].as_str().unwrap()), "{row}");
            assert!(row["time"].as_str().unwrap().starts_with("2023-11-"), "{row}");
            blocked += if row["vote"] == "blocked" { row["measurements"].as_u64().unwrap() } else { 0 };
        }
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert!(Some(blocked) >= first["count"].as_u64(), "{blocked} of {}", first["count"]);
}

/// The other pages about the same data.
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
