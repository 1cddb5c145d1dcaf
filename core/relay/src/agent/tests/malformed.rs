//! Whatever a client sends, the answer is a 4xx with the error body, never a 5xx and never a panic.

use super::*;
use engine::http::{BodyKind, Route};

fn agent_routes() -> impl Iterator<Item = &'static Route> {
    crate::testing::PROGRAM.routes().filter(|route| route.path.starts_with("/v1/agent/"))
}

/// Valid bodies, which the tests spoil one member at a time.
fn valid(path: &str, did: &str) -> Value {
    let encode = |n: usize| crypto::encoding::encode_base64(&vec![3; n]);
    match path {
        "/v1/agent/register" => Client::new("svc", [5; 32], Options::default()).key_body(Some("n"), 1),
        "/v1/agent/profile" => json!({ "name": "n", "capabilities": ["c"], "metadata": {} }),
        "/v1/agent/send" => json!({ "to": did, "message": "m", "content_type": "t", "ttl": 60 }),
        "/v1/agent/send/encrypted" => json!({ "to": did, "ciphertext": encode(40), "nonce": encode(24),
            "signature": encode(64), "envelope": "e", "thread_id": "t", "ttl": 60 }),
        "/v1/agent/messages/read-batch" => json!({ "message_ids": [] }),
        "/v1/agent/verify" => json!({ "envelope": "e", "signature": encode(64), "sender_did": did }),
        "/v1/agent/keys/pin" => json!({ "did": did }),
        _ => json!({}),
    }
}

fn check(answer: &Answer, what: &str) {
    assert!(answer.status < 500, "{what}: {} {}", answer.status, answer.body);
    if answer.status >= 400 {
        assert!(answer.body["error"].is_string() && answer.body["message"].is_string(), "{what}: {}", answer.body);
    }
}

#[test]
fn a_wrong_member_is_400_on_every_route_that_reads_a_body() {
    let world = World::patient();
    let ada = world.server_agent("Ada");
    let wrong = [json!(1e99), json!(true), json!({ "x": 1 }), json!([[]]), json!("\u{0}!"), json!("x".repeat(60_000))];
    for route in agent_routes().filter(|route| route.body == BodyKind::Json) {
        let good = valid(route.path, &ada.did);
        for name in good.as_object().unwrap().keys() {
            for value in &wrong {
                let mut body = good.clone();
                body[name] = value.clone();
                let answer = world.call(route.method.as_str(), route.path, &ada.key, body);
                check(&answer, &format!("{} {name}={value:.40}", route.path));
            }
        }
    }
}

#[test]
fn bodies_that_are_no_objects_are_400() {
    let world = World::patient();
    let ada = world.server_agent("Ada");
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    let nested = format!("{{\"metadata\":{}1{}}}", "{\"a\":".repeat(700), "}".repeat(700));
    let bodies: Vec<&[u8]> = vec![
        b"[]",
        b"null",
        b"1",
        b"\"x\"",
        b"{",
        b"{}}",
        b"\xff\xfe",
        b"{\"name\":\"\xc3\x28\"}",
        b"{\"name\":\"\\ud800\"}",
        b"{\"a\":1,\"a\":2}",
        deep.as_bytes(),
        nested.as_bytes(),
        b"{\"ttl\":1e999}",
        b"\x00",
    ];
    for route in agent_routes().filter(|route| route.body == BodyKind::Json) {
        if route.path.contains('{') {
            continue;
        }
        for body in &bodies {
            let answer = world.raw(route.method.as_str(), route.path, &[("x-agent-key", &ada.key)], body);
            check(&answer, &format!("{} {:.40}", route.path, String::from_utf8_lossy(body)));
        }
        for body in [&b"{"[..], b"\xff", b"[]", b"1"] {
            if valid(route.path, "").as_object().unwrap().is_empty() {
                continue;
            }
            let answer = world.raw(route.method.as_str(), route.path, &[("x-agent-key", &ada.key)], body);
            assert_eq!(answer.status, 400, "{} {}", route.path, String::from_utf8_lossy(body));
        }
        let huge = vec![b' '; route.max_body + 1];
        let answer = world.raw(route.method.as_str(), route.path, &[("x-agent-key", &ada.key)], &huge);
        assert_eq!((answer.status, &answer.body["error"]), (413, &json!("PAYLOAD_TOO_LARGE")), "{}", route.path);
        let headers = [("x-agent-key", ada.key.as_str()), ("content-type", "text/xml")];
        world.raw(route.method.as_str(), route.path, &headers, b"<x/>").refused(415, "UNSUPPORTED_MEDIA_TYPE");
    }
}

#[test]
fn queries_and_paths_of_any_kind_are_answered() {
    let world = World::patient();
    let ada = world.server_agent("Ada");
    let odd = ["", "%", "%ff", "%00", "+", "..", "-1", "0", "1e9", "18446744073709551616", "\u{e9}", "%2F", "%2e%2e"];
    for route in agent_routes().filter(|route| route.path != "/v1/agent/receive/sse") {
        for value in odd {
            let path = route.path.replace("{did}", value).replace("{id}", value);
            let names = ["since", "limit", "from", "thread_id", "unread", "status"];
            let query: Vec<String> = names.iter().map(|name| format!("{name}={value}")).collect();
            for path in [path.clone(), format!("{path}?{}", query.join("&")), format!("{path}?{value}&&=")] {
                if route.method == "DELETE" && route.path.ends_with("deactivate") {
                    continue;
                }
                let response = world.response(route.method.as_str(), &path, &[("x-agent-key", &ada.key)], b"");
                assert!(response.status.as_u16() < 500, "{} {path}: {}", route.method, response.status);
            }
        }
    }
    for bad in ["limit=0", "limit=-1", "limit=x", "limit=1.5", "since=x", "unread=x"] {
        world.get(&format!("/v1/agent/receive?{bad}"), &ada.key).refused(400, "BAD_REQUEST");
        world.get(&format!("/v1/agent/receive/raw?{bad}"), &ada.key).refused(400, "BAD_REQUEST");
    }
}

#[test]
fn every_agent_route_wants_its_key_and_no_public_one_minds_a_bad_one() {
    let world = World::new();
    let ada = world.server_agent("Ada");
    for route in agent_routes() {
        let path = route.path.replace("{did}", &ada.did).replace("{id}", "x");
        for headers in [vec![], vec![("x-agent-key", "svc_agent_wrong")], vec![("x-agent-key", "")]] {
            let response = world.response(route.method.as_str(), &path, &headers, b"");
            // For this route the API key is one of two ways to authenticate.
            let wanted = route.auth == engine::http::Auth::Agent || route.path == "/v1/agent/api-key";
            assert_eq!(response.status == 401, wanted, "{} {path}", route.method);
        }
    }
}
