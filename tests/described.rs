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

/// Lists with so many entries, those inside of them with as many as the second number, and shorter texts, since the
/// schema says the rest.
fn cut(value: &Value, (entries, inside): (usize, usize)) -> Value {
    match value {
        Value::Array(all) => Value::Array(all.iter().take(entries).map(|one| cut(one, (inside, inside))).collect()),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.clone(), cut(value, (entries, inside)))).collect())
        }
        Value::String(text) if text.chars().count() > TEXT => beginning(text).into(),
        other => other.clone(),
    }
}

/// The beginning of a text: whole sentences, or else whole words.
fn beginning(text: &str) -> String {
    let begin: String = text.chars().take(TEXT).collect();
    match (begin.rfind(". "), begin.rfind(' ')) {
        (Some(end), _) => begin[..=end].to_owned(),
        (None, Some(end)) => format!("{} …", &begin[..end]),
        (None, None) => begin,
    }
}

#[test]
fn an_example_ends_a_long_text_between_sentences_or_words() {
    let words = "word ".repeat(40);
    assert_eq!(beginning(&format!("One sentence. {words}")), "One sentence.");
    assert_eq!(beginning(&words), format!("{} …", "word ".repeat(24).trim_end()));
    assert_eq!(beginning(&"k".repeat(200)), "k".repeat(TEXT));
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
/// of their text, so that the choice does not depend on the order of the tests. A list of a fixed length stays whole.
fn best(name: &str, part: &str, all: &[Value]) -> Option<Value> {
    let schema = described::schema_of(name, part)?;
    let fitting: Vec<(usize, Value)> = all
        .iter()
        .filter(|value| value.is_object() || value.is_array())
        .filter_map(|value| {
            let cuts = [(1, 1), (1, usize::MAX), (usize::MAX, usize::MAX)].map(|entries| cut(value, entries));
            cuts.into_iter().find(|value| described::fits(schema, value).is_ok())
        })
        .map(|value| (value.to_string().len(), value))
        .filter(|(length, _)| *length <= MOST)
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
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src/app/openapi/examples.json");
    let mut examples: Map<String, Value> = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    for (name, (requests, responses)) in &by_name {
        let mut example = Map::new();
        for (part, values) in [("request", requests), ("response", responses)] {
            // What stands there comes from a server with sample data. It stays until its schema changes.
            let stands = examples.get(name).and_then(|one| one.get(part)).filter(|value| fits(name, part, value));
            let chosen = stands.cloned().or_else(|| best(name, part, values).filter(|value| *value != json!({})));
            example.extend(chosen.map(|value| (part.to_owned(), value)));
        }
        if !example.is_empty() {
            examples.insert(name.clone(), Value::Object(example));
        }
    }
    let text = serde_json::to_string_pretty(&examples).unwrap() + "\n";
    std::fs::write(file, text).unwrap();
}

fn fits(name: &str, part: &str, value: &Value) -> bool {
    described::schema_of(name, part).is_some_and(|schema| described::fits(schema, value).is_ok())
}

/// Operations whose answers are no examples, each with the reason.
const WITHOUT: &[(&str, &str)] = &[
    ("getDataFile", "Only the native server has a data file, and the recording is made in memory."),
    ("getMethodology", "Longer than an example may be."),
    ("getOpenApiDocument", "It is the document itself."),
    ("listSentences", "Longer than an example may be."),
    ("promoteForecastModel", "It needs days that neither model has seen, and the suite tests its refusals alone."),
    ("rotateMasterKey", "The suite asks it of servers that the recording is not made with."),
];

#[test]
fn every_operation_that_answers_json_has_a_recorded_answer_or_a_reason_why_not() {
    let answers = described::with_answers();
    let lacking: Vec<&str> = answers.iter().filter(|(_, has)| !has).map(|(name, _)| *name).collect();
    let excused: Vec<&str> = WITHOUT.iter().map(|(name, _)| *name).collect();
    for name in &lacking {
        assert!(excused.contains(name), "{name} has no recorded answer");
    }
    for name in excused {
        assert!(lacking.contains(&name), "{name} has an answer by now");
    }
}
