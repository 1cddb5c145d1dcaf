//! Sends requests that no client should send to every route of the table. The answer must be a 4xx with the error body,
//! or a success where the input happens to be valid, and never a 5xx or a hang. A new route is covered without a change
//! here.

use std::time::{Duration, Instant};

use heliograph_core::app::PROGRAM;
use heliograph_core::app::openapi;
use heliograph_core::engine::http::{Auth, BodyKind, Route};
use heliograph_tests::client::{Answer, Client};
use heliograph_tests::relay::{Agent, letter, unique};
use heliograph_tests::target::ADMIN_KEY;
use http::Method;
use serde_json::{Map, Value, json};

use crate::{Suite, cases};

cases![
    a_body_that_is_no_json_is_refused_everywhere,
    a_body_that_is_json_but_no_object_of_the_route_is_refused,
    a_member_of_a_wrong_type_is_refused_everywhere,
    a_required_member_is_required_everywhere,
    a_member_that_comes_twice_breaks_nothing,
    huge_and_deep_values_break_nothing,
    bad_percent_encoding_in_paths_breaks_nothing,
    bad_queries_break_nothing,
    headers_full_of_rubbish_break_nothing,
    the_server_works_as_before_after_all_this,
];

/// Longest time for any of these requests.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends requests to one route with a suitable key, and checks each answer.
struct Probe {
    client: Client,
    route: &'static Route,
    path: String,
}

impl Probe {
    fn new(suite: &Suite, route: &'static Route) -> Probe {
        let open = suite.rough();
        let client = match route.auth {
            // The signature is in the body, and none of these bodies is signed.
            Auth::None | Auth::Signed | Auth::SignedOrAdmin | Auth::SignedAdmin | Auth::Token => open,
            Auth::Key => open.key(ADMIN_KEY),
            Auth::Agent => Agent::server_side(&open).client,
            Auth::Admin => open.admin(),
            Auth::Sentinel => open.with("x-sentinel-admin-key", ADMIN_KEY),
            Auth::Probe => {
                let node = open.post("/v1/community/register", &json!({})).expect(201);
                open.with("authorization", &format!("Bearer {}", node["nodeToken"].as_str().unwrap()))
            }
        };
        Probe { client, route, path: path(route, None) }
    }

    fn is_stream(&self) -> bool {
        self.route.method == Method::GET && self.route.path.ends_with("/sse")
    }

    /// Sends a request, and checks the rules for every answer.
    fn send(&self, path: &str, content_type: Option<&str>, body: &[u8]) -> Answer {
        let started = Instant::now();
        let shown: String = String::from_utf8_lossy(body).chars().take(120).collect();
        let what = format!("{} {} {shown}", self.route.method, path.chars().take(200).collect::<String>());
        if self.is_stream() && self.client.status(path) == 200 {
            return Answer { status: 200, headers: Default::default(), body: Default::default() };
        }
        let answer = self.client.send(self.route.method.as_str(), path, content_type, body);
        assert!(started.elapsed() < PATIENCE, "{what} took {:?}", started.elapsed());
        let text = String::from_utf8_lossy(&answer.body).chars().take(300).collect::<String>();
        assert!(answer.status < 500, "{what}: {} {text}", answer.status);
        assert!(answer.status >= 200, "{what}: {}", answer.status);
        // A page says what is wrong as a page.
        let is_page = self.route.page && answer.header("content-type") == Some("text/html; charset=utf-8");
        if answer.status >= 400 && is_page {
            assert!(text.starts_with("<!doctype html>"), "{what}: {text}");
        } else if answer.status >= 400 {
            let mut error: Value = serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("{what}: {text}"));
            // What was read as a message is answered in JSON-RPC (decision mcp-errors).
            if self.route.path == "/mcp" && error["error"].is_object() {
                error["message"] = error["error"]["message"].take();
                error["error"] = json!(error["error"]["code"].to_string());
            }
            assert!(error["error"].as_str().is_some_and(|code| !code.is_empty()), "{what}: {error}");
            assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{what}: {error}");
            assert_eq!(answer.header("content-type"), Some("application/json"), "{what}");
        }
        answer
    }

    fn json(&self, body: &[u8]) -> Answer {
        self.send(&self.path, Some("application/json"), body)
    }

    #[track_caller]
    fn must_refuse(&self, body: &[u8]) {
        let answer = self.json(body);
        let shown: String = String::from_utf8_lossy(body).chars().take(200).collect();
        assert!(answer.status >= 400, "{} {} took {shown}: {}", self.route.method, self.path, answer.status);
    }
}

