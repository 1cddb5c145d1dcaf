//! Incidents that reports call ongoing last until their source last spoke of them. What came after that is not known.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::incidents::{incidents, one};
use super::{HEADER, Server, rows};
use crate::import::{ImportKind, Options};
use crate::incidents::{Incident, Status};
use engine::http::Body;
use engine::testing::real_data;

const TABLE: &str = "start_date,end_date,country,shutdown_type,shutdown_extent,ordered_by,other_affected,shutdown_status,\
    count_year\n";
const SITE: &str = "gazette.example";
const DAY: u64 = 86_400;

/// A row of a shutdown table about one site in Italy.
fn row(start: &str, end: &str, status: &str, year: &str) -> String {
    format!("{start},{end},Italy,Shutdown,Service-based,National government,{SITE},{status},{year}\n")
}

fn import(server: &Server, rows: &str) {
    server.import(ImportKind::Shutdowns, Options::default(), format!("{TABLE}{rows}").as_bytes());
}

fn with(rows: &str) -> Server {
    let server = Server::start();
    import(&server, rows);
    server
}

fn pass(server: &Server, days: u64) {
    server.0.advance(Duration::from_secs(days * DAY));
}

/// The only incident of Italy, as clients read it.
fn shown(server: &Server) -> Value {
    let list = server.ok("/data/incidents?country=IT");
    assert_eq!(list["total"], 1, "{list}");
    list["incidents"][0].clone()
}

fn text(server: &Server, path: &str) -> String {
    let response = server.request(Method::GET, path, &[], b"");
    match response.body {
        Body::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        Body::Stream(stream) => {
            use futures_util::{FutureExt, StreamExt};
            let pieces: Vec<_> = stream.collect().now_or_never().expect("nothing waits in memory");
            String::from_utf8(pieces.into_iter().flat_map(|piece| piece.to_vec()).collect()).unwrap()
        }
    }
}

fn verdict(server: &Server, claim: &str) -> String {
    let (_, body) = server.post("/verify-claim", &json!({ "claim": claim }));
    let contradicted = if body["contradicted"] == true { " contradicted" } else { "" };
    format!(
        "{}{contradicted}: {}",
        body["verdict"].as_str().unwrap_or_default(),
        body["reason"].as_str().unwrap_or_default()
    )
}

fn active(server: &Server) -> (u64, usize) {
    let stats = server.ok("/data/incidents/stats");
    let page = server.ok("/data/country/IT");
    let listed = page["data"]["activeIncidents"].as_array().map_or(0, Vec::len);
    (stats["byStatus"]["active"].as_u64().unwrap(), listed)
}

const LAST: &str = "2025-12-31T23:59:59.000Z";

/// A deployment in memory begins on 1 January 2026.
#[test]
fn what_a_table_calls_ongoing_is_active_for_90_days_after_its_last_day() {
    let server = with(&row("2025-03-01", "", "Ongoing", "2025"));
    for wait in [0, 89] {
        pass(&server, wait);
        let incident = shown(&server);
        assert_eq!(
            (&incident["status"], &incident["endUnknown"], &incident["lastConfirmedAt"], incident.get("endTime")),
            (&json!("active"), &json!(true), &json!(LAST), None),
            "{incident}"
        );
        assert!(
            incident["summary"].as_str().unwrap().ends_with("since 1 Mar 2025, last reported to go on at 31 Dec 2025.")
        );
        assert!(incident["notKnown"].to_string().contains("Whether it has ended is not known. It was last reported"));
        assert_eq!(active(&server), (1, 1));
    }
    pass(&server, 1);
    let incident = shown(&server);
    assert_eq!(
        (&incident["status"], &incident["endUnknown"], &incident["lastConfirmedAt"], &incident["endTime"]),
        (&json!("resolved"), &json!(true), &json!(LAST), &json!(LAST)),
        "{incident}"
    );
    assert!(incident["notKnown"].to_string().contains("When it ended is not known."), "{incident}");
    assert_eq!(active(&server), (0, 0));
}

