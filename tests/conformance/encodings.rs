//! Compressed answers: which there are, what their headers say, and what is never compressed (decisions
//! compressed-answers and compressed-on-the-edge).

use std::io::Read;

use heliograph_tests::client::{Answer, Client};
use heliograph_tests::target::Kind;
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    public_answers_come_as_the_client_likes_them_best,
    a_tag_of_either_form_is_known_and_both_forms_say_what_they_depend_on,
    head_tells_of_the_compressed_answer_and_brings_nothing,
    exports_are_compressed_on_their_way,
    what_a_key_was_shown_for_and_what_is_short_or_an_event_stays_as_it_is,
];

/// Memory compresses nothing: the servers and the platform do.
fn client(suite: &Suite) -> Option<Client> {
    if suite.kind == Kind::Memory {
        eprintln!("skipped on memory: it compresses nothing");
        return None;
    }
    Some(suite.client())
}

fn taking(client: &Client, codings: &str) -> Client {
    client.with("accept-encoding", codings)
}

/// The body as it was before it was compressed.
fn plain(answer: &Answer) -> Vec<u8> {
    let mut body = Vec::new();
    match answer.header("content-encoding") {
        None => body.extend_from_slice(&answer.body),
        Some("br") => {
            brotli::Decompressor::new(&answer.body[..], 4_096).read_to_end(&mut body).unwrap();
        }
        Some("gzip") => {
            flate2::read::GzDecoder::new(&answer.body[..]).read_to_end(&mut body).unwrap();
        }
        Some(other) => panic!("nobody asked for {other}"),
    }
    body
}

fn varies(answer: &Answer) -> bool {
    let all = answer.headers.get_all("vary").iter().map(|value| value.to_str().unwrap());
    all.flat_map(|value| value.split(',')).any(|name| name.trim().eq_ignore_ascii_case("accept-encoding"))
}

/// Answers that are the same every time.
const LASTING: [&str; 2] = ["/openapi.json", "/llms.txt"];

fn public_answers_come_as_the_client_likes_them_best(suite: &Suite) {
    let Some(client) = client(suite) else { return };
    // On the edge the platform compresses, and this asks for gzip alone.
    let brotli = if suite.kind == Kind::Edge { "gzip" } else { "br" };
    for path in LASTING {
        let whole = client.get(path);
        assert_eq!((whole.header("content-encoding"), varies(&whole)), (None, true), "{path}");
        for (liked, coding) in [
            ("gzip", Some("gzip")),
            ("gzip, deflate, br", Some(brotli)),
            ("br;q=0.5, gzip;q=0.8", Some("gzip")),
            ("br;q=0, gzip;q=0.1", Some("gzip")),
            ("gzip;q=0, br;q=0", None),
            ("identity, *;q=0", None),
            ("zstd", None),
        ] {
            // Twice: what was compressed is kept.
            for _ in 0..2 {
                let answer = taking(&client, liked).get(path);
                let seen = answer.header("content-encoding");
                assert_eq!((answer.status, seen, varies(&answer)), (200, coding, true), "{path} for {liked:?}");
                assert!(plain(&answer) == whole.body, "{path} for {liked:?}");
                assert_eq!(answer.header("content-type"), whole.header("content-type"));
                if coding.is_some() {
                    assert!(answer.body.len() * 4 < whole.body.len() * 3, "{path}: {}", answer.body.len());
                }
                if let Some(length) = answer.header("content-length") {
                    assert_eq!(length, answer.body.len().to_string(), "{path} for {liked:?}");
                }
            }
        }
    }
    for path in ["/data/methodology", "/data/country/KE"] {
        let answer = taking(&client, "gzip").get(path);
        assert_eq!(answer.header("content-encoding"), Some("gzip"), "{path}");
        assert!(serde_json::from_slice::<Value>(&plain(&answer)).unwrap().is_object(), "{path}");
    }
}

