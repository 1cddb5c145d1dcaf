//! Recorded answers of the live sources, in today's form and in the one before. Written by hand after the documented
//! forms; sites, networks' users and numbers are made up.

use super::{Job, Next};
use crate::Timestamp;
use facts::measurement::ooni_aggregation;
use facts::measurement::types::ImportCounts;
use facts::measurement::{Parsed, ooni_fastpath};
use facts::reported;
use facts::source::Source;
use facts::verdict::RuleId;
use facts::verdict::evaluate::Vote;

/// The site of the recorded answers.
const SITE: &str = "news.example";
const NOW: Timestamp = Timestamp::from_seconds(1_790_000_000);

/// Today's list of measurements: it continues with a cursor, has a status of verification, and has `blocking_type` only
/// inside of the scores.
const LISTED_TODAY: &str = r#"{"metadata":{"count":-1,"current_page":-1,"limit":1000,
 "next_url":"https://api.ooni.example/api/v1/measurements?order_by=measurement_start_time&order=asc&limit=1000&since=2026-06-01T00%3A00%3A00&until=2026-06-01T01%3A00%3A00&cont=20260601002211-20260601002215.104511_TR_webconnectivity_00aa11bb22cc33dd",
 "offset":0,"pages":-1,"query_time":0.021},"results":[
 {"measurement_url":"https://api.ooni.example/api/v1/raw_measurement?measurement_uid=u1","anomaly":true,"confirmed":false,"failure":false,
  "input":"http://news.example/","probe_asn":"AS9121","probe_cc":"TR","report_id":"20260601T001200Z_webconnectivity_TR_9121_n4_a",
  "scores":{"blocking_general":1.0,"blocking_global":0.0,"blocking_country":0.0,"blocking_isp":0.0,"blocking_local":0.0,"analysis":{"blocking_type":"http-diff"}},
  "test_name":"web_connectivity","measurement_start_time":"2026-06-01T00:12:05Z","measurement_uid":"u1","verification_status":"unverified"},
 {"measurement_url":"","anomaly":true,"confirmed":false,"failure":false,"input":"http://news.example/","probe_asn":"AS9121","probe_cc":"TR",
  "report_id":"20260601T001300Z_webconnectivity_TR_9121_n4_b","scores":{"blocking_general":1.0,"blocking_global":0.0,"blocking_country":0.0,"blocking_isp":0.0,"blocking_local":0.0,"analysis":{"blocking_type":"dns"}},
  "test_name":"web_connectivity","measurement_start_time":"2026-06-01T00:13:05Z","measurement_uid":"u2","verification_status":"verified"},
 {"measurement_url":"","anomaly":true,"confirmed":true,"failure":false,"input":"http://news.example/","probe_asn":"AS9121","probe_cc":"TR",
  "report_id":"20260601T001400Z_webconnectivity_TR_9121_n4_c","scores":{"blocking_general":2.0,"blocking_country":1.0,"blocking_global":0.0,"blocking_isp":0.0,"blocking_local":0.0,"confirmed":true,"analysis":{"blocking_type":"dns"},
  "fingerprints":[{"name":"made_up","scope":"nat","location_found":"dns","confidence_no_fp":5,"expected_countries":["TR"]}]},
  "test_name":"web_connectivity","measurement_start_time":"2026-06-01T00:14:05Z","measurement_uid":"u3","verification_status":"unverified"},
 {"measurement_url":"","anomaly":false,"confirmed":false,"failure":false,"input":"http://news.example/","probe_asn":"AS9121","probe_cc":"TR",
  "report_id":"20260601T001500Z_webconnectivity_TR_9121_n4_d","scores":{"blocking_general":0.0,"blocking_global":0.0,"blocking_country":0.0,"blocking_isp":0.0,"blocking_local":0.0},
  "test_name":"web_connectivity","measurement_start_time":"2026-06-01T00:15:05Z","measurement_uid":"u4","verification_status":"unverified"},
 {"measurement_url":"","anomaly":false,"confirmed":false,"failure":true,"input":null,"probe_asn":"AS9121","probe_cc":"TR",
  "report_id":"20260601T001600Z_signal_TR_9121_n4_e","scores":{"blocking_general":0.0,"accuracy":0.0},
  "test_name":"signal","measurement_start_time":"2026-06-01T00:16:05Z","measurement_uid":"u5","verification_status":"unverified"}]}"#;

