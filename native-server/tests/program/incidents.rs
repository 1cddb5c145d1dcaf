//! `heliograph admin incidents`, and the effect of a file of word vectors.

use serde_json::{Value, json};

use crate::{Server, bad, data, get, good, post};

#[test]
fn incidents_are_made_amended_merged_and_retracted_on_a_file_and_at_a_server() {
    let (_folder, path) = data("incidents");
    let make = |domain: &str, rest: &[&str]| {
        let mut arguments = vec![
            "admin",
            "incidents",
            "create",
            "--country",
            "ke",
            "--subject",
            domain,
            "--start",
            "2024-01-01",
            "--reason",
            "press",
        ];
        arguments.extend(rest);
        good(&path, &arguments).trim().to_owned()
    };
    assert_eq!(make("one.example.org", &["--severity", "high", "--asn", "AS64496"]), "KE-2024-0001");
    assert_eq!(make("two.example.org", &[]), "KE-2024-0002");
    let server = Server::start(&path);
    let to = ["--to", &server.base];
    let at = |arguments: &[&str]| good(&path, &[arguments, &to[..]].concat());
    at(&[
        "admin",
        "incidents",
        "amend",
        "KE-2024-0001",
        "--title",
        "By hand",
        "--confidence",
        "0.7",
        "--reason",
        "more",
    ]);
    let listed = at(&["admin", "incidents", "list", "--country", "KE"]);
    // Only one network reports it, and no other source (decision incident-grades).
    assert!(listed.contains("KE-2024-0001\t2024-01-01\t-\thigh\tsuspected\tBy hand\n"), "{listed}");
    at(&["admin", "incidents", "restore", "KE-2024-0001", "--field", "title", "--reason", "mistaken"]);
    assert!(at(&["admin", "incidents", "list", "--json"]).contains("one.example.org blocked in Kenya"));
    let versions = at(&["admin", "incidents", "versions", "KE-2024-0001"]);
    let actions: Vec<&str> = versions.lines().map(|line| line.split('\t').nth(2).unwrap()).collect();
    assert_eq!(actions, ["restored", "amended", "created"]);
    at(&["admin", "incidents", "merge", "KE-2024-0002", "--into", "KE-2024-0001", "--reason", "one cause"]);
    assert_eq!(at(&["admin", "incidents", "list"]).lines().count(), 1);
    let retract = ["admin", "incidents", "retract", "KE-2024-0001", "--reason", "a fault"];
    let error = bad(&path, &[&retract[..], &to[..]].concat());
    assert!(error.contains("409"), "its part would go with it: {error}");
    at(&["admin", "incidents", "restore", "KE-2024-0002", "--field", "merge", "--reason", "two after all"]);
    at(&retract);
    assert_eq!(at(&["admin", "incidents", "list"]).lines().count(), 1);
    let error = bad(&path, &["admin", "incidents", "retract", "KE-1999-0001", "--reason", "x", "--to", &server.base]);
    assert!(error.contains("404"), "{error}");
    let restore = ["admin", "incidents", "restore", "KE-2024-0001", "--field", "colour", "--reason", "x"];
    let error = bad(&path, &[&restore[..], &to[..]].concat());
    assert!(error.contains("colour"), "{error}");
}

/// Decision plain-sentences-and-disputes: disputes of readers also reach the operator on the command line.
#[test]
fn disputes_are_listed_and_ended_on_the_command_line() {
    let (_folder, path) = data("disputes");
    let make = ["--country", "KE", "--subject", "one.example.org", "--start", "2024-01-01", "--reason", "press"];
    good(&path, &[&["admin", "incidents", "create"][..], &make[..]].concat());
    let server = Server::start(&path);
    let dispute = json!({ "reason": "Nothing was blocked\nthat day." });
    let (status, received) =
        post(&format!("{}/data/incidents/KE-2024-0001/dispute", server.base), ("x", "y"), &dispute);
    assert_eq!(status, 201, "{received}");
    let at =
        |arguments: &[&str]| good(&path, &[&["admin", "incidents"][..], arguments, &["--to", &server.base]].concat());
    let open = at(&["disputes"]);
    let id = received["dispute_id"].as_str().unwrap();
    assert!(open.starts_with(&format!("{id}\tKE-2024-0001\t1\t")) && open.lines().count() == 1, "{open}");
    assert!(open.ends_with("\topen\tNothing was blocked that day.\n"), "{open}");
    assert_eq!(at(&["resolve", id, "--outcome", "rejected", "--note", "Two sources say so."]), "rejected\n");
    assert_eq!(at(&["disputes"]), "");
    assert!(at(&["disputes", "--resolved", "--json"]).contains("Two sources say so."));
    let again = ["admin", "incidents", "resolve", id, "--outcome", "accepted", "--to", &server.base];
    assert!(bad(&path, &again).contains("409"));
}

/// With the optional file of word vectors, a running server finds incidents that share no word with the query. Without
/// the file the same query finds nothing, and a broken file stops the start with its reason.
#[test]
fn a_file_of_word_vectors_joins_the_search_of_a_running_server() {
    let (_folder, path) = data("vectors");
    for (subject, title) in [("one.example.org", "Pupils offline"), ("two.example.org", "Generals take over")] {
        let make =
            ["--country", "KE", "--subject", subject, "--start", "2024-01-01", "--reason", "x", "--title", title];
        good(&path, &[&["admin", "incidents", "create"][..], &make[..]].concat());
    }
    let file = path.with_extension("vectors");
    let mut bytes = b"HELIOVEC1\n".to_vec();
    let words: [(&str, [i8; 2]); 4] =
        [("exams", [100, 0]), ("pupils", [90, 10]), ("coup", [0, 100]), ("generals", [5, 95])];
    bytes.extend(2_u32.to_le_bytes());
    bytes.extend(4_u32.to_le_bytes());
    for (word, vector) in words {
        bytes.extend((word.len() as u16).to_le_bytes());
        bytes.extend(word.as_bytes());
        bytes.extend(vector.map(|part| part as u8));
    }
    std::fs::write(&file, &bytes).unwrap();
    let search = |with: &[&str], query: &str| {
        let server = Server::start_with(&path, with);
        let ask = || get(&format!("{}/v1/incidents/similar?query={query}&k=1", server.base), ("x", "y")).1;
        // The index is published at most once per interval.
        for _ in 0..300 {
            let body = ask();
            if body["indexed"] == 2 {
                return body;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("never indexed: {}", ask())
    };
    assert_eq!(search(&[], "exams")["results"], json!([]));
    let setting = format!("vectors_file={}", file.display());
    for (query, title) in [("exams", "Pupils offline"), ("coup", "Generals take over")] {
        let body = search(&["--set", &setting], query);
        assert_eq!(body["model"], "bm25+lsa+vectors/1");
        let first = &body["results"][0];
        assert_eq!((&first["incident"]["title"], &first["why"]["vector_rank"]), (&json!(title), &json!(1)), "{body}");
        assert_eq!(first["why"]["bm25_rank"], Value::Null, "{body}");
    }
    std::fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    let refused = bad(&path, &["--set", &setting, "serve", "--listen", "127.0.0.1:0"]);
    assert!(refused.contains("vectors_file") && refused.contains("ends before its last word"), "{refused}");
}