fn a_tag_of_either_form_is_known_and_both_forms_say_what_they_depend_on(suite: &Suite) {
    let Some(client) = client(suite) else { return };
    for path in LASTING {
        let (whole, coded) = (client.get(path), taking(&client, "gzip").get(path));
        assert_eq!(coded.header("content-encoding"), Some("gzip"), "{path}");
        let (own, weak) = (whole.header("etag").unwrap(), coded.header("etag").unwrap());
        assert_eq!(weak.strip_prefix("W/"), Some(own.trim_start_matches("W/")), "{path}");
        for tag in [own, weak] {
            for client in [client.clone(), taking(&client, "gzip")] {
                let again = client.with("if-none-match", tag).get(path);
                assert_eq!((again.status, again.body.len()), (304, 0), "{path}: {tag}");
                assert!(again.header("content-encoding").is_none() && varies(&again), "{path}: {tag}");
            }
        }
    }
}

fn head_tells_of_the_compressed_answer_and_brings_nothing(suite: &Suite) {
    let Some(client) = client(suite) else { return };
    for path in LASTING {
        let asking = taking(&client, "gzip");
        let (answer, head) = (asking.get(path), asking.send("HEAD", path, None, b""));
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        for name in ["content-encoding", "etag", "content-type", "vary"] {
            assert_eq!(head.header(name), answer.header(name), "{path}: {name}");
        }
        // The platform does not say how long it will be.
        if suite.kind == Kind::Native {
            assert_eq!(head.header("content-length"), Some(answer.body.len().to_string().as_str()), "{path}");
        }
    }
}

fn exports_are_compressed_on_their_way(suite: &Suite) {
    let Some(client) = client(suite) else { return };
    for format in ["json", "jsonl", "csv"] {
        let path = format!("/data/incidents/export?format={format}");
        let whole = client.get(&path);
        for coding in ["gzip", "br"] {
            let answer = taking(&client, coding).get(&path);
            if coding == "gzip" || suite.kind == Kind::Native {
                assert_eq!(answer.header("content-encoding"), Some(coding), "{path}");
            }
            assert!(varies(&answer) && answer.header("etag").is_none_or(|tag| tag.starts_with("W/")), "{path}");
            // The time of making is in it.
            let (plain, whole) = (plain(&answer), &whole.body);
            assert_eq!(plain.len(), whole.len(), "{path}");
            assert!(plain[..plain.len().min(32)] == whole[..whole.len().min(32)], "{path}");
        }
    }
}

fn what_a_key_was_shown_for_and_what_is_short_or_an_event_stays_as_it_is(suite: &Suite) {
    let Some(client) = client(suite) else { return };
    let asking = taking(&client, "br, gzip");
    let agent = asking.post("/v1/agent/register", &json!({}));
    let made = agent.expect(201);
    let key = made["api_key"].as_str().unwrap();
    let as_it_is = |answer: &Answer, what: &str| {
        assert!(answer.status < 300, "{what}: {}", answer.status);
        assert_eq!(answer.header("content-encoding"), None, "{what}");
        assert!(answer.header("etag").is_none_or(|tag| !tag.is_empty()));
    };
    as_it_is(&agent, "an answer with a new key");
    as_it_is(&asking.get("/healthz"), "a short answer");
    for (name, value) in [("x-agent-key", key), ("authorization", "Bearer x"), ("x-admin-key", "x"), ("cookie", "a=b")]
    {
        as_it_is(&asking.with(name, value).get("/openapi.json"), name);
    }
    as_it_is(&asking.with("range", "bytes=0-9").get("/openapi.json"), "a part");
    as_it_is(&asking.agent(key).get("/v1/agent/receive"), "mail");
    as_it_is(&asking.admin().get("/v1/admin/keys"), "a list of the operator");
    // The client of events reads them as they come, and fails on anything compressed.
    let sender = client.post("/v1/agent/register", &json!({})).expect(201);
    let sender = client.agent(sender["api_key"].as_str().unwrap());
    sender.post("/v1/agent/send", &json!({ "to": made["did"], "message": "m".repeat(2_000) })).expect(201);
    let mut events = asking.agent(key).events("/v1/agent/receive/sse");
    assert!(events.next().is_some());
}
