//! Lines of Censored Planet and OONI's counts of days, with rows of our own.

use super::{LIMIT, sample};
use crate::Timestamp;
use crate::measurement::fingerprints::{Fingerprints, Pattern, Place, Scope};
use crate::measurement::types::{ImportCounts, Parsed};
use crate::measurement::{Outcome, censored_planet, ooni_aggregation};
use crate::verdict::Vote;

const PLANTED: &str = "198.51.100.77";

fn hyperquack(service: &str, responses: &str) -> String {
    format!(
        r#"{{"vp":"{PLANTED}","location":{{"country_name":"China","country_code":"CN"}},"service":"{service}",
        "test_url":"www.example.org/page","response":[{{"matches_template":true,"control_url":"control-1.com",
        "start_time":"2021-05-31T12:43:22.910941658-04:00"}},{responses}],"anomaly":true,"controls_failed":false,
        "tag":"2021-05-31T12:43:21"}}"#
    )
    .replace('\n', "")
}

fn satellite(members: &str) -> String {
    format!(
        r#"{{"vp":"{PLANTED}","location":{{"country_code":"RU"}},"test_url":"example.org","passed_liveness":true,
        "connect_error":false,"in_control_group":true,"excluded":false,
        "start_time":"2021-10-20 14:51:41.221546144 -0400 EDT m=+13035.126037108",{members}}}"#
    )
    .replace('\n', "")
}

fn read(lines: &str) -> (ImportCounts, Vec<Parsed>) {
    let mut fingerprints = Fingerprints::default();
    fingerprints.add_page("cn", Scope::National, Place::Body, Pattern::Contains("This page is forbidden".into()), &[]);
    fingerprints.add_page("fp", Scope::FalsePositive, Place::Body, Pattern::Contains("captcha".into()), &[]);
    fingerprints.add_answer("ru", Scope::National, "192.0.2.55", &[]);
    let mut out = Vec::new();
    let counts = censored_planet::import(&mut lines.as_bytes(), LIMIT, &fingerprints, &mut |parsed| out.push(parsed));
    (counts.unwrap(), out)
}

fn rule(line: &str) -> &'static str {
    let (counts, parsed) = read(line);
    assert_eq!(counts.accepted, 1, "{line} {counts:?}");
    match parsed[0].contributions[0].outcome {
        Outcome::Judged(judgement) => judgement.rule.rule().name,
        Outcome::Endpoints(_) => "endpoints",
    }
}

