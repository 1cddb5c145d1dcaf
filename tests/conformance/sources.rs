//! Sources of events and counts, remote measurements, and the list of sources (decisions order-of-data, import-counts,
//! country-of-networks, licence-and-removal, addresses-discarded and dumps-and-recompute).

use std::time::Duration;

use heliograph_tests::client::Client;
use heliograph_tests::data;
use serde_json::{Value, json};

use crate::detect::research;
use crate::{Suite, cases};

cases![
    a_shutdown_table_is_counted_and_importing_it_again_changes_nothing,
    dropping_a_source_of_events_removes_it_and_nothing_else,
    remote_vantage_points_speak_for_a_country_and_form_no_network,
    an_answer_without_rows_is_an_import_of_nothing,
    a_day_that_has_not_begun_has_no_counts,
    counts_of_days_never_become_votes,
    a_dump_names_the_source_of_each_row_and_the_licence_in_force,
    signatures_of_block_pages_are_imported_by_the_name_of_their_file,
    the_list_of_sources_has_licence_counts_and_errors,
    real_events_and_counts_are_read_twice_with_the_same_end,
];

const STOP: &str = "start_date,country,geo_scope,area_name,shutdown_type,shutdown_extent,ordered_by,end_date,\
    actual_cause,count_year\n\
    2023-03-01,Iran,,Tehran,Shutdown,Full network,Military,2023-03-04,Protests,2023\n\
    2021-01-10,Laos; Myanmar,,,Shutdown,Full network,,2021-01-12,Elections,2021\n\
    2021-05-02,India,,,Shutdown,Full network,,2021-05-01,Other,2021\n";
const RADAR: &str = r#"{"success":true,"result":{"annotations":[{"id":"550","asns":[44244],"locations":["IR"],
    "eventType":"OUTAGE","startDate":"2023-08-21T01:00:00Z","endDate":"2023-08-21T05:00:00Z",
    "outage":{"outageCause":"GOVERNMENT_DIRECTED","outageType":"NATIONWIDE"}}]}}"#;
/// An address that must not be in any answer (decision addresses-discarded).
const VANTAGE: &str = "198.51.100.";

/// The row of a source in `/data/sources`; effects may take a moment.
fn source(client: &Client, id: &str, done: impl Fn(&Value) -> bool) -> Value {
    let mut row = Value::Null;
    for _ in 0..80 {
        let body = client.get("/data/sources").expect(200);
        let rows = body["sources"].as_array().unwrap();
        assert_eq!(body["count"], rows.len(), "{body}");
        row = rows.iter().find(|row| row["id"] == id).unwrap_or(&Value::Null).clone();
        if done(&row) {
            return row;
        }
        client.wait(Duration::from_millis(250));
    }
    panic!("{id} never came so far: {row}");
}

fn five(counts: &heliograph_core::facts::measurement::ImportCounts) -> [u64; 5] {
    [counts.accepted, counts.duplicate, counts.unsupported, counts.unusable, counts.refused]
}

fn a_shutdown_table_is_counted_and_importing_it_again_changes_nothing(suite: &Suite) {
    let target = suite.fresh(&[]);
    let admin = target.client().admin();
    let dry = data::send(&admin, "shutdowns", "?dry_run=true", STOP.as_bytes());
    assert_eq!(five(&dry), [2, 0, 0, 1, 0], "{dry:?}");
    let first = data::send(&admin, "shutdowns", "", STOP.as_bytes());
    assert_eq!(five(&first), [2, 0, 0, 1, 0], "a dry run stored nothing: {first:?}");
    assert_eq!(first.reasons.get("end_before_start"), Some(&1));
    let row = source(&admin, "access-now", |row| row["rows"] == 3);
    let again = data::send(&admin, "shutdowns", "", STOP.as_bytes());
    assert_eq!(five(&again), [0, 2, 0, 1, 0], "{again:?}");
    let after = source(&admin, "access-now", |row| row["lastImport"]["duplicate"] == 2);
    for name in ["rows", "countries", "lastSeen"] {
        assert_eq!(row[name], after[name], "{name}");
    }
    let only = data::send(&admin, "shutdowns", "?country=MM", STOP.as_bytes());
    assert_eq!(only.lines(), 3, "{only:?}");
}

