//! Parameters of paths, queries and headers.

use serde_json::{Map, Value, json};

use crate::engine::http::{Auth, COUNTRY_PATTERN, Param, Route};
use crate::intelligence::import::ImportKind;

/// What a parameter of a path may hold: its name, the beginning of its routes, what it is, a pattern that all accepted
/// values fit, and an example.
struct InPath {
    name: &'static str,
    begins: &'static str,
    doc: &'static str,
    pattern: &'static str,
    example: &'static str,
}

const fn of(
    name: &'static str,
    begins: &'static str,
    doc: &'static str,
    pattern: &'static str,
    example: &'static str,
) -> InPath {
    InPath { name, begins, doc, pattern, example }
}

/// Ids as the relay and the ledger write them.
const ID: &str = "WBwmMfPyhpetFdMQSGhVjA";
const LEDGER_ID: &str = "581c2631-f3f2-8697-ad15-d3104868558c";

/// The longest beginning that fits decides.
const IN_PATH: &[InPath] = &[
    of("did", "/", "DID of an agent.", "", "did:svc:VanTWgMccx3BpGjeJ6TyZA"),
    of("code", "/", "ISO 3166-1 alpha-2 code of a country.", COUNTRY_PATTERN, "KE"),
    of("country", "/", "ISO 3166-1 alpha-2 code of a country.", COUNTRY_PATTERN, "KE"),
    of("domain", "/", "A domain, or the name of a service.", "", "telegram.org"),
    of("service", "/", "A service such as a platform, or a domain.", "", "telegram"),
    of("platform", "/", "A platform by its slug.", "", "telegram"),
    of("asn", "/", "The number of a network, with or without `AS`.", "^([Aa][Ss])?[0-9]+$", "AS64500"),
    of("file", "/data/dumps/", "Name of a file, as `/data/dumps` lists it.", "", "KE-2024-03.csv"),
    of("number", "/v1/admin/forecast/", "Number of the report.", "^[0-9]+$", "1"),
    of("account", "/v1/admin/keys/", "Account of the key, as the list of keys has it.", "", ID),
    of("peer", "/v1/admin/peers/", "Id of the peer.", "", ID),
    of("nodeId", "/", "Id of the node.", "", "cp-2bd2c119cf3fa478"),
    of("name", "/v1/admin/sources/", "Id of the source.", "", "ooni"),
    of("name", "/v1/agent/username/", "A username.", "", "ada"),
    of("list", "/v1/agent/consent/", "`blocked` or `allowed`.", "^(blocked|allowed)$", "blocked"),
    of("namespace", "/v1/agent/memory/", "A namespace of the agent's memory.", "", "notes"),
    of("key", "/v1/agent/memory/", "A key; it may contain slashes.", "", "plan"),
    of("escrow_id", "/", "Id of the escrow.", "", LEDGER_ID),
    of("delivery_id", "/", "Id of the delivery.", "", ID),
    of("id", "/", "Id.", "", ID),
    of("id", "/v1/pay/", "Id.", "", LEDGER_ID),
    of("id", "/data/incidents/", "Either id of the incident.", "", "KE-2023-0001"),
    of("id", "/v1/atlas/incidents/", "Either id of the incident.", "", "KE-2023-0001"),
    of("id", "/v1/admin/incidents/", "Either id of the incident.", "", "KE-2023-0001"),
    of("id", "/data/evidence/", "Id of the evidence.", "", "581c2631f3f28697"),
    of("id", "/v1/pay/audit/proof/", "Id of a transfer or an escrow, or the place of an event in the log.", "", "0"),
];

/// Parameters of one route, in the order path, query, headers.
pub fn all(route: &Route) -> Vec<Value> {
    let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = names.map(|name| in_path(route, name.trim_start_matches('*')));
    in_path.chain(route.params.iter().map(in_query)).chain(in_headers(route)).collect()
}

fn in_path(route: &Route, name: &str) -> Value {
    let fits = IN_PATH.iter().filter(|known| known.name == name && route.path.starts_with(known.begins));
    let Some(known) = fits.max_by_key(|known| known.begins.len()) else {
        // The kinds of imports are a list of their own.
        let kinds: Vec<&str> = ImportKind::ALL.iter().map(|kind| kind.as_str()).collect();
        let schema =
            if name == "kind" { json!({ "type": "string", "enum": kinds }) } else { json!({ "type": "string" }) };
        return json!({ "name": name, "in": "path", "required": true, "schema": schema });
    };
    let mut schema = json!({ "type": "string" });
    if !known.pattern.is_empty() {
        schema["pattern"] = known.pattern.into();
    }
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": known.doc,
        "schema": schema,
        "example": known.example,
    })
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

/// Headers that change what a route does.
fn in_headers(route: &Route) -> Option<Value> {
    let repeatable = route.auth == Auth::Agent && route.summary.contains("`Idempotency-Key`");
    repeatable.then(|| {
        let mut out = Map::new();
        out.insert("name".into(), "Idempotency-Key".into());
        out.insert("in".into(), "header".into());
        out.insert("description".into(), "A text of the client; the same request under it again is done once.".into());
        out.insert("schema".into(), json!({ "type": "string", "minLength": 1, "maxLength": 255 }));
        Value::Object(out)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_of_a_path_is_described() {
        for route in crate::app::PROGRAM.interface() {
            for parameter in all(route).iter().filter(|one| one["in"] == "path" && one["name"] != "kind") {
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
