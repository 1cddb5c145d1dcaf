//! Parameters of paths, queries and headers.

use serde_json::{Map, Value, json};

use super::in_path;
use crate::engine::http::{Auth, Limit, Param, Route, Shape};
use crate::intelligence::import::ImportKind;
use crate::{ledger, relay};

/// Parameters of one route, in the order path, query, headers.
pub fn all(route: &Route) -> Vec<Value> {
    let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = names.map(|name| in_path(route, name.trim_start_matches('*')));
    in_path.chain(route.params.iter().map(in_query)).chain(in_headers(route)).collect()
}

fn in_path(route: &Route, name: &str) -> Value {
    let mut out = json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } });
    let Some(known) = in_path::known(route, name) else {
        // The kinds of imports are a list of their own.
        if name == "kind" {
            let kinds: Vec<&str> = ImportKind::ALL.iter().map(|kind| kind.as_str()).collect();
            out["description"] = "What is imported.".into();
            out["schema"]["enum"] = json!(kinds);
        }
        return out;
    };
    out["description"] = known.doc.into();
    if known.shape != Shape::Text {
        out["schema"] = known.schema();
    }
    if let Some(example) = known.example() {
        out["example"] = example.into();
    }
    out
}

fn in_query(param: &Param) -> Value {
    let mut out = json!({
        "name": param.name,
        "in": "query",
        "description": param.doc,
        "schema": param.schema(),
    });
    if param.required {
        out["required"] = true.into();
    } else {
        // Forms send all their fields: an empty one is one that was left out (`Cx::query`).
        out["allowEmptyValue"] = true.into();
    }
    if let Some(example) = param.example() {
        out["example"] = param.value(example);
    }
    out
}

/// The header that probes sign with. The word in its name is the brand of the deployment.
fn signature() -> Value {
    json!({
        "name": "X-Svc-Signature",
        "in": "header",
        "required": true,
        "description": "`sha256=` and the HMAC-SHA256 of the body under the token of the node, in hexadecimal digits. A \
            deployment with another brand than `svc` takes it in the name of its header.",
        "schema": { "type": "string", "pattern": "^sha256=[0-9A-Fa-f]{64}$" },
    })
}

/// Whether a route reads an envelope of the ledger that changes something.
pub fn is_envelope(route: &Route) -> bool {
    let signed = matches!(route.auth, Auth::Signed | Auth::SignedOrAdmin | Auth::SignedAdmin);
    signed && route.limit == Limit::PayWrite
}

/// Most characters of an `Idempotency-Key`, where a request under the same key is done once.
pub fn repeatable(route: &Route) -> Option<usize> {
    let says = route.auth == Auth::Agent && route.summary.contains("`Idempotency-Key`");
    says.then_some(relay::agent::idempotency::MAX_KEY).or(is_envelope(route).then_some(ledger::idempotency::MAX_KEY))
}

/// Headers that change what a route does.
fn in_headers(route: &Route) -> Option<Value> {
    if route.auth == Auth::Probe {
        return Some(signature());
    }
    repeatable(route).map(|most| {
        let mut out = Map::new();
        out.insert("name".into(), "Idempotency-Key".into());
        out.insert("in".into(), "header".into());
        out.insert("description".into(), "A text of the client; the same request under it again is done once.".into());
        out.insert("schema".into(), json!({ "type": "string", "minLength": 1, "maxLength": most }));
        Value::Object(out)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_of_a_path_is_described() {
        for route in crate::app::PROGRAM.interface() {
            for parameter in all(route).iter().filter(|one| one["in"] == "path") {
                assert!(parameter["description"].is_string(), "{} {parameter}", route.path);
            }
        }
    }

    #[test]
    fn examples_and_defaults_are_what_the_schema_allows() {
        for param in crate::app::PROGRAM.interface().flat_map(|route| route.params) {
            let schema = param.schema();
            for value in param.example().iter().chain(&param.default).map(|text| param.value(text)) {
                let typed = match schema["type"].as_str() {
                    Some("integer" | "number") => value.is_number(),
                    Some("boolean") => value.is_boolean(),
                    _ => value.is_string(),
                };
                let listed = schema["enum"].as_array().is_none_or(|words| words.contains(&value));
                assert!(typed && listed, "{} {value}", param.name);
            }
        }
    }
}
