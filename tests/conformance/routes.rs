//! Rules for every route: methods, CORS, limits of bodies, the error body.

use heliograph_core::app::PROGRAM;
use heliograph_core::engine::http::{Auth, BodyKind};
use heliograph_tests::client::Client;
use heliograph_tests::relay::Agent;
use heliograph_tests::target::{ADMIN_KEY, Kind};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    a_path_that_nobody_serves_is_no_route,
    every_open_route_may_be_called_from_any_page,
    a_wrong_method_is_405_and_allow_lists_the_right_ones,
    head_answers_like_get_without_a_body_and_never_runs_an_effect,
    a_body_of_another_media_type_is_415,
    a_body_over_its_limit_is_413,
    a_missing_or_wrong_key_is_401_on_every_route_that_needs_one,
    two_leading_slashes_are_one,
    the_document_names_the_address_that_people_use,
    an_operator_has_everything_read_and_compared_with_its_checksums,
    an_operator_sees_the_settings_in_force_and_no_secret,
    health_says_whether_storage_is_well,
];

/// A path with every parameter filled in.
pub fn sample(path: &str) -> String {
    path.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).collect::<Vec<_>>().join("/")
}

fn a_path_that_nobody_serves_is_no_route(suite: &Suite) {
    for path in ["/nothing", "/v1", "/v1/agent", "/data/country", "/%ff"] {
        suite.client().get(path).expect_error(404, "NO_ROUTE");
    }
}

/// Decision any-origin.
fn every_open_route_may_be_called_from_any_page(suite: &Suite) {
    let client = suite.client().with("origin", "https://app.example.org");
    for route in PROGRAM.interface() {
        let admin = route.auth == Auth::Admin;
        let path = sample(route.path);
        let preflight = client
            .with("access-control-request-method", route.method.as_str())
            .with("access-control-request-headers", "x-agent-key,content-type,last-event-id")
            .send("OPTIONS", &path, None, b"");
        assert_eq!(preflight.status, 204, "{path}");
        let origin = preflight.header("access-control-allow-origin");
        assert_eq!(origin, (!admin).then_some("*"), "{path}");
        if !admin {
            let headers = preflight.header("access-control-allow-headers").unwrap().to_ascii_lowercase();
            for name in ["x-agent-key", "x-api-key", "content-type", "last-event-id", "idempotency-key"] {
                assert!(headers.contains(name), "{path} does not allow {name}");
            }
            let methods = preflight.header("access-control-allow-methods").unwrap();
            assert!(methods.contains(route.method.as_str()));
        }
        assert_eq!(preflight.header("access-control-allow-credentials"), None);
    }
    let refused = client.get("/nothing");
    assert_eq!(refused.header("access-control-allow-origin"), Some("*"));
    assert!(refused.header("access-control-expose-headers").unwrap().contains("Retry-After"));
    // A client whose clock is wrong sees by how much.
    if suite.kind != heliograph_tests::target::Kind::Memory {
        for answer in [refused, client.get("/health"), client.get("/v1/pay/health")] {
            assert!(answer.header("date").is_some_and(|date| date.ends_with(" GMT")), "{:?}", answer.headers);
        }
    }
}

fn a_wrong_method_is_405_and_allow_lists_the_right_ones(suite: &Suite) {
    let answer = suite.client().send("DELETE", "/openapi.json", None, b"");
    answer.expect_error(405, "METHOD_NOT_ALLOWED");
    assert_eq!(answer.header("allow"), Some("GET, HEAD, OPTIONS"));
}

/// Decision caller-rate-limits.
fn head_answers_like_get_without_a_body_and_never_runs_an_effect(suite: &Suite) {
    let client = suite.client();
    let (head, get) = (client.send("HEAD", "/openapi.json", None, b""), client.get("/openapi.json"));
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-type"), get.header("content-type"));
    for route in PROGRAM.interface().filter(|route| route.effectful) {
        let answer = client.send("HEAD", &sample(route.path), None, b"");
        assert_eq!(answer.status, 405, "{}", route.path);
        assert!(!answer.header("allow").unwrap().contains("HEAD"));
    }
}

fn a_body_of_another_media_type_is_415(suite: &Suite) {
    let client = suite.client();
    for route in PROGRAM.interface().filter(|route| route.body == BodyKind::Json) {
        let answer = client.send(route.method.as_str(), &sample(route.path), Some("text/xml"), b"<a/>");
        answer.expect_error(415, "UNSUPPORTED_MEDIA_TYPE");
    }
}

