//! Compares answers with the OpenAPI document: each answer that a test gets must be one that the document declares.

use std::sync::LazyLock;

use heliograph_core::app::openapi;
use percent_encoding::percent_decode_str;
use regex_lite::Regex;
use serde_json::{Map, Value};

static DOCUMENT: LazyLock<Value> = LazyLock::new(openapi::generate);

static NOTHING: Value = Value::Null;

/// Errors of the reader of JSON about values that JSON allows.
const NOT_READ: &[&str] =
    &["number out of range", "recursion limit", "unexpected end of hex escape", "lone leading surrogate"];

/// Failures that the document states of each route that can have them. Others come of the state of the server, which
/// every route has.
const STATED: [u16; 8] = [400, 402, 403, 404, 409, 413, 415, 422];

/// Keywords of schemas that say nothing about which values are allowed, or that only clients need.
const SILENT: &[&str] = &["description", "default", "example", "examples", "format", "title", "deprecated", "readOnly"];

/// What differs between an answer and the document; nothing for a route that the document does not know.
pub fn differs(method: &str, path: &str, status: u16, content_type: Option<&str>, body: &[u8]) -> Result<(), String> {
    let path = path.split('?').next().unwrap_or_default();
    let Some(operation) = operation(method, path) else { return Ok(()) };
    let name = operation["operationId"].as_str().unwrap_or_default();
    let fail = |problem: String| Err(format!("{method} {path} ({name}) answers {status}, and {problem}"));
    let declared = match operation["responses"].get(status.to_string()) {
        Some(declared) => declared,
        None if (200..300).contains(&status) => return fail("the document does not say so".into()),
        None if STATED.contains(&status) && operation["responses"]["default"]["$ref"].is_string() => {
            return fail(format!("no line of `failures.tsv` says so: {}", String::from_utf8_lossy(body)));
        }
        None => &operation["responses"]["default"],
    };
    let content = &resolved(declared)["content"];
    if body.is_empty() || status == 304 || content.is_null() {
        return Ok(());
    }
    let media = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let Some(declared) = content.get(media) else { return fail(format!("{media:?} is not declared")) };
    if !media.ends_with("json") || media == "application/x-ndjson" {
        return Ok(());
    }
    let value = match serde_json::from_slice(body) {
        Ok(value) => value,
        // What others wrote is given back as it is, also what this reader refuses: too large, too deep, half a pair.
        Err(error) if NOT_READ.iter().any(|it| error.to_string().starts_with(it)) => return Ok(()),
        Err(error) => return Err(format!("{method} {path}: {error}")),
    };
    fits(&declared["schema"], &value).or_else(|problem| fail(format!("{problem}: {}", short(&value))))
}

/// The operation that a path belongs to; the one with the fewest parameters wins, as in the router.
pub fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let parts: Vec<&str> = path.split('/').collect();
    let paths = DOCUMENT["paths"].as_object()?;
    let fitting = paths.iter().filter(|(template, _)| {
        let wanted: Vec<&str> = template.split('/').collect();
        // The last parameter of a memory value takes all that follows.
        let rest = template.ends_with("{key}") && parts.len() > wanted.len();
        let same = |(part, wanted): (&&str, &&str)| wanted.starts_with('{') || part == wanted;
        (wanted.len() == parts.len() || rest) && parts.iter().zip(&wanted).all(same)
    });
    let nearest = fitting.min_by_key(|(template, _)| template.matches('{').count());
    nearest.and_then(|(_, item)| item.get(method.to_lowercase()))
}

/// The parameters in an address, the path and query of a request to an operation: names with their values. `None` if it is
/// no address of the operation.
pub fn parameters_of(name: &str, address: &str) -> Option<Vec<(String, String)>> {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let (template, _) = DOCUMENT["paths"].as_object()?.iter().find(|(_, item)| {
        item.as_object().is_some_and(|item| item.values().any(|operation| operation["operationId"] == name))
    })?;
    let decoded = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    let (wanted, parts): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
    let parts = parts.iter().take(wanted.len() - 1).map(|part| (*part).to_owned());
    let rest = path.splitn(wanted.len(), '/').last().map(str::to_owned);
    let mut found = Vec::new();
    for (wanted, part) in wanted.iter().zip(parts.chain(rest)) {
        match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => found.push((name.to_owned(), decoded(&part))),
            None if *wanted == part => {}
            None => return None,
        }
    }
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    found.extend(pairs.map(|(name, value)| (decoded(name), decoded(value))));
    Some(found)
}

/// The schema of the `request` or the `response` of an operation by its name.
pub fn schema_of(name: &str, part: &str) -> Option<&'static Value> {
    let paths = DOCUMENT["paths"].as_object()?;
    let mut all = paths.values().filter_map(Value::as_object).flat_map(Map::values);
    let operation = all.find(|operation| operation["operationId"] == name)?;
    let holder = match part {
        "request" => &operation["requestBody"],
        _ => operation["responses"].get("200").or_else(|| operation["responses"].get("201"))?,
    };
    let content = holder["content"].as_object()?;
    content
        .iter()
        .find(|(media, _)| media.ends_with("json") && *media != "application/x-ndjson")
        .map(|(_, media)| &media["schema"])
}

