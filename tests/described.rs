//! Makes the examples of the OpenAPI document of what the tests recorded (decision recorded-examples).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::Path;

use heliograph_tests::{described, recorded};
use serde_json::{Map, Value, json};

/// An example that tells much has at most so many bytes of compact JSON.
const ENOUGH: usize = 700;
/// Largest example, in bytes of compact JSON.
const MOST: usize = 4_000;
/// Longest text in an example, in characters.
const TEXT: usize = 120;

/// Lists with one entry and shorter texts, since the schema says the rest.
fn cut(value: &Value) -> Value {
    match value {
        Value::Array(all) => Value::Array(all.iter().take(1).map(cut).collect()),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.clone(), cut(value))).collect())
        }
        Value::String(text) if text.chars().count() > TEXT => text.chars().take(TEXT).collect::<String>().into(),
        other => other.clone(),
    }
}

/// Members with a value, inside of others too.
fn told(value: &Value) -> usize {
    match value {
        Value::Array(all) => all.iter().map(told).sum(),
        Value::Object(members) => members.values().map(told).sum(),
        Value::Null => 0,
        _ => 1,
    }
}

/// The example that tells the most of those that are short; the shortest if there is none. Equal ones are taken in the order
/// of their text, so that the choice does not depend on the order of the tests. A list may be too short once it is cut.
fn best(name: &str, part: &str, all: &[Value]) -> Option<Value> {
    let schema = described::schema_of(name, part)?;
    let fitting: Vec<(usize, Value)> = all
        .iter()
        .filter(|value| value.is_object() || value.is_array())
        .map(cut)
        .map(|value| (value.to_string().len(), value))
        .filter(|(length, value)| *length <= MOST && described::fits(schema, value).is_ok())
        .collect();
    let short = fitting.iter().filter(|(length, _)| *length <= ENOUGH);
    let best = short.max_by_key(|(_, value)| (told(value), std::cmp::Reverse(value.to_string())));
    let best = best.or_else(|| fitting.iter().min_by_key(|(length, value)| (*length, value.to_string())));
    best.map(|(_, value)| value.clone())
}

#[test]
fn examples_are_written_anew() {
    let Some(folder) = std::env::var_os("HELIOGRAPH_RECORDED") else {
        println!("skipped: HELIOGRAPH_RECORDED does not name a folder of recorded answers");
        return;
    };
    let mut by_name: BTreeMap<String, (Vec<Value>, Vec<Value>)> = BTreeMap::new();
    for (name, request, response) in recorded::all(Path::new(&folder)) {
        let (requests, responses) = by_name.entry(name).or_default();
        requests.push(request);
        responses.push(response);
    }
    let mut examples = Map::new();
    for (name, (requests, responses)) in &by_name {
        let mut example = Map::new();
        for (part, values) in [("request", requests), ("response", responses)] {
            example.extend(
                best(name, part, values).filter(|value| *value != json!({})).map(|value| (part.to_owned(), value)),
            );
        }
        if !example.is_empty() {
            examples.insert(name.clone(), Value::Object(example));
        }
    }
    let text = serde_json::to_string_pretty(&examples).unwrap() + "\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src/app/openapi/examples.json");
    std::fs::write(file, text).unwrap();
}
