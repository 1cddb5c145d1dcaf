//! Fetching from sources with a public interface, against answers on loopback (decision dumps-and-recompute): off by
//! default, page by page, with failures shown, and never to internal addresses.

use heliograph_tests::source::{Source, response};
use heliograph_tests::target::Target;
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    nothing_is_fetched_unless_it_is_switched_on,
    what_is_switched_on_is_fetched_window_by_window_and_page_by_page,
    a_failing_fetch_is_shown_with_its_error_and_the_next_try,
    no_fetch_goes_to_a_private_address,
];

/// The row of a source in the list of sources.
fn row(target: &Target, id: &str) -> Value {
    let body = target.client().get("/data/sources").expect(200);
    body["sources"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone()
}

/// Lets the deployment fetch until the row of the source is as the test expects.
fn until(target: &Target, source: &Source, id: &str, done: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..240 {
        let row = row(target, id);
        if done(&row) {
            return row;
        }
        target.fetch();
    }
    panic!("{id} never came so far: {}; heard {:#?}", row(target, id), source.heard());
}

fn settings<'a>(base: &'a str, jobs: &'a str, private: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("fetch_sources", jobs),
        ("fetch_ooni_url", base),
        ("fetch_ioda_url", base),
        ("fetch_private", private),
        ("fetch_since", "2024-05-01"),
        ("fetch_pause_seconds", "0"),
    ]
}

/// Outages of Syria, one per hour, in IODA's format.
fn outages(numbers: std::ops::Range<u32>) -> String {
    let events: Vec<Value> = numbers
        .map(|number| {
            json!({
                "location": "country/SY", "location_name": "Syria", "start": 1_714_000_000 + number, "duration": 60,
                "uncertainty": null, "status": 0, "fraction": null, "score": 12.5, "datasource": "bgp",
                "method": "median", "overlaps_window": false,
            })
        })
        .collect();
    json!({ "type": "outages.events", "metadata": {}, "error": null, "data": events }).to_string()
}

const COUNTS: &str = r#"{"v":0,"dimension_count":2,"db_stats":{},"result":[{"anomaly_count":1,"confirmed_count":0,
    "failure_count":0,"ok_count":9,"measurement_count":10,"measurement_start_day":"2024-05-02","probe_cc":"TR"}]}"#;
const LIST: &str = r#"{"metadata":{"count":-1,"current_page":1,"limit":1000,"next_url":null,"offset":0,"pages":-1},
    "results":[{"anomaly":true,"confirmed":false,"failure":false,"input":"https://news.example/",
    "measurement_start_time":"2024-05-01T00:10:00Z","measurement_uid":"20240501001000.1_TR_webconnectivity_aa",
    "measurement_url":"https://api.example/x","probe_asn":"AS9121","probe_cc":"TR","report_id":"r1",
    "scores":{"blocking_general":1.0,"blocking_country":0.0,"blocking_isp":0.0,"blocking_local":0.0,
    "blocking_global":0.0},"test_name":"web_connectivity"},
    {"anomaly":false,"confirmed":false,"failure":true,"input":null,"measurement_start_time":"2024-05-01T00:11:00Z",
    "measurement_uid":"20240501001100.1_TR_telegram_bb","probe_asn":"AS9121","probe_cc":"TR","report_id":"r2",
    "scores":{},"test_name":"telegram"}]}"#;

/// All data are in the first windows.
fn answer(path: &str) -> String {
    let body = match path {
        path if path.starts_with("/api/v1/aggregation?") && path.contains("since=2024-05-01") => COUNTS.to_owned(),
        path if path.starts_with("/api/v1/aggregation?") => r#"{"v":0,"result":[]}"#.to_owned(),
        path if path.starts_with("/api/v1/measurements?") && path.contains("since=2024-05-01T00:00:00") => {
            LIST.to_owned()
        }
        path if path.starts_with("/api/v1/measurements?") => r#"{"metadata":{},"results":[]}"#.to_owned(),
        // The window ends on 2 May at midnight.
        path if path.contains("until=1714608000") && path.contains("page=0") => outages(0..1_000),
        path if path.contains("until=1714608000") && path.contains("page=1") => outages(1_000..1_003),
        _ => outages(0..0),
    };
    response("200 OK", "content-type: application/json\r\n", &body)
}

fn nothing_is_fetched_unless_it_is_switched_on(suite: &Suite) {
    let source = Source::start(answer);
    let target = suite.fresh(&settings(&source.base, "", "true"));
    for _ in 0..12 {
        target.fetch();
    }
    assert_eq!(source.heard(), Vec::<String>::new());
    let fetch = row(&target, "ioda")["fetch"].clone();
    let expected = json!({
        "job": "ioda", "enabled": false, "position": null, "lastSuccess": null, "failures": 0, "lastError": null,
        "nextTry": null,
    });
    assert_eq!(fetch, expected);
    assert!(row(&target, "access-now").get("fetch").is_none(), "nobody can ask for that table");
}

