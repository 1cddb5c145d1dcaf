//! Imports and the classification of measurements, on a file and at a server.

use serde_json::{Value, json};

use super::{Server, data, good, run};

/// Every line of an import is counted once, and importing twice changes nothing, on a file and at a server alike.
#[test]
fn importing_twice_changes_nothing_on_the_file_and_at_a_server() {
    let (folder, path) = data("import");
    let list = folder.file("ir.txt");
    std::fs::write(&list, "one.example.org\ntwo.example.org\ntwo.example.org\n\u{0}\n").unwrap();
    let list = list.to_str().unwrap();
    let import = |more: &[&str]| -> Value {
        let fixed = ["import", "blocklist", list, "--country", "IR", "--date", "2026-01-31", "--json"];
        serde_json::from_str(&good(&path, &[&fixed[..], more].concat())).unwrap()
    };
    let first = import(&[]);
    assert_eq!(first["accepted"], 2, "{first}");
    let lines = |report: &Value| -> u64 {
        ["accepted", "duplicate", "unsupported", "unusable", "refused"]
            .iter()
            .map(|n| report[n].as_u64().unwrap())
            .sum()
    };
    let server = Server::start(&path);
    let second = import(&["--to", &server.base]);
    assert_eq!((lines(&second), &second["refused"]), (lines(&first), &first["refused"]), "{second}");
    assert_eq!(second["countries"]["IR"]["new"].as_u64().unwrap_or_default(), 0, "{second}");
    let nothing = run(&path, &["import", "asn", "/dev/null", "--to", &server.base]);
    let told = String::from_utf8(nothing.stderr).unwrap();
    assert!(!nothing.status.success() && told.contains("nothing could be read"), "{told}");
}

