//! Incidents: list and detail (decisions incident-ids, incident-grades and plain-sentences-and-disputes).

use heliograph_tests::client::Client;
use serde_json::{Value, json};

use crate::index::check_caching;
use crate::{Suite, cases};

cases![
    an_empty_deployment_lists_no_incidents,
    the_list_has_every_member_that_readers_know,
    the_list_is_cached_by_its_tag,
    pages_hold_50_by_default_and_200_at_most,
    filters_select_and_unknown_parameters_are_ignored,
    every_service_of_an_incident_selects_it,
    malformed_filters_are_400,
    a_topic_knows_the_categories_of_imported_lists,
    either_id_in_any_case_leads_to_the_incident,
    unknown_incidents_are_404,
    a_version_never_changes,
    one_sentence_has_numbers_and_the_unknown_is_said,
];

/// An incident for an operator to create, with evidence of two sources.
pub fn telegram() -> Value {
    json!({
        "country": "ke",
        "subject": "telegram.org",
        "reason": "reported by two sources",
        "type": "censorship",
        "severity": "high",
        "confidence": 0.8,
        "start": "2023-11-08T00:00:00Z",
        "end": "2023-11-24T00:00:00Z",
        "asns": ["AS33771", "12455", 37061.to_string()],
        "methods": ["http-timeout"],
        "occasion": "exams",
        "evidence": [
            {
                "source": "ooni", "kind": "measurement", "source_ref": "20231108T120000Z_telegram_KE_33771_x",
                "permalink": "https://explorer.ooni.org/m/20231108T120000Z_telegram_KE_33771_x",
                "observed_at": "2023-11-08T12:00:00Z", "confidence": 0.9, "asn": "AS33771",
                "signal_type": "http-blocking-timeout"
            },
            {
                "source": "newsroom", "permalink": "https://news.example.org/kenya?a=1&b=2",
                "observed_at": "2023-11-09T08:00:00Z", "license": "CC-BY-4.0"
            }
        ]
    })
}

/// A small incident.
pub fn site(country: &str, domain: &str, start: &str) -> Value {
    json!({
        "country": country, "subject": domain, "reason": "seen", "start": start, "severity": "low",
        "type": "censorship", "confidence": 0.6
    })
}

/// Creates an incident and returns the answer.
#[track_caller]
pub fn create(client: &Client, incident: &Value) -> Value {
    client.admin().post("/v1/admin/incidents", incident).expect(201)
}

pub fn readable(incident: &Value) -> &str {
    incident["readableId"].as_str().unwrap()
}

/// Three incidents: Kenya and Telegram in 2023 with evidence, a newspaper in Iran that is still blocked, and a
/// disruption in Kenya.
pub fn with_three(client: &Client) {
    create(client, &telegram());
    create(client, &site("IR", "nytimes.com", "2025-03-01"));
    let mut outage = site("KE", "internet", "2024-06-25T14:00:00Z");
    outage["type"] = json!("disruption");
    outage["status"] = json!("suspected");
    outage["severity"] = json!("critical");
    outage["end"] = json!("2024-06-25T20:00:00Z");
    create(client, &outage);
}

