//! Windows that always fail, pages, and rows of older versions, in a deployment in memory.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;

use super::*;
use crate::testing::PROGRAM;
use engine::kv::{Row, decode_row, encode_row};
use engine::web::Incoming;
use relay::testing::TestRuntime;

type Responder = dyn Fn(&str) -> (u16, String) + Send + Sync;

/// A deployment that fetches measurements since 1 May 2024, from a source with the given answers.
fn deployment(answer: Arc<Responder>) -> (Arc<TestRuntime>, Arc<Mutex<Vec<String>>>) {
    let rt = TestRuntime::start(
        &PROGRAM,
        &[
            ("fetch_sources", "ooni-measurements"),
            ("fetch_ooni_url", "https://api.ooni.example"),
            ("fetch_since", "2024-05-01"),
        ],
    );
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = heard.clone();
    rt.connect(Box::new(move |outgoing: &Outgoing| {
        told.lock().unwrap().push(outgoing.url.clone());
        let (status, body) = answer(&outgoing.url);
        Ok(Incoming { status, retry_after: None, body: body.into_bytes().into() })
    }));
    (rt, heard)
}

/// Makes steps until the job has passed a moment. Returns the warnings.
fn run(rt: &TestRuntime, until: &str, steps: usize) -> Vec<String> {
    let until = Timestamp::parse(until).unwrap();
    let mut warnings = Vec::new();
    for _ in 0..steps {
        if row(rt).cursor >= until {
            return warnings;
        }
        rt.advance(Duration::from_secs(6 * 3600 + 60));
        let step = step(rt).now_or_never().unwrap().unwrap();
        warnings.extend(step.warning);
    }
    panic!("{:?}", row(rt));
}

fn row(rt: &TestRuntime) -> FetchRow {
    let rows = runtime::query(rt, world::actor().name, &FetchRows).now_or_never().unwrap().unwrap();
    rows.get("ooni-measurements").cloned().unwrap_or_default()
}

fn list(rows: &[(&str, &str)], next: &str) -> String {
    let row = |(id, at): &(&str, &str)| {
        format!(
            r#"{{"anomaly":false,"confirmed":false,"failure":false,"input":"https://news.example/","measurement_start_time":"{at}",
            "measurement_uid":"{id}","probe_asn":"AS9121","probe_cc":"TR","report_id":"{id}","scores":{{"blocking_general":0.0}},
            "test_name":"web_connectivity"}}"#
        )
    };
    let rows: Vec<String> = rows.iter().map(row).collect();
    format!(r#"{{"metadata":{{"next_url":{next}}},"results":[{}]}}"#, rows.join(","))
}

#[test]
fn a_window_that_always_fails_is_set_aside_and_told_and_the_rest_goes_on() {
    for failure in [(500, "no"), (400, "{}"), (200, "{\"metadata\""), (200, "{\"error\":\"x\"}")] {
        let (rt, heard) = deployment(Arc::new(move |url: &str| match url.contains("since=2024-05-01T02:00:00") {
            true => (failure.0, failure.1.to_owned()),
            false => (200, list(&[], "null")),
        }));
        let warnings = run(&rt, "2024-05-01T06:00:00Z", 60);
        let tries = heard.lock().unwrap().iter().filter(|url| url.contains("since=2024-05-01T02:00:00")).count();
        assert_eq!(tries, 5, "bounded");
        // Every failure is told, and the last one that the window is given up.
        assert_eq!(warnings.len(), 5, "{warnings:?}");
        for (told, times) in warnings.iter().zip(1..5) {
            let failed = format!("ooni-measurements failed, {times} times in a row; the next try is at 2");
            assert!(told.starts_with(&failed), "{told}");
        }
        let given_up = "ooni-measurements goes on without 2024-05-01T02:00:00";
        assert!(warnings[4].starts_with(given_up) && warnings[4].contains("failed 5 times"), "{warnings:?}");
        let row = row(&rt);
        let windows: Vec<(String, String)> =
            row.set_aside.iter().map(|window| (window.from.to_string(), window.until.to_string())).collect();
        assert_eq!(windows.len(), 1);
        assert!(
            windows[0].0.starts_with("2024-05-01T02:00") && windows[0].1.starts_with("2024-05-01T03:00"),
            "{windows:?}"
        );
        assert_eq!(row.failures, 0);
        assert!(row.error.is_some() && row.success.is_some(), "{row:?}");
    }
}