/// The path of a route with a value for every parameter; `odd` replaces the parameter of that name.
fn path(route: &Route, odd: Option<(&str, &str)>) -> String {
    let mut path = String::new();
    for part in route.path.split('/').skip(1) {
        let name = part.trim_matches(|c| "{}*".contains(c));
        let value = match odd {
            Some((odd, value)) if part.starts_with('{') && odd == name => value,
            _ if !part.starts_with('{') => part,
            _ if name.contains("country") || name == "code" => "KE",
            _ if name == "did" => "did:svc:unknown",
            _ => "x",
        };
        path.push('/');
        path.push_str(value);
    }
    path
}

fn parameters(route: &Route) -> impl Iterator<Item = &'static str> {
    route.path.split('/').filter(|part| part.starts_with('{')).map(|part| part.trim_matches(|c| "{}*".contains(c)))
}

fn json_routes() -> impl Iterator<Item = &'static Route> {
    PROGRAM.routes().filter(|route| route.body == BodyKind::Json)
}

/// The schema of a route's request body, with references resolved.
struct Body {
    document: Value,
}

impl Body {
    fn new() -> Body {
        Body { document: openapi::generate() }
    }

    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(reference) => self.resolve(self.document.pointer(&reference[1..]).unwrap()),
            None => schema,
        }
    }

    fn of(&self, route: &Route) -> Option<&Value> {
        route.request?;
        let operation = &self.document["paths"][route.path.replace("{*", "{")][route.method.as_str().to_lowercase()];
        Some(self.resolve(&operation["requestBody"]["content"]["application/json"]["schema"]))
    }

    fn properties<'a>(&'a self, schema: &'a Value) -> Vec<(&'a str, &'a Value)> {
        let properties = schema["properties"].as_object().into_iter().flatten();
        properties.map(|(name, schema)| (name.as_str(), self.resolve(schema))).collect()
    }

    /// The JSON types that a value may have; empty when the schema does not state them.
    fn types(&self, schema: &Value) -> Vec<String> {
        let schema = self.resolve(schema);
        let named = match &schema["type"] {
            Value::String(name) => vec![name.clone()],
            Value::Array(names) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        let choices = ["anyOf", "oneOf"].iter().filter_map(|word| schema[word].as_array()).flatten();
        let chosen: Vec<Vec<String>> = choices.map(|choice| self.types(choice)).collect();
        if chosen.iter().any(Vec::is_empty) {
            return Vec::new();
        }
        named.into_iter().chain(chosen.into_iter().flatten()).collect()
    }

    /// A body with every required member, of the right types.
    fn sample(&self, schema: &Value) -> Map<String, Value> {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        self.properties(schema)
            .into_iter()
            .filter(|(name, _)| required.contains(name))
            .map(|(name, schema)| (name.to_owned(), self.value(name, schema)))
            .collect()
    }

    fn value(&self, name: &str, schema: &Value) -> Value {
        let known = letter("did:svc:unknown", "x");
        match name {
            "country" => json!("KE"),
            "email" => json!("ada@example.org"),
            "target" | "domain" => json!("example.org"),
            "to" | "ciphertext" | "nonce" | "signature" => known[name].clone(),
            _ => match self.types(schema).first().map(String::as_str) {
                Some("string") => json!("x"),
                Some("integer" | "number") => json!(1),
                Some("boolean") => json!(true),
                Some("array") => json!([]),
                Some("object") => Value::Object(self.sample(schema)),
                _ => Value::Null,
            },
        }
    }
}

