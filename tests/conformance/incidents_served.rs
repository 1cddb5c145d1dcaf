//! Incidents in other forms: evidence, reports, counts, exports, delta.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use heliograph_tests::client::Client;
use heliograph_tests::target::Kind;
use serde_json::{Value, json};

use crate::incidents::{check_incident, create, readable, site, telegram, with_three};
use crate::index::check_caching;
use crate::{Suite, cases};

cases![
    evidence_has_the_envelopes_of_both_generations,
    evidence_rows_lead_to_their_incidents,
    evidence_of_merged_incidents_stands_with_the_whole,
    reports_come_in_three_formats_whatever_is_accepted,
    unknown_report_formats_are_400,
    hostile_text_stays_text_in_every_form,
    stats_have_both_name_sets_and_nothing_null,
    stats_of_an_empty_deployment_are_zeros,
    exports_are_whole_in_three_formats,
    exports_have_more_than_a_page,
    the_delta_needs_a_time,
    the_delta_has_every_change_once_with_tombstones,
    the_delta_is_exact_while_others_write,
    everything_is_cached_by_its_tag,
    unknown_incidents_are_404_in_every_form,
    an_explanation_has_rules_history_and_verdicts,
];

const KENYA: &str = "/data/incidents/KE-2023-0001";

/// Asks until a published document is as wanted; natively and on the edge it may be a little late.
#[track_caller]
pub fn until(client: &Client, path: &str, wanted: impl Fn(&str) -> bool) -> String {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let answer = client.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        if wanted(answer.text()) {
            return answer.text().to_owned();
        }
        assert!(Instant::now() < end, "{path} stays {}", answer.text());
        client.wait(Duration::from_millis(100));
    }
}

