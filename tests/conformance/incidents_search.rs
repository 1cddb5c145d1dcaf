//! Similar incidents, disputes, and the removal of a source (decisions similar-incidents, licence-and-removal and
//! plain-sentences-and-disputes).

use std::time::{Duration, Instant};

use heliograph_tests::client::Client;
use serde_json::{Value, json};

use crate::incidents::{check_incident, create, readable, site, telegram};
use crate::{Suite, cases};

cases![
    similar_incidents_come_with_score_reason_and_snippet,
    get_and_post_answer_the_same,
    filters_of_the_search_hold,
    k_is_5_by_default_and_50_at_most,
    malformed_searches_are_400,
    withdrawn_incidents_are_not_found,
    searching_an_empty_deployment_finds_nothing,
    a_dispute_reaches_operators_and_nobody_else,
    malformed_disputes_are_400,
    disputes_are_limited,
    only_operators_see_and_end_disputes,
    a_removed_source_leaves_no_evidence_and_no_version,
    incidents_are_found_by_words_that_all_stand_in_them,
    what_a_reader_has_typed_is_completed,
];

/// Incidents with three causes in several countries.
fn with_causes(client: &Client) {
    let causes = [
        ("IQ", "Mobile internet was cut each morning of the national school exams, against cheating."),
        ("SY", "Four hours without any internet on days of exams; the ministry of education asked for it."),
        ("UG", "Social networks were blocked on the eve of the presidential election."),
        ("TZ", "Before the general election people could not reach social networks."),
        ("MM", "After the coup the army ordered all providers to switch off data."),
    ];
    for (country, description) in causes {
        let mut incident = site(country, "internet", "2024-01-01");
        incident["description"] = json!(description);
        incident["confidence"] = if country == "SY" { json!(0.9) } else { json!(0.5) };
        if country == "MM" {
            incident["type"] = json!("mixed");
        }
        create(client, &incident);
    }
    settled(client, 5);
}

/// Waits until so many incidents can be found.
#[track_caller]
fn settled(client: &Client, indexed: u64) {
    let end = Instant::now() + Duration::from_secs(20);
    while client.get("/v1/incidents/similar?query=internet").expect(200)["indexed"] != indexed {
        assert!(Instant::now() < end, "never are {indexed} incidents indexed");
        client.wait(Duration::from_millis(100));
    }
}

fn found(body: &Value) -> Vec<&str> {
    body["results"].as_array().unwrap().iter().map(|row| row["incident"]["country"].as_str().unwrap()).collect()
}

fn similar_incidents_come_with_score_reason_and_snippet(suite: &Suite) {
    let client = suite.prepared("causes", with_causes);
    let body = client.get("/v1/incidents/similar?query=school+exams+cheating&k=2").expect(200);
    assert_eq!((&body["query"], &body["k"]), (&json!("school exams cheating"), &json!(2)));
    assert_eq!((&body["count"], &body["model"]), (&json!(2), &json!("bm25+lsa/1")));
    assert_eq!(found(&body), ["IQ", "SY"], "{body}");
    let results = body["results"].as_array().unwrap();
    let scores: Vec<f64> = results.iter().map(|row| row["score"].as_f64().unwrap()).collect();
    assert!(scores.windows(2).all(|pair| pair[0] >= pair[1]) && scores[0] <= 1.0 && scores[1] > 0.0, "{scores:?}");
    for row in results {
        check_incident(&row["incident"]);
        assert!(row["why"]["terms"].as_array().unwrap().contains(&json!("exam")), "{row}");
        assert!(row["why"]["bm25_rank"].is_u64(), "{row}");
        let snippet = row["snippet"].as_str().unwrap();
        assert!(snippet.contains("exams") && snippet.chars().count() <= 241, "{row}");
    }
    assert!(body["filters"].is_object() && body["license"].is_string(), "{body}");
    assert!(client.get("/v1/incidents/similar?query=exams").header("etag").is_some());
}

