//! Schemas as generators of clients read them: the same values, written so that each generator makes one type of them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

/// The schema with all schemas inside it in the plainest form.
pub fn tidied(value: Value) -> Value {
    match value {
        Value::Array(all) => Value::Array(all.into_iter().map(tidied).collect()),
        Value::Object(members) => object(members),
        other => other,
    }
}

fn object(members: Map<String, Value>) -> Value {
    let mut out = Map::new();
    for (name, value) in members {
        let value = match name.as_str() {
            // Real answers may have members of any name.
            "example" | "default" | "enum" | "const" => value,
            "properties" => properties(value),
            "items" | "additionalProperties" => anything(value),
            _ => tidied(value),
        };
        out.insert(name, value);
    }
    if let Some(constant) = out.remove("const") {
        out.insert("enum".into(), json!([constant]));
    }
    required(&mut out);
    words(&mut out);
    kinds(&mut out);
    numbers(&mut out);
    Value::Object(out)
}

/// What must be given has no default.
fn required(out: &mut Map<String, Value>) {
    let names = out.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(properties) = out.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for name in names.iter().filter_map(Value::as_str) {
        if let Some(schema) = properties.get_mut(name).and_then(Value::as_object_mut) {
            schema.remove("default");
        }
    }
}

/// What members mean that mean the same in every schema: name and description. A schema that says more says it itself.
static MEMBERS: LazyLock<BTreeMap<&str, &str>> =
    LazyLock::new(|| include_str!("members.tsv").lines().filter_map(|line| line.split_once('\t')).collect());

fn properties(value: Value) -> Value {
    let Value::Object(members) = value else { return value };
    let described = |(name, schema): (String, Value)| {
        let mut schema = anything(schema);
        if let (Some(meaning), Some(plain)) = (MEMBERS.get(name.as_str()), schema.as_object_mut())
            && !plain.contains_key("description")
            && !plain.contains_key("$ref")
        {
            plain.insert("description".into(), (*meaning).into());
        }
        (name, schema)
    };
    Value::Object(members.into_iter().map(described).collect())
}

/// `true` allows anything, as `{}` does, which viewers can show.
fn anything(schema: Value) -> Value {
    match schema {
        Value::Bool(true) => json!({}),
        other => tidied(other),
    }
}

/// A choice between constant texts is one list of words. What each means is said in the description.
fn words(out: &mut Map<String, Value>) {
    let Some(choices) = out.get("oneOf").or_else(|| out.get("anyOf")).and_then(Value::as_array) else { return };
    let (mut words, mut said) = (Vec::new(), Vec::new());
    for choice in choices {
        let (Some(listed), Some("string")) = (choice["enum"].as_array(), choice["type"].as_str()) else { return };
        words.extend(listed.iter().cloned());
        if let (Some(description), [word]) = (choice["description"].as_str(), listed.as_slice()) {
            said.push(format!("`{}`: {description}", word.as_str().unwrap_or_default()));
        }
    }
    out.remove("oneOf");
    out.remove("anyOf");
    let own = out.get("description").and_then(Value::as_str).map(str::to_owned);
    let description: Vec<String> = own.into_iter().chain(said).collect();
    if !description.is_empty() {
        out.insert("description".into(), description.join("\n\n").into());
    }
    out.insert("type".into(), "string".into());
    out.insert("enum".into(), Value::Array(words));
}

/// A choice between kinds of values, which exclude each other. Generators make a union of it, where they take `anyOf` for one
/// type with the members of all.
fn kinds(out: &mut Map<String, Value>) {
    let is_kinds = |choices: &Value| choices.as_array().is_some_and(|all| all.iter().all(|one| one["type"] != "null"));
    if out.get("anyOf").is_some_and(is_kinds)
        && let Some(choices) = out.remove("anyOf")
    {
        out.insert("oneOf".into(), choices);
    }
}

/// The formats that the specification names. A number that may not fit into 32 bits has 64.
fn numbers(out: &mut Map<String, Value>) {
    let format = match out.get("format").and_then(Value::as_str) {
        Some("uint8" | "uint16" | "int8" | "int16") => "int32",
        Some("uint32" | "uint64" | "uint" | "int" | "usize") => "int64",
        _ => return,
    };
    out.insert("format".into(), format.into());
}

/// One schema for a type that is read and written: members that may be left out in one direction are not required.
pub fn joined(written: &Value, read: &Value) -> Option<Value> {
    let without = |schema: &Value| {
        let mut schema = schema.clone();
        schema.as_object_mut().map(|members| members.remove("required"));
        schema
    };
    let mut out = without(written);
    if out != without(read) {
        return None;
    }
    let names = |schema: &Value| schema["required"].as_array().cloned().unwrap_or_default();
    let both: Vec<Value> = names(written).into_iter().filter(|name| names(read).contains(name)).collect();
    if !both.is_empty() {
        out["required"] = Value::Array(both);
    }
    Some(out)
}