fn evidence_has_the_envelopes_of_both_generations(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    let body = client.get(&format!("{KENYA}/evidence")).expect(200);
    let incident = client.get(KENYA).expect(200);
    assert_eq!((&body["incident_id"], &body["incidentId"]), (&incident["id"], &incident["id"]));
    assert_eq!((&body["count"], &body["evidenceCount"]), (&json!(2), &json!(2)));
    let rows = body["evidence"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    // It rests on no measurements of this deployment.
    assert_eq!((&body["listed"], &body["note"], &body["measurements"]), (&json!(2), &Value::Null, &json!([])));
    for row in rows {
        for name in ["id", "source", "kind", "sourceRef", "observedAt", "retrievedAt", "license"] {
            assert!(row[name].is_string(), "{name}: {row}");
        }
        assert!((0.0..=1.0).contains(&row["confidence"].as_f64().unwrap()), "{row}");
        assert!(row["permalink"].as_str().unwrap().starts_with("https://"), "{row}");
        for name in ["sourceUrl", "signalType", "domain", "asn"] {
            assert!(row.get(name).is_some(), "{name} is there, null or not: {row}");
        }
    }
    assert_eq!((&rows[0]["source"], &rows[0]["asn"]), (&json!("ooni"), &json!("AS33771")), "oldest first");
    let corroboration = &body["corroboration"];
    assert_eq!((&corroboration["independentSources"], &corroboration["sampledSources"]), (&json!(2), &json!(2)));
    assert_eq!(corroboration["sources"], json!(["newsroom", "ooni"]));
    assert!(corroboration.to_string().len() < 2_048);
    assert_eq!(body["license"], "CC-BY-NC-SA-4.0");
    let none = client.get("/data/incidents/IR-2025-0001/evidence").expect(200);
    assert_eq!((&none["evidence"], &none["count"]), (&json!([]), &json!(0)));
    // The same rows in pages.
    assert_eq!((&body["has_more"], &body["next_cursor"]), (&json!(false), &Value::Null));
    let first = client.get(&format!("{KENYA}/evidence?limit=1")).expect(200);
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = client.get(&format!("{KENYA}/evidence?limit=1&cursor={cursor}")).expect(200);
    assert_eq!((&first["evidence"][0], &second["evidence"][0]), (&rows[0], &rows[1]));
    assert_eq!((&first["count"], &second["has_more"]), (&json!(2), &json!(false)));
    let table = client.get(&format!("{KENYA}/evidence?limit=1&format=csv"));
    let next = table.header("link").and_then(|link| link.strip_prefix('<')?.split_once('>')).unwrap().0;
    let second_row = client.get(next).text().lines().nth(1).unwrap().to_owned();
    assert!(second_row.starts_with(rows[1]["id"].as_str().unwrap()), "{second_row}");
    client.get(&format!("{KENYA}/evidence?cursor=nowhere")).expect_error(400, "BAD_REQUEST");
}

fn evidence_rows_lead_to_their_incidents(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    let rows = client.get(&format!("{KENYA}/evidence")).expect(200);
    for row in rows["evidence"].as_array().unwrap() {
        let id = row["id"].as_str().unwrap();
        let page = client.get(&format!("/data/evidence/{}", id.to_uppercase())).expect(200);
        assert_eq!((&page["id"], &page["permalink"]), (&row["id"], &row["permalink"]));
        assert_eq!((&page["country"], &page["incident_ids"]), (&json!("KE"), &json!(["KE-2023-0001"])));
        assert_eq!((&page["signal_type"], &page["signalType"]), (&row["signalType"], &row["signalType"]));
    }
    for id in ["0123456789abcdef", "x", "%20", "KE-2023-0001"] {
        client.get(&format!("/data/evidence/{id}")).expect_error(404, "NOT_FOUND");
    }
}

fn evidence_of_merged_incidents_stands_with_the_whole(suite: &Suite) {
    let client = suite.client();
    let mut part = telegram();
    part["country"] = json!("UG");
    let part = create(&client, &part);
    let whole = create(&client, &site("UG", "whole.example.org", "2023-11-01"));
    let body = json!({ "into": whole["id"], "reason": "one order" });
    client.admin().post(&format!("/v1/admin/incidents/{}/merge", readable(&part)), &body).expect(200);
    let evidence = client.get(&format!("/data/incidents/{}/evidence", readable(&part))).expect(200);
    assert_eq!((&evidence["readableId"], &evidence["count"]), (&whole["readableId"], &json!(2)));
    assert_eq!(evidence["evidence"].as_array().unwrap().len(), 2);
    let shown = client.get(&format!("/data/incidents/{}", readable(&whole))).expect(200);
    for (member, of) in [("affectedServices", &part), ("affectedAsns", &part), ("affectedDomains", &whole)] {
        let (all, of) = (shown[member].as_array().unwrap(), of[member].as_array().unwrap());
        assert!(!of.is_empty() && of.iter().all(|one| all.contains(one)), "{member}: {shown}");
    }
    assert_eq!(shown["startTime"], whole["startTime"].as_str().min(part["startTime"].as_str()).unwrap());
}

fn reports_come_in_three_formats_whatever_is_accepted(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    let path = format!("{KENYA}/report");
    for (query, content_type, begins, holds) in [
        (
            "",
            "text/markdown; charset=utf-8",
            "# Telegram blocked in Kenya (KE-2023-0001)",
            "https://explorer.ooni.org/m/",
        ),
        ("?format=markdown", "text/markdown; charset=utf-8", "# ", "| Country | Kenya (KE) |"),
        ("?format=bibtex", "application/x-bibtex", "@misc{", "title = {{Telegram blocked in Kenya}}"),
        ("?format=RIS", "application/x-research-info-systems", "TY  - ELEC\r\n", "TI  - Telegram blocked in Kenya\r\n"),
    ] {
        for accept in ["text/markdown", "text/plain", "application/json", "image/png"] {
            let answer = client.with("accept", accept).get(&format!("{path}{query}"));
            assert_eq!(answer.status, 200, "{query} {accept}");
            assert!(answer.header("content-type").unwrap().starts_with(content_type), "{query}");
            assert!(answer.text().starts_with(begins) && answer.text().contains(holds), "{}", answer.text());
            assert!(answer.text().contains("KE-2023-0001"), "{}", answer.text());
        }
    }
    let markdown = client.get(&path);
    for section in
        ["Description", "Affected", "Methods", "What is not known", "Evidence (2 of 2)", "Citation", "License"]
    {
        let there = markdown.text().contains(&format!("## {section}"));
        assert_eq!(there, section != "Description", "{section}: without a text there is no section of it");
    }
    // The year is that of the event, not of its last change.
    assert!(markdown.text().contains(" (2023): Telegram blocked in Kenya."), "{}", markdown.text());
    assert!(client.get(&format!("{path}?format=bibtex")).text().contains("year = {2023}"));
    let ris = client.get(&format!("{path}?format=ris"));
    assert!(ris.text().contains("PY  - 2023\r\n"), "{}", ris.text());
    let tags: Vec<&str> = ris.text().lines().map(|line| line.get(..6).unwrap()).collect();
    assert!(tags.iter().all(|tag| tag.ends_with("  - ")), "{tags:?}");
    assert_eq!((tags.first(), tags.last()), (Some(&"TY  - "), Some(&"ER  - ")));
}

fn unknown_report_formats_are_400(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    for format in ["pdf", "html", "json", "markdown,ris", "%00"] {
        client.get(&format!("{KENYA}/report?format={format}")).expect_error(400, "BAD_REQUEST");
        client.get(&format!("/data/incidents/export?format={format}x")).expect_error(400, "BAD_REQUEST");
    }
}

pub const HOSTILE: &str = "=cmd|' /C calc'!A0 <script>alert(1)</script> ]]> & \"x\" [a](javascript:b) } \\input{x} %";

fn hostile_text_stays_text_in_every_form(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let mut wanted = site("KE", "hostile.example.org", "2024-01-01");
    wanted["title"] = json!(HOSTILE);
    wanted["description"] = json!(format!("{HOSTILE}\nER  - \nTY  - JOUR\n\n# Heading\n<img src=x onerror=y>"));
    create(&client, &wanted);
    let path = "/data/incidents/KE-2024-0001/report?format=";
    let markdown = client.get(&format!("{path}markdown"));
    assert!(!markdown.text().contains("<script") && !markdown.text().contains("<img"), "{}", markdown.text());
    assert!(!markdown.text().contains("[a](") && !markdown.text().contains("\n# Heading"), "{}", markdown.text());
    let bibtex = client.get(&format!("{path}bibtex"));
    let mut depth = 0i32;
    for c in bibtex.text().chars() {
        // BibTeX counts escaped braces too.
        depth += i32::from(c == '{') - i32::from(c == '}');
        assert!(depth >= 0, "{}", bibtex.text());
    }
    assert_eq!(depth, 0, "{}", bibtex.text());
    assert!(!bibtex.text().contains("\\input"), "{}", bibtex.text());
    let ris = client.get(&format!("{path}ris"));
    assert_eq!(ris.text().matches("TY  - ").count(), 1, "{}", ris.text());
    assert_eq!(ris.text().lines().filter(|line| line.starts_with("ER  - ")).count(), 1, "{}", ris.text());
    let csv = client.get("/data/incidents/export?format=csv");
    assert!(csv.text().contains("\"'=cmd|' /C calc'!A0"), "{}", csv.text());
}

fn check_stats(body: &Value) {
    for name in [
        "total",
        "citable_censorship",
        "citable_with_evidence",
        "citable_multi_source",
        "total_evidence",
        "totalIncidents",
        "totalEvidence",
    ] {
        assert!(body[name].is_u64(), "{name}: {body}");
    }
    for name in ["evidence_by_source", "bySeverity", "byCountry", "bySource"] {
        assert!(body[name].as_object().unwrap().values().all(Value::is_u64), "{name}: {body}");
    }
    assert!(body["citable_breakdown_note"].is_string() && body["date_range"].is_object(), "{body}");
    assert!(!body.to_string().contains("null"), "{body}");
    assert_eq!((&body["total"], &body["total_evidence"]), (&body["totalIncidents"], &body["totalEvidence"]));
    let sum: u64 = body["evidence_by_source"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(body["total_evidence"], sum, "{body}");
}

fn stats_have_both_name_sets_and_nothing_null(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    let mut answers = Vec::new();
    for path in ["/data/incidents/stats", "/v1/censorship-index/incidents/stats"] {
        let text = until(&client, path, |text| text.contains("\"total\":3"));
        let body: Value = serde_json::from_str(&text).unwrap();
        check_stats(&body);
        answers.push(body);
    }
    assert_eq!(answers[0], answers[1]);
    let body = &answers[0];
    assert_eq!((&body["citable_censorship"], &body["citable_with_evidence"]), (&json!(2), &json!(1)));
    assert_eq!((&body["citable_multi_source"], &body["total_evidence"]), (&json!(1), &json!(2)));
    assert_eq!(body["evidence_by_source"], json!({ "newsroom": 1, "ooni": 1 }));
    assert_eq!(body["bySource"], body["evidence_by_source"]);
    assert!(body["incidentsBySource"].as_object().is_some_and(|counts| !counts.is_empty()), "{body}");
    assert_eq!(body["bySeverity"], json!({ "low": 1, "medium": 0, "high": 1, "critical": 1 }));
    assert_eq!(body["byCountry"], json!({ "IR": 1, "KE": 2 }));
    assert_eq!(body["license"], "CC-BY-NC-SA-4.0", "of the incidents and their evidence");
    assert_eq!(body["date_range"], json!({ "first": "2023-11-08T00:00:00.000Z", "last": "2025-03-01T00:00:00.000Z" }));
}

fn stats_of_an_empty_deployment_are_zeros(suite: &Suite) {
    let target = suite.fresh(&[]);
    let body = target.client().get("/data/incidents/stats").expect(200);
    check_stats(&body);
    assert_eq!((&body["total"], &body["byCountry"]), (&json!(0), &json!({})));
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn exports_are_whole_in_three_formats(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    let json = client.get("/data/incidents/export");
    assert_eq!((json.header("content-type"), json.header("content-disposition")), (Some("application/json"), None));
    let body = json.expect(200);
    assert_eq!((&body["count"], &body["license"]), (&json!(3), &json!("CC-BY-NC-SA-4.0")));
    assert!(body["generated_at_utc"].is_string() && body["dataset_version"].is_string(), "{body}");
    let rows = body["incidents"].as_array().unwrap();
    rows.iter().for_each(check_incident);
    let jsonl = client.get("/data/incidents/export?format=jsonl");
    assert_eq!(jsonl.header("content-type"), Some("application/x-ndjson"));
    assert_eq!(jsonl.header("content-disposition"), Some("attachment; filename=\"incidents.jsonl\""));
    assert_eq!(&lines(jsonl.text()), rows);
    let csv = client.get("/data/incidents/export?format=csv&country=ke");
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    assert_eq!(csv.header("content-disposition"), Some("attachment; filename=\"incidents-KE.csv\""));
    let head = "id,readable_id,country,country_name,title,severity,incident_type,status,confidence,start_time,end_time,\
                created_at,updated_at,sources,affected_domains,affected_asns,blocking_methods,evidence_count,report_url";
    assert!(csv.text().starts_with(head), "{}", csv.text());
    assert_eq!(csv.text().lines().count(), 3, "{}", csv.text());
    let kenya = csv.text().lines().find(|line| line.contains("KE-2023-0001")).unwrap();
    assert!(kenya.contains(",Kenya,Telegram blocked in Kenya,high,censorship,resolved,0.8,"), "{kenya}");
    assert!(kenya.contains(",AS12455;AS33771;AS37061,"), "{kenya}");
    let page = client.get("/data/incidents?format=csv&country=ke&limit=1");
    assert_eq!(page.header("content-type"), Some("text/csv; charset=utf-8"));
    assert!(page.text().starts_with(head) && page.text().lines().count() == 2, "a page of the list: {}", page.text());
    let evidence = client.get(&format!("{KENYA}/evidence?format=csv"));
    assert_eq!(evidence.header("content-type"), Some("text/csv; charset=utf-8"));
    assert!(evidence.text().starts_with("id,source,kind,signalType,permalink,"), "{}", evidence.text());
    for table in [&csv, &page, &evidence] {
        assert_eq!(table.text().matches('\n').count(), table.text().matches("\r\n").count(), "RFC 4180");
    }
    let some = client.get("/data/incidents/export?format=jsonl&severity=critical&country=KE");
    assert_eq!(lines(some.text()).len(), 1, "the list's filters hold");
    client.get("/data/incidents/export?country=KEN").expect_error(400, "BAD_REQUEST");
    assert_eq!(client.get("/data/incidents/export?country=SE").expect(200)["count"], 0);
}

fn exports_have_more_than_a_page(suite: &Suite) {
    let client = suite.prepared("many incidents", crate::incidents::many);
    let body = client.get("/data/incidents/export").expect(200);
    let ids: BTreeSet<&str> = body["incidents"].as_array().unwrap().iter().map(readable).collect();
    assert_eq!((ids.len(), &body["count"]), (201, &json!(201)));
    assert_eq!(lines(client.get("/data/incidents/export?format=jsonl&country=NO").text()).len(), 201);
    assert_eq!(client.get("/data/incidents/export?format=csv").text().lines().count(), 202);
}

fn the_delta_needs_a_time(suite: &Suite) {
    for query in ["", "?since=", "?since=yesterday", "?since=2024-13-01", "?limit=5", "?since=2024-01-01&limit=0"] {
        suite.client().get(&format!("/data/incidents/delta{query}")).expect_error(400, "BAD_REQUEST");
    }
}

fn delta(client: &Client, since: &str) -> Value {
    let body = client.get(&format!("/data/incidents/delta?since={since}")).expect(200);
    let rows = body["incidents"].as_array().unwrap();
    assert_eq!(body["count"], rows.len(), "{body}");
    for row in rows {
        check_incident(row);
        assert!(["created", "updated", "merged", "retracted"].contains(&row["change"].as_str().unwrap()), "{row}");
    }
    let order: Vec<&str> = rows.iter().map(|row| row["updatedAt"].as_str().unwrap()).collect();
    assert!(order.windows(2).all(|pair| pair[0] < pair[1]), "strictly increasing: {order:?}");
    if let Some(last) = order.last() {
        assert_eq!(body["next_since"], *last, "the cursor is `updatedAt`: {body}");
    }
    body
}

fn changes(body: &Value) -> Vec<(String, String)> {
    let rows = body["incidents"].as_array().unwrap().iter();
    rows.map(|row| (readable(row).to_owned(), row["change"].as_str().unwrap().to_owned())).collect()
}

fn the_delta_has_every_change_once_with_tombstones(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let admin = client.admin();
    let start = delta(&client, "1970-01-01");
    assert_eq!((&start["count"], &start["has_more"]), (&json!(0), &json!(false)));
    for n in 1..=4 {
        create(&client, &site("KE", &format!("d{n}.example.org"), "2024-01-01"));
    }
    let first = delta(&client, "1970-01-01T00:00:00Z");
    let all = |words: [&str; 4]| -> Vec<(String, String)> {
        (1..).zip(words).map(|(n, word)| (format!("KE-2024-000{n}"), word.to_owned())).collect()
    };
    assert_eq!(changes(&first), all(["created"; 4]));
    // The same in pages of one: incidents that this reader has not seen are new to it.
    let mut since = "1970-01-01".to_owned();
    for n in 1..=4 {
        let page = client.get(&format!("/data/incidents/delta?since={since}&limit=1")).expect(200);
        assert_eq!(changes(&page), [(format!("KE-2024-000{n}"), "created".to_owned())]);
        since = page["next_since"].as_str().unwrap().to_owned();
    }
    let cursor = first["next_since"].as_str().unwrap();
    assert_eq!(delta(&client, cursor)["count"], 0);
    assert_eq!(delta(&client, cursor)["next_since"], cursor, "an empty answer keeps the cursor");
    let path = |n: u32, deed: &str| format!("/v1/admin/incidents/KE-2024-000{n}{deed}");
    admin.post(&path(3, "/retract"), &json!({ "reason": "a fault" })).expect(200);
    admin.patch(&path(1, ""), &json!({ "severity": "high", "reason": "grew" })).expect(200);
    admin.post(&path(2, "/merge"), &json!({ "into": "KE-2024-0001", "reason": "one cause" })).expect(200);
    let since = delta(&client, cursor);
    let expected = [("KE-2024-0003", "retracted"), ("KE-2024-0001", "updated"), ("KE-2024-0002", "merged")];
    assert_eq!(changes(&since), expected.map(|(id, change)| (id.to_owned(), change.to_owned())));
    assert_eq!(since["incidents"][0]["retracted"], "a fault");
    assert_eq!(since["incidents"][2]["mergedInto"], "KE-2024-0001");
    let paged = client.get(&format!("/data/incidents/delta?since={cursor}&limit=2")).expect(200);
    assert_eq!((&paged["count"], &paged["has_more"]), (&json!(2), &json!(true)));
    let rest = delta(&client, paged["next_since"].as_str().unwrap());
    assert_eq!((&rest["count"], &rest["has_more"]), (&json!(1), &json!(false)));
}

/// Decision incident-ids: `updatedAt` is strictly increasing and equals the delta cursor. A reader follows it in small
/// pages while others create, amend, merge and withdraw incidents. It gets every incident, none twice in the same
/// version, and ends with the same data as everybody else.
fn the_delta_is_exact_while_others_write(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    const WRITERS: usize = 4;
    const EACH: usize = 12;
    let write = |client: &Client, writer: usize| {
        let admin = client.admin();
        let mut first = None;
        for n in 0..EACH {
            let made = create(client, &site("KE", &format!("w{writer}-{n}.example.org"), "2024-01-01"));
            let path = format!("/v1/admin/incidents/{}", readable(&made));
            let into = first.get_or_insert_with(|| readable(&made).to_owned());
            match n % 4 {
                1 => admin.patch(&path, &json!({ "severity": "high", "reason": "grew" })),
                2 => admin.post(&format!("{path}/retract"), &json!({ "reason": "a fault" })),
                3 => admin.post(&format!("{path}/merge"), &json!({ "into": into, "reason": "one cause" })),
                _ => continue,
            }
            .expect(200);
        }
    };
    // The reader's copy: the newest version of each id, and how often each version came.
    let mut copy: BTreeMap<String, Value> = BTreeMap::new();
    let mut cursor = "1970-01-01T00:00:00Z".to_owned();
    let read = |cursor: &mut String, copy: &mut BTreeMap<String, Value>| loop {
        let body = client.get(&format!("/data/incidents/delta?since={cursor}&limit=5")).expect(200);
        for row in body["incidents"].as_array().unwrap() {
            let before = copy.insert(readable(row).to_owned(), row.clone());
            let version = |row: &Value| row["version"].as_u64().unwrap();
            assert!(before.as_ref().is_none_or(|before| version(before) < version(row)), "twice: {row}");
            // The reverse is possible: an incident that was made before the cursor and changed since is new to a reader
            // that missed it.
            assert!(row["change"] != "created" || before.is_none(), "{row}");
        }
        *cursor = body["next_since"].as_str().unwrap().to_owned();
        if body["has_more"] == false {
            break;
        }
    };
    if suite.kind == Kind::Memory {
        // In memory nothing is concurrent: reads come between writes.
        for writer in 0..WRITERS {
            write(&client, writer);
            read(&mut cursor, &mut copy);
        }
    } else {
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let client = client.clone();
                    scope.spawn(move || write(&client, writer))
                })
                .collect();
            while writers.iter().any(|writer| !writer.is_finished()) {
                read(&mut cursor, &mut copy);
            }
        });
        read(&mut cursor, &mut copy);
    }
    assert_eq!(copy.len(), WRITERS * EACH, "nothing is skipped");
    let all = delta(&client, "1970-01-01");
    for row in all["incidents"].as_array().unwrap() {
        let mine = &copy[readable(row)];
        for name in ["version", "updatedAt", "severity", "retracted", "mergedInto", "mergedFrom"] {
            assert_eq!(mine[name], row[name], "{name} of {row}");
        }
    }
    let shown: BTreeSet<String> = lines(client.get("/data/incidents/export?format=jsonl").text())
        .iter()
        .map(|row| readable(row).to_owned())
        .collect();
    let mine = copy.values().filter(|row| row["retracted"].is_null() && row["mergedInto"].is_null());
    assert_eq!(mine.map(|row| readable(row).to_owned()).collect::<BTreeSet<_>>(), shown);
}