fn dropping_a_source_of_events_removes_it_and_nothing_else(suite: &Suite) {
    let target = suite.fresh(&[]);
    let admin = target.client().admin();
    data::send(&admin, "shutdowns", "", STOP.as_bytes());
    let radar = data::send(&admin, "radar", "", RADAR.as_bytes());
    assert_eq!(five(&radar), [1, 0, 0, 0, 0], "{radar:?}");
    source(&admin, "cloudflare-radar", |row| row["rows"] == 1);
    source(&admin, "access-now", |row| row["rows"] == 3);
    admin.send("DELETE", "/v1/admin/sources/access-now", None, b"").expect(200);
    let gone = source(&admin, "access-now", |row| row["rows"] == 0);
    assert_eq!((&gone["countries"], &gone["lastSeen"], &gone["freshness"]), (&json!(0), &Value::Null, &json!("none")));
    for _ in 0..120 {
        if admin.get("/v1/admin/sources/access-now").expect(200)["complete"] == true {
            break;
        }
        admin.wait(Duration::from_millis(250));
    }
    let state = admin.get("/v1/admin/sources/access-now").expect(200);
    assert_eq!((&state["complete"], &state["handled"]), (&json!(true), &json!(3)), "{state}");
    assert_eq!(source(&admin, "cloudflare-radar", |_| true)["rows"], 1);
    let again = data::send(&admin, "shutdowns", "", STOP.as_bytes());
    assert_eq!(five(&again), [2, 0, 0, 1, 0], "what was removed is new when it comes again: {again:?}");
}

/// Six vantage points a day on three days, all of them reset.
fn remote(country: &str) -> String {
    let mut lines = String::new();
    for day in 10..13 {
        for vantage in 1..7 {
            lines.push_str(&format!(
                "{{\"vp\":\"{VANTAGE}{vantage}\",\"location\":{{\"country_code\":\"{country}\"}},\"service\":\"http\",\
                 \"test_url\":\"news.example\",\"response\":[{{\"matches_template\":true,\"control_url\":\"c.example\",\
                 \"start_time\":\"2024-05-{day}T0{vantage}:00:00Z\"}},{{\"matches_template\":false,\"error\":\"read tcp: \
                 connection reset by peer\"}}],\"anomaly\":true,\"controls_failed\":false}}\n"
            ));
        }
    }
    lines
}

fn remote_vantage_points_speak_for_a_country_and_form_no_network(suite: &Suite) {
    let target = suite.fresh(&[]);
    let (client, admin) = (target.client(), target.client().admin());
    let counts = data::send(&admin, "censored-planet", "", remote("TR").as_bytes());
    assert_eq!(five(&counts), [18, 0, 0, 0, 0], "{counts:?}");
    let again = data::send(&admin, "censored-planet", "", remote("TR").as_bytes());
    assert_eq!(five(&again), [0, 18, 0, 0, 0], "{again:?}");
    let question = json!({
        "country": "TR", "target": "news.example", "includeISPs": true, "as_of": "2024-05-12T23:00:00Z"
    });
    let answer = research(&client).post("/hydra/v1/detect", &question).expect(200);
    assert_eq!((&answer["status"], &answer["basis"]), (&json!("blocked"), &json!("measured")), "{answer}");
    assert_eq!((&answer["isps"], &answer["sources"]), (&json!([]), &json!(["censoredplanet"])), "{answer}");
    assert_eq!(answer["evidenceCount"], 18, "{answer}");
    assert_eq!(answer["confidence"], answer["pBlocked"], "{answer}");
    assert_eq!(answer["networksTested"], 0, "{answer}");
    assert!(!answer.to_string().contains(VANTAGE), "{answer}");
}