/// Values of every JSON type, with the names of their types.
fn values() -> Vec<(Vec<&'static str>, String)> {
    let long = "9".repeat(400);
    vec![
        (vec!["boolean"], "true".into()),
        (vec!["integer", "number"], "7".into()),
        (vec!["integer", "number"], "-1".into()),
        (vec!["number"], "1.5".into()),
        (vec!["integer", "number"], "18446744073709551616".into()),
        (vec!["integer", "number"], format!("-{long}")),
        (vec!["number"], "1e999".into()),
        (vec!["string"], "\"x\"".into()),
        (vec!["string"], "\"\"".into()),
        (vec!["string"], "\"\\u0000\"".into()),
        (vec!["string"], "\"////\"".into()),
        (vec!["string"], "\"=\\ud83d\\ude00\"".into()),
        (vec!["array"], "[]".into()),
        (vec!["array"], "[null]".into()),
        (vec!["array"], "[1,\"x\",{},[]]".into()),
        (vec!["array"], "[[[[]]]]".into()),
        (vec!["object"], "{}".into()),
        (vec!["object"], "{\"x\":{\"y\":[1e400]}}".into()),
        (vec!["object"], "{\"id\":\"x\",\"public_key\":1,\"$serde_json::private::RawValue\":\"1\"}".into()),
    ]
}

/// A body in which one member has this JSON text as its value.
fn with(sample: &Map<String, Value>, name: &str, text: &str) -> Vec<u8> {
    let others = sample.iter().filter(|(other, _)| *other != name);
    let mut members: Vec<String> = others.map(|(name, value)| format!("{}:{value}", json!(name))).collect();
    members.push(format!("{}:{text}", json!(name)));
    format!("{{{}}}", members.join(",")).into_bytes()
}

fn a_body_that_is_no_json_is_refused_everywhere(suite: &Suite) {
    let broken: Vec<Vec<u8>> = vec![
        b"{".into(),
        b"}".into(),
        b"[".into(),
        b"\"".into(),
        b"{\"a\"".into(),
        b"{\"a\":".into(),
        b"{\"a\":1".into(),
        b"{\"a\":1,}".into(),
        b"{\"a\":1}}".into(),
        b"{} {}".into(),
        b"{a:1}".into(),
        b"{'a':1}".into(),
        b"nul".into(),
        b"NaN".into(),
        b"{\"a\":01}".into(),
        b"{\"a\":\"\\x\"}".into(),
        b"{\"a\":\"\\ud800\"}".into(),
        b"{\"a\":\"\x01\"}".into(),
        b"\0".into(),
        b"{}\0".into(),
        b"\xef\xbb\xbf{}".into(),
        b"\xff\xfe{\0}\0".into(),
        b"{\"to\":\"\xff\"}".into(),
        b"{\"\xc0\x80\":1}".into(),
        b"a=1&b=2".into(),
        b"<a/>".into(),
        vec![0xff; 1_000],
    ];
    for route in json_routes() {
        let probe = Probe::new(suite, route);
        for body in &broken {
            // Unknown members may be skipped unread, so these two bodies are invalid only if something reads them.
            let lenient = body.starts_with(b"{\"a\":\"\\ud800") || route.request.is_none();
            if lenient {
                probe.json(body);
            } else {
                probe.must_refuse(body);
            }
        }
    }
}

