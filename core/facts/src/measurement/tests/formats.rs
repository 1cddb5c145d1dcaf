//! The counts that a careful importer reaches on the samples, and the traps of decision import-counts.

use std::collections::HashSet;

use super::{LIMIT, sample};
use crate::measurement::fingerprints::Fingerprints;
use crate::measurement::types::{Form, ImportCounts, ImportError, Parsed};
use crate::measurement::{ooni_document, ooni_fastpath, ooni_observations};
use crate::verdict::Technique;
use crate::verdict::evaluate::Vote;

fn documents(bytes: &[u8]) -> (Vec<Parsed>, ImportCounts) {
    let mut out = Vec::new();
    let counts = ooni_document::import(&mut &*bytes, LIMIT, &Fingerprints::default(), &mut |p| out.push(p)).unwrap();
    (out, counts)
}

fn rows(bytes: &[u8]) -> (Vec<Parsed>, ImportCounts) {
    let mut out = Vec::new();
    let counts =
        ooni_observations::import(&mut &*bytes, LIMIT, &Fingerprints::default(), &mut |p| out.push(p)).unwrap();
    (out, counts)
}

#[test]
fn of_39_documents_28_are_read() {
    let Some(bytes) = sample("ooni/measurements.jsonl.gz") else { return };
    let (parsed, counts) = documents(&bytes);
    assert_eq!((counts.accepted, counts.unsupported, counts.unusable, counts.refused), (28, 11, 0, 0), "{counts:?}");
    assert_eq!(counts.lines(), 39);
    let distinct: HashSet<_> = parsed.iter().map(|p| p.identity).collect();
    assert_eq!(distinct.len(), 28);
    let votes: Vec<(&str, &str, Vote)> = parsed
        .iter()
        .flat_map(|p| p.contributions.iter().map(move |c| (p, c)))
        .map(|(p, c)| (p.country_code(), c.target.as_str(), c.outcome.evaluate().vote))
        .collect();
    for expected in [
        // A plain redirect to the block page of the Indonesian ministry: the site is blocked, the host of the page is
        // not.
        ("ID", "archive.org", Vote::Blocked),
        ("IR", "fa.wikipedia.org", Vote::Blocked),
        ("IT", "csmonitor.com", Vote::Clear),
        ("IT", "nmrc.org", Vote::Down),
        ("RU", "telegram/pool", Vote::Clear),
        ("IT", "telegram/pool", Vote::Clear),
        ("IE", "web.whatsapp.com", Vote::Clear),
        ("RU", "tor/or_port", Vote::NeedsControl),
        ("IT", "tor/or_port", Vote::Clear),
        ("BR", "tor/bootstrap", Vote::Clear),
        ("DE", "psiphon/bootstrap", Vote::NeedsControl),
    ] {
        assert!(votes.contains(&expected), "{expected:?} in {votes:#?}");
    }
    assert!(!votes.iter().any(|(_, target, _)| *target == "lamanlabuh.aduankonten.id"));
}

#[test]
fn fastpath_rows_end_as_votes_failed_or_unsupported() {
    let Some(bytes) = sample("ooni/fastpath_2024-01-01.jsonl.gz") else { return };
    let mut out = Vec::new();
    let counts = ooni_fastpath::import(&mut &*bytes, LIMIT, &mut |p| out.push(p)).unwrap();
    assert_eq!((counts.accepted, counts.unsupported, counts.unusable, counts.refused), (809, 211, 60, 0), "{counts:?}");
    assert_eq!(counts.reasons.get("measurement_failed"), Some(&60));
    let distinct: HashSet<_> = out.iter().map(|p| p.identity).collect();
    assert_eq!(distinct.len(), 809);
    assert!(out.iter().all(|p| p.form == Form::Fastpath && !p.contributions.is_empty()));
    let blocked = out.iter().filter(|p| p.contributions[0].outcome.evaluate().log10_lr() >= 1.0).count();
    assert!(blocked > 17, "{blocked} anomalies");
}

