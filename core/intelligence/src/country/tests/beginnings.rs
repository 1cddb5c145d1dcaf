//! Sites that were blocked when they were first measured: the beginning of the block is not known.

use std::time::Duration;

use serde_json::{Value, json};

use super::incidents::{add, incidents, one, server};
use super::{Server, rows};
use crate::incidents::{Incident, Status};

/// A site on some networks, hour by hour.
fn seen(host: &str, asns: &[u32], start: &str, hours: i64, blocked: bool) -> String {
    asns.iter().map(|asn| rows("IT", *asn, host, start, 0..hours, blocked)).collect()
}

fn wait(server: &Server) {
    server.0.advance(Duration::from_secs(2 * 86_400));
}

/// Incidents in the order of their first site.
fn listed(server: &Server) -> Vec<Incident> {
    wait(server);
    let mut found = incidents(server, "IT");
    found.sort_by(|a, b| a.draft.domains.cmp(&b.draft.domains));
    found
}

fn shown(server: &Server, incident: &Incident) -> Value {
    server.ok(&format!("/data/incidents/{}", incident.id))
}

#[test]
fn a_block_that_was_there_when_it_was_first_measured_began_before_that() {
    let server = server(&[seen("a.example", &[1, 2], "2025-12-20", 200, true)]);
    wait(&server);
    let incident = one(&server, "IT");
    assert!(incident.is_start_unknown());
    let body = shown(&server, &incident);
    assert_eq!((&body["startUnknown"], &body["startTime"]), (&json!(true), &json!("2025-12-20T00:00:00.000Z")));
    assert!(body["summary"].as_str().unwrap().contains(", since before 20 Dec 2025, last seen"), "{body}");
    assert!(body["notKnown"].to_string().contains("it was so before 20 Dec 2025"), "{body}");
    let list = server.ok("/data/incidents?country=IT");
    assert_eq!(list["incidents"][0]["startUnknown"], true);
}

/// A clear vote before it, on one of the networks that block the site.
#[test]
fn a_clear_vote_before_the_first_blocked_one_makes_the_beginning_known() {
    let blocked = seen("a.example", &[1, 2], "2025-12-20", 200, true);
    for (before, known) in [
        (seen("a.example", &[2], "2025-12-18", 1, false), true),
        // Another network, another site, a later time, and failures in both.
        (seen("a.example", &[3], "2025-12-18", 40, false), false),
        (seen("b.example", &[1, 2], "2025-12-18", 40, false), false),
        (seen("a.example", &[2], "2026-01-01", 1, false), false),
    ] {
        let server = server(std::slice::from_ref(&blocked));
        wait(&server);
        assert!(one(&server, "IT").is_start_unknown());
        add(&server, std::slice::from_ref(&before));
        wait(&server);
        let incident = one(&server, "IT");
        assert_eq!(incident.is_start_unknown(), !known, "{before}");
        let body = shown(&server, &incident);
        assert_eq!(body["startUnknown"], !known);
        assert_eq!(body["summary"].as_str().unwrap().contains("since 20 Dec 2025"), known, "{body}");
    }
}

fn several() -> Vec<String> {
    vec![
        seen("a.example", &[1, 2], "2025-12-20", 230, true),
        seen("b.example", &[2, 3], "2025-12-21", 230, true),
        seen("c.example", &[4, 5], "2025-12-23", 190, true),
        // The beginning of this block is known.
        seen("d.example", &[1, 2], "2025-12-20", 40, false),
        seen("d.example", &[1, 2], "2025-12-22", 200, true),
        // One network and one source.
        seen("e.example", &[6], "2025-12-20", 230, true),
        seen("f.example", &[7], "2025-12-20", 230, true),
    ]
}

#[test]
fn sites_that_were_blocked_when_they_were_first_measured_are_one_incident_with_a_list() {
    let server = server(&[several().concat()]);
    let found = listed(&server);
    let lists: Vec<(String, Status, bool)> = found
        .iter()
        .map(|incident| (incident.draft.domains.join(" "), incident.status(), incident.is_start_unknown()))
        .collect();
    assert_eq!(
        lists,
        [
            ("a.example b.example c.example".to_owned(), Status::Active, true),
            ("d.example".to_owned(), Status::Active, false),
            ("e.example f.example".to_owned(), Status::Suspected, true),
        ],
        "two suspicions on two networks do not confirm each other"
    );
    let body = shown(&server, &found[0]);
    assert_eq!(body["title"], "a.example, b.example and c.example blocked in Italy");
    let summary = body["summary"].as_str().unwrap();
    assert!(summary.contains("since before 20 Dec 2025 or their first measurements"), "{summary}");
    assert!(body["notKnown"].to_string().contains("the first was so before 20 Dec 2025"), "{body}");
    assert_eq!(server.ok("/data/incidents/stats")["citable_censorship"], 2);
    // Each site is found by its own name.
    let (_, claim) = server.post("/verify-claim", &json!({ "claim": "c.example is blocked in Italy" }));
    let named = &claim["incidents"][0];
    assert_eq!((&named["id"], &named["startUnknown"]), (&body["readableId"], &json!(true)), "{claim}");
}

#[test]
fn the_order_and_the_pieces_of_an_import_change_no_list() {
    let expected: Vec<_> = listed(&server(&[several().concat()])).into_iter().map(|one| one.draft).collect();
    for turn in 0..3 {
        let mut parts = several();
        parts.rotate_left(turn);
        let split = Server::start();
        parts.iter().rev().for_each(|part| add(&split, std::slice::from_ref(part)));
        let found: Vec<_> = listed(&split).into_iter().map(|one| one.draft).collect();
        assert_eq!(found, expected, "{turn}");
    }
}

/// A block that ended is not listed with those that go on, and a platform leads the list.
#[test]
fn what_ended_leaves_a_list_and_platforms_lead_it() {
    let server = server(&[
        seen("a.example", &[1, 2], "2025-12-10", 30, true),
        seen("a.example", &[1, 2], "2025-12-12", 400, false),
        seen("b.example", &[1, 2], "2025-12-10", 500, true),
        seen("www.facebook.com", &[1, 2], "2025-12-10", 500, true),
    ]);
    let found = listed(&server);
    let lists: Vec<(String, Status)> =
        found.iter().map(|incident| (incident.draft.subject.clone(), incident.status())).collect();
    assert_eq!(lists, [("a.example".to_owned(), Status::Resolved), ("facebook".to_owned(), Status::Active)]);
    let body = shown(&server, &found[1]);
    assert_eq!(body["title"], "Facebook and b.example blocked in Italy");
}

#[test]
fn claims_of_a_beginning_that_nobody_saw_are_not_confirmed() {
    let server = server(&[seen("a.example", &[1, 2, 3], "2025-12-20", 280, true)]);
    wait(&server);
    for (claim, expected) in [
        ("a.example has been blocked in Italy since 20 December 2025", "unconfirmed"),
        ("a.example has been blocked in Italy since 1 March 2019", "unconfirmed"),
        // The site was blocked before.
        ("a.example has been blocked in Italy since 27 December 2025", "unconfirmed contradicted"),
        ("a.example was blocked in Italy on 24 December 2025", "confirmed"),
    ] {
        let (_, body) = server.post("/verify-claim", &json!({ "claim": claim }));
        let contradicted = if body["contradicted"] == true { " contradicted" } else { "" };
        assert_eq!(format!("{}{contradicted}", body["verdict"].as_str().unwrap()), expected, "{claim}: {body}");
    }
}