#[test]
fn hyperquack_lines_are_judged_by_stage_and_class() {
    let error = |text: &str| format!(r#"{{"matches_template":false,"error":"{text}"}}"#);
    let page =
        |body: &str| format!(r#"{{"matches_template":false,"response":{{"status_line":"403","body":"{body}"}}}}"#);
    let reset = "read tcp 192.0.2.1:2-\\u003e192.0.2.2:9: read: connection reset by peer";
    for (service, response, expected) in [
        ("discard", error(reset), "http.failure.control_ok"),
        ("https", error(reset), "tls.reset.control_ok"),
        ("https", error("read tcp 192.0.2.1:2: i/o timeout"), "tls.failure.control_ok"),
        ("http", error("dial tcp 192.0.2.2:80: connect: connection refused"), "probe.local_fault"),
        ("http", error("read tcp 192.0.2.1:2: i/o timeout"), "http.failure.control_ok"),
        ("http", page("This page is forbidden"), "http.fingerprint.confirmed"),
        ("http", page("solve the captcha. This page is forbidden"), "http.server_side_challenge"),
        ("http", page("welcome"), "http.diff.unchecked"),
        ("echo", r#"{"matches_template":false,"response":"HTTP/1.1 403 Forbidden"}"#.into(), "http.diff.control_ok"),
        ("http", r#"{"matches_template":true}"#.into(), "remote.match"),
        ("http", format!("{},{}", error(reset), r#"{"matches_template":true}"#), "remote.match"),
    ] {
        assert_eq!(rule(&hyperquack(service, &response)), expected, "{service} {response}");
    }
    for (outcome, expected) in [
        ("✅/match", None),
        ("❗️read/tcp.reset", Some("http.failure.control_ok")),
        ("❗️tls/timeout", Some("tls.failure.control_ok")),
        ("content/blockpage:a_b", Some("http.fingerprint.confirmed")),
        ("content/status_mismatch:301", Some("http.diff.unchecked")),
        ("content/match", Some("remote.match")),
        ("setup/system_failure", Some("probe.local_fault")),
    ] {
        let line = hyperquack("http", "{}").replace(r#""anomaly":true"#, &format!(r#""outcome":"{outcome}""#));
        match expected {
            Some(expected) => assert_eq!(rule(&line), expected, "{outcome}"),
            None => assert_eq!(read(&line).0.reasons.get("unknown_outcome"), Some(&1)),
        }
    }
}

#[test]
fn satellite_lines_of_both_layouts_are_judged_by_their_answers() {
    let newer = |code: i64, addresses: &str| {
        format!(
            r#""anomaly":true,"response":[{{"url":"example.org","response":{{{addresses}}},"error":"null","rcode":{code}}}]"#
        )
    };
    for (members, expected) in [
        (newer(3, ""), "dns.failure.control_ok"),
        (newer(-1, ""), "dns.failure.control_ok"),
        (newer(0, r#""10.0.0.1":{}"#), "dns.bogon.control_never_saw"),
        (newer(0, r#""192.0.2.55":{}"#), "dns.fingerprint.confirmed"),
        (newer(0, r#""31.13.92.35":{"matched":null}"#), "dns.answer.unmatched"),
        (newer(0, "").replace("true", "false"), "remote.match"),
        (
            r#""anomaly":true,"response":{"10.0.0.1":["no_tags"],"rcode":["-1","0"]}"#.into(),
            "dns.bogon.control_never_saw",
        ),
        (r#""anomaly":true,"response":{"error":["x"],"rcode":["-1","3"]}"#.into(), "dns.failure.control_ok"),
    ] {
        assert_eq!(rule(&satellite(&members)), expected, "{members}");
    }
    let (_, parsed) = read(&satellite(&newer(3, "")));
    assert_eq!(parsed[0].time, Timestamp::parse("2021-10-20T18:51:41.221546Z").unwrap());
}

#[test]
fn what_failed_its_controls_or_was_excluded_says_nothing() {
    let plain = satellite(r#""anomaly":true,"response":[]"#);
    for (line, reason) in [
        (
            hyperquack("http", "{}").replace(r#""controls_failed":false"#, r#""controls_failed":true"#),
            "controls_failed",
        ),
        (plain.replace(r#""excluded":false"#, r#""excluded":true"#), "excluded"),
        (plain.replace(r#""passed_liveness":true"#, r#""passed_control":false"#), "controls_failed"),
        (plain.replace(r#""connect_error":false"#, r#""connect_error":true"#), "connect_error"),
        (plain.replace(r#""in_control_group":true"#, r#""in_control_group":false"#), "no_control"),
        (plain.clone(), "nothing_measured"),
        (r#"{"ip":"192.0.2.1","keyword":"example.org","http":{"body":""},"fetched":true}"#.into(), "not_a_result"),
        (r#"{"vp":"192.0.2.1","test_url":"example.org","response":{},"passed_control":true}"#.into(), "not_a_result"),
        (r#"{"location":{"country_code":"RU"},"vp":"192.0.2.1"}"#.into(), "not_a_result"),
        (r#"{"vp":"192.0.2.1"}"#.into(), "no_target"),
        ("{".into(), "bad_json"),
        (plain.replace("RU", ""), "bad_country"),
    ] {
        let (counts, parsed) = read(&line);
        assert!(parsed.is_empty(), "{line}");
        assert_eq!(counts.reasons.get(reason), Some(&1), "{line} {counts:?}");
    }
}

/// Decision country-of-networks: a line without an AS number names no network. The address of the vantage point is not
/// kept.
#[test]
fn and_37_a_vantage_point_is_no_network_and_its_address_is_not_kept() {
    let line = hyperquack("http", r#"{"matches_template":true}"#);
    let (_, parsed) = read(&line);
    assert_eq!((parsed[0].asn, parsed[0].contributions[0].target.as_str()), (None, "example.org"));
    assert!(!format!("{parsed:?}").contains(PLANTED));
    let (_, other) = read(&line.replace(PLANTED, "198.51.100.78"));
    assert_ne!(parsed[0].identity, other[0].identity);
    assert_ne!(parsed[0].vote_key, other[0].vote_key, "vantage points vote apart");
    let known = line.replace(r#""country_code":"CN""#, r#""country_code":"CN","asn":4134"#);
    assert_eq!(read(&known).1[0].asn, Some(4134));
}

#[test]
fn every_real_line_of_censored_planet_is_counted() {
    let files = [
        ("censoredplanet/Quack-discard_v2/discard_results_v2.json", 3),
        ("censoredplanet/Quack-echo_v2/echo_results_v2.json", 3),
        ("censoredplanet/Quack-http_v2/http_results_v2.json", 3),
        ("censoredplanet/Quack-https_v2/https_results_v2.json", 3),
        ("censoredplanet/Satellitev2-2021-10-20/results.json", 11),
        ("censoredplanet/Satellitev2_2021-04-25/results.json", 3),
    ];
    let mut blocked = 0;
    for (path, lines) in files {
        let Some(bytes) = sample(path) else { return };
        let (counts, parsed) = read(&String::from_utf8(bytes).unwrap());
        assert!((lines..=lines + 1).contains(&counts.lines()), "{path} {counts:?}");
        assert_eq!((counts.refused, counts.unsupported), (0, 0), "{path} {counts:?}");
        assert!(counts.accepted * 2 > counts.lines(), "{path} {counts:?}");
        let vote = |parsed: &Parsed| parsed.contributions[0].outcome.evaluate().vote;
        blocked += parsed.iter().filter(|parsed| vote(parsed) == Vote::Blocked).count();
    }
    assert!(blocked >= 4, "{blocked}");
}

fn days(text: &str, country: Option<&str>) -> (ImportCounts, Vec<ooni_aggregation::DayRow>) {
    ooni_aggregation::read(&mut text.as_bytes(), LIMIT, country, Timestamp::parse("2026-11-25T12:00:00Z").unwrap())
        .unwrap()
}

#[test]
fn aggregation_answers_are_read_as_object_array_and_csv() {
    let row = r#"{"anomaly_count":3,"confirmed_count":1,"failure_count":2,"measurement_count":5,"ok_count":1,
        "measurement_start_day":"2021-03-17","probe_cc":"IR"}"#;
    let array = format!(r#"{{"v":0,"dimension_count":2,"db_stats":{{}},"result":[{row},{row}]}}"#);
    let (counts, rows) = days(&array, None);
    assert_eq!((counts.accepted, counts.duplicate), (1, 1), "parts that do not sum up are the source's own");
    assert_eq!((rows[0].country.as_str(), rows[0].day, rows[0].counts.failures), ("IR", 18_703, 2));
    assert_eq!(days(&format!("[\n{row}\n]\n"), None).1, rows);
    let csv = "anomaly_count,confirmed_count,failure_count,measurement_count,ok_count,measurement_start_day,probe_cc\n\
        3,1,2,5,1,2021-03-17,IR\n";
    assert_eq!(days(csv, None).1, rows);
    let one = row.replace(r#","probe_cc":"IR""#, "");
    assert_eq!(days(&format!(r#"{{"result":{one}}}"#), Some("IR")).1, rows, "an object, about the country asked for");
    for (bad, reason) in [
        (row.replace(":5", ":2"), "part_over_whole"),
        (row.replace("2021-03-17", "soon"), "bad_time"),
        (row.replace("2021-03-17", "2026-11-26"), "clock_ahead"),
        (row.replace("2021-03-17", "2027-03-17"), "clock_ahead"),
        (row.replace("IR", "ZZ"), "country_withheld"),
        (row.replace("IR", "QQ"), "unknown_country"),
        (one, "no_country"),
        (row.replace("measurement_start_day", "x"), "no_day"),
        (row.replace(":5", ":-5"), "bad_count"),
    ] {
        assert_eq!(days(&bad, None).0.reasons.get(reason), Some(&1), "{bad}");
    }
    let hours = ["T00:00:00Z", "T01:00:00Z"].map(|hour| row.replace("2021-03-17", &format!("2021-03-17{hour}")));
    let (counts, rows) = days(&format!("[{}]", hours.join(",")), None);
    assert_eq!((counts.accepted, counts.unsupported, rows.len()), (0, 2, 0), "an hour is no day: {counts:?}");
    assert_eq!(counts.reasons.get("not_a_day"), Some(&2), "{counts:?}");
    let site = row.replace(
        "\"probe_cc\"",
        "\"input\":\"https://www.example.org/a\",\"test_name\":\"web_connectivity\",\"probe_cc\"",
    );
    assert_eq!(days(&site, None).1[0].part, "web_connectivity/example.org");
}

/// Decision import-counts: failures overlap the other counts in 1,343 of 2,379 rows, and every row is read.
#[test]
fn the_real_aggregation_is_read_whole() {
    let Some(bytes) = sample("ooni/aggregation_country_day_2021-03.json.gz") else { return };
    let (counts, rows) = ooni_aggregation::read(&mut bytes.as_slice(), LIMIT, None, Timestamp::MAX).unwrap();
    assert_eq!((counts.lines(), counts.refused), (2_379, 1), "{counts:?}");
    assert_eq!(counts.reasons.get("unknown_country"), Some(&1), "{counts:?}");
    let overlap = rows
        .iter()
        .filter(|r| r.counts.anomalies + r.counts.confirmed + r.counts.failures + r.counts.ok != r.counts.measurements);
    println!("{} rows, {} do not sum up", rows.len(), overlap.count());
    assert!(rows.len() > 2_300);
}

/// Protections answer servers in data centres too, and pages come as bytes of other character sets.
#[test]
fn a_page_of_a_protection_is_no_block_page_and_one_in_base64_is_found() {
    let page = |headers: &str, body: &str| {
        let response = format!(
            r#"{{"matches_template":false,"response":{{"status_line":"403","headers":{headers},"body":{body}}}}}"#
        );
        rule(&hyperquack("http", &response))
    };
    let challenge = "http.server_side_challenge";
    assert_eq!(page(r#"{"Server":["cloudflare"],"Cf-Mitigated":["challenge"]}"#, r#""x""#), challenge);
    assert_eq!(page("{}", r#""<title>Just a moment...</title>""#), challenge);
    assert_eq!(page("{}", r#""another page""#), "http.diff.unchecked");
    // The data say "This page is forbidden".
    let packed = r#"{"format":"base64","data":"VGhpcyBwYWdlIGlzIGZvcmJpZGRlbg=="}"#;
    assert_eq!(page("{}", packed), "http.fingerprint.confirmed");
    assert_eq!(page(r#"{"Server":"cloudflare"}"#, packed), "http.fingerprint.confirmed", "a national one stands");
}