fn the_document_names_the_address_that_people_use(suite: &Suite) {
    let target = suite.fresh(&[("public_url", "https://relay.example/")]);
    let client = target.client();
    let first = client.get("/openapi.json");
    assert_eq!(first.expect(200)["servers"][0]["url"], "https://relay.example");
    let tag = first.header("etag").unwrap();
    assert_eq!(client.with("if-none-match", tag).get("/openapi.json").status, 304);
    // A server without such an address is the one that the document came from, and its document is another one. The Worker
    // of the tests is always told its address.
    let client = suite.client();
    let plain = client.get("/openapi.json");
    let own = if suite.kind == Kind::Edge { client.base().unwrap() } else { "/" };
    assert_eq!(plain.expect(200)["servers"][0]["url"], own);
    assert_ne!(plain.header("etag").unwrap(), tag);
}

/// A client with a key for every route.
pub fn with_every_key(suite: &Suite) -> Client {
    let client = suite.client();
    let agent = Agent::server_side(&client);
    let node = client.post("/v1/community/register", &json!({})).expect(201);
    let token = format!("Bearer {}", node["nodeToken"].as_str().unwrap());
    let client = client.agent(&agent.api_key).key(ADMIN_KEY).admin();
    client.with("x-sentinel-admin-key", ADMIN_KEY).with("authorization", &token)
}

/// Decision request-size-limits.
fn a_body_over_its_limit_is_413(suite: &Suite) {
    let client = with_every_key(suite);
    for route in PROGRAM.interface().filter(|route| route.body != BodyKind::None && route.max_body <= 1024 * 1024) {
        let body = vec![b' '; route.max_body + 1];
        let answer = client.send(route.method.as_str(), &sample(route.path), Some("application/json"), &body);
        answer.expect_error(413, "PAYLOAD_TOO_LARGE");
    }
}

fn a_missing_or_wrong_key_is_401_on_every_route_that_needs_one(suite: &Suite) {
    let client = suite.client();
    for route in PROGRAM.interface().filter(|route| matches!(route.auth, Auth::Key | Auth::Agent | Auth::Admin)) {
        let header = match route.auth {
            Auth::Key => "x-api-key",
            Auth::Agent => "x-agent-key",
            Auth::Admin => "x-admin-key",
            _ => unreachable!(),
        };
        let body = json!({}).to_string();
        let json = (route.body != BodyKind::None).then_some("application/json");
        let body = if json.is_some() { body.as_bytes() } else { b"" };
        let path = sample(route.path);
        client.send(route.method.as_str(), &path, json, body).expect_error(401, "UNAUTHORIZED");
        for wrong in ["x", "svc_key_x", "svc_agent_AAAAAAAAAAAAAAAAAAAAAA_00000000000000000000000000000000", ""] {
            let answer = client.with(header, wrong).send(route.method.as_str(), &path, json, body);
            answer.expect_error(401, "UNAUTHORIZED");
        }
    }
}

fn two_leading_slashes_are_one(suite: &Suite) {
    assert_eq!(suite.client().get("//openapi.json").status, 200);
}

/// Works natively. On the edge the platform has its own checksums, and the route says so.
fn an_operator_has_everything_read_and_compared_with_its_checksums(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let id = Agent::server_side(&client).did;
    let found = client.admin().send("POST", "/v1/admin/scrub", None, b"").expect(200);
    assert_eq!(found["supported"], target.kind == Kind::Native, "{found}");
    assert_eq!((&found["damaged"], &found["damage"]), (&json!(0), &json!([])), "{found}");
    match target.kind {
        Kind::Native => assert!(found["rows"].as_u64() > Some(10) && found["pages"].as_u64() > Some(5), "{found}"),
        _ => assert!(found["note"].as_str().is_some_and(|note| note.contains("checksums of its own")), "{found}"),
    }
    client.get(&format!("/v1/agent/identity/{id}")).expect(200);
}

/// Decision commands-on-servers.
fn an_operator_sees_the_settings_in_force_and_no_secret(suite: &Suite) {
    let target = suite.fresh(&[("agent_burst", "777")]);
    let client = target.client();
    client.get("/v1/admin/settings").expect_error(401, "UNAUTHORIZED");
    let answer = client.admin().get("/v1/admin/settings");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let found = answer.expect(200);
    let of = |name: &str| {
        let all = found["settings"].as_array().unwrap();
        let setting = all.iter().find(|setting| setting["name"] == name).unwrap();
        (setting["value"].as_str().unwrap().to_owned(), setting["source"].as_str().unwrap().to_owned())
    };
    assert_eq!(of("agent_burst"), ("777".to_owned(), "set".to_owned()));
    assert_eq!(of("agent_key_format").1, "default");
    let secret =
        |setting: &Value| setting["secret"] == true && setting["value"] != "(set)" && setting["value"] != "(not set)";
    assert!(!found["settings"].as_array().unwrap().iter().any(secret), "{found}");
}

fn health_says_whether_storage_is_well(suite: &Suite) {
    let health = suite.client().get("/health").expect(200);
    let checks = &health["checks"];
    assert_eq!(
        (&checks["database"], &checks["writes"], &checks["damaged_pages"]),
        (&json!("ok"), &json!("ok"), &json!(0))
    );
}