fn get_and_post_answer_the_same(suite: &Suite) {
    let client = suite.prepared("causes", with_causes);
    let get = client.get("/v1/incidents/similar?query=election&k=3&min_confidence=0.1&incident_type=censorship");
    let ask = json!({ "query": "election", "k": 3, "min_confidence": 0.1, "incident_type": "censorship" });
    let post = client.post("/v1/incidents/similar", &ask).expect(200);
    assert_eq!(get.expect(200), post);
    let mut first: Vec<&str> = found(&post).into_iter().take(2).collect();
    first.sort_unstable();
    assert_eq!(first, ["TZ", "UG"]);
}

fn filters_of_the_search_hold(suite: &Suite) {
    let client = suite.prepared("causes", with_causes);
    for (query, expected) in [
        ("query=exams&country=SY", &["SY"][..]),
        ("query=exams&country=sy", &["SY"]),
        ("query=exams&country=SE", &[]),
        ("query=exams&min_confidence=0.9", &["SY"]),
        ("query=coup+army&incident_type=mixed", &["MM"]),
        ("query=coup&incident_type=disruption", &[]),
        ("query=zzyzx", &[]),
    ] {
        let body = client.get(&format!("/v1/incidents/similar?{query}")).expect(200);
        assert_eq!(found(&body), expected, "{query}");
        assert_eq!(body["count"], expected.len(), "{query}");
    }
}

fn many(client: &Client) {
    for n in 0..55 {
        create(client, &site("NO", &format!("site-{n}.example.org"), "2025-01-01"));
    }
    settled(client, 55);
}

fn k_is_5_by_default_and_50_at_most(suite: &Suite) {
    let client = suite.prepared("many to search", many);
    for (query, k) in [("", 5), ("&k=1", 1), ("&k=50", 50), ("&k=51", 50), ("&k=4294967296", 50)] {
        let body = client.get(&format!("/v1/incidents/similar?query=site+blocked{query}")).expect(200);
        assert_eq!((&body["k"], &body["count"]), (&json!(k), &json!(k)), "{query}");
    }
    let body = client.post("/v1/incidents/similar", &json!({ "query": "site blocked", "k": 51 })).expect(200);
    assert_eq!(body["results"].as_array().unwrap().len(), 50);
}

fn malformed_searches_are_400(suite: &Suite) {
    let client = suite.client();
    let long = format!("query={}", "a".repeat(2_001));
    for query in [
        "",
        "query=",
        "query=%20",
        "query=a&k=0",
        "query=a&k=-1",
        "query=a&k=x",
        "query=a&country=KEN",
        "query=a&incident_type=war",
        "query=a&min_confidence=2",
        "query=a&min_confidence=x",
        "query=a&min_confidence=NaN",
        &long,
    ] {
        client.get(&format!("/v1/incidents/similar?{query}")).expect_error(400, "BAD_REQUEST");
    }
    for body in [
        json!({}),
        json!({ "query": "" }),
        json!({ "query": 1 }),
        json!({ "query": "a", "k": 0 }),
        json!({ "query": "a", "k": -1 }),
        json!({ "query": "a", "k": "5" }),
        json!({ "query": "a", "min_confidence": -0.1 }),
        json!([]),
    ] {
        client.post("/v1/incidents/similar", &body).expect_error(400, "BAD_REQUEST");
    }
}

fn withdrawn_incidents_are_not_found(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let made = create(&client, &site("KE", "withdrawn.example.org", "2024-01-01"));
    settled(&client, 1);
    let path = format!("/v1/admin/incidents/{}/retract", readable(&made));
    client.admin().post(&path, &json!({ "reason": "no" })).expect(200);
    let body = client.get("/v1/incidents/similar?query=withdrawn").expect(200);
    assert_eq!(body["results"], json!([]), "at once, whatever the index still holds");
    settled(&client, 0);
}

