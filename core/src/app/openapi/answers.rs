//! What a route answers, and its failures.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use http::Method;
use serde_json::{Map, Value, json};

use super::generate::Schemas;
use super::{examples, parameters};
use crate::ErrorCode;
use crate::engine::http::{Auth, BodyKind, Deprecated, Limit, Route, Shape};

/// Failures that the route table knows of: the name of the component, its status, and when it is answered.
const FAILURES: &[(&str, u16, &str)] = &[
    ("BadRequest", 400, "A parameter or the body is not what the route reads."),
    ("Unauthorized", 401, "The key is missing, unknown or revoked."),
    ("PaymentRequired", 402, "The wallet has too little."),
    ("Forbidden", 403, "The caller may not do this."),
    ("NotFound", 404, "There is no such thing, or it belongs to somebody else."),
    ("Conflict", 409, "The request contradicts what there is now."),
    ("TooLarge", 413, "The body, or a value in it, is too large."),
    ("UnsupportedMediaType", 415, "The body is not of the media type that the route reads."),
    ("Unprocessable", 422, "The same key of repetition came with another request."),
    ("RateLimited", 429, "Too many requests; `Retry-After` says how many seconds to wait."),
    ("Unavailable", 503, "This cannot be done at present; `Retry-After` says how many seconds to wait."),
];

/// Method and path with the statuses of failures that do not follow from the row of the route. Every answer that a test
/// gets is held against the document, so a status that is missing here fails a test.
static MORE: LazyLock<BTreeMap<&str, &str>> =
    LazyLock::new(|| include_str!("failures.tsv").lines().filter_map(|line| line.split_once('\t')).collect());

/// The failures as components, and the one of all others.
pub fn components() -> Value {
    let mut out = Map::new();
    for (name, status, when) in FAILURES {
        let codes: Vec<ErrorCode> = ErrorCode::ALL.iter().copied().filter(|code| code.status() == *status).collect();
        let names: Vec<String> = codes.iter().map(|code| format!("`{}`", code.as_str())).collect();
        let about = format!("{when} Codes: {}.", names.join(", "));
        out.insert((*name).to_owned(), failure(&about, &codes, matches!(status, 429 | 503)));
    }
    let listed = |code: &ErrorCode| FAILURES.iter().any(|(_, status, _)| code.status() == *status);
    let others: Vec<ErrorCode> = ErrorCode::ALL.iter().copied().filter(|code| !listed(code)).collect();
    out.insert("Failure".into(), failure("Any other failure; the body names its code.", &others, true));
    Value::Object(out)
}

/// A failure for each of these codes, as its body is written: with the sentence that the table of codes has for it.
fn shown(codes: &[ErrorCode]) -> Value {
    let bodies = codes.iter().map(|code| {
        let body = json!({ "error": code.as_str(), "message": code.meaning().trim() });
        (code.as_str().to_owned(), json!({ "value": body }))
    });
    Value::Object(bodies.collect())
}

fn failure(description: &str, codes: &[ErrorCode], waits: bool) -> Value {
    let schema = json!({ "$ref": "#/components/schemas/ErrorAnswer" });
    let body = json!({ "schema": schema, "examples": shown(codes) });
    let mut out = json!({ "description": description, "content": { "application/json": body } });
    if waits {
        out["headers"] = json!({ "Retry-After": {
            "description": "Whole seconds to wait.",
            "schema": { "type": "integer", "format": "int32", "minimum": 0 },
        } });
    }
    out
}

/// The body of every failure.
pub fn error_schema() -> Value {
    let codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    json!({
        "type": "object",
        "description": "A failure. More members say more of some.",
        "required": ["error", "message"],
        "properties": {
            "error": { "type": "string", "description": "The code, which stays the same.", "enum": codes },
            "message": { "type": "string", "description": "What is wrong, in a sentence for people." },
            "reason": { "type": "string", "description": "Ledger: why it refused." },
        },
    })
}