#[test]
fn every_form_of_an_incident_says_that_its_end_is_not_known() {
    let server = with(&row("2025-03-01", "", "Ongoing", "2025"));
    pass(&server, 91);
    let said =
        "was blocked in Italy, from 1 Mar 2025, last reported to go on at 31 Dec 2025; when it ended is not known.";
    let id = shown(&server)["readableId"].as_str().unwrap().to_owned();
    assert_eq!(shown(&server)["summary"], format!("{SITE} {said}"));
    for path in ["feed.rss", "feed.atom"] {
        assert!(text(&server, &format!("/data/incidents/{path}")).contains(said), "{path}");
    }
    let report = text(&server, &format!("/data/incidents/{id}/report"));
    assert!(report.contains(said) && report.contains("| End | not known; last reported 2025-12-31 |"), "{report}");
    let csv = text(&server, "/data/incidents/export?format=csv");
    let mut lines = csv.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let (names, line) = (lines.next().unwrap(), csv.lines().nth(1).unwrap());
    assert_eq!(names[27..], ["start_unknown", "end_unknown", "last_confirmed_at"]);
    assert!(line.ends_with(&format!(",false,true,{LAST}")), "{line}");
    let line: Value = serde_json::from_str(text(&server, "/data/incidents/export?format=jsonl").trim()).unwrap();
    let exported: Value = serde_json::from_str(&text(&server, "/data/incidents/export?format=json")).unwrap();
    let detail = server.ok(&format!("/data/incidents/{id}"));
    let delta = server.ok("/data/incidents/delta?since=2020-01-01T00:00:00Z");
    let similar = server.ok(&format!("/v1/incidents/similar?query={SITE}+is+still+blocked+in+Italy"));
    for incident in
        [&line, &exported["incidents"][0], &detail, &delta["incidents"][0], &similar["results"][0]["incident"]]
    {
        assert_eq!(
            (&incident["endUnknown"], &incident["lastConfirmedAt"], &incident["status"]),
            (&json!(true), &json!(LAST), &json!("resolved")),
            "{incident}"
        );
    }
}

#[test]
fn what_a_table_said_is_no_evidence_about_a_later_day() {
    let server = with(&row("2025-03-01", "", "Ongoing", "2025"));
    pass(&server, 40);
    assert_eq!(shown(&server)["status"], "active");
    assert_eq!(server.detect("IT", SITE, None)["status"], "unknown");
    let supports = |claim: &str| {
        let found = verdict(&server, claim);
        (found.starts_with("confirmed") || found.starts_with("likely"), found)
    };
    for claim in ["is still blocked in Italy", "is blocked in Italy", "was blocked in Italy on 20 January 2026"] {
        let (supported, found) = supports(&format!("{SITE} {claim}"));
        assert!(!supported, "{claim}: {found}");
    }
    let (_, still) = supports(&format!("{SITE} is still blocked in Italy"));
    assert!(still.contains("last reported to go on at 31 Dec 2025"), "{still}");
    for claim in ["was blocked in Italy on 5 October 2025", "was blocked in Italy in 2025"] {
        let (supported, found) = supports(&format!("{SITE} {claim}"));
        assert!(supported, "{claim}: {found}");
    }
    // No table lists a later day, and the incident is about its own days.
    let at = |at: &str| server.ok(&format!("/data/country/IT?as_of={at}"))["data"]["activeIncidents"].clone();
    assert_eq!(at("2026-01-20T00:00:00Z"), json!([]));
    assert_eq!(at("2025-12-20T00:00:00Z").as_array().map(Vec::len), Some(1));
}

#[test]
fn an_end_that_a_later_row_names_closes_it() {
    for rows in [
        [row("2025-03-01", "", "Ongoing", "2025"), row("2025-03-01", "2026-01-20", "Ended", "2026")],
        [row("2024-03-01", "", "Ongoing", "2024"), row("2024-03-01", "2025-06-30", "Ended", "2025")],
    ] {
        let server = with(&rows[0]);
        let before = one(&server, "IT");
        assert!(before.is_end_unknown());
        pass(&server, 30);
        import(&server, &rows[1]);
        let after = one(&server, "IT");
        assert_eq!((after.id, after.draft.unknown.end), (before.id, false));
        let incident = shown(&server);
        assert_eq!((&incident["status"], &incident["endUnknown"]), (&json!("resolved"), &json!(false)), "{incident}");
        assert_eq!(incident.get("lastConfirmedAt"), None);
        let end = if rows[1].contains("2026-01-20") { "2026-01-20T23:59:59.000Z" } else { "2025-06-30T23:59:59.000Z" };
        assert_eq!(incident["endTime"], end);
    }
}