/// A fingerprint shows the method: its place tells a forged answer from a page, even if no other column does.
#[test]
fn a_confirmed_fastpath_row_says_by_what_it_was_blocked() {
    let technique = |scores: &str, column: &str| {
        let row = format!(
            r#"{{"test_name":"web_connectivity","report_id":"20231101T0","input":"https://example.org/","probe_cc":"IR","probe_asn":"1","measurement_start_time":"2023-11-01 00:18:03","scores":{scores},"confirmed":"t","blocking_type":"{column}"}}"#
        );
        let mut out = Vec::new();
        ooni_fastpath::import(&mut row.as_bytes(), LIMIT, &mut |p| out.push(p)).unwrap();
        out[0].contributions[0].outcome.evaluate().technique.map(Technique::as_str)
    };
    let at = |place: &str| format!(r#"{{"blocking_general":1.0,"fingerprints":[{{"location_found":"{place}"}}]}}"#);
    assert_eq!(technique(&at("dns"), ""), Some("dns.injection.blockpage"));
    assert_eq!(technique(&at("dns"), "dns"), Some("dns.injection.blockpage"));
    assert_eq!(technique(&at("body"), ""), None, "words that may stand in the site's own page");
    assert_eq!(technique(&at("body"), "http-diff"), Some("http.blockpage"));
    assert_eq!(technique(&at("header.location"), "http-failure"), Some("http.blockpage"));
    assert_eq!(technique(r#"{"blocking_general":1.0}"#, "dns"), Some("dns"));
    assert_eq!(technique(r#"{"blocking_general":1.0}"#, ""), None, "nobody says");
}

#[test]
fn repeated_observation_rows_are_duplicates() {
    for (name, distinct, repeated) in [
        ("ooni/observations_KE_2023_telegram.csv.gz", 62_056, 63_385),
        ("ooni/observations_KE_2023_web_connectivity.csv.gz", 3_032, 3_023),
    ] {
        let Some(bytes) = sample(name) else { return };
        let (parsed, mut counts) = rows(&bytes);
        assert_eq!(counts.accepted, distinct + repeated, "{name} {counts:?}");
        let mut seen = HashSet::new();
        let repeats = parsed.iter().filter(|p| !seen.insert((p.identity, p.row_hash))).count() as u64;
        counts.move_to_duplicate(repeats);
        assert_eq!((counts.accepted, counts.duplicate), (distinct, repeated), "{name}");
        assert_eq!(counts.lines(), distinct + repeated);
    }
}

#[test]
fn addresses_of_probe_and_resolver_are_discarded() {
    let planted = "203.0.113.77";
    let document = format!(
        r#"{{"test_name":"web_connectivity","report_id":"r1","input":"https://example.org/","probe_cc":"ID",
        "probe_asn":"AS23693","probe_ip":"{planted}","resolver_ip":"{planted}","resolver_asn":"AS1",
        "measurement_start_time":"2025-05-27 23:31:08","test_keys":{{"client_resolver":"{planted}","queries":[
        {{"hostname":"example.org","engine":"system","failure":null,"query_type":"A","resolver_address":"{planted}:53",
        "answers":[{{"ipv4":"93.184.216.34","asn":15133}}]}}]}}}}"#
    )
    .replace('\n', "");
    let (parsed, counts) = documents(document.as_bytes());
    assert_eq!(counts.accepted, 1, "{counts:?}");
    assert!(!format!("{parsed:?}").contains(planted));

    let header = "test_name,report_id,input,measurement_start_time,probe_cc,probe_asn,probe_ip,resolver_ip,resolver_asn,\
                  hostname,ip,port,tcp_success\n";
    let row = format!(
        "web_connectivity,r1,https://example.org/,2023-11-01 04:41:18+00:00,KE,1.0,{planted},{planted},2,example.org,\
         93.184.216.34,443.0,1.0\n"
    );
    let (parsed, counts) = rows(format!("{header}{row}").as_bytes());
    assert_eq!(counts.accepted, 1, "{counts:?}");
    assert!(!format!("{parsed:?}").contains(planted));
}

#[test]
fn an_array_of_documents_is_read_like_lines() {
    let one = r#"{"test_name":"psiphon","report_id":"a","probe_cc":"DE","probe_asn":8881,"measurement_start_time":"2022-01-21 23:39:07","test_keys":{"failure":"generic_timeout_error"}}"#;
    let two = one.replace("\"a\"", "\"b\"");
    for text in [format!("[{one},{two}]"), format!("[\n{one},\n{two}\n]\n"), format!("{one}\r\n{two}")] {
        let (parsed, counts) = documents(text.as_bytes());
        assert_eq!((parsed.len(), counts.accepted, counts.refused), (2, 2, 0), "{text}");
        assert_eq!(parsed[0].asn, Some(8881));
    }
}

#[test]
fn the_three_forms_of_one_measurement_have_one_identity() {
    let document = r#"{"test_name":"telegram","report_id":"20231101T0","input":null,"probe_cc":"KE","probe_asn":"AS15808","measurement_start_time":"2023-11-01 00:18:03","test_keys":{"telegram_web_status":"ok","telegram_web_failure":null}}"#;
    let fastpath = r#"{"test_name":"telegram","report_id":"20231101T0","input":"","probe_cc":"KE","probe_asn":"15808","measurement_start_time":"2023-11-01 00:18:03","scores":{"blocking_general":0.0},"msm_failure":"f"}"#;
    let row = "test_name,report_id,input,measurement_start_time,probe_cc,probe_asn,hostname,ip,port,tcp_success\n\
               telegram,20231101T0,,2023-11-01 00:18:03+00:00,KE,15808,,149.154.175.50,80.0,1.0\n";
    let mut scored = Vec::new();
    ooni_fastpath::import(&mut fastpath.as_bytes(), LIMIT, &mut |p| scored.push(p)).unwrap();
    let raw = documents(document.as_bytes()).0;
    let observed = rows(row.as_bytes()).0;
    assert_eq!(raw[0].identity, scored[0].identity);
    assert_eq!(raw[0].identity, observed[0].identity);
    assert!(raw[0].form > observed[0].form && observed[0].form > scored[0].form);
}

#[test]
fn a_stream_past_its_cap_is_an_error_and_a_long_line_is_refused() {
    let line = r#"{"test_name":"ndt","measurement_start_time":"2022-01-21 23:39:07"}"#;
    let text = format!("{line}\n{line}\n");
    let run = |bytes: &[u8], limit| ooni_document::import(&mut &*bytes, limit, &Fingerprints::default(), &mut |_| ());
    assert_eq!(run(text.as_bytes(), 10).unwrap_err(), ImportError::TooLarge(10));
    assert!(run(text.as_bytes(), text.len() as u64).is_ok());
    let long = format!("{}\n{line}\n", "x".repeat((4 << 20) + 1));
    let counts = run(long.as_bytes(), LIMIT).unwrap();
    assert_eq!(counts.reasons.get("row_too_long"), Some(&1));
    assert_eq!((counts.refused, counts.lines()), (1, 2), "{counts:?}");
    let quote = format!("test_name,report_id,measurement_start_time,probe_cc\ntelegram,\"{}", "x\n".repeat(3 << 20));
    let (_, counts) = rows(quote.as_bytes());
    assert_eq!((counts.reasons.get("open_quote"), counts.lines()), (Some(&1), (3 << 20)), "each behind it is a row");
}

#[test]
fn a_header_without_the_needed_columns_is_named() {
    let error = ooni_observations::import(&mut &b"a,b\n1,2\n"[..], LIMIT, &Fingerprints::default(), &mut |_| ());
    assert!(matches!(error, Err(ImportError::MissingColumns(names)) if names.contains(&"probe_cc")));
}