fn a_dump_names_the_source_of_each_row_and_the_licence_in_force(suite: &Suite) {
    let target = suite.fresh(&[("source_licences", "censoredplanet=LicenseRef-ours")]);
    let (client, admin) = (target.client(), target.client().admin());
    data::send(&admin, "censored-planet", "", remote("TR").as_bytes());
    let text = client.get("/data/dumps/TR-2024-05.jsonl").text().to_owned();
    let row: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert_eq!((&row["source"], &row["license"]), (&json!("censoredplanet"), &json!("LicenseRef-ours")), "{row}");
    assert_eq!((&row["asn"], &row["measurements"], &row["blocked"]), (&json!(0), &json!(18), &json!(18)), "{row}");
    assert!(!text.contains(VANTAGE), "{text}");
    let codebook = client.get("/data/dumps/codebook.json").expect(200);
    let named = codebook["sources"].as_array().unwrap().iter().find(|source| source["id"] == "censoredplanet").unwrap();
    assert_eq!(
        (&named["name"], &named["license"]),
        (&json!("Censored Planet"), &json!("LicenseRef-ours")),
        "{codebook}"
    );
}

fn signatures_of_block_pages_are_imported_by_the_name_of_their_file(suite: &Suite) {
    let target = suite.fresh(&[]);
    let (client, admin) = (target.client(), target.client().admin());
    let line = |name: &str, pattern: &str| json!({ "fingerprint": name, "pattern": pattern }).to_string() + "\n";
    let blocked = line("b_nat_tr_order", "closed by order \\(5651\\)\\.");
    let trusted = line("x_fpru_park", "this domain is parked");
    let path = "/v1/admin/import/fingerprints";
    admin.send("POST", path, None, blocked.as_bytes()).expect_error(400, "BAD_REQUEST");
    for (list, text) in [("blockpage_signatures", &blocked), ("false_positive_signatures", &trusted)] {
        let counts = data::send(&admin, "fingerprints", &format!("?list={list}"), text.as_bytes());
        assert_eq!(five(&counts), [1, 0, 0, 0, 0], "{counts:?}");
        let again = data::send(&admin, "fingerprints", &format!("?list={list}"), text.as_bytes());
        assert_eq!(five(&again), [0, 1, 0, 0, 0], "{again:?}");
    }
    // A page that differs from the template is a block only if a signature confirms it.
    let page = |host: &str, vantage: u32, hour: u32, page: &str| {
        json!({
            "vp": format!("{VANTAGE}{vantage}"), "location": { "country_code": "TR" }, "service": "http", "test_url": host,
            "response": [{ "matches_template": false, "response": page, "start_time": format!("2024-05-10T{hour:02}:00:00Z") }],
            "anomaly": true, "controls_failed": false,
        })
        .to_string()
            + "\n"
    };
    let lines: String = (1..7)
        .flat_map(|n| {
            [("a.example", "<p>closed by order (5651).</p>"), ("b.example", "this domain is parked")].map(|p| (n, p))
        })
        .map(|(n, (host, text))| page(host, n, n * 2, text))
        .collect();
    let counts = data::send(&admin, "censored-planet", "", lines.as_bytes());
    assert_eq!(five(&counts), [12, 0, 0, 0, 0], "{counts:?}");
    for (host, status) in [("a.example", "blocked"), ("b.example", "unknown")] {
        let question = json!({ "country": "TR", "target": host, "as_of": "2024-05-10T23:00:00Z" });
        let answer = research(&client).post("/hydra/v1/detect", &question).expect(200);
        assert_eq!(answer["status"], status, "{host}: {answer}");
    }
}