fn searching_an_empty_deployment_finds_nothing(suite: &Suite) {
    let target = suite.fresh(&[]);
    let body = target.client().get("/v1/incidents/similar?query=telegram").expect(200);
    assert_eq!((&body["results"], &body["indexed"]), (&json!([]), &json!(0)));
}

fn a_dispute_reaches_operators_and_nobody_else(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let made = create(&client, &site("KE", "disputed.example.org", "2024-01-01"));
    let dispute = json!({
        "reason": "The site was down everywhere that day, see the status page.",
        "evidence_url": "https://status.example.org/1", "contact": "reader@example.org"
    });
    let path = format!("/data/incidents/{}/dispute", made["id"].as_str().unwrap());
    let received = client.post(&path, &dispute).expect(201);
    assert_eq!((&received["status"], &received["incident_id"]), (&json!("received"), &made["readableId"]));
    let admin = client.admin();
    let open = admin.get("/v1/admin/disputes").expect(200);
    let row = &open["disputes"][0];
    assert_eq!((&row["id"], &row["reason"]), (&received["dispute_id"], &dispute["reason"]));
    assert_eq!((&row["contact"], &row["version"], &row["status"]), (&dispute["contact"], &json!(1), &json!("open")));
    assert_eq!(open["next"], Value::Null);
    // Nothing public shows the dispute: the incident is unchanged.
    let public = client.get(&format!("/data/incidents/{}?explain=1", readable(&made)));
    assert!(!public.text().contains("status page") && !public.text().contains("reader@"), "{}", public.text());
    assert_eq!(public.json()["version"], 1);
    let end = format!("/v1/admin/disputes/{}/resolve", received["dispute_id"].as_str().unwrap());
    let resolved = admin.post(&end, &json!({ "outcome": "accepted", "note": "Withdrawn." })).expect(200);
    assert_eq!((&resolved["status"], &resolved["note"]), (&json!("accepted"), &json!("Withdrawn.")));
    admin.post(&end, &json!({ "outcome": "rejected" })).expect_error(409, "CONFLICT");
    assert_eq!(admin.get("/v1/admin/disputes?status=open").expect(200)["disputes"], json!([]));
    let done = admin.get("/v1/admin/disputes?status=resolved").expect(200);
    assert_eq!(done["disputes"][0]["resolved_by"].as_str().map(str::len), Some(8), "{done}");
    // The disputes in pages.
    for n in 0..3 {
        client.post(&path, &json!({ "reason": format!("Still wrong, number {n}.") })).expect(201);
    }
    let first = admin.get("/v1/admin/disputes?limit=2").expect(200);
    let next = first["next"].as_str().unwrap().replace(' ', "%20");
    let second = admin.get(&format!("/v1/admin/disputes?limit=2&after={next}")).expect(200);
    let reasons: Vec<_> = [&first, &second]
        .iter()
        .flat_map(|page| page["disputes"].as_array().unwrap())
        .map(|row| row["reason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons.len(), 3);
    for n in 0..3 {
        assert!(reasons.iter().any(|reason| reason.contains(&n.to_string())), "{reasons:?}");
    }
}

fn malformed_disputes_are_400(suite: &Suite) {
    let target = suite.fresh(&[("disputes_per_hour", "1000")]);
    let client = target.client();
    let made = create(&client, &site("KE", "x.example.org", "2024-01-01"));
    let path = format!("/data/incidents/{}/dispute", readable(&made));
    let reason = "This never happened at all.";
    for body in [
        json!({}),
        json!({ "reason": "short" }),
        json!({ "reason": 7 }),
        json!({ "reason": "a".repeat(4_001) }),
        json!({ "reason": "a control character \u{1} in it" }),
        json!({ "reason": reason, "evidence_url": "http://example.org/" }),
        json!({ "reason": reason, "evidence_url": "javascript:x" }),
        json!({ "reason": reason, "contact": "a".repeat(201) }),
        json!({ "reason": reason, "contact": "two\nlines" }),
        json!([]),
    ] {
        client.post(&path, &body).expect_error(400, "BAD_REQUEST");
    }
    client.post(&path, &json!({ "reason": "a".repeat(4_000) })).expect(201);
    client.post(&path, &json!({ "reason": "ten chars!" })).expect(201);
    let large = json!({ "reason": reason, "more": "a".repeat(16 * 1024) });
    client.post(&path, &large).expect_error(413, "PAYLOAD_TOO_LARGE");
    client.post("/data/incidents/KE-1999-0001/dispute", &json!({ "reason": reason })).expect_error(404, "NOT_FOUND");
    assert_eq!(client.admin().get("/v1/admin/disputes").expect(200)["disputes"].as_array().unwrap().len(), 2);
}

fn disputes_are_limited(suite: &Suite) {
    let target = suite.fresh(&[("disputes_per_hour", "3")]);
    let client = target.client();
    let made = create(&client, &site("KE", "x.example.org", "2024-01-01"));
    let path = format!("/data/incidents/{}/dispute", readable(&made));
    let body = json!({ "reason": "This never happened at all." });
    for _ in 0..3 {
        client.post(&path, &body).expect(201);
    }
    let refused = client.post(&path, &body);
    refused.expect_error(429, "RATE_LIMITED");
    assert!(refused.header("retry-after").is_some());
}

fn only_operators_see_and_end_disputes(suite: &Suite) {
    let client = suite.client();
    client.get("/v1/admin/disputes").expect_error(401, "UNAUTHORIZED");
    let end = "/v1/admin/disputes/0011223344556677/resolve";
    client.post(end, &json!({ "outcome": "accepted" })).expect_error(401, "UNAUTHORIZED");
    let admin = client.admin();
    admin.post(end, &json!({ "outcome": "accepted" })).expect_error(404, "NOT_FOUND");
    for body in [json!({}), json!({ "outcome": "maybe" }), json!({ "outcome": "accepted", "x": 1 })] {
        admin.post(end, &body).expect_error(400, "BAD_REQUEST");
    }
    for query in ["status=old", "limit=0", "after=x", "after=soon%20x"] {
        admin.get(&format!("/v1/admin/disputes?{query}")).expect_error(400, "BAD_REQUEST");
    }
}

fn a_removed_source_leaves_no_evidence_and_no_version(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let admin = client.admin();
    let made = create(&client, &telegram());
    let path = format!("/data/incidents/{}", readable(&made));
    let rows = client.get(&format!("{path}/evidence")).expect(200);
    let id_of = |source: &str| {
        let row = rows["evidence"].as_array().unwrap().iter().find(|row| row["source"] == source).unwrap();
        format!("/data/evidence/{}", row["id"].as_str().unwrap())
    };
    let (ooni, newsroom) = (id_of("ooni"), id_of("newsroom"));
    admin
        .patch(&format!("/v1/admin/incidents/{}", readable(&made)), &json!({ "severity": "low", "reason": "x" }))
        .expect(200);
    let plain = create(&client, &site("KE", "untouched.example.org", "2023-12-01"));
    admin.delete("/v1/admin/sources/ooni").expect(200);
    let end = Instant::now() + Duration::from_secs(20);
    while client.get(&ooni).status != 404 {
        assert!(Instant::now() < end, "the evidence stays");
        client.wait(Duration::from_millis(100));
    }
    for version in [1, 2] {
        client.get(&format!("{path}?version={version}")).expect_error(404, "NOT_FOUND");
    }
    client.get(&newsroom).expect(200);
    let left = client.get(&path).expect(200);
    assert_eq!((&left["version"], &left["sources"]), (&json!(3), &json!(["newsroom"])), "{left}");
    assert_eq!((&left["evidenceCount"], &left["license"]), (&json!(1), &json!("CC-BY-4.0")), "{left}");
    assert_eq!((&left["title"], &left["severity"]), (&made["title"], &json!("low")), "the operator's words stay");
    assert!(!client.get(&format!("{path}/report")).text().contains("explorer.ooni.org"));
    let changes = client.get("/data/incidents/delta?since=1970-01-01").expect(200);
    assert!(!changes.to_string().contains("NC-SA") && changes["count"] == 2, "{changes}");
    let other = client.get(&format!("/data/incidents/{}", readable(&plain))).expect(200);
    assert_eq!(other["version"], 1, "what never rested on it is untouched");
}

/// Decision words-of-incidents.
fn incidents_are_found_by_words_that_all_stand_in_them(suite: &Suite) {
    let client = suite.prepared("causes", with_causes);
    let countries = |query: &str| -> Vec<String> {
        let body = client.get(&format!("/data/incidents?{query}")).expect(200);
        let found: Vec<_> = body["incidents"].as_array().unwrap().clone();
        found.iter().for_each(check_incident);
        assert!(body["total"].as_u64().unwrap() >= found.len() as u64, "{body}");
        let mut countries: Vec<String> =
            found.iter().map(|incident| incident["country"].as_str().unwrap().to_owned()).collect();
        countries.sort();
        countries
    };
    assert_eq!(countries("q=exams"), ["IQ", "SY"]);
    assert_eq!(countries("q=EXAM+education"), ["SY"], "each word begins a word of the incident");
    assert_eq!(countries("q=%C3%89lection"), ["TZ", "UG"], "accents make no difference");
    assert_eq!(countries("q=uganda"), ["UG"]);
    assert_eq!(countries("q=exams+election"), [""; 0], "all of them must stand there");
    assert_eq!(countries("q=exams&country=IQ"), ["IQ"], "the other filters hold");
    assert_eq!(countries("q=exams&limit=1&offset=1").len(), 1);
    let body = client.get("/data/incidents?q=exams&limit=1").expect(200);
    assert_eq!((&body["total"], &body["count"], &body["next_offset"]), (&json!(2), &json!(1), &json!(1)), "{body}");
    let csv = client.get("/data/incidents?q=exams&format=csv");
    assert_eq!(csv.text().lines().count(), 3, "{}", csv.text());
    let export = client.get("/data/incidents/export?q=exams").expect(200);
    assert_eq!(export["count"], 2, "{export}");
    let words = (0..11).map(|n| format!("word{n}")).collect::<Vec<_>>().join("+");
    for query in ["q=-".to_owned(), format!("q={words}"), format!("q={}", "x".repeat(201))] {
        client.get(&format!("/data/incidents?{query}")).expect_error(400, "BAD_REQUEST");
        client.get(&format!("/data/incidents/export?{query}")).expect_error(400, "BAD_REQUEST");
    }
}

fn what_a_reader_has_typed_is_completed(suite: &Suite) {
    let client = suite.prepared("causes", with_causes);
    let first = |typed: &str, kind: &str| -> Value {
        let body = client.get(&format!("/v1/suggest?q={typed}")).expect(200);
        let found = body["suggestions"].as_array().unwrap();
        assert!(found.len() <= 10, "{body}");
        found.iter().find(|one| one["kind"] == kind).cloned().unwrap_or(Value::Null)
    };
    assert_eq!(first("ugan", "country")["id"], "UG");
    assert_eq!(first("cote", "country")["id"], "CI", "C\u{f4}te d'Ivoire");
    assert_eq!(first("TELEG", "platform")["id"], "telegram");
    let incident = first("SY-2024", "incident");
    assert!(incident["id"].as_str().unwrap().starts_with("SY-2024-"), "{incident}");
    for (typed, kind) in [("ugan", "country"), ("teleg", "platform"), ("SY-2024", "incident")] {
        let path = first(typed, kind)["path"].as_str().unwrap().to_owned();
        assert_ne!(client.get(&path).status, 404, "{path}");
    }
    assert_eq!(client.get("/v1/suggest?q=zzzzzz").expect(200)["suggestions"], json!([]));
    for query in ["", "?q=", "?q=%20%20"] {
        client.get(&format!("/v1/suggest{query}")).expect_error(400, "BAD_REQUEST");
    }
}