/// The list as it was before: pages by offset, whole numbers for networks, and no status of verification.
const LISTED_BEFORE: &str = r#"{"metadata":{"count":-1,"current_page":1,"limit":1000,
 "next_url":"https://api.ooni.example/api/v1/measurements?order_by=measurement_start_time&order=asc&limit=1000&offset=1000&since=2021-06-01",
 "offset":0,"pages":-1,"query_time":1.02},"results":[
 {"anomaly":true,"confirmed":false,"failure":false,"input":"http://news.example/","measurement_id":"temp-id-1","measurement_start_time":"2021-06-01T00:12:05Z",
  "measurement_url":"https://api.ooni.example/api/v1/raw_measurement?report_id=x","probe_asn":"AS9121","probe_cc":"TR","report_id":"20210601T001200Z_webconnectivity_TR_9121_n1_a",
  "scores":{"analysis":{"blocking_type":"tcp_ip"},"blocking_country":0.0,"blocking_general":1.0,"blocking_global":0.0,"blocking_isp":0.0,"blocking_local":0.0},"test_name":"web_connectivity"},
 {"anomaly":true,"confirmed":false,"failure":false,"input":"http://news.example/","measurement_start_time":"2021-06-01T00:13:05Z","measurement_url":"",
  "probe_asn":"AS9121","probe_cc":"TR","report_id":"20210601T001300Z_webconnectivity_TR_9121_n1_b",
  "scores":{"analysis":{"blocking_type":"http-diff"},"blocking_country":0.0,"blocking_general":1.0,"blocking_global":0.0,"blocking_isp":0.0,"blocking_local":0.0},"test_name":"web_connectivity"}]}"#;

fn import(answer: &str) -> (Vec<Parsed>, ImportCounts, Next) {
    let (lines, next) = Job::OoniMeasurements.body(answer.as_bytes()).unwrap();
    let mut found = Vec::new();
    let counts = ooni_fastpath::import(&mut lines.as_slice(), u64::MAX, &mut |parsed| found.push(parsed)).unwrap();
    (found, counts, next)
}

fn judged(found: &[Parsed]) -> Vec<(RuleId, Vote, Option<&'static str>)> {
    let evaluated = found.iter().map(|parsed| parsed.contributions[0].outcome.evaluate());
    evaluated.map(|found| (found.rule, found.vote, found.technique.map(|technique| technique.as_str()))).collect()
}

#[test]
fn the_live_list_of_today_knows_methods_and_counts_no_other_page_as_a_block() {
    let (found, counts, next) = import(LISTED_TODAY);
    assert_eq!((counts.accepted, counts.unusable, counts.refused), (4, 1, 0), "{counts:?}");
    assert!(found.iter().all(|parsed| parsed.contributions[0].target.as_str() == SITE && parsed.asn == Some(9_121)));
    assert_eq!(
        judged(&found),
        [
            (RuleId::HttpDiffUnchecked, Vote::Masked, Some("http.blockpage")),
            (RuleId::FastpathAnomaly, Vote::Blocked, Some("dns")),
            (RuleId::FastpathConfirmed, Vote::Blocked, Some("dns.injection.blockpage")),
            (RuleId::FastpathClear, Vote::Clear, None),
        ]
    );
    let mark = "cont=20260601002211-20260601002215.104511_TR_webconnectivity_00aa11bb22cc33dd";
    assert_eq!(next, Next::Page(mark.to_owned()));
    // The same file, saved by a person and imported by hand.
    let one_line = LISTED_TODAY.replace('\n', "");
    let mut kept = Vec::new();
    let counts = ooni_fastpath::import(&mut one_line.as_bytes(), u64::MAX, &mut |parsed| kept.push(parsed)).unwrap();
    assert_eq!((counts.accepted, judged(&kept)), (4, judged(&found)));
}

#[test]
fn the_live_list_of_before_is_read_the_same_way() {
    let (found, counts, next) = import(LISTED_BEFORE);
    assert_eq!((counts.accepted, counts.refused), (2, 0));
    let expected = [
        (RuleId::FastpathAnomaly, Vote::Blocked, Some("tcp")),
        (RuleId::HttpDiffUnchecked, Vote::Masked, Some("http.blockpage")),
    ];
    assert_eq!(judged(&found), expected);
    assert_eq!(next, Next::Page("offset=1000".to_owned()));
}