/// Operations that answer JSON: their names, and whether the document shows an answer of theirs.
pub fn with_answers() -> Vec<(&'static str, bool)> {
    let paths = DOCUMENT["paths"].as_object().into_iter().flat_map(Map::values);
    let operations = paths.filter_map(Value::as_object).flat_map(Map::values);
    let answers = operations.filter_map(|operation| {
        let done = operation["responses"].get("200").or_else(|| operation["responses"].get("201"))?;
        let of_json = |(media, _): &(&String, &Value)| media.ends_with("json") && *media != "application/x-ndjson";
        let (_, body) = done["content"].as_object()?.iter().find(of_json)?;
        Some((operation["operationId"].as_str()?, body.get("example").is_some()))
    });
    answers.collect()
}

/// All examples of the document: where each stands, its schema and its value.
pub fn examples() -> Vec<(String, &'static Value, &'static Value)> {
    let mut found = Vec::new();
    for (path, item) in DOCUMENT["paths"].as_object().into_iter().flatten() {
        for operation in item.as_object().into_iter().flat_map(Map::values) {
            let name = format!("{path} {}", operation["operationId"]);
            let bodies = operation["responses"].as_object().into_iter().flat_map(Map::values);
            let bodies = bodies.chain(operation.get("requestBody")).filter_map(|body| body["content"].as_object());
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            for holder in bodies.flat_map(Map::values).chain(parameters) {
                if let Some(example) = holder.get("example") {
                    found.push((name.clone(), &holder["schema"], example));
                }
            }
        }
    }
    for (name, answer) in DOCUMENT["components"]["responses"].as_object().into_iter().flatten() {
        let bodies = answer["content"].as_object().into_iter().flat_map(Map::values);
        for (schema, examples) in bodies.map(|body| (&body["schema"], body["examples"].as_object())) {
            let values = examples.into_iter().flat_map(Map::values).map(|example| &example["value"]);
            found.extend(values.map(|value| (name.clone(), schema, value)));
        }
    }
    found
}

fn resolved(schema: &'static Value) -> &'static Value {
    match schema["$ref"].as_str() {
        Some(place) => resolved(DOCUMENT.pointer(place.trim_start_matches('#')).unwrap_or(&NOTHING)),
        None => schema,
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).unwrap_or_else(|error| panic!("{pattern} is no pattern: {error}")).is_match(text)
}

/// Whether a value is what a schema allows. A keyword that this does not know is refused, so that none is passed over.
pub fn fits(schema: &'static Value, value: &Value) -> Result<(), String> {
    let Some(schema) = resolved(schema).as_object() else { return Err(format!("{schema} is no schema")) };
    for (keyword, rule) in schema {
        let fine = match keyword.as_str() {
            "$ref" => true,
            "type" => is_of(rule, value),
            "enum" => rule.as_array().is_some_and(|all| all.contains(value)),
            "minimum" => value.as_f64().is_none_or(|number| rule.as_f64().is_some_and(|least| number >= least)),
            "maximum" => value.as_f64().is_none_or(|number| rule.as_f64().is_some_and(|most| number <= most)),
            "minLength" => length(value).is_none_or(|length| rule.as_u64().is_some_and(|least| length >= least)),
            "maxLength" => length(value).is_none_or(|length| rule.as_u64().is_some_and(|most| length <= most)),
            "minItems" => items(value).is_none_or(|all| rule.as_u64().is_some_and(|least| all.len() as u64 >= least)),
            "maxItems" => items(value).is_none_or(|all| rule.as_u64().is_some_and(|most| all.len() as u64 <= most)),
            "uniqueItems" => {
                items(value).is_none_or(|all| all.iter().enumerate().all(|(at, one)| !all[..at].contains(one)))
            }
            "minProperties" => {
                value.as_object().is_none_or(|all| rule.as_u64().is_some_and(|least| all.len() as u64 >= least))
            }
            "required" => {
                members(rule, value)?;
                true
            }
            "properties" => inside(rule, value)?,
            "additionalProperties" => others(schema, rule, value)?,
            "items" => list(rule, value, schema.get("prefixItems"))?,
            "prefixItems" => prefix(rule, value)?,
            "allOf" => {
                choices(rule).try_for_each(|choice| fits(choice, value))?;
                true
            }
            "anyOf" => choices(rule).any(|choice| fits(choice, value).is_ok()),
            "oneOf" => choices(rule).filter(|choice| fits(choice, value).is_ok()).count() == 1,
            "pattern" => value.as_str().is_none_or(|text| rule.as_str().is_some_and(|rule| matches(rule, text))),
            other if SILENT.contains(&other) || other.starts_with("x-") => true,
            other => return Err(format!("the keyword {other} is not known here")),
        };
        if !fine {
            return Err(format!("{} breaks {keyword} {}", short(value), short(rule)));
        }
    }
    Ok(())
}

fn choices(rule: &'static Value) -> impl Iterator<Item = &'static Value> {
    rule.as_array().into_iter().flatten()
}

fn items(value: &Value) -> Option<&Vec<Value>> {
    value.as_array()
}

fn length(value: &Value) -> Option<u64> {
    value.as_str().map(|text| text.chars().count() as u64)
}

fn is_of(rule: &Value, value: &Value) -> bool {
    match rule {
        Value::Array(types) => types.iter().any(|one| is_of(one, value)),
        Value::String(name) => match name.as_str() {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "string" => value.is_string(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            "number" => value.is_number(),
            "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
            _ => false,
        },
        _ => false,
    }
}

fn members(rule: &Value, value: &Value) -> Result<(), String> {
    let Some(members) = value.as_object() else { return Ok(()) };
    let missing =
        rule.as_array().into_iter().flatten().filter_map(Value::as_str).find(|name| !members.contains_key(*name));
    missing.map_or(Ok(()), |name| Err(format!("`{name}` is missing")))
}

fn inside(rule: &'static Value, value: &Value) -> Result<bool, String> {
    for (name, schema) in rule.as_object().into_iter().flatten() {
        if let Some(value) = value.get(name) {
            fits(schema, value).map_err(|problem| format!("`{name}`: {problem}"))?;
        }
    }
    Ok(true)
}

fn others(schema: &'static Map<String, Value>, rule: &'static Value, value: &Value) -> Result<bool, String> {
    let known = schema.get("properties").and_then(Value::as_object);
    let mut unknown = value
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name)));
    match rule {
        Value::Bool(allowed) => Ok(*allowed || unknown.next().is_none()),
        rule => unknown
            .try_for_each(|(name, value)| fits(rule, value).map_err(|problem| format!("`{name}`: {problem}")))
            .map(|()| true),
    }
}

