//! Answers lead on to platforms and incidents (decision answers-lead-on).

use serde_json::{Value, json};

use super::{HEADER, Server, rows};
use crate::import::{ImportKind, Options};

fn measured(parts: &[String]) -> Server {
    let server = Server::start();
    let text = format!("{HEADER}{}", parts.concat());
    server.import(ImportKind::OoniObservations, Options::default(), text.as_bytes());
    server
}

fn make(server: &Server, country: &str, subject: &str, start: &str) -> Value {
    make_until(server, country, subject, start, None)
}

fn make_until(server: &Server, country: &str, subject: &str, start: &str, end: Option<&str>) -> Value {
    let mut incident = json!({ "country": country, "subject": subject, "reason": "seen", "start": start,
        "severity": "high", "type": "censorship", "confidence": 0.6 });
    if let Some(end) = end {
        incident["end"] = json!(end);
    }
    let headers = [("x-admin-key", super::ADMIN), ("content-type", "application/json")];
    let response = server.request(http::Method::POST, "/v1/admin/incidents", &headers, incident.to_string().as_bytes());
    let (status, made) = super::json(response);
    assert_eq!(status, 201, "{made}");
    server.settle();
    made
}

/// A time a few days before the clock of the tests.
const RECENT: &str = "2025-12-28";

#[test]
fn a_site_says_which_platform_it_is_part_of_and_what_is_known_of_that() {
    let server = measured(&[rows("IT", 1, "web.telegram.org", RECENT, 0..12, true)]);
    for path in
        ["/v1/accessibility/check?domain=telegram.org&country=IT", "/v1/accessibility/check?domain=t.me&country=IT"]
    {
        let check = server.ok(path);
        assert_eq!((&check["status"], &check["platform"]["slug"]), (&json!("unknown"), &json!("telegram")), "{check}");
        assert_eq!(check["platform"]["status"], "blocked", "{check}");
        let said = check["summary"].as_str().unwrap();
        assert!(said.contains("part of Telegram") && said.contains("Telegram is blocked in Italy"), "{said}");
    }
    let detect = server.detect("IT", "telegram.org", None);
    assert_eq!(detect["platform"]["essential"], true, "{detect}");
    assert_eq!(server.detect("IT", "t.me", None)["platform"]["essential"], false);
    for other in ["telegram", "example.org"] {
        assert!(server.detect("IT", other, None).get("platform").is_none(), "{other}");
    }
    let page = server.ok("/data/domain/telegram.org");
    assert_eq!(
        (&page["platform"]["slug"], &page["platform"]["status"]),
        (&json!("telegram"), &json!("blocked")),
        "{page}"
    );
    let whole = server.ok("/data/domain/telegram");
    assert_eq!(page["platform"]["blockedInCountries"], whole["summary"]["blocked_in_countries"], "{page}");
}

#[test]
fn an_unknown_answer_names_the_latest_incident_and_a_decided_one_does_not() {
    let server = measured(&[rows("IT", 1, "example.org", RECENT, 0..12, true)]);
    make(&server, "KE", "telegram", "2023-11-08");
    let latest = make(&server, "KE", "telegram", "2024-11-08");
    make(&server, "UG", "telegram", "2025-01-08");
    make(&server, "KE", "news.example", "2024-01-08");
    make(&server, "UG", "news.example", "2025-01-08");
    let check = server.ok("/v1/accessibility/check?domain=telegram.org&country=KE");
    assert_eq!(check["latestIncident"]["id"], latest["readableId"], "{check}");
    assert!(check["summary"].as_str().unwrap().contains(latest["readableId"].as_str().unwrap()), "{check}");
    let before = server.ok("/v1/accessibility/check?domain=telegram.org&country=KE&as_of=2024-01-01");
    assert!(before["latestIncident"]["startTime"].as_str().unwrap().starts_with("2023"), "{before}");
    let earlier = server.ok("/v1/accessibility/check?domain=telegram.org&country=KE&as_of=2022-01-01");
    assert!(earlier.get("latestIncident").is_none(), "{earlier}");
    assert_eq!(server.ok("/data/domain/news.example")["latestIncident"]["country"], "UG", "of all countries");
    make(&server, "IT", "example.org", "2024-11-08");
    let decided = server.detect("IT", "example.org", None);
    assert_eq!(decided["status"], "blocked", "{decided}");
    assert!(decided.get("latestIncident").is_none(), "{decided}");
}

