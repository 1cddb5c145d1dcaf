//! One route as an operation: its name, its words, its body.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::generate::Schemas;
use super::{answers, examples, parameters, tags};
use crate::engine::http::{Auth, BodyKind, Limit, Route};

/// Method and path with the name of each operation. A route that is not in it gets a name made of its path.
static NAMES: LazyLock<BTreeMap<&str, &str>> =
    LazyLock::new(|| include_str!("names.tsv").lines().filter_map(|line| line.split_once('\t')).collect());

/// The name of a route for generated clients, such as `listChannels`.
pub fn name(route: &Route) -> Cow<'static, str> {
    let listed = NAMES.get(format!("{} {}", route.method, route.path).as_str());
    listed.map_or_else(|| Cow::Owned(made(route)), |name| Cow::Borrowed(*name))
}

/// A name made of method and path: `GET /v1/agent/channels/{id}` is `getAgentChannelsById`.
fn made(route: &Route) -> String {
    let mut name = route.method.as_str().to_lowercase();
    for part in route.path.split('/').filter(|part| !part.is_empty() && *part != "v1") {
        let is_parameter = part.starts_with('{');
        name.push_str(if is_parameter { "By" } else { "" });
        for word in part.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
            let (first, rest) = word.split_at(1);
            name.push_str(&first.to_ascii_uppercase());
            name.push_str(rest);
        }
    }
    name
}

pub fn operation(route: &Route, schemas: &mut Schemas) -> Value {
    let name = name(route);
    let (summary, description) = words(route);
    let mut out = Map::new();
    let mut set = |name: &str, value: Value| out.insert(name.to_owned(), value);
    set("operationId", json!(name));
    set("tags", json!([tags::of(route.path)]));
    set("summary", json!(summary));
    set("description", json!(description));
    set("parameters", Value::Array(parameters::all(route)));
    if let Some(body) = body(route, &name, schemas) {
        set("requestBody", body);
    }
    set("responses", answers::all(route, &name, schemas));
    if let Some(address) = examples::address(&name) {
        set("x-example-address", json!(address));
    }
    set("security", security(route));
    if route.body != BodyKind::None {
        set("x-max-body-bytes", json!(route.max_body));
    }
    if route.limit != Limit::None {
        set("x-limit", json!(format!("{:?}", route.limit)));
    }
    if route.extension {
        set("x-extension", json!(true));
    }
    if let Some(deprecated) = route.deprecated {
        let (since, ends) = deprecated.days();
        set("deprecated", json!(true));
        set("x-deprecated-since", json!(since.to_string()));
        if let Some(ends) = ends {
            set("x-sunset", json!(ends.to_string()));
        }
    }
    Value::Object(out)
}

/// The first sentence, and all that is said of a route.
fn words(route: &Route) -> (String, String) {
    let first = route.summary.split_once(". ").map_or(route.summary, |(first, _)| first);
    let summary = first.trim_end_matches('.').to_owned();
    let access = match route.auth {
        Auth::None => "",
        Auth::Key => " Needs an API key.",
        Auth::Agent => " Needs the key of an agent.",
        Auth::Admin => " Needs the operator's key.",
        Auth::Sentinel => " Needs the key for reports of outcomes.",
        Auth::Signed => " The body is signed by an agent, or proves otherwise who sends it.",
        Auth::SignedOrAdmin => " The body is signed by an agent or by an admin key of the ledger.",
        Auth::SignedAdmin => " The body is signed by an admin key of the ledger.",
        Auth::Probe | Auth::Token => " Needs the token of a probe.",
    };
    let gives_way = route.deprecated.map(|deprecated| format!(" {}", deprecated.sentence())).unwrap_or_default();
    (summary, format!("{}{access}{gives_way}", route.summary))
}

/// What the body must be; `None` for a route that reads none.
fn body(route: &Route, name: &str, schemas: &mut Schemas) -> Option<Value> {
    let content = match route.body {
        BodyKind::None => return None,
        BodyKind::Json => {
            let mut media =
                json!({ "schema": route.request.map_or_else(|| json!({ "type": "object" }), |of| schemas.read(of)) });
            if let Some(example) = examples::request(name) {
                media["example"] = example.clone();
            }
            json!({ "application/json": media })
        }
        BodyKind::Raw => json!({ "application/octet-stream": { "schema": { "type": "string", "format": "binary" } } }),
    };
    let mut body = json!({ "content": content });
    // An absent body is read as an empty object, which suffices where no member is required.
    if route.body == BodyKind::Raw || route.request.is_some_and(|of| schemas.needs_members(of)) {
        body["required"] = true.into();
    }
    Some(body)
}

fn security(route: &Route) -> Value {
    match route.auth {
        // What is signed is in the body.
        Auth::None | Auth::Signed | Auth::SignedOrAdmin | Auth::SignedAdmin => json!([]),
        // The token may be in the body.
        Auth::Token => json!([{}, { "probe": [] }]),
        Auth::Probe => json!([{ "probe": [] }]),
        Auth::Key => json!([{ "key": [] }]),
        Auth::Agent => json!([{ "agent": [] }]),
        Auth::Admin => json!([{ "admin": [] }]),
        Auth::Sentinel => json!([{ "sentinel": [] }]),
    }
}