#[test]
fn paging_ends_where_the_source_says_so_whatever_the_number_of_rows() {
    let with = |next: &str| {
        let answer = format!(r#"{{"metadata":{{"next_url":{next}}},"results":[]}}"#);
        Job::OoniMeasurements.body(answer.as_bytes()).unwrap().1
    };
    assert_eq!(with("null"), Next::End);
    assert_eq!(with("\"https://elsewhere.example/x?cont=a-b&limit=9\""), Next::Page("cont=a-b".to_owned()));
    assert_eq!(with("\"/api/v1/measurements?offset=40&cont=\""), Next::Page("offset=40".to_owned()));
    for nonsense in
        ["\"https://a.example/?cont=a b\"", "\"?cont=%0d%0a&\\u0026\"", "\"?offset=-1\"", "\"x\"", "\"?cont=a#b\""]
    {
        let page = with(nonsense);
        assert!(matches!(&page, Next::Unsaid | Next::Page(_)), "{page:?}");
        if let Next::Page(page) = page {
            assert!(page.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"=-_.%".contains(&byte)), "{page}");
        }
    }
    assert_eq!(Job::OoniMeasurements.body(br#"{"results":[]}"#).unwrap().1, Next::Unsaid);
}

fn counts(rows: &str) -> Vec<(u64, u64, u64)> {
    let answer = format!(r#"{{"v":0,"dimension_count":2,"db_stats":{{}},"result":[{rows}]}}"#);
    let (_, days) = ooni_aggregation::read(&mut answer.as_bytes(), u64::MAX, None, NOW).unwrap();
    days.into_iter().map(|row| (row.counts.measurements, row.counts.anomalies, row.counts.confirmed)).collect()
}

fn day(cc: &str, anomaly: u64, confirmed: u64, failure: u64, ok: u64, all: u64) -> String {
    format!(
        r#"{{"anomaly_count":{anomaly},"confirmed_count":{confirmed},"failure_count":{failure},"ok_count":{ok},
            "measurement_count":{all},"measurement_start_day":"2026-06-01","probe_cc":"{cc}"}}"#
    )
}

/// The same day of the same country: 100 measurements, of which 30 were anomalous, 20 of those confirmed, and 10 failed.
#[test]
fn confirmed_blocks_are_counted_once_and_in_both_forms_of_the_live_counts() {
    let same = |row: String| assert_eq!(counts(&row), [(100, 30, 20)], "{row}");
    same(day("IR", 10, 20, 10, 60, 100));
    same(day("IR", 30, 20, 10, 60, 100));
    // Failures are also in the other counts, as in recordings of 2021.
    same(day("IR", 10, 20, 10, 70, 100));
    same(day("IR", 30, 20, 10, 70, 100));
    // A row that fits both ways follows the other rows of its answer.
    let either = |other: String| counts(&format!("{},{other}", day("IR", 30, 20, 20, 50, 100)))[0];
    assert_eq!(either(day("TR", 30, 20, 10, 60, 100)), (100, 30, 20));
    assert_eq!(either(day("TR", 10, 20, 10, 60, 100)), (100, 50, 20));
    // As CSV.
    let table = "anomaly_count,confirmed_count,failure_count,measurement_count,ok_count,measurement_start_day,probe_cc\n\
                 30,20,10,100,60,2026-06-01,IR\n";
    let (_, days) = ooni_aggregation::read(&mut table.as_bytes(), u64::MAX, None, NOW).unwrap();
    assert_eq!((days[0].counts.anomalies, days[0].counts.confirmed), (30, 20));
}

#[test]
fn what_the_source_says_in_place_of_counts_is_an_error() {
    for answer in [
        r#"{"v":0,"msg":"Invalid since and until values"}"#,
        r#"{"error":"internal"}"#,
        r#"{"detail":"Not Found"}"#,
        r#"{"detail":[{"type":"missing"}]}"#,
    ] {
        let (counts, days) = ooni_aggregation::read(&mut answer.as_bytes(), u64::MAX, None, NOW).unwrap();
        assert_eq!((counts.reasons.get("source_error"), days.len()), (Some(&1), 0), "{answer}");
    }
}

/// Outages as IODA answers them today, with the data source and the method, and as it answered before.
#[test]
fn outages_of_both_forms_of_the_live_source_are_the_same_event() {
    let answer = |event: &str| {
        format!(
            r#"{{"type":"outages.events","metadata":{{"requestTime":"2026-06-01T00:00:00Z"}},"requestParameters":{{}},"error":null,"perf":null,"data":[{event}],"copyright":"c"}}"#
        )
    };
    let today = r#"{"location":"country/SY","location_name":"Syria","start":1780000000,"duration":3600,"uncertainty":null,"status":0,"fraction":null,"score":1250.5,"datasource":"bgp","method":"median","overlaps_window":false}"#;
    let before = r#"{"location":"country/SY","location_name":"Syria","start":1780000000,"duration":3600,"uncertainty":null,"status":0,"fraction":null,"score":1250.5,"overlaps_window":false}"#;
    for form in [today, before] {
        let text = answer(form);
        let (counts, events) = reported::read(Source::Ioda, &mut text.as_bytes(), u64::MAX, None, NOW).unwrap();
        assert_eq!((counts.accepted, counts.refused), (1, 0), "{counts:?}");
        let event = &events[0].event;
        let (start, end) = (event.start.seconds(), event.end.unwrap().seconds());
        assert_eq!((event.country.as_str(), start, end), ("SY", 1_780_000_000, 1_780_003_600));
    }
    let empty = r#"{"type":"outages.events","error":null,"data":[]}"#;
    let (counts, events) = reported::read(Source::Ioda, &mut empty.as_bytes(), u64::MAX, None, NOW).unwrap();
    assert_eq!((counts.lines(), events.len()), (0, 0));
    let failed = r#"{"type":"outages.events","error":"bad from","data":null}"#;
    let (counts, _) = reported::read(Source::Ioda, &mut failed.as_bytes(), u64::MAX, None, NOW).unwrap();
    assert_eq!(counts.reasons.get("source_error"), Some(&1));
}