#[test]
fn batches_and_claims_lead_on_as_single_answers_do() {
    let server = measured(&[rows("IT", 1, "example.org", RECENT, 0..12, true)]);
    let latest = make_until(&server, "KE", "telegram", "2023-11-08", Some("2023-11-24"));
    let asked = ["telegram.org", "telegram", "t.me", "example.org"];
    let (_, checks) = server.post("/v1/accessibility/batch", &json!({ "country": "KE", "domains": asked }));
    let (_, detects) = server.post("/hydra/v1/detect/batch", &json!({ "country": "KE", "targets": asked }));
    for (at, domain) in asked.into_iter().enumerate() {
        let single = server.ok(&format!("/v1/accessibility/check?domain={domain}&country=KE"));
        for (what, row) in [("check", &checks["results"][at]), ("detect", &detects["results"][at])] {
            for pointer in ["/status", "/summary", "/platform/slug", "/platform/status", "/latestIncident/id"] {
                assert_eq!(row.pointer(pointer), single.pointer(pointer), "{what} {domain} {pointer}: {row}");
            }
        }
        let (_, claimed) = server.post("/verify-claim", &json!({ "claim": format!("{domain} is blocked in Kenya") }));
        let (topic, reason) = (&claimed["topics"][0], claimed["reason"].as_str().unwrap());
        for pointer in ["/platform/slug", "/platform/status", "/latestIncident/id"] {
            assert_eq!(topic.pointer(pointer), single.pointer(pointer), "claim {domain} {pointer}: {claimed}");
        }
        for lead in ["/platform/summary", "/latestIncident/summary", "/latestIncident/id"] {
            let Some(lead) = single.pointer(lead).and_then(Value::as_str) else { continue };
            assert!(reason.contains(lead), "{domain}: {lead}: {reason}");
        }
    }
    let first = &checks["results"][0];
    assert_eq!(
        (&first["platform"]["slug"], &first["latestIncident"]["id"]),
        (&json!("telegram"), &latest["readableId"])
    );
    assert!(checks["results"][3].get("latestIncident").is_none() && checks["results"][3].get("platform").is_none());
    // Within a batch a decided answer names no incident.
    make(&server, "IT", "example.org", "2024-11-08");
    let decided = json!({ "country": "IT", "domains": ["example.org", "telegram.org"] });
    let (_, decided) = server.post("/v1/accessibility/batch", &decided);
    assert_eq!(decided["results"][0]["status"], "blocked", "{decided}");
    assert!(decided["results"][0].get("latestIncident").is_none(), "{decided}");
    assert_eq!(decided["results"][1]["platform"]["slug"], "telegram", "{decided}");
}

#[test]
fn a_country_is_not_normal_while_an_incident_goes_on_there() {
    let clean = |host: &str| rows("IT", 1, host, RECENT, 0..12, false);
    let server = measured(&[clean("example.org"), clean("example.com")]);
    assert_eq!(server.ok("/data/country/IT")["data"]["status"], "normal");
    make(&server, "IT", "telegram", RECENT);
    let status = |path: &str, pointer: &str| server.ok(path).pointer(pointer).cloned().unwrap();
    for (path, pointer) in [
        ("/data/country/IT", "/data/status"),
        ("/data/country/IT", "/ooni/status"),
        ("/data/country/IT", "/data/ooni/status"),
        ("/v1/censorship-index/IT", "/status"),
        ("/v1/censorship-index/IT", "/ooni/status"),
        ("/data/country/IT?as_of=2025-12-29", "/data/status"),
        ("/v1/censorship-index/IT?as_of=2025-12-29", "/status"),
    ] {
        assert_eq!(status(path, pointer), "degraded", "{path} {pointer}");
    }
    assert_eq!(server.ok("/data/country/IT")["data"]["activeIncidents"].as_array().unwrap().len(), 1);
    let all = server.ok("/v1/censorship-index");
    let row = all["countries"].as_array().unwrap().iter().find(|row| row["country"] == "IT").unwrap();
    assert_eq!((&row["status"], &all["summary"]["degraded"]), (&json!("degraded"), &json!(1)), "{row}");
    // An incident about connectivity says more than one about a site.
    make(&server, "IT", "internet", RECENT);
    assert_eq!(status("/data/country/IT", "/data/status"), "partial_outage");
}