fn everything_is_cached_by_its_tag(suite: &Suite) {
    let client = suite.prepared("incidents", with_three);
    until(&client, "/data/incidents/feed.rss", |text| text.contains("KE-2024-0001"));
    until(&client, "/data/incidents/feed.atom", |text| text.contains("KE-2024-0001"));
    until(&client, "/data/incidents/stats", |text| text.contains("\"total\":3"));
    for (path, content_type) in [
        ("/data/incidents/stats".to_owned(), "application/json"),
        ("/v1/censorship-index/incidents/stats".to_owned(), "application/json"),
        ("/data/incidents/feed.rss".to_owned(), "application/rss+xml"),
        ("/data/incidents/feed.atom".to_owned(), "application/atom+xml"),
        (format!("{KENYA}/evidence"), "application/json"),
        (format!("{KENYA}/report"), "text/markdown"),
        (format!("{KENYA}/report?format=ris&version=1"), "application/x-research-info-systems"),
        ("/data/incidents/delta?since=2020-01-01".to_owned(), "application/json"),
    ] {
        check_caching(&client, &path, content_type);
    }
    let export = client.get("/data/incidents/export?format=csv");
    let tag = export.header("etag").unwrap();
    let again = client.with("if-none-match", tag).get("/data/incidents/export?format=csv");
    assert_eq!((again.status, again.body.len()), (304, 0));
    assert_eq!(client.with("if-none-match", tag).get("/data/incidents/export?format=jsonl").status, 200);
}