/// The members that clients read, with their types.
#[track_caller]
pub fn check_incident(incident: &Value) {
    for name in [
        "id",
        "hashId",
        "readableId",
        "readable_id",
        "country",
        "countryName",
        "country_name",
        "flag",
        "title",
        "description",
        "summary",
        "severity",
        "incidentType",
        "status",
        "startTime",
        "createdAt",
        "updatedAt",
        "created_at",
        "permalink",
        "reportUrl",
        "license",
    ] {
        assert!(incident[name].is_string(), "{name}: {incident}");
    }
    assert_ne!(incident["description"], "", "the summary where nobody wrote one: {incident}");
    for name in ["confidence", "anomalyRate"] {
        assert!((0.0..=1.0).contains(&incident[name].as_f64().unwrap()), "{name}: {incident}");
    }
    for name in ["measurementCount", "evidenceCount", "version"] {
        assert!(incident[name].is_u64(), "{name}: {incident}");
    }
    for name in ["sources", "affectedServices", "affectedDomains", "affectedAsns", "domains", "blockingMethods"] {
        assert!(incident[name].as_array().unwrap().iter().all(Value::is_string), "{name}: {incident}");
    }
    assert!(incident["citable"].is_boolean(), "{incident}");
    assert!(["low", "medium", "high", "critical"].contains(&incident["severity"].as_str().unwrap()));
    assert!(["censorship", "disruption", "mixed"].contains(&incident["incidentType"].as_str().unwrap()));
    assert!(["active", "resolved", "suspected"].contains(&incident["status"].as_str().unwrap()));
    assert_eq!(incident["hashId"], incident["readableId"], "conflict C3: {incident}");
    let id = incident["id"].as_str().unwrap();
    assert!(id.len() == 12 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{incident}");
    let mut parts = readable(incident).split('-');
    let (country, year, sequence) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    assert!(country == incident["country"] && year.len() == 4 && sequence.len() >= 4, "{incident}");
    for name in ["permalink", "reportUrl"] {
        assert!(incident[name].as_str().unwrap().starts_with("http"), "absolute: {incident}");
    }
}

pub fn list(client: &Client, query: &str) -> Value {
    client.get(&format!("/data/incidents{query}")).expect(200)
}

/// The published first page, which may be a little late.
fn first_page(client: &Client, total: u64) -> Value {
    list_until(client, "", |found| found == total)
}

pub fn ids(list: &Value) -> Vec<&str> {
    list["incidents"].as_array().unwrap().iter().map(readable).collect()
}

fn an_empty_deployment_lists_no_incidents(suite: &Suite) {
    let body = list(&suite.fresh(&[]).client(), "");
    assert_eq!((&body["incidents"], &body["total"], &body["count"]), (&json!([]), &json!(0), &json!(0)), "{body}");
    assert_eq!(body["next_offset"], Value::Null);
}

fn the_list_has_every_member_that_readers_know(suite: &Suite) {
    let body = first_page(&suite.prepared("incidents", with_three), 3);
    assert_eq!((&body["total"], &body["count"]), (&json!(3), &json!(3)), "{body}");
    body["incidents"].as_array().unwrap().iter().for_each(check_incident);
    assert_eq!(ids(&body), ["IR-2025-0001", "KE-2024-0001", "KE-2023-0001"], "newest beginning first");
    let version = body["dataset_version"].as_str().unwrap();
    assert!(version.len() == 10 && version.split('.').count() == 3, "{version}");
    assert!(body["generated_at_utc"].is_string(), "{body}");
    // Decision licence-and-removal: the strictest of the licences that contributed.
    assert_eq!(body["license"], "CC-BY-NC-SA-4.0");
    let kenya = &body["incidents"][2];
    assert_eq!(kenya["license"], "CC-BY-NC-SA-4.0");
    assert_eq!(kenya["affectedServices"], json!(["telegram"]), "a domain of a platform is the platform");
    assert_eq!(kenya["affectedAsns"], json!(["AS12455", "AS33771", "AS37061"]));
    assert_eq!((&kenya["countryName"], &kenya["flag"]), (&json!("Kenya"), &json!("\u{1F1F0}\u{1F1EA}")));
    assert_eq!((&kenya["sources"], &kenya["citable"]), (&json!(["newsroom", "ooni"]), &json!(true)));
    assert_eq!(kenya["endTime"], "2023-11-24T00:00:00.000Z");
    let iran = &body["incidents"][0];
    assert!(iran.get("endTime").is_none(), "absent while it goes on: {iran}");
    assert_eq!(body["incidents"][1]["citable"], false, "a disruption is not citable");
}

fn the_list_is_cached_by_its_tag(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    first_page(&client, 3);
    let id = "/data/incidents/KE-2023-0001";
    for path in ["/data/incidents", "/data/incidents?country=KE", id, &format!("{id}?version=1")] {
        check_caching(&client, path, "application/json");
    }
}

/// More incidents than the longest page.
pub fn many(client: &Client) {
    for n in 0..201 {
        create(client, &site("NO", &format!("site-{n}.example.org"), "2025-01-01"));
    }
}

fn pages_hold_50_by_default_and_200_at_most(suite: &Suite) {
    let client = suite.prepared("many incidents", many);
    first_page(&client, 201);
    for (query, count, next) in [
        ("", 50, json!(50)),
        ("?limit=200", 200, json!(200)),
        ("?limit=201", 200, json!(200)),
        ("?limit=99999999999999999999", 200, json!(200)),
        ("?limit=1", 1, json!(1)),
        ("?limit=200&offset=200", 1, Value::Null),
        ("?offset=151", 50, Value::Null),
        ("?offset=201", 0, Value::Null),
        ("?offset=18446744073709551615&limit=200", 0, Value::Null),
    ] {
        let body = list(&client, query);
        assert_eq!((&body["count"], &body["total"]), (&json!(count), &json!(201)), "{query}");
        assert_eq!(body["incidents"].as_array().unwrap().len(), count, "{query}");
        assert_eq!(body["next_offset"], next, "{query}");
    }
    let mut seen = std::collections::BTreeSet::new();
    let mut offset = json!(0);
    while offset.is_u64() {
        let body = list(&client, &format!("?limit=60&offset={offset}"));
        for id in ids(&body) {
            assert!(seen.insert(id.to_owned()), "{id} twice");
        }
        offset = body["next_offset"].clone();
    }
    assert_eq!(seen.len(), 201);
}

fn filters_select_and_unknown_parameters_are_ignored(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    const KENYA: &str = "KE-2023-0001";
    const OUTAGE: &str = "KE-2024-0001";
    const IRAN: &str = "IR-2025-0001";
    let all = [IRAN, OUTAGE, KENYA];
    for (query, expected) in [
        ("country=KE", &[OUTAGE, KENYA][..]),
        ("country=ke", &[OUTAGE, KENYA]),
        ("country=SE", &[]),
        ("status=active", &[IRAN]),
        ("status=suspected", &[OUTAGE]),
        ("status=resolved", &[KENYA]),
        ("status=confirmed", &[IRAN, KENYA]),
        ("type=disruption", &[OUTAGE]),
        ("incident_type=Censorship", &[IRAN, KENYA]),
        ("severity=high", &[OUTAGE, KENYA]),
        ("severity=critical", &[OUTAGE]),
        ("topic=news", &[IRAN]),
        ("topic=NEWS", &[IRAN]),
        ("topic=messaging", &[KENYA]),
        ("topic=no-such-topic", &[]),
        ("citable=true", &[IRAN, KENYA]),
        ("citable=false", &[OUTAGE]),
        ("min_sources=1", &[KENYA]),
        ("min_sources=2", &[KENYA]),
        ("min_sources=3", &[]),
        ("min_sources=0", &all),
        ("service=telegram", &[KENYA]),
        ("service=internet", &[OUTAGE]),
        ("service=%20Telegram", &[KENYA]),
        ("service=social%20media", &[]),
        ("service=imo", &[]),
        ("domain=www.telegram.org", &[KENYA]),
        ("domain=https://www.NYTIMES.com/a", &[IRAN]),
        ("domain=nobody.example", &[]),
        ("since=2024-01-01", &[IRAN, OUTAGE]),
        ("since=2023-11-24", &all),
        ("until=2023-11-08", &[KENYA]),
        ("until=2023-11-07T23:59:59Z", &[]),
        ("since=2024-06-25T15:00:00%2B00:00&until=2024-06-25T16:00:00+00:00", &[OUTAGE]),
        ("country=KE&citable=true", &[KENYA]),
        ("nonsense=1&sort=best&limit=", &all),
    ] {
        let body = list(&client, &format!("?{query}"));
        assert_eq!(ids(&body), expected, "{query}");
        assert_eq!((&body["total"], &body["count"]), (&json!(expected.len()), &json!(expected.len())), "{query}");
    }
}

/// Sources use names that are neither a platform nor a domain.
fn every_service_of_an_incident_selects_it(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let rows = "country,kind,start,end,cause,services\n\
        PE,block,2024-02-01,2024-02-03,ordered,Social Media; imo; LINE; QQ; Baidu; VoIP; Facebook Messenger\n\
        EC,block,2024-03-01,2024-03-03,ordered,Messenger; WhatsApp Business; X; Tor Browser; ok.ru\n";
    heliograph_tests::data::import(&client.admin(), "outages", "", rows.as_bytes());
    let body = list_until(&client, "", |total| total >= 2);
    let mut names = 0;
    for incident in body["incidents"].as_array().unwrap() {
        for name in incident["affectedServices"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()) {
            names += 1;
            for text in [name.to_owned(), format!("%20{}%20", name.to_uppercase())] {
                let text = text.replace(' ', "%20");
                let found = list(&client, &format!("?service={text}"));
                assert!(ids(&found).contains(&readable(incident)), "{text}: {found}");
                let export = client.get(&format!("/data/incidents/export?format=jsonl&service={text}"));
                assert!(export.text().contains(readable(incident)), "{text}");
            }
        }
    }
    assert!(names >= 8, "{body}");
}

fn a_topic_knows_the_categories_of_imported_lists(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let sites = b"url,category_code\nhttps://www.listed.example/,NEWS\nhttps://other.example/,GMB\n";
    heliograph_tests::data::import(&client.admin(), "test-list", "?list=global", sites);
    for domain in ["listed.example", "other.example", "unlisted.example", "nytimes.com"] {
        create(&client, &site("KE", domain, "2024-01-01"));
    }
    let named = |query: &str| {
        let body = list_until(&client, query, |total| total > 0);
        let domains =
            body["incidents"].as_array().unwrap().iter().map(|row| row["domains"][0].as_str().unwrap().to_owned());
        domains.collect::<std::collections::BTreeSet<_>>()
    };
    for (query, expected) in [
        ("?topic=gmb", &["other.example"][..]),
        ("?topic=news", &["listed.example", "nytimes.com"]),
        ("?topic=media&country=KE", &["listed.example", "nytimes.com"]),
    ] {
        assert_eq!(named(query), expected.iter().map(|name| (*name).to_owned()).collect(), "{query}");
    }
    assert_eq!(list(&client, "?topic=gmb&country=UG")["total"], 0);
    let export = client.get("/data/incidents/export?format=jsonl&topic=GMB");
    assert!(export.text().lines().count() == 1 && export.text().contains("other.example"), "{}", export.text());
}

/// The world learns of changes to the list a little later.
fn list_until(client: &Client, query: &str, enough: impl Fn(u64) -> bool) -> Value {
    for _ in 0..200 {
        let body = list(client, query);
        if enough(body["total"].as_u64().unwrap()) {
            return body;
        }
        client.wait(std::time::Duration::from_millis(100));
    }
    panic!("{query} never has enough")
}

fn malformed_filters_are_400(suite: &Suite) {
    for query in [
        "limit=0",
        "limit=-1",
        "limit=ten",
        "limit=1.5",
        "offset=-1",
        "offset=x",
        "country=KEN",
        "country=K",
        "country=12",
        "status=over",
        "type=war",
        "severity=huge",
        "citable=maybe",
        "min_sources=-1",
        "min_sources=two",
        "since=soon",
        "since=2024-01-02&until=2024-01-01",
        "until=99",
        "domain=exa%20mple",
        "service=%20",
        "service=a%00b",
        "service=two%0Alines",
        &format!("service={}", "x".repeat(201)),
        "country=%ff",
    ] {
        suite.client().get(&format!("/data/incidents?{query}")).expect_error(400, "BAD_REQUEST");
    }
}

fn either_id_in_any_case_leads_to_the_incident(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    let first = client.get("/data/incidents/KE-2023-0001").expect(200);
    check_incident(&first);
    let hash = first["id"].as_str().unwrap();
    for id in ["ke-2023-0001", "Ke-2023-1", hash, &hash.to_uppercase(), "KE%2D2023-0001"] {
        assert_eq!(client.get(&format!("/data/incidents/{id}")).expect(200), first, "{id}");
    }
    assert_eq!(first["networks"].as_array().unwrap().len(), 3, "{first}");
    assert_eq!(first["evidenceCount"], 2);
    assert_eq!(first["evidence_ids"].as_array().unwrap().len(), 2);
}

fn unknown_incidents_are_404(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    for id in [
        "KE-2023-0002",
        "KE-2022-0001",
        "ZZ-2023-0001",
        "000000000000",
        "nonsense",
        "KE-2023",
        "%F0%9F%98%80",
        "-",
        "KE-2023-0001-1",
        "KE-2023-99999999999999999999",
    ] {
        client.get(&format!("/data/incidents/{id}")).expect_error(404, "NOT_FOUND");
    }
    client.get("/data/incidents/KE-2023-0001?version=2").expect_error(404, "NOT_FOUND");
    for version in ["0", "-1", "x", "1.0", "4294967296"] {
        client.get(&format!("/data/incidents/KE-2023-0001?version={version}")).expect_error(400, "BAD_REQUEST");
    }
}

fn a_version_never_changes(suite: &Suite) {
    let client = suite.client();
    let made = create(&client, &site("DE", "cited.example.org", "2024-02-01"));
    let path = format!("/data/incidents/{}?version=1", readable(&made));
    let cited = client.get(&path);
    assert!(made["citationUrl"].as_str().unwrap().ends_with(&path), "{made}");
    let change = json!({ "title": "Another title", "severity": "critical", "reason": "more is known" });
    let amended = client.admin().patch(&format!("/v1/admin/incidents/{}", readable(&made)), &change).expect(200);
    assert_eq!((&amended["version"], &amended["severity"]), (&json!(2), &json!("critical")));
    client
        .admin()
        .post(&format!("/v1/admin/incidents/{}/retract", readable(&made)), &json!({ "reason": "no" }))
        .expect(200);
    let again = client.get(&path);
    assert_eq!((again.status, &again.body, again.header("etag")), (200, &cited.body, cited.header("etag")));
    assert!(cited.header("cache-control").unwrap().contains("max-age=86400"));
    let second = client.get(&path.replace("=1", "=2")).expect(200);
    assert_eq!((&second["title"], &second["version"]), (&json!("Another title"), &json!(2)));
}

fn one_sentence_has_numbers_and_the_unknown_is_said(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    let kenya = client.get("/data/incidents/KE-2023-0001").expect(200);
    assert_eq!(kenya["summary"], "Telegram was blocked in Kenya on 3 networks, from 8 Nov 2023 to 24 Nov 2023.");
    assert_eq!(kenya["title"], "Telegram blocked in Kenya");
    let iran = client.get("/data/incidents/IR-2025-0001").expect(200);
    assert_eq!(iran["summary"], "nytimes.com is blocked in Iran, since 1 Mar 2025.");
    for incident in [kenya, iran] {
        let unknown = incident["notKnown"].as_array().unwrap();
        assert!(!unknown.is_empty() && unknown.iter().all(Value::is_string), "{incident}");
    }
}
