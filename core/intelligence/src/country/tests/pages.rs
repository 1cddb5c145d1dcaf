//! Pages that are made once and kept under a key of all that they depend on.

use http::Method;
use serde_json::{Value, json};

use super::{ADMIN, HEADER, Server, rows};

fn create(server: &Server, day: u32) -> Value {
    let body = json!({
        "country": "IT", "subject": "a.example", "domains": ["a.example"], "reason": "a test",
        "start": format!("2025-{:02}-{:02}T00:00:00Z", day / 28 + 1, day % 28 + 1),
    });
    let headers = [("x-admin-key", ADMIN), ("content-type", "application/json")];
    let created = server.request(Method::POST, "/v1/admin/incidents", &headers, body.to_string().as_bytes());
    let (status, body) = super::json(created);
    assert_eq!(status, 201, "{body}");
    body
}

/// RFC 9110 section 13.1.2: the tag of a page stands for its question and the last change, so it changes with either.
#[test]
fn a_page_keeps_its_tag_until_something_changes() {
    let server = Server::start();
    create(&server, 1);
    let ask = |path: &str, tag: &str| {
        let response = server.request(Method::GET, path, &[("if-none-match", tag)], b"");
        let tag = response.headers["etag"].to_str().unwrap().to_owned();
        (response.status.as_u16(), tag, super::json(response).1)
    };
    let paths =
        ["/data/incidents?limit=7", "/data/incidents/delta?since=2000-01-01", "/v1/incidents/similar?query=block"];
    let tags: Vec<String> = paths.iter().map(|path| ask(path, "\"x\"").1).collect();
    for (path, tag) in paths.iter().zip(&tags) {
        assert_eq!(ask(path, tag), (304, tag.clone(), Value::Null), "{path}");
        assert_eq!(ask(path, "\"x\""), ask(path, "\"y\""), "{path}");
    }
    assert_eq!(ask("/data/incidents?limit=8", &tags[0]).0, 200);
    create(&server, 2);
    for (path, tag) in paths.iter().zip(&tags) {
        let (status, other, _) = ask(path, tag);
        assert!(status == 200 && other != *tag, "{path}");
    }
    assert_eq!(ask(paths[0], "\"x\"").2["count"], 2);
}

/// Our choice: the page of one reader must not hold up those of others.
#[test]
fn a_page_of_changes_has_at_most_200_rows_and_the_next_ones_follow() {
    let server = Server::start();
    (0..203).for_each(|day| drop(create(&server, day)));
    let mut since = "2000-01-01T00:00:00Z".to_owned();
    let mut pages = Vec::new();
    for _ in 0..3 {
        let page = server.ok(&format!("/data/incidents/delta?since={since}&limit=1000"));
        pages.push((page["count"].as_u64().unwrap(), page["has_more"] == true));
        since = page["next_since"].as_str().unwrap().to_owned();
    }
    assert_eq!(pages, [(200, true), (3, false), (0, false)]);
}

/// The domains of a topic are kept until a list or an incident changes.
#[test]
fn a_topic_follows_the_lists_that_are_imported() {
    let server = Server::start();
    create(&server, 1);
    let found = |topic: &str| server.ok(&format!("/data/incidents?topic={topic}"))["total"].as_u64().unwrap();
    assert_eq!((found("news"), found("gambling")), (0, 0));
    for (category, expected) in [("NEWS", (1, 0)), ("GMB", (0, 1))] {
        let list = format!(
            "url,category_code,category_description,date_added,source,notes\nhttps://a.example/,{category},,2020-01-01,x,\n"
        );
        let (status, summary) = server.upload("test-list?list=global", list.as_bytes());
        assert_eq!(status, 200, "{summary}");
        server.settle();
        assert_eq!((found("news"), found("GMB")), expected, "{category}");
    }
    create(&server, 2);
    assert_eq!(found("GMB"), 2);
}

/// The answer to a question about many sites is kept as one. It follows every change in the country, and is never the
/// answer to another question.
#[test]
fn a_batch_follows_what_is_measured_and_each_question_keeps_its_own_answer() {
    let server = Server::start();
    let sites = ["a.example", "b.example"];
    let ask = |sites: &[&str]| {
        let (status, body) = server.post("/hydra/v1/detect/batch", &json!({ "country": "IT", "targets": sites }));
        assert_eq!(status, 200, "{body}");
        let results = body["results"].as_array().unwrap().clone();
        results.iter().map(|row| row["evidenceCount"].as_u64().unwrap()).collect::<Vec<u64>>()
    };
    let add = |asn: u32, site: &str| {
        let data = format!("{HEADER}{}", rows("IT", asn, site, "2025-12-30", 0..9, true));
        assert_eq!(server.upload("ooni-observations", data.as_bytes()).0, 200);
    };
    sites.iter().for_each(|site| add(1, site));
    for expected in [[9, 9], [18, 9]] {
        for _ in 0..2 {
            assert_eq!(ask(&sites), expected);
            assert_eq!((ask(&sites[1..]), ask(&["b.example", "a.example"])), (vec![9], vec![9, expected[0]]));
            // The answer with networks and the one without are kept side by side.
            for (site, evidence) in sites.iter().zip(expected) {
                let one = server.detect("IT", site, None);
                let networks = one["isps"].as_array().map(Vec::len);
                assert_eq!((&one["evidenceCount"], networks), (&json!(evidence), Some(evidence as usize / 9)), "{one}");
            }
        }
        add(2, "a.example");
    }
}