fn an_answer_without_rows_is_an_import_of_nothing(suite: &Suite) {
    let target = suite.fresh(&[]);
    let admin = target.client().admin();
    for (kind, answer) in [
        ("radar", r#"{"success":true,"result":{"annotations":[]}}"#),
        ("ioda", r#"{"type":"outages.events","error":null,"data":[]}"#),
        ("ooni-aggregation", r#"{"v":0,"result":[]}"#),
        ("shutdowns", "start_date,country\n"),
    ] {
        let counts = data::send(&admin, kind, "", answer.as_bytes());
        assert_eq!((five(&counts), counts.reasons.len()), ([0; 5], 0), "{kind}: {counts:?}");
    }
    for (kind, answer) in [
        ("radar", r#"{"success":true,"result":{}}"#),
        ("ioda", r#"{"data":null}"#),
        ("ooni-aggregation", r#"{"result":null}"#),
    ] {
        let counts = data::send(&admin, kind, "", answer.as_bytes());
        assert_eq!(five(&counts), [0, 0, 0, 0, 1], "{kind}: {counts:?}");
    }
}

fn a_day_that_has_not_begun_has_no_counts(suite: &Suite) {
    let target = suite.fresh(&[]);
    let (client, admin) = (target.client(), target.client().admin());
    let row = |day: &str| format!("measurement_count,ok_count,measurement_start_day,probe_cc\n10,9,{day},IR\n");
    let counts = data::send(&admin, "ooni-aggregation", "", row("2127-03-01").as_bytes());
    assert_eq!(five(&counts), [0, 0, 0, 1, 0], "{counts:?}");
    assert_eq!(counts.reasons.get("clock_ahead"), Some(&1), "{counts:?}");
    let before = source(&client, "ooni-aggregation", |row| row["lastImport"]["unusable"] == 1);
    assert_eq!((&before["lastSeen"], &before["freshness"]), (&Value::Null, &json!("none")), "{before}");
}

fn counts_of_days_never_become_votes(suite: &Suite) {
    let target = suite.fresh(&[]);
    let (client, admin) = (target.client(), target.client().admin());
    let csv = "anomaly_count,confirmed_count,failure_count,measurement_count,ok_count,measurement_start_day,probe_cc,domain\n\
        90,90,20,100,0,2024-05-10,TR,news.example\n";
    let counts = data::send(&admin, "ooni-aggregation", "", csv.as_bytes());
    assert_eq!(five(&counts), [1, 0, 0, 0, 0], "{counts:?}");
    source(&client, "ooni-aggregation", |row| row["rows"] == 1);
    let question = json!({ "country": "TR", "target": "news.example", "as_of": "2024-05-11T00:00:00Z" });
    let answer = research(&client).post("/hydra/v1/detect", &question).expect(200);
    assert_eq!((&answer["status"], &answer["evidenceCount"]), (&json!("unknown"), &json!(0)), "{answer}");
}

fn the_list_of_sources_has_licence_counts_and_errors(suite: &Suite) {
    let target = suite.fresh(&[("source_licences", "ioda=LicenseRef-ours; ooni=CC-BY-4.0")]);
    let (client, admin) = (target.client(), target.client().admin());
    let rows = client.get("/data/sources").expect(200)["sources"].as_array().unwrap().clone();
    for id in [
        "ooni",
        "censoredplanet",
        "access-now",
        "ioda",
        "cloudflare-radar",
        "outages",
        "ooni-aggregation",
        "blocklist",
        "asn",
        "test-list",
        "targets",
        "fingerprints",
        "starter/countries",
        "starter/known_blocks",
    ] {
        let row = rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("no {id}"));
        assert!(row["license"].as_str().is_some_and(|licence| !licence.is_empty()), "{row}");
    }
    let licence = |id: &str| rows.iter().find(|row| row["id"] == id).unwrap()["license"].clone();
    assert_eq!((licence("ioda"), licence("ooni")), (json!("LicenseRef-ours"), json!("CC-BY-4.0")));
    let bad = admin.send("POST", "/v1/admin/import/outages", Some("text/csv"), b"country,kind\nCU,outage\n");
    bad.expect_error(400, "BAD_REQUEST");
    let row = source(&client, "outages", |row| row["lastError"].is_object());
    assert!(row["lastError"]["message"].as_str().unwrap().contains("start"), "{row}");
    assert_eq!(row["lastImport"]["accepted"], 0, "{row}");
}

fn real_events_and_counts_are_read_twice_with_the_same_end(suite: &Suite) {
    let target = suite.fresh(&[]);
    let admin = target.client().admin();
    for (kind, path, lines) in [
        ("shutdowns", "shutdowns/stop_2016_2024.csv.gz", 1_789),
        ("ioda", "outages/ioda_investigated_2018-2021.csv.gz", 1_704),
        ("ooni-aggregation", "ooni/aggregation_country_day_2021-03.json.gz", 2_379),
    ] {
        let Some(text) = data::real(path) else { return };
        let first = data::send(&admin, kind, "", &text);
        assert_eq!(first.lines(), lines, "{kind} {first:?}");
        let again = data::send(&admin, kind, "", &text);
        assert_eq!((again.accepted, again.lines()), (0, lines), "{kind} {again:?}");
        assert_eq!(again.reasons, first.reasons, "{kind}");
    }
}