fn unknown_incidents_are_404_in_every_form(suite: &Suite) {
    for id in ["KE-1999-0001", "ffffffffffff", "nonsense"] {
        for form in ["evidence", "report", "report?format=bibtex", "evidence?version=1"] {
            suite.client().get(&format!("/data/incidents/{id}/{form}")).expect_error(404, "NOT_FOUND");
        }
    }
}

fn an_explanation_has_rules_history_and_verdicts(suite: &Suite) {
    use heliograph_tests::synthetic::{COUNTRY, INSIDE, SITE};
    let target = suite.fresh(&[]);
    let client = target.client();
    crate::detect::with_blocked_site(&client);
    let mut wanted = site(COUNTRY, SITE, "2023-01-01");
    wanted["end"] = json!(INSIDE);
    let made = create(&client, &wanted);
    let path = format!("/data/incidents/{}", readable(&made));
    assert!(client.get(&path).expect(200).get("explain").is_none());
    let explain = &client.get(&format!("{path}?explain=1")).expect(200)["explain"];
    // The data show the same, and may have added to it by now. The first version is the oldest.
    let first = explain["history"].as_array().unwrap().last().unwrap();
    assert_eq!(first["action"], "created", "{explain}");
    assert_eq!((&first["by"], &first["reason"]), (&json!("operator"), &json!("seen")));
    for name in ["severityRule", "statusRule", "confidenceRule", "asOf"] {
        assert!(explain[name].is_string(), "{name}: {explain}");
    }
    let verdict = &explain["verdicts"][0];
    assert_eq!(verdict["subject"], SITE, "{explain}");
    let role = &verdict["explanation"]["roles"][0];
    assert_eq!(role["networks"][0]["status"], "blocked", "{role}");
    assert!(role["rules"][0]["rule"].is_string() && role["rules"][0]["log10_lr"].is_number(), "{role}");
    assert!(role["networks"][0]["weight"].is_number(), "{role}");
    assert!(role["witnesses"].as_array().unwrap().iter().all(|witness| witness["link"].is_string()), "{role}");
    client.get(&format!("{path}?explain=perhaps")).expect_error(400, "BAD_REQUEST");
}