#[test]
fn a_source_that_is_away_loses_few_windows_and_gets_those_back_that_it_still_asks_for() {
    let now = Timestamp::parse("2024-05-01T02:30:00Z").unwrap();
    let hour = |hour: i64| Timestamp::parse("2024-05-01").unwrap().plus(hour * HOUR);
    let mut row = FetchRow { cursor: hour(0), success: Some(hour(0)), ..FetchRow::default() };
    let mut tries = Vec::new();
    for window in 0..4 {
        row.failures = 0;
        while !row.is_hopeless(hour(window + 1)) {
            row.failures += 1;
        }
        tries.push(row.failures);
        row = row.without(hour(window + 1), "status 500", now.plus(window));
    }
    assert_eq!(tries, [5, 10, 20, 40], "more patient after each");
    row.success = Some(now.plus(HOUR));
    row.failures = 4;
    assert!(!row.is_hopeless(hour(5)), "a success forgives");
    row.failures = 5;
    assert!(row.is_hopeless(hour(5)));
    // A window set aside is tried again in passing. One failure gives it up again, a success takes it off the list.
    row.cursor = hour(1);
    row.failures = 1;
    assert!(row.is_hopeless(hour(2)));
    row.read_through(hour(1), hour(2));
    assert_eq!(row.set_aside.len(), 3);
    let again = row.clone().without(hour(4), "status 500", now);
    assert_eq!(again.set_aside.len(), 2, "one for what lies between");
    assert_eq!((again.cursor, again.failures, again.page), (hour(4), 0, None));
    let many = (0..80)
        .fold(FetchRow::default(), |row, at| FetchRow { cursor: hour(at), ..row }.without(hour(at + 1), "x", now));
    assert_eq!(many.set_aside.len(), 50, "bounded");
}

#[test]
fn a_source_that_is_asked_too_often_loses_no_window() {
    let (rt, _) = deployment(Arc::new(|_: &str| (429, String::new())));
    for _ in 0..30 {
        rt.advance(Duration::from_secs(7 * 3600));
        let made = step(&*rt).now_or_never().unwrap().unwrap();
        assert!(made.warning.unwrap().ends_with(": status 429"));
    }
    assert_eq!((row(&rt).set_aside.len(), row(&rt).cursor.to_date_text().as_str()), (0, "2024-05-01"));
}

#[test]
fn pages_are_followed_by_the_mark_of_the_source_and_end_where_it_names_none() {
    let base = "\"https://api.ooni.example/api/v1/measurements?limit=1000";
    let (rt, heard) = deployment(Arc::new(move |url: &str| {
        let body = match url {
            url if !url.contains("since=2024-05-01T00:00:00") => list(&[], "null"),
            url if url.contains("cont=20240501-b") => list(&[("m3", "2024-05-01T00:30:00Z")], "null"),
            url if url.contains("cont=20240501-a") => {
                list(&[("m2", "2024-05-01T00:20:00Z")], &format!("{base}&cont=20240501-b\""))
            }
            _ => list(&[("m1", "2024-05-01T00:10:00Z")], &format!("{base}&cont=20240501-a\"")),
        };
        (200, body)
    }));
    run(&rt, "2024-05-01T02:00:00Z", 20);
    let heard = heard.lock().unwrap().clone();
    assert!(heard[0].contains("&limit=1000&offset=0&since=2024-05-01T00:00:00&"), "{heard:?}");
    assert!(heard[1].contains("&limit=1000&cont=20240501-a&since=2024-05-01T00:00:00&"), "{heard:?}");
    assert!(
        heard[2].contains("&cont=20240501-b&") && heard[3].contains("&offset=0&since=2024-05-01T01:00:00"),
        "{heard:?}"
    );
    let rows = runtime::query(&*rt, world::actor().name, &world::SourceState).now_or_never().unwrap().unwrap().0;
    assert_eq!(rows.get("ooni").map(|row| row.rows), Some(3));
}

#[test]
fn pages_by_offset_are_followed_and_one_that_leads_to_itself_ends() {
    let (rt, heard) = deployment(Arc::new(|url: &str| {
        let body = match url {
            url if !url.contains("since=2024-05-01T00:00:00") => list(&[], "null"),
            // The page has fewer rows than requested, and still is not the last one.
            url if url.contains("offset=0") => list(&[("m1", "2024-05-01T00:10:00Z")], "\"/x?offset=1&limit=1000\""),
            _ => list(&[("m2", "2024-05-01T00:20:00Z")], "\"/x?offset=1&limit=1000\""),
        };
        (200, body)
    }));
    run(&rt, "2024-05-01T02:00:00Z", 20);
    let of_first = heard.lock().unwrap().iter().filter(|url| url.contains("since=2024-05-01T00:00:00")).count();
    assert_eq!(of_first, 2);
}

#[test]
fn a_row_of_the_version_before_is_read() {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Before {
        cursor: Timestamp,
        offset: u64,
        next: Timestamp,
        failures: u32,
        error: Option<(Timestamp, String)>,
        success: Option<Timestamp>,
    }
    impl Row for Before {}
    let at = Timestamp(77);
    let before =
        Before { cursor: at, offset: 3, next: at, failures: 2, error: Some((at, "x".into())), success: Some(at) };
    let now: FetchRow = decode_row(&encode_row(&before).unwrap()).unwrap();
    assert_eq!((now.cursor, now.offset, now.failures), (at, 3, 2));
    assert_eq!((now.page.clone(), now.set_aside.len()), (None, 0));
    assert_eq!(decode_row::<FetchRow>(&encode_row(&now).unwrap()).unwrap(), now);
}

/// The settings name the sources in a closed list (decision closed-lists).
#[test]
fn the_sources_are_those_that_the_settings_take() {
    assert_eq!(Job::ALL.map(Job::as_str), engine::settings::FETCH_SOURCES);
}