fn list(rule: &'static Value, value: &Value, first: Option<&Value>) -> Result<bool, String> {
    let skipped = first.and_then(Value::as_array).map_or(0, Vec::len);
    items(value).into_iter().flatten().skip(skipped).try_for_each(|item| fits(rule, item))?;
    Ok(true)
}

fn prefix(rule: &'static Value, value: &Value) -> Result<bool, String> {
    items(value).into_iter().flatten().zip(choices(rule)).try_for_each(|(item, schema)| fits(schema, item))?;
    Ok(true)
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    text.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn leaked(schema: Value) -> &'static Value {
        Box::leak(Box::new(schema))
    }

    #[test]
    fn values_that_a_schema_excludes_are_found() {
        let schema = leaked(json!({
            "type": "object",
            "required": ["a"],
            "properties": {
                "a": { "type": "integer", "minimum": 1 },
                "b": { "anyOf": [{ "type": "string", "enum": ["x"] }, { "type": "null" }] },
                "c": { "type": "array", "items": { "type": "string" } },
            },
        }));
        for good in [json!({ "a": 1 }), json!({ "a": 2, "b": null, "c": ["y"] }), json!({ "a": 1, "b": "x", "d": 1 })] {
            assert_eq!(fits(schema, &good), Ok(()), "{good}");
        }
        for bad in [
            json!({}),
            json!({ "a": 0 }),
            json!({ "a": 1.5 }),
            json!({ "a": 1, "b": "y" }),
            json!({ "a": 1, "c": [1] }),
        ] {
            assert!(fits(schema, &bad).is_err(), "{bad}");
        }
        assert!(fits(leaked(json!({ "if": {} })), &json!(1)).is_err());
    }

    #[test]
    fn an_answer_that_the_document_does_not_declare_is_found() {
        let json = Some("application/json");
        assert_eq!(differs("GET", "/healthz", 200, json, br#"{"status":"ok"}"#), Ok(()));
        assert!(differs("GET", "/healthz", 200, json, br#"{"status":1}"#).is_err());
        assert!(differs("GET", "/healthz", 202, json, br#"{"status":"ok"}"#).is_err());
        assert!(differs("GET", "/healthz", 200, Some("text/html"), b"ok").is_err());
        assert!(differs("GET", "/healthz", 404, json, br#"{"error":"NOT_FOUND"}"#).is_err());
        assert_eq!(operation("GET", "/v1/agent/memory/a/b/c").unwrap()["operationId"], "getMemoryValue");
        assert_eq!(operation("GET", "/v1/atlas/topics/info").unwrap()["operationId"], "getTopicMethod");
    }

    #[test]
    fn every_example_is_what_its_schema_allows() {
        let all = examples();
        assert!(all.len() > 100, "{}", all.len());
        let wrong = all.iter().filter_map(|(place, schema, example)| {
            fits(schema, example).err().map(|problem| format!("{place}: {problem}"))
        });
        assert_eq!(wrong.collect::<Vec<_>>(), Vec::<String>::new());
    }
}
