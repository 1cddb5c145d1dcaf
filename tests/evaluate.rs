//! `heliograph evaluate` on made-up labelled documents.

use std::io::Write;
use std::process::{Command, Output};

use heliograph_tests::process::built;
use heliograph_tests::synthetic::{Shows, document};
use serde_json::{Value, json};

const TIME: &str = "2024-03-12 11:00:00";

fn label(id: usize, label: &str, shows: Shows) -> Value {
    let host = format!("site-{id}.example");
    json!({ "label_id": format!("l-{id}"), "label": label, "label_confidence": 1.0, "target": host, "superseded_by": null,
        "test_name": "web_connectivity", "measurement": document(shows, &host, "NO", 64_500, TIME) })
}

fn run(folder: &tempfile::TempDir, name: &str, text: &[u8], options: &[&str]) -> Output {
    let file = folder.path().join(name);
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(built("heliograph"));
    command.arg("evaluate").arg(&file).args(options).arg("--data").arg(folder.path().join("none.redb"));
    command.output().unwrap()
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn report(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Decision labels-and-bars, from the file to the answer: rows that are no labels are skipped and counted, `down` and
/// `ok` count as not blocked, and with fewer than 200 labels no bar is met.
#[test]
fn labels_are_judged_and_all_others_counted() {
    let folder = tempfile::TempDir::new().unwrap();
    let mut rows = vec![
        label(1, "blocked", Shows::DnsBlocked),
        label(2, "down", Shows::Down),
        label(3, "ok", Shows::Works),
        // A wrong classification: the label says blocked, the document shows that everything works.
        label(4, "blocked", Shows::Works),
        label(5, "unadjudicated", Shows::Works),
        label(6, "unusable", Shows::Works),
        label(3, "ok", Shows::Works),
        json!({ "label_id": "l-7", "label": "ok", "measurement_uid": "u" }),
        json!({ "label_id": "l-8" }),
    ];
    let mut old = label(9, "blocked", Shows::Works);
    old["superseded_by"] = json!("l-4");
    rows.push(old);
    let text = format!("{}not json\n", lines(&rows));
    let output = run(&folder, "labels.jsonl", text.as_bytes(), &["--json"]);
    let body = report(&output);
    assert_eq!((&body["rows"], &body["labels"], &body["blocked"]), (&json!(11), &json!(4), &json!(2)), "{body}");
    assert_eq!(body["by_label"], json!({ "blocked": 2, "down": 1, "ok": 1 }));
    let skipped = json!({ "no_json": 1, "no_label": 1, "no_measurement": 1, "repeated": 1, "superseded": 1,
        "unadjudicated": 1, "unusable": 1 });
    assert_eq!(body["skipped"], skipped);
    assert_eq!((&body["sensitivity"]["hits"], &body["sensitivity"]["of"]), (&json!(1), &json!(2)), "{body}");
    assert_eq!((&body["specificity"]["hits"], &body["specificity"]["of"]), (&json!(2), &json!(2)), "{body}");
    // 1 of 2: 1.26 % to 98.74 %.
    assert!((body["sensitivity"]["low"].as_f64().unwrap() - 0.0126).abs() < 1e-4, "{body}");
    assert_eq!((&body["result"], &body["bars"][0]["met"]), (&json!("insufficient labels"), &Value::Null), "{body}");
    assert_eq!(
        body["reliability"].as_array().unwrap().iter().map(|bin| bin["cases"].as_u64().unwrap()).sum::<u64>(),
        4
    );
    // The same as text, from a gzip file.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let output = run(&folder, "labels.jsonl.gz", &gzip.finish().unwrap(), &[]);
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(words.ends_with("insufficient labels\n") && words.contains("skipped: superseded"), "{words}");
}

#[test]
fn with_two_hundred_labels_the_bars_are_told() {
    let folder = tempfile::TempDir::new().unwrap();
    let kinds = [("blocked", Shows::DnsBlocked), ("ok", Shows::Works), ("down", Shows::Down), ("ok", Shows::Works)];
    let rows: Vec<Value> =
        (0..200).map(|n| (n, kinds[n % 4])).map(|(n, (word, shows))| label(n, word, shows)).collect();
    let body = report(&run(&folder, "many.jsonl", lines(&rows).as_bytes(), &["--json"]));
    assert_eq!((&body["labels"], &body["blocked"]), (&json!(200), &json!(50)), "{body}");
    assert!(body["bars"].as_array().unwrap().iter().all(|bar| bar["met"].is_boolean()), "{body}");
    for bar in [&body["bars"][2], &body["bars"][3]] {
        assert_eq!(bar["met"], true, "every document is judged right: {body}");
    }
    assert_ne!(body["result"], "insufficient labels");
}

/// Decision labels-and-bars: a file whose labels cannot be judged has too few of them. A document that the classifier
/// rejects is not counted as a confident case.
#[test]
fn labels_that_cannot_be_judged_are_counted_and_are_no_cases() {
    let folder = tempfile::TempDir::new().unwrap();
    let without = json!({ "label": "ok", "measurement_uid": "u" }).to_string();
    let old = json!({ "label": "ok", "superseded_by": "l-2" }).to_string();
    let empty =
        |n: usize| json!({ "label_id": n, "label": "ok", "measurement": { "test_name": "dnscheck", "test_keys": {} } });
    let rejected = lines(&(0..220).map(empty).collect::<Vec<Value>>());
    for (name, text, count) in [("without.jsonl", without, 1), ("old.jsonl", old, 1), ("rejected.jsonl", rejected, 220)]
    {
        let body = report(&run(&folder, name, text.as_bytes(), &["--json"]));
        assert_eq!((&body["labels"], &body["result"]), (&json!(0), &json!("insufficient labels")), "{name}: {body}");
        assert!(body["bars"].as_array().unwrap().iter().all(|bar| bar["met"].is_null()), "{name}: {body}");
        let skipped = body["skipped"].as_object().unwrap();
        assert_eq!(skipped.values().filter_map(Value::as_u64).sum::<u64>(), count, "{name}: {body}");
    }
}

/// A wrong file must not look like a result.
#[test]
fn files_that_are_no_labels_are_errors_that_say_what_is_wrong() {
    let folder = tempfile::TempDir::new().unwrap();
    let mut cut = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    cut.write_all(&[7; 5_000]).unwrap();
    let cut = cut.finish().unwrap();
    for (name, text, expected) in [
        ("table.csv", b"label,uid\nok,1\n".as_slice(), "table.csv: none of its 2 rows is a label"),
        ("other.jsonl", b"{\"label\":\"maybe\"}\n[1,2]\n", "other.jsonl: none of its 3 rows is a label"),
        ("binary", &[0xff, 0xfe, 0, 1, 2], "binary: none of its 1 rows is a label"),
        ("cut.gz", &cut[..cut.len() / 2], "cut.gz: "),
    ] {
        for options in [&[] as &[&str], &["--json"]] {
            let output = run(&folder, name, text, options);
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && error.contains(expected), "{name}: {error}");
            assert!(output.stdout.is_empty(), "{name} looks like a result");
        }
    }
    let output = Command::new(built("heliograph")).args(["evaluate", "/nowhere/labels.jsonl"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/labels.jsonl: there is no such file"));
}

#[test]
fn a_file_without_rows_is_an_error() {
    let folder = tempfile::TempDir::new().unwrap();
    let output = run(&folder, "empty.jsonl", b"", &[]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing could be read"));
}

/// An export of a whole set is one object; its labels count like lines.
#[test]
fn a_set_that_lists_its_labels_is_read_as_its_lines_are() {
    let folder = tempfile::TempDir::new().unwrap();
    let label =
        |n: usize| json!({ "label_id": n, "label": "ok", "measurement": { "test_name": "dnscheck", "test_keys": {} } });
    let labels: Vec<Value> = (0..7).map(label).collect();
    let lines = report(&run(&folder, "lines.jsonl", lines(&labels).as_bytes(), &["--json"]));
    let set = json!({ "exported_at": "2026-01-01", "labels": labels });
    for text in [set.to_string(), serde_json::to_string_pretty(&set).unwrap()] {
        let found = report(&run(&folder, "set.json", text.as_bytes(), &["--json"]));
        for member in ["rows", "skipped", "labels"] {
            assert_eq!(found[member], lines[member], "{member}");
        }
        assert_eq!(found["rows"], 7);
    }
}

/// Small worlds go through a deployment. Its answers meet every bar and are never more decided than their probability.
#[test]
fn simulated_worlds_judge_the_method() {
    let command = ["evaluate", "--world", "--short", "--json"];
    let output = std::process::Command::new(built("heliograph")).args(command).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert!(output.status.success(), "{report:#}");
    for row in report["rows"].as_array().unwrap() {
        assert!(row["begun"].as_u64() > Some(2), "{row}");
        assert!(row["found_in_72_h"].as_f64() > Some(0.6), "{row}");
        assert_eq!(row["contradictions"], 0, "{row}");
    }
}