fn what_is_switched_on_is_fetched_window_by_window_and_page_by_page(suite: &Suite) {
    let source = Source::start(answer);
    let target = suite.fresh(&settings(&source.base, "ooni-aggregation,ooni-measurements,ioda", "true"));
    let ioda = until(&target, &source, "ioda", |row| row["rows"] == 1_003);
    assert_eq!((&ioda["countries"], &ioda["lastError"]), (&json!(1), &Value::Null), "{ioda}");
    let counts = until(&target, &source, "ooni-aggregation", |row| row["rows"] == 1);
    assert!(counts["lastSeen"].as_str().unwrap().starts_with("2024-05-02T00:"), "{counts}");
    let ooni = until(&target, &source, "ooni", |row| row["rows"] == 1);
    assert!(ooni["lastSeen"].as_str().unwrap().starts_with("2024-05-01T00:"), "{ooni}");
    let moved = until(&target, &source, "ioda", |row| row["fetch"]["position"].as_str() > Some("2024-05-03"));
    let fetch = &moved["fetch"];
    assert_eq!((&fetch["job"], &fetch["enabled"], &fetch["failures"]), (&json!("ioda"), &json!(true), &json!(0)));
    assert!(
        fetch["lastSuccess"].is_string() && fetch["nextTry"].is_string() && fetch["lastError"].is_null(),
        "{fetch}"
    );

    let heard = source.heard();
    // Two overlapping calls of the scheduled handler may ask for the same; the data count only once.
    let of = |path: &str| {
        let mut heads: Vec<String> = heard.iter().filter(|head| head.contains(path)).cloned().collect();
        heads.dedup();
        heads
    };
    let outages = of("GET /outages/events?");
    // The request begins a week before the window, so that an outage that began earlier is one event with its own
    // beginning.
    assert!(outages[0].contains("&page=0&from=1713916800&until=1714608000 "), "{}", outages[0]);
    assert!(outages[1].contains("&page=1&from=1713916800&until=1714608000 "), "{}", outages[1]);
    assert!(outages[2].contains("&page=0&from=1714003200&until=1714694400 "), "{}", outages[2]);
    assert!(of("GET /api/v1/aggregation?")[1].contains("since=2024-05-08&until=2024-05-15 "));
    let list = of("GET /api/v1/measurements?");
    assert!(
        list[0].contains("limit=1000&offset=0&since=2024-05-01T00:00:00&until=2024-05-01T01:00:00 "),
        "{}",
        list[0]
    );
    assert!(list[1].contains("since=2024-05-01T01:00:00&until=2024-05-01T02:00:00 "), "{}", list[1]);
    for head in &heard {
        let head = head.to_ascii_lowercase();
        assert!(head.contains("user-agent: heliograph/") && !head.contains("authorization"), "{head}");
    }
    // No job waits until another has caught up.
    let asked = [outages.len(), of("GET /api/v1/aggregation?").len(), list.len()];
    assert!(asked.iter().max().unwrap() - asked.iter().min().unwrap() <= 3, "{asked:?}");
}

fn a_failing_fetch_is_shown_with_its_error_and_the_next_try(suite: &Suite) {
    let source = Source::start(|path| match path.contains("/outages/") {
        true => response("429 Too Many Requests", "retry-after: 7200\r\n", "slow down"),
        false => response("200 OK", "", r#"{"error":"internal"}"#),
    });
    let target = suite.fresh(&settings(&source.base, "ioda,ooni-aggregation", "true"));
    let seconds = |text: &Value| heliograph_core::Timestamp::parse(text.as_str().unwrap()).unwrap().seconds();
    for (id, error, wait) in [("ioda", "status 429", 7_200), ("ooni-aggregation", "source_error", 60)] {
        let fetch = until(&target, &source, id, |row| row["fetch"]["lastError"].is_object())["fetch"].clone();
        assert_eq!((&fetch["lastError"]["message"], &fetch["lastSuccess"]), (&json!(error), &Value::Null), "{fetch}");
        assert!(fetch["position"].as_str().unwrap().starts_with("2024-05-01T00:"), "nothing is skipped: {fetch}");
        if fetch["failures"] == 1 {
            assert_eq!(seconds(&fetch["nextTry"]) - seconds(&fetch["lastError"]["at"]), wait, "{fetch}");
        }
    }
    for _ in 0..8 {
        target.fetch();
    }
    let asked = source.heard().iter().filter(|head| head.contains("/outages/")).count();
    assert_eq!(asked, 1, "a source that asks for two hours is left alone");
}

fn no_fetch_goes_to_a_private_address(suite: &Suite) {
    let source = Source::start(answer);
    let target = suite.fresh(&settings(&source.base, "ioda", "false"));
    let row = until(&target, &source, "ioda", |row| row["fetch"]["lastError"].is_object());
    assert!(row["fetch"]["lastError"]["message"].as_str().unwrap().starts_with("No request goes to"), "{row}");
    assert_eq!(source.heard(), Vec::<String>::new());
}