/// The rows may come in any order and in any number of files.
#[test]
fn a_later_row_that_says_nothing_of_an_end_takes_nothing_back() {
    let known = row("2022-03-01", "", "Ongoing", "2023");
    let says_nothing = row("2022-03-01", "", "Unknown", "2024");
    let ended = |incident: Incident| (incident.status(), incident.end(), incident.is_end_unknown());
    let alone = ended(one(&with(&known), "IT"));
    for parts in
        [vec![format!("{known}{says_nothing}")], vec![says_nothing.clone(), known.clone()], vec![known, says_nothing]]
    {
        let server = Server::start();
        parts.iter().for_each(|part| import(&server, part));
        assert_eq!(ended(one(&server, "IT")), alone, "{parts:?}");
    }
}

/// The other sources of reports, each with its own words for an end that is not known.
#[test]
fn findings_and_written_outages_without_an_end_stop_where_their_source_last_spoke() {
    let finding = json!({ "incidents": [{
        "id": "1", "title": "Italy blocked a newspaper", "start_time": "2025-11-01T00:00:00Z", "end_time": null,
        "update_time": "2025-12-20T10:00:00Z", "CCs": ["IT"], "ASNs": [], "domains": [SITE], "published": true,
    }] });
    let written = format!("country,kind,start,end,cause,services\nIT,block,2025-12-20T10:00:00Z,,ordered,{SITE}\n");
    for (kind, data) in [(ImportKind::OoniIncidents, finding.to_string()), (ImportKind::Outages, written)] {
        let server = Server::start();
        server.import(kind, Options::default(), data.as_bytes());
        let last = json!("2025-12-20T10:00:00.000Z");
        let told = |incident: &Value| {
            (incident["status"].clone(), incident["endUnknown"].clone(), incident["lastConfirmedAt"].clone())
        };
        assert_eq!(told(&shown(&server)), (json!("active"), json!(true), last.clone()), "{kind:?}");
        pass(&server, 80);
        assert_eq!(told(&shown(&server)), (json!("resolved"), json!(true), last), "{kind:?}");
        assert_eq!(active(&server), (0, 0));
    }
}

fn measured(server: &Server, start: &str, hours: i64) {
    let rows = (1..=3).map(|asn| rows("IT", asn, SITE, start, 0..hours, false)).collect::<String>();
    server.import(ImportKind::OoniObservations, Options::default(), format!("{HEADER}{rows}").as_bytes());
}

#[test]
fn clear_measurements_after_the_last_word_of_a_table_end_what_it_called_ongoing() {
    let server = with(&row("2025-03-01", "", "Ongoing", "2025"));
    pass(&server, 20);
    assert_eq!(active(&server), (1, 1));
    measured(&server, "2026-01-10", 120);
    pass(&server, 2);
    let incident = shown(&server);
    assert_eq!(
        (&incident["status"], &incident["endUnknown"], &incident["lastConfirmedAt"]),
        (&json!("resolved"), &json!(true), &json!(LAST)),
        "{incident}"
    );
    assert_eq!(active(&server), (0, 0));
    // Too few hours are no end, as for a measured block.
    let server = with(&row("2025-03-01", "", "Ongoing", "2025"));
    pass(&server, 20);
    measured(&server, "2026-01-10", 10);
    pass(&server, 1);
    assert_eq!(active(&server), (0, 0), "ten days after the last word these are long enough after it");
    let server = with(&row("2025-03-01", "", "Ongoing", "2025"));
    pass(&server, 3);
    measured(&server, "2026-01-01", 60);
    pass(&server, 1);
    assert_eq!(active(&server), (1, 1));
}

#[test]
fn measurements_of_a_day_win_over_what_a_table_says_of_it() {
    let server = with(&row("2025-03-01", "", "Ongoing", "2025"));
    measured(&server, "2025-12-18", 24 * 13);
    let of = |claim: &str| verdict(&server, &format!("{SITE} {claim}"));
    let clear = of("was blocked in Italy on 28 December 2025");
    assert!(clear.starts_with("unconfirmed contradicted"), "{clear}");
    // The table decides about a day that nobody measured.
    let told = of("was blocked in Italy on 5 November 2025");
    assert!(told.starts_with("confirmed"), "{told}");
    assert_eq!(server.detect("IT", SITE, None)["status"], "accessible");
}