fn a_body_that_is_json_but_no_object_of_the_route_is_refused(suite: &Suite) {
    for route in json_routes().filter(|route| route.request.is_some()) {
        let probe = Probe::new(suite, route);
        for body in ["1", "1e999", "-0", "true", "\"x\"", "[1]", "[{}]", "[[]]"] {
            probe.must_refuse(body.as_bytes());
        }
        for body in ["null", "[]", "{}", " ", "\n\t {} \r\n", "{\"\":null}"] {
            probe.json(body.as_bytes());
        }
    }
}

fn a_member_of_a_wrong_type_is_refused_everywhere(suite: &Suite) {
    let bodies = Body::new();
    let mut members = 0;
    for route in json_routes() {
        let Some(schema) = bodies.of(route) else { continue };
        let probe = Probe::new(suite, route);
        let sample = bodies.sample(schema);
        for (name, schema) in bodies.properties(schema) {
            members += 1;
            let types = bodies.types(schema);
            for (of, text) in values() {
                let body = with(&sample, name, &text);
                if types.is_empty() || of.iter().any(|name| types.iter().any(|other| name == other)) {
                    probe.json(&body);
                } else {
                    probe.must_refuse(&body);
                }
            }
            probe.json(&with(&sample, name, "null"));
        }
    }
    assert!(members >= 10, "the schemas have only {members} members");
}

fn a_required_member_is_required_everywhere(suite: &Suite) {
    let bodies = Body::new();
    for route in json_routes() {
        let Some(schema) = bodies.of(route) else { continue };
        let probe = Probe::new(suite, route);
        let sample = bodies.sample(schema);
        for missing in sample.keys() {
            let mut body = sample.clone();
            body.remove(missing);
            probe.must_refuse(Value::Object(body.clone()).to_string().as_bytes());
            body.insert(missing.clone(), Value::Null);
            probe.must_refuse(Value::Object(body).to_string().as_bytes());
        }
    }
}

fn a_member_that_comes_twice_breaks_nothing(suite: &Suite) {
    let bodies = Body::new();
    for route in json_routes() {
        let Some(schema) = bodies.of(route) else { continue };
        let probe = Probe::new(suite, route);
        let sample = bodies.sample(schema);
        for (name, schema) in bodies.properties(schema) {
            let value = bodies.value(name, schema);
            let twice = format!("{value},{}:{value}", json!(name));
            probe.json(&with(&sample, name, &twice));
        }
    }
}

fn huge_and_deep_values_break_nothing(suite: &Suite) {
    let bodies = Body::new();
    let deep = |open: &str, close: &str, levels: usize| format!("{}1{}", open.repeat(levels), close.repeat(levels));
    for route in json_routes() {
        let probe = Probe::new(suite, route);
        let mut whole = vec![
            "[".repeat(10_000),
            "{\"a\":".repeat(10_000),
            deep("[", "]", 10_000),
            deep("{\"a\":", "}", 10_000),
            format!("{{\"unknown\":{}}}", deep("[", "]", 10_000)),
            format!("{{\"{}\":1}}", "k".repeat(60_000)),
            format!("{{{}}}", (0..5_000).map(|at| format!("\"k{at}\":0")).collect::<Vec<_>>().join(",")),
        ];
        let sample = bodies.of(route).map(|schema| bodies.sample(schema)).unwrap_or_default();
        for (name, _) in bodies.of(route).map(|schema| bodies.properties(schema)).unwrap_or_default() {
            for text in [
                json!("x".repeat(60_000)).to_string(),
                json!("\u{1f600}".repeat(15_000)).to_string(),
                deep("[", "]", 10_000),
                deep("[", "]", 1_000),
                deep("{\"a\":", "}", 600),
                format!("[{}]", vec!["\"x\""; 10_000].join(",")),
                format!("[{}]", vec!["{}"; 10_000].join(",")),
            ] {
                whole.push(String::from_utf8(with(&sample, name, &text)).unwrap());
            }
        }
        for body in whole {
            probe.json(body.as_bytes());
        }
    }
}