#[test]
fn a_country_that_only_lists_speak_of_shows_what_they_name_and_marks_it() {
    let server = measured(&[rows("LT", 1, "measured.example", RECENT, 0..12, false)]);
    let list = b"domain\nlisted.example\nmeasured.example\n";
    server.upload("blocklist?country=LT&list_kind=court&date=2025-10-01", list);
    server.upload("blocklist?country=LT&list_kind=community&date=2025-10-01", b"domain\nrouted.example\n");
    server.settle();
    for (path, pointer) in [("/data/country/LT", "/data"), ("/v1/accessibility/country/LT/summary", "")] {
        for time in ["", "?as_of=2025-12-30"] {
            let page = server.ok(&format!("{path}{time}"));
            let of = page.pointer(pointer).unwrap();
            let rows = of["listedBlocked"].as_array().unwrap();
            let [row] = rows.as_slice() else { panic!("{path}{time}: {of}") };
            let shown = (&row["target"], &row["basis"], &row["kind"], &row["date"]);
            assert_eq!(shown, (&json!("listed.example"), &json!("known_list"), &json!("court"), &json!("2025-10-01")));
            assert_eq!(of["listedCount"], 2, "{path}{time}: one of them is measured");
        }
        let before = server.ok(&format!("{path}?as_of=2025-01-01"));
        assert_eq!(before.pointer(pointer).unwrap()["listedBlocked"], json!([]), "{path}");
    }
    // The documented blocks that ship with the project are shown on a new machine.
    let fresh = Server::start().ok("/data/country/IR");
    let rows = fresh["data"]["listedBlocked"].as_array().unwrap();
    let telegram = rows.iter().find(|row| row["target"] == "telegram").unwrap();
    assert!(telegram["source"].as_str().unwrap().starts_with("https://") && telegram["label"] == "Telegram");
}

#[test]
fn a_list_that_does_not_count_is_told_with_the_true_reason() {
    let server = Server::start();
    server.upload("blocklist?country=IT&list_kind=community&date=2025-12-30", b"domain\nrouted.example\nold.example\n");
    server.upload("blocklist?country=IT&list_kind=official&date=2020-01-01", b"domain\nold.example\n");
    server.settle();
    let said = |domain: &str| {
        let check = server.ok(&format!("/v1/accessibility/check?domain={domain}&country=IT"));
        assert_eq!((&check["status"], &check["listed"]), (&json!("unknown"), &json!(true)), "{check}");
        let claim = json!({ "claim": format!("{domain} is blocked in Italy") });
        let (_, claimed) = server.post("/verify-claim", &claim);
        (check["summary"].as_str().unwrap().to_owned(), claimed.to_string())
    };
    let (community, claimed) = said("routed.example");
    assert!(community.contains("community list") && !community.contains("too old"), "{community}");
    assert!(claimed.contains("community list") && !claimed.contains("too old"), "{claimed}");
    let (old, claimed) = said("old.example");
    assert!(old.contains("2020-01-01") && old.contains("too old"), "{old}");
    assert!(claimed.contains("too old"), "{claimed}");
}

#[test]
fn a_target_list_makes_no_answer_poorer() {
    let server = measured(&[
        rows("IT", 1, "hub.example", "2025-06-01", 0..12, true),
        rows("IT", 2, "hub.example", "2025-06-01", 0..12, true),
        rows("SE", 3, "hub.example", RECENT, 0..12, true),
    ]);
    server.0.advance(std::time::Duration::from_secs(2 * 86_400));
    server.settle();
    let ask =
        |domain: &str, country: &str| server.ok(&format!("/v1/accessibility/check?domain={domain}&country={country}"));
    let before = ask("hub.example", "IT");
    assert!(before["latestIncident"]["id"].is_string(), "{before}");
    let known = ask("meduza.io", "RU");
    assert_eq!((&known["status"], &known["basis"]), (&json!("blocked"), &json!("known_list")), "{known}");
    let list =
        "target_id,service,role\nhub.example,hub,website\nmeduza.io,meduza,website\nimages.meduza.io,meduza,media\n";
    server.import(ImportKind::Targets, Options::default(), list.as_bytes());
    server.0.advance(std::time::Duration::from_secs(86_400));
    server.settle();
    for (domain, country) in [("hub.example", "IT"), ("hub.example", "SE"), ("meduza.io", "RU")] {
        let after = ask(domain, country);
        let then = match (domain, country) {
            ("hub.example", "IT") => &before["status"],
            _ => &json!("blocked"),
        };
        assert_eq!(&after["status"], then, "{after}");
        assert!(after["platform"]["slug"].is_string(), "{after}");
    }
    let after = ask("hub.example", "IT");
    assert!(after["latestIncident"]["summary"].is_string(), "{after}");
    // The service's answer knows at least as much as that of its site.
    for (service, country) in [("hub", "SE"), ("meduza", "RU")] {
        assert_eq!(ask(service, country)["status"], "blocked", "{service}");
    }
    assert!(
        server.ok("/data/domain/meduza")["blocked_in"].as_array().unwrap().iter().any(|row| row["country"] == "RU")
    );
}