#[test]
fn a_table_of_a_year_that_goes_on_speaks_up_to_its_newest_date() {
    for year in ["2026", ""] {
        let server = Server::start();
        pass(&server, 60);
        let newest =
            row("2026-02-10", "2026-02-14", "Ended", year).replace(SITE, "other.example").replace("Italy", "France");
        import(&server, &format!("{}{newest}", row("2026-01-15", "", "Ongoing", year)));
        assert_eq!(shown(&server)["lastConfirmedAt"], "2026-02-14T23:59:59.000Z", "{year}");
    }
}

/// Several countries in a cell, and a later row that names the end in one of them.
#[test]
fn an_end_in_one_country_of_a_cell_is_none_in_the_others() {
    let several = |countries: &str, end: &str, status: &str| {
        format!("2025-05-01,{end},\"{countries}\",Shutdown,Service-based,National government,{SITE},{status},2025\n")
    };
    let server = with(&several("Ethiopia, Eritrea", "", "Ongoing"));
    import(&server, &several("Eritrea", "2025-06-30", "Ended").replace(",2025\n", ",2026\n"));
    let of = |country: &str| {
        let incident = one(&server, country);
        (incident.is_end_unknown(), incident.end().unwrap().to_string())
    };
    assert_eq!(of("ET"), (true, LAST.to_owned()));
    assert_eq!(of("ER"), (false, "2025-06-30T23:59:59.000Z".to_owned()));
}

#[test]
fn the_real_table_says_of_nothing_that_it_goes_on_a_year_after_its_end() {
    let Some(table) = real_data("shutdowns/stop_2016_2024.csv.gz") else { return };
    let server = Server::start();
    server.import(ImportKind::Shutdowns, Options::default(), &table);
    let stats = server.ok("/data/incidents/stats");
    assert_eq!((&stats["byStatus"]["active"], stats["total"].as_u64() > Some(1_000)), (&json!(0), true), "{stats}");
    // Ongoing in the rows of 2024; ended in a row of its own; ongoing in rows of 2019 and not after that.
    for (country, subject, start, last) in [
        ("JO", "tiktok", "2022-12-16", Some("2024-12-31T23:59:59.000Z")),
        ("QA", "grindr.com", "2020-01-01", Some("2024-12-31T23:59:59.000Z")),
        ("VE", "signal", "2024-08-08", Some("2024-12-31T23:59:59.000Z")),
        ("BR", "twitter", "2024-08-31", None),
    ] {
        let found = incidents(&server, country);
        let named = |incident: &&Incident| {
            let draft = &incident.draft;
            let names = draft.services.iter().chain(&draft.domains).chain([&draft.subject]);
            draft.start.to_string().starts_with(start) && names.into_iter().any(|name| name == subject)
        };
        let incident = found.iter().find(named).unwrap_or_else(|| panic!("{country} {subject}: {found:#?}"));
        let said = incident.last_confirmed().map(|at| at.to_string());
        assert_eq!((incident.status(), said.as_deref()), (Status::Resolved, last), "{country} {subject}");
    }
}

/// The incident is active for 90 days, but no source has said for that long that the country is cut off today.
#[test]
fn a_country_is_not_said_to_be_cut_off_weeks_after_the_last_word_of_a_report() {
    let server = Server::start();
    let lost = "country,kind,start,end,cause\nIT,shutdown,2025-12-31T12:00:00Z,,ordered\n";
    server.import(ImportKind::Outages, Options::default(), lost.as_bytes());
    let status = || server.ok("/data/country/IT")["data"]["status"].clone();
    let world = || server.ok("/v1/censorship-index")["summary"]["fullOutage"].clone();
    pass(&server, 5);
    assert_eq!((status(), active(&server)), (json!("full_outage"), (1, 1)));
    assert_eq!(world(), 1);
    pass(&server, 2);
    assert_ne!(status(), "full_outage");
    assert_eq!((active(&server), world()), ((1, 1), json!(0)), "the incident stands");
}