/// Percent-encoded and plain values that are difficult for parsers of paths, numbers, times and names.
fn odd_values() -> Vec<String> {
    let mut odd: Vec<String> = [
        "%",
        "%2",
        "%zz",
        "%00",
        "%ff",
        "%C0%80",
        "%ED%A0%80",
        "%F0%9F%98%80",
        "%2F",
        "%2e%2e",
        "..",
        "%25",
        "%0d%0a",
        "+",
        "-1",
        "0",
        "1e999",
        "NaN",
        "18446744073709551616",
        "null",
        "true",
        "[]",
        "%7B%7D",
        "'",
        "%22",
        "did:svc:",
        "did:svc:1",
        "did%3Asvc%3A1111111111111111",
        "2026-02-30T00:00:00Z",
        "9999999-01-01",
        "K%00",
        "%E2%80%8B",
        "xn--",
        "AS99999999999999999999",
        "*",
        "%F4%90%80%80",
    ]
    .map(str::to_owned)
    .into();
    odd.push("x".repeat(5_000));
    odd.push("%41".repeat(1_500));
    odd.push("9".repeat(400));
    odd.push("a.".repeat(500));
    odd
}

fn bad_percent_encoding_in_paths_breaks_nothing(suite: &Suite) {
    for route in PROGRAM.routes() {
        let probe = Probe::new(suite, route);
        let body: &[u8] = if route.body == BodyKind::None { b"" } else { b"{}" };
        for name in parameters(route) {
            for value in odd_values() {
                probe.send(&path(route, Some((name, &value))), Some("application/json"), body);
            }
        }
        for suffix in ["/", "//", "/x", "/%", "%", "%2F", ";x=1", "?%", "/..", "/%2e"] {
            probe.send(&format!("{}{suffix}", probe.path), Some("application/json"), body);
        }
    }
}

fn bad_queries_break_nothing(suite: &Suite) {
    for route in PROGRAM.routes().filter(|route| route.method == Method::GET) {
        let probe = Probe::new(suite, route);
        let get = |query: &str| drop(probe.send(&format!("{}?{query}", probe.path), None, b""));
        for param in route.params {
            for value in odd_values() {
                get(&format!("{}={value}", param.name));
            }
            get(&format!("{0}=1&{0}=x&{0}", param.name));
            get(&format!("%{:02x}{}=1", param.name.as_bytes()[0], &param.name[1..]));
        }
        let many = "a=1&".repeat(1_500);
        for query in ["", "&", "&&&===&", "=", "%", "%=%", "%ff=%ff", "a=%00", "?", "limit", many.as_str()] {
            get(query);
        }
    }
}

fn headers_full_of_rubbish_break_nothing(suite: &Suite) {
    let long = "k".repeat(5_000);
    let headers = ["x-agent-key", "x-api-key", "x-admin-key", "last-event-id", "idempotency-key", "if-none-match"];
    let values = ["", " ", "x", "%00", "svc_agent_", "svc_agent__________________________", "W/\"", long.as_str()];
    for (at, route) in PROGRAM.routes().enumerate() {
        let probe = Probe::new(suite, route);
        let body: &[u8] = if route.body == BodyKind::None { b"" } else { b"{}" };
        for (of, name) in headers.into_iter().enumerate() {
            // Each route gets every header, with two of the values: neighbours get the others.
            for value in values.into_iter().skip((at + of) % 4).step_by(4) {
                let rubbish = Probe { client: probe.client.with(name, value), route, path: probe.path.clone() };
                rubbish.send(&probe.path, Some("application/json"), body);
            }
        }
        for content_type in ["", "/", ";", "json", "application/json;charset", "application/json, text/xml", "a/b/c"] {
            probe.send(&probe.path, Some(content_type), body);
        }
    }
}

fn the_server_works_as_before_after_all_this(suite: &Suite) {
    let client = suite.rough();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    let text = format!("still here {}", unique());
    a.say(&b.did, &text);
    assert_eq!(b.inbox()[0]["content"], json!(text));
}