/// Telegram was blocked in Kenya from 8 to 24 November 2023, and news.example there from 20 November on.
fn of_the_past() -> (Server, Value) {
    let server = measured(&[rows("IT", 1, "example.org", RECENT, 0..12, true)]);
    let ended = make_until(&server, "KE", "telegram", "2023-11-08", Some("2023-11-24"));
    make(&server, "KE", "news.example", "2023-11-20");
    (server, ended)
}

#[test]
fn the_list_of_a_moment_says_in_json_and_csv_what_held_then() {
    let (server, ended) = of_the_past();
    let moment = "2023-11-12T00:00:00Z";
    for query in [format!("as_of={moment}"), format!("as_of={moment}&q=telegram&country=KE&until=2030-01-01")] {
        let then = server.ok(&format!("/data/incidents?{query}"));
        assert_eq!(
            (&then["total"], &then["count"], &then["as_of"]),
            (&json!(1), &json!(1), &json!("2023-11-12T00:00:00.000Z"))
        );
        let incident = &then["incidents"][0];
        assert_eq!((&incident["status"], incident.get("endTime")), (&json!("active"), None), "{incident}");
        assert!(incident["summary"].as_str().unwrap().contains(" is blocked in Kenya, since 8 Nov 2023"), "{incident}");
        for member in ["id", "version", "updatedAt", "startTime", "citationUrl"] {
            assert_eq!(incident[member], ended[member], "{member}");
        }
    }
    let after = server.ok("/data/incidents?as_of=2023-11-25&country=KE");
    let states: Vec<&str> =
        after["incidents"].as_array().unwrap().iter().map(|row| row["status"].as_str().unwrap()).collect();
    assert_eq!(states, ["active", "resolved"], "{after}");
    assert!(server.ok("/data/incidents?country=KE").get("as_of").is_none());
    let csv = server.request(http::Method::GET, &format!("/data/incidents?as_of={moment}&format=csv"), &[], b"");
    let engine::http::Body::Bytes(csv) = csv.body else { panic!("a stream") };
    let csv = String::from_utf8(csv.to_vec()).unwrap();
    assert!(csv.lines().count() == 2 && csv.contains(",active,") && !csv.contains("2023-11-24"), "{csv}");
    for refused in ["as_of=2023-11-12&status=active", "as_of=1969-01-01", "as_of=never"] {
        assert_eq!(server.get(&format!("/data/incidents?{refused}")).0, 400, "{refused}");
    }
}

#[test]
fn an_answer_about_a_moment_leads_to_an_incident_that_went_on_then() {
    let (server, ended) = of_the_past();
    let lead = |at: &str| {
        let check = server.ok(&format!("/v1/accessibility/check?domain=telegram.org&country=KE&as_of={at}"));
        assert_eq!(check["latestIncident"]["id"], ended["readableId"], "{check}");
        let said = check["summary"].as_str().unwrap().to_owned();
        (check["latestIncident"]["status"].clone(), check["latestIncident"].get("endTime").cloned(), said)
    };
    let (status, end, said) = lead("2023-11-12");
    assert_eq!((status, end), (json!("active"), None), "{said}");
    assert!(said.contains("is blocked in Kenya, since 8 Nov 2023") && !said.contains("24 Nov"), "{said}");
    let (status, end, said) = lead("2023-12-12");
    assert_eq!((status, end), (json!("resolved"), Some(json!("2023-11-24T23:59:59.000Z"))), "{said}");
    assert!(said.contains("was blocked in Kenya, from 8 Nov 2023 to 24 Nov 2023"), "{said}");
}