fn refuses(route: &Route, status: u16) -> bool {
    let has_path = route.path.contains('{');
    // The signer may have no key here, and each nonce counts once.
    let pays = parameters::is_envelope(route);
    let more = MORE.get(format!("{} {}", route.method, route.path).as_str()).copied().unwrap_or_default();
    let by_row = match status {
        400 => has_path || !route.params.is_empty() || route.body != BodyKind::None,
        401 => !matches!(route.auth, Auth::None),
        403 => !matches!(route.auth, Auth::None | Auth::Admin),
        404 => has_path || pays,
        // A registration that waits for its DID may call few routes.
        409 => pays || (route.auth == Auth::Agent && !route.waiting),
        // A body that nobody reads may be too large too.
        413 => route.method != Method::GET,
        415 => route.body == BodyKind::Json,
        422 => parameters::repeatable(route).is_some(),
        429 => !matches!(route.limit, Limit::None | Limit::AgentPatient),
        503 => route.limit == Limit::AgentPatient,
        _ => false,
    };
    by_row || more.split(' ').any(|listed| listed.parse() == Ok(status))
}

/// Routes that make something, or replace what was there already and answer 200.
const REPLACING: &[&str] = &["/v1/agent/capabilities"];

/// The answers of a route, by status.
pub fn all(route: &Route, name: &str, schemas: &mut Schemas) -> Value {
    let mut out = Map::new();
    let done = success(route, name, schemas);
    if route.success == 201 && REPLACING.contains(&route.path) {
        let mut replaced = done.clone();
        replaced["description"] = "Replaced.".into();
        out.insert("200".into(), replaced);
    }
    if route.own_failures {
        let answer = &done["content"]["application/json"]["schema"];
        let either = json!({ "oneOf": [answer, { "$ref": "#/components/schemas/ErrorAnswer" }] });
        out.insert("202".into(), json!({ "description": "Taken. There is no answer." }));
        out.insert(
            "default".into(),
            json!({
                "description": "A failure, as the route's own answer or as one of the server.",
                "content": { "application/json": { "schema": either } },
            }),
        );
        out.insert(route.success.to_string(), done);
        return Value::Object(out);
    }
    out.insert(route.success.to_string(), done);
    for (component, status, _) in FAILURES {
        if refuses(route, *status) {
            out.insert(status.to_string(), json!({ "$ref": format!("#/components/responses/{component}") }));
        }
    }
    out.insert("default".into(), json!({ "$ref": "#/components/responses/Failure" }));
    Value::Object(out)
}

fn success(route: &Route, name: &str, schemas: &mut Schemas) -> Value {
    let description = match route.success {
        101 => "The protocol changes to WebSocket.",
        201 => "Made.",
        _ => "Success.",
    };
    let mut content = Map::new();
    for media in media(route) {
        let schema = match (is_json(media), route.response) {
            (true, Some(of)) => schemas.written(of),
            (true, None) => json!({ "type": "object" }),
            (false, _) if is_binary(media) => json!({ "type": "string", "format": "binary" }),
            (false, _) => json!({ "type": "string" }),
        };
        let mut body = json!({ "schema": schema });
        if let Some(example) = examples::response(name).filter(|_| is_json(media)) {
            body["example"] = example.clone();
        }
        content.insert(media.to_owned(), body);
    }
    let mut answer = match content.is_empty() {
        true => json!({ "description": description }),
        false => json!({ "description": description, "content": content }),
    };
    if let Some(deprecated) = route.deprecated {
        answer["headers"] = gives_way(deprecated);
    }
    answer
}

/// The headers of a route that gives way.
fn gives_way(deprecated: Deprecated) -> Value {
    let header = |about: &str| json!({ "description": about, "schema": { "type": "string" } });
    let mut headers = json!({ "Deprecation": header("Since when, as `@` and seconds since 1970 (RFC 9745).") });
    if deprecated.days().1.is_some() {
        headers["Sunset"] = header("When it may be gone (RFC 8594).");
    }
    headers
}

/// Lines of JSON are a text.
fn is_json(media: &str) -> bool {
    media.ends_with("json") && media != "application/x-ndjson"
}

fn is_binary(media: &str) -> bool {
    media.starts_with("image/") || media == "application/octet-stream"
}

/// Media types of a route's answers, the usual one first.
fn media(route: &Route) -> Vec<&'static str> {
    if !route.media.is_empty() {
        return route.media.to_vec();
    }
    let mut media = Vec::new();
    media.extend(route.response.map(|_| "application/json"));
    let csv = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case("csv"));
    if route
        .params
        .iter()
        .any(|param| matches!(param.shape, Shape::OneOf(words) if param.name == "format" && csv(words)))
    {
        media.push("text/csv");
    }
    media
}