/// A job that asks a source every hour often gets no rows. The result is the same on a file and at a server.
#[test]
fn an_answer_without_rows_is_a_success_and_another_shape_a_failure() {
    let (folder, path) = data("no-rows");
    let file = |kind: &str, text: &str| {
        let file = folder.file(kind);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let empty = [
        ("radar", r#"{"success":true,"result":{"annotations":[]}}"#),
        ("ioda", r#"{"type":"outages.events","error":null,"data":[]}"#),
        ("ooni-aggregation", r#"{"v":0,"result":[]}"#),
        ("outages", "[]"),
        ("shutdowns", "start_date,country\n"),
        ("ooni-observations", "report_id,input,test_name,probe_cc,probe_asn,measurement_start_time\n"),
    ];
    let other = [
        ("radar", r#"{"success":true,"result":{}}"#),
        ("ioda", r#"{"data":{}}"#),
        ("ioda", r#"{"data":null}"#),
        ("ooni-aggregation", r#"{"result":null}"#),
        ("shutdowns", "name,place\n"),
        ("outages", ""),
    ];
    let all = |more: &[&str]| {
        for (kind, text) in empty {
            let file = file(kind, text);
            let arguments = [&["import", kind, &file, "--json"], more].concat();
            let report: Value = serde_json::from_str(&good(&path, &arguments)).unwrap();
            assert_eq!((&report["accepted"], &report["reasons"]), (&json!(0), &json!({})), "{kind}: {report}");
        }
        for (kind, text) in other {
            let file = file(kind, text);
            let told = run(&path, &[&["import", kind, &file], more].concat());
            assert!(!told.status.success(), "{kind}: {text}");
        }
    };
    all(&[]);
    let server = Server::start(&path);
    all(&["--to", &server.base]);
}

/// A folder of lists has other files in it. They are named, and the rest is imported, on a file and at a server alike.
/// Only a list called `global` is the global list.
#[test]
fn an_import_goes_on_after_a_file_that_cannot_be_read() {
    let (folder, path) = data("mixed");
    let write = |name: &str, text: &[u8]| {
        let file = folder.file(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let legend = write("legend.csv", b"Code,Name\nNEWS,News\n");
    let cut_off = write("cut-off.csv", b"\x1f\x8b\x08\x00\x00\x00");
    let missing = folder.file("missing.csv").to_str().unwrap().to_owned();
    let casino = write("casino.csv", b"url,category_code\nhttps://casino.example/,GMB\n");
    let global = write("global.csv", b"\nURL,Category_Code\nhttps://news.example/,NEWS\n");
    let files = [legend.as_str(), &cut_off, &missing, &casino, &global];
    let import = |more: &[&str]| -> Value {
        let arguments = [&["import", "test-list", "--json"], &files[..], more].concat();
        let output = run(&path, &arguments);
        assert!(!output.status.success(), "whoever runs it hears that files are missing");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let check = |report: &Value, new: u64| {
        let unreadable: Vec<&String> = report["unreadable"].as_object().unwrap().keys().collect();
        assert_eq!(unreadable, [&cut_off, &legend, &missing], "{report}");
        assert_eq!((report["accepted"].as_u64(), report["duplicate"].as_u64()), (Some(new), Some(2 - new)), "{report}");
    };
    check(&import(&[]), 2);
    let server = Server::start(&path);
    check(&import(&["--to", &server.base]), 0);
    let nothing = run(&path, &["import", "test-list", &legend, "--to", &server.base]);
    let told = String::from_utf8(nothing.stderr).unwrap();
    assert!(!nothing.status.success() && told.contains("category_code") && told.contains("nothing could be read"));
    // Under its own name the list is known; as part of the global list it would be new.
    let as_list = |list: &str| -> Value {
        let arguments = ["import", "test-list", &casino, "--list", list, "--dry-run", "--json", "--to", &server.base];
        serde_json::from_str(&good(&path, &arguments)).unwrap()
    };
    assert_eq!(as_list("casino")["duplicate"], 1);
    assert_eq!(as_list("global")["accepted"], 1);
    // A line that is too long is counted, and the lines around it are read.
    let long = format!("a.example\n{}\nb.example\n", "x".repeat(5 << 20));
    let list = write("long.txt", long.as_bytes());
    for more in [&["--to", server.base.as_str()][..], &["--dry-run", "--to", server.base.as_str()]] {
        let arguments = [&["import", "blocklist", list.as_str(), "--country", "SE", "--json"], more].concat();
        let report: Value = serde_json::from_str(&good(&path, &arguments)).unwrap();
        let lines = report["accepted"].as_u64().unwrap() + report["duplicate"].as_u64().unwrap();
        assert_eq!((lines, &report["reasons"]["row_too_long"]), (2, &1.into()), "{report}");
    }
}

/// A file that is cut off, missing or of another kind fails the command, and the message names the kind that it looks
/// like, on a file and at a server alike. The part before the cut is read.
#[test]
fn a_file_that_is_cut_off_missing_or_of_another_kind_fails_the_command() {
    let (folder, path) = data("other-kinds");
    let write = |name: &str, text: &[u8]| {
        let file = folder.file(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let document = |number: u32| {
        json!({
            "test_name": "telegram", "report_id": format!("r{number}"), "probe_cc": "KE", "probe_asn": "AS64500", "input": null,
            "measurement_start_time": "2026-05-01 00:00:00", "test_keys": { "telegram_web_status": "ok" },
        })
        .to_string()
    };
    let row = json!({
        "test_name": "telegram", "report_id": "r", "probe_cc": "KE", "probe_asn": "1", "scores": { "blocking_general": 0.0 },
        "measurement_start_time": "2026-05-01 00:00:00",
    })
    .to_string();
    let whole = [document(1), document(2), document(3)].join("\n");
    let cut = &whole[..whole.len() - 20];
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, whole.as_bytes()).unwrap();
    let packed = gzip.finish().unwrap();
    let lists = "url,category_code,notes\nhttps://a.example/,NEWS,x\n";
    let cases: [(&str, &str, Vec<u8>, &str); 11] = [
        ("ooni-measurements", "cut.jsonl", cut.into(), "ends in the middle"),
        ("ooni-measurements", "cut.jsonl.gz", packed[..packed.len() - 9].to_vec(), "error"),
        ("test-list", "cut.csv", format!("{lists}https://b.example/,NE").into(), "ends in the middle"),
        ("test-list", "quote.csv", format!("{lists}https://b.example/,NEWS,\"op").into(), "ends in the middle"),
        ("ooni-measurements", "rows.jsonl", row.clone().into(), "`ooni-fastpath`"),
        ("ooni-fastpath", "documents.jsonl", document(1).into(), "`ooni-measurements`"),
        ("blocklist", "list.csv", lists.into(), "`test-list`"),
        (
            "elections",
            "stop.csv",
            b"start_date,country,shutdown_type\n2020-01-01,Chad,Shutdown\n".to_vec(),
            "`shutdowns`",
        ),
        ("shutdowns", "elections.csv", b"country,date,type,source\nKE,2027,local,x\n".to_vec(), "`elections`"),
        ("test-list", "hosts.txt", b"one.example\ntwo.example\n".to_vec(), "`blocklist`"),
        ("ioda", "error.html", b"<html>504</html>".to_vec(), "a page of a web site"),
    ];
    let all = |more: &[&str]| {
        for (kind, name, text, says) in &cases {
            let file = write(name, text);
            let country = if *kind == "blocklist" { &["--country", "KE"][..] } else { &[] };
            let output = run(&path, &[&["import", kind, &file], country, more].concat());
            let told = String::from_utf8(output.stderr).unwrap();
            assert!(!output.status.success() && told.contains(says), "{kind} {name}: {told}");
            if name.starts_with("cut.jsonl") && !name.ends_with("gz") {
                let told = String::from_utf8(output.stdout).unwrap();
                assert!(told.lines().any(|line| line.split_whitespace().eq(["refused", "1"])), "{told}");
            }
        }
        let missing = folder.file("missing.csv");
        let output = run(&path, &[&["import", "asn", missing.to_str().unwrap()], more].concat());
        assert!(!output.status.success());
        // Complete lines, with and without a line end after the last one.
        for text in [whole.clone(), format!("{whole}\n")] {
            good(&path, &[&["import", "ooni-measurements", &write("whole.jsonl", text.as_bytes())], more].concat());
        }
    };
    all(&[]);
    let server = Server::start(&path);
    all(&["--to", &server.base]);
}

/// One document a line, an array, JSON over several lines, a byte order mark: all are read, and a line that is no
/// document is `unknown` in its place.
#[test]
fn classify_reads_documents_however_they_are_written() {
    let (folder, path) = data("layouts");
    let document = "{\"test_name\":\"ndt\"}";
    let texts = [
        (format!("\u{feff}{document}\r\n\r\n{document}\r\n"), 2),
        (format!("[{document},{document}]"), 2),
        (format!("[\n{document},\n{document}\n]\n"), 2),
        ("{\n  \"test_name\": \"ndt\"\n}\n".to_owned(), 1),
        (format!("{document}\nnot json\n5\n{document}\n"), 4),
    ];
    for (text, count) in &texts {
        let file = folder.file("documents");
        std::fs::write(&file, text).unwrap();
        let output = good(&path, &["classify", file.to_str().unwrap(), "--json"]);
        let results: Vec<Value> = serde_json::from_str(&output).unwrap();
        assert_eq!(results.len(), *count, "{text:?}: {results:?}");
        for (at, result) in results.iter().enumerate() {
            assert_eq!((&result["label"], result["number"].as_u64()), (&"unknown".into(), Some(at as u64 + 1)));
            assert!(result["reason"].is_string(), "{result}");
        }
    }
    let whole = folder.file("damaged.gz");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    (0..2_000).for_each(|n| {
        std::io::Write::write_all(&mut gzip, format!("{{\"test_name\":\"t{n}\"}}\n").as_bytes()).unwrap()
    });
    let bytes = gzip.finish().unwrap();
    std::fs::write(&whole, &bytes[..bytes.len() / 2]).unwrap();
    let output = run(&path, &["classify", whole.to_str().unwrap(), "--json"]);
    let results: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success() && results.len() > 100, "{}", results.len());
    assert!(String::from_utf8_lossy(&output.stderr).contains("damaged.gz"));
}

#[test]
fn classify_leaves_no_data_behind() {
    let (folder, path) = data("classify");
    let file = folder.file("documents.jsonl");
    std::fs::write(&file, "{\"test_name\":\"ndt\"}\n{\"scenario\":\"s\",\"measurement\":{}}\n").unwrap();
    let results: Value = serde_json::from_str(&good(&path, &["classify", file.to_str().unwrap(), "--json"])).unwrap();
    assert_eq!(results[0]["label"], "unknown");
    assert_eq!((results[1]["scenario"].as_str(), results[1]["number"].as_u64()), (Some("s"), Some(2)));
    assert!(!path.exists());
}
